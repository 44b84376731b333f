// How much work a launch is, before it runs: the kernel's instructions, loop by loop, from its IR,
// and how often the loops go round, from the arguments. A loop whose length is not known is taken
// to go round as often as the largest thing the kernel is given says; so the answer errs to the
// large side. Start reading at work_of.
#include "dev/cpu/cpu.h"

#include <math.h>

#include "pass/loop.h"

enum { MOST_LOOPS = 64, FUEL = 4, SOME_ROUNDS = 16 /* of a loop of unknown length */ };

typedef enum limit_kind { LIMIT_UNKNOWN, LIMIT_NUMBER, LIMIT_PARAM } limit_kind;

typedef struct work_loop { // the first one is the kernel itself
    uint32_t parent;
    limit_kind kind;
    double limit;  // or the parameter's index
    double step;   // of the counter; 0: the threads of the grid
    double direct; // instructions inside, but for those of inner loops
    double stored; // and bytes
} work_loop;

struct cpu_work {
    uint32_t loop_count;
    bool keeps_addresses, is_large;
    work_loop loops[];
};

// --- out of the IR
static bool moves_address(const ir_inst *i)
{
    switch (i->op) {
    case IR_PTRTOINT:
    case IR_INTTOPTR: return true;
    case IR_LOAD:
    case IR_STORE:
    case IR_ATOMIC:
    case IR_ATOMLOAD:
    case IR_ATOMSTORE: return ir_is_ptr((ir_type)i->type);
    default: return false;
    }
}

static bool mentions_grid(const ir_func *f, ir_ref r, int fuel)
{
    ir_inst_id def = ir_def_of(f, r);
    if (!def || !fuel)
        return false;
    const ir_inst *i = ir_at(f, def);
    if (i->op == IR_GRIDDIM)
        return true;
    bool is_product = i->op == IR_MUL || i->op == IR_SHL || i->op == IR_ZEXT;
    for (uint32_t k = 0; is_product && k < i->operand_count; k++)
        if (mentions_grid(f, ir_operand(f, i, k), fuel - 1))
            return true;
    return false;
}

// How the loop's argument goes up. False: not in a way that is known.
static bool find_step(const ir_func *f, const loop_info *l, uint32_t index, ir_ref arg,
                      double *step)
{
    ir_inst_id def = ir_def_of(f, ir_operand(f, ir_at(f, l->next), index));
    if (!def || ir_at(f, def)->op != IR_ADD)
        return false;
    ir_ref a = ir_operand(f, ir_at(f, def), 0), b = ir_operand(f, ir_at(f, def), 1);
    ir_ref by = a == arg ? b : b == arg ? a : IR_NONE;
    uint64_t bits = 0;
    bool is_number = by && ir_const_bits(f, by, &bits);
    if (is_number)
        *step = (double)bits;
    else
        *step = 0;
    return is_number ? bits > 0 && bits < (1u << 30) : by && mentions_grid(f, by, FUEL);
}

static void find_limit(const ir_func *f, ir_ref r, work_loop *out)
{
    uint64_t bits;
    ir_inst_id def;
    while ((def = ir_def_of(f, r)) &&
           (ir_at(f, def)->op == IR_ZEXT || ir_at(f, def)->op == IR_SEXT))
        r = ir_operand(f, ir_at(f, def), 0);
    if (ir_const_bits(f, r, &bits)) {
        out->kind = LIMIT_NUMBER;
        out->limit = (double)bits;
    } else if (f->values.at[r].def == IR_DEF_PARAM) {
        out->kind = LIMIT_PARAM;
        out->limit = f->values.at[r].index;
    }
}

// `test` holds (or does not, when `leaves`) while the loop goes on.
static void find_count(const ir_func *f, const loop_info *l, ir_ref test, bool leaves, int fuel,
                       work_loop *out)
{
    ir_inst_id def = ir_def_of(f, test);
    if (!def || !fuel)
        return;
    const ir_inst *i = ir_at(f, def);
    if (i->op == (leaves ? IR_OR : IR_AND)) {
        for (uint32_t k = 0; k < 2 && out->kind == LIMIT_UNKNOWN; k++)
            find_count(f, l, ir_operand(f, i, k), leaves, fuel - 1, out);
        return;
    }
    bool is_less = i->op == IR_SLT || i->op == IR_SLE || i->op == IR_ULT || i->op == IR_ULE;
    bool is_other = i->op == (leaves ? IR_IEQ : IR_INE);
    const ir_region *body = ir_region_at(f, l->body);
    for (uint32_t side = 0; side < 2 && (is_less || is_other); side++) {
        ir_ref counter = ir_operand(f, i, side);
        double step;
        if ((is_less && side != leaves) || counter < body->args ||
            counter >= body->args + body->arg_count ||
            !find_step(f, l, counter - body->args, counter, &step))
            continue;
        out->step = step;
        find_limit(f, ir_operand(f, i, 1 - side), out);
        return;
    }
}

static work_loop loop_of(const ir_func *f, ir_inst_id loop, uint32_t parent)
{
    work_loop out = {.parent = parent, .step = 1};
    loop_info l = loop_look(f, loop);
    if (l.exit_if && l.next)
        find_count(f, &l, ir_operand(f, ir_at(f, l.exit_if), 0), l.exit_side == 0, FUEL, &out);
    return out;
}

static void add_region(const ir_func *f, ir_region_id region, uint32_t at, cpu_work *w)
{
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        uint32_t inside = at;
        w->loops[at].direct++;
        if (i->op == IR_STORE && ir_type_of(f, ir_operand(f, i, 0)) != IR_PTR_SHARED)
            w->loops[at].stored += ir_type_size((ir_type)i->type) * (i->operand_count - 1.0);
        w->keeps_addresses |= moves_address(i);
        w->is_large |= i->op == IR_LOOP && w->loop_count == MOST_LOOPS;
        if (i->op == IR_LOOP && !w->is_large) {
            inside = w->loop_count++;
            w->loops[inside] = loop_of(f, id, at);
        }
        for (uint32_t k = 0; k < i->region_count; k++)
            add_region(f, i->regions + k, inside, w);
    }
}

const cpu_work *work_new(arena *a, const ir_func *f)
{
    uint32_t loops = 1;
    for (uint32_t k = 0; k < f->insts.len; k++)
        loops += f->insts.at[k].op == IR_LOOP;
    loops = loops < MOST_LOOPS ? loops : MOST_LOOPS;
    cpu_work *w = arena_alloc(a, sizeof *w + loops * sizeof *w->loops);
    *w = (cpu_work){.loop_count = 1};
    w->loops[0] = (work_loop){.kind = LIMIT_NUMBER};
    add_region(f, f->body, 0, w);
    return w;
}

bool work_can_move(const cpu_work *w)
{
    return !w->keeps_addresses;
}

// --- of a launch
static double lanes_of(const rt_launch *l)
{
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    return (double)((threads + 31) & ~31u) * l->grid[0] * l->grid[1] * l->grid[2];
}

// How often each loop goes round in all; `unknown` for one whose length is not known.
static void count_rounds(const cpu_work *w, const rt_launch *l, double unknown, double *times)
{
    double lanes = lanes_of(l);
    times[0] = lanes;
    for (uint32_t n = 1; n < w->loop_count; n++) {
        const work_loop *loop = &w->loops[n];
        double limit =
            loop->kind == LIMIT_PARAM ? (double)l->args[(size_t)loop->limit].bits : loop->limit;
        double rounds = limit / (loop->step > 0 ? loop->step : lanes) + 1;
        times[n] = times[loop->parent] * (loop->kind == LIMIT_UNKNOWN ? unknown : rounds);
    }
}

double work_of(const kiln_kernel *kernel, const rt_launch *l)
{
    const cpu_work *w = cpu_kernel_of(kernel)->work;
    double times[MOST_LOOPS], sum = 0;
    if (w->is_large)
        return (double)INFINITY;
    count_rounds(w, l, (double)INFINITY, times);
    for (uint32_t n = 0; n < w->loop_count; n++)
        sum += times[n] * w->loops[n].direct;
    return sum;
}

double work_stores(const kiln_kernel *kernel, const rt_launch *l)
{
    const cpu_work *w = cpu_kernel_of(kernel)->work;
    double times[MOST_LOOPS], sum = 0;
    count_rounds(w, l, SOME_ROUNDS, times);
    for (uint32_t n = 0; n < w->loop_count; n++)
        sum += times[n] * w->loops[n].stored;
    return sum;
}
