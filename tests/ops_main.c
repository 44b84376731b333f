// The cases of the ops on a device: ops DEVICE [OPTION]… [OP]… (default: all of them). On every
// device but the interpreter the results must have the interpreter's bits as well.
//     ops DEVICE --random N [--seed S]   N cases with random sizes, types and layouts of each op
//     ops DEVICE --half N                half of the cases; with an even N the one, with an odd N
//     the
//                                        other half
//     ops DEVICE --emit                  calls the ops and compares nothing: compiles the kernels
//     ops --page OP                      prints what its page shows (tools/ops)
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/suite.h"

static int print_page(const char *name)
{
    const op_suite *s = op_suite_find(name);
    if (s)
        suite_page(s, stdout);
    return !s;
}

typedef struct options {
    const char *device;
    bool is_emit;
    int random;
    uint32_t share, shares; // which share of how many
    uint64_t seed;
    char **ops;
    int op_count;
} options;

static void read_options(int argc, char **argv, options *o)
{
    *o = (options){
        .device = argc > 1 ? argv[1] : "interp", .shares = 1, .seed = 1, .ops = argv + argc};
    for (int n = 2; n < argc; n++) {
        if (!strcmp(argv[n], "--emit")) {
            o->is_emit = true;
        } else if (!strcmp(argv[n], "--random") && n + 1 < argc) {
            o->random = atoi(argv[++n]);
        } else if (!strcmp(argv[n], "--share") && n + 1 < argc) {
            if (sscanf(argv[++n], "%" SCNu32 "/%" SCNu32, &o->share, &o->shares) != 2 || !o->shares)
                o->shares = 1;
        } else if (!strcmp(argv[n], "--seed") && n + 1 < argc) {
            o->seed = strtoull(argv[++n], NULL, 10);
        } else {
            o->ops = argv + n;
            o->op_count = argc - n;
            return;
        }
    }
}

static bool is_wanted(const options *o, const op_suite *s)
{
    bool is_named = !o->op_count;
    for (int n = 0; n < o->op_count; n++)
        is_named |= !strcmp(o->ops[n], s->name);
    return is_named;
}

// Mixed, so that of cases that come in twos and fours no share has all of a kind.
static bool is_in_share(size_t n, const options *o)
{
    return ((uint32_t)n * 2654435761u >> 16) % o->shares == o->share % o->shares;
}

static void test_share(kiln *k, kiln *oracle, const op_suite *s, bool is_brief, const options *o,
                       suite_counts *counts)
{
    op_suite part = *s;
    op_case *cases = calloc(s->case_count + 1, sizeof *cases);
    part.case_count = 0;
    for (size_t n = 0; cases && n < s->case_count; n++)
        if (is_in_share(n, o))
            cases[part.case_count++] = s->cases[n];
    part.cases = cases;
    if (!part.case_count) // few cases: all of them
        part = *s;
    suite_test(k, oracle, &part, is_brief, counts);
    counts->failed += !cases;
    free(cases);
}

int main(int argc, char **argv)
{
    options o;
    kiln *k = NULL, *oracle = NULL;
    suite_counts counts = {0};
    if (argc == 3 && !strcmp(argv[1], "--page"))
        return print_page(argv[2]);
    read_options(argc, argv, &o);
    bool is_interp = !strncmp(o.device, "interp", 6), is_cuda = !strncmp(o.device, "cuda", 4);
    if (kiln_open(o.device, &k) || (!is_interp && kiln_open("interp", &oracle))) {
        printf("%s\nops: 0 passed, 1 failed, 0 skipped\n", kiln_last_error(NULL)->text);
        return 1;
    }
    for (const op_suite *const *s = op_suites; *s; s++) {
        if (!is_wanted(&o, *s))
            continue;
        if (o.is_emit)
            suite_emit(k, *s, &counts);
        else if (o.random)
            suite_test_random(k, oracle, *s, o.random, o.seed, &counts);
        else
            test_share(k, oracle, *s, !is_interp && !is_cuda, &o, &counts);
    }
    kiln_close(k);
    kiln_close(oracle);
    if (!counts.passed && !counts.failed)
        counts.failed++; // no such op
    printf("ops: %d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
    return counts.failed != 0;
}
