// What the kernels of sort and top-k share: elements as unsigned keys in the order in which they are sorted, where a row
// lies, a sort in shared memory.
//
// The order of floats is that of their numbers, -0 before +0, all NaNs after everything else; with DESCENDING the reverse.
// Equal keys keep the order of their places.
#include <kiln/pack.h>

tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
#ifndef T
#    define T     f32
#    define KEY   u32
#    define INDEX i64
#    define VALUE u32
#    define FIRST
#    define LAST
#    define TO_OUT
#    define TO_INDEX
#endif
#ifdef LONG
#    define NEST_LONG 1
#else
#    define NEST_LONG 0
#endif
#define NEST_RANK RANK
#include <kiln/nest.h>

// clang-format off
// A key in registers.
#define WIDE_u8    u32
#define WIDE_u16   u32
#define WIDE_u32   u32
#define WIDE_u64   u64
typedef PACK_JOIN(WIDE_, KEY) wide;
enum { KEY_BITS = 8 * sizeof(KEY) };
#define ALL        ((wide)(KEY)~(wide)0)
#define SIGN       ((wide)1 << (KEY_BITS - 1))

#define BITS__Bool(x) ((wide)(x))
#define BITS_u8(x)    ((wide)(x))
#define BITS_u16(x)   ((wide)(x))
#define BITS_u32(x)   ((wide)(x))
#define BITS_u64(x)   ((wide)(x))
#define BITS_i8(x)    ((wide)(u8)(x) ^ SIGN)
#define BITS_i16(x)   ((wide)(u16)(x) ^ SIGN)
#define BITS_i32(x)   ((wide)(u32)(x) ^ SIGN)
#define BITS_i64(x)   ((wide)(u64)(x) ^ SIGN)
#define BITS_f16(x)   float_key((wide)bits_f16(x), (wide)0x7c00)
#define BITS_bf16(x)  float_key((wide)bits_bf16(x), (wide)0x7f80)
#define BITS_f32(x)   float_key((wide)bits_f32(x), (wide)0x7f800000)
#define BITS_f64(x)   float_key((wide)bits_f64(x), (wide)0x7ff0000000000000)

#define FROM__Bool(k) ((k) != 0)
#define FROM_u8(k)    ((u8)(k))
#define FROM_u16(k)   ((u16)(k))
#define FROM_u32(k)   ((u32)(k))
#define FROM_u64(k)   ((u64)(k))
#define FROM_i8(k)    ((i8)(u8)((k) ^ SIGN))
#define FROM_i16(k)   ((i16)(u16)((k) ^ SIGN))
#define FROM_i32(k)   ((i32)(u32)((k) ^ SIGN))
#define FROM_i64(k)   ((i64)(u64)((k) ^ SIGN))
#define FROM_f16(k)   f16_from_bits((u16)key_float(k))
#define FROM_bf16(k)  bf16_from_bits((u16)key_float(k))
#define FROM_f32(k)   f32_from_bits((u32)key_float(k))
#define FROM_f64(k)   f64_from_bits((u64)key_float(k))
// clang-format on

static inline wide float_key(wide bits, wide infinity)
{
    wide key = (bits & SIGN) != 0 ? bits ^ ALL : bits ^ SIGN;
    return (bits & ~SIGN) > infinity ? ALL : key;
}

static inline wide key_float(wide key)
{
    return (key & SIGN) != 0 ? key ^ SIGN : key ^ ALL;
}

static inline wide key_of(T x)
{
#ifdef DESCENDING
    return PACK_JOIN(BITS_, T)(x) ^ ALL;
#else
    return PACK_JOIN(BITS_, T)(x);
#endif
}

static inline T element_of(wide key)
{
#ifdef DESCENDING
    key ^= ALL;
#endif
    return PACK_JOIN(FROM_, T)(key);
}

enum { AT_OUT, AT_INDEX, AT_VALUE, AT_TO_VALUE, AT_X }; // views of the loops over rows

struct row { // elements along the axis
    u64 count, results; // of a row; of those, that are wanted
    i64 x_step, out_step, index_step, value_step, to_value_step; // between two of them
};

struct results { // where a row's results go
    i64 x, out, index, value, to_value;
};

static inline struct results find_row(const struct nest *n, u64 row)
{
    u64 index[8];
    nest_find(n, RANK, row, index);
    return (struct results){nest_place(n, RANK, index, AT_X), nest_place(n, RANK, index, AT_OUT), nest_place(n, RANK, index, AT_INDEX),
                            nest_place(n, RANK, index, AT_VALUE), nest_place(n, RANK, index, AT_TO_VALUE)};
}

// Result `at` of a row is the element with that key and place. There may be more than are wanted.
static inline void store(const struct results *to, const struct row *r, u64 at, wide key, u32 place, T *out, INDEX *index,
                         const VALUE *value, VALUE *to_value)
{
    if (at >= r->results)
        return;
#ifdef TO_OUT
    out[to->out + (i64)at * r->out_step] = element_of(key);
#endif
#ifdef TO_INDEX
    index[to->index + (i64)at * r->index_step] = (INDEX)place;
#endif
#ifdef TO_VALUE
    to_value[to->to_value + (i64)at * r->to_value_step] = value[to->value + (i64)place * r->value_step];
#endif
}

#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

// Sorts rows of `length` keys, a power of two, `all` keys together, by key and place: a bitonic network in shared memory. All
// threads of the block come with everything written, and leave with everything sorted.
static inline void sort_shared(wide *keys, u32 *places, u32 length, u32 all, u32 threads)
{
    for (u32 size = 2; size <= length; size *= 2)
        for (u32 stride = size / 2; stride > 0; stride /= 2) {
            barrier();
            for (u32 pair = thread_x(); pair < all / 2; pair += threads) {
                u32 low = 2 * pair - (pair & (stride - 1)), high = low + stride;
                wide a = keys[low], b = keys[high];
                u32 at_a = places[low], at_b = places[high];
                bool is_up = (low & (length - 1) & size) == 0, is_after = a > b || (a == b && at_a > at_b);
                if (is_up == is_after) {
                    keys[low] = b;
                    keys[high] = a;
                    places[low] = at_b;
                    places[high] = at_a;
                }
            }
        }
    barrier();
}
