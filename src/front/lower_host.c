// Calls of host functions: arguments become scalars, objects behind pointers are read before the
// call and written after it. Start reading at lower_host_call.
#include "front/lower.h"
#include "ir/host.h"

typedef struct host_call {
    const host_shape *shape;
    place objects[HOST_PARAMS]; // v, i, o in memory
    ir_ref pointers[HOST_PARAMS];
} host_call;

static bool is_bool_at(const type *t, uint64_t offset)
{
    const type *def = type_def(t);
    if (t->kind == TY_ARRAY)
        return is_bool_at(t->base, offset % lower_size(t->base));
    if (t->kind != TY_STRUCT)
        return t->kind == TY_BOOL;
    for (uint32_t i = def->fields.len; i-- > 0;)
        if (def->fields.at[i].offset <= offset)
            return is_bool_at(def->fields.at[i].type, offset - def->fields.at[i].offset);
    return false;
}

static ir_ref load_scalar(lower *l, place from, const host_scalar *s)
{
    place at = from;
    at.offset = lower_offset(from.offset, s->offset);
    ir_ref address = lower_address(l, at);
    if (is_bool_at(from.type, s->offset))
        return ir_convert(&l->at, IR_ZEXT, IR_I8, ir_load(&l->at, IR_I1, address, 0));
    return ir_load(&l->at, (ir_type)s->type, address, 0);
}

static void store_scalar(lower *l, place to, const host_scalar *s, ir_ref value)
{
    place at = to;
    at.offset = lower_offset(to.offset, s->offset);
    ir_ref address = lower_address(l, at);
    if (is_bool_at(to.type, s->offset)) {
        value = lower_convert(l, value, type_scalar(TY_U8), type_scalar(TY_BOOL));
        ir_store(&l->at, IR_I1, address, 0, value);
    } else {
        ir_store(&l->at, (ir_type)s->type, address, 0, value);
    }
}

// Bytes of `size` times the argument that counts; a negative count is none.
static ir_ref counted_bytes(lower *l, const ast_expr *e, const ir_ref *values, uint32_t param)
{
    const ast_decl *d = e->callee_decl;
    uint32_t by = 0;
    while (d->params.at[by]->name != d->params.at[param]->counted_by)
        by++;
    const type *t = d->params.at[by]->type, *to = d->params.at[param]->type->base;
    ir_ref n = lower_convert(l, values[by], t->unqualified, type_scalar(TY_I64));
    if (type_is_signed(t))
        n = ir_bin(&l->at, IR_SMAX, IR_I64, n, ir_i64(l->func, 0));
    uint64_t size = to->kind == TY_VOID ? 1 : lower_size(to);
    return size == 1 ? n : ir_bin(&l->at, IR_MUL, IR_I64, n, ir_i64(l->func, (int64_t)size));
}

static void take_argument(lower *l, host_call *c, const ast_expr *e, uint32_t k, ir_ref *values)
{
    const ast_expr *arg = e->args.at[k];
    const ast_decl *param = e->callee_decl->params.at[k];
    char kind = c->shape->params[k].kind;
    if (type_is_record(arg->type)) {
        c->objects[k] = lower_temp(l, arg->type, arg->at);
        lower_init(l, c->objects[k], arg);
        return;
    }
    values[k] = lower_operand(l, arg);
    if (kind == 'i' || kind == 'o')
        c->objects[k] = (place){.base = values[k], .type = param->type->base->unqualified};
    if (kind == 'v' && arg->type->kind == TY_BOOL)
        values[k] = ir_convert(&l->at, IR_ZEXT, IR_I8, values[k]);
}

static ir_ref operand(lower *l, const host_call *c, const ast_expr *e, const ir_ref *values,
                      uint32_t n)
{
    const host_scalar *s = &c->shape->in[n];
    const host_param *p = &c->shape->params[s->param];
    if (host_is_counted(p->kind))
        return n == p->first ? values[s->param] : counted_bytes(l, e, values, s->param);
    return c->objects[s->param].base ? load_scalar(l, c->objects[s->param], s) : values[s->param];
}

ir_ref lower_host_call(lower *l, const ast_expr *e, place *record)
{
    host_shape shape;
    host_call c = {.shape = &shape};
    bool is_read = host_read(e->callee_decl->host_text, &shape);
    must(is_read && shape.param_count == e->args.len);
    ir_ref values[HOST_PARAMS] = {0}, operands[HOST_SCALARS];
    uint8_t types[HOST_SCALARS];
    for (uint32_t k = 0; k < e->args.len; k++)
        take_argument(l, &c, e, k, values);
    l->at.at = e->at;
    for (uint32_t k = 0; k < shape.in_count; k++)
        operands[k] = operand(l, &c, e, values, k);
    for (uint32_t k = 0; k < shape.out_count; k++)
        types[k] = shape.out[k].type;
    ir_inst_id id =
        ir_add(&l->at, IR_HOST, IR_VOID, operands, shape.in_count, types, shape.out_count);
    ir_at(l->func, id)->aux = lower_string(l, e->callee_decl->host_text);
    ir_ref first = ir_at(l->func, id)->result;
    const type *result = e->callee_decl->type->base;
    if (type_is_record(result))
        *record = lower_temp(l, result, e->at);
    for (uint32_t k = 0; k < shape.out_count; k++) {
        bool is_result = shape.out[k].param == HOST_RESULT;
        if (!is_result)
            store_scalar(l, c.objects[shape.out[k].param], &shape.out[k], first + k);
        else if (type_is_record(result))
            store_scalar(l, *record, &shape.out[k], first + k);
    }
    if (result->kind == TY_BOOL)
        return lower_convert(l, first, type_scalar(TY_U8), type_scalar(TY_BOOL));
    return shape.result_size && !type_is_record(result) ? first : IR_NONE;
}
