// The cases of the ops on a device: ops DEVICE [OP]… (default: all of them). On every device but
// the interpreter the results must have the interpreter's bits as well.
//     ops DEVICE --emit [OP]…   calls the ops and compares nothing: the kernels are compiled
//     ops --page OP             prints what its page shows (tools/ops)
#include <stdlib.h>
#include <string.h>

#include "ops/suite.h"

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "interp";
    bool is_interp = !strncmp(device, "interp", 6), is_cuda = !strncmp(device, "cuda", 4);
    kiln *k = NULL, *oracle = NULL;
    suite_counts counts = {0};
    if (!strcmp(device, "--page")) {
        const op_suite *s = argc == 3 ? op_suite_find(argv[2]) : NULL;
        if (s)
            suite_page(s, stdout);
        return !s;
    }
    if (kiln_open(device, &k) || (!is_interp && kiln_open("interp", &oracle))) {
        printf("%s\nops: 0 passed, 1 failed, 0 skipped\n", kiln_last_error(NULL)->text);
        return 1;
    }
    bool is_emit = argc > 2 && !strcmp(argv[2], "--emit");
    int first = is_emit ? 3 : 2;
    for (const op_suite *const *s = op_suites; *s; s++) {
        bool is_wanted = argc <= first;
        for (int n = first; n < argc; n++)
            is_wanted |= !strcmp(argv[n], (*s)->name);
        if (is_wanted && is_emit)
            suite_emit(k, *s, &counts);
        else if (is_wanted)
            suite_test(k, oracle, *s, !is_interp && !is_cuda, &counts);
    }
    kiln_close(k);
    kiln_close(oracle);
    if (!counts.passed && !counts.failed)
        counts.failed++; // no such op
    printf("ops: %d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
    return counts.failed != 0;
}
