// Every operation on integers, of 32 and 64 bits.
#include <kiln/kernel.h>

#define SIGNED(T, U)                                                                               \
    kernel block(32) void signed_##T(const T *a, const T *b, T *out)                               \
    {                                                                                              \
        T x = a[thread_x()], y = b[thread_x()];                                                    \
        out[0] = x + y;                                                                            \
        out[1] = x - y;                                                                            \
        out[2] = x * y;                                                                            \
        out[3] = mul_high(x, y);                                                                   \
        out[4] = x / y;                                                                            \
        out[5] = x % y;                                                                            \
        out[6] = x >> (y & 31);                                                                    \
        out[7] = min(x, y);                                                                        \
        out[8] = max(x, y);                                                                        \
        out[9] = abs(x);                                                                           \
        out[10] = x < y;                                                                           \
        out[11] = x <= y;                                                                          \
        out[12] = x < y ? x + 1 : y - 1;                                                           \
    }                                                                                              \
    kernel block(32) void unsigned_##U(const U *a, const U *b, U *out, U k)                        \
    {                                                                                              \
        U x = a[thread_x()], y = b[thread_x()];                                                    \
        out[0] = mul_high(x, y);                                                                   \
        out[1] = x / y;                                                                            \
        out[2] = x % y;                                                                            \
        out[3] = x & y;                                                                            \
        out[4] = x | y;                                                                            \
        out[5] = x ^ y;                                                                            \
        out[6] = ~x;                                                                               \
        out[7] = x << (y & 31);                                                                    \
        out[8] = x >> (y & 31);                                                                    \
        out[9] = min(x, y);                                                                        \
        out[10] = max(x, y);                                                                       \
        out[11] = (U)popcount(x);                                                                  \
        out[12] = (U)leading_zeros(x);                                                             \
        out[13] = (U)trailing_zeros(x);                                                            \
        out[14] = reverse_bits(x);                                                                 \
        out[15] = rotate_left(x, (u32)(y & 31));                                                   \
        out[16] = x < y;                                                                           \
        out[17] = x <= y;                                                                          \
        out[18] = x == y;                                                                          \
        out[19] = x != y;                                                                          \
        out[20] = x / 7 + x % 10;                                                                  \
        out[21] = k / 12 + x / 8 + x % 64;                                                         \
    }
SIGNED(i32, u32)
SIGNED(i64, u64)

kernel block(32) void bytes(const u32 *a, const u32 *b, u32 *out)
{
    u32 x = a[thread_x()], y = b[thread_x()];
    out[0] = permute_bytes(x, y, 0x3254u);
    out[1] = (u32)dot4_i8((i32)x, (i32)y, 5);
    out[2] = dot4_u8(x, y, 6u);
}
