// An index within offsetof without a value and its closing bracket: an error.
#include <kiln/kernel.h>
#include <stddef.h>
typedef struct rows { f32 at[4]; } rows;
kernel block(64) void f(u64 *x)
{
    x[0] = offsetof(rows, at[);
}
