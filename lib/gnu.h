// Functions behind GNU's names: __builtin_X of a kernel file is k_gnu_X (src/front/check_gnu.c).
// Numbers of 128 bits are a sign and two words of magnitude, so that sums and products of any two
// integers are exact. Start reading at k_finish.
#ifndef KILN_LIB_GNU_H
#define KILN_LIB_GNU_H

// --- bits
static inline i32 k_gnu_popcount(u32 x)
{
    return (i32)popcount(x);
}

static inline i32 k_gnu_popcountl(u64 x)
{
    return (i32)popcount(x);
}

static inline i32 k_gnu_popcountll(u64 x)
{
    return (i32)popcount(x);
}

static inline i32 k_gnu_parity(u32 x)
{
    return (i32)popcount(x) & 1;
}

static inline i32 k_gnu_parityl(u64 x)
{
    return (i32)popcount(x) & 1;
}

static inline i32 k_gnu_parityll(u64 x)
{
    return (i32)popcount(x) & 1;
}

static inline i32 k_gnu_clz(u32 x)
{
    return (i32)leading_zeros(x);
}

static inline i32 k_gnu_clzl(u64 x)
{
    return (i32)leading_zeros(x);
}

static inline i32 k_gnu_clzll(u64 x)
{
    return (i32)leading_zeros(x);
}

static inline i32 k_gnu_ctz(u32 x)
{
    return (i32)trailing_zeros(x);
}

static inline i32 k_gnu_ctzl(u64 x)
{
    return (i32)trailing_zeros(x);
}

static inline i32 k_gnu_ctzll(u64 x)
{
    return (i32)trailing_zeros(x);
}

static inline u16 k_gnu_bswap16(u16 x)
{
    return (u16)permute_bytes(x, 0, 0x4401u);
}

static inline u32 k_gnu_bswap32(u32 x)
{
    return permute_bytes(x, 0, 0x0123u);
}

static inline i32 k_gnu_ffs(i32 x)
{
    return x ? (i32)trailing_zeros((u32)x) + 1 : 0;
}

static inline i32 k_gnu_ffsll(i64 x)
{
    return x ? (i32)trailing_zeros((u64)x) + 1 : 0;
}

static inline i32 k_gnu_ffsl(i64 x)
{
    return k_gnu_ffsll(x);
}

static inline i32 k_gnu_clrsb(i32 x) // copies of the sign behind the sign
{
    return (i32)leading_zeros((u32)(x < 0 ? ~x : x)) - 1;
}

static inline i32 k_gnu_clrsbll(i64 x)
{
    return (i32)leading_zeros((u64)(x < 0 ? ~x : x)) - 1;
}

static inline i32 k_gnu_clrsbl(i64 x)
{
    return k_gnu_clrsbll(x);
}

static inline u64 k_gnu_bswap64(u64 x)
{
    u64 low = permute_bytes((u32)x, 0, 0x0123u), high = permute_bytes((u32)(x >> 32), 0, 0x0123u);
    return low << 32 | high;
}

// --- numbers of floats
static inline f64 k_gnu_inf(void)
{
    return f64_from_bits(0x7ff0000000000000u);
}

static inline f32 k_gnu_inff(void)
{
    return f32_from_bits(0x7f800000u);
}

static inline f64 k_gnu_huge_val(void)
{
    return k_gnu_inf();
}

static inline f32 k_gnu_huge_valf(void)
{
    return k_gnu_inff();
}

static inline f64 k_gnu_nan(const char *payload)
{
    return payload ? f64_from_bits(0x7ff8000000000000u) : 0;
}

static inline f32 k_gnu_nanf(const char *payload)
{
    return payload ? f32_from_bits(0x7fc00000u) : 0;
}

// --- sums and products that may not fit
// The result of `bits` goes to *out (NULL: nowhere); true when it is another one than
// the exact number, which is low + 2^64 high, negative or not.
static inline bool k_finish(bool is_negative, u64 low, u64 high, u32 bits, bool is_signed,
                            void *out)
{
    u64 value = is_negative ? 0 - low : low, most = 0xffffffffffffffffu >> (64 - bits);
    if (is_signed)
        most = (most >> 1) + (is_negative ? 1 : 0);
    else if (is_negative)
        most = 0;
    if (out && bits == 8)
        *(u8 *)out = (u8)value;
    else if (out && bits == 16)
        *(u16 *)out = (u16)value;
    else if (out && bits == 32)
        *(u32 *)out = (u32)value;
    else if (out)
        *(u64 *)out = value;
    return high != 0 || low > most;
}

static inline bool k_finish_sum(u64 low, u64 high, u32 bits, bool is_signed, void *out)
{
    bool is_negative = (high >> 63) != 0;
    if (is_negative) {
        low = 0 - low;
        high = ~high + (low == 0 ? 1 : 0);
    }
    return k_finish(is_negative, low, high, bits, is_signed, out);
}

static inline u64 k_upper(u64 x, bool is_signed)
{
    return is_signed && (x >> 63) != 0 ? 0xffffffffffffffffu : 0;
}

static inline bool k_gnu_add_to(u64 a, bool a_signed, u64 b, bool b_signed, u32 bits,
                                bool is_signed, void *out)
{
    u64 low = a + b, high = k_upper(a, a_signed) + k_upper(b, b_signed) + (low < a ? 1 : 0);
    return k_finish_sum(low, high, bits, is_signed, out);
}

static inline bool k_gnu_sub_to(u64 a, bool a_signed, u64 b, bool b_signed, u32 bits,
                                bool is_signed, void *out)
{
    u64 low = a - b, high = k_upper(a, a_signed) - k_upper(b, b_signed) - (a < b ? 1 : 0);
    return k_finish_sum(low, high, bits, is_signed, out);
}

static inline bool k_gnu_mul_to(u64 a, bool a_signed, u64 b, bool b_signed, u32 bits,
                                bool is_signed, void *out)
{
    bool a_negative = k_upper(a, a_signed) != 0, b_negative = k_upper(b, b_signed) != 0;
    u64 x = a_negative ? 0 - a : a, y = b_negative ? 0 - b : b;
    return k_finish(a_negative != b_negative, x * y, mul_high(x, y), bits, is_signed, out);
}
#endif
