// Which tiles a block of gemm_sm90.c works on, and its producer: one thread that loads the operands
// of one tile after the other into the stages of the ring.

// --- the schedule
static u32 first_tile(void)
{
    return SPLIT_K * SHARERS > 1 ? cluster_x() : block_x();
}

static u32 tile_stride(void)
{
    return SPLIT_K * SHARERS > 1 ? cluster_count_x() : grid_dim_x();
}

// The first row and column of a tile. With narrow columns each group of rows starts at another
// column, so that the narrow tiles do not all fall to the same blocks.
static u32x2 tile_origin(u32 t, schedule w)
{
    u32x2 at = tile_at(t, w.tile_rows, w.tile_columns);
    if (NARROW_BN) {
        u32 n = (at.y / BN + at.x / (BM * GROUP) * w.shift) % w.tile_columns;
        at.y = n * BN - (n - min(n, w.wide)) * (BN - NARROW_BN);
    }
    if (SHARERS > 1) // w.tile_rows are those of clusters
        at.x = at.x * SHARERS + cluster_rank() * BM;
    return at;
}

static bool is_narrow(schedule w, u32 column)
{
    return NARROW_BN && column >= w.wide * BN;
}

// A B stored [K,N] is loaded by 64 columns. Where these do not begin at a multiple of 64, each of
// their rows lies in two lines of memory. With HAS_TAIL they always do: the TAIL columns of a tile
// that are left over are loaded by themselves. Each second tile has its tail in front; in shared
// memory and in the accumulators it always comes last.
enum { WHOLE = BN / 64 * 64, TAIL = BN - WHOLE, TAIL_PANEL = HAS_TAIL ? WHOLE / 64 : 0 };

// Where those multiples of 64 begin in the tile that begins at `column`.
static u32 whole_at(u32 column)
{
    return HAS_TAIL ? (column + 63) / 64 * 64 : column;
}

static u32 tail_at(u32 column)
{
    return column % 64 ? column : column + WHOLE;
}

// --- the producer
typedef struct sources {
    const tensor_map *a, *b, *b_other; // b_other: for narrow tiles, or for tails
} sources;

enum {
    NARROW_PANELS = B_IS_MN && NARROW_BN ? (NARROW_BN + 63) / 64 : 1,
    NARROW_BYTES = B_IS_MN ? NARROW_PANELS * 64 * 128 : NARROW_BN * 128 // of B, for a narrow tile
};

static void load_a(u32 stage, sources from, schedule w, u32 row, u32 step)
{
    a_tile *to = &smem->stages[stage].a;
    u32 k = step * K_TILE, x = A_IS_MN ? row : k, y = A_IS_MN ? k : row;
    if (SWAP && w.tile_columns == 1) // weights that nobody reads again
        tile_load_once(to, from.a, x, y, &smem->ring.full[stage]);
    else
        tile_load(to, from.a, x, y, &smem->ring.full[stage]);
}

// The first `panels` of B, of which this block loads `rows` rows, for all that share them.
static void load_b_panels(b_tile *to, u32 panels, const tensor_map *map, u32 x, u32 y, u32 rows, mbarrier *full)
{
    if (SHARERS > 1)
        tile_load_together(to, panels, map, x, y, rows, SHARERS, full);
    else
        tile_load_panels(to, panels, map, x, y, full);
}

static void load_b(u32 stage, sources from, schedule w, u32 column, u32 step)
{
    b_tile *to = &smem->stages[stage].b;
    mbarrier *full = &smem->ring.full[stage];
    u32 k = step * K_TILE, x = B_IS_MN ? column : k, y = B_IS_MN ? k : column, tail = tail_at(column);
    const tensor_map *map = is_narrow(w, column) ? from.b_other : from.b;
    u32 rows = (B_IS_MN ? K_TILE : is_narrow(w, column) ? NARROW_BN : BN) / SHARERS;
    if (HAS_TAIL) {
        u32 first = SHARERS > 1 ? cluster_rank() * rows : 0;
        load_b_panels(to, WHOLE / 64, map, whole_at(column), k, rows, full);
        if (tail + TAIL > w.columns) // the tail's map has nothing behind it
            load_b_panels((b_tile *)to->panel[TAIL_PANEL], 1, map, tail, k, rows, full);
        else if (SHARERS > 1)
            tensor_load_all_3d(to->panel[TAIL_PANEL][first], from.b_other, 0, (i32)(tail / 16), (i32)(k + first), full,
                               (1u << SHARERS) - 1);
        else
            tensor_load_3d(to->panel[TAIL_PANEL], from.b_other, 0, (i32)(tail / 16), (i32)k, full);
    } else
        load_b_panels(to, is_narrow(w, column) ? NARROW_PANELS : tile_panels(to), map, x, y, rows, full);
}

static u32 loaded_bytes(schedule w, u32 column)
{
    return w.loaded - (is_narrow(w, column) ? (u32)sizeof(b_tile) - NARROW_BYTES : 0);
}

// The first loads of a stage need no wait. A consumer arms these stages, because the producer is
// busy. Bytes may arrive before the barrier expects them; that is allowed. `at` is the origin of the
// first tile.
static void expect_first(schedule w, u32x2 at)
{
    for (u32 s = 0; s < min(w.steps, (u32)STAGES); s++)
        mbarrier_arrive_expect(&smem->ring.full[s], loaded_bytes(w, at.y));
    if (SPLIT_K > 1)
        mbarrier_arrive_expect(&smem->turn[0], (SPLIT_K - 1) * (BM * BN / SPLIT_K) * 4);
}

static void produce(sources from, schedule w, u32x2 at)
{
    ring_slot slot = {0, 1};
    u32 fresh = min(w.steps, (u32)STAGES); // stages that expect_first has armed
    for (u32 s = 0; EARLY && s < fresh; s++)
        load_a(s, from, w, at.x, w.first + s);
    previous_kernel_wait();
    for (u32 t = first_tile(); t < w.tile_rows * w.tile_columns; t += tile_stride()) {
        if (t != first_tile())
            at = tile_origin(t, w);
        for (u32 k = w.first; k < w.first + w.steps; k++) {
            if (!fresh) {
                ring_wait_empty(&smem->ring, slot);
                ring_expect(&smem->ring, slot, loaded_bytes(w, at.y));
            }
            if (!fresh || !EARLY)
                load_a(slot.stage, from, w, at.x, k);
            load_b(slot.stage, from, w, at.y, k);
            slot = ring_next(&smem->ring, slot);
            fresh -= fresh != 0;
        }
    }
}
