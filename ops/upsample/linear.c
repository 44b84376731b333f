// Linear interpolation along up to three axes: an output lies between two inputs along each. Backward
// goes over the inputs: each adds the outputs that it is in, with its share of them, in their order.
#include "linear.h"

enum { PER = 4, CORNER_COUNT = 1 << AXES };

// What output i has of input `input`.
static N share_of(const struct axis *a, u64 i, u64 input)
{
    f64 share;
    u64 low = input_of(a, i, &share);
    return low == input ? (N)1 - (N)share : low + 1 == input ? (N)share : (N)0;
}

// The corners around an output: where they are behind its place, and their weights.
typedef struct corners {
    i64 where[CORNER_COUNT];
    N weight[CORNER_COUNT];
} corners;

static corners corners_of(const struct axes *axes, const u64 *index)
{
    corners c;
    u64 low[AXES];
    N share[AXES];
#pragma unroll
    for (u32 a = 0; a < AXES; a++) {
        f64 part;
        low[a] = input_of(&axes->a[a], index[a], &part);
        share[a] = (N)part;
    }
#pragma unroll
    for (u32 corner = 0; corner < CORNER_COUNT; corner++) {
        c.weight[corner] = 1;
        c.where[corner] = 0;
#pragma unroll
        for (u32 a = 0; a < AXES; a++) {
            u64 i = low[a] + (corner >> (AXES - 1 - a) & 1);
            i = i > axes->a[a].in - 1 ? axes->a[a].in - 1 : i;
            c.where[corner] += (i64)i * axes->a[a].stride;
            c.weight[corner] *= corner >> (AXES - 1 - a) & 1 ? share[a] : (N)1 - share[a];
        }
    }
    return c;
}

static N sum_of(const T *from, const corners *c)
{
    N x[CORNER_COUNT], sum = 0;
#pragma unroll
    for (u32 corner = 0; corner < CORNER_COUNT; corner++)
        x[corner] = pack_get(T, from[c->where[corner]]);
#pragma unroll
    for (u32 corner = 0; corner < CORNER_COUNT; corner++)
        sum += c->weight[corner] * x[corner];
    return sum;
}

// Corners and weights are found once, for several steps of the outermost loop.
kernel block(THREADS) void upsample(const T *restrict from, T *restrict to, struct nest n, struct axes axes, struct nest_turns turns)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8], along[AXES];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
#pragma unroll
    for (u32 a = 0; a < AXES; a++)
        along[a] = (u64)nest_place(&n, RANK, index, FIRST + a);
    corners c = corners_of(&axes, along);
    const T *read = from + nest_place(&n, RANK, index, READ);
    T *written = to + nest_place(&n, RANK, index, WRITTEN);
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
        N sum[PER];
#pragma unroll
        for (u32 k = 0; k < PER; k++, read += turns.steps[0])
            sum[k] = sum_of(read, &c);
#pragma unroll
        for (u32 k = 0; k < PER; k++, written += turns.steps[1])
            *written = pack_put(T, sum[k]);
    }
    for (; turn < turns.count; turn += step, read += turns.steps[0], written += turns.steps[1])
        *written = pack_put(T, sum_of(read, &c));
}

kernel block(THREADS) min_blocks(1) void upsample_backward(const T *restrict dout, T *restrict dx, struct nest n, struct axes axes)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
    i64 place = nest_place(&n, RANK, index, READ);
    u64 input[AXES], first[AXES], count[AXES], total = 1;
#pragma unroll
    for (u32 a = 0; a < AXES; a++) { // outputs between the input before and the one behind, and one more for rounding
        const struct axis *x = &axes.a[a];
        input[a] = (u64)nest_place(&n, RANK, index, FIRST + a);
        f64 step = x->scale > 0.0 ? 1.0 / x->scale : (f64)x->out, middle = (f64)input[a];
        f64 low = CORNERS ? (middle - 1.0) * step - 1.0 : (middle - 0.5) * step - 1.5;
        f64 high = CORNERS ? (middle + 1.0) * step + 2.0 : (middle + 1.5) * step + 1.5;
        u64 end = input[a] == x->in - 1 || high >= (f64)x->out ? x->out : (u64)high;
        first[a] = input[a] == 0 || low <= 0.0 ? 0 : (u64)low;
        count[a] = end > first[a] ? end - first[a] : 0;
        total *= a + 1 < AXES ? count[a] : 1;
    }
    const u32 last = AXES - 1;
    N sum = 0;
    for (u64 t = 0; t < total; t++) {
        u64 rest = t;
        i64 where = place;
        N weight = 1;
#pragma unroll
        for (i32 a = (i32)AXES - 2; a >= 0; a--) {
            u64 turns = LONG ? rest / count[a] : (u64)((u32)rest / (u32)count[a]), i = first[a] + rest - turns * count[a];
            weight *= share_of(&axes.a[a], i, input[a]);
            where += (i64)i * axes.a[a].stride;
            rest = turns;
        }
        if (weight == (N)0)
            continue;
        for (u64 i = first[last]; i < first[last] + count[last]; i++) {
            N mine = share_of(&axes.a[last], i, input[last]);
            if (mine != (N)0)
                sum += weight * mine * pack_get(T, dout[where + (i64)i * axes.a[last].stride]);
        }
    }
    dx[nest_place(&n, RANK, index, WRITTEN)] = pack_put(T, sum);
}
