// kiln_attention_backward against double precision, for both ways of computing it, all layouts, and
// what it refuses.
//     attention_backward [DEVICE [LEAST MOST [PART]]]    (default: cuda; head dimensions; a word
//     of `main`: layouts, general, random, check, dense)
// On interp and cpu the shapes are small. A kernel that the device does not have is skipped.
#include "sizes.h"
#include "test_case.h"

static int skipped;
static uint32_t least_dim, most_dim = UINT32_MAX;
static const char *only_part;
static bool is_fake, is_emulated;

static shape square(uint32_t heads, uint32_t length, uint32_t head_dim, bool is_causal)
{
    return (shape){1, heads, heads, length, length, head_dim, is_causal};
}

// --- one case
typedef struct run {
    attention_case c;
    kiln_buffer *workspace;
    kiln_attention_backward_desc desc;
} run;

// What the forward call would leave in OUT and LSE, of the reference.
static bool write_forward(attention_case *c, int t)
{
    void *host = calloc(c->counts[t] + 1, 4);
    for (size_t i = 0; host && i < c->counts[t]; i++)
        put(host, type_of(c, t), i, c->numbers[t][i]);
    bool is_written = host && !kiln_write_view(c->views[t], host);
    free(host);
    return is_written;
}

static bool make_workspace(run *r)
{
    uint64_t elements = 0;
    bool is_made = !kiln_attention_backward_workspace(r->c.k, &r->desc, &elements);
    if (is_made && !elements) // then none need be given
        return true;
    is_made = is_made && !kiln_buffer_new(r->c.k, KILN_F32, (size_t)elements + 4, &r->workspace);
    r->desc.workspace = kiln_view_of(r->workspace, 1, &elements);
    r->desc.workspace.first = 4;
    return is_made;
}

static bool begin(run *r, kiln *k, shape s, number_type type, layout form, uint32_t seed,
                  kiln_attention_kernel kernel)
{
    attention_case *c = &r->c;
    bool is_made = begin_case(c, k, s, type, form, seed);
    double *p = (double *)calloc(s.keys + 1, sizeof *p);
    size_t rows = is_fake ? 0 : (size_t)s.batch * s.heads * s.queries;
    for (size_t row = 0; is_made && p && row < rows; row++)
        differentiate(c, row, p);
    free(p);
    kiln_attention_backward_desc *d = &r->desc;
    memset(d, 0, sizeof *d);
    d->q = c->views[Q];
    d->k = c->views[K];
    d->v = c->views[V];
    d->out = c->views[OUT];
    d->lse = c->views[LSE];
    d->dout = c->views[DOUT];
    d->dq = c->views[DQ];
    d->dk = c->views[DK];
    d->dv = c->views[DV];
    d->is_causal = s.is_causal;
    d->kernel = kernel;
    r->workspace = NULL;
    return is_made && write_forward(c, OUT) && write_forward(c, LSE);
}

static void end(run *r)
{
    kiln_buffer_free(r->workspace);
    end_case(&r->c);
}

// Results and workspace are spoilt first: what is not written shows.
static bool compute(run *r)
{
    uint32_t nan = nan_bits(KILN_F32);
    bool is_good = !r->workspace || !kiln_fill(r->workspace, &nan);
    for (int t = DQ; t <= DV; t++)
        is_good = is_good && spoil_result(&r->c, t);
    return is_good && !kiln_attention_backward(r->c.k, &r->desc) && !kiln_sync(r->c.k);
}

static bool is_accurate(const run *r)
{
    static const char *const names[] = {"dq", "dk", "dv"};
    bool is_good = true;
    for (int t = DQ; t <= DV; t++) {
        double off = 0, size = 0, *got = read_numbers(&r->c, t);
        for (size_t n = 0; got && n < r->c.counts[t]; n++) {
            double wanted = r->c.numbers[t][n];
            off += (got[n] - wanted) * (got[n] - wanted);
            size += wanted * wanted;
        }
        if (r->c.form == ANY) // where all keys are the same, dq is 0
            size = fmax(size, 0.01 * (double)r->c.counts[t]);
        double error = size > 0 ? sqrt(off / size) : sqrt(off);
        if (got && error < r->c.type.bound && is_only_view(&r->c, t)) {
            free(got);
            continue;
        }
        char text[80];
        snprintf(text, sizeof text, "error of %s is %.2e", names[t - DQ], error);
        print_case(&r->c, text);
        free(got);
        is_good = false;
    }
    return is_good;
}

// dk and dv are the same bits every time.
static bool repeats(run *r, int times)
{
    bool is_same = true;
    double *first[2] = {read_numbers(&r->c, DK), read_numbers(&r->c, DV)};
    for (int n = 0; n < times && is_same; n++) {
        is_same = compute(r);
        for (int t = DK; t <= DV; t++) {
            double *again = read_numbers(&r->c, t);
            is_same = is_same && first[t - DK] && again &&
                      !memcmp(first[t - DK], again, r->c.counts[t] * sizeof *again);
            free(again);
        }
    }
    free(first[0]);
    free(first[1]);
    return is_same;
}

// --- the table
static void test_case(kiln *k, shape s, number_type type, layout form, uint32_t seed,
                      kiln_attention_kernel kernel, int times)
{
    run r;
    if (s.head_dim < least_dim || s.head_dim > most_dim)
        return;
    CHECK(begin(&r, k, s, type, form, seed, kernel));
    bool has_run = make_workspace(&r) && compute(&r);
    // The interpreter has every kernel.
    if (!has_run && kiln_last_error(k)->status == KILN_E_UNSUPPORTED && !is_emulated) {
        printf("skipped: %s\n", kiln_last_error(k)->text);
        skipped++;
    } else {
        CHECK(has_run && (is_fake || (is_accurate(&r) && repeats(&r, times))));
    }
    end(&r);
}

static void test_shape(kiln *k, shape s, kiln_attention_kernel kernel, int type_count, int times)
{
    for (int t = 0; t < type_count; t++)
        test_case(k, s, types[t], DENSE, s.queries, kernel, times);
}

// Every layout; shared heads, and other numbers of keys than of queries.
static void test_layouts(kiln *k)
{
    static const shape shapes[] = {{2, 2, 2, 33, 33, 40, 0},
                                   {2, 4, 2, 9, 9, 40, 0},
                                   {1, 3, 1, 20, 50, 40, 0},
                                   {2, 2, 2, 1, 37, 40, 0}};
    for (layout form = DENSE; form < LAYOUTS; form++)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            for (int causal = 0; causal < 2; causal++) {
                shape s = shapes[n];
                s.is_causal = causal;
                test_case(k, s, types[(n + form) % 3], form, (uint32_t)n, KILN_ATTENTION_PORTABLE,
                          0);
                s.head_dim = n % 2 ? 128 : 64;
                if (form < ANY)
                    test_case(k, s, types[n % 2], form, (uint32_t)n, KILN_ATTENTION_SM90, 0);
                s.head_dim = n % 2 ? 96 : 40; // filled up to 128 and 64
                if (form < ANY)
                    test_case(k, s, types[n / 2], form, (uint32_t)n, KILN_ATTENTION_SM90, 0);
                static const uint32_t wide[] = {192, 256, 136, 248};
                s.head_dim = wide[n];
                if (form < ANY)
                    test_case(k, s, types[(n + causal) % 2], form, (uint32_t)n, KILN_ATTENTION_SM90,
                              0);
            }
}

// Several blocks of queries and keys, in heads that are shared and of other lengths.
static void test_general(kiln *k)
{
    static const shape shapes[] = {{1, 2, 1, 200, 200, 0, 0}, {1, 3, 1, 70, 330, 0, 0},
                                   {2, 2, 2, 260, 300, 0, 0}, {1, 2, 2, 300, 140, 0, 0},
                                   {1, 4, 1, 200, 600, 0, 0},   // a second round with few units, on
                                   {3, 8, 2, 100, 3200, 0, 0}}; // the interpreter and on an H200
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (uint32_t head_dim = 64; head_dim <= 256 && (shapes[n].keys < 1000 || !is_emulated);
             head_dim += head_dim < 128 ? 32 : 64)
            for (int causal = 0; causal < 2; causal++) {
                shape s = shapes[n];
                s.head_dim = head_dim;
                s.is_causal = causal;
                if (!causal || s.queries <= s.keys)
                    test_case(k, s, types[n % 2], (layout)(n % ALIGNED), (uint32_t)n,
                              KILN_ATTENTION_SM90, 0);
            }
}

// Random shapes and strides.
static void test_random(kiln *k, uint32_t seed, uint32_t count)
{
    attention_case r;
    r.state = seed;
    for (uint32_t n = 0; n < count; n++) {
        shape s = {1 + next_random(&r, 3),  1, 1 + next_random(&r, 2),
                   1 + next_random(&r, 40), 1, 1 + next_random(&r, 50),
                   next_random(&r, 2)};
        s.heads = s.kv_heads * (1 + next_random(&r, 3));
        s.keys = (s.is_causal ? s.queries : 1) + next_random(&r, 60);
        uint32_t type = next_random(&r, 3);
        layout form = next_random(&r, 2) ? ANY : ALIGNED;
        test_case(k, s, types[type], form, seed + n, KILN_ATTENTION_BEST, 0);
        s.head_dim = 64;
        if (is_emulated)
            test_case(k, s, types[type % 2], ALIGNED, seed + n, KILN_ATTENTION_SM90, 0);
    }
}

// Without queries the gradients of keys are 0; with nothing at all there is nothing to do.
static void test_empty(kiln *k)
{
    static const shape empty[] = {{2, 2, 1, 0, 5, 64, 0},
                                  {2, 0, 3, 4, 5, 64, 1},
                                  {0, 2, 2, 4, 4, 64, 0},
                                  {1, 2, 2, 0, 0, 64, 1}};
    for (size_t n = 0; n < sizeof empty / sizeof *empty; n++)
        test_case(k, empty[n], types[n % 3], n % 2 ? BY_ROW : DENSE, 1, KILN_ATTENTION_BEST, 0);
}

static void test_refusals(kiln *k)
{
    const shape s = square(2, 8, 24, false);
    run r;
    CHECK(begin(&r, k, s, types[0], DENSE, 1, KILN_ATTENTION_BEST) && make_workspace(&r));
    const kiln_attention_backward_desc good = r.desc;
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
    REFUSED(d.q.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'q' has no buffer");
    REFUSED(d.dk.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'dk' has no buffer");
    REFUSED(d.workspace.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'workspace' has no buffer");
    REFUSED(d.workspace.sizes[0]--, KILN_E_BAD_ARGUMENT, "K7004", "dense view of 16 or more f32");
    REFUSED(d.workspace = d.lse, KILN_E_BAD_ARGUMENT, "K6003", "'lse' and 'workspace' have");
    REFUSED(d.q.sizes[3] = 0, KILN_E_BAD_ARGUMENT, "K6003", "head_dim is 1 to 1024");
    REFUSED(d.scale = -1.0f, KILN_E_BAD_ARGUMENT, "K6003", "scale");
    REFUSED(d.q.sizes[2] = 9, KILN_E_BAD_ARGUMENT, "K7002", "'q'");
    REFUSED(d.dout.sizes[2] = 7, KILN_E_BAD_ARGUMENT, "K7004", "'dout' is [1, 2, 7, 24], not");
    REFUSED((d.lse = d.q, d.lse.rank = 3), KILN_E_BAD_ARGUMENT, "K6011", "'lse' is bf16, not f32");
    REFUSED(d.dk = d.q, KILN_E_BAD_ARGUMENT, "K6003", "'q' and the result 'dk' have elements");
    REFUSED(d.dv = d.dq, KILN_E_BAD_ARGUMENT, "K6003", "'dv' and the result 'dq' have elements");
    REFUSED(d.dq.strides[1] = 0, KILN_E_BAD_ARGUMENT, "K7005", "'dq'");
    REFUSED((d.q.sizes[0] = 0x80000000u, d.q.strides[0] = 0), KILN_E_BAD_ARGUMENT, "K6003",
            "heads of the batch");
    REFUSED(d.kernel = KILN_ATTENTION_SM90, KILN_E_UNSUPPORTED, "K6038",
            "the sm_90a kernel cannot");
    end(&r);
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
    desc.path =
        s.head_dim > 128 ? "ops/attention/backward_wide.c" : "ops/attention/backward_sm90.c";
    desc.tune = tune;
    desc.for_check = true;
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    CHECK(!kiln_compile(k, &desc, &m) && !kiln_module_kernel(m, NULL, &kernel));
    return kernel;
}

static kiln_tensor_map map_of(const attention_case *c, int t, uint32_t rows)
{
    kiln_tensor_map_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.buffer = c->buffers[t];
    desc.rank = 3;
    desc.size[0] = c->s.head_dim;
    desc.size[1] = c->s.queries;
    desc.size[2] = c->s.heads;
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
    run r;
    CHECK(begin(&r, k, s, types[0], DENSE, 1, KILN_ATTENTION_SM90));
    CHECK(make_workspace(&r) && compute(&r)); // its workspace holds the rows' values now
    attention_case *c = &r.c;
    uint32_t m = BACKWARD_QUERIES(s.head_dim), n = BACKWARD_KEYS(s.head_dim);
    uint32_t blocks = (s.queries + m - 1) / m, keys = (s.queries + n - 1) / n;
    uint32_t per_head = s.is_causal ? (keys + 1) / 2 : keys;
    const kiln_tensor_map maps[] = {map_of(c, Q, m), map_of(c, K, n), map_of(c, V, n),
                                    map_of(c, DOUT, m)};
    const struct {
        uint32_t queries, query_blocks, key_blocks, units, per_head;
        float c, scale;
        uint32_t for_strides[14];
        uint64_t strides[6];
    } p = {s.queries, blocks, keys, s.heads * per_head, per_head, 0.1f, 0.1f, {0}, {0}};
    kiln_arg args[9];
    for (size_t n = 0; n < 4; n++)
        args[n] = kiln_arg_struct(&maps[n], sizeof maps[n]);
    args[4] = kiln_arg_buffer_at(r.workspace, 4 + (size_t)s.heads * blocks * SUM_BLOCK(s.head_dim));
    args[5] = kiln_arg_buffer_at(r.workspace, 4);
    args[6] = kiln_arg_buffer(c->buffers[DK]);
    args[7] = kiln_arg_buffer(c->buffers[DV]);
    args[8] = kiln_arg_struct(&p, sizeof p);
    kiln_check_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.launch.grid[0] = 2;
    kiln_kernel *kernel = compile_for_check(k, s);
    int64_t shared_bytes = 0;
    CHECK(!kiln_kernel_constant(kernel, "SHARED_BYTES", &shared_bytes));
    desc.launch.shared_bytes = (size_t)shared_bytes;
    desc.launch.args = args;
    desc.launch.arg_count = 9;
    desc.all = true;
    desc.finding = show;
    size_t findings = 0;
    CHECK(!kiln_check(kernel, &desc, &findings) && findings == 0);
    end(&r);
}

static bool has_part(const char *name)
{
    return !only_part || !strcmp(only_part, name);
}

int main(int argc, char **argv)
{
    // around the edges of blocks of 64 and 128 queries and 128 keys
    static const struct {
        uint32_t heads, length;
    } large[] = {{2, 1},   {3, 72},  {2, 128}, {20, 136}, {2, 256},
                 {3, 384}, {2, 400}, {4, 640}, {1, 1000}, {2, 1024}};
    const char *device = argc > 1 ? argv[1] : "cuda";
    if (argc > 3) {
        least_dim = (uint32_t)strtoul(argv[2], NULL, 10);
        most_dim = (uint32_t)strtoul(argv[3], NULL, 10);
    }
    only_part = argc > 4 ? argv[4] : NULL;
    kiln *k = api_open(device);
    is_fake = api_is_fake(k);
    is_emulated = !is_fake && !strcmp(kiln_device_name(k), "interp");
    bool is_gpu = !strncmp(device, "cuda", 4);
    test_refusals(k);
    test_empty(k);
    if (has_part("layouts"))
        test_layouts(k);
    if (has_part("general"))
        test_general(k);
    if (has_part("random"))
        test_random(k, 1, is_gpu ? 60 : 12);
    for (int n = 0; n < 4 && is_emulated && has_part("check"); n++) {
        test_check(k, n & 1 ? square(1, 330, 128, n > 1) : square(1, 600, 64, n > 1));
        test_check(k, n & 1 ? square(1, 330, 192, n > 1) : square(1, 330, 256, n > 1));
    }
    for (int causal = 0; causal < 2 && has_part("dense"); causal++) {
        test_shape(k, square(2, 5, 33, causal), KILN_ATTENTION_PORTABLE, 3, 1);
        test_shape(k, square(1, 70, 64, causal), KILN_ATTENTION_PORTABLE, 3, 1);
        for (uint32_t head_dim = 64; head_dim <= 256 && !is_gpu; head_dim += 64) {
            test_shape(k, square(2, 1, head_dim, causal), KILN_ATTENTION_SM90, 1, 1);
            test_shape(k, square(3, 300, head_dim, causal), KILN_ATTENTION_SM90, 2, 1);
        }
        for (size_t n = 0; n < sizeof large / sizeof *large && is_gpu; n++)
            for (uint32_t head_dim = 64; head_dim <= 256; head_dim += 64)
                test_shape(k, square(large[n].heads, large[n].length, head_dim, causal),
                           KILN_ATTENTION_SM90, 2, large[n].length == 1000 ? 100 : 3);
        if (is_gpu)
            test_shape(k, square(2, 200, 96, causal), KILN_ATTENTION_BEST, 1, 1);
    }
    CHECK(!kiln_sync(k));
    kiln_close(k);
    printf("attention_backward: %d passed, %d failed, %d skipped\n", api_passed, api_failed,
           skipped);
    return api_failed != 0;
}
