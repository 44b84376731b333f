// Bit-fields: layout as the host's compiler has it, every kind of read and write, in buffers, in
// locals, in shared memory, in tables.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wpedantic"

struct plain {
    u32 low : 5;
    u32 mid : 11;
    i32 high : 16;
};
struct signs {
    i32 a : 3;
    i32 b : 7;
    u32 c : 32;
    i32 d : 32;
    i32 e : 1;
};
struct packed_in {
    i8 c;
    i32 b : 8;
    i32 far : 20;
    i8 tail;
};
struct narrow {
    u8 a : 3;
    u8 b : 6;
    i16 c : 9;
    u16 d : 16;
    bool e : 1;
    bool f : 1;
    u8 g : 2;
};
struct wide {
    u64 a : 33;
    i64 b : 20;
    i64 c : 40;
    u64 d : 64;
    u64 e : 7;
};
struct gaps {
    u32 a : 3;
    u32 : 5;
    u32 b : 4;
    u32 : 0;
    u32 c : 2;
    u8 : 0;
    u8 d : 5;
    u16 : 9;
    u32 e : 17;
};
struct across {
    u8 first;
    u32 a : 12;
    u32 b : 12;
    u32 c : 12;
    u16 last;
};
enum colour { RED, GREEN, BLUE };
struct mixed {
    enum colour hue : 2;
    u32 n : 30;
    f32 x;
    u8 flag : 1;
    struct {
        u16 p : 4, q : 12;
    };
    struct plain inner;
};
union overlay {
    struct plain p;
    u32 word;
    u32 low : 9;
    i32 sign : 4;
    struct {
        u8 a : 4, b : 4;
    } nibbles;
};

#define LAYOUT(T, at) out[at] = (u32)sizeof(T), out[at + 1] = (u32) _Alignof(T)
//! run bits_layout block=1 (u32[24])
kernel void bits_layout(u32 *out)
{
    LAYOUT(struct plain, 0);
    LAYOUT(struct signs, 2);
    LAYOUT(struct packed_in, 4);
    LAYOUT(struct narrow, 6);
    LAYOUT(struct wide, 8);
    LAYOUT(struct gaps, 10);
    LAYOUT(struct across, 12);
    LAYOUT(struct mixed, 14);
    LAYOUT(union overlay, 16);
    struct only {
        u32 : 7;
        u8 b : 3;
        u64 : 20;
    };
    LAYOUT(struct only, 18);
    out[20] = (u32)offsetof(struct packed_in, tail);
    out[21] = (u32)offsetof(struct across, last);
    out[22] = (u32)offsetof(struct mixed, x);
    out[23] = (u32)offsetof(struct mixed, inner);
}

//! run bits_read block=32 (u32[256]:bits, i64[2048])
kernel void bits_read(const u32 *in, i64 *out)
{
    u32 t = thread_x();
    i64 *o = out + t * 64;
    const struct plain *p = (const struct plain *)(in + t);
    o[0] = p->low, o[1] = p->mid, o[2] = p->high;
    const struct signs *s = (const struct signs *)(in + t * 4);
    o[3] = s->a, o[4] = s->b, o[5] = s->c, o[6] = s->d, o[7] = s->e;
    const struct packed_in *k = (const struct packed_in *)(in + t * 2);
    o[8] = k->c, o[9] = k->b, o[10] = k->far, o[11] = k->tail;
    const struct narrow *n = (const struct narrow *)(in + t * 2);
    o[12] = n->a, o[13] = n->b, o[14] = n->c, o[15] = n->d, o[16] = n->e, o[17] = n->f,
    o[18] = n->g;
    const struct wide *w = (const struct wide *)(in + (t % 16) * 8);
    o[19] = (i64)w->a, o[20] = w->b, o[21] = w->c, o[22] = (i64)w->d, o[23] = (i64)w->e;
    const struct gaps *g = (const struct gaps *)(in + t * 4);
    o[24] = g->a, o[25] = g->b, o[26] = g->c, o[27] = g->d, o[28] = g->e;
    const struct across *a = (const struct across *)(in + t * 3);
    o[29] = a->first, o[30] = a->a, o[31] = a->b, o[32] = a->c, o[33] = a->last;
    const struct mixed *m = (const struct mixed *)(in + t * 4);
    o[34] = m->hue, o[35] = m->n, o[36] = m->flag, o[37] = m->p, o[38] = m->q,
    o[39] = m->inner.high;
    const union overlay *u = (const union overlay *)(in + t);
    o[40] = u->p.mid, o[41] = u->low, o[42] = u->sign, o[43] = u->nibbles.a, o[44] = u->nibbles.b;
    // promotions: what int holds becomes one
    o[45] = p->low - 31 < 0, o[46] = s->c - 1 > 0, o[47] = -p->mid, o[48] = ~n->b;
    o[49] = (p->low << 30) / 3, o[50] = w->b > -1, o[51] = g->b - g->e;
    o[52] = p->low ? p->mid : p->high, o[53] = (i64)(p->low * 0.5f * 2);
    o[54] = max(p->low, 7) - min(s->a, p->mid);
}

//! run bits_write block=32 (u32[512]:bits, i32[64]:rand, i64[512])
kernel void bits_write(u32 *io, const i32 *values, i64 *out)
{
    u32 t = thread_x();
    i32 v = values[t], w = values[t + 32];
    i64 *o = out + t * 16;
    struct across *a = (struct across *)(io + t * 3);
    o[0] = a->a = (u32)v;
    o[1] = (a->b += (u32)w);
    o[2] = a->c--;
    o[3] = ++a->b;
    struct signs *s = (struct signs *)(io + 96 + t * 4);
    o[4] = s->a = v;
    o[5] = s->b++;
    o[6] = --s->e;
    s->d ^= w;
    s->b >>= 2;
    o[7] = s->b;
    struct wide *x = (struct wide *)(io + 224 + (t % 8) * 8);
    if (t < 8) {
        x->a = (u64)v * 77777;
        x->b -= w;
        o[8] = x->c *= v;
        x->e |= 65;
        x->d = x->d / 3 + (u64)w;
    }
    struct packed_in *k = (struct packed_in *)(io + 288 + t * 2);
    k->far = w;
    o[9] = k->b /= 3;
    o[10] = k->far %= 1000;
    struct narrow *n = (struct narrow *)(io + 352 + t * 2);
    n->e = v & 1;
    n->f = v;
    n->g++;
    o[11] = n->c <<= 1;
    n->a = (u8)w;
    o[12] = n->e && !n->f;
    union overlay *u = (union overlay *)(io + 416 + t);
    u->low = (u32)v;
    u->sign = u->sign + 1;
    u->nibbles.b &= 5;
    o[13] = u->word;
    struct mixed *m = (struct mixed *)(io + 448 + (t % 8) * 4);
    if (t < 8) {
        m->hue = v & 1 ? GREEN : BLUE;
        m->q = (u16)v;
        m->inner.mid = m->p + 3u;
        m->flag = 0;
    }
}

static const struct mixed table[3] = {
    {GREEN, 12345, 2.5f, 1, {3, 4000}, {1, 2, -3}},
    {.n = 7, .inner = {.high = -1}, .q = 9},
    {.inner.mid = 1000, .inner.low = 31, .flag = 1, .hue = BLUE},
};
static struct plain swapped(struct plain p)
{
    struct plain r = {.low = p.mid & 31, .mid = p.low};
    r.high = -p.high;
    return r;
}
static i32 sum_of(struct wide w)
{
    return (i32)(w.a + (u64)w.b + (u64)w.c + w.d + w.e);
}
//! run bits_objects block=32 (u32[32]:bits, i64[512], u32[96])
kernel void bits_objects(const u32 *words, i64 *out, u32 *to_words)
{
    const struct plain *in = (const struct plain *)words;
    struct mixed *to = (struct mixed *)to_words;
    shared struct plain tile[32];
    shared struct gaps other[32];
    u32 t = thread_x();
    i64 *o = out + t * 16;
    tile[t] = in[t];
    other[t] = (struct gaps){1, 2, 3, 4, t * 3};
    barrier();
    struct plain p = swapped(tile[31 - t]), q = p;
    q.low++;
    o[0] = p.low, o[1] = p.mid, o[2] = p.high, o[3] = q.low;
    struct plain all[4] = {{1, 2, 3}, {4, 5, 6}, [3] = {.high = -7}};
    all[t % 4].mid = q.mid;
    all[1] = all[t % 3];
    o[4] = all[0].low + all[1].mid * 100 + all[1].high + all[3].high;
    struct wide w = {t, -5, (i64)t << 30, 1, 100};
    w.c += 3;
    o[5] = sum_of(w);
    o[6] = table[t % 3].n + table[t % 3].q, o[7] = table[t % 3].inner.mid + table[2].hue;
    o[8] = table[0].inner.high + table[1].inner.high + table[2].flag;
    o[9] = other[31 - t].e + other[t].d + other[t].b;
    struct mixed m = table[t % 3];
    m.p += (u16)t;
    if (t < 6)
        to[t] = m;
    struct plain local = in[t];
    for (u32 i = 0; i < 40; i++) {
        local.low += local.mid;
        local.mid ^= (u32)local.high;
        local.high -= local.low;
    }
    o[10] = local.low, o[11] = local.mid, o[12] = local.high;
    volatile struct plain v = {1, 2, 3};
    v.mid = v.low + 5;
    o[13] = v.mid + v.high;
    union overlay u = {.word = 0xabcdef01};
    u.p.mid++;
    union overlay c = u;
    o[14] = c.word + c.low;
}
