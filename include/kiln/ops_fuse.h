// ops_fuse.h: expressions over whole tensors that run as one kernel.
//
// An expression is a list of nodes: inputs, constants, parameters, casts and the elementwise ops of
// kiln/ops.h, each over nodes that were added before. kiln_fuse gives it views, writes one kernel
// for it and for how the views lie, compiles and keeps that, and launches it: every input is read
// once, every output written once. Results may be reduced along axes on the way out.
//
//     kiln_expr e = {0};
//     kiln_node x = kiln_expr_input(&e, 0), b = kiln_expr_input(&e, 1);
//     kiln_node y = kiln_expr_op(&e, KILN_EW_ADD, x, b, 0);
//     y = kiln_expr_op(&e, KILN_EW_GELU, y, 0, 0);
//     kiln_fuse(k, &(kiln_fuse_desc){.expression = &e, .in = {views …}, .out = {{y, out}}});
//
// What a sequence of kiln_elementwise_forward calls over f32 tensors gives, kiln_fuse gives in the
// same bits, on every device. Narrow floats are f32 from the load to the store, and narrow integers
// have 32 bits: where such a sequence would round its results between two ops, only a cast does.
#ifndef KILN_OPS_FUSE_H
#define KILN_OPS_FUSE_H

#include "kiln/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- expressions
enum { // how many there may be
    KILN_EXPR_NODES = 256,
    KILN_FUSE_INPUTS = 12,
    KILN_FUSE_OUTPUTS = 8,
    KILN_FUSE_VIEWS = 16, // inputs and outputs
    KILN_FUSE_PARAMETERS = 16
};

typedef uint32_t kiln_node; // 0: none

typedef struct kiln_expr_node { // its fields belong to the calls below
    uint8_t kind, type;
    uint16_t what;  // op, or number of the input or parameter
    uint16_t of[5]; // a, b, c, alpha, beta
    double value;
} kiln_expr_node;

// Begins as {0}; a value, which may be copied. The calls below add nodes. A node that is there
// already is not added again. What a call refuses it returns as node 0, and kiln_fuse says why.
typedef struct kiln_expr {
    uint32_t count;
    char mistake[160]; // the first one
    kiln_expr_node nodes[KILN_EXPR_NODES];
} kiln_expr;

KILN_API kiln_node kiln_expr_input(kiln_expr *e, uint32_t index);     // kiln_fuse_desc.in[index]
KILN_API kiln_node kiln_expr_parameter(kiln_expr *e, uint32_t index); // parameters[index]
// A constant, and a parameter too, has the type of the op that uses it: another one in each, where
// they differ. Another constant is another kernel; another value of a parameter is not.
KILN_API kiln_node kiln_expr_constant(kiln_expr *e, double value);
// The value that a tensor of that type would hold.
KILN_API kiln_node kiln_expr_cast(kiln_expr *e, kiln_type type, kiln_node a);
// Operands of an op have the same type once narrow ones are widened: f32, f64, or 32 or 64 bits
// signed or unsigned. Masks (what comparisons give, and what KILN_EW_WHERE takes) are of any type.
// Operands that the op does not have are 0.
KILN_API kiln_node kiln_expr_op(kiln_expr *e, kiln_elementwise op, kiln_node a, kiln_node b,
                                kiln_node c);
// For ops with parameters: alpha and beta are nodes as well.
KILN_API kiln_node kiln_expr_op_with(kiln_expr *e, kiln_elementwise op, kiln_node a, kiln_node b,
                                     kiln_node c, kiln_node alpha, kiln_node beta);
// Gradients of a number whose gradient by node of[n] is node dout[n], n < outputs: gradients[m] is
// that by node by[m], m < inputs, over the whole shape. Ops without a derivative (comparisons), and
// alpha and beta, pass nothing on.
KILN_API void kiln_expr_gradient(kiln_expr *e, uint32_t outputs, const kiln_node *of,
                                 const kiln_node *dout, uint32_t inputs, const kiln_node *by,
                                 kiln_node *gradients);

// --- running them
typedef enum kiln_fuse_reduction {
    KILN_FUSE_NO_REDUCTION,
    KILN_FUSE_SUM,
    KILN_FUSE_MEAN, // floats alone
    KILN_FUSE_MAX,  // with a NaN the other one, as KILN_EW_MAX
    KILN_FUSE_MIN
} kiln_fuse_reduction;

typedef struct kiln_fuse_output {
    kiln_node node;
    kiln_view view; // of any type. Reduced: the axes have size 1, or are left out. Of bool: what is
                    // reduced is 1 where the value is not 0; a sum or a mean says whether any is
    kiln_fuse_reduction reduction;
} kiln_fuse_output;

// Inputs are broadcast: to the sizes of the outputs that are not reduced, or else to one shape that
// fits all of them. An output that is not reduced may be the same view as an input.
typedef struct kiln_fuse_desc {
    const kiln_expr *expression;
    kiln_view in[KILN_FUSE_INPUTS];
    kiln_fuse_output out[KILN_FUSE_OUTPUTS]; // up to the first without a node
    uint32_t axes;                           // of the reductions: bit d is dimension d of the shape
    double parameters[KILN_FUSE_PARAMETERS];
    // Reductions of much to little are spread over the device, by parts that lie here: f32, dense,
    // as many elements as kiln_fuse_workspace says. Without it the context keeps that memory.
    kiln_view workspace;
    kiln_stream *stream; // NULL: the device's own
} kiln_fuse_desc;
KILN_API kiln_status kiln_fuse(kiln *k, const kiln_fuse_desc *desc);
// 0: it needs none.
KILN_API kiln_status kiln_fuse_workspace(kiln *k, const kiln_fuse_desc *desc, uint64_t *elements);

#ifdef __cplusplus
}
#endif
#endif
