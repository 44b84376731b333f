// Every conversion between the scalar types, by cast; values in range where C demands it, and
// Kiln's saturation where C leaves the result open.
#include <kiln/kernel.h>

typedef bool flag; // the macro parameters below must not see the macro `bool`

#define CAST(From, To)                                                                             \
    kernel void from_##From##_to_##To(const From *a, To *out)                                      \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        out[i] = (To)a[i];                                                                         \
    }
#define CAST_INT(From)                                                                             \
    CAST(From, i8)                                                                                 \
    CAST(From, u8)                                                                                 \
    CAST(From, i16)                                                                                \
    CAST(From, u16)                                                                                \
    CAST(From, i32)                                                                                \
    CAST(From, u32)                                                                                \
    CAST(From, i64)                                                                                \
    CAST(From, u64)
#define CAST_REST(From)                                                                            \
    CAST(From, f32)                                                                                \
    CAST(From, f64)                                                                                \
    CAST(From, flag)

//! run from_{i8,u8,i16,u16,i32,u32,i64,u64}_to_{i8,u8,i16,u16,i32,u32,i64,u64,f32,f64} block=48 ($1[48]:edge, $2[48])
//! run from_{i8,u8,i16,u16,i32,u32,i64,u64}_to_flag block=48 ($1[48]:edge, bool[48])
//! run from_flag_to_{i8,u8,i16,u16,i32,u32,i64,u64,f32,f64} block=48 (bool[48]:edge, $1[48])
//! run from_flag_to_flag block=48 (bool[48]:edge, bool[48])
//! run from_{i32,u32,i64,u64}_to_{i8,u8,i16,u16,f32,f64} block=64 ($1[64]:bits, $2[64])
// clang-format off
CAST_INT(i8) CAST_REST(i8)
CAST_INT(u8) CAST_REST(u8)
CAST_INT(i16) CAST_REST(i16)
CAST_INT(u16) CAST_REST(u16)
CAST_INT(i32) CAST_REST(i32)
CAST_INT(u32) CAST_REST(u32)
CAST_INT(i64) CAST_REST(i64)
CAST_INT(u64) CAST_REST(u64)
CAST_INT(flag) CAST_REST(flag)
    // clang-format on

    //! run from_{f32,f64}_to_{i8,u8,i16,u16,i32,u32,i64,u64} block=64 ($1[64]:mod128, $2[64])
    //! run from_{f32,f64}_to_{i8,i16,i32,i64} block=64 ($1[64]:rand, $2[64])
    //! run from_{f32,f64}_to_{f32,f64} block=64 ($1[64]:edge, $2[64])
    //! run from_{f32,f64}_to_{f32,f64} block=64 ($1[64]:bits, $2[64])
    //! run from_{f32,f64}_to_flag block=64 ($1[64]:edge, bool[64])
    // clang-format off
CAST_INT(f32) CAST_REST(f32)
CAST_INT(f64) CAST_REST(f64)
// clang-format on

#ifdef __KILN__
#    define TO_INT(T, x, low, high) ((T)(x))
#else
#    define TO_INT(T, x, low, high)                                                                \
        ((x) != (x) ? 0 : (x) <= (low) ? (T)(low) : (x) >= (high) ? MAX_OF(T) : (T)(x))
#    define MAX_OF(T) ((T)((T)-1 > 0 ? (T)-1 : (T)((1ull << (8 * sizeof(T) - 1)) - 1)))
#endif
// low is the type's smallest value, high the first power of two above its largest
#define SATURATE(F, T, low, high)                                                                  \
    kernel void saturate_##F##_##T(const F *a, T *out)                                             \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        F x = a[i];                                                                                \
        out[3 * i] = TO_INT(T, x, low, high);                                                      \
        x = x * 100;                                                                               \
        out[3 * i + 1] = TO_INT(T, x, low, high);                                                  \
        x = a[i] * (F)high - (F)low;                                                               \
        out[3 * i + 2] = TO_INT(T, x, low, high);                                                  \
    }
//! run saturate_{f32,f64}_{i8,u8,i16,u16,i32,u32,i64,u64} block=64 ($1[64]:edge, $2[192])
//! run saturate_{f32,f64}_{i8,u8,i16,u16,i32,u32,i64,u64} block=64 ($1[64]:bits, $2[192])
#define SATURATE_ALL(F)                                                                            \
    SATURATE(F, i8, -0x1p7, 0x1p7)                                                                 \
    SATURATE(F, u8, 0.0, 0x1p8)                                                                    \
    SATURATE(F, i16, -0x1p15, 0x1p15)                                                              \
    SATURATE(F, u16, 0.0, 0x1p16)                                                                  \
    SATURATE(F, i32, -0x1p31, 0x1p31)                                                              \
    SATURATE(F, u32, 0.0, 0x1p32)                                                                  \
    SATURATE(F, i64, -0x1p63, 0x1p63)                                                              \
    SATURATE(F, u64, 0.0, 0x1p64)
        SATURATE_ALL(f32) SATURATE_ALL(f64)

    // The conversions that need no cast.
    //! run silent block=64 (i8[64]:edge, u16[64]:edge, i32[64]:edge, u32[64]:edge, f32[64]:edge, i64[256], f64[256], bool[256])
    kernel void silent(const i8 *a, const u16 *b, const i32 *c, const u32 *d, const f32 *e,
                       i64 *wide, f64 *real, bool *truth)
{
    u32 i = thread_x(), o = 4 * i;
    wide[o] = a[i];
    wide[o + 1] = b[i];
    wide[o + 2] = c[i];
    wide[o + 3] = d[i];
    real[o] = a[i];
    real[o + 1] = c[i];
    real[o + 2] = d[i];
    real[o + 3] = e[i];
    truth[o] = a[i];
    truth[o + 1] = c[i];
    truth[o + 2] = e[i];
    truth[o + 3] = d[i] != 3;
    f32 narrow = b[i];
    u32 same_width = c[i];
    i32 and_back = same_width;
    wide[o] += and_back + (narrow == b[i]);
}

//! run exact_constants block=4 (f32[12], f64[12], u8[4], i64[4])
kernel void exact_constants(f32 *a, f64 *b, u8 *c, i64 *d)
{
    u32 i = thread_x();
    f32 one = 1, half = 0.5;
    a[i] = one * 2 + half;
    a[4 + i] = 16777216;
    a[8 + i] = one > 0 ? 3 : 4;
    b[i] = one;
    b[4 + i] = 0.1f;
    b[8 + i] = 0.1;
    c[i] = 255;
    d[i] = -1;
}

//! run bool_arithmetic grid=4 block=64 (i32[256]:sym2, i32[256]:sym2, i32[1536], bool[256])
kernel void bool_arithmetic(const i32 *a, const i32 *b, i32 *out, bool *flags)
{
    u32 i = global_x();
    bool p = a[i] > 0, q = b[i];
    i32 *o = out + 6 * i;
    o[0] = p + q;
    o[1] = p == q;
    o[2] = (p & q) | (p ^ q) << 1;
    o[3] = -(i32)p;
    o[4] = p ? q ? 1 : 2 : 3;
    bool r = p;
    r |= q;
    r = !r;
    o[5] = (bool)a[i] + (bool)(a[i] & 2) * 2;
    flags[i] = r;
}

static bool truth_is_one(const f32 *a, const i64 *b, bool *out)
{
    for (u32 i = 0; i < 32; i++)
        if (out[i] != (a[i % 16] != 0) || out[32 + i] != (b[i % 16] != 0))
            return false;
    return true;
}
//! run bool_conversion block=32 check=truth_is_one (f32[32]:edge, i64[32]:edge, bool[64])
kernel void bool_conversion(const f32 *a, const i64 *b, bool *out)
{
    u32 i = thread_x();
    out[i] = a[i];
    out[32 + i] = b[i];
}
