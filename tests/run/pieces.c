// Values in pieces: unions of several members by value, structs with const values in initialisers,
// pointers that are one of two arrays, offsets beyond 31 bits.
#include <kiln/kernel.h>

typedef struct three {
    f32 a;
    i32 b;
    f32 c;
} three;
typedef union either {
    three all;
    u32 words[3];
} either;

static noinline either turned(either e)
{
    either r;
    r.all.a = e.all.c;
    r.all.b = e.all.b + 1;
    r.all.c = e.all.a;
    return r;
}

//! run union_pieces block=32 (f32[96]:unit, u32[96])
kernel void union_pieces(const f32 *in, u32 *out)
{
    u32 i = thread_x();
    either e, copy;
    e.all.a = in[3 * i];
    e.all.b = (i32)i;
    e.all.c = in[3 * i + 2];
    copy = turned(e);
    e = turned(copy);
    for (u32 k = 0; k < 3; k++)
        out[3 * i + k] = e.words[k] + 2 * copy.words[k];
}

typedef struct outer {
    three first, second;
    i32 last;
} outer;

typedef struct kept {
    const three first;
    i32 last;
} kept;

//! run const_pieces block=32 (f32[32]:unit, f32[32], i32[32])
kernel void const_pieces(const f32 *in, f32 *out, i32 *last)
{
    u32 i = thread_x();
    const three x = {in[i], 7, 2.5f};
    outer o = {x, {1.5f, 3, in[31 - i]}, 9}, all[2] = {{x, x, 1}, o};
    const kept k = {x, 4};
    out[i] = o.first.a + o.second.c + all[1].first.c + all[0].second.a + k.first.c;
    last[i] = o.last + o.first.b + all[0].last + all[1].second.b + k.first.b * k.last;
}

//! run chosen_space block=32 (i32[32]:iota, i32[32]:bits, i32[64])
kernel void chosen_space(const i32 *in, const i32 *by, i32 *out)
{
    shared i32 tile[32];
    i32 own[32];
    u32 i = thread_x();
    tile[i] = 3 * in[i];
    for (u32 k = 0; k < 32; k++)
        own[k] = by[k] >> 1;
    barrier();
    const i32 *p = by[i] & 1 ? in : tile, *q = by[i] & 2 ? tile : in, *r = by[i] & 4 ? own : q;
    out[i] = p[31 - i] + 5 * q[i];
    out[32 + i] = r[i ^ 1];
}

//! run far_pieces block=32 (u8[64]:bits, i64[1]:iota, u8[128])
kernel void far_pieces(const u8 *in, const i64 *zero, u8 *out)
{
    u32 i = thread_x();
    i64 up = 2147483700l + zero[0], down = 2147483700l + zero[0];
    const u8 *low = in + i - up, *high = in + i + down, *one = in - up;
    out[4 * i] = (u8)(low[2147483700l] + one[2147483703l]);
    out[4 * i + 1] = low[2147483700l + 31];
    out[4 * i + 2] = high[-2147483700l];
    out[4 * i + 3] = (low - 60)[2147483780l];
}
