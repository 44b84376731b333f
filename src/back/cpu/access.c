// Loads, stores and atomics as C: one scalar access when all lanes mean the same address, one
// vector when they stand side by side, a loop from one address when they are a constant step apart,
// else lane by lane. Start reading at cpu_emit_memory.
#include "back/cpu/cpu.h"

typedef enum space { SPACE_PLAIN, SPACE_LOCAL, SPACE_TAGGED } space;

typedef struct place { // where an access goes
    space in;
    shape s;
    ir_ref pointer;
    int64_t offset;
    uint32_t size;
} place;

static place place_of(cpu_emitter *e, const ir_inst *i, uint32_t index)
{
    place p = {.pointer = ir_operand(e->t.f, i, 0), .size = ir_type_size((ir_type)i->type)};
    ir_type t = ir_type_of(e->t.f, p.pointer);
    p.in = t == IR_PTR_LOCAL                  ? SPACE_LOCAL
           : t == IR_PTR_GEN && e->has_tagged ? SPACE_TAGGED
                                              : SPACE_PLAIN;
    p.s = cpu_shape(e, p.pointer);
    p.offset = i->imm + (int64_t)index * p.size;
    return p;
}

static const char *address(cpu_emitter *e, const place *p)
{
    const char *base = cpu_scalar(e, p->pointer);
    return p->offset ? str_format(e->t.a, "%s + (uint64_t)%lldll", base, (long long)p->offset)
                     : base;
}

static const char *addresses(cpu_emitter *e, const place *p)
{
    const char *base = cpu_lanes(e, p->pointer);
    return p->offset
               ? str_format(e->t.a, "add_i8(%s, s8((uint64_t)%lldll))", base, (long long)p->offset)
               : base;
}

static const ir_inst *def_inst(const cpu_emitter *e, ir_ref r)
{
    ir_inst_id id = ir_def_of(e->t.f, r);
    return id ? ir_at(e->t.f, id) : NULL;
}

typedef struct indexed { // base + index * scale, with a 32-bit index a lane
    const char *base;
    ir_ref index;
    unsigned scale;
} indexed;

// The index behind a byte offset, when it may be taken as a signed number.
static bool find_index(const cpu_emitter *e, ir_ref offset, indexed *out)
{
    const ir_inst *i = def_inst(e, offset);
    uint64_t by = 0;
    out->scale = 1;
    if (i && i->op == IR_SHL && ir_const_bits(e->t.f, ir_operand(e->t.f, i, 1), &by) && by <= 3) {
        out->scale = 1u << by;
        i = def_inst(e, ir_operand(e->t.f, i, 0));
    }
    if (!i || (i->op != IR_ZEXT && i->op != IR_SEXT) || i->aux != IR_I32)
        return false;
    out->index = ir_operand(e->t.f, i, 0);
    return i->op == IR_SEXT || range_of(e->t.f, e->ranges, out->index).lo >= 0;
}

static bool find_indexed(cpu_emitter *e, const place *p, indexed *out)
{
    const char *more = str_format(e->t.a, "(uint64_t)%lldll", (long long)p->offset);
    ir_ref at = p->pointer;
    for (int fuel = 4; fuel && p->size == 4 && p->in == SPACE_PLAIN; fuel--) {
        const ir_inst *i = def_inst(e, at);
        if (!i || i->op != IR_PTRADD)
            return false;
        ir_ref base = ir_operand(e->t.f, i, 0), offset = ir_operand(e->t.f, i, 1);
        if (cpu_shape(e, base).held == HELD_ONE) {
            out->base = str_format(e->t.a, "%s + %s", cpu_scalar(e, base), more);
            return find_index(e, offset, out);
        }
        if (cpu_shape(e, offset).held != HELD_ONE)
            return false;
        more = str_format(e->t.a, "%s + %s", cpu_scalar(e, offset), more);
        at = base;
    }
    return false;
}

// Ends a call: `, mask)` of a masked form, or `)`.
static const char *masked(cpu_emitter *e)
{
    return e->mask ? str_format(e->t.a, ", %s)", e->mask) : ")";
}

// --- loads
static const char *scalar_cell(cpu_emitter *e, const place *p)
{
    const char *at = address(e, p), *first = str_format(e->t.a, "first(%s)", cpu_mask(e));
    if (p->in == SPACE_LOCAL && p->size == 8)
        return str_format(e->t.a, "lld8(local, %s, %s)", at, first);
    if (p->in == SPACE_LOCAL)
        return str_format(e->t.a, "ld%u(loc(local, %s, %s))", p->size, at, first);
    if (p->in == SPACE_TAGGED)
        return str_format(e->t.a, "lane%u(ggat%um(local, s8(%s), %s), %s)", p->size == 8 ? 8 : 4,
                          p->size, at, cpu_mask(e), first);
    return str_format(e->t.a, "ld%u(%s)", p->size, at);
}

static const char *lane_cells(cpu_emitter *e, const place *p)
{
    const char *m = e->mask ? "m" : "";
    if (p->in == SPACE_LOCAL && p->s.held == HELD_ONE && p->size >= 4)
        return str_format(e->t.a, "lrow%u(local, %s)", p->size, address(e, p));
    if (p->in != SPACE_PLAIN)
        return str_format(e->t.a, "%sgat%um(local, %s, %s)", p->in == SPACE_LOCAL ? "l" : "g",
                          p->size, addresses(e, p), cpu_mask(e));
    if (p->s.held == HELD_ONE)
        return str_format(e->t.a, "s%u(ld%u(%s))", p->size == 8 ? 8 : 4, p->size, address(e, p));
    if (p->s.held == HELD_ROW && p->s.step == (int64_t)p->size)
        return str_format(e->t.a, "row%u%s(%s%s", p->size, m, address(e, p), masked(e));
    if (p->s.held == HELD_ROW)
        return str_format(e->t.a, "str%u%s(%s, (uint64_t)%lldll%s", p->size, m, address(e, p),
                          (long long)p->s.step, masked(e));
    indexed x;
    if (find_indexed(e, p, &x))
        return str_format(e->t.a, "gi4_%u(%s, %s, %s)", x.scale, x.base, cpu_lanes(e, x.index),
                          cpu_mask(e));
    if (p->size == 4)
        return str_format(e->t.a, "any4m(%s, %s)", addresses(e, p), cpu_mask(e));
    return str_format(e->t.a, "gat%u%s(%s%s", p->size, m, addresses(e, p), masked(e));
}

// Four words a lane, at addresses of which nothing is known.
static bool is_any_four(cpu_emitter *e, const place *p, uint32_t count)
{
    indexed x;
    return count == 4 && p->size == 4 && p->in == SPACE_PLAIN && p->s.held != HELD_ONE &&
           p->s.held != HELD_ROW && !find_indexed(e, p, &x);
}

// Two or four words a lane and nothing between the lanes.
static bool is_dealt(const place *p, uint32_t count)
{
    return (count == 2 || count == 4) && p->size == 4 && p->in == SPACE_PLAIN &&
           p->s.held == HELD_ROW && p->s.step == 4 * (int64_t)count;
}

static void emit_load(cpu_emitter *e, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    place whole = place_of(e, i, 0);
    bool is_any = is_any_four(e, &whole, i->result_count);
    if (is_any || is_dealt(&whole, i->result_count)) {
        ir_ref r = i->result;
        const char *more = "";
        if (i->result_count == 4)
            more = str_format(e->t.a, ", &v%u, &v%u", r + 2, r + 3);
        for (uint32_t k = 0; k < i->result_count; k++)
            ctext_put(&e->t, "V4 v%u;", r + k);
        ctext_put(&e->t, "%sdeal%u(%s, %s, &v%u, &v%u%s);", is_any ? "any_" : "",
                  (unsigned)i->result_count, is_any ? addresses(e, &whole) : address(e, &whole),
                  cpu_mask(e), r, r + 1, more);
        return;
    }
    bool is_volatile = i->hint == IR_HINT_VOLATILE;
    if (is_volatile)
        ctext_put(&e->t, "__asm__ volatile(\"\" ::: \"memory\");");
    for (uint32_t k = 0; k < i->result_count; k++) {
        ir_ref r = i->result + k;
        place p = place_of(e, i, k);
        const char *value;
        if (cpu_shape(e, r).held == HELD_ONE) {
            const char *cell = scalar_cell(e, &p);
            value = t == IR_F32 || t == IR_F64
                        ? str_format(e->t.a, "%s_bits(%s)", ir_type_name(t), cell)
                    : t == IR_I1 ? str_format(e->t.a, "%s != 0", cell)
                                 : cell;
        } else {
            value = lane_cells(e, &p);
            if (t == IR_I1)
                value = str_format(e->t.a, "m_byte(%s)", value);
        }
        ctext_put(&e->t, "%s v%u = %s;", cpu_type(e, r), r, value);
    }
    if (is_volatile)
        ctext_put(&e->t, "__asm__ volatile(\"\" ::: \"memory\");");
}

// --- stores
static const char *value_lanes(cpu_emitter *e, ir_ref r)
{
    const char *x = cpu_lanes(e, r);
    return ir_type_of(e->t.f, r) == IR_I1 ? str_format(e->t.a, "byte_m(%s)", x) : x;
}

static void store_one(cpu_emitter *e, const place *p, ir_ref value, bool streams)
{
    indexed x;
    const char *m = e->mask ? "m" : "";
    if (p->in == SPACE_LOCAL && p->s.held == HELD_ONE && p->size >= 4) {
        ctext_put(&e->t, "lrst%um(local, %s, %s, %s);", p->size, address(e, p),
                  value_lanes(e, value), cpu_mask(e));
    } else if (p->in != SPACE_PLAIN) {
        ctext_put(&e->t, "%ssca%um(local, %s, %s, %s);", p->in == SPACE_LOCAL ? "l" : "g", p->size,
                  addresses(e, p), value_lanes(e, value), cpu_mask(e));
    } else if (p->s.held == HELD_ONE) {
        if (cpu_shape(e, value).held == HELD_ONE)
            ctext_put(&e->t, "st%u(%s, %s);", p->size, address(e, p), ctext_bits(&e->t, value));
        else
            ctext_put(&e->t, "st%u(%s, lane%u(%s, last(%s)));", p->size, address(e, p),
                      p->size == 8 ? 8 : 4, value_lanes(e, value), cpu_mask(e));
    } else if (p->s.held == HELD_ROW && p->s.step == (int64_t)p->size) {
        if (streams && p->size >= 4)
            ctext_put(&e->t, "nst%u(%s, %s, %s, streams);", p->size, address(e, p),
                      value_lanes(e, value), cpu_mask(e));
        else
            ctext_put(&e->t, "rst%u%s(%s, %s%s;", p->size, m, address(e, p), value_lanes(e, value),
                      masked(e));
    } else if (p->s.held == HELD_ROW) {
        ctext_put(&e->t, "sst%u%s(%s, (uint64_t)%lldll, %s%s;", p->size, m, address(e, p),
                  (long long)p->s.step, value_lanes(e, value), masked(e));
    } else if (find_indexed(e, p, &x)) {
        ctext_put(&e->t, "si4_%u(%s, %s, %s, %s);", x.scale, x.base, cpu_lanes(e, x.index),
                  value_lanes(e, value), cpu_mask(e));
    } else {
        ctext_put(&e->t, "sca%u%s(%s, %s%s;", p->size, m, addresses(e, p), value_lanes(e, value),
                  masked(e));
    }
}

static void emit_store(cpu_emitter *e, const ir_inst *i)
{
    place whole = place_of(e, i, 0);
    uint32_t count = i->operand_count - 1;
    bool is_any = is_any_four(e, &whole, count);
    if (is_any || is_dealt(&whole, count)) {
        const char *values = "";
        for (uint32_t k = 1; k <= count; k++)
            values = str_format(e->t.a, "%s, %s", values, value_lanes(e, ir_operand(e->t.f, i, k)));
        ctext_put(&e->t, "%sweave%u(%s, %s%s);", is_any ? "any_" : "", (unsigned)count,
                  is_any ? addresses(e, &whole) : address(e, &whole), cpu_mask(e), values);
        return;
    }
    for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
        place p = place_of(e, i, k);
        store_one(e, &p, ir_operand(e->t.f, i, k + 1), cpu_may_stream(e, i));
    }
    if (i->hint == IR_HINT_VOLATILE)
        ctext_put(&e->t, "__asm__ volatile(\"\" ::: \"memory\");");
}

// --- atomics
static const char *cell_address(cpu_emitter *e, const place *p)
{
    if (p->in == SPACE_PLAIN)
        return "p.u[l]";
    if (p->size == 8)
        e->is_unsupported = true; // its two words do not lie side by side
    return p->in == SPACE_LOCAL ? "loc(local, p.u[l], l)"
                                : "(p.u[l] >> 63 ? loc(local, p.u[l] << 1 >> 1, l) : p.u[l])";
}

// Lane by lane: a loop over the active ones around one scalar operation.
static void emit_atomic(cpu_emitter *e, const ir_inst *i)
{
    place p = place_of(e, i, 0);
    uint32_t class = p.size == 8 ? 8 : 4;
    // The warps of a block run on one host thread: no other thread sees its shared memory.
    bool is_plain = ir_type_of(e->t.f, p.pointer) == IR_PTR_SHARED || p.in == SPACE_LOCAL;
    const char *at = cell_address(e, &p);
    if (i->result_count)
        ctext_put(&e->t, "V%u v%u;", class, i->result);
    ctext_put(&e->t, "{ A8 p = {%s}; A%u r = {0};", addresses(e, &p), class);
    for (uint32_t k = 1; k < i->operand_count; k++)
        ctext_put(&e->t, "  A%u x%u = {%s};", class, k, value_lanes(e, ir_operand(e->t.f, i, k)));
    const char *call;
    if (i->op == IR_ATOMLOAD)
        call = str_format(e->t.a, "r.u[l] = at_load%u(%s)", p.size, at);
    else if (i->op == IR_ATOMSTORE)
        call = str_format(e->t.a, "at_store%u(%s, x1.u[l])", p.size, at);
    else if (i->op == IR_CAS)
        call =
            str_format(e->t.a, "r.u[l] = at_cas%u(%s, x1.u[l], x2.u[l], %d)", p.size, at, is_plain);
    else
        call = str_format(e->t.a, "r.u[l] = at_%s%u(%s, x1.u[l], %d)", ctext_atomics[i->aux],
                          p.size, at, is_plain);
    ctext_put(&e->t, "  FOR_BITS(%s) %s;", cpu_bits(e), call);
    if (i->result_count)
        ctext_put(&e->t, "  v%u = r.v; }", i->result);
    else
        ctext_put(&e->t, "  (void)r; }");
}

// Lines on their way into the second cache: the first one is small, and full of what is in use.
// Lanes of which nothing is known would take as long as the loads that come later.
static void emit_prefetch(cpu_emitter *e, const ir_inst *i)
{
    enum { LINE = 64 };
    place p = {.pointer = ir_operand(e->t.f, i, 0), .offset = i->imm};
    ir_type t = ir_type_of(e->t.f, p.pointer);
    p.s = cpu_shape(e, p.pointer);
    if (t != IR_PTR_GLOBAL || (p.s.held != HELD_ONE && p.s.held != HELD_ROW))
        return;
    int64_t step = p.s.held == HELD_ROW ? p.s.step : 0;
    int64_t last = 31 * step, apart = step > LINE || step < -LINE ? step : step < 0 ? -LINE : LINE;
    for (int64_t at = 0; apart > 0 ? at <= last : at >= last; at += apart)
        ctext_put(&e->t, "ask(%s + (uint64_t)%lldll);", address(e, &p), (long long)at);
}

void cpu_emit_memory(cpu_emitter *e, const ir_inst *i)
{
    if (i->op == IR_LOAD)
        emit_load(e, i);
    else if (i->op == IR_STORE)
        emit_store(e, i);
    else if (i->op == IR_PREFETCH)
        emit_prefetch(e, i);
    else
        emit_atomic(e, i);
}
