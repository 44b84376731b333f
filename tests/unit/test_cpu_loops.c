// Loops that Kiln C never makes, but IR files and the IR builder can: own machine code against the
// interpreter. The random kernels are C and do not reach these.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kiln/kiln.h"
#include "tests/test.h"

enum { THREADS = 64 };

// The only `next` stands in a branch that some lanes skip, and arguments are read behind it: the
// next round's values wait apart from this round's. One is the same for all lanes, one has a step
// from lane to lane, one is a float.
static const char source[] = "kernel @k(%out: ptr.global i32) block(64, 1, 1) {\n"
                             "    %t = thread.x\n"
                             "    %most = and i32 %t, 7\n"
                             "    %far = zext i64 %t\n"
                             "    %at = mul i64 %far, 12\n"
                             "    %p = ptradd ptr.global %out, %at\n"
                             "    L1: loop (%i: i32 = 0, %row: i32 = %t, %x: f32 = 0.5) {\n"
                             "        %more = ult i32 %i, %most\n"
                             "        L2: if %more {\n"
                             "            %i2 = add i32 %i, 1\n"
                             "            %row2 = add i32 %row, 64\n"
                             "            %x2 = fadd f32 %x, 1\n"
                             "            next L1 (%i2, %row2, %x2)\n"
                             "        } else {\n"
                             "            exit L2\n"
                             "        }\n"
                             "        store i32 %p, %i\n"
                             "        store i32 %p, %row offset(4)\n"
                             "        store f32 %p, %x offset(8)\n"
                             "        exit L1\n"
                             "    }\n"
                             "    return\n"
                             "}\n";

typedef struct row {
    int32_t i, row;
    float x;
} row;

static void run_on(const char *device, int optimise, row out[THREADS])
{
    kiln *k;
    kiln_module *m;
    kiln_kernel *kernel;
    kiln_buffer *b;
    kiln_compile_desc desc = {.source = source, .is_ir = true, .optimise = optimise};
    assert_int_equal(kiln_open(device, &k), KILN_OK);
    if (kiln_compile(k, &desc, &m) != KILN_OK)
        fail_msg("%s: %s", device, kiln_last_error(k)->text);
    assert_int_equal(kiln_module_kernel(m, "k", &kernel), KILN_OK);
    assert_int_equal(kiln_buffer_new(k, KILN_I32, 3 * THREADS, &b), KILN_OK);
    kiln_arg arg = kiln_arg_buffer(b);
    kiln_launch_desc launch = {.grid = {1}, .args = &arg, .arg_count = 1};
    assert_int_equal(kiln_launch(kernel, &launch), KILN_OK);
    assert_int_equal(kiln_read(b, 0, out, 3 * THREADS), KILN_OK);
    kiln_close(k);
}

TEST(cpu_loop_arguments_wait_for_the_next_round)
{
    const char *before = getenv("KILN_CPU");
    char *kept = before ? strdup(before) : NULL;
    setenv("KILN_CPU", "quick", 1);
    unsigned left = alarm(60); // a wrong counter does not end
    for (int n = 0; n < 4; n++) {
        row got[THREADS];
        run_on(n & 1 ? "cpu" : "interp", n & 2 ? 0 : -1, got);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(got[t].i, t & 7);
            assert_int_equal(got[t].row, t + 64 * (t & 7));
            assert_true(got[t].x == 0.5f + (float)(t & 7));
        }
    }
    alarm(left);
    if (kept)
        setenv("KILN_CPU", kept, 1);
    else
        unsetenv("KILN_CPU");
    free(kept);
}
