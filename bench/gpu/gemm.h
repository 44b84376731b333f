// What the parts of the matrix product benchmark share: a problem, its buffers (gemm_data.c), and
// the others' ways to compute it (gemm_theirs.c: cuBLAS, cuBLASLt, and PTX files of the reference
// generator).
#ifndef KILN_BENCH_GEMM_H
#define KILN_BENCH_GEMM_H

#include "bench/gpu/bench.h"

typedef enum gemm_type { GEMM_BF16, GEMM_F16, GEMM_TF32, GEMM_E4M3, GEMM_S8, GEMM_TYPES } gemm_type;

typedef struct gemm_problem {
    gemm_type type;
    bool a_mn, b_mn; // a is [k, m], b is [k, n]
    int m, n, k;
} gemm_problem;

typedef struct gemm_set {
    kiln_buffer *a, *b, *c;
    size_t a_first, b_first, c_first; // elements of these before the matrices
} gemm_set;

typedef struct gemm_type_info {
    const char *name;
    kiln_type in, out;
    int in_bytes, out_bytes;
    int cuda_in, cuda_out, compute; // as cuBLAS calls them
    int map_type;                   // of a tensor map
} gemm_type_info;
extern const gemm_type_info gemm_types[GEMM_TYPES];

// Every kernel file of the matrix products goes into the report.
void gemm_sources(report *r);

// --- operands of random numbers and samples of the right result (gemm_data.c)
enum { GEMM_SETS = 16, GEMM_SAMPLES = 1000 };
typedef struct gemm_data {
    gemm_set sets[GEMM_SETS]; // together they exceed the cache
    int set_count;
    double want[GEMM_SAMPLES];
} gemm_data;
void gemm_data_make(report *r, const gemm_problem *p, gemm_data *out);
void gemm_data_free(gemm_data *d);
// Waits for the stream (NULL: the device's own); the largest error of the samples in the result of
// the first set, in units of sqrt(k).
double gemm_data_worst(report *r, const gemm_data *d, const gemm_problem *p, kiln_stream *stream);

// --- cuBLAS, cuBLASLt: false when they are not on this machine
bool cublas_open(report *r, cu_stream stream);
bool cublas_run(const gemm_problem *p, const gemm_set *s);
enum { LT_ALGOS = 8 };
// Asks for ways to do it; their number. cublaslt_run takes an index below it.
int cublaslt_plan(const gemm_problem *p);
bool cublaslt_run(int algo, const gemm_set *s);
// What the algorithm says of itself: tile, stages, cluster, parts of K. False: nothing.
bool cublaslt_about(int algo, char *out, size_t size);
// Name and grid of the first kernel in a graph; false: the driver does not tell.
bool graph_kernel(report *r, cu_graph graph, char *out, size_t size);

// --- PTX of the reference generator, in FOLDER/SUB/*.ptx
typedef struct twin {
    char name[64];
    int bm, bn, cm, cn, threads, shared, bk, is_32, is_chained, a_mn, b_mn;
    gemm_type type;
    cu_function function;
    int resident; // clusters
} twin;
enum { TWINS = 64 };
// Loads those for a problem's type and layout into `out`; their number.
int twins_load(report *r, const char *folder, const gemm_problem *p, twin *out);
void twin_run(report *r, const twin *t, const gemm_problem *p, const gemm_set *s, cu_stream stream);

#endif
