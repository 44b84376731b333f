// Numbers of weights: a thread has eight neighbours of a row.
#include <kiln/kernel.h>

tune(W_PACKED, 1, 0); // rows of the weights start at multiples of 16 bytes
tune(X_PACKED, 1, 0); // so do those of the result, which are contiguous
#include "decode.h"

#ifdef OUT_f32
PACK(f32, 4)
#else
PACK(OUT, 8)
#endif

kernel block(256) void dequantise_weights(const weight_t *restrict weight, const SCALE *restrict scale,
#ifdef HAS_ZERO
                                          const zero_t *restrict zeros,
#endif
                                          OUT *restrict out, struct linear l)
{
    u32 pieces = (l.k + 7) / 8;
    u64 count = (u64)l.layers[0].n * pieces;
    for (u64 at = (u64)block_x() * 256 + thread_x(); at < count; at += (u64)grid_dim_x() * 256) {
        u32 row = (u32)(at / pieces), k = (u32)(at % pieces) * 8;
        i64 group = (i64)(k >> l.group_shift);
        const weight_t *from = weight + (i64)row * l.layers[0].weight;
        f32 s = pack_get(SCALE, scale[(i64)row * l.layers[0].scale[0] + group * l.layers[0].scale[1]]), v[8];
#ifdef HAS_ZERO
        f32 z = zero_of(zeros, (i64)row * l.layers[0].zero[0] + group * l.layers[0].zero[1]);
#else
        f32 z = zero_of(NULL, 0);
#endif
        chunk c = {{0, 0, 0, 0}};
#ifdef WEIGHT_i4
        c.words[0] = from[k / 8];
#else
        if (W_PACKED && k + 8 <= l.k) {
            u32x2 both = *(const u32x2 *)(const void *)(from + k);
            c.words[0] = both.x;
            c.words[1] = both.y;
        } else {
#    pragma unroll
            for (u32 e = 0; e < 8; e++)
                if (k + e < l.k)
                    c.words[e / 4] |= (u32)(u8)from[k + e] << e % 4 * 8;
        }
#endif
        decode(v, &c, 0, z);
#pragma unroll
        for (u32 e = 0; e < 8; e++)
            v[e] *= s;
        OUT *to = out + (i64)row * l.layers[0].out[0];
        if (X_PACKED && k + 8 <= l.k) {
#ifdef OUT_f32
            pack_store(f32, 4, to + k, 0, v);
            pack_store(f32, 4, to + k, 1, v + 4);
#else
            pack_store(OUT, 8, to + k, 0, v);
#endif
        } else {
#pragma unroll
            for (u32 e = 0; e < 8; e++)
                if (k + e < l.k)
                    to[(i64)(k + e) * l.layers[0].out[1]] = pack_put(OUT, v[e]);
        }
    }
}
