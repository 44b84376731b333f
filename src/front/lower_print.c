// printf and assert: formats and texts go to the module's strings, arguments follow C's
// promotions. A `%s` takes a literal only, so its text is folded into the format here.
// Start at lower_print.
#include "front/lower.h"

static const ast_expr *stripped(const ast_expr *e)
{
    while (e->kind == E_CONVERT || e->kind == E_CAST)
        e = e->a;
    return e;
}

// The length of the conversion that starts at f[i] == '%', its letter included.
static size_t conversion_length(str f, size_t i)
{
    size_t n = 1;
    while (i + n < f.len && strchr("-+ #0123456789.*hlzjt", f.at[i + n]))
        n++;
    return i + n < f.len ? n + 1 : n;
}

static void put_text(text *out, str bytes)
{
    for (size_t i = 0; i < bytes.len && bytes.at[i]; i++) {
        if (bytes.at[i] == '%')
            text_putc(out, '%');
        text_putc(out, bytes.at[i]);
    }
}

// `%-10.3s` with a literal: the text as printf would lay it out
static void fold_string(text *out, str spec, str bytes)
{
    size_t i = 1, width = 0, limit = SIZE_MAX;
    bool is_left = false;
    for (; i < spec.len && strchr("-+ #0", spec.at[i]); i++)
        is_left = is_left || spec.at[i] == '-';
    for (; i < spec.len && spec.at[i] >= '0' && spec.at[i] <= '9' && width < 4096; i++)
        width = width * 10 + (size_t)(spec.at[i] - '0');
    if (i < spec.len && spec.at[i] == '.') {
        limit = 0;
        for (i++; i < spec.len && spec.at[i] >= '0' && spec.at[i] <= '9' && limit < 4096; i++)
            limit = limit * 10 + (size_t)(spec.at[i] - '0');
    }
    size_t len = 0;
    while (len < bytes.len && bytes.at[len] && len < limit)
        len++;
    bytes.len = len;
    for (size_t k = len; k < width && !is_left; k++)
        text_putc(out, ' ');
    put_text(out, bytes);
    for (size_t k = len; k < width && is_left; k++)
        text_putc(out, ' ');
}

static ir_ref promoted(lower *l, const ast_expr *e)
{
    ir_ref v = lower_operand(l, e);
    l->at.at = e->at;
    if (e->type->kind == TY_F32)
        return lower_convert(l, v, e->type, type_scalar(TY_F64));
    if (type_is_integer(e->type) && lower_size(e->type) < 4)
        return lower_convert(l, v, e->type, type_scalar(TY_I32));
    return v;
}

// The format with the literal arguments folded in; is_folded[k] for the arguments that are.
static str fold_format(lower *l, const ast_expr *e, bool *is_folded)
{
    str f = stripped(e->args.at[0])->bytes;
    text out = {.in = l->f->in};
    uint32_t k = 1;
    for (size_t i = 0; i < f.len;) {
        if (f.at[i] != '%') {
            text_putc(&out, f.at[i++]);
            continue;
        }
        str spec = {f.at + i, conversion_length(f, i)};
        i += spec.len;
        if (spec.len == 2 && spec.at[1] == '%') {
            text_puts(&out, "%%");
            continue;
        }
        for (size_t j = 0; j < spec.len; j++)
            k += spec.at[j] == '*';
        if (spec.at[spec.len - 1] == 's' && k < e->args.len &&
            stripped(e->args.at[k])->kind == E_STRING) {
            fold_string(&out, spec, stripped(e->args.at[k])->bytes);
            is_folded[k] = true;
        } else {
            text_add(&out, spec.at, spec.len);
        }
        k++;
    }
    return (str){out.at ? out.at : "", out.len};
}

void lower_print(lower *l, const ast_expr *e)
{
    if (!e->args.len || stripped(e->args.at[0])->kind != E_STRING)
        bug("printf without a literal format");
    bool *is_folded = arena_array(l->f->in, bool, e->args.len);
    str format = fold_format(l, e, is_folded);
    ir_ref *operands = arena_array(l->f->in, ir_ref, e->args.len);
    uint32_t n = 0;
    for (uint32_t i = 1; i < e->args.len; i++) {
        if (!is_folded[i])
            operands[n++] = promoted(l, e->args.at[i]);
    }
    l->at.at = e->at;
    ir_inst_id id = ir_add(&l->at, IR_PRINT, IR_VOID, operands, n, NULL, 0);
    ir_at(l->func, id)->aux = lower_string(l, format);
}

void lower_assert(lower *l, const ast_expr *e)
{
    const ast_expr *condition = e->args.at[0];
    ir_ref c = lower_truth(l, condition);
    l->at.at = e->at;
    ir_inst_id id = ir_add(&l->at, IR_ASSERT, IR_VOID, &c, 1, NULL, 0);
    ir_at(l->func, id)->aux = lower_string(l, source_text(l->f->sources, condition->at));
}
