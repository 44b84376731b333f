// Convolutions on tensor cores, for sm_80 and later: a matrix product whose left operand is never
// stored. Its rows are places of the result, its columns are taps and channels; asynchronous copies
// gather 16 bytes at a time, eight channels of one tap, into a ring of shared memory stages. From
// there it is ldmatrix and mma, as in ops/matmul/gemm_sm80.c.
//
// Channels of `from` are contiguous, a multiple of eight in each group, and start at multiples of 16
// bytes. Weights are packed: [group, channel of the results, taps, channel of the terms]. INVERSE
// goes from the small tensor to the large one, as in direct.c.
#include <kiln/window.h>

tune(BM, 128, 64); // places of a tile
tune(BN, 128, 64); // channels of a tile
tune(STAGES, 3, 2, 4);
tune(PAIRS, 1, 0);   // pairs of results are aligned: channels are contiguous, all else is even
tune(DIVIDES, 0, 1); // INVERSE with a stride
#ifdef T_bf16
#    define T        bf16
#    define MULTIPLY mma_bf16
#    define PAIR     pack_bf16
#else
#    define T        f16
#    define MULTIPLY mma_f16
#    define PAIR     pack_f16
#endif
#include "types.h"
#include "activate.h"

enum {
    K_STEP = 64, // elements of a stage: 128 bytes
    THREADS = 256,
    WARPS_M = BN == 128 ? 2 : BM == 128 ? 4 : 2,
    WARPS_N = 8 / WARPS_M,
    ROWS = BM / WARPS_M, // of a warp
    COLUMNS = BN / WARPS_N,
    TILES_M = ROWS / 16,
    TILES_N = COLUMNS / 16,
    LINES = THREADS / 8, // that all threads copy at once
    A_EACH = BM / LINES, // granules of a thread in a stage
    B_EACH = BN / LINES,
    STAGE_BYTES = (BM + BN) * 128,
    SHARED_BYTES = STAGES * STAGE_BYTES
};

_Alignas(128) shared u8 smem[];

// --- memory to shared memory
typedef struct line { // a place of the results: where its window begins
    const T *at;
    i32 first[3];
} line;

typedef struct tap { // of a thread's granule in the next stage
    u32 channel, at[3];
} tap;

static inline line line_of(const struct window *w, const T *from, u64 m)
{
    line x;
    u32 p[3];
    u64 n = m < w->batch ? m : 0;
    window_space(&n, w->to_space, p);
    x.at = from + (i64)n * w->from[0];
#pragma unroll
    for (u32 d = FIRST_SPACE; d < 3; d++) {
        x.first[d] = IS_INVERSE ? (i32)(p[d] + w->pad[d]) : (i32)(p[d] * w->stride[d]) - (i32)w->pad[d];
        if (!DIVIDES)
            x.at += x.first[d] * w->from[2 + d];
        if (m >= w->batch)
            x.first[d] = -0x40000000; // no tap brings it back
    }
    return x;
}

// Channels beyond those of a tap are the next tap's.
static inline void wrap(const struct window *w, tap *t)
{
    while (t->channel >= w->terms && t->at[0] < w->taps[0]) {
        t->channel -= w->terms;
        if (++t->at[2] == w->taps[2]) {
            t->at[2] = 0;
            if (++t->at[1] == w->taps[1]) {
                t->at[1] = 0;
                t->at[0]++;
            }
        }
    }
}

static inline void copy_a(u8 *to, const struct window *w, const T *from, const line *lines, const tap *t)
{
    i32 shift[3];
    i64 offset = t->channel;
#pragma unroll
    for (u32 d = FIRST_SPACE; d < 3; d++) {
        shift[d] = (i32)(t->at[d] * w->dilation[d]);
        shift[d] = IS_INVERSE ? -shift[d] : shift[d];
        offset += DIVIDES ? 0 : shift[d] * w->from[2 + d];
    }
#pragma unroll
    for (u32 i = 0; i < A_EACH; i++) {
        bool is_inside = t->at[0] < w->taps[0];
        i64 place = offset;
#pragma unroll
        for (u32 d = FIRST_SPACE; d < 3; d++) {
            i32 q = lines[i].first[d] + shift[d];
            if (DIVIDES) {
                is_inside = is_inside && q >= 0;
                u32 quotient = (u32)q / w->stride[d];
                is_inside = is_inside && quotient * w->stride[d] == (u32)q;
                q = (i32)quotient;
                place += q * w->from[2 + d];
            }
            is_inside = is_inside && (u32)q < w->from_space[d];
        }
        async_copy_16_part(to + i * LINES * 128, (const u8 *)(is_inside ? lines[i].at + place : from),
                           is_inside ? 16u : 0u);
    }
}

static inline void copy_b(u8 *to, const T *weight, u64 length, u32 channel, u32 channels, u64 k)
{
#pragma unroll
    for (u32 i = 0; i < B_EACH; i++) {
        bool is_inside = channel + i * LINES < channels && k < length;
        async_copy_16_part(to + i * LINES * 128,
                           (const u8 *)(is_inside ? weight + ((channel + i * LINES) * length + k) : weight),
                           is_inside ? 16u : 0u);
    }
}

// --- shared memory to registers: granule g of line r lies at g ^ r % 8
static inline u32 place_in(u32 row, u32 granule)
{
    return row * 128 + ((granule ^ (row & 7)) * 16);
}

typedef f32 sums[TILES_M][TILES_N * 2][4];

static inline void multiply(sums *acc, const u8 *stage, u32 at_a, u32 at_b)
{
#pragma unroll
    for (u32 s = 0; s < 4; s++) {
        u32 a[TILES_M][4], b[TILES_N * 2][2];
#pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
            ldmatrix(a[i], stage + i * 2048 + (at_a ^ (s * 32)));
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++) {
            u32 words[4];
            ldmatrix(words, stage + BM * 128 + j * 2048 + (at_b ^ (s * 32)));
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

kernel block(THREADS) void conv_implicit(const T *restrict from, const T *restrict weight, T *restrict to,
#ifdef HAS_BIAS
                                const BIAS *restrict bias,
#endif
                                struct window w)
{
    u32 tiles_n = (w.per_group + BN - 1) / BN, l = lane(), granule = thread_x() % 8;
    u32 tile_n = block_x() % tiles_n * BN, group = block_y();
    u64 tile_m = (u64)(block_x() / tiles_n) * BM;
    u64 length = (u64)w.taps[0] * w.taps[1] * w.taps[2] * w.terms;
    const T *x = from + (i64)(group * w.terms) * w.from[1];
    const T *y = weight + group * w.per_group * length;
    u32 row = warp() / WARPS_N * ROWS, column = warp() % WARPS_N * COLUMNS;

    line lines[A_EACH];
#pragma unroll
    for (u32 i = 0; i < A_EACH; i++)
        lines[i] = line_of(&w, x, tile_m + thread_x() / 8 + i * LINES);
    tap t = {.channel = granule * 8, .at = {0, 0, 0}};
    wrap(&w, &t);
    u32 slot = place_in(thread_x() / 8, granule), channel = tile_n + thread_x() / 8;
    u32 at_a = place_in(row + l % 16, l / 16), at_b = place_in(column + l / 16 * 8 + l % 8, l / 8 % 2);
    u32 steps = (u32)((length + K_STEP - 1) / K_STEP);
    u64 k = granule * 8;
    sums acc;
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                acc[i][j][e] = 0;

    for (u32 ahead = 0; ahead < steps + STAGES - 1; ahead++) { // the stage that is filled
        if (ahead >= STAGES - 1) {
            async_wait(STAGES - 2);
            barrier();
        }
        if (ahead < steps) {
            u8 *stage = smem + ahead % STAGES * STAGE_BYTES + slot;
            copy_a(stage, &w, from, lines, &t);
            copy_b(stage + BM * 128, y, length, channel, w.per_group, k);
            t.channel += K_STEP;
            wrap(&w, &t);
            k += K_STEP;
        }
        async_commit();
        if (ahead >= STAGES - 1)
            multiply(&acc, smem + (ahead + 1) % STAGES * STAGE_BYTES, at_a, at_b);
    }

#pragma unroll
    for (u32 i = 0; i < TILES_M * 2; i++) {
        u64 m = tile_m + row + i * 8 + l / 4, n = m;
        if (m >= w.batch)
            continue;
        u32 p[3];
        window_space(&n, w.to_space, p);
        T *out = to + window_at(w.to, n, group * w.per_group, p);
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++) {
            u32 c = tile_n + column + j * 8 + l % 4 * 2;
            if (c >= w.per_group)
                continue;
            bool has_next = PAIRS || c + 1 < w.per_group;
            f32 a = acc[i / 2][j][i % 2 * 2], b = acc[i / 2][j][i % 2 * 2 + 1];
#ifdef HAS_BIAS
            const BIAS *own = bias + (i64)(group * w.per_group + c) * w.other[0];
            a += pack_get(BIAS, own[0]);
            if (has_next)
                b += pack_get(BIAS, own[w.other[0]]);
#endif
            a = activate(a);
            b = activate(b);
            if (PAIRS) {
                *(u32 *)(out + c) = PAIR(a, b);
            } else {
                out[c * w.to[1]] = pack_put(T, a);
                if (has_next)
                    out[(c + 1) * w.to[1]] = pack_put(T, b);
            }
        }
    }
}
