// Suites: what tests, benchmarks and documentation know about an op. A suite is a table of cases
// (ops/NAME/cases.def) and functions that turn a case into tensors, a call and the right result in
// double (ops/NAME/suite.c).
//
// suite.c makes the tensors in any layout, calls the op on a device and compares: forward with the
// reference, backward with finite differences of the reference.
#ifndef KILN_SUITE_H
#define KILN_SUITE_H

#include "kiln/ops.h"

#include <stdio.h>

enum { SUITE_TENSORS = 13 };

// --- cases
enum { // sets of types
    SUITE_F32 = 1 << KILN_F32,
    SUITE_F16 = 1 << KILN_F16,
    SUITE_BF16 = 1 << KILN_BF16,
    SUITE_F64 = 1 << KILN_F64,
    SUITE_FLOATS = SUITE_F32 | SUITE_F16 | SUITE_BF16, // those that every op has
};

enum { // how the tensors of a case lie; every one that is given is a test of its own
    SUITE_DENSE = 1,
    SUITE_TRANSPOSED = 2, // column-major
    SUITE_GAPS = 4,       // every second element of a larger tensor along the last dimension
    SUITE_FLIPPED = 8,    // backwards along the first dimension
    SUITE_OFFSET = 16,    // dense, one element behind an aligned address
    SUITE_IN_PLACE = 32,  // the first output is the first input
    SUITE_MIXED = 64,     // every tensor in another one of the first five
    SUITE_REPEATED = 128, // inputs repeat along a dimension, and are read-only; results are dense
    SUITE_ANY_VIEW = 31 | SUITE_MIXED | SUITE_REPEATED,
};

enum {                    // what a case is for
    SUITE_TEST = 1,       // every device
    SUITE_GRADIENT = 2,   // backward, too; small: the reference runs twice for every input element
    SUITE_BENCH = 4,      // kiln bench
    SUITE_GPU = 8,        // a test that is too long for interpreters
    SUITE_BROADCAST = 16, // the suite makes dimensions of its inputs 1
    SUITE_EMIT = 32 // nothing runs; the kernels that it asks for are assembled (tests/emit/ops)
};

typedef struct op_case {
    uint32_t tags, types, layouts;
    uint32_t rank;
    uint64_t sizes[KILN_MAX_RANK]; // of the first input
    uint32_t axis, option;         // the suite's own: options of the call
    double alpha, beta;
} op_case;
#define SIZES(...)                                                                                 \
    .rank = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), .sizes = {__VA_ARGS__}

// --- suites
typedef enum op_role { ROLE_INPUT, ROLE_OUTPUT, ROLE_SCRATCH } op_role;

typedef struct op_tensor {
    const char *name;
    op_role role;
    kiln_type type;
    uint32_t rank;
    uint64_t sizes[KILN_MAX_RANK];
    double low, high;  // inputs: values lie between
    bool is_integer;   // inputs: values are whole numbers
    bool has_gradient; // inputs: backward gives it
    bool is_constant;  // outputs: backward is given no gradient of it
    bool is_unordered; // its gradient is a sum in changing order: the bits may change
    double tolerance;  // outputs and gradients: allowed error in units of the type's epsilon
} op_tensor;

typedef enum op_pass { PASS_FORWARD, PASS_BACKWARD } op_pass;

typedef struct op_suite {
    const char *name;
    const op_case *cases;
    size_t case_count;
    bool has_backward;
    bool bits_differ; // devices have kernels of their own: not the interpreter's bits
    // The tensors of a case: inputs, then outputs, then scratch. Returns how many.
    uint32_t (*tensors)(const op_case *c, kiln_type type, op_tensor *out);
    // Calls the op. views: those tensors; for PASS_BACKWARD then a gradient for every one of them:
    // of outputs it is given, of inputs with has_gradient it is the result, of others it has no
    // buffer.
    kiln_status (*call)(kiln *k, const op_case *c, op_pass pass, const kiln_view *views);
    // The outputs from the inputs: values[n] has the elements of tensor n in row-major order.
    void (*reference)(const op_case *c, const op_tensor *tensors, double *const *values);
    // Prints the option of a case for messages and tables; NULL: it has none.
    void (*describe)(const op_case *c, char *out, size_t size);
    // For sizes drawn at random: is this a case? NULL: every one is.
    bool (*is_possible)(const op_case *c);
    // Floating-point operations of a case; NULL: it is bound by memory.
    double (*operations)(const op_case *c);
    // Prints a table of the rows that the op is made of, for its page; NULL: it is one op.
    void (*rows)(FILE *out);
    // Tests that are not cases; returns how many failed and adds those that passed. NULL: none.
    int (*more)(kiln *k, int *passed);
} op_suite;

// All rows of ops.def, in their order; NULL ends.
extern const op_suite *const op_suites[];
const op_suite *op_suite_find(const char *name); // NULL: there is none

// Tensors of that many bytes in all, without scratch.
double suite_bytes(const op_suite *s, const op_case *c, kiln_type type);
// The case with sizes halved until its tensors have at most that many bytes; 0: as it is.
op_case suite_fitted(const op_suite *s, op_case c, kiln_type type, double most_bytes);
// Has the case gradients, of the sizes of its operands?
bool suite_has_backward(const op_suite *s, const op_case *c);
// "7x33 axis 1 …" in `out`.
void suite_describe(const op_suite *s, const op_case *c, char *out, size_t size);

// The facts for the page of the op (docs/ops/NAME.md, tools/ops): rows of a table, then the cases.
void suite_page(const op_suite *s, FILE *out);

// --- tests
typedef struct suite_counts {
    int passed, failed, skipped;
} suite_counts;
// Runs the cases that fit the device, and prints what fails. `oracle` (may be NULL): another device
// that must give the same bits. is_brief: one type and one layout of each case, in turn; for
// devices that take long to compile.
void suite_test(kiln *k, kiln *oracle, const op_suite *s, bool is_brief, suite_counts *counts);
// For op_suite.more: cases that only devices with NVIDIA's instructions have. Returns how many
// failed and adds those that passed.
int suite_test_nv(kiln *k, const op_suite *s, int *passed);
// `count` cases with random sizes, types and layouts, from the suite's own and the seed.
void suite_test_random(kiln *k, kiln *oracle, const op_suite *s, int count, uint64_t seed,
                       suite_counts *counts);
// Calls the op for every case, type and layout, and compares nothing: every kernel variant that the
// cases ask for is compiled. For a device that runs nothing (tests/emit/ops).
void suite_emit(kiln *k, const op_suite *s, suite_counts *counts);

// --- benchmarks
typedef struct suite_run { // tensors of a case on a device
    const op_suite *suite;
    const op_case *c;
    kiln *k;
    kiln_buffer *buffers[2 * SUITE_TENSORS];
    kiln_view views[2 * SUITE_TENSORS];
} suite_run;
// like: another run of the same case, whose data it gets; NULL: random data.
kiln_status suite_prepare(kiln *k, const op_suite *s, const op_case *c, kiln_type type,
                          op_pass pass, const suite_run *like, suite_run *out);
kiln_status suite_call(const suite_run *r, op_pass pass);
void suite_release(suite_run *r);

#endif
