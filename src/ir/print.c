// IR to text. The text reads back (read.c) to the same IR, and printing that gives the same text:
// values and labels are numbered in reading order, not by their index in the arrays. docs/ir.md
// describes the form. Start at ir_print_module; print_inst has one branch per shape of line.
//
// Spans are shown as trailing comments when the module knows its sources; reading ignores them.
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/nv.h"
#include "ir/tables.h"

typedef struct printer {
    const ir_func *f;
    text *out;
    uint32_t *number; // per value
    uint32_t *label;  // per control instruction
    uint32_t next_number, next_label;
    int depth;
} printer;

// --- numbering

static void number_values(printer *p, ir_ref first, uint32_t count)
{
    for (uint32_t k = 0; k < count && first + k < p->f->values.len; k++)
        p->number[first + k] = p->next_number++;
}

static void number_region(printer *p, ir_region_id id)
{
    const ir_region *r = ir_region_at(p->f, id);
    number_values(p, r->args, r->arg_count);
    for (ir_inst_id i = r->first; i; i = ir_at(p->f, i)->next) {
        const ir_inst *inst = ir_at(p->f, i);
        if (ir_is_control((ir_op)inst->op))
            p->label[i] = p->next_label++;
        number_values(p, inst->result, inst->result_count);
        for (uint32_t k = 0; k < inst->region_count; k++)
            number_region(p, inst->regions + k);
    }
}

// --- small things

static void put_quoted(text *out, str s)
{
    text_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c == '\n')
            text_puts(out, "\\n");
        else if (c < 32 || c >= 127)
            text_printf(out, "\\x%02x", c);
        else
            text_putc(out, (char)c);
    }
    text_putc(out, '"');
}

// The shortest decimal that reads back to the same bits, whatever the process's locale says about
// the decimal point.
static void put_decimal(text *out, double v, bool is_f32)
{
    char buffer[40];
    for (int digits = is_f32 ? 6 : 15; digits <= 17; digits++) {
        snprintf(buffer, sizeof buffer, "%.*g", digits, v);
        if (is_f32 ? strtof(buffer, NULL) == (float)v : strtod(buffer, NULL) == v)
            break;
    }
    for (char *c = buffer; *c; c++)
        if (*c == localeconv()->decimal_point[0])
            *c = '.';
    text_puts(out, buffer);
}

static void put_float(text *out, ir_type type, uint64_t bits)
{
    double v;
    if (type == IR_F32) {
        float single;
        uint32_t low = (uint32_t)bits;
        memcpy(&single, &low, sizeof single);
        v = (double)single;
    } else {
        memcpy(&v, &bits, sizeof v);
    }
    if (isinf(v))
        text_puts(out, v < 0 ? "-inf" : "inf");
    else if (isnan(v))
        text_printf(out, "0x%llx", (unsigned long long)bits);
    else
        put_decimal(out, v, type == IR_F32);
}

static void put_const(text *out, const ir_const *k, ir_type known)
{
    if (k->type != known && k->type != IR_I1)
        text_printf(out, "%s ", ir_type_name(k->type));
    switch (k->type) {
    case IR_I1: text_puts(out, k->bits ? "true" : "false"); break;
    case IR_I8: text_printf(out, "%d", (int8_t)k->bits); break;
    case IR_I16: text_printf(out, "%d", (int16_t)k->bits); break;
    case IR_I32: text_printf(out, "%d", (int32_t)k->bits); break;
    case IR_I64: text_printf(out, "%lld", (long long)k->bits); break;
    case IR_F32:
    case IR_F64: put_float(out, k->type, k->bits); break;
    case IR_F16:
    case IR_BF16:
    case IR_F8E4:
    case IR_F8E5:
    case IR_PTR_GEN:
    case IR_PTR_GLOBAL:
    case IR_PTR_SHARED:
    case IR_PTR_LOCAL:
    case IR_PTR_CONST:
    case IR_PTR_PARAM: text_printf(out, "0x%llx", (unsigned long long)k->bits); break;
    case IR_VOID:
    case IR_TYPE_COUNT: text_puts(out, "?"); break;
    }
}

// A parameter is shown by its bare name when no other parameter has it.
static bool has_own_name(const ir_func *f, uint32_t param)
{
    const char *name = f->params.at[param].name;
    if (!name || !*name)
        return false;
    for (uint32_t i = 0; i < f->params.len; i++)
        if (i != param && f->params.at[i].name && !strcmp(f->params.at[i].name, name))
            return false;
    return true;
}

static void put_value(printer *p, ir_ref r)
{
    const ir_func *f = p->f;
    if (r >= f->values.len || !r) {
        text_puts(p->out, "%?");
        return;
    }
    const ir_value *v = &f->values.at[r];
    if (v->def == IR_DEF_PARAM && v->index < f->params.len && has_own_name(f, v->index))
        text_printf(p->out, "%%%s", f->params.at[v->index].name);
    else if (v->name && *v->name)
        text_printf(p->out, "%%%s.%u", v->name, p->number[r]);
    else
        text_printf(p->out, "%%%u", p->number[r]);
}

static void put_ref(printer *p, ir_ref r, ir_type known)
{
    if (ir_is_const(r) && ir_index(r) < p->f->consts.len)
        put_const(p->out, &p->f->consts.at[ir_index(r)], known);
    else
        put_value(p, r);
}

static void put_list(printer *p, const ir_inst *i, uint32_t from, ir_type known)
{
    for (uint32_t k = from; k < i->operand_count; k++) {
        if (k > from)
            text_puts(p->out, ", ");
        put_ref(p, ir_operand(p->f, i, k), known);
    }
}

static void indent(printer *p)
{
    for (int i = 0; i < p->depth; i++)
        text_puts(p->out, "    ");
}

static void put_place(printer *p, span at)
{
    source_map *sources = p->f->module->sources;
    if (at.lo && sources) {
        source_place place = source_find(sources, at.lo);
        bool is_elsewhere =
            place.file && p->f->at.lo && source_file_at(sources, p->f->at.lo) != place.file;
        if (place.file)
            text_printf(p->out, " ; %s%s%u:%u", is_elsewhere ? place.file->path : "",
                        is_elsewhere ? ":" : "", place.line, place.column);
    }
    text_putc(p->out, '\n');
}

static const char *name_at(const char *const *names, uint32_t index)
{
    for (uint32_t i = 0; names[i]; i++)
        if (i == index)
            return names[i];
    return "?";
}

// `$tile.3`: the third shared array (local, constant table), whose name is tile.
static void put_slot(text *out, const char *name, uint32_t index)
{
    if (name && *name)
        text_printf(out, "$%s.%u", name, index);
    else
        text_printf(out, "$%u", index);
}

// --- instructions

static void put_aux(printer *p, const ir_inst *i)
{
    const ir_func *f = p->f;
    const ir_module *m = f->module;
    text *out = p->out;
    ir_op op = (ir_op)i->op;
    if (op == IR_NV)
        text_printf(out, ".%s", i->aux < NV_COUNT ? nv_row_of(i)->name : "?");
    else if (op == IR_ATOMIC)
        text_printf(out, ".%s", name_at(ir_atomic_names, i->aux));
    else if (op == IR_SHUFFLE)
        text_printf(out, ".%s", name_at(ir_shuffle_names, i->aux));
    else if (op >= IR_HADD2 && op <= IR_HMAX2)
        text_printf(out, ".%s", ir_type_name((ir_type)i->aux));
    else if (op == IR_UNIFORM)
        text_puts(out, i->aux == 2 ? ".block" : i->aux == 1 ? ".warp" : ".?");
    else if (op >= IR_THREAD && op <= IR_GRIDDIM)
        text_printf(out, ".%c", i->imm >= 0 && i->imm < 3 ? "xyz"[i->imm] : '?');
    else if (op == IR_LOCAL || op == IR_SHARED || op == IR_CONSTANT) {
        text_putc(out, ' ');
        const char *name = NULL;
        if (op == IR_LOCAL && i->aux < f->locals.len)
            name = f->locals.at[i->aux].name;
        else if (op == IR_SHARED && i->aux < m->shared.len)
            name = m->shared.at[i->aux].name;
        else if (op == IR_CONSTANT && i->aux < m->data.len)
            name = m->data.at[i->aux].name;
        put_slot(out, name, i->aux);
    } else if (op == IR_PRINT || op == IR_HOST || op == IR_ASSERT || op == IR_BOUNDS) {
        text_putc(out, ' ');
        put_quoted(out, i->aux < m->strings.len ? m->strings.at[i->aux] : STR("?"));
    } else if (op == IR_CALL) {
        text_printf(out, " @%s", i->aux < m->funcs.len ? m->funcs.at[i->aux]->name : "?");
    } else if (op == IR_EXIT || op == IR_NEXT) {
        text_printf(out, " L%u", i->aux < f->insts.len ? p->label[i->aux] : 0);
    }
}

static void put_attributes(printer *p, const ir_inst *i)
{
    text *out = p->out;
    if (ir_op_is_memory((ir_op)i->op) && i->imm)
        text_printf(out, " offset(%lld)", (long long)i->imm);
    if (i->op == IR_NV && i->aux < NV_COUNT && nv_row_of(i)->imm == NV_IMM_SHAPE) {
        text_puts(out, " shape(");
        nv_shape_text(nv_unpack(i->imm), out);
        text_putc(out, ')');
    } else if ((i->op == IR_NV || i->op == IR_CLUSTER) && i->imm)
        text_printf(out, " imm(%lld)", (long long)i->imm);
    if (i->op == IR_BOUNDS)
        text_printf(out, " elem(%lld)", (long long)i->imm);
    if (i->align)
        text_printf(out, " align(%u)", i->align);
    if (i->hint)
        text_printf(out, " hint(%s)", name_at(ir_hint_names, i->hint));
    if (i->order)
        text_printf(out, " order(%s)", name_at(ir_order_names, i->order));
    if (i->scope)
        text_printf(out, " scope(%s)", name_at(ir_scope_names, i->scope));
}

static void print_plain(printer *p, const ir_inst *i)
{
    text *out = p->out;
    for (uint32_t k = 0; k < i->result_count; k++) {
        put_value(p, i->result + k);
        text_puts(out, k + 1 < i->result_count ? ", " : " = ");
    }
    text_puts(out, ir_op_name((ir_op)i->op));
    put_aux(p, i);
    ir_type fixed;
    bool is_fixed = ir_op_fixed_type((ir_op)i->op, &fixed);
    if (!is_fixed)
        text_printf(out, " %s", ir_type_name((ir_type)i->type));
    // Calls and terminators take a list in parentheses; their constants always say their type.
    bool is_listed = i->op == IR_CALL || i->op == IR_PRINT || ir_is_terminator((ir_op)i->op);
    if (i->op == IR_CALL || i->op == IR_NV || i->op == IR_HOST) {
        text_puts(out, " (");
        put_list(p, i, 0, IR_VOID);
        text_puts(out, ") : (");
        for (uint32_t k = 0; k < i->result_count; k++)
            text_printf(out, "%s%s", k ? ", " : "", ir_type_name(ir_type_of(p->f, i->result + k)));
        text_putc(out, ')');
    } else if (is_listed && i->operand_count) {
        text_puts(out, " (");
        put_list(p, i, 0, IR_VOID);
        text_putc(out, ')');
    } else if (i->operand_count) {
        text_putc(out, ' ');
        put_list(p, i, 0, is_fixed ? IR_VOID : (ir_type)i->type);
    }
    put_attributes(p, i);
    put_place(p, i->at);
}

static void print_region(printer *p, ir_region_id id);

static void put_results(printer *p, const ir_inst *i)
{
    if (!i->result_count)
        return;
    text_puts(p->out, " -> (");
    for (uint32_t k = 0; k < i->result_count; k++) {
        if (k)
            text_puts(p->out, ", ");
        put_value(p, i->result + k);
        text_printf(p->out, ": %s", ir_type_name(ir_type_of(p->f, i->result + k)));
    }
    text_putc(p->out, ')');
}

static void put_loop_args(printer *p, const ir_inst *i)
{
    const ir_region *r = ir_region_at(p->f, i->regions);
    if (!r->arg_count && !i->operand_count)
        return;
    text_puts(p->out, " (");
    for (uint32_t k = 0; k < r->arg_count && k < i->operand_count; k++) {
        if (k)
            text_puts(p->out, ", ");
        put_value(p, r->args + k);
        ir_type type = ir_type_of(p->f, r->args + k);
        text_printf(p->out, ": %s = ", ir_type_name(type));
        put_ref(p, ir_operand(p->f, i, k), type);
    }
    text_putc(p->out, ')');
}

static void print_control(printer *p, ir_inst_id id)
{
    const ir_inst *i = ir_at(p->f, id);
    text *out = p->out;
    text_printf(out, "L%u: %s", p->label[id], ir_op_name((ir_op)i->op));
    if (i->op == IR_LOOP) {
        put_loop_args(p, i);
    } else if (i->operand_count) {
        text_putc(out, ' ');
        put_list(p, i, 0, IR_VOID);
    }
    put_results(p, i);
    if (i->unroll)
        text_printf(out, " unroll(%d)", i->unroll);
    text_puts(out, " {");
    if (i->op != IR_SWITCH)
        put_place(p, i->at);
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (i->op == IR_SWITCH) {
            if (!k) {
                put_place(p, i->at);
                indent(p);
            }
            if (k + 1 < i->region_count)
                text_printf(out, "case %lld:\n", (long long)i->cases[k]);
            else
                text_puts(out, "default:\n");
        }
        print_region(p, i->regions + k);
        indent(p);
        if (i->op == IR_IF && k + 1 < i->region_count)
            text_puts(out, "} else {\n");
    }
    text_puts(out, "}\n");
}

static void print_region(printer *p, ir_region_id id)
{
    p->depth++;
    for (ir_inst_id i = ir_region_at(p->f, id)->first; i; i = ir_at(p->f, i)->next) {
        indent(p);
        if (ir_is_control((ir_op)ir_at(p->f, i)->op))
            print_control(p, i);
        else
            print_plain(p, ir_at(p->f, i));
    }
    p->depth--;
}

// --- functions

static const char *scalar_name(ir_type t, bool is_unsigned)
{
    if (is_unsigned && t >= IR_I8 && t <= IR_I64) {
        static const char *const names[] = {"u8", "u16", "u32", "u64"};
        return names[t - IR_I8];
    }
    return ir_type_name(t);
}

static void put_param(printer *p, uint32_t index)
{
    const ir_param *param = &p->f->params.at[index];
    text *out = p->out;
    put_value(p, p->f->first_param + index);
    if (param->kind == IR_PARAM_BYTES) {
        text_printf(out, ": bytes(%u, %u)", param->size, param->align);
    } else if (param->kind == IR_PARAM_TENSOR_MAP) {
        text_puts(out, ": tensor_map");
    } else if (param->kind == IR_PARAM_POINTER) {
        text_printf(out, ": %s%s%s %s", ir_type_name((ir_type)param->type),
                    param->is_const ? " const" : "", param->is_restrict ? " restrict" : "",
                    scalar_name((ir_type)param->elem, param->elem_unsigned));
        uint32_t natural = ir_type_size((ir_type)param->elem);
        if (param->elem_size != natural || param->elem_align != natural)
            text_printf(out, "(%u, %u)", param->elem_size, param->elem_align);
    } else {
        text_printf(out, ": %s", scalar_name((ir_type)param->type, param->elem_unsigned));
    }
    if (param->is_hidden)
        text_puts(out, " hidden");
    if (param->c_type) {
        text_putc(out, ' ');
        put_quoted(out, str_of(param->c_type));
    }
}

static void put_triple(text *out, const char *word, const uint32_t v[3])
{
    if (v[0] || v[1] || v[2])
        text_printf(out, " %s(%u, %u, %u)", word, v[0], v[1], v[2]);
}

static void put_array(text *out, const char *word, const char *name, uint32_t index, uint64_t size,
                      uint32_t align, uint8_t elem, uint32_t row)
{
    text_printf(out, "%s ", word);
    put_slot(out, name, index);
    text_printf(out, " size(%llu) align(%u)", (unsigned long long)size, align);
    if (elem)
        text_printf(out, " elem(%s)", ir_type_name((ir_type)elem));
    if (row)
        text_printf(out, " row(%u)", row);
}

void ir_print_func(const ir_func *f, text *out)
{
    printer p = {.f = f,
                 .out = out,
                 .number = arena_array(out->in, uint32_t, f->values.len),
                 .label = arena_array(out->in, uint32_t, f->insts.len),
                 .next_label = 1};
    number_values(&p, f->first_param, f->params.len);
    number_region(&p, f->body);
    text_printf(out, "%s @%s(", f->is_kernel ? "kernel" : "func", f->name);
    for (uint32_t i = 0; i < f->params.len; i++) {
        if (i)
            text_puts(out, ", ");
        put_param(&p, i);
    }
    text_putc(out, ')');
    if (f->returns.len) {
        text_puts(out, " -> (");
        for (uint32_t i = 0; i < f->returns.len; i++)
            text_printf(out, "%s%s", i ? ", " : "", ir_type_name((ir_type)f->returns.at[i]));
        text_putc(out, ')');
    }
    put_triple(out, "block", f->block);
    put_triple(out, "cluster", f->cluster);
    if (f->min_blocks)
        text_printf(out, " min_blocks(%u)", f->min_blocks);
    if (f->max_registers)
        text_printf(out, " max_registers(%u)", f->max_registers);
    if (f->max_threads)
        text_printf(out, " max_threads(%u)", f->max_threads);
    if (f->is_noinline)
        text_puts(out, " noinline");
    if (f->is_kept)
        text_puts(out, " kept");
    if (f->is_dispatcher)
        text_puts(out, " dispatcher");
    if (f->is_bounded)
        text_puts(out, " bounded");
    if (f->recursion_limit)
        text_printf(out, " recursion(%u)", f->recursion_limit);
    text_puts(out, " {");
    put_place(&p, f->at);
    for (uint32_t i = 0; i < f->locals.len; i++) {
        const ir_local *l = &f->locals.at[i];
        text_puts(out, "    ");
        put_array(out, "local", l->name, i, l->size, l->align, l->elem, l->row);
        text_putc(out, '\n');
    }
    print_region(&p, f->body);
    text_puts(out, "}\n");
}

static void print_data(const ir_data *d, uint32_t index, text *out)
{
    put_array(out, "data", d->name, index, d->size, d->align, d->elem, d->row);
    text_puts(out, " {");
    for (uint64_t i = 0; i < d->size; i++)
        text_printf(out, "%s%02x", i % 32 ? " " : "\n    ", d->bytes[i]);
    text_puts(out, "\n}\n");
}

void ir_print_module(const ir_module *m, text *out)
{
    if (m->name) {
        text_puts(out, "module ");
        put_quoted(out, str_of(m->name));
        text_putc(out, '\n');
    }
    for (uint32_t i = 0; i < m->shared.len; i++) {
        const ir_shared *s = &m->shared.at[i];
        put_array(out, "shared", s->name, i, s->size, s->align, s->elem, s->row);
        if (s->is_dynamic)
            text_puts(out, " dynamic");
        if (s->used_by)
            text_printf(out, " used_by(@%s)", s->used_by->name);
        text_putc(out, '\n');
    }
    for (uint32_t i = 0; i < m->data.len; i++)
        print_data(&m->data.at[i], i, out);
    for (uint32_t i = 0; i < m->funcs.len; i++) {
        if (out->len)
            text_putc(out, '\n');
        ir_print_func(m->funcs.at[i], out);
    }
}
