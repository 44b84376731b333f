// The suites of all rows of ops.def. A row whose folder has no suite does not link.
#include <string.h>

#include "ops/suite.h"

#define OP(name, summary) extern const op_suite op_suite_##name;
#include "ops/ops.def"

const op_suite *const op_suites[] = {
#define OP(name, summary) &op_suite_##name,
#include "ops/ops.def"
    NULL};

const op_suite *op_suite_find(const char *name)
{
    for (const op_suite *const *s = op_suites; *s; s++)
        if (!strcmp((*s)->name, name))
            return *s;
    return NULL;
}
