// The ways out of gemm_sm90.c: from accumulators to the result in memory. Each warp has 16 rows of
// each of its tiles of 64.
//
// store_tile: through two slabs of a warp's own, for a whole sum that lies as the result does.
// store_turned: through two slabs of a warpgroup's own, for a result of 16 bits that is stored
// transposed (SWAP).
// With -D ASYNC_OUT the copy engine takes the slabs of both to memory, which leaves the multiplying
// warpgroup of a ping-pong kernel more of the multiprocessor; without, the threads do.
// put_part, store_share: through a tile in shared memory, for other transposed results and for sums
// that are spread over the blocks of a cluster (SPLIT_K): each block gets its share of the lines from
// the others, and adds in the order of K, so the result is the same every time.
#ifndef KILN_GEMM_SM90_OUT_H
#define KILN_GEMM_SM90_OUT_H

#if defined(ASYNC_OUT)
enum { IS_ASYNC = 1 };
#else
enum { IS_ASYNC = 0 };
#endif

enum {
    SLAB = 2048,                      // 16 rows of 128 bytes
    OUT_BYTES = sizeof(out_t),
    COLUMNS = 128 / OUT_BYTES,        // of a slab
    IS_TURNED = SWAP && SPLIT_K == 1 && OUT_BYTES == 2 && BN % 16 == 0,
    HAS_PARTS = (SWAP || SPLIT_K > 1) && !IS_TURNED,
    // A tile in shared memory
    LINES = SWAP ? BN : BM,
    LINE = SWAP ? BM : BN,            // numbers
    TURNS = LINE % 32 == 0 ? 3 : LINE % 16 == 0,
    PART = LINES * LINE,
    SHARE_LINES = LINES / SPLIT_K,    // that one block adds up
    SHARE = SHARE_LINES * LINE,
    WAY_OUT_BYTES = HAS_PARTS ? PART * (SPLIT_K > 1 ? 8 : 4) : WGS * 4 * 2 * SLAB
};

// A B that is read across K is loaded by 64 columns; where these do not begin at a multiple of 64, each of
// their rows lies in two lines of memory. With HAS_TAIL they always do: the columns of a tile that are left
// over, its tail, are loaded by themselves. Each second tile has its tail in front; in shared memory and
// in the accumulators it always comes last.
enum { WHOLE = BN / 64 * 64, TAIL = BN - WHOLE };

// Where those multiples of 64 begin of the tile that begins at `column`.
static u32 whole_at(u32 column)
{
    return HAS_TAIL ? (column + 63) / 64 * 64 : column;
}

static u32 tail_at(u32 column)
{
    return column % 64 ? column : column + WHOLE;
}

typedef struct corner { // where a part of the result begins
    out_t *out;               // the result,
    const tensor_map *result; // or with IS_ASYNC its map,
    const tensor_map *tail;   // and that for tails
    const f32 *bias;
    u32 row, column, rows, columns;
} corner;

// --- through a slab
// The first column of one, in a tile of `width` columns (BN or NARROW). The copy engine takes whole slabs:
// its last one begins before the end of the one before, and brings some columns again.
static u32 slab_column(u32 chunk, u32 width)
{
    u32 column = chunk * COLUMNS;
    return IS_ASYNC && column + COLUMNS > width ? width - COLUMNS : column;
}

// Waits until the copy engine has read what this thread gave it; without is_all the last slab may
// still be there.
static void wait_for_slabs(bool is_giver, bool is_all)
{
    if (!IS_ASYNC || !is_giver)
        return;
    if (is_all)
        bulk_wait_read(0);
    else
        bulk_wait_read(1);
}

static void give_slab(const tensor_map *result, u32 column, u32 row, const u8 *slab)
{
    tensor_store_2d(result, (i32)column, (i32)row, slab);
    bulk_commit();
}

typedef struct biases { // of a lane's columns of a slab
    f32x2 at[COLUMNS / 8];
} biases;

static biases load_biases(corner c, u32 chunk, u32 width)
{
    biases b;
#if HAS_BIAS
#pragma unroll
    for (u32 j = 0; j < COLUMNS / 8; j++) {
        u32 n = c.column + slab_column(chunk, width) + j * 8 + lane() % 4 * 2;
        b.at[j] = (f32x2){0.0f, 0.0f};
        if (n < c.columns && slab_column(chunk, width) + j * 8 < width)
            b.at[j] = *(const f32x2 *)(c.bias + n);
    }
#endif
    return b;
}

// The eight columns j of a slab, unless the slab before has finished them.
static void finish_columns(acc_t (*acc)[BN / 2], u32 chunk, u32 j, const biases *b, u32 width)
{
#if HAS_BIAS
    if (slab_column(chunk, width) + j * 8 < chunk * COLUMNS)
        return;
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        acc_t *at = &(*acc)[slab_column(chunk, width) / 2 + j * 4 + h * 2];
        at[0] = finish(at[0], b->at[j].x);
        at[1] = finish(at[1], b->at[j].y);
    }
#endif
}

// Registers to the slab, in 16-byte granules that are permuted within eight rows: no bank conflicts.
static void fill_slab(acc_t (*acc)[BN / 2], u32 chunk, const biases *b, u8 *slab, u32 width)
{
#if defined(PACK)
#pragma unroll
    for (u32 u = 0; u < 4; u++) {
        if (slab_column(chunk, width) + u * 16 < width) {
            acc_t *from = &(*acc)[slab_column(chunk, width) / 2 + u * 8];
            u32 words[4];
            finish_columns(acc, chunk, 2 * u, b, width);
            finish_columns(acc, chunk, 2 * u + 1, b, width);
#pragma unroll
            for (u32 x = 0; x < 4; x++)
                words[x] = PACK(from[2 * x], from[2 * x + 1]);
            stmatrix(slab + lane() % 16 * 128 + (((lane() / 16 + 2 * u) ^ (lane() & 7)) * 16), words);
        }
    }
#else
    u32 row = lane() / 4, pair = lane() % 4, odd = row & 1;
#pragma unroll
    for (u32 j = 0; j < 4; j++)
        finish_columns(acc, chunk, j, b, width);
#pragma unroll
    for (u32 j = 0; j < 4; j++) { // odd rows take column block j ^ 2 when even rows take j
        u32 granule = ((2 * j + pair / 2) ^ (odd * 4)) ^ row;
        u8 *to = slab + row * 128 + granule * 16 + pair % 2 * 8;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            acc_t *even_at = &(*acc)[slab_column(chunk, width) / 2 + j * 4 + h * 2];
            acc_t *odd_at = &(*acc)[slab_column(chunk, width) / 2 + (j ^ 2) * 4 + h * 2];
            acc_t x = odd ? odd_at[0] : even_at[0], y = odd ? odd_at[1] : even_at[1];
            ((acc_t *)(to + h * 1024))[0] = x;
            ((acc_t *)(to + h * 1024))[1] = y;
        }
    }
#endif
}

// Where a lane's 16 bytes of rows lane / 8, + 4, + 8, + 12 go.
typedef struct way_out {
    out_t *to;
    u64 step; // from one of its rows to the next
    u32 rows, column, columns;
} way_out;

static way_out way_out_of(corner c)
{
    u32 row = c.row + lane() / 8, column = lane() % 8 * (16 / OUT_BYTES);
    return (way_out){.to = c.out + (u64)row * c.columns + c.column + column,
                     .step = (u64)c.columns * 4,
                     .rows = c.rows - min(row, c.rows), // that are left
                     .column = column,
                     .columns = c.columns - min(c.column, c.columns)};
}

static void empty_slab(const way_out *w, u32 chunk, const u8 *slab, u32 width)
{
    u32 column = chunk * COLUMNS + w->column;
    bool is_filled = width % COLUMNS == 0 || column < width; // the last slab may be narrower
    bool is_in = column < w->columns && is_filled;
#pragma unroll
    for (u32 q = 0; q < 4; q++) {
        u32 row = q * 4 + lane() / 8;
        u32x4 v = {0, 0, 0, 0};
        if (is_filled)
            v = *(const u32x4 *)(slab + row * 128 + (((lane() & 7) ^ (row & 7)) * 16));
        if (is_in && q * 4 < w->rows)
            *(u32x4 *)(w->to + q * w->step + chunk * COLUMNS) = v;
    }
}

// c is the corner of 64 rows, 16 of which are this warp's.
static void store_tile(acc_t (*acc)[BN / 2], corner c, u8 *slabs, u32 width)
{
    slabs += warp() % 4 * 2 * SLAB;
    c.row += warp() % 4 * 16;
    way_out w = way_out_of(c);
    biases now = load_biases(c, 0, width);
    wait_for_slabs(lane() == 0, true);
    warp_sync();
#pragma unroll
    for (u32 chunk = 0; chunk < (width + COLUMNS - 1) / COLUMNS; chunk++) {
        u8 *slab = slabs + chunk % 2 * SLAB;
        biases next = load_biases(c, chunk + 1, width);
        if (IS_ASYNC && chunk >= 2) {
            wait_for_slabs(lane() == 0, false);
            warp_sync();
        }
        fill_slab(acc, chunk, &now, slab, width);
        if (IS_ASYNC)
            fence_async();
        warp_sync();
        if (!IS_ASYNC)
            empty_slab(&w, chunk, slab, width);
        else if (lane() == 0)
            give_slab(c.result, c.column + slab_column(chunk, width), c.row, slab);
        now = PINGPONG ? load_biases(c, chunk + 1, width) : next; // registers are scarce there
    }
}

// --- through a slab of a warpgroup: 64 rows of the result, 64 of its columns
static void fill_turned(acc_t (*acc)[BN / 2], u32 chunk, f32x2 bias, u8 *slab, u32 width)
{
#if defined(PACK)
#pragma unroll
    for (u32 u = 0; u < 4; u++) {
        if (slab_column(chunk, width) + u * 16 < width) {
            u32 words[4], row = u * 16 + lane() / 16 * 8 + lane() % 8;
#pragma unroll
            for (u32 x = 0; x < 4; x++) {
                acc_t *at = &(*acc)[slab_column(chunk, width) / 2 + u * 8 + 2 * x];
#if HAS_BIAS
                words[x] = PACK(finish(at[0], x % 2 ? bias.y : bias.x), finish(at[1], x % 2 ? bias.y : bias.x));
#else
                words[x] = PACK(at[0], at[1]);
#endif
            }
            stmatrix_transposed(slab + row * 128 + ((warp() % 4 * 2 + lane() / 8 % 2) ^ (lane() % 8)) * 16, words);
        }
    }
#endif
}

// c is the corner of 64 rows of the accumulators, which are columns of the result.
static void store_turned(acc_t (*acc)[BN / 2], corner c, u8 *slabs, u32 width)
{
    u32 t = thread_x() % 128, own = c.row + warp() % 4 * 16 + lane() / 4, column = c.row + t % 8 * 8;
    f32x2 bias = {0.0f, 0.0f};
#if HAS_BIAS
    bias.x = own < c.rows ? c.bias[own] : 0.0f;
    bias.y = own + 8 < c.rows ? c.bias[own + 8] : 0.0f;
#endif
    wait_for_slabs(t == 0, true);
    barrier_sync(1 + warp() / 4, 128);
#pragma unroll
    for (u32 chunk = 0; chunk < (width + 63) / 64; chunk++) {
        u8 *slab = slabs + chunk % 2 * 4 * SLAB;
        if (IS_ASYNC && chunk >= 2) {
            wait_for_slabs(t == 0, false);
            barrier_sync(1 + warp() / 4, 128);
        }
        fill_turned(acc, chunk, bias, slab, width);
        if (IS_ASYNC)
            fence_async();
        barrier_sync(1 + warp() / 4, 128);
        if (IS_ASYNC && t == 0)
            give_slab(c.result, c.row, c.column + slab_column(chunk, width), slab);
#pragma unroll
        for (u32 q = 0; q < 4; q++) {
            u32 line = q * 16 + t / 8, row = c.column + chunk * 64 + line;
            if (!IS_ASYNC && chunk * 64 + q * 16 < width && row < c.columns && column < c.rows)
                *(u32x4 *)(c.out + (u64)row * c.rows + column) =
                    *(const u32x4 *)(slab + line * 128 + (t % 8 ^ line % 8) * 16);
        }
    }
}

// --- through a tile in shared memory
// Where a number is: the eights of a line are permuted, so that lanes keep off each other's banks.
static u32 place_of(u32 line, u32 at)
{
    return line * LINE + (at ^ ((SWAP ? line / 2 : line) & TURNS) * 8);
}

// first_row is that of 64 rows, 16 of which are this warp's.
static void put_part(acc_t (*acc)[BN / 2], u32 first_row, acc_t *part)
{
    first_row += warp() % 4 * 16;
#pragma unroll
    for (u32 j = 0; j < BN / 8; j++)
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            u32 row = first_row + lane() / 4 + h * 8, column = j * 8 + lane() % 4 * 2;
            acc_t *at = &(*acc)[j * 4 + h * 2];
            part[SWAP ? place_of(column, row) : place_of(row, column)] = at[0];
            part[SWAP ? place_of(column + 1, row) : place_of(row, column) + 1] = at[1];
        }
}

#if defined(TYPE_s8)
typedef i32x4 acc4;
#else
typedef f32x4 acc4;
#endif

// Four numbers of the result, of one row.
static acc4 finish4(acc4 x, const f32 *bias)
{
#if HAS_BIAS
    f32x4 b = *(const f32x4 *)bias;
    x = (acc4){finish(x.x, b.x), finish(x.y, b.y), finish(x.z, b.z), finish(x.w, b.w)};
#endif
    return x;
}

// Each of the others gets its share of this block's part.
static void send_shares(acc_t *part, u32 self, mbarrier *received)
{
    u32 to = thread_x();
    if (to < SPLIT_K && to != self)
        bulk_send(part + PART + self * SHARE, part + to * SHARE, SHARE * 4, received, to);
}

// Share `self` of a tile, 16 bytes of the result at a time. Behind this block's part lie the shares
// that came from the others.
static void store_share(corner c, const acc_t *part, u32 self)
{
    enum { SIZE = 16 / OUT_BYTES, IN_LINE = LINE / SIZE };
    u32 rows = SWAP ? c.columns : c.rows, columns = SWAP ? c.rows : c.columns;
    for (u32 g = thread_x(); g < SHARE_LINES * IN_LINE; g += WGS * 128) {
        u32 line = self * SHARE_LINES + g / IN_LINE, at = g % IN_LINE * SIZE;
        u32 row = (SWAP ? c.column : c.row) + line, column = (SWAP ? c.row : c.column) + at;
        u32 inside = place_of(line, at) - self * SHARE;
        acc4 sum[SIZE / 4];
#pragma unroll
        for (u32 s = 0; s < SPLIT_K; s++) {
            const acc_t *from = part + (s == self ? 0 : PART) + s * SHARE + inside;
#pragma unroll
            for (u32 i = 0; i < SIZE / 4; i++) {
                acc4 v = *(const acc4 *)(from + i * 4);
                sum[i] = s ? (acc4){sum[i].x + v.x, sum[i].y + v.y, sum[i].z + v.z, sum[i].w + v.w} : v;
            }
        }
        if (row < rows && column < columns) {
            out_t *to = c.out + (u64)row * columns + column;
#pragma unroll
            for (u32 i = 0; i < SIZE / 4; i++)
                sum[i] = finish4(sum[i], c.bias + column + i * 4);
#if defined(PACK)
            *(u32x4 *)to = (u32x4){PACK(sum[0].x, sum[0].y), PACK(sum[0].z, sum[0].w),
                                   PACK(sum[1].x, sum[1].y), PACK(sum[1].z, sum[1].w)};
#else
            *(acc4 *)to = sum[0];
#endif
        }
    }
}

#endif
