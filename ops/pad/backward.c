// The gradient of padding by its input: for each input element the sum of the gradients of the outputs
// that are it, in row-major order of the outputs.
#include <kiln/pack.h>

#ifndef NUMBERS
#    define NUMBERS f32
#endif
#define T NUMBERS
tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include "pad.h"
KERNEL_OVERLAPS
enum { THREADS = 256 };
PACK(T, 1)

kernel block(THREADS) void pad_backward(const T *restrict dout, T *restrict dx, struct nest n, struct pad_axes axes)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x();
    if (at >= n.packs)
        return;
    u64 index[8], first[8], count[8], total = 1;
    nest_find(&n, RANK, at, index);
#pragma unroll
    for (u32 d = 0; d < RANK; d++) {
        count[d] = pad_targets(&axes.a[d], index[d], &first[d]);
        total *= count[d];
    }
    pack_number(T) sum = 0;
    for (u64 t = 0; t < total; t++) {
        u64 rest = t;
        i64 place = 0, i;
        bool is_one = true;
#pragma unroll
        for (i32 d = (i32)RANK - 1; d >= 0; d--) {
            u64 turns = count[d] == 1 ? rest : LONG ? rest / count[d] : (u64)((u32)rest / (u32)count[d]);
            is_one = pad_target(&axes.a[d], index[d], first[d], rest - turns * count[d], &i) && is_one;
            place += i * axes.a[d].stride;
            rest = turns;
        }
        if (is_one)
            sum += pack_get(T, dout[place]);
    }
    dx[nest_place(&n, RANK, index, 0)] = pack_put(T, sum);
}
