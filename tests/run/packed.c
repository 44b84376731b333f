// Packed structs: layout as the host's compilers have it, and members at any byte read, written, copied, passed and returned, in buffers, locals, shared memory and tables.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wpedantic"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wpacked-not-aligned"
#endif

struct point {
    f32 x, y;
    u16 tag;
};
struct header {
    u8 kind;
    u16 port;
    u32 length;
    i64 stamp;
    f64 weight;
    f32 scale;
    f16 half;
    bool is_last;
    struct point at;
    i32 row[3];
    f32x2 pair;
    u8 text[5];
} __attribute__((packed));
struct __attribute__((__packed__)) outer {
    i8 first;
    struct header inner[2];
    struct point far;
    u64 last;
};
#pragma pack(push, 1)
struct bits {
    u32 a : 7;
    u32 b : 30;
    i32 c : 5;
    u8 d;
    i64 e : 50;
    u16 : 0;
    u16 f : 12;
};
#pragma pack(2)
typedef struct {
    u8 a;
    u64 b;
    u8 c;
    struct bits d;
    u32 e;
} two;
#pragma pack(pop)
struct one_member {
    u8 a;
    u32 b __attribute__((packed));
    u32 c;
    u16 d : 12;
    i32 e : 20 __attribute__((packed));
};
union words {
    u8 bytes[12];
    struct {
        u8 skip;
        u64 wide;
        u16 tail;
    } __attribute__((packed)) parts;
    u32 n;
};
struct aligned_four {
    u16 a;
    u32 b;
    u64 c;
    u16 d __attribute__((aligned(2)));
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct header) == 67 && _Alignof(struct header) == 1, "header");
_Static_assert(sizeof(struct bits) == 16 && sizeof(two) == 32 && _Alignof(two) == 2, "pack");
_Static_assert(sizeof(struct one_member) == 16 && sizeof(union words) == 12, "members");
_Static_assert(sizeof(struct aligned_four) == 16 && _Alignof(struct aligned_four) == 4, "aligned");

//! run packed_sizes block=1 (u32[16])
kernel void packed_sizes(u32 *out)
{
    out[0] = (u32)sizeof(struct outer);
    out[1] = (u32)__builtin_offsetof(struct outer, inner[1].row[2]);
    out[2] = (u32)__builtin_offsetof(struct outer, last);
    out[3] = (u32)__builtin_offsetof(two, d.d);
    out[4] = (u32)__builtin_offsetof(two, e);
    out[5] = (u32)__builtin_offsetof(struct one_member, c);
    out[6] = (u32)_Alignof(struct one_member);
    out[7] = (u32)_Alignof(union words);
    out[8] = (u32)__builtin_offsetof(struct aligned_four, c);
    out[9] = (u32)sizeof(struct bits);
}

//! run packed_members block=64 (u8[4288]:bits, f64[192]:unit)
kernel void packed_members(u8 *bytes, f64 *x)
{
    u32 i = thread_x();
    struct header *h = (struct header *)bytes + i;
    h->port = (u16)(h->port * 3u + h->kind);
    h->length += h->port;
    h->length ^= (u32)h->stamp;
    h->stamp = h->stamp * 5 + h->length;
    h->weight = x[3 * i] + (h->kind & 3);
    h->weight *= 0.5;
    h->scale = (f32)(h->port & 255) * 0.25f;
    h->scale += 1;
    h->half = to_f16((f32)(h->length & 1023));
    h->is_last = !(h->length & 1);
    h->at.x = h->scale;
    h->at.y = (f32)h->weight;
    h->at.tag++;
    h->row[i % 3] = (i32)h->length;
    h->row[1] -= --h->row[2];
    h->pair = (f32x2){h->at.y, h->scale * 2};
    h->pair.x += h->pair.y;
    h->text[i % 5] = h->kind;
    x[3 * i] = h->weight;
    x[3 * i + 1] = (f64)h->stamp + h->row[0];
    x[3 * i + 2] = f32(h->half) + h->pair.x;
}

static struct header changed(struct header h, struct point p)
{
    h.at = p;
    h.length += h.port;
    h.row[0] = (i32)h.length;
    return h;
}
static u64 sum_of(const struct outer *o)
{
    return o->inner[1].length + (u64)o->inner[0].stamp + o->last + o->far.tag + (u8)o->first;
}
//! run packed_whole block=32 (u8[4960]:bits, u64[64])
kernel void packed_whole(u8 *bytes, u64 *out)
{
    shared struct outer all[32];
    u32 i = thread_x();
    struct outer *o = (struct outer *)bytes + i;
    o->far.x = o->inner[0].at.x = o->inner[1].scale = 1.5f;
    o->inner[0].is_last = o->inner[1].is_last = false;
    struct outer mine = *o, kept[2] = {{1, .last = i}, {.far = {1, 2, 3}, .inner[1].row[1] = 7}};
    struct point p = mine.inner[0].at, q = {.tag = (u16)i};
    mine.inner[1] = changed(mine.inner[0], p);
    kept[i & 1].inner[i >> 1 & 1] = mine.inner[1];
    all[i] = kept[i & 1];
    all[i].far = i & 2 ? p : q;
    barrier();
    u32 other = 31 - i;
    out[2 * i] = sum_of(&all[other]) + sum_of(&kept[0]);
    out[2 * i + 1] = all[other].far.tag + kept[1].inner[1].length + (u64)kept[1].inner[1].row[1];
    o->inner[1].row[0] = (kept[i & 1].inner[0] = mine.inner[1]).row[0];
    o->last = (o->far = q).tag;
}

//! run packed_fields block=64 (u8[2048]:bits, u64[256])
kernel void packed_fields(u8 *bytes, u64 *out)
{
    u32 i = thread_x();
    two *t = (two *)bytes + i;
    struct bits b = t->d;
    out[4 * i] = b.a + (u64)b.b * 3 + (u64)(b.c + 16);
    out[4 * i + 1] = (u64)(i64)b.e ^ b.f;
    t->d.b = t->d.a * 5u;
    t->d.c++;
    t->d.e -= i;
    t->d.f ^= 77u;
    out[4 * i + 2] = t->b + t->d.b;
    t->b = t->e;
    struct one_member m = {.b = (u32)t->b, .e = t->d.c}, n = m;
    n.e -= (i32)(i & 3);
    n.d = (u16)(t->a & 7u);
    out[4 * i + 3] = (u64)(n.e + 100) + n.d + n.b;
}

//! run packed_unions block=64 (u8[768]:bits, u64[64])
kernel void packed_unions(u8 *bytes, u64 *out)
{
    u32 i = thread_x();
    union words w = *((union words *)(void *)bytes + i), v;
    w.parts.wide += w.parts.skip;
    v = w;
    v.bytes[1] ^= 1;
    w.parts.tail = (u16)(v.parts.tail + v.n);
    out[i] = v.parts.wide * 3 + w.parts.tail + w.n;
}

static const struct header table[3] = {{1, 2, 3, -4, 0.5, 2.5f, .row = {7, 8, 9}, .text = "abc"},
                                       {.stamp = 1ll << 40, .at = {1, 2, 3}},
                                       {.pair = {3, 4}, .is_last = true}};
//! run packed_tables block=32 (f64[32])
kernel void packed_tables(f64 *out)
{
    u32 i = thread_x();
    const struct header *h = &table[i % 3];
    out[i] = h->weight + h->row[i & 1] + (f64)h->stamp + h->at.y + h->pair.x + h->text[1] + h->is_last;
}

//! run packed_bytewise block=32 (u8[2144]:bits, u32[32])
kernel void packed_bytewise(u8 *bytes, u32 *out)
{
    u32 i = thread_x();
    struct header *h = (struct header *)bytes + i;
    u32 sum = 0;
    const u8 *p = (const u8 *)(void *)&h->stamp;
    for (u32 k = 0; k < sizeof h->stamp; k++)
        sum += p[k];
    struct aligned_four f = {.b = sum, .c = h->length};
    f.c += f.b++;
    out[i] = (u32)f.c + f.b + f.d;
    volatile struct header *v = h;
    v->length = v->port;
}

#define LARGER(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
static void twice(u32 *x)
{
    *x *= 2;
}
//! run packed_typeof block=32 (u8[2144]:bits, u32[32])
kernel void packed_typeof(u8 *bytes, u32 *out)
{
    u32 i = thread_x();
    const struct header *h = (const struct header *)bytes + i;
    __typeof__(h->row) row = {1, 2, 3};
    const i32 *p = row;
    u32 length = LARGER(h->length, 7u) + (u32)p[i % 3] + h->at.tag;
    twice(&length);
    out[i] = length + _Generic(h->length, u32: 1u, default: 2u);
}
