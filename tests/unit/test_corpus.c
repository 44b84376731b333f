// The reader of "//! run" lines (tests/host/corpus.h): a line that it does not understand, or a
// file without one, is a mistake and no test that passes.
#include <stdlib.h>
#include <string.h>

#include "host/corpus.h"
#include "tests/test.h"

static int cases_of(const char *text)
{
    corpus_file file = {.path = "corpus.c", .name = "corpus"};
    const char *problem = corpus_parse(text, &file);
    int count = problem ? -1 : file.case_count;
    free(file.cases);
    return count;
}

TEST(corpus_lines_are_read)
{
    assert_int_equal(cases_of("//! run f (u32[4])\n"), 1);
    assert_int_equal(cases_of("  //! run f grid=2,3 block=4 shared=0x10 (u32[4]:iota, f32=-1e3)"),
                     1);
    assert_int_equal(cases_of("//! run f_{i8,u8} ($1[4]:mod17)\n//! run g (pair:rand@f32)\n"), 3);
}

TEST(corpus_lines_that_are_wrong_are_refused)
{
    static const char *const wrong[] = {
        "",
        "kernel void f(u32 *x) { }\n",
        "//!run f (u32[4])\n//! run f (u32[4])\n",
        "//! rum f (u32[4])\n//! run f (u32[4])\n",
        "//! run f\n",
        "//! run f (u32[4]\n",
        "//! run f (u32[many])\n",
        "//! run f (u32[-1])\n",
        "//! run f (u32[4) \n",
        "//! run f grid=x (u32[4])\n",
        "//! run f grids=4 (u32[4])\n",
        "//! run f (u32[4]:iotas)\n",
        "//! run f (u32[4]:mod)\n",
        "//! run f (u32[4]:mod0)\n",
        "//! run f (u32[4]:sym3x)\n",
        "//! run f (u32[4]:iota@pair)\n",
        "//! run f (u32=four)\n",
        "//! run f (u32)\n",
        "//! run f (u32[4]) (u32[4])\n",
        "//! run f_{i8,u8 (u32[4])\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (cases_of(wrong[i]) >= 0)
            fail_msg("this is read: %s", wrong[i]);
    char *text = malloc(3000);
    assert_non_null(text);
    memset(text, ' ', 2999);
    memcpy(text, "//! run f (u32[4])", 18);
    text[2999] = 0;
    int cases = cases_of(text);
    free(text);
    assert_int_equal(cases, -1);
}
