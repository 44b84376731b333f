// Writes an f32 operand as tf32 numbers for a product of three times as long a sum (kiln_matmul_desc,
// is_tf32x3): each number is high + low. A row of the left one becomes high, high, low, a row of the right
// one high, low, high; the product of the two is all of a * b but low * low. Rows of the result run along K,
// each third is `padded` numbers long, zeros at its end.
#include <kiln/kernel.h>

tune(IS_MN, 0, 1);    // the operand is contiguous across K
tune(IS_RIGHT, 0, 1);

enum { TILE = 32, THREADS = 256, EACH = TILE * TILE / THREADS };

// The nearest number with ten bits after the point; what is too large for that, or no number, is cut off.
static f32 to_tf32(f32 x)
{
    u32 bits = bits_f32(x), exponent = bits >> 23 & 255;
    return f32_from_bits((exponent < 254 ? bits + 0x1000 : bits) & ~0x1fffu);
}

kernel block(THREADS) void gemm_split(const f32 *from, f32 *to, u32 rows, u32 k, u32 pitch, u32 padded)
{
    shared f32 tile[TILE][TILE + 1]; // [row][k]
    u32 across = padded / TILE, row = block_x() / across * TILE, first = block_x() % across * TILE;
    u32 x = thread_x() % TILE, y = thread_x() / TILE;
    if (target_sm() >= 90) {
        next_kernel_launch();
        previous_kernel_wait();
    }
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 line = y + i * (THREADS / TILE), r = IS_MN ? x : line, c = IS_MN ? line : x;
        f32 v = 0.0f;
        if (row + r < rows && first + c < k)
            v = IS_MN ? from[(u64)(first + c) * pitch + row + r] : from[(u64)(row + r) * pitch + first + c];
        tile[r][c] = v;
    }
    barrier();
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        u32 r = y + i * (THREADS / TILE);
        f32 v = tile[r][x], high = to_tf32(v), rest = v - high;
        f32 low = rest == rest ? to_tf32(rest) : 0.0f; // infinity has none; times a low of 0 it is no number
        if (row + r < rows) {
            f32 *out = to + ((u64)(row + r) * padded * 3 + first + x);
            out[0] = high;
            out[padded] = IS_RIGHT ? low : high;
            out[2 * padded] = IS_RIGHT ? high : low;
        }
    }
}
