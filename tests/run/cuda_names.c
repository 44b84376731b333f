// <kiln/cuda.h>: functions of bytes and halves of words, of pairs of narrow floats, and the less
// common of numbers.
#include <kiln/cuda.h>

static i64 lane_of(u32 word, u32 bits, u32 at, bool is_signed)
{
    i64 lane = word >> at & ((1u << bits) - 1);
    return is_signed && lane >> (bits - 1) ? lane - (1 << bits) : lane;
}
static i64 held(i64 x, i64 least, i64 most)
{
    return x < least ? least : x > most ? most : x;
}
static i64 lane_step(u32 which, i64 a, i64 b, i64 low, i64 high)
{
    switch (which) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return held(a + b, low, high);
    case 3: return held(a - b, low, high);
    case 4: return a < b ? b - a : a - b;
    case 5: return a > b ? a : b;
    case 6: return a < b ? a : b;
    case 7: return a >= b ? -1 : 0;
    case 8: return a <= b;
    case 9: return a > b ? -1 : 0;
    case 10: return a < b;
    case 11: return (a + b + 1) >> 1;
    case 12: return (a + b) >> 1;
    case 13: return a == b ? -1 : 0;
    case 14: return a != b;
    case 15: return -a;
    case 16: return held(-a, low, high);
    case 17: return a < 0 ? -a : a;
    default: return held(a < 0 ? -a : a, low, high);
    }
}
static u32 lanes_of(u32 which, u32 a, u32 b, u32 bits, bool is_signed)
{
    u32 all = 0;
    i64 high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, low = is_signed ? -high - 1 : 0;
    for (u32 at = 0; at < 32; at += bits) {
        i64 x = lane_of(a, bits, at, is_signed), y = lane_of(b, bits, at, is_signed);
        all |= ((u32)lane_step(which, x, y, low, high) & ((1u << bits) - 1)) << at;
    }
    return all;
}
static u32 lane_sum(u32 a, u32 bits)
{
    u32 sum = 0;
    for (u32 at = 0; at < 32; at += bits)
        sum += a >> at & ((1u << bits) - 1);
    return sum;
}
static void lanes_oracle(const u32 *a, const u32 *b, u32 *out)
{
    static const u8 both[] = {2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (u32 i = 0; i < 512; i++) {
        u32 at = 0, x = a[i], y = b[i];
        for (u32 bits = 16; bits >= 8; bits -= 8) {
            u32 *o = out + i * 60 + (bits == 8 ? 30 : 0);
            at = 0;
            for (u32 k = 0; k < 9; k++) {
                o[at++] = lanes_of(both[k], x, y, bits, true);
                o[at++] = lanes_of(both[k], x, y, bits, false);
            }
            o[at++] = lanes_of(0, x, y, bits, false);
            o[at++] = lanes_of(1, x, y, bits, false);
            for (u32 which = 11; which < 15; which++)
                o[at++] = lanes_of(which, x, y, bits, false);
            for (u32 which = 15; which < 19; which++)
                o[at++] = lanes_of(which, x, y, bits, true);
            o[at++] = lane_sum(lanes_of(4, x, y, bits, true), bits);
            o[at++] = lane_sum(lanes_of(4, x, y, bits, false), bits);
        }
    }
}
#define BOTH(name, n)                                                                              \
    *o++ = __v##name##s##n(x, y);                                                                  \
    *o++ = __v##name##u##n(x, y);
#define LANES(n)                                                                                   \
    *o++ = __vaddss##n(x, y);                                                                      \
    *o++ = __vaddus##n(x, y);                                                                      \
    *o++ = __vsubss##n(x, y);                                                                      \
    *o++ = __vsubus##n(x, y);                                                                      \
    BOTH(absdiff, n)                                                                               \
    BOTH(max, n)                                                                                   \
    BOTH(min, n)                                                                                   \
    BOTH(cmpge, n)                                                                                 \
    BOTH(setle, n)                                                                                 \
    BOTH(cmpgt, n)                                                                                 \
    BOTH(setlt, n)                                                                                 \
    *o++ = __vadd##n(x, y);                                                                        \
    *o++ = __vsub##n(x, y);                                                                        \
    *o++ = __vavgu##n(x, y);                                                                       \
    *o++ = __vhaddu##n(x, y);                                                                      \
    *o++ = __vcmpeq##n(x, y);                                                                      \
    *o++ = __vsetne##n(x, y);                                                                      \
    *o++ = __vneg##n(x);                                                                           \
    *o++ = __vnegss##n(x);                                                                         \
    *o++ = __vabs##n(x);                                                                           \
    *o++ = __vabsss##n(x);                                                                         \
    *o++ = __vsads##n(x, y);                                                                       \
    *o++ = __vsadu##n(x, y);
//! run lanes grid=8 block=64 oracle=lanes_oracle (u32[512]:{edge,bits}, u32[512]:edge2, u32[30720])
__global__ void lanes(const u32 *a, const u32 *b, u32 *out)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], y = b[i], *o = out + i * 60;
    LANES(2)
    LANES(4)
}

static i32 least(i32 a, i32 b)
{
    return a < b ? a : b;
}
static i32 most(i32 a, i32 b)
{
    return a > b ? a : b;
}
static u32 halves(i64 low, i64 high)
{
    return ((u32)low & 0xffff) | (u32)high << 16;
}
static void programming_oracle(const i32 *a, const i32 *b, const i32 *c, i32 *out)
{
    for (u32 i = 0; i < 4096; i++) {
        i32 x = a[i], y = b[i], z = c[i], *o = out + i * 10, sum = (i32)((u32)x + (u32)y);
        o[0] = most(most(x, y), z);
        o[1] = most(least(x, y), 0);
        o[2] = most(most(sum, z), 0);
        o[3] = least(sum, z);
        o[4] = (i32)((u32)sum > (u32)z ? (u32)sum : (u32)z);
        i16 p = (i16)((i16)x + (i16)y), q = (i16)((x >> 16) + (y >> 16));
        o[5] = (i32)halves(most(most(p, (i16)z), 0), most(most(q, z >> 16), 0));
        o[6] = (i32)halves(least((u16)p, (u16)z), least((u16)q, (u16)((u32)z >> 16)));
        u64 pair = (u64)(u32)y << 32 | (u32)x, count = (u32)z % 40, by = count < 32 ? count : 32;
        o[7] = (i32)(u32)(pair << by >> 32);
        o[8] = (i32)(u32)(pair >> by);
        o[9] = (i32)(((i64)x + y + 1) >> 1) ^ (i32)((u32)(((u64)(u32)x + (u32)y) >> 1));
    }
}
//! run programming grid=64 block=64 oracle=programming_oracle (i32[4096]:edge, i32[4096]:edge2, i32[4096]:edge3, i32[40960])
__global__ void programming(const i32 *a, const i32 *b, const i32 *c, i32 *out)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    i32 x = a[i], y = b[i], z = c[i], *o = out + i * 10;
    o[0] = __vimax3_s32(x, y, z);
    o[1] = __vimin_s32_relu(x, y);
    o[2] = __viaddmax_s32_relu(x, y, z);
    o[3] = __viaddmin_s32(x, y, z);
    o[4] = __viaddmax_u32(x, y, z);
    o[5] = __viaddmax_s16x2_relu(x, y, z);
    o[6] = __viaddmin_u16x2(x, y, z);
    o[7] = __funnelshift_lc(x, y, (u32)z % 40);
    o[8] = __funnelshift_rc(x, y, (u32)z % 40);
    o[9] = __rhadd(x, y) ^ (i32)__uhadd(x, y);
}

static bool pairs_check(const f32 *in, f32 *out)
{
    for (u32 i = 0; i < 64; i++) {
        for (u32 k = 0; k < 2; k++) {
            f32 x = in[2 * i + k] + 0.1f, y = in[127 - 2 * i - k] + 0.2f;
            f32 a = f32(to_f16(x)), b = f32(to_f16(y)), c = f32(to_bf16(x)), d = f32(to_bf16(y));
            const f32 want[] = {f32(to_f16(a / b)),
                                f32(to_bf16(c / d)),
                                a < b,
                                d >= c,
                                -f32(to_f16(expf(a))),
                                f32(to_bf16(sqrtf(c))),
                                f32(to_f16(1.0f / a)),
                                floorf(d)};
            for (u32 n = 0; n < 8; n++)
                if (out[i * 18 + n * 2 + k] != want[n])
                    return false;
        }
        f32 a = f32(to_f16(in[2 * i] + 0.1f)), b = f32(to_f16(in[2 * i + 1] + 0.1f));
        if (out[i * 18 + 16] != (a > 0.5f && b > 0.5f) || out[i * 18 + 17] != a + b * 2)
            return false;
    }
    return true;
}
//! run pairs block=64 check=pairs_check (f32[128]:unit, f32[1152])
__global__ void pairs(const f32 *in, f32 *out)
{
    u32 i = threadIdx.x;
    f32 x = in[2 * i] + 0.1f, y = in[2 * i + 1] + 0.1f, z = in[127 - 2 * i] + 0.2f,
        w = in[126 - 2 * i] + 0.2f;
    half2 a = __floats2half2_rn(x, y), b = __floats2half2_rn(z, w);
    nv_bfloat162 c = __floats2bfloat162_rn(x, y), d = __floats2bfloat162_rn(z, w);
    float2 *o = (float2 *)(out + i * 18);
    o[0] = __half22float2(__h2div(a, b));
    o[1] = __bfloat1622float2(__h2div(c, d));
    o[2] = __half22float2(__hlt2(a, b));
    o[3] = __bfloat1622float2(__hge2(d, c));
    o[4] = __half22float2(__hneg2(h2exp(a)));
    o[5] = __bfloat1622float2(h2sqrt(__habs2(__hneg2(c))));
    o[6] = __half22float2(h2rcp(a));
    o[7] = __bfloat1622float2(h2floor(d));
    half2 half = __float2half2_rn(0.5f);
    out[i * 18 + 16] = __hbgt2(a, half);
    out[i * 18 + 17] = __low2float(__low2half2(a)) + __low2float(__high2half2(a)) * 2;
}

static bool near(f64 x, f64 y)
{
    return fabs(x - y) <= 1e-7 * fabs(y) + 1e-15;
}
static bool numbers_check(const f32 *in, f32 *out, f64 *wide)
{
    const f64 pi = 3.14159265358979323846;
    for (u32 i = 0; i < 256; i++) {
        f64 x = in[i], y = in[255 - i], r = fmod(x, 2.0);
        const f64 want[] = {sin(pi * r),
                            cos(pi * r),
                            sqrt(x * x + y * y + 4),
                            1 / sqrt(x * x + y * y),
                            1 / cbrt(x),
                            0.5 * erfc(-x / sqrt(2.0))};
        for (u32 n = 0; n < 6; n++)
            if (!near(out[i * 8 + n], want[n]))
                return false;
        if (out[i * 8 + 6] != in[i] / in[255 - i] || out[i * 8 + 7] != (f32)(i % 4 * 0.5))
            return false;
        if (!near(wide[i], sin(pi * r) + 2 * cos(pi * r)))
            return false;
    }
    return true;
}
//! run numbers grid=4 block=64 check=numbers_check (f32[256]:rand, f32[2048], f64[256])
__global__ void numbers(const f32 *in, f32 *out, f64 *wide)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 x = in[i], y = in[255 - i], *o = out + i * 8, sine, cosine;
    sincospif(x, &sine, &cosine);
    o[0] = sine;
    o[1] = cospif(x);
    o[2] = norm3df(x, y, 2);
    o[3] = rhypotf(x, y);
    o[4] = rcbrtf(x);
    o[5] = normcdff(x);
    o[6] = fdividef(x, y);
    // exact where the angle is a multiple of a quarter turn
    f32 half = (f32)(i % 4) * 0.5f;
    o[7] = half * fabsf(sinpif(half)) + half * fabsf(cospif(half));
    wide[i] = sinpi((f64)x) + 2 * cospi((f64)x);
}

static void alike_oracle(const f32 *x, const f64 *y, u32 *out)
{
    for (u32 i = 0; i < 64; i++) {
        u32 first = i / 32 * 32;
        out[i] = out[64 + i] = 0;
        for (u32 k = 0; k < 32; k++) {
            out[i] |= (u32)(x[first + k] == x[i]) << k;
            out[64 + i] |= (u32)(y[first + k] == y[i]) << k;
        }
    }
}
//! run alike block=64 oracle=alike_oracle (f32[64]:mod5, f64[64]:mod7, u32[128])
__global__ void alike(const f32 *x, const f64 *y, u32 *out)
{
    u32 i = threadIdx.x;
    out[i] = __match_any_sync(~0u, x[i]);
    out[64 + i] = __match_any_sync(~0u, y[i]);
}
