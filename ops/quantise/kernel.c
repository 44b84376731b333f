// Floats as affine numbers of eight bits. A thread has a pack of V neighbours, which share scale and
// zero point, for several steps of the outermost loop.
//
// An integer is the one nearest to a / scale. Conversions, and what checks the operands of a
// division, would take four instructions of a GPU's slowest pipe for every element; the steps of the
// division itself take none of it, and they need no check where the scale is neither tiny nor huge
// and the element is cut to what the least and the largest result stand for. Adding 1.5 * 2^23
// rounds the quotient, and leaves the integer in the low byte.
#include <kiln/pack.h>

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#define NEST_OF   4
#include <kiln/nest.h>
#include <kiln/turns.h>
KERNEL_OVERLAPS
#ifndef T
#    define T f32
#    define Q i8
#    define V 4
#endif
PACK(T, V)
PACK(Q, V)

enum { X, SCALE, ZERO, OUT, THREADS = 256, PER = 2 };

struct broadcast { // from one of a thread's steps to the next, as nest_turns.steps
    i64 scale, zero;
};

// 1 / scale, rounded to nearest. On cuda these are the steps of a division without the test of its
// range.
static inline f32 reciprocal(f32 scale)
{
    if (!target_is_cuda())
        return 1.0f / scale;
    f32 r = fast_rcp(scale);
    return fma(r, fma(-scale, r, 1.0f), r);
}

static inline f32 exact(f32 a, f32 scale, f32 zero)
{
    return min(max(rint(a / scale) + zero, (f32)pack_lowest(Q)), (f32)pack_highest(Q));
}

static inline void put(Q *to, pack_raw(T, V) from, f32 scale, f32 zero)
{
    const f32 base = 12582912.0f;
    f32 a[V];
    pack_number(Q) whole[V];
    pack_open(T, V, a, from);
    if (scale >= 0x1p-60f && scale <= 0x1p60f) {
        f32 inverse = reciprocal(scale);
        f32 least = ((f32)pack_lowest(Q) - zero) * scale, most = ((f32)pack_highest(Q) - zero) * scale;
#pragma unroll
        for (u32 i = 0; i < V; i++) {
            f32 x = min(max(a[i], least), most), q = x * inverse;
            q = fma(fma(-scale, q, x), inverse, q);
            q = fma(fma(-scale, q, x), inverse, q);
            whole[i] = (pack_number(Q))(bits_f32(q + base) + (u32)(i32)zero); // pack_store cuts it
        }
    } else {
#pragma unroll
        for (u32 i = 0; i < V; i++)
            whole[i] = (pack_number(Q))exact(a[i], scale, zero);
    }
    pack_store(Q, V, to, 0, whole);
}

#ifdef HAS_ZERO
#    define ZERO_POINT(at) pack_get(Q, zero[at])
#else
#    define ZERO_POINT(at) 0
#endif

kernel block(THREADS) void quantise(const T *restrict x, const f32 *restrict scale,
#ifdef HAS_ZERO
                                    const Q *restrict zero,
#endif
                                    Q *restrict out, struct nest n, struct nest_turns turns, struct broadcast next)
{
    kernel_begin();
    u64 at = (u64)block_x() * THREADS + thread_x(), index[8];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
    const T *read = x + nest_place(&n, RANK, index, X) * V;
    Q *written = out + nest_place(&n, RANK, index, OUT) * V;
    i64 of_scale = nest_place(&n, RANK, index, SCALE), of_zero = nest_place(&n, RANK, index, ZERO);
    u64 turn = index[0], step = n.sizes[0];
    for (; turn + (PER - 1) * step < turns.count; turn += PER * step) {
        pack_raw(T, V) a[PER];
        f32 s[PER], z[PER];
#pragma unroll
        for (u32 k = 0; k < PER; k++) {
            a[k] = pack_fetch(T, V, read, 0);
            s[k] = scale[of_scale];
            z[k] = (f32)ZERO_POINT(of_zero);
            read += turns.steps[0] * V;
            of_scale += next.scale;
            of_zero += next.zero;
        }
#pragma unroll
        for (u32 k = 0; k < PER; k++, written += turns.steps[1] * V)
            put(written, a[k], s[k], z[k]);
    }
    if (turn < turns.count)
        put(written, pack_fetch(T, V, read, 0), scale[of_scale], (f32)ZERO_POINT(of_zero));
}
