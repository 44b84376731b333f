// cuDNN for kiln bench, opened at run time: graphs of its operations, the plans that it proposes
// for them, and runs with tensors of a device. Nothing of cuDNN is needed to build.
//
// A graph keeps its first mistake in `why`, and every later call does nothing: who builds one asks
// once, at the end.
#ifndef KILN_CLI_CUDNN_H
#define KILN_CLI_CUDNN_H

#include "kiln/ops.h"

enum {
#define NUMBER(name, value) CUDNN_##name = (value),
#include "cli/cudnn.def"
};

enum {
    CUDNN_MOST_TENSORS = 64,
    CUDNN_MOST_OPERATIONS = 40,
    CUDNN_MOST_PLANS = 8,
    CUDNN_MOST_PARTS = 320,
    CUDNN_RANK = 5
};

typedef enum cudnn_kind {
    CUDNN_IN_MEMORY, // has an address when the graph runs
    CUDNN_BETWEEN,   // never leaves the kernel: a result that is an operand
    CUDNN_NUMBER     // one number, of the host
} cudnn_kind;

typedef struct cudnn_tensor {
    cudnn_kind kind;
    int type, rank; // type: CUDNN_DATA_…
    int64_t sizes[CUDNN_RANK], strides[CUDNN_RANK];
    int64_t id; // the graph's own, from 1
    void *descriptor;
    union {
        float real;
        int32_t whole;
    } number;
    uint64_t address; // of the next pack (cudnn_pack)
} cudnn_tensor;

typedef struct cudnn_graph {
    cudnn_tensor tensors[CUDNN_MOST_TENSORS];
    int tensor_count;
    void *operations[CUDNN_MOST_OPERATIONS];
    int operation_count;
    void *plans[CUDNN_MOST_PLANS]; // by cuDNN's heuristics, the best guess first
    int64_t workspaces[CUDNN_MOST_PLANS];
    int plan_count;
    void *parts[CUDNN_MOST_PARTS]; // every descriptor, to be freed
    int part_count;
    char why[256]; // "": no mistake
} cudnn_graph;

// --- the library
// NULL, or why it cannot be used on the device. file: instead of the usual names.
const char *cudnn_open(kiln *k, const char *file);
int cudnn_version(void);                // 91900: 9.19.0
int cudnn_type_of(kiln_type type);      // CUDNN_DATA_…; -1: it is not asked for such
uint64_t cudnn_address_of(kiln_view v); // of its first element

// --- a graph
cudnn_graph *cudnn_graph_new(void);
void cudnn_graph_free(cudnn_graph *g);
void cudnn_wrong(cudnn_graph *g, const char *why); // the graph's own mistake, unless it has one
cudnn_tensor *cudnn_in_memory(cudnn_graph *g, int type, int rank, const int64_t *sizes,
                              const int64_t *strides); // strides NULL: dense
cudnn_tensor *cudnn_view(cudnn_graph *g, kiln_view v); // the same, with its address
cudnn_tensor *cudnn_between(cudnn_graph *g, int type, int rank, const int64_t *sizes,
                            const int64_t *strides);
cudnn_tensor *cudnn_real(cudnn_graph *g, float value);
cudnn_tensor *cudnn_whole(cudnn_graph *g, int32_t value);

// y = mode(x, b); b may be NULL. CUDNN_POINTWISE_BINARY_SELECT: x where t, else b. axis: of
// CUDNN_POINTWISE_GEN_INDEX.
typedef struct cudnn_pointwise_desc {
    int mode, compute, axis;
    cudnn_tensor *x, *b, *t, *y;
} cudnn_pointwise_desc;
void cudnn_pointwise(cudnn_graph *g, const cudnn_pointwise_desc *d);
void cudnn_matmul(cudnn_graph *g, cudnn_tensor *a, cudnn_tensor *b, cudnn_tensor *c);
void cudnn_reduce(cudnn_graph *g, int how, cudnn_tensor *x, cudnn_tensor *y);
void cudnn_reshape(cudnn_graph *g, cudnn_tensor *x, cudnn_tensor *y);
// A convolution, or one of its gradients: of x by dy and w, of w by x and dy.
typedef enum cudnn_direction { CUDNN_FORWARD, CUDNN_BY_DATA, CUDNN_BY_WEIGHT } cudnn_direction;
void cudnn_convolve(cudnn_graph *g, cudnn_direction direction, const kiln_window *window,
                    cudnn_tensor *x, cudnn_tensor *w, cudnn_tensor *y);

// Asks cuDNN how it would run the graph; false: not at all (g->why).
bool cudnn_plan(cudnn_graph *g);
// The addresses that the tensors have now, and room for the plan's workspace; NULL: g->why.
void *cudnn_pack(cudnn_graph *g, uint64_t workspace);
kiln_status cudnn_run(const cudnn_graph *g, int plan, void *pack);

// --- the ops (cudnn_ops.c); false: g->why
typedef struct cudnn_attention { // tensors of cuDNN's own
    cudnn_tensor *stats;         // [batch, heads, queries, 1] f32
    cudnn_tensor *sums, *dq;     // backward: as stats; dq in f32
} cudnn_attention;
bool cudnn_attention_forward(cudnn_graph *g, const kiln_attention_desc *d, cudnn_attention *own);
bool cudnn_attention_backward(cudnn_graph *g, const kiln_attention_backward_desc *d,
                              cudnn_attention *own);
bool cudnn_conv_forward(cudnn_graph *g, const kiln_conv_desc *d);
bool cudnn_conv_backward(cudnn_graph *g, const kiln_conv_backward_desc *d, bool is_by_weight);

#endif
