// One matrix instruction each, for tests/gpu/nv_matrix.c, which sets:
//   FN the builtin, ACC the accumulator's type, D_WORDS its length; mma: A_WORDS, B_WORDS; wgmma:
//   FROM_WORDS when A comes from registers, LAYOUT; ldmatrix, stmatrix: COUNT
#include <kiln/kernel.h>

#ifdef A_WORDS
kernel block(32) void multiply(const u32 *a, const u32 *b, ACC *d)
{
    u32 lane = thread_x();
    u32 left[A_WORDS], right[B_WORDS];
    ACC sum[D_WORDS];
    for (u32 i = 0; i < A_WORDS; i++)
        left[i] = a[lane * A_WORDS + i];
    for (u32 i = 0; i < B_WORDS; i++)
        right[i] = b[lane * B_WORDS + i];
    for (u32 i = 0; i < D_WORDS; i++)
        sum[i] = d[lane * D_WORDS + i];
    FN(sum, left, right);
    for (u32 i = 0; i < D_WORDS; i++)
        d[lane * D_WORDS + i] = sum[i];
}
#endif

#ifdef LAYOUT
// `image` is what shared memory holds: A, and B at b_at. The descriptors lack their address.
// Twice: first without, then with the accumulator.
kernel block(128) void multiply(const u32 *image, u32 words, u64 a, u64 b, u32 b_at,
                                const u32 *left, ACC *d)
{
    _Alignas(1024) shared u32 tile[];
    for (u32 i = thread_x(); i < words; i += 128)
        tile[i] = image[i];
    fence_async();
    barrier();
    u32 at = shared_address(tile) & 0x3ffff;
    b |= (at + b_at) >> 4;
    ACC sum[D_WORDS];
#    ifdef FROM_WORDS
    u32 from[4];
    for (u32 i = 0; i < 4; i++)
        from[i] = left[thread_x() * 4 + i];
#    else
    u64 from = a | at >> 4;
#    endif
    wgmma_fence();
#    if LAYOUT
    FN(sum, from, b, false, LAYOUT);
    FN(sum, from, b, true, LAYOUT);
#    else
    FN(sum, from, b, false);
    FN(sum, from, b, true);
#    endif
    wgmma_commit();
    wgmma_wait(0);
    for (u32 i = 0; i < D_WORDS; i++)
        d[thread_x() * D_WORDS + i] = sum[i];
}
#endif

#ifdef PATHS
// Two accumulators through branches, an inner loop and an exchange, with groups under way at every
// edge. `image` holds A and, at b_at, B, both K-major with the swizzle of 128 bytes.
kernel block(128) void paths(const u32 *image, u32 words, u32 b_at, u32 steps, f32 *out)
{
    _Alignas(1024) shared u32 tile[];
    for (u32 i = thread_x(); i < words; i += 128)
        tile[i] = image[i];
    fence_async();
    barrier();
    u64 a = wgmma_k_major(tile, 128), b = wgmma_k_major(tile + b_at / 4, 128);
    f32 d[16], e[16];
    for (u32 i = 0; i < 16; i++) {
        d[i] = 1.0f;
        e[i] = 2.0f;
    }
    for (u32 s = 0; s < steps; s++) {
        wgmma_fence();
        if (s % 3 == 0) {
            wgmma_bf16(d, a, b, true);
        } else {
            wgmma_bf16(e, a, b, true);
            if (s % 3 == 1)
                wgmma_bf16(d, a, b, true);
        }
        wgmma_commit();
        if (s % 2)
            wgmma_wait(1);
        for (u32 x = 0; x < s % 3; x++) {
            wgmma_bf16(e, a, b, true);
            wgmma_commit();
        }
        if (s % 4 == 3) {
            wgmma_wait(0);
            for (u32 i = 0; i < 16; i++) {
                f32 t = d[i];
                d[i] = e[i];
                e[i] = t;
            }
        }
    }
    wgmma_wait(0);
    for (u32 i = 0; i < 16; i++) {
        out[thread_x() * 32 + i] = d[i];
        out[thread_x() * 32 + 16 + i] = e[i];
    }
}
#endif

#ifdef COUNT
// Lane i names row i of `rows`, 16 bytes each.
kernel block(32) void load(const u32 *rows, u32 *out)
{
    shared u32 tile[128];
    for (u32 i = 0; i < 4; i++)
        tile[thread_x() * 4 + i] = rows[thread_x() * 4 + i];
    barrier();
    u32 w[COUNT];
    FN(w, &tile[thread_x() * 4]);
    for (u32 i = 0; i < COUNT; i++)
        out[thread_x() * COUNT + i] = w[i];
}

kernel block(32) void store(const u32 *words, u32 *rows)
{
    shared u32 tile[128];
    for (u32 i = 0; i < 4; i++)
        tile[thread_x() * 4 + i] = 0;
    barrier();
    u32 w[COUNT];
    for (u32 i = 0; i < COUNT; i++)
        w[i] = words[thread_x() * COUNT + i];
    STORE(&tile[thread_x() * 4], w);
    barrier();
    for (u32 i = 0; i < 4; i++)
        rows[thread_x() * 4 + i] = tile[thread_x() * 4 + i];
}
#endif
