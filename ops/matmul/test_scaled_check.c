// kiln check of scaled_sm90.c, from the root of the tree: nothing is
// wrong with it. Always on the interpreter. Blocks with several tiles are among the launches;
// numbers are compared in test_scaled.c and test_grouped.c.
#include "api.h"

typedef struct checked {
    const char *define[8], *tune[6];
    kiln_type type; // of the operands
    uint32_t m, n, k, tile[2], blocks;
    bool has_bias, has_ends, is_blocked, is_grouped;
} checked;

static const checked all[] = {
    {.define = {"TYPE_bf16", "OUT_bf16", "EPILOGUE_bias_gelu", "SCALED_A", "SCALED_B",
                "HAS_RESIDUAL", "HAS_PRE", NULL},
     .tune = {"WGS=2", "BN=64", "MOST_STAGES=2", NULL},
     .type = KILN_BF16,
     .m = 150,
     .n = 136,
     .k = 200,
     .tile = {128, 64},
     .blocks = 2,
     .has_bias = true,
     .has_ends = true},
    {.define = {"TYPE_e4m3", "OUT_bf16", "BLOCKED", NULL},
     .tune = {"WGS=1", "BN=128", "MOST_STAGES=2", "IS_LOOSE=1", NULL},
     .type = KILN_F8E4,
     .m = 70,
     .n = 150,
     .k = 304,
     .tile = {64, 128},
     .blocks = 1,
     .is_blocked = true},
    {.define = {"TYPE_bf16", "OUT_bf16", "GROUPED", NULL},
     .tune = {"WGS=2", "BN=128", "MOST_STAGES=2", NULL},
     .type = KILN_BF16,
     .m = 150,
     .n = 136,
     .k = 72,
     .tile = {128, 128},
     .blocks = 2,
     .is_grouped = true},
};

typedef struct ends_steps { // as gemm_ends.h has it
    int64_t residual[2], pre[2];
    uint32_t out, bias, a_row, a_k, b_column, b_k, b_group, unused;
} ends_steps;

typedef struct schedule { // as scaled_sm90.c has it
    uint32_t rows, columns, steps, groups;
    ends_steps at;
} schedule;

static void show_finding(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

static kiln_buffer *zeros(kiln *k, kiln_type type, size_t count)
{
    kiln_buffer *b = NULL;
    CHECK(!kiln_buffer_new(k, type, count, &b));
    return b;
}

static kiln_tensor_map map_of(kiln *k, const kiln_buffer *b, uint32_t inner, uint32_t outer,
                              uint32_t rows, uint32_t groups)
{
    uint32_t bytes = (uint32_t)kiln_type_size(kiln_buffer_type(b));
    kiln_tensor_map made;
    kiln_tensor_map_desc d;
    memset(&d, 0, sizeof d);
    memset(&made, 0, sizeof made);
    d.buffer = b;
    d.rank = groups ? 3 : 2;
    d.size[0] = inner;
    d.size[1] = outer;
    d.size[2] = groups;
    d.stride_bytes[1] = (uint64_t)inner * bytes;
    d.stride_bytes[2] = (uint64_t)inner * outer * bytes;
    d.box[0] = 128 / bytes;
    d.box[1] = rows;
    d.box[2] = 1;
    d.swizzle_bytes = 128;
    CHECK(!kiln_tensor_map_make(k, &d, &made));
    return made;
}

static void test_check(kiln *k, const checked *c)
{
    enum { A, B, OUT, BIAS, A_SCALE, B_SCALE, RESIDUAL, PRE, ENDS, BUFFERS };
    uint32_t kb = (c->k + 127) / 128, groups = c->is_grouped ? 3 : 1;
    const int32_t ends[3] = {1, 140, 145};
    kiln_buffer *const b[BUFFERS] = {zeros(k, c->type, (size_t)c->m * c->k),
                                     zeros(k, c->type, (size_t)groups * c->n * c->k),
                                     zeros(k, KILN_BF16, (size_t)c->m * c->n),
                                     zeros(k, KILN_F32, c->n),
                                     zeros(k, KILN_F32, (size_t)c->m * kb),
                                     zeros(k, KILN_F32, (size_t)c->n * kb),
                                     zeros(k, KILN_BF16, (size_t)c->m * c->n),
                                     zeros(k, KILN_BF16, (size_t)c->m * c->n),
                                     zeros(k, KILN_I32, 3)};
    CHECK(!kiln_write(b[ENDS], 0, ends, 3));
    const kiln_tensor_map maps[2] = {map_of(k, b[A], c->k, c->m, c->tile[0], 0),
                                     map_of(k, b[B], c->k, c->n, c->tile[1], groups)};
    uint32_t stage = 128 / (uint32_t)kiln_type_size(c->type);
    schedule w;
    memset(&w, 0, sizeof w);
    w.rows = c->m;
    w.columns = c->n;
    w.steps = (c->k + stage - 1) / stage;
    w.groups = groups;
    w.at.residual[0] = w.at.pre[0] = c->n;
    w.at.residual[1] = w.at.pre[1] = 1;
    w.at.out = c->n;
    w.at.bias = 1;
    w.at.a_row = c->is_blocked ? kb : 1;
    w.at.a_k = c->is_blocked;
    w.at.b_column = 1;
    w.at.b_k = c->is_blocked ? (c->n + 127) / 128 : 0;
    kiln_arg args[12] = {kiln_arg_struct(&maps[0], sizeof maps[0]),
                         kiln_arg_struct(&maps[1], sizeof maps[1]), kiln_arg_buffer(b[OUT])};
    size_t count = 3;
    if (c->has_bias)
        args[count++] = kiln_arg_buffer(b[BIAS]);
    for (int i = A_SCALE; i <= (c->is_blocked ? B_SCALE : PRE) && (c->has_ends || c->is_blocked);
         i++)
        args[count++] = kiln_arg_buffer(b[i]);
    if (c->is_grouped)
        args[count++] = kiln_arg_buffer(b[ENDS]);
    args[count++] = kiln_arg_struct(&w, sizeof w);
    kiln_compile_desc source;
    memset(&source, 0, sizeof source);
    source.path = "ops/matmul/scaled_sm90.c";
    source.tune = c->tune;
    source.define = c->define;
    source.for_check = true;
    kiln_module *m = NULL;
    kiln_status status = kiln_compile(k, &source, &m);
    if (status)
        printf("%s\n", kiln_last_error(k)->text);
    CHECK(!status);
    int64_t shared_bytes = 0;
    if (m)
        kiln_kernel_constant(api_kernel(m, NULL), "SHARED_BYTES", &shared_bytes);
    kiln_check_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.launch.grid[0] = c->blocks;
    desc.launch.shared_bytes = (size_t)shared_bytes;
    desc.launch.args = args;
    desc.launch.arg_count = count;
    desc.finding = show_finding;
    size_t findings = 0;
    if (m)
        CHECK(!kiln_check(api_kernel(m, NULL), &desc, &findings) && !findings);
    for (size_t i = 0; i < BUFFERS; i++)
        kiln_buffer_free(b[i]);
    kiln_module_free(m);
}

int main(void)
{
    kiln *k = api_open("interp");
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        test_check(k, &all[n]);
    kiln_close(k);
    return api_done("matmul-scaled-check");
}
