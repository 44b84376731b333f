// The others of the matrix product benchmark (gemm.h): cuBLAS and cuBLASLt opened at run time, and
// kernels given as PTX files whose first line ("// cfg: bm=128 …") says how they are launched.
#include "bench/gpu/gemm.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const gemm_type_info gemm_types[GEMM_TYPES] = {
    [GEMM_BF16] = {"bf16", KILN_BF16, KILN_BF16, 2, 2, 14, 14, 68, 9},
    [GEMM_F16] = {"f16", KILN_F16, KILN_F16, 2, 2, 2, 2, 68, 6},
    [GEMM_TF32] = {"tf32", KILN_F32, KILN_F32, 4, 4, 0, 0, 77, 7},
    [GEMM_E4M3] = {"e4m3", KILN_F8E4, KILN_BF16, 1, 2, 28, 14, 68, 0},
    [GEMM_S8] = {"s8", KILN_I8, KILN_I32, 1, 4, 3, 10, 72, 0},
};

static void *pointer_of(const kiln_buffer *b)
{
    return (void *)(uintptr_t)kiln_buffer_address(b);
}

static void *element_of(const kiln_buffer *b, size_t first)
{
    return (unsigned char *)pointer_of(b) + first * kiln_type_size(kiln_buffer_type(b));
}

void gemm_sources(report *r)
{
    static const char *const sources[] = {
        "gemm_sm90.c",    "gemm_sm90_load.h", "gemm_sm90_store.h", "gemm_sm90_partial.h",
        "gemm_sm80.c",    "gemm_portable.c",  "gemm_f32.c",        "gemm_pack.c",
        "gemm_add.c",     "gemm_thin.c",      "gemm_common.h",     "gemm_types.h",
        "gemm_strided.c", "gemm_small.c",     "gemm_short.c",      "gemm_stream.c",
        "gemm_turn.c"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char path[64];
        snprintf(path, sizeof path, "ops/matmul/%s", sources[i]);
        free(report_source(r, path, NULL));
    }
}

// --- cuBLAS and cuBLASLt
typedef struct lt_result { // cublasLtMatmulHeuristicResult_t
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_result;

static struct {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, cu_stream stream);
    int (*set_workspace)(void *handle, void *at, size_t bytes);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algo);
    int (*lt_create)(void **handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t size);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*pref_create)(void **pref);
    int (*pref_set)(void *pref, int attribute, const void *value, size_t size);
    int (*heuristic)(void *lt, void *desc, void *a, void *b, void *c, void *d, void *pref,
                     int wanted, lt_result *results, int *count);
    int (*lt_matmul)(void *lt, void *desc, const void *alpha, const void *a, void *a_layout,
                     const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                     void *d, void *d_layout, const void *algo, void *workspace, size_t bytes,
                     cu_stream stream);
    int (*config_get)(const void *algo, int attribute, void *value, size_t size, size_t *written);
    void *handle, *lt;
    cu_ptr workspace;
    cu_stream stream;
    bool is_there;
} lib;

enum { WORKSPACE = 64 << 20 };

static bool load(const char *const *names, size_t name_count, const char *const *symbols,
                 void *const *slots, size_t count)
{
    void *library = NULL;
    for (size_t k = 0; k < name_count && !library; k++)
        library = dlopen(names[k], RTLD_NOW | RTLD_GLOBAL);
    for (size_t k = 0; k < count && library; k++) {
        void *symbol = dlsym(library, symbols[k]);
        if (!symbol)
            return false;
        memcpy(slots[k], &symbol, sizeof symbol);
    }
    return library != NULL;
}

bool cublas_open(report *r, cu_stream stream)
{
    static const char *const blas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                       "/usr/local/cuda/lib64/libcublas.so"};
    static const char *const lt[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                     "/usr/local/cuda/lib64/libcublasLt.so"};
    static const char *const blas_symbols[] = {"cublasCreate_v2", "cublasSetStream_v2",
                                               "cublasSetWorkspace_v2", "cublasGemmEx"};
    static const char *const lt_symbols[] = {"cublasLtCreate",
                                             "cublasLtMatmulDescCreate",
                                             "cublasLtMatmulDescSetAttribute",
                                             "cublasLtMatrixLayoutCreate",
                                             "cublasLtMatmulPreferenceCreate",
                                             "cublasLtMatmulPreferenceSetAttribute",
                                             "cublasLtMatmulAlgoGetHeuristic",
                                             "cublasLtMatmul",
                                             "cublasLtMatmulAlgoConfigGetAttribute"};
    void *const blas_slots[] = {&lib.create, &lib.set_stream, &lib.set_workspace, &lib.gemm};
    void *const lt_slots[] = {&lib.lt_create,     &lib.desc_create, &lib.desc_set,
                              &lib.layout_create, &lib.pref_create, &lib.pref_set,
                              &lib.heuristic,     &lib.lt_matmul,   &lib.config_get};
    lib.stream = stream;
    if (!load(lt, 4, lt_symbols, lt_slots, 9) || !load(blas, 4, blas_symbols, blas_slots, 4))
        return false;
    bench_cu(r, r->cu->alloc(&lib.workspace, WORKSPACE), "a workspace");
    lib.is_there = !lib.create(&lib.handle) && !lib.lt_create(&lib.lt) &&
                   !lib.set_stream(lib.handle, stream) &&
                   !lib.set_workspace(lib.handle, (void *)(uintptr_t)lib.workspace, WORKSPACE);
    return lib.is_there;
}

static const float one_f = 1, zero_f = 0;
static const int one_i = 1, zero_i = 0;

static const void *factor(const gemm_problem *p, bool is_one)
{
    if (p->type == GEMM_S8)
        return is_one ? &one_i : &zero_i;
    return is_one ? &one_f : &zero_f;
}

// Row-major C = A B is column-major C' = B' A'.
bool cublas_run(const gemm_problem *p, const gemm_set *s)
{
    const gemm_type_info *t = &gemm_types[p->type];
    if (!lib.is_there || p->type == GEMM_E4M3)
        return false;
    return !lib.gemm(lib.handle, p->b_mn ? 0 : 1, p->a_mn ? 1 : 0, p->n, p->m, p->k,
                     factor(p, true), element_of(s->b, s->b_first), t->cuda_in,
                     p->b_mn ? p->n : p->k, element_of(s->a, s->a_first), t->cuda_in,
                     p->a_mn ? p->m : p->k, factor(p, false), element_of(s->c, s->c_first),
                     t->cuda_out, p->n, t->compute, -1);
}

static struct {
    gemm_problem problem;
    void *desc, *a, *b, *c;
    lt_result results[LT_ALGOS];
    int count;
} plan;

int cublaslt_plan(const gemm_problem *p)
{
    enum { TRANSPOSE_A = 3, TRANSPOSE_B = 4, FAST = 25, MAX_WORKSPACE = 1 };
    const gemm_type_info *t = &gemm_types[p->type];
    int b_op = !p->b_mn, a_op = p->a_mn;
    int8_t fast = 1;
    size_t workspace = WORKSPACE;
    void *pref = NULL;
    plan.problem = *p;
    plan.count = 0;
    if (!lib.is_there || lib.desc_create(&plan.desc, t->compute, p->type == GEMM_S8 ? 10 : 0))
        return 0;
    lib.desc_set(plan.desc, TRANSPOSE_A, &b_op, sizeof b_op);
    lib.desc_set(plan.desc, TRANSPOSE_B, &a_op, sizeof a_op);
    if (p->type == GEMM_E4M3)
        lib.desc_set(plan.desc, FAST, &fast, sizeof fast);
    uint64_t m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
    if (lib.layout_create(&plan.a, t->cuda_in, p->b_mn ? n : k, p->b_mn ? k : n,
                          p->b_mn ? p->n : p->k) ||
        lib.layout_create(&plan.b, t->cuda_in, p->a_mn ? m : k, p->a_mn ? k : m,
                          p->a_mn ? p->m : p->k) ||
        lib.layout_create(&plan.c, t->cuda_out, n, m, p->n) || lib.pref_create(&pref) ||
        lib.pref_set(pref, MAX_WORKSPACE, &workspace, sizeof workspace) ||
        lib.heuristic(lib.lt, plan.desc, plan.a, plan.b, plan.c, plan.c, pref, LT_ALGOS,
                      plan.results, &plan.count))
        plan.count = 0;
    return plan.count;
}

bool cublaslt_run(int algo, const gemm_set *s)
{
    const gemm_problem *p = &plan.problem;
    return algo < plan.count && !plan.results[algo].state &&
           !lib.lt_matmul(lib.lt, plan.desc, factor(p, true), element_of(s->b, s->b_first), plan.a,
                          element_of(s->a, s->a_first), plan.b, factor(p, false),
                          element_of(s->c, s->c_first), plan.c, element_of(s->c, s->c_first),
                          plan.c, plan.results[algo].algo, (void *)(uintptr_t)lib.workspace,
                          WORKSPACE, lib.stream);
}

bool cublaslt_about(int algo, char *out, size_t size)
{
    // Tiles and stages have numbers of the library's own; the kernel's name says more.
    static const char *const clusters[] = {"auto",  "",      "1x1x1", "2x1x1", "4x1x1",
                                           "1x2x1", "2x2x1", "4x2x1", "1x4x1"};
    enum { ID, TILE, SPLIT, SWIZZLE = 4, STAGES = 6, CLUSTER = 8 };
    int32_t id = -1, tile = -1, split = -1, swizzle = -1, stages = -1;
    uint16_t cluster = 0;
    if (algo >= plan.count)
        return false;
    const void *a = plan.results[algo].algo;
    lib.config_get(a, ID, &id, sizeof id, NULL);
    lib.config_get(a, TILE, &tile, sizeof tile, NULL);
    lib.config_get(a, SPLIT, &split, sizeof split, NULL);
    lib.config_get(a, SWIZZLE, &swizzle, sizeof swizzle, NULL);
    lib.config_get(a, STAGES, &stages, sizeof stages, NULL);
    lib.config_get(a, CLUSTER, &cluster, sizeof cluster, NULL);
    bool is_known = cluster < sizeof clusters / sizeof *clusters;
    snprintf(out, size, "algorithm %d, tile %d, stages %d, split %d, swizzle %d, cluster %d %s", id,
             tile, stages, split, swizzle, cluster, is_known ? clusters[cluster] : "");
    return true;
}

bool graph_kernel(report *r, cu_graph graph, char *out, size_t size)
{
    static const char *const names[] = {"libcuda.so.1"};
    static const char *const symbols[] = {"cuGraphKernelNodeGetParams_v2", "cuFuncGetName",
                                          "cuKernelGetName"};
    static cu_result (*params_of)(cu_graph_node, cu_kernel_node *);
    static cu_result (*function_name)(const char **, cu_function),
        (*kernel_name)(const char **, void *);
    void *const slots[] = {&params_of, &function_name, &kernel_name};
    if (!kernel_name && !load(names, 1, symbols, slots, 3))
        return false;
    cu_graph_node nodes[8];
    size_t count = 8, used = 0;
    bench_cu(r, r->cu->graph_nodes(graph, nodes, &count), "a graph");
    *out = 0;
    for (size_t n = 0; n < count && used < size; n++) {
        cu_kernel_node p;
        const char *name = NULL;
        memset(&p, 0, sizeof p);
        if (params_of(nodes[n], &p) || (!p.function && !p.kernel))
            continue;
        if (p.kernel ? kernel_name(&name, p.kernel) : function_name(&name, p.function))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%.120s [%ux%ux%u of %u, %u bytes]",
                                 used ? "; " : "", name, p.grid_x, p.grid_y, p.grid_z,
                                 p.block_x * p.block_y * p.block_z, p.shared_bytes);
    }
    return used != 0;
}

// --- PTX files
static int number_in(const char *line, const char *key, int otherwise)
{
    char pattern[32];
    snprintf(pattern, sizeof pattern, " %s=", key);
    const char *p = strstr(line, pattern);
    return p ? atoi(p + strlen(pattern)) : otherwise;
}

static gemm_type type_in(const char *line)
{
    gemm_type t = GEMM_BF16;
    for (; t < GEMM_TYPES; t++) {
        char pattern[24];
        snprintf(pattern, sizeof pattern, " type=%s ", gemm_types[t].name);
        if (strstr(line, pattern))
            break;
    }
    return t;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    enum { MOST = 1 << 20 };
    char *text = malloc(MOST);
    size_t len = f && text ? fread(text, 1, MOST - 1, f) : 0;
    if (f)
        fclose(f);
    if (text)
        text[len] = 0;
    return text;
}

// False: it is for another problem, or cannot be loaded.
static bool twin_load(report *r, const char *path, const gemm_problem *p, twin *t)
{
    char line[1024], *text = read_text(path), entry[64] = "gemm";
    if (!text)
        return false;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    const char *file = strrchr(path, '/') + 1, *name = strstr(line, " name=");
    snprintf(t->name, sizeof t->name, "%.*s", (int)strcspn(file, "."), file);
    t->bm = number_in(line, "bm", 0);
    t->bn = number_in(line, "bn", 0);
    t->cm = number_in(line, "cm", 1);
    t->cn = number_in(line, "cn", 1);
    t->threads = number_in(line, "threads", 0);
    t->shared = number_in(line, "smem", 0);
    t->bk = number_in(line, "bk", 64);
    t->is_chained = number_in(line, "pdl", 0);
    t->is_32 = strstr(line, "out=f32") || strstr(line, "out=s32");
    t->a_mn = strstr(line, "ta=m") != NULL;
    t->b_mn = strstr(line, "tb=n") != NULL;
    t->type = type_in(line);
    if (name)
        sscanf(name + 6, "%63s", entry);
    cu_module module;
    int blocks = 0, sms = 0;
    bool is_right = t->type == p->type && t->a_mn == p->a_mn && t->b_mn == p->b_mn &&
                    t->is_32 == (gemm_types[p->type].out_bytes == 4) && t->cm * t->cn <= 2;
    if (is_right) {
        bench_cu(r, r->cu->module_load(&module, text, 0, NULL, NULL), path);
        bench_cu(r, r->cu->module_function(&t->function, module, entry), path);
        bench_cu(r, r->cu->function_set(t->function, CU_FN_MAX_DYNAMIC_SHARED, t->shared), path);
        bench_cu(r, r->cu->occupancy(&blocks, t->function, t->threads, (size_t)t->shared), path);
        bench_cu(r, r->cu->device_attribute(&sms, CU_ATTR_MULTIPROCESSORS, 0), path);
        t->resident = t->cm * t->cn == 1 ? blocks * sms : sms / 2;
    }
    free(text);
    return is_right;
}

int twins_load(report *r, const char *folder, const gemm_problem *p, twin *out)
{
    static const char *const layouts[2][2] = {{NULL, "kn"}, {"mk", "mn"}};
    const char *subs[] = {layouts[p->a_mn][p->b_mn], "pdl"};
    int count = 0;
    if (!subs[0])
        subs[0] = gemm_types[p->type].name;
    for (size_t n = 0; n < 2; n++) {
        char path[768];
        snprintf(path, sizeof path, "%s/%s", folder, subs[n]);
        DIR *d = opendir(path);
        for (struct dirent *e; d && (e = readdir(d)) && count < TWINS;) {
            if (!strstr(e->d_name, ".ptx"))
                continue;
            snprintf(path, sizeof path, "%s/%s/%s", folder, subs[n], e->d_name);
            count += twin_load(r, path, p, &out[count]);
        }
        if (d)
            closedir(d);
    }
    return count;
}

static cu_tensor_map map_of(report *r, const kiln_buffer *b, int type, int bytes, int inner,
                            int outer, int box_inner, int box_outer)
{
    cu_tensor_map map;
    uint64_t sizes[2] = {(uint64_t)inner, (uint64_t)outer},
             strides[1] = {(uint64_t)inner * (uint64_t)bytes};
    uint32_t box[2] = {(uint32_t)box_inner, (uint32_t)box_outer}, ones[2] = {1, 1};
    bench_cu(r,
             r->cu->tensor_map_tiled(&map, type, 2, pointer_of(b), sizes, strides, box, ones, 0, 3,
                                     3, 0),
             "a tensor map");
    return map;
}

void twin_run(report *r, const twin *t, const gemm_problem *p, const gemm_set *s, cu_stream stream)
{
    const gemm_type_info *info = &gemm_types[p->type];
    int type = info->map_type, bytes = info->in_bytes;
    cu_tensor_map a = t->a_mn ? map_of(r, s->a, type, bytes, p->m, p->k, 64, t->bk)
                              : map_of(r, s->a, type, bytes, p->k, p->m, t->bk, t->bm / t->cn);
    cu_tensor_map b = t->b_mn ? map_of(r, s->b, type, bytes, p->n, p->k, 64, t->bk)
                              : map_of(r, s->b, type, bytes, p->k, p->n, t->bk, t->bn / t->cm);
    cu_tensor_map c =
        map_of(r, s->c, t->is_32 ? 7 : 9, info->out_bytes, p->n, p->m, 128 / info->out_bytes, 16);
    int m = p->m, n = p->n, cluster = t->cm * t->cn,
        rows = (m + t->bm * t->cm - 1) / (t->bm * t->cm),
        columns = (n + t->bn * t->cn - 1) / (t->bn * t->cn), steps = (p->k + t->bk - 1) / t->bk,
        tiles = rows * columns, waves = (tiles + t->resident - 1) / t->resident;
    uint64_t out = kiln_buffer_address(s->c);
    void *params[] = {&a, &b, &c, &out, &m, &n, &rows, &columns, &steps};
    cu_launch_attribute attributes[2] = {
        {.id = CU_LAUNCH_CLUSTER, .value.cluster = {(unsigned)cluster, 1, 1}},
        {.id = CU_LAUNCH_PROGRAMMATIC, .value.programmatic = 1}};
    cu_launch_config config = {.grid_x = (unsigned)((tiles + waves - 1) / waves * cluster),
                               .grid_y = 1,
                               .grid_z = 1,
                               .block_x = (unsigned)t->threads,
                               .block_y = 1,
                               .block_z = 1,
                               .shared_bytes = (unsigned)t->shared,
                               .stream = stream,
                               .attributes = cluster > 1 ? attributes : attributes + 1,
                               .attribute_count =
                                   (cluster > 1 ? 1u : 0u) + (t->is_chained ? 1u : 0u)};
    bench_cu(r, r->cu->launch_ex(&config, t->function, params, NULL), t->name);
}
