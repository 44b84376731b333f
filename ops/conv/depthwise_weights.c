// The gradient by the weights of depthwise convolutions with 16-bit channels-last tensors: a thread has
// eight channels, one row of taps and every so many places of a part. The threads of a block with the
// same channels add their sums in order, each block stores f32 [part, tap, channel], weights_add.c adds
// the parts.
#include <kiln/window.h>

tune(TAPS, 3, 1, 2, 4, 5, 6, 7); // of a row
enum { THREADS = 256 };
#define V 8
#ifndef T
#    define T f16
#endif
KERNEL_OVERLAPS
PACK(T, V)

// w.from is the large tensor, w.to the small one; w.terms packs of channels are a block's.
kernel block(THREADS) void conv_depthwise_weights(const T *restrict large, const T *restrict small, f32 *restrict parts,
                                                  struct window w, u64 places)
{
    kernel_begin();
    shared f32 sums[THREADS][V];
    u32 rows = THREADS / w.terms, row = thread_x() / w.terms, pack = thread_x() - row * w.terms;
    u32 channel = (block_x() * w.terms + pack) * V, line = block_y(), tap[2];
    tap[0] = line / w.taps[1];
    tap[1] = line - tap[0] * w.taps[1];
    u64 first = block_z() * places, end = min(first + places, w.batch);
    f32 sum[TAPS][V];
#pragma unroll
    for (u32 i = 0; i < TAPS * V; i++)
        sum[i / V][i % V] = 0;
    for (u64 at = first + row; at < end && channel < w.channels; at += rows) {
        u64 batch = at;
        u32 p[3];
        window_space(&batch, w.to_space, p);
        i64 a = window_reach(&w, 0, p[0], tap[0], false), b = window_reach(&w, 1, p[1], tap[1], false);
        if (a < 0 || b < 0)
            continue;
        f32 y[V];
        pack_load(T, V, y, small, (u64)(window_at(w.to, batch, channel, p) / V));
        i64 x_row = (i64)batch * w.from[0] + channel + a * w.from[2] + b * w.from[3];
#pragma unroll
        for (u32 k = 0; k < TAPS; k++) {
            i64 c = window_reach(&w, 2, p[2], k, false);
            f32 x[V];
            if (c < 0)
                continue;
            pack_load(T, V, x, large, (u64)((x_row + c * w.from[4]) / V));
#pragma unroll
            for (u32 v = 0; v < V; v++)
                sum[k][v] = fma(x[v], y[v], sum[k][v]);
        }
    }
    u32 lines = w.taps[0] * w.taps[1], own = thread_x() / V, v = thread_x() % V;
    for (u32 k = 0; k < TAPS; k++) {
        barrier();
#pragma unroll
        for (u32 i = 0; i < V; i++)
            sums[thread_x()][i] = sum[k][i];
        barrier();
        u32 to = (block_x() * w.terms + own) * V + v;
        if (own < w.terms && to < w.channels) {
            f32 all = sums[own][v];
            for (u32 r = 1; r < rows; r++)
                all += sums[r * w.terms + own][v];
            parts[((u64)block_z() * lines + line) * TAPS * w.channels + k * w.channels + to] = all;
        }
    }
}
