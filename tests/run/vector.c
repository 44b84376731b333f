// Vector types: construction, members, copies through memory, every name of the table.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define COPY(V)                                                                                    \
    kernel void copy_##V(const V *in, V *out)                                                      \
    {                                                                                              \
        shared V tile[32];                                                                         \
        u32 i = thread_x();                                                                        \
        tile[i] = in[i];                                                                           \
        barrier();                                                                                 \
        V v = tile[31 - i];                                                                        \
        out[i] = v;                                                                                \
    }
//! run copy_{i8x2,i8x4,i8x8,i8x16,u8x2,u8x4,u8x8,u8x16,i16x2,i16x4,i16x8,u16x2,u16x4,u16x8,i32x2,i32x3,i32x4,u32x2,u32x3,u32x4,i64x2,u64x2} block=32 ($1[32]:bits, $1[32])
//! run copy_{f32x2,f32x3,f32x4,f64x2,f16x2,f16x4,f16x8,bf16x2,bf16x4,bf16x8,f8e4x4,f8e4x16,f8e5x4,f8e5x16} block=32 ($1[32]:bits, $1[32])
COPY(i8x2)
COPY(i8x4)
COPY(i8x8)
COPY(i8x16)
COPY(u8x2)
COPY(u8x4)
COPY(u8x8)
COPY(u8x16)
COPY(i16x2)
COPY(i16x4)
COPY(i16x8)
COPY(u16x2)
COPY(u16x4)
COPY(u16x8)
COPY(i32x2)
COPY(i32x3)
COPY(i32x4)
COPY(u32x2)
COPY(u32x3)
COPY(u32x4)
COPY(i64x2)
COPY(u64x2)
COPY(f32x2)
COPY(f32x3)
COPY(f32x4)
COPY(f64x2)
COPY(f16x2)
COPY(f16x4)
COPY(f16x8)
COPY(bf16x2)
COPY(bf16x4)
COPY(bf16x8)
COPY(f8e4x4)
COPY(f8e4x16)
COPY(f8e5x4)
COPY(f8e5x16)

static f32x4 scale(f32x4 v, f32 s)
{
    return (f32x4){v.x * s, v.y * s, v.z * s, v.w * s};
}
static f32 dot(f32x4 a, f32x4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
//! run vector_functions block=32 (f32x4[32]:rand, f32x4[32]:rand, f32x4[32], f32[32])
kernel void vector_functions(const f32x4 *a, const f32x4 *b, f32x4 *out, f32 *dots)
{
    u32 i = thread_x();
    f32x4 v = scale(a[i], 2);
    v.w += 1;
    f32 t = v.x;
    v.x = v.y;
    v.y = t;
    out[i] = v;
    dots[i] = dot(a[i], b[i]) - dot(v, v);
    out[i].z = dots[i];
}

//! run vector_views block=16 (f32[64]:rand, f32[64])
kernel void vector_views(const f32 *in, f32 *out)
{
    const f32x4 *wide = (const f32x4 *)in;
    f32x4 v = wide[thread_x()];
    const f32 *lanes = &v.x;
    f32x4 *to = (f32x4 *)out + thread_x();
    *to = (f32x4){lanes[3], lanes[2], lanes[1], lanes[0]};
    f32x2 *half = (f32x2 *)to;
    half[1].y += half[0].x;
}

//! run vector_elements block=32 (u8x16[32]:bits, u32[32])
kernel void vector_elements(const u8x16 *in, u32 *out)
{
    u8x16 v = in[thread_x()];
    u32 sum = 0;
    for (u32 i = 0; i < 16; i++)
        sum = sum * 7 + v.e[i];
    v.e[3] = (u8)sum;
    v.e[sum % 16] = 1;
    for (u32 i = 0; i < 16; i++)
        sum += v.e[15 - i] << (i % 8);
    out[thread_x()] = sum;
}

typedef struct vertex {
    f32x4 position;
    f32x3 normal;
    f32 weight;
    u8x4 colour;
    u32 pad[3];
} vertex;
//! run vectors_in_structs block=16 (vertex[16]:mod99@f32, vertex[16])
kernel void vectors_in_structs(const vertex *in, vertex *out)
{
    vertex v = in[thread_x()];
    v.position = (f32x4){v.normal.x, v.normal.y, v.normal.z, v.weight};
    v.normal.y = 0.5f;
    v.colour.z ^= 255;
    out[thread_x()] = v;
}

//! run vector_initialisers block=8 (f32[8]:iota, f32x4[8], i32x3[8], f64x2[8])
kernel void vector_initialisers(const f32 *in, f32x4 *a, i32x3 *b, f64x2 *c)
{
    f32 x = in[thread_x()];
    f32x4 v = {x, x + 1}, w = {.z = x};
    f32x4 both[2] = {{1, 2, 3, 4}, {.y = 0}};
    (void)both;
    a[thread_x()] = (f32x4){v.x, v.y, w.z, v.w};
    b[thread_x()] = (i32x3){1, (i32)x, 3};
    f64x2 d;
    d.x = x;
    d.y = -d.x;
    c[thread_x()] = d;
}

//! run vector_hints block=16 (u32x4[16]:bits, u32x4[16])
kernel void vector_hints(const u32x4 *in, u32x4 *out)
{
    prefetch(in); // none of these is more than a hint, wherever it points
    prefetch(in + thread_x());
    prefetch(in + 64 * thread_x());
    prefetch(in - thread_x());
    prefetch(in + (thread_x() * 7) % 16);
    u32x4 a = load_readonly(in + thread_x()), b = load_stream(&in[15 - thread_x()]);
    store_stream(out + thread_x(), (u32x4){a.x ^ b.x, a.y + b.y, a.z - b.z, a.w | b.w});
}

//! run half_rows block=16 (f16x8[16]:sym50, f32[16], f16x8[16])
kernel void half_rows(const f16x8 *in, f32 *sums, f16x8 *out)
{
    f16x8 row = in[thread_x()], twice;
    f32 sum = 0;
    for (u32 i = 0; i < 8; i++) {
        sum += f32(row.e[i]);
        twice.e[7 - i] = to_f16(f32(row.e[i]) * 2);
    }
    sums[thread_x()] = sum;
    out[thread_x()] = twice;
}
