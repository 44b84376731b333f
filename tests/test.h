// TEST(name) { … } registers itself; one main (tests/main.c) runs all of a suite through cmocka.
#ifndef KILN_TEST_H
#define KILN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void test_register(const char *name, void (*run)(void **state));

extern unsigned test_skipped;
// Leaves the test as skipped; the reason is printed and the skip is counted.
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        print_message("skipped: %s\n", reason);                                                    \
        test_skipped++;                                                                            \
        skip();                                                                                    \
    } while (0)

#define TEST(name)                                                                                 \
    static void test_##name(void **state);                                                         \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        test_register(#name, test_##name);                                                         \
    }                                                                                              \
    static void test_##name(void **state __attribute__((unused)))

#endif
