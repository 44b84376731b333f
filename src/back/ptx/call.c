// Calls of device functions, and the functions themselves, by PTX's ABI: arguments and the result
// travel in .param variables, every narrow type as 32 bits. A function that talks to the host takes
// the channel's address behind its own parameters, as a kernel does.
// Start at ptx_call and ptx_function_head.
#include "back/ptx/ptx.h"

static const char *const kinds[RC_COUNT] = {"b32", "b32", "b32", "b64", "f32", "f64"};

static const char *param_type(ir_type t)
{
    return kinds[ptx_class(t)];
}

const char *ptx_label_of(ptx *p, const ir_func *f)
{
    if (p->is_library)
        return str_format(p->scratch, "$%s", f->name);
    return f->is_kernel ? f->name : str_format(p->scratch, "$fn_%s", ptx_name(p, f->name));
}

// --- values in .param space
static void store_param(ptx *p, const char *to, ir_ref value)
{
    ir_type t = ir_type_of(p->f, value);
    const char *from = ptx_reg(p, value);
    if (ptx_class(t) == RC_PRED || ptx_class(t) == RC_H) {
        const char *wide = ptx_temp(p, RC_R);
        if (t == IR_I1)
            ptx_line(p, "selp.b32 %s, 1, 0, %s", wide, from);
        else
            ptx_line(p, "cvt.u32.u16 %s, %s", wide, from);
        from = wide;
    }
    ptx_line(p, "st.param.%s [%s], %s", param_type(t), to, from);
}

static void load_param(ptx *p, ir_ref into, const char *from)
{
    ir_type t = ir_type_of(p->f, into);
    bool is_narrow = ptx_class(t) == RC_PRED || ptx_class(t) == RC_H;
    const char *to = is_narrow ? ptx_temp(p, RC_R) : ptx_def(p, into);
    ptx_line(p, "ld.param.%s %s, [%s]", param_type(t), to, from);
    if (t == IR_I1)
        ptx_line(p, "setp.ne.u32 %s, %s, 0", ptx_def(p, into), to);
    else if (is_narrow)
        ptx_line(p, "cvt.u16.u32 %s, %s", ptx_def(p, into), to);
}

// --- functions
void ptx_function_head(ptx *p, const ir_func *f, const char *end)
{
    const char *name = ptx_label_of(p, f);
    text_puts(p->out, ".func ");
    if (f->returns.len)
        text_printf(p->out, "(.param .%s %s_result) ", param_type((ir_type)f->returns.at[0]), name);
    text_printf(p->out, "%s(", name);
    for (uint32_t k = 0; k < f->params.len; k++)
        text_printf(p->out, "%s.param .%s %s_param_%u", k ? ", " : "",
                    param_type((ir_type)f->params.at[k].type), name, k);
    if (channel_is_used(f))
        text_printf(p->out, "%s.param .b64 %s_param_%u", f->params.len ? ", " : "", name,
                    f->params.len);
    text_printf(p->out, ")%s\n", end);
}

void ptx_function_params(ptx *p)
{
    for (uint32_t k = 0; k < p->f->params.len; k++)
        load_param(p, p->f->first_param + k, str_format(p->scratch, "%s_param_%u", p->label, k));
}

void ptx_return(ptx *p, const ir_inst *i)
{
    if (i->operand_count)
        store_param(p, str_format(p->scratch, "%s_result", p->label), ir_operand(p->f, i, 0));
    ptx_line(p, "ret");
}

// --- calls
void ptx_call(ptx *p, const ir_inst *i)
{
    const ir_func *callee = p->m->funcs.at[i->aux];
    bool talks = channel_is_used(callee);
    uint32_t count = i->operand_count + talks;
    text_puts(&p->body, "\t{\n");
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref value = ir_operand(p->f, i, k);
        ptx_line(p, ".param .%s argument%u", param_type(ir_type_of(p->f, value)), k);
        store_param(p, str_format(p->scratch, "argument%u", k), value);
    }
    if (talks) {
        const char *channel = ptx_temp(p, RC_RD);
        ptx_line(p, "ld.param.b64 %s, [%s_param_%u]", channel, p->label, p->f->params.len);
        ptx_line(p, ".param .b64 argument%u", i->operand_count);
        ptx_line(p, "st.param.b64 [argument%u], %s", i->operand_count, channel);
    }
    text list = {.in = p->scratch};
    text_puts(&list, "");
    for (uint32_t k = 0; k < count; k++)
        text_printf(&list, "%sargument%u", k ? ", " : "", k);
    if (i->result_count) {
        ptx_line(p, ".param .%s result", param_type(ir_type_of(p->f, i->result)));
        ptx_line(p, "call.uni (result), %s, (%s)", ptx_label_of(p, callee), list.at);
        load_param(p, i->result, "result");
    } else {
        ptx_line(p, "call.uni %s, (%s)", ptx_label_of(p, callee), list.at);
    }
    text_puts(&p->body, "\t}\n");
}
