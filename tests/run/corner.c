// Corners of C that programs from elsewhere rely on: conversions in operators, side effects inside
// expressions, state in a struct behind a pointer, nested and partial initialisers, bytes of
// objects, pointers to pointers, structs by value.
#include <kiln/kernel.h>
#pragma kiln conversions(c)
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Woverflow"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

//! run compound grid=2 block=32 (i8[64]:bits, u8[64]:bits, i16[64]:bits, u16[64]:bits, i64[512])
kernel void compound(i8 *a, u8 *b, i16 *c, u16 *d, i64 *out)
{
    u32 i = global_x();
    i8 w = a[i];
    u8 x = b[i];
    i16 y = c[i];
    u16 z = d[i];
    i64 *o = out + 8 * i;
    o[0] = (w += x) + 1;
    o[1] = w++ - --x;
    o[2] = (y *= 3) ^ (z <<= 3);
    o[3] = (x >>= 1) | (w >>= 1);
    o[4] = (z |= w) - (y &= x); // the sign of w goes into z's upper bits and is cut off
    o[5] = -x + ~z + !y;
    o[6] = (u8)~x > x ? w : z;
    o[7] = (x ^= 0xff) * 256 + (w ^= -1);
    a[i] = w, b[i] = x, c[i] = y, d[i] = z;
}

//! run divide_mixed_signs block=64 (i32[64]:edge2, u32[64]:edge3, i64[64]:edge2, u64[640])
kernel void divide_mixed_signs(const i32 *a, const u32 *b, const i64 *c, u64 *out)
{
    u32 i = thread_x();
    u64 *o = out + 10 * i;
    o[0] = a[i] < b[i];
    o[1] = b[i] < c[i];
    o[2] = a[i] < c[i];
    o[3] = a[i] + b[i];
    o[4] = a[i] + c[i];
    o[5] = b[i] - c[i];
    o[6] = (a[i] ? b[i] : a[i]) / 2; // unsigned, whichever is chosen
    o[7] = (c[i] < 0 ? a[i] : b[i]) > -1;
    o[8] = (u16)a[i] < (i16)a[i];
    o[9] = (a[i] & 0xffu) - 1 > 5;
}

static i32 count_up(i32 *n, i32 result)
{
    ++*n;
    return result;
}

//! run order_of_effects block=32 (i32[32]:sym3, i32[160])
kernel void order_of_effects(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    i32 x = in[i], n = 0, *o = out + 5 * i;
    o[0] = (count_up(&n, x > 0) && count_up(&n, x > 1)) || count_up(&n, x == -1);
    o[1] = n;
    o[2] = (n = 4, x < 0) ? n-- : ++n;
    o[3] = (x = n, n = x * 3, x - n);
    o[4] = (x > 2 ? (n = 7, 1) : (n = 9, 2)) * 5;
    o[3] += n;
}

typedef struct counter {
    i32 step, table[4];
    struct {
        u8 low, high;
    } limit;
    u64 seen;
} counter;

static i32 advance(counter *self, i32 by)
{
    self->table[by & 3] += self->step;
    self->seen = self->seen << 4 | (u64)(by & 15);
    if (self->table[by & 3] > self->limit.high)
        self->step = -self->step;
    return self->table[by & 3];
}

//! run state_behind_pointer block=64 (i32[64]:rand, u64[64], i32[64])
kernel void state_behind_pointer(const i32 *in, u64 *seen, i32 *out)
{
    u32 i = thread_x();
    counter c = {.step = 5, .table = {[1] = 3, 9}, .limit = {1, 40}};
    counter *p = &c, **pp = &p;
    i32 sum = 0;
    for (i32 k = in[i] & 7; k < 20; k += 1 + (k & 1))
        sum = sum * 3 + advance(*pp, k ^ in[i]);
    (*pp)->limit.low += (*p).limit.high;
    seen[i] = c.seen;
    out[i] = sum + c.step + c.limit.low;
}

typedef struct grid3 {
    i16 cell[2][3][2];
    const i32 *origin;
} grid3;

//! run partial_initialisers block=8 (i32[8]:rand, i32[104])
kernel void partial_initialisers(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    i16 v = (i16)in[i];
    grid3 g = {{{{1, v}, {2}}, {[1] = {v, 3}}}, &in[i]};
    grid3 h[2] = {[1] = g};
    i32 row[] = {4, [3] = 7, v, [1] = 5}, *o = out + 13 * i;
    i8 text[6] = "a\377\0z";
    for (u32 k = 0; k < 12; k++)
        o[k] = (&h[1].cell[0][0][0])[k] + h[0].cell[k / 6][k / 2 % 3][k % 2];
    o[12] = (i32)(sizeof row) + row[1] + row[4] * *h[1].origin + text[1] + text[3] + text[5];
}

typedef union word {
    u32 whole;
    u16 half[2];
    u8 byte[4];
    f32 number;
} word;

static word swap_ends(word w)
{
    u8 t = w.byte[0];
    w.byte[0] = w.byte[3];
    w.byte[3] = t;
    return w;
}

//! run bytes_of_objects block=64 (u32[64]:bits, u32[192])
kernel void bytes_of_objects(const u32 *in, u32 *out)
{
    u32 i = thread_x();
    word w = {in[i]};
    out[3 * i] = swap_ends(w).whole + w.half[1];
    w.half[0] = (u16)(w.byte[2] * 257);
    u8 *bytes = (u8 *)&w;
    bytes[in[i] & 3] ^= 0x80;
    out[3 * i + 1] = w.whole;
    word copy[3] = {w, swap_ends(w)};
    u32 sum = 0;
    for (u8 *p = copy[0].byte, *end = (u8 *)(copy + 3); p != end; p++)
        sum = sum * 31 + *p;
    out[3 * i + 2] = sum;
}

//! run pointers_to_pointers block=32 (i32[32]:rand, i32[64])
kernel void pointers_to_pointers(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    i32 a = in[i], b = ~a, c[3] = {a, b, 1};
    i32 *p[3] = {&a, &b, c + 1}, **at = p, ***all = &at;
    *p[a & 1] += 5;
    *at++ += 2;
    **(*all)++ ^= 3;
    ***all -= 7;
    p[0] = a > b ? &c[2] : p[2];
    *p[0] += (i32)(at - p) + (i32)(p[2] - c);
    out[2 * i] = a + 3 * b;
    out[2 * i + 1] = c[0] + 5 * c[1] + 7 * c[2];
}
