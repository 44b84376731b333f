// Where sums of the gradient by the weights go (weights_sm90.c, weights_add.c): the weights may lie
// anyhow, may have fewer channels than the sums, and taps that are channels of the sums (host_wide.c).
#ifndef KILN_CONV_WEIGHTS_PUT_H
#define KILN_CONV_WEIGHTS_PUT_H

#include <kiln/pack.h>

typedef struct weights_to {
    u32 terms, lines[3]; // of the sums: channels and taps
    u32 taps[3];         // of the weights
    u32 channels;        // of the weights: those behind them are left out
    u32 place, pair;     // channels of the sums that are a tap's; that are one of its `pairs` rows'
    u32 pairs, is_whole; // is_whole: eight channels of a tap are 16 bytes, and all are there
    i64 to[5];           // steps of the weights: channel of the small tensor, of the large one, taps
} weights_to;

// `count` sums of line `line` (all taps), from channel `channel` on, which is a multiple of 4.
#define weights_put(T, pair_of, to, s, row, line, channel, sums, count)                                       \
    do {                                                                                                      \
        u32 k_rest = (line), k_at[3];                                                                         \
        _Pragma("unroll") for (u32 k_d = 2; k_d < 3; k_d--)                                                   \
        {                                                                                                     \
            u32 k_lines = k_rest / (s)->lines[k_d];                                                           \
            k_at[k_d] = k_rest - k_lines * (s)->lines[k_d];                                                   \
            k_rest = k_lines;                                                                                 \
        }                                                                                                     \
        i64 k_first = (i64)(row) * (s)->to[0];                                                                \
        if ((count) == 8 && (s)->is_whole) {                                                                  \
            i64 k_tap = k_at[0] * (s)->to[2] + k_at[1] * (s)->to[3] + k_at[2] * (s)->to[4];                   \
            *(u32x4 *)((to) + k_first + k_tap + (channel)) =                                                  \
                (u32x4){pair_of((sums)[0], (sums)[1]), pair_of((sums)[2], (sums)[3]),                         \
                        pair_of((sums)[4], (sums)[5]), pair_of((sums)[6], (sums)[7])};                        \
            break;                                                                                            \
        }                                                                                                     \
        _Pragma("unroll") for (u32 k_i = 0; k_i < (count); k_i++)                                             \
        {                                                                                                     \
            u32 k_tap = ((channel) + k_i) / (s)->place, k_of = (channel) + k_i - k_tap * (s)->place;          \
            u32 k_row = k_of / (s)->pair, k_own = k_of - k_row * (s)->pair;                                   \
            u32 k_y = k_at[1] * (s)->pairs + k_row, k_x = k_at[2] + k_tap;                                    \
            if (k_y < (s)->taps[1] && k_x < (s)->taps[2] && k_own < (s)->channels)                            \
                (to)[k_first + k_own * (s)->to[1] + k_at[0] * (s)->to[2] + k_y * (s)->to[3] +                 \
                     k_x * (s)->to[4]] = pack_put(T, (sums)[k_i]);                                            \
        }                                                                                                     \
    } while (0)

#endif
