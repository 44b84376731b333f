// Is this IR sound? Walks every function once in reading order and checks the lists, that values
// are used only where they are visible, every operation's types (the rules of ops.def; the SPECIAL
// ones have a function each, see `special`), and that terminators fit what they leave. The first
// problem ends the walk with a sentence. Start at ir_verify.
#include "ir/host.h"
#include "ir/nv.h"
#include "ir/tables.h"

typedef struct verifier {
    const ir_func *f;
    arena *scratch;
    const char *error;
    uint8_t *visible; // per value
    uint8_t *seen;    // per instruction: walked
    uint8_t *open;    // per instruction: a control instruction whose regions are being walked
    uint8_t *region_seen;
    ir_inst_id inst; // being checked
} verifier;

static bool fail(verifier *v, const char *format, ...) PRINTF_LIKE(2, 3);
static bool fail(verifier *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *what = str_vformat(v->scratch, format, args);
    va_end(args);
    const char *kind = v->f->is_kernel ? "kernel" : "function";
    const char *name = v->f->name ? v->f->name : "?";
    if (v->inst) {
        const ir_inst *i = ir_at(v->f, v->inst);
        v->error = str_format(v->scratch, "%s '%s', instruction %u (%s): %s", kind, name, v->inst,
                              ir_op_name((ir_op)i->op), what);
    } else {
        v->error = str_format(v->scratch, "%s '%s': %s", kind, name, what);
    }
    return false;
}

// --- types

static bool wants(verifier *v, const ir_inst *i, uint32_t k, ir_type type)
{
    ir_type is = ir_type_of(v->f, ir_operand(v->f, i, k));
    return is == type || fail(v, "operand %u has type %s, but %s is expected", k + 1,
                              ir_type_name(is), ir_type_name(type));
}

static bool gives(verifier *v, const ir_inst *i, ir_type type)
{
    ir_type is = ir_type_of(v->f, i->result);
    return is == type || fail(v, "the result has type %s, but %s is expected", ir_type_name(is),
                              ir_type_name(type));
}

static bool wants_pointer(verifier *v, const ir_inst *i)
{
    ir_type is = ir_type_of(v->f, ir_operand(v->f, i, 0));
    return ir_is_ptr(is) ||
           fail(v, "operand 1 must be a pointer, but has type %s", ir_type_name(is));
}

static bool type_is(verifier *v, const ir_inst *i, bool is_good)
{
    return is_good || fail(v, "the type %s is not allowed here", ir_type_name((ir_type)i->type));
}

static bool is_word(ir_type t)
{
    return t == IR_I32 || t == IR_I64;
}

static bool is_real(ir_type t)
{
    return t == IR_F32 || t == IR_F64;
}

static bool check_class(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    switch ((ir_class)ir_op_rows[i->op].cls) {
    case IR_CLS_I: return type_is(v, i, is_word(t));
    case IR_CLS_B: return type_is(v, i, is_word(t) || t == IR_I1);
    case IR_CLS_F: return type_is(v, i, is_real(t));
    case IR_CLS_A: return type_is(v, i, t != IR_VOID && t < IR_TYPE_COUNT);
    }
    return false;
}

static bool check_convert(verifier *v, const ir_inst *i)
{
    ir_type to = (ir_type)i->type, from = (ir_type)i->aux;
    uint32_t to_bits = to == IR_I1 ? 1 : ir_type_size(to) * 8;
    uint32_t from_bits = from == IR_I1 ? 1 : ir_type_size(from) * 8;
    bool are_ints = ir_is_int(to) && ir_is_int(from);
    bool is_good = false;
    ir_op op = (ir_op)i->op;
    if (op == IR_TRUNC)
        is_good = are_ints && to_bits < from_bits;
    else if (op == IR_ZEXT || op == IR_SEXT)
        is_good = are_ints && to_bits > from_bits;
    else if (op == IR_SITOF || op == IR_UITOF)
        is_good = is_real(to) && is_word(from);
    else if (op == IR_FTOSI || op == IR_FTOUI)
        is_good = ir_is_int(to) && to != IR_I1 && is_real(from);
    else if (op == IR_FEXT)
        is_good = (to == IR_F32 && ir_is_float(from) && from < IR_F32) ||
                  (to == IR_F64 && from == IR_F32);
    else if (op == IR_FNARROW)
        is_good =
            (to == IR_F32 && from == IR_F64) || (ir_is_float(to) && to < IR_F32 && from == IR_F32);
    else if (op == IR_BITCAST)
        is_good = to != from && to_bits == from_bits && to != IR_I1 && from != IR_I1 &&
                  !ir_is_ptr(to) && !ir_is_ptr(from);
    else if (op == IR_PTRTOINT)
        is_good = ir_is_ptr(from) && to == IR_I64;
    else if (op == IR_INTTOPTR)
        is_good = from == IR_I64 && to == IR_PTR_GEN;
    else if (op == IR_PTRCAST)
        is_good = ir_is_ptr(from) && ir_is_ptr(to) && (from == IR_PTR_GEN) != (to == IR_PTR_GEN);
    if (!is_good)
        return fail(v, "cannot convert %s to %s", ir_type_name(from), ir_type_name(to));
    return wants(v, i, 0, from) && gives(v, i, to);
}

// --- operations with a rule of their own

static bool check_shift(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    return type_is(v, i, is_word(t)) && wants(v, i, 0, t) && wants(v, i, 1, IR_I32) &&
           gives(v, i, t);
}

static bool check_fshl(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    return type_is(v, i, is_word(t)) && wants(v, i, 0, t) && wants(v, i, 1, t) &&
           wants(v, i, 2, IR_I32) && gives(v, i, t);
}

static bool check_all_same(verifier *v, const ir_inst *i)
{
    if (!check_class(v, i))
        return false;
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!wants(v, i, k, (ir_type)i->type))
            return false;
    return gives(v, i, (ir_type)i->type);
}

static bool check_packed(verifier *v, const ir_inst *i)
{
    if (i->aux != IR_F16 && i->aux != IR_BF16)
        return fail(v, "lanes must be f16 or bf16");
    return check_all_same(v, i);
}

static bool check_ptradd(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    return type_is(v, i, ir_is_ptr(t)) && wants(v, i, 0, t) && wants(v, i, 1, IR_I64) &&
           gives(v, i, t);
}

static bool check_vector_count(verifier *v, uint32_t count)
{
    return count == 1 || count == 2 || count == 4 || count == 8 || count == 16 ||
           fail(v, "%u elements; 1, 2, 4, 8 or 16 are allowed", count);
}

// Only the copy engine reads a tensor map.
static bool check_readable(verifier *v, const ir_inst *i)
{
    ir_ref p = ir_operand(v->f, i, 0);
    bool is_param = !ir_is_const(p) && v->f->values.at[p].def == IR_DEF_PARAM;
    return !is_param || v->f->params.at[v->f->values.at[p].index].kind != IR_PARAM_TENSOR_MAP ||
           fail(v, "a tensor map cannot be read");
}

static bool check_load(verifier *v, const ir_inst *i)
{
    if (!check_class(v, i) || !wants_pointer(v, i) || !check_readable(v, i) ||
        !check_vector_count(v, i->result_count))
        return false;
    for (uint32_t k = 0; k < i->result_count; k++)
        if (ir_type_of(v->f, i->result + k) != (ir_type)i->type)
            return fail(v, "result %u has another type", k + 1);
    return true;
}

static bool check_writable(verifier *v, const ir_inst *i)
{
    if (!wants_pointer(v, i))
        return false;
    ir_type space = ir_type_of(v->f, ir_operand(v->f, i, 0));
    return (space != IR_PTR_CONST && space != IR_PTR_PARAM) ||
           fail(v, "%s memory cannot be written", ir_type_name(space));
}

static bool check_store(verifier *v, const ir_inst *i)
{
    if (i->operand_count < 2)
        return fail(v, "a pointer and at least one value are needed");
    if (!check_class(v, i) || !check_writable(v, i) || !check_vector_count(v, i->operand_count - 1))
        return false;
    for (uint32_t k = 1; k < i->operand_count; k++)
        if (!wants(v, i, k, (ir_type)i->type))
            return false;
    return true;
}

static bool check_atomic(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    if (i->aux >= IR_AT_COUNT)
        return fail(v, "unknown atomic %u", i->aux);
    bool is_float = i->aux >= IR_AT_FADD;
    bool is_good = i->aux == IR_AT_XCHG ? is_word(t) || is_real(t)
                   : is_float           ? is_real(t)
                                        : is_word(t);
    return type_is(v, i, is_good) && check_writable(v, i) && wants(v, i, 1, t) && gives(v, i, t);
}

static bool check_cas(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    return type_is(v, i, is_word(t) || is_real(t) || t == IR_I16) && check_writable(v, i) &&
           wants(v, i, 1, t) && wants(v, i, 2, t) && gives(v, i, t);
}

static bool check_atomload(verifier *v, const ir_inst *i)
{
    return check_class(v, i) && wants_pointer(v, i) && gives(v, i, (ir_type)i->type);
}

static bool check_atomstore(verifier *v, const ir_inst *i)
{
    return check_class(v, i) && check_writable(v, i) && wants(v, i, 1, (ir_type)i->type);
}

static bool check_slot(verifier *v, const ir_inst *i)
{
    const ir_module *m = v->f->module;
    uint32_t count = i->op == IR_LOCAL    ? v->f->locals.len
                     : i->op == IR_SHARED ? m->shared.len
                                          : m->data.len;
    if (i->aux >= count)
        return fail(v, "there are only %u of these, number %u is used", count, i->aux);
    return gives(v, i, (ir_type)i->type);
}

static bool check_axis(verifier *v, const ir_inst *i)
{
    if (i->imm < 0 || i->imm > 2)
        return fail(v, "axis %lld is not 0, 1 or 2", (long long)i->imm);
    return gives(v, i, IR_I32);
}

static bool check_own_type(verifier *v, const ir_inst *i)
{
    return !i->result_count || gives(v, i, (ir_type)i->type);
}

static bool check_shuffle(verifier *v, const ir_inst *i)
{
    if (i->aux > IR_SH_XOR)
        return fail(v, "unknown shuffle %u", i->aux);
    ir_type t = (ir_type)i->type;
    return type_is(v, i, is_word(t) || t == IR_F32 || t == IR_F64) &&
           wants(v, i, 0, (ir_type)i->type) && wants(v, i, 1, IR_I32) && wants(v, i, 2, IR_I32) &&
           gives(v, i, (ir_type)i->type);
}

static bool check_ballot(verifier *v, const ir_inst *i)
{
    return wants(v, i, 0, IR_I1) && gives(v, i, IR_I32);
}

static bool check_match(verifier *v, const ir_inst *i)
{
    return check_class(v, i) && wants(v, i, 0, (ir_type)i->type) && gives(v, i, IR_I32);
}

static bool check_text(verifier *v, const ir_inst *i)
{
    if (i->aux >= v->f->module->strings.len)
        return fail(v, "string %u does not exist", i->aux);
    if (i->op == IR_BOUNDS && i->imm < 1)
        return fail(v, "an element of %lld bytes", (long long)i->imm);
    if (i->op == IR_BOUNDS && !(wants(v, i, 1, IR_I64) && wants(v, i, 2, IR_I64)))
        return false;
    return i->op == IR_PRINT || wants(v, i, 0, IR_I1);
}

static bool check_host(verifier *v, const ir_inst *i)
{
    host_shape shape;
    if (i->aux >= v->f->module->strings.len)
        return fail(v, "string %u does not exist", i->aux);
    if (!host_read(v->f->module->strings.at[i->aux], &shape))
        return fail(v, "the text of the host function cannot be read");
    if (i->operand_count != shape.in_count || i->result_count != shape.out_count)
        return fail(v, "the host function takes %u operands and gives %u results", shape.in_count,
                    shape.out_count);
    for (uint32_t k = 0; k < shape.in_count; k++)
        if (!wants(v, i, k, (ir_type)shape.in[k].type))
            return false;
    for (uint32_t k = 0; k < shape.out_count; k++)
        if (ir_type_of(v->f, i->result + k) != (ir_type)shape.out[k].type)
            return fail(v, "result %u is not of the host function's type", k);
    return true;
}

static bool check_assume(verifier *v, const ir_inst *i)
{
    return wants(v, i, 0, IR_I1);
}

static bool check_sleep(verifier *v, const ir_inst *i)
{
    return wants(v, i, 0, IR_I32);
}

static bool check_call(verifier *v, const ir_inst *i)
{
    const ir_module *m = v->f->module;
    if (i->aux >= m->funcs.len)
        return fail(v, "function %u does not exist", i->aux);
    const ir_func *callee = m->funcs.at[i->aux];
    if (callee->is_kernel)
        return fail(v, "kernel '%s' cannot be called", callee->name);
    if (callee->params.len != i->operand_count || callee->returns.len != i->result_count)
        return fail(v, "'%s' takes %u and returns %u values", callee->name, callee->params.len,
                    callee->returns.len);
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!wants(v, i, k, (ir_type)callee->params.at[k].type))
            return false;
    for (uint32_t k = 0; k < i->result_count; k++)
        if (ir_type_of(v->f, i->result + k) != (ir_type)callee->returns.at[k])
            return fail(v, "result %u has another type than '%s' returns", k + 1, callee->name);
    return true;
}

// --- control

static bool check_block(verifier *v, const ir_inst *i)
{
    return i->region_count == 1 || fail(v, "a block has one region");
}

static bool check_if(verifier *v, const ir_inst *i)
{
    if (i->region_count != 2)
        return fail(v, "an if has two regions");
    return wants(v, i, 0, IR_I1);
}

static bool check_loop(verifier *v, const ir_inst *i)
{
    if (i->region_count != 1)
        return fail(v, "a loop has one region");
    const ir_region *r = ir_region_at(v->f, i->regions);
    if (r->arg_count != i->operand_count)
        return fail(v, "%u arguments are started with %u values", r->arg_count, i->operand_count);
    for (uint32_t k = 0; k < r->arg_count; k++)
        if (!wants(v, i, k, ir_type_of(v->f, r->args + k)))
            return false;
    return true;
}

static bool check_switch(verifier *v, const ir_inst *i)
{
    if (!i->region_count || (i->region_count > 1 && !i->cases))
        return fail(v, "a switch needs a default region and a value for every other one");
    if (!is_word(ir_type_of(v->f, ir_operand(v->f, i, 0))))
        return fail(v, "a switch needs an i32 or i64");
    for (uint32_t a = 0; a + 1 < i->region_count && a < 256; a++)
        for (uint32_t b = a + 1; b + 1 < i->region_count && b < 256; b++)
            if (i->cases[a] == i->cases[b])
                return fail(v, "case %lld stands twice", (long long)i->cases[a]);
    return true;
}

static bool check_transfer(verifier *v, const ir_inst *i)
{
    const ir_func *f = v->f;
    if (!i->aux || i->aux >= f->insts.len || !v->open[i->aux])
        return fail(v, "instruction %u is not around it", i->aux);
    const ir_inst *target = ir_at(f, i->aux);
    if (i->op == IR_NEXT && target->op != IR_LOOP)
        return fail(v, "instruction %u is not a loop", i->aux);
    ir_ref first = i->op == IR_EXIT ? target->result : ir_region_at(f, target->regions)->args;
    uint32_t count =
        i->op == IR_EXIT ? target->result_count : ir_region_at(f, target->regions)->arg_count;
    if (count != i->operand_count)
        return fail(v, "%u values are given, but instruction %u takes %u", i->operand_count, i->aux,
                    count);
    for (uint32_t k = 0; k < count; k++)
        if (!wants(v, i, k, ir_type_of(f, first + k)))
            return false;
    return true;
}

static bool check_return(verifier *v, const ir_inst *i)
{
    const ir_func *f = v->f;
    if (i->operand_count != f->returns.len)
        return fail(v, "%u values are returned, but the function promises %u", i->operand_count,
                    f->returns.len);
    for (uint32_t k = 0; k < f->returns.len; k++)
        if (!wants(v, i, k, (ir_type)f->returns.at[k]))
            return false;
    return true;
}

static bool check_nv(verifier *v, const ir_inst *i)
{
    const char *wrong = nv_mistake(v->f, i);
    return wrong ? fail(v, "%s", wrong) : true;
}

static bool check_shaddr(verifier *v, const ir_inst *i)
{
    return wants(v, i, 0, IR_PTR_SHARED) && gives(v, i, IR_I32);
}

static bool check_mapa(verifier *v, const ir_inst *i)
{
    return wants(v, i, 0, IR_PTR_SHARED) && wants(v, i, 1, IR_I32) && gives(v, i, IR_PTR_GEN);
}

static bool check_cluster(verifier *v, const ir_inst *i)
{
    if (i->imm < 0 || i->imm > 3)
        return fail(v, "cluster asks for 0 to 3, not %lld", (long long)i->imm);
    return gives(v, i, IR_I32);
}

typedef bool check_fn(verifier *v, const ir_inst *i);
static check_fn *const special[IR_OP_COUNT] = {
    [IR_SHL] = check_shift,
    [IR_LSHR] = check_shift,
    [IR_ASHR] = check_shift,
    [IR_FSHL] = check_fshl,
    [IR_PRMT] = check_all_same,
    [IR_DP4A_S] = check_all_same,
    [IR_DP4A_U] = check_all_same,
    [IR_FFMA] = check_all_same,
    [IR_HADD2] = check_packed,
    [IR_HSUB2] = check_packed,
    [IR_HMUL2] = check_packed,
    [IR_HFMA2] = check_packed,
    [IR_HMIN2] = check_packed,
    [IR_HMAX2] = check_packed,
    [IR_PTRADD] = check_ptradd,
    [IR_LOAD] = check_load,
    [IR_STORE] = check_store,
    [IR_LOCAL] = check_slot,
    [IR_SHARED] = check_slot,
    [IR_CONSTANT] = check_slot,
    [IR_ATOMIC] = check_atomic,
    [IR_CAS] = check_cas,
    [IR_ATOMLOAD] = check_atomload,
    [IR_ATOMSTORE] = check_atomstore,
    [IR_FENCE] = check_own_type,
    [IR_PREFETCH] = wants_pointer,
    [IR_THREAD] = check_axis,
    [IR_BLOCK] = check_axis,
    [IR_BLOCKDIM] = check_axis,
    [IR_GRIDDIM] = check_axis,
    [IR_LANE] = check_own_type,
    [IR_WARP] = check_own_type,
    [IR_DYNSHARED] = check_own_type,
    [IR_BARRIER] = check_own_type,
    [IR_WARPSYNC] = check_own_type,
    [IR_SHUFFLE] = check_shuffle,
    [IR_BALLOT] = check_ballot,
    [IR_ACTIVE] = check_own_type,
    [IR_MATCH] = check_match,
    [IR_PRINT] = check_text,
    [IR_HOST] = check_host,
    [IR_ASSERT] = check_text,
    [IR_BOUNDS] = check_text,
    [IR_TRAP] = check_own_type,
    [IR_ASSUME] = check_assume,
    [IR_CLOCK] = check_own_type,
    [IR_NANOTIME] = check_own_type,
    [IR_SLEEP] = check_sleep,
    [IR_CALL] = check_call,
    [IR_BLOCKSCOPE] = check_block,
    [IR_IF] = check_if,
    [IR_LOOP] = check_loop,
    [IR_SWITCH] = check_switch,
    [IR_EXIT] = check_transfer,
    [IR_NEXT] = check_transfer,
    [IR_RETURN] = check_return,
    [IR_UNREACHABLE] = check_own_type,
    [IR_NV] = check_nv,
    [IR_SHADDR] = check_shaddr,
    [IR_MAPA] = check_mapa,
    [IR_CLUSTER] = check_cluster,
};

static bool check_compare(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    if (ir_op_rows[i->op].cls == IR_CLS_A) {
        bool is_equality = i->op == IR_IEQ || i->op == IR_INE;
        if (!type_is(v, i, is_word(t) || ir_is_ptr(t) || (is_equality && t == IR_I1)))
            return false;
    } else if (!check_class(v, i)) {
        return false;
    }
    return wants(v, i, 0, t) && wants(v, i, 1, t) && gives(v, i, IR_I1);
}

static bool check_types(verifier *v, const ir_inst *i)
{
    ir_type t = (ir_type)i->type, fixed;
    if (ir_op_fixed_type((ir_op)i->op, &fixed) && t != fixed)
        return fail(v, "its type is %s, but %s is expected", ir_type_name(t), ir_type_name(fixed));
    if (i->op >= IR_FAST_EXP2 && i->op <= IR_FAST_DIV && t != IR_F32)
        return fail(v, "only f32 has approximations");
    if (i->op == IR_UNIFORM && i->aux != 1 && i->aux != 2)
        return fail(v, "uniform is over a warp (1) or a block (2), not %u", i->aux);
    switch ((ir_rule)ir_op_rows[i->op].rule) {
    case IR_RULE_BIN:
    case IR_RULE_UN: return check_all_same(v, i);
    case IR_RULE_CMP: return check_compare(v, i);
    case IR_RULE_SEL:
        return check_class(v, i) && wants(v, i, 0, IR_I1) && wants(v, i, 1, t) &&
               wants(v, i, 2, t) && gives(v, i, t);
    case IR_RULE_CVT: return check_convert(v, i);
    case IR_RULE_SPECIAL: return special[i->op] ? special[i->op](v, i) : fail(v, "has no rule");
    }
    return false;
}

// --- shape

static bool check_operands(verifier *v, const ir_inst *i)
{
    const ir_func *f = v->f;
    if ((uint64_t)i->operands + i->operand_count > f->operands.len)
        return fail(v, "its operands are outside the operand array");
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(f, i, k);
        uint32_t index = ir_index(r), len = ir_is_const(r) ? f->consts.len : f->values.len;
        if (!index || index >= len)
            return fail(v, "operand %u does not exist", k + 1);
        if (!ir_is_const(r) && !v->visible[r])
            return fail(v,
                        "operand %u is not visible here: it is defined later or in a region "
                        "that ended",
                        k + 1);
    }
    return true;
}

static bool check_results(verifier *v, ir_inst_id id)
{
    const ir_func *f = v->f;
    const ir_inst *i = ir_at(f, id);
    if (i->result_count && (!i->result || (uint64_t)i->result + i->result_count > f->values.len))
        return fail(v, "its results do not exist");
    for (uint32_t k = 0; k < i->result_count; k++) {
        const ir_value *value = &f->values.at[i->result + k];
        if (value->def != IR_DEF_INST || value->owner != id || value->index != k)
            return fail(v, "result %u belongs to something else", k + 1);
        if (value->type == IR_VOID || value->type >= IR_TYPE_COUNT)
            return fail(v, "result %u has no type", k + 1);
    }
    return true;
}

static bool check_counts(verifier *v, const ir_inst *i)
{
    const ir_op_row *row = &ir_op_rows[i->op];
    if (row->operands != IR_ANY && i->operand_count != row->operands)
        return fail(v, "%u operands instead of %u", i->operand_count, row->operands);
    if (row->results != IR_ANY && i->result_count != row->results)
        return fail(v, "%u results instead of %u", i->result_count, row->results);
    if (i->order > IR_SEQ_CST || i->scope > IR_SCOPE_SYSTEM || i->hint > IR_HINT_VOLATILE)
        return fail(v, "its order, scope or hint does not exist");
    if (i->op != IR_LOOP && (i->align & (i->align - 1)))
        return fail(v, "alignment %u is not a power of two", i->align);
    if (i->region_count && !ir_is_control((ir_op)i->op))
        return fail(v, "only control instructions have regions");
    return (uint64_t)i->regions + i->region_count <= v->f->regions.len ||
           fail(v, "its regions do not exist");
}

static bool check_region(verifier *v, ir_region_id id, ir_inst_id owner);

static void set_visible(verifier *v, ir_ref first, uint32_t count, bool is_visible)
{
    for (uint32_t k = 0; k < count; k++)
        v->visible[first + k] = is_visible;
}

static bool check_inst(verifier *v, ir_inst_id id)
{
    const ir_func *f = v->f;
    const ir_inst *i = ir_at(f, id);
    if (!check_counts(v, i) || !check_operands(v, i) || !check_results(v, id) || !check_types(v, i))
        return false;
    if (i->region_count) {
        v->open[id] = 1;
        for (uint32_t k = 0; k < i->region_count; k++)
            if (!check_region(v, i->regions + k, id))
                return false;
        v->open[id] = 0;
    }
    set_visible(v, i->result, i->result_count, true);
    return true;
}

static bool check_args(verifier *v, const ir_region *r, ir_region_id id)
{
    const ir_func *f = v->f;
    if (r->arg_count && (!r->owner || ir_at(f, r->owner)->op != IR_LOOP))
        return fail(v, "only a loop's region has arguments");
    if (r->arg_count && (!r->args || (uint64_t)r->args + r->arg_count > f->values.len))
        return fail(v, "its region's arguments do not exist");
    for (uint32_t k = 0; k < r->arg_count; k++) {
        const ir_value *value = &f->values.at[r->args + k];
        if (value->def != IR_DEF_REGION_ARG || value->owner != id || value->index != k)
            return fail(v, "argument %u of its region belongs to something else", k + 1);
    }
    set_visible(v, r->args, r->arg_count, true);
    return true;
}

static bool check_link(verifier *v, ir_region_id id, ir_inst_id inst, ir_inst_id before)
{
    const ir_func *f = v->f;
    if (inst >= f->insts.len)
        return fail(v, "the list of region %u leads outside", id);
    v->inst = inst;
    const ir_inst *i = ir_at(f, inst);
    if (i->op == IR_NOP || i->op >= IR_OP_COUNT)
        return fail(v, "not an operation");
    if (v->seen[inst])
        return fail(v, "it is linked twice");
    v->seen[inst] = 1;
    if (i->parent != id || i->prev != before)
        return fail(v, "its links are broken");
    bool is_last = inst == ir_region_at(f, id)->last;
    if (is_last != !i->next)
        return fail(v, "the region's end is not the end of its list");
    if (is_last && !ir_is_terminator((ir_op)i->op))
        return fail(v, "a region must end in exit, next, return or unreachable");
    if (!is_last && ir_is_terminator((ir_op)i->op))
        return fail(v, "a terminator must be the last instruction of its region");
    return true;
}

static bool check_region(verifier *v, ir_region_id id, ir_inst_id owner)
{
    const ir_func *f = v->f;
    const ir_region *r = ir_region_at(f, id);
    if (v->region_seen[id] || r->owner != owner)
        return fail(v, "region %u belongs to something else", id);
    v->region_seen[id] = 1;
    if (!check_args(v, r, id))
        return false;
    if (!r->first)
        return fail(v, "region %u is empty; it must end in a terminator", id);
    ir_inst_id before = 0;
    for (ir_inst_id i = r->first; i; before = i, i = ir_at(f, i)->next)
        if (!check_link(v, id, i, before) || !check_inst(v, i))
            return false;
    // What was defined in here is not visible behind it.
    for (ir_inst_id i = r->first; i; i = ir_at(f, i)->next)
        set_visible(v, ir_at(f, i)->result, ir_at(f, i)->result_count, false);
    set_visible(v, r->args, r->arg_count, false);
    v->inst = owner;
    return true;
}

static bool check_function(verifier *v)
{
    const ir_func *f = v->f;
    if (!f->name || !*f->name)
        return fail(v, "it has no name");
    if (f->is_kernel && f->returns.len)
        return fail(v, "a kernel returns nothing");
    if (f->params.len && (!f->first_param || f->first_param + f->params.len > f->values.len))
        return fail(v, "the parameters' values do not exist");
    for (uint32_t k = 0; k < f->params.len; k++) {
        const ir_value *value = &f->values.at[f->first_param + k];
        if (value->def != IR_DEF_PARAM || value->index != k || value->type != f->params.at[k].type)
            return fail(v, "the value of parameter %u is not its own", k + 1);
        const ir_param *p = &f->params.at[k];
        if (p->kind == IR_PARAM_TENSOR_MAP &&
            (p->size != IR_TENSOR_MAP_BYTES || p->align != IR_TENSOR_MAP_ALIGN ||
             p->type != IR_PTR_PARAM || !f->is_kernel))
            return fail(v, "parameter %u is no tensor map of a kernel", k + 1);
        v->visible[f->first_param + k] = 1;
    }
    for (uint32_t k = 0; k < f->locals.len; k++)
        if (!f->locals.at[k].align || (f->locals.at[k].align & (f->locals.at[k].align - 1)))
            return fail(v, "local %u has alignment %u", k, f->locals.at[k].align);
    if (f->is_bounded && (!f->params.len || f->params.at[f->params.len - 1].type != IR_I32))
        return fail(v, "its last parameter does not count calls");
    if (!f->body || f->body >= f->regions.len)
        return fail(v, "it has no body");
    return check_region(v, f->body, 0);
}

const char *ir_verify(const ir_func *f, arena *scratch)
{
    verifier v = {
        .f = f,
        .scratch = scratch,
        .visible = arena_alloc(scratch, f->values.len),
        .seen = arena_alloc(scratch, f->insts.len),
        .open = arena_alloc(scratch, f->insts.len),
        .region_seen = arena_alloc(scratch, f->regions.len),
    };
    return check_function(&v) ? NULL : v.error;
}

// --- modules

const char *ir_verify_module(const ir_module *m, arena *scratch)
{
    map names = map_make(scratch);
    for (uint32_t i = 0; i < m->funcs.len; i++) {
        const ir_func *f = m->funcs.at[i];
        if (f->module != m)
            return str_format(scratch, "function %u belongs to another module", i);
        const char *error = ir_verify(f, scratch);
        if (error)
            return error;
        uint64_t *slot = map_at(&names, hash_bytes(1, f->name, strlen(f->name)));
        if (*slot)
            return str_format(scratch, "two functions are called '%s'", f->name);
        *slot = 1;
    }
    return NULL;
}
