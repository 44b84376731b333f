// Weights of numbers: a warp, or for long groups a block (TOGETHER), looks at one group of one row for its range, then
// divides by the scale and packs. Blocks along x have the groups of a row, blocks along y the rows. Both loops take eight
// elements of a lane at a time; words behind K are 0.
#include <kiln/overlap.h>

tune(TOGETHER, 0, 1);
tune(X_PACKED, 0, 1); // rows of x are contiguous and start at multiples of 16 bytes
tune(W_PACKED, 0, 1); // so do those of the weights
enum { WARPS = TOGETHER ? 16 : 4, LANES = TOGETHER ? WARPS * 32 : 32, TEAMS = TOGETHER ? 1 : WARPS };
#include "layer.h"
KERNEL_OVERLAPS

#ifdef X_f32
PACK(f32, 4)
#else
PACK(X, 8)
#endif

#ifdef WEIGHT_i4
#    define MOST  15.0f // of q, from `LEAST` on
#    define LEAST 0.0f
#    define HALF  7.0f // the largest magnitude of q without zeros
#else
#    define MOST  255.0f
#    define LEAST -128.0f
#    define HALF  127.0f
#endif

// NaN counts as 0.
static inline f32 number(const X *row, i64 step, u32 k)
{
    f32 v = pack_get(X, row[(i64)k * step]);
    return isnan(v) ? 0.0f : v;
}

// The numbers of a row from number k on; those behind `depth` count as 0, too.
static inline void load_eight(f32 *v, const X *row, i64 step, u32 k, u32 depth)
{
    if (X_PACKED && k + 8 <= depth) {
#ifdef X_f32
        pack_load(f32, 4, v, row + k, 0);
        pack_load(f32, 4, v + 4, row + k, 1);
#else
        pack_load(X, 8, v, row + k, 0);
#endif
    } else {
#pragma unroll
        for (u32 e = 0; e < 8; e++)
            v[e] = k + e < depth ? pack_get(X, row[(i64)(k + e) * step]) : 0.0f;
    }
#pragma unroll
    for (u32 e = 0; e < 8; e++)
        v[e] = isnan(v[e]) ? 0.0f : v[e];
}

typedef struct levels { // of a group
    f32 scale, inverse, zero, low;
} levels;

static inline levels levels_of(f32 scale, f32 zero, f32 low)
{
    bool is_usual = scale > 0x1p-100f && scale < 0x1p100f;
    return (levels){scale, is_usual ? fast_rcp(scale) : 0.0f, zero, low};
}

static inline i32 quantised(f32 v, levels l)
{
    f32 q = l.scale > 0.0f ? rint(v / l.scale) + l.zero : l.zero;
    return (i32)clamp(q, l.low, LEAST + MOST);
}

// Bits of weight e of eight, from which one on.
static inline u64 bits_at(i32 q, u32 e)
{
#ifdef WEIGHT_i4
    return (u64)(u32)q << (e / 2 + e % 2 * 4) * 4;
#else
    return (u64)(u8)q << e * 8;
#endif
}

// Eight weights of a row from number k on. A product with the inverse is off by less than a ten-thousandth: only where it is that
// close to the middle between two integers it takes a division to know which one. Added to 1.5 * 2^23 it is rounded, and the
// integer is the sum's last bits.
static inline u64 quantise_eight(const X *row, i64 step, u32 k, u32 depth, levels l)
{
    const f32 base = 12582912.0f;
    bool is_certain = l.inverse > 0.0f;
    f32 v[8];
    u64 all = 0;
    load_eight(v, row, step, k, depth);
#pragma unroll
    for (u32 e = 0; e < 8; e++) {
        f32 near = clamp(v[e] * l.inverse, l.low - l.zero, LEAST + MOST - l.zero), sum = near + base;
        is_certain = is_certain && fabs(near - (sum - base)) < 0.4999f;
        if (k + e < depth)
            all |= bits_at((i32)(bits_f32(sum) - bits_f32(base)) + (i32)l.zero, e);
    }
    if (is_certain)
        return all;
    all = 0;
#pragma unroll 1
    for (u32 e = 0; e < 8 && k + e < depth; e++)
        all |= bits_at(quantised(number(row, step, k + e), l), e);
    return all;
}

kernel block(WARPS * 32) void quantise_weights(const X *restrict x, weight_t *restrict weight, SCALE *restrict scale,
#ifdef HAS_ZERO
                                               zero_t *restrict zeros,
#endif
                                               struct linear l)
{
    kernel_begin();
    u32 group = block_x(), begin = group << l.group_shift;
#ifdef WEIGHT_i4
    u32 length = (l.k + 31) / 32 * 32; // of a row, with its padding
#else
    u32 length = l.k;
#endif
    u32 end = group + 1 == grid_dim_x() ? length : begin + (1u << l.group_shift);
    u32 team = TOGETHER ? 0 : warp(), own = TOGETHER ? thread_x() : lane(), rows = l.layers[0].n;
    for (u32 row = block_y() * TEAMS + team; row < rows; row += grid_dim_y() * TEAMS) {
        const X *from = x + (i64)row * l.x[0];
        f32 low = 0.0f, high = 0.0f;
#pragma unroll 4
        for (u32 k = begin + own * 8; k < end; k += LANES * 8) {
            f32 v[8];
            load_eight(v, from, l.x[1], k, l.k);
#pragma unroll
            for (u32 e = 0; e < 8; e++) {
                low = min(low, v[e]);
                high = max(high, v[e]);
            }
        }
        low = TOGETHER ? block_min(low) : warp_min(low);
        high = TOGETHER ? block_max(high) : warp_max(high);
#ifdef HAS_ZERO
        SCALE stored = pack_put(SCALE, (high - low) / MOST);
        f32 s = pack_get(SCALE, stored), z = s > 0.0f ? rint(-low / s) : 0.0f, least = LEAST;
        z = clamp(z, 0.0f, MOST) + LEAST;
        if (own == 0)
            zeros[(i64)row * l.layers[0].zero[0] + (i64)group * l.layers[0].zero[1]] = (zero_t)(i32)z;
#else
        SCALE stored = pack_put(SCALE, max(high, -low) / HALF);
#    ifdef WEIGHT_i4
        f32 s = pack_get(SCALE, stored), z = 8.0f, least = 1.0f;
#    else
        f32 s = pack_get(SCALE, stored), z = 0.0f, least = -127.0f;
#    endif
#endif
        if (own == 0)
            scale[(i64)row * l.layers[0].scale[0] + (i64)group * l.layers[0].scale[1]] = stored;
        weight_t *to = weight + (i64)row * l.layers[0].weight;
        levels of = levels_of(s, z, least);
        for (u32 k = begin + own * 8; k < end; k += LANES * 8) {
            u64 all = quantise_eight(from, l.x[1], k, l.k, of);
#ifdef WEIGHT_i4
            to[k / 8] = (u32)all;
#else
            if (W_PACKED && k + 8 <= l.k) {
                *(u32x2 *)(void *)(to + k) = (u32x2){(u32)all, (u32)(all >> 32)};
            } else {
#    pragma unroll
                for (u32 e = 0; e < 8; e++)
                    if (k + e < l.k)
                        to[k + e] = (i8)(u8)(all >> e * 8);
            }
#endif
        }
    }
}
