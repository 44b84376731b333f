// Arithmetic on vectors, member by member, for every vector type of 32- and 64-bit numbers.
#ifndef KILN_LIB_VEC_H
#define KILN_LIB_VEC_H

#define K_ADD(a, b) ((a) + (b))
#define K_SUB(a, b) ((a) - (b))
#define K_MUL(a, b) ((a) * (b))
#define K_DIV(a, b) ((a) / (b))
#define K_NEG(a)    (-(a))

#define K_MAP2(F, a) {F(a.x), F(a.y)}
#define K_MAP3(F, a) {F(a.x), F(a.y), F(a.z)}
#define K_MAP4(F, a) {F(a.x), F(a.y), F(a.z), F(a.w)}
#define K_ZIP2(F, a, b) {F(a.x, b.x), F(a.y, b.y)}
#define K_ZIP3(F, a, b) {F(a.x, b.x), F(a.y, b.y), F(a.z, b.z)}
#define K_ZIP4(F, a, b) {F(a.x, b.x), F(a.y, b.y), F(a.z, b.z), F(a.w, b.w)}
#define K_ZIPS2(F, a, s) {F(a.x, s), F(a.y, s)}
#define K_ZIPS3(F, a, s) {F(a.x, s), F(a.y, s), F(a.z, s)}
#define K_ZIPS4(F, a, s) {F(a.x, s), F(a.y, s), F(a.z, s), F(a.w, s)}
#define K_TRI2(F, a, b, c) {F(a.x, b.x, c.x), F(a.y, b.y, c.y)}
#define K_TRI3(F, a, b, c) {F(a.x, b.x, c.x), F(a.y, b.y, c.y), F(a.z, b.z, c.z)}
#define K_TRI4(F, a, b, c) {F(a.x, b.x, c.x), F(a.y, b.y, c.y), F(a.z, b.z, c.z), F(a.w, b.w, c.w)}
#define K_SUM2(a) (a.x + a.y)
#define K_SUM3(a) (a.x + a.y + a.z)
#define K_SUM4(a) (a.x + a.y + a.z + a.w)

#define K_VEC(V, E, N)                                                                   \
    static inline V k_vec_add_##V(V a, V b) { return (V)K_ZIP##N(K_ADD, a, b); }           \
    static inline V k_vec_sub_##V(V a, V b) { return (V)K_ZIP##N(K_SUB, a, b); }           \
    static inline V k_vec_mul_##V(V a, V b) { return (V)K_ZIP##N(K_MUL, a, b); }           \
    static inline V k_vec_div_##V(V a, V b) { return (V)K_ZIP##N(K_DIV, a, b); }           \
    static inline V k_vec_min_##V(V a, V b) { return (V)K_ZIP##N(min, a, b); }             \
    static inline V k_vec_max_##V(V a, V b) { return (V)K_ZIP##N(max, a, b); }             \
    static inline V k_vec_scale_##V(V a, E s) { return (V)K_ZIPS##N(K_MUL, a, s); }        \
    static inline V k_vec_clamp_##V(V a, V b, V c) { return (V)K_TRI##N(clamp, a, b, c); } \
    static inline E k_vec_sum_##V(V a) { return K_SUM##N(a); }                             \
    static inline E k_vec_dot_##V(V a, V b) { return k_vec_sum_##V(k_vec_mul_##V(a, b)); }

#define K_VEC_SIGNED(V, E, N)                                                 \
    static inline V k_vec_neg_##V(V a) { return (V)K_MAP##N(K_NEG, a); }        \
    static inline V k_vec_abs_##V(V a) { return (V)K_MAP##N(abs, a); }

#define K_VEC_FLOAT(V, E, N)                                                               \
    static inline V k_vec_fma_##V(V a, V b, V c) { return (V)K_TRI##N(fma, a, b, c); }       \
    static inline E k_vec_length_##V(V a) { return sqrt(k_vec_dot_##V(a, a)); }              \
    static inline E k_vec_distance_##V(V a, V b)                                             \
    {                                                                                        \
        return k_vec_length_##V(k_vec_sub_##V(b, a));                                        \
    }                                                                                        \
    static inline V k_vec_normalize_##V(V a)                                                 \
    {                                                                                        \
        E length = k_vec_length_##V(a);                                                      \
        return (V)K_ZIPS##N(K_DIV, a, length);                                               \
    }                                                                                        \
    static inline V k_vec_lerp_##V(V a, V b, E t)                                            \
    {                                                                                        \
        return k_vec_add_##V(a, k_vec_scale_##V(k_vec_sub_##V(b, a), t));                    \
    }

K_VEC(f32x2, f32, 2) K_VEC_SIGNED(f32x2, f32, 2) K_VEC_FLOAT(f32x2, f32, 2)
K_VEC(f32x3, f32, 3) K_VEC_SIGNED(f32x3, f32, 3) K_VEC_FLOAT(f32x3, f32, 3)
K_VEC(f32x4, f32, 4) K_VEC_SIGNED(f32x4, f32, 4) K_VEC_FLOAT(f32x4, f32, 4)
K_VEC(f64x2, f64, 2) K_VEC_SIGNED(f64x2, f64, 2) K_VEC_FLOAT(f64x2, f64, 2)
K_VEC(i32x2, i32, 2) K_VEC_SIGNED(i32x2, i32, 2)
K_VEC(i32x3, i32, 3) K_VEC_SIGNED(i32x3, i32, 3)
K_VEC(i32x4, i32, 4) K_VEC_SIGNED(i32x4, i32, 4)
K_VEC(i64x2, i64, 2) K_VEC_SIGNED(i64x2, i64, 2)
K_VEC(u32x2, u32, 2)
K_VEC(u32x3, u32, 3)
K_VEC(u32x4, u32, 4)
K_VEC(u64x2, u64, 2)

static inline f32x3 k_vec_cross(f32x3 a, f32x3 b)
{
    return (f32x3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
#endif
