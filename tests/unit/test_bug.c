// Kiln's own mistakes come back as K9001, and the process goes on.
#include "tests/test.h"

#include <string.h>

#include "base/bug.h"
#include "compile.h"

static void break_something(void *user, const char *name, front *f, ir_module *m)
{
    (void)user;
    (void)f;
    (void)m;
    if (!strcmp(name, "final"))
        bug("planted by a test");
}

TEST(an_internal_mistake_is_reported_as_K9001)
{
    compile_options options = {
        .path = "t.c",
        .source = "#include <kiln/kernel.h>\nkernel block(32) void f(f32 *x) { x[0] = 1; }\n",
        .stage = break_something,
    };
    compile_outcome outcome = compile_run(&options);
    assert_int_equal(outcome.status, KILN_E_INTERNAL);
    assert_string_equal(outcome.code, "K9001");
    assert_non_null(strstr(outcome.log, "planted by a test"));
    compile_outcome_free(&outcome);
    options.stage = NULL;
    outcome = compile_run(&options);
    assert_int_equal(outcome.status, KILN_OK);
    compile_outcome_free(&outcome);
}
