// A prototype of a kernel without its definition: an error.
#include <kiln/kernel.h>

kernel void f(f32 *x);
