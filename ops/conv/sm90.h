// What the convolutions for sm_90a share: the host's description of one (host_sm90.c).
#ifndef KILN_CONV_SM90_H
#define KILN_CONV_SM90_H

#ifdef PARTS
#    define HAS_PARTS 1
#else
#    define HAS_PARTS 0
#endif

typedef struct conv_shape {
    u32 tiles, tiles_c, tiles_w, tiles_h; // all; along channels, columns and rows
    u32 box_w, box_h, box_n;              // places of a tile
    u32 to_w, to_h, to_n;                 // sizes of the result
    u32 taps_w, taps_h, taps, blocks;     // taps of a row, of a column, of a window; 64 channels each
    i32 tap_first, tap_w, tap_h;          // the first tap of the weights, steps to the next
    i32 stride_w, stride_h, pad_w, pad_h, dilation_w, dilation_h;
    u32 per_group, terms;                 // channels of a group: of the results, of what is read
    u32 channels, loaded;                 // channels of all groups; bytes of a stage that are loaded
    i64 step_w, step_h, step_n;           // of the result, in elements
    i64 bias_step;
} conv_shape;

#endif
