// Products of short sums, of operands and results that lie anywhere: all of K is in shared memory
// at once. A block keeps its columns of B, and takes every so many-th ROWS rows of A. What takes
// the time is to store the result: warps turn theirs in shared memory, and store whole granules of
// 16 bytes of its rows. sm_80 and later.
//
// -D TYPE_bf16 (f16, tf32), -D OUT_bf16 (f16, f32), -D EPILOGUE_bias (bias_relu …). A_IS_MN,
// B_IS_MN: operands that are stored [K,M], [K,N]. Start reading at `gemm`, the last function.
#include <kiln/kernel.h>

tune(DEPTH, 32, 8, 16, 24, 48,
     64); // numbers of a sum, filled up with zeros: whole steps of 32 bytes
tune(ROWS, 64, 32);
tune(ALIGNED, 3, 0, 1,
     2); // lines start at multiples of 16 bytes, and are as long: 1 those of A, 2 those of B
tune(PAIRS, 1, 0); // pairs of results are aligned: N, the stride and the address are even
tune(GROUP, 8);
enum { BM = ROWS, BN = 128 };
#include "gemm_common.h"

#if defined(TYPE_f16)
#    define MMA mma_f16
#elif defined(TYPE_tf32)
#    define MMA mma_tf32
#else
#    define MMA mma_bf16
#endif

#if defined(TYPE_tf32)
typedef u32 raw_t;
#else
typedef u16 raw_t;
#endif

enum {
    THREADS = 128,
    SIZE = sizeof(raw_t),
    STEPS = DEPTH * SIZE / 32,
    // An operand across K stays that way where its lines can be copied by granules.
    A_IS_ACROSS = A_IS_MN && ALIGNED % 2 && SIZE == 2,
    B_IS_ACROSS = B_IS_MN && ALIGNED / 2 && SIZE == 2,
    A_IS_EVEN = ALIGNED % 2 && (A_IS_ACROSS || !A_IS_MN), // copied by granules; else number by number
    EACH = ROWS * DEPTH / THREADS,                        // numbers of A of a thread,
    IS_AHEAD = !A_IS_EVEN && !A_IS_MN && EACH <= 16,      // … which has registers for these
    A_PITCH = (A_IS_ACROSS ? ROWS : DEPTH) * SIZE +
              16, // bytes of a line: an odd number of granules keeps the banks apart
    B_PITCH = (B_IS_ACROSS ? BN : DEPTH) * SIZE + 16,
    A_BYTES = (A_IS_ACROSS ? DEPTH : ROWS) * A_PITCH,
    B_BYTES = (B_IS_ACROSS ? DEPTH : BN) * B_PITCH,
    WIDTH = BN / (4 / (ROWS / 16)), // columns of a warp, which has 16 rows
    WIDE = WIDTH * sizeof(out_t) > 256 ? 256 / sizeof(out_t) : WIDTH, // … that it stores at a time
    GRANULE = 16 / sizeof(out_t),                                     // results
    PITCH = WIDE * sizeof(out_t) + 16, // bytes of a row of them in shared memory
    SHARED_BYTES = 2 * A_BYTES + B_BYTES + 4 * 16 * PITCH
};

_Alignas(128) shared u8 smem[];

// --- memory to shared memory
// The tile's lines of a matrix, `first` and those behind it of `size`, with all of K. is_mn: it is
// contiguous across K.
static void load_tile(u8 *to, const in_t *x, bool is_left, bool is_mn, bool is_even, u32 first,
                      u32 size, u32 k, u32 pitch)
{
    bool is_across = is_mn && is_even && SIZE == 2;
    u32 lines = is_left ? ROWS : BN;
    if (is_even && (is_across || !is_mn)) {
        u32 width = (is_across ? lines : (u32)DEPTH) * SIZE / 16,
            count = (is_across ? (u32)DEPTH : lines) * width;
#pragma unroll
        for (u32 i = 0; i < count; i += THREADS) {
            u32 n = i + thread_x(), line = n / width, number = n % width * (16 / SIZE);
            bool is_there =
                is_across ? line < k && first + number < size : first + line < size && number < k;
            u64 at = is_across ? (u64)line * pitch + first + number
                               : (u64)(first + line) * pitch + number;
            if (count % THREADS == 0 || n < count)
                async_copy_16_part(
                    to + ((is_left ? line * A_PITCH : line * B_PITCH) + n % width * 16),
                    (const u8 *)(x + at), is_there ? 16 : 0);
        }
    } else {
        const raw_t *from = (const raw_t *)x;
        enum { AT_ONCE = 16 };
        u32 count = lines * DEPTH;
#pragma unroll 1
        for (u32 i = 0; i < count; i += THREADS * AT_ONCE) {
            raw_t got[AT_ONCE];
#pragma unroll
            for (u32 e = 0; e < AT_ONCE; e++) {
                u32 n = i + e * THREADS + thread_x(), line = is_mn ? n % lines : n / DEPTH,
                    p = is_mn ? n / lines : n % DEPTH;
                got[e] = 0;
                if (i + e * THREADS < count && p < k && first + line < size)
                    got[e] = from[is_mn ? (u64)p * pitch + first + line
                                        : (u64)(first + line) * pitch + p];
            }
#pragma unroll
            for (u32 e = 0; e < AT_ONCE; e++) {
                u32 n = i + e * THREADS + thread_x(), line = is_mn ? n % lines : n / DEPTH,
                    p = is_mn ? n / lines : n % DEPTH;
                if (i + e * THREADS < count)
                    *(raw_t *)(to + ((is_left ? line * A_PITCH : line * B_PITCH) + p * SIZE)) =
                        got[e];
            }
        }
    }
}

// Rows of A along K number by number, in two steps: they are on their way while the tile before is multiplied and stored.
// Number e of a thread is at .y of line .x.
static u32x2 place_left(u32 e)
{
    u32 t = thread_x(), n = e * THREADS + t;
    return THREADS % DEPTH == 0 ? (u32x2){t / DEPTH + e * (THREADS / DEPTH), t % DEPTH}
                                : (u32x2){n / DEPTH, n % DEPTH};
}

static void fetch_left(raw_t (*to)[EACH], const in_t *x, u32 first, u32 size, u32 k, u32 pitch)
{
    const raw_t *from = (const raw_t *)x;
#pragma unroll
    for (u32 e = 0; e < EACH; e++) {
        u32x2 at = place_left(e);
        (*to)[e] = 0;
        if (at.y < k && first + at.x < size)
            (*to)[e] = from[(u64)(first + at.x) * pitch + at.y];
    }
}

static void put_left(u8 *to, const raw_t (*from)[EACH])
{
#pragma unroll
    for (u32 e = 0; e < EACH; e++) {
        u32x2 at = place_left(e);
        *(raw_t *)(to + (at.x * A_PITCH + at.y * SIZE)) = (*from)[e];
    }
}

// --- products
static void load_left(u32 (*to)[4], const u8 *a, u32 row, u32 step)
{
    u32 l = lane();
    if (A_IS_ACROSS)
        ldmatrix_transposed(
            *to, a + ((step * 16 + l / 16 * 8 + l % 8) * A_PITCH + (row + l / 8 % 2 * 8) * SIZE));
    else
        ldmatrix(*to, a + ((row + l % 16) * A_PITCH + step * 32 + l / 16 * 16));
}

static void load_right(u32 (*to)[4], u32 column, u32 step) // 16 columns
{
    u32 l = lane();
    const u8 *b = smem + 2 * A_BYTES;
    if (B_IS_ACROSS)
        ldmatrix_transposed(*to,
                            b + ((step * 16 + l % 16) * B_PITCH + (column + l / 16 * 8) * SIZE));
    else
        ldmatrix(*to, b + ((column + l / 16 * 8 + l % 8) * B_PITCH + step * 32 + l / 8 % 2 * 16));
}

static void multiply(f32 (*acc)[WIDE / 8][4], const u8 *left, u32 row, u32 column)
{
#pragma unroll
    for (u32 j = 0; j < WIDE / 8; j++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            (*acc)[j][e] = 0;
#pragma unroll
    for (u32 s = 0; s < STEPS; s++) {
        u32 a[4];
        load_left(&a, left, row, s);
#pragma unroll
        for (u32 j = 0; j < WIDE / 8; j += 2) {
            u32 b[4];
            load_right(&b, column + j * 8, s);
            u32 first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
            MMA((*acc)[j], a, first);
            MMA((*acc)[j + 1], a, second);
        }
    }
}

// --- results
// How many results of its granule of memory lie before number `at` of the result.
static u32 lead_of(const out_t *at)
{
    return (u32)(u64)at % 16 / (u32)sizeof(out_t);
}

// Sums to rows in shared memory, where granules are those of memory.
static void keep(u8 *own, f32 (*acc)[WIDE / 8][4], result c, u32 row, u32 column)
{
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        u32 r = half * 8 + lane() / 4;
        out_t *to = (out_t *)(own + r * PITCH) + lead_of(c.at + (row + r) * c.stride + column);
#pragma unroll
        for (u32 j = 0; j < WIDE / 8; j++) {
            u32 x = j * 8 + lane() % 4 * 2;
            f32 first = (*acc)[j][half * 2], second = (*acc)[j][half * 2 + 1];
#if HAS_BIAS
            first = epilogue(first, c.bias[min(column + x, c.columns - 1)]);
            second = epilogue(second, c.bias[min(column + x + 1, c.columns - 1)]);
#endif
#if defined(PACK)
            if (PAIRS) {
                *(u32 *)(to + x) = PACK(first, second);
                continue;
            }
#endif
            to[x] = TO_OUT(first);
            to[x + 1] = TO_OUT(second);
        }
    }
}

// Whole granules first, then what is left at the two ends of each row, by a lane each.
static void store(const u8 *own, result c, u32 row, u32 column)
{
    u32 columns = c.columns > column ? min(c.columns - column, (u32)WIDE) : 0;
    enum { WHOLE = WIDE / GRANULE };
#pragma unroll
    for (u32 i = 0; i < 16 * WHOLE; i += 32) {
        u32 r = (i + lane()) / WHOLE, g = (i + lane()) % WHOLE;
        out_t *to = c.at + (row + r) * c.stride + column;
        u32 lead = lead_of(to), first = (g + (lead > 0)) * GRANULE - lead;
        if (row + r < c.rows && first + GRANULE <= columns)
            *(u32x4 *)(to + first) = *(const u32x4 *)(own + (r * PITCH + (g + (lead > 0)) * 16));
    }
    u32 r = lane() / 2;
    out_t *to = c.at + (row + r) * c.stride + column;
    u32 lead = lead_of(to), head = min(lead ? GRANULE - lead : 0, columns),
        end = (lead + columns) / GRANULE * GRANULE;
    u32 first = lane() % 2 ? max(end > lead ? end - lead : 0, head) : 0,
        last = lane() % 2 ? columns : head;
    const out_t *from = (const out_t *)(own + r * PITCH) + lead;
    if (row + r < c.rows)
#pragma unroll
        for (u32 e = 0; e < GRANULE; e++)
            if (first + e < last)
                to[first + e] = from[first + e];
}

// --- the kernel
kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride,
                                u64 a_batch, u64 b_batch, u64 out_batch)
{
    u64 batch = block_y();
    u32 columns = (n + BN - 1) / BN, column = block_x() % columns * BN;
    u32 first = block_x() / columns * ROWS, step = grid_dim_x() / columns * ROWS; // rows
    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    a += batch * a_batch;
    raw_t ahead[EACH];
    if (!IS_AHEAD)
        load_tile(smem, a, true, A_IS_MN, ALIGNED % 2, first, m, k, a_stride);
    else
        fetch_left(&ahead, a, first, m, k, a_stride);
    load_tile(smem + 2 * A_BYTES, b + batch * b_batch, false, B_IS_MN, ALIGNED / 2, column, n, k,
              b_stride);
    if (IS_AHEAD)
        put_left(smem, &ahead);
    async_commit();
    async_wait(0);
    barrier();
    u32 y = warp() % (ROWS / 16) * 16, x = warp() / (ROWS / 16) * WIDTH, now = 0;
    u8 *own = smem + (2 * A_BYTES + B_BYTES) + warp() * (16 * PITCH);
    for (u32 row = first; row < m; row += step) {
        bool has_next = row + step < m;
        if (has_next && !IS_AHEAD)
            load_tile(smem + (A_BYTES - now), a, true, A_IS_MN, ALIGNED % 2, row + step, m, k,
                      a_stride);
        if (has_next && IS_AHEAD)
            fetch_left(&ahead, a, row + step, m, k, a_stride);
        async_commit();
#pragma unroll
        for (u32 at = 0; at < WIDTH; at += WIDE) {
            f32 acc[WIDE / 8][4];
            multiply(&acc, smem + now, y, x + at);
            keep(own, &acc, c, row + y, column + x + at);
            warp_sync();
            store(own, c, row + y, column + x + at);
            warp_sync();
        }
        if (has_next && IS_AHEAD)
            put_left(smem + (A_BYTES - now), &ahead);
        async_wait(0);
        barrier();
        now = A_BYTES - now;
    }
}
