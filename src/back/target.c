// The rows of target.def as data.
#include "back/back.h"

static const target rows[] = {
#define TARGET(name, sm, variant, ptx, shared, registers, threads, blocks, shared_sm)              \
    {name, sm, variant, ptx, shared, registers, threads, blocks, shared_sm},
#include "back/target.def"
#undef TARGET
};

const target *target_find(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

const target *target_at(size_t index)
{
    return index < COUNT(rows) ? &rows[index] : NULL;
}
