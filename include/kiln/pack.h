// kiln/pack.h: neighbouring elements as a pack, moved with one access and computed with as numbers.
//
// PACK(T, n) at file scope makes pack_load and pack_store for packs of n elements of T, n a power
// of two and a pack at most 16 bytes. Packs start at multiples of their size. The numbers are of
// type pack_number(T): f32 for the narrow floats, 32 bits for narrow integers, T for the others.
//
//     PACK(bf16, 8)
//     …
//     pack_number(bf16) v[8];
//     pack_load(bf16, 8, v, x, i);         // v = x[8 * i] …
//     pack_store(bf16, 8, out, i, v);
//
// pack_load is pack_fetch, an access, and pack_open, the numbers of what it brought: who needs
// several packs fetches all of them before it opens the first.
//
//     pack_raw(bf16, 8) raw[4];
//     …
//     raw[k] = pack_fetch(bf16, 8, x, i);
//     pack_open(bf16, 8, v, raw[k]);
//
// pack_round(bf16, 8, v) makes of numbers what they would be as elements; not for small integers.
//
// T and n may be macros. pack_get(T, p) is the number of one element, pack_put(T, v) the element,
// pack_convert(T, x) the number that any x becomes in an element: of bool 1 for all but 0.
// pack_lowest(T) and pack_highest(T) are what no element is beyond.
#ifndef KILN_PACK_H
#define KILN_PACK_H

#include <kiln/kernel.h>
#include <kiln/overlap.h>

// clang-format off
#define pack_number(T)                   PACK_JOIN(PACK_NUMBER_, T)
#define pack_convert(T, number)          PACK_JOIN(PACK_CONVERT_, T)(number)
#define pack_get(T, element)             PACK_JOIN(PACK_GET_, T)(element)
#define pack_put(T, number)              PACK_JOIN(PACK_PUT_, T)(number)
#define pack_raw(T, n)                   PACK_NAME(pack_raw, T, n)
#define pack_fetch(T, n, from, i)        PACK_NAME(pack_fetch, T, n)(from, i)
#define pack_open(T, n, to, raw)         PACK_NAME(pack_open, T, n)(to, raw)
#define pack_load(T, n, to, from, i)     PACK_NAME(pack_load, T, n)(to, from, i)
#define pack_store(T, n, to, i, from)    PACK_NAME(pack_store, T, n)(to, i, from)
#define pack_round(T, n, numbers)        PACK_NAME(pack_round, T, n)(numbers)
#define pack_lowest(T)                   PACK_JOIN(PACK_LOWEST_, T)
#define pack_highest(T)                  PACK_JOIN(PACK_HIGHEST_, T)
#define PACK(T, n)                       PACK_JOIN(PACK_OF_, T)(T, n)

#define PACK_JOIN(a, b)    PACK_JOIN_(a, b)
#define PACK_JOIN_(a, b)   a##b
#define PACK_NAME(f, T, n) PACK_NAME_(f, T, n)
#define PACK_NAME_(f, T, n) f##_##T##_##n

// bool is a macro for _Bool by now.
#define PACK_NUMBER__Bool u32
#define PACK_NUMBER_i8   i32
#define PACK_NUMBER_u8   u32
#define PACK_NUMBER_i16  i32
#define PACK_NUMBER_u16  u32
#define PACK_NUMBER_i32  i32
#define PACK_NUMBER_u32  u32
#define PACK_NUMBER_i64  i64
#define PACK_NUMBER_u64  u64
#define PACK_NUMBER_f16  f32
#define PACK_NUMBER_bf16 f32
#define PACK_NUMBER_f8e4 f32
#define PACK_NUMBER_f8e5 f32
#define PACK_NUMBER_f32  f32
#define PACK_NUMBER_f64  f64

#define PACK_CONVERT__Bool(x) ((u32)((x) != 0))
#define PACK_CONVERT_i8(x)   ((i32)(x))
#define PACK_CONVERT_u8(x)   ((u32)(x))
#define PACK_CONVERT_i16(x)  ((i32)(x))
#define PACK_CONVERT_u16(x)  ((u32)(x))
#define PACK_CONVERT_i32(x)  ((i32)(x))
#define PACK_CONVERT_u32(x)  ((u32)(x))
#define PACK_CONVERT_i64(x)  ((i64)(x))
#define PACK_CONVERT_u64(x)  ((u64)(x))
#define PACK_CONVERT_f16(x)  ((f32)(x))
#define PACK_CONVERT_bf16(x) ((f32)(x))
#define PACK_CONVERT_f8e4(x) ((f32)(x))
#define PACK_CONVERT_f8e5(x) ((f32)(x))
#define PACK_CONVERT_f32(x)  ((f32)(x))
#define PACK_CONVERT_f64(x)  ((f64)(x))

#define PACK_GET__Bool(x) ((u32)(x))
#define PACK_GET_i8(x)   ((i32)(x))
#define PACK_GET_u8(x)   ((u32)(x))
#define PACK_GET_i16(x)  ((i32)(x))
#define PACK_GET_u16(x)  ((u32)(x))
#define PACK_GET_i32(x)  (x)
#define PACK_GET_u32(x)  (x)
#define PACK_GET_i64(x)  (x)
#define PACK_GET_u64(x)  (x)
#define PACK_GET_f16(x)  f32(x)
#define PACK_GET_bf16(x) f32(x)
#define PACK_GET_f8e4(x) f32(x)
#define PACK_GET_f8e5(x) f32(x)
#define PACK_GET_f32(x)  (x)
#define PACK_GET_f64(x)  (x)

#define PACK_PUT__Bool(x) ((x) != 0)
#define PACK_PUT_i8(x)   ((i8)(x))
#define PACK_PUT_u8(x)   ((u8)(x))
#define PACK_PUT_i16(x)  ((i16)(x))
#define PACK_PUT_u16(x)  ((u16)(x))
#define PACK_PUT_i32(x)  ((i32)(x))
#define PACK_PUT_u32(x)  ((u32)(x))
#define PACK_PUT_i64(x)  ((i64)(x))
#define PACK_PUT_u64(x)  ((u64)(x))
#define PACK_PUT_f16(x)  to_f16((f32)(x))
#define PACK_PUT_bf16(x) to_bf16((f32)(x))
#define PACK_PUT_f8e4(x) to_f8e4((f32)(x))
#define PACK_PUT_f8e5(x) to_f8e5((f32)(x))
#define PACK_PUT_f32(x)  ((f32)(x))
#define PACK_PUT_f64(x)  ((f64)(x))

#define PACK_LOWEST_f32     (-INFINITY)
#define PACK_LOWEST_f64     (-(f64)INFINITY)
#define PACK_LOWEST_f16     (-INFINITY)
#define PACK_LOWEST_bf16    (-INFINITY)
#define PACK_LOWEST_f8e4    (-INFINITY)
#define PACK_LOWEST_f8e5    (-INFINITY)
#define PACK_LOWEST__Bool   0
#define PACK_LOWEST_i8      (-128)
#define PACK_LOWEST_u8      0
#define PACK_LOWEST_i16     (-32768)
#define PACK_LOWEST_u16     0
#define PACK_LOWEST_i32     (-2147483647 - 1)
#define PACK_LOWEST_u32     0u
#define PACK_LOWEST_i64     (-9223372036854775807 - 1)
#define PACK_LOWEST_u64     0ul
#define PACK_HIGHEST_f32    INFINITY
#define PACK_HIGHEST_f64    ((f64)INFINITY)
#define PACK_HIGHEST_f16    INFINITY
#define PACK_HIGHEST_bf16   INFINITY
#define PACK_HIGHEST_f8e4   INFINITY
#define PACK_HIGHEST_f8e5   INFINITY
#define PACK_HIGHEST__Bool  1
#define PACK_HIGHEST_i8     127
#define PACK_HIGHEST_u8     255
#define PACK_HIGHEST_i16    32767
#define PACK_HIGHEST_u16    65535
#define PACK_HIGHEST_i32    2147483647
#define PACK_HIGHEST_u32    4294967295u
#define PACK_HIGHEST_i64    9223372036854775807
#define PACK_HIGHEST_u64    18446744073709551615ul

#define PACK_OF__Bool(T, n) PACK_JOIN(PACK_BYTES_, n)(T)
#define PACK_OF_i8(T, n) PACK_JOIN(PACK_BYTES_, n)(T)
#define PACK_OF_u8(T, n) PACK_JOIN(PACK_BYTES_, n)(T)
#define PACK_OF_i16(T, n)  PACK_JOIN(PACK_SHORTS_, n)(T)
#define PACK_OF_u16(T, n)  PACK_JOIN(PACK_SHORTS_, n)(T)
#define PACK_OF_i32(T, n)  PACK_PLAIN(T, n)
#define PACK_OF_u32(T, n)  PACK_PLAIN(T, n)
#define PACK_OF_i64(T, n)  PACK_PLAIN(T, n)
#define PACK_OF_u64(T, n)  PACK_PLAIN(T, n)
#define PACK_OF_f8e4(T, n) PACK_JOIN(PACK_BYTES_, n)(T)
#define PACK_OF_f8e5(T, n) PACK_JOIN(PACK_BYTES_, n)(T)
#define PACK_OF_f32(T, n)  PACK_PLAIN(T, n)
#define PACK_OF_f64(T, n)  PACK_PLAIN(T, n)
#define PACK_OF_f16(T, n)  PACK_JOIN(PACK_HALVES_, n)(T, pack_f16)
#define PACK_OF_bf16(T, n) PACK_JOIN(PACK_HALVES_, n)(T, pack_bf16)

#define PACK_FETCH(T, n)                                                                           \
    static inline pack_raw_##T##_##n pack_fetch_##T##_##n(const T *from, u64 i)                    \
    {                                                                                              \
        return ((const pack_raw_##T##_##n *)from)[i];                                              \
    }

#define PACK_PLAIN(T, n) PACK_PLAIN_(T, n)
#define PACK_PLAIN_(T, n)                                                                          \
    typedef struct pack_##T##_##n {                                                                \
        _Alignas((n) * sizeof(T)) T e[n];                                                          \
    } pack_##T##_##n;                                                                              \
    typedef pack_##T##_##n pack_raw_##T##_##n;                                                     \
    PACK_FETCH(T, n)                                                                               \
    static inline void pack_open_##T##_##n(PACK_NUMBER_##T *to, pack_raw_##T##_##n p)              \
    {                                                                                              \
        _Pragma("unroll") for (u32 k = 0; k < (n); k++)                                            \
            to[k] = PACK_GET_##T(p.e[k]);                                                          \
    }                                                                                              \
    static inline void pack_load_##T##_##n(PACK_NUMBER_##T *to, const T *from, u64 i)              \
    {                                                                                              \
        pack_open_##T##_##n(to, pack_fetch_##T##_##n(from, i));                                    \
    }                                                                                              \
    static inline void pack_store_##T##_##n(T *to, u64 i, const PACK_NUMBER_##T *from)             \
    {                                                                                              \
        pack_##T##_##n p;                                                                          \
        _Pragma("unroll") for (u32 k = 0; k < (n); k++)                                                                            \
            p.e[k] = PACK_PUT_##T(from[k]);                                                        \
        ((pack_##T##_##n *)to)[i] = p;                                                             \
    }                                                                                              \
    static inline void pack_round_##T##_##n(PACK_NUMBER_##T *v)                                    \
    {                                                                                              \
        _Pragma("unroll") for (u32 k = 0; k < (n); k++)                                            \
            v[k] = PACK_GET_##T(PACK_PUT_##T(v[k]));                                               \
    }

// Bytes and 16-bit integers travel as words, too, but on the cpu device: there the C compiler makes
// vectors of the plain loops.
#define PACK_BYTES_1(T)  PACK_PLAIN(T, 1)
#define PACK_BYTES_2(T)  PACK_PLAIN(T, 2)
#define PACK_BYTES_4(T)  PACK_SMALL(T, 4, 4)
#define PACK_BYTES_8(T)  PACK_SMALL(T, 8, 4)
#define PACK_BYTES_16(T) PACK_SMALL(T, 16, 4)
#define PACK_SHORTS_1(T) PACK_PLAIN(T, 1)
#define PACK_SHORTS_2(T) PACK_SMALL(T, 2, 2)
#define PACK_SHORTS_4(T) PACK_SMALL(T, 4, 2)
#define PACK_SHORTS_8(T) PACK_SMALL(T, 8, 2)

// The number in the low bits of a word, and the bits of a number.
#define PACK_FROM__Bool(w) ((u32)(((w) & 255u) != 0))
#define PACK_FROM_i8(w)    ((i32)(i8)(u8)(w))
#define PACK_FROM_u8(w)    ((w) & 255u)
#define PACK_FROM_i16(w)   ((i32)(i16)(u16)(w))
#define PACK_FROM_u16(w)   ((w) & 65535u)
#define PACK_FROM_f8e4(w)  f32(f8e4_from_bits((u8)(w)))
#define PACK_FROM_f8e5(w)  f32(f8e5_from_bits((u8)(w)))
#define PACK_BITS__Bool(x) ((u32)((x) != 0))
#define PACK_BITS_i8(x)    ((u32)(u8)(i8)(x))
#define PACK_BITS_u8(x)    ((u32)(u8)(x))
#define PACK_BITS_i16(x)   ((u32)(u16)(i16)(x))
#define PACK_BITS_u16(x)   ((u32)(u16)(x))
#define PACK_BITS_f8e4(x)  ((u32)bits_f8e4(to_f8e4((f32)(x))))
#define PACK_BITS_f8e5(x)  ((u32)bits_f8e5(to_f8e5((f32)(x))))

#ifdef __KILN_TARGET_CPU__
#define PACK_SMALL_RAW(T, n)   pack_##T##_##n
#define PACK_SMALL_GET(T, per) PACK_GET_##T(p.e[k])
#else
#define PACK_SMALL_RAW(T, n)   pack_words_##T##_##n
#define PACK_SMALL_GET(T, per) PACK_FROM_##T(p.e[k / per] >> k % per * (32 / per))
#endif
#define PACK_SMALL(T, n, per) PACK_SMALL_(T, n, per)
#define PACK_SMALL_(T, n, per)                                                                     \
    typedef struct pack_##T##_##n {                                                                \
        _Alignas((n) * sizeof(T)) T e[n];                                                          \
    } pack_##T##_##n;                                                                              \
    typedef struct pack_words_##T##_##n {                                                          \
        _Alignas((n) * sizeof(T)) u32 e[(n) / per];                                                \
    } pack_words_##T##_##n;                                                                        \
    typedef PACK_SMALL_RAW(T, n) pack_raw_##T##_##n;                                               \
    PACK_FETCH(T, n)                                                                               \
    static inline void pack_open_##T##_##n(PACK_NUMBER_##T *to, pack_raw_##T##_##n p)              \
    {                                                                                              \
        _Pragma("unroll") for (u32 k = 0; k < (n); k++)                                            \
            to[k] = PACK_SMALL_GET(T, per);                                                        \
    }                                                                                              \
    static inline void pack_load_##T##_##n(PACK_NUMBER_##T *to, const T *from, u64 i)              \
    {                                                                                              \
        pack_open_##T##_##n(to, pack_fetch_##T##_##n(from, i));                                    \
    }                                                                                              \
    static inline void pack_store_##T##_##n(T *to, u64 i, const PACK_NUMBER_##T *from)             \
    {                                                                                              \
        if (target_is_cpu()) {                                                                     \
            pack_##T##_##n p;                                                                      \
            _Pragma("unroll") for (u32 k = 0; k < (n); k++)                                        \
                p.e[k] = PACK_PUT_##T(from[k]);                                                    \
            ((pack_##T##_##n *)to)[i] = p;                                                         \
        } else {                                                                                   \
            pack_words_##T##_##n p;                                                                \
            _Pragma("unroll") for (u32 w = 0; w < (n) / per; w++) {                                \
                p.e[w] = 0;                                                                        \
                _Pragma("unroll") for (u32 k = 0; k < per; k++)                                    \
                    p.e[w] |= PACK_BITS_##T(from[w * per + k]) << k * (32 / per);                  \
            }                                                                                      \
            ((pack_words_##T##_##n *)to)[i] = p;                                                   \
        }                                                                                          \
    }

// Sixteen-bit floats travel as words of two: a pack of eight is one access of 16 bytes.
#define PACK_HALVES_1(T, pair) PACK_PLAIN(T, 1)
#define PACK_HALVES_2(T, pair) PACK_WORDS(T, 2, pair)
#define PACK_HALVES_4(T, pair) PACK_WORDS(T, 4, pair)
#define PACK_HALVES_8(T, pair) PACK_WORDS(T, 8, pair)
#define PACK_WORDS(T, n, pair) PACK_WORDS_(T, n, pair)
// The numbers of a word; those of bf16 are its halves as the upper ones of an f32.
#define PACK_LOW_f16(w)   f32(f16_from_bits((u16)(w)))
#define PACK_HIGH_f16(w)  f32(f16_from_bits((u16)((w) >> 16)))
#define PACK_LOW_bf16(w)  f32_from_bits((w) << 16)
#define PACK_HIGH_bf16(w) f32_from_bits((w) & 0xffff0000u)
#define PACK_WORDS_(T, n, pair)                                                                    \
    typedef struct pack_##T##_##n {                                                                \
        _Alignas(2 * (n)) u32 e[(n) / 2];                                                          \
    } pack_##T##_##n;                                                                              \
    typedef pack_##T##_##n pack_raw_##T##_##n;                                                     \
    PACK_FETCH(T, n)                                                                               \
    static inline void pack_open_##T##_##n(f32 *to, pack_raw_##T##_##n p)                          \
    {                                                                                              \
        _Pragma("unroll") for (u32 k = 0; k < (n); k++)                                            \
            to[k] = k % 2 ? PACK_HIGH_##T(p.e[k / 2]) : PACK_LOW_##T(p.e[k / 2]);                  \
    }                                                                                              \
    static inline void pack_load_##T##_##n(f32 *to, const T *from, u64 i)                          \
    {                                                                                              \
        pack_open_##T##_##n(to, pack_fetch_##T##_##n(from, i));                                    \
    }                                                                                              \
    static inline void pack_store_##T##_##n(T *to, u64 i, const f32 *from)                         \
    {                                                                                              \
        pack_##T##_##n p;                                                                          \
        _Pragma("unroll") for (u32 k = 0; k < (n) / 2; k++)                                                                      \
            p.e[k] = pair(from[2 * k], from[2 * k + 1]);                                           \
        ((pack_##T##_##n *)to)[i] = p;                                                             \
    }                                                                                              \
    static inline void pack_round_##T##_##n(f32 *v)                                                \
    {                                                                                              \
        _Pragma("unroll") for (u32 k = 0; k < (n); k += 2) {                                       \
            u32 w = pair(v[k], v[k + 1]);                                                          \
            v[k] = PACK_LOW_##T(w);                                                                \
            v[k + 1] = PACK_HIGH_##T(w);                                                           \
        }                                                                                          \
    }
// clang-format on

#endif
