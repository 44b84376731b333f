// <kiln/cuda.h>: what is rare of its numbers in a word; pairs of narrow floats that go from lane to
// lane; atomic sums of narrow floats.
#include <kiln/cuda.h>

static u32 average(u32 a, u32 b, u32 bits)
{
    u32 all = 0;
    for (u32 at = 0; at < 32; at += bits) {
        i32 x = (i32)(a << (32 - bits - at)) >> (32 - bits),
            y = (i32)(b << (32 - bits - at)) >> (32 - bits), twice = x + y;
        i32 mean = twice < 0 ? -((1 - twice) / 2) : (twice + 1) / 2; // -1.5 is -2
        all |= ((u32)mean & ((1u << bits) - 1)) << at;
    }
    return all;
}
static i32 dot_of_two(u32 a, u32 b, u32 c, u32 first, bool is_signed)
{
    i64 sum = 0;
    for (u32 i = 0; i < 2; i++) {
        i64 half = a >> 16 * i & 0xffff, byte = b >> 8 * (first + i) & 0xff;
        if (is_signed && half > 0x7fff)
            half -= 0x10000;
        if (is_signed && byte > 0x7f)
            byte -= 0x100;
        sum += half * byte;
    }
    return (i32)(c + (u32)sum);
}
static u32 nth_bit(u32 mask, u32 from, i32 n)
{
    u32 found = 0, wanted = n < 0 ? (u32)-n : (u32)n;
    if (n == 0)
        return mask & 1u << from ? from : ~0u;
    for (i32 at = (i32)from; at >= 0 && at < 32; at += n < 0 ? -1 : 1)
        if (mask & 1u << at && ++found == wanted)
            return (u32)at;
    return ~0u;
}
static void words_oracle(const u32 *a, const u32 *b, const u32 *c, u32 *out)
{
    for (u32 i = 0; i < 4096; i++) {
        u32 x = a[i], y = b[i], z = c[i], *o = out + i * 16;
        i16 low[] = {(i16)x, (i16)y}, high[] = {(i16)(x >> 16), (i16)(y >> 16)};
        u16 ulow[] = {(u16)x, (u16)y}, uhigh[] = {(u16)(x >> 16), (u16)(y >> 16)};
        o[0] = average(x, y, 16);
        o[1] = average(x, y, 8);
        o[2] = (u32)((i32)x > (i32)y ? (i32)x : (i32)y) ^ ((i32)x >= (i32)y ? 1u : 0);
        o[3] = (x < y ? x : y) ^ (x <= y ? 1u : 0);
        o[4] = (u32)(u16)(low[0] > low[1] ? low[0] : low[1]) |
               (u32)(u16)(high[0] > high[1] ? high[0] : high[1]) << 16;
        o[5] = (high[0] >= high[1] ? 2u : 0) + (low[0] >= low[1] ? 1u : 0);
        o[6] = (u32)(ulow[0] < ulow[1] ? ulow[0] : ulow[1]) |
               (u32)(uhigh[0] < uhigh[1] ? uhigh[0] : uhigh[1]) << 16;
        o[7] = (uhigh[0] <= uhigh[1] ? 2u : 0) + (ulow[0] <= ulow[1] ? 1u : 0);
        o[8] = (u32)dot_of_two(x, y, z, 0, true);
        o[9] = (u32)dot_of_two(x, y, z, 2, true);
        o[10] = (u32)dot_of_two(x, y, z, 0, false);
        o[11] = (u32)dot_of_two(x, y, z, 2, false);
        o[12] = nth_bit(x, y % 32, (i32)(z % 9) - 4);
        o[13] = (u32)(((i64)(i32)x + (i32)y) >> 1);
        o[14] = (u32)((i32)x < (i32)y ? (i32)x : (i32)y) ^ ((i32)x <= (i32)y ? 1u : 0);
        o[15] = (x > y ? x : y) ^ (x >= y ? 1u : 0);
    }
}
//! run words grid=64 block=64 oracle=words_oracle (u32[4096]:{edge,bits}, u32[4096]:{edge2,bits}, u32[4096]:edge3, u32[65536])
__global__ void words(const u32 *a, const u32 *b, const u32 *c, u32 *out)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 x = a[i], y = b[i], z = c[i], *o = out + i * 16;
    bool first = false, low = false, high = false;
    o[0] = __vavgs2(x, y);
    o[1] = __vavgs4(x, y);
    o[2] = (u32)__vibmax_s32((i32)x, (i32)y, &first);
    o[2] ^= first;
    o[3] = __vibmin_u32(x, y, &first);
    o[3] ^= first;
    o[4] = __vibmax_s16x2(x, y, &high, &low);
    o[5] = 2u * high + low;
    o[6] = __vibmin_u16x2(x, y, &high, &low);
    o[7] = 2u * high + low;
    o[8] = (u32)__dp2a_lo((i32)x, (i32)y, (i32)z);
    o[9] = (u32)__dp2a_hi((i32)x, (i32)y, (i32)z);
    o[10] = __dp2a_lo(x, y, z);
    o[11] = __dp2a_hi(x, y, z);
    o[12] = __fns(x, y % 32, (i32)(z % 9) - 4);
    o[13] = (u32)__hadd((i32)x, (i32)y);
    o[14] = (u32)__vibmin_s32((i32)x, (i32)y, &first);
    o[14] ^= first;
    o[15] = __vibmax_u32(x, y, &first);
    o[15] ^= first;
}

//! run pairs_of_lanes grid=2 block=48 (u32[96]:bits, u32[768])
__global__ void pairs_of_lanes(const u32 *in, u32 *out)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, word = in[i] & 0xbfffbfffu, *o = out + i * 8;
    __half2 h = __halves2half2(__ushort_as_half((u16)word), __ushort_as_half((u16)(word >> 16)));
    __half2 moved[4]; // no NaN, whose bits are not fixed
    __nv_bfloat162 b = __halves2bfloat162(__ushort_as_bfloat16(__half_as_ushort(h.y)),
                                          __ushort_as_bfloat16(__half_as_ushort(h.x)));
    moved[0] = __shfl_sync(~0u, h, (i32)(i * 7 % 32));
    moved[1] = __shfl_up_sync(~0u, h, 3);
    moved[2] = __shfl_down_sync(~0u, h, 5, 8);
    moved[3] = __shfl_xor_sync(~0u, __hmin2(h, h), 9);
    __nv_bfloat162 other = __shfl_xor_sync(~0u, b, 1, (i32)(2u << (i / 48))),
                   last = __shfl_sync(~0u, b, 3, 4);
    for (u32 k = 0; k < 4; k++)
        o[k] = (u32)bits_f16(moved[k].x) | (u32)bits_f16(moved[k].y) << 16;
    o[4] = (u32)bits_bf16(other.x) | (u32)bits_bf16(other.y) << 16;
    o[5] = (u32)bits_bf16(last.x) | (u32)bits_bf16(last.y) << 16;
    o[6] = bits_f16(__shfl_sync(~0u, h.x, 2));
    o[7] = bits_bf16(__shfl_down_sync(~0u, b.y, 1));
}

// Sums of whole numbers, exact in any order; each old value is among them.
static bool sums_check(u16 *halves, u16 *brains, u32 *old)
{
    (void)old;
    for (u32 i = 0; i < 10; i++) {
        u32 sum = 0;
        for (u32 t = 0; t < 192; t++)
            sum += t % 10 == i ? t % 3 : 0;
        if (f32(f16_from_bits(halves[i])) != (f32)sum || f32(bf16_from_bits(brains[i])) != (f32)sum)
            return false;
    }
    return f32(f16_from_bits(halves[10])) == 192 && f32(f16_from_bits(halves[11])) == 96 &&
           f32(bf16_from_bits(brains[10])) == 192 && f32(bf16_from_bits(brains[11])) == 96;
}
//! run sums grid=3 block=64 check=sums_check (u16[12], u16[12], u32[1])
__global__ void sums(u16 *halves, u16 *brains, u32 *old)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    __half *h = (__half *)halves;
    __nv_bfloat16 *b = (__nv_bfloat16 *)brains;
    atomicAdd(&h[i % 10], __float2half((f32)(i % 3)));
    atomicAdd(&b[i % 10], __float2bfloat16((f32)(i % 3)));
    __half2 was = atomicAdd((__half2 *)&h[10], __floats2half2_rn(1.0f, 0.5f));
    atomicAdd((__nv_bfloat162 *)&b[10], __floats2bfloat162_rn(1.0f, 0.5f));
    if (__low2float(was) != 2.0f * __high2float(was))
        atomicAdd(old, 1);
}
