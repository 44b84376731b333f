// Shared memory and barriers: the classic kernels, each checked against a plain loop.
#include <kiln/kernel.h>

static bool sum_is_right(const u32 *in, u32 *out)
{
    for (u32 b = 0; b < 4; b++) {
        u32 sum = 0;
        for (u32 i = 0; i < 64; i++)
            sum += in[b * 64 + i];
        if (out[b] != sum)
            return false;
    }
    return true;
}
//! run tree_sum grid=4 block=64 check=sum_is_right (u32[256]:rand, u32[4])
kernel block(64) void tree_sum(const u32 *in, u32 *out)
{
    shared u32 part[64];
    u32 i = thread_x();
    part[i] = in[global_x()];
    barrier();
    for (u32 step = 32; step > 0; step /= 2) {
        if (i < step)
            part[i] += part[i + step];
        barrier();
    }
    if (i == 0)
        out[block_x()] = part[0];
}

//! run tree_sum_f32 grid=4 block=128 (f32[512]:rand, f32[4])
kernel block(128) void tree_sum_f32(const f32 *in, f32 *out)
{
    shared f32 part[128];
    u32 i = thread_x();
    part[i] = in[global_x()];
    for (u32 step = 64; step > 0; step >>= 1) {
        barrier();
        if (i < step)
            part[i] = part[i] + part[i + step];
    }
    if (i == 0)
        out[block_x()] = part[0];
}

static bool transpose_is_right(const f32 *in, f32 *out, u32 width, u32 height)
{
    for (u32 y = 0; y < height; y++)
        for (u32 x = 0; x < width; x++)
            if (out[x * height + y] != in[y * width + x])
                return false;
    return true;
}
//! run transpose grid=3,2 block=16,4 check=transpose_is_right (f32[1120]:rand, f32[1120], u32=40, u32=28)
kernel block(16, 4) void transpose(const f32 *in, f32 *out, u32 width, u32 height)
{
    shared f32 tile[16][17];
    u32 x = block_x() * 16 + thread_x(), y = block_y() * 16;
    for (u32 k = thread_y(); k < 16; k += 4)
        if (x < width && y + k < height)
            tile[k][thread_x()] = in[(y + k) * width + x];
    barrier();
    u32 column = y + thread_x();
    for (u32 k = thread_y(); k < 16; k += 4)
        if (column < height && block_x() * 16 + k < width)
            out[(block_x() * 16 + k) * height + column] = tile[thread_x()][k];
}

static bool matmul_is_right(const f32 *a, const f32 *b, f32 *c, u32 n)
{
    for (u32 i = 0; i < n; i++)
        for (u32 j = 0; j < n; j++) {
            f32 sum = 0;
            for (u32 k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            if (c[i * n + j] != sum)
                return false;
        }
    return true;
}
//! run matmul_naive grid=3,3 block=8,8 check=matmul_is_right (f32[400]:rand, f32[400]:rand, f32[400], u32=20)
kernel block(8, 8) void matmul_naive(const f32 *a, const f32 *b, f32 *c, u32 n)
{
    u32 i = global_y(), j = global_x();
    if (i >= n || j >= n)
        return;
    f32 sum = 0;
    for (u32 k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

tune(TILE, 8, 16);
//! run matmul_tiled grid=3,3 block=8,8 check=matmul_is_right (f32[400]:rand, f32[400]:rand, f32[400], u32=20)
kernel block(TILE, TILE) void matmul_tiled(const f32 *a, const f32 *b, f32 *c, u32 n)
{
    shared f32 ta[TILE][TILE], tb[TILE][TILE];
    u32 x = thread_x(), y = thread_y(), i = block_y() * TILE + y, j = block_x() * TILE + x;
    f32 sum = 0;
    for (u32 k = 0; k < n; k += TILE) {
        ta[y][x] = i < n && k + x < n ? a[i * n + k + x] : 0;
        tb[y][x] = k + y < n && j < n ? b[(k + y) * n + j] : 0;
        barrier();
        for (u32 d = 0; d < TILE; d++)
            if (k + d < n)
                sum += ta[y][d] * tb[d][x];
        barrier();
    }
    if (i < n && j < n)
        c[i * n + j] = sum;
}

// A register tile: the accumulators are indexed by constants once unrolled.
//! run matmul_registers grid=2,2 block=8,8 check=matmul_is_right (f32[1024]:rand, f32[1024]:rand, f32[1024], u32=32)
kernel block(8, 8) void matmul_registers(const f32 *a, const f32 *b, f32 *c, u32 n)
{
    shared f32 ta[16][8], tb[8][16];
    f32 sum[2][2] = {{0, 0}, {0, 0}};
    u32 rank = thread_rank(), row = block_y() * 16, column = block_x() * 16;
    for (u32 k = 0; k < n; k += 8) {
        for (u32 e = rank; e < 128; e += 64) {
            ta[e / 8][e % 8] = a[(row + e / 8) * n + k + e % 8];
            tb[e / 16][e % 16] = b[(k + e / 16) * n + column + e % 16];
        }
        barrier();
        for (u32 d = 0; d < 8; d++) {
#pragma unroll
            for (u32 i = 0; i < 2; i++)
#pragma unroll
                for (u32 j = 0; j < 2; j++)
                    sum[i][j] += ta[thread_y() * 2 + i][d] * tb[d][thread_x() * 2 + j];
        }
        barrier();
    }
    for (u32 i = 0; i < 2; i++)
        for (u32 j = 0; j < 2; j++)
            c[(row + thread_y() * 2 + i) * n + column + thread_x() * 2 + j] = sum[i][j];
}

static bool is_sorted(u32 *a)
{
    for (u32 i = 1; i < 128; i++)
        if (a[i - 1] > a[i])
            return false;
    return true;
}
//! run bitonic_sort block=128 check=is_sorted (u32[128]:rand)
kernel block(128) void bitonic_sort(u32 *a)
{
    shared u32 s[128];
    u32 i = thread_x();
    s[i] = a[i];
    barrier();
    for (u32 size = 2; size <= 128; size *= 2)
        for (u32 step = size / 2; step > 0; step /= 2) {
            u32 other = i ^ step;
            if (other > i) {
                bool up = (i & size) == 0;
                if ((s[i] > s[other]) == up) {
                    u32 t = s[i];
                    s[i] = s[other];
                    s[other] = t;
                }
            }
            barrier();
        }
    a[i] = s[i];
}

static bool scan_is_right(const i32 *in, i32 *out)
{
    i32 sum = 0;
    for (u32 i = 0; i < 100; i++)
        if (out[i] != (sum += in[i]))
            return false;
    return true;
}
//! run scan_steps block=100 check=scan_is_right (i32[100]:sym1000, i32[100])
kernel block(100) void scan_steps(const i32 *in, i32 *out)
{
    shared i32 s[2][100];
    u32 i = thread_x(), from = 0;
    s[0][i] = in[i];
    barrier();
    for (u32 step = 1; step < 100; step *= 2) {
        s[1 - from][i] = s[from][i] + (i >= step ? s[from][i - step] : 0);
        from = 1 - from;
        barrier();
    }
    out[i] = s[from][i];
}

//! run stencil grid=4 block=32 (f32[128]:rand, f32[128], u32=128)
kernel block(32) void stencil(const f32 *in, f32 *out, u32 n)
{
    shared f32 row[34];
    u32 i = global_x(), t = thread_x();
    row[t + 1] = i < n ? in[i] : 0;
    if (t == 0)
        row[0] = i > 0 ? in[i - 1] : 0;
    if (t == 31)
        row[33] = i + 1 < n ? in[i + 1] : 0;
    barrier();
    if (i < n)
        out[i] = 0.25f * row[t] + 0.5f * row[t + 1] + 0.25f * row[t + 2];
}

//! run convolution grid=2,2 block=12,12 (f32[576]:rand, f32[9]:unit, f32[576], i32=24)
kernel block(12, 12) void convolution(const f32 *image, const f32 *weights, f32 *out, i32 size)
{
    shared f32 tile[14][14];
    i32 left = (i32)block_x() * 12 - 1, top = (i32)block_y() * 12 - 1;
    for (u32 e = thread_rank(); e < 196; e += block_threads()) {
        i32 x = left + (i32)(e % 14), y = top + (i32)(e / 14);
        bool inside = x >= 0 && x < size && y >= 0 && y < size;
        tile[e / 14][e % 14] = inside ? image[y * size + x] : 0;
    }
    barrier();
    f32 sum = 0;
    for (u32 dy = 0; dy < 3; dy++)
        for (u32 dx = 0; dx < 3; dx++)
            sum += weights[dy * 3 + dx] * tile[thread_y() + dy][thread_x() + dx];
    out[global_y() * (u32)size + global_x()] = sum;
}

typedef struct body {
    f32 x, y, z, mass;
} body;
//! run n_body block=32 (body[32]:rand@f32, f32[96])
kernel block(32) void n_body(const body *bodies, f32 *force)
{
    shared body all[32];
    u32 i = thread_x();
    all[i] = bodies[i];
    barrier();
    f32 fx = 0, fy = 0, fz = 0;
    for (u32 j = 0; j < 32; j++) {
        f32 dx = all[j].x - all[i].x, dy = all[j].y - all[i].y, dz = all[j].z - all[i].z;
        f32 d2 = dx * dx + dy * dy + dz * dz + 0.01f;
        f32 w = all[j].mass / (d2 * sqrt(d2));
        fx += dx * w;
        fy += dy * w;
        fz += dz * w;
    }
    force[3 * i] = fx;
    force[3 * i + 1] = fy;
    force[3 * i + 2] = fz;
}

//! run shared_scalars grid=3 block=32 (u32[96]:rand, u32[96])
kernel void shared_scalars(const u32 *in, u32 *out)
{
    shared u32 chosen;
    shared struct {
        u32 a;
        f32 b;
    } both;
    if (thread_x() == 5) {
        chosen = in[global_x()];
        both.a = chosen / 2;
        both.b = (f32)(chosen % 100);
    }
    barrier();
    out[global_x()] = chosen + both.a + (u32)both.b;
}

shared u32 file_tile[64];
static u32 rotated(u32 by)
{
    return file_tile[(thread_x() + by) % 64];
}
//! run file_scope_shared block=64 (u32[64]:rand, u32[64])
kernel block(64) void file_scope_shared(const u32 *in, u32 *out)
{
    file_tile[thread_x()] = in[thread_x()];
    barrier();
    out[thread_x()] = rotated(1) ^ rotated(32) * 3;
}

//! run odd_even_sort block=50 (i32[50]:bits)
kernel block(50) void odd_even_sort(i32 *a)
{
    shared i32 s[50];
    u32 i = thread_x();
    s[i] = a[i];
    barrier();
    for (u32 round = 0; round < 50; round++) {
        if (i % 2 == round % 2 && i + 1 < 50 && s[i] > s[i + 1]) {
            i32 t = s[i];
            s[i] = s[i + 1];
            s[i + 1] = t;
        }
        barrier();
    }
    a[i] = s[i];
}

//! run game_of_life block=16,16 (u8[256]:mod2, u8[256])
kernel block(16, 16) void game_of_life(const u8 *in, u8 *out)
{
    shared u8 now[16][16];
    u32 x = thread_x(), y = thread_y();
    now[y][x] = in[y * 16 + x];
    for (i32 generation = 0; generation < 5; generation++) {
        barrier();
        u32 alive = 0;
        for (u32 dy = 15; dy < 18; dy++)
            for (u32 dx = 15; dx < 18; dx++)
                if (dy != 16 || dx != 16)
                    alive += now[(y + dy) % 16][(x + dx) % 16];
        u8 next = alive == 3 || (alive == 2 && now[y][x]);
        barrier();
        now[y][x] = next;
    }
    out[y * 16 + x] = now[y][x];
}

//! run queue_in_shared block=64 (i32[64]:sym99, u32[1], u32[64])
kernel block(64) void queue_in_shared(const i32 *in, u32 *count, u32 *sums)
{
    shared u32 length, items[64];
    u32 i = thread_x();
    if (i == 0)
        length = 0;
    barrier();
    if (in[i] > 0)
        items[atomic_add(&length, 1)] = (u32)in[i];
    barrier();
    u32 sum = 0;
    for (u32 k = 0; k < length; k++)
        sum += items[k];
    sums[i] = sum;
    if (i == 0)
        *count = length;
}

//! run uniform_loop_barriers grid=3 block=32 (u32[96]:rand, u32[96], u32=5)
kernel block(32) void uniform_loop_barriers(const u32 *in, u32 *out, u32 rounds)
{
    shared u32 s[32];
    u32 x = in[global_x()];
    for (u32 r = 0; r < rounds + block_x(); r++) {
        s[thread_x()] = x;
        barrier();
        if (r == 3) {
            x += s[0];
        } else {
            x = s[31 - thread_x()] * 3 + r;
        }
        barrier();
        if (block_x() == 2 && r == 4)
            break;
    }
    out[global_x()] = x;
}
