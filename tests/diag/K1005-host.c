// A host type reached from a kernel: the error stands at the declaration, and the use is labelled.
#include <kiln/kernel.h>

#include <stdio.h>

FILE *log_file;
int host_only(FILE *f);

kernel void f(f32 *x)
{
    x[0] = log_file ? 1.0f : 2.0f;
}
