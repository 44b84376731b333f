// out[m, n] = x[m, :] * weights[n, :] for at most eight rows of x of f16 or bf16, at the speed at which memory gives the
// weights: sm_80 and later. Blocks stay: one for each multiprocessor, or clusters of SPLITS of them, which have parts of
// K (sm_90).
//
// A tile is 16 rows of weights, the rows of mma; x is its columns. One warp, which asks the copy engine (BULK, sm_90), or some,
// the producers, bring all rows of one tile after the other into a ring of stages. Each of the other warps has ELEMENTS of each
// row, a unit.
// Levels, which are small integers, are exact in x's type; scales are applied to sums in f32, and offsets to sums of x
// that each warp makes once. So is what the levels are too large by (RAW_LEVELS in sets.h). The sums of the warps are added in order when a tile ends, while the ring holds what comes next.
//
// Rows of weights start at multiples of 16 bytes and have a multiple of 16; K is a multiple of 128; x is packed.
#include <kiln/overlap.h>

#include "sizes.h"

tune(XR, 1, 2, 4, 8); // rows of x in shared memory; lanes that have none of their own repeat them
tune(SPLITS, 1, 2, 4, 8);
tune(STAGES, 4, 2, 3);
tune(ELEMENTS, 128, 256); // of a unit
tune(BULK, 0, 1);
KERNEL_OVERLAPS
#define RAW_LEVELS
#include "sets.h"

enum {
    WARPS = 16,               // without the producers
    PRODUCERS = BULK ? 1 : 4, // warps
    ROWS = 16,     // of a tile
    EACH_ROWS = ROWS / PRODUCERS,
    UNIT_SETS = SETS * ELEMENTS / 256,
    HALVES = SIZE == 32 || ELEMENTS == 256 ? 1 : 2, // of a block
    UNIT_GROUPS = UNIT_SETS * GROUPS,
    TURN = WARPS * ELEMENTS,
    TURN_BYTES = TURN / SIZE * BYTES,
    PITCH = (TURN_BYTES / 16 | 1) * 16, // an odd number of granules: rows lie on different banks
    STAGE_BYTES = ROWS * PITCH,
    X_BYTES = ELEMENTS * XR * 2,                           // of a unit
    HAS_SUMS = HAS_OFFSET || OVER > 0,
    GROUP_BYTES = HAS_SUMS ? UNIT_GROUPS * XR * 4 : 0, // of a unit: sums of x
    SUMS = ROWS * XR, // of a tile
    PARTS_AT = STAGES * STAGE_BYTES,
    BATCH = XR <= 2 ? 8 : 16 / XR, // tiles whose sums are added at a time
    SHARED_BYTES = PARTS_AT + 2 * BATCH * WARPS * SUMS * 4 // behind it: x, sums of x, then sums of all tiles where there are SPLITS
};

_Alignas(128) shared u8 smem[];

typedef struct work { // of a block
    u32 first, step, own;              // its first tile, from there to the next, and how many it has
    u32 begin, count, turns, most;     // its units of K; turns of all warps; units of the largest part
} work;

static inline work work_of(const struct sizes *s, u32 split)
{
    work w;
    u32 tiles = (u32)((s->n + ROWS - 1) / ROWS), units = (u32)(s->units * UNIT / ELEMENTS);
    w.first = block_x() / SPLITS;
    w.step = grid_dim_x() / SPLITS;
    w.own = (tiles - w.first - 1) / w.step + 1; // no block has none
    w.turns = ((units + WARPS - 1) / WARPS + SPLITS - 1) / SPLITS;
    w.most = w.turns * WARPS;
    w.begin = min(split * w.most, units);
    w.count = min(w.most, units - w.begin);
    return w;
}

enum { KEPT = BULK ? 1 : EACH_ROWS };

typedef struct rows { // of a tile and a producer, in memory: from the block's part of K on; BULK: the first one
    const u8 *at[KEPT];
} rows;

static inline rows rows_of(const u8 *weight, const struct sizes *s, const work *w, u32 tile)
{
    rows of;
    EACH(r, KEPT) {
        u64 row = min((u64)tile * ROWS + (warp() - WARPS) + r * PRODUCERS, s->n - 1);
        of.at[r] = weight + (row * (u64)s->w_row + (u64)(w->begin / WARPS) * TURN_BYTES);
    }
    return of;
}

// A producer's rows of a turn, `bytes` of each from byte `at` on, to a stage.
static inline void copy_turn(u8 *to, const rows *of, u32 at, u32 bytes)
{
    EACH(r, KEPT) {
        const u8 *from = of->at[r] + (u64)at;
        u8 *place = to + (warp() - WARPS + r * PRODUCERS) * PITCH;
        EACH(i, (TURN_BYTES + 511) / 512)
            if (i * 512 + lane() * 16 < bytes)
                async_copy_16(place + i * 512 + lane() * 16, from + i * 512 + lane() * 16);
    }
}

// The same by the copy engine, which one lane asks; `full` counts the bytes. Places of rows behind the last keep what they had: that
// makes no result.
static inline void bulk_turn(u8 *to, mbarrier *full, const rows *of, const struct sizes *s, u32 tile, u32 at, u32 bytes)
{
    u32 count = (u32)min((u64)ROWS, s->n - (u64)tile * ROWS);
    if (!elect_one())
        return;
    mbarrier_arrive_expect(full, count * bytes);
    const u8 *from = of->at[0] + (u64)at;
    if (bytes > 0)
#pragma unroll 4
        for (u32 r = 0; r < count; r++) {
            bulk_load(to, from, bytes, full);
            to += PITCH;
            from += (u64)s->w_row;
        }
}

// x of units `first`, `first` + WARPS … of the block, by one warp; what is behind the last row is zeros. The loads of several
// units are under way together.
enum { X_ROW = ELEMENTS / 8, X_ITEMS = X_ROW * XR, X_EACH = (X_ITEMS + 31) / 32, X_UNITS = X_EACH > 4 ? 1 : X_EACH > 2 ? 2 : 4 };

static inline void keep_x(u8 *to, const T *x, i64 row_step, u32 m, u32 begin, u32 first, u32 count)
{
    u32x2 fours[X_UNITS][X_EACH][2];
    EACH(n, X_UNITS) {
        u32 number = first + n * WARPS, unit = begin + number;
        EACH(i, X_EACH) {
            u32 at = i * 32 + lane(), r = at / X_ROW, q = at % 4, g = at / 4 % GRANULES, s = at % X_ROW / (4 * GRANULES);
            u32x2 from = HALVES == 1 ? fours_of(s, g, q) : fours_of(unit % 2 * UNIT_SETS + s, g, q);
            u64 base = HALVES == 1 ? (u64)unit * ELEMENTS : (u64)(unit / 2) * STAGE;
            EACH(half, 2) {
                fours[n][i][half] = (u32x2){0, 0};
                if (number < count && at < X_ITEMS && r < m)
                    fours[n][i][half] =
                        *(const u32x2 *)(const void *)(x + ((i64)r * row_step + (i64)(base + (half ? from.y : from.x))));
            }
        }
    }
    EACH(n, X_UNITS) {
        u32 number = first + n * WARPS;
        EACH(i, X_EACH) {
            u32 at = i * 32 + lane(), r = at / X_ROW, in_row = at % X_ROW;
            u32x2 a = fours[n][i][0], b = fours[n][i][1];
            u32x4 all = {permute_bytes(a.x, a.y, 0x5410u), permute_bytes(a.x, a.y, 0x7632u), permute_bytes(b.x, b.y, 0x5410u),
                         permute_bytes(b.x, b.y, 0x7632u)};
            if (number < count && at < X_ITEMS)
                *(u32x4 *)(void *)(to + number * X_BYTES + (in_row / 4 * XR + r) * 64 + in_row % 4 * 16) = all;
        }
    }
}

static inline f32 number_of(u16 bits)
{
#ifdef IN_bf16
    return f32(bf16_from_bits(bits));
#else
    return f32(f16_from_bits(bits));
#endif
}

// The sums of x of a unit's groups, [group][row], by the warp that keeps it; without offsets as they are added to the products.
static inline void keep_group_sums(f32 *to, const u8 *x)
{
    enum { ITEMS = UNIT_GROUPS * XR };
    EACH(i, (ITEMS + 31) / 32) {
        u32 at = i * 32 + lane(), r = at % XR, group = at / XR;
        if (at < ITEMS) {
            f32 sum = 0.0f;
            u32 granule = group * GROUP_STEPS / 2, half = GROUP_STEPS == 1 ? group % 2 : 0;
            EACH(q, 4)
                EACH(word, GROUP_STEPS * 2) {
                    u32 v = *(const u32 *)(const void *)(x + (granule * XR + r) * 64 + q * 16 + (half * 2 + word) * 4);
                    sum += number_of((u16)v);
                    sum += number_of((u16)(v >> 16));
                }
            to[at] = HAS_OFFSET ? sum : sum * (-(f32)OVER / SHRUNK);
        }
    }
}

// sums += two rows of a set times x, whose granules of that set begin at `x` for this lane; x_sums: of its two columns.
static inline void add_set(f32 *sums, const set *a, const set *b, const u8 *x, const f32 *x_sums)
{
    EACH(g, GROUPS) {
        f32 column[2] = {0.0f, 0.0f};
        if (HAS_SUMS) {
            column[0] = x_sums[g * XR + lane() % 4 * 2 % XR];
            column[1] = x_sums[g * XR + (lane() % 4 * 2 + 1) % XR];
        }
        f32 part[4] = {0.0f, 0.0f, 0.0f, 0.0f}, upper[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        EACH(i, GROUP_STEPS) {
            u32 step = g * GROUP_STEPS + i;
            u32x2 v = *(const u32x2 *)(const void *)(x + step / 2 * (XR * 64) + step % 2 * 8);
            u32 left[4] = {a->pairs[step][0], b->pairs[step][0], a->pairs[step][1], b->pairs[step][1]}, right[2] = {v.x, v.y};
            if (IS_SPLIT && i == 1)
                MULTIPLY(upper, left, right);
            else
                MULTIPLY(part, left, right);
        }
        EACH(e, 4)
            if (XR > 1 || e % 2 == 0) { // one row of x is column 0
                f32 scale = e < 2 ? a->scale[g] : b->scale[g], offset = e < 2 ? a->offset[g] : b->offset[g];
                f32 all = part[e];
                if (IS_SPLIT)
                    all = fma(upper[e], UPPER, all);
                if (HAS_SUMS && !HAS_OFFSET)
                    all = is_upper(g) ? fma(column[e % 2], 1.0f / UPPER, all) : all + column[e % 2];
                sums[e] = fma(scale, all, sums[e]);
                if (HAS_OFFSET)
                    sums[e] = fma(OVER > 0 ? fma(scale, -(f32)OVER, offset) : offset, column[e % 2], sums[e]);
            }
    }
}

static inline void store(OUT *out,
#ifdef BIAS
                         const BIAS *bias,
#endif
                         const struct sizes *s, u32 tile, u32 at, f32 sum)
{
    u64 n = (u64)tile * ROWS + at / XR, m = at % XR;
    if (m < s->m && n < s->n) {
#ifdef BIAS
        sum += pack_get(BIAS, bias[(i64)n * s->bias_step]);
#endif
        out[(i64)m * s->out_row + (i64)n * s->out_step] = pack_put(OUT, sum);
    }
}

#ifdef BIAS
#    define STORE(tile, at, sum) store(out, bias, &s, tile, at, sum)
#else
#    define STORE(tile, at, sum) store(out, &s, tile, at, sum)
#endif

kernel block(32 * (WARPS + PRODUCERS)) cluster(SPLITS) min_blocks(1) void gguf_stream(const T *restrict x, const u8 *restrict w, OUT *restrict out,
#ifdef BIAS
                                       const BIAS *restrict bias,
#endif
                                       struct sizes s)
{
    shared mbarrier full[STAGES], empty[STAGES];
    u32 split = SPLITS > 1 ? cluster_rank() : 0;
    work job = work_of(&s, split);
    u8 *x_at = smem + SHARED_BYTES;
    f32 *x_sums = (f32 *)(void *)(x_at + job.most * X_BYTES);
    f32 *results = (f32 *)(void *)(x_at + job.most * (X_BYTES + GROUP_BYTES)); // [tile][SUMS]
    u32 row_bytes = job.count * ELEMENTS / SIZE * BYTES;
    bool is_producer = warp() >= WARPS;
    kernel_launch_next();
    if (is_producer) { // the first weights are on their way while the kernel before ends: a prefetch sees what that writes
        rows of = rows_of(w, &s, &job, job.first);
        u32 bytes = min(row_bytes, (u32)(STAGES * TURN_BYTES));
        if (BULK) {
            const u8 *from = of.at[0];
            u32 count = (u32)min((u64)ROWS, s.n - (u64)job.first * ROWS);
            if (elect_one() && bytes > 0)
#pragma unroll 4
                for (u32 r = 0; r < count; r++) {
                    bulk_prefetch(from, bytes);
                    from += (u64)s.w_row;
                }
        } else {
            EACH(r, KEPT)
                for (u32 at = lane() * 128; at < bytes; at += 32 * 128)
                    prefetch(of.at[r] + at);
        }
    }
    if (thread_x() == 0) {
        EACH(i, STAGES) {
            mbarrier_init(&full[i], BULK ? 1 : 32 * PRODUCERS);
            mbarrier_init(&empty[i], WARPS);
        }
        if (BULK)
            mbarrier_fence_init();
    }
    barrier();
    kernel_wait_previous();

    u32 stage = 0, phase = 0;
    if (is_producer) {
        for (u32 tile = 0; tile < job.own; tile++) {
            rows of = rows_of(w, &s, &job, job.first + tile * job.step);
            for (u32 turn = 0; turn < job.turns; turn++) {
                u32 at = turn * TURN_BYTES, bytes = at < row_bytes ? min(row_bytes - at, (u32)TURN_BYTES) : 0;
                mbarrier_wait(&empty[stage], phase ^ 1);
                if (BULK) {
                    bulk_turn(smem + stage * STAGE_BYTES, &full[stage], &of, &s, job.first + tile * job.step, at, bytes);
                } else {
                    copy_turn(smem + stage * STAGE_BYTES, &of, at, bytes);
                    async_arrive(&full[stage]);
                }
                stage = stage + 1 == STAGES ? 0 : stage + 1;
                phase ^= stage == 0;
            }
        }
    } else {
        #ifdef IN_bf16
        u32 lift = LIFTED | (u32)(s.m >> 31); // of which m has no bit
#else
        u32 lift = 0;
#endif
        u32 row = lane() / 4, q = lane() % 4;
        for (u32 first = warp(); first < job.count; first += WARPS * X_UNITS)
            keep_x(x_at, x, s.x_row, (u32)s.m, job.begin, first, job.count);
        warp_sync();
        for (u32 number = warp(); HAS_SUMS && number < job.count; number += WARPS)
            keep_group_sums(x_sums + number * (UNIT_GROUPS * XR), x_at + number * X_BYTES);
        warp_sync();

        f32 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const u8 *own = smem + row * PITCH + (SIZE == 32 || HALVES == 1 ? warp() * (ELEMENTS / SIZE * BYTES) : warp() / 2 * BYTES);
        const u8 *own_x = x_at + row % XR * 64 + q * 16;
        for (u32 tile = 0; tile < job.own; tile++) {
#pragma unroll 1
            for (u32 number = warp(); number < job.most; number += WARPS) {
                mbarrier_wait(&full[stage], phase);
                if (number < job.count) {
                    const u8 *at = own + stage * STAGE_BYTES;
                    EACH(half, HALVES) {
                        if (HALVES == 1 || warp() % 2 == half) // which sets they are is a constant then
                            EACH(n, UNIT_SETS) {
                                set a = set_of(at, half * UNIT_SETS + n, q, lift), b = set_of(at + 8 * PITCH, half * UNIT_SETS + n, q, lift);
                                add_set(sums, &a, &b, own_x + (number * UNIT_SETS + n) * (GRANULES * XR * 64),
                                        x_sums + (number * UNIT_SETS + n) * (GROUPS * XR));
                            }
                    }
                }
                warp_sync();
                if (lane() == 0)
                    mbarrier_arrive(&empty[stage]);
                stage = stage + 1 == STAGES ? 0 : stage + 1;
                phase ^= stage == 0;
            }
            // Two places for the sums of a batch: one barrier suffices. A lane has columns q * 2 and the next of x, of two rows
            // of weights.
            u32 in_batch = tile % BATCH;
            f32 *parts = (f32 *)(void *)(smem + PARTS_AT) + tile / BATCH % 2 * (BATCH * WARPS * SUMS);
            EACH(e, 4) {
                u32 column = q * 2 + e % 2;
                if (column < XR)
                    parts[(in_batch * WARPS + warp()) * SUMS + (row + e / 2 * 8) * XR + column] = sums[e];
                sums[e] = 0.0f;
            }
            if (in_batch == BATCH - 1 || tile == job.own - 1) {
                barrier_sync(1, 32 * WARPS);
                for (u32 k = thread_x(); k < (in_batch + 1) * SUMS; k += 32 * WARPS) {
                    u32 its = tile - in_batch + k / SUMS, sum_at = k % SUMS;
                    const f32 *from = parts + k / SUMS * (WARPS * SUMS) + sum_at;
                    f32 all = from[0];
                    EACH(p, WARPS - 1)
                        all += from[(p + 1) * SUMS];
                    all *= RAISED;
                    if (SPLITS > 1)
                        results[its * SUMS + sum_at] = all;
                    else
                        STORE(job.first + its * job.step, sum_at, all);
                }
            }
        }
    }
    if (SPLITS > 1) {
        cluster_arrive();
        cluster_wait();
        for (u32 i = split * (32 * WARPS) + thread_x(); i < job.own * SUMS && !is_producer; i += SPLITS * 32 * WARPS) {
            f32 all = 0.0f;
            EACH(p, SPLITS)
                all += *cluster_at(&results[i], p);
            STORE(job.first + i / SUMS * job.step, i % SUMS, all);
        }
        cluster_arrive_relaxed(); // shared memory lives until all have read it
        cluster_wait();
    }
}
