// out[M,N] = x * transposed quantised weights for at most 16 rows of x, at the speed at which memory gives the weights:
// sm_80 and later. Blocks stay: one for each multiprocessor, or clusters of SPLITS of them, which have parts of K (sm_90).
//
// A tile is 16 * BANDS * WARPS_N rows of weights, the rows of mma; x is its columns. Some warps, the producers, bring all rows of one
// tile after the other into a ring of stages, by the copy engine (BULK, sm_90) or with copies of their lanes. Each of the other warps
// has 16 * BANDS rows and some bytes of each, 1 or 2 KB in all, a unit: what a lane takes of it are its own
// elements of mma in an order of K that x follows in shared memory. The sums of the warps with the same rows are added in
// order when a tile ends, while the ring holds what comes next.
//
// The elements that four lanes take at a time, a span, have one scale for a row: the sums of a span are multiplied by it.
// With TOGETHER scales and zeros come through the ring as well, else each lane loads its own some units ahead. Rows of x and
// of the weights start at multiples of 16 bytes, and K is a multiple of CHUNK. x lies as granules of eight elements,
// [unit][span][granule of a lane][row of x][lane of four].
//
// Weights are multiplied as their bits are, without a subtraction: see levels_of. The sum of a span's x, times what they
// are too large by, is taken off its sum.
#include <kiln/overlap.h>

tune(XR, 8, 1, 2, 4, 16); // rows of x in shared memory; lanes that have none of their own repeat them
tune(WARPS_N, 1, 2);      // warps with different rows of weights
tune(BANDS, 1, 2);        // 2: what a warp reads of x it multiplies with 32 rows
tune(WORDS, 4, 2, 1);     // 2 and 1 for groups that are shorter than a span of four words
tune(LONG, 0, 1);         // units of 2 KB; WORDS is 2 at most without it and with two BANDS
tune(BULK, 0, 1);
tune(SPLITS, 1, 2, 4, 8);
tune(STAGES, 4, 2, 3, 5, 6);
tune(GROUPED, 1, 0);
tune(TOGETHER, 0, 1, 2); // scales and zeros of a row lie side by side, and those of a turn are multiples of 16 bytes (2, with BULK: of 4)
tune(W_PACKED, 1);
#include "decode.h"
KERNEL_OVERLAPS

#if defined(X_bf16)
#    define MULTIPLY mma_bf16
#else
#    define MULTIPLY mma_f16
#endif

#if defined(WEIGHT_i8) && defined(X_bf16)
enum { IS_LIFTED = 0 }; // bytes have one bit too many
#else
enum { IS_LIFTED = 1 };
#endif
#if defined(X_f16) && defined(WEIGHT_i4)
enum { KINDS = 2 }; // of sums: of lower and of upper nibbles
#else
enum { KINDS = 1 };
#endif

enum {
    WARPS = 16,                 // without the producers
    ALONG = WARPS / WARPS_N,    // warps with the same rows and different parts of K
    BAND_ROWS = 16 * BANDS,     // of a warp
    ROWS = BAND_ROWS * WARPS_N, // of a tile
    PRODUCERS = 4,              // warps
    OWN = 2 * BANDS,            // rows of a lane
    ROW_UNIT = (LONG ? 128 : 64) / BANDS, // bytes of a row in a unit
    EACH_ROWS = ROWS / PRODUCERS, // of a producer
    PER = CHUNK / 4,            // weights of a word
    GRANULES = WORDS * PER / 8, // of a lane in a span
    SPAN = 4 * WORDS * PER,
    SPANS = ROW_UNIT / 16 / WORDS, // of a unit
    UNIT = SPANS * SPAN,
    X_BYTES = UNIT * XR * 2, // of a unit
    TILES_X = XR > 8 ? 2 : 1,
    AT_ONCE = TILES_X > 1 ? 1 : SPANS, // spans whose words a lane takes together: registers are few
#ifdef HAS_ZERO
    IS_LOADED = !TOGETHER, // what belongs to groups, by the lanes
#else
    IS_LOADED = GROUPED && !TOGETHER,
#endif
    DEPTH = !IS_LOADED ? 1 : SPANS > 1 ? 2 : 4, // units for which they are under way
    ROW_BYTES = ALONG * ROW_UNIT,
    PITCH = ROW_BYTES + 16 * WORDS, // from row to row of a stage: lanes of several rows take from different banks
    STAGE_BYTES = ROWS * PITCH,
    SUMS = ROWS * XR, // of a tile
    PARTS_AT = STAGES * STAGE_BYTES,
    BATCH = XR <= 2 ? 8 : 16 / XR, // tiles whose sums are added at a time
    PLACES = ROWS > 16 ? 1 : 2,    // for their sums of the warps: with two, one barrier suffices
    SPAN_SUMS = IS_LIFTED ? SPANS * XR : 0, // of x, of a unit
    SHARED_BYTES = PARTS_AT + PLACES * BATCH * ALONG * SUMS * 4 // behind it: scales and zeros of the stages, x, its sums, sums of all tiles
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
    w.turns = ((units + ALONG - 1) / ALONG + SPLITS - 1) / SPLITS;
    w.begin = min(split * w.turns * ALONG, units);
    w.count = min(w.turns * ALONG, units - w.begin);
    w.scales = 0;
    w.zeros = 0;
    if (GROUPED && TOGETHER) {
        w.scales = (ALONG * UNIT >> l->group_shift) * (u32)sizeof(SCALE) + 16;
#ifdef HAS_ZERO
        w.zeros = (ALONG * UNIT >> l->group_shift) * (u32)sizeof(zero_t) + 16;
#endif
    }
    return w;
}

// A warp's first row of a tile, and which part of K it has.
static inline u32 band_row(void)
{
    return WARPS_N > 1 ? warp() / ALONG * BAND_ROWS : 0;
}

static inline u32 part_of_k(void)
{
    return WARPS_N > 1 ? warp() % ALONG : warp();
}

// --- the producers
enum { KEPT = BULK ? 1 : EACH_ROWS };

typedef struct rows { // of a tile and a producer, in memory: from the block's part of K on; BULK: the first one
    const u8 *weight[KEPT], *scale[KEPT], *zero[KEPT];
} rows;

// Which row of a tile is number r of a producer.
static inline u32 row_of(u32 r)
{
    return BULK ? (warp() - WARPS) * EACH_ROWS + r : warp() - WARPS + r * PRODUCERS;
}

static inline rows rows_of(POINTERS(const weight_t, weight), POINTERS(const SCALE, scale) ZEROS, const struct linear *l, const work *w, u32 tile)
{
    rows at;
    corner c = corner_of(l, tile, ROWS);
    i64 group = (i64)(w->begin * UNIT >> l->group_shift);
#pragma unroll
    for (u32 r = 0; r < KEPT; r++) {
        i64 row = (i64)min(c.column + row_of(r), FIELD(*l, c.which, n) - 1);
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
    u32 bytes = bytes_of(l, w, turn), groups = bytes / 4 * PER >> l->group_shift, first = turn * (ALONG * UNIT) >> l->group_shift;
#pragma unroll
    for (u32 r = 0; r < KEPT; r++) {
        const u8 *from = at->weight[r] + (u64)turn * ROW_BYTES;
        u8 *place = to + row_of(r) * PITCH;
#pragma unroll
        for (u32 i = 0; i < ROW_BYTES; i += 512)
            copy_row(place + i, from + i, bytes > i ? bytes - i : 0);
    }
    if (GROUPED && TOGETHER) {
#pragma unroll
        for (u32 r = 0; r < KEPT; r++) {
            u64 row = (u64)row_of(r);
            copy_row(factors_to + row * w->scales, at->scale[r] + first * (u32)sizeof(SCALE), groups * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
            copy_row(factors_to + (ROWS * w->scales + row * w->zeros), at->zero[r] + first, groups);
#endif
        }
    }
}

// Scales or zeros of `count` rows, `bytes` of each, by all lanes: too little for the copy engine.
static inline void copy_factors(u8 *to, u32 pitch, const u8 *from, u64 step, u32 count, u32 bytes)
{
    enum { SIDE = EACH_ROWS < 32 ? EACH_ROWS : 32, GRAIN = TOGETHER == 2 ? 4 : 16 }; // rows beside each other; bytes of a copy
    for (u32 r = lane() % SIDE; r < count; r += SIDE)
        for (u32 i = lane() / SIDE * GRAIN; i < bytes; i += 32 / SIDE * GRAIN) {
            if (GRAIN == 4)
                async_copy_4(to + ((u64)r * pitch + i), from + (r * step + i));
            else
                async_copy_16(to + ((u64)r * pitch + i), from + (r * step + i));
        }
}

// The same by the copy engine, which one lane asks for all rows of a producer; `full` counts the bytes. The addresses are those of
// the first row. Places of rows behind the last keep what they had: that makes no result.
static inline void bulk_turn(u8 *to, u8 *factors_to, mbarrier *full, const rows *at, const struct linear *l, const work *w, corner c, u32 turn)
{
    u32 bytes = bytes_of(l, w, turn), begin = row_of(0), all = min((u32)ROWS, FIELD(*l, c.which, n) - c.column);
    u32 count = all > begin ? min(all - begin, (u32)EACH_ROWS) : 0;
    if (elect_one()) {
        const u8 *from = at->weight[0] + (u64)turn * ROW_BYTES;
        u64 step = (u64)FIELD(*l, c.which, weight) * sizeof(weight_t);
        u8 *place = to + begin * PITCH;
        mbarrier_arrive_expect(full, count * bytes);
        if (bytes > 0)
#pragma unroll 4
            for (u32 r = 0; r < count; r++) {
                bulk_load(place, from, bytes, full);
                place += PITCH;
                from += step;
            }
    }
    if (GROUPED && TOGETHER) {
        u32 groups = bytes / 4 * PER >> l->group_shift, first = turn * (ALONG * UNIT) >> l->group_shift;
        copy_factors(factors_to + (u64)begin * w->scales, w->scales, at->scale[0] + first * (u32)sizeof(SCALE),
                     (u64)FIELD(*l, c.which, scale[0]) * sizeof(SCALE), count, groups * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
        copy_factors(factors_to + (u64)(ROWS * w->scales + begin * w->zeros), w->zeros, at->zero[0] + first, (u64)FIELD(*l, c.which, zero[0]), count,
                     groups);
#endif
        async_arrive(full);
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
        i64 row = (i64)min(c.column + band_row() + lane() / 4 + r * 8, FIELD(*l, c.which, n) - 1);
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
        u32 group = (part_of_k() * UNIT + s * SPAN) >> l->group_shift;
#pragma unroll
        for (u32 r = 0; r < OWN; r++) {
            u32 row = band_row() + lane() / 4 + r * 8;
            f->scale[s][r] = *(const SCALE *)(const void *)(from + (u64)row * w->scales + group * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
            f->zero[s][r] = *(const zero_t *)(const void *)(from + ROWS * w->scales + row * w->zeros + group);
#endif
        }
    }
}

// --- products
// A lane's words of a span.
typedef struct words {
    u32 of[OWN][4]; // WORDS of them
} words;

static inline words words_of(const u8 *unit, u32 span)
{
    words w;
#pragma unroll
    for (u32 r = 0; r < OWN; r++) {
        const u8 *from = unit + (lane() / 4 + r * 8) * PITCH + (span * 4 + lane() % 4) * (WORDS * 4);
        if (WORDS == 4) {
            u32x4 v = *(const u32x4 *)(const void *)from;
            w.of[r][0] = v.x;
            w.of[r][1] = v.y;
            w.of[r][2] = v.z;
            w.of[r][3] = v.w;
        } else if (WORDS == 2) {
            u32x2 v = *(const u32x2 *)(const void *)from;
            w.of[r][0] = v.x;
            w.of[r][1] = v.y;
        } else {
            w.of[r][0] = *(const u32 *)(const void *)from;
        }
    }
    return w;
}

typedef f32 band_sums[TILES_X][4];

enum {
#ifdef WEIGHT_i4
    MIDDLE = 8, // the weight that counts 0 where there are no zeros
#else
    MIDDLE = 0,
#endif
#ifdef X_bf16
    LIFT = 128,
#elif defined(WEIGHT_i4)
    LIFT = 0,
#else
    LIFT = 128,
#endif
};

// What the sums of a span's x are multiplied by where there are no zeros, and what its sums are a multiple of.
#ifdef X_f16
#    define LEVEL 0x1p24f
#else
#    define LEVEL 1.0f
#endif

// Eight weights as pairs of x's type.
//
// f16: the bits of a weight are those of a number below 2^-14, the weight times 2^-24 (LEVEL), which tensor cores multiply
// exactly. Those of int4 in the last two words are upper nibbles of bytes, which count 16 times as much: they have sums of
// their own. Bytes of int8 are 128 (LIFT) more than they count.
// bf16: int4 is 128 more. The bytes of int8 have one bit too many for that.
static inline u32x4 levels_of(const u32 *word, f32 zero, u32 lift)
{
#if defined(WEIGHT_i4) && defined(X_f16)
    u32 next = word[0] >> 4;
    return (u32x4){word[0] & 0x000f000fu, next & 0x000f000fu, next & 0x00f000f0u, word[0] >> 8 & 0x00f000f0u};
#elif defined(WEIGHT_i4)
    return (u32x4){(word[0] & 0x000f000fu) | lift, (word[0] >> 4 & 0x000f000fu) | lift, (word[0] >> 8 & 0x000f000fu) | lift,
                   (word[0] >> 12 & 0x000f000fu) | lift};
#elif defined(X_f16)
    u32 low = word[0] ^ 0x80808080u, high = word[1] ^ 0x80808080u;
    return (u32x4){permute_bytes(low, 0, 0x4140u), permute_bytes(low, 0, 0x4342u), permute_bytes(high, 0, 0x4140u),
                   permute_bytes(high, 0, 0x4342u)};
#else
    chunk c = {{word[0], word[1], 0, 0}};
    return decode_pairs(&c, 0, zero, lift);
#endif
}

// The sums of a unit's x, as add_span takes them, by one warp: the products with ones.
static inline void keep_span_sums(f32 *to, const u8 *x)
{
#ifdef X_bf16
    u32 ones = 0x3f803f80u;
#else
    u32 ones = 0x3c003c00u;
#endif
    const u8 *own = x + lane() / 4 % (XR < 8 ? XR : 8) * 64 + lane() % 4 * 16;
    u32 all_ones[4] = {ones, ones, ones, ones};
#ifdef HAS_ZERO
    f32 factor = 1.0f;
#else
    f32 factor = -(f32)(LIFT + MIDDLE) / LEVEL;
#endif
#pragma unroll
    for (u32 s = 0; s < SPANS; s++)
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            f32 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
            for (u32 g = 0; g < GRANULES; g++) {
                u32x4 v = *(const u32x4 *)(const void *)(own + ((s * GRANULES + g) * XR + t * 8) * 64);
                u32 low[2] = {v.x, v.y}, high[2] = {v.z, v.w};
                MULTIPLY(sum, all_ones, low);
                MULTIPLY(sum, all_ones, high);
            }
#pragma unroll
            for (u32 e = 0; e < 2; e++) {
                u32 column = t * 8 + lane() % 4 * 2 + e;
                if (lane() < 4 && column < XR)
                    to[s * XR + column] = sum[e] * factor;
            }
        }
}

// sums += a span times x, whose granules of that span begin at `x` for this lane; x_sums: the sums of that x.
static inline void add_span(band_sums *sums, const u32 (*own)[4], const u8 *x, const f32 *x_sums, const f32 *scale, const f32 *zero, u32 lift)
{
    enum { CHAINS = KINDS > 1 || BANDS * TILES_X > 1 ? KINDS : GRANULES }; // sums whose products do not wait for each other
    band_sums part[CHAINS][BANDS];
    f32 column[TILES_X][2]; // of x
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
        for (u32 e = 0; e < 2; e++)
            column[t][e] = IS_LIFTED ? x_sums[(t * 8 + lane() % 4 * 2 + e) % XR] : 0.0f;
#pragma unroll
    for (u32 c = 0; c < CHAINS; c++)
#pragma unroll
        for (u32 b = 0; b < BANDS; b++)
#pragma unroll
            for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
                for (u32 e = 0; e < 4; e++) {
#ifdef HAS_ZERO
                    part[c][b][t][e] = 0.0f;
#else
                    part[c][b][t][e] = c == 0 ? column[t][e % 2] : 0.0f;
#endif
                }
#pragma unroll
    for (u32 g = 0; g < GRANULES; g++) {
        u32x4 a[OWN];
#pragma unroll
        for (u32 r = 0; r < OWN; r++)
            a[r] = levels_of(&own[r][g * (8 / PER)], zero[r], lift);
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            u32x4 v = *(const u32x4 *)(const void *)(x + (g * XR + t * 8) * 64);
            u32 low[2] = {v.x, v.y}, high[2] = {v.z, v.w};
#pragma unroll
            for (u32 b = 0; b < BANDS; b++) {
                u32x4 upper = a[b * 2], lower = a[b * 2 + 1];
                u32 first[4] = {upper.x, lower.x, upper.y, lower.y}, second[4] = {upper.z, lower.z, upper.w, lower.w};
                MULTIPLY(part[KINDS > 1 ? 0 : g % CHAINS][b][t], first, low);
                MULTIPLY(part[KINDS > 1 ? 1 : g % CHAINS][b][t], second, high);
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
                    if (KINDS > 1) {
                        all = fma(part[1][b][t][e], LEVEL / 16.0f, all * LEVEL);
                    } else {
#pragma unroll
                        for (u32 c = 1; c < CHAINS; c++)
                            all += part[c][b][t][e];
                        if (IS_LIFTED)
                            all *= LEVEL;
                    }
#ifdef HAS_ZERO
                    if (IS_LIFTED)
                        all = fma(-((f32)LIFT + zero[b * 2 + e / 2]), column[t][e % 2], all);
#endif
                    sums[b][t][e] = GROUPED ? fma(scale[b * 2 + e / 2], all, sums[b][t][e]) : sums[b][t][e] + all;
                }
}

// The same with number s of a unit.
static inline void add_number(band_sums *sums, const words *w, const factors *f, u32 s, const u8 *x, const f32 *x_sums, u32 lift)
{
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
    add_span(sums, w->of, x + s * (GRANULES * XR * 64), x_sums + s * XR, scale, zero, lift);
}

// A warp has taken its words of a stage.
static inline void release(mbarrier *empty)
{
    warp_sync();
    if (lane() == 0)
        mbarrier_arrive(empty);
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
                    parts[part_of_k() * SUMS + (band_row() + b * 16 + lane() / 4 + e / 2 * 8) * XR + column] = sums[b][t][e];
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

kernel block(32 * (WARPS + PRODUCERS)) cluster(SPLITS) min_blocks(1) void linear_stream(const X *restrict x, POINTERS(const weight_t, weight),
                                          POINTERS(const SCALE, scale) ZEROS BIASES, POINTERS(OUT, out), struct linear l)
{
    shared mbarrier full[STAGES], empty[STAGES];
    u32 split = SPLITS > 1 ? cluster_rank() : 0;
    work w = work_of(&l, split);
    u32 factor_bytes = ROWS * (w.scales + w.zeros); // of a stage
    u8 *factors_at = smem + SHARED_BYTES, *x_at = factors_at + STAGES * factor_bytes;
    f32 *x_sums = (f32 *)(void *)(x_at + w.turns * (ALONG * X_BYTES));   // [unit][span][XR]
    f32 *results = x_sums + w.turns * (ALONG * SPAN_SUMS); // [tile][SUMS]
    bool is_producer = warp() >= WARPS;
    kernel_launch_next();
    if (is_producer) { // the first weights are on their way while the kernel before ends: a prefetch sees what that writes
        rows at = TILE_ROWS(w.first);
        corner c = corner_of(&l, w.first, ROWS);
        u32 bytes = min(w.count * ROW_UNIT, (u32)(STAGES * ROW_BYTES));
        if (BULK) {
            const u8 *from = at.weight[0];
            u32 begin = row_of(0), all = min((u32)ROWS, FIELD(l, c.which, n) - c.column), count = all > begin ? min(all - begin, (u32)EACH_ROWS) : 0;
            if (elect_one() && bytes > 0)
#pragma unroll 4
                for (u32 r = 0; r < count; r++) {
                    bulk_prefetch(from, bytes);
                    from += (u64)FIELD(l, c.which, weight) * sizeof(weight_t);
                }
        } else {
#pragma unroll
            for (u32 r = 0; r < KEPT; r++)
                for (u32 i = lane() * 128; i < bytes; i += 32 * 128)
                    prefetch(at.weight[r] + i);
        }
    }
    if (thread_x() == 0) {
#pragma unroll
        for (u32 s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], BULK ? (GROUPED && TOGETHER ? 33 : 1) * PRODUCERS : 32 * PRODUCERS);
            mbarrier_init(&empty[s], WARPS);
        }
        if (BULK)
            mbarrier_fence_init();
    }
    barrier();
    kernel_wait_previous();

    u32 stage = 0, phase = 0;
    if (is_producer) {
        for (u32 tile = 0; tile < w.own; tile++) {
            rows at = TILE_ROWS(w.first + tile * w.step);
            for (u32 turn = 0; turn < w.turns; turn++) {
                mbarrier_wait(&empty[stage], phase ^ 1);
                u8 *to = smem + stage * STAGE_BYTES, *factors_to = factors_at + (u64)stage * factor_bytes;
                if (BULK) {
                    bulk_turn(to, factors_to, &full[stage], &at, &l, &w, corner_of(&l, w.first + tile * w.step, ROWS), turn);
                } else {
                    copy_turn(to, factors_to, &at, &l, &w, turn);
                    async_arrive(&full[stage]);
                }
                stage = stage + 1 == STAGES ? 0 : stage + 1;
                phase ^= stage == 0;
            }
        }
    } else {
        place at = PLACE(w.first);
        factors f[DEPTH];
#define LOAD_FACTORS(i)                                                                                                        \
    load_factors(&f[i], &at, &l, (w.begin + at.turn * ALONG + part_of_k()) * UNIT);                                                 \
    if (IS_LOADED && ++at.turn == w.turns) {                                                                                                \
        u32 next = at.tile + w.step;                                                                                           \
        at = PLACE(min(next, w.tiles - 1));                                                                                    \
    }
#pragma unroll
        for (u32 i = 0; i < DEPTH; i++) {
            LOAD_FACTORS(i)
        }
        for (u32 number = warp(); number < w.turns * ALONG; number += WARPS) {
            if (number < w.count)
                copy_x(x_at + number * X_BYTES, x, l.x[0], l.m, (w.begin + number) * UNIT, l.k);
            if (number == warp())
                async_commit(); // what the first unit needs
        }
        async_commit();
        if (WARPS_N > 1)
            async_wait(0);
        else
            async_wait(1);
        warp_sync();
        if (IS_LIFTED) // of what the warp has copied
            for (u32 number = warp(); number < w.count; number += WARPS) {
                keep_span_sums(x_sums + number * SPAN_SUMS, x_at + number * X_BYTES);
                if (number == warp() && WARPS_N == 1) {
                    async_wait(0);
                    warp_sync();
                }
            }
        if (WARPS_N > 1)
            barrier_sync(1, 32 * WARPS);
        else
            warp_sync();

        band_sums sums[BANDS] = {{{0.0f}}};
        u32 lift = lift_of(l.k >> 31); // of which K has no bit
        u32 turn = 0, tile = 0;
        const u8 *own_x = x_at + part_of_k() * X_BYTES + lane() / 4 % (XR < 8 ? XR : 8) * 64 + lane() % 4 * 16;
        const f32 *own_sums = x_sums + part_of_k() * SPAN_SUMS;
#pragma unroll 1
        for (u32 n = 0; n < w.own * w.turns; n += DEPTH) {
#pragma unroll
            for (u32 i = 0; i < DEPTH; i++) {
                if (n + i < w.own * w.turns) {
                    if (!IS_LIFTED && WARPS_N == 1 && n + i == 1) { // all of x
                        async_wait(0);
                        warp_sync();
                    }
                    mbarrier_wait(&full[stage], phase);
                    const u8 *unit = smem + stage * STAGE_BYTES + band_row() * PITCH + part_of_k() * ROW_UNIT;
                    words own[SPANS];
#pragma unroll
                    for (u32 s = 0; s < AT_ONCE; s++)
                        own[s] = words_of(unit, s);
                    if (GROUPED && TOGETHER)
                        take_factors(&f[i], factors_at + (u64)stage * factor_bytes, &l, &w);
                    if (AT_ONCE == SPANS)
                        release(&empty[stage]);
                    bool is_there = turn * ALONG + part_of_k() < w.count;
#pragma unroll
                    for (u32 s = 0; s < SPANS; s++) {
                        if (is_there)
                            add_number(sums, &own[s], &f[i], s, own_x + turn * (ALONG * X_BYTES), own_sums + turn * (ALONG * SPAN_SUMS), lift);
                        if (s + 1 < SPANS && s + 1 >= AT_ONCE)
                            own[s + 1] = words_of(unit, s + 1);
                    }
                    if (AT_ONCE < SPANS)
                        release(&empty[stage]);
                    stage = stage + 1 == STAGES ? 0 : stage + 1;
                    phase ^= stage == 0;
                }
                LOAD_FACTORS(i)
                if (++turn == w.turns && tile < w.own) {
                    u32 in_batch = tile % BATCH;
                    f32 *parts = (f32 *)(void *)(smem + PARTS_AT) + tile / BATCH % PLACES * (BATCH * ALONG * SUMS);
                    if (PLACES == 1 && in_batch == 0)
                        barrier_sync(1, 32 * WARPS); // the sums before have been added
                    keep_sums(parts + in_batch * (ALONG * SUMS), sums);
                    if (in_batch == BATCH - 1 || tile == w.own - 1) {
                        barrier_sync(1, 32 * WARPS);
                        for (u32 k = thread_x(); k < (in_batch + 1) * SUMS; k += 32 * WARPS) {
                            u32 its = tile - in_batch + k / SUMS, sum_at = k % SUMS;
                            const f32 *from = parts + k / SUMS * (ALONG * SUMS) + sum_at;
                            f32 all = from[0];
#pragma unroll
                            for (u32 p = 1; p < ALONG; p++)
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
        cluster_arrive_relaxed(); // shared memory lives until all have read it
        cluster_wait();
    }
}
