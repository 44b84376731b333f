// The cases of the ops under kiln check: every launch that an op makes is played by the checker,
// which looks for races, accesses out of bounds and barriers that do not add up; one type and one
// layout of each case, in turn. matmul has a test of its own (ops/matmul/test_check.c); kernels of
// attention that the interpreter does not choose by itself are checked in ops/attention/test*.c.
//     ops_check [OP]…
// The linker puts the two functions below in the place of the library's (--wrap).
#include <stdlib.h>
#include <string.h>

#include "ops/suite.h"

static size_t launches, findings;

kiln_status __real_kiln_compile(kiln *k, const kiln_compile_desc *desc, kiln_module **out);
kiln_status __wrap_kiln_compile(kiln *k, const kiln_compile_desc *desc, kiln_module **out);
kiln_status __wrap_kiln_launch(kiln_kernel *kernel, const kiln_launch_desc *desc);

kiln_status __wrap_kiln_compile(kiln *k, const kiln_compile_desc *desc, kiln_module **out)
{
    kiln_compile_desc for_check = *desc;
    for_check.for_check = true;
    return __real_kiln_compile(k, &for_check, out);
}

static void print(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

kiln_status __wrap_kiln_launch(kiln_kernel *kernel, const kiln_launch_desc *desc)
{
    size_t found = 0;
    kiln_status status =
        kiln_check(kernel, &(kiln_check_desc){.launch = *desc, .finding = print}, &found);
    launches++;
    findings += found;
    return status;
}

int main(int argc, char **argv)
{
    kiln *k = NULL;
    suite_counts counts = {0};
    if (kiln_open("interp", &k)) {
        printf("%s\nops-check: 0 passed, 1 failed, 0 skipped\n", kiln_last_error(NULL)->text);
        return 1;
    }
    for (const op_suite *const *s = op_suites; *s; s++) {
        bool is_wanted = argc == 1 && strcmp((*s)->name, "matmul");
        for (int n = 1; n < argc; n++)
            is_wanted |= !strcmp(argv[n], (*s)->name);
        op_suite alone = **s;
        if (strcmp(alone.name, "conv")) // whose kernels for tensor cores are there
            alone.more = NULL;
        if (is_wanted)
            suite_test(k, NULL, &alone, true, &counts);
    }
    kiln_close(k);
    counts.failed += findings != 0 || !launches;
    printf("%zu launches, %zu findings\n", launches, findings);
    printf("ops-check: %d passed, %d failed, %d skipped\n", counts.passed, counts.failed,
           counts.skipped);
    return counts.failed != 0;
}
