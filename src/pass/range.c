// Ranges: an interval for every integer value, as signed numbers. One walk in reading order.
// Conditions narrow the ranges of what they compare while their side of an IF (or what follows an
// IF whose other side leaves, or an assume) is walked, so values made there know them. A loop's
// counter is bounded by its start and its test. Start reading at range_compute_exact.
#include "pass/loop.h"
#include "pass/pass.h"

__extension__ typedef __int128 wide;

typedef struct undo {
    ir_ref value;
    range old;
} undo;

typedef struct walker {
    const ir_func *f;
    arena *a;
    range_facts facts;
    vec(undo) log;
} walker;

static const range full_ranges[IR_TYPE_COUNT] = {
    [IR_I1] = {0, 1},
    [IR_I8] = {INT8_MIN, INT8_MAX},
    [IR_I16] = {INT16_MIN, INT16_MAX},
    [IR_I32] = {INT32_MIN, INT32_MAX},
};

static inline range full(ir_type t)
{
    return ir_is_int(t) && t != IR_I64 ? full_ranges[t] : (range){INT64_MIN, INT64_MAX};
}

range range_of(const ir_func *f, const range *facts, ir_ref r)
{
    uint64_t bits;
    ir_type t = ir_type_of(f, r);
    if (!ir_const_bits(f, r, &bits))
        return facts[r];
    if (!ir_is_int(t))
        return full(IR_I64);
    int64_t v = t == IR_I1 ? (int64_t)bits : loop_signed(t, bits);
    return (range){v, v};
}

static range get(const walker *w, ir_ref r)
{
    return range_of(w->f, w->facts.value, r);
}

static range unite(range a, range b)
{
    return (range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

// The exact result if it fits the type, else the full range; returns whether it is exact.
static range fit(ir_type t, wide lo, wide hi, uint8_t *exact)
{
    range all = full(t);
    if (lo < all.lo || hi > all.hi) {
        wide most = t == IR_I32 ? (wide)UINT32_MAX : (wide)UINT64_MAX;
        if (lo >= 0 && hi <= most)
            *exact |= RANGE_EXACT_UNSIGNED;
        return all;
    }
    *exact |= RANGE_EXACT_SIGNED;
    return (range){(int64_t)lo, (int64_t)hi};
}

static range multiply(ir_type t, range a, range b, uint8_t *exact)
{
    wide p[4] = {(wide)a.lo * b.lo, (wide)a.lo * b.hi, (wide)a.hi * b.lo, (wide)a.hi * b.hi};
    wide lo = p[0], hi = p[0];
    for (int k = 1; k < 4; k++) {
        lo = p[k] < lo ? p[k] : lo;
        hi = p[k] > hi ? p[k] : hi;
    }
    return fit(t, lo, hi, exact);
}

static int64_t ones_above(int64_t v) // smallest 2^k - 1 >= v, v >= 0
{
    uint64_t x = (uint64_t)v;
    for (uint32_t s = 1; s < 64; s *= 2)
        x |= x >> s;
    return (int64_t)x;
}

// An exact result is one of unsigned numbers, too, where no operand or result is below 0.
static range mark_exact(range r, bool is_natural, uint8_t *exact)
{
    if (!is_natural)
        *exact &= RANGE_EXACT_SIGNED;
    else if (*exact)
        *exact |= RANGE_EXACT_UNSIGNED;
    return r;
}

static range arith(const ir_inst *i, range a, range b, uint8_t *exact)
{
    ir_type t = (ir_type)i->type;
    bool is_natural = a.lo >= 0 && b.lo >= 0;
    bool is_b_const = b.lo == b.hi;
    uint32_t width = t == IR_I64 ? 64 : 32;
    switch (i->op) {
    case IR_ADD:
        return mark_exact(fit(t, (wide)a.lo + b.lo, (wide)a.hi + b.hi, exact), is_natural, exact);
    case IR_SUB: {
        range r = fit(t, (wide)a.lo - b.hi, (wide)a.hi - b.lo, exact);
        return mark_exact(r, is_natural && r.lo >= 0, exact);
    }
    case IR_MUL: return mark_exact(multiply(t, a, b, exact), is_natural, exact);
    case IR_SHL: {
        if (!is_b_const || b.lo < 0 || b.lo >= width - 1)
            return full(t);
        range by = {INT64_C(1) << b.lo, INT64_C(1) << b.lo};
        return mark_exact(multiply(t, a, by, exact), a.lo >= 0, exact);
    }
    case IR_ASHR:
    case IR_LSHR:
        if (!is_b_const || b.lo < 0 || b.lo >= width)
            return full(t);
        if (i->op == IR_ASHR || a.lo >= 0)
            return (range){a.lo >> b.lo, a.hi >> b.lo};
        return b.lo == 0 ? a
                         : (range){0, (int64_t)((t == IR_I64 ? UINT64_MAX : UINT32_MAX) >> b.lo)};
    case IR_AND:
        if (a.lo >= 0 || b.lo >= 0) {
            int64_t hi = a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : a.hi < b.hi ? a.hi : b.hi;
            return (range){0, hi};
        }
        return full(t);
    case IR_OR:
    case IR_XOR:
        if (is_natural)
            return (range){0, ones_above(a.hi > b.hi ? a.hi : b.hi)};
        return full(t);
    case IR_SDIV:
    case IR_UDIV:
        if (a.lo >= 0 && b.lo > 0)
            return (range){a.lo / b.hi, a.hi / b.lo};
        if (i->op == IR_UDIV && is_b_const && b.lo > 1)
            return (range){0, (int64_t)((t == IR_I64 ? UINT64_MAX : UINT32_MAX) / (uint64_t)b.lo)};
        return full(t);
    case IR_SREM:
    case IR_UREM:
        if (b.lo > 0 && (a.lo >= 0 || i->op == IR_UREM))
            return (range){0, a.lo >= 0 && a.hi < b.hi - 1 ? a.hi : b.hi - 1};
        if (b.lo > 0)
            return (range){1 - b.hi, b.hi - 1};
        return full(t);
    case IR_SMIN: return (range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case IR_SMAX: return (range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case IR_UMIN:
        if (is_natural)
            return (range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
        return a.lo >= 0 ? (range){0, a.hi} : b.lo >= 0 ? (range){0, b.hi} : full(t);
    case IR_UMAX:
        if (is_natural)
            return (range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
        return full(t);
    default: return full(t);
    }
}

static range geometry(const ir_func *f, const ir_inst *i)
{
    static const int64_t most_dim[3] = {1024, 1024, 64};
    int64_t dim = f->block[0] ? f->block[i->imm] : 0;
    int64_t grid = i->imm == 0 ? INT32_MAX : 65535;
    switch (i->op) {
    case IR_THREAD: return (range){0, (dim ? dim : most_dim[i->imm]) - 1};
    case IR_BLOCKDIM: return dim ? (range){dim, dim} : (range){1, most_dim[i->imm]};
    case IR_BLOCK: return (range){0, grid - 1};
    default: return (range){1, grid};
    }
}

static range convert(const walker *w, const ir_inst *i)
{
    range a = get(w, ir_operand(w->f, i, 0)), all = full(i->type);
    if (i->op == IR_SEXT)
        return i->aux == IR_I1 ? (range){-1, 0} : a;
    if (i->op == IR_ZEXT)
        return a.lo >= 0 ? a : (range){0, full((ir_type)i->aux).hi * 2 + 1};
    return a.lo >= all.lo && a.hi <= all.hi ? a : all; // TRUNC
}

static range result_range(const walker *w, const ir_inst *i, uint8_t *exact)
{
    const ir_func *f = w->f;
    ir_type t = ir_type_of(f, i->result);
    switch (i->op) {
    case IR_THREAD:
    case IR_BLOCKDIM:
    case IR_BLOCK:
    case IR_GRIDDIM: return geometry(f, i);
    case IR_LANE:
    case IR_WARP: return (range){0, 31};
    case IR_DYNSHARED: return (range){0, 1 << 20};
    case IR_POPC:
    case IR_CLZ:
    case IR_CTZ: return (range){0, 64};
    case IR_SEXT:
    case IR_ZEXT:
    case IR_TRUNC: return convert(w, i);
    case IR_UNIFORM: return get(w, ir_operand(f, i, 0));
    case IR_SELECT: return unite(get(w, ir_operand(f, i, 1)), get(w, ir_operand(f, i, 2)));
    default: break;
    }
    if (i->operand_count == 2 && (t == IR_I32 || t == IR_I64) &&
        ir_op_effect(i->op) == IR_FX_PURE && i->op >= IR_ADD && i->op <= IR_UMAX)
        return arith(i, get(w, ir_operand(f, i, 0)), get(w, ir_operand(f, i, 1)), exact);
    return full(t);
}

// --- conditions

static void narrow(walker *w, ir_ref r, int64_t lo, int64_t hi)
{
    if (ir_is_const(r))
        return;
    range old = w->facts.value[r];
    range now = {lo > old.lo ? lo : old.lo, hi < old.hi ? hi : old.hi};
    if (now.lo > now.hi || (now.lo == old.lo && now.hi == old.hi))
        return; // impossible code, or nothing new
    vec_push(w->a, &w->log, (undo){r, old});
    w->facts.value[r] = now;
    // A widened value bounds what it was made of.
    ir_inst_id def = ir_def_of(w->f, r);
    if (def && ir_at(w->f, def)->op == IR_SEXT)
        narrow(w, ir_operand(w->f, ir_at(w->f, def), 0), lo, hi);
}

static void learn(walker *w, ir_ref condition, bool holds)
{
    const ir_func *f = w->f;
    ir_inst_id def = ir_def_of(f, condition);
    if (!def)
        return;
    const ir_inst *i = ir_at(f, def);
    if (i->type == IR_I1 && (i->op == IR_AND || i->op == IR_OR)) {
        if ((i->op == IR_AND) == holds) {
            learn(w, ir_operand(f, i, 0), holds);
            learn(w, ir_operand(f, i, 1), holds);
        }
        return;
    }
    uint64_t bits;
    if (i->op == IR_XOR && i->type == IR_I1 && ir_const_bits(f, ir_operand(f, i, 1), &bits)) {
        learn(w, ir_operand(f, i, 0), bits ? !holds : holds);
        return;
    }
    if (i->operand_count != 2 || (i->type != IR_I32 && i->type != IR_I64))
        return;
    ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1);
    range ra = get(w, a), rb = get(w, b);
    ir_op op = i->op;
    if ((op == IR_IEQ && holds) || (op == IR_INE && !holds)) {
        narrow(w, a, rb.lo, rb.hi);
        narrow(w, b, ra.lo, ra.hi);
        return;
    }
    // Reduce to small <= large - gap.
    bool is_less = op == IR_SLT || op == IR_ULT, is_unsigned = op == IR_ULT || op == IR_ULE;
    if (!is_less && op != IR_SLE && op != IR_ULE)
        return;
    int64_t gap = is_less == holds ? 1 : 0;
    ir_ref small = holds ? a : b, large = holds ? b : a;
    range rs = holds ? ra : rb, rl = holds ? rb : ra;
    if (is_unsigned) { // below a natural number: natural, too
        if (rl.lo < 0)
            return;
        narrow(w, small, 0, rl.hi - gap);
        if (rs.lo >= 0 && rs.lo != INT64_MAX)
            narrow(w, large, rs.lo + gap, INT64_MAX);
        return;
    }
    if (rl.hi != INT64_MIN)
        narrow(w, small, INT64_MIN, rl.hi - gap);
    if (rs.lo != INT64_MAX)
        narrow(w, large, rs.lo + gap, INT64_MAX);
}

static void forget(walker *w, uint32_t mark)
{
    while (w->log.len > mark) {
        undo u = vec_pop(&w->log);
        w->facts.value[u.value] = u.old;
    }
}

// --- control

static void bound_counters(walker *w, ir_inst_id id)
{
    const ir_func *f = w->f;
    loop_info l = loop_look(f, id);
    loop_test t;
    bool has_test = loop_find_test(f, &l, &t);
    int64_t trips = l.next ? loop_trips(f, &l, 1 << 16) : -1;
    for (uint32_t k = 0; k < ir_region_at(f, l.body)->arg_count; k++) {
        loop_count c;
        if (!loop_counts(f, &l, k, &c))
            continue;
        ir_type type = ir_type_of(f, c.arg);
        range init = get(w, c.init), all = full(type), *out = &w->facts.value[c.arg];
        int64_t step = loop_signed(type, c.step);
        wide lo = init.lo, hi = init.hi;
        if (trips >= 0) {
            wide far = (wide)step * trips;
            lo += far < 0 ? far : 0;
            hi += far > 0 ? far : 0;
        } else if (has_test && t.count.arg == c.arg && !t.is_stepped && t.op != IR_INE) {
            range limit = get(w, t.limit);
            bool is_natural = init.lo >= 0 && limit.lo >= 0;
            if ((t.op == IR_ULT || t.op == IR_ULE) && !is_natural)
                continue;
            wide gap = t.op == IR_SLT || t.op == IR_ULT ? 1 : 0;
            if (step > 0 && !t.is_greater) {
                wide last = (wide)limit.hi - gap + step;
                hi = last > hi ? last : hi;
            } else if (step < 0 && t.is_greater) {
                wide last = (wide)limit.lo + gap + step;
                lo = last < lo ? last : lo;
                if (t.op == IR_ULT || t.op == IR_ULE)
                    continue; // may pass below zero and go on from the top
            } else {
                continue;
            }
        } else {
            continue;
        }
        if (lo >= all.lo && hi <= all.hi)
            *out = (range){(int64_t)lo, (int64_t)hi};
    }
}

static bool falls_out(const ir_func *f, ir_region_id region, ir_inst_id of)
{
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_EXIT && i->aux == of)
            return true;
        for (uint32_t k = 0; k < i->region_count; k++)
            if (falls_out(f, i->regions + k, of))
                return true;
    }
    return false;
}

static void walk_region(walker *w, ir_region_id region);

static void walk_control(walker *w, ir_inst_id id)
{
    const ir_func *f = w->f;
    const ir_inst *i = ir_at(f, id);
    for (uint32_t k = 0; k < i->result_count; k++) // grows with each exit
        w->facts.value[i->result + k] = (range){INT64_MAX, INT64_MIN};
    if (i->op == IR_LOOP)
        bound_counters(w, id);
    bool is_if = i->op == IR_IF;
    for (uint32_t k = 0; k < i->region_count; k++) {
        uint32_t mark = w->log.len;
        if (is_if)
            learn(w, ir_operand(f, i, 0), k == 0);
        walk_region(w, i->regions + k);
        forget(w, mark);
    }
    for (uint32_t k = 0; k < i->result_count; k++) {
        range *r = &w->facts.value[i->result + k];
        if (r->lo > r->hi)
            *r = full(ir_type_of(f, i->result + k));
    }
    if (is_if && !falls_out(f, i->regions, id))
        learn(w, ir_operand(f, i, 0), false);
    else if (is_if && !falls_out(f, i->regions + 1, id))
        learn(w, ir_operand(f, i, 0), true);
}

static void walk_region(walker *w, ir_region_id region)
{
    const ir_func *f = w->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_EXIT)
            for (uint32_t k = 0; k < i->operand_count; k++) {
                range *into = &w->facts.value[ir_at(f, i->aux)->result + k];
                *into = unite(*into, get(w, ir_operand(f, i, k)));
            }
        else if (i->region_count)
            walk_control(w, id);
        else if (i->op == IR_ASSUME && !i->imm)
            learn(w, ir_operand(f, i, 0), true);
        else if (i->result_count == 1 && ir_is_int(ir_type_of(f, i->result)))
            w->facts.value[i->result] = result_range(w, i, &w->facts.exact[i->result]);
    }
}

range_facts range_compute_exact(const ir_func *f, arena *a)
{
    walker w = {.f = f, .a = a};
    w.facts.value = arena_array(a, range, f->values.len + 1);
    w.facts.exact = arena_array(a, uint8_t, f->values.len + 1);
    for (ir_ref v = 1; v < f->values.len; v++)
        w.facts.value[v] = full(ir_type_of(f, v));
    walk_region(&w, f->body);
    forget(&w, 0);
    return w.facts;
}

range *range_compute(const ir_func *f, arena *a)
{
    return range_compute_exact(f, a).value;
}
