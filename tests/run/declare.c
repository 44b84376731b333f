// Declarations: storage classes, alignment, redeclared tables, functions chosen by type, long
// chains of else-ifs, labels and pragmas with constants.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wpedantic"

static i32 of_i32(i32 x)
{
    return x * 2 + 1;
}
static f32 of_f32(f32 x)
{
    return x * 0.5f;
}
static i64 of_any(i64 x)
{
    return -x;
}
#define OF(x) _Generic((x), i32 : of_i32, f32 : of_f32, default : of_any)(x)

//! run generic_functions block=16 (i32[16]:rand, f32[16]:rand, i32[16], f32[16], i64[16])
kernel void generic_functions(const i32 *a, const f32 *b, i32 *x, f32 *y, i64 *z)
{
    u32 i = thread_x();
    x[i] = OF(a[i]);
    y[i] = OF(b[i]) + (_Generic(b[i], f32 : of_f32, i32 : of_i32))(4);
    x[i] += (*of_i32)(2) + (&of_i32)(3);
    z[i] = OF((i64)a[i]) + _Generic(_Generic(a[i], i32 : 1.0f), f32 : of_i32, default : of_any)(3);
}

static i32 of_registers(register i32 a, register const i32 *b, register i32 n)
{
    register i32 sum = 0;
    for (register i32 i = 0; i < n; i++)
        sum += a * b[i];
    return sum;
}

extern const i32 late_table[4];
static const i32 early_table[] = {5, 6, 7};
extern const i32 early_table[3];
const i32 late_table[] = {9, 8};
//! run tables_and_registers block=16 (i32[16]:iota, i32[16])
kernel void tables_and_registers(const i32 *a, i32 *out)
{
    extern const i32 early_table[3];
    u32 i = thread_x();
    auto i32 sum = late_table[i % 4] + early_table[i % 3];
    out[i] = sum + of_registers(a[i], early_table, 3);
}

typedef i32 aligned_word __attribute__((aligned(32)));
struct aligned_member {
    i8 c;
    _Alignas(16) i32 d;
};
//! run alignments block=1 (u32[12])
kernel void alignments(u32 *out)
{
    _Alignas(64) i32 a = 1;
    _Alignas(32) f32 b[3] = {1, 2, 3};
    aligned_word w = 1;
    struct aligned_member s = {1, 2};
    out[0] = (u32) __alignof__(a);
    out[1] = (u32) __alignof__(b);
    out[2] = (u32) __alignof__(w);
    out[3] = (u32) _Alignof(aligned_word);
    out[4] = (u32) __alignof__(s.d);
    out[5] = (u32) _Alignof(struct aligned_member);
    out[6] = (u32)sizeof s;
    out[7] = (u32)((u64)&a % 16);
    out[8] = (u32)((u64)&b[0] % 16);
    out[9] = (u32)((u64)&s.d % 16);
    out[10] = (u32)(a + w + s.d);
    out[11] = (u32) _Alignof(f64[3]);
}

enum { FOUR = 4 };
tune(TWICE, 2, 4);
//! run unroll_names block=8 (i32[8]:iota, i32[8])
kernel void unroll_names(const i32 *a, i32 *out)
{
    i32 sum = 0;
#pragma unroll FOUR
    for (i32 i = 0; i < 16; i++)
        sum += a[i % 8] * i;
#pragma unroll(TWICE * 2 + sizeof(i32) - 4)
    for (i32 i = 0; i < 16; i++)
        sum ^= a[i % 8] * i;
    out[thread_x()] = sum;
}

#define LINK(n)                                                                                    \
    else if (x == (n)) y = (n)*3 + 1;                                                              \
    else if (x == (n) + 1) y += x;
#define LINKS(n)  LINK(n) LINK((n) + 2) LINK((n) + 4) LINK((n) + 6) LINK((n) + 8)
#define LINKS5(n) LINKS(n) LINKS((n) + 10) LINKS((n) + 20) LINKS((n) + 30) LINKS((n) + 40)
//! run long_chain block=64 (i32[64]:iota, i32[64])
kernel void long_chain(const i32 *a, i32 *out)
{
    i32 x = a[thread_x()] * 7, y = 0;
    for (i32 round = 0; round < 3; round++) {
        if (x == -1)
            y = 5;
        LINKS5(0)
        LINKS5(50)
        LINKS5(100)
        LINKS5(150)
        LINKS5(200)
        else if (x == 301) continue;
        else if (x == 308) break;
        LINKS5(310)
        else
        {
            y -= x;
        }
        x += 1 + round;
    }
    out[thread_x()] = y;
}
