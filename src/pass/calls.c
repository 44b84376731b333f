// Decides which calls are real ones, before anything is inlined. Kept are functions that call
// themselves, directly or through others, those marked noinline, and large ones that are called
// from several places; all others are inlined, as are those that work on the block or warp as a
// whole, because `converge` must see where they stand.
//
// Functions that call each other in a circle get a last parameter: how many calls of the circle
// wait. Its limit is tested on entry, so recursion ends in a fault with a place and a thread, on
// every device, before the stack does. A dispatcher of calls through pointers is inlined into
// whoever calls it and counts for nothing.
// Start at calls_decide.
#include "pass/passes.h"

// HUGE: instructions of a kernel with everything inlined from which on a device with costly calls
// keeps functions marked noinline: interpreting such a kernel beats minutes of compiling it. One
// that calls the host spends its time there. A kernel that would pass the inliner's limit keeps all
// functions of some size that several places call, on every device that has calls.
enum {
    DEFAULT_LIMIT = 64,
    DEFAULT_OF_ONE_THREAD = 512,
    LARGE = 6000,
    OF_SOME_SIZE = 100,
    HUGE = 12000,
    HUGE_WITH_HOST = 3000
};

typedef struct node {
    uint32_t order, low; // Tarjan's numbers; 0: not visited
    uint32_t circle;     // number of its strongly connected component, from 1
    bool is_open;
    bool calls_itself;
    uint32_t call_count;     // places that call it
    uint32_t size;           // instructions
    uint64_t inlined;        // instructions with everything inlined, but for circles
    bool calls_host;         // itself or through others
    bool is_in_huge;         // a kernel above HUGE calls it …
    bool is_in_endless;      // … or one above PASS_INST_LIMIT
    const ir_func *group_in; // works on the block or the warp, so it must be inlined: the function
    ir_inst_id group_op;     // and the instruction that does, maybe of one that it calls
} node;

typedef struct graph {
    ir_module *m;
    pass_ctx *ctx;
    node *nodes;
    uint32_t *stack, depth;
    uint32_t next_order, circle_count;
    uint32_t *members; // per circle: how many functions
} graph;

static bool is_call(const ir_inst *i)
{
    return i->op == IR_CALL && i->parent;
}

// What needs the whole warp or block, or memory that belongs to one kernel.
static bool is_group_op(const ir_inst *i)
{
    return (ir_op_effect(i->op) == IR_FX_CONV && i->op != IR_CALL) || i->op == IR_SHARED ||
           i->op == IR_DYNSHARED || ir_op_family(i->op) == IR_FAM_NVIDIA;
}

static void inherit_group(node *n, const node *from)
{
    if (n->group_op)
        return;
    n->group_in = from->group_in;
    n->group_op = from->group_op;
}

static bool is_library(const ir_module *m, const node *n)
{
    span at = ir_at(n->group_in, n->group_op)->at;
    const source_file *file = m->sources && at.lo ? source_file_at(m->sources, at.lo) : NULL;
    return file && file->is_builtin;
}

// --- circles

static void close_circle(graph *g, uint32_t first)
{
    g->circle_count++;
    for (uint32_t k = UINT32_MAX; k != first;) {
        k = g->stack[--g->depth];
        g->nodes[k].is_open = false;
        g->nodes[k].circle = g->circle_count;
        g->members[g->circle_count]++;
    }
    uint32_t count = g->members[g->circle_count];
    for (uint32_t k = 0; k < count; k++)
        if (g->nodes[g->stack[g->depth + k]].group_op)
            for (uint32_t n = 0; n < count; n++)
                inherit_group(&g->nodes[g->stack[g->depth + n]], &g->nodes[g->stack[g->depth + k]]);
}

static void visit(graph *g, uint32_t index)
{
    node *n = &g->nodes[index];
    const ir_func *f = g->m->funcs.at[index];
    n->order = n->low = ++g->next_order;
    n->is_open = true;
    g->stack[g->depth++] = index;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (!i->parent)
            continue;
        n->size++;
        if (is_group_op(i))
            inherit_group(n, &(node){.group_in = f, .group_op = id});
        n->calls_host |= i->op == IR_HOST;
        if (!is_call(i))
            continue;
        node *callee = &g->nodes[i->aux];
        callee->call_count++;
        n->calls_itself |= i->aux == index;
        if (!callee->order)
            visit(g, i->aux);
        if (callee->is_open && callee->low < n->low)
            n->low = callee->low;
        if (callee->group_op && is_library(g->m, callee)) // messages speak of the user's text
            inherit_group(n, &(node){.group_in = f, .group_op = id});
        inherit_group(n, callee);
        n->calls_host |= callee->calls_host;
        n->inlined += callee->is_open || n->inlined > PASS_INST_LIMIT ? 0 : callee->inlined;
    }
    n->inlined += n->size;
    if (n->low == n->order)
        close_circle(g, index);
}

static bool is_recursive(const graph *g, uint32_t index)
{
    const node *n = &g->nodes[index];
    return n->calls_itself || g->members[n->circle] > 1;
}

// --- what cannot be

static void refuse_target(graph *g, const ir_func *f)
{
    diag *d =
        diag_raise(g->ctx->diags, K1036, f->at, "the %s device has no recursion, which '%s' needs",
                   g->ctx->target->name, f->name);
    diag_label(d, f->at, "it calls itself, directly or through others");
    diag_note(d, "write a loop with an array as its stack, or run the kernel on interp, cpu or "
                 "cuda");
}

static void refuse_group(graph *g, uint32_t index)
{
    const ir_func *f = g->m->funcs.at[index];
    const node *n = &g->nodes[index];
    span at = ir_at(n->group_in, n->group_op)->at;
    diag *d =
        diag_raise(g->ctx->diags, K3105, at,
                   "'%s' calls itself, so it cannot work on the block or warp as a whole", f->name);
    diag_label(d, at, "needs all threads, or memory of the block, in one place of the code");
    diag_label(d, f->at, "calls itself, directly or through others");
    diag_note(d, "do this in the kernel and pass the result; a shared array is passed as a "
                 "pointer");
}

// --- the limit of a circle

static void add_depth(ir_func *f, arena *scratch)
{
    arena *in = f->module->in;
    uint32_t old = f->values.len, count = f->params.len;
    ir_ref *with = arena_array(scratch, ir_ref, old + count + 1);
    for (uint32_t k = 0; k < count; k++) {
        with[f->first_param + k] = f->values.len;
        vec_push(in, &f->values, f->values.at[f->first_param + k]);
    }
    f->first_param = old;
    ir_param_add(f, (ir_param){.name = "depth",
                               .kind = IR_PARAM_SCALAR,
                               .type = IR_I32,
                               .size = 4,
                               .align = 4,
                               .elem_unsigned = true,
                               .is_hidden = true,
                               .at = f->at});
    ir_rename(f, with);
    f->is_bounded = true;
}

static uint32_t string_of(ir_module *m, const char *what)
{
    for (uint32_t k = 0; k < m->strings.len; k++)
        if (str_same(m->strings.at[k], str_of(what)))
            return k;
    vec_push(m->in, &m->strings, str_of(what));
    return m->strings.len - 1;
}

static void test_depth(ir_func *f)
{
    ir_module *m = f->module;
    ir_cursor c = ir_before(f, ir_region_at(f, f->body)->first);
    c.at = f->at;
    ir_ref depth = f->first_param + f->params.len - 1;
    ir_ref fine = ir_bin(&c, IR_ULT, IR_I32, depth, ir_i32(f, (int32_t)f->recursion_limit));
    ir_inst_id test = ir_add(&c, IR_ASSERT, IR_VOID, &fine, 1, NULL, 0);
    ir_at(f, test)->aux = string_of(
        m, str_format(m->in, IR_TEXT_RECURSION "%u calls of '%s'", f->recursion_limit, f->name));
}

// Calls of bounded functions count: on from the caller's depth in its own circle, from 0 outside.
static void pass_depth(graph *g, uint32_t index)
{
    ir_func *f = g->m->funcs.at[index];
    uint32_t count = f->insts.len;
    for (ir_inst_id id = 1; id < count; id++) {
        if (!is_call(ir_at(f, id)))
            continue;
        uint32_t to = ir_at(f, id)->aux, n = ir_at(f, id)->operand_count;
        const ir_func *callee = g->m->funcs.at[to];
        if (!callee->is_bounded || n == callee->params.len)
            continue;
        ir_ref depth = ir_i32(f, 0);
        if (g->nodes[to].circle == g->nodes[index].circle) {
            depth = f->first_param + f->params.len - 1;
            ir_cursor c = ir_before(f, id);
            if (!callee->is_dispatcher)
                depth = ir_bin(&c, IR_ADD, IR_I32, depth, ir_i32(f, 1));
        }
        ir_ref *operands = arena_array(g->ctx->scratch, ir_ref, n + 1);
        memcpy(operands, ir_operands(f, ir_at(f, id)), n * sizeof *operands);
        operands[n] = depth;
        ir_set_operands(f, id, operands, n + 1);
    }
}

// A program that runs in one thread may have more stack than one of thousands.
static uint32_t default_limit(const ir_module *m)
{
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const ir_func *f = m->funcs.at[k];
        if (f->is_kernel && (f->block[0] != 1 || f->block[1] != 1 || f->block[2] != 1))
            return DEFAULT_LIMIT;
    }
    return DEFAULT_OF_ONE_THREAD;
}

static void bound_circles(graph *g)
{
    ir_module *m = g->m;
    uint32_t otherwise = default_limit(m);
    uint32_t *limits = arena_array(g->ctx->scratch, uint32_t, g->circle_count + 1);
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        uint32_t *limit = &limits[g->nodes[k].circle];
        if (m->funcs.at[k]->recursion_limit > *limit)
            *limit = m->funcs.at[k]->recursion_limit;
    }
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        ir_func *f = m->funcs.at[k];
        if (f->is_kernel || f->is_bounded || !is_recursive(g, k))
            continue;
        uint32_t limit = limits[g->nodes[k].circle];
        f->recursion_limit = limit ? limit : otherwise;
        add_depth(f, g->ctx->scratch);
        if (!f->is_dispatcher)
            test_depth(f);
    }
    for (uint32_t k = 0; k < m->funcs.len; k++)
        pass_depth(g, k);
}

// --- which are kept

static bool is_worth_a_call(const graph *g, uint32_t index)
{
    const ir_func *f = g->m->funcs.at[index];
    const node *n = &g->nodes[index];
    return f->is_noinline || f->is_kept ||
           (n->size >= (n->is_in_endless ? OF_SOME_SIZE : LARGE) && n->call_count > 1);
}

static void mark_huge(graph *g, uint32_t index, bool is_endless)
{
    const ir_func *f = g->m->funcs.at[index];
    node *n = &g->nodes[index];
    if (is_endless ? n->is_in_endless : n->is_in_huge)
        return;
    n->is_in_huge = true;
    n->is_in_endless |= is_endless;
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (is_call(ir_at(f, id)))
            mark_huge(g, ir_at(f, id)->aux, is_endless);
}

static void decide(graph *g, uint32_t index)
{
    ir_func *f = g->m->funcs.at[index];
    const node *n = &g->nodes[index];
    const pass_ctx *ctx = g->ctx;
    bool has_calls = !ctx->target || !ctx->target->has_no_calls;
    bool has_costly_calls = ctx->target && ctx->target->has_costly_calls;
    if (f->is_kernel || f->is_dispatcher) {
        f->is_kept = false;
    } else if (!is_recursive(g, index)) {
        // kiln check and bounds checks follow pointers to their arrays, which a call would hide.
        // A huge kernel on a device with costly calls is interpreted, which watches addresses
        // itself.
        bool is_interpreted = has_costly_calls && f->is_noinline && n->is_in_huge;
        bool is_free = n->is_in_endless || (!has_costly_calls && !ctx->checks_bounds);
        f->is_kept = has_calls && (is_interpreted || is_free) && !n->group_op &&
                     f->returns.len <= 1 && ctx->level != 1 && is_worth_a_call(g, index);
    } else if (ctx->diags && !has_calls) {
        refuse_target(g, f);
    } else if (ctx->diags && n->group_op) {
        refuse_group(g, index);
    } else {
        if (!has_calls || n->group_op || f->returns.len > 1)
            bug("'%s' calls itself and cannot", f->name);
        f->is_kept = true;
    }
}

void calls_decide(ir_module *m, pass_ctx *ctx)
{
    uint32_t count = m->funcs.len;
    arena_mark mark = arena_save(ctx->scratch);
    graph g = {.m = m,
               .ctx = ctx,
               .nodes = arena_array(ctx->scratch, node, count + 1),
               .stack = arena_array(ctx->scratch, uint32_t, count + 1),
               .members = arena_array(ctx->scratch, uint32_t, count + 2)};
    for (uint32_t k = 0; k < count; k++)
        if (!g.nodes[k].order)
            visit(&g, k);
    for (uint32_t k = 0; k < count; k++)
        if (m->funcs.at[k]->is_kernel &&
            g.nodes[k].inlined > (g.nodes[k].calls_host ? HUGE_WITH_HOST : HUGE))
            mark_huge(&g, k, g.nodes[k].inlined > PASS_INST_LIMIT);
    for (uint32_t k = 0; k < count; k++)
        decide(&g, k);
    if (!ctx->diags || !ctx->diags->error_count)
        bound_circles(&g);
    arena_restore(ctx->scratch, mark);
}

static void mark_called(const ir_module *m, uint32_t index, uint32_t *place)
{
    if (place[index])
        return;
    place[index] = 1;
    const ir_func *f = m->funcs.at[index];
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (is_call(ir_at(f, id)))
            mark_called(m, ir_at(f, id)->aux, place);
}

void calls_drop_unused(ir_module *m, arena *scratch)
{
    uint32_t *place = arena_array(scratch, uint32_t, m->funcs.len + 1), kept = 0;
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (m->funcs.at[k]->is_kernel)
            mark_called(m, k, place);
    uint32_t count = m->funcs.len;
    ir_func **old = arena_array(scratch, ir_func *, count + 1);
    if (count)
        memcpy(old, m->funcs.at, count * sizeof *old);
    for (uint32_t k = 0; k < count; k++)
        if (place[k]) {
            place[k] = kept;
            m->funcs.at[kept++] = old[k];
        }
    m->funcs.len = kept;
    for (uint32_t k = 0; k < kept; k++)
        for (ir_inst_id id = 1; id < m->funcs.at[k]->insts.len; id++) {
            ir_inst *i = ir_at(m->funcs.at[k], id);
            if (is_call(i))
                i->aux = place[i->aux];
        }
}
