// A bracket that only the preprocessor sees, in code that no kernel reaches: an error with both ends.
int main(void)
{
    int a[2] = {1, (2};
    return a[0];
}

#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
