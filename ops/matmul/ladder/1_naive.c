// Rung 1 of the ladder: every thread computes one result and reads both operands from memory.
// Any m, n and k. Runs on every device.
#include <kiln/kernel.h>

enum { BM = 16, BN = 16 }; // results of a block: rows, columns

// c: [m, n] = a: [m, k] times b: [n, k] transposed
kernel block(BN, BM) void matmul(const bf16 *a, const bf16 *b, bf16 *c, u32 m, u32 n, u32 k)
{
    u32 row = global_y(), column = global_x();
    if (row >= m || column >= n)
        return;
    f32 sum = 0;
    for (u32 i = 0; i < k; i++)
        sum = fma(f32(a[(u64)row * k + i]), f32(b[(u64)column * k + i]), sum);
    c[(u64)row * n + column] = to_bf16(sum);
}
