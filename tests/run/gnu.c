// GNU's __builtin_ functions, as gcc has them: bits, sums and products that may not fit, what is
// known of types and constants, other names of C's functions.
#include <string.h>

#include <kiln/kernel.h>

//! run bits_of block=64 (i32[64]:edge, i64[64]:edge, i64[64])
kernel void bits_of(const i32 *a, const i64 *b, i64 *out)
{
    u32 i = thread_x();
    i32 x = a[i];
    i64 y = b[i];
    i64 sum = __builtin_ffs(x) + 64 * __builtin_ffsl(y) + 4096 * __builtin_ffsll(y << 7);
    sum = sum * 64 + __builtin_clrsb(x);
    sum = sum * 64 + __builtin_clrsbl(y) - __builtin_clrsbll(~y);
    sum ^= (i64)__builtin_bswap64((u64)y) ^ (i64)__builtin_bswap32((u32)x);
    out[i] = sum + __builtin_popcountll((u64)y) + __builtin_parity((u32)x);
}

#define OVERFLOWS(A, B, R)                                                                         \
    kernel void overflows_##A##_##B##_##R(const A *a, const B *b, R *out, u8 *over)                \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        for (u32 k = 0; k < 64; k++) {                                                             \
            R sum, rest, product;                                                                  \
            u32 bits = __builtin_add_overflow(a[i], b[k], &sum);                                   \
            bits |= (u32)__builtin_sub_overflow(a[i], b[k], &rest) << 1;                           \
            bits |= (u32)__builtin_mul_overflow(a[i], b[k], &product) << 2;                        \
            out[64 * i + k] = (R)(sum ^ (R)(rest * 3) ^ (R)(product * 5));                         \
            over[64 * i + k] = (u8)bits;                                                           \
        }                                                                                          \
    }
OVERFLOWS(i32, i32, i32)
OVERFLOWS(u32, u32, u32)
OVERFLOWS(i64, i64, i64)
OVERFLOWS(u64, u64, u64)
OVERFLOWS(i64, u64, i64)
OVERFLOWS(u64, i64, u64)
OVERFLOWS(i32, u64, i16)
OVERFLOWS(u8, i8, u8)
OVERFLOWS(i16, u16, i8)
OVERFLOWS(u32, i32, u64)
//! run overflows_i32_i32_i32 block=64 (i32[64]:edge, i32[64]:edge, i32[4096], u8[4096])
//! run overflows_u32_u32_u32 block=64 (u32[64]:edge, u32[64]:edge, u32[4096], u8[4096])
//! run overflows_i64_i64_i64 block=64 (i64[64]:edge, i64[64]:edge, i64[4096], u8[4096])
//! run overflows_u64_u64_u64 block=64 (u64[64]:edge, u64[64]:edge, u64[4096], u8[4096])
//! run overflows_i64_u64_i64 block=64 (i64[64]:edge, u64[64]:edge, i64[4096], u8[4096])
//! run overflows_u64_i64_u64 block=64 (u64[64]:edge, i64[64]:edge, u64[4096], u8[4096])
//! run overflows_i32_u64_i16 block=64 (i32[64]:edge, u64[64]:edge, i16[4096], u8[4096])
//! run overflows_u8_i8_u8 block=64 (u8[64]:rand, i8[64]:rand, u8[4096], u8[4096])
//! run overflows_i16_u16_i8 block=64 (i16[64]:rand, u16[64]:rand, i8[4096], u8[4096])
//! run overflows_u32_i32_u64 block=64 (u32[64]:edge, i32[64]:edge, u64[4096], u8[4096])

//! run overflows_by_name block=64 (i32[64]:edge, i64[64]:edge, i64[64])
kernel void overflows_by_name(const i32 *a, const i64 *b, i64 *out)
{
    u32 i = thread_x();
    i32 r = 0;
    u32 u = 0;
    long l = 0;
    unsigned long ul = 0;
    i32 n = __builtin_sadd_overflow(a[i], a[63 - i], &r);
    n += 2 * __builtin_usub_overflow((u32)a[i], (u32)a[63 - i], &u);
    n += 4 * __builtin_smull_overflow(b[i], b[63 - i], &l);
    n += 8 * __builtin_uaddl_overflow((u64)b[i], (u64)b[63 - i], &ul);
    out[i] = n ^ (i64)r << 8 ^ (i64)u << 16 ^ l ^ (i64)(ul * 3);
}

typedef struct pair {
    i32 a;
    f64 b[2];
} pair;

#define SAME(x, T) __builtin_types_compatible_p(__typeof__(x), T)
#define LENGTH(a)                                                                                  \
    (sizeof(a) / sizeof *(a) + 0 * sizeof(char[SAME(a, __typeof__(&(a)[0])) ? -1 : 1]))

//! run types_and_constants block=32 (i32[32]:rand, i64[32])
kernel void types_and_constants(const i32 *in, i64 *out)
{
    i32 x = in[thread_x()], list[5] = {x};
    pair p = {x, {1, 2}};
    static const u8 room[__builtin_constant_p(sizeof p) ? 4 : 2] = {1};
    out[thread_x()] = SAME(x, const i32) + 2 * SAME(x, u32) + 4 * SAME(p.b, f64[]) +
                      8 * SAME(&p, pair *) + 16 * (i64)LENGTH(list) +
                      256 * __builtin_choose_expr(SAME(p, pair), x & 7, p) +
                      4096 * (i64)sizeof room + 65536 * (i64) __builtin_offsetof(pair, b[1]) +
                      (i64)__builtin_expect_with_probability(x > 5, 1, 0.9) +
                      __builtin_constant_p("text") + (__builtin_expect(x, 3) ^ list[0]);
}

//! run other_names block=32 (f64[32]:edge, f64[32])
kernel void other_names(const f64 *in, f64 *out)
{
    char text[16], *end;
    f64 x = in[thread_x()];
    __builtin_memset(text, 0, sizeof text);
    __builtin_memcpy(text, "kernels", 7);
    end = __builtin_strchr(text, 'n');
    __builtin_strcpy(end, "p");
    f64 y = __builtin_fabs(x) > 1 ? __builtin_inf() : __builtin_sqrt(__builtin_fabs(x));
    y = __builtin_isnan(x) ? -__builtin_huge_val() : y;
    out[thread_x()] = y + (f64)__builtin_strlen(text) + __builtin_strcmp(text, "kerp") +
                      (__builtin_signbit(x) ? 64 : 0) +
                      (__builtin_isnan(__builtin_nan("")) ? 8 : 0);
}

// --- arrays without a length
typedef struct inner {
    i16 a;
    u8 b;
} inner;
typedef struct packet {
    u16 count;
    u32 kind;
    inner part[];
} packet;

static i32 sum_of(const packet *p)
{
    i32 sum = (i32)sizeof *p + (i32) __builtin_offsetof(packet, part[3].b);
    for (u32 i = 0; i < p->count; i++)
        sum += p->part[i].a * p->part[i].b;
    return sum;
}

//! run flexible block=32 (u32[128]:rand, i32[64])
kernel void flexible(const u32 *words, i32 *out)
{
    u32 own[16], t = thread_x();
    packet *p = (packet *)own, head = {5, t};
    for (u32 i = 0; i < 16; i++)
        own[i] = words[(t + i) & 127];
    *p = head;
    p->part[4].b = (u8)t;
    const packet *far = (const packet *)&words[4 * t];
    out[2 * t] = sum_of(p) + (i32)p->kind;
    out[2 * t + 1] = far->part[t & 1].a + far->part[0].b;
}

// --- statement expressions
#pragma GCC diagnostic ignored "-Wpedantic"
#define LARGER(a, b)                                                                               \
    ({                                                                                             \
        __typeof__(a) a_ = (a), b_ = (b);                                                          \
        a_ > b_ ? a_ : b_;                                                                         \
    })
#define OR_LEAVE(x)                                                                                \
    ({                                                                                             \
        i32 x_ = (x);                                                                              \
        if (x_ < 0)                                                                                \
            return x_;                                                                             \
        x_;                                                                                        \
    })

static i32 steps(i32 x, i32 n)
{
    i32 sum = 0;
    for (i32 i = 0; i < n; i++) {
        sum += OR_LEAVE(x - i) & 7;
        sum ^= OR_LEAVE((sum & 31) - 1);
        i32 known = ({
            switch (sum & 3) {
            case 0: sum += 5; break;
            default: sum++;
            }
            i32 twice = sum * 2;
            if (sizeof sum != 4)
                return 1;
            twice;
        });
        sum += known & 3;
    }
    return sum;
}

static i32 always(i32 x)
{
    i32 y = x > 0 ? ({
        i32 z = x + 3;
        if (sizeof x == 4)
            return z;
        z;
    })
                  : 7;
    return y + 100;
}

//! run inner_blocks block=64 (i32[64]:rand, i64[64])
kernel void inner_blocks(const i32 *in, i64 *out)
{
    i32 i = (i32)thread_x(), x = in[i] >> 20, own[4] = {x, x + 1, x + 2, x + 3};
    i64 sum = LARGER(x++, LARGER(own[1], own[2] - 7)) + x;
    sum = sum * 31 + steps(x & 15, i & 15) + always(x);
    inner part = ({
        inner made = {(i16)x, (u8)i};
        while (made.b > 20)
            made.b = (u8)(made.b - LARGER(7, i & 7));
        made;
    });
    bool is_odd = x > 0 && ({
                      i32 n = 0;
                      for (i32 k = 0; k < (i & 7); k++) {
                          if (k == 5)
                              break;
                          n += own[k & 3];
                      }
                      n & 1;
                  });
    out[i] = sum * 8 + part.a + part.b + is_odd;
}
