// kiln bench matmul --against cublas|cublaslt: the same product by cuBLAS, or by the fastest of
// what cuBLASLt's heuristics propose. The declarations are ours: nothing of CUDA is needed to
// build.
//
// Row-major c = a * b is column-major c' = b' * a'; b lies as [n, k].
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "cli/bench.h"

enum { PROPOSALS = 8, WORKSPACE = 64 << 20 };

typedef struct lt_result { // cublasLtMatmulHeuristicResult_t
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_result;

static struct {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algo);
    void *handle;
} blas;

static struct {
    int (*create)(void **handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t size);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*layout_destroy)(void *layout);
    int (*pref_create)(void **pref);
    int (*pref_set)(void *pref, int attribute, const void *value, size_t size);
    int (*pref_destroy)(void *pref);
    int (*heuristic)(void *lt, void *desc, void *a, void *b, void *c, void *d, void *pref,
                     int wanted, lt_result *results, int *count);
    int (*matmul)(void *lt, void *desc, const void *alpha, const void *a, void *a_layout,
                  const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                  void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
                  void *stream);
    void *handle, *stream;
} lt;

// What they call the types: cudaDataType_t and cublasComputeType_t.
typedef struct type_row {
    kiln_type type;
    bool is_tf32;
    int in, out, compute, scale;
} type_row;
static const type_row types[] = {
    {KILN_BF16, false, 14, 14, 68, 0}, {KILN_F16, false, 2, 2, 68, 0},
    {KILN_F32, true, 0, 0, 77, 0},     {KILN_F32, false, 0, 0, 68, 0},
    {KILN_I8, false, 3, 10, 72, 10},   {KILN_F8E4, false, 28, 14, 68, 0}}; // cuBLASLt alone

static const type_row *types_of(const kiln_matmul_desc *d)
{
    for (size_t t = 0; t < COUNT(types); t++)
        if (types[t].type == kiln_view_type(d->a) && types[t].is_tf32 == d->is_tf32)
            return &types[t];
    return NULL;
}

// --- the libraries
static bool is_cuda(kiln *k)
{
    kiln_device_info info;
    return !kiln_device_info_of(k, &info) && info.caps.sm;
}

const char *bench_cublas_open(kiln *k, const char *file)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so"};
    static const char *const symbols[] = {"cublasCreate_v2", "cublasSetStream_v2", "cublasGemmEx"};
    void *const slots[] = {&blas.create, &blas.set_stream, &blas.gemm};
    if (!is_cuda(k))
        return "cuBLAS runs on cuda devices alone";
    switch (bench_load(file, names, COUNT(names), symbols, slots, COUNT(symbols))) {
    case BENCH_LOADED: break;
    case BENCH_MISSING: return "there is no libcublas.so here; --against cublas=FILE says where";
    case BENCH_STRANGE: return "libcublas.so is not as it is known";
    }
    if (blas.create(&blas.handle) || blas.set_stream(blas.handle, kiln_stream_native(k, NULL)))
        return "cuBLAS does not start";
    return NULL;
}

const char *bench_cublaslt_open(kiln *k, const char *file)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                        "/usr/local/cuda/lib64/libcublasLt.so"};
    static const char *const symbols[] = {"cublasLtCreate",
                                          "cublasLtMatmulDescCreate",
                                          "cublasLtMatmulDescSetAttribute",
                                          "cublasLtMatmulDescDestroy",
                                          "cublasLtMatrixLayoutCreate",
                                          "cublasLtMatrixLayoutDestroy",
                                          "cublasLtMatmulPreferenceCreate",
                                          "cublasLtMatmulPreferenceSetAttribute",
                                          "cublasLtMatmulPreferenceDestroy",
                                          "cublasLtMatmulAlgoGetHeuristic",
                                          "cublasLtMatmul"};
    void *const slots[] = {&lt.create,        &lt.desc_create,    &lt.desc_set,    &lt.desc_destroy,
                           &lt.layout_create, &lt.layout_destroy, &lt.pref_create, &lt.pref_set,
                           &lt.pref_destroy,  &lt.heuristic,      &lt.matmul};
    if (!is_cuda(k))
        return "cuBLASLt runs on cuda devices alone";
    switch (bench_load(file, names, COUNT(names), symbols, slots, COUNT(symbols))) {
    case BENCH_LOADED: break;
    case BENCH_MISSING:
        return "there is no libcublasLt.so here; --against cublaslt=FILE says where";
    case BENCH_STRANGE: return "libcublasLt.so is not as it is known";
    }
    if (lt.create(&lt.handle))
        return "cuBLASLt does not start";
    lt.stream = kiln_stream_native(k, NULL);
    return NULL;
}

// --- a product
typedef struct operands {
    const void *alpha, *beta, *left, *right; // left: of the column-major product
    void *out;
    int m, n, depth;
} operands;

static void *address_of(kiln_view v)
{
    return (void *)(uintptr_t)kiln_buffer_address(v.buffer);
}

static operands operands_of(const kiln_matmul_desc *d)
{
    static const float one = 1, zero = 0;
    static const int32_t whole_one = 1, whole_zero = 0;
    bool is_whole = kiln_view_type(d->a) == KILN_I8;
    return (operands){.alpha = is_whole ? (const void *)&whole_one : &one,
                      .beta = is_whole ? (const void *)&whole_zero : &zero,
                      .left = address_of(d->b),
                      .right = address_of(d->a),
                      .out = address_of(d->out),
                      .m = (int)d->out.sizes[0],
                      .n = (int)d->out.sizes[1],
                      .depth = (int)d->a.sizes[1]};
}

kiln_status bench_cublas_call(void *user, int round)
{
    const bench_cublas *c = user;
    const kiln_matmul_desc *d = &c->products[round % *c->copies];
    operands o = operands_of(d);
    const type_row *t = types_of(d);
    int status;
    if (c->is_lt)
        status = lt.matmul(lt.handle, c->desc, o.alpha, o.left, c->a, o.right, c->b, o.beta, o.out,
                           c->c, o.out, c->c, c->algorithm, address_of(KILN_VIEW(c->workspace, 1)),
                           WORKSPACE, lt.stream);
    else
        status = blas.gemm(blas.handle, 1, 0, o.n, o.m, o.depth, o.alpha, o.left, t->in, o.depth,
                           o.right, t->in, o.depth, o.beta, o.out, t->out, o.n, t->compute, -1);
    return status ? KILN_E_UNSUPPORTED : KILN_OK;
}

// Descriptors and proposals of cuBLASLt; how many.
static int ask_lt(bench_cublas *c, const type_row *t, lt_result *results)
{
    enum { TRANSPOSE_A = 3, TRANSPOSE_B = 4, FAST = 25, MAX_WORKSPACE = 1 };
    operands o = operands_of(c->products);
    uint64_t m = (uint64_t)o.m, n = (uint64_t)o.n, depth = (uint64_t)o.depth;
    int transposed = 1, plain = 0, count = 0;
    int8_t fast = 1;
    size_t workspace = WORKSPACE;
    void *pref = NULL;
    if (lt.desc_create(&c->desc, t->compute, t->scale) ||
        lt.desc_set(c->desc, TRANSPOSE_A, &transposed, sizeof transposed) ||
        lt.desc_set(c->desc, TRANSPOSE_B, &plain, sizeof plain) ||
        (t->type == KILN_F8E4 && lt.desc_set(c->desc, FAST, &fast, sizeof fast)) ||
        lt.layout_create(&c->a, t->in, depth, n, o.depth) ||
        lt.layout_create(&c->b, t->in, depth, m, o.depth) ||
        lt.layout_create(&c->c, t->out, n, m, o.n) || lt.pref_create(&pref))
        return 0;
    if (lt.pref_set(pref, MAX_WORKSPACE, &workspace, sizeof workspace) ||
        lt.heuristic(lt.handle, c->desc, c->a, c->b, c->c, c->c, pref, PROPOSALS, results, &count))
        count = 0;
    lt.pref_destroy(pref);
    return count;
}

bool bench_cublas_prepare(bench_cublas *c, kiln *k, bool is_lt, const kiln_matmul_desc *products,
                          const int *copies)
{
    lt_result results[PROPOSALS];
    *c = (bench_cublas){.k = k, .products = products, .copies = copies, .is_lt = is_lt};
    const type_row *t = types_of(products);
    if (!t || (!is_lt && t->type == KILN_F8E4))
        return false;
    if (!is_lt)
        return true;
    if (kiln_buffer_new(k, KILN_U8, WORKSPACE, &c->workspace))
        return false;
    int count = ask_lt(c, t, results), best = -1;
    double least = 0;
    for (int n = 0; n < count; n++) {
        memcpy(c->algorithm, results[n].algorithm, sizeof c->algorithm);
        double seconds = results[n].state ? 0 : bench_glance(k, bench_cublas_call, c);
        if (seconds > 0 && (best < 0 || seconds < least)) {
            best = n;
            least = seconds;
        }
    }
    if (best >= 0)
        memcpy(c->algorithm, results[best].algorithm, sizeof c->algorithm);
    return best >= 0;
}

void bench_cublas_free(bench_cublas *c)
{
    void *const layouts[] = {c->a, c->b, c->c};
    for (size_t n = 0; n < COUNT(layouts); n++)
        if (layouts[n])
            lt.layout_destroy(layouts[n]);
    if (c->desc)
        lt.desc_destroy(c->desc);
    kiln_buffer_free(c->workspace);
    *c = (bench_cublas){.k = c->k};
}
