// The text that is wrong stands in a macro: its definition and its uses are shown. An edit there
// would change both uses, so that there is no fix.
#include <kiln/kernel.h>

#define BODY(T)  out[i] = (T)x[i] * y
#define OUTER(T) BODY(T)

kernel block(64) void k(i32 *out, const f32 *x, f32 y)
{
    u32 i = global_x();
    BODY(f32);
    OUTER(f32);
}
