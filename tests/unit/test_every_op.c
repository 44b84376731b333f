// Every row of ops.def in every place that must know it: reader, printer, verifier, interpreter,
// PTX, C with lane vectors, own machine code, OpenCL C. Operations whose type rule says all are
// made from the table, for every type of their class; the others are written out below. A new row
// without its line here, or without code in a back end, fails with its name.
#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "back/back.h"
#include "back/x86/make.h"
#include "ir/eval.h"
#include "ir/nv.h"
#include "ir/tables.h"
#include "pass/pass.h"
#include "tests/test.h"

// What every kernel begins with: values of all types, by the type's name. UNIFORM reads them from
// one place, LANES from another place in each thread.
static const char begin_uniform[] = "    %p = ptradd ptr.global %g, i64 8\n";
static const char begin_lanes[] = "    %t = thread.x\n"
                                  "    %w = zext i64 %t\n"
                                  "    %o = shl i64 %w, i32 3\n"
                                  "    %p = ptradd ptr.global %g, %o\n";
static const char values[] = "    %i1 = load i1 %p\n"
                             "    %i8 = load i8 %p\n"
                             "    %i16 = load i16 %p\n"
                             "    %i32 = load i32 %p\n"
                             "    %i64 = load i64 %p\n"
                             "    %f16 = load f16 %p\n"
                             "    %bf16 = load bf16 %p\n"
                             "    %f8e4 = load f8e4 %p\n"
                             "    %f8e5 = load f8e5 %p\n"
                             "    %f32 = load f32 %p\n"
                             "    %f64 = load f64 %p\n";

typedef struct line {
    ir_op op;
    const char *text;  // its result, if any, is %r
    const char *gives; // the type of %r; NULL: none
} line;

// clang-format off
static const line lines[] = {
    {IR_SHL, "%r = shl i32 %i32, %i32", "i32"}, {IR_SHL, "%r = shl i64 %i64, %i32", "i64"},
    {IR_LSHR, "%r = lshr i32 %i32, %i32", "i32"}, {IR_LSHR, "%r = lshr i64 %i64, %i32", "i64"},
    {IR_ASHR, "%r = ashr i32 %i32, %i32", "i32"}, {IR_ASHR, "%r = ashr i64 %i64, %i32", "i64"},
    {IR_FSHL, "%r = fshl i32 %i32, %i32, %i32", "i32"}, {IR_FSHL, "%r = fshl i64 %i64, %i64, %i32", "i64"},
    {IR_PRMT, "%r = prmt %i32, %i32, %i32", "i32"},
    {IR_DP4A_S, "%r = dp4a.s %i32, %i32, %i32", "i32"}, {IR_DP4A_U, "%r = dp4a.u %i32, %i32, %i32", "i32"},
    {IR_FFMA, "%r = ffma f32 %f32, %f32, %f32", "f32"}, {IR_FFMA, "%r = ffma f64 %f64, %f64, %f64", "f64"},
    {IR_TRUNC, "%r = trunc i32 %i64", "i32"}, {IR_TRUNC, "%r = trunc i16 %i32", "i16"},
    {IR_TRUNC, "%r = trunc i8 %i64", "i8"}, {IR_TRUNC, "%r = trunc i1 %i32", "i1"},
    {IR_ZEXT, "%r = zext i32 %i1", "i32"}, {IR_ZEXT, "%r = zext i32 %i8", "i32"},
    {IR_ZEXT, "%r = zext i64 %i16", "i64"}, {IR_ZEXT, "%r = zext i64 %i32", "i64"},
    {IR_SEXT, "%r = sext i32 %i1", "i32"}, {IR_SEXT, "%r = sext i32 %i8", "i32"},
    {IR_SEXT, "%r = sext i64 %i16", "i64"}, {IR_SEXT, "%r = sext i64 %i32", "i64"},
    {IR_SITOF, "%r = sitof f32 %i32", "f32"}, {IR_SITOF, "%r = sitof f64 %i64", "f64"},
    {IR_UITOF, "%r = uitof f32 %i64", "f32"}, {IR_UITOF, "%r = uitof f64 %i32", "f64"},
    {IR_FTOSI, "%r = ftosi i32 %f32", "i32"}, {IR_FTOSI, "%r = ftosi i8 %f64", "i8"}, {IR_FTOSI, "%r = ftosi i64 %f32", "i64"},
    {IR_FTOUI, "%r = ftoui i32 %f64", "i32"}, {IR_FTOUI, "%r = ftoui i16 %f32", "i16"}, {IR_FTOUI, "%r = ftoui i64 %f64", "i64"},
    {IR_FEXT, "%r = fext f32 %f16", "f32"}, {IR_FEXT, "%r = fext f32 %bf16", "f32"}, {IR_FEXT, "%r = fext f32 %f8e4", "f32"},
    {IR_FEXT, "%r = fext f32 %f8e5", "f32"}, {IR_FEXT, "%r = fext f64 %f32", "f64"},
    {IR_FNARROW, "%r = fnarrow f16 %f32", "f16"}, {IR_FNARROW, "%r = fnarrow bf16 %f32", "bf16"},
    {IR_FNARROW, "%r = fnarrow f8e4 %f32", "f8e4"}, {IR_FNARROW, "%r = fnarrow f8e5 %f32", "f8e5"},
    {IR_FNARROW, "%r = fnarrow f32 %f64", "f32"},
    {IR_BITCAST, "%r = bitcast f32 %i32", "f32"}, {IR_BITCAST, "%r = bitcast i64 %f64", "i64"},
    {IR_BITCAST, "%r = bitcast f16 %i16", "f16"}, {IR_BITCAST, "%r = bitcast i8 %f8e4", "i8"},
    {IR_PTRTOINT, "%r = ptrtoint i64 %p", "i64"},
    {IR_INTTOPTR, "%q = inttoptr ptr.gen %i64\n    %r = ptrtoint i64 %q", "i64"},
    {IR_PTRCAST, "%q = ptrcast ptr.gen %p\n    %r = load i32 %q", "i32"},
    {IR_HADD2, "%r = hadd2.f16 %i32, %i32", "i32"}, {IR_HSUB2, "%r = hsub2.bf16 %i32, %i32", "i32"},
    {IR_HMUL2, "%r = hmul2.f16 %i32, %i32", "i32"}, {IR_HFMA2, "%r = hfma2.bf16 %i32, %i32, %i32", "i32"},
    {IR_HMIN2, "%r = hmin2.f16 %i32, %i32", "i32"}, {IR_HMAX2, "%r = hmax2.bf16 %i32, %i32", "i32"},
    {IR_PTRADD, "%q = ptradd ptr.global %p, %i64\n    %r = ptrtoint i64 %q", "i64"},
    {IR_LOAD, "%q, %r = load f32 %p offset(8) align(8)", "f32"}, {IR_LOAD, "%r = load i8 %p offset(1) hint(volatile)", "i8"},
    {IR_STORE, "store i16 %p, %i16, %i16 offset(4) align(4)", NULL}, {IR_STORE, "store i1 %p, %i1", NULL},
    {IR_LOCAL, "%q = local $own.0\n    store i32 %q, %i32 offset(4)\n    %r = load i32 %q offset(4)", "i32"},
    {IR_SHARED, "%q = shared $tile.0\n    store i32 %q, %i32\n    %r = load i32 %q", "i32"},
    {IR_CONSTANT, "%q = constant $t.0\n    %r = load i32 %q", "i32"},
    {IR_ATOMIC, "%r = atomic.add i32 %p, %i32", "i32"}, {IR_ATOMIC, "%r = atomic.smin i32 %p, %i32", "i32"},
    {IR_ATOMIC, "%r = atomic.umax i64 %p, %i64", "i64"}, {IR_ATOMIC, "%r = atomic.xor i32 %p, %i32 order(acq_rel)", "i32"},
    {IR_ATOMIC, "%r = atomic.xchg i64 %p, %i64", "i64"}, {IR_ATOMIC, "%r = atomic.fadd f32 %p, %f32", "f32"},
    {IR_ATOMIC, "%r = atomic.fmax f32 %p, %f32", "f32"},
    {IR_CAS, "%r = cas i32 %p, %i32, %i32", "i32"}, {IR_CAS, "%r = cas i64 %p, %i64, %i64 scope(system)", "i64"},
    {IR_ATOMLOAD, "%r = atomload i32 %p order(acquire)", "i32"}, {IR_ATOMSTORE, "atomstore i64 %p, %i64 order(release)", NULL},
    {IR_FENCE, "fence order(seq_cst)", NULL}, {IR_PREFETCH, "prefetch %p", NULL},
    {IR_THREAD, "%r = thread.y", "i32"}, {IR_BLOCK, "%r = blockidx.x", "i32"}, {IR_BLOCKDIM, "%r = blockdim.z", "i32"},
    {IR_GRIDDIM, "%r = griddim.y", "i32"}, {IR_LANE, "%r = lane", "i32"}, {IR_WARP, "%r = warp", "i32"},
    {IR_DYNSHARED, "%r = dynshared", "i32"},
    {IR_BARRIER, "barrier", NULL}, {IR_WARPSYNC, "warpsync", NULL},
    {IR_SHUFFLE, "%r = shuffle.idx i32 %i32, i32 3, i32 32", "i32"}, {IR_SHUFFLE, "%r = shuffle.up f64 %f64, %i32, i32 8", "f64"},
    {IR_SHUFFLE, "%r = shuffle.down i64 %i64, i32 1, i32 32", "i64"}, {IR_SHUFFLE, "%r = shuffle.xor f32 %f32, i32 16, i32 32", "f32"},
    {IR_BALLOT, "%r = ballot %i1", "i32"}, {IR_ACTIVE, "%r = active", "i32"}, {IR_MATCH, "%r = match i64 %i64", "i32"},
    {IR_UNIFORM, "%r = uniform.warp i32 %i32", "i32"}, {IR_UNIFORM, "%r = uniform.block f64 %f64", "f64"},
    {IR_PRINT, "print \"%d %f\\n\" (%i32, %f64)", NULL}, {IR_ASSERT, "assert \"fine\" %i1", NULL}, {IR_TRAP, "trap", NULL},
    {IR_BOUNDS, "bounds \"reads x\" %i1, %i64, %i64 elem(4)", NULL}, {IR_ASSUME, "assume %i1", NULL},
    {IR_HOST, "%r, %q = host \"f lane wait (v4.4[i32@0] o8.8[f64@0]) v4.4[i32@0] : i32 f(i32, f64 *)\" (%i32, %f64) : (i32, f64)", "i32"},
    {IR_HOST, "host \"g warp post (v2.2[i16@0]) - : void g(i16)\" (%i16) : ()", NULL},
    {IR_CLOCK, "%r = clock", "i64"}, {IR_NANOTIME, "%r = nanotime", "i64"}, {IR_SLEEP, "sleep %i32", NULL},
    {IR_CALL, "%r = call @twice (%i32) : (i32)", "i32"},
    {IR_BLOCKSCOPE, "L1: block -> (%r: i32) {\n        exit L1 (%i32)\n    }", "i32"},
    {IR_IF, "L1: if %i1 -> (%r: i32) {\n        exit L1 (%i32)\n    } else {\n        exit L1 (i32 3)\n    }", "i32"},
    {IR_LOOP, "L1: loop (%n: i32 = 0) -> (%r: i32) {\n        %m = add i32 %n, 1\n        %c = ult i32 %n, 9\n"
              "        L2: if %c {\n            exit L2\n        } else {\n            exit L1 (%m)\n        }\n"
              "        next L1 (%m)\n    }", "i32"},
    {IR_SWITCH, "L1: switch %i32 -> (%r: i32) {\n    case 4:\n        exit L1 (%i32)\n    default:\n        exit L1 (i32 3)\n    }", "i32"},
    {IR_EXIT, "L1: block {\n        exit L1\n    }", NULL},
    {IR_NEXT, "L1: loop (%n: i32 = 0) {\n        %c = ult i32 %n, 9\n        L2: if %c {\n            exit L2\n        } else {\n"
              "            exit L1\n        }\n        %m = add i32 %n, 1\n        next L1 (%m)\n    }", NULL},
    {IR_RETURN, "L1: if %i1 {\n        return\n    } else {\n        exit L1\n    }", NULL},
    {IR_UNREACHABLE, "L1: if %i1 {\n        trap\n        unreachable\n    } else {\n        exit L1\n    }", NULL},
};
// NVIDIA's own: only the interpreter and PTX have them; the others refuse the kernel (K4302).
static const line nvidia[] = {
    {IR_NV, "nv.cp_async.wait () : () imm(0)", NULL},
    {IR_SHADDR, "%q = shared $tile.0\n    %r = shaddr %q", "i32"},
    {IR_MAPA, "%q = shared $tile.0\n    %m = mapa %q, i32 0\n    %r = load i32 %m", "i32"},
    {IR_CLUSTER, "%r = cluster imm(1)", "i32"},
};
// clang-format on

typedef struct module_text {
    text out;
    const char *begin;
    uint32_t kernels;
    bool has[IR_OP_COUNT];
} module_text;

static void start_module(module_text *t, arena *a, const char *begin)
{
    *t = (module_text){.out = {.in = a}, .begin = begin};
    text_puts(&t->out, "shared $tile.0 size(256) align(16) elem(i32)\n"
                       "data $t.0 size(4) align(4) elem(i32) {\n    01 02 03 04\n}\n"
                       "func @twice(%x: i32) -> (i32) {\n    %y = add i32 %x, %x\n"
                       "    return (%y)\n}\n");
}

static void put_kernel(module_text *t, const line *l)
{
    bool has_local = strstr(l->text, "$own.0") != NULL;
    t->has[l->op] = true;
    text_printf(&t->out, "kernel @k%u_%s(%%g: ptr.global i64) block(32, 1, 1) {\n%s%s%s    %s\n",
                t->kernels++, "op",
                has_local ? "    local $own.0 size(64) align(16) elem(i32)\n" : "", t->begin,
                values, l->text);
    if (l->gives)
        text_printf(&t->out, "    store %s %%p, %%r\n", l->gives);
    text_puts(&t->out, "    return\n}\n");
}

// A row whose rule says all: as many operands of the type as it has.
static void put_by_rule(module_text *t, ir_op op, ir_type type)
{
    const ir_op_row *row = &ir_op_rows[op];
    const char *name = ir_type_name(type), *value = ir_is_ptr(type) ? "p" : name;
    char body[160];
    int n = snprintf(body, sizeof body, "%%r = %s %s ", row->name, name);
    for (uint32_t k = 0; k < row->operands; k++) {
        bool is_condition = row->rule == IR_RULE_SEL && k == 0;
        n += snprintf(body + n, sizeof body - (size_t)n, "%s%%%s", k ? ", " : "",
                      is_condition ? "i1" : value);
    }
    bool is_compare = row->rule == IR_RULE_CMP;
    line l = {op, body, is_compare ? "i1" : ir_is_ptr(type) ? NULL : name};
    put_kernel(t, &l);
}

static bool suits(ir_op op, ir_type type)
{
    bool is_word = type == IR_I32 || type == IR_I64, is_real = type == IR_F32 || type == IR_F64;
    const ir_op_row *row = &ir_op_rows[op];
    if (op == IR_UNIFORM)
        return false; // has a suffix
    if (op >= IR_FAST_EXP2 && op <= IR_FAST_DIV)
        return type == IR_F32;
    switch ((ir_class)row->cls) {
    case IR_CLS_I: return is_word;
    case IR_CLS_B: return is_word || type == IR_I1;
    case IR_CLS_F: return is_real;
    case IR_CLS_A: break;
    }
    if (row->rule == IR_RULE_SEL)
        return type != IR_VOID && !ir_is_ptr(type);
    return is_word || type == IR_PTR_GLOBAL || (type == IR_I1 && (op == IR_IEQ || op == IR_INE));
}

static void put_all(module_text *t)
{
    for (int op = 1; op < IR_OP_COUNT; op++) {
        ir_rule rule = (ir_rule)ir_op_rows[op].rule;
        for (int type = 0; type < IR_TYPE_COUNT; type++)
            if (rule != IR_RULE_CVT && rule != IR_RULE_SPECIAL && suits((ir_op)op, (ir_type)type))
                put_by_rule(t, (ir_op)op, (ir_type)type);
    }
    for (size_t k = 0; k < COUNT(lines); k++)
        put_kernel(t, &lines[k]);
}

static ir_module *read_module(module_text *t, arena *a)
{
    const char *wrong = NULL;
    ir_module *m = ir_read(a, names_in(a), (str){t->out.at, t->out.len}, &wrong);
    if (m)
        wrong = ir_verify_module(m, a);
    if (wrong)
        print_error("%s\n", wrong);
    assert_null(wrong);
    pass_ctx ctx = {.scratch = a};
    assert_true(pass_run_all(m, &ctx, true, NULL, NULL)); // calls are inlined
    return m;
}

static void expect_interp(const module_text *t)
{
    kiln *k;
    kiln_module *m = NULL;
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    kiln_compile_desc desc = {.source = t->out.at,
                              .source_len = t->out.len,
                              .path = "every.ir",
                              .is_ir = true,
                              .optimise = -1};
    if (kiln_compile(k, &desc, &m) != KILN_OK)
        print_error("interp: %s\n", kiln_last_error(k)->text);
    assert_non_null(m);
    kiln_close(k);
}

static void expect_ptx(const ir_module *m, arena *a)
{
    text out = {.in = a};
    diags *ds = diags_in(a, sources_in(a));
    assert_true(ptx_emit(m, NULL, target_find("sm_90a"), NULL, ds, a, &out));
}

// Does a compiler take the text? One that is not here is not asked, and the test is skipped.
static void expect_compiles(const text *t, const char *name, const char *command)
{
    char path[64], shell[400];
    snprintf(path, sizeof path, "/tmp/kiln-every-%ld-%s", (long)getpid(), name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fwrite(t->at, 1, t->len, out);
    fclose(out);
    snprintf(shell, sizeof shell, "%s %s 1>&2", command, path);
    int status = system(shell);
    unlink(path);
    assert_int_equal(status, 0);
}

static bool has_program(const char *name)
{
    char shell[80];
    snprintf(shell, sizeof shell, "command -v %s >/dev/null 2>&1", name);
    return system(shell) == 0;
}

static void expect_c(const ir_module *m, arena *a)
{
    text out = {.in = a};
    cpu_emit(m, NULL, a, &out);
    if (has_program("gcc"))
        expect_compiles(&out, "op.c",
                        "gcc -std=gnu11 -fsyntax-only -w -Werror=implicit-function-declaration "
                        "-march=x86-64-v4");
}

static void expect_opencl(const ir_module *m, arena *a)
{
    text out = {.in = a};
    opencl_options options = {.is_exact = true};
    diags *ds = diags_in(a, sources_in(a));
    assert_true(opencl_emit(m, NULL, &options, ds, a, &out));
    if (has_program("clang"))
        expect_compiles(&out, "op.cl",
                        "clang -x cl -cl-std=CL3.0 -Xclang -finclude-default-header "
                        "-fsyntax-only -w -Werror=implicit-function-declaration");
}

static bool calls_host(const ir_func *f)
{
    for (uint32_t id = 1; id < f->insts.len; id++)
        if (f->insts.at[id].op == IR_HOST)
            return true;
    return false;
}

static void expect_x86(const ir_module *m, arena *a)
{
    x86_module made = x86_make(m, a);
    assert_int_equal(made.kernel_count, m->funcs.len);
    for (size_t k = 0; k < made.kernel_count; k++) {
        if (calls_host(m->funcs.at[k])) { // the other tiers do
            assert_non_null(made.kernels[k].refusal);
            continue;
        }
        if (made.kernels[k].refusal)
            print_error("x86: %s: %s\n", made.kernels[k].name, made.kernels[k].refusal);
        assert_null(made.kernels[k].refusal);
    }
}

TEST(every_op_is_here)
{
    arena *a = arena_new();
    module_text t;
    start_module(&t, a, begin_uniform);
    put_all(&t);
    for (size_t k = 0; k < COUNT(nvidia); k++)
        t.has[nvidia[k].op] = true;
    int missing = 0;
    for (int op = 1; op < IR_OP_COUNT; op++)
        if (!t.has[op]) {
            print_error("op '%s' has no line in test_every_op.c\n", ir_op_name((ir_op)op));
            missing++;
        }
    assert_int_equal(missing, 0);
    arena_free(a);
}

typedef void expectation(const ir_module *m, arena *a);

// A back end that does not know an operation says so with bug().
static void expect_of(expectation *back_end, const ir_module *m, arena *a)
{
    bug_frame frame;
    if (bug_enter(&frame)) {
        print_error("%s\n", frame.text);
        fail();
    }
    back_end(m, a);
    bug_leave(&frame);
}

// One test a back end, so that all that lack an operation are named at once.
static void expect_all(const char *begin, expectation *back_end)
{
    arena *a = arena_new();
    module_text t;
    start_module(&t, a, begin);
    put_all(&t);
    ir_module *m = read_module(&t, a);
    assert_int_equal(m->funcs.len, t.kernels);
    if (back_end)
        expect_of(back_end, m, a);
    else
        expect_interp(&t);
    arena_free(a);
}

TEST(every_op_on_interp)
{
    expect_all(begin_uniform, NULL);
    expect_all(begin_lanes, NULL);
}

// What the interpreter and machine code have no instruction for, ir_eval computes lane by lane; it
// must know all that is pure but for what depends on the thread or the target.
static bool is_for_eval(const ir_inst *i)
{
    bool is_fast = i->op >= IR_FAST_EXP2 && i->op <= IR_FAST_DIV;
    return ir_op_effect((ir_op)i->op) == IR_FX_PURE && i->operand_count && !is_fast &&
           i->op != IR_UNIFORM && i->op != IR_SHADDR && i->op != IR_MAPA && i->op != IR_PTRADD &&
           i->op != IR_PTRCAST; // pointers are the target's
}

static void expect_eval(const ir_module *m, arena *a)
{
    (void)a;
    int missing = 0;
    for (uint32_t n = 0; n < m->funcs.len; n++)
        for (uint32_t id = 1; id < m->funcs.at[n]->insts.len; id++) {
            const ir_inst *i = ir_at(m->funcs.at[n], id);
            uint64_t in[3] = {0}, out;
            if (is_for_eval(i) && !ir_eval((ir_op)i->op, (ir_type)i->type, i->aux, in, &out)) {
                print_error("ir_eval does not know '%s %s'\n", ir_op_name((ir_op)i->op),
                            ir_type_name((ir_type)i->type));
                missing++;
            }
        }
    assert_int_equal(missing, 0);
}

TEST(every_op_in_eval)
{
    expect_all(begin_uniform, expect_eval);
}

TEST(every_op_in_ptx)
{
    expect_all(begin_uniform, expect_ptx);
    expect_all(begin_lanes, expect_ptx);
}

TEST(every_op_in_machine_code)
{
    expect_all(begin_uniform, expect_x86);
    expect_all(begin_lanes, expect_x86);
}

TEST(every_op_in_c)
{
    expect_all(begin_uniform, expect_c);
    expect_all(begin_lanes, expect_c);
    if (!has_program("gcc"))
        SKIP("there is no gcc to compile the C");
}

TEST(every_op_in_opencl)
{
    expect_all(begin_uniform, expect_opencl);
    expect_all(begin_lanes, expect_opencl);
    if (!has_program("clang"))
        SKIP("there is no clang to compile the OpenCL C");
}

TEST(every_op_of_nvidia)
{
    arena *a = arena_new();
    module_text t;
    start_module(&t, a, begin_lanes);
    for (size_t k = 0; k < COUNT(nvidia); k++)
        put_kernel(&t, &nvidia[k]);
    ir_module *m = read_module(&t, a);
    expect_interp(&t);
    expect_of(expect_ptx, m, a);
    arena_free(a);
}

// --- rows of nv.def

// The operands of a row by its letters: a list has as many words as the row's name says.
static void put_nv_operands(text *out, const char *letters, uint32_t list)
{
    for (const char *c = letters; *c; c++) {
        const char *value = *c == 's'   ? "%s"
                            : *c == 'g' ? "%g"
                            : *c == 'm' ? "%map"
                            : *c == 'l' ? "i64 0"
                            : *c == 'b' ? "%i1"
                                        : "%i32";
        uint32_t count = *c == 'c' || *c == 'w' ? list : 1;
        for (uint32_t k = 0; k < count; k++)
            text_printf(out, "%s%s", c > letters || k ? ", " : "", value);
    }
}

static void put_nv_product(text *out, const nv_row *row)
{
    bool is_mma = !strcmp(row->name, "mma");
    text_printf(out, "%%d0, %%d1, %%d2, %%d3 = nv.%s (%%f32, %%f32, %%f32, %%f32, ", row->name);
    text_puts(out, is_mma ? "%i32, %i32, %i32, %i32, %i32, %i32" : "%i64, %i64, %i1");
    text_puts(out, ") : (f32, f32, f32, f32) shape(n8.k16.f32.bf16.bf16)\n");
}

static void put_nv_row(text *out, const nv_row *row)
{
    if (row->imm == NV_IMM_SHAPE) {
        put_nv_product(out, row);
        return;
    }
    size_t len = strlen(row->name);
    char digit = row->name[len - 1] == 't' ? row->name[len - 2] : row->name[len - 1];
    uint32_t list = digit >= '1' && digit <= '5' ? (uint32_t)(digit - '0') : 2, results = 0;
    if (*row->results)
        results = *row->results == 'w' ? list : 1;
    for (uint32_t k = 0; k < results; k++)
        text_printf(out, "%s%%d%u", k ? ", " : "", k);
    text_printf(out, "%snv.%s (", results ? " = " : "", row->name);
    put_nv_operands(out, row->operands, list);
    text_puts(out, ") : (");
    for (uint32_t k = 0; k < results; k++)
        text_printf(out, "%s%s", k ? ", " : "", *row->results == 'w' ? "i32" : "i1");
    text_puts(out, row->imm == NV_IMM_NUMBER ? ") imm(24)\n" : ")\n");
}

static void start_nv_module(module_text *t, arena *a)
{
    start_module(t, a, begin_lanes);
    for (int op = 0; op < NV_COUNT; op++) {
        text_printf(&t->out,
                    "kernel @nv%d(%%g: ptr.global i64, %%map: tensor_map) "
                    "block(128, 1, 1) {\n%s%s    %%s = shared $tile.0\n    ",
                    op, begin_lanes, values);
        put_nv_row(&t->out, nv_row_at((nv_op)op));
        text_puts(&t->out, "    return\n}\n");
    }
}

TEST(every_nv_row_is_read_and_printed)
{
    arena *a = arena_new();
    module_text t;
    start_nv_module(&t, a);
    const char *wrong = NULL;
    ir_module *m = ir_read(a, names_in(a), (str){t.out.at, t.out.len}, &wrong);
    if (!m)
        print_error("%s\n", wrong);
    assert_non_null(m);
    text once = {.in = a}, twice = {.in = a};
    ir_print_module(m, &once);
    m = ir_read(a, names_in(a), (str){once.at, once.len}, &wrong);
    assert_non_null(m);
    ir_print_module(m, &twice);
    assert_string_equal(once.at, twice.at);
    for (int op = 0; op < NV_COUNT; op++) {
        char name[80];
        snprintf(name, sizeof name, "nv.%s (", nv_row_at((nv_op)op)->name);
        assert_non_null(strstr(once.at, name));
    }
    arena_free(a);
}

TEST(every_nv_row_on_interp)
{
    arena *a = arena_new();
    module_text t;
    start_nv_module(&t, a);
    expect_interp(&t);
    arena_free(a);
}

TEST(every_nv_row_in_ptx)
{
    arena *a = arena_new();
    module_text t;
    start_nv_module(&t, a);
    expect_of(expect_ptx, read_module(&t, a), a);
    arena_free(a);
}
