// One address for all lanes: loads of every type that some lanes make and others do not, between
// barriers, in loops, and through a pointer that is chosen.
#include <kiln/kernel.h>

#define ONE(T)                                                                                     \
    kernel block(64) void one_##T(const T *x, T *out, u32 n)                                       \
    {                                                                                              \
        shared T all[64];                                                                          \
        u32 t = thread_x();                                                                        \
        T a = x[3], b = x[t];                                                                      \
        if (t % 3 == 1)                                                                            \
            a = x[5];                                                                              \
        all[t] = b;                                                                                \
        barrier();                                                                                 \
        T c = all[7];                                                                              \
        if (t & 4)                                                                                 \
            c = all[n & 63];                                                                       \
        const T *p = n > 2 ? x + 9 : all + 11;                                                     \
        for (u32 k = 0; k < n; k++) {                                                              \
            if ((t + k) % 5 == 0)                                                                  \
                b = x[k];                                                                          \
            else if (k == t % 4)                                                                   \
                c = p[k];                                                                          \
        }                                                                                          \
        barrier();                                                                                 \
        if (t == 9)                                                                                \
            all[7] = x[1];                                                                         \
        barrier();                                                                                 \
        out[4 * t] = a;                                                                            \
        out[4 * t + 1] = b;                                                                        \
        out[4 * t + 2] = c;                                                                        \
        out[4 * t + 3] = t < n ? all[7] : *p;                                                      \
    }

//! run one_u8 block=64 (u8[64]:bits, u8[256], u32=5)
ONE(u8)
//! run one_i16 block=64 (i16[64]:bits, i16[256], u32=6)
ONE(i16)
//! run one_i32 block=64 (i32[64]:bits, i32[256], u32=7)
ONE(i32)
//! run one_u64 block=64 (u64[64]:bits, u64[256], u32=5)
ONE(u64)
//! run one_i64 block=64 (i64[64]:bits, i64[256], u32=1)
ONE(i64)
//! run one_f32 block=64 (f32[64]:rand, f32[256], u32=8)
ONE(f32)
//! run one_f64 block=64 (f64[64]:rand, f64[256], u32=4)
ONE(f64)
//! run one_f64 block=64 (f64[64]:rand, f64[256], u32=2)
