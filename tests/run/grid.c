// Grid reductions and scans: every operation and type, one block and many, whole and partial warps,
// more blocks than threads, two and three dimensions, several calls in one kernel, a ticket used again.
#include <kiln/kernel.h>

// first[0], first[1], first[2]: what the last block read back of the three results
#define REDUCE(T)                                                                                  \
    kernel void grid_reduce_##T(const T *a, T *sum, T *low, T *high, u32 *tickets, T *first)      \
    {                                                                                              \
        u32 n = block_threads(), b = (block_z() * grid_dim_y() + block_y()) * grid_dim_x();        \
        T x = a[(b + block_x()) * n + thread_rank()];                                              \
        bool is_last = grid_sum(x, sum, &tickets[0]);                                              \
        if (is_last)                                                                               \
            first[3 * thread_rank()] = sum[0];                                                     \
        if (grid_min(x, low, &tickets[1]))                                                         \
            first[3 * thread_rank() + 1] = low[0];                                                 \
        if (grid_max(x, high, tickets + 2))                                                        \
            first[3 * thread_rank() + 2] = high[0];                                                \
    }
//! run grid_reduce_{i32,u32,i64,u64,f32,f64} grid=5 block=96 ($1[480]:rand, $1[5], $1[5], $1[5], u32[3], $1[288])
//! run grid_reduce_{i32,u32,i64,u64,f32,f64} grid=77 block=40 ($1[3080]:rand, $1[77], $1[77], $1[77], u32[3], $1[120])
//! run grid_reduce_{i64,f32} grid=1 block=64 ($1[64]:rand, $1[1], $1[1], $1[1], u32[3], $1[192])
//! run grid_reduce_{u32,f64} grid=1 block=1 ($1[1]:rand, $1[1], $1[1], $1[1], u32[3], $1[3])
//! run grid_reduce_{i32,f32} grid=300 block=1 ($1[300]:rand, $1[300], $1[300], $1[300], u32[3], $1[3])
//! run grid_reduce_{u64,f32} grid=1000 block=7 ($1[7000]:rand, $1[1000], $1[1000], $1[1000], u32[3], $1[21])
//! run grid_reduce_f32 grid=3,4,5 block=5,3,2 (f32[1800]:rand, f32[60], f32[60], f32[60], u32[3], f32[90])
//! run grid_reduce_f32 grid=2 block=128 (f32[256]:edge, f32[2], f32[2], f32[2], u32[3], f32[384])
REDUCE(i32)
REDUCE(u32)
REDUCE(i64)
REDUCE(u64)
REDUCE(f32)
REDUCE(f64)

#define LOGIC(T)                                                                                   \
    kernel void grid_logic_##T(const T *a, T *all, T *some, T *odd, u32 *tickets)                  \
    {                                                                                              \
        T x = a[global_x()];                                                                       \
        grid_and(x | 0xffff, all, &tickets[0]);                                                    \
        grid_or(x & 7, some, &tickets[1]);                                                         \
        grid_xor(x, odd, &tickets[2]);                                                             \
    }
//! run grid_logic_{u32,u64} grid=9 block=80 ($1[720]:rand, $1[9], $1[9], $1[9], u32[3])
LOGIC(u32)
LOGIC(u64)

// The bits of a sum of floats depend on its order: this is the documented one, in plain loops.
static f32 tree_sum(const f32 *x, u32 n)
{
    f32 sums[32];
    for (u32 w = 0; w < 32; w++) {
        f32 lanes[32];
        for (u32 i = 0; i < 32; i++)
            lanes[i] = w * 32 + i < n ? x[w * 32 + i] : -0.0f;
        for (u32 d = 1; d < 32; d *= 2)
            for (u32 i = 0; i + d < 32; i += 2 * d)
                lanes[i] += lanes[i + d];
        sums[w] = lanes[0];
    }
    for (u32 d = 1; d < 32; d *= 2)
        for (u32 i = 0; i + d < 32; i += 2 * d)
            sums[i] += sums[i + d];
    return sums[0];
}
static bool is_documented_order(const f32 *a, f32 *partial, u32 *ticket)
{
    f32 blocks[130], threads[48];
    for (u32 b = 0; b < 130; b++)
        blocks[b] = tree_sum(a + b * 48, 48);
    for (u32 t = 0; t < 48; t++) {
        threads[t] = -0.0f;
        for (u32 b = t; b < 130; b += 48)
            threads[t] += blocks[b];
    }
    return partial[0] == tree_sum(threads, 48) && ticket[0] == 0;
}
//! run documented_order grid=130 block=48 check=is_documented_order (f32[6240]:rand, f32[130], u32[1])
kernel void documented_order(const f32 *a, f32 *partial, u32 *ticket)
{
    grid_sum(a[global_x()], partial, ticket);
}

#define SCAN(T)                                                                                    \
    kernel void grid_scan_##T(const T *a, T *out, T *totals, u32 *tickets)                         \
    {                                                                                              \
        u32 i = global_x(), n = grid_dim_x() * block_dim_x(), b = grid_dim_x();                    \
        T x = a[i];                                                                                \
        out[i] = grid_scan_sum(x, totals, &tickets[0]);                                            \
        out[n + i] = grid_scan_min(x, totals + b, &tickets[1]);                                    \
        out[2 * n + i] = grid_scan_max(x, totals + 2 * b, &tickets[2]);                            \
        out[3 * n + i] = grid_scan_sum_before(x, totals + 3 * b, &tickets[3]);                     \
    }                                                                                              \
    kernel void grid_scan_end_##T(const T *part, const T *totals, T *out)                          \
    {                                                                                              \
        u32 i = global_x(), n = grid_dim_x() * block_dim_x();                                      \
        out[i] = grid_scan_sum_end(part[i], totals);                                               \
        out[n + i] = grid_scan_min_end(part[i], totals);                                           \
        out[2 * n + i] = grid_scan_max_end(part[i], totals);                                       \
        out[3 * n + i] = grid_scan_sum_before_end(part[i], totals);                                \
    }
//! run grid_scan_{i32,u32,i64,u64,f32,f64} grid=5 block=96 ($1[480]:rand, $1[1920], $1[20], u32[4])
//! run grid_scan_{i32,u32,i64,u64,f32,f64} grid=77 block=40 ($1[3080]:rand, $1[12320], $1[308], u32[4])
//! run grid_scan_{u64,f32} grid=1 block=64 ($1[64]:rand, $1[256], $1[4], u32[4])
//! run grid_scan_{i32,f64} grid=150 block=1 ($1[150]:rand, $1[600], $1[600], u32[4])
//! run grid_scan_{u32,f32} grid=301 block=7 ($1[2107]:rand, $1[8428], $1[1204], u32[4])
//! run grid_scan_end_{i32,u32,i64,u64,f32,f64} grid=5 block=96 ($1[480]:rand, $1[5]:rand, $1[1920])
//! run grid_scan_end_{i64,f64} grid=1 block=7 ($1[7]:rand, $1[1]:rand, $1[28])
SCAN(i32)
SCAN(u32)
SCAN(i64)
SCAN(u64)
SCAN(f32)
SCAN(f64)

// Whole numbers: the two launches give what one loop gives. Both in one here: the last block ends the scan of all.
static bool is_running_sum(const u32 *a, u32 *part, u32 *totals, u32 *out, u32 *tickets)
{
    u32 sum = 0;
    (void)part;
    for (u32 i = 0; i < 75 * 33; i++) {
        sum += a[i];
        if (out[i] != sum)
            return false;
    }
    return totals[74] == sum && tickets[0] == 0 && tickets[1] == 0;
}
//! run both_launches grid=75 block=33 check=is_running_sum (u32[2475]:rand, u32[2475], u32[75], u32[2475], u32[2])
kernel void both_launches(const u32 *a, u32 *part, u32 *totals, u32 *out, u32 *tickets)
{
    part[global_x()] = grid_scan_sum(a[global_x()], totals, &tickets[0]);
    if (grid_is_last(&tickets[1]))
        for (u32 b = 0; b < grid_dim_x(); b++) {
            u32 i = b * block_dim_x() + thread_x();
            out[i] = part[i] + (b > 0 ? totals[b - 1] : 0);
        }
}

//! run stride_loop grid=6 block=64 (f32[5000]:rand, f32[6], u32[1], f32[1])
kernel block(64) void stride_loop(const f32 *a, f32 *partial, u32 *ticket, f32 *mean)
{
    f32 sum = 0;
    for (u32 i = global_x(); i < 5000; i += grid_dim_x() * 64)
        sum += a[i];
    if (grid_sum(sum, partial, ticket) && thread_x() == 0)
        mean[0] = partial[0] / 5000;
}
