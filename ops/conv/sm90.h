// What the convolutions for sm_90a share (implicit_sm90.c, patches_sm90.c): types, the host's
// description of one (host_sm90.c), weights in shared memory.
//
// Weights lie as [channel of the results, tap, channel of the terms]; ACROSS: as [channel of the terms,
// tap, channel of the results], which the tensor cores take as it is. The host says which tap is the
// first, and the steps to the next.
#ifndef KILN_CONV_SM90_H
#define KILN_CONV_SM90_H

#include <kiln/pack.h>
#include <kiln/tile.h>

tune(BN, 128, 64, 192, 256);     // channels of a tile
tune(WGS, 2, 1, 3);              // warpgroups that multiply
tune(SHARE, 1, 2, 3, 4, 5, 6, 7, 8); // blocks of a cluster, along the grid's z, that share the sum of a tile
tune(LOADERS, 1, 4); // implicit_sm90.c, or along its x: they have tiles of the same channels, and load weights for each other

#ifdef ACROSS
#    define IS_ACROSS 1
#    define B_ORDER   , wgmma_b_mn
#else
#    define IS_ACROSS 0
#    define B_ORDER
#endif
#ifdef T_bf16
#    define T                  bf16
#    define MMA(d, a, b, adds) wgmma_bf16(d, a, b, adds B_ORDER)
#    define PAIR               pack_bf16
#else
#    define T                  f16
#    define MMA(d, a, b, adds) wgmma_f16(d, a, b, adds B_ORDER)
#    define PAIR               pack_f16
#endif
#ifdef LATE // nothing that is read comes from the kernel before this one: it is waited for at the end
#    define IS_LATE 1
#else
#    define IS_LATE 0
#endif
#ifdef LOOSE // eight channels of the result do not begin at multiples of 16 bytes, or are not all there
#    define IS_LOOSE 1
#else
#    define IS_LOOSE 0
#endif
#ifndef BIAS
#    define BIAS f32
#endif
#include "activate.h"

// --- what the host says
enum { K_TILE = 64 }; // channels of a stage: 128 bytes

// Places that have the same taps. On the way from the small tensor to the large one with a stride s
// they are s apart; else there is one phase.
typedef struct conv_phase {
    u32 end;              // of its tiles: the first one of the next phase
    u32 tiles_w, tiles_h; // along columns and rows
    u32 to_w, to_h;       // places
    u32 taps_w, taps_h;
    i32 tap_first, pad_w, pad_h;
    i64 to_first; // of the result, in elements
} conv_phase;

typedef struct conv_shape {
    u32 tiles, tiles_c;      // all; along channels
    u32 box_w, box_h, box_n; // places of a tile
    u32 to_n, blocks;        // images; 64 channels each
    i32 tap_w, tap_h;        // steps to the next tap of the weights
    i32 stride_w, stride_h, dilation_w, dilation_h;
    u32 per_group, terms;       // channels of a group: of the results, of what is read
    u32 loaded;                 // bytes of a stage
    i64 step_w, step_h, step_n; // of the result, in elements
    i64 bias_step;
    conv_phase phase0, phase1, phase2, phase3; // of those that are not there, no tile is
} conv_shape;

// A field of phase n.
#define phase_of(s, n, field)                                                                                  \
    ((n) == 0   ? (s)->phase0.field                                                                            \
     : (n) == 1 ? (s)->phase1.field                                                                            \
     : (n) == 2 ? (s)->phase2.field                                                                            \
                : (s)->phase3.field)

typedef struct turn { // tile t of all: its phase, and its number there
    u32 phase, number;
} turn;

static turn turn_of(const conv_shape *s, u32 t)
{
    u32 phase = (u32)(t >= s->phase0.end) + (u32)(t >= s->phase1.end) + (u32)(t >= s->phase2.end);
    return (turn){phase, t - (phase ? phase_of(s, phase - 1, end) : 0)};
}

typedef struct range {
    u32 first, end;
} range;

// This block's part of `all` steps.
static range range_of(u32 all)
{
    u32 rank = SHARE > 1 ? cluster_rank() : 0;
    return (range){all * rank / SHARE, all * (rank + 1) / SHARE};
}

// --- weights
tile_type(b_tile, T, IS_ACROSS ? K_TILE : BN, IS_ACROSS ? BN : K_TILE, 128);
tile_type(slab, T, 16, 64, 128); // results of a warp

static void load_weights(b_tile *to, const tensor_map *weight, const conv_shape *s, u32 block, i32 tap, u32 channel,
                         mbarrier *full)
{
    enum { ROWS = (IS_ACROSS ? K_TILE : BN) / LOADERS, PANELS = IS_ACROSS ? BN / 64 : 1 };
    u32 first = LOADERS > 1 ? cluster_rank() * ROWS : 0;
    u32 row = (IS_ACROSS ? block_y() * s->terms + block * K_TILE : block_y() * s->per_group + channel) + first;
#pragma unroll
    for (u32 p = 0; p < PANELS; p++) {
        i32 column = (i32)(IS_ACROSS ? channel + p * 64 : block * K_TILE);
        if (LOADERS > 1)
            tensor_load_all_3d(to->panel[p][first], weight, column, tap, (i32)row, full, (1u << LOADERS) - 1);
        else
            tensor_load_3d(to->panel[p], weight, column, tap, (i32)row, full);
    }
}

static mma_operand weights_operand(b_tile *b)
{
    return IS_ACROSS ? tile_operand_transposed(b) : tile_operand(b);
}

// --- registers
enum { PRODUCER_REGISTERS = WGS == 3 ? 32 : 40, CONSUMER_REGISTERS = WGS == 3 ? 160 : 232 };

#endif
