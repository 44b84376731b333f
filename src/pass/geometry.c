// What is known about the launch when the kernel says block(...): block sizes are constants, the
// index along an axis of size 1 is 0, and in a one-dimensional block thread.x modulo 32 is the lane
// and thread.x / 32 the warp (which is then known to be the same across the warp).
#include "pass/passes.h"

typedef struct geometer {
    ir_func *f;
    uint32_t size[3];
    bool is_line; // y and z are 1
    ir_ref *with;
    bool did_change;
} geometer;

static ir_ref known_index(geometer *g, const ir_inst *i)
{
    ir_func *f = g->f;
    uint64_t threads = (uint64_t)g->size[0] * g->size[1] * g->size[2];
    switch (i->op) {
    case IR_BLOCKDIM: return ir_i32(f, (int32_t)g->size[i->imm]);
    case IR_THREAD: return g->size[i->imm] == 1 ? ir_i32(f, 0) : 0;
    case IR_WARP: return threads <= 32 ? ir_i32(f, 0) : 0;
    case IR_LANE: return threads == 1 ? ir_i32(f, 0) : 0;
    default: return 0;
    }
}

static bool is_thread_x(const geometer *g, ir_ref r)
{
    ir_inst_id def = ir_def_of(g->f, r);
    return def && ir_at(g->f, def)->op == IR_THREAD && ir_at(g->f, def)->imm == 0;
}

// thread.x & 31, % 32 -> lane;  thread.x >> 5, / 32 -> warp
static ir_op place_in_warp(const geometer *g, const ir_inst *i)
{
    uint64_t k;
    if (!g->is_line || i->operand_count != 2 || !is_thread_x(g, ir_operand(g->f, i, 0)) ||
        !ir_const_bits(g->f, ir_operand(g->f, i, 1), &k))
        return IR_NOP;
    if ((i->op == IR_AND && k == 31) || ((i->op == IR_UREM || i->op == IR_SREM) && k == 32))
        return IR_LANE;
    if (((i->op == IR_LSHR || i->op == IR_ASHR) && k == 5) ||
        ((i->op == IR_UDIV || i->op == IR_SDIV) && k == 32))
        return IR_WARP;
    return IR_NOP;
}

static void visit_region(geometer *g, ir_region_id region)
{
    ir_func *f = g->f;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        ir_inst *i = ir_at(f, id);
        next = i->next;
        ir_ref known = known_index(g, i);
        ir_op op = known ? IR_NOP : place_in_warp(g, i);
        if (known) {
            g->with[i->result] = known;
            ir_remove(f, id);
        } else if (op != IR_NOP) {
            i->op = (uint16_t)op;
            i->operand_count = 0;
        }
        g->did_change |= known || op != IR_NOP;
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            visit_region(g, ir_at(f, id)->regions + k);
    }
}

bool pass_geometry(ir_func *f, pass_ctx *ctx)
{
    if (!f->block[0])
        return false;
    geometer g = {.f = f, .with = arena_array(ctx->scratch, ir_ref, f->values.len)};
    for (int k = 0; k < 3; k++)
        g.size[k] = f->block[k] ? f->block[k] : 1;
    g.is_line = g.size[1] == 1 && g.size[2] == 1;
    visit_region(&g, f->body);
    if (g.did_change)
        ir_rename(f, g.with);
    return g.did_change;
}
