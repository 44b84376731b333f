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
typedef struct raw { // the 32 aligned bytes around a piece that starts anywhere
    u32x4 low, high;
} raw;

static u32 rest_of(u32 size, u32 at)
{
    return size > at ? size - at : 0;
}

static u64 place_of(operand x, u32 line, u32 number)
{
    return line * (u64)x.pitch + number;
}

// Piece i of a lane: lane 4 * g + t has, of rows contiguous along K, those of each eight that are g, from 16 bytes * t on; of
// rows contiguous across K (MN) eight neighbours from 8 * g on, and eight numbers of K from 8 * t on. Rows behind the last
// one are not stored in the end: the last takes their place. A piece without a number is that of another lane.
static const raw_t *piece_of(operand x, bool is_mn, u32 row, u32 k, u32 depth, u32 i)
{
    u32 g = lane() / 4, t = lane() % 4, first = k + t * PIECE;
    return x.at + (is_mn ? place_of(x, min(k + t * 8 + i, depth - 1), row + g * 8)
                         : place_of(x, min(row + i * 8 + g, x.rows - 1), first < depth ? first : k));
}

// How many numbers of it count.
static u32 count_of(operand x, bool is_mn, u32 row, u32 k, u32 depth, u32 i)
{
    u32 t = lane() % 4;
    if (is_mn)
        return k + t * 8 + i < depth ? min(rest_of(x.rows, row + lane() / 4 * 8), (u32)PIECE) : 0;
    return min(rest_of(depth, k + t * PIECE), (u32)PIECE);
}

// Are all 32 bytes around the warp's pieces inside the matrix?
static bool is_whole(operand x, bool is_mn, u32 eights, u32 row, u32 k, u32 depth)
{
    u32 end = min(k + CHUNK, depth), last = min(row + eights * 8 - 1, x.rows - 1);
    if (!SHIFTED || (is_mn && x.rows < BM))
        return false;
    return is_mn ? is_inside(x, place_of(x, k, row), place_of(x, end - 1, row + BM - 8))
                 : is_inside(x, place_of(x, row, k), place_of(x, last, (end - 1) / PIECE * PIECE));
}

static void fetch(raw *to, operand x, bool is_mn, u32 eights, u32 row, u32 k, u32 depth)
{
#pragma unroll
    for (u32 i = 0; i < eights; i++) {
        const u8 *at = (const u8 *)piece_of(x, is_mn, row, k, depth, i);
        const u32x4 *from = (const u32x4 *)(at - ((u64)at & 15));
        to[i].low = from[0];
        to[i].high = from[1];
    }
}

// The piece that starts `skipped` bytes behind the first of the 32.
static void shift(u32 *to, const raw *from, u32 skipped)
{
    u32 w[8] = {from->low.x,  from->low.y,  from->low.z,  from->low.w,
                from->high.x, from->high.y, from->high.z, from->high.w};
#pragma unroll
    for (u32 i = 0; i < 6; i++)
        w[i] = skipped & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (u32 i = 0; i < 5; i++)
        w[i] = skipped & 4 ? w[i + 1] : w[i];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        to[i] = (u32)(((u64)w[i + 1] << 32 | w[i]) >> (skipped % 4 * 8));
}

// What is left of word w of a piece of which `count` numbers count.
static u32 mask_of(u32 count, u32 w)
{
    u32 own = min(rest_of(count * SIZE * 8, w * 32), 32u);
    return own == 32 ? ~0u : (1u << own) - 1;
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

// The pieces of an operand; `from` has the bytes around them, where it is whole.
static void load_pieces(u32 (*to)[4], const raw *from, bool is_whole, operand x, bool is_mn, u32 eights, u32 row, u32 k,
                        u32 depth)
{
    if (SHIFTED && is_whole) {
#pragma unroll
        for (u32 i = 0; i < eights; i++)
            shift(to[i], &from[i], (u32)((u64)piece_of(x, is_mn, row, k, depth, i) & 15));
        if (k + CHUNK > depth)
#pragma unroll
            for (u32 i = 0; i < eights; i++)
#pragma unroll
                for (u32 w = 0; w < 4; w++)
                    to[i][w] &= mask_of(count_of(x, is_mn, row, k, depth, i), w);
    } else {
#pragma unroll
        for (u32 i = 0; i < eights; i++) {
            const raw_t *at = piece_of(x, is_mn, row, k, depth, i);
            u32 count = count_of(x, is_mn, row, k, depth, i);
            if (ALIGNED)
                load_whole(to[i], at, count > 0);
            else
                load_single(to[i], at, 1, count);
        }
    }
}

// All loads are under way before the first is waited for. There is one copy of each: a short sum takes as long as its
// instructions take to come.
static void load(loaded *to, operand many, u32 row, operand few, u32 column, u32 k, u32 depth)
{
    raw around_many[8], around_few[FEWS];
    bool many_is_whole = is_whole(many, LONG_IS_MN, 8, row, k, depth);
    bool few_is_whole = !FEW_IS_MN && is_whole(few, false, FEWS, column, k, depth);
    if (many_is_whole)
        fetch(around_many, many, LONG_IS_MN, 8, row, k, depth);
    if (few_is_whole)
        fetch(around_few, few, false, FEWS, column, k, depth);
    if (!SHIFTED)
        load_pieces(to->many, around_many, false, many, LONG_IS_MN, 8, row, k, depth);
#pragma unroll
    for (u32 i = 0; FEW_IS_MN && i < FEWS; i++) {
        u32 line = min(column + i * 8 + lane() / 4, few.rows - 1), at = k + lane() % 4 * PIECE;
        load_single(to->few[i], few.at + place_of(few, at, line), few.pitch, rest_of(depth, at));
    }
    if (SHIFTED)
        load_pieces(to->many, around_many, many_is_whole, many, LONG_IS_MN, 8, row, k, depth);
    if (!FEW_IS_MN)
        load_pieces(to->few, around_few, few_is_whole, few, false, FEWS, column, k, depth);
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
