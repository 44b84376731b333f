// The heart of a matrix product: 16-byte shared loads at constant offsets, sums in registers, a loop that the block takes together.
#include <kiln/kernel.h>

kernel block(16, 16) void tile(const f32 *a, const f32 *b, f32 *c, u32 k)
{
    shared f32 left[8][16], right[8][16];
    f32 sum = 0;
    for (u32 k0 = 0; k0 < k; k0 += 8) {
        if (thread_y() < 8) {
            left[thread_y()][thread_x()] = a[(u64)thread_x() * k + k0 + thread_y()];
            right[thread_y()][thread_x()] = b[(u64)(k0 + thread_y()) * 16 + thread_x()];
        }
        barrier();
        for (u32 p = 0; p < 8; p++)
            sum = fma(left[p][thread_y()], right[p][thread_x()], sum);
        barrier();
    }
    c[thread_y() * 16 + thread_x()] = sum;
}
