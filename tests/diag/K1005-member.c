// A struct that was announced and then completed with an unknown type: the use leads to the cause.
#include <kiln/kernel.h>

typedef struct shape shape;
struct shape {
    Colour c;
};

kernel block(1) void f(shape *v, f32 *out)
{
    out[0] = v->c.w;
}
