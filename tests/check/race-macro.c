// K6204: A kernel that a macro makes: both ends of the race are shown in the definition, and its use.
#include <kiln/kernel.h>

#define MAKE_SORT(T)                                              \
    kernel block(64) void sort(T *x)                              \
    {                                                             \
        shared T s[64];                                           \
        s[thread_x()] = x[thread_x()];                            \
        T mine = s[thread_x()], next = s[(thread_x() + 1) % 64];  \
        x[thread_x()] = next < mine ? next : mine;                \
    }

//! run sort grid=1 block=64 (f32[64]:iota)
MAKE_SORT(f32)
