// printf, assert, bounds and trap as PTX: records in the channel (back/channel.h). A thread that
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

// What a line holds, from `at` on; its bytes are not said yet.
static void store_line(ptx *p, const ir_inst *i, const char *at, uint32_t site)
{
    store_place(p, at, site);
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref value = ir_operand(p->f, i, k);
        ir_type t = ir_type_of(p->f, value);
        const char *v = ptx_reg(p, value);
        if (t == IR_F64) {
            ptx_line(p, "st.global.f64 [%s+%u], %s", at, 32 + 8 * k, v);
        } else if (ptx_class(t) == RC_RD) {
            ptx_line(p, "st.global.u64 [%s+%u], %s", at, 32 + 8 * k, v);
        } else {
            const char *extended = ptx_temp(p, RC_RD);
            ptx_line(p, "cvt.u64.u32 %s, %s", extended, v);
            ptx_line(p, "st.global.u64 [%s+%u], %s", at, 32 + 8 * k, extended);
        }
    }
}

static void print(ptx *p, const ir_inst *i, uint32_t site)
{
    uint32_t bytes = 32 + 8 * i->operand_count, end = ++p->next_label, drop = ++p->next_label;
    const char *channel = ptx_load_channel(p), *capacity = ptx_temp(p, RC_R),
               *seen = ptx_temp(p, RC_R), *position = ptx_temp(p, RC_R), *past = ptx_temp(p, RC_R),
               *full = ptx_temp(p, RC_PRED), *full2 = ptx_temp(p, RC_PRED),
               *ring = ptx_temp(p, RC_RD), *wide = ptx_temp(p, RC_RD), *at = ptx_temp(p, RC_RD),
               *ignored = ptx_temp(p, RC_R);
    ptx_line(p, "ld.global.u32 %s, [%s+8]", capacity, channel);
    // Looking first keeps the position from growing past 32 bits.
    ptx_line(p, "ld.relaxed.gpu.global.u32 %s, [%s+12]", seen, channel);
    ptx_line(p, "setp.ge.u32 %s, %s, %s", full, seen, capacity);
    ptx_line(p, "@%s bra $L%u", full, drop);
    ptx_line(p, "atom.global.add.u32 %s, [%s+12], %u", position, channel, bytes);
    ptx_line(p, "add.u32 %s, %s, %u", past, position, bytes);
    ptx_line(p, "setp.gt.u32 %s, %s, %s", full2, past, capacity);
    ptx_line(p, "@%s bra $L%u", full2, drop);
    ptx_line(p, "ld.global.u64 %s, [%s]", ring, channel);
    ptx_line(p, "cvt.u64.u32 %s, %s", wide, position);
    ptx_line(p, "add.u64 %s, %s, %s", at, ring, wide);
    store_line(p, i, at, site);
    ptx_line(p, "st.global.u32 [%s], %u", at, bytes);
    ptx_line(p, "bra $L%u", end);
    text_printf(&p->body, "$L%u:\n", drop);
    ptx_line(p, "atom.global.add.u32 %s, [%s+16], 1", ignored, channel);
    text_printf(&p->body, "$L%u:\n", end);
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
        if (!ptx_print_live(p, i, site))
            print(p, i, site);
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
