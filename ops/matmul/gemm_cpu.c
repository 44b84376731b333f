// C[M,N] = A * B for devices that run a warp as vectors of a CPU. A block is one warp with a tile of BM rows and
// BN columns. Its inner loop has MR rows and 32 columns: a lane is a column, and the sums stay in registers (12 sums
// of 32 lanes are 24 of AVX-512's 32 registers). A sum is fma by fma in the order of K, as in gemm_f32.c: the bits
// are the same.
//
// KC steps of both operands are packed at a time, which widens narrow types: the inner loop knows f32 alone. Sums of KC
// products of i8 are exact there; they become i32 behind it.
// A panel of 32 columns of B stays in the first cache while the rows go by. Behind K there are zeros.
#include <kiln/kernel.h>

tune(MR, 12, 1, 4);
tune(BM, 96, 1, 4, 12, 48, 192);
tune(PANELS, 4, 1, 2); // of 32 columns
tune(GROUP, 8, 1);
enum { BN = 32 * PANELS };
#include "gemm_types.h"

enum {
    KC = 128,
    STEP = 4,
    // A packed row runs along K where A does, at a distance that keeps rows in different sets of the cache;
    // else along M.
    A_LINE = A_IS_MN ? BM : KC + 16,
    A_COUNT = A_IS_MN ? KC * BM : BM * A_LINE,
    PANEL = KC * 32,
    SHARED_BYTES = (A_COUNT + PANELS * PANEL) * 4
};

_Alignas(64) shared f32 packed[];

#if defined(TYPE_s8) || defined(TYPE_tf32) || defined(TYPE_f32)
#    define WIDEN(x) ((f32)(x))
#else
#    define WIDEN(x) f32(x)
#endif

// `rows` rows of a: [m, k], or [k, m] with A_IS_MN. Rows behind them are left as they are: their sums are not stored.
static void pack_a(f32 *to, const in_t *a, u64 stride, u32 rows, u32 depth, u32 steps)
{
    u32 lines = A_IS_MN ? depth : rows, count = A_IS_MN ? rows : depth;
    for (u32 line = 0; line < lines; line++) {
        const in_t *from = a + line * stride;
        for (u32 e = lane(); e < count; e += 32)
            to[line * A_LINE + e] = WIDEN(from[e]);
        if (!A_IS_MN && depth + lane() < steps)
            to[line * A_LINE + depth + lane()] = 0;
    }
    if (A_IS_MN)
        for (u32 e = depth * A_LINE + lane(); e < steps * A_LINE; e += 32)
            to[e] = 0;
}

// Number i of the OF_WORD ones of a word.
#if defined(TYPE_f32) || defined(TYPE_tf32)
enum { OF_WORD = 1 };
#    define NUMBER(word, i) f32_from_bits(word)
#elif defined(TYPE_f16)
enum { OF_WORD = 2 };
#    define NUMBER(word, i) f32(f16_from_bits((u16)((word) >> 16 * (i))))
#elif defined(TYPE_s8)
enum { OF_WORD = 4 };
#    define NUMBER(word, i) ((f32)((i32)((word) << (24 - 8 * (i))) >> 24))
#elif defined(TYPE_e4m3)
enum { OF_WORD = 4 };
#    define NUMBER(word, i) f32(f8e4_from_bits((u8)((word) >> 8 * (i))))
#else
enum { OF_WORD = 2 };
#    define NUMBER(word, i) f32_from_bits((i) ? (word) & 0xffff0000u : (word) << 16)
#endif

// Packs of 16 bytes of a column that each lane has; how many elements they were.
static u32 turn_b(f32 *to, const in_t *column, u32 depth)
{
    u32 p = 0;
#pragma unroll 1
    for (; p + 4 * OF_WORD <= depth; p += 4 * OF_WORD) {
        u32x4 x = *(const u32x4 *)(column + p);
        u32 words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (u32 e = 0; e < 4 * OF_WORD; e++)
            to[(p + e) * 32 + lane()] = NUMBER(words[e / OF_WORD], e % OF_WORD);
    }
    return p;
}

// 32 columns of b from `first`: [n, k], or [k, n] with B_IS_MN. Columns behind the last are the last one again.
static void pack_b(f32 *to, const in_t *b, u64 stride, u32 first, u32 n, u32 depth, u32 steps)
{
    if (B_IS_MN && first + 32 <= n) {
        for (u32 p = 0; p < depth; p++)
            to[p * 32 + lane()] = WIDEN(b[p * stride + first + lane()]);
    } else if (B_IS_MN) {
        for (u32 p = 0; p < depth; p++)
            to[p * 32 + lane()] = WIDEN(b[p * stride + min(first + lane(), n - 1)]);
    } else if ((u64)b % 16 == 0 && stride * sizeof(in_t) % 16 == 0) {
        const in_t *column = b + min(first + lane(), n - 1) * stride;
        for (u32 p = turn_b(to, column, depth); p < depth; p++)
            to[p * 32 + lane()] = WIDEN(column[p]);
    } else {
#pragma unroll 1
        for (u32 c = 0; c < 32; c++) {
            const in_t *from = b + min(first + c, n - 1) * stride;
            for (u32 p = lane(); p < depth; p += 32)
                to[p * 32 + c] = WIDEN(from[p]);
        }
    }
    for (u32 p = depth; p < steps; p++)
        to[p * 32 + lane()] = 0;
}

// sums[i] += a[i, :] * b[:, lane] for MR rows.
static void multiply(acc_t *sums, const f32 *a, const f32 *b, u32 steps)
{
    f32 sum[MR];
#pragma unroll
    for (u32 i = 0; i < MR; i++)
#if defined(TYPE_s8)
        sum[i] = 0.0f;
#else
        sum[i] = sums[i];
#endif
#pragma unroll 4
    for (u32 p = 0; p < steps; p++) {
        f32 v = b[p * 32 + lane()];
#pragma unroll
        for (u32 i = 0; i < MR; i++)
            sum[i] = fma(a[A_IS_MN ? p * A_LINE + i : i * A_LINE + p], v, sum[i]);
    }
#pragma unroll
    for (u32 i = 0; i < MR; i++)
#if defined(TYPE_s8)
        sums[i] += (i32)sum[i];
#else
        sums[i] = sum[i];
#endif
}

kernel block(32) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                           const f32 *bias,
#endif
                           u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride, u64 a_batch, u64 b_batch,
                           u64 out_batch)
{
    u64 batch = block_y();
    u32x2 corner = tile_at(block_x(), (m + BM - 1) / BM, (n + BN - 1) / BN);
    u32 rows = min(m - corner.x, (u32)BM), panels = min((n - corner.y + 31) / 32, (u32)PANELS);
    const in_t *x = a + (batch * a_batch + corner.x * (u64)(A_IS_MN ? 1 : a_stride)), *y = b + batch * b_batch;
    f32 *packed_a = packed + PANELS * PANEL;
    acc_t sums[BM * PANELS];
#pragma unroll 1
    for (u32 i = 0; i < BM * PANELS; i++)
        sums[i] = 0;
    for (u32 at = 0; at < k; at += KC) {
        u32 depth = min(k - at, (u32)KC), steps = (depth + STEP - 1) / STEP * STEP;
        pack_a(packed_a, x + at * (u64)(A_IS_MN ? a_stride : 1), a_stride, rows, depth, steps);
#pragma unroll 1
        for (u32 panel = 0; panel < panels; panel++)
            pack_b(packed + panel * PANEL, y + at * (u64)(B_IS_MN ? b_stride : 1), b_stride,
                   corner.y + panel * 32, n, depth, steps);
        warp_sync();
#pragma unroll 1
        for (u32 panel = 0; panel < panels; panel++)
#pragma unroll 1
            for (u32 row = 0; row < rows; row += MR)
                multiply(sums + panel * BM + row, packed_a + row * (A_IS_MN ? 1 : A_LINE), packed + panel * PANEL,
                         steps);
        warp_sync();
    }
#pragma unroll 1
    for (u32 panel = 0; panel < panels; panel++) {
        u32 column = corner.y + panel * 32 + lane();
        if (column >= n)
            continue;
#if HAS_BIAS
        f32 added = bias[column];
#endif
        out_t *to = out + (batch * out_batch + corner.x * (u64)out_stride + column);
#pragma unroll 1
        for (u32 i = 0; i < rows; i++) {
            acc_t x = sums[panel * BM + i];
#if HAS_BIAS
            x = epilogue(x, added);
#endif
            to[i * (u64)out_stride] = TO_OUT(x);
        }
    }
}
