// Strength reduction: in a loop, the product of a counter and a value from outside becomes a
// counter of its own, which adds where the product multiplied: i * stride with i += 4 is a value
// that starts at i0 * stride and grows by 4 * stride. Exact, because products wrap as sums do; a
// widened counter must be known not to wrap.
//
// Only products of 64 bits are worth it, which take several instructions on a GPU; those of 32
// bits, and widening ones by a constant, cost no more than the addition. Start reading at
// pass_strength.
#include "pass/loop.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum { MOST_NEW = 8 }; // new counters a loop may get: each takes a register

typedef struct product {
    ir_inst_id mul;
    uint32_t counter; // argument index
    bool is_widened, is_unsigned;
    ir_ref factor;
} product;

typedef struct reducer {
    ir_func *f;
    arena *a;
    const range *ranges; // of the function as it was; NULL: not asked for yet
    uint32_t known_len;
    bool changed;
} reducer;

// Few loops need them. To be called before the first change.
static const range *find_ranges(reducer *s)
{
    if (!s->ranges)
        s->ranges = range_compute(s->f, s->a);
    return s->ranges;
}

// Is `r` the loop's counter, maybe widened without wrapping?
static bool is_counter(reducer *s, const loop_info *l, ir_ref r, product *p)
{
    const ir_func *f = s->f;
    ir_inst_id def = ir_def_of(f, r);
    p->is_widened = false;
    if (def && (ir_at(f, def)->op == IR_SEXT || ir_at(f, def)->op == IR_ZEXT)) {
        const ir_inst *i = ir_at(f, def);
        p->is_widened = true;
        p->is_unsigned = i->op == IR_ZEXT;
        r = ir_operand(f, i, 0);
    }
    const ir_region *body = ir_region_at(f, l->body);
    loop_count c;
    if (r < body->args || r >= body->args + body->arg_count ||
        !loop_counts(f, l, r - body->args, &c))
        return false;
    p->counter = r - body->args;
    if (!p->is_widened)
        return true;
    range of = r < s->known_len ? find_ranges(s)[r] : (range){INT32_MIN, INT32_MAX};
    bool is_bounded = of.lo > INT32_MIN || of.hi < INT32_MAX; // known at all: does not wrap
    return ir_type_of(f, r) == IR_I32 && is_bounded && (!p->is_unsigned || of.lo >= 0);
}

static bool find_product(reducer *s, const loop_info *l, ir_inst_id id, product *p)
{
    const ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    if (i->op != IR_MUL || i->type != IR_I64)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref a = ir_operand(f, i, k), b = ir_operand(f, i, 1 - k);
        if (!is_counter(s, l, a, p) || !loop_is_outside(f, b, l->loop))
            continue;
        if (ir_is_const(b) && p->is_widened)
            return false;
        p->mul = id;
        p->factor = b;
        return true;
    }
    return false;
}

static void find_products(reducer *s, const loop_info *l, ir_region_id region, product *out,
                          uint32_t *count)
{
    const ir_func *f = s->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (*count < MOST_NEW && find_product(s, l, id, &out[*count]))
            ++*count;
        if (i->op != IR_LOOP)
            for (uint32_t k = 0; k < i->region_count; k++)
                find_products(s, l, i->regions + k, out, count);
    }
}

static ir_ref as_i64(ir_cursor *c, ir_ref r, const product *p)
{
    return ir_convert(c, p->is_unsigned ? IR_ZEXT : IR_SEXT, IR_I64, r);
}

// Gives the loop more arguments: a new loop with the same region moved into it would need new
// values anyway, so the old arguments are renamed to the new ones.
static void add_arguments(reducer *s, const loop_info *l, const product *products, uint32_t count)
{
    ir_func *f = s->f;
    (void)find_ranges(s);
    ir_inst_id loop = l->loop;
    uint32_t old_count = ir_region_at(f, l->body)->arg_count, all = old_count + count;
    ir_ref *starts = arena_array(s->a, ir_ref, all), *nexts = arena_array(s->a, ir_ref, all);
    uint8_t *types = arena_array(s->a, uint8_t, all);
    ir_ref old_args = ir_region_at(f, l->body)->args;
    for (uint32_t k = 0; k < old_count; k++) {
        starts[k] = ir_operand(f, ir_at(f, loop), k);
        nexts[k] = ir_operand(f, ir_at(f, l->next), k);
        types[k] = f->values.at[old_args + k].type;
    }
    ir_ref *steps = arena_array(s->a, ir_ref, count);
    for (uint32_t k = 0; k < count; k++) {
        const product *p = &products[k];
        ir_type t = (ir_type)ir_at(f, p->mul)->type;
        ir_cursor c = ir_before(f, loop);
        loop_count counter;
        (void)loop_counts(f, l, p->counter, &counter);
        ir_ref init = p->is_widened ? as_i64(&c, counter.init, p) : counter.init;
        int64_t step = loop_signed(ir_type_of(f, counter.arg), counter.step);
        types[old_count + k] = (uint8_t)t;
        starts[old_count + k] = ir_bin(&c, IR_MUL, t, init, p->factor);
        steps[k] = ir_bin(&c, IR_MUL, t, ir_constant(f, t, (uint64_t)step), p->factor);
    }
    ir_set_operands(f, loop, starts, all);
    // Arguments of a region are consecutive values: make them anew.
    ir_region_at(f, l->body)->arg_count = 0;
    for (uint32_t k = 0; k < all; k++)
        ir_region_arg(f, l->body, (ir_type)types[k]);
    ir_ref args = ir_region_at(f, l->body)->args;
    ir_cursor c = ir_before(f, l->next);
    for (uint32_t k = 0; k < count; k++)
        nexts[old_count + k] =
            ir_bin(&c, IR_ADD, (ir_type)types[old_count + k], args + old_count + k, steps[k]);
    ir_set_operands(f, l->next, nexts, all);
    ir_ref *renames = arena_array(s->a, ir_ref, f->values.len);
    for (uint32_t k = 0; k < old_count; k++) {
        renames[old_args + k] = args + k;
        f->values.at[args + k].name = f->values.at[old_args + k].name;
    }
    for (uint32_t k = 0; k < count; k++)
        renames[ir_at(f, products[k].mul)->result] = args + old_count + k;
    ir_rename(f, renames);
    for (uint32_t k = 0; k < count; k++)
        ir_remove(f, products[k].mul);
    // The ranges of the renamed arguments are those of the old ones, but they are not used again.
}

static void walk_region(reducer *s, ir_region_id region)
{
    ir_func *f = s->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            walk_region(s, ir_at(f, id)->regions + k);
        if (ir_at(f, id)->op != IR_LOOP)
            continue;
        loop_info l = loop_look(f, id);
        if (!l.next)
            continue;
        product found[MOST_NEW];
        uint32_t count = 0;
        find_products(s, &l, l.body, found, &count);
        if (!count)
            continue;
        add_arguments(s, &l, found, count);
        s->changed = true;
    }
}

bool pass_strength(ir_func *f, pass_ctx *ctx)
{
    bool has_loop = false;
    for (uint32_t id = 1; id < f->insts.len && !has_loop; id++)
        has_loop = f->insts.at[id].op == IR_LOOP;
    if (!has_loop)
        return false;
    reducer s = {.f = f, .a = ctx->scratch, .known_len = f->values.len};
    walk_region(&s, f->body);
    return s.changed;
}
