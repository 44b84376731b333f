// Convolutions of any layout, tile by tile: the sums of direct.c, with their bits, for many results of
// a group. A block has BM places and BN channels, its threads several of both; DEPTH terms of the sums
// at a time go through shared memory, as numbers, while those before are multiplied. A term is a channel
// of a tap. What a window reads beyond the tensor is no term.
//
// PHASED: from the small tensor to the large one with a stride s along a dimension the places p, p + s, …
// have the same taps. They follow each other here, and a tile leaves out taps that none of its places has.
#include <kiln/window.h>

tune(BM, 64, 128, 32); // places
tune(BN, 64, 32);      // channels
tune(TO_LAST, 0, 1);   // neighbouring channels of the result are neighbours; CHANNELS_LAST: of what is read
tune(WEIGHT_LAST, 0, 1); // those of the result in the weights
tune(FLAT, 0, 1);   // DEPTH terms may be of several taps
tune(PHASED, 0, 1); // without FLAT
enum {
    DEPTH = 16,
    ROWS = BM == 128 ? 8 : 4,
    COLUMNS = 4,
    DOWN = BM / ROWS,
    ACROSS = BN / COLUMNS,
    THREADS = DOWN * ACROSS
};
#include "types.h"
#include "activate.h"
KERNEL_OVERLAPS

typedef struct stage {
    f32 a[DEPTH][BM + 4], b[DEPTH][BN + 4];
} stage;
shared stage stages[2];

enum { A_EACH = BM * DEPTH / THREADS, B_EACH = BN * DEPTH / THREADS, A_PARTS = DEPTH / A_EACH, B_PARTS = DEPTH / B_EACH };
enum { NO_TERM = 0x7fc0b1d5 }; // as an operand; a NaN with these bits becomes another one

// What a thread loads: A_EACH terms of a place, B_EACH of a channel of the results.
typedef struct loader {
    const T *x, *y; // those of its place and of its channel
    u32 at[3];      // its place
    bool has_place, has_column;
    u32 length; // of the sums
    f32 a[A_EACH], b[B_EACH];
} loader;

// --- places
typedef struct phases { // of places that have the same taps
    u32 count, across[3]; // across: places along a dimension; the last may be behind the tensor
    u64 each;             // places of a phase
} phases;

static phases phases_of(const struct window *w)
{
    phases f = {.count = 1, .each = w->batch};
#pragma unroll
    for (u32 d = FIRST_SPACE; d < 3 && PHASED; d++) {
        f.across[d] = (w->to_space[d] + w->stride[d] - 1) / w->stride[d];
        f.each = f.each / w->to_space[d] * f.across[d];
        f.count *= w->stride[d];
    }
    return f;
}

// Place `at` of all; *at becomes its image. False: it is behind the tensor.
static bool place_of(const struct window *w, const phases *f, u64 *at, u32 *p)
{
    bool is_there = *at < f->count * f->each;
    if (!PHASED) {
        window_space(at, w->to_space, p);
        return is_there;
    }
    u32 phase = (u32)(*at / f->each);
    *at -= phase * f->each;
    window_space(at, f->across, p);
#pragma unroll
    for (u32 d = 2; d + 1 > FIRST_SPACE; d--) {
        u32 next = phase / w->stride[d];
        p[d] = p[d] * w->stride[d] + phase - next * w->stride[d];
        phase = next;
        is_there = is_there && p[d] < w->to_space[d];
    }
    return is_there;
}

static u32 a_row(void)
{
    return CHANNELS_LAST ? thread_x() / A_PARTS : thread_x() % BM;
}

static u32 a_first(void)
{
    return (CHANNELS_LAST ? thread_x() % A_PARTS : thread_x() / BM) * A_EACH;
}

static u32 b_column(void)
{
    return WEIGHT_LAST ? thread_x() % BN : thread_x() / B_PARTS;
}

static u32 b_first(void)
{
    return (WEIGHT_LAST ? thread_x() / BN : thread_x() % B_PARTS) * B_EACH;
}

// The tap of term k; returns its channel.
static u32 tap_of(const struct window *w, u32 k, u32 *tap)
{
    u32 number = k / w->terms, row = number / w->taps[2];
    tap[0] = row / w->taps[1];
    tap[1] = row - tap[0] * w->taps[1];
    tap[2] = number - row * w->taps[2];
    return k - number * w->terms;
}

// Does a phase have the tap of term k?
static bool has_tap(const struct window *w, u32 phase, u32 k)
{
    u32 tap[3];
    bool has = true;
    tap_of(w, k, tap);
#pragma unroll
    for (u32 d = 2; d + 1 > FIRST_SPACE; d--) {
        u32 next = phase / w->stride[d], own = phase - next * w->stride[d];
        has = has && ((i32)(own + w->pad[d]) - (i32)(tap[d] * w->dilation[d])) % (i32)w->stride[d] == 0;
        phase = next;
    }
    return has;
}

// The first term from k on that the places of a tile, which are of the phases first to last, may have.
static u32 next_term(const struct window *w, u32 length, u32 first, u32 last, u32 k)
{
    if (PHASED && first == last && k % w->terms == 0)
        while (k < length && !has_tap(w, first, k))
            k += w->terms;
    return k;
}

// From term k on.
static void load(loader *l, const struct window *w, u32 k)
{
    u32 tap[3], term = 0;
    bool is_inside = false;
    i64 at = 0;
#pragma unroll
    for (u32 i = 0; i < A_EACH; i++) {
        if (FLAT || i == 0) {
            term = tap_of(w, k + a_first() + i, tap);
            i64 a = window_reach(w, 0, l->at[0], tap[0], IS_INVERSE), b = window_reach(w, 1, l->at[1], tap[1], IS_INVERSE);
            i64 c = window_reach(w, 2, l->at[2], tap[2], IS_INVERSE);
            is_inside = l->has_place && a >= 0 && b >= 0 && c >= 0;
            at = a * w->from[2] + b * w->from[3] + c * w->from[4] + term * w->from[1];
        } else {
            at += w->from[1];
        }
        f32 x = f32_from_bits(NO_TERM);
        if (is_inside && k + a_first() + i < l->length) {
            x = (f32)pack_get(T, l->x[at]);
            if (bits_f32(x) == NO_TERM)
                x = f32_from_bits(0x7fc00000u);
        }
        l->a[i] = x;
    }
#pragma unroll
    for (u32 i = 0; i < B_EACH; i++) {
        if (FLAT || i == 0) {
            term = tap_of(w, k + b_first() + i, tap);
            at = tap[0] * w->weight[2] + tap[1] * w->weight[3] + tap[2] * w->weight[4] + term * w->weight[1];
        } else {
            at += w->weight[1];
        }
        l->b[i] = l->has_column && k + b_first() + i < l->length ? (f32)pack_get(T, l->y[at]) : 0;
    }
}

static void put(const loader *l, stage *to)
{
#pragma unroll
    for (u32 i = 0; i < A_EACH; i++)
        to->a[a_first() + i][a_row()] = l->a[i];
#pragma unroll
    for (u32 i = 0; i < B_EACH; i++)
        to->b[b_first() + i][b_column()] = l->b[i];
}

// Row i of a thread: fours, 64 apart.
static u32 own_row(u32 i)
{
    return (TO_LAST ? thread_x() / ACROSS : thread_x() % DOWN) * 4 + i % 4 + i / 4 * 64;
}

static u32 own_column(u32 i)
{
    return (TO_LAST ? thread_x() % ACROSS : thread_x() / DOWN) * 4 + i;
}

static void multiply(f32 (*acc)[ROWS][COLUMNS], const stage *s)
{
#pragma unroll
    for (u32 k = 0; k < DEPTH; k++) {
        f32x4 a[ROWS / 4], b = *(const f32x4 *)&s->b[k][own_column(0)];
        f32 y[COLUMNS] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (u32 i = 0; i < ROWS / 4; i++)
            a[i] = *(const f32x4 *)&s->a[k][own_row(i * 4)];
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            f32 x = i % 4 == 0 ? a[i / 4].x : i % 4 == 1 ? a[i / 4].y : i % 4 == 2 ? a[i / 4].z : a[i / 4].w;
            if (bits_f32(x) != NO_TERM) {
#pragma unroll
                for (u32 j = 0; j < COLUMNS; j++)
                    (*acc)[i][j] = fma(x, y[j], (*acc)[i][j]);
            }
        }
    }
}

kernel block(THREADS) min_blocks(BM == 128 ? 2 : BM == 64 ? 3 : 8) void conv_tiled(const T *restrict from, const T *restrict weight, T *restrict to,
#ifdef HAS_BIAS
                                      const BIAS *restrict bias,
#endif
                                      struct window w)
{
    kernel_begin();
    u32 across = (w.per_group + BN - 1) / BN, tile = block_x() / across, column = (block_x() - tile * across) * BN;
    phases f = phases_of(&w);
    u32 down = (u32)((f.count * f.each + BM - 1) / BM), group = tile / down;
    u64 first = (u64)(tile - group * down) * BM, at = first + a_row();
    u32 own = column + b_column(), phase = 0, last_phase = 0;
    if (PHASED) {
        phase = (u32)(first / f.each);
        last_phase = min((u32)((first + BM - 1) / f.each), f.count - 1);
    }
    loader l;
    l.has_place = place_of(&w, &f, &at, l.at);
    l.x = from + ((i64)at * w.from[0] + (i64)(group * w.terms) * w.from[1]);
    l.y = weight + ((i64)group * w.group + (i64)own * w.weight[0]);
    l.has_column = own < w.per_group;
    u32 length = w.taps[0] * w.taps[1] * w.taps[2] * w.terms;
    l.length = length;
    f32 acc[ROWS][COLUMNS];
#pragma unroll
    for (u32 i = 0; i < ROWS * COLUMNS; i++)
        acc[i / COLUMNS][i % COLUMNS] = 0;
    u32 k = next_term(&w, length, phase, last_phase, 0);
    if (k < length) {
        load(&l, &w, k);
        put(&l, &stages[0]);
    }
    barrier();
    for (u32 step = 0; k < length; step++) {
        k = next_term(&w, length, phase, last_phase, k + DEPTH);
        if (k < length)
            load(&l, &w, k);
        multiply(&acc, &stages[step % 2]);
        if (k < length)
            put(&l, &stages[(step + 1) % 2]);
        barrier();
    }
#pragma unroll
    for (u32 i = 0; i < ROWS; i++) {
        u64 n = first + own_row(i);
        u32 p[3];
        bool is_inside = place_of(&w, &f, &n, p);
        T *row = to + window_at(w.to, n, group * w.per_group, p);
#pragma unroll
        for (u32 j = 0; j < COLUMNS; j++) {
            u32 channel = column + own_column(j);
            if (!is_inside || channel >= w.per_group)
                continue;
            f32 sum = acc[i][j];
#ifdef HAS_BIAS
            sum += (f32)pack_get(BIAS, bias[(group * w.per_group + channel) * w.other[0]]);
#endif
            row[channel * w.to[1]] = pack_put(T, activate(sum));
        }
    }
}
