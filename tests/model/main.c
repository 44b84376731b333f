// Explores the scenarios of scenarios.def.
//     model [--size N] [--find] [--quiet] [--plain] [--limit STATES] [NAME…]
// --size N: those up to this size (1); --find: stops at the first finding and tells it, for sources
// with a mistake in them; --limit: most states of
// one; --plain: fewer steps go first, more states; --quiet: not how it came to a finding. Ends with
// "model: N passed, N failed, 0 skipped".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/model/model.h"

// clang-format off
#define SCENARIO(n, size, w, l, m, b, c, h, out, in, end, flags) \
    {size, {.name = n, .warps = w, .lanes = l, .mask = m, .boxes = b, .calls = c, .hosts = h, \
            .rows_out = out, .rows_in = in, .last = end}, flags},
// clang-format on
static const struct {
    int size;
    scenario s;
    const char *flags;
} rows[] = {
#include "tests/model/scenarios.def"
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static scenario scenario_of(size_t n)
{
    scenario s = rows[n].s;
    const char *flags = rows[n].flags;
    s.is_send = strchr(flags, 'S') != NULL;
    s.has_data = strchr(flags, 'D') != NULL;
    s.has_who = strchr(flags, 'W') != NULL;
    s.has_patience = strchr(flags, 'P') != NULL;
    s.may_close = strchr(flags, 'C') != NULL;
    s.may_die = strchr(flags, 'X') != NULL;
    s.is_any_home = strchr(flags, 'H') != NULL;
    s.phase = strchr(flags, '1') ? 0 : strchr(flags, '3') ? 2 : 3;
    s.start = s.last || strchr(flags, 'F') ? 0 : 8;
    s.last = s.last ? s.last : UINT32_MAX - 1;
    return s;
}

static bool is_named(const char *name, int count, char **names)
{
    for (int n = 0; n < count; n++)
        if (strcmp(names[n], name) == 0)
            return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    int size = 1, at = 1, passed = 0, failed = 0;
    bool is_finding = false, is_told = true, is_plain = false;
    uint64_t limit = UINT32_MAX - 1, states = 0;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--find") == 0)
            is_finding = true;
        else if (strcmp(argv[at], "--quiet") == 0)
            is_told = false;
        else if (strcmp(argv[at], "--plain") == 0)
            is_plain = true;
        else if (strcmp(argv[at], "--size") == 0 && at + 1 < argc)
            size = atoi(argv[++at]);
        else if (strcmp(argv[at], "--limit") == 0 && at + 1 < argc)
            limit = strtoull(argv[++at], NULL, 10);
        else {
            fprintf(stderr, "usage: model [--size N] [--find] [--quiet] [--plain] [--limit STATES] "
                            "[NAME…]\n");
            return 2;
        }
    }
    double begun = seconds();
    if (!is_finding)
        printf("%-22s %12s %12s %8s %7s %8s  %s\n", "scenario", "states", "steps", "depth", "local",
               "seconds", "found");
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        scenario s = scenario_of(n);
        s.is_plain = is_plain || is_finding; // a source with a mistake may do anything
        if (rows[n].size > size || !is_named(s.name, argc - at, argv + at))
            continue;
        double start = seconds();
        verdict v = explore(&s, limit, is_told);
        states += v.states;
        passed += v.found == FOUND_NONE;
        failed += v.found != FOUND_NONE;
        if (is_finding && v.found == FOUND_SIZE)
            continue; // another one may show it sooner
        if (is_finding && v.found != FOUND_NONE) {
            printf("found: %s: %s\n", s.name, finding_text[v.found]);
            return 1;
        }
        if (!is_finding)
            printf("%-22s %12llu %12llu %8u %7u %8.2f  %s\n", s.name, (unsigned long long)v.states,
                   (unsigned long long)v.steps, v.depth, v.local, seconds() - start,
                   finding_text[v.found]);
        fflush(stdout);
    }
    printf("%llu states in %.1f s\n", (unsigned long long)states, seconds() - begun);
    printf("model: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
