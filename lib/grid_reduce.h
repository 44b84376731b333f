// Reductions over a grid: see grid.h for the order, reduce.h for the true identities.
#ifndef KILN_LIB_GRID_REDUCE_H
#define KILN_LIB_GRID_REDUCE_H
#include "grid.h"
#include "reduce.h"

#define K_SUM(a, b) ((a) + (b))
#define K_MIN(a, b) min(a, b)
#define K_MAX(a, b) max(a, b)
#define K_AND(a, b) ((a) & (b))
#define K_OR(a, b) ((a) | (b))
#define K_XOR(a, b) ((a) ^ (b))
#define K_NAN_f32 f32_from_bits(0x7fc00000u)
#define K_NAN_f64 f64_from_bits(0x7ff8000000000000u)

#define K_GRID(name, T, OP, IDENTITY)                                   \
    static inline bool k_grid_##name##_##T(T x, T *partial, u32 *ticket) \
    {                                                                   \
        x = k_block_##name##_##T(x);                                    \
        if (thread_rank() == 0)                                         \
            atomic_store(&partial[k_grid_place()], x);                  \
        bool is_last = k_grid_is_last(ticket);                          \
        if (is_last) {                                                  \
            u32 blocks = k_grid_blocks(), n = block_threads();          \
            x = IDENTITY;                                               \
            for (u32 i = thread_rank(); i < blocks; i += n)             \
                x = OP(x, atomic_load(&partial[i]));                    \
            x = k_block_##name##_##T(x);                                \
            if (thread_rank() == 0)                                     \
                atomic_store(&partial[0], x);                           \
            barrier();                                                  \
        }                                                               \
        return is_last;                                                 \
    }

// grid_reduce_T.h asks for one type alone (K_ONLY); without it there are all.
#if !defined(K_ONLY) || defined(K_ONLY_i32)
K_GRID(sum, i32, K_SUM, 0)
K_GRID(min, i32, K_MIN, 0x7fffffff)
K_GRID(max, i32, K_MAX, (-0x7fffffff - 1))
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u32)
K_GRID(sum, u32, K_SUM, 0u)
K_GRID(min, u32, K_MIN, 0xffffffffu)
K_GRID(max, u32, K_MAX, 0u)
K_GRID(and, u32, K_AND, 0xffffffffu)
K_GRID(or, u32, K_OR, 0u)
K_GRID(xor, u32, K_XOR, 0u)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_i64)
K_GRID(sum, i64, K_SUM, (i64)0)
K_GRID(min, i64, K_MIN, (i64)0x7fffffffffffffff)
K_GRID(max, i64, K_MAX, (-(i64)0x7fffffffffffffff - 1))
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u64)
K_GRID(sum, u64, K_SUM, (u64)0)
K_GRID(min, u64, K_MIN, (u64)0xffffffffffffffffu)
K_GRID(max, u64, K_MAX, (u64)0)
K_GRID(and, u64, K_AND, (u64)0xffffffffffffffffu)
K_GRID(or, u64, K_OR, (u64)0)
K_GRID(xor, u64, K_XOR, (u64)0)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f32)
K_GRID(sum, f32, K_SUM, -0.0f)
K_GRID(min, f32, K_MIN, K_NAN_f32)
K_GRID(max, f32, K_MAX, K_NAN_f32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f64)
K_GRID(sum, f64, K_SUM, -0.0)
K_GRID(min, f64, K_MIN, K_NAN_f64)
K_GRID(max, f64, K_MAX, K_NAN_f64)
#endif

#undef K_SUM
#undef K_MIN
#undef K_MAX
#undef K_AND
#undef K_OR
#undef K_XOR
#undef K_NAN_f32
#undef K_NAN_f64
#undef K_GRID
#endif
