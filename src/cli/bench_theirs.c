// kiln bench matmul --against cublas: the same product by cuBLAS, opened at run time. Where it is
// not there, a sentence says so. The declarations are ours: nothing of CUDA is needed to build.
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "cli/bench.h"

static struct {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algo);
    void *handle;
} blas;

// What cuBLAS calls the types: cudaDataType_t and cublasComputeType_t.
static const struct {
    kiln_type type;
    bool is_tf32;
    int in, out, compute;
} types[] = {{KILN_BF16, false, 14, 14, 68},
             {KILN_F16, false, 2, 2, 68},
             {KILN_F32, true, 0, 0, 77},
             {KILN_F32, false, 0, 0, 68},
             {KILN_I8, false, 3, 10, 72}};

const char *bench_theirs_open(kiln *k)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so"};
    static const char *const symbols[] = {"cublasCreate_v2", "cublasSetStream_v2", "cublasGemmEx"};
    void *const slots[] = {&blas.create, &blas.set_stream, &blas.gemm};
    void *library = NULL;
    kiln_device_info info;
    if (kiln_device_info_of(k, &info) || !info.caps.sm)
        return "cuBLAS runs on cuda devices alone";
    for (size_t n = 0; n < COUNT(names) && !library; n++)
        library = dlopen(names[n], RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return "there is no libcublas.so here";
    for (size_t n = 0; n < COUNT(symbols); n++) {
        void *symbol = dlsym(library, symbols[n]);
        if (!symbol)
            return "libcublas.so is not as it is known";
        memcpy(slots[n], &symbol, sizeof symbol);
    }
    if (blas.create(&blas.handle) || blas.set_stream(blas.handle, kiln_stream_native(k, NULL)))
        return "cuBLAS does not start";
    return NULL;
}

// Row-major c = a * b is column-major c' = b' * a'; b lies as [n, k].
kiln_status bench_theirs_matmul(const kiln_matmul_desc *d)
{
    const float one = 1, zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    bool is_whole = kiln_view_type(d->a) == KILN_I8;
    int m = (int)d->out.sizes[0], n = (int)d->out.sizes[1], depth = (int)d->a.sizes[1];
    for (size_t t = 0; t < COUNT(types); t++)
        if (types[t].type == kiln_view_type(d->a) && types[t].is_tf32 == d->is_tf32)
            return blas.gemm(blas.handle, 1, 0, n, m, depth,
                             is_whole ? (const void *)&whole_one : &one,
                             (const void *)(uintptr_t)kiln_buffer_address(d->b.buffer), types[t].in,
                             depth, (const void *)(uintptr_t)kiln_buffer_address(d->a.buffer),
                             types[t].in, depth, is_whole ? (const void *)&whole_zero : &zero,
                             (void *)(uintptr_t)kiln_buffer_address(d->out.buffer), types[t].out, n,
                             types[t].compute, -1)
                       ? KILN_E_UNSUPPORTED
                       : KILN_OK;
    return KILN_E_UNSUPPORTED;
}
