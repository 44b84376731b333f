// Pointers to functions without recursion: tables, parameters, results, members, comparisons; every
// device has them.
#include <kiln/kernel.h>

typedef i32 (*binary)(i32, i32);
static i32 add(i32 a, i32 b)
{
    return a + b;
}
static i32 sub(i32 a, i32 b)
{
    return a - b;
}
static noinline i32 mul(i32 a, i32 b)
{
    return a * b;
}
static const binary table[5] = {add, sub, mul, NULL, sub};

//! run pointer_table block=64 (i32[64], i32[64])
kernel void pointer_table(i32 *out, i32 *flags)
{
    u32 i = thread_x();
    binary f = table[i % 5];
    i32 r = -1;
    if (f)
        r = f((i32)i - 20, 3);
    out[i] = r;
    flags[i] = (f == add) + 2 * (f != mul) + 4 * (f == NULL) + 8 * !f + 16 * (0 == f) +
               32 * (f == &sub);
}

static i32 apply(i32 (*f)(i32, i32), i32 a, i32 b)
{
    return (*f)(a, (**f)(b, 2));
}
static binary choose(u32 k)
{
    return k & 1 ? add : k & 2 ? &sub : mul;
}
static i32 (*pick(bool first))(i32, i32)
{
    return first ? choose(1) : choose(0);
}
struct shape {
    i32 size;
    i32 (*area)(const struct shape *);
    i32 (*grow)(struct shape, i32 by);
};
static i32 square_area(const struct shape *s)
{
    return s->size * s->size;
}
static i32 line_area(const struct shape *s)
{
    return s->size;
}
static i32 grown(struct shape s, i32 by)
{
    s.size += by;
    return s.area(&s);
}

//! run pointer_passed block=32 (i32[32], i32[32])
kernel void pointer_passed(i32 *out, i32 *areas)
{
    i32 i = (i32)thread_x();
    out[i] = apply(choose((u32)i), i, i + 1) + pick(i > 7)(i, 2) + (i & 4 ? sub : add)(1, i);
    struct shape s = {i, i % 3 ? square_area : line_area, grown};
    struct shape all[2] = {s, {i + 1, line_area, grown}};
    areas[i] = s.area(&s) + all[i & 1].grow(all[i & 1], 3) + all[0].area(&all[1]);
}

// A type for each kind of result, by way of function types.
typedef f32 f32_fn(f32);
typedef f64 f64_fn(f32, i64);
typedef u8 u8_fn(u8);
typedef bool bool_fn(i16, f32);
static f32 half(f32 x)
{
    return x * 0.5f;
}
static f32 negated(f32 x)
{
    return -x;
}
static f64 sum(f32 x, i64 n)
{
    return (f64)x + (f64)n;
}
static f64 product(f32 x, i64 n)
{
    return (f64)x * (f64)n;
}
static u8 rotated(u8 x)
{
    return (u8)(x << 3 | x >> 5);
}
static u8 inverted(u8 x)
{
    return (u8)~x;
}
static bool is_above(i16 a, f32 b)
{
    return (f32)a > b;
}
static bool is_below(i16 a, f32 b)
{
    return (f32)a < b;
}
static f32_fn *const floats[2] = {half, negated};
static f64_fn *const doubles[2] = {sum, product};
static u8_fn *const bytes[2][2] = {{rotated, inverted}, {inverted, rotated}};

//! run pointer_types block=32 (f32[32]:rand, f64[32], u8[32])
kernel void pointer_types(f32 *x, f64 *y, u8 *z)
{
    u32 i = thread_x();
    bool_fn *test = i % 3 ? is_above : is_below;
    x[i] = floats[i & 1](x[i]);
    y[i] = doubles[i >> 1 & 1](x[i], (i64)i << 31);
    z[i] = (u8)(bytes[i & 1][i >> 2 & 1]((u8)(i * 7)) + test((i16)i, 9.5f));
}

// In local arrays, and one that changes as it goes.
typedef struct machine {
    i32 value;
    void (*state)(struct machine *);
} machine;
static void odd(machine *m);
static void even(machine *m)
{
    m->value /= 2;
    m->state = m->value % 2 ? odd : even;
}
static void odd(machine *m)
{
    m->value = 3 * m->value + 1;
    m->state = m->value == 4 ? NULL : even;
}

//! run pointer_machine block=40 (i32[40])
kernel void pointer_machine(i32 *out)
{
    i32 n = (i32)thread_x() + 3, steps = 0;
    machine m = {n, n % 2 ? odd : even};
    binary chosen[4] = {add, sub, mul, add};
    while (m.state && steps < 100) {
        m.state(&m);
        steps++;
    }
    chosen[steps & 3] = mul;
    out[thread_x()] = chosen[thread_x() & 3](steps, 3);
}
