// How every value of a kernel is held: as one scalar for the warp, as a scalar with a step from
// lane to lane, or as 32 lanes; and which control instructions may part the lanes. Shapes start
// undecided and only get worse, in sweeps, until nothing changes. Start reading at cpu_find_shapes.
#include "back/cpu/cpu.h"

// --- control
static ir_inst_id owner_of(const ir_func *f, ir_inst_id id)
{
    return ir_region_at(f, ir_at(f, id)->parent)->owner;
}

static bool is_in_inner_loop(const ir_func *f, ir_inst_id id, ir_inst_id loop)
{
    for (ir_inst_id x = owner_of(f, id); x != loop; x = owner_of(f, x))
        if (ir_at(f, x)->op == IR_LOOP)
            return true;
    return false;
}

// A lane may wait in a loop for what another thread does.
static void find_spins(cpu_emitter *e, ir_inst_id id)
{
    const ir_func *f = e->t.f;
    const ir_inst *i = ir_at(f, id);
    bool waits = i->op == IR_CAS || i->op == IR_ATOMLOAD || i->op == IR_ATOMIC ||
                 (i->op == IR_LOAD && i->hint == IR_HINT_VOLATILE);
    for (ir_inst_id x = waits ? owner_of(f, id) : 0; x; x = owner_of(f, x)) {
        if (e->controls[x].spins) // and all around it
            return;
        e->controls[x].spins = ir_at(f, x)->op == IR_LOOP;
    }
}

// A `next` in an inner loop counts twice: it may run several times in a round.
static void count_transfers(cpu_emitter *e)
{
    const ir_func *f = e->t.f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        find_spins(e, id);
        if (i->op == IR_EXIT)
            e->controls[i->aux].exits++;
        else if (i->op == IR_NEXT)
            e->controls[i->aux].nexts += is_in_inner_loop(f, id, i->aux) ? 2 : 1;
    }
}

static bool is_divergent_branch(const cpu_emitter *e, const ir_inst *i)
{
    return (i->op == IR_IF || i->op == IR_SWITCH) && !ir_is_const(ir_operand(e->t.f, i, 0)) &&
           e->uniform.value[ir_operand(e->t.f, i, 0)] == UNIFORM_NOT;
}

// A control is split when a transfer out of it, or to its next round, happens within another split
// one.
static void find_splits(cpu_emitter *e)
{
    const ir_func *f = e->t.f;
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        e->controls[id].is_split =
            ir_at(f, id)->op != IR_NOP && is_divergent_branch(e, ir_at(f, id));
    for (bool changed = true; changed;) {
        changed = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++) {
            const ir_inst *i = ir_at(f, id);
            if (i->op != IR_EXIT && i->op != IR_NEXT && i->op != IR_RETURN)
                continue;
            ir_inst_id left = i->op == IR_RETURN ? 0 : i->aux;
            bool is_parted = false;
            for (ir_inst_id x = owner_of(f, id); x; x = owner_of(f, x)) {
                control *c = &e->controls[x];
                if (x != left)
                    c->leaks = true;
                if (is_parted && !c->is_split)
                    changed = c->is_split = true;
                is_parted |= c->is_split;
                if (x == left)
                    break;
            }
        }
    }
}

// --- values
static shape one(void)
{
    return (shape){.held = HELD_ONE};
}

static shape lanes(void)
{
    return (shape){.held = HELD_LANES};
}

static shape row(int64_t step, uint64_t multiple)
{
    return (shape){
        .held = HELD_ROW, .step = step, .multiple = multiple ? multiple : (uint64_t)1 << 20};
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

shape cpu_shape(const cpu_emitter *e, ir_ref r)
{
    return ir_is_const(r) ? one() : e->shapes[r];
}

// What lane 0's value is a multiple of.
static uint64_t multiple_of(const cpu_emitter *e, ir_ref r)
{
    uint64_t constant;
    if (ir_const_bits(e->t.f, r, &constant))
        return constant ? constant & (0 - constant) : (uint64_t)1 << 20;
    return e->shapes[r].held == HELD_ROW ? e->shapes[r].multiple : e->align[r];
}

// The lanes from base to base + 31 * step neither wrap nor change sign.
static bool stays_in_step(shape s)
{
    return s.step >= 0 && s.step < ((int64_t)1 << 40) && (uint64_t)s.step * 31 < s.multiple;
}

static shape sum_shape(const cpu_emitter *e, const ir_inst *i)
{
    ir_ref ra = ir_operand(e->t.f, i, 0), rb = ir_operand(e->t.f, i, 1);
    shape a = cpu_shape(e, ra), b = cpu_shape(e, rb);
    int64_t step = a.step + (i->op == IR_SUB ? -b.step : b.step);
    return row(step, least(multiple_of(e, ra), multiple_of(e, rb)));
}

static shape scaled_shape(const cpu_emitter *e, const ir_inst *i)
{
    ir_ref ra = ir_operand(e->t.f, i, 0), rb = ir_operand(e->t.f, i, 1);
    uint64_t by;
    if (i->op == IR_MUL && ir_is_const(ra)) {
        ir_ref t = ra;
        ra = rb;
        rb = t;
    }
    shape a = cpu_shape(e, ra);
    if (!ir_const_bits(e->t.f, rb, &by) || a.held != HELD_ROW)
        return lanes();
    if (i->op == IR_SHL)
        by = by < 32 ? (uint64_t)1 << by : 0;
    int64_t factor = i->type == IR_I32 ? (int32_t)by : (int64_t)by;
    if (factor <= 0 || factor > 1 << 24 || a.step > 1 << 24 || a.step < -(1 << 24))
        return lanes();
    uint64_t multiple = a.multiple * ((uint64_t)factor & (0 - (uint64_t)factor));
    return row(a.step * factor, least(multiple, (uint64_t)1 << 40));
}

static shape masked_shape(const cpu_emitter *e, const ir_inst *i)
{
    uint64_t mask;
    shape a = cpu_shape(e, ir_operand(e->t.f, i, 0));
    bool is_low =
        ir_const_bits(e->t.f, ir_operand(e->t.f, i, 1), &mask) && (mask & (mask + 1)) == 0;
    if (a.held != HELD_ROW || !is_low || !stays_in_step(a) || mask < 31 * (uint64_t)a.step)
        return lanes();
    return a;
}

static shape thread_shape(const cpu_emitter *e, const ir_inst *i)
{
    return i->imm == 0 && e->has_rows ? row(1, 32) : lanes();
}

// Of an operation whose operands have shapes; at least one is not HELD_ONE, or it is no pure
// function of them.
static shape linear_shape(const cpu_emitter *e, const ir_inst *i)
{
    const ir_func *f = e->t.f;
    bool is_ready = true, is_linear = true;
    for (uint32_t k = 0; k < i->operand_count; k++) {
        shape s = cpu_shape(e, ir_operand(f, i, k));
        is_ready &= s.held != HELD_NOT_YET;
        is_linear &= s.held == HELD_ONE || s.held == HELD_ROW;
    }
    if (!is_ready)
        return (shape){0};
    switch (i->op) {
    case IR_LANE: return row(1, 0);
    case IR_THREAD: return thread_shape(e, i);
    default: break;
    }
    if (!is_linear || !i->operand_count)
        return lanes();
    shape a = cpu_shape(e, ir_operand(f, i, 0));
    switch (i->op) {
    case IR_ADD:
    case IR_SUB:
    case IR_PTRADD: return sum_shape(e, i);
    case IR_MUL:
    case IR_SHL: return scaled_shape(e, i);
    case IR_AND: return i->type == IR_I1 ? lanes() : masked_shape(e, i);
    case IR_ZEXT:
    case IR_SEXT: return i->aux == IR_I32 && i->type == IR_I64 && stays_in_step(a) ? a : lanes();
    case IR_TRUNC: return i->type == IR_I32 ? a : lanes();
    case IR_PTRTOINT:
    case IR_INTTOPTR: return a;
    case IR_UNIFORM: return a;
    default: return lanes();
    }
}

// 32 bits hold no multiple beyond 2^31 but 0: a statement about one would be wrong once it is
// widened.
static shape plain_shape(const cpu_emitter *e, const ir_inst *i)
{
    shape s = linear_shape(e, i);
    if (i->type == IR_I32)
        s.multiple = least(s.multiple, (uint64_t)1 << 31);
    return s;
}

static void set(cpu_emitter *e, ir_ref r, shape s, bool *changed)
{
    shape *old = &e->shapes[r];
    if (e->uniform.value[r] >= UNIFORM_WARP || s.held == HELD_NOT_YET)
        return;
    ir_type t = ir_type_of(e->t.f, r);
    if (s.held == HELD_ONE || (t != IR_I32 && t != IR_I64 && !ir_is_ptr(t)) || t == IR_PTR_LOCAL)
        s = lanes();
    if (old->held == HELD_LANES)
        return;
    if (old->held == HELD_ROW && s.held == HELD_ROW && old->step == s.step) {
        if (s.multiple < old->multiple) {
            old->multiple = s.multiple;
            *changed = true;
        }
        return;
    }
    if (old->held == HELD_ROW)
        s = lanes();
    *old = s;
    *changed = true;
}

static void visit(cpu_emitter *e, ir_inst_id id, bool *changed)
{
    const ir_func *f = e->t.f;
    const ir_inst *i = ir_at(f, id);
    if (i->op == IR_EXIT || i->op == IR_NEXT) {
        const ir_inst *x = ir_at(f, i->aux);
        const control *c = &e->controls[i->aux];
        bool may_be_row = !c->is_split || (i->op == IR_NEXT && c->nexts == 1);
        ir_ref into = i->op == IR_EXIT ? x->result : ir_region_at(f, x->regions)->args;
        for (uint32_t k = 0; k < i->operand_count; k++) {
            shape s = cpu_shape(e, ir_operand(f, i, k));
            set(e, into + k, s.held == HELD_NOT_YET || may_be_row ? s : lanes(), changed);
        }
        return;
    }
    if (i->op == IR_LOOP) {
        ir_ref args = ir_region_at(f, i->regions)->args;
        for (uint32_t k = 0; k < i->operand_count; k++)
            set(e, args + k, cpu_shape(e, ir_operand(f, i, k)), changed);
    }
    if (ir_is_control(i->op) || ir_is_terminator(i->op) || !i->result_count)
        return;
    shape s = plain_shape(e, i);
    for (uint32_t k = 0; k < i->result_count; k++)
        set(e, i->result + k, s, changed);
}

bool cpu_is_guard(const cpu_emitter *e, const ir_inst *i)
{
    if (i->op != IR_ULT && i->op != IR_SLT)
        return false;
    shape index = cpu_shape(e, ir_operand(e->t.f, i, 0));
    return index.held == HELD_ROW && index.step == 1 && stays_in_step(index) &&
           cpu_shape(e, ir_operand(e->t.f, i, 1)).held == HELD_ONE;
}

void cpu_find_shapes(cpu_emitter *e)
{
    const ir_func *f = e->t.f;
    e->uniform = uniform_compute(f, e->t.a);
    e->align = align_compute(f, e->t.a);
    e->ranges = range_compute(f, e->t.a);
    e->shapes = arena_array(e->t.a, shape, f->values.len + 1);
    e->controls = arena_array(e->t.a, control, f->insts.len + 1);
    uint64_t threads = (uint64_t)f->block[0] * f->block[1] * f->block[2];
    e->has_rows = uniform_has_whole_rows(f);
    e->has_whole_warps = threads && threads % 32 == 0;
    for (ir_ref r = 1; r < f->values.len; r++)
        if (e->uniform.value[r] >= UNIFORM_WARP)
            e->shapes[r] = one();
    count_transfers(e);
    find_splits(e);
    for (bool changed = true; changed;) {
        changed = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++)
            if (ir_at(f, id)->op != IR_NOP)
                visit(e, id, &changed);
    }
    for (ir_ref r = 1; r < f->values.len; r++)
        if (e->shapes[r].held == HELD_NOT_YET)
            e->shapes[r] = lanes();
}
