// The epilogues of gemm_sm90.c through slabs: from accumulators to the result in memory. A slab is 128
// bytes wide; the warps of a warpgroup have two each, of 16 rows. For a transposed result of 16 bits
// (SWAP) the warpgroup has two, of 64 rows. With IS_ASYNC the copy engine takes slabs to memory, which
// leaves the multiplying warpgroup of a ping-pong kernel more of the multiprocessor; without it the
// threads do.
//
// store_block stores at once. defer_block keeps results, rounded to 16 bits, in registers, and
// store_deferred stores them while the next tile is multiplied (DEFERRED, needs IS_ASYNC).

typedef struct destination {
    out_t *out;                       // the result,
    const tensor_map *map, *tail_map; // or with IS_ASYNC its maps: whole slabs, tails
    const f32 *bias;
    u32 row, column, rows, columns; // the origin of a tile or of 64 rows of it; the result's size
    u32 pitch;                      // from one row of the result in memory to the next
} destination;

// The first column of slab n in a tile of `width` columns (BN or NARROW_BN). The copy engine takes
// whole slabs: the last one begins before the end of the one before, and stores some columns again.
static u32 slab_column(u32 n, u32 width)
{
    u32 column = n * SLAB_N;
    return IS_ASYNC && column + SLAB_N > width ? width - SLAB_N : column;
}

// A team of threads has two slabs: a warp; transposed: a warpgroup.
enum { TEAM = IS_TRANSPOSED ? 128 : 32, SLAB_BYTES = IS_TRANSPOSED ? sizeof(group_slab) : sizeof(slab) };

static u8 *own_slabs(void)
{
    return smem->staging + warp() / (TEAM / 32) * (2 * SLAB_BYTES);
}

// --- bias and activation
// The bias of a lane's numbers in eight columns j of the accumulators: of its two columns, or, where
// rows of the accumulators are columns of the result, of its two rows.
static f32x2 load_bias(destination to, u32 j, u32 width)
{
    f32x2 b = {0.0f, 0.0f};
    u32 first = HAS_TAIL && j * 8 >= WHOLE ? tail_at(to.column) - WHOLE : whole_at(to.column);
    u32 column = first + j * 8 + lane() % 4 * 2, row = to.row + warp() % 4 * 16 + lane() / 4;
    if (!HAS_BIAS)
        return b;
    if (IS_TRANSPOSED) {
        b.x = row < to.rows ? to.bias[row] : 0.0f;
        b.y = row + 8 < to.rows ? to.bias[row + 8] : 0.0f;
    } else if (IS_LOOSE && j * 8 < width) {
        b.x = column < to.columns ? to.bias[column] : 0.0f;
        b.y = column + 1 < to.columns ? to.bias[column + 1] : 0.0f;
    } else if (column < to.columns && j * 8 < width)
        b = *(const f32x2 *)(to.bias + column);
    return b;
}

static void apply_epilogue(acc_t (*acc)[BN / 2], u32 j, f32x2 b)
{
#pragma unroll
    for (u32 i = 0; HAS_BIAS && i < 4; i++) {
        bool second = IS_TRANSPOSED ? i / 2 : i % 2;
        (*acc)[j * 4 + i] = (acc_t)epilogue((f32)(*acc)[j * 4 + i], second ? b.y : b.x);
    }
}

typedef struct biases { // of a slab
    f32x2 at[SLAB_N / 8];
} biases;

static biases load_biases(destination to, u32 n, u32 width)
{
    biases b;
    f32x2 of_rows = load_bias(to, 0, width);
#pragma unroll
    for (u32 j = 0; j < SLAB_N / 8; j++)
        b.at[j] = IS_TRANSPOSED ? of_rows : load_bias(to, slab_column(n, width) / 8 + j, width);
    return b;
}

// --- registers to a slab
static void put_fragment(u8 *at, u32 u, const u32 (*words)[4])
{
    if (IS_TRANSPOSED)
        tile_put_transposed((group_slab *)at, u * 16, warp() % 4 * 16, *words);
    else
        tile_put((slab *)at, 0, u * 16, *words);
}

static void fill_slab(acc_t (*acc)[BN / 2], u32 n, const biases *b, u8 *at, u32 width)
{
    u32 first = slab_column(n, width);
#pragma unroll
    for (u32 j = 0; j < SLAB_N / 8; j++) // unless the slab before had them
        if (first + j * 8 >= n * SLAB_N && first + j * 8 < width)
            apply_epilogue(acc, first / 8 + j, b->at[j]);
#if defined(PACK)
#pragma unroll
    for (u32 u = 0; u < 4; u++) {
        if (first + u * 16 >= width)
            break;
        u32 words[4] = acc_words(PACK, &(*acc)[first / 2 + u * 8]);
        put_fragment(at, u, &words);
    }
#else
    tile_put_32((slab *)at, &(*acc)[first / 2]);
#endif
}

// --- a slab to memory
// By the copy engine; `first` is the slab's column in the tile.
static void send_slab(destination to, u32 first, u8 *at)
{
    if (IS_TRANSPOSED)
        tile_store(to.map, to.row, to.column + first, (group_slab *)at);
    else
        tile_store(to.map, whole_at(to.column) + first, to.row, (slab *)at);
}

// By the team that wrote it.
static void copy_slab(destination to, u32 n, u8 *at, u32 width)
{
    u32 first = n * SLAB_N, rest = min(width - first, (u32)SLAB_N);
    u32 lines = IS_TRANSPOSED ? rest : 16, columns = IS_TRANSPOSED ? SLAB_N : rest;
    tile_place place = IS_TRANSPOSED ? (tile_place){to.column + first, to.row, to.columns, to.rows}
                                     : (tile_place){to.row, to.column + first, to.rows, to.columns};
    if (IS_LOOSE)
        tile_copy_loose((slab *)at, lines, columns, to.out, to.pitch, place, TEAM);
    else
        tile_copy((slab *)at, lines, columns, to.out, to.pitch, place, TEAM);
}

// `to` is the origin of a warpgroup's 64 rows.
static void store_block(acc_t (*acc)[BN / 2], destination to, u32 width)
{
    u8 *slabs = own_slabs();
    bool storer = thread_x() % TEAM == 0; // gives slabs to the copy engine
    if (!IS_TRANSPOSED)
        to.row += warp() % 4 * 16;
    biases now = load_biases(to, 0, width);
    if (IS_ASYNC && storer)
        bulk_wait_read(0);
    team_sync(TEAM);
#pragma unroll
    for (u32 n = 0; n < (width + SLAB_N - 1) / SLAB_N; n++) {
        u8 *at = slabs + n % 2 * SLAB_BYTES;
        biases next = load_biases(to, n + 1, width);
        if (IS_ASYNC && n >= 2) {
            if (storer)
                bulk_wait_read(1);
            team_sync(TEAM);
        }
        fill_slab(acc, n, &now, at, width);
        if (IS_ASYNC)
            fence_async();
        team_sync(TEAM);
        if (IS_ASYNC && storer)
            send_slab(to, slab_column(n, width), at);
        else if (!IS_ASYNC)
            copy_slab(to, n, at, width);
        if (!IS_TRANSPOSED)
            now = PINGPONG ? load_biases(to, n + 1, width) : next; // registers are scarce there
    }
}

// --- deferred
enum { DEFERRED_SLABS = (BN + SLAB_N - 1) / SLAB_N };

typedef struct deferred {
    u32 words[BN / 4]; // two results each
    destination to;
} deferred;

static void defer_block(acc_t (*acc)[BN / 2], destination to, deferred *d)
{
    d->to = to;
    if (!IS_TRANSPOSED)
        d->to.row += warp() % 4 * 16;
#if defined(PACK)
    f32x2 of_rows = load_bias(to, 0, BN);
#pragma unroll
    for (u32 j = 0; j < BN / 8; j++) {
        apply_epilogue(acc, j, IS_TRANSPOSED ? of_rows : load_bias(to, j, BN));
        d->words[j * 2] = PACK((*acc)[j * 4], (*acc)[j * 4 + 1]);
        d->words[j * 2 + 1] = PACK((*acc)[j * 4 + 2], (*acc)[j * 4 + 3]);
    }
#endif
}

// The TAIL columns of a slab. Their map has no more; at the end of the result the other map cuts the
// rest off.
static void send_tail(destination to, const u8 *at)
{
    u32 column = tail_at(to.column);
    if (column + TAIL > to.columns)
        tensor_store_2d(to.map, (i32)column, (i32)to.row, at);
    else
        tensor_store_3d(to.tail_map, 0, (i32)(column / 16), (i32)to.row, at);
    bulk_commit();
}

// Slabs from `from` up to `end`.
static void store_deferred(deferred *d, u32 from, u32 end)
{
#pragma unroll
    for (u32 n = 0; n < DEFERRED_SLABS; n++)
        if (n >= from && n < end) {
            bool storer = thread_x() % TEAM == 0, is_tail = HAS_TAIL && n * 64 == WHOLE;
            u32 first = HAS_TAIL ? n * 64 : slab_column(n, BN);
            u8 *at = own_slabs() + n % 2 * SLAB_BYTES;
            if (storer)
                bulk_wait_read(0);
            team_sync(TEAM);
#pragma unroll
            for (u32 u = 0; u < (is_tail ? TAIL / 16 : 4u); u++)
                put_fragment(at, u, (const u32(*)[4]) & d->words[first / 4 + u * 4]);
            fence_async();
            team_sync(TEAM);
            if (storer && is_tail)
                send_tail(d->to, at);
            else if (storer)
                send_slab(d->to, first, at);
        }
}
