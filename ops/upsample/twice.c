// Linear interpolation forward along up to three axes, of which the last one is that of the rows in
// memory and becomes twice as long: a thread has V outputs side by side, which share the inputs that
// they are between. The same products and sums as in linear.c, where each output has its own loads.
//
// Output 2 i + 1 is a quarter behind input i, output 2 i a quarter before it. At the ends are outputs
// with the input at the end alone: of their two inputs the second one counts nothing.
#include "linear.h"

#ifndef V
#    define V 4
#endif
PACK(T, V)
enum { PER = 2, ROWS = 1 << (AXES - 1), PART = V / 2, COLUMNS = PART + 2 };
#if V > 4
PACK(T, 4)
#    define part_raw         pack_raw(T, 4)
#    define part_fetch       pack_fetch(T, 4, row, 0)
#    define part_open(to, x) pack_open(T, 4, to, x)
#else
PACK(T, 2)
#    define part_raw         pack_raw(T, 2)
#    define part_fetch       pack_fetch(T, 2, row, 0)
#    define part_open(to, x) pack_open(T, 2, to, x)
#endif

// Where the inputs of a thread are behind its place, and their weights.
typedef struct place {
    i64 where[ROWS];     // of the part of a row
    i32 before, behind;  // from there to the input before it, and to the one behind
    bool is_first;       // the part is the first of its row
    N row[ROWS];         // weights: of the rows,
    N first[2], last[2]; // of the inputs of the first output and of the last one
} place;

static inline place place_of(const struct axes *axes, const u64 *index)
{
    place p;
    u64 low[AXES];
    N share[AXES];
#pragma unroll
    for (u32 a = 0; a + 1 < AXES; a++) {
        f64 part;
        low[a] = input_of(&axes->a[a], index[a], &part);
        share[a] = (N)part;
    }
    u64 first = index[AXES - 1] * PART, in = axes->a[AXES - 1].in;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        p.row[r] = 1;
        p.where[r] = (i64)first;
#pragma unroll
        for (u32 a = 0; a + 1 < AXES; a++) {
            bool is_next = (r >> (AXES - 2 - a) & 1) != 0;
            u64 i = low[a] + (is_next ? 1 : 0);
            i = i > axes->a[a].in - 1 ? axes->a[a].in - 1 : i;
            p.where[r] += (i64)i * axes->a[a].stride;
            p.row[r] *= is_next ? share[a] : (N)1 - share[a];
        }
    }
    p.is_first = first == 0;
    bool is_last = first + PART == in;
    p.before = p.is_first ? 0 : -1;
    p.behind = is_last ? (i32)PART - 1 : (i32)PART;
    N own = p.is_first ? (N)0 : (N)0.75, next = is_last ? (N)0 : (N)0.25;
    p.first[0] = (N)1 - own;
    p.first[1] = own;
    p.last[0] = (N)1 - next;
    p.last[1] = next;
    return p;
}

typedef struct raw {
    part_raw part[ROWS];
    T before[ROWS], behind[ROWS];
} raw;

static inline void fetch(raw *to, const T *from, const place *p)
{
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        const T *row = from + p->where[r];
        to->part[r] = part_fetch;
        to->before[r] = row[p->before];
        to->behind[r] = row[p->behind];
    }
}

static inline void put(T *to, const raw *from, const place *p)
{
    N sum[V], x[COLUMNS], inner[PART];
#pragma unroll
    for (u32 v = 0; v < V; v++)
        sum[v] = 0;
#pragma unroll
    for (u32 r = 0; r < ROWS; r++) {
        part_open(inner, from->part[r]);
        x[0] = pack_get(T, from->before[r]);
        x[COLUMNS - 1] = pack_get(T, from->behind[r]);
#pragma unroll
        for (u32 c = 0; c < PART; c++)
            x[1 + c] = inner[c];
#pragma unroll
        for (u32 v = 0; v < V; v++) {
            u32 c = (v + 1) / 2;
            bool is_start = v == 0 && p->is_first;
            N low = is_start ? x[1] : x[c], high = is_start ? x[2] : x[c + 1];
            N of_low = v == 0 ? p->first[0] : v == V - 1 ? p->last[0] : v % 2 ? (N)0.75 : (N)0.25;
            N of_high = v == 0 ? p->first[1] : v == V - 1 ? p->last[1] : v % 2 ? (N)0.25 : (N)0.75;
            sum[v] += p->row[r] * of_low * low;
            sum[v] += p->row[r] * of_high * high;
        }
    }
    pack_store(T, V, to, 0, sum);
}

kernel block(THREADS) void upsample_twice(const T *restrict from, T *restrict to, struct nest n, struct axes axes, struct nest_turns turns)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8], along[AXES];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
#pragma unroll
    for (u32 a = 0; a < AXES; a++)
        along[a] = (u64)nest_place(&n, RANK, index, FIRST + a);
    place p = place_of(&axes, along);
    const T *read = from + nest_place(&n, RANK, index, READ);
    T *written = to + nest_place(&n, RANK, index, WRITTEN) * V;
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
        raw all[PER];
#pragma unroll
        for (u32 k = 0; k < PER; k++, read += turns.steps[0])
            fetch(&all[k], read, &p);
#pragma unroll
        for (u32 k = 0; k < PER; k++, written += turns.steps[1] * V)
            put(written, &all[k], &p);
    }
    if (turn < turns.count) {
        raw all;
        fetch(&all, read, &p);
        put(written, &all, &p);
    }
}
