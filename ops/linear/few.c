// out[M,N] = x * transposed quantised weights for at most 16 rows of x, bound by reading the weights: sm_80 and later.
// The weights are the rows of mma, x its columns. A warp has 16 rows of weights and reads 64 bytes of each at a time
// through a ring of shared memory of its own; what a lane takes from there are its own elements of mma in an order of K
// that x follows in shared memory: decoded in registers, they go nowhere else.
//
// WARPS_N warps have different rows of weights, the others and the SPLITS blocks of a cluster have parts of K, whose sums
// are added in order. With GROUPED the elements that four lanes take at a time, a span, have one scale for a row: the sums
// of a span are multiplied by it. Scales and zeros of the block's part lie in shared memory, too.
//
// Rows of x and of the weights start at multiples of 16 bytes, and K is a multiple of CHUNK. x lies as granules of eight
// elements, [span][granule of a lane][row of x][lane of four]: the block's whole part of it, or, where all warps have the
// same part of K (WARPS_N 8), a ring of stages like those of the weights.
#include <kiln/overlap.h>

tune(XR, 8, 1, 2, 4, 16); // rows of x in shared memory; lanes that have none of their own repeat them
tune(WORDS, 4, 2, 1);     // 2 and 1 for groups that are shorter than a span of four words
tune(WARPS_N, 2, 1, 4, 8);
tune(SPLITS, 1, 2, 4, 8);
tune(GROUPED, 1, 0);
tune(W_PACKED, 1);
#include "decode.h"
KERNEL_OVERLAPS

#if defined(X_bf16)
#    define MULTIPLY mma_bf16
#else
#    define MULTIPLY mma_f16
#endif

enum {
    WARPS = 8,
    WARPS_K = WARPS / WARPS_N,
    PER = CHUNK / 4,            // weights of a word
    GRANULES = WORDS * PER / 8, // of a lane in a span
    SPAN = 4 * WORDS * PER,
    SPANS = 4 / WORDS, // of a stage
    STAGE = SPANS * SPAN,
    STAGE_BYTES = 16 * 64,
    STAGES = 6,
    IS_RING = WARPS_K == 1,     // of x
    X_BYTES = STAGE * XR * 2, // of a stage
    X_AT = WARPS * STAGES * STAGE_BYTES,
    SHARED_BYTES = X_AT + (IS_RING ? STAGES * X_BYTES : 0), // behind it: x if it is no ring, scales, zeros
    TILES_X = XR > 8 ? 2 : 1,
    COLUMNS = 16 * WARPS_N
};

_Alignas(128) shared u8 smem[];

// Granule g of row r of a stage: neighbouring rows lie on other banks.
static inline u32 place_in(u32 r, u32 g)
{
    return r * 64 + ((g ^ (r / 2 & 3)) * 16);
}

// 64 bytes of the warp's 16 rows: a lane copies the granule lane() % 4 of two of them. Behind K there is anything.
static inline void copy_stage(u8 *to, const u32 *const *rows, u32 stage, u32 depth)
{
    u32 k = stage * STAGE + lane() % 4 * CHUNK;
#pragma unroll
    for (u32 r = 0; r < 2; r++)
        async_copy_16_part(to + place_in(lane() / 4 + r * 8, lane() % 4), (const u8 *)(const void *)(rows[r] + (k < depth ? k / PER : 0)),
                           k < depth ? 16u : 0u);
}

// sums += a span of the warp's rows times x, whose granules of that span begin at `x` for this lane.
static inline void add_span(f32 (*sums)[TILES_X][4], const u8 *stage, u32 number, const u8 *x, const f32 *scale, const f32 *zero,
                            u32 lift)
{
    f32 part[TILES_X][4];
    u32 words[2][4];
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            part[t][e] = GROUPED ? 0.0f : (*sums)[t][e];
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        u32 row = lane() / 4 + r * 8, first = (number * 4 + lane() % 4) * WORDS; // of the row's words
        const u8 *from = stage + place_in(row, first / 4) + first % 4 * 4;
        if (WORDS == 4) {
            u32x4 v = *(const u32x4 *)(const void *)from;
            words[r][0] = v.x;
            words[r][1] = v.y;
            words[r][2] = v.z;
            words[r][3] = v.w;
        } else if (WORDS == 2) {
            u32x2 v = *(const u32x2 *)(const void *)from;
            words[r][0] = v.x;
            words[r][1] = v.y;
        } else {
            words[r][0] = *(const u32 *)(const void *)from;
        }
    }
#pragma unroll
    for (u32 g = 0; g < GRANULES; g++) {
        u32x4 a[2];
#pragma unroll
        for (u32 r = 0; r < 2; r++) {
            chunk c = {{0, 0, 0, 0}};
#pragma unroll
            for (u32 w = 0; w < 8 / PER; w++)
                c.words[w] = words[r][g * (8 / PER) + w];
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
            (*sums)[t][e] = GROUPED ? fma(scale[e / 2], part[t][e], (*sums)[t][e]) : part[t][e];
}

// Granule `at` of row r of x, counted from element `first` on. What is behind the last row or K is zeros.
static inline void copy_granule(u8 *to, const X *x, i64 row_step, u32 m, u32 r, u32 at, u32 first, u32 depth)
{
    u32 span = at / (4 * GRANULES), in_span = at % (4 * GRANULES), q = in_span / GRANULES, g = in_span % GRANULES;
    u32 k = first + at * 8;
    bool is_there = r < m && k < depth;
    const X *from = x + (is_there ? (i64)r * row_step + (i64)k : 0);
    async_copy_16_part(to + ((span * GRANULES + g) * XR + r) * 64 + q * 16, (const u8 *)(const void *)from, is_there ? 16u : 0u);
}

// x of `stages` stages from `stage` on, by all threads.
static inline void copy_x(u8 *to, const X *x, i64 row_step, u32 m, u32 stage, u32 stages, u32 depth)
{
#pragma unroll 1
    for (u32 r = 0; r < XR; r++)
        for (u32 at = thread_x(); at < stages * (STAGE / 8); at += 32 * WARPS)
            copy_granule(to, x, row_step, m, r, at, stage * STAGE, depth);
}

// The same of one stage.
static inline void copy_x_stage(u8 *to, const X *x, i64 row_step, u32 m, u32 stage, u32 depth)
{
    enum { EACH_ROW = STAGE / 8, ALL = EACH_ROW * XR };
#pragma unroll
    for (u32 i = 0; i < ALL; i += 32 * WARPS) {
        u32 at = i + thread_x();
        if (ALL % (32 * WARPS) == 0 || at < ALL)
            copy_granule(to, x, row_step, m, at / EACH_ROW, at % EACH_ROW, stage * STAGE, depth);
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
    kernel_begin();
    u32 split = SPLITS > 1 ? cluster_rank() : 0;
    corner c = corner_of(&l, block_x() / SPLITS, COLUMNS);
    u32 n = FIELD(l, c.which, n), tile = warp() % WARPS_N, turn = WARPS_K == 1 ? 0 : warp() / WARPS_N;
    u32 stages = (l.k + STAGE - 1) / STAGE, share = (stages + SPLITS - 1) / SPLITS;
    u32 begin = min(split * share, stages), end = min(begin + share, stages);
    const u32 *rows[2];
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        i64 row = (i64)min(c.column + tile * 16 + lane() / 4 + r * 8, n - 1);
        rows[r] = (const u32 *)(const void *)(OF(c.which, weight) + row * FIELD(l, c.which, weight));
    }
    u8 *ring = smem + warp() * (STAGES * STAGE_BYTES), *x_at = smem + X_AT;
    if (!IS_RING)
        copy_x(x_at, x, l.x[0], l.m, begin, end - begin, l.k);
#pragma unroll
    for (u32 i = 0; i < STAGES - 1; i++) {
        u32 stage = begin + turn + i * WARPS_K;
        if (stage < end) {
            copy_stage(ring + i * STAGE_BYTES, rows, stage, l.k);
            if (IS_RING)
                copy_x_stage(x_at + i * X_BYTES, x, l.x[0], l.m, stage, l.k);
        }
        async_commit();
    }

    // Scales of the block's groups, [row][group], then zeros; those of K as a whole are one group. The pitch is odd: rows
    // lie on different banks.
    u32 group = GROUPED ? begin * STAGE >> l.group_shift : 0;
    u32 groups = !GROUPED ? 1 : end > begin ? ((min(end * STAGE, l.k) - 1) >> l.group_shift) - group + 1 : 0, pitch = groups | 1;
    f32 *scales = (f32 *)(void *)(smem + SHARED_BYTES + (IS_RING ? 0 : share * X_BYTES)), *zeros = scales + (GROUPED ? COLUMNS * pitch : 0);
    enum { EACH_WARP = COLUMNS / WARPS }; // rows: their loads are under way together
    for (u32 g = lane(); g < groups; g += 32) {
        i64 its = (i64)(group + g);
        f32 scale[EACH_WARP], zero[EACH_WARP];
#pragma unroll
        for (u32 i = 0; i < EACH_WARP; i++) {
            i64 row = (i64)min(c.column + warp() + i * WARPS, n - 1);
            if (GROUPED)
                scale[i] = pack_get(SCALE, OF(c.which, scale)[row * FIELD(l, c.which, scale[0]) + its * FIELD(l, c.which, scale[1])]);
#ifdef HAS_ZERO
            zero[i] = (f32)(i32)OF(c.which, zero)[row * FIELD(l, c.which, zero[0]) + its * FIELD(l, c.which, zero[1])];
#endif
        }
#pragma unroll
        for (u32 i = 0; i < EACH_WARP; i++) {
            u32 at = (warp() + i * WARPS) * pitch + g;
            if (GROUPED)
                scales[at] = scale[i];
#ifdef HAS_ZERO
            zeros[at] = zero[i];
#endif
        }
    }
    async_wait(STAGES - 2); // x came with the first stage
    barrier();

    f32 sums[TILES_X][4];
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            sums[t][e] = 0.0f;
    u32 lift = lift_of(l.k >> 31); // of which K has no bit
    u32 now = 0, ahead = STAGES - 1, own_row = tile * 16 + lane() / 4;
    const u8 *own = x_at + lane() / 4 % (XR < 8 ? XR : 8) * 64 + lane() % 4 * 16;
#pragma unroll 1
    for (u32 stage = begin + turn; stage < end; stage += WARPS_K) {
        async_wait(STAGES - 2);
        if (IS_RING)
            barrier(); // x is there, and the stage before is free
        else
            warp_sync();
        const u8 *its_x = own + (IS_RING ? now : stage - begin) * X_BYTES;
#pragma unroll
        for (u32 i = 0; i < SPANS; i++) {
            u32 at = GROUPED ? (min(stage * STAGE + i * SPAN, l.k - 1) >> l.group_shift) - group : 0;
            f32 scale[2] = {1.0f, 1.0f}, zero[2];
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                if (GROUPED)
                    scale[r] = scales[(own_row + r * 8) * pitch + at];
#ifdef HAS_ZERO
                zero[r] = zeros[(own_row + r * 8) * pitch + at];
#else
                zero[r] = zero_of(NULL, 0);
#endif
            }
            add_span(&sums, ring + now * STAGE_BYTES, i, its_x + i * (GRANULES * XR * 64), scale, zero, lift);
        }
        warp_sync(); // all lanes have read the stage
        u32 next = stage + (STAGES - 1) * WARPS_K;
        if (next < end) {
            copy_stage(ring + ahead * STAGE_BYTES, rows, next, l.k);
            if (IS_RING)
                copy_x_stage(x_at + ahead * X_BYTES, x, l.x[0], l.m, next, l.k);
        }
        async_commit();
        now = now + 1 == STAGES ? 0 : now + 1;
        ahead = ahead + 1 == STAGES ? 0 : ahead + 1;
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
