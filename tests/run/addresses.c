// Pointers to functions of C's library that are builtins here: only those whose bits are the host's, too.
#include <kiln/kernel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#pragma kiln conversions(c)
typedef double fn(double);
typedef float fnf(float, float);
static fn *const table[] = {sqrt, fabs, floor, ceil, trunc};
static const struct { const char *name; double (*f)(double); } named[] = {{"sqrt", sqrt}, {"fabs", &fabs}, {"rint", rint}};
static double simpson(double (*f)(double), double a, double b, int n)
{
    double h = (b - a) / n, s = f(a) + f(b);
    for (int i = 1; i < n; i++) s += f(a + i * h) * (i & 1 ? 4 : 2);
    return s * h / 3;
}
static double own(double x) { return x * x; }
//! run pointers_to_math grid=1 block=40 (f64[40]:unit, f64[40], f64[40], f32[40])
kernel void pointers_to_math(const f64 *x, f64 *a, f64 *b, f32 *c)
{
    u32 t = thread_x();
    a[t] = table[t % 5](x[t] * 10 - 5) + named[t % 3].f(x[t] + 2) + (double)strlen(named[t % 3].name);
    fn *f = t & 1 ? sqrt : own;
    b[t] = simpson(f, 0, x[t] + 1, 10) + simpson(fabs, -1, x[t], 4) + (f == sqrt ? 100 : 0);
    fnf *g = t & 2 ? fmaxf : copysignf;
    c[t] = g((f32)x[t], -0.5f);
}
typedef void *copier(void *, const void *, size_t);
//! run pointers_to_mem grid=1 block=33 (u8[64]:bits, u8[264], i32[33])
kernel void pointers_to_mem(const u8 *in, u8 *out, i32 *r)
{
    copier *f = thread_x() & 1 ? memcpy : memmove;
    int (*cmp)(const void *, const void *, size_t) = memcmp;
    int (*mag)(int) = abs;
    f(out + 8 * thread_x(), in + thread_x(), 8);
    int d = cmp(out + 8 * thread_x(), in, 8);
    r[thread_x()] = (d > 0) - (d < 0) + 10 * mag((i32)in[thread_x()] - 128);
}
