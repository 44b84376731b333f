// Liveness (ir/live.h): what is alive at a point of a loop, of branches, behind them.
#include <string.h>

#include "ir/live.h"
#include "tests/test.h"

static const char *const source = "kernel @k(%x: ptr.global i32, %n: i32) {\n"
                                  "    %base = load i32 %x\n"
                                  "    %step = load i32 %x offset(4)\n"
                                  "    L1: loop (%i: i32 = 0) -> (%sum: i32) {\n"
                                  "        %here = add i32 %i, %base\n"
                                  "        %more = slt i32 %here, %n\n"
                                  "        L2: if %more {\n"
                                  "            %left = add i32 %here, 1\n"
                                  "            barrier\n"
                                  "            store i32 %x, %left\n"
                                  "            exit L2\n"
                                  "        } else {\n"
                                  "            %right = add i32 %here, 2\n"
                                  "            exit L1 (%right)\n"
                                  "        }\n"
                                  "        %next = add i32 %i, %step\n"
                                  "        next L1 (%next)\n"
                                  "    }\n"
                                  "    store i32 %x, %sum offset(8)\n"
                                  "    return\n"
                                  "}\n";

typedef struct fixture {
    arena *a;
    ir_func *f;
    ir_live l;
} fixture;

static fixture fixture_new(void)
{
    const char *error = NULL;
    fixture x = {.a = arena_new()};
    ir_module *m = ir_read(x.a, names_in(x.a), (str){source, strlen(source)}, &error);
    if (!m)
        fail_msg("%s", error);
    x.f = m->funcs.at[0];
    x.l = ir_live_number(x.f, x.a);
    return x;
}

static ir_ref named(const fixture *x, const char *name)
{
    for (ir_ref r = 1; r < x->f->values.len; r++)
        if (x->f->values.at[r].name && !strcmp(x->f->values.at[r].name, name))
            return r;
    fail_msg("no value '%s'", name);
    return 0;
}

static ir_inst_id first_of(const fixture *x, ir_op op)
{
    for (ir_inst_id id = 1; id < x->f->insts.len; id++)
        if (x->f->insts.at[id].op == op)
            return id;
    fail_msg("no %s", ir_op_name(op));
    return 0;
}

static void expect_alive(const fixture *x, ir_point p, const char *names)
{
    char got[200] = "";
    ir_refs list = {0};
    ir_live_list(&x->l, p, x->a, &list);
    for (uint32_t k = 0; k < list.len; k++) {
        strcat(got, k ? " " : "");
        strcat(got, x->f->values.at[list.at[k]].name);
    }
    assert_string_equal(got, names);
}

// At the barrier: what the rest of this round needs, and what the next rounds do. Not %right, which
// the other branch makes, and not %here: after the barrier nobody reads it, the next round makes
// its own.
TEST(live_values_at_a_point)
{
    fixture x = fixture_new();
    ir_live_uses(&x.l);
    expect_alive(&x, ir_point_behind(&x.l, first_of(&x, IR_BARRIER)), "x n base step i left");
    expect_alive(&x, ir_point_of(&x.l, named(&x, "right")), "x n base step i right");
    expect_alive(&x, ir_point_of(&x.l, named(&x, "next")), "x n base step next");
    expect_alive(&x, ir_point_of(&x.l, named(&x, "sum")), "x sum");
    arena_free(x.a);
}

TEST(live_spans_reach_to_the_ends_of_loops)
{
    fixture x = fixture_new();
    ir_live_spans(&x.l, NULL);
    ir_inst_id loop = first_of(&x, IR_LOOP);
    const ir_life *base = &x.l.lives[named(&x, "base")], *i = &x.l.lives[named(&x, "i")];
    const ir_life *here = &x.l.lives[named(&x, "here")], *sum = &x.l.lives[named(&x, "sum")];
    assert_int_equal(base->until, x.l.end[loop] - 1);
    assert_true(base->last_use < base->until);
    assert_int_equal(i->from, x.l.start[loop]);
    assert_int_equal(i->until, x.l.end[loop] - 1);
    assert_true(here->until < x.l.end[loop] - 1 && here->until == here->last_use);
    assert_int_equal(sum->from, x.l.end[loop]);
    assert_true(sum->until > sum->from);
    assert_int_equal(x.l.lives[named(&x, "n")].from, 0);
    arena_free(x.a);
}
