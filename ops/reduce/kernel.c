// Reductions of a tensor over some of its dimensions: the elements are kept loops (one result each)
// around reduced loops, both numbered in one go (kiln/nest.h).
//
// LANES threads share a result. Where the reduced loops are contiguous they are neighbours, and a
// pack is V elements of one result. Where the kept loops are (COLUMNS), neighbours have
// neighbouring results, and a pack is one element of V results. A thread takes PER packs at a time:
// it loads all of them, and merges them as a tree. The threads' states are merged as a tree over
// the bits of their number, in a warp by shuffles, then through shared memory. A row that is in the
// registers as a whole (ONCE) has its variance from its mean, without merging means.
//
// Where warps are not run side by side (the cpu device) one warp plays PLAYED of them: it has a state for
// each, reads the row from its beginning to its end, and needs no barrier. The bits are the same.
//
// With SPLIT a block takes a part of the reduced loops and leaves its states in `work`,
// [parts][results]; a second launch (STATES) merges the parts. The order of all sums follows from
// the launch alone.
tune(THREADS, 256, 32, 64, 128, 512); // of a block, each plays PLAYED
tune(LANES, 256, 1, 2, 4, 8, 16, 32, 64, 128, 512);
tune(COLUMNS, 0, 1);
tune(DENSE_ROWS, 0, 1); // the packs of a row follow one another; not with COLUMNS
tune(SINGLES, 0, 1); // rows are no whole packs: elements before the first one or after the last are single
tune(PEEL, 0, 1); // rows start between two packs: some elements come before the first pack; DENSE_ROWS, RANK 1
tune(KEPT_RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(PER, 4, 1, 2, 3);
tune(ONCE, 0, 1); // a thread has PER packs at most, and no more than one of the elements around them
// Warps of a row that one plays; for DENSE_ROWS and RANK 1, but not for STATES. Their states are in
// memory: a loop for all of them, not one for each.
#ifdef PLAYED
#    define PLAY(g) _Pragma("unroll 1") for (u32 g = 0; g < PLAYED; g++)
#else
#    define PLAYED  1
#    define PLAY(g) for (u32 g = 0; g < 1; g++)
#endif
#include "loops.h"
KERNEL_OVERLAPS

PACK(T, V)
typedef pack_raw(T, V) raw;

enum {
    TOGETHER = THREADS * PLAYED / LANES, // results of a block, in packs
    UNIT = COLUMNS ? TOGETHER : 1, // between two threads of a result
    RESULTS = COLUMNS ? V : 1,     // of a thread
    APART = UNIT > 32 ? UNIT : 32, // threads whose states are merged by shuffles
    GROUPS = LANES * UNIT > 32 ? THREADS * PLAYED / APART : 1,
    HELD = COLUMNS ? V : PLAYED, // states of a thread
    ELEMENTS = COLUMNS ? PER : PER * V, // of a result that are loaded at once
    PACK_SHIFT = V == 16  ? 4
                 : V == 8 ? 3
                 : V == 4 ? 2
                 : V == 2 ? 1
                          : 0,
};
enum { TO, AT, X }; // views: the result, the flat index in the reduced dimensions, x

#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

// What a thread needs for its packs and their places.
#if defined KIND_argmax || defined KIND_argmin || defined KIND_variance || defined KIND_deviation || defined KIND_max_ties || defined KIND_min_ties
enum { LARGE_STATE = 1 };
#else
enum { LARGE_STATE = 0 };
#endif
// Has every thread of a row the state of the row?
#if defined IS_VARIANCE && !defined STATES
enum { IS_JOINED = ONCE && !COLUMNS };

// The sum over the threads of a row that are in one warp.
static inline acc join_warp(acc x)
{
#    pragma unroll
    for (u32 distance = 1; distance < 32; distance *= 2)
        if (distance < LANES)
            x += shuffle_xor(x, distance);
    return x;
}

// The sum over the threads of a row, in all of them. There are two of them, with slots of their own.
static inline acc join(acc x, u32 slot)
{
    shared acc slots[2][GROUPS];
    x = join_warp(x);
    if (GROUPS > 1) {
        acc all[GROUPS];
        if (lane() == 0)
            slots[slot][warp()] = x;
        barrier();
        EACH(g, GROUPS)
        all[g] = slots[slot][g];
        TREE(a, b, GROUPS, all[a] = all[a] + all[b])
        x = all[0];
    }
    return x;
}

// The same of all warps that are played.
static inline acc join_played(const acc *x)
{
    acc all[GROUPS];
    EACH(g, GROUPS)
    all[g] = x[g % PLAYED];
    TREE(a, b, GROUPS, all[a] = all[a] + all[b])
    return all[0];
}

// The variance of a row that its threads have in registers, from its mean: packs `at`, at + LANES, … below
// `end`, and the element `edge` where there is one. part_count: elements of the row.
static inline state centred(number v[PER][V], bool is_mine, place at, place end, bool has_edge, T edge,
                            u64 part_count)
{
    acc own = has_edge ? pack_get(T, edge) : 0, sum = own, squares = 0, mean;
    EACH(p, PER)
    {
        acc part[V];
        EACH(i, V)
        part[i] = v[p][i];
        TREE(a, b, V, part[a] = part[a] + part[b])
        sum += part[0];
    }
    mean = join(sum, 0) / (acc)part_count;
    EACH(p, PER)
    if (is_mine && at + p * LANES < end) {
        acc part[V];
        EACH(i, V)
        part[i] = (v[p][i] - mean) * (v[p][i] - mean);
        TREE(a, b, V, part[a] = part[a] + part[b])
        squares += part[0];
    }
    squares += has_edge ? (own - mean) * (own - mean) : 0;
    return (state){(acc)part_count, mean, join(squares, 1)};
}
#else
enum { IS_JOINED = 0 };
#endif
enum { REGISTERS = V >= 8 && (COLUMNS || sizeof(INDEX) == 8) ? 128 : V >= 4 && LARGE_STATE ? 80 : 64 };

// Merges the states of a result's threads: by shuffles in a warp, then through shared memory. The first
// thread of a result has all of it then.
static inline void merge_threads(state s[HELD], u32 lane_of)
{
#pragma unroll
    for (u32 level = 0; level < 5; level++) {
        u32 distance = 1u << level;
        if (distance >= UNIT && distance < UNIT * LANES)
            EACH(r, HELD)
            {
                state other = other_lane(s[r], distance);
                bool is_upper = !COMMUTES && lane() & distance;
                s[r] = merge(is_upper ? other : s[r], is_upper ? s[r] : other);
            }
    }
    if (PLAYED > 1) {
        TREE(a, b, PLAYED, s[a] = merge(s[a], s[b]))
    } else if (GROUPS > 1) {
        shared state all_states[RESULTS][GROUPS][COLUMNS ? APART : 1];
        EACH(r, RESULTS)
        if (COLUMNS || lane() == 0)
            all_states[r][thread_x() / APART][COLUMNS ? thread_x() % APART : 0] = s[r];
        barrier();
        if (lane_of == 0)
            EACH(r, RESULTS)
            {
                state group[GROUPS];
                EACH(g, GROUPS)
                group[g] = all_states[r][g][COLUMNS ? thread_x() : 0];
                TREE(a, b, GROUPS, group[a] = merge(group[a], group[b]))
                s[r] = group[0];
            }
    }
}

kernel block(THREADS) max_registers(REGISTERS) void reduce(const T *restrict x, OUT *restrict to, u64 *restrict work,
                                  struct nest kept, struct nest reduced, u64 part_packs, real p,
                                  real n, real q)
{
    kernel_launch_next();
    u32 kept_lane = COLUMNS ? thread_x() % TOGETHER : thread_x() / LANES;
    u32 lane_of = COLUMNS ? thread_x() / TOGETHER : thread_x() % LANES;
    place result = (place)block_x() * TOGETHER + kept_lane;
    bool is_mine = result < (place)kept.packs;
    u64 index[8];
    nest_find(&kept, KEPT_RANK, is_mine ? result : 0, index);
    i64 first = nest_place(&kept, KEPT_RANK, index, X),
        first_to = nest_place(&kept, KEPT_RANK, index, TO);
    i64 to_step = COLUMNS ? kept.strides[TO][KEPT_RANK - 1] / V : 0;
    state s[HELD];
    EACH(r, HELD)
    s[r] = state_empty();
#ifdef STATES
    kernel_wait_previous();
    const state *parts = (const state *)work;
    if (is_mine)
#    pragma unroll 4
        for (place at = lane_of; at < (place)part_packs; at += LANES)
            s[0] = merge(s[0], parts[(u64)at * kept.packs + result]);
#else
    // The row: elements before the first pack, packs, elements after the last.
    u64 count = reduced.packs * V + reduced.rest;
    u64 head = PEEL ? min((u64)(0 - first) & (V - 1), count) : 0ul;
    u64 packs = PEEL ? (count - head) / V : reduced.packs;
#    ifdef SPLIT
    place at = (place)((u64)block_y() * part_packs), end = (place)min((u64)at + part_packs, packs);
#    else
    place at = 0, end = (place)packs;
#    endif
    u64 part_count = (u64)(end - at) * V; // elements of this block's part of a row
    raw of[PER];
    number v[PER][V];
    INDEX where[PER];
#    define FETCH(p, pack)                                                                         \
        {                                                                                          \
            nest_find(&reduced, RANK, pack, index);                                                \
            i64 from = first + nest_place(&reduced, DENSE_ROWS ? RANK - 1 : RANK, index, X);       \
            u64 inner = DENSE_ROWS ? index[RANK - 1] : 0ul;                                        \
            from += (i64)head;                                                                     \
            of[p] = pack_fetch(T, V, x, (u64)(from >> PACK_SHIFT) + inner);                        \
            where[p] = (INDEX)nest_place(&reduced, RANK, index, AT) + (INDEX)head * INDEX_STEP;    \
        }
    // All that there are of the thread's next packs, and zeros.
#    define FETCH_SOME                                                                             \
        EACH(p, PER)                                                                               \
        {                                                                                          \
            of[p] = (raw){};                                                                       \
            where[p] = 0;                                                                          \
            if (is_mine && at + p * LANES < end)                                                   \
                FETCH(p, at + p * LANES)                                                           \
        }                                                                                          \
        EACH(p, PER)                                                                               \
        pack_open(T, V, v[p], of[p]);
#    define INDEX_STEP (COLUMNS ? (INDEX)0 : (INDEX)(reduced.strides[AT][RANK - 1] / V))
    number all[ELEMENTS];
    INDEX places[ELEMENTS];
#    define FETCH_ALL                                                                              \
        EACH(p, PER)                                                                               \
        FETCH(p, at + p * LANES)                                                                   \
        EACH(p, PER)                                                                               \
        pack_open(T, V, v[p], of[p]);
    // Elements before the first pack and after the last; the first of a thread is loaded with them.
    u64 singles = SINGLES && block_y() == grid_dim_y() - 1 && is_mine ? count - packs * V : 0ul;
    part_count += singles;
    kernel_wait_previous();
#    define ADD_ALL(r)                                                                             \
        {                                                                                          \
            EACH(e, ELEMENTS)                                                                      \
            {                                                                                      \
                all[e] = COLUMNS ? v[e % PER][r % V] : v[e / V % PER][e % V];                      \
                places[e] =                                                                        \
                    COLUMNS ? where[e % PER] : where[e / V % PER] + (INDEX)(e % V) * INDEX_STEP;   \
            }                                                                                      \
            s[r] = state_with_all(s[r], all, places, ELEMENTS, p);                                 \
        }
#    ifdef IS_VARIANCE
    enum { CENTRED = ONCE && !COLUMNS };
#    else
    enum { CENTRED = 0 };
#    endif
#    ifdef NEUTRAL
    // Short rows: some lanes lack packs at their end, and should not leave the others for it.
    enum { FILLED = PER > 1 && !COLUMNS && (ONCE || LANES <= 32) };
#    else
    enum { FILLED = 0 };
#    endif
    place begin = at;
    u32 own_lane = lane_of;
    bool is_done = false;
    // Steps of all that are played, one after the other: PER streams of memory.
    if (PLAYED > 1 && (!ONCE || FILLED) && is_mine)
        for (; begin + PER * LANES <= end; begin += PER * LANES) {
            const T *row = x + (((first + (i64)head) >> PACK_SHIFT) + (i64)begin) * V;
            PLAY(g) {
                EACH(p, PER)
                {
                    prefetch(row + (PER * LANES + (g * PER + p) * 32 + own_lane) * V);
                    of[p] = pack_fetch(T, V, row + (g * 32 + p * LANES) * V, own_lane);
                    where[p] = ((INDEX)begin + (INDEX)(g * 32 + p * LANES + own_lane)) * (INDEX)reduced.strides[AT][0] +
                               (INDEX)head * INDEX_STEP;
                }
                EACH(p, PER)
                pack_open(T, V, v[p], of[p]);
                ADD_ALL(g)
            }
            is_done = ONCE && !singles;
        }
#    ifdef IS_VARIANCE
    if (CENTRED && PLAYED > 1) {
        acc sums[PLAYED], mean;
        const bool is_full = begin + PER * LANES <= end;
#        define PLAY_PACKS                                                                         \
            lane_of = own_lane + g * 32;                                                           \
            at = begin + lane_of;                                                                  \
            const bool has_edge = lane_of < singles;                                               \
            acc own = 0, part[V];                                                                  \
            if (has_edge)                                                                          \
                own = pack_get(T, x[first + (i64)(lane_of < head ? lane_of : lane_of + packs * V)]);\
            if (is_full) {                                                                         \
                FETCH_ALL                                                                          \
            } else {                                                                               \
                FETCH_SOME                                                                         \
            }
        PLAY(g) {
            PLAY_PACKS
            acc sum = own;
            EACH(p, PER)
            {
                EACH(i, V)
                part[i] = v[p][i];
                TREE(a, b, V, part[a] = part[a] + part[b])
                sum += part[0];
            }
            sums[g] = join_warp(sum);
        }
        mean = join_played(sums) / (acc)part_count;
        PLAY(g) {
            PLAY_PACKS
            acc squares = 0;
            EACH(p, PER)
            if (is_full || at + p * LANES < end) {
                prefetch(x + (first + (i64)((PLAYED + g) * PER + p) * 32 * V + own_lane * V)); // the next row
                EACH(i, V)
                part[i] = (v[p][i] - mean) * (v[p][i] - mean);
                TREE(a, b, V, part[a] = part[a] + part[b])
                squares += part[0];
            }
            squares += has_edge ? (own - mean) * (own - mean) : 0;
            sums[g] = join_warp(squares);
        }
        s[0] = (state){(acc)part_count, mean, join_played(sums)};
        is_done = true;
    }
#    endif
    if (!is_done)
    PLAY(g) {
    lane_of = own_lane + g * 32;
    at = begin + lane_of;
    T edge = pack_put(T, 0);
    if (lane_of < singles)
        edge = x[first + (i64)(lane_of < head ? lane_of : lane_of + packs * V)];
#    ifdef IS_VARIANCE
    if (CENTRED && PLAYED == 1) {
        FETCH_SOME
        s[0] = centred(v, is_mine, at, end, lane_of < singles, edge, part_count);
    }
#    endif
#    ifdef NEUTRAL
    if (FILLED)
        for (bool is_first = true; is_first || (!ONCE && at < end); at += PER * LANES) {
            is_first = false;
            FETCH_SOME
            EACH(p, PER)
            EACH(i, V)
            v[p][i] = (number)NEUTRAL == 0 || (is_mine && at + p * LANES < end) ? v[p][i] : (number)NEUTRAL;
            ADD_ALL(g)
        }
#    endif
    if (!CENTRED && !FILLED) {
        for (; !ONCE && is_mine && at + (PER - 1) * LANES < end; at += PER * LANES) {
            FETCH_ALL
            EACH(r, RESULTS)
            ADD_ALL(PLAYED > 1 ? g : r)
        }
        if (PER > 1 || ONCE) {
            FETCH_SOME
            EACH(m, PER)
            if (is_mine && at + m * LANES < end)
                EACH(r, RESULTS)
                {
                    EACH(e, ELEMENTS / PER)
                    {
                        all[e] = COLUMNS ? v[m][r % V] : v[m][e % V];
                        places[e] = where[m] + (INDEX)(e % V) * INDEX_STEP;
                    }
                    u32 own = PLAYED > 1 ? g : r;
                    s[own] = state_with_all(s[own], all, places, ELEMENTS / PER, p);
                }
        }
    }
    if (!CENTRED && ONCE && lane_of < singles) {
        u64 e = lane_of < head ? lane_of : lane_of + packs * V;
        s[g] = merge(s[g], state_of(pack_get(T, edge), (INDEX)e * INDEX_STEP, p));
    }
    if (!ONCE) {
        for (u64 single = lane_of; single < singles; single += LANES) {
            u64 e = single < head ? single : single + packs * V;
            number own = pack_get(T, single < LANES ? edge : x[first + (i64)e]);
            s[g] = merge(s[g], state_of(own, (INDEX)e * INDEX_STEP, p));
        }
    }
    }
    lane_of = own_lane;
#endif
    if (!IS_JOINED)
        merge_threads(s, lane_of);
    if (is_mine && lane_of == 0)
        EACH(r, RESULTS)
        {
#ifdef SPLIT
            ((state *)work)[(u64)block_y() * kept.packs * RESULTS + (u64)result * RESULTS + r] =
                s[r];
#else
            store(to + first_to + (i64)r * to_step, s[r], p, n, q);
#endif
        }
}
