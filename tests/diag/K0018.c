// A header without end: an error that names the limit, at once.
#include <kiln/kernel.h>

#include "/dev/zero"
