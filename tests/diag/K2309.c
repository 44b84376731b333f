// what cannot travel to the host
#include <kiln/kernel.h>

typedef struct list {
    i32 value;
    struct list *next;
} list;
typedef struct large {
    f32 values[64];
} large;
typedef union either {
    i32 i;
    f32 f;
} either;

host void anything(const void *data);
host void linked(list l);
host large huge(void);
host void choice(either e);
host void no_such_count(counted(m) const f32 *data, i32 n);
host void float_count(counted(n) const f32 *data, f32 n);
host void counted_value(counted(n) f32 data, i32 n);
host void twenty(f64 a, f64 b, f64 c, f64 d, f64 e, f64 f, f64 g, f64 h, f64 i, f64 j, f64 k, f64 l,
                 f64 m, f64 n);
host i32 open_ended(i32 n, ...);
host void nameless(const struct { f32 x; } *data);

kernel block(32) void run(f32 *x, list *l)
{
    anything(x);
    linked(*l);
    large h = huge();
    either e = {0};
    choice(e);
    no_such_count(x, 3);
    float_count(x, 3.0f);
    counted_value(x[0], 1);
    twenty(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    open_ended(1, 2);
    nameless(NULL);
    x[0] = h.values[0];
}
