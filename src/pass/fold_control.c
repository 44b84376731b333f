// Folding of control: a branch whose condition is known keeps one region, a loop that is never
// restarted is a block, a block that is only left at its end is spliced into its surroundings, and
// a result that is the same on every way out is that value.
#include "pass/fold.h"

static bool is_live_transfer(const folder *fo, ir_inst_id transfer, ir_inst_id target)
{
    const ir_inst *i = ir_at(fo->f, transfer);
    return (i->op == IR_EXIT || i->op == IR_NEXT) && i->aux == target;
}

static uint32_t count_transfers(const folder *fo, ir_inst_id target, ir_op op)
{
    uint32_t count = 0;
    for (uint32_t t = fo->first_transfer[target]; t; t = fo->next_transfer[t])
        count += is_live_transfer(fo, t, target) && ir_at(fo->f, t)->op == op;
    return count;
}

static void clear_region(ir_func *f, ir_region_id region)
{
    while (ir_region_at(f, region)->last)
        ir_remove(f, ir_region_at(f, region)->last);
}

// Moves the instructions of `region` (but not its terminator) before `target`.
static ir_inst_id splice(ir_func *f, ir_region_id region, ir_inst_id target)
{
    ir_cursor c = ir_before(f, target);
    ir_inst_id first = 0;
    while (ir_region_at(f, region)->first != ir_region_at(f, region)->last) {
        ir_inst_id i = ir_region_at(f, region)->first;
        first = first ? first : i;
        ir_unlink(f, i);
        ir_insert(&c, i);
    }
    return first;
}

// `id` runs exactly its region `keep`, once.
static bool keep_region(folder *fo, ir_inst_id id, uint32_t keep, ir_inst_id *next)
{
    ir_func *f = fo->f;
    ir_inst *i = ir_at(f, id);
    for (uint32_t k = 0; k < i->region_count; k++)
        if (k != keep)
            clear_region(f, i->regions + k);
    ir_region_id region = i->regions + keep;
    ir_inst_id end = ir_region_at(f, region)->last;
    bool ends_here = ir_at(f, end)->op == IR_EXIT && ir_at(f, end)->aux == id;
    if (count_transfers(fo, id, IR_EXIT) > (ends_here ? 1u : 0u)) {
        if (i->op == IR_BLOCKSCOPE)
            return false;
        i->op = IR_BLOCKSCOPE;
        i->operand_count = 0;
        i->regions = region;
        i->region_count = 1;
        i->cases = NULL;
        i->unroll = 0;
        *next = id;
        return true;
    }
    ir_inst_id first = splice(f, region, id);
    if (ends_here) {
        for (uint32_t k = 0; k < i->result_count; k++)
            fold_rename(fo, i->result + k, fold_resolve(fo, ir_operand(f, ir_at(f, end), k)));
        *next = first ? first : i->next;
        ir_remove(f, id);
        return true;
    }
    // It leaves for somewhere further out: nothing behind it runs.
    ir_region_id around = i->parent;
    while (ir_region_at(f, around)->last != id)
        ir_remove(f, ir_region_at(f, around)->last);
    ir_unlink(f, end);
    ir_cursor c = ir_before(f, id);
    ir_insert(&c, end);
    ir_remove(f, id);
    *next = first ? first : end;
    return true;
}

// An argument that every round hands on unchanged is its first value.
static void fold_arguments(folder *fo, ir_inst_id id)
{
    ir_func *f = fo->f;
    const ir_inst *loop = ir_at(f, id);
    const ir_region *r = ir_region_at(f, loop->regions);
    for (uint32_t k = 0; k < r->arg_count; k++) {
        ir_ref arg = r->args + k, start = ir_operand(f, loop, k);
        bool is_same = true;
        for (uint32_t t = fo->first_transfer[id]; t && is_same; t = fo->next_transfer[t]) {
            if (!is_live_transfer(fo, t, id) || ir_at(f, t)->op != IR_NEXT)
                continue;
            ir_ref given = fold_resolve(fo, ir_operand(f, ir_at(f, t), k));
            is_same = given == arg || given == start;
        }
        if (is_same && fold_resolve(fo, arg) == arg)
            fold_rename(fo, arg, start);
    }
}

bool fold_control(folder *fo, ir_inst_id id, ir_inst_id *next)
{
    ir_func *f = fo->f;
    ir_inst *i = ir_at(f, id);
    uint64_t bits;
    if (i->op == IR_IF && ir_const_bits(f, ir_operand(f, i, 0), &bits))
        return keep_region(fo, id, bits ? 0 : 1, next);
    if (i->op == IR_SWITCH && ir_const_bits(f, ir_operand(f, i, 0), &bits)) {
        int64_t v = ir_type_of(f, ir_operand(f, i, 0)) == IR_I32 ? (int32_t)bits : (int64_t)bits;
        uint32_t k = 0;
        while (k + 1 < i->region_count && i->cases[k] != v)
            k++;
        return keep_region(fo, id, k, next);
    }
    if (i->op == IR_LOOP) {
        fold_arguments(fo, id);
        if (!count_transfers(fo, id, IR_NEXT)) {
            ir_region *r = ir_region_at(f, i->regions);
            for (uint32_t k = 0; k < r->arg_count; k++)
                if (fold_resolve(fo, r->args + k) == r->args + k)
                    fold_rename(fo, r->args + k, ir_operand(f, i, k));
            r->arg_count = 0;
            r->args = 0;
            return keep_region(fo, id, 0, next);
        }
    }
    return i->op == IR_BLOCKSCOPE && keep_region(fo, id, 0, next);
}

static bool is_visible_at(const folder *fo, ir_ref r, uint32_t entry)
{
    return ir_is_const(r) || (r < fo->value_count && fo->stamp[r] < entry);
}

// if c { exit true } else { exit false } is c.
static bool is_condition(const folder *fo, ir_inst_id id, uint32_t result)
{
    const ir_func *f = fo->f;
    const ir_inst *i = ir_at(f, id);
    if (i->op != IR_IF || ir_type_of(f, i->result + result) != IR_I1)
        return false;
    for (uint32_t t = fo->first_transfer[id]; t; t = fo->next_transfer[t]) {
        uint64_t bits;
        if (!is_live_transfer(fo, t, id))
            continue;
        const ir_inst *exit = ir_at(f, t);
        bool is_then = exit->parent == i->regions, is_else = exit->parent == i->regions + 1;
        if (!ir_const_bits(f, ir_operand(f, exit, result), &bits) || bits != is_then ||
            is_then == is_else)
            return false;
    }
    return true;
}

void fold_results(folder *fo, ir_inst_id id)
{
    ir_func *f = fo->f;
    const ir_inst *i = ir_at(f, id);
    for (uint32_t k = 0; k < i->result_count; k++) {
        ir_ref same = 0;
        bool is_same = true;
        for (uint32_t t = fo->first_transfer[id]; t && is_same; t = fo->next_transfer[t]) {
            if (!is_live_transfer(fo, t, id) || ir_at(f, t)->op != IR_EXIT)
                continue;
            ir_ref given = ir_operand(f, ir_at(f, t), k);
            is_same = !same || same == given;
            same = given;
        }
        if (i->result + k >= fo->value_count || fold_resolve(fo, i->result + k) != i->result + k)
            continue;
        if (same && is_same && is_visible_at(fo, same, fo->stamp[i->result + k]))
            fold_rename(fo, i->result + k, same);
        else if (same && is_condition(fo, id, k))
            fold_rename(fo, i->result + k, ir_operand(f, i, 0));
    }
}
