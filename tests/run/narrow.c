// Storage floats: every bit pattern widened, edges and random numbers narrowed, packed pairs.
#include <kiln/kernel.h>

#define WIDEN(H, B)                                                                                \
    kernel void widen_##H(const H *a, f32 *out)                                                    \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = f32(a[i]);                                                                        \
    }                                                                                              \
    kernel void all_##H(f32 *out, u32 count)                                                       \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        if (i < count)                                                                             \
            out[i] = f32(H##_from_bits((B)i));                                                     \
    }                                                                                              \
    kernel void narrow_##H(const f32 *a, H *out)                                                   \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = to_##H(a[i]);                                                                     \
    }                                                                                              \
    kernel void round_trip_##H(const H *a, H *out)                                                 \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = to_##H(f32(a[i]));                                                                \
    }                                                                                              \
    kernel void ties_##H(H *out)                                                                   \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        f32 low = f32(H##_from_bits((B)i)), high = f32(H##_from_bits((B)(i + 1)));                 \
        out[3 * i] = to_##H((low + high) * 0.5f);                                                  \
        out[3 * i + 1] = to_##H(f32_from_bits(bits_f32((low + high) * 0.5f) - 1));                 \
        out[3 * i + 2] = to_##H(f32_from_bits(bits_f32((low + high) * 0.5f) + 1));                 \
    }
//! run widen_{f16,bf16,f8e4,f8e5} grid=4 block=64 ($1[256]:bits, f32[256])
//! run narrow_{f16,bf16,f8e4,f8e5} grid=4 block=64 (f32[256]:edge, $1[256])
//! run narrow_{f16,bf16,f8e4,f8e5} grid=4 block=64 (f32[256]:rand, $1[256])
//! run narrow_{f16,bf16,f8e4,f8e5} grid=16 block=64 (f32[1024]:bits, $1[1024])
//! run round_trip_{f16,bf16,f8e4,f8e5} grid=8 block=64 ($1[512]:bits, $1[512])
//! run all_{f16,bf16} grid=256 block=256 (f32[65536], u32=65536)
//! run all_{f8e4,f8e5} grid=4 block=64 (f32[256], u32=256)
//! run ties_f8e4 grid=2 block=62 (f8e4[372])
//! run ties_f8e5 grid=2 block=61 (f8e5[366])
//! run ties_{f16,bf16} grid=120 block=256 ($1[92160])
WIDEN(f16, u16)
WIDEN(bf16, u16)
WIDEN(f8e4, u8)
WIDEN(f8e5, u8)

//! run f32_of_everything block=64 (i32[64]:edge, u32[64]:edge, i64[64]:edge, u64[64]:edge, f64[64]:edge, f32[320])
kernel void f32_of_everything(const i32 *a, const u32 *b, const i64 *c, const u64 *d, const f64 *e,
                              f32 *out)
{
    u32 i = thread_x();
    out[5 * i] = f32(a[i]);
    out[5 * i + 1] = f32(b[i]);
    out[5 * i + 2] = f32(c[i]);
    out[5 * i + 3] = f32(d[i]);
    out[5 * i + 4] = f32(e[i]);
}

#define PAIR2(name, H)                                                                             \
    kernel void name##_##H(const H##x2 *a, const H##x2 *b, H##x2 *out)                             \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = name(a[i], b[i]);                                                                 \
    }
#define PAIRS(H)                                                                                   \
    PAIR2(add2, H)                                                                                 \
    PAIR2(sub2, H)                                                                                 \
    PAIR2(mul2, H)                                                                                 \
    PAIR2(min2, H)                                                                                 \
    PAIR2(max2, H)                                                                                 \
    kernel void fma2_##H(const H##x2 *a, const H##x2 *b, const H##x2 *c, H##x2 *out)               \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = fma2(a[i], b[i], c[i]);                                                           \
    }                                                                                              \
    kernel void to_pair_##H(const f32 *a, H##x2 *out)                                              \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = to_##H##x2(a[i], -a[i]);                                                          \
    }                                                                                              \
    kernel void pair_members_##H(const H##x2 *a, f32 *out)                                         \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        H##x2 p = a[i];                                                                            \
        out[2 * i] = f32(p.x);                                                                     \
        out[2 * i + 1] = f32(p.y);                                                                 \
    }
//! run {add2,sub2,mul2,min2,max2}_{f16,bf16} grid=4 block=32 ($2x2[128]:edge, $2x2[128]:edge2, $2x2[128])
//! run {add2,sub2,mul2,min2,max2}_{f16,bf16} grid=8 block=64 ($2x2[512]:bits, $2x2[512]:bits, $2x2[512])
//! run fma2_{f16,bf16} grid=32 block=64 ($1x2[2048]:edge, $1x2[2048]:edge2, $1x2[2048]:edge3, $1x2[2048])
//! run fma2_{f16,bf16} grid=32 block=64 ($1x2[2048]:bits, $1x2[2048]:bits, $1x2[2048]:bits, $1x2[2048])
//! run to_pair_{f16,bf16} grid=2 block=64 (f32[128]:rand, $1x2[128])
//! run pair_members_{f16,bf16} grid=2 block=64 ($1x2[128]:bits, f32[256])
PAIRS(f16)
PAIRS(bf16)

//! run axpy_bf16 grid=2 block=40 (bf16[64]:sym9, bf16[64]:sym9, f32=0.25, i64=64)
kernel void axpy_bf16(bf16 *restrict y, const bf16 *restrict x, f32 a, i64 n)
{
    i64 i = global_x();
    if (i < n)
        y[i] = to_bf16(a * f32(x[i]) + f32(y[i]));
}

//! run copies_of_narrow block=32 (f16[32]:bits, bf16[32]:bits, f8e4[32]:bits, f8e5[32]:bits)
kernel void copies_of_narrow(f16 *a, bf16 *b, f8e4 *c, f8e5 *d)
{
    shared f16 tile[32];
    u32 i = thread_x();
    tile[i] = a[i];
    bf16 other = b[31 - i];
    f8e4 local[2] = {c[i], c[31 - i]};
    struct {
        f8e5 e;
        f16 h;
    } both = {d[31 - i], a[i]};
    barrier();
    a[i] = tile[31 - i];
    bf16 mine = b[i];
    barrier();
    b[i] = i & 1 ? other : mine;
    c[i] = local[i & 1];
    d[i] = both.e;
}
