// simt_oracle.h: the builtins of the language over arrays of lanes, in plain C.
//
// The oracle of the SIMT generator (simt.h) includes this file and nothing of Kiln's. Each function
// is written from the language reference alone, so that a mistake in lib/ or in include/kiln/host
// is not repeated here. Build with -ffp-contract=off -frounding-math -fwrapv -fno-strict-aliasing.
//
// A collective reads in[first … end), writes out[first … end) and works warp by warp (o_warp_…) or
// on the whole range (o_block_…). `first` is a multiple of 32.
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
typedef _Bool bool; // no macro: its name becomes part of other names

enum { O_MAX = 1024 };

#define O_INTS(X)  X(i8) X(u8) X(i16) X(u16) X(i32) X(u32) X(i64) X(u64)
#define O_WIDE(X)  X(i32) X(u32) X(i64) X(u64)
#define O_NUMS(X)  O_WIDE(X) X(f32) X(f64)
#define O_TYPES(X) O_INTS(X) X(f32) X(f64) X(bool)

// --- integers
#define O_DIVIDE(T, minus_one)                                                                     \
    static inline T o_div_##T(T a, T b)                                                            \
    {                                                                                              \
        return b == 0 ? 0 : (minus_one) ? (T)(0 - a) : (T)(a / b);                                 \
    }                                                                                              \
    static inline T o_mod_##T(T a, T b)                                                            \
    {                                                                                              \
        return b == 0 ? a : (minus_one) ? 0 : (T)(a % b);                                          \
    }
O_DIVIDE(i32, b == -1)
O_DIVIDE(u32, 0)
O_DIVIDE(i64, b == -1)
O_DIVIDE(u64, 0)

#define O_SHIFT(T)                                                                                 \
    static inline T o_shl_##T(T a, u32 n)                                                          \
    {                                                                                              \
        return (T)(a << (n % (8 * sizeof(T))));                                                    \
    }                                                                                              \
    static inline T o_shr_##T(T a, u32 n)                                                          \
    {                                                                                              \
        return (T)(a >> (n % (8 * sizeof(T))));                                                    \
    }
O_WIDE(O_SHIFT)

#define O_MINMAX(T)                                                                                \
    static inline T o_min_##T(T a, T b)                                                            \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    static inline T o_max_##T(T a, T b)                                                            \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }
O_WIDE(O_MINMAX)

static inline i32 o_abs_i32(i32 a)
{
    return a < 0 ? 0 - a : a;
}
static inline i64 o_abs_i64(i64 a)
{
    return a < 0 ? 0 - a : a;
}
static inline i32 o_mul_high_i32(i32 a, i32 b)
{
    return (i32)(((i64)a * b) >> 32);
}
static inline u32 o_mul_high_u32(u32 a, u32 b)
{
    return (u32)(((u64)a * b) >> 32);
}
static inline i64 o_mul_high_i64(i64 a, i64 b)
{
    return (i64)(((__int128)a * b) >> 64);
}
static inline u64 o_mul_high_u64(u64 a, u64 b)
{
    return (u64)(((unsigned __int128)a * b) >> 64);
}

#define O_BITS(T)                                                                                  \
    static inline u32 o_popcount_##T(T a)                                                          \
    {                                                                                              \
        u32 n = 0;                                                                                 \
        for (; a; a >>= 1)                                                                         \
            n += (u32)(a & 1);                                                                     \
        return n;                                                                                  \
    }                                                                                              \
    static inline u32 o_leading_zeros_##T(T a)                                                     \
    {                                                                                              \
        u32 n = 8 * sizeof a;                                                                      \
        for (; a; a >>= 1)                                                                         \
            n--;                                                                                   \
        return n;                                                                                  \
    }                                                                                              \
    static inline u32 o_trailing_zeros_##T(T a)                                                    \
    {                                                                                              \
        u32 n = 0;                                                                                 \
        while (n < 8 * sizeof a && !(a >> n & 1))                                                  \
            n++;                                                                                   \
        return n;                                                                                  \
    }                                                                                              \
    static inline T o_reverse_bits_##T(T a)                                                        \
    {                                                                                              \
        T r = 0;                                                                                   \
        for (u32 i = 0; i < 8 * sizeof a; i++)                                                     \
            r = (T)(r << 1 | (a >> i & 1));                                                        \
        return r;                                                                                  \
    }                                                                                              \
    static inline T o_funnel_left_##T(T high, T low, u32 n)                                        \
    {                                                                                              \
        unsigned __int128 pair = (unsigned __int128)high << 8 * sizeof low | low;                  \
        return (T)(pair << (n % (8 * sizeof low)) >> 8 * sizeof low);                              \
    }                                                                                              \
    static inline T o_rotate_left_##T(T a, u32 n)                                                  \
    {                                                                                              \
        return o_funnel_left_##T(a, a, n);                                                         \
    }                                                                                              \
    static inline T o_rotate_right_##T(T a, u32 n)                                                 \
    {                                                                                              \
        n %= 8 * sizeof a;                                                                         \
        return n ? (T)(a >> n | a << (8 * sizeof a - n)) : a;                                      \
    }
O_BITS(u32)
O_BITS(u64)

static inline u32 o_permute_bytes(u32 low, u32 high, u32 selector)
{
    u8 bytes[8], picked[4];
    for (int i = 0; i < 8; i++)
        bytes[i] = (u8)((i < 4 ? low : high) >> 8 * (i & 3));
    for (int i = 0; i < 4; i++) {
        u32 nibble = selector >> 4 * i & 15;
        u8 byte = bytes[nibble & 7];
        picked[i] = nibble < 8 ? byte : byte >= 128 ? 255 : 0;
    }
    return picked[0] | (u32)picked[1] << 8 | (u32)picked[2] << 16 | (u32)picked[3] << 24;
}
static inline i32 o_dot4_i8(u32 a, u32 b, i32 c)
{
    i64 sum = c;
    for (int i = 0; i < 4; i++)
        sum += (i8)(a >> 8 * i) * (i8)(b >> 8 * i);
    return (i32)sum;
}
static inline u32 o_dot4_u8(u32 a, u32 b, u32 c)
{
    u64 sum = c;
    for (int i = 0; i < 4; i++)
        sum += (a >> 8 * i & 255) * (b >> 8 * i & 255);
    return (u32)sum;
}
static inline i32 o_unpack_i4(u32 word, u32 k)
{
    i32 x = (i32)(word >> 4 * (k & 7) & 15);
    return x >= 8 ? x - 16 : x;
}
static inline u32 o_pack_i4(u32 word, u32 k, i32 value)
{
    u32 place = 4 * (k & 7);
    return (word & ~(15u << place)) | ((u32)value & 15) << place;
}

// --- floats; a NaN is one value, because its bits are not promised
static inline u32 o_bits_f32(f32 x)
{
    u32 bits;
    memcpy(&bits, &x, 4);
    return x != x ? 0x7fc00000u : bits;
}
static inline u64 o_bits_f64(f64 x)
{
    u64 bits;
    memcpy(&bits, &x, 8);
    return x != x ? 0x7ff8000000000000u : bits;
}
static inline f32 o_f32_from_bits(u32 bits)
{
    f32 x;
    memcpy(&x, &bits, 4);
    return x;
}
static inline f64 o_f64_from_bits(u64 bits)
{
    f64 x;
    memcpy(&x, &bits, 8);
    return x;
}

#define O_FLOAT(T, s, U, top)                                                                      \
    static inline bool o_sign_##T(T x)                                                             \
    {                                                                                              \
        return o_bits_##T(x) >> top;                                                               \
    }                                                                                              \
    static inline bool o_isnan_##T(T x)                                                            \
    {                                                                                              \
        return x != x;                                                                             \
    }                                                                                              \
    static inline bool o_isinf_##T(T x)                                                            \
    {                                                                                              \
        return o_bits_##T(x) << 1 == o_bits_##T(INFINITY) << 1;                                    \
    }                                                                                              \
    static inline bool o_isfinite_##T(T x)                                                         \
    {                                                                                              \
        return x - x == 0;                                                                         \
    }                                                                                              \
    static inline T o_min_##T(T a, T b)                                                            \
    {                                                                                              \
        if (a != a || b != b)                                                                      \
            return a != a ? b : a;                                                                 \
        return a == b ? (o_sign_##T(a) ? a : b) : a < b ? a : b;                                   \
    }                                                                                              \
    static inline T o_max_##T(T a, T b)                                                            \
    {                                                                                              \
        if (a != a || b != b)                                                                      \
            return a != a ? b : a;                                                                 \
        return a == b ? (o_sign_##T(a) ? b : a) : a < b ? b : a;                                   \
    }                                                                                              \
    static inline T o_abs_##T(T x)                                                                 \
    {                                                                                              \
        return o_##T##_from_bits((U)(o_bits_##T(x) << 1) >> 1);                                    \
    }                                                                                              \
    static inline T o_copysign_##T(T x, T from)                                                    \
    {                                                                                              \
        T size = o_abs_##T(x);                                                                     \
        return o_sign_##T(from) ? -size : size;                                                    \
    }                                                                                              \
    static inline T o_fma_##T(T a, T b, T c)                                                       \
    {                                                                                              \
        return fma##s(a, b, c);                                                                    \
    }                                                                                              \
    static inline T o_sqrt_##T(T a)                                                                \
    {                                                                                              \
        return sqrt##s(a);                                                                         \
    }                                                                                              \
    static inline T o_floor_##T(T a)                                                               \
    {                                                                                              \
        return floor##s(a);                                                                        \
    }                                                                                              \
    static inline T o_ceil_##T(T a)                                                                \
    {                                                                                              \
        return ceil##s(a);                                                                         \
    }                                                                                              \
    static inline T o_trunc_##T(T a)                                                               \
    {                                                                                              \
        return trunc##s(a);                                                                        \
    }                                                                                              \
    static inline T o_rint_##T(T a)                                                                \
    {                                                                                              \
        return rint##s(a);                                                                         \
    }                                                                                              \
    static inline T o_round_##T(T a)                                                               \
    {                                                                                              \
        return round##s(a);                                                                        \
    }                                                                                              \
    static inline T o_fmod_##T(T a, T b)                                                           \
    {                                                                                              \
        return fmod##s(a, b);                                                                      \
    }                                                                                              \
    static inline T o_remainder_##T(T a, T b)                                                      \
    {                                                                                              \
        return remainder##s(a, b);                                                                 \
    }
O_FLOAT(f32, f, u32, 31)
O_FLOAT(f64, , u64, 63)

#define O_CLAMP(T)                                                                                 \
    static inline T o_clamp_##T(T x, T low, T high)                                                \
    {                                                                                              \
        return o_min_##T(o_max_##T(x, low), high);                                                 \
    }
O_NUMS(O_CLAMP)

// A float becomes an integer: cut off, saturated; a NaN gives 0.
#define O_SATURATE(T, low, high, first_above)                                                      \
    static inline T o_to_##T(f64 x)                                                                \
    {                                                                                              \
        if (x != x)                                                                                \
            return 0;                                                                              \
        return x <= (f64)(low) ? low : x >= (first_above) ? high : (T)x;                           \
    }
O_SATURATE(i8, INT8_MIN, INT8_MAX, 0x1p7)
O_SATURATE(u8, 0, UINT8_MAX, 0x1p8)
O_SATURATE(i16, INT16_MIN, INT16_MAX, 0x1p15)
O_SATURATE(u16, 0, UINT16_MAX, 0x1p16)
O_SATURATE(i32, INT32_MIN, INT32_MAX, 0x1p31)
O_SATURATE(u32, 0, UINT32_MAX, 0x1p32)
O_SATURATE(i64, INT64_MIN, INT64_MAX, 0x1p63)
O_SATURATE(u64, 0, UINT64_MAX, 0x1p64)

// --- shuffles: `from` is a lane of the warp, or none
static u32 o_index[O_MAX];
#define O_SHUFFLE_FROM(name, source)                                                               \
    static inline i64 o_from_##name(i64 lane, i64 n, i64 width)                                    \
    {                                                                                              \
        i64 base = lane / width * width, own = lane - base;                                        \
        (void)base, (void)own, (void)n;                                                            \
        return source;                                                                             \
    }
O_SHUFFLE_FROM(shuffle, base + n % width)
O_SHUFFLE_FROM(shuffle_up, own - n < 0 ? -1 : lane - n)
O_SHUFFLE_FROM(shuffle_down, own + n >= width ? -1 : lane + n)
O_SHUFFLE_FROM(shuffle_xor, (own ^ n) >= width ? -1 : base + (own ^ n))

#define O_SHUFFLE(name, T)                                                                         \
    static inline void o_##name##_##T(const T *in, T *out, int width, int first, int end)          \
    {                                                                                              \
        for (int i = first; i < end; i++) {                                                        \
            i64 lane = o_from_##name(i % 32, o_index[i], width), from = i / 32 * 32 + lane;        \
            out[i] = lane < 0 || lane > 31 || from >= end ? in[i] : in[from];                      \
        }                                                                                          \
    }
#define O_EXCHANGE(T)                                                                              \
    static T o_in_##T[O_MAX], o_out_##T[O_MAX];                                                    \
    O_SHUFFLE(shuffle, T)                                                                          \
    O_SHUFFLE(shuffle_up, T)                                                                       \
    O_SHUFFLE(shuffle_down, T)                                                                     \
    O_SHUFFLE(shuffle_xor, T)
O_TYPES(O_EXCHANGE)

// --- votes
static inline u32 o_ballot(const bool *in, int warp, int end)
{
    u32 bits = 0;
    for (int i = warp; i < warp + 32 && i < end; i++)
        bits |= (u32)in[i] << (i - warp);
    return bits;
}
static inline void o_warp_ballot(const bool *in, u32 *out, int first, int end)
{
    for (int i = first; i < end; i++)
        out[i] = o_ballot(in, i / 32 * 32, end);
}
static inline void o_warp_any(const bool *in, bool *out, int first, int end)
{
    for (int i = first; i < end; i++)
        out[i] = o_ballot(in, i / 32 * 32, end) != 0;
}
static inline void o_warp_all(const bool *in, bool *out, int first, int end)
{
    for (int i = first; i < end; i++) {
        int lanes = end - i / 32 * 32 > 32 ? 32 : end - i / 32 * 32;
        out[i] = o_popcount_u32(o_ballot(in, i / 32 * 32, end)) == (u32)lanes;
    }
}
static inline void o_block_count(const bool *in, u32 *out, int first, int end)
{
    u32 n = 0;
    for (int i = first; i < end; i++)
        n += in[i];
    for (int i = first; i < end; i++)
        out[i] = n;
}
static inline void o_block_any(const bool *in, bool *out, int first, int end)
{
    o_block_count(in, o_index, first, end);
    for (int i = first; i < end; i++)
        out[i] = o_index[i] != 0;
}
static inline void o_block_all(const bool *in, bool *out, int first, int end)
{
    o_block_count(in, o_index, first, end);
    for (int i = first; i < end; i++)
        out[i] = o_index[i] == (u32)(end - first);
}
#define O_MATCH(T)                                                                                 \
    static inline void o_warp_match_##T(const T *in, u32 *out, int first, int end)                 \
    {                                                                                              \
        for (int i = first; i < end; i++) {                                                        \
            out[i] = 0;                                                                            \
            for (int j = i / 32 * 32; j < i / 32 * 32 + 32 && j < end; j++)                        \
                out[i] |= (u32)(in[j] == in[i]) << (j % 32);                                       \
        }                                                                                          \
    }
O_WIDE(O_MATCH)

// --- reductions: a tree over the bits 1, 2, 4 … of the index; what does not exist has no part
#define O_REDUCE(name, T, combined)                                                                \
    static inline T o_tree_##name##_##T(const T *in, int count)                                    \
    {                                                                                              \
        T part[O_MAX];                                                                             \
        memcpy(part, in, (size_t)count * sizeof *in);                                              \
        for (int step = 1; step < count; step *= 2)                                                \
            for (int i = 0; i + step < count; i += 2 * step) {                                     \
                T a = part[i], b = part[i + step];                                                 \
                part[i] = combined;                                                                \
            }                                                                                      \
        return part[0];                                                                            \
    }                                                                                              \
    static inline void o_warp_##name##_##T(const T *in, T *out, int first, int end)                \
    {                                                                                              \
        for (int w = first; w < end; w += 32) {                                                    \
            int n = end - w > 32 ? 32 : end - w;                                                   \
            T all = o_tree_##name##_##T(in + w, n);                                                \
            for (int i = 0; i < n; i++)                                                            \
                out[w + i] = all;                                                                  \
        }                                                                                          \
    }                                                                                              \
    static inline void o_block_##name##_##T(const T *in, T *out, int first, int end)               \
    {                                                                                              \
        T warps[32];                                                                               \
        int count = 0;                                                                             \
        for (int w = first; w < end; w += 32)                                                      \
            warps[count++] = o_tree_##name##_##T(in + w, end - w > 32 ? 32 : end - w);             \
        T all = o_tree_##name##_##T(warps, count);                                                 \
        for (int i = first; i < end; i++)                                                          \
            out[i] = all;                                                                          \
    }
// Scans go up one by one: the generator gives them integers, or floats whose sums are exact.
#define O_SCAN(name, T, combined)                                                                  \
    static inline void o_warp_scan_##name##_##T(const T *in, T *out, int first, int end)           \
    {                                                                                              \
        for (int i = first; i < end; i++) {                                                        \
            T a = i % 32 ? out[i - 1] : in[i], b = in[i];                                          \
            out[i] = i % 32 ? combined : b;                                                        \
        }                                                                                          \
    }                                                                                              \
    static inline void o_block_scan_##name##_##T(const T *in, T *out, int first, int end)          \
    {                                                                                              \
        for (int i = first; i < end; i++) {                                                        \
            T a = i > first ? out[i - 1] : in[i], b = in[i];                                       \
            out[i] = i > first ? combined : b;                                                     \
        }                                                                                          \
    }
#define O_SCAN_BEFORE(T)                                                                           \
    static inline void o_warp_scan_sum_before_##T(const T *in, T *out, int first, int end)         \
    {                                                                                              \
        for (int i = first; i < end; i++)                                                          \
            out[i] = i % 32 ? (T)(out[i - 1] + in[i - 1]) : 0;                                     \
    }                                                                                              \
    static inline void o_block_scan_sum_before_##T(const T *in, T *out, int first, int end)        \
    {                                                                                              \
        for (int i = first; i < end; i++)                                                          \
            out[i] = i > first ? (T)(out[i - 1] + in[i - 1]) : 0;                                  \
    }
#define O_GROUP(T)                                                                                 \
    O_REDUCE(sum, T, (T)(a + b))                                                                   \
    O_REDUCE(min, T, o_min_##T(a, b))                                                              \
    O_REDUCE(max, T, o_max_##T(a, b))                                                              \
    O_SCAN(sum, T, (T)(a + b))                                                                     \
    O_SCAN(min, T, o_min_##T(a, b))                                                                \
    O_SCAN(max, T, o_max_##T(a, b))                                                                \
    O_SCAN_BEFORE(T)
O_NUMS(O_GROUP)
#define O_GROUP_BITS(T)                                                                            \
    O_REDUCE(and, T, a &b)                                                                         \
    O_REDUCE(or, T, a | b)                                                                         \
    O_REDUCE(xor, T, a ^ b)
O_GROUP_BITS(u32)
O_GROUP_BITS(u64)
