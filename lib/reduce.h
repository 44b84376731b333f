// Reductions over a warp and over a block, in Kiln C; host compilers read the same text.
//
// The order is fixed, so that every device gives the same bits: lane i holds leaf i of a binary tree
// over the bits of i, lowest bit first (distance 1, 2, 4, 8, 16). A full warp walks it as a butterfly, where
// every lane ends with the root because + min max & | ^ commute bit for bit. In a block whose last warp is
// partial the same tree is walked down to lane 0 with guards, and lane 0's value is handed to all: a lane
// that does not exist is not combined at all. A block combines its warps' results by the same tree over
// the index of the warp. "Not combined" is written as the true identity where it has to be a value: -0.0 for sums
// (x + -0.0 is x, for x = +0.0 and -0.0 too) and NaN for min and max (which yield the other operand).
#ifndef KILN_LIB_REDUCE_H
#define KILN_LIB_REDUCE_H

#define K_SUM(a, b) ((a) + (b))
#define K_MIN(a, b) min(a, b)
#define K_MAX(a, b) max(a, b)
#define K_AND(a, b) ((a) & (b))
#define K_OR(a, b) ((a) | (b))
#define K_XOR(a, b) ((a) ^ (b))

// One step of the guarded tree: lanes that are not roots at this distance compute what nobody reads.
#define K_STEP(T, OP, distance)                                 \
    do {                                                        \
        T other = shuffle_down(x, distance);                    \
        x = lane() + (distance) < lanes ? OP(x, other) : x;     \
    } while (0)

// k_butterfly: needs 32 lanes. k_across: x is equal in all lanes of a warp. The barrier before the first store
// keeps this call's stores behind the last call's loads.
#define K_REDUCE(name, T, OP, IDENTITY)                         \
    static inline T k_butterfly_##name##_##T(T x)               \
    {                                                           \
        x = OP(x, shuffle_xor(x, 1));                           \
        x = OP(x, shuffle_xor(x, 2));                           \
        x = OP(x, shuffle_xor(x, 4));                           \
        x = OP(x, shuffle_xor(x, 8));                           \
        x = OP(x, shuffle_xor(x, 16));                          \
        return x;                                               \
    }                                                           \
    static inline T k_warp_##name##_##T(T x)                    \
    {                                                           \
        if (block_threads() % 32 == 0) {                        \
            x = k_butterfly_##name##_##T(x);                    \
        } else {                                                \
            u32 lanes = warp_lanes();                           \
            K_STEP(T, OP, 1);                                   \
            K_STEP(T, OP, 2);                                   \
            K_STEP(T, OP, 4);                                   \
            K_STEP(T, OP, 8);                                   \
            K_STEP(T, OP, 16);                                  \
            x = shuffle(x, 0);                                  \
        }                                                       \
        return promise_warp_uniform(x);                         \
    }                                                           \
    static inline T k_across_##name##_##T(T x)                  \
    {                                                           \
        shared T slots[32];                                     \
        u32 warps = warp_count();                               \
        if (warps > 1) {                                        \
            barrier();                                          \
            if (lane() == 0)                                    \
                slots[warp()] = x;                              \
            barrier();                                          \
            if (block_threads() % 32 == 0) {                    \
                T one = slots[min(lane(), warps - 1)];          \
                x = lane() < warps ? one : IDENTITY;            \
                x = k_butterfly_##name##_##T(x);                \
            } else {                                            \
                if (warp() == 0) {                              \
                    T one = slots[min(lane(), warps - 1)];      \
                    x = lane() < warps ? one : IDENTITY;        \
                    x = k_butterfly_##name##_##T(x);            \
                    if (lane() == 0)                            \
                        slots[0] = x;                           \
                }                                               \
                barrier();                                      \
                x = slots[0];                                   \
            }                                                   \
        }                                                       \
        return promise_block_uniform(x);                        \
    }                                                           \
    static inline T k_block_##name##_##T(T x)                   \
    {                                                           \
        return k_across_##name##_##T(k_warp_##name##_##T(x));   \
    }

#define K_NAN_f32 f32_from_bits(0x7fc00000u)
#define K_NAN_f64 f64_from_bits(0x7ff8000000000000u)

// reduce_T.h asks for one type alone (K_ONLY), because a kernel pays for what is read; without it there are all.
#if !defined(K_ONLY) || defined(K_ONLY_i32)
K_REDUCE(sum, i32, K_SUM, 0)
K_REDUCE(min, i32, K_MIN, 0x7fffffff)
K_REDUCE(max, i32, K_MAX, (-0x7fffffff - 1))
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u32)
K_REDUCE(sum, u32, K_SUM, 0u)
K_REDUCE(min, u32, K_MIN, 0xffffffffu)
K_REDUCE(max, u32, K_MAX, 0u)
K_REDUCE(and, u32, K_AND, 0xffffffffu)
K_REDUCE(or, u32, K_OR, 0u)
K_REDUCE(xor, u32, K_XOR, 0u)

static inline bool k_block_any(bool condition)
{
    return promise_block_uniform(k_across_or_u32(warp_ballot(condition)) != 0);
}

static inline bool k_block_all(bool condition)
{
    return promise_block_uniform(k_across_or_u32(warp_ballot(!condition)) == 0);
}

static inline u32 k_block_count(bool condition)
{
    return k_across_sum_u32(popcount(warp_ballot(condition)));
}
#endif
#if !defined(K_ONLY) || defined(K_ONLY_i64)
K_REDUCE(sum, i64, K_SUM, (i64)0)
K_REDUCE(min, i64, K_MIN, (i64)0x7fffffffffffffff)
K_REDUCE(max, i64, K_MAX, (-(i64)0x7fffffffffffffff - 1))
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u64)
K_REDUCE(sum, u64, K_SUM, (u64)0)
K_REDUCE(min, u64, K_MIN, (u64)0xffffffffffffffffu)
K_REDUCE(max, u64, K_MAX, (u64)0)
K_REDUCE(and, u64, K_AND, (u64)0xffffffffffffffffu)
K_REDUCE(or, u64, K_OR, (u64)0)
K_REDUCE(xor, u64, K_XOR, (u64)0)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f32)
K_REDUCE(sum, f32, K_SUM, -0.0f)
K_REDUCE(min, f32, K_MIN, K_NAN_f32)
K_REDUCE(max, f32, K_MAX, K_NAN_f32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f64)
K_REDUCE(sum, f64, K_SUM, -0.0)
K_REDUCE(min, f64, K_MIN, K_NAN_f64)
K_REDUCE(max, f64, K_MAX, K_NAN_f64)
#endif

#undef K_SUM
#undef K_MIN
#undef K_MAX
#undef K_AND
#undef K_OR
#undef K_XOR
#undef K_STEP
#undef K_REDUCE
#undef K_NAN_f32
#undef K_NAN_f64
#endif
