// The operations without control and memory, as C expressions: a scalar one (back/ctext) when the
// result is held once for the warp (or is lane 0 of a row), else one on 32 lanes. The names of the
// functions are the IR's, with the type behind: add_u32, add_i4. They are in lanes.h.
#include "back/cpu/cpu.h"

const char *cpu_type(const cpu_emitter *e, ir_ref r)
{
    ir_type t = ir_type_of(e->t.f, r);
    if (cpu_shape(e, r).held != HELD_LANES)
        return ctext_type(&e->t, t);
    return t == IR_I1 ? "M" : ctext_is_wide(t) ? "V8" : "V4";
}

static const char *scalar(ctext *t, ir_ref r)
{
    cpu_emitter *e = (cpu_emitter *)t;
    if (e->shapes[r].held != HELD_LANES)
        return ctext_name(t, r);
    ir_type type = ir_type_of(e->t.f, r); // a promise of uniform(): any active lane will do
    return str_format(e->t.a, "lane%s(v%u, first(%s))",
                      type == IR_I1         ? "m"
                      : ctext_is_wide(type) ? "8"
                                            : "4",
                      r, cpu_mask(e));
}

const ctext_words cpu_words = {"uint8_t", "uint16_t", "uint32_t", "uint64_t", "ull", scalar};

const char *cpu_lanes(cpu_emitter *e, ir_ref r)
{
    ir_type t = ir_type_of(e->t.f, r);
    uint64_t bits;
    if (ir_const_bits(e->t.f, r, &bits)) {
        if (t == IR_I1)
            return bits ? "m_of(ALL)" : "m_of(0)";
        return str_format(e->t.a, ctext_is_wide(t) ? "s8(0x%llxull)" : "s4(0x%llxu)",
                          (unsigned long long)bits);
    }
    shape s = e->shapes[r];
    if (s.held == HELD_LANES)
        return ctext_name(&e->t, r);
    if (s.held == HELD_ROW)
        return str_format(
            e->t.a, ctext_is_wide(t) ? "af8(v%u, (uint64_t)%lldll)" : "af4(v%u, (uint32_t)%lld)", r,
            (long long)s.step);
    const char *splat = t == IR_I1         ? "ms"
                        : t == IR_F32      ? "sf4"
                        : t == IR_F64      ? "sf8"
                        : ctext_is_wide(t) ? "s8"
                                           : "s4";
    return str_format(e->t.a, "%s(v%u)", splat, r);
}

const char *cpu_mask(cpu_emitter *e)
{
    return e->mask ? e->mask : "m_of(ALL)";
}

const char *cpu_bits(cpu_emitter *e)
{
    return e->mask ? str_format(e->t.a, "bits(%s)", e->mask) : "ALL";
}

// --- names
static const char *suffix(ir_type t)
{
    return t == IR_F32        ? "f4"
           : t == IR_F64      ? "f8"
           : t == IR_I1       ? "m"
           : ctext_is_wide(t) ? "i8"
                              : "i4";
}

// --- conversions
static const char *extended(cpu_emitter *e, ir_type to, ir_type from, const char *x, bool is_signed)
{
    const char *narrow = x;
    if (from == IR_I1)
        narrow = str_format(e->t.a, "sel4(%s, s4(%s), s4(0))", x, is_signed ? "ALL" : "1");
    else if (is_signed && from != IR_I32 && from != IR_I64)
        narrow = str_format(e->t.a, "ashr_i4s(shl_i4s(%s, %d), %d)", x, from == IR_I8 ? 24 : 16,
                            from == IR_I8 ? 24 : 16);
    if (ctext_is_wide(to))
        return ctext_is_wide(from)
                   ? x
                   : str_format(e->t.a, "%s(%s)", is_signed ? "sext8" : "zext8", narrow);
    return is_signed && to != IR_I32
               ? str_format(e->t.a, "and_i4(%s, s4(0x%xu))", narrow, ctext_low_mask(to))
               : narrow;
}

static const char *truncated(cpu_emitter *e, ir_type to, ir_type from, const char *x)
{
    const char *narrow = ctext_is_wide(from) ? str_format(e->t.a, "trunc4(%s)", x) : x;
    if (to == IR_I1)
        return str_format(e->t.a, "ine_i4(and_i4(%s, s4(1)), s4(0))", narrow);
    return to == IR_I32 ? narrow
                        : str_format(e->t.a, "and_i4(%s, s4(0x%xu))", narrow, ctext_low_mask(to));
}

static const char *pointer_cast(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    ir_ref a = ir_operand(e->t.f, i, 0);
    ir_type to = (ir_type)i->type, from = ir_type_of(e->t.f, a);
    const char *x = is_lanes ? cpu_lanes(e, a) : cpu_scalar(e, a);
    if (from == IR_PTR_LOCAL && to == IR_PTR_GEN)
        return str_format(e->t.a, is_lanes ? "or_i8(%s, s8(1ull << 63))" : "(%s | 1ull << 63)", x);
    if (from == IR_PTR_GEN && to == IR_PTR_LOCAL)
        return str_format(e->t.a, is_lanes ? "and_i8(%s, s8(~0ull >> 1))" : "(%s & ~0ull >> 1)", x);
    return x;
}

static const char *conversion(cpu_emitter *e, const ir_inst *i)
{
    ir_ref a = ir_operand(e->t.f, i, 0);
    ir_type to = (ir_type)i->type, from = ir_type_of(e->t.f, a);
    const char *x = cpu_lanes(e, a);
    switch (i->op) {
    case IR_TRUNC: return truncated(e, to, from, x);
    case IR_ZEXT: return extended(e, to, from, x, false);
    case IR_SEXT: return extended(e, to, from, x, true);
    case IR_SITOF:
    case IR_UITOF:
        return str_format(e->t.a, "%s_%s_%s(%s)", ctext_op(&e->t, (ir_op)i->op), suffix(from),
                          suffix(to), x);
    case IR_FTOSI:
    case IR_FTOUI:
        return str_format(e->t.a, "%s_%s_%s(%s)", ctext_op(&e->t, (ir_op)i->op), suffix(from),
                          to == IR_I8    ? "u8"
                          : to == IR_I16 ? "u16"
                          : to == IR_I32 ? "u32"
                                         : "u64",
                          x);
    case IR_FEXT:
        return to == IR_F64 ? str_format(e->t.a, "f32_f64(%s)", x)
                            : str_format(e->t.a, "%s_f4(%s)", ir_type_name(from), x);
    case IR_FNARROW:
        return to == IR_F32 ? str_format(e->t.a, "f64_f32(%s)", x)
                            : str_format(e->t.a, "f4_%s(%s)", ir_type_name(to), x);
    default: return x;
    }
}

// --- the rest of the pure ones
static const char *call(cpu_emitter *e, const ir_inst *i)
{
    ir_type t = i->op == IR_PTRADD ? IR_I64 : (ir_type)i->type;
    bool is_shift = i->op == IR_SHL || i->op == IR_LSHR || i->op == IR_ASHR || i->op == IR_FSHL;
    bool is_packed = i->op >= IR_HADD2 && i->op <= IR_HMAX2;
    const char *name = i->op == IR_PTRADD ? "add" : ctext_op(&e->t, (ir_op)i->op);
    const char *args = "", *tail = suffix(t);
    if (is_packed)
        tail = str_format(e->t.a, "%s4", ir_type_name((ir_type)i->aux));
    if (t == IR_I1 && (i->op == IR_AND || i->op == IR_OR || i->op == IR_XOR)) {
        name = str_format(e->t.a, "m_%s", name);
        tail = NULL;
    }
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(e->t.f, i, k);
        bool is_one_count =
            is_shift && k + 1 == i->operand_count && cpu_shape(e, r).held == HELD_ONE;
        if (is_one_count)
            tail = str_format(e->t.a, "%ss", tail);
        args = str_format(e->t.a, "%s%s%s", args, k ? ", " : "",
                          is_one_count ? cpu_scalar(e, r) : cpu_lanes(e, r));
    }
    return tail ? str_format(e->t.a, "%s_%s(%s)", name, tail, args)
                : str_format(e->t.a, "%s(%s)", name, args);
}

static const char *guard(cpu_emitter *e, const ir_inst *i)
{
    ir_ref index = ir_operand(e->t.f, i, 0), limit = ir_operand(e->t.f, i, 1);
    const char *a = cpu_scalar(e, index), *b = cpu_scalar(e, limit);
    const char *cast = i->op == IR_ULT                            ? ""
                       : ctext_is_wide(ir_type_of(e->t.f, index)) ? "(int64_t)"
                                                                  : "(int32_t)";
    return str_format(e->t.a, "firsts(%s%s < %s%s ? %s - %s : 0)", cast, a, cast, b, b, a);
}

static const char *selection(cpu_emitter *e, const ir_inst *i)
{
    ir_ref c = ir_operand(e->t.f, i, 0), yes = ir_operand(e->t.f, i, 1),
           no = ir_operand(e->t.f, i, 2);
    ir_type t = (ir_type)i->type;
    if (cpu_shape(e, c).held == HELD_ONE)
        return str_format(e->t.a, "%s ? %s : %s", cpu_scalar(e, c), cpu_lanes(e, yes),
                          cpu_lanes(e, no));
    return str_format(e->t.a, "sel%s(%s, %s, %s)",
                      t == IR_I1         ? "m"
                      : ctext_is_wide(t) ? "8"
                                         : "4",
                      cpu_lanes(e, c), cpu_lanes(e, yes), cpu_lanes(e, no));
}

static const char *geometry(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    int axis = (int)i->imm;
    switch (i->op) {
    case IR_THREAD:
        if (e->t.f->block[0] && e->t.f->block[axis] == 1)
            return is_lanes ? "s4(0)" : "0";
        return is_lanes ? str_format(e->t.a, "row4((uint64_t)(uintptr_t)w->thread[%d])", axis)
                        : str_format(e->t.a, "w->thread[%d][0]", axis);
    case IR_BLOCK: return str_format(e->t.a, "w->block[%d]", axis);
    case IR_BLOCKDIM:
        return e->t.f->block[0] ? str_format(e->t.a, "%uu", e->t.f->block[axis])
                                : str_format(e->t.a, "w->block_dim[%d]", axis);
    case IR_GRIDDIM: return str_format(e->t.a, "w->grid_dim[%d]", axis);
    case IR_LANE: return is_lanes ? "af4(0, 1)" : "0";
    case IR_WARP: return "w->warp";
    default: return "w->dynamic_bytes";
    }
}

// --- between lanes
static const char *shuffled(cpu_emitter *e, const ir_inst *i)
{
    ir_ref value = ir_operand(e->t.f, i, 0), by = ir_operand(e->t.f, i, 1),
           width = ir_operand(e->t.f, i, 2);
    ir_type t = ir_type_of(e->t.f, value);
    const char *class = t == IR_I1 ? "m" : ctext_is_wide(t) ? "8" : "4";
    uint64_t n, w;
    if (cpu_shape(e, i->result).held == HELD_ONE) {
        if (cpu_shape(e, value).held == HELD_ONE)
            return cpu_scalar(e, value);
        const char *lane =
            str_format(e->t.a, "lane%s(%s, %s)", class, cpu_lanes(e, value), cpu_scalar(e, by));
        return t == IR_F32 || t == IR_F64 ? str_format(e->t.a, "%s_bits(%s)", ir_type_name(t), lane)
                                          : lane;
    }
    bool is_swap = i->aux == IR_SH_XOR && t != IR_I1 && !ctext_is_wide(t) &&
                   ir_const_bits(e->t.f, by, &n) && ir_const_bits(e->t.f, width, &w) && n &&
                   n < w && w <= 32 && (n & (n - 1)) == 0 && (w & (w - 1)) == 0;
    if (is_swap)
        return str_format(e->t.a, "shuffle_x4(%s, %u, %s)", cpu_lanes(e, value), (unsigned)n,
                          cpu_bits(e));
    return str_format(e->t.a, "shuffle%s(%u, %s, %s, %s, %s)", class, i->aux, cpu_lanes(e, value),
                      cpu_lanes(e, by), cpu_lanes(e, width), cpu_bits(e));
}

static const char *voted(cpu_emitter *e, const ir_inst *i)
{
    const char *bits = cpu_bits(e);
    if (i->op == IR_ACTIVE)
        return bits;
    ir_ref a = ir_operand(e->t.f, i, 0);
    if (i->op == IR_MATCH) {
        ir_type t = ir_type_of(e->t.f, a);
        const char *x =
            t == IR_I1 ? str_format(e->t.a, "byte_m(%s)", cpu_lanes(e, a)) : cpu_lanes(e, a);
        return str_format(e->t.a, "match%s(%s, %s)", ctext_is_wide(t) ? "8" : "4", x, bits);
    }
    if (cpu_shape(e, a).held == HELD_ONE)
        return str_format(e->t.a, "(%s ? %s : 0)", cpu_scalar(e, a), bits);
    return str_format(e->t.a, e->mask ? "(bits(%s) & %s)" : "bits(%s)", cpu_lanes(e, a), bits);
}

// --- the world
static void emit_print(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    ctext_put(&e->t, "{ uint64_t list[%u];", 32 * (i->operand_count ? i->operand_count : 1));
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(e->t.f, i, k);
        ctext_put(&e->t, "keep%s(list + %u, %s);", ctext_is_wide(ir_type_of(e->t.f, r)) ? "8" : "4",
                  32 * k, cpu_lanes(e, r));
    }
    ctext_put(&e->t, "w->print(w, %u, %s, list); }", e->t.sites[id] - 1, cpu_bits(e));
}

static void emit_host(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    for (uint32_t k = 0; k < i->result_count; k++)
        ctext_put(&e->t, "%s v%u;", cpu_type(e, i->result + k), i->result + k);
    ctext_put(&e->t, "{ uint64_t list[%u], got[%u];",
              32 * (i->operand_count ? i->operand_count : 1),
              32 * (i->result_count ? i->result_count : 1));
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(e->t.f, i, k);
        ctext_put(&e->t, "keep%s(list + %u, %s);", ctext_is_wide(ir_type_of(e->t.f, r)) ? "8" : "4",
                  32 * k, cpu_lanes(e, r));
    }
    ctext_put(&e->t, "if (!w->host(w, %u, %s, list, got)) goto done;", e->t.sites[id] - 1,
              cpu_bits(e));
    for (uint32_t k = 0; k < i->result_count; k++)
        ctext_put(&e->t, "v%u = took%s(got + %u);", i->result + k,
                  ctext_is_wide(ir_type_of(e->t.f, i->result + k)) ? "8" : "4", 32 * k);
    ctext_put(&e->t, "}");
}

static void emit_assert(cpu_emitter *e, ir_inst_id id)
{
    ir_ref c = ir_operand(e->t.f, ir_at(e->t.f, id), 0);
    if (cpu_shape(e, c).held == HELD_ONE)
        ctext_put(&e->t, "if (!%s) { w->fault(w, 1, %u, %s); goto done; }", cpu_scalar(e, c),
                  e->t.sites[id] - 1, cpu_bits(e));
    else
        ctext_put(
            &e->t,
            "if (any(m_less(%s, %s))) { w->fault(w, 1, %u, bits(m_less(%s, %s))); goto done; }",
            cpu_mask(e), cpu_lanes(e, c), e->t.sites[id] - 1, cpu_mask(e), cpu_lanes(e, c));
}

// (fine, offset, length): the first lane that is not fine is reported.
static void emit_bounds(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    ir_ref fine = ir_operand(e->t.f, i, 0);
    const char *bad = str_format(e->t.a, "m_less(%s, %s)", cpu_mask(e), cpu_lanes(e, fine));
    if (cpu_shape(e, fine).held == HELD_ONE)
        ctext_put(&e->t, "if (!%s) {", cpu_scalar(e, fine));
    else
        ctext_put(&e->t, "if (any(%s)) {", bad);
    for (uint32_t k = 0; k < 2; k++)
        ctext_put(&e->t, "    w->values[%u] = lane8(%s, first(%s));", k,
                  cpu_lanes(e, ir_operand(e->t.f, i, k + 1)), bad);
    ctext_put(&e->t, "    w->fault(w, 4, %u, bits(%s)); goto done; }", e->t.sites[id] - 1, bad);
}

static bool emit_effect(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    switch (i->op) {
    case IR_BARRIER: ctext_put(&e->t, "w->barrier(w, %u);", id); return true;
    case IR_WARPSYNC:
    case IR_ASSUME: return true;
    case IR_PREFETCH: cpu_emit_memory(e, i); return true;
    case IR_FENCE: ctext_put(&e->t, "__atomic_thread_fence(__ATOMIC_SEQ_CST);"); return true;
    case IR_PRINT: emit_print(e, id); return true;
    case IR_HOST: emit_host(e, id); return true;
    case IR_ASSERT: emit_assert(e, id); return true;
    case IR_BOUNDS: emit_bounds(e, id); return true;
    case IR_TRAP:
        ctext_put(&e->t, "w->fault(w, 2, %u, %s); goto done;", e->t.sites[id] - 1, cpu_bits(e));
        return true;
    case IR_SLEEP: ctext_put(&e->t, "w->yield(w);"); return true;
    default: return false;
    }
}

static const char *value_of(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    if (i->op >= IR_TRUNC && i->op < IR_PTRCAST)
        return is_lanes ? conversion(e, i) : ctext_pure(&e->t, i);
    switch (i->op) {
    case IR_PTRCAST: return pointer_cast(e, i, is_lanes);
    case IR_SELECT: return is_lanes ? selection(e, i) : ctext_pure(&e->t, i);
    case IR_LOCAL:
        return str_format(e->t.a, is_lanes ? "s8(%lluull)" : "%lluull",
                          (unsigned long long)e->t.locals.at[i->aux]);
    case IR_SHARED:
        if (e->t.m->shared.at[i->aux].is_dynamic)
            return "(uint64_t)(uintptr_t)w->dynamic";
        return str_format(e->t.a, "(uint64_t)(uintptr_t)(w->shared + SHARED_%u)", i->aux);
    case IR_CONSTANT: return str_format(e->t.a, "(uint64_t)(uintptr_t)data_%u", i->aux);
    case IR_THREAD:
    case IR_BLOCK:
    case IR_BLOCKDIM:
    case IR_GRIDDIM:
    case IR_LANE:
    case IR_WARP:
    case IR_DYNSHARED: return geometry(e, i, is_lanes);
    case IR_SHUFFLE: return shuffled(e, i);
    case IR_BALLOT:
    case IR_ACTIVE:
    case IR_MATCH: return voted(e, i);
    case IR_UNIFORM: {
        ir_ref a = ir_operand(e->t.f, i, 0);
        return is_lanes
                   ? cpu_lanes(e, a)
                   : ctext_bitcast(&e->t, (ir_type)i->type,
                                   cpu_shape(e, a).held == HELD_LANES && i->type == IR_F32 ? IR_I32
                                   : cpu_shape(e, a).held == HELD_LANES && i->type == IR_F64
                                       ? IR_I64
                                       : (ir_type)i->type,
                                   cpu_scalar(e, a));
    }
    case IR_CLOCK: return is_lanes ? "s8(w->time(w, 0))" : "w->time(w, 0)";
    case IR_NANOTIME: return is_lanes ? "s8(w->time(w, 1))" : "w->time(w, 1)";
    default:
        return !is_lanes ? ctext_pure(&e->t, i) : cpu_is_guard(e, i) ? guard(e, i) : call(e, i);
    }
}

void cpu_emit_plain(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    if (ctext_is_memory(i->op)) {
        cpu_emit_memory(e, i);
        return;
    }
    if (emit_effect(e, id))
        return;
    if (i->op == IR_CALL)
        bug("kernel '%s' still has a call: the inline pass must run before the cpu backend",
            e->t.f->name);
    bool is_lanes = cpu_shape(e, i->result).held == HELD_LANES;
    ctext_put(&e->t, "%s v%u = %s;", cpu_type(e, i->result), i->result, value_of(e, i, is_lanes));
}
