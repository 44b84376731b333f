// A header that exists but cannot be read: an error with the reason.
#include <kiln/kernel.h>

#include "/proc/self/mem"
