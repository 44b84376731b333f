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

#include "blocks.h"
#include "sizes.h"

tune(XR, 1, 2, 4, 8); // rows of x in shared memory; lanes that have none of their own repeat them
tune(WARPS_N, 2, 1, 4, 8);
tune(WHOLE, 1, 0); // each 256 elements of a row begin at a multiple of 16 bytes
KERNEL_OVERLAPS
#ifndef T
#    define T   f16
#    define OUT f16
#endif
#ifdef IN_bf16
#    define MULTIPLY mma_bf16
#    define LIFTED   0x43004300u // 128 + a level below 128, twice
#    define ONES     0x3f803f80u
#else
#    define MULTIPLY mma_f16
#    define LIFTED   0x64006400u // 1024 + a level
#    define ONES     0x3c003c00u
#endif
#if BLOCK < 10
#    define IS_SMALL // blocks of 32 elements
#endif
#if BLOCK == 10 || BLOCK == 11 || BLOCK == 14
enum { GROUP_STEPS = 1 }; // of mma with one scale: groups of 16
#else
enum { GROUP_STEPS = 2 };
#endif
#if BLOCK == 2
enum { MIDDLE = 8 }; // the level that counts 0
#elif BLOCK == 6
enum { MIDDLE = 16 };
#elif BLOCK == 8
enum { MIDDLE = 128 };
#elif BLOCK == 11
enum { MIDDLE = 4 };
#elif BLOCK == 14
enum { MIDDLE = 32 };
#else
enum { MIDDLE = 0 };
#endif

enum {
    WARPS = 8,
    WARPS_K = WARPS / WARPS_N,
    STAGE = 256, // elements of a row
    SETS = SIZE == 32 ? 8 : 4,
    STEPS = SIZE == 32 ? 2 : 4, // of a set
    GRANULES = STEPS / 2,
    GROUPS = STEPS / GROUP_STEPS,
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

// --- levels to pairs
static inline u32 low_nibbles(u32 word)
{
    return word & 0x0f0f0f0fu;
}

static inline u32 high_nibbles(u32 word)
{
    return word >> 4 & 0x0f0f0f0fu;
}

// Four levels as two pairs of x's type: 0 and 2, 1 and 3. What is MIDDLE becomes 0.
static inline void put_levels(u32 *pairs, u32 levels, u32 lift)
{
    EACH(i, 2) {
        u32 bits = (levels >> i * 8 & 0x00ff00ffu) | lift;
#ifdef IN_bf16
        if (MIDDLE < 128) {
            bf16x2 v = sub2((bf16x2){bf16_from_bits((u16)bits), bf16_from_bits((u16)(bits >> 16))},
                            to_bf16x2(128.0f + MIDDLE, 128.0f + MIDDLE));
            pairs[i] = bits_bf16(v.x) | (u32)bits_bf16(v.y) << 16;
        } else { // bytes have one bit more
            f32 base = 8388608.0f + MIDDLE;
            pairs[i] = pack_bf16(f32_from_bits(permute_bytes(levels, 0x4b000000u, 0x7440u | i)) - base,
                                 f32_from_bits(permute_bytes(levels, 0x4b000000u, 0x7442u | i)) - base);
        }
#else
        f16x2 v = sub2((f16x2){f16_from_bits((u16)bits), f16_from_bits((u16)(bits >> 16))},
                       to_f16x2(1024.0f + MIDDLE, 1024.0f + MIDDLE));
        pairs[i] = bits_f16(v.x) | (u32)bits_f16(v.y) << 16;
#endif
    }
}

// The nibbles of four bytes, lower ones and upper ones: two pairs of each, as put_levels has them.
static inline void put_nibbles(u32 *low, u32 *high, u32 word, u32 lift)
{
#ifdef IN_bf16
    put_levels(low, low_nibbles(word), lift);
    put_levels(high, high_nibbles(word), lift);
#else
    EACH(i, 2) { // an upper nibble counts 16 times as much
        u32 under = (word >> i * 8 & 0x000f000fu) | lift, over = (word >> i * 8 & 0x00f000f0u) | lift;
        f16x2 a = sub2((f16x2){f16_from_bits((u16)under), f16_from_bits((u16)(under >> 16))},
                       to_f16x2(1024.0f + MIDDLE, 1024.0f + MIDDLE));
        f16x2 b = fma2((f16x2){f16_from_bits((u16)over), f16_from_bits((u16)(over >> 16))}, to_f16x2(0.0625f, 0.0625f),
                       to_f16x2(-64.0f - MIDDLE, -64.0f - MIDDLE));
        low[i] = bits_f16(a.x) | (u32)bits_f16(a.y) << 16;
        high[i] = bits_f16(b.x) | (u32)bits_f16(b.y) << 16;
    }
#endif
}

typedef struct set { // a lane's part of a row, decoded
    u32 pairs[STEPS][2];
    f32 scale[GROUPS], offset[GROUPS];
} set;

// Set s of the 256 elements at b, for lane q of four.
static inline set set_of(const u8 *b, u32 s, u32 q, u32 lift)
{
    set to;
#ifdef IS_SMALL
    const u8 *own = b + s * BYTES;
    u32 word[2] = {0, 0};
    to.scale[0] = half_of(short_at(own, 0));
    to.offset[0] = HAS_OFFSET ? half_of(short_at(own, 2)) : 0.0f;
#    if BLOCK == 8
    words_at(word, own, 2 + q * 8, 2);
    put_levels(to.pairs[0], word[0] ^ 0x80808080u, lift);
    put_levels(to.pairs[1], word[1] ^ 0x80808080u, lift);
#    else
    words_at(word, own, HEAD + (FIVE ? 4 : 0) + q * 4, 1);
    if (FIVE) { // element e has bit e
        put_levels(to.pairs[0], low_nibbles(word[0]) | spread(own[HEAD + q / 2] >> q % 2 * 4) << 4, lift);
        put_levels(to.pairs[1], high_nibbles(word[0]) | spread(own[HEAD + 2 + q / 2] >> q % 2 * 4) << 4, lift);
    } else {
        put_nibbles(to.pairs[0], to.pairs[1], word[0], lift);
    }
#    endif
#else
    u32 part = s * 4 + q;
    raw x = raw_of(b, part);
    EACH(g, GROUPS)
        to.offset[g] = 0.0f;
#    if BLOCK == 12 || BLOCK == 13
    bool is_low = s < 2;
    u32 scales = is_low ? x.s[0] & 0x3f3fu : (x.s[2] & 0x0f0fu) | (x.s[0] >> 2 & 0x3030u);
    u32 lows = is_low ? x.s[1] & 0x3f3fu : (x.s[2] >> 4 & 0x0f0fu) | (x.s[1] >> 2 & 0x3030u);
    f32 d = half_of(x.d), least = half_of(x.d >> 16);
    EACH(r, 2) {
        to.scale[r] = d * (f32)(scales >> r * 8 & 255u);
        to.offset[r] = -(least * (f32)(lows >> r * 8 & 255u));
    }
    EACH(i, 2) {
        u32 low = low_nibbles(x.q[i]), high = high_nibbles(x.q[i]);
        if (FIVE) {
            put_levels(to.pairs[i], low | (x.high[i] >> s * 2 & 0x01010101u) << 4, lift);
            put_levels(to.pairs[2 + i], high | (x.high[i] >> (s * 2 + 1) & 0x01010101u) << 4, lift);
        } else {
            put_nibbles(to.pairs[i], to.pairs[2 + i], x.q[i], lift);
        }
    }
#    elif BLOCK == 14
    f32 d = half_of(x.d);
    EACH(r, 4) {
        to.scale[r] = d * (f32)(i8)(u8)(x.s[r / 2] >> (r % 2 * 16 + s % 2 * 8));
        u32 levels = r < 2 ? low_nibbles(x.q[r % 2]) : high_nibbles(x.q[r % 2]);
        put_levels(to.pairs[r], levels | (x.high[0] >> r * 2 & 0x03030303u) << 4, lift);
    }
#    elif BLOCK == 10
    f32 d = half_of(x.d), least = half_of(x.d >> 16);
    EACH(r, 4) {
        u32 both = x.s[r / 2] >> (r % 2 * 16 + s % 2 * 8);
        to.scale[r] = d * (f32)(both & 15u);
        to.offset[r] = -(least * (f32)(both >> 4 & 15u));
        put_levels(to.pairs[r], x.q[0] >> r * 2 & 0x03030303u, lift);
    }
#    else
    f32 d = half_of(x.d);
    EACH(r, 4) {
        u32 low = x.s[r / 2] >> (r % 2 * 16 + s % 2 * 8 + s / 2 * 4) & 15u;
        u32 top = x.s[2] >> (r % 2 * 16 + s % 2 * 8 + s / 2 * 4 + r / 2 * 2) & 3u;
        to.scale[r] = d * (f32)((i32)(low | top << 4) - 32);
        put_levels(to.pairs[r], (x.q[0] >> r * 2 & 0x03030303u) | (x.high[0] >> (s / 2 * 4 + r) & 0x01010101u) << 2, lift);
    }
#    endif
#endif
    return to;
}

// Where the two fours of granule g of set s begin in 256 elements, for lane q.
static inline u32x2 fours_of(u32 s, u32 g, u32 q)
{
    u32 first, second;
    if (SIZE == 32) {
        first = s * 32 + q * (RUNS == 1 ? 8 : 4);
        second = first + (RUNS == 1 ? 4 : 16);
    } else if (RUNS == 2) {
        first = s * 64 + g * 32 + q * 8;
        second = first + 4;
    } else {
        first = s / 2 * 128 + g * 64 + s % 2 * 16 + q * 4;
        second = first + 32;
    }
    return (u32x2){first, second};
}

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
