// Launch arguments: making them, and checking one against a kernel's parameter.
#include <stdio.h>

#include "ir/eval.h"
#include "rt/rt.h"

// The last three were not made: the type is none that the function makes, or has other bytes.
enum { ARG_NOTHING, ARG_BUFFER, ARG_SCALAR, ARG_STRUCT, ARG_NO_I64, ARG_NO_F64, ARG_NO_BITS };

// --- making
kiln_arg kiln_arg_buffer(const kiln_buffer *b)
{
    return kiln_arg_buffer_at(b, 0);
}

kiln_arg kiln_arg_buffer_at(const kiln_buffer *b, size_t first)
{
    return (kiln_arg){.kind = ARG_BUFFER, .pointer = b, .bits = first};
}

kiln_arg kiln_arg_view(kiln_view v)
{
    // A view that could not be made has no elements that exist.
    uint64_t first = v.rank <= KILN_MAX_RANK ? v.first : UINT64_MAX;
    return (kiln_arg){.kind = ARG_BUFFER, .type = v.type, .pointer = v.buffer, .bits = first};
}

typedef struct int_range {
    int64_t lo;
    uint64_t hi;
} int_range;

static inline bool is_integer(kiln_type type)
{
    return type >= KILN_BOOL && type <= KILN_U64;
}

// False for a type that is no integer.
static bool range_of_type(kiln_type type, int_range *out)
{
    static const int_range ranges[] = {
        [KILN_BOOL] = {0, 1},         [KILN_I8] = {INT8_MIN, INT8_MAX},
        [KILN_U8] = {0, UINT8_MAX},   [KILN_I16] = {INT16_MIN, INT16_MAX},
        [KILN_U16] = {0, UINT16_MAX}, [KILN_I32] = {INT32_MIN, INT32_MAX},
        [KILN_U32] = {0, UINT32_MAX}, [KILN_I64] = {INT64_MIN, INT64_MAX},
        [KILN_U64] = {0, UINT64_MAX},
    };
    if (!is_integer(type))
        return false;
    *out = ranges[type];
    return true;
}

kiln_arg kiln_arg_i64(kiln_type type, int64_t v)
{
    int_range range;
    if (!range_of_type(type, &range))
        return (kiln_arg){.kind = ARG_NO_I64, .type = type};
    bool fits = type == KILN_U64 || (v >= range.lo && (v < 0 || (uint64_t)v <= range.hi));
    // Size 0: the number does not fit; the launch says so.
    return (kiln_arg){.kind = ARG_SCALAR,
                      .type = type,
                      .size = fits ? kiln_type_size(type) : 0,
                      .bits = (uint64_t)v};
}

kiln_arg kiln_arg_bits(kiln_type type, const void *value, size_t size)
{
    if (!value || !size || size != kiln_type_size(type))
        return (kiln_arg){.kind = ARG_NO_BITS, .type = type, .pointer = value, .bits = size};
    kiln_arg arg = {.kind = ARG_SCALAR, .type = type, .size = size};
    memcpy(&arg.bits, value, size);
    return arg;
}

kiln_arg kiln_arg_f64(kiln_type type, double v)
{
    kiln_arg arg = {.kind = ARG_SCALAR, .type = type, .size = kiln_type_size(type)};
    float narrow = (float)v;
    if (type == KILN_F64)
        memcpy(&arg.bits, &v, sizeof v);
    else if (type == KILN_F32)
        memcpy(&arg.bits, &narrow, sizeof narrow);
    else if (type >= KILN_F16 && type <= KILN_F8E5)
        arg.bits = ir_narrow((ir_type)(IR_F16 + (type - KILN_F16)), v);
    else
        arg = (kiln_arg){.kind = ARG_NO_F64, .type = type};
    return arg;
}

kiln_arg kiln_arg_struct(const void *bytes, size_t size)
{
    return (kiln_arg){.kind = ARG_STRUCT, .pointer = bytes, .size = size};
}

// --- checking
kiln_type type_from_ir(ir_type t, bool is_unsigned)
{
    static const uint8_t plain[IR_TYPE_COUNT] = {
        [IR_I1] = KILN_BOOL,   [IR_I8] = KILN_I8,   [IR_I16] = KILN_I16,   [IR_I32] = KILN_I32,
        [IR_I64] = KILN_I64,   [IR_F16] = KILN_F16, [IR_BF16] = KILN_BF16, [IR_F8E4] = KILN_F8E4,
        [IR_F8E5] = KILN_F8E5, [IR_F32] = KILN_F32, [IR_F64] = KILN_F64,   [IR_PTR_GEN] = KILN_U64};
    kiln_type type = (kiln_type)plain[t];
    return is_unsigned && type >= KILN_I8 && type <= KILN_I64 ? (kiln_type)(type + 1) : type;
}

static const char *article(const char *word)
{
    return strchr("aeiof", word[0]) ? "an" : "a"; // an f32, an i32, a u32
}

static void describe_param(const rt_param *p, char *out, size_t size)
{
    const char *type = kiln_type_name(p->info.type);
    switch (p->info.kind) {
    case KILN_PARAM_SCALAR: snprintf(out, size, "%s %s", article(type), type); break;
    case KILN_PARAM_STRUCT:
        snprintf(out, size, "a struct of %zu bytes (%s)", p->info.size, p->info.c_type);
        break;
    case KILN_PARAM_TENSOR_MAP: snprintf(out, size, "a kiln_tensor_map"); break;
    case KILN_PARAM_POINTER:
        if (p->info.type == KILN_VOID)
            snprintf(out, size, "a buffer for '%s'", p->info.c_type);
        else
            snprintf(out, size, "%s %s buffer", article(type), type);
        break;
    }
}

static void describe_arg(const kiln_arg *arg, char *out, size_t size)
{
    const char *type = kiln_type_name(arg->type);
    switch (arg->kind) {
    case ARG_BUFFER: {
        const kiln_buffer *b = arg->pointer;
        if (b->type == KILN_VOID)
            snprintf(out, size, "a buffer of %zu-byte elements", b->elem_size);
        else
            snprintf(out, size, "%s %s buffer", article(kiln_type_name(b->type)),
                     kiln_type_name(b->type));
        break;
    }
    case ARG_SCALAR: snprintf(out, size, "%s %s number", article(type), type); break;
    case ARG_STRUCT: snprintf(out, size, "a struct of %zu bytes", arg->size); break;
    case ARG_NO_I64: snprintf(out, size, "kiln_arg_i64 of %s, which is no integer", type); break;
    case ARG_NO_F64: snprintf(out, size, "kiln_arg_f64 of %s, which is no float", type); break;
    case ARG_NO_BITS:
        if (arg->pointer)
            snprintf(out, size, "kiln_arg_bits of %llu bytes for %s, which has %zu",
                     (unsigned long long)arg->bits, type, kiln_type_size(arg->type));
        else
            snprintf(out, size, "kiln_arg_bits of NULL");
        break;
    default: snprintf(out, size, "nothing"); break;
    }
}

static kiln_status mismatch(const kiln_kernel *kernel, size_t index, const kiln_arg *arg)
{
    char want[160], got[160];
    describe_param(&kernel->params[index], want, sizeof want);
    describe_arg(arg, got, sizeof got);
    return error_set(kernel->module->k, KILN_E_LAUNCH, K6011,
                     "argument %zu '%s': kernel '%s' expects %s, got %s", index + 1,
                     kernel->params[index].info.name, kernel->name, want, got);
}

// "const f32x4 *" takes a buffer of f32: a vector is its elements side by side.
static bool is_vector_of(const char *c_type, kiln_type element)
{
    const char *name = kiln_type_name(element);
    size_t len = strlen(name);
    if (strncmp(c_type, "const ", 6) == 0)
        c_type += 6;
    return strncmp(c_type, name, len) == 0 && c_type[len] == 'x' && c_type[len + 1] >= '0' &&
           c_type[len + 1] <= '9';
}

// What one element of a buffer argument is: the buffer's own, or as the view sees it.
static size_t element_size(const kiln_arg *arg)
{
    const kiln_buffer *b = arg->pointer;
    return arg->type ? kiln_type_size(arg->type) : b->elem_size;
}

static bool element_fits(const kiln_param_info *p, const kiln_arg *arg)
{
    const kiln_buffer *b = arg->pointer;
    kiln_type type = arg->type ? arg->type : b->type;
    if (p->type != KILN_VOID)
        return type == p->type;
    if (p->size <= 1) // void *
        return true;
    return type == KILN_VOID ? b->elem_size == p->size : is_vector_of(p->c_type, type);
}

// The address of the element, which may be the one behind the last; false where there is none.
static inline bool element_address(const kiln_arg *arg, uint64_t *address)
{
    const kiln_buffer *b = arg->pointer;
    size_t size = arg->type ? kiln_type_size(arg->type) : b->elem_size, count = b->count;
    if (arg->type && arg->type != b->type) // a launch is short, a division is not
        count = size ? count * b->elem_size / size : 0;
    if (!size || arg->bits > count)
        return false;
    *address = b->address + arg->bits * size;
    return true;
}

static kiln_status check_buffer(const kiln_kernel *kernel, size_t index, const kiln_arg *arg,
                                rt_arg *out)
{
    const rt_param *p = &kernel->params[index];
    kiln *k = kernel->module->k;
    const kiln_buffer *b = arg->pointer;
    if (!handle_is(HANDLE_BUFFER, b))
        return error_set(k, KILN_E_BAD_HANDLE, K6002,
                         "argument %zu '%s': this is not a live kiln_buffer", index + 1,
                         p->info.name);
    if (p->info.kind != KILN_PARAM_POINTER || !element_fits(&p->info, arg))
        return mismatch(kernel, index, arg);
    if (b->k != k)
        return error_set(k, KILN_E_LAUNCH, K6014,
                         "argument %zu '%s': the buffer belongs to another kiln handle", index + 1,
                         p->info.name);
    if (b->is_read_only && !p->info.is_const)
        return error_set(k, KILN_E_LAUNCH, K6045,
                         "argument %zu '%s': the buffer is read-only, and the parameter does not "
                         "point to const: the kernel may write it",
                         index + 1, p->info.name);
    if (!element_address(arg, &out->bits))
        return error_set(k, KILN_E_LAUNCH, K6017,
                         "argument %zu '%s': element %llu of a buffer of %zu", index + 1,
                         p->info.name, (unsigned long long)arg->bits, b->count);
    return KILN_OK;
}

// The number in `arg` as the parameter's type; false when it does not fit.
static bool convert_int(const kiln_arg *arg, kiln_type to, uint64_t *bits)
{
    int_range from, range;
    if (!range_of_type(arg->type, &from) || !range_of_type(to, &range) || !arg->size)
        return false;
    uint32_t unused = 64 - 8 * (uint32_t)arg->size;
    bool is_negative = from.lo < 0 && (arg->bits << unused) >> 63;
    uint64_t value = arg->bits << unused >> unused;
    if (is_negative) {
        int64_t v = (int64_t)(value | (unused ? ~(uint64_t)0 << (64 - unused) : 0));
        *bits = (uint64_t)v;
        return v >= range.lo;
    }
    *bits = value;
    return value <= range.hi;
}

static kiln_status check_scalar(const kiln_kernel *kernel, size_t index, const kiln_arg *arg,
                                rt_arg *out)
{
    const rt_param *p = &kernel->params[index];
    bool is_int = is_integer(arg->type);
    if (p->info.kind != KILN_PARAM_SCALAR || is_int != is_integer(p->info.type) ||
        (!is_int && arg->type != p->info.type))
        return mismatch(kernel, index, arg);
    if (!is_int) {
        out->bits = arg->bits;
        return KILN_OK;
    }
    if (convert_int(arg, p->info.type, &out->bits))
        return KILN_OK;
    char number[32];
    snprintf(number, sizeof number, arg->type == KILN_U64 ? "%llu" : "%lld",
             (unsigned long long)arg->bits);
    return error_set(kernel->module->k, KILN_E_LAUNCH, K6012,
                     "argument %zu '%s': %s does not fit %s", index + 1, p->info.name, number,
                     kiln_type_name(arg->size ? p->info.type : arg->type));
}

// The user's PTX declares sizes only: any argument of that size is accepted.
static kiln_status check_raw(const kiln_kernel *kernel, size_t index, const kiln_arg *arg,
                             rt_arg *out)
{
    const rt_param *p = &kernel->params[index];
    kiln *k = kernel->module->k;
    if (arg->kind == ARG_BUFFER && p->info.size == 8) {
        const kiln_buffer *b = arg->pointer;
        if (!handle_is(HANDLE_BUFFER, b) || b->k != k || !element_address(arg, &out->bits))
            return error_set(
                k, KILN_E_LAUNCH, K6014,
                "argument %zu '%s': this is no buffer of this kiln handle, or not so long",
                index + 1, p->info.name);
        return KILN_OK;
    }
    bool is_scalar = arg->kind == ARG_SCALAR && p->info.kind == KILN_PARAM_SCALAR;
    if (arg->size != p->info.size || (!is_scalar && (arg->kind != ARG_STRUCT || !arg->pointer)))
        return error_set(k, KILN_E_LAUNCH, K6013,
                         "argument %zu '%s': the PTX of kernel '%s' takes %zu bytes, got %zu",
                         index + 1, p->info.name, kernel->name, p->info.size,
                         arg->kind == ARG_BUFFER ? (size_t)8 : arg->size);
    out->bits = arg->bits;
    out->bytes = is_scalar ? NULL : arg->pointer;
    return KILN_OK;
}

uint64_t arg_bytes(const kiln_arg *arg)
{
    const kiln_buffer *b = arg->pointer;
    return b->count * b->elem_size - arg->bits * element_size(arg);
}

kiln_status arg_check(kiln_kernel *kernel, size_t index, const kiln_arg *arg, rt_arg *out)
{
    const rt_param *p = &kernel->params[index];
    *out = (rt_arg){0};
    if (p->is_raw)
        return check_raw(kernel, index, arg, out);
    if (arg->kind == ARG_BUFFER)
        return check_buffer(kernel, index, arg, out);
    if (arg->kind == ARG_SCALAR)
        return check_scalar(kernel, index, arg, out);
    bool is_map = p->info.kind == KILN_PARAM_TENSOR_MAP;
    if (arg->kind != ARG_STRUCT || (p->info.kind != KILN_PARAM_STRUCT && !is_map) ||
        (is_map && arg->size != p->info.size))
        return mismatch(kernel, index, arg);
    if (arg->size != p->info.size || !arg->pointer)
        return error_set(kernel->module->k, KILN_E_LAUNCH, K6013,
                         "argument %zu '%s': kernel '%s' expects a struct of %zu bytes (%s), got "
                         "%zu%s",
                         index + 1, p->info.name, kernel->name, p->info.size, p->info.c_type,
                         arg->size, arg->pointer ? "" : " at NULL");
    out->bytes = arg->pointer;
    return KILN_OK;
}
