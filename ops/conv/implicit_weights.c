// Gradients of a convolution by its weights on tensor cores, for sm_80 and later: the product of the
// small tensor, [places, channels] transposed, and the windows of the large one, [places, taps and
// channels], which are gathered by asynchronous copies of eight channels and never stored. Blocks
// share the places: each stores its sums, parts[chunk, group, channel, taps and channels], and
// another kernel adds them up. WHOLE: there is one chunk, and its sums are the weights.
//
// Both tensors have contiguous channels, a multiple of eight in each group, that start at multiples
// of 16 bytes. In struct window `from` is the large tensor and `to` the small one.
#include <kiln/window.h>

tune(BM, 128, 64); // channels of the small tensor
tune(BN, 128, 64); // taps and channels of the large one
tune(STAGES, 3, 2, 4);
#ifdef T_bf16
#    define T        bf16
#    define MULTIPLY mma_bf16
#else
#    define T        f16
#    define MULTIPLY mma_f16
#endif

enum {
    K_STEP = 64, // places of a stage
    THREADS = 256,
    WARPS_M = BN == 128 ? 2 : BM == 128 ? 4 : 2,
    WARPS_N = 8 / WARPS_M,
    ROWS = BM / WARPS_M, // of a warp
    COLUMNS = BN / WARPS_N,
    TILES_M = ROWS / 16,
    TILES_N = COLUMNS / 16,
    LINES = THREADS / 8,    // that all threads copy at once
    EACH = K_STEP / LINES,  // lines of a thread in a stage
    BLOCK_BYTES = 64 * 128, // 64 places of 64 columns
    A_BLOCKS = BM / 64,
    B_BLOCKS = BN / 64,
    STAGE_BYTES = (A_BLOCKS + B_BLOCKS) * BLOCK_BYTES,
    SHARED_BYTES = STAGES * STAGE_BYTES
};
#ifdef WHOLE
#    include "weights_put.h"
#endif

_Alignas(128) shared u8 smem[];

typedef struct columns { // of a thread, eight of the large tensor: their tap and channel
    bool is_inside;
    i32 shift[3];
    i64 offset;
} columns;

static inline columns columns_of(const struct window *w, u64 at, u64 length)
{
    columns x;
    u32 tap[3];
    x.is_inside = at < length;
    u32 channel = (u32)window_divide(&at, w->terms);
    x.offset = channel;
#pragma unroll
    for (u32 d = 2; d + 1 > FIRST_SPACE; d--) {
        tap[d] = (u32)window_divide(&at, w->taps[d]);
        x.shift[d] = (i32)(tap[d] * w->dilation[d]) - (i32)w->pad[d];
        x.offset += x.shift[d] * w->from[2 + d];
    }
    return x;
}

// The stage that begins at place `first`; those from `end` on are zeros.
static inline void copy_stage(u8 *to, const struct window *w, const T *large, const T *small,
                              const columns *own, u32 channels, u64 first, u64 end)
{
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u64 m = first + thread_x() / 8 + i * LINES, n = m < end ? m : 0;
        u32 p[3];
        window_space(&n, w->to_space, p);
        const T *x = large + (i64)n * w->from[0];
        const T *y = small + (i64)n * w->to[0];
#pragma unroll
        for (u32 d = FIRST_SPACE; d < 3; d++) {
            x += p[d] * w->stride[d] * w->from[2 + d];
            y += p[d] * w->to[2 + d];
        }
        u8 *slot = to + i * LINES * 128;
#pragma unroll
        for (u32 b = 0; b < A_BLOCKS; b++) {
            bool is_inside = m < end && b * 64 + thread_x() % 8 * 8 < channels;
            async_copy_16_part(slot + b * BLOCK_BYTES,
                               (const u8 *)(is_inside ? y + (b * 64 + thread_x() % 8 * 8) : small),
                               is_inside ? 16u : 0u);
        }
#pragma unroll
        for (u32 b = 0; b < B_BLOCKS; b++) {
            bool is_inside = m < end && own[b].is_inside;
#pragma unroll
            for (u32 d = FIRST_SPACE; d < 3; d++)
                is_inside = is_inside &&
                            (u32)((i32)(p[d] * w->stride[d]) + own[b].shift[d]) < w->from_space[d];
            async_copy_16_part(slot + (A_BLOCKS + b) * BLOCK_BYTES,
                               (const u8 *)(is_inside ? x + own[b].offset : large),
                               is_inside ? 16u : 0u);
        }
    }
}

// Where a lane's line of 16 columns lies that begin at `first`: granule g of line r is at g ^ r % 8.
static inline u32 place_in(u32 first, u32 line, u32 granule)
{
    return first / 64 * BLOCK_BYTES + line * 128 + ((first % 64 / 8 ^ granule ^ (line & 7)) * 16);
}

typedef f32 sums[TILES_M][TILES_N * 2][4];

static inline void multiply(sums *acc, const u8 *stage, u32 at_a, u32 at_b)
{
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
        u32 a[TILES_M][4], b[TILES_N * 2][2];
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
            ldmatrix_transposed(a[i], stage + s * 2048 + (at_a ^ (i * 32)));
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++) {
            u32 words[4];
            ldmatrix_transposed(words, stage + A_BLOCKS * BLOCK_BYTES + s * 2048 + (at_b ^ (j * 32)));
            b[j * 2][0] = words[0];
            b[j * 2][1] = words[1];
            b[j * 2 + 1][0] = words[2];
            b[j * 2 + 1][1] = words[3];
        }
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
            for (u32 j = 0; j < TILES_N * 2; j++)
                MULTIPLY((*acc)[i][j], a[i], b[j]);
    }
}

kernel block(THREADS) void conv_weights(const T *restrict from, const T *restrict to,
#ifdef WHOLE
                                        T *restrict weights, struct window w, u64 chunk, weights_to s)
#else
                                        f32 *restrict parts, struct window w, u64 chunk)
#endif
{
    u64 length = (u64)w.taps[0] * w.taps[1] * w.taps[2] * w.terms;
    u32 tiles_n = (u32)((length + BN - 1) / BN), l = lane(), group = block_y();
    u64 tile_n = (u64)(block_x() % tiles_n) * BN;
    u32 tile_m = block_x() / tiles_n * BM;
    u64 first = block_z() * chunk, end = min(first + chunk, w.batch);
    const T *large = from + (i64)(group * w.terms);
    const T *small = to + (i64)(group * w.per_group + tile_m);
    u32 row = warp() / WARPS_N * ROWS, column = warp() % WARPS_N * COLUMNS;
    u32 line = thread_x() / 8, slot = line * 128 + ((thread_x() % 8 ^ (line & 7)) * 16);
    columns own[B_BLOCKS];
#pragma unroll
    for (u32 b = 0; b < B_BLOCKS; b++)
        own[b] = columns_of(&w, tile_n + b * 64 + thread_x() % 8 * 8, length);
    u32 at_a = place_in(row, l / 16 * 8 + l % 8, l / 8 % 2), at_b = place_in(column, l % 16, l / 16);
    sums acc;
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                acc[i][j][e] = 0;

    u32 steps = end > first ? (u32)((end - first + K_STEP - 1) / K_STEP) : 0;
    for (u32 ahead = 0; ahead < steps + STAGES - 1; ahead++) { // the stage that is filled
        if (ahead >= STAGES - 1) {
            async_wait(STAGES - 2);
            barrier();
        }
        if (ahead < steps)
            copy_stage(smem + ahead % STAGES * STAGE_BYTES + slot, &w, large, small, own,
                       w.per_group - tile_m, first + (u64)ahead * K_STEP, end);
        async_commit();
        if (ahead >= STAGES - 1)
            multiply(&acc, smem + (ahead + 1) % STAGES * STAGE_BYTES, at_a, at_b);
    }

#ifndef WHOLE
    f32 *out = parts + ((u64)block_z() * grid_dim_y() + group) * w.per_group * length;
#endif
#pragma unroll
    for (u32 i = 0; i < TILES_M * 2; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++) {
            u32 channel = tile_m + row + i * 8 + l / 4;
            u64 n = tile_n + column + j * 8 + l % 4 * 2;
            if (channel >= w.per_group || n >= length)
                continue;
            f32 x = acc[i / 2][j][i % 2 * 2], y = acc[i / 2][j][i % 2 * 2 + 1];
#ifdef WHOLE
            u32 line = (u32)(n / w.terms), term = (u32)(n - (u64)line * w.terms), number = group * w.per_group + channel;
            weights_put(weights, &s, number, line, term, x);
            weights_put(weights, &s, number, line, term + 1, y);
#else
            *(f32x2 *)(out + (channel * length + n)) = (f32x2){x, y};
#endif
        }
}
