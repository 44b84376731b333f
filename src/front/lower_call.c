// Calls of device functions, by name or through a pointer.
//
// A call through a pointer is a call of the type's dispatcher: a function that compares the pointer
// with every function of that type whose address is taken and calls the one it is; any other
// pointer is a fault. So code that jumps to an address exists on no device.
// Start at lower_call and lower_dispatcher.
#include "front/lower.h"

static dispatcher *dispatcher_of(lower *l, const type *t, span at)
{
    for (uint32_t i = 0; i < l->dispatchers.len; i++)
        if (type_same(l->dispatchers.at[i].type, t, true))
            return &l->dispatchers.at[i];
    char *name = str_format(l->f->in, "call.%u", l->dispatchers.len + 1);
    ir_func *func = ir_func_add(l->module, name_cstr(l->f->names, name));
    func->at = at;
    func->is_dispatcher = true;
    ir_param_add(func, (ir_param){.name = "target",
                                  .kind = IR_PARAM_SCALAR,
                                  .type = IR_I64,
                                  .size = 8,
                                  .align = 8,
                                  .c_type = type_text(l->f->in, t)});
    lower_signature(l, func, t);
    dispatcher made = {.type = t, .func = func, .index = l->module->funcs.len - 1, .at = at};
    vec_push(l->f->in, &l->dispatchers, made);
    return &vec_last(&l->dispatchers);
}

// The arguments that '...' stands for, 8 bytes each, in a temporary of the caller.
static ir_ref lower_rest(lower *l, const ast_expr *e, uint32_t fixed)
{
    uint32_t count = e->args.len > fixed ? e->args.len - fixed : 1;
    const type *word = type_scalar(TY_U64);
    place all = lower_temp(l, type_array(l->f->in, word, count, false), e->at);
    for (uint32_t i = fixed; i < e->args.len; i++) {
        const ast_expr *arg = e->args.at[i];
        const type *to = arg->type->unqualified;
        ir_ref value = lower_operand(l, arg);
        if (type_is_integer(to)) {
            value = lower_convert(l, value, to, word);
            to = word;
        }
        place slot = {.base = all.base, .offset = 8 * (int64_t)(i - fixed), .type = to};
        l->at.at = arg->at;
        lower_store(l, slot, value);
    }
    return lower_generic(l, all.base);
}

ir_ref lower_call(lower *l, const ast_expr *e, place *record)
{
    const type *t = e->callee_decl ? e->callee_decl->type : e->a->type->base;
    const ir_func *callee;
    uint32_t index, n = 0;
    ir_ref *operands = arena_array(l->f->in, ir_ref, e->args.len + 4);
    if (e->callee_decl) {
        callee = lower_func_of(l, e->callee_decl);
        index = e->callee_decl->lower_index;
    } else {
        const dispatcher *d = dispatcher_of(l, t, e->at);
        callee = d->func;
        index = d->index;
        operands[n++] = lower_value(l, e->a);
    }
    if (type_is_record(t->base)) {
        *record = lower_temp(l, t->base, e->at);
        operands[n++] = lower_generic(l, record->base);
    }
    uint32_t fixed = t->is_variadic ? t->params.len : e->args.len;
    for (uint32_t i = 0; i < fixed; i++) {
        const ast_expr *arg = e->args.at[i];
        if (type_is_record(arg->type) && e->callee_decl && lower_keeps_in_place(l, e, i)) {
            operands[n++] = lower_generic(l, lower_address(l, lower_place(l, arg)));
        } else if (type_is_record(arg->type)) {
            place copy = lower_temp(l, arg->type, arg->at);
            lower_init(l, copy, arg);
            operands[n++] = lower_generic(l, copy.base);
        } else {
            operands[n++] = lower_operand(l, arg);
        }
    }
    if (t->is_variadic)
        operands[n++] = lower_rest(l, e, fixed);
    if (l->thread_type)
        operands[n++] = lower_generic(l, l->thread);
    l->at.at = e->at;
    ir_inst_id id =
        ir_add(&l->at, IR_CALL, IR_VOID, operands, n, callee->returns.at, callee->returns.len);
    ir_at(l->func, id)->aux = index;
    return ir_at(l->func, id)->result;
}

// --- dispatchers

typedef vec(ast_decl *) functions;

static functions candidates_of(const lower *l, const type *t)
{
    functions out = {0};
    for (uint32_t i = 0; i < l->f->taken.len; i++) {
        ast_decl *d = l->f->taken.at[i];
        if (d->is_reachable && type_same(d->type, t, true))
            vec_push(l->f->in, &out, d);
    }
    return out;
}

static void leave_with(lower *l, ir_inst_id from, ir_ref value)
{
    ir_exit(&l->at, from, &value, l->func->returns.len);
}

void lower_dispatcher(lower *l, uint32_t index)
{
    dispatcher d = l->dispatchers.at[index];
    functions among = candidates_of(l, d.type);
    ir_func *f = l->func = d.func;
    l->at = ir_at_end(f, f->body, d.at);
    ir_ref target = f->first_param;
    ir_inst_id choice =
        ir_control(&l->at, IR_SWITCH, &target, 1, among.len + 1, f->returns.at, f->returns.len);
    int64_t *cases = arena_array(l->f->in, int64_t, among.len + 1);
    ir_at(f, choice)->cases = cases;
    uint32_t count = f->params.len - 1;
    ir_ref *operands = arena_array(l->f->in, ir_ref, count + 1);
    for (uint32_t k = 0; k < count; k++)
        operands[k] = f->first_param + 1 + k;
    for (uint32_t k = 0; k < among.len; k++) {
        cases[k] = (int64_t)function_token(among.at[k]);
        lower_func_of(l, among.at[k]);
        l->at.region = ir_at(f, choice)->regions + k;
        ir_inst_id id =
            ir_add(&l->at, IR_CALL, IR_VOID, operands, count, f->returns.at, f->returns.len);
        ir_at(f, id)->aux = among.at[k]->lower_index;
        leave_with(l, choice, ir_at(f, id)->result);
    }
    l->at.region = ir_at(f, choice)->regions + among.len;
    ir_ref fine = ir_bool(f, false);
    ir_inst_id fault = ir_add(&l->at, IR_ASSERT, IR_VOID, &fine, 1, NULL, 0);
    char *what = str_format(l->f->in, IR_TEXT_POINTER "function '%s'", type_text(l->f->in, d.type));
    ir_at(f, fault)->aux = lower_string(l, str_of(what));
    leave_with(l, choice, f->returns.len ? ir_constant(f, (ir_type)f->returns.at[0], 0) : IR_NONE);
    l->at.region = f->body;
    ir_ref result = ir_at(f, choice)->result;
    ir_return(&l->at, &result, f->returns.len);
}
