// The gradient of a sort or of top-k: dx[index[i]] = dout[i] along the axis. No index comes twice. With ZERO dx is set to 0
// instead, for those that no index names.
#include "key.h"

enum { THREADS = 256 };

kernel block(THREADS) void sort_backward(const T *restrict dout, const INDEX *restrict index, T *restrict dx, struct nest n, struct row r,
                                         u32 tiles)
{
    u64 count = (u64)(block_x() % tiles) * THREADS + thread_x(), row = block_x() / tiles;
#ifdef ZERO
    if (count < r.count)
        dx[find_row(&n, row).x + (i64)count * r.x_step] = pack_put(T, 0);
#else
    if (count < r.results) {
        struct results at = find_row(&n, row);
        i64 to = (i64)index[at.index + (i64)count * r.index_step];
        if (to >= 0 && to < (i64)r.count)
            dx[at.x + to * r.x_step] = dout[at.out + (i64)count * r.out_step];
    }
#endif
}
