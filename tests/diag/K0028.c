// A quoted header that does not exist: an error with the searched folders; an unknown system header is no error.
#include <kiln/kernel.h>

#include <no/such/system/header.h>
#include "no-such-header.h"
kernel block(64) void f(f32 *x)
{
    x[0] = 1;
}
