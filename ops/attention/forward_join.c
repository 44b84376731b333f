// Puts together what the parts of forward_sm90.c with SPLIT leave: out is their mean, each weighed with the sum of its
// exponentials. -D TYPE_f16 for f16, COLUMNS as there.
//
// shares: [parts][rows][HD], sums: the logarithm of the sum of each, [parts][rows]; rows are the queries of all heads.
// With CAUSAL the last parts of a tile of 64 queries may have no keys at all: nobody wrote them.
#include <kiln/overlap.h>

#include "hopper.h"

KERNEL_OVERLAPS

tune(CAUSAL, 0, 1);
tune(BN, 128, 64, 80, 96, 112, 144, 160, 176, 192); // keys of a block of forward_sm90.c

typedef struct shape {
    u32 rows, queries, keys, heads, parts;
    strides out, lse;
} shape;

// The parts of a query's tile that have keys.
static u32 parts_of(shape s, u32 query)
{
    u32 blocks = (s.keys + BN - 1) / BN;
    if (CAUSAL)
        blocks = min(blocks, (query / 64 * 64 + 64 + s.keys - s.queries + BN - 1) / BN);
    u32 size = (blocks + s.parts - 1) / s.parts;
    return (blocks + size - 1) / size;
}

// A thread for 8 numbers.
kernel block(256) void attention_join(const f32 *shares, const f32 *sums, half_t *out,
#if !defined(NO_LSE)
                                      f32 *lse,
#endif
                                      shape s)
{
    kernel_begin();
    u32 i = global_x(), row = i / (HD / 8), column = i % (HD / 8) * 8;
    if (row >= s.rows || column >= COLUMNS)
        return;
    u32 head = row / s.queries, query = row - head * s.queries, parts = parts_of(s, query);
    f32 largest = -INFINITY, sum = 0.0f, x[8] = {0.0f};
    for (u32 n = 0; n < parts; n++)
        largest = max(largest, sums[(u64)n * s.rows + row]);
    for (u32 n = 0; n < parts; n++) {
        f32 weight = fast_exp2((sums[(u64)n * s.rows + row] - largest) * 1.44269504f);
        const f32x4 *from = (const f32x4 *)(shares + ((u64)n * s.rows + row) * HD + column);
        f32x4 low = from[0], high = from[1];
        sum += weight;
        x[0] = fma(weight, low.x, x[0]);
        x[1] = fma(weight, low.y, x[1]);
        x[2] = fma(weight, low.z, x[2]);
        x[3] = fma(weight, low.w, x[3]);
        x[4] = fma(weight, high.x, x[4]);
        x[5] = fma(weight, high.y, x[5]);
        x[6] = fma(weight, high.z, x[6]);
        x[7] = fma(weight, high.w, x[7]);
    }
    f32 factor = 1.0f / sum;
    *(u32x4 *)(out + row_at(s.out, head, s.heads, query, s.queries, HD) + column) =
        (u32x4){PACK(x[0] * factor, x[1] * factor), PACK(x[2] * factor, x[3] * factor),
                PACK(x[4] * factor, x[5] * factor), PACK(x[6] * factor, x[7] * factor)};
#if !defined(NO_LSE)
    if (column == 0)
        lse[row_at(s.lse, head, s.heads, query, s.queries, 1)] = largest + fast_log2(sum) * 0.69314718f;
#endif
}
