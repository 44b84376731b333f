// The axes of an op's kernels, from its axes.def (ops/op.h): the numbers AXIS_… and the table
// `axes`.
//     #define AXES "ops/NAME/axes.def"
//     #include "ops/axes.h"
#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include AXES
};
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
static const op_axis axes[] = {
#include AXES
};
#undef AXES
