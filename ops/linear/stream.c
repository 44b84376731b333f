// out[M,N] = x * transposed quantised weights for at most 16 rows of x, at the speed at which memory gives the weights:
// sm_80 and later. Blocks stay: RESIDENT for each multiprocessor, or clusters of SPLITS of them, which have parts of K (sm_90).
//
// A tile is 16 * BANDS rows of weights, the rows of mma; x is its columns. Some warps, the producers, copy all rows of one tile
// after the other into a ring of stages of 16 KB. Each of the other warps has some bytes of each row, 1 KB in all, a unit:
// what a lane takes of it are its own elements of mma in an order of K that x follows in shared memory. The sums of the
// warps are added in order when a tile ends, while the ring holds what comes next.
//
// With GROUPED the elements that four lanes take at a time, a span, have one scale for a row: the sums of a span are
// multiplied by it. With TOGETHER scales and zeros come through the ring as well, else each lane loads its own some units
// ahead. Rows of x and of the weights start at multiples of 16 bytes, and K is a multiple of CHUNK. x lies as granules of
// eight elements, [unit][span][granule of a lane][row of x][lane of four].
#include <kiln/overlap.h>

tune(XR, 8, 1, 2, 4, 16); // rows of x in shared memory; lanes that have none of their own repeat them
tune(BANDS, 1, 2);        // 2: what a warp reads of x it multiplies with 32 rows
tune(WORDS, 4, 2, 1);     // 2 and 1 for groups that are shorter than a span of four words; 2 at most with two BANDS
tune(SPLITS, 1, 2, 4, 8);
tune(STAGES, 4, 3, 5, 6);
tune(RESIDENT, 1, 2); // blocks of a multiprocessor
tune(GROUPED, 1, 0);
tune(TOGETHER, 0, 1); // scales and zeros of a row lie side by side, and those of a turn are multiples of 16 bytes
tune(W_PACKED, 1);
#include "decode.h"
KERNEL_OVERLAPS

#if defined(X_bf16)
#    define MULTIPLY mma_bf16
#else
#    define MULTIPLY mma_f16
#endif

enum {
    WARPS = 16,                 // without the producers
    PRODUCERS = RESIDENT > 1 ? 2 : 4, // warps
    ROWS = 16 * BANDS,          // of a tile
    OWN = 2 * BANDS,            // rows of a lane
    ROW_UNIT = 64 / BANDS,      // bytes of a row in a unit
    EACH_ROWS = ROWS / PRODUCERS,
    PER = CHUNK / 4,            // weights of a word
    GRANULES = WORDS * PER / 8, // of a lane in a span
    SPAN = 4 * WORDS * PER,
    SPANS = 4 / BANDS / WORDS, // of a unit
    UNIT = SPANS * SPAN,
    X_BYTES = UNIT * XR * 2, // of a unit
    TILES_X = XR > 8 ? 2 : 1,
#ifdef HAS_ZERO
    IS_LOADED = !TOGETHER, // what belongs to groups, by the lanes
#else
    IS_LOADED = GROUPED && !TOGETHER,
#endif
    DEPTH = !IS_LOADED ? 1 : SPANS > 1 ? 2 : 4, // units for which they are under way
    ROW_BYTES = WARPS * ROW_UNIT,
    PITCH = ROW_BYTES + 16 * WORDS, // from row to row of a stage: lanes of several rows take from different banks
    STAGE_BYTES = ROWS * PITCH,
    SUMS = ROWS * XR, // of a tile
    PARTS_AT = STAGES * STAGE_BYTES,
    BATCH = XR <= 2 ? 8 : 16 / XR, // tiles whose sums are added at a time
    PLACES = BANDS > 1 ? 1 : 2,    // for their sums of the warps: with two, one barrier suffices
    SHARED_BYTES = PARTS_AT + PLACES * BATCH * WARPS * SUMS * 4 // behind it: scales and zeros of the stages, x, sums of all tiles
};

_Alignas(128) shared u8 smem[];

typedef struct factors { // of a unit and a lane's rows
    SCALE scale[SPANS][OWN];
    zero_t zero[SPANS][OWN];
} factors;

typedef struct place { // a lane's next factors
    u32 tile, turn, which;
    const SCALE *scale[OWN];
    const zero_t *zero[OWN];
} place;

typedef struct work { // of a block
    u32 tiles, first, step, own; // all tiles; the block's first one, from there to the next, and how many it has
    u32 begin, count, turns;     // its units of K; turns of all warps
    u32 scales, zeros;           // with TOGETHER: bytes of those of a row in a stage, and 16 that keep the banks apart
} work;

#ifdef HAS_ZERO
#    define ZEROS , POINTERS(const zero_t, zero)
#else
#    define ZEROS
#endif
#ifdef HAS_BIAS
#    define BIASES , POINTERS(const f32, bias)
#else
#    define BIASES
#endif

static inline work work_of(const struct linear *l, u32 split)
{
    work w;
    w.tiles = (l->layers[0].n + ROWS - 1) / ROWS;
#ifdef THREE
    w.tiles += (l->layers[1].n + ROWS - 1) / ROWS + (l->layers[2].n + ROWS - 1) / ROWS;
#endif
    w.first = block_x() / SPLITS;
    w.step = grid_dim_x() / SPLITS;
    w.own = (w.tiles - w.first - 1) / w.step + 1; // no block has none
    u32 units = (l->k + UNIT - 1) / UNIT;
    w.turns = ((units + WARPS - 1) / WARPS + SPLITS - 1) / SPLITS;
    w.begin = min(split * w.turns * WARPS, units);
    w.count = min(w.turns * WARPS, units - w.begin);
    w.scales = 0;
    w.zeros = 0;
    if (GROUPED && TOGETHER) {
        w.scales = (WARPS * UNIT >> l->group_shift) * (u32)sizeof(SCALE) + 16;
#ifdef HAS_ZERO
        w.zeros = (WARPS * UNIT >> l->group_shift) * (u32)sizeof(zero_t) + 16;
#endif
    }
    return w;
}

// --- the producers
typedef struct rows { // of a tile and a producer, in memory: from the block's part of K on
    const u8 *weight[EACH_ROWS], *scale[EACH_ROWS], *zero[EACH_ROWS];
} rows;

static inline rows rows_of(POINTERS(const weight_t, weight), POINTERS(const SCALE, scale) ZEROS, const struct linear *l, const work *w, u32 tile)
{
    rows at;
    corner c = corner_of(l, tile, ROWS);
    i64 group = (i64)(w->begin * UNIT >> l->group_shift);
#pragma unroll
    for (u32 r = 0; r < EACH_ROWS; r++) {
        i64 row = (i64)min(c.column + (warp() - WARPS) + r * PRODUCERS, FIELD(*l, c.which, n) - 1);
        at.weight[r] = (const u8 *)(const void *)(OF(c.which, weight) + row * FIELD(*l, c.which, weight)) + (u64)w->begin * ROW_UNIT;
        at.scale[r] = (const u8 *)(const void *)(OF(c.which, scale) + (row * FIELD(*l, c.which, scale[0]) + group));
#ifdef HAS_ZERO
        at.zero[r] = (const u8 *)(const void *)(OF(c.which, zero) + (row * FIELD(*l, c.which, zero[0]) + group));
#endif
    }
    return at;
}

// Bytes of a row in a turn.
static inline u32 bytes_of(const struct linear *l, const work *w, u32 turn)
{
    u32 begin = w->begin * ROW_UNIT + turn * ROW_BYTES, end = min((w->begin + w->count) * ROW_UNIT, l->k / PER * 4);
    return begin < end ? min(end - begin, (u32)ROW_BYTES) : 0;
}

// A warp copies up to 512 bytes, a multiple of 16.
static inline void copy_row(u8 *to, const u8 *from, u32 bytes)
{
    if (lane() * 16 < bytes)
        async_copy_16(to + lane() * 16, from + lane() * 16);
}

// A producer's rows of a turn to a stage, scales and zeros with TOGETHER.
static inline void copy_turn(u8 *to, u8 *factors_to, const rows *at, const struct linear *l, const work *w, u32 turn)
{
    u32 bytes = bytes_of(l, w, turn), groups = bytes / 4 * PER >> l->group_shift, first = turn * (WARPS * UNIT) >> l->group_shift;
#pragma unroll
    for (u32 r = 0; r < EACH_ROWS; r++) {
        const u8 *from = at->weight[r] + (u64)turn * ROW_BYTES;
        u8 *place = to + (warp() - WARPS + r * PRODUCERS) * PITCH;
#pragma unroll
        for (u32 i = 0; i < ROW_BYTES; i += 512)
            copy_row(place + i, from + i, bytes > i ? bytes - i : 0);
    }
    if (GROUPED && TOGETHER) {
#pragma unroll
        for (u32 r = 0; r < EACH_ROWS; r++) {
            u64 row = (u64)(warp() - WARPS + r * PRODUCERS);
            copy_row(factors_to + row * w->scales, at->scale[r] + first * (u32)sizeof(SCALE), groups * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
            copy_row(factors_to + (ROWS * w->scales + row * w->zeros), at->zero[r] + first, groups);
#endif
        }
    }
}

// --- x
// x of a unit, by one warp. What is behind the last row or K is zeros.
static inline void copy_x(u8 *to, const X *x, i64 row_step, u32 m, u32 first, u32 depth)
{
    enum { EACH_ROW = UNIT / 8, ALL = EACH_ROW * XR };
#pragma unroll
    for (u32 i = 0; i < ALL; i += 32) {
        u32 at = (i + (ALL % 32 == 0 ? block_x() * 32 % ALL : 0)) % ALL + lane(); // blocks begin at different places
        u32 r = at / EACH_ROW, in_row = at % EACH_ROW;
        if (ALL % 32 == 0 || at < ALL) {
            u32 span = in_row / (4 * GRANULES), q = in_row / GRANULES % 4, g = in_row % GRANULES, k = first + in_row * 8;
            bool is_there = r < m && k < depth;
            const X *from = x + (is_there ? (i64)r * row_step + (i64)k : 0);
            async_copy_16_part(to + ((span * GRANULES + g) * XR + r) * 64 + q * 16, (const u8 *)(const void *)from, is_there ? 16u : 0u);
        }
    }
}

// --- scales and zeros
static inline place place_of(POINTERS(const SCALE, scale) ZEROS, const struct linear *l, u32 tile)
{
    place at;
    corner c = corner_of(l, tile, ROWS);
    at.tile = tile;
    at.turn = 0;
    at.which = c.which;
#pragma unroll
    for (u32 r = 0; r < OWN; r++) {
        i64 row = (i64)min(c.column + lane() / 4 + r * 8, FIELD(*l, c.which, n) - 1);
        at.scale[r] = OF(c.which, scale) + row * FIELD(*l, c.which, scale[0]);
#ifdef HAS_ZERO
        at.zero[r] = OF(c.which, zero) + row * FIELD(*l, c.which, zero[0]);
#endif
    }
    return at;
}

// Those of the unit whose first weight of K is `first`, or of the row's first one where that is behind K: there is no
// branch, because the loads must not be waited for.
static inline void load_factors(factors *f, const place *at, const struct linear *l, u32 first)
{
    if (!IS_LOADED)
        return;
#pragma unroll
    for (u32 s = 0; s < SPANS; s++) {
        u32 k = first + s * SPAN;
        i64 group = (i64)(k < l->k ? k >> l->group_shift : 0);
#pragma unroll
        for (u32 r = 0; r < OWN; r++) {
            if (GROUPED)
                f->scale[s][r] = at->scale[r][group * FIELD(*l, at->which, scale[1])];
#ifdef HAS_ZERO
            f->zero[s][r] = at->zero[r][group * FIELD(*l, at->which, zero[1])];
#endif
        }
    }
}

// Those of a unit out of a stage.
static inline void take_factors(factors *f, const u8 *from, const struct linear *l, const work *w)
{
#pragma unroll
    for (u32 s = 0; s < SPANS; s++) {
        u32 group = (warp() * UNIT + s * SPAN) >> l->group_shift;
#pragma unroll
        for (u32 r = 0; r < OWN; r++) {
            u32 row = lane() / 4 + r * 8;
            f->scale[s][r] = *(const SCALE *)(const void *)(from + row * w->scales + group * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
            f->zero[s][r] = *(const zero_t *)(const void *)(from + ROWS * w->scales + row * w->zeros + group);
#endif
        }
    }
}

// --- products
// A lane's words of a unit.
typedef struct words {
    u32 of[SPANS][OWN][4]; // WORDS of them
} words;

static inline words words_of(const u8 *unit)
{
    words w;
#pragma unroll
    for (u32 s = 0; s < SPANS; s++)
#pragma unroll
        for (u32 r = 0; r < OWN; r++) {
            const u8 *from = unit + (lane() / 4 + r * 8) * PITCH + (s * 4 + lane() % 4) * (WORDS * 4);
            if (WORDS == 4) {
                u32x4 v = *(const u32x4 *)(const void *)from;
                w.of[s][r][0] = v.x;
                w.of[s][r][1] = v.y;
                w.of[s][r][2] = v.z;
                w.of[s][r][3] = v.w;
            } else if (WORDS == 2) {
                u32x2 v = *(const u32x2 *)(const void *)from;
                w.of[s][r][0] = v.x;
                w.of[s][r][1] = v.y;
            } else {
                w.of[s][r][0] = *(const u32 *)(const void *)from;
            }
        }
    return w;
}

typedef f32 band_sums[TILES_X][4];

// sums += a span times x, whose granules of that span begin at `x` for this lane.
static inline void add_span(band_sums *sums, const u32 (*own)[4], const u8 *x, const f32 *scale, const f32 *zero, u32 lift)
{
    enum { CHAINS = BANDS * TILES_X > 1 ? 1 : RESIDENT > 1 && GRANULES > 2 ? 2 : GRANULES }; // sums whose products do not wait for each other
    band_sums part[CHAINS][BANDS];
#pragma unroll
    for (u32 c = 0; c < CHAINS; c++)
#pragma unroll
        for (u32 b = 0; b < BANDS; b++)
#pragma unroll
            for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
                for (u32 e = 0; e < 4; e++)
                    part[c][b][t][e] = GROUPED || c > 0 ? 0.0f : sums[b][t][e];
#pragma unroll
    for (u32 g = 0; g < GRANULES; g++) {
        u32x4 a[OWN];
#pragma unroll
        for (u32 r = 0; r < OWN; r++) {
            chunk c = {{0, 0, 0, 0}};
#pragma unroll
            for (u32 w = 0; w < 8 / PER; w++)
                c.words[w] = own[r][g * (8 / PER) + w];
            a[r] = decode_pairs(&c, 0, zero[r], lift);
        }
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            u32x4 v = *(const u32x4 *)(const void *)(x + (g * XR + t * 8) * 64);
            u32 low[2] = {v.x, v.y}, high[2] = {v.z, v.w};
#pragma unroll
            for (u32 b = 0; b < BANDS; b++) {
                u32x4 upper = a[b * 2], lower = a[b * 2 + 1];
                u32 first[4] = {upper.x, lower.x, upper.y, lower.y}, second[4] = {upper.z, lower.z, upper.w, lower.w};
                MULTIPLY(part[g % CHAINS][b][t], first, low);
                MULTIPLY(part[g % CHAINS][b][t], second, high);
            }
        }
    }
#pragma unroll
    for (u32 b = 0; b < BANDS; b++)
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                if (XR > 1 || e % 2 == 0) { // one row of x is column 0
                    f32 all = part[0][b][t][e];
#pragma unroll
                    for (u32 c = 1; c < CHAINS; c++)
                        all += part[c][b][t][e];
                    sums[b][t][e] = GROUPED ? fma(scale[b * 2 + e / 2], all, sums[b][t][e]) : all;
                }
}

static inline void add_unit(band_sums *sums, const words *w, const factors *f, const u8 *x, u32 lift)
{
#pragma unroll
    for (u32 s = 0; s < SPANS; s++) {
        f32 scale[OWN], zero[OWN];
#pragma unroll
        for (u32 r = 0; r < OWN; r++) {
            scale[r] = 1.0f;
            if (GROUPED)
                scale[r] = pack_get(SCALE, f->scale[s][r]);
#ifdef HAS_ZERO
            zero[r] = (f32)(i32)f->zero[s][r];
#else
            zero[r] = zero_of(NULL, 0);
#endif
        }
        add_span(sums, w->of[s], x + s * (GRANULES * XR * 64), scale, zero, lift);
    }
}

// --- results
// The warps' sums of a tile: a lane has columns lane() % 4 * 2 and the next of x, of two rows of each band.
static inline void keep_sums(f32 *parts, band_sums *sums)
{
#pragma unroll
    for (u32 b = 0; b < BANDS; b++)
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
            for (u32 e = 0; e < 4; e++) {
                u32 column = t * 8 + lane() % 4 * 2 + e % 2;
                if (column < XR)
                    parts[warp() * SUMS + (b * 16 + lane() / 4 + e / 2 * 8) * XR + column] = sums[b][t][e];
                sums[b][t][e] = 0.0f;
            }
}

// What becomes of a sum of a tile.
static inline void store(POINTERS(const SCALE, scale) BIASES, POINTERS(OUT, out), const struct linear *l, u32 tile, u32 at, f32 sum)
{
    corner c = corner_of(l, tile, ROWS);
    u32 row = at % XR, column = c.column + at / XR;
    if (row < l->m && column < FIELD(*l, c.which, n)) {
        if (!GROUPED)
            sum *= pack_get(SCALE, OF(c.which, scale)[(i64)column * FIELD(*l, c.which, scale[0])]);
#ifdef HAS_BIAS
        sum += OF(c.which, bias)[(i64)column * FIELD(*l, c.which, bias)];
#endif
        OF(c.which, out)[(i64)row * FIELD(*l, c.which, out[0]) + (i64)column * FIELD(*l, c.which, out[1])] =
            pack_put(OUT, activate(sum));
    }
}

#ifdef THREE
#    define EACH_OF(p) p##0, p##1, p##2
#else
#    define EACH_OF(p) p##0
#endif
#ifdef HAS_ZERO
#    define PLACE(tile) place_of(EACH_OF(scale), EACH_OF(zero), &l, tile)
#    define TILE_ROWS(tile) rows_of(EACH_OF(weight), EACH_OF(scale), EACH_OF(zero), &l, &w, tile)
#else
#    define PLACE(tile) place_of(EACH_OF(scale), &l, tile)
#    define TILE_ROWS(tile) rows_of(EACH_OF(weight), EACH_OF(scale), &l, &w, tile)
#endif
#ifdef HAS_BIAS
#    define STORE(tile, at, sum) store(EACH_OF(scale), EACH_OF(bias), EACH_OF(out), &l, tile, at, sum)
#else
#    define STORE(tile, at, sum) store(EACH_OF(scale), EACH_OF(out), &l, tile, at, sum)
#endif

kernel block(32 * (WARPS + PRODUCERS)) cluster(SPLITS) min_blocks(RESIDENT) void linear_stream(const X *restrict x, POINTERS(const weight_t, weight),
                                          POINTERS(const SCALE, scale) ZEROS BIASES, POINTERS(OUT, out), struct linear l)
{
    shared mbarrier full[STAGES], empty[STAGES];
    u32 split = SPLITS > 1 ? cluster_rank() : 0;
    work w = work_of(&l, split);
    u32 factor_bytes = ROWS * (w.scales + w.zeros); // of a stage
    u8 *factors_at = smem + SHARED_BYTES, *x_at = factors_at + STAGES * factor_bytes;
    f32 *results = (f32 *)(void *)(x_at + w.turns * (WARPS * X_BYTES)); // [tile][SUMS]
    bool is_producer = warp() >= WARPS;
    kernel_launch_next();
    if (is_producer) { // the first weights are on their way while the kernel before ends: a prefetch sees what that writes
        rows at = TILE_ROWS(w.first);
        u32 bytes = min(w.count * ROW_UNIT, (u32)(STAGES * ROW_BYTES));
#pragma unroll
        for (u32 r = 0; r < EACH_ROWS; r++)
            for (u32 i = lane() * 128; i < bytes; i += 32 * 128)
                prefetch(at.weight[r] + i);
    }
    if (thread_x() == 0) {
#pragma unroll
        for (u32 s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 32 * PRODUCERS);
            mbarrier_init(&empty[s], WARPS);
        }
    }
    barrier();
    kernel_wait_previous();

    u32 stage = 0, phase = 0;
    if (is_producer) {
        for (u32 tile = 0; tile < w.own; tile++) {
            rows at = TILE_ROWS(w.first + tile * w.step);
            for (u32 turn = 0; turn < w.turns; turn++) {
                mbarrier_wait(&empty[stage], phase ^ 1);
                copy_turn(smem + stage * STAGE_BYTES, factors_at + stage * factor_bytes, &at, &l, &w, turn);
                async_arrive(&full[stage]);
                stage = stage + 1 == STAGES ? 0 : stage + 1;
                phase ^= stage == 0;
            }
        }
    } else {
        place at = PLACE(w.first);
        factors f[DEPTH];
#define LOAD_FACTORS(i)                                                                                                        \
    load_factors(&f[i], &at, &l, (w.begin + at.turn * WARPS + warp()) * UNIT);                                                 \
    if (IS_LOADED && ++at.turn == w.turns) {                                                                                                \
        u32 next = at.tile + w.step;                                                                                           \
        at = PLACE(min(next, w.tiles - 1));                                                                                    \
    }
#pragma unroll
        for (u32 i = 0; i < DEPTH; i++) {
            LOAD_FACTORS(i)
        }
        for (u32 turn = 0; turn < w.turns; turn++) {
            u32 number = turn * WARPS + warp();
            if (number < w.count)
                copy_x(x_at + number * X_BYTES, x, l.x[0], l.m, (w.begin + number) * UNIT, l.k);
            if (turn == 0)
                async_commit(); // what the first unit needs
        }
        async_commit();
        async_wait(1);
        warp_sync();

        band_sums sums[BANDS] = {{{0.0f}}};
        u32 lift = lift_of(l.k >> 31); // of which K has no bit
        u32 turn = 0, tile = 0;
        const u8 *own_x = x_at + warp() * X_BYTES + lane() / 4 % (XR < 8 ? XR : 8) * 64 + lane() % 4 * 16;
#pragma unroll 1
        for (u32 n = 0; n < w.own * w.turns; n += DEPTH) {
#pragma unroll
            for (u32 i = 0; i < DEPTH; i++) {
                if (n + i < w.own * w.turns) {
                    if (n + i == 1) { // all of x
                        async_wait(0);
                        warp_sync();
                    }
                    mbarrier_wait(&full[stage], phase);
                    words own = words_of(smem + stage * STAGE_BYTES + warp() * ROW_UNIT);
                    if (GROUPED && TOGETHER)
                        take_factors(&f[i], factors_at + stage * factor_bytes, &l, &w);
                    warp_sync();
                    if (lane() == 0)
                        mbarrier_arrive(&empty[stage]);
                    if (turn * WARPS + warp() < w.count)
                        add_unit(sums, &own, &f[i], own_x + turn * (WARPS * X_BYTES), lift);
                    stage = stage + 1 == STAGES ? 0 : stage + 1;
                    phase ^= stage == 0;
                }
                LOAD_FACTORS(i)
                if (++turn == w.turns && tile < w.own) {
                    u32 in_batch = tile % BATCH;
                    f32 *parts = (f32 *)(void *)(smem + PARTS_AT) + tile / BATCH % PLACES * (BATCH * WARPS * SUMS);
                    if (PLACES == 1 && in_batch == 0)
                        barrier_sync(1, 32 * WARPS); // the sums before have been added
                    keep_sums(parts + in_batch * (WARPS * SUMS), sums);
                    if (in_batch == BATCH - 1 || tile == w.own - 1) {
                        barrier_sync(1, 32 * WARPS);
                        for (u32 k = thread_x(); k < (in_batch + 1) * SUMS; k += 32 * WARPS) {
                            u32 its = tile - in_batch + k / SUMS, sum_at = k % SUMS;
                            const f32 *from = parts + k / SUMS * (WARPS * SUMS) + sum_at;
                            f32 all = from[0];
#pragma unroll
                            for (u32 p = 1; p < WARPS; p++)
                                all += from[p * SUMS];
                            if (SPLITS > 1)
                                results[its * SUMS + sum_at] = all;
                            else
                                STORE(w.first + its * w.step, sum_at, all);
                        }
                    }
                    turn = 0;
                    tile++;
                }
            }
        }
    }
    if (SPLITS > 1) {
        cluster_arrive();
        cluster_wait();
        for (u32 i = split * (32 * WARPS) + thread_x(); i < w.own * SUMS && !is_producer; i += SPLITS * 32 * WARPS) {
            f32 all = 0.0f;
#pragma unroll
            for (u32 s = 0; s < SPLITS; s++)
                all += *cluster_at(&results[i], s);
            STORE(w.first + i / SUMS * w.step, i % SUMS, all);
        }
        cluster_arrive(); // shared memory lives until all have read it
        cluster_wait();
    }
}
