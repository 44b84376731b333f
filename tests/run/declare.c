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

// Addresses: of locals and of a struct's copy, through numbers that the compiler cannot know.
static u32 misfit(const void *p, u32 align, u32 zero)
{
    return (u32)(((u64)p + zero) % align);
}
struct aligned_rows {
    i8 first;
    _Alignas(64) i32 row[3];
};
//! run aligned_locals block=3 (u32[3], u32[24])
kernel void aligned_locals(const u32 *zero, u32 *out)
{
    u32 i = thread_x(), z = zero[i], *o = out + 8 * i;
    i8 before[3] = {1, 2, 3};
    _Alignas(32) i32 a[3] = {4, 5, 6};
    i8 between[5] = {0};
    _Alignas(64) i8 b[1] = {7};
    _Alignas(128) i16 c[2] = {8, 9};
    struct aligned_rows s = {1, {2, 3, 4}};
    before[i] = between[i] = (i8)z;
    b[z] = (i8)i;
    a[i] = c[z] = b[z];
    s.row[i] = 9;
    o[0] = misfit(a, 32, z);
    o[1] = misfit(b, 64, z);
    o[2] = misfit(c, 128, z);
    o[3] = misfit(s.row, 64, z);
    o[4] = misfit(&s, 64, z);
    o[5] = (u32)(before[0] + between[2] + a[1] + b[z] + c[1] + s.row[1]);
}

//! run aligned_shared block=32 (u32[3], u32[8])
kernel void aligned_shared(const u32 *zero, u32 *out)
{
    shared u8 before[3];
    _Alignas(128) shared i32 a[3];
    shared u8 between[5];
    _Alignas(1024) shared i32 b[1];
    u32 i = thread_x(), z = zero[0];
    if (i < 3)
        before[i] = between[i] = (u8)i, a[i] = (i32)i, b[0] = 7;
    barrier();
    if (i)
        return;
    out[0] = misfit(a, 128, z);
    out[1] = misfit(b, 1024, z);
    out[2] = (u32)(before[2] + between[1] + a[2] + b[0]);
}

#ifdef __KILN__
_Alignas(1024) shared u32 aligned_dynamic[];
#else
dynamic_shared(u32, aligned_dynamic);
#endif
//! run aligned_dynamic_shared block=32 shared=128 (u32[3], u32[34])
kernel void aligned_dynamic_shared(const u32 *zero, u32 *out)
{
    shared u8 before[3];
    u32 i = thread_x();
    before[zero[0]] = 5;
    aligned_dynamic[i] = i * i;
    barrier();
    out[i] = aligned_dynamic[31 - i];
    out[32] = before[0];
#ifdef __KILN__
    out[33] = misfit(aligned_dynamic, 1024, zero[1]);
#endif
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
