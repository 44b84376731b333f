// What is found out about a kernel before its text is written: branches that a warp takes together,
// parameters whose memory is only read, and 64-bit index arithmetic that only 32-bit shared
// addresses need. Changes nothing. Start at ptx_find_facts.
#include "back/ptx/ptx.h"
#include "ir/nv.h"
#include "pass/alias.h"

// --- memory that stays as it is while the kernel runs
static bool writes(const ir_inst *i)
{
    return i->op == IR_STORE || i->op == IR_ATOMIC || i->op == IR_CAS || i->op == IR_ATOMSTORE;
}

static bool is_written(const ir_func *f, uint32_t param)
{
    alias_base mine = {.kind = ALIAS_PARAM, .space = IR_PTR_GLOBAL, .index = param};
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (i->op == IR_CALL)
            return true;
        if (i->op == IR_NV && nv_writes_global((nv_op)i->aux))
            return true; // a tensor map may show any buffer
        if (!writes(i))
            continue;
        alias_base other = alias_base_of(f, ir_operand(f, i, 0));
        if (alias_may_meet(f, &mine, &other))
            return true;
    }
    return false;
}

static void find_readonly(ptx *p)
{
    const ir_func *f = p->f;
    p->is_readonly = arena_array(p->scratch, bool, f->params.len + 1);
    for (uint32_t k = 0; k < f->params.len; k++)
        p->is_readonly[k] = f->params.at[k].kind == IR_PARAM_POINTER && f->params.at[k].is_const &&
                            f->is_kernel && !is_written(f, k);
}

// --- 64-bit values of which only the low half counts
static bool can_narrow(const ir_func *f, const ir_inst *i)
{
    uint64_t bits;
    if (i->type != IR_I64)
        return false;
    if (i->op == IR_ZEXT || i->op == IR_SEXT)
        return i->aux == IR_I32;
    if (i->op == IR_SHL)
        return ir_const_bits(f, ir_operand(f, i, 1), &bits) && bits < 32;
    return i->op == IR_ADD || i->op == IR_SUB || i->op == IR_MUL;
}

// The 32-bit operand that `r` is the extension of, or IR_NONE.
static ir_ref extended(const ir_func *f, ir_ref r, ir_op how)
{
    ir_inst_id def = ir_def_of(f, r);
    const ir_inst *i = ir_at(f, def);
    bool is_one = def && i->op == how && i->aux == IR_I32 && !ir_is_const(ir_operand(f, i, 0));
    return is_one ? ir_operand(f, i, 0) : IR_NONE;
}

bool ptx_is_wide_product(const ir_func *f, const ir_inst *i, wide_product *out)
{
    if ((i->op != IR_MUL && i->op != IR_SHL) || i->type != IR_I64)
        return false;
    for (int k = 0; k < 2; k++) {
        ir_op how = k ? IR_SEXT : IR_ZEXT;
        uint64_t limit = k ? INT32_MAX : UINT32_MAX, bits;
        bool is_shift = i->op == IR_SHL;
        *out = (wide_product){.a = extended(f, ir_operand(f, i, 0), how), .kind = k ? 's' : 'u'};
        if (!is_shift)
            out->b = extended(f, ir_operand(f, i, 1), how);
        if (out->a && out->b)
            return true;
        if (!out->a || !ir_const_bits(f, ir_operand(f, i, 1), &bits) || (is_shift && bits > 30))
            continue;
        out->factor = is_shift ? (uint64_t)1 << bits : bits;
        if (out->factor <= limit)
            return true;
    }
    return false;
}

// Users come after what they use (but for a loop's arguments, which never narrow), so one walk
// backwards suffices.
static void find_narrow(ptx *p)
{
    const ir_func *f = p->f;
    uint32_t *wide_uses = arena_array(p->scratch, uint32_t, f->values.len),
             *uses = arena_array(p->scratch, uint32_t, f->values.len);
    p->is_narrow = arena_array(p->scratch, bool, f->insts.len);
    for (uint32_t k = f->insts.len; k-- > 1;) {
        const ir_inst *i = &f->insts.at[k];
        if (i->op == IR_NOP)
            continue;
        p->is_narrow[k] = i->result && can_narrow(f, i) && uses[i->result] && !wide_uses[i->result];
        wide_product product;
        bool is_product = ptx_is_wide_product(f, i, &product);
        bool is_address = i->op == IR_PTRADD && i->type == IR_PTR_SHARED;
        for (uint32_t n = 0; n < i->operand_count; n++) {
            ir_ref r = ir_operand(f, i, n);
            if (ir_is_const(r))
                continue;
            uses[r]++;
            if (!p->is_narrow[k] && !(is_address && n == 1) && !is_product)
                wide_uses[r]++;
        }
    }
}

// --- two floats narrowed and put into one word: one instruction since sm_80

// The instruction that makes `r` for one user only, when it is `op` from or to `type`.
static const ir_inst *only_made_by(const ptx *p, const uint32_t *uses, ir_ref r, ir_op op)
{
    ir_inst_id def = ir_def_of(p->f, r);
    return def && ir_at(p->f, def)->op == op && uses[r] == 1 ? ir_at(p->f, def) : NULL;
}

// f32 narrowed, its bits widened to a word: marks the three instructions and gives the f32.
static ir_ref narrowed_half(const ptx *p, const uint32_t *uses, ir_ref word, uint8_t *t)
{
    const ir_inst *wide = only_made_by(p, uses, word, IR_ZEXT);
    const ir_inst *bits = wide && wide->aux == IR_I16
                              ? only_made_by(p, uses, ir_operand(p->f, wide, 0), IR_BITCAST)
                              : NULL;
    const ir_inst *half =
        bits ? only_made_by(p, uses, ir_operand(p->f, bits, 0), IR_FNARROW) : NULL;
    if (!half || half->aux != IR_F32 || (half->type != IR_F16 && half->type != IR_BF16) ||
        (*t && *t != half->type))
        return IR_NONE;
    *t = half->type;
    return ir_operand(p->f, half, 0);
}

static void mark_half(ptx *p, ir_ref word)
{
    for (int k = 0; k < 3; k++) {
        ir_inst_id def = ir_def_of(p->f, word);
        p->is_packed[def] = true;
        word = ir_operand(p->f, ir_at(p->f, def), 0);
    }
}

static bool narrows_floats(const ir_func *f)
{
    for (uint32_t k = 1; k < f->insts.len; k++)
        if (f->insts.at[k].op == IR_FNARROW)
            return true;
    return false;
}

static void find_pairs(ptx *p)
{
    const ir_func *f = p->f;
    p->is_packed = arena_array(p->scratch, bool, f->insts.len);
    p->pair = arena_array(p->scratch, float_pair, f->insts.len);
    if (p->t->sm < 80 || !narrows_floats(f))
        return;
    uint32_t *uses = arena_array(p->scratch, uint32_t, f->values.len);
    for (uint32_t k = 1; k < f->insts.len; k++)
        for (uint32_t n = 0; f->insts.at[k].op != IR_NOP && n < f->insts.at[k].operand_count; n++) {
            ir_ref r = ir_operand(f, &f->insts.at[k], n);
            if (!ir_is_const(r))
                uses[r]++;
        }
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (i->op != IR_OR || i->type != IR_I32)
            continue;
        ir_ref low = ir_operand(f, i, 0), high = ir_operand(f, i, 1);
        const ir_inst *shift = only_made_by(p, uses, high, IR_SHL);
        uint64_t by = 0;
        if (!shift || !ir_const_bits(f, ir_operand(f, shift, 1), &by) || by != 16)
            continue;
        uint8_t t = 0;
        float_pair pair = {.high = narrowed_half(p, uses, ir_operand(f, shift, 0), &t)};
        pair.low = pair.high ? narrowed_half(p, uses, low, &t) : IR_NONE;
        if (!pair.low)
            continue;
        pair.type = t;
        p->pair[k] = pair;
        p->is_packed[ir_def_of(f, high)] = true;
        mark_half(p, ir_operand(f, shift, 0));
        mark_half(p, low);
    }
}

void ptx_find_facts(ptx *p)
{
    find_pairs(p);
    p->folds = folds_find(p->f, p->scratch);
    find_readonly(p);
    find_narrow(p);
    p->uniform = uniform_compute(p->f, p->scratch);
}
