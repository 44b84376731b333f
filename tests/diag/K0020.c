// A misspelt directive: an error with "did you mean" and a fix-it.
#inclde <kiln/kernel.h>

kernel block(64) void f(f32 *x)
{
    x[0] = 1;
}
