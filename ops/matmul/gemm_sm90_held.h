// A way out of gemm_sm90.c for blocks with several tiles that two warpgroups share: a tile's results,
// rounded to 16 bits, wait in registers and leave through the copy engine while the next tile is
// multiplied, one slab at each of its first steps along K. Needs -D ASYNC_OUT.
#ifndef KILN_GEMM_SM90_HELD_H
#define KILN_GEMM_SM90_HELD_H

enum { HELD_WORDS = BN / 4, HELD_SLABS = (BN + COLUMNS - 1) / COLUMNS };

// What a lane has of 64 rows, finished and rounded; c is their corner.
static void hold(acc_t (*acc)[BN / 2], corner c, u32 (*held)[HELD_WORDS])
{
#if defined(PACK)
#if HAS_BIAS
    u32 own = c.row + warp() % 4 * 16 + lane() / 4; // a row of the accumulators is a column of a turned result
    f32x2 of_rows = {0.0f, 0.0f};
    if (IS_TURNED) {
        of_rows.x = own < c.rows ? c.bias[own] : 0.0f;
        of_rows.y = own + 8 < c.rows ? c.bias[own + 8] : 0.0f;
    }
#endif
#pragma unroll
    for (u32 j = 0; j < BN / 8; j++) {
#if HAS_BIAS
        bool is_tail = HAS_TAIL && j * 8 >= WHOLE;
        u32 n = (is_tail ? tail_at(c.column) - WHOLE : whole_at(c.column)) + j * 8 + lane() % 4 * 2;
        f32x2 of_columns = {0.0f, 0.0f};
        if (!IS_TURNED && n < c.columns)
            of_columns = *(const f32x2 *)(c.bias + n);
#endif
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            acc_t x = (*acc)[j * 4 + h * 2], y = (*acc)[j * 4 + h * 2 + 1];
#if HAS_BIAS
            x = finish(x, !IS_TURNED ? of_columns.x : h ? of_rows.y : of_rows.x);
            y = finish(y, !IS_TURNED ? of_columns.y : h ? of_rows.y : of_rows.x);
#endif
            (*held)[j * 2 + h] = PACK(x, y);
        }
    }
#endif
}

// Only the first TAIL columns of a slab: their map has no more. At the end of the result the other one
// cuts the rest off.
static void give_tail(corner c, u32 row, const u8 *slab)
{
    u32 column = tail_at(c.column);
    if (column + TAIL > c.columns)
        tensor_store_2d(c.result, (i32)column, (i32)row, slab);
    else
        tensor_store_3d(c.tail, 0, (i32)(column / 16), (i32)row, slab);
    bulk_commit();
}

// Slab `chunk` of what is held.
static void send_held(u32 (*held)[HELD_WORDS], u32 chunk, corner c)
{
    bool is_tail = HAS_TAIL && chunk * 64 == WHOLE;
    u32 wg = warp() / 4, first = HAS_TAIL ? chunk * 64 : slab_column(chunk, BN);
    u8 *slab = smem + WAY_OUT_AT + wg * 8 * SLAB + (IS_TURNED ? chunk % 2 * 4 : warp() % 4 * 2 + chunk % 2) * SLAB;
    bool is_giver = IS_TURNED ? thread_x() % 128 == 0 : lane() == 0;
    wait_for_slabs(is_giver, true);
    if (IS_TURNED)
        barrier_sync(1 + wg, 128);
    else
        warp_sync();
#pragma unroll
    for (u32 u = 0; u < 4; u++) {
        u32 words[4];
        if (is_tail && u * 16 + 16 > TAIL)
            break;
#pragma unroll
        for (u32 x = 0; x < 4; x++)
            words[x] = (*held)[first / 4 + u * 4 + x];
        if (IS_TURNED)
            stmatrix_transposed(slab + (u * 16 + lane() / 16 * 8 + lane() % 8) * 128 +
                                    ((warp() % 4 * 2 + lane() / 8 % 2) ^ (lane() % 8)) * 16,
                                words);
        else
            stmatrix(slab + lane() % 16 * 128 + (((lane() / 16 + 2 * u) ^ (lane() & 7)) * 16), words);
    }
    fence_async();
    if (IS_TURNED)
        barrier_sync(1 + wg, 128);
    else
        warp_sync();
    if (is_giver && IS_TURNED)
        give_slab(c.result, c.row, c.column + first, slab);
    else if (is_giver && is_tail)
        give_tail(c, c.row + warp() % 4 * 16, slab);
    else if (is_giver)
        give_slab(c.result, whole_at(c.column) + first, c.row + warp() % 4 * 16, slab);
}

// The slabs from `from` on, up to `end`.
static void send_held_slabs(u32 (*held)[HELD_WORDS], u32 from, u32 end, corner c)
{
#pragma unroll
    for (u32 chunk = 0; chunk < HELD_SLABS; chunk++)
        if (chunk >= from && chunk < end)
            send_held(held, chunk, c);
}

#endif
