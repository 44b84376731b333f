// What attention for Hopper shares where there is a mask (-D MASK, mask.h): rows of a sequence that stop at its end.
//
// With OFFSETS a tensor map of such rows has the dimensions column, row of a tile, head, and `where`: element (row, where) is row
// `row + where - rows of a tile` of the tensor (attention_map_parts, host_views.c). Rows of a tile end at their number, and so a
// tile that is moved down in it gets zeros behind a sequence, not the rows of the next one, which may be NaN.
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
            tile_load_4d(t, map, 0, (rows)-k_left, (at).head, (first) + k_left, full);             \
        } while (0)
#else
#    define LOAD_SOME_ROWS(t, map, rows, first, end, at, full) LOAD_ROWS(t, map, first, at, full)
#endif
