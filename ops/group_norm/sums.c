// Sums of the planes' sums: with CHANNELS dbias and dweight of each channel, else the two means that
// dx needs of each group, where each plane counts with its channel's weight. A warp has one of them.
#include <kiln/rows.h>
KERNEL_OVERLAPS

#ifdef CHANNELS
#    define IS_CHANNELS 1
#else
#    define IS_CHANNELS 0
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

struct sums { // plane k of result r is r * first + k / inner * outer + k % inner
    u64 results, planes, inner, outer, first;
    u64 channel_planes, channels; // planes of a channel of an item; the channel of plane u: u / channel_planes % channels
    f32 columns;
    i64 weight_step, bias_step;
    u32 is_eval; // the means are 0
};

// weight is read, or with CHANNELS dweight and dbias are written
kernel block(256) void plane_sums(const f32 *restrict part, const T *weight, T *dweight, T *dbias, f32 *restrict sums, struct sums s)
{
    kernel_begin();
    u64 result = (u64)block_x() * 8 + warp();
    if (result >= s.results)
        return;
    f32 first = 0, second = 0;
    for (u64 k = lane(); k < s.planes; k += 32) {
        u64 unit = result * s.first + k / s.inner * s.outer + k % s.inner;
        i64 channel = (i64)(unit / s.channel_planes % s.channels);
        f32 w = !IS_CHANNELS && HAS_WEIGHT ? pack_get(T, weight[channel * s.weight_step]) : 1.0f;
        first += w * part[2 * unit];
        second += w * part[2 * unit + 1];
    }
    first = warp_sum(first);
    second = warp_sum(second);
    if (lane() == 0) {
        if (IS_CHANNELS && HAS_WEIGHT)
            dweight[(i64)result * s.weight_step] = pack_put(T, second);
        if (IS_CHANNELS && HAS_BIAS)
            dbias[(i64)result * s.bias_step] = pack_put(T, first);
        if (!IS_CHANNELS) {
            f32 count = (f32)s.planes * s.columns;
            sums[2 * result] = s.is_eval != 0 ? 0.0f : first / count;
            sums[2 * result + 1] = s.is_eval != 0 ? 0.0f : second / count;
        }
    }
}
