// Reductions of columns where warps are not run side by side (the cpu device). One warp plays the LANES
// threads that kernel.c has for a result, one after the other, for GROUPS times 32 neighbouring
// columns: it reads long pieces of rows, and asks for the next ones meanwhile. A lane has one column of
// each group. States are merged in kernel.c's order, so the bits are the same.
tune(LANES, 8, 1, 2, 4); // threads of a result that are played
tune(GROUPS, 32, 1, 2, 4, 8, 16);
tune(KEPT_RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(PER, 4, 1, 2, 3);
tune(ONCE, 0, 1); // a thread has PER rows at most
#include "loops.h"

enum { TO, AT, X }; // views: as in kernel.c
#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)
#define WALK(i, count) _Pragma("unroll 1") for (u32 i = 0; i < (count); i++)

// A step of all groups: `count` rows, of which the lane has one element each. The last group may
// lack some columns.
static inline void add_rows(state *s, const T *const *rows, const T *const *soon, const INDEX *where,
                            const u32 count, u32 columns, real p)
{
    number v[PER];
    WALK(g, columns / 32) {
        EACH(i, count) {
            prefetch(soon[i] + (g * 32 + lane()));
            v[i] = pack_get(T, rows[i][g * 32 + lane()]);
        }
        s[g] = state_with_all(s[g], v, where, count, p);
    }
    u32 g = columns / 32;
    if (lane() < columns % 32) {
        EACH(i, count)
        v[i] = pack_get(T, rows[i][g * 32 + lane()]);
        s[g] = state_with_all(s[g], v, where, count, p);
    }
}

// chunks: of GROUPS * 32 columns, in the innermost kept loop.
kernel block(32) void reduce_columns(const T *restrict x, OUT *restrict to, u64 *restrict work,
                                     struct nest kept, struct nest reduced, u64 part_packs, real p,
                                     real n, real q, u32 chunks)
{
    u64 index[8];
    u64 outer = block_x() / chunks, before = (u64)(block_x() % chunks) * (GROUPS * 32);
    u32 columns = (u32)min(kept.sizes[KEPT_RANK - 1] - before, (u64)GROUPS * 32);
    i64 first = 0, first_to = 0, to_step = kept.strides[TO][KEPT_RANK - 1];
    if (KEPT_RANK > 1) {
        nest_find(&kept, KEPT_RANK - 1, outer, index);
        first = nest_place(&kept, KEPT_RANK - 1, index, X);
        first_to = nest_place(&kept, KEPT_RANK - 1, index, TO);
    }
    first += (i64)before;
    first_to += (i64)before * to_step;
#ifdef SPLIT
    place begin = (place)((u64)block_y() * part_packs);
    place end = (place)min((u64)begin + part_packs, reduced.packs);
#else
    place begin = 0, end = (place)reduced.packs;
#endif
    state s[LANES][GROUPS];
    const T *rows[PER], *soon[PER];
    INDEX where[PER];
#define FIND(pointer, row)                                                                         \
    nest_find(&reduced, RANK, row, index);                                                         \
    pointer = x + (first + nest_place(&reduced, RANK, index, X));
#define FIND_ROW(i)                                                                                \
    FIND(rows[i], at + i * LANES)                                                                  \
    where[i] = (INDEX)nest_place(&reduced, RANK, index, AT);
    WALK(w, LANES) {
        WALK(g, GROUPS)
        s[w][g] = state_empty();
        place at = begin + w;
        for (; !ONCE && at + (PER - 1) * LANES < end; at += PER * LANES) {
            place next = at + (2 * PER - 1) * LANES < end ? at + PER * LANES : begin + w + 1;
            EACH(i, PER) {
                FIND_ROW(i)
                FIND(soon[i], next + i * LANES)
            }
            add_rows(s[w], rows, soon, where, PER, columns, p);
        }
        EACH(i, PER > 1 || ONCE ? PER : 0)
        if (at + i * LANES < end) {
            FIND_ROW(i)
            add_rows(s[w], rows + i, rows + i, where + i, 1, columns, p);
        }
    }
    WALK(g, (columns + 31) / 32) {
        state all[LANES];
        EACH(w, LANES)
        all[w] = s[w][g];
        TREE(a, b, LANES, all[a] = merge(all[a], all[b]))
        if (g * 32 + lane() >= columns)
            continue;
        u64 column = g * 32 + lane();
#ifdef SPLIT
        u64 results = kept.packs, result = outer * kept.sizes[KEPT_RANK - 1] + before + column;
        ((state *)work)[(u64)block_y() * results + result] = all[0];
#else
        store(to + first_to + (i64)column * to_step, all[0], p, n, q);
#endif
    }
}
