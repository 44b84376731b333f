// Running sums, minima and maxima over a warp and over a block, in Kiln C; host compilers read the same text.
//
// The order is fixed, so that every device gives the same bits. A warp adds what lies 1, 2, 4, 8 and 16 lanes below,
// the lower lane's value on the left. A block scans its warps' totals in the same way (in warp 0, which is full
// whenever there is a second warp) and puts what lies below a warp to the left of each of its lanes.
// Lanes that do not exist lie above all others, so partial warps need no care.
#ifndef KILN_LIB_SCAN_H
#define KILN_LIB_SCAN_H

#define K_SUM(a, b) ((a) + (b))
#define K_MIN(a, b) min(a, b)
#define K_MAX(a, b) max(a, b)

#define K_STEP(T, OP, distance)                                 \
    do {                                                        \
        T below = shuffle_up(x, distance);                      \
        x = lane() >= (distance) ? OP(below, x) : x;            \
    } while (0)

// k_below: of the totals of all warps below this one, given each lane's running value; x itself in warp 0. The
// barrier before the first store keeps this call's stores behind the last call's loads.
#define K_SCAN(name, T, OP)                                     \
    static inline T k_warp_scan_##name##_##T(T x)               \
    {                                                           \
        K_STEP(T, OP, 1);                                       \
        K_STEP(T, OP, 2);                                       \
        K_STEP(T, OP, 4);                                       \
        K_STEP(T, OP, 8);                                       \
        K_STEP(T, OP, 16);                                      \
        return x;                                               \
    }                                                           \
    static inline T k_below_##name##_##T(T x)                   \
    {                                                           \
        shared T totals[32];                                    \
        barrier();                                              \
        if (lane() == warp_lanes() - 1)                         \
            totals[warp()] = x;                                 \
        barrier();                                              \
        if (warp() == 0) {                                      \
            bool is_warp = lane() < warp_count();               \
            T total = is_warp ? totals[lane()] : x;             \
            total = k_warp_scan_##name##_##T(total);            \
            if (is_warp)                                        \
                totals[lane()] = total;                         \
        }                                                       \
        barrier();                                              \
        return warp() > 0 ? totals[warp() - 1] : x;             \
    }                                                           \
    static inline T k_block_scan_##name##_##T(T x)              \
    {                                                           \
        x = k_warp_scan_##name##_##T(x);                        \
        if (warp_count() > 1) {                                 \
            T below = k_below_##name##_##T(x);                  \
            x = warp() > 0 ? OP(below, x) : x;                  \
        }                                                       \
        return x;                                               \
    }

#define K_SCAN_BEFORE(T)                                        \
    static inline T k_warp_scan_sum_before_##T(T x)             \
    {                                                           \
        x = shuffle_up(k_warp_scan_sum_##T(x), 1);              \
        return lane() == 0 ? (T)0 : x;                          \
    }                                                           \
    static inline T k_block_scan_sum_before_##T(T x)            \
    {                                                           \
        x = k_warp_scan_sum_##T(x);                             \
        T before = shuffle_up(x, 1);                            \
        before = lane() == 0 ? (T)0 : before;                   \
        if (warp_count() > 1) {                                 \
            T below = k_below_sum_##T(x);                       \
            if (warp() > 0)                                     \
                before = lane() == 0 ? below : below + before;  \
        }                                                       \
        return before;                                          \
    }

#define K_SCANS(T)        \
    K_SCAN(sum, T, K_SUM) \
    K_SCAN(min, T, K_MIN) \
    K_SCAN(max, T, K_MAX) \
    K_SCAN_BEFORE(T)

// scan_T.h asks for one type alone (K_ONLY); without it there are all.
#if !defined(K_ONLY) || defined(K_ONLY_i32)
K_SCANS(i32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u32)
K_SCANS(u32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_i64)
K_SCANS(i64)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_u64)
K_SCANS(u64)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f32)
K_SCANS(f32)
#endif
#if !defined(K_ONLY) || defined(K_ONLY_f64)
K_SCANS(f64)
#endif

#undef K_SUM
#undef K_MIN
#undef K_MAX
#undef K_STEP
#undef K_SCAN
#undef K_SCAN_BEFORE
#undef K_SCANS
#endif
