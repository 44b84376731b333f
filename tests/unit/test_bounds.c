// The checks of bounds look for the array behind each pointer: in a kernel of many branches that
// move one pointer, every access asks all branches before it, and the answers must come at once.
#include "tests/test.h"

#include <time.h>

#include "base/str.h"
#include "compile.h"
#include "ir/ir.h"

enum { BRANCHES = 1500, MOST_SECONDS = 5 };

TEST(bounds_of_a_pointer_that_many_branches_move)
{
    arena *a = arena_new();
    text source = {.in = a};
    text_printf(&source, "#include <kiln/kernel.h>\n"
                         "kernel block(32) void chain(const u32 *in, u32 *out, u32 n)\n"
                         "{\n"
                         "    const u32 *p = in;\n"
                         "    u32 sum = 0;\n");
    for (int k = 0; k < BRANCHES; k++)
        text_printf(&source, "    if (out[%d] == n) { out[%d] = 1; p++; }\n    sum += *p;\n", k, k);
    text_printf(&source, "    out[n] = sum;\n}\n");
    compile_options options = {
        .path = "chain.c", .source = source.at, .level = 2, .checks_bounds = true};
    clock_t start = clock();
    compile_outcome outcome = compile_run(&options);
    assert_true(clock() - start < MOST_SECONDS * CLOCKS_PER_SEC);
    assert_int_equal(outcome.status, KILN_OK);
    unsigned checks = 0;
    const ir_func *f = outcome.ir ? outcome.ir->funcs.at[0] : NULL;
    for (uint32_t id = 1; f && id < f->insts.len; id++)
        checks += ir_at(f, id)->op == IR_BOUNDS;
    assert_int_equal(checks, 3 * BRANCHES + 1);
    compile_outcome_free(&outcome);
    arena_free(a);
}
