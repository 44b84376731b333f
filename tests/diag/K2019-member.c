// A struct with a const member, also inside an array, a struct or a union: no assignment as a whole.
#include <kiln/kernel.h>

struct fixed {
    const i32 id;
    i32 count;
};
struct around {
    f32 w;
    struct fixed all[2];
};
union either {
    f32 f;
    struct fixed s;
};

kernel block(1) void f(struct fixed *buffer, i32 *out)
{
    struct fixed a = {1, 2}, b = {3, 4};
    struct around c = {0}, d = {0};
    union either e = {0}, g = {0};
    a = b;
    c = d;
    e = g;
    buffer[0] = a;
    b.count = 5;
    c.w = 1;
    out[0] = a.id + b.count + c.all[0].id + e.s.id;
}
