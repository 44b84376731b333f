// The kernels of kernels.c in OpenCL C, for PoCL. Reductions have the same tree: within 32, then over the sub-sums.
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void saxpy(__global const float *x, __global float *y, float a, uint n)
{
    uint i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

float sum256(float v, __local float *s)
{
    uint t = get_local_id(0);
    s[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 128; step > 0; step /= 2) {
        if (t < step)
            s[t] += s[t + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float r = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
}

float max256(float v, __local float *s)
{
    uint t = get_local_id(0);
    s[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 128; step > 0; step /= 2) {
        if (t < step)
            s[t] = fmax(s[t], s[t + step]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float r = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void softmax(__global const float *x, __global float *out, uint cols)
{
    __local float s[256];
    ulong row = (ulong)get_group_id(0) * cols;
    float largest = -INFINITY;
    for (uint c = get_local_id(0); c < cols; c += 256)
        largest = fmax(largest, x[row + c]);
    largest = max256(largest, s);
    float sum = 0;
    for (uint c = get_local_id(0); c < cols; c += 256)
        sum += exp(x[row + c] - largest);
    sum = sum256(sum, s);
    for (uint c = get_local_id(0); c < cols; c += 256)
        out[row + c] = exp(x[row + c] - largest) / sum;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void layernorm(__global const float *x, __global float *out, uint cols)
{
    __local float s[256];
    ulong row = (ulong)get_group_id(0) * cols;
    float sum = 0;
    for (uint c = get_local_id(0); c < cols; c += 256)
        sum += x[row + c];
    float mean = sum256(sum, s) / (float)cols;
    float squares = 0;
    for (uint c = get_local_id(0); c < cols; c += 256) {
        float d = x[row + c] - mean;
        squares += d * d;
    }
    float scale = 1.0f / sqrt(sum256(squares, s) / (float)cols + 1e-5f);
    for (uint c = get_local_id(0); c < cols; c += 256)
        out[row + c] = (x[row + c] - mean) * scale;
}

__kernel __attribute__((reqd_work_group_size(32, 8, 1))) void matmul(__global const float *a, __global const float *b, __global float *c, uint n)
{
    __local float tile[64][32];
    uint tx = get_local_id(0), ty = get_local_id(1);
    uint column = get_group_id(0) * 32 + tx, row0 = get_group_id(1) * 64 + ty * 8;
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (uint k0 = 0; k0 < n; k0 += 64) {
#pragma unroll
        for (uint r = 0; r < 8; r++)
            tile[ty * 8 + r][tx] = b[(ulong)(k0 + ty * 8 + r) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 64; k++) {
            float v = tile[k][tx];
#pragma unroll
            for (uint r = 0; r < 8; r++)
                sum[r] = fma(a[(ulong)(row0 + r) * n + k0 + k], v, sum[r]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (uint r = 0; r < 8; r++)
        c[(ulong)(row0 + r) * n + column] = sum[r];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reduction(__global const float *x, __global float *out, uint n)
{
    __local float s[256];
    float sum = 0;
    uint step = get_num_groups(0) * 256;
    for (uint i = get_global_id(0); i < n; i += step)
        sum += x[i];
    sum = sum256(sum, s);
    if (get_local_id(0) == 0)
        out[get_group_id(0)] = sum;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void histogram(__global const uint *x, __global uint *out, uint n)
{
    __local uint bins[256];
    bins[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint step = get_num_groups(0) * 256;
    for (uint i = get_global_id(0); i < n; i += step)
        atomic_add(&bins[x[i] & 255], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&out[get_local_id(0)], bins[get_local_id(0)]);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void mandelbrot(__global uint *out, uint width, uint height)
{
    uint i = get_global_id(0);
    if (i >= width * height)
        return;
    float cr = (float)(i % width) / (float)width * 3.0f - 2.0f, ci = (float)(i / width) / (float)height * 2.0f - 1.0f;
    float zr = 0, zi = 0;
    uint count = 0;
    while (count < 256 && zr * zr + zi * zi <= 4.0f) {
        float next = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = next;
        count++;
    }
    out[i] = count;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void nbody(__global const float *x, __global const float *y, __global const float *z,
                                                                    __global float *out, uint n)
{
    uint i = get_global_id(0);
    float px = x[i], py = y[i], pz = z[i], ax = 0, ay = 0, az = 0;
    for (uint j = 0; j < n; j++) {
        float dx = x[j] - px, dy = y[j] - py, dz = z[j] - pz;
        float d2 = dx * dx + dy * dy + dz * dz + 1e-3f;
        float inverse = 1.0f / sqrt(d2), cube = inverse * inverse * inverse;
        ax += dx * cube;
        ay += dy * cube;
        az += dz * cube;
    }
    out[i] = ax + ay + az;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void bitonic(__global uint *x)
{
    __local uint run[512];
    uint t = get_local_id(0);
    ulong base = (ulong)get_group_id(0) * 512;
    run[t] = x[base + t];
    run[t + 256] = x[base + t + 256];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint size = 2; size <= 512; size *= 2)
        for (uint step = size / 2; step > 0; step /= 2) {
            uint low = (t / step) * step * 2 + t % step, high = low + step;
            uint a = run[low], b = run[high];
            bool is_up = (low & size) == 0;
            if ((a > b) == is_up) {
                run[low] = b;
                run[high] = a;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    x[base + t] = run[t];
    x[base + t + 256] = run[t + 256];
}
