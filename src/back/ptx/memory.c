// Loads, stores, atomics and fences as PTX. A load of n lanes is one vector access when its
// alignment allows, else it is cut into pieces that the alignment allows.
#include "back/ptx/ptx.h"
#include "pass/alias.h"

// The memory type of one element: what ld and st say.
static const char *memory_type(ir_type t)
{
    switch (t) {
    case IR_I1:
    case IR_I8:
    case IR_F8E4:
    case IR_F8E5: return "u8";
    case IR_I16:
    case IR_F16:
    case IR_BF16: return "b16";
    case IR_I32: return "b32";
    case IR_F32: return "f32";
    case IR_F64: return "f64";
    case IR_I64:
    case IR_PTR_GEN:
    case IR_PTR_GLOBAL:
    case IR_PTR_SHARED:
    case IR_PTR_LOCAL:
    case IR_PTR_CONST:
    case IR_PTR_PARAM: return "b64";
    case IR_VOID:
    case IR_TYPE_COUNT: break;
    }
    bug("ptx: no memory type");
}

static bool is_volatile(const ir_inst *i, ir_type pointer)
{
    // Memory that only this thread sees needs no such care, and PTX refuses it there.
    return i->hint == IR_HINT_VOLATILE &&
           (pointer == IR_PTR_GLOBAL || pointer == IR_PTR_SHARED || pointer == IR_PTR_GEN);
}

static bool is_readonly(const ptx *p, const ir_inst *i)
{
    if (i->hint == IR_HINT_READONLY)
        return true;
    alias_base b = alias_base_of(p->f, ir_operand(p->f, i, 0));
    return i->hint == IR_HINT_NONE && b.kind == ALIAS_PARAM && p->is_readonly[b.index];
}

static const char *hint_of(const ptx *p, const ir_inst *i, ir_type pointer)
{
    if (is_volatile(i, pointer))
        return ".volatile";
    bool is_global = pointer == IR_PTR_GLOBAL || pointer == IR_PTR_GEN;
    if (i->op == IR_LOAD && pointer == IR_PTR_GLOBAL && is_readonly(p, i))
        return ".global.nc"; // replaces the space
    if (i->hint == IR_HINT_STREAM && is_global)
        return ".cs";
    return "";
}

// How many lanes one access may take: at most 16 bytes, and not past what the alignment allows.
static uint32_t lanes_at_once(const ir_inst *i, uint32_t count)
{
    uint32_t size = ir_type_size((ir_type)i->type), align = i->align ? i->align : size, lanes = 1;
    while (lanes * 2 <= count && lanes < 4 && lanes * 2 * size <= 16 && lanes * 2 * size <= align &&
           i->hint != IR_HINT_VOLATILE)
        lanes *= 2;
    return lanes;
}

static const char *address(ptx *p, const ir_inst *i, int64_t more)
{
    ir_ref pointer = ir_operand(p->f, i, 0);
    int64_t offset = i->imm + more;
    if (ir_type_of(p->f, pointer) == IR_PTR_PARAM && !ir_is_const(pointer) &&
        p->f->values.at[pointer].def == IR_DEF_PARAM)
        return str_format(p->scratch, "[%s_param_%u+%lld]", p->f->name,
                          p->f->values.at[pointer].index, (long long)offset);
    if (offset)
        return str_format(p->scratch, "[%s+%lld]", ptx_reg(p, pointer), (long long)offset);
    return str_format(p->scratch, "[%s]", ptx_reg(p, pointer));
}

// A value that is not held in a register of its memory type (i1, shared pointers) goes through a
// temporary.
static reg_class memory_class(ir_type t)
{
    return t == IR_I1 ? RC_H : t == IR_PTR_SHARED ? RC_RD : ptx_class(t);
}

static void after_load(ptx *p, ir_type t, const char *d, const char *raw)
{
    if (t == IR_I1)
        ptx_line(p, "setp.ne.u16 %s, %s, 0", d, raw);
    else if (t == IR_PTR_SHARED)
        ptx_line(p, "cvt.u32.u64 %s, %s", d, raw);
}

static const char *before_store(ptx *p, ir_type t, ir_ref value)
{
    const char *v = ptx_reg(p, value);
    if (t != IR_I1 && t != IR_PTR_SHARED)
        return v;
    const char *raw = ptx_temp(p, memory_class(t));
    if (t == IR_I1)
        ptx_line(p, "selp.b16 %s, 1, 0, %s", raw, v);
    else
        ptx_line(p, "cvt.u64.u32 %s, %s", raw, v);
    return raw;
}

static const char *access_op(ptx *p, const ir_inst *i, const char *name, uint32_t lanes)
{
    ir_type pointer = ir_type_of(p->f, ir_operand(p->f, i, 0));
    const char *hint = hint_of(p, i, pointer), *space = ptx_space(pointer);
    bool is_nc = strcmp(hint, ".global.nc") == 0;
    const char *vector = lanes == 4 ? ".v4" : lanes == 2 ? ".v2" : "";
    bool goes_first = is_volatile(i, pointer);
    return str_format(p->scratch, "%s%s%s%s%s.%s", name, goes_first ? hint : "", is_nc ? "" : space,
                      goes_first ? "" : hint, vector, memory_type((ir_type)i->type));
}

static void load(ptx *p, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    uint32_t lanes = lanes_at_once(i, i->result_count), size = ir_type_size(t);
    for (uint32_t at = 0; at < i->result_count; at += lanes) {
        const char *raw[4] = {0}, *op = access_op(p, i, "ld", lanes),
                   *where = address(p, i, (int64_t)at * size);
        bool direct = memory_class(t) == ptx_class(t);
        for (uint32_t k = 0; k < lanes; k++)
            raw[k] = direct ? ptx_def(p, i->result + at + k) : ptx_temp(p, memory_class(t));
        if (lanes == 1)
            ptx_line(p, "%s %s, %s", op, raw[0], where);
        else if (lanes == 2)
            ptx_line(p, "%s {%s, %s}, %s", op, raw[0], raw[1], where);
        else
            ptx_line(p, "%s {%s, %s, %s, %s}, %s", op, raw[0], raw[1], raw[2], raw[3], where);
        for (uint32_t k = 0; k < lanes; k++)
            if (!direct)
                after_load(p, t, ptx_def(p, i->result + at + k), raw[k]);
    }
}

static void store(ptx *p, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    uint32_t count = i->operand_count - 1, lanes = lanes_at_once(i, count), size = ir_type_size(t);
    for (uint32_t at = 0; at < count; at += lanes) {
        const char *v[4] = {0};
        for (uint32_t k = 0; k < lanes; k++)
            v[k] = before_store(p, t, ir_operand(p->f, i, 1 + at + k));
        const char *op = access_op(p, i, "st", lanes), *where = address(p, i, (int64_t)at * size);
        if (lanes == 1)
            ptx_line(p, "%s %s, %s", op, where, v[0]);
        else if (lanes == 2)
            ptx_line(p, "%s %s, {%s, %s}", op, where, v[0], v[1]);
        else
            ptx_line(p, "%s %s, {%s, %s, %s, %s}", op, where, v[0], v[1], v[2], v[3]);
    }
}

static const char *order_name(unsigned order)
{
    static const char *const names[] = {".relaxed", ".acquire", ".release", ".acq_rel", ".acq_rel"};
    return names[order];
}

static const char *scope_name(unsigned scope)
{
    static const char *const names[] = {".gpu", ".cta", ".cluster", ".sys"};
    return names[scope];
}

static void fence(ptx *p, unsigned order, unsigned scope)
{
    ptx_line(p, "fence%s%s", order == IR_SEQ_CST ? ".sc" : ".acq_rel", scope_name(scope));
}

// Float minimum and maximum have no instruction: compare and swap until no other thread was in
// between.
static void atomic_by_cas(ptx *p, const ir_inst *i, const char *where, const char *space)
{
    bool is_f64 = i->type == IR_F64;
    const char *bits = is_f64 ? "64" : "32", *type = is_f64 ? "f64" : "f32";
    reg_class rc = is_f64 ? RC_RD : RC_R;
    const char *seen = ptx_temp(p, rc), *wanted = ptx_temp(p, rc), *got = ptx_temp(p, rc),
               *best = ptx_temp(p, is_f64 ? RC_FD : RC_F), *old = ptx_def(p, i->result),
               *same = ptx_temp(p, RC_PRED), *value = ptx_reg(p, ir_operand(p->f, i, 1));
    uint32_t label = ++p->next_label;
    ptx_line(p, "ld.relaxed%s%s.b%s %s, %s", scope_name(i->scope), space, bits, seen, where);
    text_printf(&p->body, "$L%u:\n", label);
    ptx_line(p, "mov.b%s %s, %s", bits, old, seen);
    ptx_line(p, "%s.%s %s, %s, %s", i->aux == IR_AT_FMIN ? "min" : "max", type, best, old, value);
    ptx_line(p, "mov.b%s %s, %s", bits, wanted, best);
    ptx_line(p, "atom%s%s%s.cas.b%s %s, %s, %s, %s", order_name(i->order), scope_name(i->scope),
             space, bits, got, where, seen, wanted);
    ptx_line(p, "setp.eq.b%s %s, %s, %s", bits, same, got, seen);
    ptx_line(p, "mov.b%s %s, %s", bits, seen, got);
    ptx_line(p, "@!%s bra $L%u", same, label);
}

static void atomic(ptx *p, const ir_inst *i)
{
    static const char *const names[IR_AT_COUNT] = {"add", "min", "max",  "min", "max", "and",
                                                   "or",  "xor", "exch", "add", "min", "max"};
    const char *where = address(p, i, 0);
    const char *space = ptx_space(ir_type_of(p->f, ir_operand(p->f, i, 0)));
    const char *bits = i->type == IR_I64 || i->type == IR_F64 ? "64" : "32";
    char kind = 'b';
    if (i->order == IR_SEQ_CST)
        fence(p, IR_SEQ_CST, i->scope);
    switch ((ir_atomic)i->aux) {
    case IR_AT_FMIN:
    case IR_AT_FMAX: atomic_by_cas(p, i, where, space); return;
    case IR_AT_ADD: kind = 'u'; break;
    case IR_AT_SMIN:
    case IR_AT_SMAX: kind = 's'; break;
    case IR_AT_UMIN:
    case IR_AT_UMAX: kind = 'u'; break;
    case IR_AT_FADD: kind = 'f'; break;
    case IR_AT_AND:
    case IR_AT_OR:
    case IR_AT_XOR:
    case IR_AT_XCHG:
    case IR_AT_COUNT: break;
    }
    ptx_line(p, "atom%s%s%s.%s.%c%s %s, %s, %s", order_name(i->order), scope_name(i->scope), space,
             names[i->aux], kind, bits, ptx_def(p, i->result), where,
             ptx_op(p, ir_operand(p->f, i, 1)));
}

static void compare_and_swap(ptx *p, const ir_inst *i)
{
    const char *where = address(p, i, 0);
    if (i->order == IR_SEQ_CST)
        fence(p, IR_SEQ_CST, i->scope);
    ptx_line(p, "atom%s%s%s.cas.b%s %s, %s, %s, %s", order_name(i->order), scope_name(i->scope),
             ptx_space(ir_type_of(p->f, ir_operand(p->f, i, 0))), i->type == IR_I64 ? "64" : "32",
             ptx_def(p, i->result), where, ptx_op(p, ir_operand(p->f, i, 1)),
             ptx_op(p, ir_operand(p->f, i, 2)));
}

static void ordered_access(ptx *p, const ir_inst *i)
{
    const char *where = address(p, i, 0);
    const char *space = ptx_space(ir_type_of(p->f, ir_operand(p->f, i, 0)));
    const char *order = i->order == IR_RELAXED ? ".relaxed"
                        : i->op == IR_ATOMLOAD ? ".acquire"
                                               : ".release";
    if (i->order == IR_SEQ_CST)
        fence(p, IR_SEQ_CST, i->scope);
    if (i->op == IR_ATOMLOAD)
        ptx_line(p, "ld%s%s%s.%s %s, %s", order, scope_name(i->scope), space,
                 memory_type((ir_type)i->type), ptx_def(p, i->result), where);
    else
        ptx_line(p, "st%s%s%s.%s %s, %s", order, scope_name(i->scope), space,
                 memory_type((ir_type)i->type), where, ptx_reg(p, ir_operand(p->f, i, 1)));
}

const char *ptx_low(ptx *p, ir_ref r)
{
    static const struct {
        ir_op op;
        const char *name;
    } rows[] = {
        {IR_ADD, "add.s32"}, {IR_SUB, "sub.s32"}, {IR_MUL, "mul.lo.s32"}, {IR_SHL, "shl.b32"}};
    uint64_t bits;
    if (ir_const_bits(p->f, r, &bits))
        return str_format(p->scratch, "%d", (int32_t)(uint32_t)bits);
    ir_inst_id def = ir_def_of(p->f, r);
    const ir_inst *i = ir_at(p->f, def);
    if (def && (i->op == IR_ZEXT || i->op == IR_SEXT) && i->aux == IR_I32)
        return ptx_reg(p, ir_operand(p->f, i, 0));
    const char *d = ptx_temp(p, RC_R);
    for (size_t k = 0; def && p->is_narrow[def] && k < COUNT(rows); k++)
        if (rows[k].op == (ir_op)i->op) {
            const char *a = ptx_low(p, ir_operand(p->f, i, 0)),
                       *b = ptx_low(p, ir_operand(p->f, i, 1));
            ptx_line(p, "%s %s, %s, %s", rows[k].name, d, a, b);
            return d;
        }
    ptx_line(p, "cvt.u32.u64 %s, %s", d, ptx_reg(p, r));
    return d;
}

static void add_to_pointer(ptx *p, const ir_inst *i)
{
    ir_ref offset = ir_operand(p->f, i, 1);
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    if (ir_type_of(p->f, ir_operand(p->f, i, 0)) != IR_PTR_SHARED) {
        ptx_line(p, "add.s64 %s, %s, %s", d, a, ptx_op(p, offset));
        return;
    }
    uint64_t bits;
    if (ir_const_bits(p->f, offset, &bits)) {
        ptx_line(p, "add.s32 %s, %s, %d", d, a, (int32_t)(uint32_t)bits);
        return;
    }
    ptx_line(p, "add.s32 %s, %s, %s", d, a, ptx_low(p, offset));
}

void ptx_memory(ptx *p, const ir_inst *i)
{
    switch ((ir_memory_op)i->op) {
    case IR_PTRADD: add_to_pointer(p, i); break;
    case IR_LOAD: load(p, i); break;
    case IR_STORE: store(p, i); break;
    case IR_LOCAL:
        ptx_line(p, "add.s64 %s, %%SPL, %llu", ptx_def(p, i->result),
                 (unsigned long long)p->locals.at[i->aux]);
        break;
    case IR_SHARED:
        if (p->is_shared_joined && !p->m->shared.at[i->aux].is_dynamic) {
            ptx_line(p, "mov.u32 %s, $static_%s+%llu", ptx_def(p, i->result), p->f->name,
                     (unsigned long long)p->shared.at[i->aux]);
            break;
        }
        ptx_line(p, "mov.u32 %s, %s", ptx_def(p, i->result),
                 ptx_name(p, p->m->shared.at[i->aux].name));
        break;
    case IR_CONSTANT:
        ptx_line(p, "mov.u64 %s, %s", ptx_def(p, i->result), ptx_data_name(p, i->aux));
        break;
    case IR_ATOMIC: atomic(p, i); break;
    case IR_CAS: compare_and_swap(p, i); break;
    case IR_ATOMLOAD:
    case IR_ATOMSTORE: ordered_access(p, i); break;
    case IR_FENCE: fence(p, i->order, i->scope); break;
    case IR_PREFETCH: {
        const char *where = address(p, i, 0);
        ir_type space = ir_type_of(p->f, ir_operand(p->f, i, 0));
        if (space == IR_PTR_GLOBAL || space == IR_PTR_GEN)
            ptx_line(p, "prefetch%s.L2 %s", ptx_space(space), where);
        break;
    }
    }
}
