// out[M,N] = x * transposed quantised weights on tensor cores, for sm_80 and later. Asynchronous copies bring x into a
// ring of shared memory stages. Weights go through registers, where they become numbers of x's type (exactly: integers
// of at most nine bits), into one of two buffers; while one is multiplied, the next is decoded. From there it is
// ldmatrix and mma, as in ops/matmul/gemm_sm80.c. With GROUPED the sums of a group are multiplied by its scale and
// added to the sums of all in f32.
//
// x of i8: weights are copied as they are, too, and the sums are i32, exact.
// Shared memory holds lines of eight granules of 16 bytes; granule g of line r lies at g ^ r % 8.
#include <kiln/kernel.h>

tune(BM, 128, 64);
tune(BN, 128, 64);
tune(STAGES, 3, 2);
tune(GROUPED, 1, 0);
tune(FOLD, 64, 32);   // elements of K with one scale in a stage: 64, or 32 for groups of 32
tune(X_PACKED, 1, 0); // rows of x are contiguous and start at multiples of 16 bytes
tune(W_PACKED, 1, 0); // rows of the weights start at multiples of 16 bytes
tune(PAIRS, 1, 0);    // pairs of results are aligned: columns are contiguous, all else is even
#include "decode.h"

#if defined(X_i8)
#    define MULTIPLY mma_s8
typedef i32 sum_t;
#elif defined(X_bf16)
#    define MULTIPLY mma_bf16
typedef f32 sum_t;
#else
#    define MULTIPLY mma_f16
typedef f32 sum_t;
#endif
#if defined(OUT_bf16)
#    define PAIR pack_bf16
#elif defined(OUT_f16)
#    define PAIR pack_f16
#endif
#ifdef X_i8
typedef u8 raw_t;
enum { IS_BYTES = 1 };
#else
typedef u16 raw_t;
enum { IS_BYTES = 0 };
#endif

enum {
    THREADS = 256,
    K_STEP = 128 / sizeof(X), // elements of a stage
    GRANULE = 16 / sizeof(X),
    WARPS_M = BM == 128 && BN == 64 ? 4 : 2,
    WARPS_N = 8 / WARPS_M,
    ROWS = BM / WARPS_M, // of a warp
    COLUMNS = BN / WARPS_N,
    TILES_M = ROWS / 16,
    TILES_N = COLUMNS / 16,
    LINES = THREADS / 8, // that all threads copy at once
    X_EACH = BM / LINES, // granules of a thread in a stage
    B_EACH = BN / LINES,
    CHUNKS = 64 / CHUNK, // of a line of weights that are decoded
    W_EACH = (BN * CHUNKS + THREADS - 1) / THREADS,
    FOLDS = 64 / FOLD,
    X_BYTES = BM * 128,
    W_BYTES = BN * 128,
    W_BUFFERS = IS_BYTES ? STAGES : 2,
    W_AT = STAGES * X_BYTES,
    SCALES_AT = W_AT + W_BUFFERS * W_BYTES,
    SHARED_BYTES = SCALES_AT + (GROUPED ? 2 * FOLDS * BN * 4 : 0)
};

_Alignas(128) shared u8 smem[];

static inline u32 place_in(u32 row, u32 granule)
{
    return row * 128 + ((granule ^ (row & 7)) * 16);
}

// --- x, and weights of i8 with x of i8, to shared memory
// A granule of a row from element k on; behind `depth` there are zeros.
static inline void copy_granule(u8 *to, const raw_t *row, i64 step, u32 k, u32 depth, bool is_packed)
{
    u32 left = k < depth ? depth - k : 0;
    if (is_packed) {
        async_copy_16_part(to, (const u8 *)(row + (left ? k : 0)), min(left, (u32)GRANULE) * (u32)sizeof(raw_t));
    } else {
        u32 words[4] = {0, 0, 0, 0};
#pragma unroll
        for (u32 e = 0; e < GRANULE; e++)
            if (e < left)
                words[e * sizeof(raw_t) / 4] |= (u32)row[(i64)(k + e) * step] << e * sizeof(raw_t) % 4 * 8;
        *(u32x4 *)(void *)to = (u32x4){words[0], words[1], words[2], words[3]};
    }
}

// Every LINES-th line of a tile, from `first` of `rows` rows on; behind the last it is the last again.
static inline void copy_lines(u8 *to, const raw_t *from, i64 row_step, i64 step, u32 first, u32 rows, u32 k, u32 depth,
                              u32 each, bool is_packed)
{
#pragma unroll
    for (u32 i = 0; i < each; i++)
        copy_granule(to + i * LINES * 128, from + (i64)min(first + i * LINES, rows - 1) * row_step, step, k, depth,
                     is_packed);
}

// --- weights to registers, decoded to shared memory
typedef struct source {
    const weight_t *weight;
    const SCALE *scale;
    const zero_t *zero;
    i64 weight_step, scale_step[2], zero_step[2];
    u32 column, n, depth, group_shift; // the tile's first column
} source;

typedef struct held { // what a thread has of the next stage
    chunk chunks[W_EACH];
    f32 zeros[W_EACH], scale;
} held;

// Of the stage from element k on.
static inline void load_weights(held *h, const source *from, u32 k)
{
#pragma unroll
    for (u32 i = 0; i < W_EACH; i++) {
        u32 q = thread_x() + i * THREADS, line = min(from->column + q / CHUNKS % BN, from->n - 1);
        u32 at = k + q % CHUNKS * CHUNK;
        bool is_inside = at < from->depth;
        at = is_inside ? at : 0;
        h->chunks[i] = load_chunk(from->weight + (i64)line * from->weight_step, at, from->depth);
        i64 group = GROUPED ? (i64)(at >> from->group_shift) : 0;
        h->zeros[i] = zero_of(from->zero, (i64)line * from->zero_step[0] + group * from->zero_step[1]);
    }
#ifndef X_i8
    if (GROUPED && thread_x() < FOLDS * BN) {
        u32 line = min(from->column + thread_x() % BN, from->n - 1), at = k + thread_x() / BN * FOLD;
        i64 group = (i64)(min(at, from->depth - 1) >> from->group_shift);
        h->scale = pack_get(SCALE, from->scale[(i64)line * from->scale_step[0] + group * from->scale_step[1]]);
    }
#endif
}

static inline void keep_weights(u8 *to, f32 *scales, const held *h)
{
    if (GROUPED && thread_x() < FOLDS * BN)
        scales[thread_x()] = h->scale;
#pragma unroll
    for (u32 i = 0; i < W_EACH; i++) {
        u32 q = thread_x() + i * THREADS, line = q / CHUNKS;
        if (BN * CHUNKS % THREADS && q >= BN * CHUNKS)
            break;
#pragma unroll
        for (u32 piece = 0; piece < CHUNK / 8; piece++)
            *(u32x4 *)(void *)(to + place_in(line, q % CHUNKS * (CHUNK / 8) + piece)) =
                decode_pairs(&h->chunks[i], piece, h->zeros[i], lift_of(0));
    }
}

// --- shared memory to registers
typedef sum_t sums[TILES_M][TILES_N * 2][4];

static inline void clear(sums *acc)
{
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N * 2; j++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                (*acc)[i][j][e] = 0;
}

// acc += 32 bytes of K, number s of the stage
static inline void multiply(sums *acc, const u8 *x, const u8 *w, u32 at_a, u32 at_b, u32 s)
{
    u32 a[TILES_M][4], b[TILES_N * 2][2];
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
        ldmatrix(a[i], x + i * 2048 + (at_a ^ (s * 32)));
#pragma unroll
    for (u32 j = 0; j < TILES_N; j++) {
        u32 words[4];
        ldmatrix(words, w + j * 2048 + (at_b ^ (s * 32)));
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

#ifndef X_i8
// acc += part times the scales of its columns; part = 0
static inline void fold(sums *acc, sums *part, const f32 *scales)
{
#    pragma unroll
    for (u32 j = 0; j < TILES_N * 2; j++) {
        f32x2 s = *(const f32x2 *)(const void *)(scales + j * 8 + lane() % 4 * 2);
#    pragma unroll
        for (u32 i = 0; i < TILES_M; i++)
#    pragma unroll
            for (u32 e = 0; e < 4; e++)
                (*acc)[i][j][e] = fma(e % 2 ? s.y : s.x, (*part)[i][j][e], (*acc)[i][j][e]);
    }
    clear(part);
}
#endif

kernel block(THREADS) void linear_tensor(const X *restrict x, POINTERS(const weight_t, weight),
#ifndef OUT_i32
                                         POINTERS(const SCALE, scale),
#endif
#ifdef HAS_ZERO
                                         POINTERS(const zero_t, zero),
#endif
#ifdef HAS_BIAS
                                         POINTERS(const f32, bias),
#endif
#ifdef HAS_X_SCALE
                                         const f32 *restrict x_scale,
#endif
                                         POINTERS(OUT, out), struct linear l)
{
    corner c = corner_of(&l, block_x(), BN);
    u32 n = FIELD(l, c.which, n), t = thread_x(), lane_ = lane(), top = block_y() * BM;
    u32 row = warp() / WARPS_N * ROWS, column = warp() % WARPS_N * COLUMNS;
    u32 steps = (l.k + K_STEP - 1) / K_STEP;
    source from = {.weight = OF(c.which, weight),
                   .weight_step = FIELD(l, c.which, weight),
                   .column = c.column,
                   .n = n,
                   .depth = l.k,
                   .group_shift = l.group_shift};
#ifndef OUT_i32
    from.scale = OF(c.which, scale);
    from.scale_step[0] = FIELD(l, c.which, scale[0]);
    from.scale_step[1] = FIELD(l, c.which, scale[1]);
#endif
#ifdef HAS_ZERO
    from.zero = OF(c.which, zero);
    from.zero_step[0] = FIELD(l, c.which, zero[0]);
    from.zero_step[1] = FIELD(l, c.which, zero[1]);
#endif
    u32 slot = place_in(t / 8, t % 8), element = t % 8 * GRANULE;
    u32 at_a = place_in(row + lane_ % 16, lane_ / 16);
    u32 at_b = place_in(column + lane_ / 16 * 8 + lane_ % 8, lane_ / 8 % 2);

    const raw_t *x_raw = (const raw_t *)(const void *)x;
    const raw_t *w_raw = (const raw_t *)(const void *)from.weight;
    f32 *scales = (f32 *)(void *)(smem + SCALES_AT);
    held h;
    sums acc, part;
    clear(&acc);
    clear(&part);
#pragma unroll
    for (u32 ahead = 0; ahead < STAGES - 1; ahead++) {
        if (ahead < steps) {
            copy_lines(smem + ahead * X_BYTES + slot, x_raw, l.x[0], l.x[1], top + t / 8, l.m, ahead * K_STEP + element, l.k,
                       X_EACH, X_PACKED);
            if (IS_BYTES)
                copy_lines(smem + W_AT + ahead * W_BYTES + slot, w_raw, from.weight_step, 1, c.column + t / 8, n,
                           ahead * K_STEP + element, l.k, B_EACH, W_PACKED);
        }
        async_commit();
    }
    if (!IS_BYTES) {
        load_weights(&h, &from, 0);
        keep_weights(smem + W_AT, scales, &h);
        load_weights(&h, &from, steps > 1 ? K_STEP : 0);
    }
    for (u32 step = 0; step < steps; step++) {
        async_wait(STAGES - 2);
        barrier();
        u32 ahead = step + STAGES - 1;
        if (ahead < steps) {
            copy_lines(smem + ahead % STAGES * X_BYTES + slot, x_raw, l.x[0], l.x[1], top + t / 8, l.m,
                       ahead * K_STEP + element, l.k, X_EACH, X_PACKED);
            if (IS_BYTES)
                copy_lines(smem + W_AT + ahead % STAGES * W_BYTES + slot, w_raw, from.weight_step, 1, c.column + t / 8, n,
                           ahead * K_STEP + element, l.k, B_EACH, W_PACKED);
        }
        async_commit();
        const u8 *a = smem + step % STAGES * X_BYTES, *b = smem + W_AT + step % W_BUFFERS * W_BYTES;
#pragma unroll
        for (u32 s = 0; s < 4; s++) {
            multiply(GROUPED ? &part : &acc, a, b, at_a, at_b, s);
#ifndef X_i8
            if (GROUPED && (s + 1) * 16 % FOLD == 0)
                fold(&acc, &part, scales + step % 2 * (FOLDS * BN) + s * 16 / FOLD * BN + column);
#endif
        }
        if (!IS_BYTES && step + 1 < steps) {
            keep_weights(smem + W_AT + (step + 1) % 2 * W_BYTES, scales + (step + 1) % 2 * (FOLDS * BN), &h);
            if (step + 2 < steps)
                load_weights(&h, &from, (step + 2) * K_STEP);
        }
    }

    OUT *to = OF(c.which, out);
    i64 out_step[2] = {FIELD(l, c.which, out[0]), FIELD(l, c.which, out[1])};
#pragma unroll
    for (u32 j = 0; j < TILES_N * 2; j++) {
        u32 n0 = c.column + column + j * 8 + lane_ % 4 * 2;
        if (n0 >= n)
            continue;
        bool has_next = PAIRS || n0 + 1 < n;
        u32 n1 = has_next ? n0 + 1 : n0;
        f32 s0 = 1.0f, s1 = 1.0f, b0 = 0.0f, b1 = 0.0f;
#ifndef OUT_i32
        if (!GROUPED) {
            s0 = pack_get(SCALE, from.scale[(i64)n0 * from.scale_step[0]]);
            s1 = pack_get(SCALE, from.scale[(i64)n1 * from.scale_step[0]]);
        }
#endif
#ifdef HAS_BIAS
        const f32 *added = OF(c.which, bias);
        i64 bias_step = FIELD(l, c.which, bias);
        b0 = added[(i64)n0 * bias_step];
        b1 = added[(i64)n1 * bias_step];
#endif
#pragma unroll
        for (u32 i = 0; i < TILES_M * 2; i++) {
            u32 m = top + row + i * 8 + lane_ / 4;
            if (m >= l.m)
                continue;
            OUT *own = to + ((i64)m * out_step[0] + (i64)n0 * out_step[1]);
#ifdef OUT_i32
            own[0] = acc[i / 2][j][i % 2 * 2];
            if (has_next)
                own[out_step[1]] = acc[i / 2][j][i % 2 * 2 + 1];
#else
#    ifdef HAS_X_SCALE
            f32 token = x_scale[(i64)m * l.x_scale];
#    else
            f32 token = 1.0f;
#    endif
            f32 u = (f32)acc[i / 2][j][i % 2 * 2] * (token * s0), v = (f32)acc[i / 2][j][i % 2 * 2 + 1] * (token * s1);
#    ifdef HAS_BIAS
            u += b0;
            v += b1;
#    endif
            u = activate(u);
            v = activate(v);
#    ifdef PAIR
            if (PAIRS) {
                *(u32 *)(void *)own = PAIR(u, v);
                continue;
            }
#    endif
            own[0] = pack_put(OUT, u);
            if (has_next)
                own[out_step[1]] = pack_put(OUT, v);
#endif
        }
    }
}
