// What a block of gemm_sm90.c works on, tile by tile, and the thread that loads it: from the operands in
// memory to the stages of the ring.
#ifndef KILN_GEMM_SM90_LOAD_H
#define KILN_GEMM_SM90_LOAD_H

// --- the work of a block
typedef struct work {
    u32 rows, columns; // of tiles
    u32 wide, shift;   // columns before the narrow ones; by how many each group of rows begins later
    u32 first, count;  // steps along K
    u32 part;          // place in the cluster
    u32 loaded;        // bytes of a stage that are loaded: operands may be smaller than a tile
} work;

static u32 first_tile(void)
{
    return SPLIT_K > 1 ? cluster_x() : block_x();
}

static u32 tile_step(void)
{
    return SPLIT_K > 1 ? cluster_count_x() : grid_dim_x();
}

// The corner of a tile. With narrow columns each group of rows goes around the columns from another
// one on, so that the narrow tiles do not all fall to the same blocks.
static u32x2 corner_of(u32 t, work w)
{
    u32x2 at = tile_at(t, w.rows, w.columns);
    if (NARROW) {
        u32 n = (at.y / BN + at.x / (BM * GROUP) * w.shift) % w.columns;
        at.y = n * BN - (n - min(n, w.wide)) * (BN - NARROW);
    }
    return at;
}

static bool is_narrow(work w, u32 column)
{
    return NARROW && column >= w.wide * BN;
}

// --- the producer: one thread
static void load_operand(u8 *to, const tensor_map *map, bool is_mn, bool is_once, u32 size, u32 first, u32 k,
                         mbarrier *full)
{
#pragma unroll
    for (u32 i = 0; i < (is_mn ? (size + 63) / 64 : 1); i++) {
        i32 x = (i32)(is_mn ? first + i * 64 : k), y = (i32)(is_mn ? k : first);
        if (is_once)
            tensor_load_hint_2d(to + i * 8192, map, x, y, full, cache_evict_first());
        else
            tensor_load_2d(to + i * 8192, map, x, y, full);
    }
}

static void load_left(u32 stage, const tensor_map *a, work w, u32 row, u32 k)
{
    bool is_once = SWAP && w.columns == 1;
    load_operand(smem + stage * STAGE_BYTES, a, A_IS_MN, is_once, BM, row, k * K_STEP, full_of(stage));
}

// How a tile of b is loaded. Its tail comes through a map that has nothing behind it, but for one at the
// end of b.
typedef struct right {
    const tensor_map *map, *tail;
    bool is_narrow, has_tail;
} right;

static right right_of(const tensor_map *b, const tensor_map *other, work w, u32 column, u32 end)
{
    right r = {b, other, is_narrow(w, column), HAS_TAIL && tail_at(column) + TAIL <= end};
    if (r.is_narrow)
        r.map = other;
    return r;
}

static void load_right(u32 stage, right r, u32 column, u32 k)
{
    u8 *to = smem + stage * STAGE_BYTES + A_BYTES;
    mbarrier *full = full_of(stage);
    if (HAS_TAIL) {
        load_operand(to, r.map, true, false, WHOLE, whole_at(column), k * K_STEP, full);
        if (r.has_tail)
            tensor_load_3d(to + WHOLE * 128, r.tail, 0, (i32)(tail_at(column) / 16), (i32)(k * K_STEP), full);
        else
            load_operand(to + WHOLE * 128, r.map, true, false, TAIL, tail_at(column), k * K_STEP, full);
    } else if (B_IS_MN && r.is_narrow && B_BYTES != NARROW_BYTES)
        load_operand(to, r.map, true, false, NARROW, column, k * K_STEP, full);
    else
        load_operand(to, r.map, B_IS_MN, false, BN, column, k * K_STEP, full);
}

// The stages that nobody has read yet take their first load without a wait. That they expect it, a
// consumer says, which has nothing else to do: bytes may arrive before they are expected.
static u32 fresh_stages(work w)
{
    return min(w.count, (u32)STAGES);
}

static u32 loaded_bytes(work w, bool narrow)
{
    return w.loaded - (narrow ? B_BYTES - NARROW_BYTES : 0);
}

// `at` is the corner of the first tile.
static void expect_first(work w, u32x2 at)
{
    for (u32 s = 0; s < fresh_stages(w); s++)
        mbarrier_arrive_expect(full_of(s), loaded_bytes(w, is_narrow(w, at.y)));
    if (SPLIT_K > 1)
        mbarrier_arrive_expect(received(), (SPLIT_K - 1) * SHARE * 4);
}

// From maps of the operands; `other` is for narrow tiles of b, or for tails. `at` is the corner of the
// first tile, `end` the number of b's columns.
static void produce(const tensor_map *a, const tensor_map *b, const tensor_map *other, work w, u32x2 at, u32 end)
{
    ring r = {0, 1};
    u32 fresh = fresh_stages(w);
    for (u32 s = 0; EARLY && s < fresh; s++)
        load_left(s, a, w, at.x, w.first + s);
    previous_kernel_wait();
    for (u32 t = first_tile(); t < w.rows * w.columns; t += tile_step()) {
        if (t != first_tile())
            at = corner_of(t, w);
        right of_b = right_of(b, other, w, at.y, end);
        for (u32 k = w.first; k < w.first + w.count; k++) {
            if (!fresh) {
                mbarrier_wait(empty_of(r.stage), r.phase);
                mbarrier_arrive_expect(full_of(r.stage), loaded_bytes(w, of_b.is_narrow));
            }
            if (!fresh || !EARLY)
                load_left(r.stage, a, w, at.x, k);
            load_right(r.stage, of_b, at.y, k);
            advance(&r);
            fresh -= fresh != 0;
        }
    }
}

#endif
