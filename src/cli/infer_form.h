// Integers of a kernel as forms: block indices with factors, and an interval for the rest. Shared
// by infer.c, which looks for the grid, and infer_reach.c, which looks for lengths.
#ifndef KILN_INFER_FORM_H
#define KILN_INFER_FORM_H

#include "cli/infer.h"

#define FORM_FAR (INT64_C(1) << 60) // nothing beyond it is known

enum { FORM_FUEL = 40, FORM_STEPS = 1 << 22 }; // depth and work of one question are bounded

typedef struct form {
    int64_t factor[3]; // of the block index of each axis
    int64_t lo, hi;    // of the rest; at most FORM_FAR away
} form;

typedef struct fact { // `value` lies in lo ... hi here
    ir_ref value;
    int64_t lo, hi;
    struct fact *outer;
} fact;

typedef struct infer {
    const ir_func *f;
    arena *a;
    const infer_arg *args;
    const uint32_t *block, *grid; // grid: NULL while it is not known
    fact *facts;
    uint32_t steps;  // forms computed; a shared tree may be large
    uint64_t used;   // parameters (bit) that went into the last form
    uint32_t target; // infer_bytes: the parameter
    uint64_t needed; // bytes behind it
    bool is_unbounded;
} infer;

int64_t form_add(int64_t a, int64_t b); // at most FORM_FAR away
int64_t form_times(int64_t a, int64_t b);
bool form_is_plain(form v);  // no block index in it
bool form_is_number(form v); // and known
// The form of an integer; everything where it is not known. `fuel` bounds the depth.
form form_of(infer *x, ir_ref r, int fuel);
// The parameter behind a pointer, and how far behind its start; -1: another one, or not known.
int64_t form_pointer(infer *x, ir_ref r, form *offset);
// i / c < n says i < n * c: the dividend, and the divisor. Through widenings; itself when it is no
// quotient.
ir_ref form_dividend(infer *x, ir_ref r, int64_t *divisor);
bool form_is_access(ir_op op); // of memory through operand 0

#endif
