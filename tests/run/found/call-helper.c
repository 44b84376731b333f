// Division, remainder and root are partly calls of functions that the assembler adds. Here each comes after a loop that is always left by its return,
// which the assembler finds out and Kiln does not. Without the function $helpers that Kiln writes, the assembler crashes here, and the program with it
// (docs/assembler.md). From fuzz-diff, profile call, seed 22001240.
#include <kiln/kernel.h>

#define FOLDED(name, type, value) \
    static u32 name(u32 n, u32 bit, u32 a, u32 b) \
    { \
        if (n == 0) \
            return a; \
        bool is_odd = n > bit; \
        for (u32 k = 0; k < 4; k++) { \
            a += b; \
            if (k == ((u32)is_odd & 7)) \
                return a; \
        } \
        type x = (type)a, y = (type)b; \
        return name(n - 1, bit, a + (u32)(value), b) + 3; \
    }
FOLDED(divided_f32, f32, x / y)
FOLDED(root_f32, f32, sqrt(x) + y)
FOLDED(divided_f64, f64, x / y)
FOLDED(root_f64, f64, sqrt(x) + y)
FOLDED(divided_i64, i64, x / y)
FOLDED(divided_u64, u64, x / y)
FOLDED(rest_i64, i64, x % y)
FOLDED(rest_u64, u64, x % y)

//! run divided_f32_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run root_f32_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run divided_f64_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run root_f64_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run divided_i64_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run divided_u64_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run rest_i64_call grid=1 block=32 (u32[32]:rand, u32[32])
//! run rest_u64_call grid=1 block=32 (u32[32]:rand, u32[32])
#define KERNEL(name) \
    kernel void name##_call(const u32 *in, u32 *out) \
    { \
        u32 x = in[thread_x()]; \
        out[thread_x()] = name(x & 7, x >> 4, x >> 3, x >> 9); \
    }
KERNEL(divided_f32)
KERNEL(root_f32)
KERNEL(divided_f64)
KERNEL(root_f64)
KERNEL(divided_i64)
KERNEL(divided_u64)
KERNEL(rest_i64)
KERNEL(rest_u64)
