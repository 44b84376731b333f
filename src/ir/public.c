// The public builder of <kiln/ir.h>: build.c behind opaque handles. Every call packs its arguments
// into a `request` and goes through `run`, which checks the builder, opens the bug frame and keeps
// the first mistake. Soundness in depth is the verifier's business, in kiln_ir_text.
#include "kiln/ir.h"

#include <stdio.h>

#include "ir/eval.h"
#include "ir/nv.h"
#include "ir/tables.h"

_Static_assert((int)KILN_IR_F64 == (int)IR_F64 && (int)KILN_IR_PTR == (int)IR_PTR_GEN &&
                   (int)KILN_IR_PTR_PARAM == (int)IR_PTR_PARAM,
               "kiln_ir_type is ir_type");

enum { MAGIC = 0x6b694972, DEPTH_LIMIT = 200 };

typedef struct opened {
    ir_inst_id control; // 0: the kernel's body
    uint32_t side;      // the region being filled
} opened;

struct kiln_ir {
    uint32_t magic;
    arena *a;
    ir_module *m;
    ir_func *f; // open kernel
    ir_cursor at;
    opened stack[DEPTH_LIMIT];
    uint32_t depth;
    bool has_error;
    char error[400];
    text shown;
};

typedef struct request {
    const char *name;
    kiln_ir_type type;
    const kiln_ir_value *values;
    const kiln_ir_type *types;
    size_t value_count, type_count;
    kiln_ir_value pointer;
    int64_t number;
    uint64_t size;
    double real;
    const void *desc;
    kiln_ir_value *out; // where results go; may be NULL
} request;

typedef void work_fn(kiln_ir *b, const request *q, kiln_ir_value *result);

static void mistake(kiln_ir *b, const char *format, ...) PRINTF_LIKE(2, 3);
static void mistake(kiln_ir *b, const char *format, ...)
{
    if (b->has_error)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(b->error, sizeof b->error, format, args);
    va_end(args);
    b->has_error = true;
}

static bool is_builder(const kiln_ir *b)
{
    return b && b->magic == MAGIC;
}

static kiln_ir_value run(kiln_ir *b, work_fn *work, request q)
{
    kiln_ir_value result = {0};
    if (!is_builder(b) || b->has_error)
        return result;
    bug_frame frame;
    if (bug_enter(&frame)) {
        mistake(b, "%s", frame.text);
        return (kiln_ir_value){0};
    }
    work(b, &q, &result);
    bug_leave(&frame);
    return b->has_error ? (kiln_ir_value){0} : result;
}

// --- checks

static bool is_open(kiln_ir *b)
{
    if (!b->f)
        mistake(b, "open a kernel first (kiln_ir_kernel)");
    return b->f != NULL;
}

static bool can_add(kiln_ir *b)
{
    if (!is_open(b))
        return false;
    ir_inst_id last = ir_region_at(b->f, b->at.region)->last;
    if (last && ir_is_terminator((ir_op)ir_at(b->f, last)->op))
        mistake(b, "kernel '%s': nothing can follow exit, next or return; close the region first",
                b->f->name);
    return !b->has_error;
}

static bool is_type(kiln_ir *b, kiln_ir_type type)
{
    if (type <= KILN_IR_NONE || type > KILN_IR_PTR_PARAM)
        mistake(b, "%d is not a type of a value", (int)type);
    return !b->has_error;
}

static ir_ref ref_of(kiln_ir *b, kiln_ir_value v)
{
    uint32_t index = ir_index(v.id), len = ir_is_const(v.id) ? b->f->consts.len : b->f->values.len;
    if (!index || index >= len)
        mistake(b, "kernel '%s': value %u does not exist in it", b->f->name, v.id);
    return v.id;
}

static ir_ref *refs_of(kiln_ir *b, const request *q)
{
    if (q->value_count > 4096 || (q->value_count && !q->values)) {
        mistake(b, "a list of values is missing or too long");
        return NULL;
    }
    ir_ref *refs = arena_array(b->a, ir_ref, q->value_count + 1);
    for (size_t k = 0; k < q->value_count; k++)
        refs[k] = ref_of(b, q->values[k]);
    return refs;
}

static uint8_t *types_of(kiln_ir *b, const request *q)
{
    if (q->type_count > 4096 || (q->type_count && !q->types)) {
        mistake(b, "a list of types is missing or too long");
        return NULL;
    }
    uint8_t *types = arena_alloc(b->a, q->type_count + 1);
    for (size_t k = 0; k < q->type_count; k++) {
        is_type(b, q->types[k]);
        types[k] = (uint8_t)q->types[k];
    }
    return types;
}

static bool is_name(const char *name)
{
    if (!name || !*name || (*name >= '0' && *name <= '9'))
        return false;
    for (; *name; name++)
        if (!(*name == '_' || (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
              (*name >= '0' && *name <= '9')))
            return false;
    return true;
}

static const char *kept_name(kiln_ir *b, const char *name)
{
    if (!is_name(name)) {
        mistake(b, "'%s' is not a name: letters, digits and _, not a digit first",
                name ? name : "(null)");
        return "";
    }
    return name_cstr(b->m->names, name);
}

// --- kernels

static const struct {
    ir_type type;
    bool is_unsigned;
} host_types[] = {
    [KILN_VOID] = {IR_VOID, false}, [KILN_BOOL] = {IR_I1, false},   [KILN_I8] = {IR_I8, false},
    [KILN_U8] = {IR_I8, true},      [KILN_I16] = {IR_I16, false},   [KILN_U16] = {IR_I16, true},
    [KILN_I32] = {IR_I32, false},   [KILN_U32] = {IR_I32, true},    [KILN_I64] = {IR_I64, false},
    [KILN_U64] = {IR_I64, true},    [KILN_F16] = {IR_F16, false},   [KILN_BF16] = {IR_BF16, false},
    [KILN_F8E4] = {IR_F8E4, false}, [KILN_F8E5] = {IR_F8E5, false}, [KILN_F32] = {IR_F32, false},
    [KILN_F64] = {IR_F64, false},
};

static const char *host_name(kiln_type type)
{
    static const char *const names[] = {"void", "bool", "i8",  "u8",  "i16", "u16",
                                        "i32",  "u32",  "i64", "u64", "f16", "bf16",
                                        "f8e4", "f8e5", "f32", "f64"};
    return names[type];
}

static void add_param(kiln_ir *b, const kiln_ir_param *p)
{
    if (p->is_tensor_map) {
        ir_param made = {.name = kept_name(b, p->name),
                         .kind = IR_PARAM_TENSOR_MAP,
                         .type = IR_PTR_PARAM,
                         .size = IR_TENSOR_MAP_BYTES,
                         .align = IR_TENSOR_MAP_ALIGN,
                         .c_type = "tensor_map"};
        if (p->is_pointer || p->type != KILN_VOID)
            mistake(b, "parameter '%s' is a tensor map: it has no other type", made.name);
        else if (!b->has_error)
            ir_param_add(b->f, made);
        return;
    }
    if ((size_t)p->type >= COUNT(host_types) || (!p->is_pointer && p->type == KILN_VOID)) {
        mistake(b, "parameter '%s' has no type", p->name ? p->name : "");
        return;
    }
    ir_type type = host_types[p->type].type;
    uint32_t size = ir_type_size(type);
    ir_param made = {.name = kept_name(b, p->name),
                     .kind = p->is_pointer ? IR_PARAM_POINTER : IR_PARAM_SCALAR,
                     .type = (uint8_t)(p->is_pointer ? IR_PTR_GLOBAL : type),
                     .elem = (uint8_t)(p->is_pointer ? type : IR_VOID),
                     .elem_unsigned = host_types[p->type].is_unsigned,
                     .is_const = p->is_pointer && p->is_const,
                     .is_restrict = p->is_pointer && p->is_restrict,
                     .size = p->is_pointer ? 8 : size,
                     .align = p->is_pointer ? 8 : size,
                     .elem_size = p->is_pointer ? size : 0,
                     .elem_align = p->is_pointer ? size : 0};
    made.c_type = str_format(b->a, "%s%s%s", made.is_const ? "const " : "", host_name(p->type),
                             p->is_pointer ? " *" : "");
    if (!b->has_error)
        ir_param_add(b->f, made);
}

static void do_kernel(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    const kiln_ir_kernel_desc *d = q->desc;
    (void)result;
    if (b->f || !d) {
        mistake(b, b->f ? "kernel '%s' is still open" : "a kernel needs a description%s",
                b->f ? b->f->name : "");
        return;
    }
    const char *name = kept_name(b, d->name);
    if (b->has_error || (d->param_count && !d->params) || d->param_count > 4096) {
        mistake(b, "kernel '%s': its parameters are missing or too many", name);
        return;
    }
    b->f = ir_func_add(b->m, name);
    b->f->is_kernel = true;
    for (int k = 0; k < 3 && d->block[0]; k++)
        b->f->block[k] = d->block[k] ? d->block[k] : 1;
    for (size_t k = 0; k < d->param_count; k++)
        add_param(b, &d->params[k]);
    b->at = ir_at_end(b->f, b->f->body, (span){0});
    b->stack[0] = (opened){0, 0};
    b->depth = 1;
}

static void do_arg(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    if (is_open(b) && q->size < b->f->params.len)
        result->id = b->f->first_param + (uint32_t)q->size;
    else
        mistake(b, "there is no parameter %llu", (unsigned long long)q->size);
}

static bool array_size(kiln_ir *b, const request *q, uint64_t *bytes)
{
    uint32_t size = is_type(b, q->type) ? ir_type_size((ir_type)q->type) : 1;
    *bytes = q->size * size;
    if (!q->size || q->size > ((uint64_t)1 << 40))
        mistake(b, "array '%s': %llu elements", q->name ? q->name : "",
                (unsigned long long)q->size);
    return !b->has_error;
}

static void slot_pointer(kiln_ir *b, ir_op op, ir_type type, uint32_t index, kiln_ir_value *result)
{
    uint8_t result_type = (uint8_t)type;
    ir_inst_id i = ir_add(&b->at, op, type, NULL, 0, &result_type, 1);
    ir_at(b->f, i)->aux = index;
    result->id = ir_at(b->f, i)->result;
}

static void do_shared(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    uint64_t bytes;
    if (!can_add(b) || !array_size(b, q, &bytes))
        return;
    vec_push(b->a, &b->m->shared,
             (ir_shared){.name = kept_name(b, q->name),
                         .size = bytes,
                         .align = 16,
                         .elem = (uint8_t)q->type,
                         .used_by = b->f});
    slot_pointer(b, IR_SHARED, IR_PTR_SHARED, b->m->shared.len - 1, result);
}

static void do_local(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    uint64_t bytes;
    if (!can_add(b) || !array_size(b, q, &bytes))
        return;
    vec_push(
        b->a, &b->f->locals,
        (ir_local){
            .name = kept_name(b, q->name), .size = bytes, .align = 16, .elem = (uint8_t)q->type});
    slot_pointer(b, IR_LOCAL, IR_PTR_LOCAL, b->f->locals.len - 1, result);
}

// --- values

static void do_int(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    if (!is_open(b))
        return;
    if (!ir_is_int((ir_type)q->type) && !ir_is_ptr((ir_type)q->type))
        mistake(b, "%s is not an integer type", ir_type_name((ir_type)q->type));
    else
        result->id = ir_constant(b->f, (ir_type)q->type, (uint64_t)q->number);
}

static void do_real(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    if (!is_open(b))
        return;
    if (q->type == KILN_IR_F32)
        result->id = ir_f32(b->f, (float)q->real);
    else if (q->type == KILN_IR_F64)
        result->id = ir_f64(b->f, q->real);
    else if (ir_is_float((ir_type)q->type))
        result->id = ir_constant(b->f, (ir_type)q->type, ir_narrow((ir_type)q->type, q->real));
    else
        mistake(b, "%s is not a float type", ir_type_name((ir_type)q->type));
}

static void do_emit(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    uint32_t aux = 0;
    int64_t imm = 0;
    if (!can_add(b))
        return;
    ir_op op = q->name ? ir_op_parse(str_of(q->name), &aux, &imm) : IR_NOP;
    bool is_own = op == IR_NOP || op >= IR_CALL || op == IR_LOCAL || op == IR_SHARED ||
                  op == IR_CONSTANT || op == IR_PRINT || op == IR_HOST || op == IR_ASSERT ||
                  op == IR_BOUNDS;
    if (is_own) {
        mistake(b, "'%s' is not an operation that kiln_ir_emit makes",
                q->name ? q->name : "(null)");
        return;
    }
    ir_type type = (ir_type)q->type;
    if (!ir_op_fixed_type(op, &type) && !is_type(b, q->type))
        return;
    const ir_op_row *row = &ir_op_rows[op];
    if (row->operands != IR_ANY && row->operands != q->value_count)
        mistake(b, "'%s' takes %u operands, not %zu", q->name, row->operands, q->value_count);
    ir_ref *refs = refs_of(b, q);
    if (b->has_error)
        return;
    uint8_t result_type = (uint8_t)ir_op_result_type(op, type);
    uint32_t results = row->results == IR_ANY ? 1 : row->results;
    if (op == IR_NV) {
        const char *gives = nv_row_at((nv_op)aux)->results;
        if (*gives && *gives != 'b') {
            mistake(b, "'%s' has more than one result", q->name);
            return;
        }
        results = *gives ? 1 : 0;
        result_type = IR_I1;
    }
    ir_inst_id i = ir_add(&b->at, op, type, refs, (uint32_t)q->value_count, &result_type, results);
    ir_at(b->f, i)->aux = row->rule == IR_RULE_CVT ? ir_type_of(b->f, refs[0]) : aux;
    ir_at(b->f, i)->imm = imm;
    result->id = ir_at(b->f, i)->result;
}

static void do_index(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    if (!can_add(b))
        return;
    ir_ref pointer = ref_of(b, q->pointer), index = ref_of(b, q->values[0]);
    if (b->has_error)
        return;
    if (ir_type_of(b->f, index) == IR_I32)
        index = ir_convert(&b->at, IR_ZEXT, IR_I64, index);
    ir_ref bytes = ir_bin(&b->at, IR_MUL, IR_I64, index, ir_i64(b->f, (int64_t)q->size));
    result->id = ir_ptradd(&b->at, pointer, bytes);
}

static bool check_access(kiln_ir *b, const request *q, uint16_t *align)
{
    *align = (uint16_t)q->size;
    if (q->size > 32768 || (q->size & (q->size - 1)))
        mistake(b, "alignment %llu is not a power of two up to 32768", (unsigned long long)q->size);
    return is_type(b, q->type);
}

static void do_load(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    uint16_t align;
    if (!can_add(b) || !check_access(b, q, &align))
        return;
    ir_ref pointer = ref_of(b, q->pointer);
    if (!q->value_count || q->value_count > 16 || !q->out)
        mistake(b, "a load gives 1, 2, 4, 8 or 16 elements, not %zu", q->value_count);
    if (b->has_error)
        return;
    uint8_t types[16];
    memset(types, (int)q->type, sizeof types);
    ir_inst_id i =
        ir_add(&b->at, IR_LOAD, (ir_type)q->type, &pointer, 1, types, (uint32_t)q->value_count);
    ir_at(b->f, i)->imm = q->number;
    ir_at(b->f, i)->align = align;
    for (uint32_t k = 0; k < q->value_count; k++)
        q->out[k].id = ir_at(b->f, i)->result + k;
    result->id = ir_at(b->f, i)->result;
}

static void do_store(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    uint16_t align;
    (void)result;
    if (!can_add(b) || !check_access(b, q, &align))
        return;
    ir_ref operands[17] = {ref_of(b, q->pointer)};
    if (!q->value_count || q->value_count > 16 || !q->values)
        mistake(b, "a store takes 1, 2, 4, 8 or 16 elements, not %zu", q->value_count);
    for (size_t k = 0; k < q->value_count && !b->has_error; k++)
        operands[k + 1] = ref_of(b, q->values[k]);
    if (b->has_error)
        return;
    ir_inst_id i =
        ir_add(&b->at, IR_STORE, (ir_type)q->type, operands, (uint32_t)q->value_count + 1, NULL, 0);
    ir_at(b->f, i)->imm = q->number;
    ir_at(b->f, i)->align = align;
}

// --- control

static void enter(kiln_ir *b, ir_inst_id control, uint32_t side)
{
    b->stack[b->depth++] = (opened){control, side};
    b->at = ir_at_end(b->f, ir_at(b->f, control)->regions + side, (span){0});
}

static void do_control(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    ir_op op = (ir_op)q->number;
    if (!can_add(b))
        return;
    ir_ref *refs = refs_of(b, q);
    uint8_t *types = types_of(b, q);
    if (b->depth == DEPTH_LIMIT)
        mistake(b, "control is nested more than %d deep", DEPTH_LIMIT);
    if (b->has_error)
        return;
    result->id = ir_control(&b->at, op, refs, (uint32_t)q->value_count, op == IR_IF ? 2 : 1, types,
                            (uint32_t)q->type_count);
    enter(b, result->id, 0);
}

static ir_inst *control_of(kiln_ir *b, kiln_ir_value label)
{
    if (!is_open(b))
        return NULL;
    if (!label.id || label.id >= b->f->insts.len ||
        !ir_is_control((ir_op)ir_at(b->f, label.id)->op)) {
        mistake(b, "kernel '%s': this is not the label of a control instruction", b->f->name);
        return NULL;
    }
    return ir_at(b->f, label.id);
}

static void do_transfer(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    (void)result;
    ir_op op = (ir_op)q->number;
    if (!can_add(b) || (op != IR_RETURN && !control_of(b, q->pointer)))
        return;
    ir_ref *refs = refs_of(b, q);
    if (b->has_error)
        return;
    ir_inst_id i = ir_add(&b->at, op, IR_VOID, refs, (uint32_t)q->value_count, NULL, 0);
    ir_at(b->f, i)->aux = q->pointer.id;
}

static bool has_end(const kiln_ir *b)
{
    ir_inst_id last = ir_region_at(b->f, b->at.region)->last;
    return last && ir_is_terminator((ir_op)ir_at(b->f, last)->op);
}

static void close_side(kiln_ir *b)
{
    if (!has_end(b))
        ir_exit(&b->at, b->stack[b->depth - 1].control, NULL, 0);
    b->depth--;
}

static void do_else(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    (void)q;
    (void)result;
    opened top = b->f ? b->stack[b->depth - 1] : (opened){0, 0};
    if (!top.control || ir_at(b->f, top.control)->op != IR_IF || top.side) {
        mistake(b, "kiln_ir_else without an open if");
        return;
    }
    close_side(b);
    enter(b, top.control, 1);
}

static void do_end(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    (void)q;
    (void)result;
    if (!is_open(b))
        return;
    opened top = b->stack[b->depth - 1];
    if (!top.control) {
        if (!has_end(b))
            ir_return(&b->at, NULL, 0);
        b->f = NULL;
        return;
    }
    close_side(b);
    if (ir_at(b->f, top.control)->op == IR_IF && top.side == 0) {
        enter(b, top.control, 1);
        close_side(b);
    }
    b->at = ir_at_end(b->f, ir_at(b->f, top.control)->parent, (span){0});
}

static void do_loop_arg(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    const ir_inst *i = control_of(b, q->pointer);
    if (!i)
        return;
    const ir_region *r = ir_region_at(b->f, i->regions);
    if (q->size >= r->arg_count)
        mistake(b, "the loop has no argument %llu", (unsigned long long)q->size);
    else
        result->id = r->args + (uint32_t)q->size;
}

static void do_result(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    const ir_inst *i = control_of(b, q->pointer);
    if (i && q->size >= i->result_count)
        mistake(b, "'%s' has no result %llu", ir_op_name((ir_op)i->op),
                (unsigned long long)q->size);
    else if (i)
        result->id = i->result + (uint32_t)q->size;
}

static void do_text(kiln_ir *b, const request *q, kiln_ir_value *result)
{
    (void)q;
    (void)result;
    if (b->f) {
        mistake(b, "kernel '%s' is still open; close it with kiln_ir_end", b->f->name);
        return;
    }
    const char *wrong = ir_verify_module(b->m, b->a);
    if (wrong)
        mistake(b, "%s", wrong);
    b->shown = (text){.in = b->a};
    if (!wrong)
        ir_print_module(b->m, &b->shown);
}

// --- the interface

kiln_ir *kiln_ir_new(void)
{
    arena *a = arena_new();
    kiln_ir *volatile b = NULL;
    if (!a)
        return NULL;
    bug_frame frame;
    if (bug_enter(&frame)) {
        arena_free(a);
        return NULL;
    }
    b = arena_new_of(a, kiln_ir);
    b->magic = MAGIC;
    b->a = a;
    b->m = ir_module_in(a, names_in(a));
    bug_leave(&frame);
    return b;
}

void kiln_ir_free(kiln_ir *b)
{
    if (!is_builder(b))
        return;
    b->magic = 0;
    arena_free(b->a);
}

const char *kiln_ir_error(const kiln_ir *b)
{
    return is_builder(b) ? b->error : "not a builder";
}

kiln_status kiln_ir_text(kiln_ir *b, const char **out, size_t *len)
{
    if (!is_builder(b))
        return KILN_E_BAD_HANDLE;
    if (!out)
        return KILN_E_BAD_ARGUMENT;
    run(b, do_text, (request){0});
    if (b->has_error)
        return KILN_E_COMPILE;
    *out = b->shown.at ? b->shown.at : "";
    if (len)
        *len = b->shown.len;
    return KILN_OK;
}

void kiln_ir_kernel(kiln_ir *b, const kiln_ir_kernel_desc *desc)
{
    run(b, do_kernel, (request){.desc = desc});
}

kiln_ir_value kiln_ir_arg(kiln_ir *b, size_t index)
{
    return run(b, do_arg, (request){.size = index});
}

kiln_ir_value kiln_ir_shared(kiln_ir *b, const char *name, kiln_ir_type element, uint64_t count)
{
    return run(b, do_shared, (request){.name = name, .type = element, .size = count});
}

kiln_ir_value kiln_ir_local(kiln_ir *b, const char *name, kiln_ir_type element, uint64_t count)
{
    return run(b, do_local, (request){.name = name, .type = element, .size = count});
}

kiln_ir_value kiln_ir_int(kiln_ir *b, kiln_ir_type type, int64_t v)
{
    return run(b, do_int, (request){.type = type, .number = v});
}

kiln_ir_value kiln_ir_real(kiln_ir *b, kiln_ir_type type, double v)
{
    return run(b, do_real, (request){.type = type, .real = v});
}

kiln_ir_value kiln_ir_emit(kiln_ir *b, const char *op, kiln_ir_type type,
                           const kiln_ir_value *operands, size_t count)
{
    return run(b, do_emit,
               (request){.name = op, .type = type, .values = operands, .value_count = count});
}

kiln_ir_value kiln_ir_emit1(kiln_ir *b, const char *op, kiln_ir_type type, kiln_ir_value a)
{
    return kiln_ir_emit(b, op, type, &a, 1);
}

kiln_ir_value kiln_ir_emit2(kiln_ir *b, const char *op, kiln_ir_type type, kiln_ir_value a,
                            kiln_ir_value c)
{
    kiln_ir_value operands[] = {a, c};
    return kiln_ir_emit(b, op, type, operands, 2);
}

kiln_ir_value kiln_ir_emit3(kiln_ir *b, const char *op, kiln_ir_type type, kiln_ir_value a,
                            kiln_ir_value c, kiln_ir_value d)
{
    kiln_ir_value operands[] = {a, c, d};
    return kiln_ir_emit(b, op, type, operands, 3);
}

kiln_ir_value kiln_ir_index(kiln_ir *b, kiln_ir_value pointer, kiln_ir_value index,
                            uint32_t element_bytes)
{
    return run(b, do_index, (request){.pointer = pointer, .values = &index, .size = element_bytes});
}

kiln_ir_value kiln_ir_load(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer, int64_t offset)
{
    kiln_ir_value v = {0};
    kiln_ir_load_many(b, type, pointer, offset, 0, &v, 1);
    return v;
}

void kiln_ir_store(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer, int64_t offset,
                   kiln_ir_value v)
{
    kiln_ir_store_many(b, type, pointer, offset, 0, &v, 1);
}

void kiln_ir_load_many(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer, int64_t offset,
                       uint32_t align, kiln_ir_value *out, size_t count)
{
    run(b, do_load,
        (request){.type = type,
                  .pointer = pointer,
                  .number = offset,
                  .size = align,
                  .out = out,
                  .value_count = count});
}

void kiln_ir_store_many(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer, int64_t offset,
                        uint32_t align, const kiln_ir_value *values, size_t count)
{
    run(b, do_store,
        (request){.type = type,
                  .pointer = pointer,
                  .number = offset,
                  .size = align,
                  .values = values,
                  .value_count = count});
}

static kiln_ir_label open_control(kiln_ir *b, ir_op op, const kiln_ir_value *values,
                                  size_t value_count, const kiln_ir_type *types, size_t type_count)
{
    kiln_ir_value v = run(b, do_control,
                          (request){.number = op,
                                    .values = values,
                                    .value_count = value_count,
                                    .types = types,
                                    .type_count = type_count});
    return (kiln_ir_label){v.id};
}

kiln_ir_label kiln_ir_if(kiln_ir *b, kiln_ir_value condition, const kiln_ir_type *results,
                         size_t count)
{
    return open_control(b, IR_IF, &condition, 1, results, count);
}

kiln_ir_label kiln_ir_block(kiln_ir *b, const kiln_ir_type *results, size_t count)
{
    return open_control(b, IR_BLOCKSCOPE, NULL, 0, results, count);
}

kiln_ir_label kiln_ir_loop(kiln_ir *b, const kiln_ir_value *start, size_t arg_count,
                           const kiln_ir_type *results, size_t count)
{
    return open_control(b, IR_LOOP, start, arg_count, results, count);
}

void kiln_ir_else(kiln_ir *b)
{
    run(b, do_else, (request){0});
}

kiln_ir_value kiln_ir_loop_arg(kiln_ir *b, kiln_ir_label loop, size_t index)
{
    return run(b, do_loop_arg, (request){.pointer = {loop.id}, .size = index});
}

static void transfer(kiln_ir *b, ir_op op, uint32_t target, const kiln_ir_value *values,
                     size_t count)
{
    run(b, do_transfer,
        (request){.number = op, .pointer = {target}, .values = values, .value_count = count});
}

void kiln_ir_exit(kiln_ir *b, kiln_ir_label target, const kiln_ir_value *values, size_t count)
{
    transfer(b, IR_EXIT, target.id, values, count);
}

void kiln_ir_next(kiln_ir *b, kiln_ir_label loop, const kiln_ir_value *values, size_t count)
{
    transfer(b, IR_NEXT, loop.id, values, count);
}

void kiln_ir_return(kiln_ir *b)
{
    transfer(b, IR_RETURN, 0, NULL, 0);
}

void kiln_ir_end(kiln_ir *b)
{
    run(b, do_end, (request){0});
}

kiln_ir_value kiln_ir_result(kiln_ir *b, kiln_ir_label control, size_t index)
{
    return run(b, do_result, (request){.pointer = {control.id}, .size = index});
}
