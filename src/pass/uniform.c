// Uniformity: which values are equal in all threads of a warp or a block, and which instructions
// are reached by all of them. Everything starts as uniform and is lowered by sweeps over the
// function, until none lowers something that was asked about before: a loop's arguments, how its
// rounds end, what a local array holds, whether different values meet.
//
// A value's level speaks of the threads that are there. Flow is kept as the nesting depth of the
// innermost cause that splits the threads (0: none), once for the warp and once for the block: a
// join only suffers from causes inside what it joins. Depths are doubled: 2d is control
// instruction d itself (its condition, or its rounds), 2d+1 an early exit within its region.
// Start reading at uniform_compute.
#include "pass/loop.h"
#include "pass/pass.h"

typedef struct split { // why the threads of a warp (or block) are not together; depth 0: they are
    uint32_t depth;
    ir_inst_id control, via;
} split;

typedef struct flow {
    split warp, block;
} flow;

typedef struct escape { // early exits: bit d is set when the rest of region depth d is skipped
    uint64_t warp, block;
    ir_inst_id warp_via, block_via, warp_control, block_control;
} escape;

typedef struct sweep {
    const ir_func *f;
    uniform_facts facts;
    uint8_t *locals;      // per local array: level of its contents
    uint8_t *differs;     // per value: results and loop arguments that join different values
    ir_ref *joined;       // per value: the value joined first
    flow *rounds;         // per instruction (loops): how threads leave
    uint32_t *depth;      // per instruction (control)
    bool needs_again;     // something changed that was asked about earlier in this sweep
    bool ignores_returns; // flow among the threads that have not returned
    bool is_one_warp;
    bool has_whole_rows; // thread_x() counts along the lanes of every warp
} sweep;

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static uint8_t level_of(const sweep *s, ir_ref r)
{
    return r && !ir_is_const(r) ? s->facts.value[r] : UNIFORM_BLOCK;
}

// Answers whether that is news.
static bool lower(sweep *s, ir_ref r, uint8_t level, ir_inst_id because)
{
    if (level == UNIFORM_WARP && s->is_one_warp)
        level = UNIFORM_BLOCK;
    if (level >= s->facts.value[r])
        return false;
    s->facts.value[r] = level;
    s->facts.because[r] = because;
    return true;
}

static ir_inst_id blame(const sweep *s, ir_ref r)
{
    return r && !ir_is_const(r) ? s->facts.because[r] : 0;
}

// --- values that count up along the lanes

static const ir_inst *def_inst(const ir_func *f, ir_ref r)
{
    ir_inst_id i = ir_def_of(f, r);
    return i ? ir_at(f, i) : NULL;
}

static bool is_const_multiple(const ir_func *f, ir_ref r, uint64_t of, uint64_t rest)
{
    uint64_t bits;
    return ir_const_bits(f, r, &bits) && bits % of == rest;
}

// Known to be a multiple of 32, whatever it is.
static bool is_warp_multiple(const ir_func *f, ir_ref r, int fuel)
{
    if (is_const_multiple(f, r, 32, 0))
        return true;
    const ir_inst *i = def_inst(f, r);
    if (!i || fuel == 0)
        return false;
    if (i->op == IR_BLOCKDIM)
        return f->block[i->imm] && f->block[i->imm] % 32 == 0;
    if (i->op == IR_ADD || i->op == IR_SUB)
        return is_warp_multiple(f, ir_operand(f, i, 0), fuel - 1) &&
               is_warp_multiple(f, ir_operand(f, i, 1), fuel - 1);
    if (i->op == IR_MUL)
        return is_warp_multiple(f, ir_operand(f, i, 0), fuel - 1) ||
               is_warp_multiple(f, ir_operand(f, i, 1), fuel - 1);
    uint64_t count;
    if (i->op == IR_SHL && ir_const_bits(f, ir_operand(f, i, 1), &count))
        return count >= 5 && count < 32;
    return false;
}

static bool is_rank_of_plane(const ir_func *f, ir_ref a, ir_ref b)
{
    const ir_inst *x = def_inst(f, a), *m = def_inst(f, b);
    if (!x || !m || x->op != IR_THREAD || x->imm != 0 || m->op != IR_MUL || f->block[2] != 1)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        const ir_inst *y = def_inst(f, ir_operand(f, m, k));
        uint64_t bits;
        if (y && y->op == IR_THREAD && y->imm == 1 &&
            ir_const_bits(f, ir_operand(f, m, 1 - k), &bits) && bits == f->block[0])
            return true;
    }
    return false;
}

static bool is_axis(const ir_func *f, ir_ref r, ir_op op, int64_t n)
{
    const ir_inst *i = def_inst(f, r);
    return i && i->op == op && i->imm == n;
}

// thread.n * stride, where the stride is blockdim.x, or blockdim.x * blockdim.y for n = 2.
static bool is_row_start(const ir_func *f, ir_ref r, int64_t n)
{
    const ir_inst *i = def_inst(f, r);
    if (!i || i->op != IR_MUL)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref stride = ir_operand(f, i, 1 - k);
        const ir_inst *m = def_inst(f, stride);
        if (!is_axis(f, ir_operand(f, i, k), IR_THREAD, n))
            continue;
        if (n == 1 && is_axis(f, stride, IR_BLOCKDIM, 0))
            return true;
        if (n == 2 && m && m->op == IR_MUL &&
            ((is_axis(f, ir_operand(f, m, 0), IR_BLOCKDIM, 0) &&
              is_axis(f, ir_operand(f, m, 1), IR_BLOCKDIM, 1)) ||
             (is_axis(f, ir_operand(f, m, 0), IR_BLOCKDIM, 1) &&
              is_axis(f, ir_operand(f, m, 1), IR_BLOCKDIM, 0))))
            return true;
    }
    return false;
}

// thread_rank() of a kernel that does not say its block: (x + y * dx) + z * (dx * dy).
static bool is_rank_of_block(const ir_func *f, ir_ref a, ir_ref b)
{
    const ir_inst *plane = def_inst(f, a);
    if (!plane || plane->op != IR_ADD || !is_row_start(f, b, 2))
        return false;
    for (uint32_t k = 0; k < 2; k++)
        if (is_axis(f, ir_operand(f, plane, k), IR_THREAD, 0) &&
            is_row_start(f, ir_operand(f, plane, 1 - k), 1))
            return true;
    return false;
}

// r = W + lane with W a warp-uniform multiple of 32 (so it wraps for all lanes or none).
static bool is_lane_linear(const sweep *s, ir_ref r, int fuel)
{
    const ir_func *f = s->f;
    const ir_inst *i = def_inst(f, r);
    if (!i || fuel == 0)
        return false;
    if (i->op == IR_LANE)
        return true;
    if (i->op == IR_THREAD)
        return i->imm == 0 && s->has_whole_rows;
    if (i->op == IR_ZEXT || i->op == IR_SEXT)
        return i->aux == IR_I32 && is_lane_linear(s, ir_operand(f, i, 0), fuel - 1);
    if (i->op != IR_ADD)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref a = ir_operand(f, i, k), b = ir_operand(f, i, 1 - k);
        if (level_of(s, b) >= UNIFORM_WARP && is_warp_multiple(f, b, 4) &&
            is_lane_linear(s, a, fuel - 1))
            return true;
        if (is_rank_of_plane(f, a, b) || is_rank_of_block(f, a, b))
            return true;
    }
    return false;
}

// Operations on W + lane that give the same in all lanes.
static bool drops_lane(const sweep *s, const ir_inst *i)
{
    const ir_func *f = s->f;
    ir_ref a = i->operand_count > 0 ? ir_operand(f, i, 0) : 0;
    ir_ref b = i->operand_count > 1 ? ir_operand(f, i, 1) : 0;
    uint64_t bits;
    switch (i->op) {
    case IR_SDIV:
        if (!def_inst(f, a) || def_inst(f, a)->op != IR_THREAD)
            return false; // negative numbers round the other way
        return is_const_multiple(f, b, 32, 0) && is_lane_linear(s, a, 4);
    case IR_UDIV: return is_const_multiple(f, b, 32, 0) && is_lane_linear(s, a, 4);
    case IR_LSHR:
    case IR_ASHR:
        return ir_const_bits(f, b, &bits) && bits >= 5 && bits < 32 && is_lane_linear(s, a, 4);
    case IR_AND: return ir_const_bits(f, b, &bits) && bits % 32 == 0 && is_lane_linear(s, a, 4);
    case IR_ULT:
    case IR_SLT:
        return (is_warp_multiple(f, b, 4) && level_of(s, b) >= UNIFORM_WARP &&
                is_lane_linear(s, a, 4)) ||
               (is_const_multiple(f, a, 32, 31) && is_lane_linear(s, b, 4));
    case IR_ULE:
    case IR_SLE:
        return (is_const_multiple(f, b, 32, 31) && is_lane_linear(s, a, 4)) ||
               (is_warp_multiple(f, a, 4) && level_of(s, a) >= UNIFORM_WARP &&
                is_lane_linear(s, b, 4));
    default: return false;
    }
}

// --- memory

// The local array that `pointer` points into: its index + 1; 0 when it is not local memory;
// UINT32_MAX when it may be any of them.
static uint32_t local_of(const ir_func *f, ir_ref pointer)
{
    for (;;) {
        ir_type t = ir_type_of(f, pointer);
        const ir_inst *i = def_inst(f, pointer);
        if (i && i->op == IR_LOCAL)
            return i->aux + 1;
        if (t != IR_PTR_GEN && t != IR_PTR_LOCAL)
            return 0;
        if (!i || (i->op != IR_PTRADD && i->op != IR_PTRCAST && i->op != IR_UNIFORM))
            return f->locals.len ? UINT32_MAX : 0;
        pointer = ir_operand(f, i, 0);
    }
}

static void lower_local(sweep *s, uint32_t local, uint8_t level)
{
    for (uint32_t k = 0; k < s->f->locals.len; k++)
        if ((local == UINT32_MAX || local == k + 1) && level < s->locals[k]) {
            s->locals[k] = level;
            s->needs_again = true;
        }
}

static uint8_t loaded_level(const sweep *s, const ir_inst *i)
{
    ir_ref pointer = ir_operand(s->f, i, 0);
    uint8_t level = level_of(s, pointer);
    uint32_t local = local_of(s->f, pointer);
    for (uint32_t k = 0; k < s->f->locals.len; k++)
        if (local == UINT32_MAX || local == k + 1)
            level = least(level, s->locals[k]);
    return level;
}

// --- instructions

static uint8_t thread_level(const ir_func *f, int64_t axis)
{
    if (!f->block[0])
        return UNIFORM_NOT;
    if (f->block[axis] == 1)
        return UNIFORM_BLOCK;
    if (axis == 0)
        return UNIFORM_NOT;
    uint64_t below = f->block[0] * (axis == 2 ? (uint64_t)f->block[1] : 1);
    return below % 32 == 0 ? UNIFORM_WARP : UNIFORM_NOT;
}

// The lane that is read must be there: each thread gets its own value from one that is not.
static uint8_t shuffle_level(const sweep *s, const ir_inst *i, flow at)
{
    const ir_func *f = s->f;
    uint8_t value = level_of(s, ir_operand(f, i, 0));
    uint64_t width, threads = (uint64_t)f->block[0] * f->block[1] * f->block[2];
    bool is_there = !at.warp.depth && ((threads && threads % 32 == 0) ||
                                       is_const_multiple(f, ir_operand(f, i, 1), 32, 0));
    bool is_broadcast = i->aux == IR_SH_IDX && level_of(s, ir_operand(f, i, 1)) >= UNIFORM_WARP &&
                        ir_const_bits(f, ir_operand(f, i, 2), &width) && width == 32;
    return is_broadcast && is_there && value < UNIFORM_WARP ? UNIFORM_WARP : value;
}

static uint8_t flow_level(flow at)
{
    return at.warp.depth ? UNIFORM_NOT : at.block.depth ? UNIFORM_WARP : UNIFORM_BLOCK;
}

// The level of what is joined at depth `floor` or outside of it, seen from `at`.
static uint8_t join_level(flow at, uint32_t floor)
{
    return at.warp.depth >= floor    ? UNIFORM_NOT
           : at.block.depth >= floor ? UNIFORM_WARP
                                     : UNIFORM_BLOCK;
}

static bool geometry_level(const ir_func *f, const ir_inst *i, uint8_t *level)
{
    switch ((ir_geometry_op)i->op) {
    case IR_THREAD: *level = thread_level(f, i->imm); return true;
    case IR_LANE: *level = UNIFORM_NOT; return true;
    case IR_WARP: *level = UNIFORM_WARP; return true;
    case IR_BLOCK:
    case IR_BLOCKDIM:
    case IR_GRIDDIM:
    case IR_DYNSHARED: break;
    }
    return false;
}

static bool group_level(const sweep *s, const ir_inst *i, flow at, uint8_t *level)
{
    switch ((ir_group_op)i->op) {
    case IR_BALLOT:
    case IR_ACTIVE: *level = UNIFORM_WARP; return true;
    case IR_MATCH: *level = UNIFORM_NOT; return true;
    case IR_SHUFFLE: *level = shuffle_level(s, i, at); return true;
    case IR_BARRIER:
    case IR_WARPSYNC:
    case IR_UNIFORM: break;
    }
    return false;
}

static bool memory_level(const sweep *s, const ir_inst *i, uint8_t *level)
{
    switch ((ir_memory_op)i->op) {
    case IR_LOAD: *level = loaded_level(s, i); return true;
    case IR_ATOMIC:
    case IR_CAS:
    case IR_ATOMLOAD: *level = UNIFORM_NOT; return true;
    case IR_PTRADD:
    case IR_STORE:
    case IR_LOCAL:
    case IR_SHARED:
    case IR_CONSTANT:
    case IR_ATOMSTORE:
    case IR_FENCE:
    case IR_PREFETCH: break;
    }
    return false;
}

// What the operation itself says about its results, whatever its operands are. False: they are as
// uniform as the operands.
static bool own_level(const sweep *s, const ir_inst *i, flow at, uint8_t *level)
{
    switch (ir_op_family(i->op)) {
    case IR_FAM_GEOMETRY: return geometry_level(s->f, i, level);
    case IR_FAM_GROUP: return group_level(s, i, at, level);
    case IR_FAM_MEMORY: return memory_level(s, i, level);
    case IR_FAM_NVIDIA: *level = UNIFORM_NOT; return i->op == IR_NV;
    case IR_FAM_WORLD:
        *level = UNIFORM_NOT;
        return i->op == IR_HOST || i->op == IR_CLOCK || i->op == IR_NANOTIME;
    case IR_FAM_CALL: *level = UNIFORM_NOT; return true;
    case IR_FAM_INT:
    case IR_FAM_FLOAT:
    case IR_FAM_FAST:
    case IR_FAM_COMPARE:
    case IR_FAM_SELECT:
    case IR_FAM_CONVERT:
    case IR_FAM_PACKED:
    case IR_FAM_CONTROL:
    case IR_FAM_END:
    case IR_FAM_NONE:
    case IR_FAM_COUNT: break;
    }
    return false;
}

static void visit_plain(sweep *s, ir_inst_id id, flow at)
{
    const ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    uint8_t level;
    ir_inst_id because = id;
    bool is_root = true;
    if (i->result_count == 1 && s->facts.value[i->result] == UNIFORM_NOT &&
        ir_op_effect(i->op) <= IR_FX_READ)
        return; // as low as it gets
    if (!own_level(s, i, at, &level)) {
        is_root = false;
        level = UNIFORM_BLOCK;
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref r = ir_operand(f, i, k);
            if (level_of(s, r) < level) {
                level = level_of(s, r);
                because = blame(s, r);
            }
        }
        if (i->op == IR_UNIFORM && level < (i->aux == 2 ? UNIFORM_BLOCK : UNIFORM_WARP))
            level = i->aux == 2 ? UNIFORM_BLOCK : UNIFORM_WARP;
        else if (level == UNIFORM_NOT && drops_lane(s, i))
            level = UNIFORM_WARP;
    }
    if (is_root && level == UNIFORM_BLOCK)
        because = 0;
    for (uint32_t k = 0; k < i->result_count; k++)
        lower(s, i->result + k, level, because);
    if (i->op == IR_CALL) // it may store to any of them
        lower_local(s, UINT32_MAX, UNIFORM_NOT);
    for (uint32_t k = 0; i->op == IR_HOST && k < i->operand_count;
         k++) { // the host may write there
        ir_ref r = ir_operand(f, i, k);
        if (ir_is_ptr(ir_type_of(f, r)) && local_of(f, r))
            lower_local(s, local_of(f, r), UNIFORM_NOT);
    }
    if (i->op == IR_STORE || i->op == IR_ATOMIC || i->op == IR_CAS || i->op == IR_ATOMSTORE) {
        uint32_t local = local_of(f, ir_operand(f, i, 0));
        uint8_t stored = flow_level(at);
        for (uint32_t k = 0; k < i->operand_count; k++)
            stored = least(stored, level_of(s, ir_operand(f, i, k)));
        if (local)
            lower_local(s, local, stored);
    }
}

// True when `r` is defined within the instruction `control`.
static bool is_inside(const ir_func *f, ir_ref r, ir_inst_id control)
{
    if (ir_is_const(r) || f->values.at[r].def == IR_DEF_PARAM)
        return false;
    const ir_value *v = &f->values.at[r];
    ir_region_id region = v->def == IR_DEF_INST ? ir_at(f, v->owner)->parent : v->owner;
    return loop_is_region_inside(f, region, control);
}

static ir_inst_id split_blame(const sweep *s, flow at)
{
    split why = at.warp.depth ? at.warp : at.block;
    if (!why.control)
        return 0;
    const ir_inst *control = ir_at(s->f, why.control);
    return control->operand_count ? blame(s, ir_operand(s->f, control, 0)) : 0;
}

// One more value arrives at `into` (a control result or loop argument). Answers whether its level
// is a new one.
static bool join(sweep *s, ir_ref into, ir_ref value, bool is_other, flow at, uint32_t floor)
{
    if (!s->joined[into])
        s->joined[into] = value;
    if ((is_other || s->joined[into] != value) && !s->differs[into]) {
        s->differs[into] = 1;
        s->needs_again = true;
    }
    bool is_new = lower(s, into, level_of(s, value), blame(s, value));
    if (s->differs[into])
        is_new |= lower(s, into, join_level(at, floor), split_blame(s, at));
    return is_new;
}

static void mark_escape(uint64_t *bits, ir_inst_id *via, ir_inst_id *control, const split *why,
                        uint32_t target, ir_inst_id id)
{
    uint32_t from = why->depth ? (why->depth - 1) / 2 + 1 : 0; // region depths below this
    // an early exit within region d (2d+1) skips region d, too
    if (why->depth & 1)
        from = why->depth / 2 + 1;
    uint64_t added = 0;
    for (uint32_t d = target; d < from; d++) // depths past 63 share a bit
        added |= UINT64_C(1) << (d < 63 ? d : 63);
    if (added && !*bits) {
        *via = id;
        *control = why->control;
    }
    *bits |= added;
}

static void leave_loops(sweep *s, ir_inst_id id, flow at, uint32_t target)
{
    const ir_func *f = s->f;
    for (ir_region_id r = ir_at(f, id)->parent; r;) {
        ir_inst_id owner = ir_region_at(f, r)->owner;
        if (!owner || s->depth[owner] < target)
            break;
        flow *rounds = &s->rounds[owner];
        uint32_t d = 2 * s->depth[owner];
        bool is_loop = ir_at(f, owner)->op == IR_LOOP;
        if (is_loop && !rounds->warp.depth && at.warp.depth >= d) {
            rounds->warp = (split){d, at.warp.control, id};
            s->needs_again = true;
        }
        if (is_loop && !rounds->block.depth && at.block.depth >= d) {
            rounds->block = (split){d, at.block.control, id};
            s->needs_again = true;
        }
        r = ir_at(f, owner)->parent;
    }
}

// Is `value` of a loop that the jump `id` to `target` leaves, or, where it is the target, ends?
// Then threads that leave in different rounds bring different values, even if each round has one.
static bool is_of_a_round(const sweep *s, ir_inst_id id, ir_inst_id target, ir_ref value)
{
    const ir_func *f = s->f;
    bool ends_target = ir_at(f, id)->op == IR_EXIT;
    for (ir_region_id r = ir_at(f, id)->parent; r;) {
        ir_inst_id owner = ir_region_at(f, r)->owner;
        bool is_left = owner != target || ends_target;
        if (owner && is_left && ir_at(f, owner)->op == IR_LOOP && is_inside(f, value, owner))
            return true;
        if (!owner || owner == target)
            return false;
        r = ir_at(f, owner)->parent;
    }
    return false;
}

static void visit_terminator(sweep *s, ir_inst_id id, flow at, escape *out)
{
    const ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    if (i->op == IR_UNREACHABLE || (i->op == IR_RETURN && s->ignores_returns))
        return;
    uint32_t target = i->op == IR_RETURN ? 0 : s->depth[i->aux];
    if (i->op == IR_EXIT) {
        const ir_inst *x = ir_at(f, i->aux);
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref v = ir_operand(f, i, k);
            join(s, x->result + k, v, is_of_a_round(s, id, i->aux, v), at, 2 * target);
        }
    } else if (i->op == IR_NEXT) {
        const ir_region *body = ir_region_at(f, ir_at(f, i->aux)->regions);
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref v = ir_operand(f, i, k);
            s->needs_again |=
                join(s, body->args + k, v, is_of_a_round(s, id, i->aux, v), at, 2 * target + 1);
        }
    }
    if (i->op != IR_NEXT)
        leave_loops(s, id, at, target);
    mark_escape(&out->warp, &out->warp_via, &out->warp_control, &at.warp, target, id);
    mark_escape(&out->block, &out->block_via, &out->block_control, &at.block, target, id);
}

static escape visit_region(sweep *s, ir_region_id region, flow at, uint32_t depth);

static escape visit_control(sweep *s, ir_inst_id id, flow at, uint32_t depth)
{
    const ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    s->depth[id] = depth;
    if (i->op == IR_IF || i->op == IR_SWITCH) {
        uint8_t level = level_of(s, ir_operand(f, i, 0));
        if (level < UNIFORM_BLOCK)
            at.block = (split){2 * depth, id, 0};
        if (level < UNIFORM_WARP)
            at.warp = (split){2 * depth, id, 0};
    } else if (i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(f, i->regions);
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref v = ir_operand(f, i, k);
            lower(s, body->args + k, level_of(s, v), blame(s, v));
        }
        if (s->rounds[id].warp.depth)
            at.warp = s->rounds[id].warp;
        if (s->rounds[id].block.depth)
            at.block = s->rounds[id].block;
    }
    escape all = {0};
    for (uint32_t k = 0; k < i->region_count; k++) {
        escape e = visit_region(s, i->regions + k, at, depth);
        if (!all.warp) {
            all.warp_via = e.warp_via;
            all.warp_control = e.warp_control;
        }
        if (!all.block) {
            all.block_via = e.block_via;
            all.block_control = e.block_control;
        }
        all.warp |= e.warp;
        all.block |= e.block;
    }
    return all;
}

static escape visit_region(sweep *s, ir_region_id region, flow at, uint32_t depth)
{
    const ir_func *f = s->f;
    escape all = {0};
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        split why = at.warp.depth ? at.warp : at.block;
        s->facts.flow[id] = flow_level(at);
        s->facts.flow_because[id] = why.control;
        s->facts.flow_via[id] = why.via;
        if (ir_is_terminator(i->op)) {
            visit_terminator(s, id, at, &all);
            continue;
        }
        if (!ir_is_control(i->op)) {
            visit_plain(s, id, at);
            continue;
        }
        escape e = visit_control(s, id, at, depth + 1);
        uint64_t bit = UINT64_C(1) << (depth < 63 ? depth : 63);
        if (e.warp & bit)
            at.warp = (split){2 * depth + 1, e.warp_control, e.warp_via};
        if (e.block & bit)
            at.block = (split){2 * depth + 1, e.block_control, e.block_via};
        if (e.warp && !all.warp) {
            all.warp_via = e.warp_via;
            all.warp_control = e.warp_control;
        }
        if (e.block && !all.block) {
            all.block_via = e.block_via;
            all.block_control = e.block_control;
        }
        all.warp |= e.warp;
        all.block |= e.block;
    }
    return all;
}

bool uniform_has_whole_rows(const ir_func *f)
{
    if (f->block[0])
        return f->block[0] % 32 == 0 || (f->block[1] == 1 && f->block[2] == 1);
    for (uint32_t id = 1; id < f->insts.len; id++)
        if (f->insts.at[id].op == IR_THREAD && f->insts.at[id].imm != 0)
            return false;
    return true;
}

static uniform_facts compute(const ir_func *f, arena *a, bool ignores_returns)
{
    uint32_t values = f->values.len + 1, insts = f->insts.len + 1;
    sweep s = {.f = f, .ignores_returns = ignores_returns};
    s.facts.value = arena_array(a, uint8_t, values);
    s.facts.because = arena_array(a, ir_inst_id, values);
    s.facts.flow = arena_array(a, uint8_t, insts);
    s.facts.flow_because = arena_array(a, ir_inst_id, insts);
    s.facts.flow_via = arena_array(a, ir_inst_id, insts);
    s.locals = arena_array(a, uint8_t, f->locals.len + 1);
    s.differs = arena_array(a, uint8_t, values);
    s.joined = arena_array(a, ir_ref, values);
    s.rounds = arena_array(a, flow, insts);
    s.depth = arena_array(a, uint32_t, insts);
    memset(s.facts.value, UNIFORM_BLOCK, values);
    memset(s.facts.flow, UNIFORM_BLOCK, insts);
    memset(s.locals, UNIFORM_BLOCK, f->locals.len + 1);
    uint64_t threads = (uint64_t)f->block[0] * f->block[1] * f->block[2];
    s.is_one_warp = threads && threads <= 32;
    s.has_whole_rows = f->is_kernel && uniform_has_whole_rows(f);
    // Whoever calls a function passes what it likes.
    for (uint32_t k = 0; !f->is_kernel && k < f->params.len; k++)
        s.facts.value[f->first_param + k] = UNIFORM_NOT;
    do {
        s.needs_again = false;
        visit_region(&s, f->body, (flow){0}, 1);
    } while (s.needs_again);
    return s.facts;
}

uniform_facts uniform_compute(const ir_func *f, arena *a)
{
    return compute(f, a, false);
}

uniform_facts uniform_compute_alive(const ir_func *f, arena *a)
{
    return compute(f, a, true);
}
