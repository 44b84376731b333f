// What C leaves open and Kiln fixes, for tests that compare the two: Kiln sees the plain operator,
// the host's compiler Kiln's rule spelled out.
#ifndef KILN_TEST_OPEN_H
#define KILN_TEST_OPEN_H

#ifdef __KILN__
#    pragma kiln shifts(wrap)
#    define DIV(T, x, y) ((x) / (y)) // T: the type of the result
#    define REM(T, x, y) ((x) % (y))
#    define SHL(T, x, n) ((x) << (n))
#    define SHR(T, x, n) ((x) >> (n))
#    define TO(T, x)     ((T)(x)) // from a float
#else
#    define OPEN_INT(T, is_signed)                                                                 \
        static inline T open_div_##T(T x, T y)                                                     \
        {                                                                                          \
            return y == 0 ? 0 : is_signed && y == (T)-1 ? (T)(0 - (u64)x) : (T)(x / y);            \
        }                                                                                          \
        static inline T open_rem_##T(T x, T y)                                                     \
        {                                                                                          \
            return y == 0 ? x : is_signed && y == (T)-1 ? 0 : (T)(x % y);                          \
        }                                                                                          \
        static inline T open_shl_##T(T x, u64 n)                                                   \
        {                                                                                          \
            return (T)(x << (n & (8 * sizeof(T) - 1)));                                            \
        }                                                                                          \
        static inline T open_shr_##T(T x, u64 n)                                                   \
        {                                                                                          \
            return (T)(x >> (n & (8 * sizeof(T) - 1)));                                            \
        }
#    define OPEN_TO(T, low, high, largest)                                                         \
        static inline T open_to_##T(f64 x)                                                         \
        {                                                                                          \
            return x != x ? 0 : x <= low ? (T)low : x >= high ? largest : (T)x;                    \
        }
OPEN_INT(i32, true)
OPEN_INT(u32, false)
OPEN_INT(i64, true)
OPEN_INT(u64, false)
OPEN_TO(i8, -0x1p7, 0x1p7, INT8_MAX)
OPEN_TO(u8, 0.0, 0x1p8, UINT8_MAX)
OPEN_TO(i16, -0x1p15, 0x1p15, INT16_MAX)
OPEN_TO(u16, 0.0, 0x1p16, UINT16_MAX)
OPEN_TO(i32, -0x1p31, 0x1p31, INT32_MAX)
OPEN_TO(u32, 0.0, 0x1p32, UINT32_MAX)
OPEN_TO(i64, -0x1p63, 0x1p63, INT64_MAX)
OPEN_TO(u64, 0.0, 0x1p64, UINT64_MAX)
#    define DIV(T, x, y) open_div_##T(x, y)
#    define REM(T, x, y) open_rem_##T(x, y)
#    define SHL(T, x, n) open_shl_##T(x, (u64)(n))
#    define SHR(T, x, n) open_shr_##T(x, (u64)(n))
#    define TO(T, x)     open_to_##T((f64)(x))
#endif

#endif
