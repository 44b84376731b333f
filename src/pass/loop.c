// Loop analysis (contract in loop.h). Lowering makes
//     loop { condition; if (go on) { exit if } { exit loop }; body; step; next }
// but folding may turn the sides round or leave the rest of the round inside one side, so the
// shape is looked for, not assumed. Trip counts are found by formula for a counter with a constant
// step, else by running the loop's integers. Start reading at loop_look.
#include "pass/loop.h"

#include "ir/eval.h"

bool loop_is_region_inside(const ir_func *f, ir_region_id region, ir_inst_id control)
{
    while (region) {
        ir_inst_id owner = ir_region_at(f, region)->owner;
        if (owner == control)
            return true;
        region = owner ? ir_at(f, owner)->parent : 0;
    }
    return false;
}

bool loop_is_outside(const ir_func *f, ir_ref r, ir_inst_id control)
{
    if (ir_is_const(r) || f->values.at[r].def == IR_DEF_PARAM)
        return true;
    const ir_value *v = &f->values.at[r];
    ir_region_id region = v->def == IR_DEF_INST ? ir_at(f, v->owner)->parent : v->owner;
    return !loop_is_region_inside(f, region, control);
}

// --- constant evaluation

int64_t loop_signed(ir_type t, uint64_t bits)
{
    return t == IR_I32   ? (int32_t)(uint32_t)bits
           : t == IR_I16 ? (int16_t)(uint16_t)bits
           : t == IR_I8  ? (int8_t)(uint8_t)bits
           : t == IR_I1  ? -(int64_t)(bits & 1)
                         : (int64_t)bits;
}

static uint64_t cut(ir_type t, uint64_t bits)
{
    uint32_t size = ir_type_size(t);
    return t == IR_I1 ? bits & 1 : size >= 8 ? bits : bits & ((UINT64_C(1) << (8 * size)) - 1);
}

bool loop_eval(const ir_func *f, ir_ref r, const loop_known *known, int fuel, uint64_t *bits)
{
    if (!r || !ir_is_int(ir_type_of(f, r)))
        return false;
    if (ir_const_bits(f, r, bits))
        return true;
    if (known && r >= known->first && r < known->first + known->count) {
        *bits = known->bits[r - known->first];
        return known->is_known[r - known->first];
    }
    ir_inst_id def = ir_def_of(f, r);
    if (!def || fuel == 0)
        return false;
    const ir_inst *i = ir_at(f, def);
    if (i->region_count || i->operand_count == 0 || i->operand_count > 3 ||
        ir_op_effect(i->op) != IR_FX_PURE)
        return false;
    uint64_t operands[3];
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!loop_eval(f, ir_operand(f, i, k), known, fuel - 1, &operands[k]))
            return false;
    return ir_eval(i->op, i->type, i->aux, operands, bits);
}

// --- shape

static void scan(const ir_func *f, loop_info *l, ir_region_id region, uint32_t *nexts)
{
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        l->size++;
        l->has_loop |= i->op == IR_LOOP;
        for (uint32_t k = 0; k < i->region_count; k++)
            scan(f, l, i->regions + k, nexts);
    }
    const ir_inst *end = ir_at(f, ir_region_at(f, region)->last);
    bool is_own = (end->op == IR_EXIT || end->op == IR_NEXT) && end->aux == l->loop;
    bool leaves = end->op == IR_RETURN ||
                  (end->op == IR_EXIT &&
                   (is_own || !loop_is_region_inside(f, ir_at(f, end->aux)->parent, l->loop)));
    *nexts += is_own && end->op == IR_NEXT;
    l->exits += leaves;
    l->own_exits += is_own && end->op == IR_EXIT;
}

// A side that does nothing but leave the loop.
static bool only_leaves(const ir_func *f, ir_region_id side, ir_inst_id loop)
{
    ir_inst_id first = ir_region_at(f, side)->first;
    return first && ir_at(f, first)->op == IR_EXIT && ir_at(f, first)->aux == loop;
}

static bool find_exit_if(const ir_func *f, loop_info *l)
{
    for (ir_inst_id id = ir_region_at(f, l->body)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_IF || i->result_count)
            continue;
        for (uint32_t side = 0; side < 2; side++) {
            if (!only_leaves(f, i->regions + side, l->loop))
                continue;
            ir_inst_id other = ir_region_at(f, i->regions + 1 - side)->first;
            const ir_inst *o = ir_at(f, other);
            bool is_empty = o->op == IR_EXIT && o->aux == id;
            const ir_inst *last = ir_at(f, ir_region_at(f, i->regions + 1 - side)->last);
            bool is_rest = last->op == IR_NEXT && last->aux == l->loop;
            if (!is_empty && !is_rest)
                continue;
            l->exit_if = id;
            l->exit_side = side;
            l->leave = ir_region_at(f, i->regions + side)->first;
            l->goes_on_inside = !is_empty;
            return true;
        }
    }
    return false;
}

loop_info loop_look(const ir_func *f, ir_inst_id loop)
{
    loop_info l = {.loop = loop, .body = ir_at(f, loop)->regions};
    uint32_t nexts = 0;
    scan(f, &l, l.body, &nexts);
    find_exit_if(f, &l);
    ir_inst_id last = ir_region_at(f, l.body)->last;
    if (l.goes_on_inside)
        last = ir_region_at(f, ir_at(f, l.exit_if)->regions + 1 - l.exit_side)->last;
    if (nexts == 1 && ir_at(f, last)->op == IR_NEXT && ir_at(f, last)->aux == loop)
        l.next = last;
    return l;
}

bool loop_counts(const ir_func *f, const loop_info *l, uint32_t arg_index, loop_count *out)
{
    if (!l->next)
        return false;
    const ir_region *body = ir_region_at(f, l->body);
    ir_ref arg = body->args + arg_index;
    ir_type t = ir_type_of(f, arg);
    if (t != IR_I32 && t != IR_I64)
        return false;
    ir_ref stepped = ir_operand(f, ir_at(f, l->next), arg_index);
    ir_inst_id def = ir_def_of(f, stepped);
    if (!def)
        return false;
    const ir_inst *i = ir_at(f, def);
    uint64_t step;
    if (i->op != IR_ADD && i->op != IR_SUB)
        return false;
    ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1);
    if (i->op == IR_ADD && b == arg) {
        b = a;
        a = arg;
    }
    if (a != arg || !ir_const_bits(f, b, &step))
        return false;
    *out = (loop_count){.arg = arg,
                        .init = ir_operand(f, ir_at(f, l->loop), arg_index),
                        .stepped = stepped,
                        .index = arg_index,
                        .step = cut(t, i->op == IR_SUB ? 0 - step : step)};
    return true;
}

static ir_op inverted(ir_op op, bool *is_swapped)
{
    // !(a < b) is b <= a
    *is_swapped = op != IR_IEQ && op != IR_INE;
    return op == IR_SLT   ? IR_SLE
           : op == IR_SLE ? IR_SLT
           : op == IR_ULT ? IR_ULE
           : op == IR_ULE ? IR_ULT
           : op == IR_IEQ ? IR_INE
                          : IR_IEQ;
}

bool loop_find_test(const ir_func *f, const loop_info *l, loop_test *out)
{
    if (!l->exit_if || !l->next)
        return false;
    ir_inst_id def = ir_def_of(f, ir_operand(f, ir_at(f, l->exit_if), 0));
    if (!def)
        return false;
    const ir_inst *i = ir_at(f, def);
    bool is_compare = i->op == IR_SLT || i->op == IR_SLE || i->op == IR_ULT || i->op == IR_ULE ||
                      i->op == IR_IEQ || i->op == IR_INE;
    if (!is_compare || (i->type != IR_I32 && i->type != IR_I64))
        return false;
    ir_ref side[2] = {ir_operand(f, i, 0), ir_operand(f, i, 1)};
    ir_op op = i->op;
    bool is_swapped = false;
    if (l->exit_side == 0)
        op = inverted(op, &is_swapped);
    if (op == IR_IEQ)
        return false;
    uint32_t args = ir_region_at(f, l->body)->arg_count;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t arg = 0; arg < args; arg++) {
            loop_count c;
            if (!loop_counts(f, l, arg, &c) || (side[k] != c.arg && side[k] != c.stepped) ||
                !loop_is_outside(f, side[1 - k], l->loop))
                continue;
            *out = (loop_test){.count = c,
                               .is_stepped = side[k] == c.stepped,
                               .op = op,
                               .is_greater = (k == 1) != is_swapped,
                               .limit = side[1 - k]};
            return true;
        }
    return false;
}

// --- trip counts

// By formula: a constant step in the direction of the test, no wrap before the limit.
static int64_t count_by_formula(const ir_func *f, const loop_test *t)
{
    uint64_t init, limit;
    if (!loop_eval(f, t->count.init, NULL, 8, &init) || !loop_eval(f, t->limit, NULL, 8, &limit))
        return -1;
    ir_type type = ir_type_of(f, t->count.arg);
    bool is_signed = t->op == IR_SLT || t->op == IR_SLE;
    bool has_equal = t->op == IR_SLE || t->op == IR_ULE;
    int64_t step = loop_signed(type, t->count.step);
    if (t->op == IR_INE || step == 0 || t->is_stepped)
        return -1;
    // In 128 bits nothing wraps; the last value computed must still fit the type.
    __extension__ typedef __int128 wide;
    wide from = is_signed ? (wide)loop_signed(type, init) : (wide)init;
    wide to = is_signed ? (wide)loop_signed(type, limit) : (wide)limit;
    wide most = is_signed ? (type == IR_I32 ? (wide)INT32_MAX : (wide)INT64_MAX)
                          : (type == IR_I32 ? (wide)UINT32_MAX : (wide)UINT64_MAX);
    wide least = is_signed ? -most - 1 : 0;
    if (t->is_greater != (step < 0))
        return -1;
    wide distance = step > 0 ? to - from : from - to;
    wide by = step > 0 ? step : -(wide)step;
    distance += has_equal ? 1 : 0;
    if (distance <= 0)
        return 0;
    wide rounds = (distance + by - 1) / by, last = from + rounds * step;
    if (last > most || last < least || rounds > INT64_MAX)
        return -1;
    return (int64_t)rounds;
}

loop_known loop_start(const ir_func *f, const loop_info *l, arena *a)
{
    const ir_region *body = ir_region_at(f, l->body);
    const ir_inst *loop = ir_at(f, l->loop), *next = ir_at(f, l->next);
    uint32_t n = body->arg_count;
    loop_known known = {body->args, n, arena_array(a, uint64_t, n + 1),
                        arena_array(a, bool, n + 1)};
    for (uint32_t k = 0; k < n; k++)
        known.is_known[k] =
            l->next && loop_eval(f, ir_operand(f, loop, k), NULL, 8, &known.bits[k]);
    // Drop those whose step needs something unknown, until the rest needs only itself.
    for (bool again = true; again;) {
        again = false;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t bits;
            if (known.is_known[k] && !loop_eval(f, ir_operand(f, next, k), &known, 8, &bits)) {
                known.is_known[k] = false;
                again = true;
            }
        }
    }
    return known;
}

void loop_step(const ir_func *f, const loop_info *l, loop_known *known, arena *a)
{
    arena_mark mark = arena_save(a);
    uint64_t *fresh = arena_array(a, uint64_t, known->count + 1);
    const ir_inst *next = ir_at(f, l->next);
    for (uint32_t k = 0; k < known->count; k++)
        if (known->is_known[k])
            known->is_known[k] = loop_eval(f, ir_operand(f, next, k), known, 8, &fresh[k]);
    for (uint32_t k = 0; k < known->count; k++)
        known->bits[k] = fresh[k];
    arena_restore(a, mark);
}

static int64_t count_by_running(const ir_func *f, const loop_info *l, int64_t most, arena *a)
{
    loop_known known = loop_start(f, l, a);
    ir_ref condition = ir_operand(f, ir_at(f, l->exit_if), 0);
    for (int64_t round = 0; round <= most; round++) {
        uint64_t go;
        if (!loop_eval(f, condition, &known, 8, &go))
            return -1;
        if ((go != 0) != (l->exit_side == 1))
            return round;
        loop_step(f, l, &known, a);
    }
    return -1;
}

int64_t loop_trips(const ir_func *f, const loop_info *l, int64_t most)
{
    if (!l->exit_if || !l->next)
        return -1;
    loop_test t;
    if (loop_find_test(f, l, &t)) {
        int64_t count = count_by_formula(f, &t);
        if (count >= 0)
            return count <= most ? count : -1;
    }
    arena *a = f->module->in;
    arena_mark mark = arena_save(a);
    int64_t count = count_by_running(f, l, most, a);
    arena_restore(a, mark);
    return count;
}
