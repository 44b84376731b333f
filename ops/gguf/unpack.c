// Blocks to numbers: a thread has a unit of 16 elements. The weights of struct sizes are read, n rows; out is [n, elements].
#include "blocks.h"
#include "sizes.h"

tune(PACKED, 1, 0); // elements of out are contiguous, and rows start at multiples of 16 bytes
#ifndef OUT
#    define OUT f16
#    define V   4 // elements of an access: those of a run, 16 bytes at most
#endif

enum { THREADS = 256 };

PACK(OUT, V)

kernel block(THREADS) void gguf_unpack(const u8 *restrict w, OUT *restrict out, struct sizes s)
{
    for (u64 i = (u64)block_x() * THREADS + thread_x(); i < s.n * s.units; i += (u64)grid_dim_x() * THREADS) {
        u64 row = i / s.units, index = i % s.units, block = index / UNITS;
        u32 part = (u32)(index % UNITS);
        unit u = unit_of(raw_of(w + (i64)row * s.w_row + block * BYTES, part), part);
        OUT *to = out + (i64)row * s.out_row + (i64)(block * SIZE + unit_first(part)) * (PACKED ? 1 : s.out_step);
        f32 v[UNIT];
        EACH(e, UNIT)
            v[e] = unit_get(&u, e);
        EACH(r, RUNS) {
            if (PACKED) {
                EACH(e, RUN / V)
                    pack_store(OUT, V, to + r * APART + e * V, 0, v + r * RUN + e * V);
            } else {
                EACH(e, RUN)
                    to[(i64)(r * APART + e) * s.out_step] = pack_put(OUT, v[r * RUN + e]);
            }
        }
    }
}
