// #line names another file and another line; the text shown is the one that is compiled.
#include <kiln/kernel.h>

kernel block(64) void k(i32 *out, f32 y)
{
#line 700 "template.in"
    out[0] = y;
#line 90
    out[1] = y; out[2] = missing;
}
