// Running sums, minima and maxima over a grid, in two launches: see grid.h for the order.
#ifndef KILN_LIB_GRID_SCAN_H
#define KILN_LIB_GRID_SCAN_H
#include "grid.h"
#include "scan.h"

#define K_SUM(a, b) ((a) + (b))
#define K_MIN(a, b) min(a, b)
#define K_MAX(a, b) max(a, b)

// k_grid_totals: x is the running value in the block; the last block makes totals[b] that of blocks 0 to b.
// Threads past the last block hold copies: they lie above all others.
#define K_GRID_SCAN(name, T, OP)                                                    \
    static inline void k_grid_totals_##name##_##T(T x, T *totals, u32 *ticket)      \
    {                                                                               \
        shared T carry;                                                             \
        u32 blocks = k_grid_blocks(), n = block_threads(), t = thread_rank();       \
        if (t == n - 1)                                                             \
            atomic_store(&totals[k_grid_place()], x);                               \
        if (k_grid_is_last(ticket)) {                                               \
            for (u32 base = 0; base < blocks; base += n) {                          \
                T one = atomic_load(&totals[min(base + t, blocks - 1)]);            \
                one = k_block_scan_##name##_##T(one);                               \
                if (base > 0)                                                       \
                    one = OP(carry, one);                                           \
                barrier();                                                          \
                if (t == n - 1)                                                     \
                    carry = one;                                                    \
                if (base + t < blocks)                                              \
                    atomic_store(&totals[base + t], one);                           \
                barrier();                                                          \
            }                                                                       \
        }                                                                           \
    }                                                                               \
    static inline T k_grid_scan_##name##_##T(T x, T *totals, u32 *ticket)           \
    {                                                                               \
        x = k_block_scan_##name##_##T(x);                                           \
        k_grid_totals_##name##_##T(x, totals, ticket);                              \
        return x;                                                                   \
    }                                                                               \
    static inline T k_grid_scan_##name##_end_##T(T x, const T *totals)              \
    {                                                                               \
        u32 place = k_grid_place();                                                 \
        return place > 0 ? OP(totals[place - 1], x) : x;                            \
    }

#define K_GRID_SCAN_BEFORE(T)                                                       \
    static inline T k_grid_scan_sum_before_##T(T x, T *totals, u32 *ticket)         \
    {                                                                               \
        T before = k_block_scan_sum_before_##T(x);                                  \
        k_grid_totals_sum_##T(before + x, totals, ticket);                          \
        return before;                                                              \
    }                                                                               \
    static inline T k_grid_scan_sum_before_end_##T(T before, const T *totals)       \
    {                                                                               \
        u32 place = k_grid_place();                                                 \
        if (place > 0) {                                                            \
            T below = totals[place - 1];                                            \
            before = thread_rank() > 0 ? below + before : below;                    \
        }                                                                           \
        return before;                                                              \
    }

#define K_GRID_SCANS(T)        \
    K_GRID_SCAN(sum, T, K_SUM) \
    K_GRID_SCAN(min, T, K_MIN) \
    K_GRID_SCAN(max, T, K_MAX) \
    K_GRID_SCAN_BEFORE(T)

// grid_scan_T.h asks for one type alone (K_ONLY); without it there are all.
#if !defined(K_ONLY) || defined(K_ONLY_i32)
K_GRID_SCANS(i32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u32)
K_GRID_SCANS(u32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_i64)
K_GRID_SCANS(i64)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u64)
K_GRID_SCANS(u64)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f32)
K_GRID_SCANS(f32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f64)
K_GRID_SCANS(f64)
#endif

#undef K_SUM
#undef K_MIN
#undef K_MAX
#undef K_GRID_SCAN
#undef K_GRID_SCAN_BEFORE
#undef K_GRID_SCANS
#endif
