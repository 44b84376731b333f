// Which values are needed, and from where to where each lives (ir/live.h). A loop's argument and
// the chain of operations that makes its next value share a place when nothing reads the old
// value meanwhile (sums in a loop). Start reading at x86_plan.
#include "back/x86/x86.h"

enum { MOST_LINKS = 200 };

void x86_refuse(x86_gen *g, const char *why)
{
    if (!g->refusal)
        g->refusal = why;
}

uint32_t x86_parts(x86_class class)
{
    return class == CLASS_V8 ? 4 : class == CLASS_V4 ? 2 : class == CLASS_NONE ? 0 : 1;
}

x86_class x86_class_of(const x86_gen *g, ir_ref r)
{
    ir_type t = x86_type(g, r);
    if (cpu_shape(&g->c, x86_like(g, r)).held != HELD_LANES)
        return t == IR_F32 || t == IR_F64 ? CLASS_REAL : CLASS_WORD;
    return t == IR_I1 ? CLASS_MASK : ctext_is_wide(t) ? CLASS_V8 : CLASS_V4;
}

// Part n of the result depends on parts n of the operands alone, and is written last.
bool x86_is_elementwise(const ir_inst *i)
{
    switch (i->op) {
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
    case IR_AND:
    case IR_OR:
    case IR_XOR:
    case IR_PTRADD:
    case IR_FADD:
    case IR_FSUB:
    case IR_FMUL:
    case IR_FDIV:
    case IR_FSQRT:
    case IR_FFMA: return true;
    default: return false;
    }
}

// --- needs
typedef void use_fn(x86_gen *g, ir_inst_id id, ir_ref r);

static void each_use(x86_gen *g, ir_inst_id id, use_fn *use)
{
    const ir_inst *i = ir_at(g->f, id);
    uint32_t k = 0;
    if (i->op == IR_LOAD || i->op == IR_STORE) {
        x86_access x = x86_find_access(g, i, 0);
        use(g, id, x.pointer);
        for (uint32_t n = 0; n < x.more_count; n++)
            use(g, id, x.more[n]);
        if (x.index)
            use(g, id, x.index);
        k = 1;
    }
    for (; k < i->operand_count; k++)
        use(g, id, ir_operand(g->f, i, k));
}

static void need(x86_gen *g, ir_inst_id id, ir_ref r)
{
    (void)id;
    if (!ir_is_const(r))
        g->lives[r].is_needed = true;
}

static bool has_needed_result(const x86_gen *g, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->result_count; k++)
        if (g->lives[i->result + k].is_needed)
            return true;
    return false;
}

static bool can_be_dropped(const ir_inst *i)
{
    ir_effect effect = ir_op_effect((ir_op)i->op);
    return effect == IR_FX_PURE || (effect == IR_FX_READ && i->hint != IR_HINT_VOLATILE) ||
           i->op == IR_ASSUME || i->op == IR_PREFETCH;
}

static void need_in_region(x86_gen *g, ir_region_id region)
{
    for (ir_inst_id id = ir_region_at(g->f, region)->last; id; id = ir_at(g->f, id)->prev) {
        const ir_inst *i = ir_at(g->f, id);
        for (uint32_t k = i->region_count; k-- > 0;)
            need_in_region(g, i->regions + k);
        if (!can_be_dropped(i) || has_needed_result(g, i))
            each_use(g, id, need);
        if (i->op == IR_LOOP)
            for (uint32_t k = 0; k < i->operand_count; k++)
                need(g, id, ir_region_at(g->f, i->regions)->args + k);
    }
}

// --- lives
static float weight_at(uint32_t depth)
{
    static const float weights[] = {1, 8, 64, 512, 4096};
    return weights[depth < COUNT(weights) ? depth : COUNT(weights) - 1];
}

static void extend(x86_gen *g, ir_ref r, uint32_t to)
{
    if (g->lives[r].to < to)
        g->lives[r].to = to;
}

static void use(x86_gen *g, ir_inst_id id, ir_ref r)
{
    if (!ir_is_const(r))
        g->lives[r].weight += weight_at(g->live.depth[id]);
    ir_live_use(&g->live, id, r);
}

static bool uses_of(void *user, ir_live *l, ir_inst_id id)
{
    x86_gen *g = user;
    const ir_inst *i = ir_at(g->f, id);
    bool is_dropped = can_be_dropped(i) && !has_needed_result(g, i);
    (void)l; // is g->live
    if (is_dropped)
        return false;
    each_use(g, id, use);
    if (x86_may_call(g, id))
        vec_push(g->a, &g->calls, id);
    for (uint32_t k = 0; k < i->result_count; k++)
        g->lives[i->result + k].weight += weight_at(g->live.depth[id]);
    return true;
}

// Lanes that leave a split control write its results while others are still inside.
static bool is_split(void *user, ir_inst_id id)
{
    const x86_gen *g = user;
    return g->c.controls[id].is_split;
}

// The only `next` of each loop that has one.
static void find_nexts(x86_gen *g)
{
    for (ir_inst_id id = 1; id < g->f->insts.len; id++) {
        const ir_inst *i = ir_at(g->f, id);
        if (i->op == IR_NEXT && g->c.controls[i->aux].nexts == 1)
            g->controls[i->aux].next = id;
    }
}

// Arguments whose old value is still asked for when the new one is known: they get a shadow.
static void plan_loop(x86_gen *g, ir_inst_id id)
{
    const ir_region *body = ir_region_at(g->f, ir_at(g->f, id)->regions);
    ir_inst_id next = g->controls[id].next;
    float weight = weight_at(g->live.depth[id] + 1);
    for (uint32_t k = 0; k < body->arg_count; k++) {
        x86_life *arg = &g->lives[body->args + k];
        arg->weight += weight;
        if (!g->c.controls[id].is_split || (next && arg->last_use <= g->live.start[next]))
            continue;
        uint32_t from = g->live.start[next ? next : id];
        g->lives[g->controls[id].shadow + k] = (x86_life){.is_needed = true,
                                                          .from = from,
                                                          .to = g->live.end[id] - 1,
                                                          .last_use = from,
                                                          .weight = weight};
    }
}

static void find_lives(x86_gen *g)
{
    const ir_func *f = g->f;
    for (uint32_t k = 0; k < f->params.len; k++)
        g->lives[f->first_param + k].weight += weight_at(0);
    ir_live_spans(&g->live, &(ir_live_rules){uses_of, is_split, g});
    for (ir_ref r = 1; r < f->values.len; r++) {
        const ir_life *l = &g->live.lives[r];
        g->lives[r].from = l->from;
        g->lives[r].to = l->until;
        g->lives[r].last_use = l->last_use;
    }
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_LOOP)
            plan_loop(g, id);
        if (i->op == IR_SWITCH && !ir_is_const(ir_operand(f, i, 0)))
            extend(g, ir_operand(f, i, 0), g->live.end[id] - 1); // asked before each case
    }
}

// --- chains
static bool is_link(const x86_gen *g, ir_ref r, ir_inst_id loop, uint32_t used_at)
{
    const x86_life *l = &g->lives[r];
    return !ir_is_const(r) && ir_def_of(g->f, r) && l->from > g->live.start[loop] &&
           l->to == used_at && l->last_use == used_at && !l->same &&
           x86_is_elementwise(ir_at(g->f, ir_def_of(g->f, r)));
}

// `r` is made from the argument by operations each of which is the last to use the one before.
static bool find_chain(x86_gen *g, ir_ref r, ir_inst_id loop, ir_ref arg, int fuel)
{
    const ir_inst *i = ir_at(g->f, ir_def_of(g->f, r));
    uint32_t p = g->live.start[ir_def_of(g->f, r)];
    for (uint32_t k = i->operand_count; fuel && k-- > 0;) {
        ir_ref o = ir_operand(g->f, i, k);
        bool is_start = o == arg && g->lives[arg].last_use == p;
        if (is_start || (is_link(g, o, loop, p) && x86_class_of(g, o) == x86_class_of(g, arg) &&
                         find_chain(g, o, loop, arg, fuel - 1))) {
            g->lives[r].same = arg;
            return true;
        }
    }
    return false;
}

// `times` is zero for every value, before and after.
static void share_places(x86_gen *g, ir_inst_id loop, uint32_t *times)
{
    ir_inst_id next = g->controls[loop].next;
    if (!next)
        return;
    const ir_inst *i = ir_at(g->f, next);
    ir_ref args = ir_region_at(g->f, ir_at(g->f, loop)->regions)->args;
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!ir_is_const(ir_operand(g->f, i, k)))
            times[ir_operand(g->f, i, k)]++;
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(g->f, i, k), arg = args + k;
        bool is_once = !ir_is_const(r) && times[r] == 1;
        if (is_once && is_link(g, r, loop, g->live.start[next]) &&
            x86_class_of(g, r) == x86_class_of(g, arg))
            find_chain(g, r, loop, arg, MOST_LINKS);
    }
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!ir_is_const(ir_operand(g->f, i, k)))
            times[ir_operand(g->f, i, k)] = 0;
}

static void make_shadows(x86_gen *g)
{
    const ir_func *f = g->f;
    vec(ir_ref) of = {0};
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        if (ir_at(f, id)->op != IR_LOOP || !g->c.controls[id].is_split)
            continue;
        const ir_region *body = ir_region_at(f, ir_at(f, id)->regions);
        g->controls[id].shadow = f->values.len + of.len;
        for (uint32_t k = 0; k < body->arg_count; k++)
            vec_push(g->a, &of, body->args + k);
    }
    g->shadow_of = of.at;
    g->value_count = f->values.len + of.len;
}

void x86_plan(x86_gen *g)
{
    const ir_func *f = g->f;
    g->live = ir_live_number(f, g->a);
    g->controls = arena_array(g->a, x86_control, f->insts.len + 1);
    make_shadows(g);
    find_nexts(g);
    g->places = arena_array(g->a, x86_place, g->value_count + 1);
    g->lives = arena_array(g->a, x86_life, g->value_count + 1);
    need_in_region(g, f->body);
    find_lives(g);
    uint32_t *times = arena_array(g->a, uint32_t, f->values.len + 1);
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_LOOP)
            share_places(g, id, times);
    x86_give_places(g);
}
