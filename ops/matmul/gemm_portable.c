// C[M,N] = A * B on every device, with matrix fragments: tiles go through registers into shared memory,
// two buffers in turns, and warps multiply from there. Any M, N, K, strides and alignment.
//
// Types: bf16, f16, s8, and e4m3, which becomes f16 on its way to shared memory (exactly). A_IS_MN,
// B_IS_MN: operands stored [K,M], [K,N]; their tiles stay that way, and the fragments' loads turn them.
// HAS_PARTS: K is cut along the grid's z; each part stores sums of its own, which gemm_add.c adds.
// -D GROUPED: rows of A belong to groups (gemm_common.h), b_batch is from one group's B to the next.
#include <kiln/kernel.h>

tune(BM, 128, 16, 32, 64);
tune(BN, 128, 16, 32, 64, 256);
tune(WARPS_M, 2, 1, 4);
tune(WARPS_N, 4, 1, 2);
tune(LINE, 64, 128); // bytes of a tile along K
tune(GROUP, 8, 1, 16);
tune(PAIRS, 1, 0);   // pairs of results are aligned: N, the stride and the address are even
tune(ALIGNED, 1, 0, 2); // 1: lines of the operands start at multiples of 16 bytes; 2: anywhere, sm_90
tune(WHOLE, 0, 1);   // m, n and k are multiples of the tile's
tune(HAS_PARTS, 0, 1);
tune(STAGED, 0, 1); // results of 16 bits leave through shared memory, row by row

#include "gemm_common.h"

#if defined(TYPE_f16)
typedef f16 tile_t;
#define MULTIPLY fragment_multiply_f16
#define BITS(x) bits_f16(x)
#elif defined(TYPE_e4m3)
typedef f16 tile_t;
#define MULTIPLY fragment_multiply_f16
#define BITS(x) bits_f16(to_f16(f32(x)))
#elif defined(TYPE_s8)
typedef i8 tile_t;
#define MULTIPLY fragment_multiply_i8
#define BITS(x) ((u8)(x))
#else
typedef bf16 tile_t;
#define MULTIPLY fragment_multiply_bf16
#define BITS(x) bits_bf16(x)
#endif

enum {
    SIZE = sizeof(tile_t),
    GRANULE = 16 / SIZE, // elements
    DEPTH = LINE / SIZE, // of a tile along K
    FRAGMENT = 32 / SIZE,
    STEPS = DEPTH / FRAGMENT,
    THREADS = WARPS_M * WARPS_N * 32,
    TILES_M = BM / WARPS_M / 16,
    TILES_N = BN / WARPS_N / 16,
    // Lines of a tile and their distance: 16 bytes more than they need keep the banks apart.
    A_LINES = A_IS_MN ? DEPTH : BM,
    B_LINES = B_IS_MN ? DEPTH : BN,
    A_STRIDE = (A_IS_MN ? BM : DEPTH) + GRANULE,
    B_STRIDE = (B_IS_MN ? BN : DEPTH) + GRANULE,
    A_COUNT = BM * DEPTH / GRANULE, // granules
    B_COUNT = BN * DEPTH / GRANULE,
    A_EACH = A_COUNT / THREADS, // of a thread
    B_EACH = B_COUNT / THREADS,
    BUFFER = A_LINES * A_STRIDE + B_LINES * B_STRIDE, // elements
    STAGE_PITCH = BN + 8, // of a row of results in shared memory
    STAGE_BYTES = STAGED ? BM * STAGE_PITCH * 2 : 0,
    SHARED_BYTES = 2 * BUFFER * SIZE > STAGE_BYTES ? 2 * BUFFER * SIZE : STAGE_BYTES
};

_Alignas(16) shared tile_t tiles[];

// --- memory to registers to shared memory

// A thread's granules of an operand: the same place in every `step`-th of `lines` lines of `count` elements.
typedef struct source {
    const in_t *at; // the first of the tile
    u64 begin, end; // of the matrix, in memory: nothing is read outside
    u64 stride;
    u32 lines, count;  // of the matrix
    u32 line, element; // of the first granule
    u32 slot;          // where it belongs in the tile
} source;

// Granules of a line of a tile, and lines between a thread's granules.
static u32 width_of(bool is_mn, u32 size)
{
    return (is_mn ? size : (u32)DEPTH) / GRANULE;
}

static u32 step_of(bool is_mn, u32 size)
{
    return THREADS / width_of(is_mn, size);
}

static source source_of(const in_t *x, bool is_mn, u32 size, u32 first, u32 extent, u32 k, u64 stride, u32 tile_stride)
{
    u32 width = width_of(is_mn, size), t = thread_x();
    u32 line = t / width, element = t % width * GRANULE;
    u32 slot = line * tile_stride + element;
    if (is_mn)
        element += first;
    else
        line += first;
    u32 lines = is_mn ? k : extent, count = is_mn ? extent : k;
    u64 begin = (u64)x, end = lines ? begin + ((lines - 1) * stride + count) * sizeof(in_t) : begin;
    return (source){x + (line * stride + element), begin, end, stride, lines, count, line, element, slot};
}

// Element e of a granule where it belongs in its words.
static void put(u32 (*words)[4], u32 e, u32 bits)
{
    (*words)[e * SIZE / 4] |= bits << (e * SIZE % 4 * 8);
}

static u32x4 load_granule(const in_t *from, u32 count)
{
    u32 words[4] = {0, 0, 0, 0};
#pragma unroll
    for (u32 e = 0; e < GRANULE; e++)
        if (e < count)
            put(&words, e, BITS(from[e]));
    return (u32x4){words[0], words[1], words[2], words[3]};
}

// Sixteen bytes that start anywhere, of the 32 aligned ones around them.
static u32x4 shift_granule(const u8 *from)
{
    u32 skipped = (u32)((u64)from & 15), bits = skipped % 4 * 8;
    const u32x4 *at = (const u32x4 *)(from - skipped);
    u32x4 x = at[0], y = at[1];
    u32 w[8] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
#pragma unroll
    for (u32 i = 0; i < 6; i++)
        w[i] = skipped & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (u32 i = 0; i < 5; i++)
        w[i] = skipped & 4 ? w[i + 1] : w[i];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        w[i] = (u32)(((u64)w[i + 1] << 32 | w[i]) >> bits);
    return (u32x4){w[0], w[1], w[2], w[3]};
}

static u32x4 load_any_granule(const in_t *from, u32 count, const source *x)
{
    u64 at = (u64)from & ~(u64)15;
    if (ALIGNED == 2 && count >= GRANULE && at >= x->begin && at + 32 <= x->end)
        return shift_granule((const u8 *)from);
    return load_granule(from, count);
}

// The next tile; beyond K there are zeros, or anything when the tiles are WHOLE.
static void load_tile(u32x4 *to, u32 count, source *x, bool is_mn, u32 size, bool is_last)
{
    const in_t *from = x->at;
    u32 step = step_of(is_mn, size), line = x->line;
    u32 rest = x->count > x->element ? x->count - x->element : 0; // of a line
    if (WHOLE || (ALIGNED == 1 && rest >= GRANULE && line + (count - 1) * step < x->lines)) {
#pragma unroll
        for (u32 i = 0; i < count; i++) {
            to[i] = *(const u32x4 *)from;
            from += step * x->stride;
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < count; i++) {
            to[i] = load_any_granule(from, line < x->lines ? rest : 0, x);
            from += step * x->stride;
            line += step;
        }
    }
    x->at += WHOLE && is_last ? 0 : is_mn ? DEPTH * x->stride : DEPTH;
    if (is_mn)
        x->line += DEPTH;
    else
        x->element += DEPTH;
}

static void keep_tile(tile_t *to, u32 stride, const u32x4 *from, u32 count, const source *x, bool is_mn, u32 size)
{
#pragma unroll
    for (u32 i = 0; i < count; i++) {
        u32 slot = x->slot + i * step_of(is_mn, size) * stride;
        *(u32x4 *)(to + slot) = from[i];
    }
}

// --- shared memory to fragments

typedef struct fragments { // of 32 bytes of K
    u32 a[TILES_M][4], b[TILES_N][4];
} fragments;

// Of a warp's rows and columns, which begin at `row` and `column` of the tile.
static void load_fragments(fragments *f, const tile_t *tile, u32 row, u32 column, u32 k)
{
    const tile_t *a = tile + row * (A_IS_MN ? 1 : A_STRIDE);
    const tile_t *b = tile + A_LINES * A_STRIDE + column * (B_IS_MN ? 1 : B_STRIDE);
#pragma unroll
    for (u32 i = 0; i < TILES_M * 16; i += 16)
        if (A_IS_MN)
            fragment_fetch_a_t(f->a[i / 16], a + (k * A_STRIDE + i), A_STRIDE);
        else
            fragment_fetch_a(f->a[i / 16], a + (i * A_STRIDE + k), A_STRIDE);
#pragma unroll
    for (u32 j = 0; j < TILES_N * 16; j += 16)
        if (B_IS_MN)
            fragment_fetch_b(f->b[j / 16], b + (k * B_STRIDE + j), B_STRIDE);
        else
            fragment_fetch_b_t(f->b[j / 16], b + (j * B_STRIDE + k), B_STRIDE);
}

static void multiply(acc_t (*sum)[TILES_M][TILES_N][8], const fragments *f)
{
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
            MULTIPLY((*sum)[i][j], f->a[i], f->b[j]);
}

// --- results, row by row
#if defined(PACK)
static void stage_sums(acc_t (*sum)[TILES_M][TILES_N][8], result c, u32 row, u32 column, u32 first)
{
    u16 *stage = (u16 *)tiles;
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
#pragma unroll
            for (u32 e = 0; e < 8; e += 2) {
                u32 y = row + i * 16 + fragment_row(e), x = column + j * 16 + fragment_column(e);
                acc_t low = (*sum)[i][j][e], high = (*sum)[i][j][e + 1];
#if HAS_BIAS
                low = first + x < c.columns ? epilogue(low, c.bias[first + x]) : 0;
                high = first + x + 1 < c.columns ? epilogue(high, c.bias[first + x + 1]) : 0;
#endif
                *(u32 *)(stage + (y * STAGE_PITCH + x)) = PACK(low, high);
            }
}

// A row of results leaves in pieces of 16 bytes that begin at multiples of that, wherever the row begins; what is
// left at its two ends number by number. BN / 8 lanes have a row.
static void store_stage(result c, u32 first_row, u32 first)
{
    enum { LANES = BN / 8 < 32 ? BN / 8 : 32, AT_ONCE = 32 / LANES, WARPS = THREADS / 32 };
    u32 i = lane() % LANES, width = min(c.columns - first, (u32)BN);
#pragma unroll 2
    for (u32 line = warp() * AT_ONCE + lane() / LANES; line < BM; line += WARPS * AT_ONCE) {
        const u16 *from = (const u16 *)tiles + line * STAGE_PITCH;
        u16 *to = (u16 *)c.at + ((u64)(first_row + line) * c.stride + first);
        u32 head = min((16 - ((u32)(u64)to & 15)) % 16 / 2, width), pieces = (width - head) / 8;
        u32 tail = head + pieces * 8, at = head + i * 8, words[4];
        if (first_row + line >= c.rows)
            break;
        if (i < pieces) {
            const u32 *low = (const u32 *)(from + (at & ~1u));
            u32 end = head % 2 ? from[at + 7] : 0;
#pragma unroll
            for (u32 w = 0; w < 4; w++)
                words[w] = head % 2 ? low[w] >> 16 | (w < 3 ? low[w + 1] : end) << 16 : low[w];
            *(u32x4 *)(to + at) = (u32x4){words[0], words[1], words[2], words[3]};
        }
        if (i < head)
            to[i] = from[i];
        if (tail + i < width && i < 8)
            to[tail + i] = from[tail + i];
    }
}
#endif

// --- the kernel

kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride, u64 a_batch, u64 b_batch,
                                u64 out_batch
#if defined(GROUPED)
                                , const i32 *ends, u32 groups
#endif
)
{
    u64 batch = block_y();
    if (HAS_PARTS) {
        u32 part = block_z(), all = (k + DEPTH - 1) / DEPTH;
        u32 begin = (u32)((u64)all * part / grid_dim_z()) * DEPTH;
        u32 end = (u32)((u64)all * (part + 1) / grid_dim_z()) * DEPTH;
        a += A_IS_MN ? begin * (u64)a_stride : begin;
        b += B_IS_MN ? begin * (u64)b_stride : begin;
        k = min(k, end) - begin;
        batch = part;
        a_batch = b_batch = 0;
        out_batch = (u64)m * out_stride;
    }
    if (ALIGNED == 2) {
        next_kernel_launch();
        previous_kernel_wait();
    }
#if defined(GROUPED)
    u32 columns = (n + BN - 1) / BN;
    group g = group_of(ends, groups, m, block_x() / columns);
    u32x2 origin = {g.tile * BM, block_x() % columns * BN};
    m = g.rows;
    if (m == 0)
        return;
    a += A_IS_MN ? g.begin : g.begin * (u64)a_stride;
    b += g.index * b_batch;
    out += g.begin * (u64)out_stride;
#else
    u32x2 origin = tile_at(block_x(), (m + BM - 1) / BM, (n + BN - 1) / BN);
#endif
    source x = source_of(a + batch * a_batch, A_IS_MN, BM, origin.x, m, k, a_stride, A_STRIDE);
    source y = source_of(b + batch * b_batch, B_IS_MN, BN, origin.y, n, k, b_stride, B_STRIDE);
    u32 row = warp() / WARPS_N * (BM / WARPS_M), column = warp() % WARPS_N * (BN / WARPS_N);
    acc_t sum[TILES_M][TILES_N][8];
    u32x4 next[A_EACH > B_EACH ? A_EACH : B_EACH];
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
#pragma unroll
            for (u32 e = 0; e < 8; e++)
                sum[i][j][e] = 0;

    // The next tile goes through registers to the other buffer: in the first half of a tile's steps the
    // rows of a, in the second the columns of b.
    u32 now = 0; // the buffer
    fragments f; // of the next step
    u32 count = (k + DEPTH - 1) / DEPTH;
    u32x4 first[B_EACH];
    load_tile(next, A_EACH, &x, A_IS_MN, BM, count < 2);
    load_tile(first, B_EACH, &y, B_IS_MN, BN, count < 2);
    keep_tile(tiles, A_STRIDE, next, A_EACH, &x, A_IS_MN, BM);
    keep_tile(tiles + A_LINES * A_STRIDE, B_STRIDE, first, B_EACH, &y, B_IS_MN, BN);
    load_tile(next, A_EACH, &x, A_IS_MN, BM, count < 3);
    barrier();
    load_fragments(&f, tiles, row, column, 0);
    for (u32 t = 0; t < count; t++) {
#pragma unroll
        for (u32 s = 0; s < STEPS; s++) {
            tile_t *other = tiles + (BUFFER - now);
            if (s == STEPS / 2 - 1) {
                keep_tile(other, A_STRIDE, next, A_EACH, &x, A_IS_MN, BM);
                load_tile(next, B_EACH, &y, B_IS_MN, BN, t + 2 >= count);
            }
            if (s == STEPS - 1) {
                keep_tile(other + A_LINES * A_STRIDE, B_STRIDE, next, B_EACH, &y, B_IS_MN, BN);
                load_tile(next, A_EACH, &x, A_IS_MN, BM, t + 3 >= count);
                barrier();
            }
            multiply(&sum, &f);
            load_fragments(&f, s == STEPS - 1 ? other : tiles + now, row, column, (s + 1) % STEPS * FRAGMENT);
        }
        now = BUFFER - now;
    }

    result c = {.at = out + batch * out_batch, .rows = m, .columns = n, .stride = out_stride};
#if HAS_BIAS
    c.bias = bias;
#endif
#if defined(PACK)
    if (STAGED) {
        barrier(); // all have read the last tile
        stage_sums(&sum, c, row, column, origin.y);
        barrier();
        store_stage(c, origin.x, origin.y);
        return;
    }
#endif
#pragma unroll
    for (u32 i = 0; i < TILES_M; i++)
#pragma unroll
        for (u32 j = 0; j < TILES_N; j++)
#pragma unroll
            for (u32 e = 0; e < 8; e += 2)
                store_pair(c, origin.x + row + i * 16 + fragment_row(e), origin.y + column + j * 16 + fragment_column(e),
                           sum[i][j][e], sum[i][j][e + 1]);
}
