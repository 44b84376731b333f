// kiln/rows.h: kernels of rows. LANES threads, a part of a warp, a warp or the block, have a row of
// packs and keep PER of them each in registers; with PER 0 they walk over the row. The host chooses
// (ops/rows.h) and defines T, V and how the rows lie (INNER).
//
//     kernel block(THREADS) void name(…, struct nest n)
//     {
//         kernel_launch_next();
//         u64 packs = row_packs(&n), index[8];
//         bool is_there = row_find(&n, index);
//         i64 first = row_first(&n, index, view);
//         kernel_wait_previous();
//         if (!is_there) // there are fewer rows
//             return;
//         …  FOR_PACKS(p, packs) load(v[p], from, first, pack_of(p), view, &n);  row_sum(x, 0)  …
//     }
#ifndef KILN_ROWS_H
#define KILN_ROWS_H

#include <kiln/pack.h>

tune(THREADS, 256, 32, 64, 96, 128, 160, 192, 224, 320, 384, 448, 512, 640, 768, 896, 1024);
tune(LANES, 256, 1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 320, 384, 448, 512, 640, 768, 896,
     1024);
tune(ACROSS, 0,
     1); // rows lie side by side: lanes have neighbouring rows, and LANES warps share them
tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8); // loops over rows, and the row
tune(LONG, 0, 1);
tune(WHOLE, 0, 1); // a row is LANES * PER packs
#ifndef T
#    define T f32
#endif
#ifndef V
#    define V 4
#endif
#ifndef INNER
#    define INNER DENSE
#endif
#ifndef PER
#    define PER 1
#endif
#ifdef IN_PLACE // a result has the place of an operand
#    define ALONE
#else
#    define ALONE restrict
#endif
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
PACK(T, V)

#define FOR_ELEMENTS(i) _Pragma("unroll") for (u32 i = 0; i < V; i++)
#define FOR_PACKS(p, packs)                                                                        \
    _Pragma("unroll") for (u32 p = 0; p < PER; p++) if (WHOLE || is_pack(p, packs))
#define EACH_OF(p, count)   _Pragma("unroll") for (u32 p = 0; p < (count); p++)
#define EACH_PACK(p)        EACH_OF(p, PER)
#define FOR_LONG(at, packs) for (u64 at = lane_of_row(); at < packs; at += LANES)

static inline u32 lane_of_row(void)
{
    return ACROSS ? warp() : LANES <= 32 ? lane() % LANES : thread_x();
}

static inline u64 pack_of(u32 p)
{
    return lane_of_row() + p * LANES;
}

static inline bool is_pack(u32 p, u64 packs)
{
    return LONG ? pack_of(p) < packs : (u32)pack_of(p) < (u32)packs;
}

// The row of this thread.
static inline u64 row_of(void)
{
    u32 own = ACROSS ? lane() : LANES == THREADS ? 0 : thread_x() / LANES;
    u32 rows = ACROSS ? 32 : LANES == THREADS ? 1 : THREADS / LANES; // of a block
    return LONG ? (u64)block_x() * rows + own : (u64)(block_x() * rows + own);
}

// With ACROSS: the numbers of the warps, in their order.
enum { ACROSS_WARPS = ACROSS ? THREADS / 32 : 1 };
shared f32 row_numbers[ACROSS_WARPS][32];

static inline f32 across_join(f32 x, bool is_sum)
{
    barrier();
    row_numbers[warp() % ACROSS_WARPS][lane()] = x;
    barrier();
    f32 all = row_numbers[0][lane()];
    for (u32 w = 1; w < ACROSS_WARPS; w++) {
        f32 other = row_numbers[w][lane()];
        all = is_sum ? all + other : max(all, other);
    }
    return all;
}

// The threads of a row are a part of a warp.
enum { IS_SHARED_WARP = !ACROSS && LANES > 1 && LANES < 32 };

static inline f32 shared_warp_join(f32 x, bool is_sum)
{
#pragma unroll
    for (u32 distance = 16; distance > 0; distance /= 2)
        if (distance < LANES) {
            f32 other = shuffle_xor(x, distance);
            x = is_sum ? x + other : max(x, other);
        }
    return x;
}

// A block has a row: block_sum and block_max in their order, with one barrier for two. Each slot is
// used once in a kernel, so that nothing is overwritten that somebody still reads.
enum { ROW_SLOTS = 4, BLOCK_WARPS = !ACROSS && LANES == THREADS ? THREADS / 32 : 1 };
shared f32 row_slots[ROW_SLOTS][BLOCK_WARPS];

static inline f32 block_join(f32 x, bool is_sum, u32 slot)
{
    if (target_is_cpu())
        return is_sum ? block_sum(x) : block_max(x);
    x = is_sum ? warp_sum(x) : warp_max(x);
    if (lane() == 0)
        row_slots[slot][warp()] = x;
    barrier();
    f32 all[BLOCK_WARPS];
#pragma unroll
    for (u32 w = 0; w < BLOCK_WARPS; w++)
        all[w] = row_slots[slot][w];
#pragma unroll
    for (u32 step = 1; step < BLOCK_WARPS; step *= 2)
#pragma unroll
        for (u32 w = 0; w + step < BLOCK_WARPS; w += 2 * step)
            all[w] = is_sum ? all[w] + all[w + step] : max(all[w], all[w + step]);
    return all[0];
}

// The sum and the largest of a row's numbers. The calls of a kernel have different slots.
static inline f32 row_sum(f32 x, u32 slot)
{
    if (ACROSS)
        return across_join(x, true);
    if (IS_SHARED_WARP)
        return shared_warp_join(x, true);
    return LANES == 1 ? x : BLOCK_WARPS > 1 ? block_join(x, true, slot) : warp_sum(x);
}

static inline f32 row_max(f32 x, u32 slot)
{
    if (ACROSS)
        return across_join(x, false);
    if (IS_SHARED_WARP)
        return shared_warp_join(x, false);
    return LANES == 1 ? x : BLOCK_WARPS > 1 ? block_join(x, false, slot) : warp_max(x);
}

static inline u64 row_packs(const struct nest *n)
{
    return n->sizes[RANK - 1];
}

// Is there a row for this thread? The nest has their number where others have a rest. Where lanes
// of a warp have different rows, some may have none: they go on with the first one, load zeros and
// store nothing.
static inline bool row_is_there(const struct nest *n)
{
    return (LANES == THREADS && !ACROSS) ||
           (LONG ? row_of() < n->rest : (u32)row_of() < (u32)n->rest);
}

// The index of this thread's row; false: there is none, the index is that of the first one, and
// nobody waits for the thread.
static inline bool row_find(const struct nest *n, u64 index[8])
{
    bool is_there = row_is_there(n);
    if (RANK > 1)
        nest_find(n, RANK - 1, is_there ? row_of() : 0ul, index);
    return is_there || ACROSS || IS_SHARED_WARP;
}

// Where view k has the row.
static inline i64 row_first(const struct nest *n, const u64 index[8], u32 k)
{
    return nest_place(n, RANK - 1, index, k);
}

// The packs of this thread in a row that starts at `first`: all of them are fetched before any is
// opened. Those that are not there are zeros, and so are those of a row that is not.
typedef pack_raw(T, V) raw;

static inline void fetch_all(raw *packs_of, const T *from, i64 first, u32 view,
                             const struct nest *n)
{
    bool is_there = !(ACROSS || IS_SHARED_WARP) || row_is_there(n);
#pragma unroll
    for (u32 p = 0; p < PER; p++) {
        packs_of[p] = (raw){};
        if (is_there && (WHOLE || is_pack(p, row_packs(n))))
            packs_of[p] =
                pack_fetch(T, V, from, (u64)(first + nest_inner(n, pack_of(p), view, INNER)));
    }
}

// The same for a row in a loop: `count` packs of this thread from pack `at` on.
static inline void fetch_some(raw *packs_of, const u32 count, const T *from, i64 first, u64 at,
                              u32 view, const struct nest *n)
{
    bool is_there = !(ACROSS || IS_SHARED_WARP) || row_is_there(n);
#pragma unroll
    for (u32 p = 0; p < count; p++) {
        packs_of[p] = (raw){};
        if (is_there && at + p * LANES < row_packs(n))
            packs_of[p] =
                pack_fetch(T, V, from, (u64)(first + nest_inner(n, at + p * LANES, view, INNER)));
    }
}

// Pack i of a row that starts at `first`.
static inline void load(f32 *v, const T *from, i64 first, u64 i, u32 view, const struct nest *n)
{
    if ((ACROSS || IS_SHARED_WARP) && !row_is_there(n)) { // another block may write to that row
        FOR_ELEMENTS(k)
        v[k] = 0;
        return;
    }
    i64 at = first + nest_inner(n, i, view, INNER);
    if (INNER == DENSE)
        pack_load(T, V, v, from, (u64)at);
    else
        v[0] = pack_get(T, from[at]);
}

static inline void store(T *to, i64 first, u64 i, u32 view, const struct nest *n, const f32 *v)
{
    i64 at = first + nest_inner(n, i, view, INNER);
    if ((ACROSS || IS_SHARED_WARP) && !row_is_there(n))
        return;
    if (INNER == DENSE)
        pack_store(T, V, to, (u64)at, v);
    else
        to[at] = pack_put(T, v[0]);
}

#endif
