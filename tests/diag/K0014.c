// A wide string: an error with a fix-it that drops the prefix.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    printf(L"hello\n");
}
