// Calls a C function by its signature's shape, without a compiler. On x86-64 (System V) and 64-bit
// Arm, integers and pointers travel in one set of registers and floats in another, each in order:
// one call that fills both sets fits every function that takes no struct. Start at native_call.
#include "rt/host/host.h"

#if defined(__x86_64__)
enum { INTEGERS = 6, FLOATS = 8 };
#elif defined(__aarch64__)
enum { INTEGERS = 8, FLOATS = 8 };
#else
enum { INTEGERS = 0, FLOATS = 0 };
#endif

static bool is_float(ir_type t)
{
    return t == IR_F32 || t == IR_F64;
}

// One number at offset 0 that fills the object.
static bool is_number(const host_shape *s, uint32_t size, uint32_t n, const host_scalar *list,
                      uint32_t count)
{
    (void)s;
    if (n >= count)
        return false;
    ir_type t = (ir_type)list[n].type;
    return list[n].offset == 0 && ir_type_size(t) == size && (is_float(t) || ir_is_int(t));
}

bool native_can_call(const host_shape *s)
{
    uint32_t integers = 0, floats = 0;
    for (uint32_t p = 0; p < s->param_count; p++) {
        const host_param *param = &s->params[p];
        if (param->kind != 'v') {
            integers++;
            continue;
        }
        if (!is_number(s, param->size, param->first, s->in, s->in_count))
            return false;
        bool is_real = is_float((ir_type)s->in[param->first].type);
        floats += is_real;
        integers += !is_real;
    }
    if (s->result_size && !is_number(s, s->result_size, 0, s->out, s->out_count))
        return false;
    // A struct of one number looks like that number: the signature has the last word.
    return integers <= INTEGERS && floats <= FLOATS &&
           !memchr(s->signature.at, '{', s->signature.len);
}

#if defined(__x86_64__)
#    define ALL_INTEGERS i[0], i[1], i[2], i[3], i[4], i[5]
typedef uint64_t integer_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                  double, double, double, double, double, double, double, double);
typedef double double_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double,
                               double, double, double, double, double, double, double);
typedef float float_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double,
                             double, double, double, double, double, double, double);
#else
#    define ALL_INTEGERS i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7]
typedef uint64_t integer_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                  uint64_t, uint64_t, double, double, double, double, double,
                                  double, double, double);
typedef double double_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                               uint64_t, double, double, double, double, double, double, double,
                               double);
typedef float float_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, double, double, double, double, double, double, double,
                             double);
#endif

// Both ABIs leave the upper bits of a narrow argument to the caller or to nobody: extended by its
// sign, as C's callers do. `bool` and unsigned numbers are read at their own width either way.
static uint64_t extended(ir_type t, uint64_t bits)
{
    return t == IR_I8    ? (uint64_t)(int64_t)(int8_t)bits
           : t == IR_I16 ? (uint64_t)(int64_t)(int16_t)bits
           : t == IR_I32 ? (uint64_t)(int64_t)(int32_t)bits
                         : bits;
}

void native_call(const host_shape *s, void (*function)(void), const void *const *args, void *result)
{
    uint64_t i[8] = {0};
    double d[8] = {0};
    uint32_t integers = 0, floats = 0;
    for (uint32_t p = 0; p < s->param_count; p++) {
        const host_param *param = &s->params[p];
        uint64_t bits = 0;
        if (param->kind != 'v') {
            i[integers++] = (uint64_t)(uintptr_t)args[p];
            continue;
        }
        ir_type t = (ir_type)s->in[param->first].type;
        memcpy(&bits, args[p], param->size);
        if (is_float(t)) // an f32 is the low half of its register
            memcpy(&d[floats++], &bits, sizeof bits);
        else
            i[integers++] = extended(t, bits);
    }
#define ALL_ARGUMENTS ALL_INTEGERS, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]
    ir_type t = s->result_size ? (ir_type)s->out[0].type : IR_VOID;
    if (t == IR_F32) {
        float value = ((float_function *)(uintptr_t)function)(ALL_ARGUMENTS);
        memcpy(result, &value, sizeof value);
    } else if (t == IR_F64) {
        double value = ((double_function *)(uintptr_t)function)(ALL_ARGUMENTS);
        memcpy(result, &value, sizeof value);
    } else {
        uint64_t value = ((integer_function *)(uintptr_t)function)(ALL_ARGUMENTS);
        if (s->result_size)
            memcpy(result, &value, s->result_size);
    }
}
