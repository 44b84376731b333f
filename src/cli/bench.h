// What the benchmarks of the kiln program share: the time of a call of the library.
#ifndef KILN_CLI_BENCH_H
#define KILN_CLI_BENCH_H

#include "cli/bench_svg.h"
#include "kiln/ops.h"

typedef struct bench_times {
    double median; // seconds of a call
    double spread; // half of the middle half of the rounds, as a part of the median
} bench_times;

// Calls `call` once to compile and once to warm up, then in rounds of about 20 ms; `round` counts
// the calls, so that it can take other data each time.
typedef kiln_status bench_call(void *user, int round);
kiln_status bench_measure(kiln *k, bench_call *call, void *user, bench_times *out);
// --repeat: how many rounds; false: it is no such number.
bool bench_read_rounds(const char *word);
// About 5 ms of calls: enough to tell which of several ways is the fastest. 0: it cannot be called.
double bench_glance(kiln *k, bench_call *call, void *user);

// Types of a product's operands and result by the name that --type has: "tf32"; false: none.
bool bench_read_type(const char *name, kiln_type *type, kiln_type *out, bool *is_tf32);
// Small numbers of the type, the same each time.
void bench_fill_random(kiln_type type, uint8_t *to, size_t bytes);

// --- another library beside ours, opened at run time: --against NAME[=FILE] (bench_theirs.c)
enum { BENCH_ROWS = 256 };
typedef struct bench_theirs {
    const char *name, *label, *file; // "cublas", "cuBLAS", FILE or NULL; no name: nobody is asked
    const char *why;                 // it is not there; NULL: it is
    double ratios[BENCH_ROWS];       // their time by ours, of the rows so far
    int count;
} bench_theirs;
// What --against says; the exit code, after a message. op: "matmul", "attention", "conv".
int bench_theirs_read(bench_theirs *t, const char *op, const char *word);
// Says on the way what is missing: that is no failure.
void bench_theirs_open(bench_theirs *t, kiln *k, bool is_json);
bool bench_theirs_is_there(const bench_theirs *t);
// A part of a row: their time in seconds and the ratio, or why there is none (0 seconds).
void bench_theirs_print(bench_theirs *t, bool is_json, double theirs, double ours, const char *why);
// Behind the rows: worst, median and best.
void bench_theirs_print_ratios(bench_theirs *t, bool is_json);

typedef enum bench_loaded { BENCH_LOADED, BENCH_MISSING, BENCH_STRANGE } bench_loaded;
// bench_load.c: from `file`, or else by the first of the names.
bench_loaded bench_load(const char *file, const char *const *names, size_t name_count,
                        const char *const *symbols, void *const *slots, size_t count);

// --- products by cuBLAS and cuBLASLt (bench_cublas.c), of descriptions as bench.c has them
const char *bench_cublas_open(kiln *k, const char *file); // NULL, or why it cannot be used
const char *bench_cublaslt_open(kiln *k, const char *file);
typedef struct bench_cublas {
    kiln *k;
    const kiln_matmul_desc *products; // one for each copy
    const int *copies;
    bool is_lt;
    void *desc, *a, *b, *c; // cuBLASLt's descriptors
    uint64_t algorithm[8];  // the fastest of its proposals
    kiln_buffer *workspace;
} bench_cublas;
// False: it has no such product.
bool bench_cublas_prepare(bench_cublas *c, kiln *k, bool is_lt, const kiln_matmul_desc *products,
                          const int *copies);
kiln_status bench_cublas_call(void *user, int round);
void bench_cublas_free(bench_cublas *c);

// --- a table of rows (bench_row.c)
enum { BENCH_COPIES = 64 };
typedef struct bench_table {
    kiln *k;
    const char *svg; // a file for the picture; NULL: none
    bool is_json, is_gpu, has_row;
    int width;         // of names
    char device[128];  // its name
    double cold_bytes; // copies of the tensors take more than that together
    double most_bytes; // larger cases are made smaller, an interpreter would take hours; 0: none
    uint32_t product_size; // of the product that is the roof
    double copy;           // bytes a second of a copy of memory
    double products[KILN_F64 + 1]
                   [2]; // operations a second, by type and is_tf32; 0: not yet measured
    bench_theirs theirs;
    bench_svg picture;
} bench_table;

typedef struct bench_row {
    const char *key, *name, *pass, *type_name; // key: what JSON calls the name
    kiln_type type;                            // of the product that is its roof
    bool is_tf32;
    double bytes, operations; // that a call cannot do without; operations 0: memory is its limit
    bench_times warm, cold, theirs; // theirs: cold, 0: none
    const char *why;                // there are none
    double product;                 // operations a second of a product
} bench_row;

typedef struct bench_calls {
    bench_call *ours, *theirs; // theirs may be NULL
    void *user, *their_user;
    int *copies, most_copies; // of the tensors: ours takes *copies in turn
} bench_calls;

typedef struct bench_product {
    kiln *k;
    kiln_matmul_desc desc;
} bench_product;

// Measures a copy of memory and prints the first line. svg, is_json, width and theirs are set.
// Before anything is measured: can the picture be written? EXIT_WORLD, and that was said, or 0.
int bench_try_svg(const char *path);
kiln_status bench_table_open(bench_table *t, kiln *k, const char *what);
int bench_copies(const bench_table *t, double bytes); // that no cache holds
kiln_status bench_row_measure(bench_table *t, const bench_calls *calls, bench_row *r);
void bench_row_print(bench_table *t, const bench_row *r);
// What comes behind the rows; gives the exit code.
int bench_table_close(bench_table *t, const char *what, const char *pass, int code);
// Bytes a second of a copy of so many bytes (bench_op.c).
kiln_status bench_copy_rate(kiln *k, double bytes, double *out);

// --- calls of cuDNN in place of ours (bench_cudnn.c)
typedef struct bench_cudnn {
    kiln *k;
    struct cudnn_graph *graphs[2]; // one after the other
    int graph_count, plans[2];     // plans: the fastest of each
    void *packs[BENCH_COPIES][2];  // addresses, for every copy of the tensors
    int copies;
    kiln_buffer *buffers[4]; // workspace, and tensors of its own
    int buffer_count;
    kiln_view results[3];
    int result_count;
    char why[256]; // it cannot; "": it can
} bench_cudnn;
// Copies of one call; backward NULL: forward. False: `why`.
bool bench_cudnn_attention(bench_cudnn *c, kiln *k, const kiln_attention_desc *forward,
                           const kiln_attention_backward_desc *backward, int copies);
bool bench_cudnn_conv(bench_cudnn *c, kiln *k, const kiln_conv_desc *forward,
                      const kiln_conv_backward_desc *backward, int copies);
kiln_status bench_cudnn_call(void *user, int round); // of a bench_cudnn
// Calls both with the first copy and compares: the largest difference, by the largest number.
kiln_status bench_cudnn_compare(bench_cudnn *c, bench_call *ours, void *user, double *difference);
void bench_cudnn_free(bench_cudnn *c);
// The exit code for such a difference, after a message: more than rounding is a mistake
// (bench_theirs.c).
int bench_is_same(double difference);

int bench_kernel(int argc, char **argv);               // bench_kernel.c
int bench_op(const char *name, int argc, char **argv); // bench_op.c: a row of ops.def
int bench_list(int argc, char **argv);                 // its cases, of all ops
bool bench_is_op(const char *name);
const char *bench_nearest_op(const char *name); // NULL: none is near

#endif
