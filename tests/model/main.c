// Explores the scenarios of scenarios.def.
//     model [--size N] [--find] [--quiet] [--plain] [--compare] [--limit STATES] [NAME…]
// --size N: those up to this size (1); --find: stops at the first finding and tells it, for sources
// with a mistake in them; --limit: most states of one; --plain: nothing that reduce.c and tidy.c
// could leave out is left out; --compare: searches with and without that must agree, where they end
// within the limit; --quiet: not how it came to a finding. Ends with "model: N passed, N failed,
// 0 skipped".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
    s.is_one_way = strchr(flags, 'O') != NULL;
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

// Steps first that nobody can see, and worlds that are alike as one; every interleaving; with all
// that reduce.c leaves out. What is found must be the same, every thread must come to the same
// states, and all must be over in as many worlds. A search of more than `limit` states is left out;
// then there may be nothing to compare. 0: they agree, 1: they do not, -1: nothing.
static int compare(scenario s, uint64_t limit)
{
    enum { PLAIN, EVERY, REDUCED };
    verdict v[3];
    char states[3][24];
    bool is_same = true, is_any = false;
    for (int n = 0; n < 3; n++) {
        s.is_plain = n != REDUCED;
        s.is_raw = n == EVERY;
        bool is_much = n == EVERY && v[PLAIN].states * 4 > limit; // it would not end
        v[n] = explore(&s, n == REDUCED ? UINT32_MAX - 1 : is_much ? 0 : limit, false);
        snprintf(states[n], sizeof states[n], "%llu", (unsigned long long)v[n].states);
        if (v[n].found == FOUND_SIZE)
            strcpy(states[n], "-");
    }
    for (int n = 0; n < 2; n++) {
        if (v[n].found == FOUND_SIZE)
            continue;
        is_any = true;
        is_same &= v[n].found == v[REDUCED].found && v[n].local == v[REDUCED].local &&
                   (n == EVERY ? v[n].ends >= v[REDUCED].ends : v[n].ends == v[REDUCED].ends);
    }
    if (!is_any)
        return -1;
    printf("%-22s %12s %12s %12s %7u %7llu  %s%s\n", s.name, states[EVERY], states[PLAIN],
           states[REDUCED], v[REDUCED].local, (unsigned long long)v[REDUCED].ends,
           finding_text[v[REDUCED].found], is_same ? "" : ": FAIL, they differ");
    for (int n = 0; n < 2 && !is_same; n++)
        printf("  %s: %u local, %llu ends, %s\n", n == PLAIN ? "plain" : "every step", v[n].local,
               (unsigned long long)v[n].ends, finding_text[v[n].found]);
    fflush(stdout);
    return !is_same;
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
    bool is_finding = false, is_told = true, is_plain = false, is_compared = false;
    uint64_t limit = UINT32_MAX - 1, states = 0;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--find") == 0)
            is_finding = true;
        else if (strcmp(argv[at], "--quiet") == 0)
            is_told = false;
        else if (strcmp(argv[at], "--plain") == 0)
            is_plain = true;
        else if (strcmp(argv[at], "--compare") == 0)
            is_compared = true;
        else if (strcmp(argv[at], "--size") == 0 && at + 1 < argc)
            size = atoi(argv[++at]);
        else if (strcmp(argv[at], "--limit") == 0 && at + 1 < argc)
            limit = strtoull(argv[++at], NULL, 10);
        else {
            fprintf(stderr, "usage: model [--size N] [--find] [--quiet] [--plain] [--compare] "
                            "[--limit STATES] [NAME…]\n");
            return 2;
        }
    }
    double begun = seconds();
    if (is_compared)
        printf("%-22s %12s %12s %12s %7s %7s  %s\n", "scenario", "every step", "plain", "reduced",
               "local", "ends", "found");
    else if (!is_finding)
        printf("%-22s %12s %12s %8s %7s %8s  %s\n", "scenario", "states", "steps", "depth", "local",
               "seconds", "found");
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        scenario s = scenario_of(n);
        s.is_plain = s.is_raw = is_plain;
        if (rows[n].size > size || !is_named(s.name, argc - at, argv + at))
            continue;
        if (is_compared) {
            int result = compare(s, limit);
            passed += result == 0;
            failed += result == 1;
            continue;
        }
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
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    if (!is_compared)
        printf("%llu states in %.1f s, %ld MB\n", (unsigned long long)states, seconds() - begun,
               usage.ru_maxrss / 1024);
    printf("model%s: %d passed, %d failed, 0 skipped\n", is_compared ? "-reduced" : "", passed,
           failed);
    return failed != 0;
}
