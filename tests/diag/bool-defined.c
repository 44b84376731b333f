// <stdbool.h> says that it was there, with a value that #if and the program see alike.
#include <stdbool.h>
#include <kiln/kernel.h>

#if __bool_true_false_are_defined != 1
#error it must be 1
#endif
_Static_assert(__bool_true_false_are_defined == 1 && true == 1 && false == 0, "");
kernel block(32) void f(bool *x)
{
    x[0] = true;
}
