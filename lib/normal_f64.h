// Normal f64 numbers from random words (Box and Muller) in Kiln C; host compilers read the same text.
#ifndef KILN_LIB_NORMAL_F64_H
#define KILN_LIB_NORMAL_F64_H
#include "log_f64.h"
#include "trig_f64.h"

static inline f64x2 k_normal_f64(u32x4 bits)
{
    u64 a = (u64)bits.x << 32 | bits.y, b = (u64)bits.z << 32 | bits.w;
    f64 radius = sqrt(-2.0 * k_log_f64(fma((f64)(a >> 11), 0x1p-53, 0x1p-54)));
    k_turn64 turn = k_turn_f64((f64)((i64)b >> 11) * 0x1.921fb54442d18p-51);
    f64 y = k_sin_of_turn_f64(turn);
    turn.quadrant += 1;
    return (f64x2){radius * k_sin_of_turn_f64(turn), radius * y};
}
#endif
