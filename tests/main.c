// The main of every cmocka suite: runs what TEST() registered, then prints "NAME: N passed, N
// failed, N skipped".
//
//     SUITE [PATTERN]… [-PATTERN]…    those whose name fits one of the patterns, less those of -
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static struct CMUnitTest tests[4096];
static size_t test_count;
unsigned test_skipped;

void test_register(const char *name, void (*run)(void **state))
{
    if (test_count == sizeof tests / sizeof tests[0])
        abort();
    tests[test_count].name = name;
    tests[test_count++].test_func = run;
}

static bool is_chosen(const char *name, char **patterns)
{
    bool fits = false, asked = false;
    for (; *patterns; patterns++) {
        bool is_left_out = **patterns == '-';
        asked |= !is_left_out;
        if (fnmatch(*patterns + is_left_out, name, 0) != 0)
            continue;
        if (is_left_out)
            return false;
        fits = true;
    }
    return fits || !asked;
}

int main(int argc, char **argv)
{
    const char *suite = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    size_t count = 0;
    (void)argc;
    for (size_t i = 0; i < test_count; i++)
        if (is_chosen(tests[i].name, argv + 1))
            tests[count++] = tests[i];
    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    int failed = _cmocka_run_group_tests(suite, tests, count, NULL, NULL);
    if (failed < 0 || !count || (size_t)failed + test_skipped > count)
        failed = 1, count = 1;
    printf("%s: %zu passed, %d failed, %u skipped\n", suite, count - (size_t)failed - test_skipped,
           failed, test_skipped);
    return failed != 0;
}
