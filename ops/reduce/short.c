// Reductions of short rows that follow one another, where warps are vectors (the cpu device). kernel.c
// gives a thread of a row every LANES-th pack: 32 addresses a load. Here a warp loads 32 packs that
// follow one another, and a lane has pack lane % PACKS of a row. The packs of one thread are merged by
// shuffles at distances of LANES and more, then the threads: kernel.c's order, for kinds that are the
// same tree over elements and packs. So the bits are the same.
tune(LANES, 2, 1, 4, 8, 16, 32); // threads of a row
tune(PER, 4, 1, 2);              // packs of each
#include "state.h"

PACK(T, V)
typedef pack_raw(T, V) raw;

enum {
    PACKS = LANES * PER,           // of a row
    ROWS = 32 / PACKS,             // of a load
    STEP = PACKS < 8 ? PACKS : 8,  // loads for one store
    CHUNK = STEP * ROWS,
    CHUNKS = 8, // of a block
};
#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)
#define EACH_DISTANCE(d, from, to)                                                                 \
    _Pragma("unroll") for (u32 level = 0; level < 5; level++) for (u32 d = 1u << level, go = d >= (from) && d < (to); go; go = 0)

// Which of two is the first says something: where they do not commute, and of two NaNs one stays.
enum { HAS_ORDER = !COMMUTES || (acc)0.5f != 0 };

// Two states of one thread, as state_of_all takes their elements.
static inline state join(state a, state b)
{
#if defined KIND_max || defined KIND_min
    const number both[2] = {a.sum, b.sum};
    const INDEX places[2] = {0, 0};
    return state_of_all(both, places, 2, 0);
#else
    return merge(a, b);
#endif
}

kernel block(32) void reduce_short(const T *restrict x, OUT *restrict to, u64 rows, i64 to_step, real p,
                                   real n, real q)
{
#pragma unroll 1
    for (u32 chunk = 0; chunk < CHUNKS; chunk++) {
        const u64 row = ((u64)block_x() * CHUNKS + chunk) * CHUNK;
        if (row >= rows)
            break;
        const bool is_whole = row + CHUNK <= rows;
        const T *from = x + row * (PACKS * V);
        state mine = state_empty();
        EACH(j, STEP) {
            number v[V];
            INDEX places[V];
            raw of = (raw){};
            prefetch(from + (CHUNK * PACKS + j * 32 + lane()) * V);
            if (is_whole)
                of = pack_fetch(T, V, from, j * 32 + lane());
            else if (row + j * ROWS + lane() / PACKS < rows)
                of = pack_fetch(T, V, from, j * 32 + lane());
            pack_open(T, V, v, of);
            EACH(i, V)
            places[i] = 0;
            state s = state_of_all(v, places, V, p);
            EACH_DISTANCE(d, LANES, PACKS) {
                state other = other_lane(s, d);
                bool is_upper = HAS_ORDER && lane() & d;
                s = join(is_upper ? other : s, is_upper ? s : other);
            }
            s = merge(state_empty(), s);
            EACH_DISTANCE(d, 1, LANES) {
                state other = other_lane(s, d);
                bool is_upper = HAS_ORDER && lane() & d;
                s = merge(is_upper ? other : s, is_upper ? s : other);
            }
            mine = lane() % PACKS == j ? s : mine;
        }
        const u64 own = row + lane() % PACKS * ROWS + lane() / PACKS;
        if (lane() % PACKS < STEP && own < rows)
            store(to + (i64)own * to_step, mine, p, n, q);
    }
}
