// A member that is a function, where a pointer to one was meant.
#include <kiln/kernel.h>

struct shape {
    f32 size;
    f32 area(f32 scale);
};

kernel block(64) void f(f32 *x)
{
    struct shape s;
    x[0] = s.size;
}
