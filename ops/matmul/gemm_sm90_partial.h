// Epilogues of gemm_sm90.c through a whole tile in shared memory: partial sums of K (SPLIT_K), and
// transposed results that stmatrix does not transpose. Each block of a cluster gets its share of the
// lines from the others and adds in the order of K, so the result is the same every time.

enum {
    LINES = SWAP ? BN : BM, // of the result, in a tile
    LINE = SWAP ? BM : BN,  // numbers
    SWIZZLE = LINE % 32 == 0 ? 3 : LINE % 16 == 0,
    PARTIAL = LINES * LINE,
    SHARE_LINES = LINES / SPLIT_K, // that one block adds up
    SHARE = SHARE_LINES * LINE
};

// Where a number is: the eights of a line are permuted, so that lanes keep off each other's banks.
static u32 partial_index(u32 line, u32 at)
{
    return line * LINE + (at ^ ((SWAP ? line / 2 : line) & SWIZZLE) * 8);
}

// first_row is that of 64 rows, 16 of which are this warp's.
static void put_partial(acc_t (*acc)[BN / 2], u32 first_row, acc_t *partial)
{
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++) {
        u32 row = first_row + acc_row(0) + i / 2 % 2 * 8, column = acc_column(0) + i / 4 * 8, second = i % 2;
        partial[SWAP ? partial_index(column + second, row) : partial_index(row, column) + second] = (*acc)[i];
    }
}

enum { SIZE = 16 / sizeof(out_t), IN_LINE = LINE / SIZE };

// SIZE sums, 16 bytes of a row of the result.
static void store_sums(out_t *out, acc4 (*sum)[SIZE / 4], const f32 *bias)
{
#if HAS_BIAS
#pragma unroll
    for (u32 i = 0; i < SIZE / 4; i++) {
        f32x4 b = *(const f32x4 *)(bias + i * 4);
        acc4 x = (*sum)[i];
        (*sum)[i] = (acc4){epilogue(x.x, b.x), epilogue(x.y, b.y), epilogue(x.z, b.z), epilogue(x.w, b.w)};
    }
#endif
#if defined(PACK)
    acc4 low = (*sum)[0], high = (*sum)[1];
    *(u32x4 *)out = (u32x4){PACK(low.x, low.y), PACK(low.z, low.w), PACK(high.x, high.y), PACK(high.z, high.w)};
#else
    *(acc4 *)out = (*sum)[0];
#endif
}

// `count` of SIZE sums, to wherever a row of the result begins.
static void store_loose(out_t *out, acc4 (*sum)[SIZE / 4], u32 count, const f32 *bias)
{
#pragma unroll
    for (u32 i = 0; i < SIZE; i++) {
        acc4 four = (*sum)[i / 4];
        acc_t x = i % 4 == 0 ? four.x : i % 4 == 1 ? four.y : i % 4 == 2 ? four.z : four.w;
        if (i >= count)
            break;
        out[i] = TO_OUT(finished(x, bias, i));
    }
}

// Share `rank` of a tile, 16 bytes of the result at a time. Behind this block's partial sums lie the
// shares that came from the others.
static void store_share(destination to, const acc_t *partial, u32 rank)
{
    u32 rows = SWAP ? to.columns : to.rows, columns = SWAP ? to.rows : to.columns;
    for (u32 g = thread_x(); g < SHARE_LINES * IN_LINE; g += WGS * 128) {
        u32 line = rank * SHARE_LINES + g / IN_LINE, at = g % IN_LINE * SIZE;
        u32 row = (SWAP ? to.column : to.row) + line, column = (SWAP ? to.row : to.column) + at;
        u32 inside = partial_index(line, at) - rank * SHARE;
        acc4 sum[SIZE / 4];
#pragma unroll
        for (u32 s = 0; s < SPLIT_K; s++) {
            const acc_t *from = partial + (s == rank ? 0 : PARTIAL) + s * SHARE + inside;
#pragma unroll
            for (u32 i = 0; i < SIZE / 4; i++) {
                acc4 v = *(const acc4 *)(from + i * 4);
                sum[i] = s ? plus(sum[i], v) : v;
            }
        }
        if (row < rows && column < columns) {
            out_t *out = to.out + (u64)row * to.pitch + column;
            if (IS_LOOSE)
                store_loose(out, &sum, min(columns - column, (u32)SIZE), to.bias + column);
            else
                store_sums(out, &sum, to.bias + column);
        }
    }
}

// Adds the partial sums of the cluster's blocks.
static void add_partials(destination to, schedule w)
{
    acc_t *partial = (acc_t *)smem->staging;
    warp_sync();
    cluster_wait(); // all of them have begun
    if (warp() < WGS * 4) {
        u32x2 at = tile_origin(first_tile(), w);
        u32 rank = thread_x();
        to.row = at.x;
        to.column = at.y;
        fence_async();
        barrier_sync(1, WGS * 128);
        if (rank < SPLIT_K && rank != w.rank)
            bulk_send(partial + PARTIAL + w.rank * SHARE, partial + rank * SHARE, SHARE * 4, &smem->turn[0], rank);
        mbarrier_wait(&smem->turn[0], 0);
        store_share(to, partial, w.rank);
    }
}

// --- the epilogue of one tile, whichever it is; `width` is BN or NARROW_BN
static void store_tile(accumulators *acc, destination to, u32 width)
{
    acc_t *partial = (acc_t *)smem->staging;
    u32 first = PINGPONG ? 0 : warp() / 4 * BLOCKS * 64; // of this warpgroup's rows
#pragma unroll
    for (u32 i = 0; i < BLOCKS; i++) {
        destination own = to;
        own.row += first + i * 64;
        if (IS_PARTIAL)
            put_partial(&(*acc)[i], first + i * 64, partial);
        else
            store_block(&(*acc)[i], own, width);
    }
    if (IS_PARTIAL && SPLIT_K == 1) {
        barrier_sync(1, WGS * 128);
        store_share(to, partial, 0);
        barrier_sync(1, WGS * 128);
    }
}
