// The kernels of `make bench-cpu`. kernels.cl has the same ones in OpenCL C.
#include <kiln/kernel.h>

kernel block(256) void saxpy(const f32 *x, f32 *y, f32 a, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = a * x[i] + y[i];
}

kernel block(256) void softmax(const f32 *x, f32 *out, u32 cols)
{
    u64 row = (u64)block_x() * cols;
    f32 largest = -INFINITY;
    for (u32 c = thread_x(); c < cols; c += 256)
        largest = max(largest, x[row + c]);
    largest = block_max(largest);
    f32 sum = 0;
    for (u32 c = thread_x(); c < cols; c += 256)
        sum += exp(x[row + c] - largest);
    sum = block_sum(sum);
    for (u32 c = thread_x(); c < cols; c += 256)
        out[row + c] = exp(x[row + c] - largest) / sum;
}

kernel block(256) void layernorm(const f32 *x, f32 *out, u32 cols)
{
    u64 row = (u64)block_x() * cols;
    f32 sum = 0;
    for (u32 c = thread_x(); c < cols; c += 256)
        sum += x[row + c];
    f32 mean = block_sum(sum) / (f32)cols;
    f32 squares = 0;
    for (u32 c = thread_x(); c < cols; c += 256) {
        f32 d = x[row + c] - mean;
        squares += d * d;
    }
    f32 scale = 1.0f / sqrt(block_sum(squares) / (f32)cols + 1e-5f);
    for (u32 c = thread_x(); c < cols; c += 256)
        out[row + c] = (x[row + c] - mean) * scale;
}

// c = a * b, n a multiple of 64. A block makes 64 x 32 numbers of c; a thread 8 of one column.
kernel block(32, 8) void matmul(const f32 *a, const f32 *b, f32 *c, u32 n)
{
    shared f32 tile[64][32];
    u32 column = block_x() * 32 + thread_x(), row0 = block_y() * 64 + thread_y() * 8;
    f32 sum[8] = {0};
    for (u32 k0 = 0; k0 < n; k0 += 64) {
#pragma unroll
        for (u32 r = 0; r < 8; r++)
            tile[thread_y() * 8 + r][thread_x()] = b[(u64)(k0 + thread_y() * 8 + r) * n + column];
        barrier();
#pragma unroll 4
        for (u32 k = 0; k < 64; k++) {
            f32 v = tile[k][thread_x()];
#pragma unroll
            for (u32 r = 0; r < 8; r++)
                sum[r] = fma(a[(u64)(row0 + r) * n + k0 + k], v, sum[r]);
        }
        barrier();
    }
#pragma unroll
    for (u32 r = 0; r < 8; r++)
        c[(u64)(row0 + r) * n + column] = sum[r];
}

kernel block(256) void reduction(const f32 *x, f32 *out, u32 n)
{
    f32 sum = 0;
    u32 step = grid_dim_x() * 256;
    for (u32 i = global_x(); i < n; i += step)
        sum += x[i];
    sum = block_sum(sum);
    if (thread_x() == 0)
        out[block_x()] = sum;
}

kernel block(256) void histogram(const u32 *x, u32 *out, u32 n)
{
    shared u32 bins[256];
    bins[thread_x()] = 0;
    barrier();
    u32 step = grid_dim_x() * 256;
    for (u32 i = global_x(); i < n; i += step)
        atomic_add(&bins[x[i] & 255], 1);
    barrier();
    atomic_add(&out[thread_x()], bins[thread_x()]);
}

kernel block(256) void mandelbrot(u32 *out, u32 width, u32 height)
{
    u32 i = global_x();
    if (i >= width * height)
        return;
    f32 cr = (f32)(i % width) / (f32)width * 3.0f - 2.0f, ci = (f32)(i / width) / (f32)height * 2.0f - 1.0f;
    f32 zr = 0, zi = 0;
    u32 count = 0;
    while (count < 256 && zr * zr + zi * zi <= 4.0f) {
        f32 next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        count++;
    }
    out[i] = count;
}

kernel block(256) void nbody(const f32 *x, const f32 *y, const f32 *z, f32 *out, u32 n)
{
    u32 i = global_x();
    f32 px = x[i], py = y[i], pz = z[i], ax = 0, ay = 0, az = 0;
    for (u32 j = 0; j < n; j++) {
        f32 dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
        f32 d2 = dx * dx + dy * dy + dz * dz + 1e-3f;
        f32 inverse = 1.0f / sqrt(d2), cube = inverse * inverse * inverse;
        ax += dx * cube;
        ay += dy * cube;
        az += dz * cube;
    }
    out[i] = ax + ay + az;
}

// Sorts runs of 512 numbers.
kernel block(256) void bitonic(u32 *x)
{
    shared u32 run[512];
    u32 t = thread_x();
    u64 base = (u64)block_x() * 512;
    run[t] = x[base + t];
    run[t + 256] = x[base + t + 256];
    barrier();
    for (u32 size = 2; size <= 512; size *= 2)
        for (u32 step = size / 2; step > 0; step /= 2) {
            u32 low = (t / step) * step * 2 + t % step, high = low + step;
            u32 a = run[low], b = run[high];
            bool is_up = (low & size) == 0;
            if ((a > b) == is_up) {
                run[low] = b;
                run[high] = a;
            }
            barrier();
        }
    x[base + t] = run[t];
    x[base + t + 256] = run[t + 256];
}
