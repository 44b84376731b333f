// The main of every cmocka suite: runs what TEST() registered, then prints "NAME: N passed, N
// failed, N skipped".
#include <fnmatch.h>
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

int main(int argc, char **argv)
{
    const char *suite = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_STDOUT);
    size_t count = 0;
    for (size_t i = 0; i < test_count; i++)
        count += argc < 2 || fnmatch(argv[1], tests[i].name, 0) == 0;
    int failed = _cmocka_run_group_tests(suite, tests, test_count, NULL, NULL);
    if (failed < 0 || !count || (size_t)failed + test_skipped > count)
        failed = 1, count = 1;
    printf("%s: %zu passed, %d failed, %u skipped\n", suite, count - (size_t)failed - test_skipped,
           failed, test_skipped);
    return failed != 0;
}
