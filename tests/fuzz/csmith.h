// What Csmith's programs call, in place of the headers that come with it: arithmetic that is
// defined for all operands, and the checksum. gcc and Kiln read the same text, so the values that a
// division by zero or a shift past the width gets do not matter, as long as C defines them
// (-fwrapv).
#ifndef KILN_FUZZ_CSMITH_H
#define KILN_FUZZ_CSMITH_H

#define CSMITH_ARITHMETIC(T, s, is_wrong)                                                          \
    static inline T safe_unary_minus_func_##T##_##s(T a)                                           \
    {                                                                                              \
        return (T)-a;                                                                              \
    }                                                                                              \
    static inline T safe_add_func_##T##_##s##_##s(T a, T b)                                        \
    {                                                                                              \
        return (T)(a + b);                                                                         \
    }                                                                                              \
    static inline T safe_sub_func_##T##_##s##_##s(T a, T b)                                        \
    {                                                                                              \
        return (T)(a - b);                                                                         \
    }                                                                                              \
    static inline T safe_mul_func_##T##_##s##_##s(T a, T b)                                        \
    {                                                                                              \
        return (T)(a * b);                                                                         \
    }                                                                                              \
    static inline T safe_div_func_##T##_##s##_##s(T a, T b)                                        \
    {                                                                                              \
        return (is_wrong) ? a : (T)(a / b);                                                        \
    }                                                                                              \
    static inline T safe_mod_func_##T##_##s##_##s(T a, T b)                                        \
    {                                                                                              \
        return (is_wrong) ? a : (T)(a % b);                                                        \
    }                                                                                              \
    static inline T safe_lshift_func_##T##_##s##_u(T a, unsigned n)                                \
    {                                                                                              \
        return n >= 8 * sizeof(T) ? a : (T)(a << n);                                               \
    }                                                                                              \
    static inline T safe_rshift_func_##T##_##s##_u(T a, unsigned n)                                \
    {                                                                                              \
        return n >= 8 * sizeof(T) ? a : (T)(a >> n);                                               \
    }                                                                                              \
    static inline T safe_lshift_func_##T##_##s##_s(T a, int n)                                     \
    {                                                                                              \
        return safe_lshift_func_##T##_##s##_u(a, (unsigned)n);                                     \
    }                                                                                              \
    static inline T safe_rshift_func_##T##_##s##_s(T a, int n)                                     \
    {                                                                                              \
        return safe_rshift_func_##T##_##s##_u(a, (unsigned)n);                                     \
    }
CSMITH_ARITHMETIC(int8_t, s, b == 0)
CSMITH_ARITHMETIC(int16_t, s, b == 0)
CSMITH_ARITHMETIC(int32_t, s, b == 0 || b == -1)
CSMITH_ARITHMETIC(int64_t, s, b == 0 || b == -1)
CSMITH_ARITHMETIC(uint8_t, u, b == 0)
CSMITH_ARITHMETIC(uint16_t, u, b == 0)
CSMITH_ARITHMETIC(uint32_t, u, b == 0)
CSMITH_ARITHMETIC(uint64_t, u, b == 0)

#define transparent_crc(value, name, flag)                                                         \
    ((void)(*hash = (*hash ^ (u64)(value)) * 1099511628211ull))

#endif
