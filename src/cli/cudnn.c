// cuDNN's backend interface (cudnn.h): descriptors are made, given attributes, finalised and then
// named by others. The order is tensors, operations, a graph of them, what the heuristics propose,
// a plan for each proposal, and a pack of addresses for a run. Start at cudnn_plan.
#include "cli/cudnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/bench.h"

static struct {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    size_t (*version)(void);
    const char *(*status_text)(int status);
    void (*last_error)(char *out, size_t size);
    int (*make)(int type, void **out);
    int (*destroy)(void *descriptor);
    int (*set)(void *descriptor, int name, int type, int64_t count, const void *values);
    int (*get)(void *descriptor, int name, int type, int64_t wanted, int64_t *count, void *values);
    int (*finalize)(void *descriptor);
    int (*execute)(void *handle, void *plan, void *pack);
    void *handle;
} dnn;

// --- the library
const char *cudnn_open(kiln *k, const char *file)
{
    static const char *const names[] = {"libcudnn.so.9", "libcudnn.so",
                                        "/usr/local/cuda/lib64/libcudnn.so.9"};
    static const char *const symbols[] = {"cudnnCreate",
                                          "cudnnSetStream",
                                          "cudnnGetVersion",
                                          "cudnnGetErrorString",
                                          "cudnnGetLastErrorString",
                                          "cudnnBackendCreateDescriptor",
                                          "cudnnBackendDestroyDescriptor",
                                          "cudnnBackendSetAttribute",
                                          "cudnnBackendGetAttribute",
                                          "cudnnBackendFinalize",
                                          "cudnnBackendExecute"};
    void *const slots[] = {&dnn.create,     &dnn.set_stream, &dnn.version, &dnn.status_text,
                           &dnn.last_error, &dnn.make,       &dnn.destroy, &dnn.set,
                           &dnn.get,        &dnn.finalize,   &dnn.execute};
    kiln_device_info info;
    if (kiln_device_info_of(k, &info) || !info.caps.sm)
        return "cuDNN runs on cuda devices alone";
    switch (bench_load(file, names, COUNT(names), symbols, slots, COUNT(symbols))) {
    case BENCH_LOADED: break;
    case BENCH_MISSING: return "there is no libcudnn.so.9 here; --against cudnn=FILE says where";
    case BENCH_STRANGE: return "libcudnn.so is not as it is known: cuDNN 9 is needed";
    }
    if (dnn.create(&dnn.handle) || dnn.set_stream(dnn.handle, kiln_stream_native(k, NULL)))
        return "cuDNN does not start";
    return NULL;
}

int cudnn_version(void)
{
    return (int)dnn.version();
}

// f32 is left out: cuDNN may round its operands to tf32.
int cudnn_type_of(kiln_type type)
{
    return type == KILN_F16 ? CUDNN_DATA_HALF : type == KILN_BF16 ? CUDNN_DATA_BFLOAT16 : -1;
}

uint64_t cudnn_address_of(kiln_view v)
{
    return kiln_buffer_address(v.buffer) + v.first * kiln_type_size(kiln_view_type(v));
}

// --- descriptors
void cudnn_wrong(cudnn_graph *g, const char *why)
{
    if (!*g->why)
        snprintf(g->why, sizeof g->why, "%s", why);
}

static bool is_fine(cudnn_graph *g, int status, const char *doing)
{
    char last[160] = "", text[256];
    if (!status)
        return true;
    dnn.last_error(last, sizeof last);
    last[strcspn(last, "\n")] = 0;
    snprintf(text, sizeof text, "%s: %s%s%s", doing, dnn.status_text(status), *last ? ": " : "",
             last);
    cudnn_wrong(g, text);
    return false;
}

// NULL after a mistake; the graph frees it.
static void *part_new(cudnn_graph *g, int type)
{
    void *part = NULL;
    if (!*g->why && g->part_count == CUDNN_MOST_PARTS)
        cudnn_wrong(g, "the graph is too large");
    if (*g->why || !is_fine(g, dnn.make(type, &part), "a descriptor"))
        return NULL;
    return g->parts[g->part_count++] = part;
}

static void set_many(cudnn_graph *g, void *part, int name, int type, int64_t count,
                     const void *values)
{
    char doing[32];
    snprintf(doing, sizeof doing, "attribute %d", name);
    if (!*g->why)
        is_fine(g, dnn.set(part, name, type, count, values), doing);
}

// Enums of cuDNN, the data types among them, are ints.
static void set_int(cudnn_graph *g, void *part, int name, int type, int value)
{
    set_many(g, part, name, type, 1, &value);
}

static void set_int64(cudnn_graph *g, void *part, int name, int64_t value)
{
    set_many(g, part, name, CUDNN_TYPE_INT64, 1, &value);
}

static void set_float(cudnn_graph *g, void *part, int name, float value)
{
    set_many(g, part, name, CUDNN_TYPE_FLOAT, 1, &value);
}

static void set_part(cudnn_graph *g, void *part, int name, void *value)
{
    set_many(g, part, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void set_tensor(cudnn_graph *g, void *part, int name, const cudnn_tensor *t)
{
    set_part(g, part, name, t->descriptor);
}

static void finish(cudnn_graph *g, void *part, const char *what)
{
    if (!*g->why)
        is_fine(g, dnn.finalize(part), what);
}

// --- tensors
static cudnn_tensor *tensor_new(cudnn_graph *g, cudnn_kind kind, int type, int rank,
                                const int64_t *sizes, const int64_t *strides)
{
    static cudnn_tensor none; // after a mistake: nothing reads it
    const bool is_true = true;
    if (type < 0)
        cudnn_wrong(g, "cuDNN is asked for bf16 and f16 alone");
    if (g->tensor_count == CUDNN_MOST_TENSORS || rank > CUDNN_RANK)
        cudnn_wrong(g, "the graph is too large");
    if (*g->why)
        return &none;
    cudnn_tensor *t = &g->tensors[g->tensor_count++];
    *t = (cudnn_tensor){.kind = kind, .type = type, .rank = rank, .id = g->tensor_count};
    int64_t dense = 1;
    for (int n = rank; n-- > 0; dense *= sizes[n]) {
        t->sizes[n] = sizes[n];
        t->strides[n] = strides ? strides[n] : dense;
    }
    void *part = t->descriptor = part_new(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set_int(g, part, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    set_many(g, part, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, t->sizes);
    set_many(g, part, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, t->strides);
    set_int64(g, part, CUDNN_ATTR_TENSOR_UNIQUE_ID, t->id);
    set_int64(g, part, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);
    if (kind == CUDNN_BETWEEN)
        set_many(g, part, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_true);
    if (kind == CUDNN_NUMBER)
        set_many(g, part, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_true);
    finish(g, part, "a tensor");
    return t;
}

cudnn_tensor *cudnn_in_memory(cudnn_graph *g, int type, int rank, const int64_t *sizes,
                              const int64_t *strides)
{
    return tensor_new(g, CUDNN_IN_MEMORY, type, rank, sizes, strides);
}

cudnn_tensor *cudnn_view(cudnn_graph *g, kiln_view v)
{
    int64_t sizes[KILN_MAX_RANK], strides[KILN_MAX_RANK], dense = 1;
    for (uint32_t n = v.rank; n-- > 0; dense *= sizes[n]) {
        sizes[n] = (int64_t)v.sizes[n];
        strides[n] = v.has_strides ? v.strides[n] : dense;
    }
    cudnn_tensor *t =
        cudnn_in_memory(g, cudnn_type_of(kiln_view_type(v)), (int)v.rank, sizes, strides);
    t->address = cudnn_address_of(v);
    return t;
}

cudnn_tensor *cudnn_between(cudnn_graph *g, int type, int rank, const int64_t *sizes,
                            const int64_t *strides)
{
    return tensor_new(g, CUDNN_BETWEEN, type, rank, sizes, strides);
}

static const int64_t ones[CUDNN_RANK] = {1, 1, 1, 1, 1};

cudnn_tensor *cudnn_real(cudnn_graph *g, float value)
{
    cudnn_tensor *t = tensor_new(g, CUDNN_NUMBER, CUDNN_DATA_FLOAT, 4, ones, ones);
    t->number.real = value;
    return t;
}

cudnn_tensor *cudnn_whole(cudnn_graph *g, int32_t value)
{
    cudnn_tensor *t = tensor_new(g, CUDNN_NUMBER, CUDNN_DATA_INT32, 4, ones, ones);
    t->number.whole = value;
    return t;
}

// --- operations
static void add_operation(cudnn_graph *g, void *operation, const char *what)
{
    finish(g, operation, what);
    if (!*g->why && g->operation_count == CUDNN_MOST_OPERATIONS)
        cudnn_wrong(g, "the graph is too large");
    if (!*g->why)
        g->operations[g->operation_count++] = operation;
}

void cudnn_pointwise(cudnn_graph *g, const cudnn_pointwise_desc *d)
{
    void *how = part_new(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set_int(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, d->mode);
    set_int(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, d->compute);
    if (d->mode == CUDNN_POINTWISE_GEN_INDEX)
        set_int64(g, how, CUDNN_ATTR_POINTWISE_AXIS, d->axis);
    finish(g, how, "a pointwise mode");
    void *operation = part_new(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_part(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, d->x);
    if (d->b)
        set_tensor(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, d->b);
    if (d->t)
        set_tensor(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, d->t);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, d->y);
    add_operation(g, operation, "a pointwise operation");
}

void cudnn_matmul(cudnn_graph *g, cudnn_tensor *a, cudnn_tensor *b, cudnn_tensor *c)
{
    void *how = part_new(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set_int(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    finish(g, how, "a product's type");
    void *operation = part_new(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    set_part(g, operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    add_operation(g, operation, "a product");
}

void cudnn_reduce(cudnn_graph *g, int how_to, cudnn_tensor *x, cudnn_tensor *y)
{
    void *how = part_new(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set_int(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    set_int(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how_to);
    finish(g, how, "a reduction's mode");
    void *operation = part_new(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    set_part(g, operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    add_operation(g, operation, "a reduction");
}

void cudnn_reshape(cudnn_graph *g, cudnn_tensor *x, cudnn_tensor *y)
{
    void *operation = part_new(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_tensor(g, operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    add_operation(g, operation, "a transposition");
}

void cudnn_convolve(cudnn_graph *g, cudnn_direction direction, const kiln_window *window,
                    cudnn_tensor *x, cudnn_tensor *w, cudnn_tensor *y)
{
    static const struct {
        int type, x, w, y, how, alpha, beta;
    } forms[] = {
        [CUDNN_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        [CUDNN_BY_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        [CUDNN_BY_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    };
    int64_t stride[3], dilation[3], before[3], after[3], space = x->rank - 2;
    for (int n = 0; n < 3; n++) {
        stride[n] = window->stride[n] ? window->stride[n] : 1;
        dilation[n] = window->dilation[n] ? window->dilation[n] : 1;
        before[n] = window->pad_before[n];
        after[n] = window->pad_after[n];
    }
    void *how = part_new(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set_int(g, how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    set_int(g, how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
            CUDNN_CROSS_CORRELATION);
    set_int64(g, how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, space);
    set_many(g, how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, space, stride);
    set_many(g, how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, space, dilation);
    set_many(g, how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, space, before);
    set_many(g, how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, space, after);
    finish(g, how, "a window");
    void *operation = part_new(g, forms[direction].type);
    set_tensor(g, operation, forms[direction].x, x);
    set_tensor(g, operation, forms[direction].w, w);
    set_tensor(g, operation, forms[direction].y, y);
    set_part(g, operation, forms[direction].how, how);
    set_float(g, operation, forms[direction].alpha, 1);
    set_float(g, operation, forms[direction].beta, 0);
    add_operation(g, operation, "a convolution");
}

// --- plans
// What the heuristics propose, in their order; those that cannot be prepared are left out.
static void add_plans(cudnn_graph *g, void *graph, int mode)
{
    void *heuristics = part_new(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR),
         *proposals[2 * CUDNN_MOST_PLANS];
    int64_t count = 0, one = 0;
    set_part(g, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    set_int(g, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    finish(g, heuristics, "heuristics");
    for (size_t n = 0; n < COUNT(proposals); n++)
        proposals[n] = part_new(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (*g->why ||
        !is_fine(g,
                 dnn.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                         COUNT(proposals), &count, proposals),
                 "proposals"))
        return;
    for (int64_t n = 0;
         n < count && n < (int64_t)COUNT(proposals) && g->plan_count < CUDNN_MOST_PLANS; n++) {
        int64_t workspace = 0;
        void *plan = part_new(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        set_many(g, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn.handle);
        set_part(g, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposals[n]);
        if (*g->why)
            return;
        if (dnn.finalize(plan) || dnn.get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                          CUDNN_TYPE_INT64, 1, &one, &workspace))
            continue;
        g->workspaces[g->plan_count] = workspace;
        g->plans[g->plan_count++] = plan;
    }
}

bool cudnn_plan(cudnn_graph *g)
{
    void *graph = part_new(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set_many(g, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn.handle);
    set_many(g, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             g->operation_count, g->operations);
    finish(g, graph, "a graph");
    add_plans(g, graph, CUDNN_HEUR_MODE_A);
    if (!*g->why && !g->plan_count)
        add_plans(g, graph, CUDNN_HEUR_MODE_FALLBACK);
    if (!g->plan_count)
        cudnn_wrong(g, "it has no engine for this");
    return !*g->why;
}

// --- runs
void *cudnn_pack(cudnn_graph *g, uint64_t workspace)
{
    int64_t ids[CUDNN_MOST_TENSORS], count = 0;
    void *addresses[CUDNN_MOST_TENSORS], *scratch = (void *)(uintptr_t)workspace;
    for (int n = 0; n < g->tensor_count; n++) {
        cudnn_tensor *t = &g->tensors[n];
        if (t->kind == CUDNN_BETWEEN)
            continue;
        ids[count] = t->id;
        addresses[count++] =
            t->kind == CUDNN_NUMBER ? (void *)&t->number : (void *)(uintptr_t)t->address;
    }
    void *pack = part_new(g, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    set_many(g, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
    set_many(g, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses);
    set_many(g, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
    finish(g, pack, "a pack of addresses");
    return *g->why ? NULL : pack;
}

kiln_status cudnn_run(const cudnn_graph *g, int plan, void *pack)
{
    return dnn.execute(dnn.handle, g->plans[plan], pack) ? KILN_E_UNSUPPORTED : KILN_OK;
}

cudnn_graph *cudnn_graph_new(void)
{
    return calloc(1, sizeof(cudnn_graph));
}

void cudnn_graph_free(cudnn_graph *g)
{
    for (int n = g ? g->part_count : 0; n-- > 0;)
        dnn.destroy(g->parts[n]);
    free(g);
}
