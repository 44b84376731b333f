// Pooling: one number for every place of a window, in each channel alone. A result is one thread's,
// forward and backward: the gradient of an element is gathered from the windows that reach it, in
// their order, so nothing is added atomically.
//
// ADAPTIVE: window i of n over a dimension of `size` elements is floor(i * size / n) to
// ceil((i + 1) * size / n) - 1.
#include <kiln/window.h>
KERNEL_OVERLAPS

enum { THREADS = 256 };
#ifndef T
#    define T f32
#endif
#ifndef INDEX // of the elements that are the largest of their windows
#    define INDEX i64
#endif
#ifdef ADAPTIVE
#    define IS_ADAPTIVE true
#else
#    define IS_ADAPTIVE false
#endif
#ifdef ALL_COUNT // an average counts the padding, too
#    define PADDING_COUNTS true
#else
#    define PADDING_COUNTS false
#endif
typedef pack_number(T) number;

// --- windows along one dimension: window `at` over `size` elements, of which there are `windows`
static inline u32 adaptive_begin(u32 at, u32 size, u32 windows)
{
    return (u32)((u64)at * size / windows);
}

static inline u32 adaptive_end(u32 at, u32 size, u32 windows)
{
    return (u32)((((u64)at + 1) * size + windows - 1) / windows);
}

// How many elements the average of window `at` is over.
static inline u32 length(const struct window *w, u32 d, u32 at, u32 size, u32 windows)
{
    if (d < FIRST_SPACE)
        return 1;
    if (IS_ADAPTIVE)
        return adaptive_end(at, size, windows) - adaptive_begin(at, size, windows);
    u32 first = at * w->stride[d], end = size + w->pad[d] + (PADDING_COUNTS ? w->pad_after[d] : 0);
    u32 begin = PADDING_COUNTS ? 0 : w->pad[d], count = 0;
    for (u32 k = 0; k < w->taps[d]; k++) {
        u32 i = first + k * w->dilation[d];
        count += i >= begin && i < end;
    }
    return count;
}

// --- forward
#ifndef BACKWARD
// How many elements window `at` may have, and the k-th of them; -1: it lies in the padding.
static inline u32 taps_of(const struct window *w, u32 d, u32 at)
{
    return IS_ADAPTIVE && d >= FIRST_SPACE ? length(w, d, at, w->from_space[d], w->to_space[d])
                                           : w->taps[d];
}

static inline i64 tap(const struct window *w, u32 d, u32 at, u32 k)
{
    return IS_ADAPTIVE && d >= FIRST_SPACE
               ? (i64)(adaptive_begin(at, w->from_space[d], w->to_space[d]) + k)
               : window_reach(w, d, at, k, false);
}

kernel block(THREADS) void pool(const T *restrict from, T *restrict to,
#    ifdef HAS_INDICES
                                INDEX *restrict indices,
#    endif
                                struct window w)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
    if (at >= w.count)
        return;
    place p = window_place(at, w.channels, w.to_space);
    const T *x = from + ((i64)p.batch * w.from[0] + p.channel * w.from[1]);
    number result = 0;
    i64 index = -1;
    u32 taps[3];
#    pragma unroll
    for (u32 d = 0; d < 3; d++)
        taps[d] = taps_of(&w, d, p.at[d]);
    for (u32 i = 0; i < taps[0]; i++) {
        i64 a = tap(&w, 0, p.at[0], i);
        for (u32 j = 0; j < taps[1]; j++) {
            i64 b = tap(&w, 1, p.at[1], j);
            if (a < 0 || b < 0)
                continue;
            const T *row = x + (a * w.from[2] + b * w.from[3]);
            for (u32 k = 0; k < taps[2]; k++) {
                i64 c = tap(&w, 2, p.at[2], k);
                if (c < 0)
                    continue;
                number v = pack_get(T, row[c * w.from[4]]);
#    ifdef MAX
                if (index < 0 || v > result || (v != v && result == result)) { // a NaN is largest
                    result = v;
                    index = (a * w.from_space[1] + b) * w.from_space[2] + c;
                }
#    else
                result += v;
#    endif
            }
        }
    }
#    ifdef MAX
    if (index < 0)
        result = (number)-INFINITY;
#    else
    u32 count = 1;
#        pragma unroll
    for (u32 d = 0; d < 3; d++)
        count *= length(&w, d, p.at[d], w.from_space[d], w.to_space[d]);
    result = count ? result / (number)count : (number)0;
#    endif
    to[window_at(w.to, p.batch, p.channel, p.at)] = pack_put(T, result);
#    ifdef HAS_INDICES
    indices[window_at(w.other, p.batch, p.channel, p.at)] = (INDEX)index;
#    endif
}
#else
// --- backward: `from` is the gradient of the results, `to` that of the operand
// Windows without gaps: those that reach an element are neighbours.
static inline bool is_near(const struct window *w, u32 d)
{
    return !IS_ADAPTIVE && d >= FIRST_SPACE && w->dilation[d] == 1;
}

// How many windows may reach element `at`, from *first on, and the k-th of them; -1: that one does
// not.
static inline u32 windows_of(const struct window *w, u32 d, u32 at, u32 *first)
{
    *first = 0;
    if (is_near(w, d)) {
        u32 reach = at + w->pad[d], stride = w->stride[d], end = min(reach / stride + 1, w->from_space[d]);
        *first = reach < w->taps[d] ? 0 : (reach - w->taps[d]) / stride + 1;
        return end > *first ? end - *first : 0;
    }
    if (!IS_ADAPTIVE || d < FIRST_SPACE)
        return w->taps[d];
    u64 size = w->to_space[d], windows = w->from_space[d];
    return (u32)((((u64)at + 1) * windows + size - 1) / size - at * windows / size);
}

static inline i64 window_of(const struct window *w, u32 d, u32 at, u32 first, u32 k)
{
    if (is_near(w, d))
        return (i64)(first + k);
    if (!IS_ADAPTIVE || d < FIRST_SPACE) // the last tap is that of the first window
        return window_reach(w, d, at, w->taps[d] - 1 - k, true);
    u32 size = w->to_space[d], windows = w->from_space[d];
    u32 i = adaptive_begin(at, windows, size) + k;
    bool is_inside =
        at >= adaptive_begin(i, size, windows) && at < adaptive_end(i, size, windows);
    return is_inside ? (i64)i : -1;
}

kernel block(THREADS) void pool(const T *restrict from, T *restrict to,
#    ifdef HAS_INDICES
                                const INDEX *restrict indices,
#    endif
                                struct window w)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
    if (at >= w.count)
        return;
    place p = window_place(at, w.channels, w.to_space);
    const T *g = from + ((i64)p.batch * w.from[0] + p.channel * w.from[1]);
    number sum = 0;
#    ifdef HAS_INDICES
    const INDEX *own = indices + ((i64)p.batch * w.other[0] + p.channel * w.other[1]);
    i64 index = ((i64)p.at[0] * w.to_space[1] + p.at[1]) * w.to_space[2] + p.at[2];
#    endif
    u32 windows[3], first[3];
#    pragma unroll
    for (u32 d = 0; d < 3; d++)
        windows[d] = windows_of(&w, d, p.at[d], &first[d]);
    for (u32 i = 0; i < windows[0]; i++)
        for (u32 j = 0; j < windows[1]; j++)
            for (u32 k = 0; k < windows[2]; k++) {
                i64 a = window_of(&w, 0, p.at[0], first[0], i);
                i64 b = window_of(&w, 1, p.at[1], first[1], j);
                i64 c = window_of(&w, 2, p.at[2], first[2], k);
                if (a < 0 || b < 0 || c < 0)
                    continue;
                number v = pack_get(T, g[a * w.from[2] + b * w.from[3] + c * w.from[4]]);
#    ifdef HAS_INDICES
                if ((i64)own[a * w.other[2] + b * w.other[3] + c * w.other[4]] == index)
                    sum += v;
#    else
                u32 count = length(&w, 0, (u32)a, w.to_space[0], w.from_space[0]) *
                            length(&w, 1, (u32)b, w.to_space[1], w.from_space[1]) *
                            length(&w, 2, (u32)c, w.to_space[2], w.from_space[2]);
                sum += v / (number)count;
#    endif
            }
    to[window_at(w.to, p.batch, p.channel, p.at)] = pack_put(T, sum);
}
#endif
