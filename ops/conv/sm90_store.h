// From accumulators to results, for convolutions on sm_90a. The file that includes this has `patch`, a
// part of a tile, and place_of(shape, patch, row, place).
#ifndef KILN_CONV_SM90_STORE_H
#define KILN_CONV_SM90_STORE_H

// Numbers of a warp, 16 rows from `row` on: bias and activation, then 64 channels at a time through
// a slab to memory, 16 bytes for each lane.
static void store_rows(f32 (*acc)[BN / 2], const conv_shape *s, patch at, u32 channel, u32 row, T *to, const BIAS *bias)
{
    slab *own = (slab *)smem->staging + warp();
    u32 group = block_y(), chunk = lane() % 8 * 8;
    T *rows[4];
    bool is_inside[4];
#pragma unroll
    for (u32 q = 0; q < 4; q++) {
        u32 p[3];
        is_inside[q] = place_of(s, at, row + q * 4 + lane() / 8, p);
        rows[q] = to + (p[0] * s->step_w + p[1] * s->step_h + p[2] * s->step_n) + ((i64)group * s->per_group + chunk);
    }
#pragma unroll
    for (u32 n = 0; n < BN / 64; n++) {
        u32 words[4][4];
#pragma unroll
        for (u32 i = 0; i < 16; i++) { // pairs: eight columns further on with every second
            f32 x = (*acc)[n * 32 + i * 2], y = (*acc)[n * 32 + i * 2 + 1];
#ifdef HAS_BIAS
            u32 c = channel + n * 64 + i / 2 * 8 + lane() % 4 * 2;
            const BIAS *b = bias + (i64)(group * s->per_group + min(c, s->per_group - 2)) * s->bias_step;
            x += pack_get(BIAS, b[0]);
            y += pack_get(BIAS, b[s->bias_step]);
#endif
            words[i / 4][i % 4] = PAIR(activate(x), activate(y));
        }
        warp_sync();
#pragma unroll
        for (u32 u = 0; u < 4; u++)
            tile_put(own, 0, u * 16, words[u]);
        warp_sync();
#pragma unroll
        for (u32 q = 0; q < 4; q++) {
            u32x4 v = *(const u32x4 *)tile_chunk(own, q * 4 + lane() / 8, lane() % 8);
            u32 c = channel + n * 64;
            if (is_inside[q] && c + chunk < s->per_group)
                *(u32x4 *)(rows[q] + c) = v;
        }
    }
}

// The same for sums of a part: [part, image, row, column, channel].
static void store_sums(f32 (*acc)[BN / 2], const conv_shape *s, patch at, u32 channel, u32 row, f32 *sums)
{
    u64 places = (u64)s->to_n * s->to_h * s->to_w;
    u32 first = block_y() * s->per_group;
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        u32 p[3];
        bool is_inside = place_of(s, at, row + lane() / 4 + h * 8, p);
        u64 place = block_z() * places + ((u64)p[2] * s->to_h + p[1]) * s->to_w + p[0];
        f32 *to = sums + place * s->channels + first;
#pragma unroll
        for (u32 j = 0; j < BN / 8; j++) {
            u32 c = channel + j * 8 + lane() % 4 * 2;
            if (is_inside && c < s->per_group)
                *(f32x2 *)(to + c) = (f32x2){(*acc)[j * 4 + h * 2], (*acc)[j * 4 + h * 2 + 1]};
        }
    }
}

#endif
