// Sums that the blocks of a cluster share, for convolutions on sm_90a: each block puts its part of a
// tile, BM x BN numbers, into its shared memory, and adds up some rows of all parts, in the order of
// the blocks. The file that includes this has BM, BN and SHARE.
#ifndef KILN_CONV_SM90_SHARE_H
#define KILN_CONV_SM90_SHARE_H

// Where a number is: the eights of a row are permuted, so that lanes keep off each other's banks.
static u32 partial_index(u32 row, u32 column)
{
    return row * BN + (column ^ (row & 3) * 8);
}

// 64 rows of a warpgroup, from first_row on.
static void put_partial(f32 (*acc)[BN / 2], u32 first_row, f32 *partial)
{
#pragma unroll
    for (u32 i = 0; i < BN / 4; i++) {
        u32 row = first_row + acc_row(0) + i % 2 * 8, column = lane() % 4 * 2 + i / 2 * 8;
        *(f32x2 *)(partial + partial_index(row, column)) = (f32x2){(*acc)[i * 2], (*acc)[i * 2 + 1]};
    }
}

// Eight neighbouring sums. Loads of all parts are on their way together.
static void add_partials(f32 *partial, u32 row, u32 column, f32 (*sum)[8])
{
    f32 *at = partial + partial_index(row, column);
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        f32x4 part[SHARE];
#pragma unroll
        for (u32 r = 0; r < SHARE; r++) {
            if (SHARE == 1)
                part[r] = *(const f32x4 *)(at + h * 4);
            else
                part[r] = *(const f32x4 *)cluster_at(at + h * 4, r);
        }
        f32x4 all = part[0];
#pragma unroll
        for (u32 r = 1; r < SHARE; r++)
            all = (f32x4){all.x + part[r].x, all.y + part[r].y, all.z + part[r].z, all.w + part[r].w};
        (*sum)[h * 4] = all.x;
        (*sum)[h * 4 + 1] = all.y;
        (*sum)[h * 4 + 2] = all.z;
        (*sum)[h * 4 + 3] = all.w;
    }
}

// The warps of the cluster: what was put is seen, and nobody ends while others read. Producers call it
// twice, too.
static void meet_cluster(void)
{
    warp_sync();
    cluster_arrive();
    cluster_wait();
}

#endif
