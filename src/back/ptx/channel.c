// assert, bounds and trap as PTX: records in the channel (back/channel.h). A thread that
// fails its assert records the first fault of the launch and exits, so that the host can report the
// story and nothing is lost.
#include "back/ptx/ptx.h"

const char *ptx_load_channel(ptx *p)
{
    const char *raw = ptx_temp(p, RC_RD), *channel = ptx_temp(p, RC_RD);
    ptx_line(p, "ld.param.b64 %s, [%s_param_%u]", raw, p->label, p->f->params.len);
    ptx_line(p, "cvta.to.global.u64 %s, %s", channel, raw);
    return channel;
}

// site, thread and block at `at` + 4 …
static void store_place(ptx *p, const char *at, uint32_t site)
{
    static const char *const registers[] = {"%tid.x",   "%tid.y",   "%tid.z",
                                            "%ctaid.x", "%ctaid.y", "%ctaid.z"};
    ptx_line(p, "st.global.u32 [%s+4], %u", at, site);
    for (uint32_t k = 0; k < 6; k++) {
        const char *v = ptx_temp(p, RC_R);
        ptx_line(p, "mov.u32 %s, %s", v, registers[k]);
        ptx_line(p, "st.global.u32 [%s+%u], %s", at, 8 + 4 * k, v);
    }
}

void ptx_fault(ptx *p, uint32_t site, const char *const *values)
{
    uint32_t end = ++p->next_label;
    const char *channel = ptx_load_channel(p), *old = ptx_temp(p, RC_R),
               *late = ptx_temp(p, RC_PRED), *at = ptx_temp(p, RC_RD);
    ptx_line(p, "atom.global.cas.b32 %s, [%s+20], 0, 1", old, channel);
    ptx_line(p, "setp.ne.u32 %s, %s, 0", late, old);
    ptx_line(p, "@%s bra $L%u", late, end);
    ptx_line(p, "ld.global.u64 %s, [%s+24]", at, channel);
    store_place(p, at, site);
    for (uint32_t k = 0; values && k < 2; k++)
        ptx_line(p, "st.global.u64 [%s+%u], %s", at, 32 + 8 * k, values[k]);
    ptx_line(p, "st.global.u32 [%s], 1", at);
    ptx_line(p, "fence.acq_rel.sys");
    text_printf(&p->body, "$L%u:\n", end);
    ptx_line(p, "exit");
}

void ptx_channel(ptx *p, const ir_inst *i)
{
    uint32_t site = p->site[i - p->f->insts.at] - 1;
    if (i->op == IR_PRINT) {
        ptx_print(p, i, site);
    } else if (i->op == IR_HOST) {
        ptx_host(p, i, site);
    } else if (i->op == IR_TRAP) {
        ptx_fault(p, site, NULL);
    } else {
        uint32_t fine = ++p->next_label;
        ptx_line(p, "@%s bra $L%u", ptx_reg(p, ir_operand(p->f, i, 0)), fine);
        const char *values[2] = {0};
        for (uint32_t k = 0; i->op == IR_BOUNDS && k < 2; k++)
            values[k] = ptx_reg(p, ir_operand(p->f, i, 1 + k));
        ptx_fault(p, site, i->op == IR_BOUNDS ? values : NULL);
        text_printf(&p->body, "$L%u:\n", fine);
    }
}
