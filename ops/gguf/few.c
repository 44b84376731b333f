// out[m, n] = x[m, :] * weights[n, :] for at most eight rows of x of f16 or bf16, bound by reading the weights: sm_80 and
// later. The weights are the rows of mma, x its columns; levels, which are small integers, are exact in x's type, and
// scales are applied to sums in f32.
//
// A warp has 16 rows of weights and reads 256 elements of each at a time through a ring of shared memory of its own, as
// bytes, 16 at a time: blocks need not begin at such addresses. From there four lanes share what has one scale: a step of
// mma has four neighbours of a lane. WARPS_N warps have different rows, the others parts of K, whose sums are added in
// order. x lies in shared memory as the lanes need it: granules of twice four neighbours, 0 2 1 3, [set][granule][row][lane
// of four]; a set is what four lanes take at a time.
//
// The weights begin at a multiple of 16 bytes, rows at even addresses; x is packed.
#include <kiln/overlap.h>

#include "sizes.h"

tune(XR, 1, 2, 4, 8); // rows of x in shared memory; lanes that have none of their own repeat them
tune(WARPS_N, 2, 1, 4, 8);
tune(WHOLE, 1, 0); // each 256 elements of a row begin at a multiple of 16 bytes
KERNEL_OVERLAPS
#include "sets.h"

enum {
    WARPS = 8,
    WARPS_K = WARPS / WARPS_N,
    STAGE_SIZE = STAGE / SIZE * BYTES, // bytes of a row
    COPIES = WHOLE ? STAGE_SIZE / 16 : (STAGE_SIZE + 14 + 15) / 16,
    ROW_BYTES = (COPIES | 1) * 16, // an odd number of granules: rows lie on different banks
    STAGE_BYTES = 16 * ROW_BYTES,
    STAGES = 2 * WARPS * 3 * STAGE_BYTES <= 144 * 1024 ? 3 : 2,
    RING_BYTES = STAGES * STAGE_BYTES,
    SHARED_BYTES = WARPS * RING_BYTES, // behind it: x
    COLUMNS = 16 * WARPS_N
};

_Alignas(128) shared u8 smem[];

// --- memory to shared memory
// The block's x: stages of 256 elements from `first` on. What is behind the last row or element is zeros.
static inline void keep_x(u8 *to, const T *x, i64 row_step, u32 m, u64 first, u32 count, u64 depth)
{
    enum { AT_ONCE = XR > 4 ? 1 : 4 / XR, APART_AT = 32 * WARPS }; // loads are under way together
    u32 end = count * (SETS * GRANULES * 4);
    for (u32 begin = thread_x(); begin < end; begin += AT_ONCE * APART_AT) {
        u32x2 fours[AT_ONCE][XR][2];
        EACH(i, AT_ONCE) {
            u32 at = begin + i * APART_AT, q = at % 4, g = at / 4 % GRANULES, s = at / (4 * GRANULES) % SETS;
            u32x2 from = fours_of(s, g, q);
            u64 base = (first + at / (4 * GRANULES * SETS)) * STAGE;
            EACH(r, XR) {
                const T *row = x + (i64)r * row_step;
                EACH(half, 2) {
                    u64 element = base + (half ? from.y : from.x);
                    fours[i][r][half] = (u32x2){0, 0};
                    if (at < end && r < m && element < depth)
                        fours[i][r][half] = *(const u32x2 *)(const void *)(row + element);
                }
            }
        }
        EACH(i, AT_ONCE) {
            u32 at = begin + i * APART_AT;
            EACH(r, XR) {
                u32x2 a = fours[i][r][0], b = fours[i][r][1];
                u32x4 all = {permute_bytes(a.x, a.y, 0x5410u), permute_bytes(a.x, a.y, 0x7632u),
                             permute_bytes(b.x, b.y, 0x5410u), permute_bytes(b.x, b.y, 0x7632u)};
                if (at < end)
                    *(u32x4 *)(void *)(to + (at / 4 * XR + r) * 64 + at % 4 * 16) = all;
            }
        }
    }
}

// What a lane copies of a stage: granules of rows, always the same ones. Bytes are counted from multiples of 16 on.
enum { EACH_COPY = (16 * COPIES + 31) / 32 };
typedef struct source {
    const u8 *row[EACH_COPY]; // the multiple of 16 at which, or behind which, the row begins
    u32 first[EACH_COPY];     // its first byte from there
    u32 bytes;                // of a row
} source;

static inline source source_of(const u8 *w, i64 w_row, u64 top, u64 rows, u32 bytes)
{
    source from;
    from.bytes = bytes;
    EACH(i, EACH_COPY) {
        u64 start = min(top + (i * 32 + lane()) / COPIES, rows - 1) * (u64)w_row;
        from.first[i] = WHOLE ? 0 : (u32)start & 15;
        from.row[i] = w + (start - from.first[i]);
    }
    return from;
}

// 256 elements of the warp's rows. Behind a row's end there are zeros.
static inline void copy_stage(u8 *to, const source *from, u32 stage)
{
    EACH(i, EACH_COPY) {
        u32 at = i * 32 + lane(), row = at / COPIES, granule = at % COPIES;
        if (16 * COPIES % 32 == 0 || at < 16 * COPIES) {
            u32 begin = ((from->first[i] + stage * STAGE_SIZE) & ~15u) + granule * 16, end = from->first[i] + from->bytes;
            u32 left = begin < end ? min(end - begin, 16u) : 0;
            async_copy_16_part(to + row * ROW_BYTES + granule * 16, from->row[i] + (left ? begin : 0), left);
        }
    }
}

// --- products
// sums += two rows of a set times x, whose granules of that set begin at `x` for this lane.
static inline void add_set(f32 *sums, const set *a, const set *b, const u8 *x)
{
    EACH(g, GROUPS) {
        f32 part[4] = {0.0f, 0.0f, 0.0f, 0.0f}, ones[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        u32 all[4] = {ONES, ONES, ONES, ONES};
        EACH(i, GROUP_STEPS) {
            u32 step = g * GROUP_STEPS + i;
            u32x2 v = *(const u32x2 *)(const void *)(x + step / 2 * (XR * 64) + step % 2 * 8);
            u32 left[4] = {a->pairs[step][0], b->pairs[step][0], a->pairs[step][1], b->pairs[step][1]}, right[2] = {v.x, v.y};
            MULTIPLY(part, left, right);
            if (HAS_OFFSET)
                MULTIPLY(ones, all, right);
        }
        EACH(e, 4) {
            sums[e] = fma(e < 2 ? a->scale[g] : b->scale[g], part[e], sums[e]);
            if (HAS_OFFSET)
                sums[e] = fma(e < 2 ? a->offset[g] : b->offset[g], ones[e], sums[e]);
        }
    }
}

kernel block(32 * WARPS) min_blocks(2) void gguf_few(const T *restrict x, const u8 *restrict w, OUT *restrict out,
#ifdef BIAS
                                       const BIAS *restrict bias,
#endif
                                       struct sizes s)
{
    shared f32 parts[WARPS_K][COLUMNS][XR];
    kernel_begin();
    u32 tile = warp() % WARPS_N, turn = warp() / WARPS_N;
    u64 top = (u64)block_x() * COLUMNS, depth = s.units * UNIT;
    u32 stages = (u32)((depth + STAGE - 1) / STAGE);
    source from = source_of(w, s.w_row, top + tile * 16, s.n, (u32)(depth / SIZE) * BYTES);
    u8 *ring = smem + warp() * RING_BYTES;
    EACH(i, STAGES - 1) {
        if (turn + i * WARPS_K < stages)
            copy_stage(ring + i * STAGE_BYTES, &from, turn + i * WARPS_K);
        async_commit();
    }
    keep_x(smem + SHARED_BYTES, x, s.x_row, (u32)s.m, 0, stages, depth);
    barrier();

    f32 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 row = lane() / 4, q = lane() % 4, now = 0, ahead = STAGES - 1, lift = LIFTED | (u32)(s.m >> 31); // of which m has no bit
    u32 skip[2]; // bytes before the lane's two rows
    EACH(i, 2)
        skip[i] = WHOLE ? 0 : (u32)(min(top + tile * 16 + row + i * 8, s.n - 1) * (u64)s.w_row) & 15;
    const u8 *own = smem + SHARED_BYTES + row % XR * 64 + q * 16;
#pragma unroll 1
    for (u32 stage = turn; stage < stages; stage += WARPS_K) {
        async_wait(STAGES - 2);
        warp_sync();
        const u8 *at = ring + now * STAGE_BYTES + row * ROW_BYTES;
        const u8 *first = at + (WHOLE ? 0 : (skip[0] + stage * STAGE_SIZE) & 15);
        const u8 *second = at + 8 * ROW_BYTES + (WHOLE ? 0 : (skip[1] + stage * STAGE_SIZE) & 15);
        EACH(n, SETS) {
            set a = set_of(first, n, q, lift), b = set_of(second, n, q, lift);
            add_set(sums, &a, &b, own + (stage * SETS + n) * (GRANULES * XR * 64));
        }
        warp_sync(); // the stage before is free
        if (stage + (STAGES - 1) * WARPS_K < stages)
            copy_stage(ring + ahead * STAGE_BYTES, &from, stage + (STAGES - 1) * WARPS_K);
        async_commit();
        now = now + 1 == STAGES ? 0 : now + 1;
        ahead = ahead + 1 == STAGES ? 0 : ahead + 1;
    }

    EACH(e, 4) {
        u32 column = q * 2 + e % 2; // a row of x
        if (column < XR)
            parts[turn][tile * 16 + row + e / 2 * 8][column] = sums[e];
    }
    barrier();
    for (u32 at = thread_x(); at < COLUMNS * XR; at += 32 * WARPS) {
        u32 n = at % COLUMNS, m = at / COLUMNS;
        f32 all = parts[0][n][m];
        EACH(i, WARPS_K - 1)
            all += parts[i + 1][n][m];
        if (m < s.m && top + n < s.n) {
#ifdef BIAS
            all += pack_get(BIAS, bias[(i64)(top + n) * s.bias_step]);
#endif
            out[(i64)m * s.out_row + (i64)(top + n) * s.out_step] = pack_put(OUT, all);
        }
    }
}
