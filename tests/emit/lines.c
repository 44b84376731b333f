// flags: --lines
// Line information of two files; a macro belongs to the line that uses it.
#include <kiln/kernel.h>
#include "lines.h"

#define TWICE(v) \
    ((v) + \
     (v))

kernel block(32) void lines(const f32 *x, f32 *out)
{
    u32 i = global_x();
    f32 v = half_of(x[i]);
    v = TWICE(v);
    out[i] = v;
}
