#include <kiln/kernel.h>

kernel void scale(i32 a_long_name, i32 another_long_name, i32 a_third_long_name, i32 a_fourth_long_name, f16 widened, i32 *out) { out[0] = a_long_name + another_long_name + a_third_long_name + (i32)(f32)widened + a_fourth_long_name; }
