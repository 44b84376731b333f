// Signs that look like one of C's, between names without a space: none is part of a name.
#include <kiln/kernel.h>

kernel block(32) void f(i32 *x, i32 a, i32 b)
{
    x[0] = a·b;
    x[0] = a×b;
    x[0] = a÷b;
    x[0] = a∗b;
    x[0] = a−b;
    x[0] = a⁄b;
    x[0] = a∕b;
    x[0] = a＊b;
    x[0] = a＋b;
    x[0] = a－b;
    x[0] = a／b;
    x[0] = a％b;
    x[0] = a＆b;
    x[0] = a｜b;
    x[0] = a＾b;
    x[0] = a＜b;
}
