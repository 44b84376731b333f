// Helpers for vectors: every function on every type that it takes.
#include <kiln/kernel.h>

#define ALL(V, E)                                                                                  \
    kernel void all_##V(const V *a, const V *b, V *out, E *numbers)                                \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        V x = a[i], y = b[i];                                                                      \
        V *o = out + i * 8;                                                                        \
        o[0] = vec_add(x, y);                                                                      \
        o[1] = vec_sub(x, y);                                                                      \
        o[2] = vec_mul(x, y);                                                                      \
        o[3] = vec_scale(x, 3);                                                                    \
        o[4] = vec_min(x, y);                                                                      \
        o[5] = vec_max(x, y);                                                                      \
        o[6] = vec_clamp(vec_sub(x, y), vec_min(x, y), vec_max(x, y));                             \
        y.x = y.x == 0 ? 1 : y.x;                                                                  \
        y.y = y.y == 0 ? 2 : y.y;                                                                  \
        o[7] = vec_add(x, vec_add(y, y));                                                          \
        numbers[2 * i] = vec_sum(x);                                                               \
        numbers[2 * i + 1] = vec_dot(x, y);                                                        \
    }
//! run all_{f32x2,f32x3,f32x4} block=16 ($1[16]:rand, $1[16]:rand, $1[128], f32[32])
//! run all_f64x2 block=16 (f64x2[16]:rand, f64x2[16]:rand, f64x2[128], f64[32])
//! run all_{i32x2,i32x3,i32x4} block=16 ($1[16]:rand, $1[16]:rand, $1[128], i32[32])
//! run all_{u32x2,u32x3,u32x4} block=16 ($1[16]:bits, $1[16]:bits, $1[128], u32[32])
//! run all_i64x2 block=16 (i64x2[16]:rand, i64x2[16]:rand, i64x2[128], i64[32])
//! run all_u64x2 block=16 (u64x2[16]:bits, u64x2[16]:bits, u64x2[128], u64[32])
ALL(f32x2, f32)
ALL(f32x3, f32)
ALL(f32x4, f32)
ALL(f64x2, f64)
ALL(i32x2, i32)
ALL(i32x3, i32)
ALL(i32x4, i32)
ALL(u32x2, u32)
ALL(u32x3, u32)
ALL(u32x4, u32)
ALL(i64x2, i64)
ALL(u64x2, u64)

#define FLOATS(V, E)                                                                               \
    kernel void floats_##V(const V *a, const V *b, V *out, E *numbers)                             \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        V x = a[i], y = b[i];                                                                      \
        V *o = out + i * 6;                                                                        \
        o[0] = vec_neg(x);                                                                         \
        o[1] = vec_abs(vec_neg(y));                                                                \
        o[2] = vec_fma(x, y, x);                                                                   \
        o[3] = vec_lerp(x, y, (E)0.25);                                                            \
        o[4] = vec_normalize(x);                                                                   \
        o[5] = vec_div(x, y);                                                                      \
        numbers[2 * i] = vec_length(x);                                                            \
        numbers[2 * i + 1] = vec_distance(x, y);                                                   \
    }
//! run floats_{f32x2,f32x3,f32x4} block=16 ($1[16]:rand, $1[16]:rand, $1[96], f32[32])
//! run floats_f64x2 block=16 (f64x2[16]:rand, f64x2[16]:rand, f64x2[96], f64[32])
FLOATS(f32x2, f32)
FLOATS(f32x3, f32)
FLOATS(f32x4, f32)
FLOATS(f64x2, f64)

//! run cross_and_integers block=8 (f32x3[8]:rand, f32x3[8]:rand, f32x3[8], i32x4[8]:rand, i32x4[8])
kernel void cross_and_integers(const f32x3 *a, const f32x3 *b, f32x3 *out, const i32x4 *c, i32x4 *d)
{
    u32 i = thread_x();
    out[i] = vec_cross(a[i], b[i]);
    i32x4 by = {3, -4, 5, 7};
    d[i] = vec_div(vec_abs(vec_neg(c[i])), by);
}
