// A host function whose parameter has no known type: that is said once, and a call of it is no mistake of Kiln's own.
#include <kiln/kernel.h>

host void anything(const unknown *data);

kernel block(32) void run(f32 *x)
{
    anything(x);
}
