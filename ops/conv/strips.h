// Strips of depthwise convolutions: PIXELS neighbouring results along dimension ALONG of space, and the
// LINE elements that they read there. What is known when a kernel is compiled, taps and stride, decides
// which of those is whose. The file that includes this has ALONG, ALONG_TAPS and IS_INVERSE.
#ifndef KILN_CONV_STRIPS_H
#define KILN_CONV_STRIPS_H

#include <kiln/window.h>

tune(STRIDE, 1, 2, 3, 0);    // along the strip; 0: any, and PIXELS is 1
tune(PIXELS, 4, 1, 2, 3); // INVERSE: a multiple of STRIDE

enum {
    DIVISOR = STRIDE ? STRIDE : 1,
    LOW = (ALONG_TAPS - 1) / (IS_INVERSE ? DIVISOR : 1),
    LINE = STRIDE == 0   ? ALONG_TAPS
           : !IS_INVERSE ? (PIXELS - 1) * STRIDE + ALONG_TAPS
                         : (PIXELS - 1) / DIVISOR + LOW + 1
};

typedef struct strips {
    u32 packs;  // of channels, of a block; depthwise_planes.c: none
    u32 length; // strips along the dimension
    u32 spread; // from a result of a strip to the next: the dilation, if the stride is 1
    u32 shift;  // INVERSE: the first strip begins so many results too early, where an element meets tap 0
} strips;

#define FOR_PIXELS(q) _Pragma("unroll") for (u32 q = 0; q < PIXELS; q++)
#define FOR_LINE(t)   _Pragma("unroll") for (u32 t = 0; t < LINE; t++)

// The first result of a strip; before the first one it is huge.
static inline u32 strip_first(const strips *s, u32 strip)
{
    if (STRIDE == 0 || PIXELS == 1)
        return strip - s->shift;
    if (STRIDE > 1)
        return strip * PIXELS - s->shift;
    u32 next = strip / s->spread;
    return next * PIXELS * s->spread + (strip - next * s->spread);
}

static inline u32 strip_result(const strips *s, u32 first, u32 q)
{
    return STRIDE > 1 ? first + q : first + q * s->spread;
}

// Which element of the line tap k of result q reads; -1: none.
static inline i32 line_index(i32 q, i32 k)
{
    if (STRIDE == 0)
        return k;
    if (!IS_INVERSE)
        return q * STRIDE + k;
    return (q - k) % DIVISOR == 0 ? (q - k) / DIVISOR + LOW : -1;
}

// Where element t of the line lies; outside of the tensor it is from_space[ALONG] or more.
static inline u32 line_at(const struct window *w, u32 first, u32 t)
{
    if (STRIDE == 0)
        return (u32)window_reach(w, ALONG, first, t, IS_INVERSE);
    if (!IS_INVERSE)
        return first * STRIDE + t * w->dilation[ALONG] - w->pad[ALONG];
    if (STRIDE == 1)
        return first + w->pad[ALONG] + t * w->dilation[ALONG] - LOW * w->dilation[ALONG];
    return (first + w->pad[ALONG]) / DIVISOR + t - LOW;
}

#endif
