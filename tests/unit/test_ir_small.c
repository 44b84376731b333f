// A function without a single operand: no array of it may be missing.
#include "base/bug.h"
#include "ir/ir.h"
#include "tests/test.h"

TEST(a_function_without_operands_is_fine)
{
    arena *a = arena_new();
    assert_non_null(a);
    bug_frame frame;
    if (bug_enter(&frame))
        fail_msg("%s", frame.text);
    const char *error = NULL;
    ir_module *m =
        ir_read(a, names_in(a),
                STR("kernel @k() block(64, 1, 1) {\n    %0 = thread.x\n    return\n}\n"), &error);
    assert_non_null(m);
    assert_null(ir_verify_module(m, a));
    assert_non_null(m->funcs.at[0]->operands.at);
    bug_leave(&frame);
    arena_free(a);
}
