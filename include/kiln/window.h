// kiln/window.h: windows that slide over a tensor, in kernels (convolution, pooling). The host
// makes the struct (ops/window.h). Tensors are [batch, channels, space]; there are always three
// dimensions of space, of which the first 3 - SPACE have one element.
#ifndef KILN_KERNEL_WINDOW_H
#define KILN_KERNEL_WINDOW_H

#include <kiln/pack.h>

tune(SPACE, 2, 1, 3);      // dimensions of space
tune(LONG, 0, 1);          // 2^31 results and more: indices of 64 bits
tune(CHANNELS_LAST, 0, 1); // neighbouring threads have neighbouring channels
enum { FIRST_SPACE = 3 - SPACE };

struct window {
    u64 count;            // results
    u64 batch;            // elements of `to`, but for its channels
    u32 terms, per_group; // channels of a group: of what is read, of the results
    u32 channels;         // of the results, all groups
    u32 from_space[3];    // sizes
    u32 to_space[3];
    u32 taps[3], stride[3], dilation[3], pad[3], pad_after[3];
    i64 from[5], to[5];   // steps: batch, channel, space
    i64 weight[5], group; // steps: channel of the results, of the terms, space; of a group
    i64 other[5];         // steps of a tensor like `to`; convolution: of the bias, one
};

typedef struct place {
    u64 batch;
    u32 channel, at[3];
} place;

// *at becomes the quotient; returns the rest.
static inline u64 window_divide(u64 *at, u64 size)
{
    u64 quotient = LONG ? *at / size : (u64)((u32)*at / (u32)size);
    u64 rest = *at - quotient * size;
    *at = quotient;
    return rest;
}

// The place of a space with number `at`; *at becomes what is left.
static inline void window_space(u64 *at, const u32 *space, u32 *out)
{
    out[0] = out[1] = out[2] = 0;
#pragma unroll
    for (u32 d = 2; d + 1 > FIRST_SPACE; d--)
        out[d] = (u32)window_divide(at, space[d]);
}

static inline place window_place(u64 at, u32 channels, const u32 *space)
{
    place p;
    if (CHANNELS_LAST)
        p.channel = (u32)window_divide(&at, channels);
    window_space(&at, space, p.at);
    if (!CHANNELS_LAST)
        p.channel = (u32)window_divide(&at, channels);
    p.batch = at;
    return p;
}

// Where it lies.
static inline i64 window_at(const i64 *steps, u64 batch, u32 channel, const u32 *at)
{
    return (i64)batch * steps[0] + channel * steps[1] + at[0] * steps[2] + at[1] * steps[3] +
           at[2] * steps[4];
}

// What tap k of the window reads along dimension d for a result at `at`; -1: nothing. is_inverse:
// the results are those that a window slides over, what is read are the windows. Padded sizes are
// below 2^31.
static inline i64 window_reach(const struct window *w, u32 d, u32 at, u32 k, bool is_inverse)
{
    if (d < FIRST_SPACE)
        return 0;
    i32 i = is_inverse ? (i32)(at + w->pad[d]) - (i32)(k * w->dilation[d])
                       : (i32)(at * w->stride[d] + k * w->dilation[d]) - (i32)w->pad[d];
    if (i < 0)
        return -1;
    u32 to = (u32)i;
    if (is_inverse) {
        to /= w->stride[d];
        if (to * w->stride[d] != (u32)i)
            return -1;
    }
    return to < w->from_space[d] ? (i64)to : -1;
}

#endif
