// out[M,N] = x * transposed quantised weights for at most 16 rows of x, bound by reading the weights: sm_80 and later.
// The weights are the rows of mma, x its columns. A warp has 16 rows of weights; a lane reads WORDS words of two of them
// at a time, which are the lane's own elements of mma in an order of K that x follows in shared memory: decoded in
// registers, they go nowhere else. AHEAD such spans of K are on their way while one is multiplied.
//
// WARPS_N warps have different rows of weights, the others and the SPLITS blocks of a cluster have parts of K, whose sums
// are added in order. With GROUPED a span has one scale for a row: the sums of a span are multiplied by it.
//
// Rows of x and of the weights start at multiples of 16 bytes, and K is a multiple of CHUNK. Shared memory has the block's
// part of x: granules of eight elements, [span][granule of a lane][row of x][lane of four].
#include <kiln/kernel.h>

tune(XR, 8, 1, 2, 4, 16); // rows of x in shared memory; lanes that have none of their own repeat them
tune(WORDS, 4, 2, 1);     // 2 and 1 for groups that are shorter than a span of four words
tune(WARPS_N, 2, 1, 4, 8);
tune(SPLITS, 1, 2, 4, 8);
tune(GROUPED, 1, 0);
tune(W_PACKED, 1);
#include "decode.h"

#if defined(X_bf16)
#    define MULTIPLY mma_bf16
#else
#    define MULTIPLY mma_f16
#endif

enum {
    WARPS = 8,
    WARPS_K = WARPS / WARPS_N,
    PER = CHUNK / 4,          // weights of a word
    GRANULES = WORDS * PER / 8, // of a lane in a span
    SPAN = 4 * WORDS * PER,
    AHEAD = 16 / WORDS,
    TILES_X = XR > 8 ? 2 : 1,
    COLUMNS = 16 * WARPS_N
};

_Alignas(128) shared u8 smem[];

typedef struct piece { // a lane's part of a span, as it is loaded
    u32 words[2][4]; // WORDS of them
    SCALE scale[2];
    zero_t zero[2];
} piece;

typedef struct source { // of a lane's two rows of weights
    const u32 *row[2];
    const SCALE *scale[2];
    const zero_t *zero[2];
    i64 scale_step, zero_step; // from group to group
    u32 depth, group_shift;
} source;

static inline void load_piece(piece *to, const source *from, u32 span)
{
    u32 k = span * SPAN + lane() % 4 * (GRANULES * 8);
    i64 group = GROUPED ? (i64)(min(span * SPAN, from->depth - 1) >> from->group_shift) : 0;
    k = k < from->depth ? k : 0; // x is zeros there
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        const u32 *words = from->row[r] + k / PER;
        if (WORDS == 4) {
            u32x4 v = load_stream((const u32x4 *)(const void *)words);
            to->words[r][0] = v.x;
            to->words[r][1] = v.y;
            to->words[r][2] = v.z;
            to->words[r][3] = v.w;
        } else if (WORDS == 2) {
            u32x2 v = load_readonly((const u32x2 *)(const void *)words);
            to->words[r][0] = v.x;
            to->words[r][1] = v.y;
        } else {
            to->words[r][0] = load_readonly(words);
        }
        if (GROUPED)
            to->scale[r] = from->scale[r][group * from->scale_step];
#ifdef HAS_ZERO
        to->zero[r] = from->zero[r][group * from->zero_step];
#endif
    }
}

static inline f32 zero_in(const piece *p, u32 r)
{
#ifdef HAS_ZERO
    return (f32)(i32)p->zero[r];
#else
    return zero_of(NULL, 0);
#endif
}

// sums += the piece's weights times x, whose granules of that span begin at `x` for this lane.
static inline void add_piece(f32 (*sums)[TILES_X][4], const piece *p, const u8 *x, u32 lift)
{
    f32 part[TILES_X][4];
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            part[t][e] = GROUPED ? 0.0f : (*sums)[t][e];
    f32 zero[2] = {zero_in(p, 0), zero_in(p, 1)};
#pragma unroll
    for (u32 g = 0; g < GRANULES; g++) {
        u32x4 a[2];
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            chunk c = {{0, 0, 0, 0}};
#pragma unroll
            for (u32 w = 0; w < 8 / PER; w++)
                c.words[w] = p->words[r][g * (8 / PER) + w];
            a[r] = decode_pairs(&c, 0, zero[r], lift);
        }
        u32 first[4] = {a[0].x, a[1].x, a[0].y, a[1].y}, second[4] = {a[0].z, a[1].z, a[0].w, a[1].w};
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            u32x4 v = *(const u32x4 *)(const void *)(x + (g * XR + t * 8) * 64);
            u32 low[2] = {v.x, v.y}, high[2] = {v.z, v.w};
            MULTIPLY(part[t], first, low);
            MULTIPLY(part[t], second, high);
        }
    }
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            (*sums)[t][e] = GROUPED ? fma(pack_get(SCALE, p->scale[e / 2]), part[t][e], (*sums)[t][e]) : part[t][e];
}

// The granules of x of `spans` spans from `first` on, by all threads. What is behind the last row or K is zeros.
static inline void copy_x(const X *x, i64 row_step, u32 m, u32 first, u32 spans, u32 depth)
{
    u32 count = spans * (4 * GRANULES);
#pragma unroll 1
    for (u32 r = 0; r < XR; r++)
        for (u32 at = thread_x(); at < count; at += 32 * WARPS) {
            u32 span = at / (4 * GRANULES), in_span = at % (4 * GRANULES), q = in_span / GRANULES, g = in_span % GRANULES;
            u32 k = first * SPAN + at * 8;
            bool is_there = r < m && k < depth;
            const X *from = x + (is_there ? (i64)r * row_step + (i64)k : 0);
            async_copy_16_part(smem + ((span * GRANULES + g) * XR + r) * 64 + q * 16, (const u8 *)(const void *)from, is_there ? 16u : 0u);
        }
}

kernel block(32 * WARPS) cluster(SPLITS) min_blocks(2) void linear_few(const X *restrict x, POINTERS(const weight_t, weight),
                                          POINTERS(const SCALE, scale),
#ifdef HAS_ZERO
                                          POINTERS(const zero_t, zero),
#endif
#ifdef HAS_BIAS
                                          POINTERS(const f32, bias),
#endif
                                          POINTERS(OUT, out), struct linear l)
{
    shared f32 parts[WARPS_K][COLUMNS][XR];
    u32 split = SPLITS > 1 ? cluster_rank() : 0;
    corner c = corner_of(&l, block_x() / SPLITS, COLUMNS);
    u32 n = FIELD(l, c.which, n), tile = warp() % WARPS_N, turn = warp() / WARPS_N;
    u32 spans = (l.k + SPAN - 1) / SPAN, share = (spans + SPLITS - 1) / SPLITS;
    u32 begin = min(split * share, spans), end = min(begin + share, spans);
    source from;
    from.depth = l.k;
    from.group_shift = l.group_shift;
    from.scale_step = FIELD(l, c.which, scale[1]);
#ifdef HAS_ZERO
    from.zero_step = FIELD(l, c.which, zero[1]);
#endif
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        i64 row = (i64)min(c.column + tile * 16 + lane() / 4 + r * 8, n - 1);
        from.row[r] = (const u32 *)(const void *)(OF(c.which, weight) + row * FIELD(l, c.which, weight));
        from.scale[r] = OF(c.which, scale) + row * FIELD(l, c.which, scale[0]);
#ifdef HAS_ZERO
        from.zero[r] = OF(c.which, zero) + row * FIELD(l, c.which, zero[0]);
#endif
    }
    piece ring[AHEAD];
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++)
        if (begin + turn + i * WARPS_K < end)
            load_piece(&ring[i], &from, begin + turn + i * WARPS_K);
    copy_x(x, l.x[0], l.m, begin, end - begin, l.k);
    async_commit();
    async_wait(0);
    barrier();

    f32 sums[TILES_X][4];
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            sums[t][e] = 0.0f;
    u32 lift = lift_of(l.k >> 31); // of which K has no bit
    const u8 *own = smem + lane() / 4 % (XR < 8 ? XR : 8) * 64 + lane() % 4 * 16;
#pragma unroll 1
    for (u32 base = begin + turn; base < end; base += AHEAD * WARPS_K) {
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) {
            u32 span = base + i * WARPS_K, next = span + AHEAD * WARPS_K;
            if (span < end) {
                add_piece(&sums, &ring[i], own + (span - begin) * (GRANULES * XR * 64), lift);
                if (next < end)
                    load_piece(&ring[i], &from, next);
            }
        }
    }

    // A lane has columns lane() % 4 * 2 and the next of x, of two rows of weights.
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
            u32 row = t * 8 + lane() % 4 * 2 + e % 2;
            if (row < XR)
                parts[turn][tile * 16 + lane() / 4 + e / 2 * 8][row] = sums[t][e];
        }
    barrier();
    if (WARPS_K > 1 && SPLITS > 1) { // the block's sums, once
        for (u32 at = thread_x(); at < COLUMNS * XR; at += 32 * WARPS) {
            f32 all = parts[0][at / XR][at % XR];
#pragma unroll
            for (u32 i = 1; i < WARPS_K; i++)
                all += parts[i][at / XR][at % XR];
            parts[0][at / XR][at % XR] = all;
        }
    }
    if (SPLITS > 1) {
        cluster_arrive();
        cluster_wait();
    }
    for (u32 at = split * (32 * WARPS) + thread_x(); at < COLUMNS * XR; at += SPLITS * 32 * WARPS) {
        u32 column = at % COLUMNS, row = at / COLUMNS;
        f32 all = 0.0f;
        if (SPLITS > 1) {
#pragma unroll
            for (u32 i = 0; i < SPLITS; i++)
                all += *cluster_at(&parts[0][column][row], i);
        } else {
#pragma unroll
            for (u32 i = 0; i < WARPS_K; i++)
                all += parts[i][column][row];
        }
        column += c.column;
        if (row < l.m && column < n) {
            if (!GROUPED)
                all *= pack_get(SCALE, OF(c.which, scale)[(i64)column * FIELD(l, c.which, scale[0])]);
#ifdef HAS_BIAS
            all += OF(c.which, bias)[(i64)column * FIELD(l, c.which, bias)];
#endif
            OF(c.which, out)[(i64)row * FIELD(l, c.which, out[0]) + (i64)column * FIELD(l, c.which, out[1])] = pack_put(OUT, activate(all));
        }
    }
    if (SPLITS > 1) { // shared memory lives until all have read it
        cluster_arrive();
        cluster_wait();
    }
}
