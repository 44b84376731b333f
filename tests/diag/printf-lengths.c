// Lengths of printf: h and hh are for numbers that were promoted, l and ll for long ones; z, j and t are none of these.
#include <kiln/kernel.h>

kernel block(32) void f(i32 a, i64 b, u8 c, f32 d)
{
    printf("%hd %hu %hhd\n", a, (u32)a, c);
    printf("%ld %lu %lld\n", b, (u64)b, b);
    printf("%zu %zd %jd %td\n", (u64)b, b, b, b);
    printf("%hd %hhd\n", b, b);
    printf("%ld\n", a);
    printf("%zu\n", a);
    printf("%hf %lf\n", d, d);
}
