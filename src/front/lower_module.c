// The module: one IR function per kernel and per device function that lowering meets, with the
// shared arrays, constant data and strings they use.
//
// Records travel by address: a device function takes a pointer to the caller's copy (or to the
// caller's variable, where nothing can tell) and, for a record result, a pointer to where it goes
// as its first parameter. A kernel's record parameter is read in place and copied to a local only
// when the kernel changes it or takes its address.
// Start at lower_module.
#include "front/lower.h"

ir_type lower_leaf_type(const type *t)
{
    const type *def = type_def(t);
    if (t->kind == TY_ARRAY)
        return lower_leaf_type(t->base);
    if (!type_is_record(t))
        return type_ir(t);
    ir_type all = IR_VOID;
    for (uint32_t i = 0; i < def->fields.len; i++) {
        ir_type one = lower_leaf_type(def->fields.at[i].type);
        if (one == IR_VOID || def->fields.at[i].bits || (all != IR_VOID && one != all))
            return IR_VOID;
        all = one;
    }
    return all;
}

uint32_t lower_row_size(const type *t)
{
    bool is_array = t->kind == TY_ARRAY;
    while (t->kind == TY_ARRAY)
        t = t->base;
    uint64_t size = is_array && type_is_record(t) ? lower_size(t) : 0;
    return size <= UINT32_MAX ? (uint32_t)size : 0;
}

static bool has_unsigned_leaf(const type *t)
{
    while (t->kind == TY_ARRAY || type_is_record(t)) {
        if (type_is_record(t) && !type_def(t)->fields.len)
            return false;
        t = t->kind == TY_ARRAY ? t->base : type_def(t)->fields.at[0].type;
    }
    return type_is_integer(t) && !type_is_signed(t);
}

uint32_t lower_string(lower *l, str bytes)
{
    for (uint32_t i = 0; i < l->module->strings.len; i++) {
        if (str_same(l->module->strings.at[i], bytes))
            return i;
    }
    str copy = {str_dup(l->f->in, bytes), bytes.len};
    vec_push(l->f->in, &l->module->strings, copy);
    return l->module->strings.len - 1;
}

// Two functions may each have a shared array of the same name.
static const char *shared_name(lower *l, const ast_decl *d)
{
    uint32_t same = 1;
    for (uint32_t i = 0; i < l->module->shared.len; i++) {
        const char *other = l->module->shared.at[i].name;
        size_t len = strlen(d->name);
        same += !strncmp(other, d->name, len) && (!other[len] || other[len] == '.');
    }
    if (same == 1)
        return d->name;
    return name_cstr(l->f->names, str_format(l->f->in, "%s.%u", d->name, same));
}

uint32_t lower_shared(lower *l, ast_decl *d)
{
    if (d->lower_index)
        return d->lower_index - 1;
    bool is_dynamic = d->type->kind == TY_ARRAY && d->type->is_incomplete;
    ir_shared shared = {.name = shared_name(l, d),
                        .size = is_dynamic ? 0 : lower_size(d->type),
                        .align = d->align > d->type->align ? d->align : d->type->align,
                        .elem = (uint8_t)lower_leaf_type(d->type),
                        .row = lower_row_size(d->type),
                        .is_dynamic = is_dynamic,
                        .at = d->at};
    vec_push(l->f->in, &l->module->shared, shared);
    d->lower_index = l->module->shared.len;
    return d->lower_index - 1;
}

// --- signatures

static ir_param describe(lower *l, const ast_decl *p, bool is_kernel)
{
    const type *t = p->type;
    ir_param out = {.name = p->name ? p->name : "unnamed",
                    .kind = IR_PARAM_SCALAR,
                    .type = (uint8_t)type_ir(t),
                    .size = (uint32_t)lower_size(t),
                    .align = type_is_record(t) ? type_def(t)->align : t->align,
                    .c_type = type_text(l->f->in, t),
                    .at = p->at};
    if (t->kind == TY_PTR && !is_function_pointer(t)) {
        const type *to = t->base;
        out.kind = IR_PARAM_POINTER;
        out.type = is_kernel ? IR_PTR_GLOBAL : IR_PTR_GEN;
        out.elem = (uint8_t)type_ir(to);
        out.elem_unsigned = type_is_integer(to) && !type_is_signed(to);
        out.is_const = to->quals & QUAL_CONST;
        out.is_restrict = t->quals & QUAL_RESTRICT;
        out.elem_size = (uint32_t)lower_size(to);
        out.elem_align = type_is_record(to) ? type_def(to)->align : to->align;
    } else if (t->kind == TY_TENSOR_MAP) {
        out.kind = IR_PARAM_TENSOR_MAP;
        out.type = IR_PTR_PARAM;
    } else if (type_is_record(t)) {
        out.kind = is_kernel ? IR_PARAM_BYTES : IR_PARAM_POINTER;
        out.type = is_kernel ? IR_PTR_PARAM : IR_PTR_GEN;
        out.elem_unsigned = has_unsigned_leaf(t);
        out.elem_size = is_kernel ? 0 : out.size;
        out.elem_align = is_kernel ? 0 : out.align;
    } else {
        out.elem_unsigned = type_is_integer(t) && !type_is_signed(t);
    }
    return out;
}

static void declare_result(lower *l, ir_func *func, const type *result)
{
    if (type_is_record(result)) {
        ir_param_add(func, (ir_param){.name = "__result",
                                      .kind = IR_PARAM_POINTER,
                                      .type = IR_PTR_GEN,
                                      .size = 8,
                                      .align = 8,
                                      .elem_size = (uint32_t)lower_size(result),
                                      .elem_align = type_def(result)->align,
                                      .c_type = type_text(l->f->in, result)});
    } else if (result->kind != TY_VOID) {
        vec_push(l->f->in, &func->returns, (uint8_t)type_ir(result));
    }
}

// The variables that each thread has live in the kernel; functions get their address.
static void declare_thread(lower *l, ir_func *func)
{
    if (l->thread_type)
        ir_param_add(func, (ir_param){.name = "__thread",
                                      .kind = IR_PARAM_POINTER,
                                      .type = IR_PTR_GEN,
                                      .size = 8,
                                      .align = 8,
                                      .elem_size = (uint32_t)lower_size(l->thread_type),
                                      .elem_align = l->thread_type->align,
                                      .c_type = type_text(l->f->in, l->thread_type)});
}

void lower_signature(lower *l, ir_func *func, const type *t)
{
    declare_result(l, func, t->base);
    for (uint32_t i = 0; i < t->params.len; i++) {
        ast_decl param = {.type = t->params.at[i],
                          .name = str_format(l->f->in, "argument%u", i + 1),
                          .at = func->at};
        ir_param_add(func, describe(l, &param, false));
    }
    declare_thread(l, func);
}

// Names of functions are unique in a module, or its text could not be read back. The library's
// headers repeat what they share, each in a scope of its own.
static const char *func_name(lower *l, const ast_decl *d)
{
    const char *name = d->name;
    bool is_taken = true;
    for (uint32_t number = 1; is_taken; number++) {
        is_taken = false;
        for (uint32_t i = 0; i < l->module->funcs.len && !is_taken; i++)
            is_taken = !strcmp(l->module->funcs.at[i]->name, name);
        if (is_taken)
            name = str_format(l->module->in, "%s.%u", d->name, number);
    }
    return name;
}

ir_func *lower_func_of(lower *l, ast_decl *d)
{
    if (d->lowered)
        return d->lowered;
    ir_func *func = ir_func_add(l->module, func_name(l, d));
    func->is_kernel = d->is_kernel;
    func->at = d->at;
    if (d->is_kernel) {
        func->cluster_at = d->cluster_at;
        memcpy(func->block, d->block, sizeof func->block);
        memcpy(func->cluster, d->cluster, sizeof func->cluster);
        func->min_blocks = d->min_blocks;
        func->max_registers = d->max_registers;
        func->max_threads = d->max_threads;
        func->allows_early_return = d->allows_early_return;
        // A mark with fewer than three numbers means 1 for the rest.
        for (uint32_t i = 1; i < 3; i++) {
            if (func->block[0] && !func->block[i])
                func->block[i] = 1;
            if (func->cluster[0] && !func->cluster[i])
                func->cluster[i] = 1;
        }
    } else {
        declare_result(l, func, d->type->base);
        func->is_noinline = d->is_noinline;
        func->recursion_limit = d->recursion_limit;
    }
    for (uint32_t i = 0; i < d->params.len; i++)
        ir_param_add(func, describe(l, d->params.at[i], d->is_kernel));
    if (!d->is_kernel)
        declare_thread(l, func);
    d->lowered = func;
    d->lower_index = l->module->funcs.len - 1;
    vec_push(l->f->in, &l->wanted, d);
    return func;
}

// --- bodies

// Gives parameter `p`, whose IR value is `v`, its home.
static void bind_param(lower *l, ast_decl *p, ir_ref v)
{
    var_slot *slot = arena_new_of(l->f->in, var_slot);
    bool is_kept = !p->is_assigned && !p->is_address_taken;
    p->lower_data = slot;
    l->at.at = p->at;
    if (type_is_record(p->type)) {
        slot->pointer = v;
        if (l->decl->is_kernel && (!is_kept || lower_array_escapes(l->decl->body, p))) {
            slot->pointer = lower_local(l, p->name, p->type, p->align, p->at);
            lower_copy(l, (place){.base = slot->pointer, .type = p->type->unqualified},
                       (place){.base = v, .type = p->type->unqualified});
        }
    } else if (p->type->kind == TY_TENSOR_MAP) {
        slot->pointer = v; // the copy engine wants it where the launch put it
    } else if (is_kept) {
        slot->value = v;
    } else {
        slot->pointer = lower_local(l, p->name, p->type, p->align, p->at);
        if (ir_is_ptr(ir_type_of(l->func, v)))
            v = lower_generic(l, v);
        lower_store(l, (place){.base = slot->pointer, .type = p->type->unqualified}, v);
    }
}

// Running off the end: of a function with a result it gives 0.
static void finish_body(lower *l)
{
    if (l->is_dead)
        return;
    l->at.at = l->decl->at;
    ir_ref zero = IR_NONE;
    if (l->func->returns.len)
        zero = ir_constant(l->func, (ir_type)l->func->returns.at[0], 0);
    else if (l->result_pointer)
        lower_zero(l, (place){.base = l->result_pointer, .type = l->decl->type->base->unqualified});
    ir_return(&l->at, &zero, l->func->returns.len);
}

// The variables that each thread has, with the values they begin with.
static void start_thread(lower *l, span at)
{
    place all = lower_temp(l, l->thread_type, at);
    lower_zero(l, all);
    l->thread = all.base;
    for (uint32_t i = 0; i < l->f->thread_vars.len; i++) {
        const ast_decl *v = l->f->thread_vars.at[i];
        if (v->init)
            lower_init(l,
                       (place){.base = l->thread,
                               .offset = lower_offset(0, (uint64_t)v->value),
                               .type = v->type->unqualified},
                       v->init);
    }
}

static void lower_func(lower *l, ast_decl *d)
{
    ir_func *func = d->lowered;
    uint32_t first = 0;
    l->func = func;
    l->decl = d;
    l->at = ir_at_end(func, func->body, d->at);
    l->is_dead = false;
    l->break_to = l->continue_to = NULL;
    l->last_local = 0;
    l->result_pointer = IR_NONE;
    if (!d->is_kernel && type_is_record(d->type->base)) {
        l->result_pointer = func->first_param;
        first = 1;
    }
    l->thread = IR_NONE;
    if (l->thread_type && d->is_kernel) {
        start_thread(l, d->at);
    } else if (l->thread_type) {
        l->thread = func->first_param + func->params.len - 1;
    }
    for (uint32_t i = 0; i < d->params.len; i++)
        bind_param(l, d->params.at[i], func->first_param + first + i);
    if (!d->body)
        bug("function '%s' has no parsed body", d->name);
    lower_stmt(l, d->body);
    finish_body(l);
}

static void add_constant(ir_module *m, const ast_decl *d)
{
    ir_named c = {d->name, d->value};
    vec_push(m->in, &m->constants, c);
}

// Gives every variable that each thread has its place: `value` becomes its offset.
static const type *lay_out_thread(front *f)
{
    uint64_t size = 0;
    uint32_t most = 8;
    for (uint32_t i = 0; i < f->thread_vars.len; i++) {
        ast_decl *d = f->thread_vars.at[i];
        uint32_t own = type_def(d->type)->align, align = d->align > own ? d->align : own;
        align = align < 8 ? 8 : align;
        most = align > most ? align : most;
        size = (size + align - 1) / align * align;
        d->value = (int64_t)size;
        size += lower_size(d->type);
    }
    const type *all = type_array(f->in, type_scalar(TY_U64), (size + 7) / 8, false);
    return size ? type_aligned(f->in, all, most) : NULL;
}

void lower_module(front *f)
{
    lower l = {.f = f, .module = ir_module_in(f->in, f->names)};
    l.thread_type = lay_out_thread(f);
    l.module->sources = f->sources;
    f->module = l.module;
    for (uint32_t i = 0; i < f->constants.len; i++)
        add_constant(l.module, f->constants.at[i]);
    for (uint32_t i = 0; i < f->tunables.len; i++)
        add_constant(l.module, f->tunables.at[i]);
    for (uint32_t i = 0; i < f->kernels.len; i++)
        lower_func_of(&l, f->kernels.at[i]);
    for (uint32_t i = 0, done = 0; i < l.wanted.len || done < l.dispatchers.len;) {
        if (i < l.wanted.len)
            lower_func(&l, l.wanted.at[i++]);
        else
            lower_dispatcher(&l, done++); // may want more functions
    }
    lower_heap_params(l.module);
}
