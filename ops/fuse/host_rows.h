// What an expression is made of: kinds of nodes, and the rows of elementwise.def as texts.
#ifndef KILN_FUSE_ROWS_H
#define KILN_FUSE_ROWS_H

#include "kiln/ops_fuse.h"

typedef enum fuse_kind { // the first: not a node
    FUSE_NONE,
    FUSE_INPUT,
    FUSE_PARAMETER,
    FUSE_CONSTANT,
    FUSE_CAST,
    FUSE_OP,
    FUSE_DERIVATIVE, // of an op by one of its operands: what is op * FUSE_OPERANDS + operand
    FUSE_LIKE,       // a in the type of b: a gradient on its way back through a cast
} fuse_kind;

enum { FUSE_OPERANDS = 3, FUSE_NAMES = 5 }; // a, b, c; and alpha, beta
enum { FUSE_FLOATS = 1, FUSE_SIGNED = 3, FUSE_NUMBERS = 7, FUSE_ALL = 15 }; // sets of types

typedef struct fuse_row {
    const char *name, *signature, *value, *derivatives[FUSE_OPERANDS];
    uint32_t types;
} fuse_row;
extern const fuse_row fuse_rows[KILN_ELEMENTWISE_COUNT];

// Is operand `i` of the op, or of the op that it is a derivative of, a mask?
bool fuse_is_mask(const kiln_expr_node *n, uint32_t i);
// A number of no type, or a derivative that only such numbers and masks are in: each of its users
// has it as one of theirs.
bool fuse_is_free(const kiln_expr *e, kiln_node node);

// The identifier that `expression` begins with, as a number of "abcpq"; FUSE_NAMES: another, or
// none. Sets how long it is.
uint32_t fuse_name(const char *expression, size_t *len);

#endif
