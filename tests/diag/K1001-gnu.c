// What GNU's C has beyond C: the errors say what to write instead.
#include <complex.h>
#include <kiln/kernel.h>

kernel void values(i32 *x)
{
    x[0] = x[1] ?: 7;
    x[2] = x[3];
}

kernel void labels(i32 *x)
{
    void *places[] = {&&one, &&two};
    goto *places[x[0]];
one:
    x[1] = 1;
two:
    x[2] = 2;
}

kernel void numbers(f64 *x)
{
    double complex z = 1;
    x[0] = creal(z);
}

kernel void dates(i64 *x)
{
    x[0] = strftime(x);
    x[1] = pthread_create(x);
    x[2] = getopt(x);
    x[3] = wcslen(x);
}
