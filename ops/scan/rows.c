// Running values along rows. LANES threads, a warp or the block, take tiles of PER * LANES packs of a row, one after the
// other: a thread's packs lie LANES apart. Each pack is scanned by its thread, the packs' values in the warp, the warps'
// values by every warp for itself; then comes what the tiles before have left.
//
// A long row is cut into parts. A first launch (TOTALS) leaves the value of each part in `work`, [rows][parts]; the second
// one (CARRY) begins each part with those of the parts before. The order follows from the launch alone.
//
// With WHOLE a row is one tile and whole packs: there is no loop and no access to single elements.
#include "step.h"
KERNEL_OVERLAPS

tune(LANES, 256, 32, 64, 128);
enum { THREADS = LANES == 32 ? 256 : LANES, WARPS = LANES / 32, TOGETHER = THREADS / LANES, TILE = PER * LANES };

// Number of the value x of this lane and those of all lanes below.
static inline acc scan_warp(acc x)
{
#pragma unroll
    for (u32 level = 0; level < 5; level++) {
        acc below = shuffle_up(x, 1u << level);
        if (lane() >= 1u << level)
            x = step(below, x);
    }
    return x;
}

#ifdef REVERSE
#    define PLACE(element, count) ((count) - 1 - (element))
#else
#    define PLACE(element, count) (element)
#endif

#ifdef WHOLE
enum { IS_WHOLE = 1 };
#    define EACH_TILE(from, end) if (from < end)
#else
enum { IS_WHOLE = 0 };
#    define EACH_TILE(from, end) for (; from < end; from += TILE)
#endif

static inline void load(acc v[V], const T *x, i64 first, u64 pack, const struct row *r)
{
    if (IS_WHOLE || (V > 1 && (pack + 1) * V <= r->count)) {
        pack_number(T) n[V];
        pack_load(T, V, n, x, (u64)(first / V + (i64)(PLACE(pack * V, r->count) / V)));
        EACH(i, V)
            v[i] = (acc)n[PLACE(i, V)];
    } else {
        EACH(i, V) {
            u64 at = pack * V + i;
            v[i] = at < r->count ? (acc)pack_get(T, x[first + (i64)PLACE(at, r->count) * r->x_step]) : EMPTY;
        }
    }
}

static inline void store(OUT *to, i64 first, u64 pack, const struct row *r, const acc v[V])
{
    if (IS_WHOLE || (V > 1 && (pack + 1) * V <= r->count)) {
        pack_number(OUT) n[V];
        EACH(i, V)
            n[i] = pack_convert(OUT, v[PLACE(i, V)]);
        pack_store(OUT, V, to, (u64)(first / V + (i64)(PLACE(pack * V, r->count) / V)), n);
    } else {
        EACH(i, V) {
            u64 at = pack * V + i;
            if (at < r->count)
                to[first + (i64)PLACE(at, r->count) * r->to_step] = pack_put(OUT, pack_convert(OUT, v[i]));
        }
    }
}

kernel block(THREADS) max_registers(64) void scan_rows(const T *ALONE x, OUT *ALONE to, u64 *restrict work, struct nest n, struct row r)
{
    kernel_begin();
    shared acc of_warps[2][PER * WARPS];
    u64 row = LANES == 32 ? (u64)block_x() * TOGETHER + warp() : block_x(), index[8];
    u32 part = PART_OF_BLOCK;
    if (LANES == 32 && row >= n.packs)
        return;
    nest_find(&n, RANK, row, index);
    i64 first = nest_place(&n, RANK, index, X), first_to = nest_place(&n, RANK, index, TO);
    u32 my_warp = LANES == 32 ? 0 : warp(), my_lane = LANES == 32 ? lane() : thread_x(), turn = 0;
    acc carry = EMPTY;
#ifdef CARRY
    // Thread i has parts i, i + THREADS …; then as a tree.
    const acc *totals = (const acc *)work + row * grid_dim_y();
    for (u32 p = thread_x(); p < part; p += THREADS)
        carry = step(carry, totals[p]);
    shared acc of_parts[WARPS];
    carry = scan_warp(carry);
    if (lane() == 31)
        of_parts[my_warp] = carry;
    barrier();
    carry = EMPTY;
    EACH(w, WARPS)
        carry = step(carry, of_parts[w]);
#endif
    u64 packs = (r.count + V - 1) / V, from = part * r.part, end = min(from + r.part, packs);
    EACH_TILE(from, end) {
        acc v[PER][V], before[PER];
        EACH(p, PER) {
            if (IS_WHOLE)
                EACH(i, V)
                    v[p][i] = EMPTY;
            if (!IS_WHOLE || from + p * LANES + my_lane < packs)
                load(v[p], x, first, from + p * LANES + my_lane, &r);
        }
        EACH(p, PER) {
            EACH(i, V - 1)
                v[p][i + 1] = step(v[p][i], v[p][i + 1]);
            acc all = scan_warp(v[p][V - 1]);
            before[p] = shuffle_up(all, 1u);
            if (lane() == 0)
                before[p] = EMPTY;
            if (LANES == 32) {
                before[p] = step(carry, before[p]);
                carry = step(carry, shuffle(all, 31u));
            } else if (lane() == 31) {
                of_warps[turn][p * WARPS + my_warp] = all;
            }
        }
        if (LANES > 32 && PER * WARPS <= 8) { // few values: one after the other is faster than a tree
            barrier();
            acc below = carry;
            EACH(w, PER * WARPS) {
                EACH(p, PER)
                    if (w == p * WARPS + my_warp)
                        before[p] = step(below, before[p]);
                below = step(below, of_warps[turn][w]);
            }
            carry = below;
            turn = 1 - turn;
        } else if (LANES > 32) {
            barrier();
            acc all = scan_warp(lane() < PER * WARPS ? of_warps[turn][lane()] : EMPTY);
            EACH(p, PER) {
                u32 mine = p * WARPS + my_warp;
                acc below = shuffle(all, mine > 0 ? mine - 1 : 0);
                before[p] = mine > 0 ? step(step(carry, below), before[p]) : step(carry, before[p]);
            }
            carry = step(carry, shuffle(all, (u32)(PER * WARPS - 1)));
            turn = 1 - turn;
        }
#ifndef TOTALS
        EACH(p, PER) {
            acc result[V];
            EACH(i, V)
#    ifdef EXCLUSIVE
                result[i] = i > 0 ? step(before[p], v[p][i > 0 ? i - 1 : 0]) : before[p];
#    else
                result[i] = step(before[p], v[p][i]);
#    endif
            if (from + p * LANES + my_lane < packs)
                store(to, first_to, from + p * LANES + my_lane, &r, result);
        }
#endif
    }
#ifdef TOTALS
    if (thread_x() == 0)
        ((acc *)work)[row * grid_dim_y() + part] = carry;
#endif
}
