// Where sums of the gradient by the weights go (weights_sm90.c, weights_add.c): the weights may lie
// anyhow, may have fewer channels than the sums, and taps that are channels of the sums (host_wide.c).
// The file that includes this has T.
#ifndef KILN_CONV_WEIGHTS_PUT_H
#define KILN_CONV_WEIGHTS_PUT_H

#include <kiln/pack.h>

typedef struct weights_to {
    u32 terms, lines[3]; // of the sums: channels and taps
    u32 taps[3];         // of the weights
    u32 channels;        // of the weights: those behind them are left out
    u32 place, pair;     // channels of the sums that are a tap's; that are one of its `pairs` rows'
    u32 rows;            // channels of the small tensor that are there
    u32 pairs, is_whole; // is_whole: eight channels of a tap are 16 bytes, and all are there
    u32 per, merged;     // groups of `per` rows that are one (host_merge.c): a row has only its own channels
    i64 to[5];           // steps of the weights: channel of the small tensor, of the large one, taps
} weights_to;

// Tap `line` of all: its place in the weights.
static void tap_of(const weights_to *s, u32 line, u32 tap[3])
{
#pragma unroll
    for (u32 d = 2; d < 3; d--) {
        u32 rest = line / s->lines[d];
        tap[d] = line - rest * s->lines[d];
        line = rest;
    }
}

static void weights_put(T *to, const weights_to *s, u32 row, u32 line, u32 channel, f32 sum)
{
    u32 tap[3], column = channel / s->place, rest = channel - column * s->place, pair = rest / s->pair;
    tap_of(s, line, tap);
    u32 own = rest - pair * s->pair - row / s->per % s->merged * s->channels, y = tap[1] * s->pairs + pair, x = tap[2] + column;
    if (row < s->rows && y < s->taps[1] && x < s->taps[2] && own < s->channels)
        to[row * s->to[0] + own * s->to[1] + tap[0] * s->to[2] + y * s->to[3] + x * s->to[4]] = pack_put(T, sum);
}

#endif
