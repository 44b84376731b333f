// The reductions of each type, one row:  K_EACH(name, type, operation, true identity); who includes this defines K_EACH. reduce_T.h and
// grid_reduce_T.h ask for one type alone (K_ONLY), because a kernel pays for what is read; without it there are all.
#define K_SUM(a, b) ((a) + (b))
#define K_MIN(a, b) min(a, b)
#define K_MAX(a, b) max(a, b)
#define K_AND(a, b) ((a) & (b))
#define K_OR(a, b) ((a) | (b))
#define K_XOR(a, b) ((a) ^ (b))
#define K_NAN_f32 f32_from_bits(0x7fc00000u)
#define K_NAN_f64 f64_from_bits(0x7ff8000000000000u)

#if !defined(K_ONLY) || defined(K_ONLY_i32)
K_EACH(sum, i32, K_SUM, 0)
K_EACH(min, i32, K_MIN, 0x7fffffff)
K_EACH(max, i32, K_MAX, (-0x7fffffff - 1))
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u32)
K_EACH(sum, u32, K_SUM, 0u)
K_EACH(min, u32, K_MIN, 0xffffffffu)
K_EACH(max, u32, K_MAX, 0u)
K_EACH(and, u32, K_AND, 0xffffffffu)
K_EACH(or, u32, K_OR, 0u)
K_EACH(xor, u32, K_XOR, 0u)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_i64)
K_EACH(sum, i64, K_SUM, (i64)0)
K_EACH(min, i64, K_MIN, (i64)0x7fffffffffffffff)
K_EACH(max, i64, K_MAX, (-(i64)0x7fffffffffffffff - 1))
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u64)
K_EACH(sum, u64, K_SUM, (u64)0)
K_EACH(min, u64, K_MIN, (u64)0xffffffffffffffffu)
K_EACH(max, u64, K_MAX, (u64)0)
K_EACH(and, u64, K_AND, (u64)0xffffffffffffffffu)
K_EACH(or, u64, K_OR, (u64)0)
K_EACH(xor, u64, K_XOR, (u64)0)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f32)
K_EACH(sum, f32, K_SUM, -0.0f)
K_EACH(min, f32, K_MIN, K_NAN_f32)
K_EACH(max, f32, K_MAX, K_NAN_f32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f64)
K_EACH(sum, f64, K_SUM, -0.0)
K_EACH(min, f64, K_MIN, K_NAN_f64)
K_EACH(max, f64, K_MAX, K_NAN_f64)
#endif

#undef K_SUM
#undef K_MIN
#undef K_MAX
#undef K_AND
#undef K_OR
#undef K_XOR
#undef K_NAN_f32
#undef K_NAN_f64
#undef K_EACH
