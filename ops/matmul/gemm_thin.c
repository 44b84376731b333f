// Products with few rows or few columns: the many rows of one operand, the long side, pass by once, from
// memory to registers, and each meets the few of the other. A warp has 64 of the many rows and BN of the
// few; KWARPS warps of a block share the sum and add up through shared memory, in a fixed order. Any
// sizes and alignment, sm_80 and later.
//
// -D TYPE_bf16 (f16, tf32, e4m3, s8), -D OUT_bf16 (f16, f32, s32), -D EPILOGUE_bias (bias_relu …). A_IS_MN,
// B_IS_MN: operands of 16 bits that are stored [K,M], [K,N]. HAS_PARTS: K is cut along the grid's z; each part
// stores sums of its own, which gemm_add.c adds.
//
// K is walked in chunks of 64 bytes. The matrix unit does not care in which order the numbers of a chunk are
// summed, as long as both operands agree: lane t of a row has the bytes from 16 * t on, which is one load.
// Start reading at `gemm`, the last function.
#include <kiln/kernel.h>

tune(BN, 8, 16, 24, 32);   // of the few that a block takes
tune(KWARPS, 8, 1, 2, 4);  // warps that share the sum of a row
tune(ALIGNED, 1, 0);       // lines of the operands start at multiples of 16 bytes, and are as long
tune(SWAP, 0, 1);          // few rows: the long side is B
tune(HAS_PARTS, 0, 1);

tune(GROUP, 8);
enum { BM = 64 }; // rows of a warp
#include "gemm_types.h"

#if defined(TYPE_f16)
#define MMA mma_f16
#elif defined(TYPE_tf32)
#define MMA mma_tf32
#elif defined(TYPE_e4m3)
#define MMA mma_e4m3
#elif defined(TYPE_s8)
#define MMA mma_s8
#else
#define MMA mma_bf16
#endif

#if defined(TYPE_tf32)
typedef u32 raw_t;
#elif defined(TYPE_e4m3) || defined(TYPE_s8)
typedef u8 raw_t;
#else
typedef u16 raw_t;
#endif

enum {
    WARPS = KWARPS == 8 ? 8 : 4,
    THREADS = WARPS * 32,
    ROWS = WARPS / KWARPS * BM, // of a block
    SIZE = sizeof(raw_t),
    PIECE = 16 / SIZE,  // numbers of a lane's load
    CHUNK = 4 * PIECE,  // of a warp's step along K
    FEWS = BN / 8,
    SHIFTED = !ALIGNED && SIZE < 4, // words of memory are shifted to get those of a piece
    AHEAD = !SHIFTED,               // chunks that are under way while a warp multiplies; shifts wait for them
    LONG_IS_MN = SWAP ? B_IS_MN : A_IS_MN,
    FEW_IS_MN = SWAP ? A_IS_MN : B_IS_MN,
    PITCH = BN + 1, // of a row's sums in shared memory
    SHARED_BYTES = WARPS * BM * PITCH * 4
};

shared acc_t sums[]; // of all warps

typedef struct operand {
    const raw_t *at;
    u32 pitch; // numbers
    u32 rows;
    u64 count; // numbers from its first to behind its last
} operand;

typedef struct loaded {
    u32 many[8][4], few[FEWS][4]; // words of the operands
} loaded;

static operand operand_of(const in_t *x, bool is_mn, u32 rows, u32 pitch, u32 k)
{
    return (operand){(const raw_t *)x, pitch, rows, (u64)((is_mn ? k : rows) - 1) * pitch + (is_mn ? rows : k)};
}

// May shifted pieces from number `first` to number `last` of the matrix be loaded? They are cut out of 32 bytes, which
// may reach beyond the matrix at its two ends.
static bool is_inside(operand x, u64 first, u64 last)
{
    bool has_start = first >= PIECE || (u64)x.at % 16 == 0;
    return has_start && last + 2 * PIECE <= x.count;
}

// --- loads
// Sixteen bytes that start anywhere, of the 32 aligned ones around them.
static void load_shifted(u32 *to, const u8 *from)
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
        to[i] = (u32)(((u64)w[i + 1] << 32 | w[i]) >> bits);
}

// The first `count` numbers, `step` apart; zeros behind them.
static void load_single(u32 *to, const raw_t *from, u64 step, u32 count)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        to[i] = 0;
#pragma unroll
    for (u32 e = 0; e < PIECE; e++)
        if (e < count)
            to[e * SIZE / 4] |= (u32)from[e * step] << (e * SIZE % 4 * 8);
}

// A whole piece, or zeros.
static void load_whole(u32 *to, const raw_t *from, bool is_there)
{
    u32x4 x = {0, 0, 0, 0};
    if (is_there)
        x = *(const u32x4 *)from;
    to[0] = x.x;
    to[1] = x.y;
    to[2] = x.z;
    to[3] = x.w;
}

static u32 rest_of(u32 size, u32 at)
{
    return size > at ? size - at : 0;
}

static u64 place_of(operand x, u32 line, u32 number)
{
    return line * (u64)x.pitch + number;
}

// Loads have no branches between them: all are under way at the same time. Pieces without a number load those of
// others, and become zeros. There is one copy of each: a short sum takes as long as its instructions take to come.

// Rows contiguous along K: lane 4 * g + t has those of each eight that are g, from 16 bytes * t on. Rows behind the
// last one are not stored in the end: the last takes their place.
static void load_along(u32 (*to)[4], u32 eights, operand x, u32 row, u32 k, u32 depth)
{
    u32 g = lane() / 4, first = k + lane() % 4 * PIECE, last = x.rows - 1, end = min(k + CHUNK, depth);
    u32 bits = min(rest_of(depth, first), (u32)PIECE) * SIZE * 8, at = bits ? first : k;
    if (ALIGNED) {
#pragma unroll
        for (u32 i = 0; i < eights; i++)
            load_whole(to[i], x.at + place_of(x, min(row + i * 8 + g, last), first), bits > 0);
        return;
    }
    u64 final = place_of(x, min(row + eights * 8 - 1, last), (end - 1) / PIECE * PIECE);
    if (!SHIFTED || !is_inside(x, place_of(x, row, k), final)) {
#pragma unroll
        for (u32 i = 0; i < eights; i++)
            load_single(to[i], x.at + place_of(x, min(row + i * 8 + g, last), at), 1, bits / (SIZE * 8));
        return;
    }
#pragma unroll
    for (u32 i = 0; i < eights; i++)
        load_shifted(to[i], (const u8 *)(x.at + place_of(x, min(row + i * 8 + g, last), at)));
#pragma unroll
    for (u32 w = 0; w < 4; w++) {
        u32 own = min(rest_of(bits, w * 32), 32u), mask = own == 32 ? ~0u : (1u << own) - 1;
#pragma unroll
        for (u32 i = 0; i < eights; i++)
            to[i][w] &= mask;
    }
}

// Rows contiguous across K: lane 4 * g + t has eight neighbours from 8 * g on, and eight numbers of K from 8 * t on.
static void load_across(u32 (*to)[4], operand x, u32 row, u32 k, u32 depth)
{
    u32 at = row + lane() / 4 * 8, first = k + lane() % 4 * 8, end = min(k + CHUNK, depth);
    if (ALIGNED) {
#pragma unroll
        for (u32 i = 0; i < 8; i++)
            load_whole(to[i], x.at + place_of(x, first + i, at), first + i < depth && at < x.rows);
    } else if (x.rows >= BM && is_inside(x, place_of(x, k, row), place_of(x, end - 1, row + BM - 8))) {
#pragma unroll
        for (u32 i = 0; i < 8; i++)
            load_shifted(to[i], (const u8 *)(x.at + place_of(x, min(first + i, depth - 1), at)));
#pragma unroll
        for (u32 i = 0; i < 8; i++)
#pragma unroll
            for (u32 w = 0; w < 4; w++)
                to[i][w] = first + i < depth ? to[i][w] : 0;
    } else {
#pragma unroll
        for (u32 i = 0; i < 8; i++)
            load_single(to[i], x.at + place_of(x, first + i, at), 1, first + i < depth ? rest_of(x.rows, at) : 0);
    }
}

static void load(loaded *to, operand many, u32 row, operand few, u32 column, u32 k, u32 depth)
{
    u32 at = k + lane() % 4 * PIECE;
    if (LONG_IS_MN)
        load_across(to->many, many, row, k, depth);
    else
        load_along(to->many, 8, many, row, k, depth);
    if (!FEW_IS_MN)
        load_along(to->few, FEWS, few, column, k, depth);
#pragma unroll
    for (u32 i = 0; FEW_IS_MN && i < FEWS; i++) {
        u32 line = min(column + i * 8 + lane() / 4, few.rows - 1);
        load_single(to->few[i], few.at + place_of(few, at, line), few.pitch, rest_of(depth, at));
    }
}

// --- products
// The left operand of tile `tile` of 16 rows, for half j of a chunk. Of rows contiguous across K each word
// holds two rows of one number along K; the matrix unit wants two numbers along K of one row.
static void left_of(u32 *a, const loaded *from, u32 tile, u32 j)
{
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        if (LONG_IS_MN) {
            u32 k = j * 4 + i / 2 * 2;
            a[i] = permute_bytes(from->many[k][tile], from->many[k + 1][tile], i % 2 ? 0x7632 : 0x5410);
        } else
            a[i] = from->many[tile * 2 + i % 2][j * 2 + i / 2];
    }
}

static u32 row_of(u32 tile, u32 half)
{
    u32 g = lane() / 4;
    return LONG_IS_MN ? g * 8 + tile * 2 + half : tile * 16 + half * 8 + g;
}

static void multiply(acc_t (*acc)[BM / 16][FEWS][4], const loaded *from)
{
#pragma unroll
    for (u32 j = 0; j < 2; j++)
#pragma unroll
        for (u32 tile = 0; tile < BM / 16; tile++) {
            u32 a[4];
            left_of(a, from, tile, j);
#pragma unroll
            for (u32 i = 0; i < FEWS; i++) {
                u32 b[2] = {from->few[i][j * 2], from->few[i][j * 2 + 1]};
                MMA((*acc)[tile][i], a, b);
            }
        }
}

// --- results
// The first `skipped` rows are those of another warp.
static void keep_sums(acc_t (*acc)[BM / 16][FEWS][4], u32 skipped)
{
    acc_t *own = sums + warp() * (BM * PITCH) - skipped * PITCH;
#pragma unroll
    for (u32 tile = 0; tile < BM / 16; tile++)
#pragma unroll
        for (u32 i = 0; i < FEWS; i++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                if (row_of(tile, e / 2) >= skipped)
                    own[row_of(tile, e / 2) * PITCH + i * 8 + lane() % 4 * 2 + e % 2] = (*acc)[tile][i][e];
}

// The sums of a block's rows, neighbours in memory by neighbouring threads.
static void store(out_t *out, const f32 *bias, u32 row, u32 few, u32 rows, u32 fews, u32 pitch)
{
#pragma unroll 4
    for (u32 n = thread_x(); n < ROWS * BN; n += THREADS) {
        u32 r = SWAP ? n % ROWS : n / BN, f = SWAP ? n / ROWS : n % BN;
        if (row + r >= rows || few + f >= fews)
            continue;
        const acc_t *from = sums + (r / BM * KWARPS * BM + r % BM) * PITCH + f;
        acc_t sum = from[0];
#pragma unroll
        for (u32 w = 1; w < KWARPS; w++)
            sum += from[w * (BM * PITCH)];
        u32 y = SWAP ? few + f : row + r, x = SWAP ? row + r : few + f;
        out[(u64)y * pitch + x] = TO_OUT(finished(sum, bias, x));
    }
}

// --- the kernel
kernel block(THREADS) void gemm(const in_t *a, const in_t *b, out_t *out,
#if HAS_BIAS
                                const f32 *bias,
#endif
                                u32 m, u32 n, u32 k, u32 a_stride, u32 b_stride, u32 out_stride, u64 a_batch, u64 b_batch,
                                u64 out_batch)
{
    u64 batch = block_y();
    u32 begin = 0, end = k;
#if !HAS_BIAS
    const f32 *bias = (const f32 *)0;
#endif
    if (HAS_PARTS) {
        u32 part = block_z(), all = (k + CHUNK - 1) / CHUNK;
        begin = (u32)((u64)all * part / grid_dim_z()) * CHUNK;
        end = min((u32)((u64)all * (part + 1) / grid_dim_z()) * CHUNK, k);
        out += part * ((u64)m * out_stride);
    }
    a += batch * a_batch;
    b += batch * b_batch;
    u32 rows = SWAP ? n : m, fews = SWAP ? m : n, few_tiles = (fews + BN - 1) / BN;
    u32 row = block_x() / few_tiles * ROWS, column = block_x() % few_tiles * BN;
    // A warp always loads BM rows, where there are as many: the last one some that another has, too.
    u32 first = row + warp() / KWARPS * BM, start = rows < BM ? first : min(first, rows - BM);
    operand many = operand_of(SWAP ? b : a, LONG_IS_MN, rows, SWAP ? b_stride : a_stride, k);
    operand few = operand_of(SWAP ? a : b, FEW_IS_MN, fews, SWAP ? a_stride : b_stride, k);
    acc_t acc[BM / 16][FEWS][4];
#pragma unroll
    for (u32 tile = 0; tile < BM / 16; tile++)
#pragma unroll
        for (u32 i = 0; i < FEWS; i++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                acc[tile][i][e] = 0;
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
    begin += warp() % KWARPS * CHUNK;
    if (first < rows && begin < end) {
        loaded now, next;
        for (u32 at = begin; at < end + AHEAD * KWARPS * CHUNK; at += KWARPS * CHUNK) {
            if (at < end)
                load(AHEAD ? &next : &now, many, start, few, column, at, end);
            if (at >= begin + AHEAD * KWARPS * CHUNK)
                multiply(&acc, &now);
            if (AHEAD)
                now = next;
        }
    }
    keep_sums(&acc, first - start);
    barrier();
    store(out + batch * out_batch, bias, row, column, rows, fews, out_stride);
}
