// Lines, names, types and literals of C-like text. Start reading at ctext_scalar.
#include <stdarg.h>

#include "back/ctext/ctext.h"

const char *const ctext_atomics[IR_AT_COUNT] = {
    [IR_AT_ADD] = "add",   [IR_AT_SMIN] = "smin", [IR_AT_SMAX] = "smax", [IR_AT_UMIN] = "umin",
    [IR_AT_UMAX] = "umax", [IR_AT_AND] = "and",   [IR_AT_OR] = "or",     [IR_AT_XOR] = "xor",
    [IR_AT_XCHG] = "xchg", [IR_AT_FADD] = "fadd", [IR_AT_FMIN] = "fmin", [IR_AT_FMAX] = "fmax"};

void ctext_put(ctext *t, const char *format, ...)
{
    for (int k = 0; k < t->depth; k++)
        text_puts(t->out, "    ");
    va_list args;
    va_start(args, format);
    text_puts(t->out, str_vformat(t->a, format, args));
    va_end(args);
    text_putc(t->out, '\n');
}

bool ctext_is_wide(ir_type type)
{
    return type == IR_I64 || type == IR_F64 || ir_is_ptr(type);
}

const char *ctext_name(ctext *t, ir_ref r)
{
    return str_format(t->a, "v%u", r);
}

const char *ctext_type(const ctext *t, ir_type type)
{
    return type == IR_F32        ? "float"
           : type == IR_F64      ? "double"
           : ctext_is_wide(type) ? t->words->wide_word
                                 : t->words->word;
}

const char *ctext_literal(ctext *t, ir_type type, uint64_t bits)
{
    if (type == IR_F32 && bits == 0x80000000u && t->folds)
        return "MINUS_ZERO";
    if (type == IR_F32)
        return str_format(t->a, "f32_bits(0x%llxu)", (unsigned long long)bits);
    if (type == IR_F64)
        return str_format(t->a, "f64_bits(0x%llx%s)", (unsigned long long)bits, t->words->wide);
    return str_format(t->a, "0x%llx%s", (unsigned long long)bits,
                      ctext_is_wide(type) ? t->words->wide : "u");
}

const char *ctext_scalar(ctext *t, ir_ref r)
{
    uint64_t bits;
    if (ir_const_bits(t->f, r, &bits))
        return ctext_literal(t, ir_type_of(t->f, r), bits);
    return t->words->scalar ? t->words->scalar(t, r) : ctext_name(t, r);
}

const char *ctext_bits(ctext *t, ir_ref r)
{
    ir_type type = ir_type_of(t->f, r);
    const char *x = ctext_scalar(t, r);
    return type == IR_F32 || type == IR_F64 ? str_format(t->a, "bits_%s(%s)", ir_type_name(type), x)
                                            : x;
}

const char *ctext_op(ctext *t, ir_op op)
{
    char *name = str_format(t->a, "%s", ir_op_name(op));
    for (char *p = name; *p; p++)
        if (*p == '.')
            *p = '_';
    return name;
}

bool ctext_is_memory(uint16_t op)
{
    return op >= IR_LOAD && op <= IR_ATOMSTORE && op != IR_LOCAL && op != IR_SHARED &&
           op != IR_CONSTANT;
}

void ctext_put_bytes(text *out, const ir_data *d)
{
    for (uint64_t b = 0; b < d->size; b++)
        text_printf(out, "%s%u,", b % 32 ? "" : "\n    ", d->bytes[b]);
}
