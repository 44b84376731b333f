// What the kernels of attention for Hopper share: the element type, where the rows of a head are,
// and how accumulators are stored.
//
// With STRIDED a tensor is [batch][head][row][HD] with contiguous rows; without, it is dense and the
// batch is part of the head: [head][row][HD]. With STRIDED rows may have fewer columns than HD, a
// multiple of 8 (-D COLUMNS): the copy engine brings zeros for the others, and they are not stored.
#include <kiln/tile.h>

#include "sizes.h"

tune(HD, 128, 64, 192, 256); // head dimension
tune(STRIDED, 0, 1);
#if !defined(COLUMNS)
#    define COLUMNS HD
#endif

#if defined(TYPE_f16)
typedef f16 half_t;
#    define MMA  wgmma_f16
#    define PACK pack_f16
#else
typedef bf16 half_t;
#    define MMA  wgmma_bf16
#    define PACK pack_bf16
#endif
#define MMA_B_MN(d, a, b, adds) MMA(d, a, b, adds, wgmma_b_mn) // b is transposed

#if defined(MASK)
#    include "hopper_mask.h"
#else
enum { MASKED = 0 };
#    define MASK_PARAMETERS(...)
#endif

typedef struct steps { // from one coordinate of a tensor map to the next: 1, or 0 for a broadcast
    u32 head, batch;
} steps;

typedef struct strides { // in elements
    u64 batch, head, row;
} strides;

typedef struct place { // coordinates of a head in a tensor map
    u32 head, batch;
} place;

static place place_of(steps by, u32 head, u32 heads)
{
    u32 batch = STRIDED ? head / heads : 0;
    return STRIDED ? (place){(head - batch * heads) * by.head, batch * by.batch} : (place){head, 0};
}

#define LOAD_ROWS(t, map, row, at, full)                                                           \
    do {                                                                                           \
        if (STRIDED)                                                                               \
            tile_load_4d(t, map, 0, row, (at).head, (at).batch, full);                             \
        else                                                                                       \
            tile_load_3d(t, map, 0, row, (at).head, full);                                         \
    } while (0)

// The element where a row begins, in a dense tensor with `length` rows of `width` elements per head.
static u64 row_at(strides by, u32 head, u32 heads, u32 row, u32 length, u32 width)
{
    if (!STRIDED)
        return ((u64)head * length + row) * width;
    u32 batch = head / heads;
    return batch * by.batch + (head - batch * heads) * by.head + row * by.row;
}

static f32x2 unpack(u32 word)
{
#if defined(TYPE_f16)
    return (f32x2){f32(f16_from_bits((u16)word)), f32(f16_from_bits((u16)(word >> 16)))};
#else
    return (f32x2){f32_from_bits(word << 16), f32_from_bits(word & 0xffff0000)};
#endif
}

// Stores the 16 rows of a warp, 64 columns at a time, each accumulator times the factor of its row.
// `out` is where the first of them begins.
static void store_rows(void *staging, half_t *out, strides by, const f32 (*acc)[HD / 2], f32 factor_0,
                       f32 factor_8, u32 rows_left)
{
    u64 pitch = (STRIDED ? by.row : HD) * 2;
    // Dense rows in 32 bits: with a product of 64 bits ptxas schedules the main loop another way.
    u64 first_row = STRIDED ? lane() / 8 * pitch : lane() / 8 * (HD * 2);
    u8 *to = (u8 *)out + first_row + lane() % 8 * 16;
#pragma unroll
    for (u32 panel = 0; panel < HD / 64; panel++) {
        u32 words[4][4];
#pragma unroll
        for (u32 i = 0; i < 16; i++) {
            f32 factor = i % 2 ? factor_8 : factor_0;
            u32 at = panel * 32 + i * 2;
            words[i / 4][i % 4] = PACK((*acc)[at] * factor, (*acc)[at + 1] * factor);
        }
        bool is_there = COLUMNS == HD || panel * 64 + lane() % 8 * 8 < COLUMNS;
        k_tile_store_words(staging, to + panel * 128, pitch, &words, is_there ? rows_left : 0);
    }
}

// -D SPLIT: several units of work share a result. Each leaves its share of it in f32, dense rows of HD
// numbers, and a kernel behind adds them.
#if defined(SPLIT)
enum { IS_SPLIT = 1 };
typedef f32 out_t;

// As store_rows; empty: zeros.
static void store_share(f32 *out, const f32 (*acc)[HD / 2], f32 factor_0, f32 factor_8, u32 rows_left, bool is_empty)
{
    f32 *to = out + lane() / 4 * HD + lane() % 4 * 2;
#    pragma unroll
    for (u32 h = 0; h < 2; h++) {
        f32 factor = h ? factor_8 : factor_0;
        if (lane() / 4 + h * 8 >= rows_left)
            break;
#    pragma unroll
        for (u32 i = h * 2; i < HD / 2; i += 4)
            *(f32x2 *)(to + h * 8 * HD + i / 4 * 8) =
                is_empty ? (f32x2){0.0f, 0.0f} : (f32x2){(*acc)[i] * factor, (*acc)[i + 1] * factor};
    }
}
#    define STORE_ROWS(staging, out, by, acc, factor_0, factor_8, rows_left) \
        store_share(out, acc, factor_0, factor_8, rows_left, false)
#else
enum { IS_SPLIT = 0 };
typedef half_t out_t;
#    define STORE_ROWS store_rows
#endif
