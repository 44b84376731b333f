// From accumulators to results, for convolutions on sm_90a. The file that includes this has `patch`, a
// part of a tile, and place_of(shape, patch, row, place), the place of a row in the result.
#ifndef KILN_CONV_SM90_STORE_H
#define KILN_CONV_SM90_STORE_H

// The result of two neighbouring channels, rounded.
static u32 finish(f32 x, f32 y, const conv_shape *s, u32 channel, const BIAS *bias)
{
#ifdef HAS_BIAS
    u32 group = block_y() * s->per_group, last = s->per_group - 1;
    x += pack_get(BIAS, bias[(i64)(group + min(channel, last)) * s->bias_step]);
    y += pack_get(BIAS, bias[(i64)(group + min(channel + 1, last)) * s->bias_step]);
#endif
    return PAIR(activate(x), activate(y));
}

static T *row_of(const conv_shape *s, patch at, u32 row, T *to, bool *is_inside)
{
    u32 p[3];
    *is_inside = place_of(s, at, row, p);
    return to + (phase_of(s, at.phase, to_first) + p[0] * s->step_w + p[1] * s->step_h + p[2] * s->step_n) + (i64)block_y() * s->per_group;
}

// Eight channels, of which the first `count` are there.
static void put_channels(T *to, u32x4 v, u32 count)
{
    if (IS_LOOSE) {
        u32 words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (u32 i = 0; i < 8; i++)
            if (i < count)
                ((u16 *)to)[i] = (u16)(words[i / 2] >> i % 2 * 16);
    } else {
        *(u32x4 *)to = v;
    }
}

// Numbers of a warp, 16 rows from `row` on: bias and activation, then 64 channels at a time through
// a slab to memory, 16 bytes for each lane.
static void store_rows(f32 (*acc)[BN / 2], const conv_shape *s, patch at, u32 row, T *to, const BIAS *bias)
{
    slab *own = (slab *)smem->staging + warp();
    u32 chunk = lane() % 8 * 8;
    T *rows[4];
    bool is_inside[4];
#pragma unroll
    for (u32 q = 0; q < 4; q++)
        rows[q] = row_of(s, at, row + q * 4 + lane() / 8, to, &is_inside[q]) + chunk;
#pragma unroll
    for (u32 n = 0; n < BN / 64; n++) {
        u32 words[4][4], c = at.channel + n * 64;
#pragma unroll
        for (u32 i = 0; i < 16; i++) // pairs: eight columns further on with every second
            words[i / 4][i % 4] = finish((*acc)[n * 32 + i * 2], (*acc)[n * 32 + i * 2 + 1], s,
                                         c + i / 2 * 8 + lane() % 4 * 2, bias);
        warp_sync();
#pragma unroll
        for (u32 u = 0; u < 4; u++)
            tile_put(own, 0, u * 16, words[u]);
        warp_sync();
#pragma unroll
        for (u32 q = 0; q < 4; q++) {
            u32x4 v = *(const u32x4 *)tile_chunk(own, q * 4 + lane() / 8, lane() % 8);
            if (is_inside[q] && c + chunk < s->per_group)
                put_channels(rows[q] + c, v, s->per_group - c - chunk);
        }
    }
}

// The rows of a tile that this block adds up.
static void store_share(const conv_shape *s, u32 tile, T *to, const BIAS *bias)
{
    enum { EIGHTS = BN / 8 };
    u32 rank = cluster_rank() / LOADERS, first = BM * rank / SHARE, count = (BM * (rank + 1) / SHARE - first) * EIGHTS;
    for (u32 i = thread_x(); i < count; i += WGS * 128) {
        u32 row = first + i / EIGHTS, column = i % EIGHTS * 8, words[4];
        patch at = patch_of(s, tile, row);
        bool is_inside;
        T *out = row_of(s, at, row, to, &is_inside) + at.channel + column;
        f32 sum[8];
        add_partials((f32 *)smem, row, column, &sum);
#pragma unroll
        for (u32 n = 0; n < 4; n++)
            words[n] = finish(sum[n * 2], sum[n * 2 + 1], s, at.channel + column + n * 2, bias);
        if (is_inside && at.channel + column < s->per_group)
            put_channels(out, (u32x4){words[0], words[1], words[2], words[3]}, s->per_group - at.channel - column);
    }
}

#endif
