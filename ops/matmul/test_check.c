// kiln check of the matrix product kernels, from the root of the tree: nothing is wrong with them.
// Always on the interpreter, whatever device the other programs of this folder run on. The numbers
// do not matter here (matmul.c compares them); blocks with several tiles are among the launches.
#include "api.h"

typedef struct checked {
    const char *path; // of ops/matmul; NULL: gemm_sm90.c
    const char *tune[10];
    uint32_t tile[2];
    uint32_t split_k, sharers;           // of gemm_sm90.c; 0: 1
    bool is_swapped, is_async, has_tail; // has_tail: b is [k, n]
    bool is_loose;                       // n is no multiple of 8
    uint32_t parts;                      // of gemm_sm90.c; 0: 1
    uint32_t narrow[2], shift;           // columns, and their width
    uint32_t blocks, size[3];            // 0: one for each tile; 72 x 40 x 136
} checked;

static void show_finding(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

// Of boxes of 64 columns, for rows that are dense. With a `tail` those boxes have that many columns
// and begin at multiples of 16 (as tail_map in ops/matmul/matmul.c has it).
static kiln_tensor_map make_map(kiln *k, const kiln_buffer *b, uint64_t inner, uint64_t outer,
                                uint32_t rows, uint32_t tail)
{
    uint32_t last = tail ? 2 : 1; // dimension
    kiln_tensor_map map;
    kiln_tensor_map_desc d;
    memset(&d, 0, sizeof d);
    d.buffer = b;
    d.rank = last + 1;
    d.size[0] = tail ? tail : inner;
    d.box[0] = 64;
    if (tail) {
        d.size[1] = (inner - tail) / 16 + 1;
        d.stride_bytes[1] = 32;
        d.box[1] = 1;
    }
    d.size[last] = outer;
    d.stride_bytes[last] = inner * kiln_type_size(kiln_buffer_type(b));
    d.box[last] = rows;
    d.swizzle_bytes = 128;
    CHECK(!kiln_tensor_map_make(k, &d, &map));
    return map;
}

static kiln_tensor_map map_of(kiln *k, const kiln_buffer *b, uint64_t inner, uint64_t outer,
                              uint32_t rows)
{
    return make_map(k, b, inner, outer, rows, 0);
}

static kiln_buffer *zeros(kiln *k, kiln_type type, size_t count)
{
    kiln_buffer *b = NULL;
    CHECK(!kiln_buffer_new(k, type, count, &b));
    return b;
}

// The arguments of a launch: the operands are [m, k] and [n, k].
typedef struct call {
    kiln_buffer *a, *b, *out;
    kiln_tensor_map maps[5];
    uint32_t schedule[11]; // the struct of gemm_sm90.c
    kiln_arg args[14];
    size_t count;
    uint32_t tiles;
} call;

static void make_call(kiln *k, const checked *what, call *c)
{
    static const uint32_t usual[3] = {72, 40, 136};
    const uint32_t *size = what->size[0] ? what->size : usual;
    uint32_t m = size[0], n = size[1], depth = size[2];
    bool is_f32 = what->path && strstr(what->path, "f32") != NULL;
    kiln_type type = is_f32 ? KILN_F32 : KILN_BF16;
    c->a = zeros(k, type, (size_t)m * depth);
    c->b = zeros(k, type, (size_t)n * depth);
    c->out = zeros(k, type, (size_t)m * n * (what->parts ? what->parts : 1));
    uint32_t left = what->is_swapped ? n : m, right = what->is_swapped ? m : n;
    uint32_t sharers = what->sharers ? what->sharers : 1, high = what->tile[0] * sharers;
    uint32_t rows = (left + high - 1) / high;
    uint32_t wide = (right - what->narrow[0] * what->narrow[1] + what->tile[1] - 1) / what->tile[1];
    uint32_t columns = wide + what->narrow[0];
    c->tiles = rows * columns;
    c->args[0] = kiln_arg_buffer(c->a);
    c->args[1] = kiln_arg_buffer(c->b);
    c->args[2] = kiln_arg_buffer(c->out);
    c->count = 3;
    if (!what->path) {
        const kiln_buffer *b = what->is_swapped ? c->a : c->b;
        c->maps[0] = map_of(k, what->is_swapped ? c->b : c->a, depth, left, what->tile[0]);
        c->maps[1] = what->has_tail ? map_of(k, b, right, depth, 64 / sharers)
                                    : map_of(k, b, depth, right, what->tile[1] / sharers);
        c->count = 2;
        if (what->has_tail)
            c->maps[c->count++] = make_map(k, b, right, depth, 64 / sharers, what->tile[1] % 64);
        if (what->narrow[0])
            c->maps[c->count++] = map_of(k, b, depth, right, what->narrow[1] / sharers);
        c->count++;
        if (what->is_async)
            c->maps[c->count - 1] = map_of(k, c->out, n, m, what->is_swapped ? 64 : 16);
        if (what->has_tail)
            c->maps[c->count++] = make_map(k, c->out, n, m, 16, what->tile[1] % 64);
        for (size_t i = 0; i < c->count; i++)
            c->args[i] = kiln_arg_struct(&c->maps[i], sizeof c->maps[i]);
        if (!what->is_async)
            c->args[c->count - 1] = kiln_arg_buffer(c->out);
    }
    uint32_t lines = what->has_tail ? (what->tile[1] + 63) / 64 * 64 : what->tile[1];
    uint32_t bytes = (what->tile[0] + lines) * 128;
    const uint32_t sm90[] = {left,  right, rows, columns, wide, what->shift, (depth + 63) / 64,
                             bytes, 0,     0,    n};
    const uint32_t plain[] = {m, n, depth, depth, depth, n, 0, 0, 0};
    memcpy(c->schedule, sm90, sizeof sm90);
    if (!what->path)
        c->args[c->count++] = kiln_arg_struct(c->schedule, sizeof c->schedule);
    for (size_t i = 0; what->path && i < 9; i++)
        c->args[c->count++] = kiln_arg_i64(i >= 6 ? KILN_U64 : KILN_U32, plain[i]);
}

static void test_check(kiln *k, const checked *what)
{
    char path[64], narrow[32];
    const char *defines[4] = {0}, *tunes[14] = {0};
    size_t define_count = 0, tune_count = 0;
    for (; what->tune[tune_count]; tune_count++)
        tunes[tune_count] = what->tune[tune_count];
    snprintf(narrow, sizeof narrow, "NARROW_BN=%u", what->narrow[1]);
    if (what->is_async)
        defines[define_count++] = "IS_ASYNC";
    if (what->narrow[0])
        defines[define_count++] = narrow;
    if (what->is_loose)
        tunes[tune_count++] = "IS_LOOSE=1";
    if (what->parts)
        tunes[tune_count++] = "HAS_PARTS=1";
    if (what->has_tail) {
        tunes[tune_count] = "B_IS_MN=1";
        defines[define_count] = "HAS_TAIL";
    }
    snprintf(path, sizeof path, "ops/matmul/%s", what->path ? what->path : "gemm_sm90.c");
    kiln_compile_desc source;
    memset(&source, 0, sizeof source);
    source.path = path;
    source.tune = tunes;
    source.define = defines;
    source.for_check = true;
    kiln_module *m = NULL;
    kiln_status status = kiln_compile(k, &source, &m);
    if (status)
        printf("%s\n", kiln_last_error(k)->text);
    CHECK(!status);
    call c;
    memset(&c, 0, sizeof c);
    make_call(k, what, &c);
    int64_t shared_bytes = 0; // as the kernel says
    if (m)
        kiln_kernel_constant(api_kernel(m, NULL), "SHARED_BYTES", &shared_bytes);
    kiln_check_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.launch.grid[0] = what->blocks ? what->blocks : c.tiles;
    desc.launch.grid[0] *= what->split_k ? what->split_k : what->sharers ? what->sharers : 1;
    desc.launch.grid[1] = what->parts ? what->parts : 1;
    desc.launch.shared_bytes = (size_t)shared_bytes;
    desc.launch.args = c.args;
    desc.launch.arg_count = c.count;
    desc.finding = show_finding;
    size_t findings = 0;
    if (m)
        CHECK(!kiln_check(api_kernel(m, NULL), &desc, &findings) && !findings);
    kiln_buffer_free(c.a);
    kiln_buffer_free(c.b);
    kiln_buffer_free(c.out);
    kiln_module_free(m);
}

static const checked all[] = {
    {.tune = {"BM=64", "BN=64", "WGS=1", "MOST_STAGES=2", NULL}, .tile = {64, 64}},
    {.tune = {"BM=64", "BN=16", "PINGPONG=1", "MOST_STAGES=2", NULL}, .tile = {64, 16}},
    {.tune = {"BM=64", "BN=32", "WGS=1", "PRODUCER_WARPS=1", "MOST_STAGES=2", "SWAP=1", NULL},
     .tile = {64, 32},
     .is_swapped = true},
    {.tune = {"BM=64", "BN=24", "WGS=1", "PRODUCER_WARPS=1", "MOST_STAGES=2", "SWAP=1", NULL},
     .tile = {64, 24},
     .is_swapped = true},
    {.tune = {"BM=64", "BN=80", "PINGPONG=1", "MOST_STAGES=2", "SWAP=1", NULL},
     .tile = {64, 80},
     .is_swapped = true},
    {.tune = {"BM=64", "BN=80", "PINGPONG=1", "MOST_STAGES=2", "SWAP=1", NULL},
     .tile = {64, 80},
     .is_swapped = true,
     .is_async = true},
    {.tune = {"BM=128", "BN=144", "PINGPONG=1", "MOST_STAGES=2", NULL},
     .tile = {128, 144},
     .is_async = true},
    {.tune = {"BM=64", "BN=32", "WGS=1", "PRODUCER_WARPS=1", "MOST_STAGES=2", "SWAP=1", "SPLIT_K=2",
              NULL},
     .tile = {64, 32},
     .split_k = 2,
     .is_swapped = true},
    {.tune = {"BM=64", "BN=32", "WGS=1", "PRODUCER_WARPS=1", "MOST_STAGES=2", "SWAP=1", NULL},
     .tile = {64, 32},
     .is_swapped = true,
     .is_loose = true,
     .size = {37, 75, 136}},
    {.tune = {"BM=64", "BN=48", "PINGPONG=1", "MOST_STAGES=2", NULL},
     .tile = {64, 48},
     .is_loose = true,
     .size = {131, 75, 136}},
    {.tune = {"BM=64", "BN=64", "WGS=1", "MOST_STAGES=2", NULL}, .tile = {64, 64}, .parts = 2},
    {.path = "gemm_sm80.c", .tune = {"BM=64", "BN=64", "WARPS_N=2", NULL}, .tile = {64, 64}},
    {.path = "gemm_portable.c",
     .tune = {"BM=32", "BN=32", "WARPS_M=1", "WARPS_N=1", NULL},
     .tile = {32, 32}},
    {.path = "gemm_portable.c", .tune = {"BM=64", "BN=64", "WARPS_N=2", NULL}, .tile = {64, 64}},
    {.path = "gemm_portable.c",
     .tune = {"BM=64", "BN=64", "WARPS_N=2", "ALIGNED=0", "STAGED=1", "PAIRS=0", NULL},
     .tile = {64, 64},
     .size = {67, 77, 20}},
    {.path = "gemm_thin.c",
     .tune = {"BN=8", "KWARPS=8", "ALIGNED=0", NULL},
     .tile = {64, 8},
     .size = {141, 7, 261}},
    {.path = "gemm_thin.c",
     .tune = {"BN=16", "KWARPS=2", "ALIGNED=0", "SWAP=1", NULL},
     .tile = {128, 16},
     .is_swapped = true,
     .size = {19, 133, 37}},
    {.path = "gemm_thin.c", .tune = {"BN=24", "KWARPS=1", NULL}, .tile = {256, 24}},
    {.path = "gemm_stream.c", .tune = {"BM=128", "BN=24", NULL}, .tile = {128, 24}},
    {.path = "gemm_stream.c",
     .tune = {"BM=128", "BN=16", "ALIGNED=0", "SWAP=1", "PAIRS=0", NULL},
     .tile = {128, 16},
     .is_swapped = true,
     .size = {19, 133, 261}},
    {.path = "gemm_short.c",
     .tune = {"ROWS=32", "DEPTH=64", NULL},
     .tile = {32, 128},
     .size = {40, 136, 56}},
    {.path = "gemm_short.c",
     .tune = {"ROWS=64", "DEPTH=48", "ALIGNED=0", "PAIRS=0", NULL},
     .tile = {64, 128},
     .blocks = 2,
     .size = {167, 141, 37}},
    {.path = "gemm_f32.c", .tune = {"TILE=32", NULL}, .tile = {32, 32}},
    {.tune = {"BM=128", "BN=128", "PINGPONG=1", "MOST_STAGES=2", NULL},
     .tile = {128, 128},
     .is_async = true,
     .blocks = 1,
     .size = {300, 200, 136}},
    {.tune = {"BM=128", "BN=128", "PINGPONG=1", "MOST_STAGES=8", NULL}, // one step along K
     .tile = {128, 128},
     .is_async = true,
     .blocks = 1,
     .size = {300, 600, 40}},
    {.tune = {"BM=64", "BN=144", "PINGPONG=1", "MOST_STAGES=3", "GROUP=2", NULL},
     .tile = {64, 144},
     .is_async = true,
     .narrow = {2, 80},
     .shift = 1,
     .blocks = 2,
     .size = {300, 400, 136}},
    {.tune = {"BM=128", "BN=192", "PINGPONG=1", "MOST_STAGES=2", "GROUP=1", "SWAP=1", NULL},
     .tile = {128, 192},
     .is_swapped = true,
     .is_async = true,
     .narrow = {1, 128},
     .shift = 2,
     .blocks = 1,
     .size = {500, 400, 72}},
    {.tune = {"BM=128", "BN=192", "DEFERRED=1", "MOST_STAGES=2", NULL},
     .tile = {128, 192},
     .is_async = true,
     .blocks = 2,
     .size = {300, 600, 200}},
    {.tune = {"BM=128", "BN=192", "DEFERRED=1", "MOST_STAGES=2", "SWAP=1", NULL},
     .tile = {128, 192},
     .is_swapped = true,
     .is_async = true,
     .blocks = 1,
     .size = {400, 200, 72}},
    {.tune = {"BM=128", "BN=224", "DEFERRED=1", "MOST_STAGES=2", NULL},
     .tile = {128, 224},
     .is_async = true,
     .has_tail = true,
     .blocks = 2,
     .size = {200, 720, 400}},
    {.tune = {"BM=64", "BN=64", "WGS=1", "MOST_STAGES=2", "SHARERS=4", NULL},
     .tile = {64, 64},
     .sharers = 4,
     .size = {200, 80, 200}},
    {.tune = {"BM=64", "BN=144", "PINGPONG=1", "MOST_STAGES=3", "GROUP=2", "SHARERS=2", NULL},
     .tile = {64, 144},
     .is_async = true,
     .sharers = 2,
     .narrow = {2, 80},
     .blocks = 2,
     .size = {300, 400, 136}},
    {.tune = {"BM=128", "BN=224", "DEFERRED=1", "MOST_STAGES=2", "SHARERS=2", NULL},
     .tile = {128, 224},
     .is_async = true,
     .has_tail = true,
     .sharers = 2,
     .blocks = 1,
     .size = {200, 720, 400}},
    {.tune = {"BM=128", "BN=256", "DEFERRED=1", "MOST_STAGES=2", NULL},
     .tile = {128, 256},
     .is_async = true,
     .blocks = 1,
     .size = {200, 600, 400}}};

int main(void)
{
    kiln *k = NULL;
    if (kiln_open("interp", &k)) {
        printf("matmul-check: %s\nmatmul-check: 0 passed, 1 failed, 0 skipped\n",
               kiln_last_error(NULL)->text);
        return 1;
    }
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        int before = api_failed;
        test_check(k, &all[n]);
        if (api_failed != before)
            printf("that was row %zu\n", n);
    }
    kiln_close(k);
    return api_done("matmul-check");
}
