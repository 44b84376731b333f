// Pads, crops, tiles and rolls: output element by output element, along each axis from the input's
// index that pad.h says. The innermost loop is one of packs where it is not padded; with SINGLES
// the elements of a pack are read one by one.
//
// REPEAT: each input of the last axis is so many outputs side by side, and the inputs of a pack are
// read as one.
//
// TURNS: the outermost axis is not padded. A thread finds the place of a pack in all other axes once
// and moves it for several indices of that one.
#include <kiln/moved.h>

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
tune(SINGLES, 0, 1);
tune(TURNS, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include "pad.h"
#include "put.h"
KERNEL_OVERLAPS
#ifndef REPEAT // of SINGLES alone
#    define REPEAT 1
#endif
#define PART (V / REPEAT)
#if REPEAT > 1 && PART * BYTES >= 4 && BYTES < 4
#    define PART_WORDS 1
typedef struct part {
    _Alignas(PART *BYTES) u32 w[PART * BYTES / 4];
} part;
#else
#    define PART_WORDS 0
typedef struct part {
    _Alignas(PART *BYTES) T e[PART];
} part;
#endif
enum { THREADS = 256, PER = SINGLES && !TURNS ? 1 : 4 };

static inline T get(const part *p, u32 i)
{
#if PART_WORDS
    return (T)(p->w[i / (4 / BYTES)] >> i % (4 / BYTES) * (8 * BYTES));
#else
    return p->e[i];
#endif
}

// Where a pack comes from: its place, or with SINGLES that of each element behind `in`.
typedef struct source {
    bool is_inside;
    i64 in;
    bool has_own[SINGLES && REPEAT == 1 ? V : 1];
    i64 own[SINGLES && REPEAT == 1 ? V : 1];
} source;

static inline source source_of(const struct pad_axes *axes, const u64 *index)
{
    source s;
    s.is_inside = true;
    s.in = 0;
#pragma unroll
    for (u32 d = 0; d < RANK - SINGLES; d++)
        s.in += d == RANK - 1 && V > 1 ? (i64)index[d]
                                       : pad_source(&axes->a[d], index[d], &s.is_inside) * axes->a[d].stride;
#pragma unroll
    for (u32 i = 0; i < V && SINGLES && REPEAT == 1; i++) {
        const struct pad_axis *last = &axes->a[RANK - 1];
        s.has_own[i] = s.is_inside;
        s.own[i] = pad_source(last, index[RANK - 1] * V + i, &s.has_own[i]) * last->stride;
    }
    if (REPEAT > 1)
        s.in += (i64)index[RANK - 1] * PART;
    return s;
}

static inline pack moved(const T *from, const source *s, T value)
{
    pack p;
    part all;
    if (REPEAT > 1)
        all = *(const part *)(from + s->in);
#pragma unroll
    for (u32 i = 0; i < V; i++) {
        T x = value;
        if (REPEAT > 1)
            x = get(&all, i / REPEAT);
        else if (SINGLES && s->has_own[i])
            x = from[s->in + s->own[i]];
        put(&p, i, x);
    }
    if (!SINGLES && s->is_inside)
        p = ((const pack *)from)[s->in];
    return p;
}

kernel block(THREADS) void pad(const T *restrict from, T *restrict to, struct nest n, struct pad_axes axes, struct nest_turns turns,
                               T value)
{
    kernel_begin();
    pack all[PER];
    u64 index[8];
    if (TURNS) {
        u64 at = (u64)block_x() * THREADS + thread_x();
        if (at >= n.packs)
            return;
        nest_find(&n, RANK, at, index);
        source s = source_of(&axes, index);
        i64 out = nest_place(&n, RANK, index, 0);
        u64 turn = index[0], step = n.sizes[0];
        for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
#pragma unroll
            for (u32 k = 0; k < PER; k++, s.in += turns.steps[0])
                all[k] = moved(from, &s, value);
#pragma unroll
            for (u32 k = 0; k < PER; k++, out += turns.steps[1])
                ((pack *)to)[out] = all[k];
        }
        for (; turn < turns.count; turn += step, s.in += turns.steps[0], out += turns.steps[1])
            ((pack *)to)[out] = moved(from, &s, value);
        return;
    }
    u64 first = (u64)block_x() * (THREADS * PER) + thread_x();
    i64 out[PER];
#pragma unroll
    for (u32 k = 0; k < PER; k++)
        if (first + k * THREADS < n.packs) {
            nest_find(&n, RANK, first + k * THREADS, index);
            source s = source_of(&axes, index);
            out[k] = nest_place(&n, RANK, index, 0);
            all[k] = moved(from, &s, value);
        }
#pragma unroll
    for (u32 k = 0; k < PER; k++)
        if (first + k * THREADS < n.packs)
            ((pack *)to)[out[k]] = all[k];
}
