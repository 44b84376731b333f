// Elementwise kernels at the speed of memory: each thread moves PER groups of four values with 16-byte accesses. n is a multiple of 4;
// x, y, out start at multiples of 16 bytes.
#include <kiln/kernel.h>

tune(PER, 1, 2, 4); // groups of a thread
enum { THREADS = 256 };

// The first group of this thread; the others follow THREADS groups apart.
static u32 first_group(void)
{
    return block_x() * (THREADS * PER) + thread_x();
}

// A body for every group g below the last, all loads before the first use.
#define FOR_GROUPS(p)                                                                              \
    _Pragma("unroll") for (u32 p = 0; p < PER; p++)

kernel block(THREADS) void add(const f32 *restrict x, const f32 *restrict y, f32 *restrict out, u32 n)
{
    u32 g = first_group(), groups = n / 4;
    f32x4 a[PER], b[PER];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            a[p] = ((const f32x4 *)x)[g + p * THREADS];
            b[p] = ((const f32x4 *)y)[g + p * THREADS];
        }
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            f32x4 v = {a[p].x + b[p].x, a[p].y + b[p].y, a[p].z + b[p].z, a[p].w + b[p].w};
            ((f32x4 *)out)[g + p * THREADS] = v;
        }
}

static f32 silu(f32 x)
{
    return x / (1.0f + exp(-x));
}

kernel block(THREADS) void silu_gate(const f32 *restrict x, const f32 *restrict gate, f32 *restrict out, u32 n)
{
    u32 g = first_group(), groups = n / 4;
    f32x4 a[PER], b[PER];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            a[p] = ((const f32x4 *)x)[g + p * THREADS];
            b[p] = ((const f32x4 *)gate)[g + p * THREADS];
        }
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            f32x4 v = {silu(a[p].x) * b[p].x, silu(a[p].y) * b[p].y, silu(a[p].z) * b[p].z, silu(a[p].w) * b[p].w};
            ((f32x4 *)out)[g + p * THREADS] = v;
        }
}

static f32 gelu_of(f32 x)
{
    return 0.5f * x * (1.0f + erf(x * 0.70710678f));
}

kernel block(THREADS) void gelu(const f32 *restrict x, f32 *restrict out, u32 n)
{
    u32 g = first_group(), groups = n / 4;
    f32x4 a[PER];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups)
            a[p] = ((const f32x4 *)x)[g + p * THREADS];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            f32x4 v = {gelu_of(a[p].x), gelu_of(a[p].y), gelu_of(a[p].z), gelu_of(a[p].w)};
            ((f32x4 *)out)[g + p * THREADS] = v;
        }
}

static f32 gelu_fast_of(f32 x)
{
    return 0.5f * x * (1.0f + fast_tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}

kernel block(THREADS) void gelu_fast(const f32 *restrict x, f32 *restrict out, u32 n)
{
    u32 g = first_group(), groups = n / 4;
    f32x4 a[PER];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups)
            a[p] = ((const f32x4 *)x)[g + p * THREADS];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            f32x4 v = {gelu_fast_of(a[p].x), gelu_fast_of(a[p].y), gelu_fast_of(a[p].z), gelu_fast_of(a[p].w)};
            ((f32x4 *)out)[g + p * THREADS] = v;
        }
}

// out[i] = scale[i / cols] * q[i]; cols is a multiple of 4. -DCOLS=n compiles for rows of that length: the division becomes a shift. Four
// fifths of the traffic are stores that nobody reads again soon, so they are marked as a stream.
#ifndef COLS
#    define COLS cols
#endif
kernel block(THREADS) void dequant(const i8 *restrict q, const f32 *restrict scale, f32 *restrict out, u32 cols, u32 n)
{
    u32 g = first_group(), groups = n / 4;
    i8x4 a[PER];
    f32 s[PER];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            a[p] = ((const i8x4 *)q)[g + p * THREADS];
            s[p] = scale[(g + p * THREADS) * 4 / COLS];
        }
    FOR_GROUPS(p)
        if (g + p * THREADS < groups) {
            f32x4 v = {s[p] * (f32)a[p].x, s[p] * (f32)a[p].y, s[p] * (f32)a[p].z, s[p] * (f32)a[p].w};
            store_stream(&((f32x4 *)out)[g + p * THREADS], v);
        }
}

// What the card gives at best: the same accesses, no arithmetic.
kernel block(THREADS) void copy(const f32 *restrict x, f32 *restrict out, u32 n)
{
    u32 g = first_group(), groups = n / 4;
    f32x4 a[PER];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups)
            a[p] = ((const f32x4 *)x)[g + p * THREADS];
    FOR_GROUPS(p)
        if (g + p * THREADS < groups)
            ((f32x4 *)out)[g + p * THREADS] = a[p];
}
