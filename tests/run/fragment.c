// Matrix fragments: loads of all layouts, products, stores. Floats here are small integers, so that
// sums are exact and every device must give the same bits.
#include <kiln/kernel.h>

//! run product_{f16,bf16} block=64 ($1[512]:sym3, $1[512]:sym3, f32[512]:sym3)
//! run product_{f16,bf16} grid=2 block=32 ($1[512]:sym3, $1[512]:sym3, f32[512]:sym3)
#define PRODUCT(T)                                                                                 \
    kernel void product_##T(const T *a, const T *b, f32 *c)                                        \
    {                                                                                              \
        u32 w = block_x() * warp_count() + warp(), x[4], y[4];                                     \
        f32 sum[8];                                                                                \
        for (u32 i = 0; i < 8; i++)                                                                \
            sum[i] = c[w * 256 + fragment_row(i) * 16 + fragment_column(i)];                       \
        fragment_load_a(x, a + w * 256, 16);                                                       \
        fragment_load_b_t(y, b + w * 256, 16);                                                     \
        fragment_multiply_##T(sum, x, y);                                                          \
        fragment_load_a_t(x, a + w * 256, 16);                                                     \
        fragment_load_b(y, b + w * 256, 16);                                                       \
        fragment_multiply_##T(sum, x, y);                                                          \
        fragment_store(c + w * 256, 16, sum);                                                      \
    }
PRODUCT(f16)
PRODUCT(bf16)

//! run bytes block=64 (i8[1024]:bits, i8[1024]:bits, i32[512]:bits)
kernel void bytes(const i8 *a, const i8 *b, i32 *c)
{
    u32 w = warp(), x[4], y[4];
    i32 sum[8];
    for (u32 i = 0; i < 8; i++)
        sum[i] = c[w * 256 + fragment_row(i) * 16 + fragment_column(i)];
    fragment_load_a(x, a + w * 512, 32);
    fragment_load_b_t(y, b + w * 512, 32);
    fragment_multiply_i8(sum, x, y);
    fragment_load_a_t(x, a + w * 512, 16);
    fragment_load_b(y, b + w * 512, 16);
    fragment_multiply_i8(sum, x, y);
    fragment_store(c + w * 256, 16, sum);
}

// Against the definition, element by element; out counts what differs.
//! run defined block=32 (f16[320]:sym5, f16[320]:sym5, u32[32])
kernel void defined(const f16 *a, const f16 *b, u32 *out)
{
    u32 x[4], y[4], wrong = 0;
    f32 sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    fragment_load_a(x, a, 20);
    fragment_load_b(y, b, 17);
    fragment_multiply_f16(sum, x, y);
    for (u32 i = 0; i < 8; i++) {
        f32 want = 0;
        for (u32 k = 0; k < 16; k++)
            want += f32(a[fragment_row(i) * 20 + k]) * f32(b[k * 17 + fragment_column(i)]);
        wrong += sum[i] != want;
    }
    out[lane()] = wrong;
}

// Fragments of shared memory, in a loop.
//! run loop block=64 (i8[2048]:bits, i8[2048]:bits, i32[512])
kernel block(64) void loop(const i8 *a, const i8 *b, i32 *c)
{
    shared i8 tile_a[32 * 64], tile_b[16 * 128]; // two warps, 16 rows each; 16 columns
    for (u32 i = thread_x(); i < 2048; i += 64) {
        tile_a[i] = a[i];
        tile_b[i] = b[i];
    }
    barrier();
    u32 x[4], y[4];
    i32 sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (u32 k = 0; k < 64; k += 32) {
        fragment_load_a(x, tile_a + warp() * 16 * 64 + k, 64);
        fragment_load_b_t(y, tile_b + k, 128);
        fragment_multiply_i8(sum, x, y);
    }
    fragment_store(c + warp() * 256, 16, sum);
}

// The same loads from shared memory in lines of 16 bytes; out counts the words that differ.
//! run fetched_{f16,bf16,i8} block=32 ($1[2048]:bits, u32[32])
#define FETCHED(T)                                                                                 \
    kernel block(32) void fetched_##T(const T *a, u32 *out)                                        \
    {                                                                                              \
        _Alignas(16) shared T tile[2048];                                                          \
        for (u32 i = thread_x(); i < 2048; i += 32)                                                \
            tile[i] = a[i];                                                                        \
        barrier();                                                                                 \
        u32 x[4], y[4], wrong = 0;                                                                 \
        fragment_load_a(x, tile + 16, 48);                                                         \
        fragment_fetch_a(y, tile + 16, 48);                                                        \
        for (u32 i = 0; i < 4; i++)                                                                \
            wrong += x[i] != y[i];                                                                 \
        fragment_load_a_t(x, tile + 16, 48);                                                       \
        fragment_fetch_a_t(y, tile + 16, 48);                                                      \
        for (u32 i = 0; i < 4; i++)                                                                \
            wrong += x[i] != y[i];                                                                 \
        fragment_load_b(x, tile + 32, 32);                                                         \
        fragment_fetch_b(y, tile + 32, 32);                                                        \
        for (u32 i = 0; i < 4; i++)                                                                \
            wrong += x[i] != y[i];                                                                 \
        fragment_load_b_t(x, tile + 32, 64);                                                       \
        fragment_fetch_b_t(y, tile + 32, 64);                                                      \
        for (u32 i = 0; i < 4; i++)                                                                \
            wrong += x[i] != y[i];                                                                 \
        out[lane()] = wrong;                                                                       \
    }
FETCHED(f16)
FETCHED(bf16)
FETCHED(i8)
