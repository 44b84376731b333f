// A kernel that a macro makes.
#include <kiln/kernel.h>

#define DEF_REDUCE(NAME, T)                         \
    kernel block(64) void NAME(u8 *out, const T *in) \
    {                                               \
        shared T s[64];                             \
        s[thread_x()] = in[thread_x()];             \
        barrier();                                  \
        out[thread_x()] = s[63 - thread_x()];       \
    }

DEF_REDUCE(turn_f32, f32)
DEF_REDUCE(turn_u8, u8)
