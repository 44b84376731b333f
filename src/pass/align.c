// Alignment: for every value a power of two that divides it (for pointers: the address), up to
// 2^20. Starts high and is lowered by sweeps in reading order until no argument of a loop changes,
// so counters of loops keep what their start and step share. assume(x % 4 == 0) is believed. Start
// reading at align_compute.
#include "pass/pass.h"

enum { MOST = 1 << 20 };

typedef struct aligner {
    const ir_func *f;
    uint32_t *of, *promised;
    bool needs_again; // an argument of a loop was lowered after it was asked for
} aligner;

static uint32_t low_bit(uint64_t bits)
{
    bits |= MOST;
    return (uint32_t)(bits & (0 - bits));
}

static uint32_t get(const aligner *g, ir_ref r)
{
    uint64_t bits;
    return ir_const_bits(g->f, r, &bits) ? low_bit(bits) : g->of[r];
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t times(uint32_t a, uint64_t b)
{
    return (uint64_t)a * b >= MOST ? MOST : (uint32_t)(a * b);
}

// Answers whether that is news.
static bool lower(aligner *g, ir_ref r, uint32_t align)
{
    align = align > g->promised[r] ? align : g->promised[r];
    if (align >= g->of[r])
        return false;
    g->of[r] = align;
    return true;
}

static uint32_t result_align(const aligner *g, const ir_inst *i)
{
    const ir_func *f = g->f;
    uint32_t a = i->operand_count > 0 ? get(g, ir_operand(f, i, 0)) : 1;
    uint32_t b = i->operand_count > 1 ? get(g, ir_operand(f, i, 1)) : 1;
    uint64_t bits;
    switch (i->op) {
    case IR_LOCAL: return f->locals.at[i->aux].align;
    case IR_SHARED: return f->module->shared.at[i->aux].align;
    case IR_CONSTANT: return f->module->data.at[i->aux].align;
    case IR_BLOCKDIM: return f->block[0] ? low_bit(f->block[i->imm]) : 1;
    case IR_ADD:
    case IR_SUB:
    case IR_PTRADD:
    case IR_OR:
    case IR_XOR:
    case IR_SMIN:
    case IR_SMAX:
    case IR_UMIN:
    case IR_UMAX: return least(a, b);
    case IR_MUL: return times(a, b);
    case IR_AND: return a > b ? a : b;
    case IR_SHL:
        return ir_const_bits(f, ir_operand(f, i, 1), &bits) && bits < 20
                   ? times(a, UINT64_C(1) << bits)
                   : a;
    case IR_SEXT:
    case IR_ZEXT:
    case IR_TRUNC:
    case IR_PTRCAST:
    case IR_PTRTOINT:
    case IR_INTTOPTR:
    case IR_UNIFORM: return a;
    case IR_SELECT: return least(b, get(g, ir_operand(f, i, 2)));
    default: return 1;
    }
}

static void visit_plain(aligner *g, const ir_inst *i)
{
    if (i->result_count == 1 && g->of[i->result] == 1)
        return; // as low as it gets
    uint32_t align = result_align(g, i);
    for (uint32_t k = 0; k < i->result_count; k++)
        lower(g, i->result + k, align);
}

static void visit_region(aligner *g, ir_region_id region)
{
    const ir_func *f = g->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_EXIT) {
            for (uint32_t k = 0; k < i->operand_count; k++)
                lower(g, ir_at(f, i->aux)->result + k, get(g, ir_operand(f, i, k)));
        } else if (i->op == IR_NEXT || i->op == IR_LOOP) {
            const ir_inst *loop = i->op == IR_LOOP ? i : ir_at(f, i->aux);
            ir_ref args = ir_region_at(f, loop->regions)->args;
            for (uint32_t k = 0; k < i->operand_count; k++)
                if (lower(g, args + k, get(g, ir_operand(f, i, k))))
                    g->needs_again |= i->op == IR_NEXT;
        } else if (!i->region_count && i->result_count) {
            visit_plain(g, i);
        }
        for (uint32_t k = 0; k < i->region_count; k++)
            visit_region(g, i->regions + k);
    }
}

static bool is_zero(const ir_func *f, ir_ref r)
{
    uint64_t bits;
    return ir_const_bits(f, r, &bits) && bits == 0;
}

static void promise(aligner *g, ir_ref r, uint32_t align)
{
    while (r && !ir_is_const(r)) {
        if (g->promised[r] < align)
            g->promised[r] = align;
        ir_inst_id def = ir_def_of(g->f, r);
        const ir_inst *i = def ? ir_at(g->f, def) : NULL;
        bool is_same = i && (i->op == IR_PTRTOINT || i->op == IR_PTRCAST || i->op == IR_SEXT ||
                             i->op == IR_ZEXT || i->op == IR_UNIFORM);
        r = is_same ? ir_operand(g->f, i, 0) : 0;
    }
}

// assume(x % 2^k == 0), assume((x & 2^k - 1) == 0), and such joined by &&.
static void believe(aligner *g, ir_ref condition)
{
    const ir_func *f = g->f;
    ir_inst_id def = ir_def_of(f, condition);
    if (!def)
        return;
    const ir_inst *i = ir_at(f, def);
    if (i->op == IR_AND && i->type == IR_I1) {
        believe(g, ir_operand(f, i, 0));
        believe(g, ir_operand(f, i, 1));
        return;
    }
    if (i->op != IR_IEQ || !is_zero(f, ir_operand(f, i, 1)))
        return;
    ir_inst_id rest = ir_def_of(f, ir_operand(f, i, 0));
    uint64_t by;
    if (!rest || ir_at(f, rest)->operand_count != 2)
        return;
    const ir_inst *r = ir_at(f, rest);
    if (!ir_const_bits(f, ir_operand(f, r, 1), &by) || by == 0)
        return;
    if (r->op == IR_UREM || r->op == IR_SREM)
        promise(g, ir_operand(f, r, 0), low_bit(by));
    else if (r->op == IR_AND)
        promise(g, ir_operand(f, r, 0), low_bit(by + 1));
}

static bool has_return(const ir_func *f, ir_inst_id id)
{
    const ir_inst *i = ir_at(f, id);
    if (i->op == IR_RETURN)
        return true;
    for (uint32_t k = 0; k < i->region_count; k++)
        for (ir_inst_id in = ir_region_at(f, i->regions + k)->first; in; in = ir_at(f, in)->next)
            if (has_return(f, in))
                return true;
    return false;
}

uint32_t *align_compute(const ir_func *f, arena *a)
{
    aligner g = {.f = f};
    g.of = arena_array(a, uint32_t, f->values.len + 1);
    g.promised = arena_array(a, uint32_t, f->values.len + 1);
    for (uint32_t v = 0; v < f->values.len; v++)
        g.of[v] = MOST;
    // Only promises that every thread makes, before any could have returned, hold everywhere.
    for (ir_inst_id id = ir_region_at(f, f->body)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_ASSUME && !i->imm)
            believe(&g, ir_operand(f, i, 0));
        if (i->region_count && has_return(f, id))
            break;
    }
    for (uint32_t k = 0; k < f->params.len; k++) {
        const ir_param *p = &f->params.at[k];
        uint32_t align = p->kind == IR_PARAM_POINTER ? p->elem_align
                         : ir_param_has_bytes(p)     ? p->align
                                                     : 1;
        lower(&g, f->first_param + k, align ? align : 1);
    }
    do {
        g.needs_again = false;
        visit_region(&g, f->body);
    } while (g.needs_again);
    return g.of;
}
