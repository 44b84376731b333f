// Structs, unions, arrays, pointers, initialisers, enums, constant tables.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wmissing-braces"

typedef struct point {
    f32 x, y;
} point;
typedef struct particle {
    point at, speed;
    f32 mass;
    i32 id;
} particle;

//! run struct_members block=32 (particle[32]:sym9@f32, f32=0.5)
kernel void struct_members(particle *p, f32 dt)
{
    particle *me = &p[thread_x()];
    me->at.x += me->speed.x * dt;
    me->at.y += (*me).speed.y * dt;
    me->mass *= 2;
    p[thread_x()].id = (i32)thread_x();
}

//! run struct_copies block=32 (particle[32]:rand@f32, particle[32])
kernel void struct_copies(const particle *in, particle *out)
{
    particle a = in[thread_x()], b = in[31 - thread_x()], c;
    c = a;
    c.speed = b.at;
    if (a.mass > b.mass)
        c.at = b.speed;
    particle *p = &c;
    p->mass = a.mass + b.mass;
    out[thread_x()] = *p;
}

static point add(point a, point b)
{
    return (point){a.x + b.x, a.y + b.y};
}
static particle moved(particle p, f32 dt)
{
    p.at = add(p.at, (point){p.speed.x * dt, p.speed.y * dt});
    return p;
}
//! run struct_by_value block=32 (particle[32]:rand@f32, f32=0.25)
kernel void struct_by_value(particle *p, f32 dt)
{
    p[thread_x()] = moved(moved(p[thread_x()], dt), dt * 2);
}

typedef struct settings {
    i32 offset, scale;
    f32 weights[3];
    u8 flags[4];
} settings;
//! run struct_argument block=32 (settings:mod9@i32, i32[32]:iota, f32[32])
kernel void struct_argument(settings s, const i32 *in, f32 *out)
{
    i32 x = in[thread_x()] * s.scale + s.offset;
    f32 w = (f32)bits_f32(s.weights[x % 3]);
    s.offset = 99;
    out[thread_x()] = (f32)x + w + (f32)s.flags[x & 3] + (f32)s.offset;
}

typedef union word {
    u32 whole;
    u16 halves[2];
    u8 bytes[4];
    f32 real;
} word;
//! run unions block=64 (u32[64]:bits, u32[320])
kernel void unions(const u32 *in, u32 *out)
{
    word w;
    w.whole = in[thread_x()];
    u32 *o = out + 5 * thread_x();
    o[0] = w.bytes[0] + w.bytes[3] * 256u;
    o[1] = w.halves[1];
    w.bytes[1] = 0x5a;
    o[2] = w.whole;
    w.halves[0] += 3;
    o[3] = w.whole;
    w.real = 1.5f;
    o[4] = w.whole;
}

typedef struct tagged {
    u32 kind;
    union {
        i32 whole;
        f32 real;
        struct {
            u16 low, high;
        };
    };
} tagged;
//! run anonymous_members block=48 (tagged[48]:mod3@u32, f32[48])
kernel void anonymous_members(tagged *t, f32 *out)
{
    tagged *me = &t[thread_x()];
    me->high = 16256; // 1.0f and a little
    if (me->kind == 0)
        out[thread_x()] = (f32)me->whole;
    else if (me->kind == 1)
        out[thread_x()] = me->real;
    else
        out[thread_x()] = (f32)(me->low + me->high);
}

//! run local_arrays block=32 (i32[32]:rand, i32[32])
kernel void local_arrays(const i32 *in, i32 *out)
{
    i32 a[16], b[4][4];
    for (i32 i = 0; i < 16; i++)
        a[i] = in[(thread_x() + (u32)i) % 32];
    for (i32 i = 0; i < 4; i++)
        for (i32 j = 0; j < 4; j++)
            b[j][i] = a[i * 4 + j];
    i32 sum = 0;
    for (i32 i = 0; i < 16; i++)
        sum = sum * 31 + b[i / 4][i % 4];
    i32 k = in[thread_x()] & 15;
    out[thread_x()] = sum ^ a[k] ^ b[k >> 2][k & 3];
}

//! run three_dimensions block=24 (i32[24]:iota, i32[24])
kernel void three_dimensions(const i32 *in, i32 *out)
{
    i32 a[2][3][4];
    i32 n = 0;
    for (i32 i = 0; i < 2; i++)
        for (i32 j = 0; j < 3; j++)
            for (i32 k = 0; k < 4; k++)
                a[i][j][k] = n++ * in[thread_x()];
    i32 *flat = &a[0][0][0];
    i32(*plane)[3][4] = &a[1];
    i32(*row)[4] = a[0];
    out[thread_x()] = flat[thread_x()] + (*plane)[2][3] + row[1][2] + a[1][0][3] * 3;
}

//! run bubble_sort block=16 (u32[256]:rand, u32[256])
kernel void bubble_sort(const u32 *in, u32 *out)
{
    u32 a[16];
    for (u32 i = 0; i < 16; i++)
        a[i] = in[thread_x() * 16 + i];
    for (u32 i = 0; i < 16; i++)
        for (u32 j = 0; j + 1 < 16 - i; j++)
            if (a[j] > a[j + 1]) {
                u32 t = a[j];
                a[j] = a[j + 1];
                a[j + 1] = t;
            }
    for (u32 i = 0; i < 16; i++)
        out[thread_x() * 16 + i] = a[i];
}

//! run pointers block=32 (i32[64]:rand, i32[64])
kernel void pointers(const i32 *in, i32 *out)
{
    const i32 *p = in + thread_x(), *end = in + 64;
    i32 sum = 0;
    while (p < end) {
        sum = sum * 3 + *p;
        p += 5;
    }
    const i32 *q = &in[63];
    i64 distance = q - in;
    q -= 3;
    sum += *q--;
    sum += *--q;
    sum += (i32)distance + (q > in) + (q != end) * 2;
    const i32 *walk = in;
    sum += *walk++;
    sum += *++walk;
    sum ^= walk[-1] ^ *(walk + 2) ^ 3 [walk];
    out[thread_x()] = sum;
    i32 *o = out + 32 + thread_x();
    *o = (i32)(walk - in);
}

static void swap(i32 *a, i32 *b)
{
    i32 t = *a;
    *a = *b;
    *b = t;
}
static i32 *larger(i32 *a, i32 *b)
{
    return *a > *b ? a : b;
}
//! run pointer_arguments block=32 (i32[64]:rand, i32[64])
kernel void pointer_arguments(i32 *in, i32 *out)
{
    u32 i = thread_x();
    i32 x = in[i], y = in[32 + i];
    swap(&x, &y);
    *larger(&x, &y) -= 1000;
    swap(&in[i], &in[32 + i]);
    *larger(in + i, in + 32 + i) += 7;
    out[i] = x;
    out[32 + i] = y;
}

//! run pointer_to_pointer block=16 (i32[16]:rand, i32[16])
kernel void pointer_to_pointer(const i32 *in, i32 *out)
{
    i32 a = in[thread_x()], b = a * 2, *p = &a, **pp = &p;
    **pp += 1;
    if (a & 2)
        *pp = &b;
    **pp *= 3;
    *p -= 5;
    out[thread_x()] = a ^ b;
}

//! run byte_view block=32 (u32[32]:bits, u8[128], u32[32])
kernel void byte_view(const u32 *in, u8 *bytes, u32 *out)
{
    u32 x = in[thread_x()];
    const u8 *p = (const u8 *)&x;
    for (u32 i = 0; i < 4; i++)
        bytes[4 * thread_x() + i] = p[3 - i];
    u8 raw[8] = {0};
    *(u16 *)(raw + 2) = (u16)x;
    raw[5] = (u8)(x >> 24);
    out[thread_x()] = *(const u32 *)(raw + 4) + *(const u32 *)(const void *)raw;
}

//! run initialisers block=8 (i32[8]:iota, i32[128])
kernel void initialisers(const i32 *in, i32 *out)
{
    i32 x = in[thread_x()];
    i32 a[5] = {1, x, 3};
    i32 b[] = {x, x + 1, x + 2, [6] = 9, 10, [1] = -1};
    i32 c[2][3] = {{1, 2}, {x}};
    i32 d[2][2] = {1, 2, 3, x};
    point p = {.y = 2}, q = {(f32)x, 1};
    particle r = {.at.x = 5, .speed = {.y = 3}, .id = x};
    particle s[2] = {[1] = {.mass = 7, .at = {1, 2}}, [0].id = x * 2};
    tagged t = {1, {.real = 2.5f}};
    i32 *o = out + 16 * thread_x();
    o[0] = a[0] + a[1] * 10 + a[2] * 100 + a[3] + a[4];
    o[1] = (i32)(sizeof b / sizeof b[0]);
    o[2] = b[0] + b[1] * 10 + b[2] * 100 + b[3] + b[6] * 1000 + b[7] * 10000;
    o[3] = c[0][0] + c[0][1] * 10 + c[0][2] * 100 + c[1][0] * 1000 + c[1][2];
    o[4] = d[0][0] + d[0][1] * 10 + d[1][0] * 100 + d[1][1] * 1000;
    o[5] = (i32)(p.x * 10 + p.y + q.x * 100 + q.y * 1000);
    o[6] = (i32)(r.at.x + r.at.y + r.speed.x * 10 + r.speed.y * 100) + r.id + (i32)r.mass;
    o[7] = (i32)(s[1].mass + s[1].at.y * 10) + s[0].id * 100 + s[1].id;
    o[8] = (i32)(t.real * 2);
    i32 zero[9] = {0};
    o[9] = zero[8];
    i32 scalar = {x};
    o[10] = scalar;
    o[11] = (i32[]){4, 5, 6}[x % 3];
    o[12] = (i32)((point){.x = 3, .y = 4}).y;
    const point *lit = &(point){7, (f32)x};
    o[13] = (i32)(lit->x + lit->y);
}

static const u32 squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
static const f32 filter[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
static const point corners[] = {{0, 0}, {1, 0}, {1, 1}, {.y = 1}};
static const i8 text[] = "kiln";
//! run constant_tables block=32 (u32[32]:iota, f32[32])
kernel void constant_tables(const u32 *in, f32 *out)
{
    static const u8 primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
    u32 i = in[thread_x()];
    f32 sum = 0;
    for (u32 y = 0; y < 3; y++)
        for (u32 x = 0; x < 3; x++)
            sum += filter[y][x] * (f32)(i + x + y);
    out[thread_x()] = sum + (f32)squares[i % 8] * 1000 + corners[i % 4].x - corners[i / 2 % 4].y +
                      (f32)primes[i % 8] + (f32)text[i % 5];
}

enum colour { RED, GREEN = 5, BLUE, LAST = BLUE + 10 };
typedef enum signedness { BELOW = -3, ABOVE = 3 } signedness;
//! run enums block=16 (i32[16]:iota, i32[48])
kernel void enums(const i32 *in, i32 *out)
{
    enum colour c = in[thread_x()] & 1 ? GREEN : BLUE;
    signedness s = in[thread_x()] & 2 ? BELOW : ABOVE;
    enum { LOCAL = LAST * 2, ARRAY = 4 };
    i32 a[ARRAY] = {LOCAL, RED, GREEN, LAST};
    out[3 * thread_x()] = c == GREEN ? a[0] : a[3];
    out[3 * thread_x() + 1] = s < 0 ? s : s * 10;
    switch (c) {
    case RED: out[3 * thread_x() + 2] = 1; break;
    case GREEN: out[3 * thread_x() + 2] = 2; break;
    case BLUE: out[3 * thread_x() + 2] = 3; break;
    case LAST: break;
    }
}

typedef struct mixed {
    u8 a;
    u32 b;
    i16 c;
    f64 d;
    bool e;
    f16 f;
    u8 g[3];
} mixed;
typedef struct packed_pair {
    _Alignas(16) f32 a;
    u8 b;
} packed_pair;
//! run layout block=1 (u64[32])
kernel void layout(u64 *out)
{
    mixed m = {0};
    mixed two[2];
    u32 n = 0;
    out[n++] = sizeof(mixed);
    out[n++] = _Alignof(mixed);
    out[n++] = (u64)((u8 *)&m.b - (u8 *)&m);
    out[n++] = (u64)((u8 *)&m.c - (u8 *)&m);
    out[n++] = (u64)((u8 *)&m.d - (u8 *)&m);
    out[n++] = (u64)((u8 *)&m.e - (u8 *)&m);
    out[n++] = (u64)((u8 *)&m.f - (u8 *)&m);
    out[n++] = (u64)((u8 *)&m.g - (u8 *)&m);
    out[n++] = (u64)((u8 *)&two[1] - (u8 *)&two[0]);
    out[n++] = sizeof(packed_pair) * 100 + _Alignof(packed_pair);
    out[n++] = sizeof(word) + sizeof(tagged) * 100;
    out[n++] = sizeof(char) + sizeof(short) * 10 + sizeof(int) * 100 + sizeof(long) * 1000 +
               sizeof(long long) * 10000;
    out[n++] = sizeof(float) + sizeof(double) * 10 + sizeof(bool) * 100 + sizeof(void *) * 1000 +
               sizeof(size_t) * 10000;
    out[n++] =
        sizeof(f32x4) + sizeof(f32x3) * 100 + sizeof(u8x16) * 10000 + _Alignof(f32x4) * 1000000;
    out[n++] =
        _Alignof(f32x3) + _Alignof(i8x2) * 10 + _Alignof(f64x2) * 100 + _Alignof(f16x8) * 10000;
    out[n++] = sizeof two + sizeof m.g + sizeof "text" + sizeof 'c' + sizeof(u8[3][5]);
    out[n++] = sizeof(n + 1ull) + sizeof(n++) + sizeof(m.a + m.a);
    out[n++] = sizeof(enum colour) + sizeof(settings);
    out[n++] = offsetof(mixed, d) + offsetof(particle, speed.y) * 100;
}

//! run array_of_structs block=32 (point[256]:rand@f32, point[32])
kernel void array_of_structs(const point *in, point *out)
{
    point ring[8];
    for (u32 i = 0; i < 8; i++) {
        ring[i].x = in[thread_x() * 8 + i].y;
        ring[(i + 3) % 8].y = in[thread_x() * 8 + i].x;
    }
    point sum = {0, 0};
    for (u32 i = 0; i < 8; i++) {
        point *p = &ring[i ^ 5];
        sum.x += p->x * p->y;
        sum.y += p->x - p->y;
    }
    out[thread_x()] = sum;
}

typedef struct matrix {
    f32 m[4][4];
} matrix;
static matrix multiply(const matrix *a, const matrix *b)
{
    matrix c = {{{0}}};
    for (u32 i = 0; i < 4; i++)
        for (u32 j = 0; j < 4; j++)
            for (u32 k = 0; k < 4; k++)
                c.m[i][j] += a->m[i][k] * b->m[k][j];
    return c;
}
//! run matrices block=8 (matrix[8]:sym5@f32, matrix[8])
kernel void matrices(const matrix *in, matrix *out)
{
    matrix square = multiply(&in[thread_x()], &in[thread_x()]);
    out[thread_x()] = multiply(&square, &in[7 - thread_x()]);
}

typedef u32 row[4];
//! run array_typedefs block=16 (row[16]:iota@u32, u32[16])
kernel void array_typedefs(row *rows, u32 *out)
{
    row mine;
    for (u32 i = 0; i < 4; i++)
        mine[i] = rows[thread_x()][3 - i];
    for (u32 i = 0; i < 4; i++)
        rows[thread_x()][i] = mine[i] * 2;
    out[thread_x()] = mine[0] + rows[thread_x()][3];
}

//! run volatile_and_const block=16 (i32[16]:rand, i32[16])
kernel void volatile_and_const(const i32 *restrict in, volatile i32 *out)
{
    const i32 x = in[thread_x()];
    volatile i32 y = x;
    y += 1;
    y += y;
    out[thread_x()] = y;
    out[thread_x()] += 1;
    register i32 z = x;
    out[thread_x()] ^= z;
}

//! run pointer_integers block=8 (u32[8]:rand, u32[8])
kernel void pointer_integers(u32 *in, u32 *out)
{
    u64 address = (u64)(in + thread_x());
    u32 *back = (u32 *)address;
    out[thread_x()] = *back + (u32)((u64)(in + 3) - (u64)in) + (u32)(address & 3);
}
