// The gradient by the weights of convolutions of any layout, tile by tile: the sums of direct.c, with
// their bits. There they have 32 parts, of every 32nd place, which warp_sum joins. Here a block has one
// part of 64 x 64 weights, of channels of the small tensor and columns, which are taps and channels of
// the large one: parts[part, channel, column]. What a window reads beyond the tensor is no term of a sum.
// JOIN: the kernel that joins the parts.
#include <kiln/window.h>

tune(FLAT, 0, 1); // four columns may be of several taps
enum { THREADS = 256, PARTS = 32, TILE = 64, DEPTH = 16, EACH = 4 };
#ifndef T
#    define T f32
#endif
KERNEL_OVERLAPS

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

// `from` is the large tensor, `to` the small one.
kernel block(THREADS) min_blocks(3) void conv_tiled_weights(const T *restrict from, const T *restrict to, f32 *restrict parts, struct window w)
{
    kernel_begin();
    u32 columns = w.taps[0] * w.taps[1] * w.taps[2] * w.terms, across = (columns + TILE - 1) / TILE;
    u32 down = (w.per_group + TILE - 1) / TILE, rest = block_x() / PARTS, part = block_x() % PARTS;
    u32 column = rest % across * TILE;
    rest /= across;
    u32 group = rest / down, channel = (rest - group * down) * TILE;
    loader l;
    l.channel = channel + thread_x() % 16 * EACH;
    l.column = column + thread_x() % 16 * EACH;
    l.columns = columns;
    l.small = to + (i64)(group * w.per_group + l.channel) * w.to[1];
    l.large = from + (i64)(group * w.terms) * w.from[1];
    u64 m = (u64)(thread_x() / 16) * PARTS + part;
    u32 steps = (u32)((w.batch + PARTS * DEPTH - 1) / (PARTS * DEPTH));
    f32 acc[EACH][EACH];
#pragma unroll
    for (u32 i = 0; i < EACH * EACH; i++)
        acc[i / EACH][i % EACH] = 0;
    load(&l, &w, m);
    put(&l, &stages[0]);
    barrier();
    for (u32 step = 0; step < steps; step++) {
        m += PARTS * DEPTH;
        if (step + 1 < steps)
            load(&l, &w, m);
        multiply(&acc, &stages[step % 2]);
        if (step + 1 < steps)
            put(&l, &stages[(step + 1) % 2]);
        barrier();
    }
    u64 all = (u64)w.channels * columns;
    channel += thread_x() / 16 * EACH;
#pragma unroll
    for (u32 i = 0; i < EACH; i++)
#pragma unroll
        for (u32 j = 0; j < EACH; j++)
            if (channel + i < w.per_group && l.column + j < columns)
                parts[part * all + (u64)(group * w.per_group + channel + i) * columns + l.column + j] = acc[i][j];
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
        u32 channel = (u32)(at / columns), column = (u32)(at - (u64)channel * columns), number = column / w.terms;
        u32 term = column - number * w.terms, group = channel / w.per_group;
        if (lane() == 0 && at < all)
            weight[group * w.group + (channel - group * w.per_group) * w.weight[0] + term * w.weight[1] +
                   number / w.taps[2] / w.taps[1] * w.weight[2] + number / w.taps[2] % w.taps[1] * w.weight[3] +
                   number % w.taps[2] * w.weight[4]] = pack_put(T, sum);
    }
}
#endif
