// Normal f32 numbers from random words (Box and Muller) in Kiln C; host compilers read the same text.
#ifndef KILN_LIB_NORMAL_F32_H
#define KILN_LIB_NORMAL_F32_H
#include "log_f32.h"
#include "trig_f32.h"

// Box and Muller's two independent numbers of mean 0 and deviation 1
static inline f32x2 k_normal_f32(u32 a, u32 b)
{
    f32 radius = sqrt(-2.0f * k_log_f32(fma((f32)a, 0x1p-32f, 0x1p-33f)));
    k_turn32 turn = k_turn_f32((f32)(i32)b * 0x1.921fb6p-30f);
    f32 y = k_sin_of_turn_f32(turn);
    turn.quadrant += 1;
    return (f32x2){radius * k_sin_of_turn_f32(turn), radius * y};
}
#endif
