// The operations without control and memory, as C expressions: a scalar one when the result is held
// once for the warp (or is lane 0 of a row), else one on 32 lanes. The names of the functions are
// the IR's, with the type behind: add_u32, add_i4. They are in lanes.h.
#include "back/cpu/cpu.h"

#include <stdarg.h>

void cpu_put(cpu_emitter *e, const char *format, ...)
{
    for (int k = 0; k < e->depth; k++)
        text_puts(e->out, "    ");
    va_list args;
    va_start(args, format);
    text_puts(e->out, str_vformat(e->a, format, args));
    va_end(args);
    text_putc(e->out, '\n');
}

bool cpu_is_wide(ir_type t)
{
    return t == IR_I64 || t == IR_F64 || ir_is_ptr(t);
}

const char *cpu_name(cpu_emitter *e, ir_ref r)
{
    return str_format(e->a, "v%u", r);
}

static const char *scalar_type(ir_type t)
{
    return t == IR_F32      ? "float"
           : t == IR_F64    ? "double"
           : cpu_is_wide(t) ? "uint64_t"
                            : "uint32_t";
}

const char *cpu_type(const cpu_emitter *e, ir_ref r)
{
    ir_type t = ir_type_of(e->f, r);
    if (cpu_shape(e, r).held != HELD_LANES)
        return scalar_type(t);
    return t == IR_I1 ? "M" : cpu_is_wide(t) ? "V8" : "V4";
}

static const char *constant(cpu_emitter *e, ir_type t, uint64_t bits)
{
    if (t == IR_F32)
        return str_format(e->a, "f32_bits(0x%llxu)", (unsigned long long)bits);
    if (t == IR_F64)
        return str_format(e->a, "f64_bits(0x%llx%s)", (unsigned long long)bits, e->wide);
    return str_format(e->a, "0x%llx%s", (unsigned long long)bits, cpu_is_wide(t) ? e->wide : "u");
}

const char *cpu_scalar(cpu_emitter *e, ir_ref r)
{
    uint64_t bits;
    if (ir_const_bits(e->f, r, &bits))
        return constant(e, ir_type_of(e->f, r), bits);
    if (e->shapes[r].held == HELD_LANES) // a promise of uniform(): any active lane will do
        return str_format(e->a, "lane%s(v%u, first(%s))",
                          ir_type_of(e->f, r) == IR_I1       ? "m"
                          : cpu_is_wide(ir_type_of(e->f, r)) ? "8"
                                                             : "4",
                          r, cpu_mask(e));
    return cpu_name(e, r);
}

const char *cpu_lanes(cpu_emitter *e, ir_ref r)
{
    ir_type t = ir_type_of(e->f, r);
    uint64_t bits;
    if (ir_const_bits(e->f, r, &bits)) {
        if (t == IR_I1)
            return bits ? "m_of(ALL)" : "m_of(0)";
        return str_format(e->a, cpu_is_wide(t) ? "s8(0x%llxull)" : "s4(0x%llxu)",
                          (unsigned long long)bits);
    }
    shape s = e->shapes[r];
    if (s.held == HELD_LANES)
        return cpu_name(e, r);
    if (s.held == HELD_ROW)
        return str_format(
            e->a, cpu_is_wide(t) ? "af8(v%u, (uint64_t)%lldll)" : "af4(v%u, (uint32_t)%lld)", r,
            (long long)s.step);
    const char *splat = t == IR_I1       ? "ms"
                        : t == IR_F32    ? "sf4"
                        : t == IR_F64    ? "sf8"
                        : cpu_is_wide(t) ? "s8"
                                         : "s4";
    return str_format(e->a, "%s(v%u)", splat, r);
}

const char *cpu_mask(cpu_emitter *e)
{
    return e->mask ? e->mask : "m_of(ALL)";
}

const char *cpu_bits(cpu_emitter *e)
{
    return e->mask ? str_format(e->a, "bits(%s)", e->mask) : "ALL";
}

// --- names
static const char *op_name(cpu_emitter *e, ir_op op)
{
    char *name = str_format(e->a, "%s", ir_op_name(op));
    for (char *p = name; *p; p++)
        if (*p == '.')
            *p = '_';
    return name;
}

static const char *suffix(ir_type t, bool is_lanes)
{
    if (t == IR_F32)
        return is_lanes ? "f4" : "f32";
    if (t == IR_F64)
        return is_lanes ? "f8" : "f64";
    if (t == IR_I1 && is_lanes)
        return "m";
    return cpu_is_wide(t) ? (is_lanes ? "i8" : "u64") : (is_lanes ? "i4" : "u32");
}

static const char *int_name(ir_type t)
{
    return t == IR_I8 ? "u8" : t == IR_I16 ? "u16" : t == IR_I32 ? "u32" : "u64";
}

static uint32_t low_mask(ir_type t)
{
    return t == IR_I1 ? 1 : t == IR_I8 ? 0xff : t == IR_I16 ? 0xffff : 0xffffffffu;
}

// --- conversions
static const char *extended_scalar(cpu_emitter *e, ir_type to, ir_type from, const char *x)
{
    const char *type = cpu_is_wide(to) ? "uint64_t" : "uint32_t";
    if (from == IR_I1)
        return str_format(e->a, "(((%s)0 - %s) & 0x%llx%s)", type, x,
                          cpu_is_wide(to) ? ~0ull : (unsigned long long)low_mask(to), e->wide);
    const char *narrow = from == IR_I8    ? "int8_t"
                         : from == IR_I16 ? "int16_t"
                         : from == IR_I32 ? "int32_t"
                                          : "int64_t";
    const char *wide = str_format(e->a, "(%s)(int64_t)(%s)%s", type, narrow, x);
    return to == IR_I16 ? str_format(e->a, "(%s & 0xffffu)", wide) : wide;
}

static const char *extended_lanes(cpu_emitter *e, ir_type to, ir_type from, const char *x,
                                  bool is_signed)
{
    const char *narrow = x;
    if (from == IR_I1)
        narrow = str_format(e->a, "sel4(%s, s4(%s), s4(0))", x, is_signed ? "ALL" : "1");
    else if (is_signed && from != IR_I32 && from != IR_I64)
        narrow = str_format(e->a, "ashr_i4s(shl_i4s(%s, %d), %d)", x, from == IR_I8 ? 24 : 16,
                            from == IR_I8 ? 24 : 16);
    if (cpu_is_wide(to))
        return cpu_is_wide(from)
                   ? x
                   : str_format(e->a, "%s(%s)", is_signed ? "sext8" : "zext8", narrow);
    return is_signed && to != IR_I32
               ? str_format(e->a, "and_i4(%s, s4(0x%xu))", narrow, low_mask(to))
               : narrow;
}

static const char *truncated_lanes(cpu_emitter *e, ir_type to, ir_type from, const char *x)
{
    const char *narrow = cpu_is_wide(from) ? str_format(e->a, "trunc4(%s)", x) : x;
    if (to == IR_I1)
        return str_format(e->a, "ine_i4(and_i4(%s, s4(1)), s4(0))", narrow);
    return to == IR_I32 ? narrow : str_format(e->a, "and_i4(%s, s4(0x%xu))", narrow, low_mask(to));
}

static const char *bitcast_scalar(cpu_emitter *e, ir_type to, ir_type from, const char *x)
{
    if (to == from)
        return x;
    const char *function = to == IR_F32     ? "f32_bits"
                           : to == IR_F64   ? "f64_bits"
                           : from == IR_F32 ? "bits_f32"
                           : from == IR_F64 ? "bits_f64"
                                            : "";
    return str_format(e->a, "%s(%s)", function, x);
}

static const char *float_widened(cpu_emitter *e, ir_type to, ir_type from, const char *x,
                                 bool is_lanes)
{
    if (to == IR_F64)
        return str_format(e->a, is_lanes ? "f32_f64(%s)" : "(double)%s", x);
    return str_format(e->a, "%s_%s(%s)", ir_type_name(from), is_lanes ? "f4" : "f32", x);
}

static const char *float_narrowed(cpu_emitter *e, ir_type to, const char *x, bool is_lanes)
{
    if (to == IR_F32)
        return str_format(e->a, is_lanes ? "f64_f32(%s)" : "(float)%s", x);
    return str_format(e->a, "%s_%s(%s)", is_lanes ? "f4" : "f32", ir_type_name(to), x);
}

static const char *pointer_cast(cpu_emitter *e, ir_type to, ir_type from, const char *x,
                                bool is_lanes)
{
    if (from == IR_PTR_LOCAL && to == IR_PTR_GEN)
        return str_format(e->a, is_lanes ? "or_i8(%s, s8(1ull << 63))" : "(%s | 1ull << 63)", x);
    if (from == IR_PTR_GEN && to == IR_PTR_LOCAL)
        return str_format(e->a, is_lanes ? "and_i8(%s, s8(~0ull >> 1))" : "(%s & ~0ull >> 1)", x);
    return x;
}

static const char *conversion(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    ir_ref a = ir_operand(e->f, i, 0);
    ir_type to = (ir_type)i->type, from = ir_type_of(e->f, a);
    const char *x = is_lanes ? cpu_lanes(e, a) : cpu_scalar(e, a);
    switch (i->op) {
    case IR_TRUNC:
        if (is_lanes)
            return truncated_lanes(e, to, from, x);
        return str_format(e->a, "((uint32_t)%s & 0x%xu)", x, low_mask(to));
    case IR_ZEXT:
        if (is_lanes)
            return extended_lanes(e, to, from, x, false);
        return str_format(e->a, cpu_is_wide(to) ? "(uint64_t)%s" : "%s", x);
    case IR_SEXT:
        return is_lanes ? extended_lanes(e, to, from, x, true) : extended_scalar(e, to, from, x);
    case IR_SITOF:
    case IR_UITOF:
        return str_format(e->a, "%s_%s_%s(%s)", op_name(e, (ir_op)i->op), suffix(from, is_lanes),
                          suffix(to, is_lanes), x);
    case IR_FTOSI:
    case IR_FTOUI:
        return str_format(e->a, "%s_%s_%s(%s)", op_name(e, (ir_op)i->op), suffix(from, is_lanes),
                          int_name(to), x);
    case IR_FEXT: return float_widened(e, to, from, x, is_lanes);
    case IR_FNARROW: return float_narrowed(e, to, x, is_lanes);
    case IR_BITCAST: return is_lanes ? x : bitcast_scalar(e, to, from, x);
    case IR_PTRCAST: return pointer_cast(e, to, from, x, is_lanes);
    default: return x;
    }
}

// --- the rest of the pure ones
static const char *call(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    ir_type t = i->op == IR_PTRADD ? IR_I64 : (ir_type)i->type;
    bool is_shift = i->op == IR_SHL || i->op == IR_LSHR || i->op == IR_ASHR || i->op == IR_FSHL;
    bool is_packed = i->op >= IR_HADD2 && i->op <= IR_HMAX2;
    const char *name = i->op == IR_PTRADD ? "add" : op_name(e, (ir_op)i->op);
    const char *args = "", *tail = suffix(t, is_lanes);
    if (is_packed)
        tail = str_format(e->a, is_lanes ? "%s4" : "%s", ir_type_name((ir_type)i->aux));
    if (is_lanes && t == IR_I1 && (i->op == IR_AND || i->op == IR_OR || i->op == IR_XOR)) {
        name = str_format(e->a, "m_%s", name);
        tail = NULL;
    }
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(e->f, i, k);
        bool is_count = is_shift && k + 1 == i->operand_count;
        bool is_one_count = is_count && is_lanes && cpu_shape(e, r).held == HELD_ONE;
        if (is_one_count)
            tail = str_format(e->a, "%ss", tail);
        args = str_format(e->a, "%s%s%s", args, k ? ", " : "",
                          is_lanes && !is_one_count ? cpu_lanes(e, r) : cpu_scalar(e, r));
    }
    return tail ? str_format(e->a, "%s_%s(%s)", name, tail, args)
                : str_format(e->a, "%s(%s)", name, args);
}

static const char *selection(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    ir_ref c = ir_operand(e->f, i, 0), yes = ir_operand(e->f, i, 1), no = ir_operand(e->f, i, 2);
    ir_type t = (ir_type)i->type;
    if (!is_lanes)
        return str_format(e->a, "%s ? %s : %s", cpu_scalar(e, c), cpu_scalar(e, yes),
                          cpu_scalar(e, no));
    if (cpu_shape(e, c).held == HELD_ONE)
        return str_format(e->a, "%s ? %s : %s", cpu_scalar(e, c), cpu_lanes(e, yes),
                          cpu_lanes(e, no));
    return str_format(e->a, "sel%s(%s, %s, %s)",
                      t == IR_I1       ? "m"
                      : cpu_is_wide(t) ? "8"
                                       : "4",
                      cpu_lanes(e, c), cpu_lanes(e, yes), cpu_lanes(e, no));
}

static const char *geometry(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    int axis = (int)i->imm;
    switch (i->op) {
    case IR_THREAD:
        if (e->f->block[0] && e->f->block[axis] == 1)
            return is_lanes ? "s4(0)" : "0";
        return is_lanes ? str_format(e->a, "row4((uint64_t)(uintptr_t)w->thread[%d])", axis)
                        : str_format(e->a, "w->thread[%d][0]", axis);
    case IR_BLOCK: return str_format(e->a, "w->block[%d]", axis);
    case IR_BLOCKDIM:
        return e->f->block[0] ? str_format(e->a, "%uu", e->f->block[axis])
                              : str_format(e->a, "w->block_dim[%d]", axis);
    case IR_GRIDDIM: return str_format(e->a, "w->grid_dim[%d]", axis);
    case IR_LANE: return is_lanes ? "af4(0, 1)" : "0";
    case IR_WARP: return "w->warp";
    default: return "w->dynamic_bytes";
    }
}

// --- between lanes
static const char *shuffled(cpu_emitter *e, const ir_inst *i)
{
    ir_ref value = ir_operand(e->f, i, 0), by = ir_operand(e->f, i, 1),
           width = ir_operand(e->f, i, 2);
    ir_type t = ir_type_of(e->f, value);
    const char *class = t == IR_I1 ? "m" : cpu_is_wide(t) ? "8" : "4";
    uint64_t n, w;
    if (cpu_shape(e, i->result).held == HELD_ONE) {
        if (cpu_shape(e, value).held == HELD_ONE)
            return cpu_scalar(e, value);
        const char *lane =
            str_format(e->a, "lane%s(%s, %s)", class, cpu_lanes(e, value), cpu_scalar(e, by));
        return t == IR_F32 || t == IR_F64 ? str_format(e->a, "%s_bits(%s)", ir_type_name(t), lane)
                                          : lane;
    }
    bool is_swap = i->aux == IR_SH_XOR && t != IR_I1 && !cpu_is_wide(t) &&
                   ir_const_bits(e->f, by, &n) && ir_const_bits(e->f, width, &w) && n && n < w &&
                   w <= 32 && (n & (n - 1)) == 0 && (w & (w - 1)) == 0;
    if (is_swap)
        return str_format(e->a, "shuffle_x4(%s, %u, %s)", cpu_lanes(e, value), (unsigned)n,
                          cpu_bits(e));
    return str_format(e->a, "shuffle%s(%u, %s, %s, %s, %s)", class, i->aux, cpu_lanes(e, value),
                      cpu_lanes(e, by), cpu_lanes(e, width), cpu_bits(e));
}

static const char *voted(cpu_emitter *e, const ir_inst *i)
{
    const char *bits = cpu_bits(e);
    if (i->op == IR_ACTIVE)
        return bits;
    ir_ref a = ir_operand(e->f, i, 0);
    if (i->op == IR_MATCH) {
        ir_type t = ir_type_of(e->f, a);
        const char *x =
            t == IR_I1 ? str_format(e->a, "byte_m(%s)", cpu_lanes(e, a)) : cpu_lanes(e, a);
        return str_format(e->a, "match%s(%s, %s)", cpu_is_wide(t) ? "8" : "4", x, bits);
    }
    if (cpu_shape(e, a).held == HELD_ONE)
        return str_format(e->a, "(%s ? %s : 0)", cpu_scalar(e, a), bits);
    return str_format(e->a, e->mask ? "(bits(%s) & %s)" : "bits(%s)", cpu_lanes(e, a), bits);
}

// --- the world
static void emit_print(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->f, id);
    cpu_put(e, "{ uint64_t list[%u];", 32 * (i->operand_count ? i->operand_count : 1));
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(e->f, i, k);
        cpu_put(e, "keep%s(list + %u, %s);", cpu_is_wide(ir_type_of(e->f, r)) ? "8" : "4", 32 * k,
                cpu_lanes(e, r));
    }
    cpu_put(e, "w->print(w, %u, %s, list); }", e->sites[id] - 1, cpu_bits(e));
}

static void emit_assert(cpu_emitter *e, ir_inst_id id)
{
    ir_ref c = ir_operand(e->f, ir_at(e->f, id), 0);
    if (cpu_shape(e, c).held == HELD_ONE)
        cpu_put(e, "if (!%s) { w->fault(w, 1, %u, %s); goto done; }", cpu_scalar(e, c),
                e->sites[id] - 1, cpu_bits(e));
    else
        cpu_put(e,
                "if (any(m_less(%s, %s))) { w->fault(w, 1, %u, bits(m_less(%s, %s))); goto done; }",
                cpu_mask(e), cpu_lanes(e, c), e->sites[id] - 1, cpu_mask(e), cpu_lanes(e, c));
}

// (fine, offset, length): the first lane that is not fine is told.
static void emit_bounds(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->f, id);
    ir_ref fine = ir_operand(e->f, i, 0);
    const char *bad = str_format(e->a, "m_less(%s, %s)", cpu_mask(e), cpu_lanes(e, fine));
    if (cpu_shape(e, fine).held == HELD_ONE)
        cpu_put(e, "if (!%s) {", cpu_scalar(e, fine));
    else
        cpu_put(e, "if (any(%s)) {", bad);
    for (uint32_t k = 0; k < 2; k++)
        cpu_put(e, "    w->values[%u] = lane8(%s, first(%s));", k,
                cpu_lanes(e, ir_operand(e->f, i, k + 1)), bad);
    cpu_put(e, "    w->fault(w, 4, %u, bits(%s)); goto done; }", e->sites[id] - 1, bad);
}

static bool emit_effect(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->f, id);
    switch (i->op) {
    case IR_BARRIER: cpu_put(e, "w->barrier(w, %u);", id); return true;
    case IR_WARPSYNC:
    case IR_PREFETCH:
    case IR_ASSUME: return true;
    case IR_FENCE: cpu_put(e, "__atomic_thread_fence(__ATOMIC_SEQ_CST);"); return true;
    case IR_PRINT: emit_print(e, id); return true;
    case IR_ASSERT: emit_assert(e, id); return true;
    case IR_BOUNDS: emit_bounds(e, id); return true;
    case IR_TRAP:
        cpu_put(e, "w->fault(w, 2, %u, %s); goto done;", e->sites[id] - 1, cpu_bits(e));
        return true;
    case IR_SLEEP: cpu_put(e, "w->yield(w);"); return true;
    default: return false;
    }
}

const char *cpu_pure(cpu_emitter *e, const ir_inst *i)
{
    if (i->op >= IR_TRUNC && i->op < IR_PTRCAST)
        return conversion(e, i, false);
    return i->op == IR_SELECT ? selection(e, i, false) : call(e, i, false);
}

static const char *value_of(cpu_emitter *e, const ir_inst *i, bool is_lanes)
{
    if (i->op >= IR_TRUNC && i->op <= IR_PTRCAST)
        return conversion(e, i, is_lanes);
    switch (i->op) {
    case IR_SELECT: return selection(e, i, is_lanes);
    case IR_LOCAL:
        return str_format(e->a, is_lanes ? "s8(%lluull)" : "%lluull",
                          (unsigned long long)e->locals.at[i->aux]);
    case IR_SHARED:
        if (e->m->shared.at[i->aux].is_dynamic)
            return "(uint64_t)(uintptr_t)w->dynamic";
        return str_format(e->a, "(uint64_t)(uintptr_t)(w->shared + SHARED_%u)", i->aux);
    case IR_CONSTANT: return str_format(e->a, "(uint64_t)(uintptr_t)data_%u", i->aux);
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
        ir_ref a = ir_operand(e->f, i, 0);
        return is_lanes
                   ? cpu_lanes(e, a)
                   : bitcast_scalar(e, (ir_type)i->type,
                                    cpu_shape(e, a).held == HELD_LANES && i->type == IR_F32 ? IR_I32
                                    : cpu_shape(e, a).held == HELD_LANES && i->type == IR_F64
                                        ? IR_I64
                                        : (ir_type)i->type,
                                    cpu_scalar(e, a));
    }
    case IR_CLOCK: return is_lanes ? "s8(w->time(w, 0))" : "w->time(w, 0)";
    case IR_NANOTIME: return is_lanes ? "s8(w->time(w, 1))" : "w->time(w, 1)";
    default: return call(e, i, is_lanes);
    }
}

void cpu_emit_plain(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->f, id);
    if (i->op >= IR_LOAD && i->op <= IR_ATOMSTORE && i->op != IR_LOCAL && i->op != IR_SHARED &&
        i->op != IR_CONSTANT) {
        cpu_emit_memory(e, i);
        return;
    }
    if (emit_effect(e, id))
        return;
    if (i->op == IR_CALL)
        bug("kernel '%s' still has a call: the inline pass must run before the cpu backend",
            e->f->name);
    bool is_lanes = cpu_shape(e, i->result).held == HELD_LANES;
    cpu_put(e, "%s v%u = %s;", cpu_type(e, i->result), i->result, value_of(e, i, is_lanes));
}
