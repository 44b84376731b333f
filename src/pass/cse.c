// Common subexpressions: one walk in reading order with a table of what is known here (known.h). A
// store gives the value of the next load.
#include "ir/nv.h"
#include "pass/known.h"
#include "pass/passes.h"

typedef struct finder {
    ir_func *f;
    ir_ref *with; // per value
    known_table table;
    uint32_t *writes; // per control instruction: bit set of spaces written inside
    bool is_tight;    // wgmma: a loop computes again what it would have to hold in registers
    bool did_change;
} finder;

static void note_writes(finder *fi)
{
    const ir_func *f = fi->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        uint32_t spaces = known_writes(f, i);
        if (!spaces)
            continue;
        for (ir_region_id r = i->parent; r;) {
            ir_inst_id owner = ir_region_at(f, r)->owner;
            if (!owner || (fi->writes[owner] & spaces) == spaces)
                break;
            fi->writes[owner] |= spaces;
            r = ir_at(f, owner)->parent;
        }
    }
}

static void visit_plain(finder *fi, ir_inst_id id)
{
    const ir_inst *i = ir_at(fi->f, id);
    if (i->op == IR_STORE) {
        known_store(&fi->table, i, ir_operands(fi->f, i));
        return;
    }
    if (!known_can_be(i)) {
        known_written(&fi->table, known_writes(fi->f, i));
        return;
    }
    ir_ref value = known_find(&fi->table, i, ir_operands(fi->f, i));
    if (!value) {
        known_learn(&fi->table, i->result);
        return;
    }
    fi->with[i->result] = value;
    if (!ir_is_const(value) && !fi->f->values.at[value].name)
        fi->f->values.at[value].name = fi->f->values.at[i->result].name;
    ir_remove(fi->f, id);
    fi->did_change = true;
}

static void visit_region(finder *fi, ir_region_id region);

static void visit_control(finder *fi, ir_inst_id id)
{
    const ir_func *f = fi->f;
    const ir_inst *i = ir_at(f, id);
    if (i->op == IR_LOOP) // a later round sees what an earlier one wrote
        known_written(&fi->table, fi->writes[id]);
    uint32_t floor = fi->table.floor;
    if (i->op == IR_LOOP && fi->is_tight)
        fi->table.floor = fi->table.entries.len;
    uint32_t age[KNOWN_SPACES];
    memcpy(age, fi->table.age, sizeof age);
    uint32_t len = fi->table.entries.len;
    for (uint32_t k = 0; k < i->region_count; k++) {
        memcpy(fi->table.age, age, sizeof age);
        visit_region(fi, i->regions + k);
        known_forget(&fi->table, len);
    }
    fi->table.floor = floor;
    memcpy(fi->table.age, age, sizeof age);
    known_written(&fi->table, fi->writes[id]);
}

static void visit_region(finder *fi, ir_region_id region)
{
    const ir_func *f = fi->f;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        const ir_inst *i = ir_at(f, id);
        next = i->next;
        ir_ref *operands = ir_operands(f, i);
        for (uint32_t k = 0; k < i->operand_count; k++)
            if (!ir_is_const(operands[k]) && fi->with[operands[k]])
                operands[k] = fi->with[operands[k]];
        if (ir_is_control((ir_op)i->op))
            visit_control(fi, id);
        else
            visit_plain(fi, id);
    }
}

bool pass_cse(ir_func *f, pass_ctx *ctx)
{
    finder fi = {.f = f,
                 .with = arena_array(ctx->scratch, ir_ref, f->values.len),
                 .table = known_open(f, ctx->scratch, f->insts.len),
                 .writes = arena_array(ctx->scratch, uint32_t, f->insts.len),
                 .is_tight = nv_has_wgmma(f)};
    note_writes(&fi);
    visit_region(&fi, f->body);
    return fi.did_change;
}
