// A typedef, a table and a tag that are declared twice, differently: each use says so.
#include <kiln/kernel.h>

typedef i32 item;
typedef struct {
    i32 a;
} item;

static const i32 table[2] = {1, 2};
static const f32 table[2] = {3, 4};

kernel block(1) void f(i32 *out)
{
    item x = {3};
    out[0] = x.a + (i32)table[0];
}
