// out[M,N] = x * transposed quantised weights for at most 16 rows of x, as stream.c, with x in registers: sm_90a.
// Blocks stay, one for each multiprocessor, or clusters of SPLITS of them, which have parts of K.
//
// A tile is 16 rows of weights, the rows of mma; x is its columns. Four warps, the producers, bring one tile after the other into
// a ring of stages by the copy engine and give their registers to the 16 others. Each of those has a part of K: TURNS units, each 1
// KB of weights of a tile. What a lane takes of a unit are its own elements of mma, and the elements of x that they meet are
// the same for all tiles: it keeps them in registers. So shared memory is read for weights and scales alone.
//
// Weights are multiplied as their bits are. As f16 or bf16 the lowest eight bits of a word's halves are a subnormal number, which
// tensor cores multiply exactly: a weight times 2^-24 or 2^-133 (LEVEL), and 16 times that for the upper of two nibbles. So an int4
// word takes four masks and one shift. Rows of x are multiplied by a power of two, that of their largest number, so that products
// are no subnormals; where the nibble counts 16 times as much, by a 16th of it. The factors are taken off the sums.
//
// The elements that four lanes take at a time, a span, have one scale for a row: the sums of a span are multiplied by it. The sum
// of a span's x, times what its weights are too large by, is taken off. Scales and zeros of groups come through the ring.
//
// The warps' sums of a batch of tiles lie in shared memory. They are added in order when the next batch is done, so that no warp
// waits for another one. There are three places: who writes batch n has seen all warps arrive with n - 2, and before that they have
// added n - 3. The blocks of a cluster have their sums at the end: each adds up a share of the tiles, which the others send it.
//
// Rows of x and of the weights start at multiples of 16 bytes, and K is a multiple of CHUNK; of UNIT where there are groups.
#include <kiln/overlap.h>

tune(XR, 8, 1, 2, 4, 16); // rows of x: a power of two
tune(WORDS, 4, 2, 1);     // of a lane in a span: 2 and 1 for groups that are shorter than a span of four words
tune(TURNS, 1, 2, 3, 4);  // units of a warp and a tile
tune(SPLITS, 1, 2, 4, 8);
tune(STAGES, 4, 2, 3);
tune(GROUPED, 1, 0);
tune(TOGETHER, 1, 0, 2); // with GROUPED: scales and zeros of a row are multiples of 16 bytes in a turn; 2: of 4
tune(W_PACKED, 1);
#include "decode.h"
KERNEL_OVERLAPS

#if defined(X_bf16)
#    define MULTIPLY mma_bf16
#    define PAIR     bf16x2
#    define NARROW   bf16_from_bits
#    define BITS     bits_bf16
#    define LEVEL    0x1p-133f
#else
#    define MULTIPLY mma_f16
#    define PAIR     f16x2
#    define NARROW   f16_from_bits
#    define BITS     bits_f16
#    define LEVEL    0x1p-24f
#endif

enum {
#if defined(X_bf16)
    MANTISSA = 7,
    BIAS = 127,
    HIGHEST = 240, // exponent that the largest number of a row gets: a span's sum of f32 is still finite
    LEAST_UP = 7,  // powers of two that a row is multiplied by
    MOST_UP = 126,
    LEVEL_POWER = 133,
#else
    MANTISSA = 10,
    BIAS = 15,
    HIGHEST = 30,
    LEAST_UP = 0,
    MOST_UP = 15,
    LEVEL_POWER = 24,
#endif
#ifdef WEIGHT_i4
    UPPER = 4,  // the upper nibble counts 2^4 times as much
    LIFT = 0,   // what the bits of a weight are more than it counts
    MIDDLE = 8, // the weight that counts 0 where there are no zeros
#else
    UPPER = 0,
    LIFT = 128,
    MIDDLE = 0,
#endif
};

enum {
    WARPS = 16, // without the producers
    ROWS = 16,  // of a tile
    PRODUCERS = 4,
    PRODUCER_REGISTERS = 32,
    REGISTERS = 112, // of the others: a multiprocessor has 65536
    EACH_ROWS = ROWS / PRODUCERS,
    ROW_UNIT = 64, // bytes of a row in a unit
    PER = CHUNK / 4,            // weights of a word
    GRANULES = WORDS * PER / 8, // of eight elements, of a lane in a span
    SPAN = 4 * WORDS * PER,
    SPANS = ROW_UNIT / 16 / WORDS, // of a unit
    UNIT = SPANS * SPAN,
    TILES_X = XR > 8 ? 2 : 1,
    WIDTH = XR < 8 ? XR : 8, // columns of mma that are rows of x
    ROW_BYTES = WARPS * ROW_UNIT,
    PITCH = ROW_BYTES + 16 * WORDS, // from row to row of a stage: lanes of several rows take from different banks
    STAGE_BYTES = ROWS * PITCH,
    SUMS = ROWS * XR, // of a tile
    BATCH = XR <= 2 ? 8 : 16 / XR,
    PLACES = 3, // for batches
    BATCH_SUMS = BATCH * WARPS * SUMS,
    PARTS_AT = STAGES * STAGE_BYTES,
    X_REGISTERS = TURNS * UNIT / 8 * TILES_X,
    AT_ONCE = X_REGISTERS > 32 && (TILES_X > 1 || SPANS > 2) ? 1 : SPANS, // spans whose words a lane takes together
    X_SUMS = ((GROUPED ? TURNS * SPANS : 1) + 1) * TILES_X * 8, // of a warp: of its x, and what its rows are multiplied by
    X_SUMS_AT = PARTS_AT + PLACES * BATCH_SUMS * 4,
    FACTORS_AT = X_SUMS_AT + WARPS * X_SUMS * 4 // scales and zeros of the stages; behind them, with SPLITS, the sums of all tiles
};

_Alignas(128) shared u8 smem[];

typedef struct work { // of a block
    u32 tiles, first, step, own; // all tiles; the block's first one, from there to the next, and how many it has
    u32 begin, count;            // its units of K
    u32 scales, zeros;           // bytes of those of a row in a stage, and 16 that keep the banks apart
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
    u32 units = (l->k + UNIT - 1) / UNIT, share = (units + SPLITS - 1) / SPLITS;
    w.begin = min(split * share, units);
    w.count = min(share, units - w.begin);
    w.scales = 0;
    w.zeros = 0;
    if (GROUPED) {
        w.scales = (WARPS * UNIT >> l->group_shift) * (u32)sizeof(SCALE) + 16;
#ifdef HAS_ZERO
        w.zeros = (WARPS * UNIT >> l->group_shift) * (u32)sizeof(zero_t) + 16;
#endif
    }
    return w;
}

// --- the producers
typedef struct rows { // a producer's first row of a tile, in memory: from the block's part of K on
    const u8 *weight, *scale, *zero;
    u64 step, scale_step, zero_step; // to the next row, in bytes
    u32 count;                       // its rows; those behind the last keep what their places had, which makes no result
} rows;

static inline rows rows_of(POINTERS(const weight_t, weight), POINTERS(const SCALE, scale) ZEROS, const struct linear *l, const work *w, u32 tile)
{
    rows at;
    corner c = corner_of(l, tile, ROWS);
    u32 n = FIELD(*l, c.which, n), first = c.column + (warp() - WARPS) * EACH_ROWS;
    i64 row = (i64)min(first, n - 1), group = (i64)(w->begin * UNIT >> l->group_shift);
    at.count = n > first ? min(n - first, (u32)EACH_ROWS) : 0;
    at.step = (u64)FIELD(*l, c.which, weight) * sizeof(weight_t);
    at.weight = (const u8 *)(const void *)(OF(c.which, weight) + row * FIELD(*l, c.which, weight)) + (u64)w->begin * ROW_UNIT;
    at.scale = (const u8 *)(const void *)(OF(c.which, scale) + (row * FIELD(*l, c.which, scale[0]) + group));
    at.scale_step = (u64)FIELD(*l, c.which, scale[0]) * sizeof(SCALE);
    at.zero = NULL;
    at.zero_step = 0;
#ifdef HAS_ZERO
    at.zero = (const u8 *)(const void *)(OF(c.which, zero) + (row * FIELD(*l, c.which, zero[0]) + group));
    at.zero_step = (u64)FIELD(*l, c.which, zero[0]);
#endif
    return at;
}

// Bytes of a row from a turn on.
static inline u32 bytes_from(const struct linear *l, const work *w, u32 turn)
{
    u32 begin = w->begin * ROW_UNIT + turn * ROW_BYTES, end = min((w->begin + w->count) * ROW_UNIT, l->k / PER * 4);
    return begin < end ? end - begin : 0;
}

// Scales or zeros of `count` rows, `bytes` of each, by all lanes: too little for the copy engine.
static inline void copy_factors(u8 *to, u32 pitch, const u8 *from, u64 step, u32 count, u32 bytes)
{
    enum { GRAIN = TOGETHER == 2 ? 4 : 16 }; // bytes of a copy
    u32 r = lane() % EACH_ROWS;
    if (r < count)
        for (u32 i = lane() / EACH_ROWS * GRAIN; i < bytes; i += 32 / EACH_ROWS * GRAIN) {
            if (GRAIN == 4)
                async_copy_4(to + ((u64)r * pitch + i), from + (r * step + i));
            else
                async_copy_16(to + ((u64)r * pitch + i), from + (r * step + i));
        }
}

// A producer's rows of a turn to a stage; `full` counts the bytes.
static inline void bring(u8 *to, u8 *factors_to, mbarrier *full, const rows *at, const struct linear *l, const work *w, u32 turn)
{
    u32 bytes = min(bytes_from(l, w, turn), (u32)ROW_BYTES), begin = (warp() - WARPS) * EACH_ROWS;
    if (elect_one()) {
        const u8 *from = at->weight + (u64)turn * ROW_BYTES;
        u8 *place = to + begin * PITCH;
        mbarrier_arrive_expect(full, at->count * bytes);
        if (bytes > 0)
#pragma unroll
            for (u32 r = 0; r < EACH_ROWS; r++)
                if (r < at->count)
                    bulk_load(place + r * PITCH, from + r * at->step, bytes, full);
    }
    if (GROUPED) {
        u32 groups = bytes / 4 * PER >> l->group_shift, first = turn * (WARPS * UNIT) >> l->group_shift;
        copy_factors(factors_to + (u64)begin * w->scales, w->scales, at->scale + first * (u32)sizeof(SCALE), at->scale_step, at->count,
                     groups * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
        copy_factors(factors_to + (u64)(ROWS * w->scales + begin * w->zeros), w->zeros, at->zero + first, at->zero_step, at->count, groups);
#endif
        async_arrive(full);
    }
}

// --- x
typedef u32 granules[SPANS * GRANULES][TILES_X][4]; // of a unit and a lane: eight elements each

typedef struct held { // a lane's x
    granules of[TURNS];
} held;

// `first`: the warp's first element of K. With GROUPED a unit ends where K does, or before.
static inline void load_x(held *h, const X *x, i64 row_step, u32 m, u32 first, u32 depth)
{
    u32 own = first + lane() % 4 * (GRANULES * 8), left = depth > own ? depth - own : 0;
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++) {
        u32 row = t * 8 + lane() / 4, end = row < m ? left : 0;
        const X *from = x + ((i64)row * row_step + (i64)own);
        if (t == 0)
            kernel_wait_previous();
#pragma unroll
        for (u32 turn = 0; turn < TURNS; turn++)
#pragma unroll
            for (u32 i = 0; i < SPANS * GRANULES; i++) {
                u32 begin = turn * (WARPS * UNIT), at = begin + i / GRANULES * SPAN + i % GRANULES * 8;
                u32x4 v = {0, 0, 0, 0};
                if ((GROUPED ? begin : at) < end)
                    v = *(const u32x4 *)(const void *)(from + at);
                h->of[turn][i][t][0] = v.x;
                h->of[turn][i][t][1] = v.y;
                h->of[turn][i][t][2] = v.z;
                h->of[turn][i][t][3] = v.w;
            }
    }
}

static inline PAIR pair_from(u32 bits)
{
    return (PAIR){NARROW((u16)bits), NARROW((u16)(bits >> 16))};
}

static inline u32 bits_from(PAIR v)
{
    return BITS(v.x) | (u32)BITS(v.y) << 16;
}

// The power of two that a lane's row of x is multiplied by: its largest number gets the exponent HIGHEST. Infinities and
// NaNs do not count.
static inline u32 power_of(const held *h, u32 t)
{
    PAIR most[4] = {pair_from(0), pair_from(0), pair_from(0), pair_from(0)}; // four chains
#pragma unroll
    for (u32 turn = 0; turn < TURNS; turn++)
#pragma unroll
        for (u32 i = 0; i < SPANS * GRANULES; i++)
#pragma unroll
            for (u32 p = 0; p < 4; p++)
                most[p] = max2(most[p], pair_from(h->of[turn][i][t][p] & 0x7fff7fffu));
    u32 bits = bits_from(max2(max2(most[0], most[1]), max2(most[2], most[3]))), largest = max(bits & 0xffffu, bits >> 16);
    largest = max(largest, shuffle_xor(largest, 1));
    largest = max(largest, shuffle_xor(largest, 2)) >> MANTISSA;
    return (u32)max(min(HIGHEST - (i32)largest, (i32)MOST_UP), (i32)LEAST_UP);
}

// Multiplies a lane's row of x by 2^up, and by a 16th of it where the other factor of a product counts 16 times as much.
static inline void raise_x(held *h, u32 t, u32 up)
{
    u32 lower = (up + BIAS) << MANTISSA, upper = (up + BIAS - UPPER) << MANTISSA;
    PAIR by_lower = pair_from(lower | lower << 16), by_upper = pair_from(upper | upper << 16);
#pragma unroll
    for (u32 turn = 0; turn < TURNS; turn++)
#pragma unroll
        for (u32 i = 0; i < SPANS * GRANULES; i++)
#pragma unroll
            for (u32 p = 0; p < 4; p++)
                h->of[turn][i][t][p] = bits_from(mul2(pair_from(h->of[turn][i][t][p]), p % 2 ? by_upper : by_lower));
}

#if defined(HAS_ZERO)
enum { IN_ORDER = X_REGISTERS > 32 }; // of the sums of x one comes after the other: registers are few
#else
enum { IN_ORDER = 0 };
#endif
typedef f32 x_chains[2][TILES_X][4]; // sums of x, in two parts that do not wait for each other

// sums += those of a span's x, of the lane's columns: the products with ones, and with 16 where x was divided by that.
static inline void add_x(x_chains sums, const granules *x, u32 span)
{
    enum { ONE = BIAS << MANTISSA, SIXTEEN = (BIAS + UPPER) << MANTISSA };
    u32 one = ONE | ONE << 16, sixteen = SIXTEEN | SIXTEEN << 16, ones[4] = {one, one, sixteen, sixteen};
#pragma unroll
    for (u32 g = 0; g < GRANULES; g++)
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            const u32 *v = (*x)[span * GRANULES + g][t];
            u32 first[2] = {v[0], v[1]}, second[2] = {v[2], v[3]};
            MULTIPLY(sums[0][t], ones, first);
            MULTIPLY(sums[1][t], ones, second);
        }
}

// What the sums of x are multiplied by. Without zeros they are what a sum begins with.
#ifdef HAS_ZERO
#    define X_FACTOR LEVEL
#else
#    define X_FACTOR (-(f32)(LIFT + MIDDLE) * LEVEL)
#endif

// --- products
typedef struct span_words { // of a lane and a span, two rows
    u32 of[2][WORDS];
    SCALE scale[2];
    zero_t zero[2];
} span_words;

static inline void take_words(span_words *w, const u8 *from)
{
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        const u8 *at = from + r * 8 * PITCH;
        if (WORDS == 4) {
            u32x4 v = *(const u32x4 *)(const void *)at;
            w->of[r][0] = v.x;
            w->of[r][1 % WORDS] = v.y;
            w->of[r][2 % WORDS] = v.z;
            w->of[r][3 % WORDS] = v.w;
        } else if (WORDS == 2) {
            u32x2 v = *(const u32x2 *)(const void *)at;
            w->of[r][0] = v.x;
            w->of[r][1 % WORDS] = v.y;
        } else {
            w->of[r][0] = *(const u32 *)(const void *)at;
        }
    }
}

// Scales and zeros of number s of a unit, with GROUPED. A group that is shorter than four words of four lanes is a span.
static inline void take_factors(span_words *to, u32 s, const u8 *from, const struct linear *l, const work *w)
{
    u32 group = WORDS < 4 ? warp() * SPANS + s : (warp() * UNIT + s * SPAN) >> l->group_shift;
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        u32 row = lane() / 4 + r * 8;
        to->scale[r] = *(const SCALE *)(const void *)(from + (u64)row * w->scales + group * (u32)sizeof(SCALE));
#ifdef HAS_ZERO
        to->zero[r] = *(const zero_t *)(const void *)(from + (u64)ROWS * w->scales + (u64)row * w->zeros + group);
#endif
    }
}

// Eight weights as pairs of subnormal numbers, in the order of x.
static inline u32x4 levels_of(const u32 *word)
{
#ifdef WEIGHT_i4
    u32 next = word[0] >> 8;
    return (u32x4){word[0] & 0x000f000fu, word[0] & 0x00f000f0u, next & 0x000f000fu, next & 0x00f000f0u};
#else
    u32 low = word[0] ^ 0x80808080u, high = word[1] ^ 0x80808080u;
    return (u32x4){permute_bytes(low, 0, 0x4140u), permute_bytes(low, 0, 0x4342u), permute_bytes(high, 0, 0x4140u),
                   permute_bytes(high, 0, 0x4342u)};
#endif
}

// sums += a span times x, whose granules are those from `first` on.
static inline void multiply(f32 (*sums)[4], const span_words *w, const granules *x, u32 first)
{
#pragma unroll
    for (u32 g = 0; g < GRANULES; g++) {
        u32x4 a = levels_of(&w->of[0][g * (8 / PER)]), b = levels_of(&w->of[1][g * (8 / PER)]);
        u32 low[4] = {a.x, b.x, a.y, b.y}, high[4] = {a.z, b.z, a.w, b.w};
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            const u32 *v = (*x)[first + g][t];
            u32 its_low[2] = {v[0], v[1]}, its_high[2] = {v[2], v[3]};
            MULTIPLY(sums[t], low, its_low);
            MULTIPLY(sums[t], high, its_high);
        }
    }
}

// The same with scale and zero of its group; x_sums: the lane's sums of that x.
static inline void multiply_group(f32 (*sums)[4], const span_words *w, const granules *x, u32 first, const f32 *x_sums)
{
    f32 part[TILES_X][4], column[TILES_X][2];
#pragma unroll
    for (u32 t = 0; t < TILES_X; t++) {
        f32x2 v = *(const f32x2 *)(const void *)(x_sums + t * 8);
        column[t][0] = v.x;
        column[t][1] = v.y;
#pragma unroll
        for (u32 e = 0; e < 4; e++) {
#ifdef HAS_ZERO
            part[t][e] = 0.0f;
#else
            part[t][e] = column[t][e % 2];
#endif
        }
    }
    multiply(part, w, x, first);
#pragma unroll
    for (u32 r = 0; r < 2; r++) {
        f32 scale = pack_get(SCALE, w->scale[r]);
#ifdef HAS_ZERO
        f32 zero = -((f32)LIFT + (f32)(i32)w->zero[r]);
#endif
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++)
#pragma unroll
            for (u32 e = 0; e < 2; e++)
                if (XR > 1 || e == 0) { // one row of x is column 0
                    f32 all = part[t][r * 2 + e];
#ifdef HAS_ZERO
                    all = fma(zero, column[t][e], all);
#endif
                    sums[t][r * 2 + e] = fma(scale, all, sums[t][r * 2 + e]);
                }
    }
}

// A warp has read what it has of a stage, or written what it has of a batch.
static inline void arrive(mbarrier *b)
{
    warp_sync();
    if (lane() == 0)
        mbarrier_arrive(b);
}

// --- results
// A warp's sums of a tile: [eight rows of x][row of weights][row of x].
static inline void keep_sums(f32 *parts, f32 (*sums)[4], const f32 *back)
{
    f32 *to = parts + warp() * SUMS + lane() / 4 * WIDTH + lane() % 4 * 2;
    if (lane() % 4 * 2 < WIDTH)
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            f32x2 factor = *(const f32x2 *)(const void *)(back + t * 8);
#pragma unroll
            for (u32 r = 0; r < 2; r++) {
                f32 *place = to + (t * ROWS + r * 8) * WIDTH;
                if (XR > 1)
                    *(f32x2 *)(void *)place = (f32x2){sums[t][r * 2] * factor.x, sums[t][r * 2 + 1] * factor.y};
                else
                    *place = sums[t][r * 2] * factor.x;
            }
        }
}

// What becomes of a sum of a tile.
static inline void store(POINTERS(const SCALE, scale) BIASES, POINTERS(OUT, out), const struct linear *l, u32 tile, u32 at, f32 sum)
{
    corner c = corner_of(l, tile, ROWS);
    u32 row = at / (ROWS * WIDTH) * 8 + at % WIDTH, column = c.column + at / WIDTH % ROWS;
    if (row < l->m && column < FIELD(*l, c.which, n)) {
        if (!GROUPED)
            sum *= pack_get(SCALE, OF(c.which, scale)[(i64)column * FIELD(*l, c.which, scale[0])]);
#ifdef HAS_BIAS
        sum += OF(c.which, bias)[(i64)column * FIELD(*l, c.which, bias)];
#endif
        OF(c.which, out)[(i64)row * FIELD(*l, c.which, out[0]) + (i64)column * FIELD(*l, c.which, out[1])] = pack_put(OUT, activate(sum));
    }
}

#ifdef THREE
#    define EACH_OF(p) p##0, p##1, p##2
#else
#    define EACH_OF(p) p##0
#endif
#ifdef HAS_ZERO
#    define TILE_ROWS(tile) rows_of(EACH_OF(weight), EACH_OF(scale), EACH_OF(zero), &l, &w, tile)
#else
#    define TILE_ROWS(tile) rows_of(EACH_OF(weight), EACH_OF(scale), &l, &w, tile)
#endif
#ifdef HAS_BIAS
#    define STORE(tile, at, sum) store(EACH_OF(scale), EACH_OF(bias), EACH_OF(out), &l, tile, at, sum)
#else
#    define STORE(tile, at, sum) store(EACH_OF(scale), EACH_OF(out), &l, tile, at, sum)
#endif

// Adds the sums of a batch at `from`, whose first tile of the block is `begin`: at most one for a thread. Another part of the
// threads does it for each batch.
#define ADD_BATCH(from, begin, count)                                                                                          \
    {                                                                                                                          \
        u32 k = (thread_x() + (begin) * SUMS) % (32 * WARPS), its = (begin) + k / SUMS;                                        \
        if (k < (count) * SUMS) {                                                                                              \
            const f32 *parts = (from) + (k / SUMS * (WARPS * SUMS) + k % SUMS);                                                \
            f32 all = parts[0];                                                                                                \
            _Pragma("unroll") for (u32 p = 1; p < WARPS; p++) all += parts[p * SUMS];                                          \
            if (SPLITS > 1)                                                                                                    \
                results[its * SUMS + k % SUMS] = all;                                                                          \
            else                                                                                                               \
                STORE(w.first + its * w.step, k % SUMS, all);                                                                  \
        }                                                                                                                      \
    }
_Static_assert(BATCH * SUMS <= 32 * WARPS, "a thread adds at most one sum of a batch");

kernel block(32 * (WARPS + PRODUCERS)) cluster(SPLITS) min_blocks(1) void linear_registers(const X *restrict x, POINTERS(const weight_t, weight),
                                          POINTERS(const SCALE, scale) ZEROS BIASES, POINTERS(OUT, out), struct linear l)
{
    shared mbarrier full[STAGES], empty[STAGES], done, arrived; // done: batches that all warps have written
    u32 split = SPLITS > 1 ? cluster_rank() : 0;
    work w = work_of(&l, split);
    u32 factor_bytes = ROWS * (w.scales + w.zeros); // of a stage
    u8 *factors_at = smem + FACTORS_AT;
    f32 *results = (f32 *)(void *)(factors_at + (u64)STAGES * factor_bytes); // [tile][SUMS]
    bool is_producer = warp() >= WARPS;
    kernel_launch_next();
    if (is_producer) { // the first weights are on their way while the kernel before ends: a prefetch sees what that writes
        rows at = TILE_ROWS(w.first);
        u32 bytes = min(bytes_from(&l, &w, 0), (u32)(STAGES * ROW_BYTES));
        if (elect_one() && bytes > 0)
            for (u32 r = 0; r < at.count; r++)
                bulk_prefetch(at.weight + r * at.step, bytes);
    }
    if (thread_x() == 0) {
#pragma unroll
        for (u32 s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], (GROUPED ? 33 : 1) * PRODUCERS);
            mbarrier_init(&empty[s], WARPS);
        }
        mbarrier_init(&done, WARPS);
        mbarrier_init(&arrived, 1);
        mbarrier_fence_init();
    }
    barrier();
    if (SPLITS > 1)
        cluster_arrive_relaxed();

    u32 stage = 0, phase = 0;
    if (is_producer) {
        registers_less(PRODUCER_REGISTERS);
        kernel_wait_previous();
        for (u32 tile = 0; tile < w.own; tile++) {
            rows at = TILE_ROWS(w.first + tile * w.step);
            for (u32 turn = 0; turn < TURNS; turn++) {
                mbarrier_wait(&empty[stage], phase ^ 1);
                bring(smem + stage * STAGE_BYTES, factors_at + (u64)stage * factor_bytes, &full[stage], &at, &l, &w, turn);
                stage = stage + 1 == STAGES ? 0 : stage + 1;
                phase ^= stage == 0;
            }
        }
    } else {
        registers_more(REGISTERS);
        u32 own_turns = w.count > warp() ? (w.count - warp() + WARPS - 1) / WARPS : 0;
        held h;
        load_x(&h, x, l.x[0], l.m, (w.begin + warp()) * UNIT, min(l.k, (w.begin + w.count) * UNIT));
        f32 *back = (f32 *)(void *)(smem + X_SUMS_AT) + warp() * X_SUMS, *x_sums = back + TILES_X * 8 + lane() % 4 * 2;
#pragma unroll
        for (u32 t = 0; t < TILES_X; t++) {
            u32 up = power_of(&h, t);
            if (lane() % 4 == 0)
                back[t * 8 + lane() / 4] = f32_from_bits((127 + LEVEL_POWER - up) << 23);
            raise_x(&h, t, up);
        }
        back += lane() % 4 * 2; // of the lane's columns
        x_chains x_all = {{{0.0f}}};
#pragma unroll
        for (u32 turn = 0; turn < TURNS; turn++)
#pragma unroll
            for (u32 s = 0; s < SPANS; s++) {
                add_x(x_all, &h.of[turn], s);
                if (GROUPED || (turn == TURNS - 1 && s == SPANS - 1))
#pragma unroll
                    for (u32 t = 0; t < TILES_X; t++) {
                        f32x2 v = {(x_all[0][t][0] + x_all[1][t][0]) * X_FACTOR, (x_all[0][t][1] + x_all[1][t][1]) * X_FACTOR};
                        if (lane() < 4)
                            *(f32x2 *)(void *)(x_sums + ((GROUPED ? turn * SPANS + s : 0) * TILES_X + t) * 8) = v;
#pragma unroll
                        for (u32 e = 0; e < 8; e++)
                            x_all[e / 4][t][e % 4] = f32_from_bits(IN_ORDER ? bits_f32(e % 2 ? v.y : v.x) & l.k >> 31 : 0);
                    }
            }
        warp_sync();

        const u8 *own = smem + warp() * ROW_UNIT + lane() / 4 * PITCH + lane() % 4 * (WORDS * 4);
        f32 *now = (f32 *)(void *)(smem + PARTS_AT), *before = now; // places of batches
        u32 batch = 0, in_batch = 0, place = 0;
#pragma unroll 1
        for (u32 tile = 0; tile < w.own; tile++) {
            f32 sums[TILES_X][4];
#if defined(HAS_ZERO)
            f32 zero[2] = {0.0f, 0.0f};
            if (!GROUPED) {
                corner c = corner_of(&l, w.first + tile * w.step, ROWS);
#    pragma unroll
                for (u32 r = 0; r < 2; r++) {
                    i64 row = (i64)min(c.column + lane() / 4 + r * 8, FIELD(l, c.which, n) - 1);
                    zero[r] = -((f32)LIFT + (f32)(i32)OF(c.which, zero)[row * FIELD(l, c.which, zero[0])]);
                }
            }
#endif
#pragma unroll
            for (u32 t = 0; t < TILES_X; t++) {
                f32x2 v = {0.0f, 0.0f};
#ifndef HAS_ZERO
                if (!GROUPED)
                    v = *(const f32x2 *)(const void *)(x_sums + t * 8);
#endif
#pragma unroll
                for (u32 e = 0; e < 4; e++)
                    sums[t][e] = e % 2 ? v.y : v.x;
            }
#pragma unroll
            for (u32 turn = 0; turn < TURNS; turn++) {
                mbarrier_wait(&full[stage], phase);
                if (turn < own_turns) {
                    const u8 *unit = own + stage * STAGE_BYTES, *its = factors_at + (u64)stage * factor_bytes;
                    span_words taken[SPANS];
#pragma unroll
                    for (u32 s = 0; s < SPANS; s++)
                        if (AT_ONCE == SPANS) {
                            take_words(&taken[s], unit + s * (16 * WORDS));
                            if (GROUPED)
                                take_factors(&taken[s], s, its, &l, &w);
                        }
                    if (AT_ONCE == SPANS)
                        arrive(&empty[stage]);
#pragma unroll
                    for (u32 s = 0; s < SPANS; s++) {
                        if (AT_ONCE < SPANS) {
                            take_words(&taken[s], unit + s * (16 * WORDS));
                            if (GROUPED)
                                take_factors(&taken[s], s, its, &l, &w);
                        }
                        if (GROUPED)
                            multiply_group(sums, &taken[s], &h.of[turn], s * GRANULES, x_sums + (turn * SPANS + s) * TILES_X * 8);
                        else
                            multiply(sums, &taken[s], &h.of[turn], s * GRANULES);
                    }
                }
                if (AT_ONCE < SPANS || turn >= own_turns)
                    arrive(&empty[stage]);
                stage = stage + 1 == STAGES ? 0 : stage + 1;
                phase ^= stage == 0;
            }
#ifdef HAS_ZERO
            if (!GROUPED)
#    pragma unroll
                for (u32 t = 0; t < TILES_X; t++) {
                    f32x2 v = *(const f32x2 *)(const void *)(x_sums + t * 8);
#    pragma unroll
                    for (u32 e = 0; e < 4; e++)
                        sums[t][e] = fma(zero[e / 2], e % 2 ? v.y : v.x, sums[t][e]);
                }
#endif
            keep_sums(now + in_batch * (WARPS * SUMS), sums, back);
            if (++in_batch == BATCH || tile == w.own - 1) {
                if (batch > 0) {
                    mbarrier_wait(&done, (batch - 1) & 1);
                    ADD_BATCH(before, (batch - 1) * BATCH, BATCH)
                }
                arrive(&done);
                batch++;
                in_batch = 0;
                place = place + 1 == PLACES ? 0 : place + 1;
                before = now;
                now = (f32 *)(void *)(smem + PARTS_AT) + place * BATCH_SUMS;
            }
        }
        mbarrier_wait(&done, (batch - 1) & 1);
        ADD_BATCH(before, (batch - 1) * BATCH, w.own - (batch - 1) * BATCH)
    }
    if (SPLITS > 1) {
        u32 all = w.own * SUMS, share = (all / 4 + SPLITS - 1) / SPLITS * 4, own = min(share, all - min(split * share, all));
        f32 *inbox = results + all; // [block][share]
        if (!is_producer)
            fence_async();
        barrier();
        cluster_wait();
        if (thread_x() == 0) {
            mbarrier_arrive_expect(&arrived, (SPLITS - 1) * own * 4);
#pragma unroll
            for (u32 r = 0; r < SPLITS; r++) {
                u32 its = min(share, all - min(r * share, all));
                if (r != split && its > 0)
                    bulk_send(inbox + (u64)split * share, results + (u64)r * share, its * 4, &arrived, r);
            }
        }
        if (!is_producer) {
            mbarrier_wait(&arrived, 0);
            for (u32 i = thread_x(); i < own; i += 32 * WARPS) {
                f32 sum = 0.0f;
#pragma unroll
                for (u32 s = 0; s < SPLITS; s++)
                    sum += s == split ? results[(u64)split * share + i] : inbox[(u64)s * share + i];
                u32 at = split * share + i;
                STORE(w.first + at / SUMS * w.step, at % SUMS, sum);
            }
        }
        cluster_arrive_relaxed(); // shared memory lives until all have read it
        cluster_wait();
    }
}
