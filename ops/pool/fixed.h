// What the kernels of small windows share: fixed.c and fixed_backward.c. A thread finds the place of
// its results in all loops but the outermost once, and takes several steps of that one.
//
// The loops are [planes, channels, space] or with CHANNELS_LAST [batches, space, packs of channels].
#include <kiln/pack.h>

tune(CHANNELS_LAST, 0, 1);
#define NEST_RANK 5
#define NEST_LONG 0
#define NEST_OF   3
#include <kiln/nest.h>
#include <kiln/turns.h>
KERNEL_OVERLAPS

#ifndef T
#    define T f32
#endif
#ifndef TAPS0 // forward: elements of a window; backward: windows that reach an element, at most
#    define TAPS0 1
#    define TAPS1 3
#    define TAPS2 3
#endif
#ifndef V // channels of a pack
#    define V 1
#endif
#ifndef INDEX
#    define INDEX i64
#endif
#ifdef HAS_INDICES
#    define WITH_INDICES true
#else
#    define WITH_INDICES false
#endif
#ifdef ALL_COUNT // an average counts the padding, too
#    define PADDING_COUNTS true
#else
#    define PADDING_COUNTS false
#endif
PACK(T, V)
PACK(INDEX, V)
typedef pack_number(T) number;
#ifdef MAX
#    define IS_MAX true
#else
#    define IS_MAX false
#endif

// PER: steps of the outermost loop of which all is read before the first result is written.
enum { FROM, TO, INDICES, THREADS = 256, TAPS = TAPS0 * TAPS1 * TAPS2, PER = TAPS * V <= 4 ? 4 : TAPS * V <= 16 ? 2 : 1 };

struct fixed {
    u32 sizes[3], windows[3], taps[3], stride[3], pad[3], pad_after[3];
    i32 steps[3], other[3]; // of what is read, of the indices; in packs
    i64 indices_turn;       // as nest_turns.steps, of the indices
};

// Is x the largest element, where `largest` was that? With indices the first one of equal elements
// stays, and the first NaN; without them the last NaN is as good, and cheaper. `&` would make
// integers of the comparisons.
static inline bool is_largest(number x, number largest)
{
    return WITH_INDICES ? !(x <= largest) && largest == largest : x > largest || x != x;
}

// How many elements the average of window `at` is over, along dimension d.
static inline u32 length(const struct fixed *f, u32 d, u32 at)
{
    u32 first = at * f->stride[d], begin = PADDING_COUNTS ? 0 : f->pad[d];
    u32 end = f->sizes[d] + f->pad[d] + (PADDING_COUNTS ? f->pad_after[d] : 0);
    return min(first + f->taps[d], end) - max(first, begin);
}

// The average of `count` elements; is_whole: of TAPS. A product by a power of two is as exact.
static inline number average(number sum, bool is_whole, u32 count)
{
    return is_whole && (TAPS & (TAPS - 1)) == 0 ? sum * ((number)1 / (number)TAPS)
                                                : sum / (number)count; // a window has an element
}
