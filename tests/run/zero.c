// The sign of zero: what 0 - x, x - x and sums of zeros give, where host compilers are known to slip.
#include <kiln/kernel.h>

static bool zeros_are_positive(const u32 *a, u32 *bits)
{
    for (u32 i = 0; i < 64; i++)
        if (a[i] == 0 && (bits[3 * i] != 0 || bits[3 * i + 1] != 0 || bits[3 * i + 2] != 0))
            return false;
    return true;
}
//! run zero_minus block=64 check=zeros_are_positive (u32[64]:edge, u32[192])
kernel void zero_minus(const u32 *a, u32 *bits)
{
    u32 i = thread_x();
    f32 x = (f32)a[i];
    bits[3 * i] = bits_f32(0.0f - (f32)a[i]);
    bits[3 * i + 1] = bits_f32((x - x) - x);
    bits[3 * i + 2] = (u32)(bits_f64(0.0 - (f64)a[i]) >> 32);
}

//! run zero_signs_{f32,f64} block=16 ($1[16]:edge, $1[128])
#define ZERO_SIGNS(T)                                                                              \
    kernel void zero_signs_##T(const T *a, T *out)                                                 \
    {                                                                                              \
        T x = a[thread_x()], zero = 0 * x, *o = out + 8 * thread_x();                              \
        o[0] = x + zero;                                                                           \
        o[1] = zero - x;                                                                           \
        o[2] = -zero + zero;                                                                       \
        o[3] = -(zero - zero);                                                                     \
        o[4] = zero * -1;                                                                          \
        o[5] = 1 / (zero + 0);                                                                     \
        o[6] = x - (x + 0);                                                                        \
        o[7] = sqrt(-zero) + floor(-zero) + min(zero, -zero);                                      \
    }
ZERO_SIGNS(f32)
ZERO_SIGNS(f64)
