// A signed number that may be negative, compared with an unsigned one. Silent: constants, narrow
// unsigned types, truth values, a cast.
#include <kiln/kernel.h>

struct flags {
    u32 low : 4;
};

kernel block(64) void f(i32 *x, u32 n, i32 m, i64 far, u8 byte, struct flags v)
{
    u32 i = thread_x();
    if (m < n)
        x[0] = 1;
    if (i == m + 1)
        x[1] = 1;
    if (far >= (u64)n)
        x[2] = 1;
    if (n > 3 && byte < n && (m < 2) == n && (u32)m < n && m < byte && n < far && v.low < n)
        x[3] = 1;
}
