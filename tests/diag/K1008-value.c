// One constant with two values, a struct with two bodies, an enum constant that is there twice.
#include <kiln/kernel.h>

static const i32 size = 1;
static const i32 size = 2;

struct pair {
    i32 a;
};
struct pair {
    f32 b;
};

enum first { LEFT = 1 };
enum second { LEFT = 7 };

kernel block(1) void f(i32 *out)
{
    struct pair p = {3};
    out[0] = p.a + size + LEFT;
}
