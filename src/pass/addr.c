// Addresses: constant parts move out of address arithmetic into the offset field of loads, stores
// and atomics, so that accesses made by unrolling share one pointer: p + (i + 3) * 4 becomes [p +
// i * 4] + 12. In 64 bits this is exact; in 32 bits it is done where ranges prove that nothing
// wraps. What is computed anew is looked for among earlier instructions first. Loads of const
// restrict parameters are marked read-only on the way.
//
// One walk in reading order keeps, for each value that ends in an address, its split into a rest
// (i64 or pointer) and a constant. Start reading at pass_addr.
#include "pass/alias.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum { FAR = 1 << 23 };

typedef struct parts { // value = rest + constant; only when constant != 0
    int64_t constant;
    ir_ref rest;    // 0: nothing but the constant
    bool is_narrow; // the rest is an i32, to be widened as its value is
} parts;

typedef struct folder {
    ir_func *f;
    range_facts ranges;
    uint32_t known_len;      // values before the pass
    parts *wide, *narrow[2]; // of i64 values and pointers; of i32, as signed and unsigned
    uint8_t *is_wanted;
    map made; // hash of an instruction -> its result
    bool changed;
} folder;

// --- finding or making

static bool is_visible(const ir_func *f, ir_ref r, ir_region_id from)
{
    ir_region_id at = ir_at(f, ir_def_of(f, r))->parent;
    while (from && from != at) {
        ir_inst_id owner = ir_region_at(f, from)->owner;
        from = owner ? ir_at(f, owner)->parent : 0;
    }
    return from == at && at != 0;
}

static uint64_t key_of(ir_op op, ir_type type, ir_ref a, ir_ref b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    return (h ^ (h >> 29) ^ ((uint64_t)op << 8 | type)) * 0xff51afd7ed558ccdu;
}

static bool is_shareable(ir_op op)
{
    return op == IR_ADD || op == IR_SUB || op == IR_MUL || op == IR_SHL || op == IR_SEXT ||
           op == IR_ZEXT || op == IR_PTRADD || op == IR_LSHR;
}

// `r` when it is that instruction's result and can be used in the region, else 0.
static ir_ref usable(const folder *g, ir_ref r, ir_region_id from, ir_op op, ir_type type, ir_ref a,
                     ir_ref b)
{
    const ir_inst *i = ir_at(g->f, ir_def_of(g->f, r));
    bool is_same = i->op == op && i->type == type && ir_operand(g->f, i, 0) == a &&
                   (!b || ir_operand(g->f, i, 1) == b);
    return is_same && is_visible(g->f, r, from) ? r : 0;
}

// An instruction of the program, for later ones to use.
static void remember(folder *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    ir_ref a = ir_operand(g->f, i, 0), b = i->operand_count > 1 ? ir_operand(g->f, i, 1) : 0;
    uint64_t *slot = map_at(&g->made, key_of(i->op, i->type, a, b));
    if (!*slot || !usable(g, (ir_ref)*slot, i->parent, i->op, i->type, a, b))
        *slot = i->result;
}

static ir_ref make(folder *g, ir_inst_id before, ir_op op, ir_type type, ir_ref a, ir_ref b)
{
    uint64_t *slot = map_at(&g->made, key_of(op, type, a, b));
    ir_ref r = (ir_ref)*slot;
    if (r && usable(g, r, ir_at(g->f, before)->parent, op, type, a, b))
        return r;
    ir_cursor c = ir_before(g->f, before);
    r = op == IR_PTRADD                  ? ir_ptradd(&c, a, b)
        : op == IR_SEXT || op == IR_ZEXT ? ir_convert(&c, op, type, a)
                                         : ir_bin(&c, op, type, a, b);
    *slot = r;
    return r;
}

// --- splitting

static parts wide_of(const folder *g, ir_ref r)
{
    uint64_t bits;
    if (ir_const_bits(g->f, r, &bits))
        return (parts){.constant = (int64_t)bits};
    return r < g->known_len && g->wide[r].constant ? g->wide[r] : (parts){.rest = r};
}

static parts narrow_of(const folder *g, ir_ref r, bool is_unsigned)
{
    uint64_t bits;
    if (ir_const_bits(g->f, r, &bits))
        return (parts){is_unsigned ? (int64_t)(uint32_t)bits : (int32_t)(uint32_t)bits, 0, true};
    if (r < g->known_len && g->narrow[is_unsigned][r].constant)
        return g->narrow[is_unsigned][r];
    return (parts){0, r, true};
}

static parts widened(folder *g, ir_inst_id before, parts p, bool is_unsigned)
{
    if (p.is_narrow && p.rest)
        p.rest = make(g, before, is_unsigned ? IR_ZEXT : IR_SEXT, IR_I64, p.rest, 0);
    p.is_narrow = false;
    return p;
}

static bool has_narrow_constant(const folder *g, ir_ref r, bool is_unsigned)
{
    return ir_is_const(r) || (r < g->known_len && g->narrow[is_unsigned][r].constant);
}

static parts combine(folder *g, ir_inst_id before, ir_op op, parts a, parts b)
{
    ir_type type = a.is_narrow ? IR_I32 : IR_I64;
    uint64_t x = (uint64_t)a.constant, y = (uint64_t)b.constant;
    ir_ref rest = a.rest;
    if (op == IR_ADD && !a.rest)
        rest = b.rest;
    else if (b.rest)
        rest = make(g, before, op, type, a.rest, b.rest);
    return (parts){(int64_t)(op == IR_ADD ? x + y : x - y), rest, a.is_narrow};
}

static parts scale(folder *g, ir_inst_id before, ir_op op, parts a, int64_t factor)
{
    ir_type type = a.is_narrow ? IR_I32 : IR_I64;
    uint64_t by = op == IR_SHL ? UINT64_C(1) << (factor & 63) : (uint64_t)factor;
    ir_ref k = op == IR_SHL ? ir_i32(g->f, (int32_t)(factor & 63))
                            : ir_constant(g->f, type, (uint64_t)factor);
    ir_ref rest = a.rest ? make(g, before, op, type, a.rest, k) : 0;
    return (parts){(int64_t)((uint64_t)a.constant * by), rest, a.is_narrow};
}

static bool is_near(parts p)
{
    return p.constant != 0 && p.constant > -((int64_t)1 << 40) && p.constant < (int64_t)1 << 40;
}

static void split_wide(folder *g, ir_inst_id id)
{
    ir_func *f = g->f;
    const ir_inst *i = ir_at(f, id);
    ir_ref a = ir_operand(f, i, 0), b = i->operand_count > 1 ? ir_operand(f, i, 1) : 0;
    ir_ref result = i->result;
    parts out = {0};
    ir_op op = i->op;
    if (op == IR_ADD || op == IR_SUB) {
        parts pa = wide_of(g, a), pb = wide_of(g, b);
        if (!pa.constant && !pb.constant)
            return;
        if (!pa.rest && pb.rest && op == IR_SUB)
            return;
        out = combine(g, id, op, pa, pb);
    } else if (op == IR_MUL || op == IR_SHL) {
        if (op == IR_MUL && ir_is_const(a)) {
            ir_ref swap = a;
            a = b;
            b = swap;
        }
        parts pa = wide_of(g, a);
        uint64_t k;
        if (!ir_const_bits(f, b, &k) || !pa.constant)
            return;
        out = scale(g, id, op, pa, (int64_t)k);
    } else if (op == IR_SEXT || op == IR_ZEXT) {
        if (i->aux != IR_I32 || ir_is_const(a) || a >= g->known_len)
            return;
        out = g->narrow[op == IR_ZEXT][a];
        if (out.constant)
            out = widened(g, id, out, op == IR_ZEXT);
    } else if (op == IR_PTRADD) {
        parts pa = wide_of(g, a), pb = wide_of(g, b);
        if (!pa.constant && !pb.constant)
            return;
        out.constant = (int64_t)((uint64_t)pa.constant + (uint64_t)pb.constant);
        if (!pa.rest)
            return; // an address that is a number
        out.rest = pa.rest;
        if (pb.rest)
            out.rest = make(g, id, IR_PTRADD, ir_type_of(f, pa.rest), pa.rest, pb.rest);
    }
    if (is_near(out))
        g->wide[result] = out;
}

// Does the rest of a natural number wrap when it is summed or scaled in 32 bits? The number is at
// least 0, so its rest is at least -constant; as an unsigned number it is natural itself.
static bool may_rest_wrap(int64_t constant, bool is_unsigned)
{
    return !is_unsigned && constant > INT32_MAX;
}

// Sums of natural numbers that do not wrap have partial sums that do not wrap either: they can
// stay in 32 bits. Others are redone in 64.
static void split_narrow(folder *g, ir_inst_id id, bool is_unsigned)
{
    ir_func *f = g->f;
    const ir_inst *i = ir_at(f, id);
    ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1), result = i->result;
    ir_op op = i->op;
    uint8_t need = is_unsigned ? RANGE_EXACT_UNSIGNED : RANGE_EXACT_SIGNED;
    if (!(g->ranges.exact[result] & need))
        return;
    if (op == IR_MUL && ir_is_const(a)) {
        ir_ref swap = a;
        a = b;
        b = swap;
    }
    bool has_a = has_narrow_constant(g, a, is_unsigned);
    if (ir_is_const(a) || (!has_a && !has_narrow_constant(g, b, is_unsigned)))
        return;
    parts pa = narrow_of(g, a, is_unsigned), pb = narrow_of(g, b, is_unsigned), out;
    bool is_natural = (g->ranges.exact[result] & RANGE_EXACT_UNSIGNED) && pa.constant >= 0 &&
                      pb.constant >= 0 && op != IR_SUB;
    if (op == IR_ADD || op == IR_SUB) {
        is_natural &= !may_rest_wrap(pa.constant + pb.constant, is_unsigned);
        bool stays = (is_natural || !pb.rest) && pa.is_narrow && pb.is_narrow;
        if (!stays) {
            pa = widened(g, id, pa, is_unsigned);
            pb = widened(g, id, pb, is_unsigned);
        }
        out = combine(g, id, op, pa, pb);
    } else {
        if (!has_a || pb.rest)
            return;
        int64_t by = op == IR_SHL ? INT64_C(1) << (pb.constant & 31) : pb.constant, product;
        if (__builtin_mul_overflow(pa.constant, by, &product))
            return;
        if (!is_natural || may_rest_wrap(product, is_unsigned))
            pa = widened(g, id, pa, is_unsigned);
        out = scale(g, id, op, pa, pb.constant);
    }
    if (is_near(out))
        g->narrow[is_unsigned][result] = out;
}

// (t + c) >> k is (t >> k) + (c >> k) for a c that is a multiple of 2^k, in natural numbers.
static void split_shift(folder *g, ir_inst_id id)
{
    ir_func *f = g->f;
    const ir_inst *i = ir_at(f, id);
    ir_ref a = ir_operand(f, i, 0), result = i->result;
    uint64_t k;
    if (ir_is_const(a) || a >= g->known_len || !ir_const_bits(f, ir_operand(f, i, 1), &k) || k > 31)
        return;
    parts p = g->narrow[1][a];
    if (!p.is_narrow || !p.rest || p.constant <= 0 || p.constant & ((INT64_C(1) << k) - 1))
        return;
    ir_ref rest = make(g, id, IR_LSHR, IR_I32, p.rest, ir_operand(f, ir_at(f, id), 1));
    parts out = {p.constant >> k, rest, true};
    if (is_near(out)) {
        g->narrow[1][result] = out;
        if (k > 0) // below 2^31: the same as a signed number
            g->narrow[0][result] = out;
    }
}

// (t + c) & (2^k - 1) does not see a c that is a multiple of 2^k.
static void forget_high_bits(folder *g, ir_inst_id id)
{
    ir_func *f = g->f;
    const ir_inst *i = ir_at(f, id);
    uint64_t mask, c;
    if (!ir_const_bits(f, ir_operand(f, i, 1), &mask) || (mask & (mask + 1)))
        return;
    for (;;) {
        ir_inst_id def = ir_def_of(f, ir_operand(f, i, 0));
        const ir_inst *add = def ? ir_at(f, def) : NULL;
        if (!add || (add->op != IR_ADD && add->op != IR_SUB) ||
            !ir_const_bits(f, ir_operand(f, add, 1), &c) || (c & mask))
            return;
        ir_operands(f, i)[0] = ir_operand(f, add, 0);
        g->changed = true;
    }
}

// --- walking

static bool is_memory(ir_op op)
{
    return op == IR_LOAD || op == IR_STORE || op == IR_ATOMIC || op == IR_CAS ||
           op == IR_ATOMLOAD || op == IR_ATOMSTORE || op == IR_PREFETCH;
}

static void want(folder *g, ir_ref r)
{
    ir_inst_id def = ir_def_of(g->f, r);
    if (!def || g->is_wanted[r])
        return;
    const ir_inst *i = ir_at(g->f, def);
    if (!is_shareable(i->op))
        return;
    g->is_wanted[r] = 1;
    for (uint32_t k = 0; k < i->operand_count; k++)
        want(g, ir_operand(g->f, i, k));
}

// A load of memory that the kernel never writes may go through the read-only cache.
static void hint_access(folder *g, ir_inst_id id)
{
    ir_inst *i = ir_at(g->f, id);
    if (i->op != IR_LOAD || i->hint != IR_HINT_NONE)
        return;
    alias_base b = alias_base_of(g->f, ir_operand(g->f, i, 0));
    if (b.space != IR_PTR_GLOBAL || !alias_is_readonly(g->f, &b))
        return;
    i->hint = IR_HINT_READONLY;
    g->changed = true;
}

static void fold_access(folder *g, ir_inst_id id)
{
    ir_inst *i = ir_at(g->f, id);
    ir_ref pointer = ir_operand(g->f, i, 0);
    if (ir_is_const(pointer) || pointer >= g->known_len || !g->wide[pointer].constant)
        return;
    parts p = g->wide[pointer];
    int64_t imm;
    if (__builtin_add_overflow(i->imm, p.constant, &imm) || imm <= -FAR || imm >= FAR || !p.rest)
        return;
    i->imm = imm;
    ir_operands(g->f, i)[0] = p.rest;
    g->changed = true;
}

static void walk_region(folder *g, ir_region_id region)
{
    ir_func *f = g->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        ir_ref r = i->result;
        if (is_shareable(i->op)) {
            if (g->is_wanted[r] && (i->type == IR_I64 || i->op == IR_PTRADD))
                split_wide(g, id);
            else if (g->is_wanted[r] && i->type == IR_I32 && i->op == IR_LSHR)
                split_shift(g, id);
            else if (g->is_wanted[r] && i->type == IR_I32 && i->operand_count == 2) {
                split_narrow(g, id, false);
                split_narrow(g, id, true);
            }
            remember(g, id);
        } else if (is_memory(i->op)) {
            fold_access(g, id);
            hint_access(g, id);
        } else if (i->op == IR_AND) {
            forget_high_bits(g, id);
        }
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            walk_region(g, ir_at(f, id)->regions + k);
    }
}

bool pass_addr(ir_func *f, pass_ctx *ctx)
{
    arena *a = ctx->scratch;
    uint32_t n = f->values.len;
    folder g = {.f = f, .known_len = n, .made = map_make(a)};
    // New instructions are linked before the one in hand, so the walk never meets them; their
    // values lie past known_len.
    g.is_wanted = arena_array(a, uint8_t, n);
    bool has_any = false;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (is_memory(i->op)) {
            want(&g, ir_operand(f, i, 0));
            has_any = true;
        }
    }
    if (!has_any)
        return false;
    g.wide = arena_array(a, parts, n);
    g.narrow[0] = arena_array(a, parts, n);
    g.narrow[1] = arena_array(a, parts, n);
    g.ranges = range_compute_exact(f, a);
    walk_region(&g, f->body);
    return g.changed;
}
