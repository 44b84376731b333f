// Refuses what the target lacks: NVIDIA's instructions run on cuda and interp.
// Changes nothing. Start at pass_device.
#include <string.h>

#include "ir/nv.h"
#include "pass/passes.h"

static const char *title_of(const ir_inst *i)
{
    if (ir_op_family(i->op) != IR_FAM_NVIDIA)
        return NULL;
    switch ((ir_nvidia_op)i->op) {
    case IR_NV: return nv_row_of(i)->name;
    case IR_MAPA: return "another block's shared memory";
    case IR_SHADDR: return "shared_address";
    case IR_CLUSTER: return "clusters";
    }
    return NULL;
}

bool pass_device(ir_func *f, pass_ctx *ctx)
{
    bool lacks = ctx->target && !ctx->target->caps.has_nv;
    for (ir_inst_id id = 1; lacks && ctx->diags && id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        const char *name = title_of(i);
        if (!name)
            continue;
        diag *d = diag_raise(ctx->diags, K4302, i->at,
                             "the %s device cannot do '%s', which kernel '%s' uses",
                             ctx->target->name, name, f->name);
        int sm = i->op == IR_NV ? nv_row_of(i)->sm : i->op == IR_SHADDR ? 75 : 90;
        diag_note(d,
                  "run it on cuda or interp, or put the code under 'if (target_sm() >= %d)' "
                  "beside a portable path",
                  sm > 100 ? sm / 10 : sm);
        return false;
    }
    return false;
}
