// A plain read of what a compare and swap expects first: the swap finds out when it is out of date. Nothing must be found here.
#include <kiln/cuda.h>

//! run add_by_cas grid=2 block=48 (f64[1])
__global__ void add_by_cas(f64 *sum)
{
    unsigned long long *place = (unsigned long long *)sum, old = *place, expected;
    do {
        expected = old;
        old = atomicCAS(place, expected,
                        (u64)__double_as_longlong(threadIdx.x + __longlong_as_double((i64)expected)));
    } while (expected != old);
}

//! run max_by_cas grid=2 block=48 (f32[2])
__global__ void max_by_cas(f32 *most)
{
    int *place = (int *)&most[1], old = *place, expected;
    while (__int_as_float(old) < (f32)threadIdx.x) {
        expected = old;
        old = atomicCAS(place, expected, __float_as_int((f32)threadIdx.x));
        if (old == expected)
            break;
    }
}

//! run once block=64 (u32[1], u32[64])
__global__ void once(u32 *lock, u32 *out)
{
    __shared__ u32 taken;
    taken = 0;
    __syncthreads();
    u32 seen = taken;
    if (atomicCAS(&taken, seen, 1) == 0)
        out[0] = 1;
    lock[0] = 0;
}

//! run halves block=64 (u32[32])
__global__ void halves(u32 *out)
{
    u16 *at = (u16 *)out + threadIdx.x;
    u32 *place = (u32 *)((u64)at & ~(u64)3), old = *place, expected;
    u32 shift = (u64)at & 2 ? 16 : 0;
    do {
        expected = old;
        u32 sum = ((old >> shift & 0xffff) + 7) & 0xffff;
        old = atomicCAS(place, expected, (old & ~(0xffffu << shift)) | sum << shift);
    } while (expected != old);
}
