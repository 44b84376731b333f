// Which elements along an axis belong together, of the forward and the backward kernel: output i has
// input pad_source(i), input j is in outputs pad_target(j, 0 …).
#include <kiln/nest.h>
#include <kiln/turns.h>

enum { CONSTANT, REFLECT, EDGE, CIRCULAR, NEAREST };
#ifndef MODE
#    define MODE CONSTANT
#endif

struct pad_axis {
    i64 before;       // elements in front of the input's; CIRCULAR: 0 … in - 1
    u64 in, out;      // sizes
    u32 magic, shift; // where indices have 31 bits, division: CIRCULAR by `in`; NEAREST by out / in,
                      // magic 0 where that is none
    i64 stride;       // of the input (forward) or the output (backward)
};
struct pad_axes {
    struct pad_axis a[8];
};

// The input's index, and whether there is one; indices that have 31 bits are numbers of 32.
#define PAD_SOURCE(name, number)                                                                                       \
    static inline number name(const struct pad_axis *a, u64 i, bool *is_inside)                                        \
    {                                                                                                                  \
        number j = (number)i - (number)a->before, last = (number)a->in - 1;                                            \
        if (MODE == CONSTANT)                                                                                          \
            *is_inside = *is_inside && j >= 0 && j <= last;                                                            \
        if (MODE == REFLECT)                                                                                           \
            j = j < 0 ? -j : j > last ? 2 * last - j : j;                                                              \
        if (MODE == EDGE)                                                                                              \
            j = j < 0 ? 0 : j > last ? last : j;                                                                       \
        if (MODE == CIRCULAR) {                                                                                        \
            u64 at = i + (a->before ? a->in - (u64)a->before : 0);                                                     \
            u64 turns = NEST_LONG ? at / a->in : a->in == 1 ? at : (u64)(mul_high((u32)at, a->magic) >> a->shift);     \
            j = (number)(at - turns * a->in);                                                                          \
        }                                                                                                              \
        if (MODE == NEAREST)                                                                                           \
            j = a->in == a->out              ? (number)i                                                               \
                : NEST_LONG || !a->magic ? (number)(i * a->in / a->out)                                                \
                                         : (number)(mul_high((u32)i, a->magic) >> a->shift);                           \
        return j;                                                                                                      \
    }
PAD_SOURCE(pad_source_long, i64)
PAD_SOURCE(pad_source_short, i32)

static inline i64 pad_source(const struct pad_axis *a, u64 i, bool *is_inside)
{
    return NEST_LONG ? pad_source_long(a, i, is_inside) : (i64)pad_source_short(a, i, is_inside);
}

// How many outputs may have input j.
static inline u64 pad_targets(const struct pad_axis *a, u64 j, u64 *first)
{
    i64 i = (i64)j + a->before, end = i + 1, out = (i64)a->out;
    if (MODE == REFLECT) { // itself; near the ends its images, too
        *first = 0;
        return (i64)j <= a->before || (i64)(a->in - 1 - j) <= out - (i64)a->in - a->before ? 3 : 1;
    }
    if (MODE == CIRCULAR) {
        u64 at = (u64)i >= a->in ? (u64)i - a->in : (u64)i;
        *first = at;
        return at < a->out ? (a->out - 1 - at) / a->in + 1 : 0;
    }
    if (MODE == NEAREST) {
        *first = (j * a->out + a->in - 1) / a->in;
        return ((j + 1) * a->out + a->in - 1) / a->in - *first;
    }
    if (MODE == EDGE) {
        i = j == 0 ? 0 : i;
        end = j + 1 == a->in ? out : end;
    }
    i = i < 0 ? 0 : i;
    end = end > out ? out : end;
    *first = (u64)i;
    return end > i ? (u64)(end - i) : 0;
}

// The k-th of them; false: it is none.
static inline bool pad_target(const struct pad_axis *a, u64 j, u64 first, u64 k, i64 *i)
{
    if (MODE == REFLECT) { // itself, its image in front, the one behind
        i64 last = (i64)a->in - 1, at = (i64)j;
        bool is_image = k == 0 || (k == 1 && at > 0) || (k == 2 && at < last);
        *i = a->before + (k == 0 ? at : k == 1 ? -at : 2 * last - at);
        return is_image && *i >= 0 && *i < (i64)a->out;
    }
    *i = (i64)(first + k * (MODE == CIRCULAR ? a->in : 1));
    return true;
}
