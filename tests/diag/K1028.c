// 'packed' behind the name of a typedef comes too late: compilers of C ignore it.
#include <kiln/kernel.h>

typedef struct {
    u8 kind;
    f32 value;
} item __attribute__((packed));

kernel block(64) void f(f32 *x, const item *v)
{
    x[0] = v->value;
}
