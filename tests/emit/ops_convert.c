// Every conversion between numbers; pointers as numbers and of other spaces.
#include <kiln/kernel.h>
#pragma kiln conversions(c)

#define FROM(T)                                                                                    \
    kernel block(32) void from_##T(const T *a, i8 *b, u8 *c, i16 *d, u16 *e, i32 *f, u32 *g,       \
                                   i64 *h, u64 *i, f32 *j, f64 *k)                                 \
    {                                                                                              \
        T x = a[thread_x()];                                                                       \
        *b = (i8)x;                                                                                \
        *c = (u8)x;                                                                                \
        *d = (i16)x;                                                                               \
        *e = (u16)x;                                                                               \
        *f = (i32)x;                                                                               \
        *g = (u32)x;                                                                               \
        *h = (i64)x;                                                                               \
        *i = (u64)x;                                                                               \
        *j = (f32)x;                                                                               \
        *k = (f64)x;                                                                               \
    }
FROM(i8)
FROM(u8)
FROM(i16)
FROM(u16)
FROM(i32)
FROM(u32)
FROM(i64)
FROM(u64)
FROM(f32)
FROM(f64)
FROM(bool)

kernel block(32) void halves(const f32 *a, f16 *h, bf16 *b, f32 *out, u32 *bits)
{
    f32 x = a[thread_x()];
    h[0] = to_f16(x);
    b[0] = to_bf16(x);
    out[0] = f32(h[1]) + f32(b[1]);
    bits[0] = bits_f32(x);
    out[1] = f32_from_bits(bits[1]);
}

static noinline u32 sum(const u32 *p, u32 n) // of any space
{
    u32 s = 0;
    for (u32 i = 0; i < n; i++)
        s += p[i];
    return s;
}

kernel block(32) void spaces(const u32 *a, u32 *out, u64 *where)
{
    shared u32 all[32];
    u32 own[4] = {1, 2, 3, a[1]};
    static const u32 table[4] = {5, 6, 7, 8};
    all[thread_x()] = a[thread_x()];
    barrier();
    out[0] = sum(a, out[1]) + sum(all, 32) + sum(own, out[2]) + sum(table, out[3]);
    where[0] = (u64)a;
    where[1] = a < out;
}
