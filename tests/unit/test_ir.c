// The IR core: building, text, copying, compaction, hashing; and the verifier, which must notice
// every kind of damage done to a sound function (the `damages` table).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/eval.h"
#include "ir/ir.h"
#include "ir/nv.h"
#include "tests/test.h"

static const char sample[] =
    "shared $tile.0 size(64) align(16) elem(f32)\n"
    "data $t.0 size(4) align(4) elem(i32) { 01 02 03 04 }\n"
    "func @twice(%v: f32) -> (f32) {\n"
    "    %s = fadd f32 %v, %v\n"
    "    return (%s)\n"
    "}\n"
    "kernel @k(%x: ptr.global f32 \"f32 *\", %n: i32, %c: i1) block(32) {\n"
    "    local $a.0 size(16) align(4) elem(f32)\n"
    "    %0 = load f32 %x\n"
    "    %1 = call @twice (%0) : (f32)\n"
    "    %2 = local $a.0\n"
    "    store f32 %2, %1, %1\n"
    "    %3 = thread.x\n"
    "    %4 = shl i32 %3, 2\n"
    "    %5 = sext i64 %4\n"
    "    %6 = ptradd ptr.global %x, %5\n"
    "    L1: loop (%i: i32 = 0, %sum: f32 = 0.5) -> (%r: f32) {\n"
    "        %7 = slt i32 %i, %n\n"
    "        L2: if %7 {\n"
    "            exit L2\n"
    "        } else {\n"
    "            exit L1 (%sum)\n"
    "        }\n"
    "        %8 = fadd f32 %sum, 1\n"
    "        %9 = add i32 %i, 1\n"
    "        next L1 (%9, %8)\n"
    "    }\n"
    "    L3: switch %n -> (%w: f32) {\n"
    "    case 1:\n"
    "        exit L3 (f32 1)\n"
    "    case 2:\n"
    "        exit L3 (f32 2)\n"
    "    default:\n"
    "        exit L3 (%r)\n"
    "    }\n"
    "    %10 = shuffle.up f32 %w, i32 1, i32 32\n"
    "    %11 = atomic.fadd f32 %6, %10\n"
    "    %12 = select f32 %c, %11, %w\n"
    "    store f32 %6, %12\n"
    "    print \"%f\" (f64 1)\n"
    "    return\n"
    "}\n";

typedef struct world {
    arena *a;
    name_table *names;
    ir_module *m;
    ir_func *k;
} world;

static world world_of(const char *source)
{
    world w = {.a = arena_new()};
    w.names = names_in(w.a);
    const char *error = NULL;
    w.m = ir_read(w.a, w.names, str_of(source), &error);
    if (!w.m)
        fail_msg("%s", error);
    w.k = w.m->funcs.at[w.m->funcs.len - 1];
    return w;
}

static const char *shown(const world *w)
{
    text t = {.in = w->a};
    ir_print_module(w->m, &t);
    return t.at;
}

TEST(ir_text_round_trip)
{
    world w = world_of(sample);
    assert_null(ir_verify_module(w.m, w.a));
    const char *once = shown(&w);
    world again = world_of(once);
    assert_string_equal(once, shown(&again));
    assert_true(ir_hash_func(w.k) == ir_hash_func(again.k));
    arena_free(w.a);
    arena_free(again.a);
}

TEST(ir_compact_keeps_meaning)
{
    world w = world_of(sample);
    const char *before = shown(&w);
    uint64_t hash = ir_hash_func(w.k);
    // Dead weight in the arrays must not show.
    ir_cursor c = ir_before(w.k, ir_region_at(w.k, w.k->body)->first);
    ir_ref extra = ir_bin(&c, IR_ADD, IR_I32, ir_i32(w.k, 40), ir_i32(w.k, 2));
    assert_true(ir_hash_func(w.k) != hash);
    ir_remove(w.k, ir_def_of(w.k, extra));
    assert_true(ir_hash_func(w.k) == hash);
    ir_compact(w.k, w.k->module->in);
    assert_null(ir_verify_module(w.m, w.a));
    assert_string_equal(before, shown(&w));
    assert_true(ir_hash_func(w.k) == hash);
    assert_true(ir_i32(w.k, 32) == ir_i32(w.k, 32));
    arena_free(w.a);
}

TEST(ir_constants_are_shared)
{
    arena *a = arena_new();
    ir_module *m = ir_module_in(a, names_in(a));
    ir_func *f = ir_func_add(m, "f");
    assert_int_equal(ir_i32(f, -1), ir_constant(f, IR_I32, UINT64_MAX));
    assert_int_not_equal(ir_i32(f, 0), ir_i64(f, 0));
    assert_int_not_equal(ir_f32(f, 0.0f), ir_f32(f, -0.0f));
    assert_int_equal(ir_bool(f, true), ir_constant(f, IR_I1, 3));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ir_i64(f, (int64_t)i << 32), ir_i64(f, (int64_t)i << 32));
    assert_int_equal(f->consts.len, 1 + 3 + 2 + 1 + 999);
    arena_free(a);
}

TEST(ir_clone_region_copies)
{
    world w = world_of(sample);
    ir_func *copy = ir_func_add(w.m, "copy");
    copy->is_kernel = true;
    map values = map_make(w.a);
    for (uint32_t k = 0; k < w.k->params.len; k++)
        *map_at(&values, w.k->first_param + k) = ir_param_add(copy, w.k->params.at[k]);
    vec_push(w.a, &copy->locals, w.k->locals.at[0]);
    copy->block[0] = 32;
    copy->block[1] = copy->block[2] = 1;
    ir_cursor c = ir_at_end(copy, copy->body, (span){0});
    ir_clone_region(&c, w.k, w.k->body, &values, NULL);
    assert_null(ir_verify_module(w.m, w.a));
    copy->name = w.k->name;
    assert_true(ir_hash_func(copy) == ir_hash_func(w.k));
    // Within one function, too, while its arrays grow.
    ir_inst_id first = ir_region_at(copy, copy->body)->first;
    ir_inst_id loop = 0;
    for (ir_inst_id i = first; i; i = ir_at(copy, i)->next)
        if (ir_at(copy, i)->op == IR_LOOP)
            loop = i;
    ir_cursor before = ir_before(copy, loop);
    ir_ref start[] = {ir_i32(copy, 0), ir_f32(copy, 0.5f)};
    uint8_t type = IR_F32;
    ir_inst_id twin = ir_control(&before, IR_LOOP, start, 2, 1, &type, 1);
    map inside = map_make(w.a), targets = map_make(w.a);
    for (uint32_t k = 0; k < 2; k++)
        *map_at(&inside, ir_region_at(copy, ir_at(copy, loop)->regions)->args + k) =
            ir_region_at(copy, ir_at(copy, twin)->regions)->args + k;
    *map_at(&targets, loop) = twin;
    ir_cursor end = ir_at_end(copy, ir_at(copy, twin)->regions, (span){0});
    ir_clone_region(&end, copy, ir_at(copy, loop)->regions, &inside, &targets);
    assert_null(ir_verify(copy, w.a));
    arena_free(w.a);
}

// --- damage

static ir_inst *find_op(const world *w, ir_op op)
{
    for (uint32_t i = 1; i < w->k->insts.len; i++)
        if (ir_at(w->k, i)->op == op && ir_at(w->k, i)->parent)
            return ir_at(w->k, i);
    fail_msg("the sample has no %s", ir_op_name(op));
    return NULL;
}

static void set_operand(const world *w, ir_op op, uint32_t k, ir_ref r)
{
    ir_operands(w->k, find_op(w, op))[k] = r;
}

static ir_inst_id id_of(const world *w, const ir_inst *i)
{
    return (ir_inst_id)(i - w->k->insts.at);
}

// clang-format off
#define DAMAGE(name) static void damage_##name(world *w)
DAMAGE(operand_type)      { set_operand(w, IR_SHL, 0, ir_f32(w->k, 1)); }
DAMAGE(shift_count)       { set_operand(w, IR_SHL, 1, ir_i64(w->k, 1)); }
DAMAGE(result_type)       { w->k->values.at[find_op(w, IR_SHL)->result].type = IR_I64; }
DAMAGE(class)             { find_op(w, IR_FADD)->type = IR_F16; }
DAMAGE(bad_operand)       { set_operand(w, IR_SHL, 0, 9999); }
DAMAGE(bad_constant)      { set_operand(w, IR_SHL, 0, 9999 | IR_CONST_BIT); }
DAMAGE(no_operand)        { set_operand(w, IR_SHL, 0, 0); }
DAMAGE(use_before_def)    { set_operand(w, IR_SHL, 0, find_op(w, IR_SWITCH)->result); }
DAMAGE(out_of_region)     { set_operand(w, IR_SELECT, 1, find_op(w, IR_FADD)->result); }
DAMAGE(loop_arg_outside)  { set_operand(w, IR_SELECT, 1, ir_region_at(w->k, find_op(w, IR_LOOP)->regions)->args + 1); }
DAMAGE(operand_slice)     { find_op(w, IR_SHL)->operands = w->k->operands.len; }
DAMAGE(operand_count)     { find_op(w, IR_SHL)->operand_count = 1; }
DAMAGE(result_count)      { find_op(w, IR_SHL)->result_count = 2; }
DAMAGE(result_owner)      { find_op(w, IR_SHL)->result = find_op(w, IR_SEXT)->result; }
DAMAGE(nop_linked)        { find_op(w, IR_SHL)->op = IR_NOP; }
DAMAGE(unknown_op)        { find_op(w, IR_SHL)->op = IR_OP_COUNT; }
DAMAGE(fixed_type)        { find_op(w, IR_THREAD)->type = IR_I64; }
DAMAGE(axis)              { find_op(w, IR_THREAD)->imm = 3; }
DAMAGE(conversion)        { find_op(w, IR_SEXT)->op = IR_TRUNC; }
DAMAGE(conversion_from)   { find_op(w, IR_SEXT)->aux = IR_I16; }
DAMAGE(pointer)           { set_operand(w, IR_LOAD, 0, ir_i64(w->k, 4)); }
DAMAGE(offset_type)       { set_operand(w, IR_PTRADD, 1, ir_i32(w->k, 4)); }
DAMAGE(vector_count)      { ir_ref r[4]; ir_inst *i = find_op(w, IR_STORE); memcpy(r, ir_operands(w->k, i), 12); r[3] = r[2]; ir_set_operands(w->k, id_of(w, i), r, 4); }
DAMAGE(alignment)         { find_op(w, IR_LOAD)->align = 12; }
DAMAGE(hint)              { find_op(w, IR_LOAD)->hint = 9; }
DAMAGE(order)             { find_op(w, IR_ATOMIC)->order = 9; }
DAMAGE(atomic_kind)       { find_op(w, IR_ATOMIC)->aux = IR_AT_ADD; }
DAMAGE(atomic_number)     { find_op(w, IR_ATOMIC)->aux = IR_AT_COUNT; }
DAMAGE(shuffle_number)    { find_op(w, IR_SHUFFLE)->aux = 4; }
DAMAGE(local_number)      { find_op(w, IR_LOCAL)->aux = 1; }
DAMAGE(string_number)     { find_op(w, IR_PRINT)->aux = 5; }
DAMAGE(call_number)       { find_op(w, IR_CALL)->aux = 9; }
DAMAGE(call_kernel)       { find_op(w, IR_CALL)->aux = 1; }
DAMAGE(call_argument)     { set_operand(w, IR_CALL, 0, ir_i32(w->k, 1)); }
DAMAGE(condition)         { set_operand(w, IR_IF, 0, ir_i32(w->k, 1)); }
DAMAGE(exit_count)        { find_op(w, IR_EXIT)->aux = id_of(w, find_op(w, IR_LOOP)); }
DAMAGE(exit_target)       { find_op(w, IR_EXIT)->aux = id_of(w, find_op(w, IR_SWITCH)); }
DAMAGE(exit_not_control)  { find_op(w, IR_EXIT)->aux = id_of(w, find_op(w, IR_SHL)); }
DAMAGE(next_type)         { set_operand(w, IR_NEXT, 0, ir_i64(w->k, 1)); }
DAMAGE(next_target)       { find_op(w, IR_NEXT)->aux = 0; }
DAMAGE(loop_start)        { set_operand(w, IR_LOOP, 0, ir_i64(w->k, 1)); }
DAMAGE(loop_arg_count)    { ir_region_at(w->k, find_op(w, IR_LOOP)->regions)->arg_count = 1; }
DAMAGE(region_count)      { find_op(w, IR_IF)->region_count = 1; }
DAMAGE(regions_outside)   { find_op(w, IR_LOOP)->regions = 999; }
DAMAGE(regions_shared)    { find_op(w, IR_LOOP)->regions = w->k->body; }
DAMAGE(region_owner)      { ir_region_at(w->k, find_op(w, IR_LOOP)->regions)->owner = 1; }
DAMAGE(regions_on_plain)  { find_op(w, IR_SHL)->region_count = 1; }
DAMAGE(case_twice)        { find_op(w, IR_SWITCH)->cases[1] = 1; }
DAMAGE(no_cases)          { find_op(w, IR_SWITCH)->cases = NULL; }
DAMAGE(no_terminator)     { ir_unlink(w->k, id_of(w, find_op(w, IR_RETURN))); }
DAMAGE(early_terminator)  { ir_cursor c = ir_before(w->k, id_of(w, find_op(w, IR_SHL))); ir_return(&c, NULL, 0); }
DAMAGE(empty_region)      { ir_region *r = ir_region_at(w->k, find_op(w, IR_IF)->regions); r->first = r->last = 0; }
DAMAGE(broken_prev)       { find_op(w, IR_SHL)->prev = 0; }
DAMAGE(broken_next)       { find_op(w, IR_SHL)->next = 0; }
DAMAGE(cycle)             { find_op(w, IR_SHL)->next = ir_region_at(w->k, w->k->body)->first; }
DAMAGE(next_outside)      { find_op(w, IR_SHL)->next = 99999; }
DAMAGE(wrong_parent)      { find_op(w, IR_SHL)->parent = find_op(w, IR_LOOP)->regions; }
DAMAGE(return_count)      { w->k->is_kernel = false; vec_push(w->a, &w->k->returns, IR_F32); }
DAMAGE(kernel_returns)    { vec_push(w->a, &w->k->returns, IR_F32); }
DAMAGE(param_type)        { w->k->params.at[1].type = IR_I64; }
DAMAGE(param_value)       { w->k->values.at[w->k->first_param].def = IR_DEF_INST; }
DAMAGE(local_alignment)   { w->k->locals.at[0].align = 0; }
DAMAGE(no_body)           { w->k->body = 0; }
DAMAGE(no_name)           { w->k->name = ""; }
DAMAGE(same_name)         { w->k->name = "twice"; }
DAMAGE(not_bounded)       { w->m->funcs.at[0]->is_bounded = true; }
DAMAGE(write_constant)    { ir_cursor c = ir_before(w->k, id_of(w, find_op(w, IR_SHL))); uint8_t t = IR_PTR_CONST; ir_inst_id i = ir_add(&c, IR_CONSTANT, IR_PTR_CONST, NULL, 0, &t, 1); ir_store(&c, IR_I32, ir_at(w->k, i)->result, 0, ir_i32(w->k, 0)); }
DAMAGE(fast_f64)          { ir_cursor c = ir_before(w->k, id_of(w, find_op(w, IR_SHL))); ir_un(&c, IR_FAST_SIN, IR_F64, ir_f64(w->k, 1)); }
DAMAGE(compare_narrow)    { ir_cursor c = ir_before(w->k, id_of(w, find_op(w, IR_SHL))); ir_bin(&c, IR_IEQ, IR_I8, ir_constant(w->k, IR_I8, 1), ir_constant(w->k, IR_I8, 1)); }
DAMAGE(nv_number)         { ir_cursor c = ir_before(w->k, id_of(w, find_op(w, IR_SHL))); ir_inst *i = ir_at(w->k, ir_add(&c, IR_NV, IR_VOID, NULL, 0, NULL, 0)); i->aux = NV_CPA_COMMIT; i->imm = 1; }
DAMAGE(packed_lanes)      { ir_cursor c = ir_before(w->k, id_of(w, find_op(w, IR_SHL))); ir_bin(&c, IR_HADD2, IR_I32, ir_i32(w->k, 1), ir_i32(w->k, 1)); }

static const struct {
    const char *name;
    void (*run)(world *w);
    const char *says;
} damages[] = {
#define ROW(name, says) {#name, damage_##name, says}
    ROW(operand_type, "operand 1 has type f32"), ROW(shift_count, "operand 2 has type i64"), ROW(result_type, "result has type i64"),
    ROW(class, "type f16 is not allowed"), ROW(bad_operand, "does not exist"), ROW(bad_constant, "does not exist"),
    ROW(no_operand, "does not exist"), ROW(use_before_def, "not visible"), ROW(out_of_region, "not visible"),
    ROW(loop_arg_outside, "not visible"), ROW(operand_slice, "outside the operand array"), ROW(operand_count, "1 operands instead of 2"),
    ROW(result_count, "2 results instead of 1"), ROW(result_owner, "belongs to something else"), ROW(nop_linked, "not an operation"),
    ROW(unknown_op, "not an operation"), ROW(fixed_type, "i32 is expected"), ROW(axis, "axis 3"), ROW(conversion, "cannot convert"),
    ROW(conversion_from, "operand 1 has type i32"), ROW(pointer, "must be a pointer"), ROW(offset_type, "operand 2 has type i32"),
    ROW(vector_count, "3 elements"), ROW(alignment, "alignment 12"), ROW(hint, "hint does not exist"), ROW(order, "order, scope"),
    ROW(atomic_kind, "not allowed"), ROW(atomic_number, "unknown atomic"), ROW(shuffle_number, "unknown shuffle"),
    ROW(local_number, "only 1 of these"), ROW(string_number, "string 5"), ROW(call_number, "function 9"), ROW(call_kernel, "cannot be called"),
    ROW(call_argument, "operand 1 has type i32"), ROW(condition, "operand 1 has type i32"), ROW(exit_count, "values are given"),
    ROW(exit_target, "is not around it"), ROW(exit_not_control, "is not around it"), ROW(next_type, "operand 1 has type i64"),
    ROW(next_target, "is not around it"), ROW(loop_start, "operand 1 has type i64"), ROW(loop_arg_count, "started with 2"),
    ROW(region_count, "two regions"), ROW(regions_outside, "regions do not exist"), ROW(regions_shared, "started with 2"),
    ROW(region_owner, "belongs to something else"), ROW(regions_on_plain, "only control"), ROW(case_twice, "stands twice"),
    ROW(no_cases, "a value for every other"), ROW(no_terminator, "must end in"), ROW(early_terminator, "must be the last"),
    ROW(empty_region, "is empty"), ROW(broken_prev, "links are broken"), ROW(broken_next, "not the end of its list"),
    ROW(cycle, "linked twice"), ROW(next_outside, "leads outside"), ROW(wrong_parent, "links are broken"), ROW(return_count, "promises 1"),
    ROW(kernel_returns, "returns nothing"), ROW(param_type, "not its own"), ROW(param_value, "not its own"),
    ROW(local_alignment, "alignment 0"), ROW(no_body, "no body"), ROW(no_name, "no name"), ROW(same_name, "two functions"),
    ROW(not_bounded, "does not count calls"), ROW(write_constant, "cannot be written"), ROW(fast_f64, "only f32"),
    ROW(compare_narrow, "not allowed"), ROW(packed_lanes, "f16 or bf16"), ROW(nv_number, "it takes no number"),
};
// clang-format on

TEST(ir_verify_sees_every_damage)
{
    int missed = 0;
    for (size_t k = 0; k < sizeof damages / sizeof damages[0]; k++) {
        world w = world_of(sample);
        assert_null(ir_verify_module(w.m, w.a));
        damages[k].run(&w);
        const char *says = ir_verify_module(w.m, w.a);
        if (!says || !strstr(says, damages[k].says)) {
            printf("%s: %s, but '%s' was expected\n", damages[k].name, says ? says : "not noticed",
                   damages[k].says);
            missed++;
        }
        arena_free(w.a);
    }
    assert_int_equal(missed, 0);
}

// --- the reader's mistakes

TEST(ir_read_explains)
{
    static const struct {
        const char *source, *says;
    } rows[] = {
        {"kernel k() {", "1:8: a name like @f"},
        {"kernel @k() { %0 = add i32 1, 2\n return }}", "kernel, func, shared or data"},
        {"kernel @k() {\n %0 = bogus i32 1\n return }", "2:7: an operation"},
        {"kernel @k() {\n %0 = add i32 %1, 2\n return }", "2:15: %1 is not defined"},
        {"kernel @k() {\n %0 = thread.x\n %0 = thread.x\n return }", "%0 is defined twice"},
        {"kernel @k() { exit L1 }", "label"},
        {"kernel @k() { %0 = add 1, 2 }", "a type is expected"},
        {"kernel @k() { %0 = add i32 x, 2 }", "an integer is expected"},
        {"kernel @k() { %0 = add i32 5000000000, 2 }", "does not fit i32"},
        {"kernel @k() { %0 = fadd f32 1.x, 2 }", "not a number"},
        {"kernel @k() { %0 = local $a.0 }", "no such local"},
        {"kernel @k() { if true { } else { } }", "needs a label"},
        {"kernel @k() { L1: add i32 1, 2 }", "only control"},
        {"kernel @k() { L1: if true { exit L1 } return }", "'else'"},
        {"kernel @k() { L1: switch i32 1 { default: exit L1 case 1: exit L1 } }",
         "'default' comes last"},
        {"kernel @k() { %0 = call @f () : (i32) return }", "no function @f"},
        {"kernel @k() { print \"abc", "no end"},
        {"data $t.0 size(2) align(1) { 00 }", "1 bytes are given"},
        {"data $t.1 size(0) align(1) { }", "the next number is 0"},
        {"shared $s.0 size(4) align(3)", "power of two"},
        {"kernel @k(%x: ptr.global f32) { store f32 %x, 1 align(70000) return }", "70000 is not"},
        {"kernel @k() { %0 = barrier }", "no result"},
        {"kernel @k() { ? }", "means nothing"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        arena *a = arena_new();
        const char *error = NULL;
        assert_null(ir_read(a, names_in(a), str_of(rows[k].source), &error));
        if (!error || !strstr(error, rows[k].says))
            fail_msg("'%s' says '%s', not '%s'", rows[k].source, error, rows[k].says);
        arena_free(a);
    }
}

TEST(ir_read_limits_depth)
{
    arena *a = arena_new();
    text t = {.in = a};
    text_puts(&t, "kernel @k() {");
    for (int k = 0; k < 100000; k++)
        text_printf(&t, "L%d: block {", k);
    const char *error = NULL;
    assert_null(ir_read(a, names_in(a), (str){t.at, t.len}, &error));
    assert_non_null(strstr(error, "nested more than"));
    arena_free(a);
}
