// kiln_attention_backward against double precision, for both ways of computing it, and what it
// refuses.
//     attention_backward [DEVICE]        (default: cuda)
// On interp and cpu the shapes are small. A kernel that the device does not have is skipped.
#include <kiln/ops.h>
#include <math.h>

#include "api.h"
#include "attention_numbers.h"

static int skipped;
static bool is_fake;

// --- the reference
enum { Q, K, V, DOUT, OUT, DQ, DK, DV, LSE, TENSORS };

typedef struct shape {
    uint32_t heads, length, head_dim;
    bool is_causal;
} shape;

typedef struct reference {
    shape s;
    double *at[TENSORS]; // [heads, length, head_dim]; LSE: [heads, length]
} reference;

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < n; i++)
        sum[i % 4] += a[i] * b[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static void add(double *to, double weight, const double *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] += weight * row[i];
}

// One query: its row of OUT, LSE and DQ, and what it adds to DK and DV of its head.
static void differentiate(reference *r, size_t first, size_t row, double *p)
{
    uint32_t n = r->s.head_dim;
    size_t seen = r->s.is_causal ? row - first + 1 : r->s.length;
    double scale = 1 / sqrt(n), top = -INFINITY, sum = 0;
    const double *q = r->at[Q] + row * n, *dout = r->at[DOUT] + row * n;
    double *out = r->at[OUT] + row * n;
    for (size_t i = 0; i < seen; i++) {
        p[i] = dot(q, r->at[K] + (first + i) * n, n) * scale;
        top = fmax(top, p[i]);
    }
    for (size_t i = 0; i < seen; i++)
        sum += p[i] = exp(p[i] - top);
    for (size_t i = 0; i < seen; i++)
        add(out, p[i] /= sum, r->at[V] + (first + i) * n, n);
    r->at[LSE][row] = top + log(sum);
    double d = dot(out, dout, n);
    for (size_t i = 0; i < seen; i++) {
        size_t key = (first + i) * n;
        double ds = p[i] * (dot(dout, r->at[V] + key, n) - d) * scale;
        add(r->at[DQ] + row * n, ds, r->at[K] + key, n);
        add(r->at[DK] + key, ds, q, n);
        add(r->at[DV] + key, p[i], dout, n);
    }
}

static void free_reference(reference *r)
{
    for (int t = 0; t < TENSORS; t++)
        free(r->at[t]);
}

static bool make_reference(shape s, reference *r)
{
    size_t rows = (size_t)s.heads * s.length;
    bool has_all = true;
    uint32_t state = s.length;
    r->s = s;
    for (int t = 0; t < TENSORS; t++) {
        r->at[t] = (double *)calloc(rows * s.head_dim + 1, sizeof(double));
        has_all = has_all && r->at[t];
        for (size_t i = 0; has_all && t <= DOUT && i < rows * s.head_dim; i++)
            r->at[t][i] = next_number(&state);
    }
    double *p = (double *)calloc(s.length + 1, sizeof *p);
    for (size_t row = 0; has_all && p && !is_fake && row < rows; row++)
        differentiate(r, row / s.length * s.length, row, p);
    free(p);
    return has_all && p;
}

// --- one case
typedef struct run {
    kiln *k;
    const reference *r;
    kiln_type type;
    size_t rows, count;
    kiln_buffer *on_device[TENSORS], *workspace;
    void *result[3], *first[3]; // of DQ, DK, DV
    kiln_attention_backward_desc desc;
} run;

static bool make_buffer(run *c, int t)
{
    kiln_type type = t == LSE ? KILN_F32 : c->type;
    size_t count = t == LSE ? c->rows : c->count;
    void *host = calloc(count + 1, 4);
    for (size_t i = 0; host && i < count; i++)
        put(host, type, i, c->r->at[t][i]);
    bool is_made = host && !kiln_buffer_new(c->k, type, count, &c->on_device[t]) &&
                   !kiln_write(c->on_device[t], 0, host, count);
    free(host);
    return is_made;
}

static bool begin(run *c, kiln *k, const reference *r, kiln_type type, kiln_attention_kernel kernel)
{
    memset(c, 0, sizeof *c);
    c->k = k;
    c->r = r;
    c->type = type;
    c->rows = (size_t)r->s.heads * r->s.length;
    c->count = c->rows * r->s.head_dim;
    bool is_made = true;
    for (int t = 0; t < TENSORS; t++)
        is_made = is_made && make_buffer(c, t);
    for (int i = 0; i < 3; i++) {
        c->result[i] = calloc(c->count + 1, 4);
        c->first[i] = calloc(c->count + 1, 4);
    }
    kiln_attention_backward_desc *d = &c->desc;
    d->q = c->on_device[Q];
    d->k = c->on_device[K];
    d->v = c->on_device[V];
    d->out = c->on_device[OUT];
    d->lse = c->on_device[LSE];
    d->dout = c->on_device[DOUT];
    d->dq = c->on_device[DQ];
    d->dk = c->on_device[DK];
    d->dv = c->on_device[DV];
    d->batch = 1;
    d->heads = r->s.heads;
    d->length = r->s.length;
    d->head_dim = r->s.head_dim;
    d->is_causal = r->s.is_causal;
    d->kernel = kernel;
    return is_made;
}

static void end(run *c)
{
    for (int t = 0; t < TENSORS; t++)
        kiln_buffer_free(c->on_device[t]);
    kiln_buffer_free(c->workspace);
    for (int i = 0; i < 3; i++) {
        free(c->result[i]);
        free(c->first[i]);
    }
}

static bool make_workspace(run *c)
{
    uint64_t elements = 0;
    bool is_made = !kiln_attention_backward_workspace(c->k, &c->desc, &elements) &&
                   !kiln_buffer_new(c->k, KILN_F32, (size_t)elements, &c->workspace);
    c->desc.workspace = c->workspace;
    return is_made;
}

// Results and workspace are spoilt first: what is not written shows.
static bool compute(run *c)
{
    uint32_t nan = nan_bits(c->type), nan32 = nan_bits(KILN_F32);
    bool is_good = !kiln_fill(c->workspace, &nan32);
    for (int i = 0; i < 3; i++)
        is_good = is_good && !kiln_fill(c->on_device[DQ + i], &nan);
    is_good = is_good && !kiln_attention_backward(c->k, &c->desc) && !kiln_sync(c->k);
    for (int i = 0; i < 3; i++)
        is_good = is_good && !kiln_read(c->on_device[DQ + i], 0, c->result[i], c->count);
    return is_good;
}

static bool is_accurate(const run *c, double bound)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    bool is_good = true;
    for (int i = 0; i < 3; i++) {
        double off = 0, size = 0;
        for (size_t n = 0; n < c->count; n++) {
            double want = c->r->at[DQ + i][n], e = get(c->result[i], c->type, n) - want;
            off += e * e;
            size += want * want;
        }
        double error = size > 0 ? sqrt(off / size) : sqrt(off);
        if (error < bound)
            continue;
        is_good = false;
        printf("%s, head_dim %u, %s, %u heads of %u: error of %s is %.2e\n",
               kiln_type_name(c->type), c->r->s.head_dim, c->r->s.is_causal ? "causal" : "full",
               c->r->s.heads, c->r->s.length, names[i], error);
    }
    return is_good;
}

// dk and dv are the same bits every time.
static bool repeats(run *c, int times)
{
    size_t bytes = c->count * kiln_type_size(c->type);
    for (int i = 0; i < 3; i++)
        memcpy(c->first[i], c->result[i], bytes);
    bool is_same = true;
    for (int n = 0; n < times && is_same; n++)
        is_same = compute(c) && !memcmp(c->first[1], c->result[1], bytes) &&
                  !memcmp(c->first[2], c->result[2], bytes);
    return is_same;
}

// --- the table
static void test_shape(kiln *k, shape s, kiln_attention_kernel kernel, int type_count, int times)
{
    reference r;
    CHECK(make_reference(s, &r));
    for (int t = 0; t < type_count; t++) {
        run c;
        CHECK(begin(&c, k, &r, types[t].type, kernel));
        bool has_run = make_workspace(&c) && compute(&c);
        // The interpreter has every kernel.
        bool may_refuse = is_fake || strcmp(kiln_device_name(k), "interp") != 0;
        if (!has_run && kiln_last_error(k)->status == KILN_E_UNSUPPORTED && may_refuse) {
            printf("skipped: %s\n", kiln_last_error(k)->text);
            skipped++;
        } else {
            CHECK(has_run && (is_fake || (is_accurate(&c, types[t].bound) && repeats(&c, times))));
        }
        end(&c);
    }
    free_reference(&r);
}

static void test_refusals(kiln *k)
{
    const shape s = {2, 8, 32, false};
    reference r;
    run c;
    CHECK(make_reference(s, &r) && begin(&c, k, &r, KILN_BF16, KILN_ATTENTION_BEST));
    CHECK(make_workspace(&c));
    const kiln_attention_backward_desc good = c.desc;
    kiln_attention_backward_desc d = good;
    uint64_t elements;
#define REFUSED(change, status, code, words)                                                       \
    do {                                                                                           \
        d = good;                                                                                  \
        change;                                                                                    \
        EXPECT(kiln_attention_backward(k, &d), status, code, words);                               \
    } while (0)
    CHECK(!kiln_attention_backward(k, &d));
    EXPECT(kiln_attention_backward(NULL, &d), KILN_E_BAD_HANDLE, "K6002", "kiln");
    EXPECT(kiln_attention_backward(k, NULL), KILN_E_BAD_ARGUMENT, "K6003", "description is NULL");
    EXPECT(kiln_attention_backward_workspace(k, &d, NULL), KILN_E_BAD_ARGUMENT, "K6003",
           "'elements' is NULL");
    EXPECT(kiln_attention_backward_workspace(k, NULL, &elements), KILN_E_BAD_ARGUMENT, "K6003",
           "description is NULL");
    REFUSED(d.q = NULL, KILN_E_BAD_ARGUMENT, "K6003", "'q' is NULL");
    REFUSED(d.workspace = NULL, KILN_E_BAD_ARGUMENT, "K6003", "'workspace' is NULL");
    REFUSED(d.head_dim = 0, KILN_E_BAD_ARGUMENT, "K6003", "head_dim is 1 to 1024");
    REFUSED(d.scale = -1.0f, KILN_E_BAD_ARGUMENT, "K6003", "scale");
    REFUSED(d.length = 9, KILN_E_BAD_ARGUMENT, "K6017", "'q' takes elements 0 to 576");
    REFUSED(d.lse = d.q, KILN_E_BAD_ARGUMENT, "K6011", "'lse' is bf16, not f32");
    REFUSED(d.dk = c.on_device[Q], KILN_E_BAD_ARGUMENT, "K6003", "'q' and 'dk' are the same");
    REFUSED(d.dv = d.dq, KILN_E_BAD_ARGUMENT, "K6003", "'dq' and 'dv' are the same");
    REFUSED(d.batch = 0x80000000u, KILN_E_BAD_ARGUMENT, "K6003", "heads of the batch");
    REFUSED(d.kernel = KILN_ATTENTION_SM90, KILN_E_UNSUPPORTED, "K6038",
            "the sm_90a kernel cannot");
    d = good;
    d.length = 0;
    CHECK(!kiln_attention_backward(k, &d));
    end(&c);
    free_reference(&r);
}

// --- the main kernel under kiln_check: no race, no missing fence, no barrier that does not add up
static void show(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

static kiln_kernel *compile_for_check(kiln *k, shape s)
{
    char head_dim[32], causal[32];
    snprintf(head_dim, sizeof head_dim, "HD=%u", s.head_dim);
    snprintf(causal, sizeof causal, "CAUSAL=%d", s.is_causal);
    const char *tune[] = {head_dim, causal, NULL};
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.path = "ops/attention/backward_sm90.c";
    desc.tune = tune;
    desc.for_check = true;
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    CHECK(!kiln_compile(k, &desc, &m) && !kiln_module_kernel(m, NULL, &kernel));
    return kernel;
}

static kiln_tensor_map map_of(run *c, int t, uint32_t rows)
{
    kiln_tensor_map_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.buffer = c->on_device[t];
    desc.rank = 3;
    desc.size[0] = c->r->s.head_dim;
    desc.size[1] = c->r->s.length;
    desc.size[2] = c->r->s.heads;
    desc.box[0] = 64;
    desc.box[1] = rows;
    desc.box[2] = 1;
    desc.swizzle_bytes = 128;
    kiln_tensor_map map;
    memset(&map, 0, sizeof map);
    CHECK(!kiln_tensor_map_make(c->k, &desc, &map));
    return map;
}

static void test_check(kiln *k, shape s)
{
    reference r;
    run c;
    CHECK(make_reference(s, &r) && begin(&c, k, &r, KILN_BF16, KILN_ATTENTION_SM90));
    CHECK(make_workspace(&c) && compute(&c)); // its workspace holds the rows' values now
    uint32_t m = s.head_dim == 128 ? 64 : 128, blocks = (s.length + m - 1) / m;
    uint32_t keys = (s.length + 127) / 128, per_head = s.is_causal ? (keys + 1) / 2 : keys;
    const kiln_tensor_map maps[] = {map_of(&c, Q, m), map_of(&c, K, 128), map_of(&c, V, 128),
                                    map_of(&c, DOUT, m)};
    const uint32_t numbers[] = {s.length, blocks, keys, s.heads * per_head, per_head};
    kiln_arg args[15];
    size_t count = 0;
    for (; count < 4; count++)
        args[count] = kiln_arg_struct(&maps[count], sizeof maps[count]);
    args[count++] = kiln_arg_buffer_at(c.workspace, (size_t)s.heads * blocks * 8192);
    args[count++] = kiln_arg_buffer(c.workspace);
    args[count++] = kiln_arg_buffer(c.on_device[DK]);
    args[count++] = kiln_arg_buffer(c.on_device[DV]);
    for (int i = 0; i < 5; i++)
        args[count++] = kiln_arg_i64(KILN_U32, numbers[i]);
    args[count++] = kiln_arg_f64(KILN_F32, 0.1);
    args[count++] = kiln_arg_f64(KILN_F32, 0.1);
    kiln_check_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.launch.grid[0] = 2;
    desc.launch.shared_bytes = 232448;
    desc.launch.args = args;
    desc.launch.arg_count = count;
    desc.all = true;
    desc.finding = show;
    size_t findings = 0;
    CHECK(!kiln_check(compile_for_check(k, s), &desc, &findings) && findings == 0);
    end(&c);
    free_reference(&r);
}

int main(int argc, char **argv)
{
    // around the edges of blocks of 64 and 128 queries and 128 keys
    static const struct {
        uint32_t heads, length;
    } large[] = {{2, 1},   {3, 72},  {2, 128}, {20, 136}, {2, 256},
                 {3, 384}, {2, 400}, {4, 640}, {1, 1000}, {2, 1024}};
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    is_fake = api_is_fake(k);
    bool is_gpu = !strncmp(device, "cuda", 4);
    test_refusals(k);
    for (int n = 0; n < 4 && !strcmp(device, "interp"); n++)
        test_check(k, n & 1 ? (shape){1, 330, 128, n > 1} : (shape){1, 600, 64, n > 1});
    for (int causal = 0; causal < 2; causal++) {
        test_shape(k, (shape){2, 5, 33, causal}, KILN_ATTENTION_PORTABLE, 3, 1);
        test_shape(k, (shape){1, 70, 64, causal}, KILN_ATTENTION_PORTABLE, 3, 1);
        if (!is_gpu) {
            test_shape(k, (shape){2, 1, 64, causal}, KILN_ATTENTION_SM90, 1, 1);
            test_shape(k, (shape){3, 300, 64, causal}, KILN_ATTENTION_SM90, 2, 1);
            test_shape(k, (shape){2, 1, 128, causal}, KILN_ATTENTION_SM90, 1, 1);
            test_shape(k, (shape){3, 300, 128, causal}, KILN_ATTENTION_SM90, 2, 1);
            continue;
        }
        for (size_t n = 0; n < sizeof large / sizeof *large; n++)
            for (uint32_t head_dim = 64; head_dim <= 128; head_dim += 64)
                test_shape(k, (shape){large[n].heads, large[n].length, head_dim, causal},
                           KILN_ATTENTION_SM90, 2, large[n].length == 1000 ? 100 : 3);
        test_shape(k, (shape){2, 200, 96, causal}, KILN_ATTENTION_BEST, 1, 1);
    }
    CHECK(!kiln_sync(k));
    kiln_close(k);
    printf("attention_backward: %d passed, %d failed, %d skipped\n", api_passed, api_failed,
           skipped);
    return api_failed != 0;
}
