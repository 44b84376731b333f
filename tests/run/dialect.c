// What C23 and GNU's C add to C11 and gcc, clang and Kiln take: typeof, ranges, __VA_OPT__,
// __extension__, attributes wherever headers put them; and C11's _Noreturn and <iso646.h>.
#include <iso646.h>
#include <stdlib.h>

#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Woverride-init"
#if defined(__clang__)
#    pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

typedef struct inner {
    i32 a, b[2];
} inner;
typedef struct outer {
    i32 x;
    inner in;
    i8 c[3];
} outer;

#define SWAP(a, b)                                                                                 \
    do {                                                                                           \
        __typeof__(a) first_ = (a);                                                                \
        (a) = (b), (b) = first_;                                                                   \
    } while (0)

//! run type_of block=32 (i32[32]:rand, f32[32]:rand, i64[64])
kernel void type_of(const i32 *in, const f32 *real, i64 *out)
{
    i32 x = in[thread_x()], y = ~x;
    outer o = {.x = x, .in.b = {1, y}}, other = {.in.a = y};
    f32 f = real[thread_x()], g = -f;
    SWAP(x, y);
    SWAP(o, other);
    SWAP(f, g);
    __typeof__(o.in.b) pair = {o.in.a, x};
    __typeof__(&pair) of_pair = &pair;
    __typeof(i16) narrow = (i16)x;
    const __typeof__(in[0]) same = in[x & 31];
    __typeof__(x++ + 1l) wide = x; // nothing is done
    __typeof__(i32(*)[2]) again = of_pair;
    (*again)[0] += narrow - same;
    out[2 * thread_x()] = (*of_pair)[0] ^ other.in.b[1] ^ wide << 7;
    out[2 * thread_x() + 1] = (i64)(f < g) + (i64)sizeof(__typeof__(f + 1.0)) + pair[1];
}

static const u8 kinds[256] = {
    ['0' ... '9'] = 1, ['a' ... 'z'] = 2, ['A' ... 'Z'] = 2, ['_'] = 3, [250 ... 255] = 9};
static const outer rows[] = {[0 ... 3] = {.in = {1, {2}}, .c = {[0 ... 1] = 'x'}},
                             [1].in.b[0 ... 1] = 7,
                             [2 ... 3].x = 5,
                             {6, {7}}, // goes on inside rows[3]
                             {1, 2, 3},
                             {6, {.a = 8}, ""}};
static const i32 grid[][3] = {[1 ... 2] = {1, [1 ... 2] = 4}, [4][0 ... 2] = 8};
_Static_assert(sizeof rows == 5 * sizeof *rows && sizeof grid == 60,
               "open arrays get their length");

//! run range_of_elements block=64 (u8[64]:rand, i32[64])
kernel void range_of_elements(const u8 *in, i32 *out)
{
    u32 t = thread_x();
    i32 mine[8] = {[0 ... 7] = in[t], [2 ... 4] = -1, 3};
    outer some[4] = {[1 ... 2] = rows[t % 5]};
    const outer *row = &rows[in[t] % 5], *own = &some[t % 4];
    i32 sum = kinds[in[t]] * 100 + mine[in[t] % 8] + grid[t % 5][in[t] % 3];
    sum = sum * 31 + row->x + row->in.a * 3 + row->in.b[0] * 5 + row->in.b[1] * 7 + row->c[t % 3];
    out[t] = sum * 31 + own->x + own->in.a + own->in.b[t & 1] + own->c[1];
}

//! run range_of_cases block=256 (i64[256]:edge, i32[256])
kernel void range_of_cases(const i64 *in, i32 *out)
{
    i32 found = 0;
    switch ((u8)thread_x()) {
    case '0' ... '9': found = 1; break;
    case 'a' ... 'f': found = 10;
    case 'A' ... 'F': found++; break;
    case 200 ... 255:
        if (in[thread_x()] & 1) {
        case 7 ... 8: found += 5; // inside an inner statement
        }
        found += 20;
    default: found += 2;
    }
    switch (in[thread_x()]) {
    case -9223372036854775807 - 1 ... - 9223372036854775800: found += 100; break;
    case -3 ... 3: found += 200; break;
    case 9223372036854775800 ... 9223372036854775807: found += 300;
    }
    switch ((u32)in[thread_x()]) {
    case 0x7ffffffe ... 0x80000001: found += 1000; break;
    case 0xfffffff0 ... 0xffffffff: found += 2000; break;
    }
    out[thread_x()] = found;
}

#define SUM(first, ...)  (first __VA_OPT__(+sum_of(COUNT(__VA_ARGS__), __VA_ARGS__)))
#define COUNT(...)       (0 __VA_OPT__(+sizeof((i32[]){__VA_ARGS__}) / sizeof(i32)))
#define CALL(f, ...)     f(1 __VA_OPT__(, ) __VA_ARGS__)
#define NAME(base, ...)  base##__VA_OPT__(_long)
#define MAYBE_NOTHING(x) COUNT(x)
#define NOTHING
#define PARENS              ()
#define EACH(f, ...)        __VA_OPT__(AGAIN(EACH_ONE(f, __VA_ARGS__)))
#define EACH_ONE(f, x, ...) f(x) __VA_OPT__(EACH_NEXT PARENS(f, __VA_ARGS__))
#define EACH_NEXT()         EACH_ONE
#define AGAIN(...)          AGAIN2(AGAIN2(AGAIN2(__VA_ARGS__)))
#define AGAIN2(...)         __VA_ARGS__
#define ADD_SQUARE(x)       +(x) * (x)
#define sum_of(n, ...)      (((i32[]){__VA_ARGS__})[(n)-1] * 10)
#define first_of(a, ...)    (a __VA_OPT__(*2))

//! run opt_dots block=1 (i32[16])
kernel void opt_dots(i32 *out)
{
    i32 n = 0, v = 5, v_long = 6;
    out[n++] = SUM(1);
    out[n++] = SUM(1, 2, 3);
    out[n++] = (i32)COUNT() + 10 * (i32)COUNT(1, 2);
    out[n++] = CALL(first_of);
    out[n++] = CALL(first_of, 3);
    out[n++] = NAME(v) * 10 + NAME(v, 1);
    out[n++] = (i32)MAYBE_NOTHING(NOTHING) + 10 * (i32)MAYBE_NOTHING(v);
    out[n++] = 0 EACH(ADD_SQUARE, 1, 2, 3, 4);
    out[n++] = 0 EACH(ADD_SQUARE);
}

static __attribute__((always_inline)) inline i32 twice(i32 x __attribute__((unused)),
                                                       const i32 *p __attribute__((unused)))
{
    return *p * 2;
}

_Noreturn static void stop(void)
{
    trap();
}
static void leave(i32 code) __attribute__((__noreturn__, unused));
static void leave(i32 code)
{
    __extension__ i32 kept = __extension__(code + 1);
    (void)kept;
    stop();
}

static i32 checked(i32 x)
{
    if (x not_eq 1 << 30 or not x)
        return compl x bitand 0xff xor 3;
    if (x == 1 << 30 and x > 1)
        leave(x);
    abort();
}

//! run attributes block=32 (i32[32]:rand, u32[96])
kernel void attributes(const i32 *in, u32 *out)
{
    __extension__ typedef long long whole;
    i32 x __attribute__((aligned(8))) = in[thread_x()];
    whole far = x;
    out[3 * thread_x()] = (u32)twice(1, &x) + (u32)checked(x & 0xffff) + (u32)(far >> 40);
    out[3 * thread_x() + 1] = __builtin_bswap32((u32)x) + __builtin_bswap16((u16)x);
    out[3 * thread_x() + 2] =
        (u32)(__builtin_parity((u32)x) + 2 * __builtin_parityll(far & 0xffffffffff0)) +
        *(const u32 *)__builtin_assume_aligned(in + thread_x(), 4);
}
