// Norms of channels over a batch, or over groups of channels: x is [items, channels, …], a plane is a
// line of x along its last dimension. Four launches go over the planes:
//     STATISTICS  mean and sum of squared differences of each plane; combine.c makes those of groups
//     APPLY       out = (x - mean) * scale * weight + bias
//     SUMS        sums of dout and of dout * y with y = (x - mean) * scale; sums.c adds them up
//     GRADIENT    dx = scale * (dout * weight - mean of (dout * weight) - y * mean of (dout * weight * y))
// The group of a plane is (a number that depends on the item) + channel / channels of a group.
#define NEST_OF 6
#include <kiln/rows.h>
KERNEL_OVERLAPS

enum { STATISTICS, APPLY, SUMS, GRADIENT };
#ifndef PASS
#    define PASS STATISTICS
#endif
#ifdef WEIGHT
#    define HAS_WEIGHT 1
#else
#    define HAS_WEIGHT 0
#endif
#ifdef BIAS
#    define HAS_BIAS 1
#else
#    define HAS_BIAS 0
#endif
enum { X, DOUT, OUT, UNIT, ITEM, CHANNEL };

struct planes {
    u32 group_channels;
    i64 weight_step, bias_step, mean_step, scale_step;
    f32 columns; // of a plane
};

// A view over nothing, whose places are numbers times 16; its strides are in packs, too.
static i64 number(const struct nest *n, const u64 index[8], u32 view)
{
    return row_first(n, index, view) * V / 16;
}

// part: two numbers a plane; mean, scale: one a group; sums: two a group, for GRADIENT.
kernel block(THREADS) void planes(const T *ALONE x_from, const T *ALONE dout_from, T *ALONE to, const T *restrict weight,
                                  const T *restrict bias, f32 *restrict part, const f32 *restrict mean_of,
                                  const f32 *restrict scale_of, const f32 *restrict sums, struct nest n, struct planes s)
{
    kernel_begin();
    u64 packs = row_packs(&n), index[8];
    if (!row_find(&n, index))
        return;
    i64 x = row_first(&n, index, X), dout = row_first(&n, index, DOUT), out = row_first(&n, index, OUT);
    i64 unit = number(&n, index, UNIT), channel = number(&n, index, CHANNEL);
    i64 group = number(&n, index, ITEM) + channel / s.group_channels;
    f32 mean = 0, scale = 1, w = 1, b = 0, first = 0, second = 0;
    if (PASS != STATISTICS) {
        mean = mean_of[group * s.mean_step];
        scale = scale_of[group * s.scale_step];
        if (HAS_WEIGHT)
            w = pack_get(T, weight[channel * s.weight_step]);
        if (HAS_BIAS)
            b = pack_get(T, bias[channel * s.bias_step]);
    }
    if (PASS == GRADIENT) {
        first = sums[2 * group];
        second = sums[2 * group + 1];
    }
    f32 v[V], g[V], sum = 0, other = 0;
    if (PASS == STATISTICS) {
        FOR_LONG(at, packs) {
            load(v, x_from, x, at, X, &n);
            FOR_ELEMENTS(i)
                sum += v[i];
        }
        mean = row_sum(sum, 0) / s.columns;
    }
    FOR_LONG(at, packs) {
        load(v, x_from, x, at, X, &n);
        if (PASS == SUMS || PASS == GRADIENT)
            load(g, dout_from, dout, at, DOUT, &n);
        FOR_ELEMENTS(i) {
            v[i] = (v[i] - mean) * scale;
            if (PASS == STATISTICS)
                other += v[i] * v[i];
            if (PASS == APPLY)
                v[i] = v[i] * w + b;
            if (PASS == SUMS) {
                first += g[i];
                second += g[i] * v[i];
            }
            if (PASS == GRADIENT)
                v[i] = scale * (g[i] * w - first - v[i] * second);
        }
        if (PASS == APPLY || PASS == GRADIENT)
            store(to, out, at, OUT, &n, v);
    }
    if (PASS == STATISTICS || PASS == SUMS) {
        first = PASS == SUMS ? row_sum(first, 1) : mean;
        second = row_sum(PASS == SUMS ? second : other, 2);
        if (lane_of_row() == 0 && row_is_there(&n)) {
            part[2 * unit] = first;
            part[2 * unit + 1] = second;
        }
    }
}
