// The gradient by the weights of convolutions of any layout, tile by tile: the sums of direct.c, with
// their bits. There they have 32 parts, of every 32nd place, which warp_sum joins. Here a block has one
// part of 64 x 64 weights, of channels of the small tensor and columns, which are taps and channels of
// the large one: parts[part, channel, column]. What a window reads beyond the tensor is no term of a sum.
// JOIN: the kernel that joins the parts. WHOLE: a block has all parts of its weights, one after the other,
// and joins them itself; many weights would have too many parts to store.
#include <kiln/window.h>

tune(FLAT, 0, 1); // four columns may be of several taps
enum { THREADS = 256, PARTS = 32, TILE = 64, DEPTH = 16, EACH = 4 };
#ifndef T
#    define T f32
#endif
KERNEL_OVERLAPS

// Where the weight of a channel and a column lies.
static i64 weight_at(const struct window *w, u32 channel, u32 column)
{
    u32 number = column / w->terms, term = column - number * w->terms, group = channel / w->per_group;
    return group * w->group + (channel - group * w->per_group) * w->weight[0] + term * w->weight[1] +
           number / w->taps[2] / w->taps[1] * w->weight[2] + number / w->taps[2] % w->taps[1] * w->weight[3] +
           number % w->taps[2] * w->weight[4];
}

#ifndef JOIN
typedef struct stage {
    f32 a[DEPTH][TILE + 4], b[DEPTH][TILE + 4];
} stage;
shared stage stages[2];

enum { NO_TERM = 0x7fc0b1d5 }; // of a sum, as an operand; a NaN with these bits becomes another one

typedef struct loader { // what a thread loads: four channels of the small tensor and four columns at a place
    const T *small, *large;
    u32 channel, column, columns;
    f32 a[EACH], b[EACH];
} loader;

// The tap of a column; returns its channel of the large tensor.
static u32 tap_of(const struct window *w, u32 column, u32 *tap)
{
    u32 number = column / w->terms, row = number / w->taps[2];
    tap[0] = row / w->taps[1];
    tap[1] = row - tap[0] * w->taps[1];
    tap[2] = number - row * w->taps[2];
    return column - number * w->terms;
}

static void load(loader *l, const struct window *w, u64 m)
{
    bool has_place = m < w->batch, is_inside = false;
    u64 n = has_place ? m : 0;
    u32 p[3];
    i64 at = 0;
    window_space(&n, w->to_space, p);
    const T *small = l->small + window_at(w->to, n, 0, p), *large = l->large + (i64)n * w->from[0];
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        l->a[i] = has_place && l->channel + i < w->per_group ? (f32)pack_get(T, small[i * w->to[1]]) : 0;
        if (FLAT || i == 0) {
            u32 tap[3], term = tap_of(w, l->column + i, tap);
            i64 a = window_reach(w, 0, p[0], tap[0], false), b = window_reach(w, 1, p[1], tap[1], false);
            i64 c = window_reach(w, 2, p[2], tap[2], false);
            is_inside = has_place && a >= 0 && b >= 0 && c >= 0;
            at = term * w->from[1] + a * w->from[2] + b * w->from[3] + c * w->from[4];
        } else {
            at += w->from[1];
        }
        f32 x = f32_from_bits(NO_TERM);
        if (is_inside && l->column + i < l->columns) {
            x = (f32)pack_get(T, large[at]);
            if (bits_f32(x) == NO_TERM)
                x = f32_from_bits(0x7fc00000u);
        }
        l->b[i] = x;
    }
}

static void put(const loader *l, stage *to)
{
    u32 row = thread_x() / 16, column = thread_x() % 16 * EACH;
    *(f32x4 *)&to->a[row][column] = (f32x4){l->a[0], l->a[1], l->a[2], l->a[3]};
    *(f32x4 *)&to->b[row][column] = (f32x4){l->b[0], l->b[1], l->b[2], l->b[3]};
}

static void multiply(f32 (*acc)[EACH][EACH], const stage *s)
{
#pragma unroll
    for (u32 k = 0; k < DEPTH; k++) {
        f32x4 a = *(const f32x4 *)&s->a[k][thread_x() / 16 * EACH], b = *(const f32x4 *)&s->b[k][thread_x() % 16 * EACH];
        f32 x[EACH] = {a.x, a.y, a.z, a.w}, y[EACH] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            if (bits_f32(y[j]) != NO_TERM) {
#pragma unroll
                for (u32 i = 0; i < EACH; i++)
                    (*acc)[i][j] = fma(y[j], x[i], (*acc)[i][j]);
            }
    }
}

#ifdef WHOLE
#    define RESULT T
enum { BLOCKS = 1, RESIDENT = 2, LEVELS = 4 }; // BLOCKS: that share the parts of some weights
shared f32 halves[EACH * EACH][THREADS];       // the sums of the first half of the parts

// Adds a part to those before it in the order of warp_sum, neighbours first. sums: those of 1, 2, 4 … parts
// that wait for their neighbour. The last part leaves the sum of all.
static void join(f32 (*sums)[LEVELS][EACH][EACH], u32 part, f32 (*acc)[EACH][EACH])
{
    bool waits = false;
#pragma unroll
    for (u32 level = 0; level < LEVELS; level++) {
        bool is_second = part >> level & 1;
#pragma unroll
        for (u32 i = 0; i < EACH * EACH; i++) {
            f32 own = (*acc)[i / EACH][i % EACH];
            if (!waits && is_second)
                (*acc)[i / EACH][i % EACH] = (*sums)[level][i / EACH][i % EACH] + own;
            else if (!waits)
                (*sums)[level][i / EACH][i % EACH] = own;
        }
        waits = waits || !is_second;
    }
#pragma unroll
    for (u32 i = 0; i < EACH * EACH; i++) {
        if (part == PARTS / 2 - 1)
            halves[i][thread_x()] = (*acc)[i / EACH][i % EACH];
        if (part == PARTS - 1)
            (*acc)[i / EACH][i % EACH] = halves[i][thread_x()] + (*acc)[i / EACH][i % EACH];
    }
}
#else
#    define RESULT f32
enum { BLOCKS = PARTS, RESIDENT = 3 };
#endif

static void clear(f32 (*acc)[EACH][EACH])
{
#pragma unroll
    for (u32 i = 0; i < EACH * EACH; i++)
        (*acc)[i / EACH][i % EACH] = 0;
}

// A thread's weights: the sums of the parts first, first + BLOCKS …
static void add_parts(loader *l, const struct window *w, u32 first, f32 (*acc)[EACH][EACH])
{
    u32 row = thread_x() / 16, part = first, step = 0, steps = (u32)((w->batch + PARTS * DEPTH - 1) / (PARTS * DEPTH));
    u32 all = steps * (PARTS / BLOCKS);
    u64 m = (u64)row * PARTS + part;
#ifdef WHOLE
    f32 sums[LEVELS][EACH][EACH];
#endif
    clear(acc);
    load(l, w, m);
    put(l, &stages[0]);
    barrier();
    for (u32 at = 0; at < all; at++) {
        bool is_last = step + 1 == steps; // of the part
        m = is_last ? (u64)row * PARTS + part + 1 : m + PARTS * DEPTH;
        if (at + 1 < all)
            load(l, w, m);
        multiply(acc, &stages[at % 2]);
        if (at + 1 < all)
            put(l, &stages[(at + 1) % 2]);
        barrier();
#ifdef WHOLE
        if (is_last) {
            join(&sums, part, acc);
            if (part + 1 < PARTS)
                clear(acc);
        }
#endif
        step = is_last ? 0 : step + 1;
        part += is_last;
    }
}

// `from` is the large tensor, `to` the small one.
kernel block(THREADS) min_blocks(RESIDENT) void conv_tiled_weights(const T *restrict from, const T *restrict to, RESULT *restrict out, struct window w)
{
    kernel_begin();
    u32 columns = w.taps[0] * w.taps[1] * w.taps[2] * w.terms, across = (columns + TILE - 1) / TILE;
    u32 down = (w.per_group + TILE - 1) / TILE, rest = block_x() / BLOCKS, part = block_x() % BLOCKS;
    u32 column = rest % across * TILE;
    rest /= across;
    u32 group = rest / down, channel = (rest - group * down) * TILE;
    loader l;
    l.channel = channel + thread_x() % 16 * EACH;
    l.column = column + thread_x() % 16 * EACH;
    l.columns = columns;
    l.small = to + (i64)(group * w.per_group + l.channel) * w.to[1];
    l.large = from + (i64)(group * w.terms) * w.from[1];
    f32 acc[EACH][EACH];
    add_parts(&l, &w, part, &acc);
    u64 all = (u64)w.channels * columns;
    channel += thread_x() / 16 * EACH;
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            if (channel + i < w.per_group && l.column + j < columns) {
#ifdef WHOLE
                out[weight_at(&w, group * w.per_group + channel + i, l.column + j)] = pack_put(T, acc[i][j]);
#else
                out[part * all + (u64)(group * w.per_group + channel + i) * columns + l.column + j] = acc[i][j];
#endif
            }
}
#else
// A block joins 32 sums.
kernel block(THREADS) void conv_tiled_join(const f32 *restrict parts, T *restrict weight, struct window w)
{
    kernel_begin();
    shared f32 sums[PARTS][33];
    u32 columns = w.taps[0] * w.taps[1] * w.taps[2] * w.terms;
    u64 all = (u64)w.channels * columns, first = (u64)block_x() * 32;
    for (u32 part = warp(); part < PARTS; part += THREADS / 32)
        sums[part][lane()] = first + lane() < all ? parts[part * all + first + lane()] : 0;
    barrier();
    for (u32 i = warp(); i < 32; i += THREADS / 32) {
        f32 sum = warp_sum(sums[lane()][i]);
        u64 at = first + i;
        u32 channel = (u32)(at / columns), column = (u32)(at - (u64)channel * columns);
        if (lane() == 0 && at < all)
            weight[weight_at(&w, channel, column)] = pack_put(T, sum);
    }
}
#endif
