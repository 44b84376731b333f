// interp_speed: lane-operations a second of the interpreter, on one core.
//
// An operation counts when the source asks for it in a thread: a load, a store, an arithmetic
// operation, a shuffle. Addresses, loop counters and branches are work too, but are not counted, so
// the figure is a lower bound. Times are the best of several launches. Exit status 1 when a case is
// below 50 million. Start reading at the table.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kiln/kiln.h"

enum { THREADS = 1 << 18, ROUNDS = 5 };

typedef struct bench_case {
    const char *name;
    const char *source; // kernel block(256) void f(f32 *x, u32 *y)
    double operations;  // of one thread
} bench_case;

#define KERNEL(body)                                                                               \
    "#include <kiln/kernel.h>\nkernel block(256) void f(f32 *x, u32 *y) { u32 i = "                \
    "global_x(); " body " }\n"

static const bench_case cases[] = {
    {"saxpy: 2 loads, fma, store", KERNEL("x[i] = fma(2.5f, f32_from_bits(y[i]), x[i]);"), 4},
    {"f32: 100 rounds of fma, mul, add, min",
     KERNEL(
         "f32 a = x[i]; for (u32 k = 0; k < 100; k++) { a = fma(a, 0.5f, 1.0f); a = a * 0.99f; a "
         "= a + 0.25f; a = min(a, 3.0f); } x[i] = a;"),
     2 + 400},
    {"u32: 100 rounds of xorshift",
     KERNEL(
         "u32 a = y[i] + 1; for (u32 k = 0; k < 100; k++) { a ^= a << 13; a ^= a >> 17; a ^= a << "
         "5; } y[i] = a;"),
     3 + 600},
    {"f64: 100 rounds of fma, mul",
     KERNEL(
         "f64 a = (f64)x[i]; for (u32 k = 0; k < 100; k++) { a = fma(a, 0.5, 1.0); a = a * 0.99; } "
         "x[i] = (f32)a;"),
     4 + 200},
    {"divergent: half of the lanes, 100 rounds of mul, add",
     KERNEL(
         "u32 a = y[i]; for (u32 k = 0; k < 100; k++) if ((i + k) & 1) a = a * 5 + k; y[i] = a;"),
     2 + 50 * 2},
    {"shared: 32 rounds of store, load, add",
     KERNEL("shared u32 s[256]; u32 a = y[i]; for (u32 k = 0; k < 32; k++) { s[thread_x()] = a; "
            "barrier(); a += s[thread_x() ^ k]; barrier(); } y[i] = a;"),
     2 + 32 * 3},
    {"warp_sum: 5 shuffles, 5 adds", KERNEL("x[i] = warp_sum(x[i]);"), 12},
    {"gather: 16 loads and adds",
     KERNEL("u32 a = 0; for (u32 k = 0; k < 16; k++) a += y[(i * 977 + k * 61) & 262143]; x[i] = "
            "(f32)a;"),
     2 + 32},
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// CPU seconds of one launch; 0: it failed, and why was said.
static double time_case(kiln *k, const bench_case *c)
{
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    kiln_buffer *x = NULL, *y = NULL;
    kiln_compile_desc text = {.path = "interp_speed", .source = c->source};
    double best = 0;
    if (kiln_compile(k, &text, &m) || kiln_module_kernel(m, "f", &kernel) ||
        kiln_buffer_new(k, KILN_F32, THREADS, &x) || kiln_buffer_new(k, KILN_U32, THREADS, &y)) {
        printf("%s: %s\n", c->name, kiln_last_error(k)->text);
        return 0;
    }
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_buffer(y)};
    kiln_launch_desc launch = {.items = {THREADS}, .args = args, .arg_count = 2};
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds();
        if (kiln_launch(kernel, &launch)) {
            printf("%s: %s\n", c->name, kiln_last_error(k)->text);
            return 0;
        }
        double took = seconds() - begin;
        best = round == 0 || took < best ? took : best;
    }
    kiln_buffer_free(x);
    kiln_buffer_free(y);
    kiln_module_free(m);
    return best;
}

int main(void)
{
    setenv("KILN_THREADS", "1", 1);
    kiln *k = NULL;
    if (kiln_open("interp", &k)) {
        printf("interp_speed: %s\n", kiln_last_error(NULL)->text);
        return 1;
    }
    int slow = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double took = time_case(k, &cases[i]);
        double rate = took > 0 ? cases[i].operations * THREADS / took * 1e-6 : 0;
        printf("%-56s %8.0f million lane-operations a second\n", cases[i].name, rate);
        slow += rate < 50;
    }
    kiln_close(k);
    return slow != 0;
}
