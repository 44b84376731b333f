// Expressions that NVIDIA's assembler has folded wrongly when they were written the obvious way
// (docs/assembler.md). Every kernel has one of them in several surroundings; only a run on the
// device tells.
#include <kiln/kernel.h>

// Values at which folding goes wrong: known in a branch, smallest and largest numbers.
static i32 odd_value(u32 x)
{
    u32 k = x % 16;
    return k == 0   ? 5
           : k == 1 ? (i32)0x80000000u
           : k == 2 ? -1
           : k == 3 ? 0
           : k == 4 ? 255
           : k == 5 ? -32768
           : k == 6 ? 128
           : k == 7 ? 1
                    : (i32)x;
}

static f32 odd_float(u32 x)
{
    u32 k = x % 8;
    return k == 0   ? f32_from_bits(0x7fc00000u)
           : k == 1 ? f32_from_bits(0x7f800000u)
           : k == 2 ? -0.0f
           : k == 3 ? -1.0f
                    : (f32)(i32)x;
}

//! run known_not block=64 (u32[64]:bits, i32[512])
kernel block(64) void known_not(const u32 *x, i32 *out)
{
    i32 a = odd_value(x[thread_x()]), b = odd_value(x[63 - thread_x()]);
    i32 *o = out + 8 * thread_x();
    for (u32 k = 0; k < 8; k++)
        o[k] = b;
    if (a == 5)
        o[0] = ~a;
    if (a == 255) {
        o[1] = ~a & b;
        o[2] = (i32)(u8)(a | (i32)(u8)~a);
    }
    if (a == -1)
        o[3] = ~a - 1;
    i32 outside = ~a;
    if (a == 0)
        o[4] = outside ^ b;
    if (a == 128)
        o[5] = a ^ (b > 0 ? -1 : 0);
    switch (a) {
    case 1: o[6] = ~a | b; break;
    case 5: o[6] = (i32)(i16)~a; break;
    default: o[6] = a; break;
    }
    o[7] = (u32)~a < (u32)a ? 1 : ~a == 0;
}

//! run negated_extremes block=64 (u32[64]:bits, i32[768])
kernel block(64) void negated_extremes(const u32 *x, i32 *out)
{
    i32 a = odd_value(x[thread_x()]), b = odd_value(x[63 - thread_x()]), zero = b & 1;
    i32 *o = out + 12 * thread_x();
    o[0] = max(a, abs(a));
    o[1] = max(b, max(a, -a));
    o[2] = min(b, min(a, -a));
    o[3] = min(max(a, -b), -a);
    o[4] = (i32)max((u32)a, max((u32)b, (u32)-a));
    o[5] = (i32)min((u32)~a, (u32)(-128 - ~a));
    o[6] = (i32)min((u32)-a, (u32)(~b - 3));
    o[7] = zero == 0 ? max(b, max(a, zero - a)) : 7;
    o[8] = abs(a) == 128 ? -abs(a) : a;
    o[9] = (i32)bits_f32((f32)(u32)abs(a));
    o[10] = min(b, min(~-a, dot4_i8(0, 0, -a)));
    o[11] = max(b, max(3, (i32)permute_bytes((u32)-a, 0, 0x3210)));
}

//! run wide_extremes block=64 (u32[64]:bits, i64[256])
kernel block(64) void wide_extremes(const u32 *x, i64 *out)
{
    i64 a = (i64)odd_value(x[thread_x()]) << 20, b = odd_value(x[63 - thread_x()]);
    i64 *o = out + 4 * thread_x();
    o[0] = max(b, max(a, -a));
    o[1] = min((a + a), (a << 52) + (a >> 12)) + ~a;
    o[2] = (i64)min((u64)~a, (u64)(-128 - ~a));
    o[3] = (i64)((u64)mul_high((u32)a, (u32)b) - (u64)(a ^ a));
}

//! run selected_zero block=64 (u32[64]:bits, u32[256])
kernel block(64) void selected_zero(const u32 *x, u32 *out)
{
    i32 a = odd_value(x[thread_x()]);
    u32 *o = out + 4 * thread_x();
    o[0] = bits_f32(a > 5 ? -0.0f : -1.0f);
    o[1] = bits_f32(a > 5 ? 1.0f : -0.0f);
    o[2] = bits_f32(1.0f / (a != 5 ? -0.0f : -1.0f));
    o[3] = bits_f32((f32)(a > 5)) + bits_f32(-(f32)(a < 5)) + bits_f32(min(1.0f, max((f32)a, -0.0f)));
}

static u32 converted_truth(i32 a)
{
    bool is_large = a > 5;
    if (is_large || (a < 3 && (i32)is_large == 1))
        return (u32)f32_from_bits((u32)is_large) + bits_f32(rint(f32_from_bits((u32)is_large)));
    return (u32)(f32)is_large;
}
//! run truth_bits block=64 (u32[64]:bits, u32[64])
kernel block(64) void truth_bits(const u32 *x, u32 *out)
{
    out[thread_x()] = converted_truth(odd_value(x[thread_x()]));
}

// The same behind operations that leave a truth value one.
//! run truth_bits_masked block=64 (u32[64]:bits, u32[512])
kernel block(64) void truth_bits_masked(const u32 *x, u32 *out)
{
    i32 a = odd_value(x[thread_x()]), b = odd_value(x[63 - thread_x()]);
    u32 *o = out + 8 * thread_x();
    o[0] = (u32)f32_from_bits((u32)((a != 5) & (thread_x() < 64u)));
    o[1] = (u8)f32_from_bits((u32)((a != 5) | (b == 255)));
    o[2] = (u32)f32_from_bits((u32)((a > 1) ^ (b > 1)));
    o[3] = (u32)f32_from_bits((u32)a & 1u);
    o[4] = (u32)f32_from_bits((u32)a >> 31);
    o[5] = o[6] = o[7] = 9;
    if (a != 5) {
        o[5] = (u32)f32_from_bits((u32)((a != 5) & 1));
        o[6] = (u8)f32_from_bits(b == 255 ? 1u : (u32)(a != 5));
    }
    if (b & 1)
        o[7] = (u16)f32_from_bits((u32)(u8)((b & 1) * (a != 5)));
}

//! run magnitudes block=64 (u32[64]:bits, u32[640])
kernel block(64) void magnitudes(const u32 *x, u32 *out)
{
    f32 a = odd_float(x[thread_x()]), b = odd_float(x[63 - thread_x()]);
    u32 *o = out + 10 * thread_x();
    o[0] = fabs(a) >= 0.0f;
    o[1] = fabs(a) > -1.0f;
    o[2] = a * a >= 0.0f;
    o[3] = a * a + b * b >= 0.0f;
    o[4] = -fabs(a) <= 0.0f;
    o[5] = -1.0f < fabs(a);
    o[6] = fabs(a) < -1.0f;
    o[7] = !(fabs(a) >= 0.0f);
    o[8] = fabs(a) != -1.0f;
    o[9] = fabs(a) >= -2.0f ? 3 : 5;
}

//! run masks block=64 (u32[64]:bits, u32[256])
kernel block(64) void masks(const u32 *x, u32 *out)
{
    i32 a = odd_value(x[thread_x()]), b = odd_value(x[63 - thread_x()]);
    u32 *o = out + 4 * thread_x(), mask = a > 5 ? 0xffffffffu : 0;
    o[0] = mask >= 1 ? 3 : 4;
    o[1] = permute_bytes((u32)a, (u32)b, 8) & 255;
    o[2] = permute_bytes((u32)a, (u32)b, 0xf9a1);
    u32 low = (u32)a & 0xffff;
    o[3] = a == -32768 ? low << ((u32)a & 31) : low;
}

// The branch knows `bit & 1`, and so `bit`, which is 0 or 1: its NOT was lost.
//! run known_bit_not block=64 (u32[512]:bits, u32[192])
kernel block(64) void known_bit_not(const u32 *x, u32 *out)
{
    const u32 *w = x + 8u * thread_x();
    u16 bit = (u16)(w[4] & 1u);
    u8 two = (u8)(w[7] & 3u);
    bool any = block_any(w[6] == 63u);
    if ((bit & 1) != 0)
        return;
    u16 known = any && w[5] > 1000u ? (u16)w[3] : (u16)(bit | (u16)~bit);
    out[thread_x()] = known;
    if ((two & 3) == 2)
        out[thread_x() + 64] = (u8)(two ^ (u8)~two);
    if ((two >> 1) == 0)
        out[thread_x() + 128] = ~(u32)two;
}

// A minimum of unsigned numbers, one negated, one a NOT that is subtracted from, in a sum of bytes: the NOT was lost on OpenCL.
//! run dotted_minima block=64 (u32[64]:bits, i32[512])
kernel block(64) void dotted_minima(const u32 *x, i32 *out)
{
    u32 a = x[thread_x()], b = x[63 - thread_x()], bit = shuffle_up(a & 1u, 1);
    f32 c = f32_from_bits(a & 0xbfffffffu);
    i32 *o = out + 8 * thread_x();
    o[0] = dot4_i8(min((u32)-(i32)(i16)(a + a), ~bit - (u32)fabs(c)), 256u | (c != c), 3);
    o[1] = dot4_i8(min((u32)-(i32)(i16)a, ~bit - 3u), b, 3);
    o[2] = dot4_i8(max((u32)-(i32)(i16)a, ~b - bit), a, (i32)b);
    o[3] = (i32)dot4_u8(min(0u - a, ~bit), b, ~a);
    o[4] = dot4_i8((u32)min(-(i32)a, (i32)~b), (u32)max(-(i32)b, (i32)~a), -(i32)bit);
    o[5] = (i32)min(~bit - (a & 1u), ~b);
    o[6] = (i32)max(~bit, (-1 - b) - a);
    o[7] = (i32)min(0xffffffffu - bit, 0u - (b & 7u));
}

// Minima, maxima and magnitudes that are written as choices: compilers make the instructions of them.
//! run chosen_extremes block=64 (u32[64]:bits, i32[640])
kernel block(64) void chosen_extremes(const u32 *x, i32 *out)
{
    i32 a = odd_value(x[thread_x()]), b = odd_value(x[63 - thread_x()]), c = odd_value(x[thread_x() ^ 7]);
    i32 *o = out + 10 * thread_x(), less = -a, most = a * -1;
    i32 inner = less > b ? less : b, size = a < 0 ? -a : a;
    o[0] = c > inner ? c : inner;
    i32 low = b < most ? b : most;
    o[1] = low < c ? low : c;
    o[2] = max(c, size);
    o[3] = (i32)bits_f32((f32)(u32)size);
    o[4] = -size < -5 ? 1 : 2;
    o[5] = max(inner, 0) == 0 ? 7 : max(-a, 3);
    o[6] = max(b, min(-a, 12)) + min(max(-b, -12), 12);
    i32 mask = b >= 0 ? -1 : 0;
    o[7] = b >= 0 ? mask ^ b : (b ^ mask) + ~mask;
    o[8] = (i32)((u32)(a ^ -(i32)(a < 0)) + (u32)(a < 0));
    o[9] = a == 5 ? a ^ mask : ~(a & 1) & 255;
}

static f32 zero_or_one(i32 a)
{
    f32 d = -1.0f;
    if (a > 5)
        d = -0.0f;
    return d;
}
// Divisors and signs of a chosen -0.0, also in a loop and from branches.
//! run chosen_zeros block=64 (u32[64]:bits, u32[640])
kernel block(64) void chosen_zeros(const u32 *x, u32 *out)
{
    i32 a = odd_value(x[thread_x()]);
    f32 v = odd_float(x[63 - thread_x()]);
    u32 *o = out + 10 * thread_x();
    for (u32 k = 0; k < 4; k++) {
        f32 r = (((f32)(u32)a - -0.0f / 1e10f) / (v != 16777217.0f ? -0.0f : -1.0f)) * v;
        o[k] = isnan(r) ? 0x7fc00000u : bits_f32(r);
        v = r * 0.5f + (f32)k;
    }
    o[4] = bits_f32(3.0f / zero_or_one(a));
    o[5] = bits_f32(zero_or_one(a));
    o[6] = bits_f32(-(f32)(a > 5 ? 0 : 1));
    o[7] = bits_f32(copysign(a > 5 ? 0.0f : 1.0f, -2.0f));
    o[8] = bits_f32(-(a > 5 ? 0.0f : 1.0f));
    f32 e = a > 5 ? -0.0f : 1.0f;
    o[9] = bits_f32(e * 2.0f) + bits_f32(min(1.0f, max(e, -0.0f))) + (u32)(-fabs(e) <= 0.0f);
}

// The sign of a byte that a branch or a shuffle makes known, cut to 16 bits and widened.
//! run half_known block=64 (u32[64]:bits, u64[512], u64=9)
kernel block(64) void half_known(const u32 *x, u64 *out, u64 nine)
{
    u64 b = (u64)x[thread_x()] << 32 | x[63 - thread_x()], *o = out + 8 * thread_x();
    u64 y = ((b << 30) + 9) << 2, z = (b << 30) + 9, v = b, all = 0;
    o[0] = y * 3 + y;
    o[1] = z * 3 + z;
    o[1] = o[1] * 3 + o[1];
    o[2] = y * 5 + (y + 7);
    o[3] = (y + 1) - y * 11;
    o[4] = ((b << 33) + nine) * 3 + nine;
    for (u32 k = 0; k < 7; k++) { // unrolled: x * 64 + 9, again and again
        for (u32 j = 0; j < 3; j++)
            v = v * 3 + (v + j);
        all ^= v;
        v += 3;
    }
    o[5] = all;
    o[6] = (((b & 0xffffffffff000000u) << 8) | 5) * 1000003 + (((b & 0xffffffffff000000u) << 8) | 5);
    o[7] = (u64)((i64)(b << 32 | 17) * -7 + (i64)(b << 32 | 17));
}

//! run extended_bytes block=64 (u32[64]:bits, u32[512], u32=240)
kernel block(64) void extended_bytes(const u32 *x, u32 *out, u32 byte)
{
    u32 b = x[thread_x()], *o = out + 8 * thread_x();
    i8 high = shuffle((i8)-128, byte), low = shuffle_down((i8)-16, byte);
    o[0] = (u16)high ^ b;
    o[1] = (u32) ~(u16)low + b;
    o[2] = (u32)(i32)(i16)high ^ b;
    o[3] = o[4] = b;
    if (byte == 240) {
        o[3] = (u16)(i8)byte ^ b;
        o[4] = (u32) ~(u16)(i8)byte + b;
    }
    u64 wide = (u64)(u16)low * b;
    o[5] = (u32)wide;
    o[6] = (u32)(wide >> 32);
    o[7] = bits_f32((f32)(u16)high) ^ b;
}

// The same by way of memory that becomes registers: NVIDIA's compiler of OpenCL keeps bytes and
// halves there in registers of 16 bits.
typedef union extended_word {
    u8 bytes[4];
    u16 halves[2];
    u32 word;
} extended_word;

//! run extended_halves block=64 (u32[64]:bits, u32[256], u32=240)
kernel block(64) void extended_halves(const u32 *x, u32 *out, u32 byte)
{
    u32 b = x[thread_x()], *o = out + 4 * thread_x();
    extended_word u = {.word = byte ^ (b & 0x1f00)};
    u16 pair[2] = {(u16)(i32)(i8)byte, (u16)(i64)(i8)shuffle((u8)0x80, byte)};
    u.halves[1] = (u16)(i8)u.bytes[0];
    o[0] = u.word ^ b;
    o[1] = b;
    if (u.bytes[0] == 0xf0) {
        u.halves[0] = (u16)(i8)u.bytes[0];
        o[1] = (u32)u.halves[0] + u.halves[1] + b;
    }
    o[2] = pair[b & 1] + b;
    o[3] = (u32)pair[1] * 65537u ^ b;
}

// Between -0.0 and 1.0, of 64 bits: the sign of the zero was lost.
//! run clamped_zero block=64 (u64[64]:bits, u64[256])
kernel block(64) void clamped_zero(const u64 *x, u64 *out)
{
    u64 bits = x[thread_x()], *o = out + 4 * thread_x();
    f64 a = f64_from_bits(thread_x() & 1 ? bits : bits & (u64)1 << 63);
    o[0] = bits_f64(min(1.0, max(a + -2.5e-3, -0.0)));
    o[1] = bits_f64(min(1.0, max(a, -0.0)));
    o[2] = bits_f64(max(min(a, 1.0), -0.0));
    o[3] = bits_f64(min(max(a * 3.0, -0.0), 1.0));
}

// Between a zero and 1.0, in the order in which a NaN gives 1.0, and with the constant first.
//! run saturated block=64 (u32[64]:bits, f32[64]:edge, u32[512], u64[256])
kernel block(64) void saturated(const u32 *x, const f32 *edges, u32 *out, u64 *wide)
{
    f32 a = edges[thread_x()], b = odd_float(x[thread_x()]);
    f64 c = a, d = b;
    u32 *o = out + 8 * thread_x();
    u64 *w = wide + 4 * thread_x();
    o[0] = bits_f32(max(0.0f, min(1.0f, a)));
    o[1] = bits_f32(max(min(a * b, 1.0f), 0.0f));
    o[2] = bits_f32(-max(min(1.0f, -b), 0.0f));
    o[3] = bits_f32(max(min(fabs(b), 1.0f), -0.0f));
    o[4] = bits_f32(min(1.0f, max(-0.0f, a)));
    o[5] = bits_f32(max(-0.0f, min(1.0f, a + b)));
    o[6] = bits_f32(min(1.0f, max(0.0f, b)));
    o[7] = (u8)(max(0.0f, min(1.0f, b)) * 255.0f);
    w[0] = bits_f64(max(0.0, min(1.0, c)));
    w[1] = bits_f64(max(min(c * d, 1.0), 0.0));
    w[2] = bits_f64(min(1.0, max(-0.0, d)));
    w[3] = bits_f64(max(-0.0, min(1.0, -d)));
}

// Differences of the two shifts of a rotation, and their negations: the signs were lost.
//! run rotated_differences block=64 (u64[64]:bits, u64[512])
kernel block(64) void rotated_differences(const u64 *x, u64 *out)
{
    u64 a = x[thread_x()], *o = out + 8 * thread_x();
    i64 b = (i64)(a * 3);
    o[0] = (a << 26) - (a >> 38);
    o[1] = (a >> 38) - (a << 26);
    o[2] = (u64)((b << 14) - (b >> 50));
    o[3] = (a >> 5) + -(a << 59);
    o[4] = -(a << 1) + -(a >> 63);
    o[5] = a * 0x100000000u - (a >> 32);
    o[6] = (u64)((b >> 1) - (b << 63));
    o[7] = (u64)(-(b << 40) - (b >> 24));
}

// Pairs of halves whose upper one is 0, where that one alone is wanted: it was the lower one's.
//! run half_pairs block=64 (f32[64]:edge, f32[64]:rand, f16[64]:rand, f32[512])
kernel block(64) void half_pairs(const f32 *x, const f32 *y, const f16 *z, f32 *out)
{
    u32 n = thread_x();
    f32 a = x[n], b = y[n], *o = out + 8 * n;
    f16x2 low = to_f16x2(a, 0.0f), other = to_f16x2(b, 0.5f), loaded = {z[n], to_f16(0.0f)};
    o[0] = f32(add2(low, other).y);
    o[1] = f32(min2(other, low).y);
    o[2] = f32(mul2(to_f16x2(-b, 0.0f), to_f16x2((f32)n, a)).y);
    o[3] = f32(fma2(other, other, low).y);
    o[4] = f32(sub2(loaded, other).y);
    f16x2 chosen = n & 1 ? to_f16x2(b, 0.0f) : to_f16x2(-b, 0.0f);
    o[5] = f32(max2(chosen, to_f16x2(a, -1.0f)).y);
    f16x2 sum = to_f16x2(b, 0.0f);
    for (u32 k = 0; k < (n & 3); k++)
        sum = k == 1 ? other : to_f16x2(a, 0.0f);
    o[6] = f32(add2(sum, to_f16x2(b, 2.0f)).y);
    o[7] = f32(add2(to_bf16x2(a, 0.0f), to_bf16x2(b, 0.5f)).y);
}

// Sums with a shuffled constant, where the negation of the other summand is at hand: the signs were lost.
//! run shuffled_sums grid=2 block=32 (u32[256]:bits, i64[512])
kernel block(32) void shuffled_sums(const u32 *x, i64 *out)
{
    u32 n = global_x(), loaded = x[(n * 5 + 253) & 255];
    u64 late = shuffle_up((u64)-4, 2);
    out[n * 8 + 2] = max((i32)late - 5, 0);
    out[n * 8 + 6] = loaded;
}

//! run shuffled_sums_narrow grid=2 block=32 (u32[256]:bits, i64[512])
kernel block(32) void shuffled_sums_narrow(const u32 *x, i64 *out)
{
    u32 n = global_x(), loaded = x[(n * 5 + 253) & 255];
    i32 late = shuffle_up(-4, 2);
    out[n * 8 + 2] = max(late - 5, 0);
    out[n * 8 + 6] = loaded;
}
