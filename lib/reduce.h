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

// One step of the guarded tree: lanes that are not roots at this distance compute what nobody reads.
#define K_STEP(T, OP, distance)                                 \
    do {                                                        \
        T other = shuffle_down(x, distance);                    \
        x = lane() + (distance) < lanes ? OP(x, other) : x;     \
    } while (0)

// k_butterfly: needs 32 lanes. k_across: x is equal in all lanes of a warp. The barrier before the first store
// keeps this call's stores behind the last call's loads.
#define K_EACH(name, T, OP, IDENTITY)                           \
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

#include "reductions.h"

#if !defined(K_ONLY) || defined(K_ONLY_u32)
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

#undef K_STEP
#endif
