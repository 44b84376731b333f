// Bit operations.
#include <kiln/kernel.h>

#define COUNTS(T)                                                                                  \
    kernel void counts_##T(const T *a, u32 *out)                                                   \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        out[3 * i] = popcount(a[i]);                                                               \
        out[3 * i + 1] = leading_zeros(a[i]);                                                      \
        out[3 * i + 2] = trailing_zeros(a[i]);                                                     \
    }                                                                                              \
    kernel void reverse_bits_##T(const T *a, T *out)                                               \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        out[i] = reverse_bits(a[i]);                                                               \
    }                                                                                              \
    kernel void rotates_##T(const T *a, const u32 *count, T *out)                                  \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        T x = a[i];                                                                                \
        out[6 * i] = rotate_left(x, count[i]);                                                     \
        out[6 * i + 1] = rotate_right(x, count[i]);                                                \
        out[6 * i + 2] = funnel_left(x, a[63 - i], count[i]);                                      \
        out[6 * i + 3] = rotate_left(x, 0);                                                        \
        out[6 * i + 4] = rotate_right(x, 7);                                                       \
        out[6 * i + 5] = funnel_left(x, a[63 - i], 13);                                            \
    }
//! run counts_{u32,u64} block=64 ($1[64]:edge, u32[192])
//! run counts_{u32,u64} block=64 ($1[64]:bits, u32[192])
//! run reverse_bits_{u32,u64} block=64 ($1[64]:bits, $1[64])
//! run rotates_{u32,u64} block=64 ($1[64]:bits, u32[64]:bits, $1[384])
//! run rotates_{u32,u64} block=64 ($1[64]:edge, u32[64]:iota, $1[384])
COUNTS(u32)
COUNTS(u64)

#define MUL_HIGH(T)                                                                                \
    kernel void mul_high_##T(const T *a, const T *b, T *out)                                       \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = mul_high(a[i], b[i]);                                                             \
    }
//! run mul_high_{i32,u32,i64,u64} grid=4 block=64 ($1[256]:edge, $1[256]:edge2, $1[256])
//! run mul_high_{i32,u32,i64,u64} grid=4 block=64 ($1[256]:bits, $1[256]:bits, $1[256])
MUL_HIGH(i32)
MUL_HIGH(u32)
MUL_HIGH(i64)
MUL_HIGH(u64)

//! run permute block=64 (u32[64]:bits, u32[64]:bits, u32[64]:bits, u32[192])
kernel void permute(const u32 *a, const u32 *b, const u32 *selector, u32 *out)
{
    u32 i = thread_x();
    out[3 * i] = permute_bytes(a[i], b[i], selector[i]);
    out[3 * i + 1] = permute_bytes(a[i], b[i], 0x0123);
    out[3 * i + 2] = permute_bytes(a[i], b[i], 0xf84b);
}

//! run dots block=64 (u32[64]:bits, u32[64]:bits, i32[64]:bits, i32[64], u32[64])
kernel void dots(const u32 *a, const u32 *b, const i32 *c, i32 *out, u32 *unsigned_out)
{
    u32 i = thread_x();
    out[i] = dot4_i8(a[i], b[i], c[i]);
    unsigned_out[i] = dot4_u8(a[i], b[i], (u32)c[i]);
}

//! run nibbles block=64 (u32[64]:bits, i32[64]:sym8, i32[512], u32[64])
kernel void nibbles(const u32 *a, const i32 *v, i32 *out, u32 *packed)
{
    u32 i = thread_x(), word = a[i];
    for (u32 k = 0; k < 8; k++)
        out[8 * i + k] = unpack_i4(word, k);
    packed[i] = pack_i4(word, i % 8, v[i]);
}

//! run patterns block=64 (f32[64]:bits, f64[64]:bits, u32[64], u64[64], f32[64], f64[64])
kernel void patterns(const f32 *a, const f64 *b, u32 *words, u64 *longs, f32 *singles, f64 *doubles)
{
    u32 i = thread_x();
    u32 w = isnan(a[i]) ? 1 : bits_f32(a[i]);
    u64 l = isnan(b[i]) ? 1 : bits_f64(b[i]);
    words[i] = w;
    longs[i] = l;
    singles[i] = f32_from_bits(w ^ 0x80000000u);
    doubles[i] = f64_from_bits(l ^ 1);
}

//! run narrow_patterns block=64 (u16[64]:bits, u8[64]:bits, u16[128], u8[128])
kernel void narrow_patterns(const u16 *a, const u8 *b, u16 *out, u8 *bytes)
{
    u32 i = thread_x();
    out[2 * i] = bits_f16(f16_from_bits(a[i]));
    out[2 * i + 1] = bits_bf16(bf16_from_bits(a[i]));
    bytes[2 * i] = bits_f8e4(f8e4_from_bits(b[i]));
    bytes[2 * i + 1] = bits_f8e5(f8e5_from_bits(b[i]));
}

// A quarter of all patterns of 16 bits as numbers, and floats of every exponent rounded to 16 bits.
//! run halves_widen block=256 grid=64 (f32[16384], f32[16384])
kernel void halves_widen(f32 *half, f32 *brain)
{
    u32 i = global_x();
    f32 h = f32(f16_from_bits((u16)(4 * i + i % 4))), b = f32(bf16_from_bits((u16)(4 * i + i % 4)));
    half[i] = h != h ? 1.5f : h;
    brain[i] = b != b ? 1.5f : b;
}

//! run halves_round block=256 grid=64 (u16[16384], u16[16384])
kernel void halves_round(u16 *half, u16 *brain)
{
    u32 i = global_x();
    f32 x = f32_from_bits(i * 262139u); // prime: ties and what lies around them
    f32 tie = f32_from_bits((i * 262139u & 0xfffff000u) | (i % 3 == 0 ? 0u : i % 3 == 1 ? 0xfffu : 0x1000u));
    x = i % 2 ? tie : x;
    half[i] = x != x ? (u16)1 : bits_f16(to_f16(x));
    brain[i] = x != x ? (u16)1 : bits_bf16(to_bf16(x));
}

static bool clz_matches_loop(const u32 *a, u32 *out)
{
    for (u32 i = 0; i < 64; i++) {
        u32 n = 0;
        while (n < 32 && !(a[i] >> (31 - n) & 1))
            n++;
        if (out[i] != n)
            return false;
    }
    return true;
}
//! run log2_floor block=64 check=clz_matches_loop (u32[64]:bits, u32[64])
kernel void log2_floor(const u32 *a, u32 *out)
{
    out[thread_x()] = leading_zeros(a[thread_x()]);
}

// A NOT of 64 bits, shifted and added: one instruction for each half, with a NOT for both.
//! run shifted_nots block=64 (u64[64]:bits, u64[64]:edge, u64[256])
kernel void shifted_nots(const u64 *a, const u64 *b, u64 *out)
{
    u32 n = thread_x();
    u64 x = a[n], y = b[n], *o = out + 4 * n;
    o[0] = (~x << 9) + y;
    o[1] = (~y << 31) + x;
    o[2] = ((u64)~(i64)(i32)x << 3) + y;
    o[3] = ((0 - x) << 17) + y;
}

// A divisor that the assembler finds to be a constant without a lower half, which it then writes as
// its upper one.
//! run upper_divisor block=64 (u64[64]:bits, u64[128])
kernel void upper_divisor(const u64 *a, u64 *out)
{
    u32 n = thread_x();
    u64 x = a[n], divisor = shuffle((u64)60 << 42, 3);
    out[n] = 65535 / divisor;
    out[n + 64] = x & 1 ? x / divisor : x % divisor;
}
