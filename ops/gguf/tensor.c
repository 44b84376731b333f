// out[m, n] = x[m, :] * weights[n, :] on tensor cores, for sm_80 and later; x is f16 or bf16, and weights are rounded to
// its type. A block has BW rows of weights, the rows of mma, and BX rows of x, its columns; steps of 128 elements, which
// are whole units in every format. Asynchronous copies bring x to one of two stages of shared memory; weights go through
// registers, where they are decoded: their bytes are loaded two steps ahead.
//
// With 16 rows of x the warps share a step's elements instead of its rows and columns, and add up their sums at the end:
// small tiles, so that there are enough of them to read the weights at the speed of memory.
//
// A line of a stage is 64 elements, 128 bytes; granule g of line r lies at g ^ r % 8, 16 bytes each.
#include "blocks.h"
#include "sizes.h"

tune(BX, 64, 16, 128);
#ifndef T
#    define T   f16
#    define OUT f16
#endif
#ifdef IN_bf16
#    define MULTIPLY mma_bf16
#    define PAIR     pack_bf16
#else
#    define MULTIPLY mma_f16
#    define PAIR     pack_f16
#endif

enum {
    THREADS = 256,
    WARPS = 8,
    STEP = 128,
    BW = BX == 16 ? 32 : 128,
    WARPS_K = BX == 16 ? 8 : 1,
    WARPS_X = BX / 32 > 0 ? BX / 32 : 1,
    WARPS_W = WARPS / WARPS_X / WARPS_K,
    TILES_W = BW / WARPS_W / 16, // of a warp
    TILES_X = BX / WARPS_X / 8,
    STEP_UNITS = STEP / UNIT,
    W_EACH = BW * STEP_UNITS / THREADS, // units of a thread in a step
    X_EACH = BX * 16 / THREADS,         // granules
    W_PANEL = BW * 128,
    X_PANEL = BX * 128,
    STAGE = 2 * (W_PANEL + X_PANEL),
    SHARED_BYTES = 2 * STAGE
};

_Alignas(128) shared u8 smem[];

static inline u32 place_in(u32 row, u32 granule)
{
    return row * 128 + ((granule ^ (row & 7)) * 16);
}

// --- memory to shared memory
typedef struct source {
    const u8 *w;   // the first row of a thread, which has every 32nd
    const T *x;    // the first row of a thread, which has every 16th
    u32 rows_w, rows_x; // left from there on
    i64 w_row, x_row;
    u64 units;
} source;

static inline void copy_x(u8 *stage, const source *from, u64 step)
{
    u32 granule = thread_x() % 16;
    u64 element = step * STEP + granule * 8;
    EACH(i, X_EACH) {
        bool is_inside = i * 16 < from->rows_x && element < from->units * UNIT;
        u8 *to = stage + 2 * W_PANEL + granule / 8 * X_PANEL + place_in(thread_x() / 16 + i * 16, granule % 8);
        async_copy_16_part(to, (const u8 *)(from->x + (is_inside ? (i64)i * 16 * from->x_row + (i64)element : 0)), is_inside ? 16u : 0u);
    }
}

static inline void load_w(raw *to, const source *from, u64 step)
{
    u64 index = step * STEP_UNITS + thread_x() % STEP_UNITS;
    EACH(i, W_EACH)
        if (index < from->units && i * 32 < from->rows_w)
            to[i] = raw_of(from->w + (i64)i * 32 * from->w_row + index / UNITS * BYTES, (u32)(index % UNITS));
}

static inline void keep_w(u8 *stage, const raw *of, const source *from, u64 step)
{
    u64 index = step * STEP_UNITS + thread_x() % STEP_UNITS;
    u32 part = (u32)(index % UNITS), first = (u32)(index / UNITS * SIZE + unit_first(part) - step * STEP);
    EACH(i, W_EACH) {
        u32 words[UNIT / 2];
        EACH(e, UNIT / 2)
            words[e] = 0;
        if (index < from->units) {
            unit u = unit_of(of[i], part);
            EACH(e, UNIT / 2)
                words[e] = PAIR(unit_get(&u, e * 2), unit_get(&u, e * 2 + 1));
        }
        EACH(r, RUNS) {
            u32 at = first + r * APART;
            u8 *to = stage + at / 64 * W_PANEL;
            if (RUN == 4)
                *(u32x2 *)(to + place_in(thread_x() / 8 + i * 32, at % 64 / 8) + at % 8 * 2) = (u32x2){words[r * 2], words[r * 2 + 1]};
            else
                EACH(g, RUN / 8 > 0 ? RUN / 8 : 1)
                    *(u32x4 *)(to + place_in(thread_x() / 8 + i * 32, at % 64 / 8 + g)) =
                        (u32x4){words[r * RUN / 2 + g * 4], words[r * RUN / 2 + g * 4 + 1], words[r * RUN / 2 + g * 4 + 2], words[r * RUN / 2 + g * 4 + 3]};
        }
    }
}

// --- shared memory to sums
typedef f32 sums[TILES_W][TILES_X][4];

static inline void multiply(sums *acc, const u8 *stage, u32 at_w, u32 at_x)
{
    u32 first = WARPS_K > 1 ? warp() : 0;
    EACH(e, 8 / WARPS_K) {
        u32 s = first + e; // 16 elements
        u32 a[TILES_W][4], b[TILES_X][2];
        const u8 *w = stage + s / 4 * W_PANEL, *x = stage + 2 * W_PANEL + s / 4 * X_PANEL;
        EACH(i, TILES_W)
            ldmatrix(a[i], w + i * 2048 + (at_w ^ (s % 4 * 32)));
        EACH(j, TILES_X / 2) {
            u32 words[4];
            ldmatrix(words, x + j * 2048 + (at_x ^ (s % 4 * 32)));
            b[j * 2][0] = words[0];
            b[j * 2][1] = words[1];
            b[j * 2 + 1][0] = words[2];
            b[j * 2 + 1][1] = words[3];
        }
        EACH(i, TILES_W)
            EACH(j, TILES_X)
                MULTIPLY((*acc)[i][j], a[i], b[j]);
    }
}

// The sums of all warps, of which each keeps its own eighth: 32 x 16 results, two of a thread.
static inline void add_warps(f32 *own, sums *acc)
{
    f32 *parts = (f32 *)smem; // [warp][TILES_W * TILES_X * 4][32]
    enum { COUNT = TILES_W * TILES_X * 4 };
    EACH(i, COUNT)
        parts[(warp() * COUNT + i) * 32 + lane()] = (*acc)[i / 4 / TILES_X][i / 4 % TILES_X][i % 4];
    barrier();
    EACH(i, COUNT / WARPS > 0 ? COUNT / WARPS : 1) {
        u32 at = (warp() * (COUNT / WARPS) + i) * 32 + lane();
        own[i] = parts[at];
        EACH(p, WARPS - 1)
            own[i] += parts[(p + 1) * COUNT * 32 + at];
    }
}

kernel block(THREADS) min_blocks(BX == 16 ? 3 : BX == 64 && target_sm() < 100 ? 2 : 1) // more spills registers
    void gguf_tensor(const T *restrict x, const u8 *restrict w, OUT *restrict out,
#ifdef BIAS
                     const BIAS *restrict bias,
#endif
                     struct sizes s)
{
    u64 tiles = (s.n + BW - 1) / BW, first_m = block_x() / tiles * BX, first_n = block_x() % tiles * BW;
    u32 l = lane(), in_k = WARPS_K > 1 ? 0 : warp();
    u32 row = in_k / WARPS_X * (BW / WARPS_W), column = in_k % WARPS_X * (BX / WARPS_X);
    u32 at_w = place_in(row + l % 16, l / 16), at_x = place_in(column + l / 16 * 8 + l % 8, l / 8 % 2);
    u64 steps = (s.units + STEP_UNITS - 1) / STEP_UNITS;
    source from;
    from.units = s.units;
    from.w_row = s.w_row;
    from.x_row = s.x_row;
    u64 n = first_n + thread_x() / 8, m = first_m + thread_x() / 16;
    from.rows_w = n < s.n ? (u32)min(s.n - n, (u64)BW) : 0;
    from.rows_x = m < s.m ? (u32)min(s.m - m, (u64)BX) : 0;
    from.w = w + (i64)min(n, s.n - 1) * s.w_row;
    from.x = x + (i64)min(m, s.m - 1) * s.x_row;
    raw ahead[W_EACH];
    EACH(i, W_EACH)
        ahead[i] = raw_none();
    sums acc;
    EACH(i, TILES_W)
        EACH(j, TILES_X)
            EACH(e, 4)
                acc[i][j][e] = 0;

    copy_x(smem, &from, 0);
    async_commit();
    load_w(ahead, &from, 0);
    keep_w(smem, ahead, &from, 0);
    load_w(ahead, &from, 1);
    async_wait(0);
    barrier();
    for (u64 step = 0; step < steps; step++) {
        u8 *now = smem + (step % 2 == 0 ? 0 : STAGE), *other = smem + (step % 2 == 0 ? STAGE : 0);
        if (step + 1 < steps) {
            copy_x(other, &from, step + 1);
            async_commit();
            keep_w(other, ahead, &from, step + 1);
            load_w(ahead, &from, step + 2);
        }
        multiply(&acc, now, at_w, at_x);
        async_wait(0);
        barrier();
    }

    f32 own[2];
    if (WARPS_K > 1)
        add_warps(own, &acc);
    EACH(i, WARPS_K > 1 ? 2 : TILES_W * TILES_X * 4) {
        u32 at = WARPS_K > 1 ? warp() * 2 + i : i; // of the sums of a tile
        n = first_n + row + at / 4 / TILES_X * 16 + at / 2 % 2 * 8 + l / 4;
        m = first_m + column + at / 4 % TILES_X * 8 + l % 4 * 2 + at % 2;
        if (n < s.n && m < s.m) {
            f32 all = WARPS_K > 1 ? own[i % 2] : acc[i / 4 / TILES_X % TILES_W][i / 4 % TILES_X][i % 4];
#ifdef BIAS
            all += pack_get(BIAS, bias[(i64)n * s.bias_step]);
#endif
            out[(i64)m * s.out_row + (i64)n * s.out_step] = pack_put(OUT, all);
        }
    }
}
