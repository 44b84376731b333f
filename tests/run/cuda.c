// <kiln/cuda.h>: what CUDA's names mean, beside plain C.
#include <kiln/cuda.h>

static void shift_of(const u32 *a, const u32 *count, u32 *out, i64 *wide)
{
    for (u32 i = 0; i < 256; i++) {
        u32 n = count[i];
        i32 s = (i32)a[i];
        out[i] = n < 32 ? a[i] << n : 0;
        out[256 + i] = n < 32 ? a[i] >> n : 0;
        out[512 + i] = (u32)(s < 0 ? ~(~s >> (n < 32 ? n : 31)) : s >> (n < 32 ? n : 31));
        u64 w = (u64)a[i] << 32 | a[i];
        wide[i] = (i64)(n < 64 ? w << n : 0);
        wide[256 + i] = (i64)(n < 64 ? w >> n : 0);
    }
}
// CUDA's devices shift everything out.
//! run shift grid=4 block=64 oracle=shift_of (u32[256]:edge, u32[256]:edge2, u32[768], i64[512])
__global__ void shift(const u32 *a, const u32 *count, u32 *out, i64 *wide)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = count[i], t = a[i];
    out[i] = a[i] << n;
    t >>= n;
    out[256 + i] = t;
    out[512 + i] = (u32)((i32)a[i] >> n);
    u64 w = (u64)a[i] << 32 | a[i];
    wide[i] = (i64)(w << n);
    wide[256 + i] = (i64)(w >> n);
}

static void mul24_oracle(const i32 *a, const i32 *b, i32 *out)
{
    for (u32 i = 0; i < 256; i++) {
        i64 x = a[i] & 0xffffff, y = b[i] & 0xffffff;
        out[256 + i] = (i32)(u32)(u64)(x * y);
        x -= x >> 23 << 24;
        y -= y >> 23 << 24;
        out[i] = (i32)(u32)(u64)(x * y);
    }
}
//! run mul24 grid=4 block=64 oracle=mul24_oracle (i32[256]:bits, i32[256]:edge2, i32[512])
__global__ void mul24(const i32 *a, const i32 *b, i32 *out)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __mul24(a[i], b[i]);
    out[256 + i] = (i32)__umul24(a[i], b[i]);
}

static __device__ int shared(int kernel)
{
    return kernel + 1;
}
static void names_oracle(i32 *out)
{
    for (i32 i = 0; i < 64; i++)
        out[i] = i + 1 + 64000 + 7;
}
// Names of Kiln's are free for variables, and do not change what CUDA's names mean.
//! run names grid=1 block=64 oracle=names_oracle (i32[64])
__global__ void names(i32 *out)
{
    int block_dim_x = 7, thread_x = threadIdx.x, kernel = shared(thread_x);
    out[thread_x] = kernel + (int)blockDim.x * 1000 + block_dim_x;
}

static void pieces_oracle(const f32 *in, f32 *out, f64 *wide)
{
    for (u32 i = 0; i < 64; i++) {
        out[i] = in[i] + in[i + 64] + 1;
        wide[i] = (f64)in[i] * 3;
    }
}
//! run pieces grid=1 block=64 oracle=pieces_oracle (f32[128]:mod9, f32[64], f64[64])
__global__ void pieces(const f32 *in, f32 *out, f64 *wide)
{
    u32 i = threadIdx.x;
    __half a = __float2half(in[i]), b = __float2half(in[i + 64]);
    float1 one = make_float1(1);
    out[i] = __half2float(__hadd(a, b)) + one.x;
    double4 d = make_double4(in[i], in[i], 0, in[i]);
    wide[i] =
        __dadd_rn(d.x, __dmul_rn(d.y, d.w / (d.w != 0 ? d.w : 1))) + d.w - (d.w != 0 ? 0 : d.x);
}

static void room_oracle(const i32 *x, f64 *out)
{
    for (u32 i = 0; i < 50; i++)
        out[i] = (f64)x[49 - i] * 0.5 + (f64)(u8)x[i];
}
// Dynamic shared memory has Kiln's name here, too: two arrays of it, one behind the other.
//! run room block=50 shared=450 oracle=room_oracle (i32[50]:bits, f64[50])
__global__ void room(const i32 *x, f64 *out)
{
    dynamic_shared(f64, halves);
    u8 *low = (u8 *)(halves + 50);
    u32 t = threadIdx.x;
    halves[t] = (f64)x[t] * 0.5;
    low[t] = (u8)x[t];
    __syncthreads();
    out[t] = halves[49 - t] + (f64)low[t];
}
