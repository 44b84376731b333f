// Literals, macros, _Generic, tune constants, static assertions, target conditions, typedefs, C
// spellings.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"

//! run integer_literals block=1 (u64[32])
kernel void integer_literals(u64 *out)
{
    u32 n = 0;
    out[n++] = 0x7fffffff + 1u;
    out[n++] = 2147483648;
    out[n++] = 0xffffffff;
    out[n++] = 0777 + 010;
    out[n++] = 4294967295u + 1;
    out[n++] = 4294967295u + 1l;
    out[n++] = 18446744073709551615ull;
    out[n++] =
        sizeof(2147483647) + sizeof(2147483648) * 10 + sizeof(0x80000000) * 100 + sizeof(1l) * 1000;
    out[n++] = (u64)-1;
    out[n++] = (u64)('a' + '\n' * 256 + '\\' + '\x41' + '\0' + '\101');
    out[n++] = 0xffffffffffffffff;
    out[n++] = -1 < 0u;
    out[n++] = 1 - 2u;
    out[n++] = (u64)(1 - 2l);
    out[n++] = 'A' < 'a' ? 3 : 4;
    out[n++] = 1ull << 63 | 1u << 31;
    out[n++] = ~0u >> 4;
    out[n++] = (u64)(-7 / 2 * 100 + -7 % 2);
    out[n++] = (u64)(-8 >> 1);
}

//! run float_literals block=1 (f64[32], f32[16])
kernel void float_literals(f64 *a, f32 *b)
{
    u32 n = 0;
    a[n++] = 0.1;
    a[n++] = 0.1f;
    a[n++] = 1e300;
    a[n++] = 1e-310;
    a[n++] = 4.9406564584124654e-324;
    a[n++] = 0x1.8p3;
    a[n++] = 0x.4p-2;
    a[n++] = .5 + 5. + 5e-1;
    a[n++] = 123456789012345678901234567890.0;
    a[n++] = 1.7976931348623157e308;
    a[n++] = 2.2250738585072011e-308;
    a[n++] = 9007199254740993.0;
    a[n++] = 1.0 / 3;
    a[n++] = DBL_MAX + DBL_EPSILON;
    a[n++] = 1e308 * 10 > 1 ? INFINITY : 0;
    n = 0;
    b[n++] = 0.1f;
    b[n++] = 16777217.0f;
    b[n++] = 3.4028235e38f;
    b[n++] = 1.17549435e-38f;
    b[n++] = 1e-45f;
    b[n++] = 0x1p-149f;
    b[n++] = 0.333333333333333333f;
    b[n++] = FLT_MAX;
    b[n++] = FLT_MIN / 2;
    b[n++] = -INFINITY;
    b[n++] = -0.0f;
}

#define EMPTY
#define JOIN(a, b)     a##b
#define TEXT(a)        #a
#define TWICE(x)       ((x) + (x))
#define APPLY(f, ...)  f(__VA_ARGS__)
#define LAST3(a, b, c) (c)
#define COUNT(...)     (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define SELF           SELF + 1
#define INDIRECT(x)    JOIN(va, x)
#define F(x)           x + G(x)
#define G(x)           x *F(x)
//! run macros block=4 (i32[4]:iota, i32[64])
kernel void macros(const i32 *in, i32 *out)
{
    i32 x = in[thread_x()], lue = 5, value = 7, SELF_2 = 3, n = 0;
    i32 *o = out + 16 * thread_x();
    o[n++] = TWICE(x EMPTY * 3);
    o[n++] = JOIN(val, ue) + JOIN(x, ) + INDIRECT(lue);
    o[n++] = APPLY(LAST3, 1, 2, (x++, 9));
    o[n++] = (i32)COUNT(1, 2, 3, 4);
    o[n++] = (i32)sizeof TEXT(a "b" c);
    o[n++] = JOIN(SELF, _2) + lue;
    o[n++] = __LINE__ > 10;
#if defined(EMPTY) && !defined NOTHING && (TWICE(2) == 4 ? 1 : 0) && 3 - 5 < 0 == 1
    o[n++] = 1;
#elif 1
    o[n++] = 2;
#else
#    error "not here"
#endif
#undef TWICE
#ifdef TWICE
    o[n++] = 3;
#endif
#define TWICE(x) ((x)*2)
    o[n++] = TWICE(x + 1);
    o[n++] = JOIN(0x, ff) + JOIN(1, 2);
    o[n++] = value;
}

#define TYPE_NUMBER(x)                                                                             \
    _Generic((x), i8 : 1, u8 : 2, i16 : 3, u16 : 4, i32 : 5, u32 : 6, i64 : 7, u64 : 8, f32 : 9,   \
             f64 : 10, bool : 11, f32 * : 12, const f32 * : 13, f16 : 14, f32x4 : 15,              \
             default : 99)
//! run generic_selection block=1 (i32[32], f32[4]:rand)
kernel void generic_selection(i32 *out, f32 *data)
{
    i8 a = 0;
    u8 b = 0;
    i16 c = 0;
    u16 d = 0;
    u32 e = 0;
    i64 f = 0;
    u64 g = 0;
    f32x4 v = {0};
    f16 h = to_f16(1);
    const f32 *p = data;
    u32 n = 0;
    out[n++] = TYPE_NUMBER(a);
    out[n++] = TYPE_NUMBER(b);
    out[n++] = TYPE_NUMBER(c);
    out[n++] = TYPE_NUMBER(d);
    out[n++] = TYPE_NUMBER(e);
    out[n++] = TYPE_NUMBER(f);
    out[n++] = TYPE_NUMBER(g);
    out[n++] = TYPE_NUMBER(a + b);
    out[n++] = TYPE_NUMBER(c + e);
    out[n++] = TYPE_NUMBER(e + f);
    out[n++] = TYPE_NUMBER(f + g);
    out[n++] = TYPE_NUMBER(e + 1.0f);
    out[n++] = TYPE_NUMBER(1.0 + 1.0f);
    out[n++] = TYPE_NUMBER(e < 1);
    out[n++] = TYPE_NUMBER((bool)e);
    out[n++] = TYPE_NUMBER(data);
    out[n++] = TYPE_NUMBER(p);
    out[n++] = TYPE_NUMBER(v);
    out[n++] = TYPE_NUMBER(h);
    out[n++] = TYPE_NUMBER('a');
    out[n++] = TYPE_NUMBER(a << f);
    out[n++] = TYPE_NUMBER(e ? a : f);
    out[n++] = TYPE_NUMBER(&out);
    out[n++] = TYPE_NUMBER(sizeof(e));
    out[n++] = TYPE_NUMBER(-b);
    out[n++] = TYPE_NUMBER(thread_x());
    out[n++] = TYPE_NUMBER(v.x * 2);
    out[n++] = TYPE_NUMBER(p - data);
}

tune(WIDTH, 4, 8, 16);
tune(STEPS, 3, 5);
//! run tunables block=8 (u32[8])
kernel void tunables(u32 *out)
{
    u32 a[WIDTH] = {0};
    for (u32 i = 0; i < STEPS; i++)
        a[i % WIDTH] += i * WIDTH;
    out[thread_x()] = a[thread_x() % WIDTH] + STEPS;
}

static_assert(WIDTH == 4 && sizeof(u32[STEPS]) == 12, "defaults");
_Static_assert(sizeof(void *) == 8, "64 bits");
//! run assertions block=8 (u32[8]:iota)
kernel void assertions(u32 *a)
{
    static_assert(sizeof(*a) == 4, "a word");
    assert(a[thread_x()] < 8);
    assume(a[thread_x()] < 8);
    a[thread_x()] += 1;
}

typedef unsigned long long int big;
typedef const signed char *text_pointer;
//! run c_spellings block=4 (i64[4]:rand, i64[4])
kernel void c_spellings(const int64_t *in, long *out)
{
    unsigned x = (unsigned)in[thread_x()];
    short int s = (short)x;
    unsigned char c = (unsigned char)x;
    signed char sc = (signed char)x;
    long long int l = in[thread_x()];
    big b = (big)l;
    int unsigned long order = b;
    size_t z = sizeof l;
    ptrdiff_t d = out - (out + 3);
    uint16_t h = (uint16_t)x;
    text_pointer none = 0;
    _Bool truth = l != 0;
    out[thread_x()] = s + c + sc + (long)(b >> 3) + (long)order + (long)z + d + h + truth +
                      (none == NULL) + (long)x;
}

//! run qualifiers_everywhere block=8 (f32[8]:rand, f32[8])
kernel void qualifiers_everywhere(const f32 *const restrict in, f32 *restrict const out)
{
    const u32 i = thread_x();
    f32 const x = in[i];
    static const f32 scale = 2;
    const f32 *const p = &in[i];
    out[i] = x * scale + *p;
}

//! run printing block=1 (u32[1])
kernel void printing(u32 *out)
{
    if (out[0] == 77) // never: this test is about compiling the call
        printf("%d %u %5.2f %s %c %%\n", -1, 2u, 2.5, "text", 'c');
    out[0] = 1;
}

//! run clocks block=8 (u32[24])
kernel void clocks(u32 *out)
{
    u64 cycles = clock_cycles(), time = nano_time();
    nano_sleep(20);
    out[3 * thread_x()] = clock_cycles() >= cycles;
    out[3 * thread_x() + 1] = nano_time() >= time;
    out[3 * thread_x() + 2] = 7;
}

//! run unreachable_code block=8 (u32[8]:iota, u32[8])
kernel void unreachable_code(const u32 *in, u32 *out)
{
    u32 r;
    switch (in[thread_x()] & 1) {
    case 0: r = 3; break;
    case 1: r = 4; break;
    default: unreachable();
    }
    if (r == 9)
        trap();
    out[thread_x()] = r;
}

//! run operators_precedence block=16 (i32[16]:sym99, i32[16]:mod7, i32[160])
kernel void operators_precedence(const i32 *a, const i32 *b, i32 *out)
{
    i32 x = a[thread_x()], y = b[thread_x()] + 1, *o = out + 10 * thread_x();
    o[0] = x + y * 3 - x / y % 5;
    o[1] = (x & y) == (y ^ x) || (x < y) == (y > x);
    o[2] = -x * -y + ~x - !y;
    o[3] = x << 2 + 1 >> 1;
    o[4] = x > y ? x : y > 3 ? y : -1;
    o[5] = x = y;
    o[6] = x += y -= 1;
    o[7] = (x ^ (y & 3)) | (x & 12);
    o[8] = x - y - 1 - (y - x);
    o[9] = !x == !y;
}
