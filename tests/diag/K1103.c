// A variable marked as a kernel: an error with both places.
#include <kiln/kernel.h>

kernel u32 counter;
