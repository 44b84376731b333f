// Constant folding and simplification in one walk in reading order. Operands are resolved through
// `with` when an instruction is met, so a definition is always simplified before its uses. Inside
// the branches of an `if` the condition itself is known. The algebra is fold_rules.c, control flow
// is fold_control.c, what operations compute is ir/eval.c.
#include "pass/fold.h"

ir_ref fold_resolve(const folder *fo, ir_ref r)
{
    while (!ir_is_const(r) && r < fo->with.len && fo->with.at[r])
        r = fo->with.at[r];
    return r;
}

void fold_rename(folder *fo, ir_ref old, ir_ref with)
{
    if (old == with)
        return;
    while (fo->with.len <= old)
        vec_push(fo->scratch, &fo->with, 0);
    fo->with.at[old] = with;
    ir_value *v = ir_is_const(with) ? NULL : &fo->f->values.at[with];
    if (v && !v->name && v->def == IR_DEF_INST)
        v->name = fo->f->values.at[old].name;
    fo->did_change = true;
}

static void list_transfers(folder *fo)
{
    const ir_func *f = fo->f;
    for (uint32_t id = f->insts.len - 1; id > 0; id--) {
        const ir_inst *i = ir_at(f, id);
        if ((i->op != IR_EXIT && i->op != IR_NEXT) || !i->parent)
            continue;
        fo->next_transfer[id] = fo->first_transfer[i->aux];
        fo->first_transfer[i->aux] = id;
    }
}

static void resolve_operands(folder *fo, ir_inst_id id)
{
    const ir_inst *i = ir_at(fo->f, id);
    ir_ref *operands = ir_operands(fo->f, i);
    for (uint32_t k = 0; k < i->operand_count; k++)
        operands[k] = fold_resolve(fo, operands[k]);
}

static void set_stamps(folder *fo, ir_ref first, uint32_t count)
{
    fo->clock++;
    for (uint32_t k = 0; k < count && first + k < fo->value_count; k++)
        fo->stamp[first + k] = fo->clock;
}

static void fold_plain(folder *fo, ir_inst_id id)
{
    ir_func *f = fo->f;
    bool did_change = fo->did_change;
    // A rule may leave an instruction that another rule can take further.
    for (int round = 0; round < 8; round++) {
        fo->did_change = false;
        ir_ref with = fold_rules(fo, id);
        bool was_reshaped = fo->did_change;
        did_change |= was_reshaped;
        if (with) {
            fold_rename(fo, ir_at(f, id)->result, with);
            ir_remove(f, id);
            did_change = true;
            break;
        }
        if (!was_reshaped)
            break;
    }
    fo->did_change = did_change;
    const ir_inst *i = ir_at(f, id);
    uint64_t bits;
    if ((i->op == IR_ASSUME || i->op == IR_ASSERT || i->op == IR_BOUNDS) &&
        ir_const_bits(f, ir_operand(f, i, 0), &bits) && bits) {
        ir_remove(f, id);
        fo->did_change = true;
    }
}

static void fold_region(folder *fo, ir_region_id region);

static void fold_inside(folder *fo, ir_inst_id id)
{
    ir_func *f = fo->f;
    const ir_inst *i = ir_at(f, id);
    ir_ref condition = i->op == IR_IF ? ir_operand(f, i, 0) : 0;
    while (condition && fo->with.len <= condition)
        vec_push(fo->scratch, &fo->with, 0);
    for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++) {
        if (condition)
            fo->with.at[condition] = ir_bool(f, k == 0);
        fold_region(fo, ir_at(f, id)->regions + k);
    }
    if (condition)
        fo->with.at[condition] = 0;
    fold_results(fo, id);
}

static void fold_region(folder *fo, ir_region_id region)
{
    ir_func *f = fo->f;
    set_stamps(fo, ir_region_at(f, region)->args, ir_region_at(f, region)->arg_count);
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        resolve_operands(fo, id);
        ir_inst *i = ir_at(f, id);
        if (!ir_is_control((ir_op)i->op)) {
            set_stamps(fo, i->result, i->result_count);
            next = i->next;
            if (fold_has_rules(f, i))
                fold_plain(fo, id);
            continue;
        }
        if (fold_control(fo, id, &next)) {
            fo->did_change = true;
            continue;
        }
        set_stamps(fo, ir_at(f, id)->result, ir_at(f, id)->result_count);
        fold_inside(fo, id);
        next = ir_at(f, id)->next;
    }
}

bool pass_fold(ir_func *f, pass_ctx *ctx)
{
    folder fo = {.f = f,
                 .scratch = ctx->scratch,
                 .first_transfer = arena_array(ctx->scratch, uint32_t, f->insts.len),
                 .next_transfer = arena_room(ctx->scratch, f->insts.len * sizeof(uint32_t)),
                 .stamp = arena_array(ctx->scratch, uint32_t, f->values.len),
                 .inst_count = f->insts.len,
                 .value_count = f->values.len};
    vec_reserve(fo.scratch, &fo.with, f->values.len);
    memset(fo.with.at, 0, f->values.len * sizeof *fo.with.at);
    fo.with.len = f->values.len;
    list_transfers(&fo);
    fold_region(&fo, f->body);
    return fo.did_change;
}
