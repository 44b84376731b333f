// What the kernels of softmax share, after the header that says T.
#ifndef SOFTMAX_EXP_H
#define SOFTMAX_EXP_H

#include <kiln/narrow.h>

// exp of a difference from the largest; numbers of 16 bits need fewer bits of it.
static inline f32 exp_below(f32 x)
{
    return sizeof(T) == 2 ? narrow_exp(x) : smooth_exp(x);
}

#ifdef LOG
#    define IS_LOG 1
#else
#    define IS_LOG 0
#endif

#endif
