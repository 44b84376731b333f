// A cuDNN that runs on the host: it takes graphs through the backend interface, checks every
// descriptor as the library's documentation has it, and plays the operations one by one in double.
// With libcuda.c, whose device memory is host memory, it lets the graphs of kiln bench be tested
// where there is no GPU. What is wrong gets a status and a text of cudnnGetLastErrorString.
// FAKE_CUDNN says what goes wrong, with commas:
//
//     version=90000  the library's version (default 91900)
//     nostart        cudnnCreate fails
//     none           the heuristics propose nothing
//     refuse=1       the plan of that number, and no other, cannot be prepared
//     slow=0         the plan of that number takes 2 ms longer
//     norun          execution fails
//     idle           execution checks everything, and plays nothing
//     workspace=N    bytes that a plan needs (default 256)
//
// FAKE_CUDNN_LOG names a file that gets a line for every execution: plan and number of operations.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "play_cudnn.h"
#define SETTINGS "FAKE_CUDNN"
#include "settings.h"

#define EXPORT __attribute__((visibility("default")))
enum { FINE = 0, NOT_READY = 1001, BAD = 2000, NO_SUPPORT = 3000, NO_RUN = 5000 };
enum { PROPOSALS = 3, ATTRIBUTES = 12, MOST = 64 };

typedef struct attribute {
    int name, type;
    int64_t count;
    void *values;
} attribute;

struct descriptor {
    int type;
    bool is_final, is_proposed;
    int number; // of a proposal, and of its plan
    attribute attributes[ATTRIBUTES];
    int attribute_count;
    struct descriptor *graph; // of a proposal
};

static char last_error[256];
static int handle_marker;

static int wrong(int status, const char *format, long a, long b)
{
    snprintf(last_error, sizeof last_error, format, a, b);
    return status;
}

// --- what attributes there are
typedef struct rule {
    int descriptor, name, type;
    int64_t most;    // values
    bool is_needed;  // before it is final
    int value_bytes; // of one
    int points_to;   // descriptors: of this type; -1: operations
} rule;
#define ENUM(d, n, t)                                                                              \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_##t, 1, true, 4, 0},
#define LONGS(d, n, m, is)                                                                         \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_INT64, m, is, 8, 0},
#define FLAG(d, n)                                                                                 \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_BOOLEAN, 1, false, 1, 0},
#define REAL(d, n)                                                                                 \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_FLOAT, 1, true, 4, 0},
#define HANDLE(d, n)                                                                               \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_HANDLE, 1, true, 8, 0},
#define POINTERS(d, n, m)                                                                          \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_VOID_PTR, m, true, 8, 0},
#define PART(d, n, is, to)                                                                         \
    {CUDNN_BACKEND_##d##_DESCRIPTOR, CUDNN_ATTR_##n, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, is, 8,      \
     CUDNN_BACKEND_##to##_DESCRIPTOR},
static const rule rules[] = {
    // clang-format off
    ENUM(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE)
    LONGS(TENSOR, TENSOR_DIMENSIONS, PLAY_RANK, true)
    LONGS(TENSOR, TENSOR_STRIDES, PLAY_RANK, true)
    LONGS(TENSOR, TENSOR_UNIQUE_ID, 1, true)
    LONGS(TENSOR, TENSOR_BYTE_ALIGNMENT, 1, true)
    FLAG(TENSOR, TENSOR_IS_VIRTUAL)
    FLAG(TENSOR, TENSOR_IS_BY_VALUE)
    ENUM(POINTWISE, POINTWISE_MODE, POINTWISE_MODE)
    ENUM(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE)
    LONGS(POINTWISE, POINTWISE_AXIS, 1, false)
    PART(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, true, POINTWISE)
    PART(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, true, TENSOR)
    PART(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC, false, TENSOR)
    PART(OPERATION_POINTWISE, OPERATION_POINTWISE_TDESC, false, TENSOR)
    PART(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, true, TENSOR)
    ENUM(MATMUL, MATMUL_COMP_TYPE, DATA_TYPE)
    PART(OPERATION_MATMUL, OPERATION_MATMUL_ADESC, true, TENSOR)
    PART(OPERATION_MATMUL, OPERATION_MATMUL_BDESC, true, TENSOR)
    PART(OPERATION_MATMUL, OPERATION_MATMUL_CDESC, true, TENSOR)
    PART(OPERATION_MATMUL, OPERATION_MATMUL_DESC, true, MATMUL)
    ENUM(REDUCTION, REDUCTION_OPERATOR, REDUCTION_OPERATOR_TYPE)
    ENUM(REDUCTION, REDUCTION_COMP_TYPE, DATA_TYPE)
    PART(OPERATION_REDUCTION, OPERATION_REDUCTION_XDESC, true, TENSOR)
    PART(OPERATION_REDUCTION, OPERATION_REDUCTION_YDESC, true, TENSOR)
    PART(OPERATION_REDUCTION, OPERATION_REDUCTION_DESC, true, REDUCTION)
    PART(OPERATION_RESHAPE, OPERATION_RESHAPE_XDESC, true, TENSOR)
    PART(OPERATION_RESHAPE, OPERATION_RESHAPE_YDESC, true, TENSOR)
    ENUM(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE)
    ENUM(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE)
    LONGS(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, 1, true)
    LONGS(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, 3, true)
    LONGS(CONVOLUTION, CONVOLUTION_DILATIONS, 3, true)
    LONGS(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, 3, true)
    LONGS(CONVOLUTION, CONVOLUTION_POST_PADDINGS, 3, true)
#define CONVOLUTION_OPERATION(d, n, x, w, y)                                                       \
    PART(d, n##_##x, true, TENSOR) PART(d, n##_##w, true, TENSOR) PART(d, n##_##y, true, TENSOR)   \
    PART(d, n##_CONV_DESC, true, CONVOLUTION) REAL(d, n##_ALPHA) REAL(d, n##_BETA)
    CONVOLUTION_OPERATION(OPERATION_CONVOLUTION_FORWARD, OPERATION_CONVOLUTION_FORWARD, X, W, Y)
    CONVOLUTION_OPERATION(OPERATION_CONVOLUTION_BACKWARD_DATA, OPERATION_CONVOLUTION_BWD_DATA, DX, W, DY)
    CONVOLUTION_OPERATION(OPERATION_CONVOLUTION_BACKWARD_FILTER, OPERATION_CONVOLUTION_BWD_FILTER, X, DW, DY)
    HANDLE(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE)
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST, true, 8, -1},
    PART(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, true, OPERATIONGRAPH)
    ENUM(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE)
    HANDLE(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE)
    PART(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, true, ENGINECFG)
    LONGS(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, MOST, true)
    POINTERS(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, MOST)
    POINTERS(VARIANT_PACK, VARIANT_PACK_WORKSPACE, 1)
    // clang-format on
};
enum { RULES = sizeof rules / sizeof *rules };

static const attribute *found(const struct descriptor *d, int name)
{
    for (int n = 0; n < d->attribute_count; n++)
        if (d->attributes[n].name == name)
            return &d->attributes[n];
    return NULL;
}

static int64_t long_of(const struct descriptor *d, int name)
{
    const attribute *a = found(d, name);
    return a ? *(const int64_t *)a->values : 0;
}

static int int_of(const struct descriptor *d, int name)
{
    const attribute *a = found(d, name);
    return a ? *(const int *)a->values : 0;
}

static struct descriptor *part_of(const struct descriptor *d, int name)
{
    const attribute *a = found(d, name);
    return a ? *(struct descriptor *const *)a->values : NULL;
}

static bool is_operation(const struct descriptor *d)
{
    switch (d->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: return true;
    default: return false;
    }
}

// --- from descriptors to what is played
static play_tensor tensor_of(const struct descriptor *d)
{
    play_tensor t = {.type = int_of(d, CUDNN_ATTR_TENSOR_DATA_TYPE),
                     .id = long_of(d, CUDNN_ATTR_TENSOR_UNIQUE_ID),
                     .rank = (int)found(d, CUDNN_ATTR_TENSOR_DIMENSIONS)->count};
    const attribute *is_virtual = found(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL),
                    *is_value = found(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    t.is_virtual = is_virtual && *(const bool *)is_virtual->values;
    t.is_value = is_value && *(const bool *)is_value->values;
    memcpy(t.sizes, found(d, CUDNN_ATTR_TENSOR_DIMENSIONS)->values,
           sizeof(int64_t) * (size_t)t.rank);
    memcpy(t.strides, found(d, CUDNN_ATTR_TENSOR_STRIDES)->values,
           sizeof(int64_t) * (size_t)t.rank);
    return t;
}

static void put_tensor(const struct descriptor *d, int name, play_tensor *out, bool *is_there)
{
    const struct descriptor *part = part_of(d, name);
    if (is_there)
        *is_there = part != NULL;
    if (part)
        *out = tensor_of(part);
}

static void put_window(const struct descriptor *how, play_operation *o)
{
    size_t bytes = sizeof(int64_t) * (size_t)long_of(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    o->space = (int)long_of(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    memcpy(o->stride, found(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)->values, bytes);
    memcpy(o->dilation, found(how, CUDNN_ATTR_CONVOLUTION_DILATIONS)->values, bytes);
    memcpy(o->before, found(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)->values, bytes);
    memcpy(o->after, found(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)->values, bytes);
}

static play_operation operation_of(const struct descriptor *d)
{
    play_operation o = {.kind = PLAY_RESHAPE};
    const struct descriptor *how;
    switch (d->type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        how = part_of(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
        o.kind = PLAY_POINTWISE;
        o.mode = int_of(how, CUDNN_ATTR_POINTWISE_MODE);
        o.axis = found(how, CUDNN_ATTR_POINTWISE_AXIS)
                     ? (int)long_of(how, CUDNN_ATTR_POINTWISE_AXIS)
                     : -1;
        put_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, &o.b, &o.has_b);
        put_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, &o.t, &o.has_t);
        put_tensor(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &o.y, NULL);
        break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        o.kind = PLAY_MATMUL;
        put_tensor(d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, &o.b, &o.has_b);
        put_tensor(d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, &o.y, NULL);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        o.kind = PLAY_REDUCE;
        o.mode =
            int_of(part_of(d, CUDNN_ATTR_OPERATION_REDUCTION_DESC), CUDNN_ATTR_REDUCTION_OPERATOR);
        put_tensor(d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, &o.y, NULL);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        o.kind = PLAY_CONVOLVE;
        put_window(part_of(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC), &o);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, &o.b, &o.has_b);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, &o.y, NULL);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: // y is dx
        o.kind = PLAY_BY_DATA;
        put_window(part_of(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), &o);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, &o.b, &o.has_b);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, &o.y, NULL);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: // y is dw
        o.kind = PLAY_BY_WEIGHT;
        put_window(part_of(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), &o);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, &o.b, &o.has_b);
        put_tensor(d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, &o.y, NULL);
        break;
    default:
        put_tensor(d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, &o.x, NULL);
        put_tensor(d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, &o.y, NULL);
    }
    return o;
}

// --- checks
static int check_tensor(const struct descriptor *d)
{
    const attribute *sizes = found(d, CUDNN_ATTR_TENSOR_DIMENSIONS);
    play_tensor t = tensor_of(d);
    if (sizes->count != found(d, CUDNN_ATTR_TENSOR_STRIDES)->count)
        return wrong(BAD, "tensor %ld: as many strides as dimensions", (long)t.id, 0);
    if (!play_type_bytes(t.type))
        return wrong(BAD, "tensor %ld: no such type %ld", (long)t.id, t.type);
    if (t.is_virtual && t.is_value)
        return wrong(BAD, "tensor %ld: virtual and by value", (long)t.id, 0);
    if (long_of(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) < 4)
        return wrong(BAD, "tensor %ld: alignment", (long)t.id, 0);
    for (int n = 0; n < t.rank; n++)
        if (t.sizes[n] < 1 || t.strides[n] < 1)
            return wrong(BAD, "tensor %ld: dimension %ld", (long)t.id, n);
        else if (t.is_value && t.sizes[n] != 1)
            return wrong(BAD, "tensor %ld: a value has one element", (long)t.id, 0);
    return FINE;
}

static bool is_same(const play_tensor *a, const play_tensor *b)
{
    size_t bytes = sizeof(int64_t) * (size_t)a->rank;
    return a->type == b->type && a->rank == b->rank && a->is_virtual == b->is_virtual &&
           a->is_value == b->is_value && !memcmp(a->sizes, b->sizes, bytes) &&
           !memcmp(a->strides, b->strides, bytes);
}

// Every tensor has an id of its own; what is virtual is made once, before it is used.
static int check_graph(const struct descriptor *d)
{
    const attribute *ops = found(d, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    play_tensor seen[MOST * 4];
    bool is_made[MOST * 4] = {false}, is_used[MOST * 4] = {false};
    int count = 0;
    for (int64_t n = 0; n < ops->count; n++) {
        play_operation o = operation_of(((struct descriptor **)ops->values)[n]);
        play_tensor *operands[] = {&o.x, o.has_b ? &o.b : NULL, o.has_t ? &o.t : NULL, &o.y};
        for (int i = 0; i < 4; i++) {
            int at = 0;
            if (!operands[i])
                continue;
            while (at < count && seen[at].id != operands[i]->id)
                at++;
            if (at == count)
                seen[count++] = *operands[i];
            if (!is_same(&seen[at], operands[i]))
                return wrong(BAD, "two tensors have the id %ld", (long)operands[i]->id, 0);
            if (i == 3 && (is_made[at] || is_used[at] || operands[i]->is_value))
                return wrong(BAD, "tensor %ld is made twice, or after its use",
                             (long)operands[i]->id, 0);
            if (i < 3 && operands[i]->is_virtual && !is_made[at])
                return wrong(BAD, "tensor %ld is used before it is made", (long)operands[i]->id, 0);
            is_made[at] |= i == 3;
            is_used[at] |= i < 3;
        }
    }
    for (int n = 0; n < count; n++)
        if (seen[n].is_virtual && !is_used[n])
            return wrong(BAD, "nobody uses the virtual tensor %ld", (long)seen[n].id, 0);
    return FINE;
}

static int check_pack(const struct descriptor *d)
{
    const attribute *ids = found(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS),
                    *pointers = found(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    if (ids->count != pointers->count)
        return wrong(BAD, "%ld ids and %ld addresses", (long)ids->count, (long)pointers->count);
    for (int64_t n = 0; n < ids->count; n++) {
        if (!((void **)pointers->values)[n])
            return wrong(BAD, "tensor %ld has no address", (long)((int64_t *)ids->values)[n], 0);
        for (int64_t i = 0; i < n; i++)
            if (((int64_t *)ids->values)[i] == ((int64_t *)ids->values)[n])
                return wrong(BAD, "id %ld is given twice", (long)((int64_t *)ids->values)[n], 0);
    }
    return FINE;
}

// --- the interface
EXPORT size_t cudnnGetVersion(void)
{
    return (size_t)setting_number("version", 91900);
}
EXPORT const char *cudnnGetErrorString(int status)
{
    return status == BAD          ? "FAKE_BAD_PARAM"
           : status == NO_SUPPORT ? "FAKE_NOT_SUPPORTED"
                                  : "FAKE_ERROR";
}
EXPORT void cudnnGetLastErrorString(char *out, size_t size)
{
    snprintf(out, size, "%s", last_error);
}
EXPORT int cudnnCreate(void **handle)
{
    *handle = &handle_marker;
    return setting("nostart") ? NOT_READY : FINE;
}
EXPORT int cudnnSetStream(void *handle, void *stream)
{
    return handle == &handle_marker && stream ? FINE : BAD;
}

EXPORT int cudnnBackendCreateDescriptor(int type, void **out)
{
    bool is_known = type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    for (int n = 0; n < RULES; n++)
        is_known |= rules[n].descriptor == type;
    struct descriptor *d = is_known ? calloc(1, sizeof *d) : NULL;
    if (!d)
        return wrong(BAD, "no such descriptor: %ld", type, 0);
    d->type = type;
    *out = d;
    return FINE;
}

EXPORT int cudnnBackendDestroyDescriptor(void *descriptor)
{
    struct descriptor *d = descriptor;
    for (int n = 0; n < d->attribute_count; n++)
        free(d->attributes[n].values);
    free(d);
    return FINE;
}

EXPORT int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                                    const void *values)
{
    struct descriptor *d = descriptor;
    const rule *r = NULL;
    for (int n = 0; n < RULES; n++)
        if (rules[n].descriptor == d->type && rules[n].name == name)
            r = &rules[n];
    if (!r)
        return wrong(BAD, "descriptor %ld has no attribute %ld", d->type, name);
    if (d->is_final || found(d, name))
        return wrong(BAD, "attribute %ld is set again, or too late", name, 0);
    if (type != r->type || count < 1 || count > r->most || !values)
        return wrong(BAD, "attribute %ld has another type or another count than %ld", name,
                     (long)count);
    if (type == CUDNN_TYPE_HANDLE && *(void *const *)values != &handle_marker)
        return wrong(BAD, "attribute %ld is no handle", name, 0);
    for (int64_t n = 0; n < count && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; n++) {
        const struct descriptor *part = ((struct descriptor *const *)values)[n];
        bool is_right =
            part && (r->points_to < 0 ? is_operation(part) : part->type == r->points_to);
        if (!is_right || !part->is_final)
            return wrong(BAD, "attribute %ld: descriptor %ld is not final, or of another type",
                         name, (long)n);
    }
    attribute *a = &d->attributes[d->attribute_count++];
    *a = (attribute){.name = name, .type = type, .count = count};
    a->values = malloc((size_t)(count * r->value_bytes));
    memcpy(a->values, values, (size_t)(count * r->value_bytes));
    return FINE;
}

EXPORT int cudnnBackendFinalize(void *descriptor)
{
    struct descriptor *d = descriptor;
    int status = FINE;
    if (d->is_final)
        return wrong(BAD, "descriptor %ld is final already", d->type, 0);
    for (int n = 0; n < RULES; n++)
        if (rules[n].descriptor == d->type && rules[n].is_needed && !found(d, rules[n].name))
            return wrong(BAD, "descriptor %ld lacks attribute %ld", d->type, rules[n].name);
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        status = check_tensor(d);
    else if (is_operation(d)) {
        play_operation o = operation_of(d);
        const char *why = play_check(&o);
        if (why)
            status = wrong(BAD, why, (long)o.x.id, (long)o.y.id);
    } else if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        status = check_graph(d);
    else if (d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        status = check_pack(d);
    else if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        d->number = part_of(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->number;
        d->graph = part_of(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->graph;
        if (setting_number("refuse", -1) == d->number)
            status = wrong(NO_SUPPORT, "plan %ld is refused", d->number, 0);
    }
    d->is_final = status == FINE;
    return status;
}

EXPORT int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted,
                                    int64_t *count, void *values)
{
    struct descriptor *d = descriptor;
    if (!d->is_final)
        return wrong(BAD, "attribute %ld of a descriptor that is not final", name, 0);
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 &&
        wanted == 1) {
        *count = 1;
        *(int64_t *)values = setting_number("workspace", 256);
        return FINE;
    }
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS || type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return wrong(BAD, "attribute %ld cannot be read", name, 0);
    *count = setting("none") ? 0 : wanted < PROPOSALS ? wanted : PROPOSALS;
    for (int64_t n = 0; n < *count; n++) {
        struct descriptor *proposal = ((struct descriptor **)values)[n];
        if (!proposal || proposal->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
            return wrong(BAD, "proposal %ld needs a descriptor", (long)n, 0);
        proposal->is_final = true;
        proposal->number = (int)n;
        proposal->graph = part_of(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    }
    return FINE;
}

// The pack has exactly the tensors of the graph that are not virtual.
static void *address_of(const struct descriptor *pack, int64_t id, bool *is_taken)
{
    const attribute *ids = found(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    for (int64_t n = 0; n < ids->count; n++)
        if (((int64_t *)ids->values)[n] == id) {
            is_taken[n] = true;
            return ((void **)found(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->values)[n];
        }
    return NULL;
}

static void note(int plan, long operations)
{
    const char *path = getenv("FAKE_CUDNN_LOG");
    FILE *out = path ? fopen(path, "a") : NULL;
    if (out) {
        fprintf(out, "plan %d of %ld operations\n", plan, operations);
        fclose(out);
    }
}

EXPORT int cudnnBackendExecute(void *handle, void *plan_descriptor, void *pack_descriptor)
{
    const struct descriptor *plan = plan_descriptor, *pack = pack_descriptor;
    bool is_taken[MOST] = {false};
    play_operation operations[MOST];
    if (handle != &handle_marker || plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || !plan->is_final || !pack->is_final)
        return wrong(BAD, "a handle, a plan and a pack, both final", 0, 0);
    if (setting("norun"))
        return wrong(NO_RUN, "execution fails", 0, 0);
    const attribute *ops = found(plan->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    for (int64_t n = 0; n < ops->count; n++) {
        play_operation *o = &operations[n];
        *o = operation_of(((struct descriptor **)ops->values)[n]);
        play_tensor *operands[] = {&o->x, o->has_b ? &o->b : NULL, o->has_t ? &o->t : NULL, &o->y};
        for (int i = 0; i < 4; i++)
            if (operands[i] && !operands[i]->is_virtual &&
                !(operands[i]->data = address_of(pack, operands[i]->id, is_taken)))
                return wrong(BAD, "tensor %ld has no address", (long)operands[i]->id, 0);
            else if (operands[i] && !operands[i]->is_virtual && !operands[i]->is_value &&
                     (uintptr_t)operands[i]->data % 16)
                return wrong(BAD, "tensor %ld is not aligned", (long)operands[i]->id, 0);
    }
    for (int64_t n = 0; n < found(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->count; n++)
        if (!is_taken[n])
            return wrong(BAD, "address %ld belongs to no tensor of the graph", (long)n, 0);
    if (setting_number("workspace", 256) &&
        !*(void **)found(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->values)
        return wrong(BAD, "there is no workspace", 0, 0);
    note(plan->number, (long)ops->count);
    if (setting_number("slow", -1) == plan->number)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    if (!setting("idle"))
        play_all(operations, (int)ops->count);
    return FINE;
}
