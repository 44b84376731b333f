// An array without a length is the last of several members of a struct; nothing holds such a
// struct, and it has no values.
#include <kiln/kernel.h>

struct packet {
    u32 len;
    f32 data[];
};
struct middle {
    f32 data[];
    u32 len;
};
struct alone {
    f32 data[];
};
union either {
    u32 len;
    f32 data[];
};
struct outer {
    struct packet inner;
    u32 more;
};
struct old {
    u32 len;
    f32 data[0];
};

kernel block(64) void f(f32 *x, const struct packet *v, const struct middle *m,
                        const struct alone *a, const union either *e, const struct outer *o,
                        const struct old *old)
{
    struct packet several[2];
    struct packet one = {1, 2};
    struct packet named = {.data = {1, 2}};
    static const struct {
        u32 len;
        char text[];
    } text = {4, .text = "four"};
    x[0] = v->data[1] + (f32)sizeof(v->data) + one.data[0];
}
