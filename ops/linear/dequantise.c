// Numbers of weights: a thread has eight neighbours of ROWS rows, whose loads are on their way together.
#include <kiln/overlap.h>

tune(W_PACKED, 1, 0); // rows of the weights start at multiples of 16 bytes
tune(X_PACKED, 1, 0); // so do those of the result, which are contiguous
#include "decode.h"

KERNEL_OVERLAPS

enum { ROWS = 4 };

#ifdef OUT_f32
PACK(f32, 4)
#else
PACK(OUT, 8)
#endif

// The weights of a row from number k on, and those behind it; of those behind `depth` zeros or anything.
static inline chunk load_eight(const weight_t *from, u32 k, u32 depth)
{
    chunk c = {{0, 0, 0, 0}};
#ifdef WEIGHT_i4
    c.words[0] = from[k / 8];
#else
    if (W_PACKED && k + 8 <= depth) {
        u32x2 both = *(const u32x2 *)(const void *)(from + k);
        c.words[0] = both.x;
        c.words[1] = both.y;
    } else {
#    pragma unroll
        for (u32 e = 0; e < 8; e++)
            if (k + e < depth)
                c.words[e / 4] |= (u32)(u8)from[k + e] << e % 4 * 8;
    }
#endif
    return c;
}

static inline void store_eight(OUT *to, i64 step, const f32 *v, u32 k, u32 depth)
{
    if (X_PACKED && k + 8 <= depth) {
#ifdef OUT_f32
        pack_store(f32, 4, to + k, 0, v);
        pack_store(f32, 4, to + k, 1, v + 4);
#else
        pack_store(OUT, 8, to + k, 0, v);
#endif
    } else {
#pragma unroll
        for (u32 e = 0; e < 8; e++)
            if (k + e < depth)
                to[(i64)(k + e) * step] = pack_put(OUT, v[e]);
    }
}

kernel block(256) void dequantise_weights(const weight_t *restrict weight, const SCALE *restrict scale,
#ifdef HAS_ZERO
                                          const zero_t *restrict zeros,
#endif
                                          OUT *restrict out, struct linear l)
{
    kernel_begin();
    u64 first = (u64)block_x() * 256 + thread_x();
    u32 k = (u32)first * 8, n = l.layers[0].n;
    if (first * 8 >= l.k)
        return;
    i64 group = (i64)(k >> l.group_shift);
    for (u32 top = block_y() * ROWS; top < n; top += grid_dim_y() * ROWS) {
        chunk c[ROWS];
        f32 s[ROWS], z[ROWS];
#pragma unroll
        for (u32 i = 0; i < ROWS; i++) {
            i64 row = (i64)min(top + i, n - 1);
            c[i] = load_eight(weight + row * l.layers[0].weight, k, l.k);
            s[i] = pack_get(SCALE, scale[row * l.layers[0].scale[0] + group * l.layers[0].scale[1]]);
#ifdef HAS_ZERO
            z[i] = zero_of(zeros, row * l.layers[0].zero[0] + group * l.layers[0].zero[1]);
#else
            z[i] = zero_of(NULL, 0);
#endif
        }
#pragma unroll
        for (u32 i = 0; i < ROWS; i++)
            if (top + i < n) {
                f32 v[8];
                decode(v, &c[i], 0, z[i]);
#pragma unroll
                for (u32 e = 0; e < 8; e++)
                    v[e] *= s[i];
                store_eight(out + (i64)(top + i) * l.layers[0].out[0], l.layers[0].out[1], v, k, l.k);
            }
    }
}
