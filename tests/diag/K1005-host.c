// A host type reached from a kernel: the error stands at the declaration, and the use is labelled.
#include <kiln/kernel.h>

#include <dirent.h>

DIR *log_file;
int host_only(DIR *f);

kernel void f(f32 *x)
{
    x[0] = log_file ? 1.0f : 2.0f;
}
