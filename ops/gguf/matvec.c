// out[m, n] = x[m, :] * weights[n, :] for M rows at most: bound by the memory that holds the weights. A block
// has ROWS rows of weights; its warps and lanes share the units of a row, so that a load of a warp is one piece of
// memory. A unit is multiplied as it is decoded: sums of level times x, then the run's scale.
//
// The order of a sum is fixed by the number of units alone: a lane adds up every 128th unit, run by run; lanes are
// added by a butterfly, then the four warps in turn.
#include "blocks.h"
#include "sizes.h"

tune(M, 1, 2, 4, 8);
tune(ROWS, 2, 1, 4);
tune(PACKED, 1, 0); // elements of x are contiguous, and rows start at multiples of 16 bytes
#ifndef T
#    define T   f16
#    define OUT f16
#    define V   4 // elements of an access: those of a run, 16 bytes at most
#endif

enum { WARPS = 4, THREADS = WARPS * 32 };

PACK(T, V)

// The x of a unit, whose first element is at `from`, and the sums of its runs.
static inline void load_x(f32 *to, f32 *sums, const T *from, i64 step)
{
    EACH(r, RUNS) {
        if (PACKED) {
            EACH(i, RUN / V)
                pack_load(T, V, to + r * RUN + i * V, from + r * APART + i * V, 0);
        } else {
            EACH(i, RUN)
                to[r * RUN + i] = pack_get(T, from[(i64)(r * APART + i) * step]);
        }
        sums[r] = to[r * RUN];
        EACH(i, RUN - 1)
            sums[r] += to[r * RUN + i + 1];
    }
}

// For few rows of x the lift of the levels is taken off the sum, for more off each level.
enum { LATE = M <= 2 };

static inline f32 add_unit(f32 sum, const unit *u, const f32 *x, const f32 *sums)
{
    EACH(r, RUNS) {
        f32 part = u->q[r * RUN] * x[r * RUN];
        EACH(i, RUN - 1)
            part = fma(u->q[r * RUN + i + 1], x[r * RUN + i + 1], part);
        if (LATE && LIFT > 0)
            part = fma(-(f32)LIFT, sums[r], part);
        sum = fma(u->scale[r], part, sum);
        if (HAS_OFFSET)
            sum = fma(u->offset[r], sums[r], sum);
    }
    return sum;
}

kernel block(THREADS) void gguf_matvec(const T *restrict x, const u8 *restrict w, OUT *restrict out,
#ifdef BIAS
                                       const BIAS *restrict bias,
#endif
                                       struct sizes s)
{
    shared f32 parts[WARPS][ROWS * M];
    u64 first = (u64)block_x() * ROWS;
    const u8 *row[ROWS];
    f32 sum[ROWS][M];
    EACH(r, ROWS) {
        row[r] = w + (i64)min(first + r, s.n - 1) * s.w_row;
        EACH(m, M)
            sum[r][m] = 0;
    }
    // The bytes of the next units are on their way while these are multiplied.
    raw next[ROWS];
    EACH(r, ROWS)
        next[r] = thread_x() < s.units ? raw_of(row[r] + thread_x() / UNITS * BYTES, thread_x() % UNITS) : raw_none();
    for (u64 i = thread_x(); i < s.units; i += THREADS) {
        u32 part = (u32)(i % UNITS);
        const T *from = x + (i64)(i / UNITS * SIZE + unit_first(part)) * (PACKED ? 1 : s.x_step);
        raw now[ROWS];
        EACH(r, ROWS)
            now[r] = next[r];
        if (i + THREADS < s.units)
            EACH(r, ROWS)
                next[r] = raw_of(row[r] + (i + THREADS) / UNITS * BYTES, part);
        // Few rows of x are held while rows of weights go by; of more rows it is the other way round.
        f32 v[LATE ? M : 1][UNIT], sums[LATE ? M : 1][RUNS];
        unit u[LATE ? 1 : ROWS];
        if (LATE) {
            EACH(m, M)
                load_x(v[LATE ? m : 0], sums[LATE ? m : 0], from + (i64)min((u64)m, s.m - 1) * s.x_row, s.x_step);
            EACH(r, ROWS) {
                u[0] = unit_of(now[r], part);
                EACH(m, M)
                    sum[r][m] = add_unit(sum[r][m], &u[0], v[LATE ? m : 0], sums[LATE ? m : 0]);
            }
        } else {
            EACH(r, ROWS) {
                u[LATE ? 0 : r] = unit_of(now[r], part);
                EACH(e, UNIT)
                    u[LATE ? 0 : r].q[e] -= (f32)LIFT;
            }
            EACH(m, M) {
                load_x(v[0], sums[0], from + (i64)min((u64)m, s.m - 1) * s.x_row, s.x_step);
                EACH(r, ROWS)
                    sum[r][m] = add_unit(sum[r][m], &u[LATE ? 0 : r], v[0], sums[0]);
            }
        }
    }
    EACH(r, ROWS)
        EACH(m, M) {
            f32 all = sum[r][m];
            EACH(b, 5)
                all += shuffle_xor(all, 16u >> b);
            if (lane() == 0)
                parts[warp()][r * M + m] = all;
        }
    barrier();
    u32 r = thread_x() / M, m = thread_x() % M;
    if (r < ROWS && first + r < s.n && m < s.m) {
        f32 all = parts[0][thread_x()];
        EACH(p, WARPS - 1)
            all += parts[p + 1][thread_x()];
#ifdef BIAS
        all += pack_get(BIAS, bias[(i64)(first + r) * s.bias_step]);
#endif
        out[(i64)m * s.out_row + (i64)(first + r) * s.out_step] = pack_put(OUT, all);
    }
}
