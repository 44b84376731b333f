// Which functions stay functions (pass/calls.c): large ones that are called more than once.
#include "base/bug.h"
#include "pass/pass.h"
#include "pass/passes.h"
#include "tests/test.h"

// Is a function of that many additions, called that often, kept?
static bool is_kept(uint32_t additions, uint32_t calls)
{
    arena *a = arena_new();
    text t = {.in = a};
    assert_non_null(a);
    text_puts(&t, "func @sum(%v: i32) -> (i32) {\n    %s0 = add i32 %v, %v\n");
    for (uint32_t k = 1; k < additions; k++)
        text_printf(&t, "    %%s%u = add i32 %%s%u, %%v\n", k, k - 1);
    text_printf(&t, "    return (%%s%u)\n}\n", additions - 1);
    text_puts(&t, "kernel @k(%x: ptr.global i32) {\n    %r0 = load i32 %x\n");
    for (uint32_t k = 1; k <= calls; k++)
        text_printf(&t, "    %%r%u = call @sum (%%r%u) : (i32)\n", k, k - 1);
    text_printf(&t, "    store i32 %%x, %%r%u\n    return\n}\n", calls);

    const char *error = NULL;
    ir_module *m = ir_read(a, names_in(a), (str){t.at, t.len}, &error);
    if (error)
        print_error("%s\n", error);
    assert_non_null(m);
    pass_ctx ctx = {.scratch = a, .level = 2};
    calls_decide(m, &ctx);
    bool kept = false;
    for (uint32_t k = 0; k < m->funcs.len; k++)
        kept |= m->funcs.at[k]->is_kept;
    arena_free(a);
    return kept;
}

TEST(calls_keep_large_functions_that_are_called_twice)
{
    assert_true(is_kept(7000, 2));
    assert_false(is_kept(7000, 1)); // a copy of it costs nothing
    assert_false(is_kept(100, 2));
}
