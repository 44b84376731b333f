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

// --- the assembler's own functions

// Division, remainder and root of these types are partly calls of functions that the assembler
// adds.
static const struct {
    const char *name, *use; // an instruction, and one whose result is used
} helpers[] = {
    {"div.rn.f32 ", "div.rn.f32 %f2, %f0, %f1;\n\tst.f32 [%rd3], %f2"},
    {"sqrt.rn.f32 ", "sqrt.rn.f32 %f2, %f0;\n\tst.f32 [%rd3], %f2"},
    {"div.rn.f64 ", "div.rn.f64 %fd2, %fd0, %fd1;\n\tst.f64 [%rd3], %fd2"},
    {"sqrt.rn.f64 ", "sqrt.rn.f64 %fd2, %fd0;\n\tst.f64 [%rd3], %fd2"},
    {"div.s64 ", "div.s64 %rd2, %rd0, %rd1;\n\tst.b64 [%rd3], %rd2"},
    {"div.u64 ", "div.u64 %rd2, %rd0, %rd1;\n\tst.b64 [%rd3], %rd2"},
    {"rem.s64 ", "rem.s64 %rd2, %rd0, %rd1;\n\tst.b64 [%rd3], %rd2"},
    {"rem.u64 ", "rem.u64 %rd2, %rd0, %rd1;\n\tst.b64 [%rd3], %rd2"},
};

// The assembler crashes when it folds away all of a kernel's uses of such a function, the kernel's
// device functions included, and when all calls of a recursive function go that way in one kernel
// of several. So there is one more function, with a use of each that the text has and of the table
// of all functions. Every kernel with calls calls it where a constant is not 0, which the assembler
// cannot know.
void ptx_keep_helpers(ptx *p, bool has_functions)
{
    text uses = {.in = p->scratch};
    if (has_functions)
        text_puts(&uses, "\tmov.u64 %rd0, $functions;\n\tld.global.b64 %rd1, [%rd0];\n"
                         "\tst.b64 [%rd3], %rd1;\n");
    for (size_t k = 0; k < COUNT(helpers); k++)
        if (strstr(p->out->at, helpers[k].name))
            text_printf(&uses, "\t%s;\n", helpers[k].use);
    p->keeps_helpers = uses.len > 0;
    if (!p->keeps_helpers)
        return;
    text_puts(p->out, ".visible .const .align 4 .u32 $never;\n"
                      "\n.func $helpers(.param .b64 $helpers_at)\n{\n\t.reg .b64 %rd<4>;\n"
                      "\t.reg .f32 %f<3>;\n\t.reg .f64 %fd<3>;\n"
                      "\tld.param.b64 %rd3, [$helpers_at];\n"
                      "\tld.v2.b64 {%rd0, %rd1}, [%rd3];\n\tld.v2.f32 {%f0, %f1}, [%rd3];\n"
                      "\tld.v2.f64 {%fd0, %fd1}, [%rd3];\n");
    text_add(p->out, uses.at, uses.len);
    text_puts(p->out, "\tret;\n}\n");
}

void ptx_reach_helpers(ptx *p)
{
    bool calls = false;
    for (uint32_t k = 1; k < p->f->insts.len; k++)
        calls |= p->f->insts.at[k].op == IR_CALL;
    if (!p->keeps_helpers || !calls)
        return;
    const char *never = ptx_temp(p, RC_R), *is_zero = ptx_temp(p, RC_PRED),
               *at = ptx_temp(p, RC_RD);
    ptx_line(p, "ld.const.u32 %s, [$never]", never);
    ptx_line(p, "setp.eq.u32 %s, %s, 0", is_zero, never);
    ptx_line(p, "@%s bra.uni $begin", is_zero);
    ptx_line(p, "cvt.u64.u32 %s, %s", at, never);
    text_puts(&p->body, "\t{\n");
    ptx_line(p, ".param .b64 argument0");
    ptx_line(p, "st.param.b64 [argument0], %s", at);
    ptx_line(p, "call.uni $helpers, (argument0)");
    text_puts(&p->body, "\t}\n$begin:\n");
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
