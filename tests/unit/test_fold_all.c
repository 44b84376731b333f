// Folding keeps every bit: all chains of two pure operations, the second on the result of the
// first, with constants from the edges of their types on either side, are folded and evaluated on
// edge values (all values of i8). What the rules leave must compute what the chain did.
#include <string.h>

#include "ir/eval.h"
#include "ir/tables.h"
#include "pass/passes.h"
#include "tests/test.h"

typedef struct step {
    ir_op op;
    ir_type in, out;
    enum { UNARY, RIGHT, LEFT, SAME, CHOOSE } shape; // op x | x op k | k op x | x op x | x ? k : k'
    uint64_t k;
} step;

enum { MOST_STEPS = 4096, MOST_VALUES = 256 };
static step steps[MOST_STEPS];
static uint32_t step_count;

// --- values at the edges
static uint32_t edges_of(ir_type t, uint64_t *out)
{
    static const uint64_t i32s[] = {0,   1,          2,          5,          31,        32,
                                    255, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    static const uint64_t i64s[] = {
        0, 1, 3, 63, 64, 0x7fffffff, 0xffffffff, 0x100000000, INT64_MAX, 1ull << 63, UINT64_MAX};
    static const uint64_t f32s[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x40000000,
                                    0x3f000000, 0x7f800000, 0xff800000, 0x7fc00000, 1,
                                    0x00800000, 0x7f7fffff, 0x7f000000, 0x4b800001, 0x3fc00000};
    static const uint64_t f64s[] = {0,
                                    1ull << 63,
                                    0x3ff0000000000000,
                                    0xbff0000000000000,
                                    0x4000000000000000,
                                    0x3fe0000000000000,
                                    0x7ff0000000000000,
                                    0x7ff8000000000000,
                                    1,
                                    0x0010000000000000,
                                    0x7fefffffffffffff,
                                    0x7fe0000000000000,
                                    0x3ff8000000000000};
    static const uint64_t i16s[] = {0, 1, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff};
    static const uint64_t i1s[] = {0, 1};
    const struct {
        const uint64_t *at;
        size_t len;
    } of[IR_TYPE_COUNT] = {[IR_I1] = {i1s, COUNT(i1s)},    [IR_I16] = {i16s, COUNT(i16s)},
                           [IR_I32] = {i32s, COUNT(i32s)}, [IR_I64] = {i64s, COUNT(i64s)},
                           [IR_F32] = {f32s, COUNT(f32s)}, [IR_F64] = {f64s, COUNT(f64s)}};
    if (t == IR_I8) {
        for (uint32_t k = 0; k < 256; k++)
            out[k] = k;
        return 256;
    }
    for (size_t k = 0; k < of[t].len; k++)
        out[k] = of[t].at[k];
    return (uint32_t)of[t].len;
}

// --- all steps
static void add_step(ir_op op, ir_type in, ir_type out, int shape, uint64_t k)
{
    assert_true(step_count < MOST_STEPS);
    steps[step_count].op = op;
    steps[step_count].in = in;
    steps[step_count].out = out;
    steps[step_count].shape = (uint8_t)shape;
    steps[step_count++].k = k;
}

static bool is_shift(ir_op op)
{
    return op == IR_SHL || op == IR_LSHR || op == IR_ASHR;
}

static void add_binary(ir_op op, ir_type t)
{
    uint64_t k[MOST_VALUES];
    ir_type out = ir_op_rows[op].rule == IR_RULE_CMP ? IR_I1 : t;
    uint32_t n = edges_of(is_shift(op) ? IR_I32 : t, k);
    for (uint32_t i = 0; i < n; i++)
        add_step(op, t, out, RIGHT, k[i]);
    n = is_shift(op) ? 0 : edges_of(t, k);
    for (uint32_t i = 0; i < n; i++)
        add_step(op, t, out, LEFT, k[i]);
    if (!is_shift(op))
        add_step(op, t, out, SAME, 0);
}

static void add_conversions(void)
{
    static const ir_type types[] = {IR_I1, IR_I8, IR_I16, IR_I32, IR_I64};
    for (size_t a = 0; a < COUNT(types); a++)
        for (size_t b = 0; b < a; b++) {
            add_step(IR_TRUNC, types[a], types[b], UNARY, 0);
            add_step(IR_ZEXT, types[b], types[a], UNARY, 0);
            add_step(IR_SEXT, types[b], types[a], UNARY, 0);
        }
    add_step(IR_FEXT, IR_F32, IR_F64, UNARY, 0);
    add_step(IR_FNARROW, IR_F64, IR_F32, UNARY, 0);
    add_step(IR_BITCAST, IR_F32, IR_I32, UNARY, 0);
    add_step(IR_BITCAST, IR_I32, IR_F32, UNARY, 0);
    add_step(IR_BITCAST, IR_F64, IR_I64, UNARY, 0);
    add_step(IR_BITCAST, IR_I64, IR_F64, UNARY, 0);
    add_step(IR_SITOF, IR_I32, IR_F32, UNARY, 0);
    add_step(IR_FTOSI, IR_F32, IR_I32, UNARY, 0);
    add_step(IR_SELECT, IR_I1, IR_I32, CHOOSE, 1); // 1 : 0
    add_step(IR_SELECT, IR_I1, IR_I32, CHOOSE, 7); // 7 : 6
    add_step(IR_SELECT, IR_I1, IR_I1, CHOOSE, 1);
    add_step(IR_SELECT, IR_I1, IR_I64, CHOOSE, 0); // 0 : -1
}

static bool takes(ir_op op, ir_type t)
{
    bool is_word = t == IR_I32 || t == IR_I64, is_real = t == IR_F32 || t == IR_F64;
    bool is_shifted = is_shift(op) && is_word;
    switch ((ir_class)ir_op_rows[op].cls) {
    case IR_CLS_I: return is_word || is_shifted;
    case IR_CLS_B: return is_word || t == IR_I1;
    case IR_CLS_F: return is_real;
    case IR_CLS_A: return is_word || (t == IR_I1 && (op == IR_IEQ || op == IR_INE));
    }
    return false;
}

static void make_steps(void)
{
    static const ir_type types[] = {IR_I1, IR_I32, IR_I64, IR_F32, IR_F64};
    step_count = 0;
    for (int op = 1; op < IR_OP_COUNT; op++) {
        if (op >= IR_FAST_EXP2 && op <= IR_FAST_DIV)
            continue; // outside the promise of equal bits
        ir_rule rule = (ir_rule)ir_op_rows[op].rule;
        for (size_t k = 0; k < COUNT(types); k++) {
            if (!takes((ir_op)op, types[k]))
                continue;
            if (rule == IR_RULE_BIN || rule == IR_RULE_CMP || is_shift((ir_op)op))
                add_binary((ir_op)op, types[k]);
            else if (rule == IR_RULE_UN && op != IR_UNIFORM)
                add_step((ir_op)op, types[k], types[k], UNARY, 0);
        }
    }
    add_conversions();
}

// --- building and evaluating
static ir_ref put_step(ir_cursor *c, const step *s, ir_ref x)
{
    ir_func *f = c->f;
    ir_ref k = ir_constant(f, is_shift(s->op) ? IR_I32 : s->in, s->k);
    switch (s->shape) {
    case UNARY:
        return ir_op_rows[s->op].rule == IR_RULE_CVT ? ir_convert(c, s->op, s->out, x)
                                                     : ir_un(c, s->op, s->in, x);
    case RIGHT: return ir_bin(c, s->op, s->in, x, k);
    case LEFT: return ir_bin(c, s->op, s->in, k, x);
    case SAME: return ir_bin(c, s->op, s->in, x, x);
    case CHOOSE:
        return ir_select(c, x, ir_constant(f, s->out, s->k), ir_constant(f, s->out, s->k - 1));
    }
    return 0;
}

static uint64_t value_of(const ir_func *f, ir_ref r, ir_ref x, uint64_t x_bits)
{
    uint64_t bits, in[3] = {0};
    if (r == x)
        return x_bits;
    if (ir_const_bits(f, r, &bits))
        return bits;
    const ir_inst *i = ir_at(f, ir_def_of(f, r));
    for (uint32_t k = 0; k < i->operand_count; k++)
        in[k] = value_of(f, ir_operand(f, i, k), x, x_bits);
    assert_true(ir_eval((ir_op)i->op, (ir_type)i->type, i->aux, in, &bits));
    return bits;
}

static bool is_nan(ir_type t, uint64_t v)
{
    return (t == IR_F32 && (v & 0x7fffffff) > 0x7f800000) ||
           (t == IR_F64 && (v & INT64_MAX) > 0x7ff0000000000000);
}

// Folds `a` and then `b`; false: some value has changed.
static bool keeps_values(const step *a, const step *b, arena *in, arena *scratch)
{
    ir_module *m = ir_module_in(in, NULL);
    ir_func *f = ir_func_add(m, "k");
    ir_ref p = ir_param_add(f, (ir_param){.kind = IR_PARAM_POINTER, .type = IR_PTR_GLOBAL});
    ir_cursor c = ir_at_end(f, f->body, (span){0});
    ir_ref x = ir_load(&c, a->in, p, 0);
    ir_ref first = put_step(&c, a, x), second = b ? put_step(&c, b, first) : first;
    ir_type t = b ? b->out : a->out;
    ir_store(&c, t, p, 8, second);
    ir_inst_id store = ir_region_at(f, f->body)->last;
    ir_return(&c, NULL, 0);
    uint64_t values[MOST_VALUES], want[MOST_VALUES];
    uint32_t count = edges_of(a->in, values);
    for (uint32_t k = 0; k < count; k++)
        want[k] = value_of(f, second, x, values[k]);
    pass_ctx ctx = {.scratch = scratch, .level = 2};
    pass_fold(f, &ctx);
    ir_ref folded = ir_operand(f, ir_at(f, store), 1);
    for (uint32_t k = 0; k < count; k++) {
        uint64_t got = value_of(f, folded, x, values[k]);
        if (got == want[k] || (is_nan(t, got) && is_nan(t, want[k])))
            continue;
        text out = {.in = in};
        ir_print_func(f, &out);
        print_error("%s %s (k %llx) then %s (k %llx) of %llx: want %llx, got %llx\n%s\n",
                    ir_op_name(a->op), ir_type_name(a->in), (unsigned long long)a->k,
                    b ? ir_op_name(b->op) : "nothing", b ? (unsigned long long)b->k : 0,
                    (unsigned long long)values[k], (unsigned long long)want[k],
                    (unsigned long long)got, out.at);
        return false;
    }
    return true;
}

TEST(fold_keeps_every_bit)
{
    make_steps();
    arena *in = arena_new(), *scratch = arena_new();
    arena_alloc(in, 1); // so that restoring keeps the first chunk
    arena_alloc(scratch, 1);
    uint32_t failed = 0, chains = 0;
    for (uint32_t a = 0; a < step_count; a++) {
        for (uint32_t b = 0; b <= step_count && failed < 10; b++) {
            bool is_alone = b == step_count;
            if (!is_alone && steps[b].in != steps[a].out)
                continue;
            arena_mark mark = arena_save(in), scratch_mark = arena_save(scratch);
            failed += !keeps_values(&steps[a], is_alone ? NULL : &steps[b], in, scratch);
            chains++;
            arena_restore(in, mark);
            arena_restore(scratch, scratch_mark);
        }
    }
    arena_free(in);
    arena_free(scratch);
    assert_true(chains > 10000);
    assert_int_equal(failed, 0);
}
