// kiln_attention_forward against double precision, for all head dimensions, types, masks and
// kernels, and what it refuses.
//     attention [DEVICE]        (default: cuda)
//     attention interp check    kiln check of the kernel for sm_90a, from the root of the tree
// On interp and cpu the shapes are small; interp emulates the kernel for sm_90a, too.
#include <kiln/ops.h>
#include <math.h>

#include "api.h"
#include "attention_numbers.h"

static int skipped;
static bool is_fake;

typedef struct shape {
    uint32_t batch, heads, kv_heads, queries, keys;
} shape;

// Lengths around the tiles' edges; shared heads; other numbers of keys than of queries.
static const shape large_shapes[] = {
    {1, 3, 3, 72, 72},     {2, 1, 1, 128, 128}, {1, 1, 1, 136, 136},  {1, 2, 1, 256, 256},
    {1, 3, 3, 384, 384},   {2, 4, 2, 400, 400}, {1, 6, 2, 640, 640},  {1, 1, 1, 1000, 1000},
    {5, 1, 1, 1024, 1024}, {1, 2, 2, 100, 333}, {2, 4, 1, 193, 1031}, {1, 1, 1, 1, 1},
};
static const shape long_shape = {1, 3, 1, 700, 2100}; // has other tiles
static const shape small_shapes[] = {{1, 2, 1, 5, 40}, {1, 1, 1, 72, 72}};
static const shape emulated_shapes[] = {
    {1, 2, 1, 136, 200}, {1, 1, 1, 400, 400}, {1, 1, 1, 3, 9}}; // several tiles and blocks, and one

// --- one case
typedef struct tensors {
    void *q, *k, *v, *out;
    float *lse;
    kiln_buffer *on_device[5];
} tensors;

enum { Q, K, V, OUT, LSE };

static bool make_input(kiln *k, kiln_type type, size_t count, uint32_t seed, void **host,
                       kiln_buffer **device)
{
    *host = calloc(count + 1, 4);
    for (size_t i = 0; *host && i < count; i++)
        put(*host, type, i, next_number(&seed));
    return *host && !kiln_buffer_new(k, type, count, device) &&
           !kiln_write(*device, 0, *host, count);
}

static bool make_tensors(kiln *k, kiln_type type, shape s, uint32_t head_dim, tensors *t)
{
    size_t rows = (size_t)s.batch * s.heads * s.queries;
    size_t kv = (size_t)s.batch * s.kv_heads * s.keys * head_dim;
    t->out = calloc(rows * head_dim + 1, 4);
    t->lse = (float *)calloc(rows + 1, sizeof *t->lse);
    return make_input(k, type, rows * head_dim, 1, &t->q, &t->on_device[Q]) &&
           make_input(k, type, kv, 2, &t->k, &t->on_device[K]) &&
           make_input(k, type, kv, 3, &t->v, &t->on_device[V]) &&
           !kiln_buffer_new(k, type, rows * head_dim, &t->on_device[OUT]) &&
           !kiln_buffer_new(k, KILN_F32, rows, &t->on_device[LSE]) && t->out && t->lse;
}

static void free_tensors(tensors *t)
{
    void *memory[] = {t->q, t->k, t->v, t->out, t->lse};
    for (int i = 0; i < 5; i++) {
        free(memory[i]);
        kiln_buffer_free(t->on_device[i]);
    }
}

typedef struct error_sum {
    double difference, size, worst_lse;
} error_sum;

static double *widen(const void *from, kiln_type type, size_t count)
{
    double *to = (double *)malloc((count + 1) * sizeof *to);
    for (size_t i = 0; to && i < count; i++)
        to[i] = get(from, type, i);
    return to;
}

typedef struct wide { // inputs in double precision
    double *q, *k, *v, *scores;
} wide;

// One row in double precision; adds what the device has made of it.
static void compare_row(const tensors *t, wide w, kiln_type type, shape s, uint32_t head_dim,
                        bool causal, size_t row, error_sum *e)
{
    size_t head = row / s.queries, kv_head = head / (s.heads / s.kv_heads);
    size_t seen = causal ? s.keys - s.queries + row % s.queries + 1 : s.keys;
    const double *q = w.q + row * head_dim, *k = w.k + kv_head * s.keys * head_dim;
    const double *v = w.v + kv_head * s.keys * head_dim;
    double top = -INFINITY, sum = 0;
    for (size_t n = 0; n < seen; n++) {
        double dot = 0;
        for (size_t d = 0; d < head_dim; d++)
            dot += q[d] * k[n * head_dim + d];
        w.scores[n] = dot / sqrt(head_dim);
        top = fmax(top, w.scores[n]);
    }
    for (size_t n = 0; n < seen; n++)
        sum += w.scores[n] = exp(w.scores[n] - top);
    for (size_t d = 0; d < head_dim; d++) {
        double value = 0;
        for (size_t n = 0; n < seen; n++)
            value += w.scores[n] * v[n * head_dim + d];
        value /= sum;
        double off = get(t->out, type, row * head_dim + d) - value;
        e->difference += off * off;
        e->size += value * value;
    }
    double off = fabs((double)t->lse[row] - (top + log(sum)));
    e->worst_lse = off <= e->worst_lse ? e->worst_lse : off; // a NaN stays
}

static bool is_accurate(const tensors *t, number_type type, shape s, uint32_t head_dim, bool causal)
{
    size_t rows = (size_t)s.batch * s.heads * s.queries;
    size_t kv_count = (size_t)s.batch * s.kv_heads * s.keys * head_dim;
    double work = (double)rows * s.keys * head_dim;
    size_t step = work > 1e7 ? (size_t)(work / 1e7) | 1 : 1; // odd: meets all places in a tile
    wide w = {widen(t->q, type.type, rows * head_dim), widen(t->k, type.type, kv_count),
              widen(t->v, type.type, kv_count), (double *)calloc(s.keys + 1, sizeof(double))};
    error_sum e = {0, 0, 0};
    bool has_memory = w.q && w.k && w.v && w.scores;
    for (size_t row = 0; has_memory && row < rows; row += step)
        compare_row(t, w, type.type, s, head_dim, causal, row, &e);
    if (has_memory)
        compare_row(t, w, type.type, s, head_dim, causal, rows - 1, &e);
    free(w.q);
    free(w.k);
    free(w.v);
    free(w.scores);
    double error = sqrt(e.difference / e.size);
    bool is_good = error < type.bound && e.worst_lse < 1e-4;
    if (!is_good)
        printf("%s, head_dim %u, %s, %u x %u heads (%u), %u queries, %u keys: error %.2e, lse "
               "%.2e\n",
               kiln_type_name(type.type), head_dim, causal ? "causal" : "full", s.batch, s.heads,
               s.kv_heads, s.queries, s.keys, error, e.worst_lse);
    return is_good;
}

static kiln_attention_desc describe(const tensors *t, shape s, uint32_t head_dim, bool causal)
{
    kiln_attention_desc d;
    memset(&d, 0, sizeof d);
    d.q = t->on_device[Q];
    d.k = t->on_device[K];
    d.v = t->on_device[V];
    d.out = t->on_device[OUT];
    d.lse = t->on_device[LSE];
    d.batch = s.batch;
    d.heads = s.heads;
    d.kv_heads = s.kv_heads;
    d.queries = s.queries;
    d.keys = s.keys;
    d.head_dim = head_dim;
    d.is_causal = causal;
    return d;
}

static bool read_results(tensors *t, shape s, uint32_t head_dim)
{
    size_t rows = (size_t)s.batch * s.heads * s.queries;
    return !kiln_read(t->on_device[OUT], 0, t->out, rows * head_dim) &&
           !kiln_read(t->on_device[LSE], 0, t->lse, rows);
}

// Results are spoilt first: what is not written shows.
static bool run(kiln *k, const kiln_attention_desc *d, tensors *t, shape s, kiln_type type)
{
    uint32_t nan = nan_bits(type), nan32 = nan_bits(KILN_F32);
    return !kiln_fill(t->on_device[OUT], &nan) && !kiln_fill(t->on_device[LSE], &nan32) &&
           !kiln_attention_forward(k, d) && !kiln_sync(k) && read_results(t, s, d->head_dim);
}

// --- the table
static void test_case(kiln *k, number_type type, shape s, uint32_t head_dim, bool causal,
                      kiln_attention_kernel kernel, uint32_t tile_queries)
{
    if (causal && s.queries > s.keys)
        return;
    tensors t;
    memset(&t, 0, sizeof t);
    CHECK(make_tensors(k, type.type, s, head_dim, &t));
    kiln_attention_desc d = describe(&t, s, head_dim, causal);
    d.kernel = kernel;
    d.tile_queries = tile_queries;
    bool has_run = run(k, &d, &t, s, type.type);
    // The interpreter has every kernel.
    bool may_refuse = is_fake || strcmp(kiln_device_name(k), "interp") != 0;
    if (!has_run && kiln_last_error(k)->status == KILN_E_UNSUPPORTED && may_refuse) {
        printf("skipped: %s\n", kiln_last_error(k)->text);
        skipped++;
    } else {
        CHECK(has_run && (is_fake || is_accurate(&t, type, s, head_dim, causal)));
    }
    free_tensors(&t);
}

static void test_shapes(kiln *k, const shape *shapes, size_t count, const uint32_t *head_dims,
                        kiln_attention_kernel kernel, size_t type_count)
{
    for (size_t n = 0; n < count; n++)
        for (const uint32_t *head_dim = head_dims; *head_dim; head_dim++)
            for (size_t type = 0; type < type_count; type++)
                for (int causal = 0; causal < 2; causal++)
                    test_case(k, types[type], shapes[n], *head_dim, causal, kernel, 0);
}

// The same bits every time, and with and without lse.
static void test_repeats(kiln *k, shape s, uint32_t head_dim, bool causal, int repeats)
{
    tensors t;
    memset(&t, 0, sizeof t);
    CHECK(make_tensors(k, KILN_BF16, s, head_dim, &t));
    size_t rows = (size_t)s.batch * s.heads * s.queries, bytes = rows * head_dim * 2;
    kiln_attention_desc d = describe(&t, s, head_dim, causal);
    CHECK(run(k, &d, &t, s, KILN_BF16));
    void *first = malloc(bytes);
    memcpy(first, t.out, bytes);
    bool is_same = true;
    for (int n = 0; n < repeats; n++) {
        d.lse = n % 2 ? t.on_device[LSE] : NULL;
        is_same = is_same && run(k, &d, &t, s, KILN_BF16) && !memcmp(first, t.out, bytes);
    }
    CHECK(is_same);
    free(first);
    free_tensors(&t);
}

static void show_finding(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

// kiln check finds nothing wrong with the kernel for sm_90a.
static void test_check(kiln *k, shape s, uint32_t head_dim, bool causal, uint32_t q_stages)
{
    const char *tune[] = {NULL, NULL, "HD=64", "WGS=2", NULL};
    tune[0] = causal ? "CAUSAL=1" : "CAUSAL=0";
    tune[1] = q_stages == 2 ? "Q_STAGES=2" : "Q_STAGES=1";
    kiln_compile_desc source;
    memset(&source, 0, sizeof source);
    source.path = "ops/attention/forward_sm90.c";
    source.tune = tune;
    source.for_check = true;
    kiln_module *m = NULL;
    tensors t;
    memset(&t, 0, sizeof t);
    CHECK(!kiln_compile(k, &source, &m) && make_tensors(k, KILN_BF16, s, head_dim, &t));
    if (!m)
        return;
    uint32_t tiles = (s.queries + 127) / 128, per_head = causal ? (tiles + 1) / 2 : tiles;
    struct {
        uint32_t queries, keys, tiles, units_per_head, units, sharing;
        float scale;
    } p = {s.queries, s.keys, tiles, per_head, per_head * s.heads, s.heads / s.kv_heads, 0.125f};
    kiln_tensor_map maps[3];
    for (int i = 0; i < 3; i++) {
        kiln_tensor_map_desc d;
        memset(&d, 0, sizeof d);
        d.buffer = t.on_device[i];
        d.rank = 3;
        d.size[0] = head_dim;
        d.size[1] = i ? s.keys : s.queries;
        d.size[2] = i ? s.kv_heads : s.heads;
        d.box[0] = 64;
        d.box[1] = 128;
        d.box[2] = 1;
        d.swizzle_bytes = 128;
        CHECK(!kiln_tensor_map_make(k, &d, &maps[i]));
    }
    const kiln_arg args[] = {kiln_arg_struct(&maps[Q], 128),    kiln_arg_struct(&maps[K], 128),
                             kiln_arg_struct(&maps[V], 128),    kiln_arg_buffer(t.on_device[OUT]),
                             kiln_arg_buffer(t.on_device[LSE]), kiln_arg_struct(&p, sizeof p)};
    kiln_check_desc d;
    memset(&d, 0, sizeof d);
    d.launch.grid[0] = 2;
    d.launch.shared_bytes = 81920 + 16384 * q_stages + 96;
    d.launch.args = args;
    d.launch.arg_count = 6;
    d.finding = show_finding;
    size_t findings = 0;
    CHECK(!kiln_check(api_kernel(m, NULL), &d, &findings) && !findings);
    free_tensors(&t);
    kiln_module_free(m);
}

static void test_refusals(kiln *k)
{
    const shape s = {1, 4, 2, 8, 16};
    tensors t;
    memset(&t, 0, sizeof t);
    CHECK(make_tensors(k, KILN_BF16, s, 32, &t));
    const kiln_attention_desc good = describe(&t, s, 32, false);
    kiln_attention_desc d = good;
    CHECK(!kiln_attention_forward(k, &d));
#define REFUSED(change, status, code, words)                                                       \
    do {                                                                                           \
        d = good;                                                                                  \
        change;                                                                                    \
        EXPECT(kiln_attention_forward(k, &d), status, code, words);                                \
    } while (0)
    EXPECT(kiln_attention_forward(NULL, &d), KILN_E_BAD_HANDLE, "K6002", "kiln");
    EXPECT(kiln_attention_forward(k, NULL), KILN_E_BAD_ARGUMENT, "K6003", "description is NULL");
    REFUSED(d.q = NULL, KILN_E_BAD_ARGUMENT, "K6003", "'q' is NULL");
    REFUSED(d.head_dim = 0, KILN_E_BAD_ARGUMENT, "K6003", "head_dim is 1 to 1024");
    REFUSED(d.kv_heads = 3, KILN_E_BAD_ARGUMENT, "K6003", "multiple of kv_heads");
    REFUSED(d.keys = 0, KILN_E_BAD_ARGUMENT, "K6003", "no keys");
    REFUSED((d.is_causal = true, d.keys = 7), KILN_E_BAD_ARGUMENT, "K6003", "more queries");
    REFUSED(d.scale = -1.0f, KILN_E_BAD_ARGUMENT, "K6003", "scale");
    REFUSED(d.keys = 17, KILN_E_BAD_ARGUMENT, "K6017", "'k' takes elements 0 to 1088");
    REFUSED(d.queries = 9, KILN_E_BAD_ARGUMENT, "K6017", "'q' takes");
    REFUSED(d.out = t.on_device[Q], KILN_E_BAD_ARGUMENT, "K6003", "'q' is the buffer of a result");
    REFUSED(d.lse = t.on_device[V], KILN_E_BAD_ARGUMENT, "K6003", "'v' is the buffer of a result");
    REFUSED(d.v = t.on_device[LSE], KILN_E_BAD_ARGUMENT, "K6017", "'v'");
    REFUSED(d.kernel = KILN_ATTENTION_SM90, KILN_E_UNSUPPORTED, "K6038",
            "the sm_90a kernel cannot");
    REFUSED(d.batch = 0x80000000u, KILN_E_BAD_ARGUMENT, "K6003", "heads of the batch");
    d = good;
    d.queries = 0;
    CHECK(!kiln_attention_forward(k, &d));
    free_tensors(&t);
    memset(&t, 0, sizeof t);
    CHECK(make_tensors(k, KILN_BF16, s, 64, &t));
    for (uint32_t keys = 16; keys <= 256; keys += 240) {
        d = describe(&t, s, 64, false);
        d.kernel = KILN_ATTENTION_SM90;
        d.tile_keys = keys;
        EXPECT(kiln_attention_forward(k, &d), KILN_E_UNSUPPORTED, "K6038",
               "the sm_90a kernel cannot");
    }
    free_tensors(&t);
}

int main(int argc, char **argv)
{
    static const uint32_t all_dims[] = {64, 128, 256, 0}, odd_dims[] = {33, 64, 0};
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    is_fake = api_is_fake(k);
    if (argc > 2 && !strcmp(argv[2], "check")) {
        for (uint32_t n = 0; n < 4; n++)
            test_check(k, emulated_shapes[0], 64, n % 2, 1 + n / 2);
        kiln_close(k);
        return api_done("attention-check");
    }
    test_refusals(k);
    test_shapes(k, small_shapes, 2, odd_dims, KILN_ATTENTION_PORTABLE, 3);
    if (!strncmp(device, "cuda", 4)) {
        test_shapes(k, large_shapes, sizeof large_shapes / sizeof *large_shapes, all_dims,
                    KILN_ATTENTION_SM90, 2);
        for (int causal = 0; causal < 2; causal++) { // tiles the table above does not come by
            for (uint32_t tile = 128; tile <= 256; tile += 64)
                test_case(k, types[0], large_shapes[8], 64, causal, KILN_ATTENTION_SM90, tile);
            test_case(k, types[0], large_shapes[8], 128, causal, KILN_ATTENTION_SM90, 192);
            for (uint32_t head_dim = 64; head_dim <= 256; head_dim *= 2)
                test_case(k, types[1], long_shape, head_dim, causal, KILN_ATTENTION_SM90, 0);
        }
        test_case(k, types[0], large_shapes[8], 96, true, KILN_ATTENTION_BEST, 0);
        test_repeats(k, (shape){2, 8, 4, 1000, 1000}, 128, true, 100);
        test_repeats(k, (shape){2, 8, 4, 1000, 1000}, 64, false, 100);
    } else {
        if (!strcmp(device, "interp"))
            test_shapes(k, emulated_shapes, 3, all_dims, KILN_ATTENTION_SM90, 2);
        for (uint32_t tile = 128; tile <= 192 && !strcmp(device, "interp"); tile += 64)
            for (int causal = 0; causal < 2; causal++)
                test_case(k, types[1], emulated_shapes[1], 64, causal, KILN_ATTENTION_SM90, tile);
        test_repeats(k, small_shapes[1], 64, true, 3);
    }
    CHECK(!kiln_sync(k));
    kiln_close(k);
    printf("attention: %d passed, %d failed, %d skipped\n", api_passed, api_failed, skipped);
    return api_failed != 0;
}
