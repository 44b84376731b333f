// What attention for Hopper shares where there is a mask (-D MASK, mask.h): rows of a sequence that stop at its end.
//
// With OFFSETS a tensor map of such rows has the dimensions column, row, head, place and turn (attention_map_parts,
// host_views.c). There are PART_ROWS rows, and element (row, place) of turn PART_ROWS is row `row + place - PART_ROWS` of the
// tensor: addresses wrap around. So a tile that is moved to the end of the rows gets zeros behind a sequence, not the rows of
// the next one, which may be NaN; and neither the map nor what is loaded begins in front of the tensor.
#include "mask.h"

enum { MASKED = 1 };

// The fields of a mask in a struct that has `m`, and `q_offsets`, `k_offsets`, `slopes` and `bias` where there are such.
#if defined(OFFSETS)
#    define OFFSETS_FIELDS(q, k) .q_offsets = q, .k_offsets = k,
#else
#    define OFFSETS_FIELDS(q, k)
#endif
#if defined(SLOPES)
#    define SLOPES_FIELD(from) .slopes = from,
#else
#    define SLOPES_FIELD(from)
#endif
#if defined(HAS_BIAS)
#    define BIAS_FIELD(from) .bias = from,
#else
#    define BIAS_FIELD(from)
#endif
#define MASK_FIELDS(q_offsets, k_offsets, from, added, mask)                                       \
    OFFSETS_FIELDS(q_offsets, k_offsets) SLOPES_FIELD(from) BIAS_FIELD(added).m = mask

#if defined(OFFSETS)
#    define LOAD_SOME_ROWS(t, map, rows, first, end, at, full)                                     \
        do {                                                                                       \
            u32 k_left = (first) < (end) ? min((u32)(rows), (end) - (first)) : 0;                  \
            tile_load_5d(t, map, 0, PART_ROWS - k_left, (at).head, (first) + k_left, PART_ROWS,    \
                         full);                                                                    \
        } while (0)
#else
#    define LOAD_SOME_ROWS(t, map, rows, first, end, at, full) LOAD_ROWS(t, map, first, at, full)
#endif
