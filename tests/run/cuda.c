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

static void once_oracle(const f32 *in, const i32 *bits, f32 *out, u32 *count)
{
    for (u32 t = 0; t < 64; t++) {
        out[t] = sinf(in[t]) + cosf(in[t]);
        out[64 + t] = f32(to_f16(in[t])) - f32(to_f16(in[t + 1]));
        out[128 + t] = (f32)(sin((f64)in[t]) + cos((f64)in[t]));
        i64 apart = (i64)bits[t + 2] - bits[t + 3];
        count[t] = 5;
        count[64 + t] = (u32)(u64)(apart < 0 ? -apart : apart) + 7;
        apart = (i64)(u32)bits[t + 4] - (u32)bits[t + 5];
        count[128 + t] = (u32)(u64)(apart < 0 ? -apart : apart) + 9;
    }
}
// What is a macro here takes its arguments once, and before it stores anything.
//! run once grid=1 block=64 oracle=once_oracle (f32[256]:rand, i32[256]:bits, f32[192], u32[192])
__global__ void once(const f32 *in, const i32 *bits, f32 *out, u32 *count)
{
    u32 t = threadIdx.x, at = t, from = t + 2;
    float angle = in[t], cosine;
    sincosf(angle, &angle, &cosine);
    double wide = in[t], wide_cosine;
    sincos(wide, &wide, &wide_cosine);
    __half2 low = __float2half2_rn(in[at++]);
    __half2 high = __half2half2(__float2half(in[at++]));
    count[64 + t] = __sad(bits[from++], bits[t + 3], 7u);
    count[128 + t] = __usad((u32)bits[t + 4], (u32)bits[++from + 1], 9u);
    out[t] = angle + cosine;
    out[64 + t] = __low2float(low) - __high2float(high);
    out[128 + t] = (f32)(wide + wide_cosine);
    count[t] = at - t + (from - t - 2) + 1;
}

static void range_oracle(const f32 *a, f32 *out)
{
    for (u32 t = 0; t < 64; t++) {
        f32 x = f32(to_bf16(a[t] * 1e30f)), y = f32(to_bf16(a[t + 64] * 1e30f));
        out[t] = f32(to_bf16(x + y));
        out[64 + t] = f32(to_bf16(x - y));
        out[128 + t] = f32(to_bf16(x * 0.5f));
        out[192 + t] = x < y ? x : y;
    }
}
// The result of these has the type of the arguments: numbers of a bf16 are infinite as f16.
//! run range grid=1 block=64 oracle=range_oracle (f32[128]:rand, f32[256])
__global__ void range(const f32 *a, f32 *out)
{
    u32 t = threadIdx.x;
    __nv_bfloat16 x = __float2bfloat16(a[t] * 1e30f), y = __float2bfloat16(a[t + 64] * 1e30f);
    out[t] = __bfloat162float(__hadd(x, y));
    out[64 + t] = __bfloat162float(__hsub(x, y));
    out[128 + t] = __bfloat162float(__hmul(x, __float2bfloat16(0.5f)));
    out[192 + t] = __bfloat162float(__hmin(x, y));
}

static void unordered_oracle(const f32 *a, const f32 *b, u32 *bits)
{
    for (u32 t = 0; t < 256; t++) {
        f32 x = f32(to_f16(a[t])), y = f32(to_f16(b[t]));
        bool nan = x != x || y != y;
        bits[t] = (u32)(!nan && x != y) | (u32)(nan || x != y) << 1 | (u32)(nan || x == y) << 2 |
                  (u32)(nan || x < y) << 3 | (u32)(nan || x <= y) << 4 | (u32)(nan || x > y) << 5 |
                  (u32)(nan || x >= y) << 6 | (u32)(x != x) << 7;
    }
}
// With a NaN __hne is false, and what ends in u is true.
//! run unordered grid=1 block=256 oracle=unordered_oracle (f32[256]:edge, f32[256]:edge2, u32[256])
__global__ void unordered(const f32 *a, const f32 *b, u32 *bits)
{
    u32 t = threadIdx.x;
    __half x = __float2half(a[t]), y = __float2half(b[t]);
    bits[t] = (u32)__hne(x, y) | (u32)__hneu(x, y) << 1 | (u32)__hequ(x, y) << 2 |
              (u32)__hltu(x, y) << 3 | (u32)__hleu(x, y) << 4 | (u32)__hgtu(x, y) << 5 |
              (u32)__hgeu(x, y) << 6 | (u32)__hisnan(x) << 7;
}

//! run narrow grid=1 block=256 (f32[256]:edge, f32[256]:edge2, f32[4096], u32[256])
__global__ void narrow(const f32 *a, const f32 *b, f32 *out, u32 *bits)
{
    u32 t = threadIdx.x;
    __nv_bfloat16 x = __float2bfloat16_rn(a[t]), y = __float2bfloat16(b[t]);
    __half p = __float2half(a[t]), q = __float2half(b[t]);
    out[t] = __bfloat162float(__hadd(x, y));
    out[256 + t] = __bfloat162float(__hmul(x, __hsub(x, y)));
    out[512 + t] = __bfloat162float(__hmax(__hneg(x), __habs(y)));
    out[768 + t] = __bfloat162float(__hfma(x, y, x));
    out[1024 + t] = __half2float(__hadd(p, q));
    out[1280 + t] = __half2float(__hmul(p, __hsub(p, q)));
    out[1536 + t] = __half2float(__hmin(__hneg(p), __habs(q)));
    out[1792 + t] = __half2float(__hfma(p, q, p));
    out[2048 + t] = __half2float(__hdiv(p, q));
    out[2304 + t] = __bfloat162float(__hdiv(x, y));
    out[2560 + t] = __bfloat162float(hsqrt(x));
    out[2816 + t] = __half2float(hfloor(p));
    float2 f = __half22float2(make_half2(p, q)), g = __bfloat1622float2(make_bfloat162(x, y));
    out[3072 + t] = f.x;
    out[3328 + t] = f.y;
    out[3584 + t] = g.x;
    out[3840 + t] = g.y;
    bits[t] = (u32)__hlt(p, q) | (u32)__heq(x, y) << 1;
}

static void whole_oracle(const f64 *a, const f32 *b, i64 *out)
{
    for (u32 t = 0; t < 64; t++) {
        out[t] = (i64)(u32)floor(a[t] * 1e7) ^ (i64)(u32)ceil(a[t] * 1e7);
        out[64 + t] = (i64)floor(a[t] * 1e12) + (i64)ceil(a[t] * 1e12);
        out[128 + t] = (i64)floor((f64)b[t]) * 3 + (i64)ceil((f64)b[t]);
        out[192 + t] = (i64)((u64)rint(fabs(a[t]) * 1e15) + (u64)ceil(fabs((f64)b[t])));
    }
}
//! run whole grid=1 block=64 oracle=whole_oracle (f64[64]:unit, f32[64]:rand, i64[256])
__global__ void whole(const f64 *a, const f32 *b, i64 *out)
{
    u32 t = threadIdx.x;
    out[t] = (i64)__double2uint_rd(a[t] * 1e7) ^ (i64)__double2uint_ru(a[t] * 1e7);
    out[64 + t] = __double2ll_rd(a[t] * 1e12) + __double2ll_ru(a[t] * 1e12);
    out[128 + t] = __float2ll_rd(b[t]) * 3 + __float2ll_ru(b[t]);
    out[192 + t] = (i64)(__double2ull_rn(fabs(a[t]) * 1e15) + __float2ull_ru(fabsf(b[t])));
}

static void groups_oracle(const u32 *x, u32 *out, i32 *less)
{
    for (u32 t = 0; t < 72; t++) {
        u32 first = t & ~31u, peers = 0, ballot = 0, any = 0, match = 0;
        u32 sum = 0, least = ~0u, most = 0, both = ~0u, either = 0, odd = 0;
        i32 low = 0x7fffffff, high = -0x7fffffff - 1;
        for (u32 o = first; o < 72 && o < first + 32; o++) {
            if ((x[o] & 3) != (x[t] & 3))
                continue;
            u32 bit = 1u << (o - first), v = x[o] * 2654435761u;
            peers |= bit;
            ballot |= x[o] & 4 ? bit : 0;
            match |= (x[o] & 7) == (x[t] & 7) ? bit : 0;
            any |= x[o] & 8;
            sum += v;
            least = v < least ? v : least;
            most = v > most ? v : most;
            low = (i32)v < low ? (i32)v : low;
            high = (i32)v > high ? (i32)v : high;
            both &= v;
            either |= v;
            odd ^= v;
        }
        out[t] = ballot;
        out[72 + t] = (any != 0) | (ballot == peers ? 2u : 0);
        out[144 + t] = match;
        out[216 + t] = sum;
        out[288 + t] = least ^ most * 3;
        out[360 + t] = both ^ either * 3 ^ odd * 5;
        out[432 + t] = match == peers ? match + 1 : 0;
        less[t] = low;
        less[72 + t] = high;
    }
}
// The lanes of a warp call together, each group of them with a mask of its own.
//! run groups grid=1 block=72 oracle=groups_oracle (u32[72]:mod19, u32[504], i32[144])
__global__ void groups(const u32 *x, u32 *out, i32 *less)
{
    u32 t = threadIdx.x, mine = x[t], v = mine * 2654435761u;
    u32 peers = __match_any_sync(~0u, mine & 3);
    out[t] = __ballot_sync(peers, mine & 4);
    out[72 + t] = (u32)__any_sync(peers, mine & 8) | (u32)__all_sync(peers, mine & 4) << 1;
    out[144 + t] = __match_any_sync(peers, mine & 7);
    out[216 + t] = __reduce_add_sync(peers, v);
    out[288 + t] = __reduce_min_sync(peers, v) ^ __reduce_max_sync(peers, v) * 3;
    out[360 + t] = __reduce_and_sync(peers, v) ^ __reduce_or_sync(peers, v) * 3 ^
                   __reduce_xor_sync(peers, v) * 5;
    i32 all;
    u32 same = __match_all_sync(peers, mine & 7, &all);
    out[432 + t] = same + (u32)all;
    less[t] = __reduce_min_sync(peers, (i32)v);
    less[72 + t] = __reduce_max_sync(peers, (i32)v);
}
// A full mask is the whole warp, with the lanes that it has.
//! run full grid=1 block=72 (i32[72]:bits, i32[360])
__global__ void full(const i32 *x, i32 *out)
{
    const unsigned all = 0xffffffff;
    u32 t = threadIdx.x;
    out[t] = __reduce_add_sync(0xffffffff, x[t]) + __any_sync(all, x[t] > 0) +
             __all_sync(~0u, x[t] > 0);
    out[72 + t] = __reduce_min_sync(all, x[t]);
    out[144 + t] = (i32)__ballot_sync(all, x[t] < 0);
    out[216 + t] = __reduce_add_sync(all, x[t]) < 0;
    out[288 + t] = __reduce_max_sync(-1, x[t]);
}

static void dots_oracle(const u32 *a, const u32 *b, i32 *out, u32 *unsigned_out)
{
    for (u32 t = 0; t < 64; t++) {
        i32 sum = -5;
        u32 unsigned_sum = 7;
        for (u32 i = 0; i < 4; i++) {
            sum += (i8)(a[t] >> 8 * i) * (i8)(b[t] >> 8 * i);
            unsigned_sum += (u32)((u8)(a[t] >> 8 * i) * (u8)(b[t] >> 8 * i));
        }
        out[t] = sum;
        unsigned_out[t] = unsigned_sum;
    }
}
// The type of the words says whether their bytes are signed.
//! run signed_dots grid=1 block=64 oracle=dots_oracle (u32[64]:bits, u32[64]:bits, i32[64], u32[64])
__global__ void signed_dots(const u32 *a, const u32 *b, i32 *out, u32 *unsigned_out)
{
    u32 t = threadIdx.x;
    out[t] = __dp4a((int)a[t], (int)b[t], -5);
    unsigned_out[t] = __dp4a(a[t], b[t], 7u);
}
