// kiln_attention_forward against double precision, for all head dimensions, types, masks, layouts
// and kernels, and what it refuses.
//     attention [DEVICE [parts]]        (default: cuda; parts: units that share keys alone)
//     attention interp check    kiln check of the kernel for sm_90a, from the root of the tree
// On interp and cpu the shapes are small; interp emulates the kernel for sm_90a, too.
#include "test_case.h"

static int skipped;
static bool is_fake, is_emulated;

// Lengths around the tiles' edges; shared heads; other numbers of keys than of queries.
static const shape large_shapes[] = {
    {1, 3, 3, 72, 72, 0, 0},   {2, 1, 1, 128, 128, 0, 0},   {1, 1, 1, 136, 136, 0, 0},
    {1, 2, 1, 256, 256, 0, 0}, {1, 3, 3, 384, 384, 0, 0},   {2, 4, 2, 400, 400, 0, 0},
    {1, 6, 2, 640, 640, 0, 0}, {1, 1, 1, 1000, 1000, 0, 0}, {5, 1, 1, 1024, 1024, 0, 0},
    {1, 2, 2, 100, 333, 0, 0}, {2, 4, 1, 193, 1031, 0, 0},  {1, 1, 1, 1, 1, 0, 0},
};
static const shape long_shape = {1, 3, 1, 700, 2100, 0, 0}; // has other tiles
static const shape small_shapes[] = {{1, 2, 1, 5, 40, 0, 0}, {1, 1, 1, 72, 72, 0, 0}};
static const shape emulated_shapes[] = { // several tiles and blocks, and one
    {1, 2, 1, 136, 200, 0, 0},
    {1, 1, 1, 400, 400, 0, 0},
    {1, 1, 1, 3, 9, 0, 0}};
static const shape strided_shapes[] = {{2, 4, 2, 33, 33, 0, 0}, {3, 2, 2, 5, 70, 0, 0}};

static shape with(shape s, uint32_t head_dim, bool is_causal)
{
    s.head_dim = head_dim;
    s.is_causal = is_causal;
    return s;
}

// --- one case
static kiln_attention_desc describe(const attention_case *c)
{
    kiln_attention_desc d;
    memset(&d, 0, sizeof d);
    d.q = c->views[Q];
    d.k = c->views[K];
    d.v = c->views[V];
    d.out = c->views[OUT];
    d.lse = c->views[LSE];
    d.is_causal = c->s.is_causal;
    return d;
}

static bool is_accurate(attention_case *c)
{
    const shape *s = &c->s;
    size_t rows = (size_t)s->batch * s->heads * s->queries, n = s->head_dim;
    double work = (double)rows * s->keys * s->head_dim, off = 0, size = 0, worst_lse = 0;
    size_t step = work > 1e7 ? (size_t)(work / 1e7) | 1 : 1; // odd: meets all places in a tile
    double *out = read_numbers(c, OUT), *lse = read_numbers(c, LSE);
    double *p = (double *)calloc(s->keys + 1, sizeof *p);
    bool is_good = out && lse && p;
    for (size_t at = 0; is_good && at < rows + step - 1; at += step) {
        size_t row = at < rows ? at : rows - 1; // the last one, too
        attend(c, row, p);
        for (size_t i = row * n; i < row * n + n; i++) {
            double wanted = c->numbers[OUT][i];
            off += (out[i] - wanted) * (out[i] - wanted);
            size += wanted * wanted;
        }
        double error = fabs(lse[row] - c->numbers[LSE][row]);
        worst_lse = error <= worst_lse ? worst_lse : error; // a NaN stays
    }
    free(out);
    free(lse);
    free(p);
    double error = size > 0 ? sqrt(off / size) : off;
    is_good = is_good && error < c->type.bound && worst_lse < 1e-4;
    if (!is_good) {
        char text[80];
        snprintf(text, sizeof text, "error %.2e, lse %.2e", error, worst_lse);
        print_case(c, text);
    }
    return is_good;
}

static bool is_exact_write(const attention_case *c)
{
    bool is_good = is_only_view(c, OUT) && is_only_view(c, LSE);
    if (!is_good)
        print_case(c, "wrote beside a view");
    return is_good;
}

// --- the table
static void test_case(kiln *k, number_type type, shape s, layout form, uint32_t seed,
                      kiln_attention_kernel kernel, uint32_t tile_queries)
{
    if (s.is_causal && s.queries > s.keys)
        return;
    attention_case c;
    CHECK(begin_case(&c, k, s, type, form, seed));
    kiln_attention_desc d = describe(&c);
    d.kernel = kernel;
    d.tile_queries = tile_queries;
    bool has_run = !kiln_attention_forward(k, &d) && !kiln_sync(k);
    // The interpreter has every kernel.
    if (!has_run && kiln_last_error(k)->status == KILN_E_UNSUPPORTED && !is_emulated) {
        printf("skipped: %s\n", kiln_last_error(k)->text);
        skipped++;
    } else {
        CHECK(has_run && (is_fake || (is_accurate(&c) && is_exact_write(&c))));
    }
    end_case(&c);
}

static void test_shapes(kiln *k, const shape *shapes, size_t count, const uint32_t *head_dims,
                        kiln_attention_kernel kernel, size_t type_count)
{
    for (size_t n = 0; n < count; n++)
        for (const uint32_t *head_dim = head_dims; *head_dim; head_dim++)
            for (size_t type = 0; type < type_count; type++)
                for (int causal = 0; causal < 2; causal++)
                    test_case(k, types[type], with(shapes[n], *head_dim, causal), DENSE, 1, kernel,
                              0);
}

// Every layout for every type, with and without a mask; the kernel for sm_90a with those that its
// copies reach.
static void test_layouts(kiln *k)
{
    for (layout form = BY_ROW; form < LAYOUTS; form++)
        for (int type = 0; type < 3; type++)
            for (int causal = 0; causal < 2; causal++)
                for (uint32_t n = 0; n < 2; n++) {
                    shape s = with(strided_shapes[n], 40, causal);
                    test_case(k, types[type], s, form, n, KILN_ATTENTION_PORTABLE, 0);
                    s.head_dim = n ? 96 : 40; // filled up to 128 and 64
                    if (type == causal && form < ANY)
                        test_case(k, types[type], s, form, n, KILN_ATTENTION_SM90, 0);
                    s.head_dim = n ? 128 : 64;
                    if (type < 2 && form < ANY)
                        test_case(k, types[type], s, form, n, KILN_ATTENTION_SM90, 0);
                    test_case(k, types[type], s, form, n, KILN_ATTENTION_BEST, 0);
                }
    for (layout form = BY_ROW; form < ANY; form++) // several tiles
        test_case(k, types[form % 2], (shape){2, 2, 1, 200, 200, 64, form % 3 == 0}, form, 3,
                  KILN_ATTENTION_SM90, 0);
    test_case(k, types[0], (shape){1, 2, 1, 130, 150, 192, true}, DENSE, 1, KILN_ATTENTION_SM90, 0);
    test_case(k, types[1], (shape){2, 2, 2, 200, 70, 72, false}, DENSE, 1, KILN_ATTENTION_SM90, 0);
    test_case(k, types[1], (shape){1, 1, 1, 60, 70, 136, false}, GAPS, 1, KILN_ATTENTION_SM90, 0);
}

// Few queries and many keys: several units share the keys of a tile.
static void test_parts(kiln *k)
{
    static const uint32_t head_dims[] = {64, 96, 128, 192, 256};
    static const shape shapes[] = {
        {1, 1, 1, 40, 1100, 0, 0}, {1, 2, 1, 70, 1000, 0, 0}, {1, 1, 1, 1200, 1200, 0, 0}};
    for (uint32_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (uint32_t dim = 0; dim < sizeof head_dims / sizeof *head_dims; dim++)
            for (int causal = 0; causal < 2; causal++)
                if (shapes[n].queries < 100 || !is_emulated)
                    test_case(k, types[(n + dim) % 2], with(shapes[n], head_dims[dim], causal),
                              (layout)(dim % ANY), n, KILN_ATTENTION_SM90, 0);
}

// Random shapes and strides.
static void test_random(kiln *k, uint32_t seed, uint32_t count)
{
    attention_case r;
    r.state = seed;
    for (uint32_t n = 0; n < count; n++) {
        shape s = {1 + next_random(&r, 3),  1, 1 + next_random(&r, 3),
                   1 + next_random(&r, 70), 1, 1 + next_random(&r, 80),
                   next_random(&r, 2)};
        s.heads = s.kv_heads * (1 + next_random(&r, 3));
        s.keys = (s.is_causal ? s.queries : 1) + next_random(&r, 90);
        uint32_t type = next_random(&r, 3);
        layout form = next_random(&r, 2) ? ANY : ALIGNED;
        if (next_random(&r, 2)) {
            s.head_dim = 64;
            form = ALIGNED;
        }
        test_case(k, types[type], s, form, seed + n, KILN_ATTENTION_BEST, 0);
        if (is_emulated && form == ALIGNED && s.head_dim == 64)
            test_case(k, types[type % 2], s, form, seed + n, KILN_ATTENTION_SM90, 0);
    }
}

// The same bits every time, and with and without lse.
static void test_repeats(kiln *k, shape s, kiln_attention_kernel kernel, int repeats)
{
    attention_case c;
    CHECK(begin_case(&c, k, s, types[0], DENSE, 1));
    size_t bytes = c.counts[OUT] * 2;
    void *first = calloc(bytes + 1, 1), *again = calloc(bytes + 1, 1);
    kiln_attention_desc d = describe(&c);
    d.kernel = kernel;
    bool is_same = !kiln_attention_forward(k, &d) && !kiln_read_view(d.out, first);
    for (int n = 0; n < repeats; n++) {
        d.lse.buffer = n % 2 ? c.buffers[LSE] : NULL;
        is_same = is_same && spoil_result(&c, OUT) && !kiln_attention_forward(k, &d) &&
                  !kiln_read_view(d.out, again) && !memcmp(first, again, bytes);
    }
    CHECK(is_same);
    free(first);
    free(again);
    end_case(&c);
}

static void show_finding(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

// kiln check finds nothing wrong with the kernel for sm_90a. With one warpgroup each causal tile is
// a unit of its own.
static void test_check(kiln *k, shape s, uint32_t q_stages, uint32_t warpgroups)
{
    const char *tune[] = {NULL, NULL, "HD=64", warpgroups == 1 ? "WGS=1" : "WGS=2", NULL};
    tune[0] = s.is_causal ? "CAUSAL=1" : "CAUSAL=0";
    tune[1] = q_stages == 2 ? "Q_STAGES=2" : "Q_STAGES=1";
    kiln_compile_desc source;
    memset(&source, 0, sizeof source);
    source.path = "ops/attention/forward_sm90.c";
    source.tune = tune;
    source.for_check = true;
    kiln_module *m = NULL;
    attention_case c;
    CHECK(!kiln_compile(k, &source, &m) && begin_case(&c, k, s, types[0], DENSE, 1));
    if (!m)
        return;
    uint32_t rows = warpgroups * 64, tiles = (s.queries + rows - 1) / rows;
    uint32_t per_head = s.is_causal && warpgroups > 1 ? (tiles + 1) / 2 : tiles;
    struct {
        uint32_t queries, keys, tiles, units_per_head, units, sharing;
        float scale;
        uint32_t for_strides[8];
        uint64_t strides[6];
        uint32_t parts, part_units;
    } p = {s.queries, s.keys, tiles, per_head, per_head * s.heads, s.heads / s.kv_heads,
           0.125f,    {0},    {0},   1,        per_head * s.heads};
    kiln_tensor_map maps[3];
    for (int i = 0; i < 3; i++) {
        kiln_tensor_map_desc d;
        memset(&d, 0, sizeof d);
        d.buffer = c.buffers[i];
        d.rank = 3;
        d.size[0] = s.head_dim;
        d.size[1] = i ? s.keys : s.queries;
        d.size[2] = i ? s.kv_heads : s.heads;
        d.box[0] = 64;
        d.box[1] = i ? 128 : rows;
        d.box[2] = 1;
        d.swizzle_bytes = 128;
        CHECK(!kiln_tensor_map_make(k, &d, &maps[i]));
    }
    const kiln_arg args[] = {kiln_arg_struct(&maps[Q], 128),  kiln_arg_struct(&maps[K], 128),
                             kiln_arg_struct(&maps[V], 128),  kiln_arg_buffer(c.buffers[OUT]),
                             kiln_arg_buffer(c.buffers[LSE]), kiln_arg_struct(&p, sizeof p)};
    kiln_check_desc d;
    memset(&d, 0, sizeof d);
    d.launch.grid[0] = 2;
    int64_t shared_bytes = 0;
    CHECK(!kiln_kernel_constant(api_kernel(m, NULL), "SHARED_BYTES", &shared_bytes));
    d.launch.shared_bytes = (size_t)shared_bytes;
    d.launch.args = args;
    d.launch.arg_count = 6;
    d.finding = show_finding;
    size_t findings = 0;
    CHECK(!kiln_check(api_kernel(m, NULL), &d, &findings) && !findings);
    end_case(&c);
    kiln_module_free(m);
}

static void test_refusals(kiln *k)
{
    const shape s = {1, 4, 2, 8, 16, 24, false};
    attention_case c;
    CHECK(begin_case(&c, k, s, types[0], DENSE, 1));
    const kiln_attention_desc good = describe(&c);
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
    REFUSED(d.q.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'q' has no buffer");
    REFUSED(d.out.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'out' has no buffer");
    REFUSED(d.q.rank = 3, KILN_E_BAD_ARGUMENT, "K7004", "'q' is [1, 4, 8]; it has four");
    REFUSED(d.q.sizes[3] = 0, KILN_E_BAD_ARGUMENT, "K6003", "head_dim is 1 to 1024");
    REFUSED(d.k.sizes[1] = 3, KILN_E_BAD_ARGUMENT, "K7002", "'k'");
    REFUSED((d.k.sizes[1] = 3, d.k.strides[1] = 24), KILN_E_BAD_ARGUMENT, "K7004",
            "not a multiple");
    REFUSED(d.k.sizes[1] = 0, KILN_E_BAD_ARGUMENT, "K7004", "the 0 heads of k");
    REFUSED(d.k.sizes[2] = 0, KILN_E_BAD_ARGUMENT, "K6003", "no keys");
    REFUSED((d.is_causal = true, d.k.sizes[2] = 7), KILN_E_BAD_ARGUMENT, "K6003", "more queries");
    REFUSED(d.scale = -1.0f, KILN_E_BAD_ARGUMENT, "K6003", "scale");
    REFUSED(d.k.sizes[2] = 17, KILN_E_BAD_ARGUMENT, "K7002", "'k'");
    REFUSED(d.q.sizes[2] = 9, KILN_E_BAD_ARGUMENT, "K7002", "'q'");
    REFUSED(d.v.sizes[2] = 15, KILN_E_BAD_ARGUMENT, "K7004",
            "'v' is [1, 2, 15, 24], not [1, 2, 16");
    REFUSED(d.lse.rank = 2, KILN_E_BAD_ARGUMENT, "K7004", "'lse' is [1, 4], not [1, 4, 8]");
    REFUSED(d.out = d.q, KILN_E_BAD_ARGUMENT, "K6003", "'q' and the result 'out' have elements");
    REFUSED(d.out.strides[2] = 0, KILN_E_BAD_ARGUMENT, "K7005", "'out'");
    REFUSED(d.v.type = KILN_F16, KILN_E_BAD_ARGUMENT, "K6011", "'v' is f16, not bf16");
    REFUSED(d.kernel = KILN_ATTENTION_SM90, KILN_E_UNSUPPORTED, "K6038",
            "the sm_90a kernel cannot");
    REFUSED(d.kernel = (kiln_attention_kernel)9, KILN_E_BAD_ARGUMENT, "K6003", "no such kernel");
    REFUSED((d.q.sizes[0] = 0x80000000u, d.q.strides[0] = 0), KILN_E_BAD_ARGUMENT, "K6003",
            "heads of the batch");
    end_case(&c);
    CHECK(begin_case(&c, k, with(s, 64, false), types[0], DENSE, 1));
    for (uint32_t keys = 16; keys <= 256; keys += 240) {
        d = describe(&c);
        d.kernel = KILN_ATTENTION_SM90;
        d.tile_keys = keys;
        EXPECT(kiln_attention_forward(k, &d), KILN_E_UNSUPPORTED, "K6038",
               "the sm_90a kernel cannot");
    }
    end_case(&c);
}

// What the copy engine cannot reach is named, and the best kernel is another one then.
static void test_obstacles(kiln *k)
{
    attention_case c;
    CHECK(begin_case(&c, k, (shape){2, 2, 2, 9, 9, 64, false}, types[0], GAPS, 1));
    const kiln_attention_desc good = describe(&c);
    kiln_attention_desc d = good;
    d.kernel = KILN_ATTENTION_SM90;
    CHECK(!kiln_attention_forward(k, &d));
#define OBSTACLE(change, words)                                                                    \
    do {                                                                                           \
        d = good;                                                                                  \
        change;                                                                                    \
        CHECK(!kiln_attention_forward(k, &d));                                                     \
        d.kernel = KILN_ATTENTION_SM90;                                                            \
        EXPECT(kiln_attention_forward(k, &d), KILN_E_UNSUPPORTED, "K6038", words);                 \
    } while (0)
    OBSTACLE(d.q.first++, "'q': its first element is not at a multiple of 16 bytes");
    OBSTACLE(d.k.strides[2]--, "'k': its strides are not multiples of 16 bytes");
    OBSTACLE((d.v.strides[3] = 2, d.v.strides[2] = 0), "'v': its rows are not contiguous");
    OBSTACLE(d.v.strides[2] = 0, "'v': the copy engine has no such strides");
    OBSTACLE(d.q = kiln_view_flip(d.q, 1), "'q': the copy engine has no such strides");
    OBSTACLE(d.out.strides[1]++, "'out': its strides are not multiples of 16 bytes");
    end_case(&c);
}

// Nothing to do is not a mistake.
static void test_empty(kiln *k)
{
    static const shape empty[] = {{0, 2, 2, 4, 4, 8, false}, {2, 0, 0, 4, 4, 8, false},
                                  {2, 2, 2, 0, 4, 8, false}, {2, 2, 2, 0, 0, 8, true},
                                  {0, 2, 2, 4, 0, 8, false}, {1, 0, 3, 4, 4, 8, true}};
    for (size_t n = 0; n < sizeof empty / sizeof *empty; n++)
        for (layout form = DENSE; form <= BY_ROW; form++) {
            attention_case c;
            CHECK(begin_case(&c, k, empty[n], types[2], form, 1));
            kiln_attention_desc d = describe(&c);
            CHECK(!kiln_attention_forward(k, &d) && !kiln_sync(k) && is_only_view(&c, OUT));
            end_case(&c);
        }
}

int main(int argc, char **argv)
{
    static const uint32_t all_dims[] = {64, 128, 192, 256, 0}, odd_dims[] = {33, 64, 0};
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    is_fake = api_is_fake(k);
    is_emulated = !is_fake && !strcmp(kiln_device_name(k), "interp");
    if (argc > 2 && !strcmp(argv[2], "check")) {
        for (uint32_t n = 0; n < 4; n++)
            test_check(k, with(emulated_shapes[0], 64, n % 2), 1 + n / 2, 2);
        for (int causal = 0; causal < 2; causal++)
            test_check(k, with(emulated_shapes[0], 64, causal), 1, 1);
        kiln_close(k);
        return api_done("attention-check");
    }
    if (argc > 2 && !strcmp(argv[2], "parts")) {
        test_parts(k);
        kiln_close(k);
        return api_done("attention-parts");
    }
    test_refusals(k);
    test_empty(k);
    test_layouts(k);
    test_parts(k);
    if (is_emulated)
        test_obstacles(k);
    test_shapes(k, small_shapes, 2, odd_dims, KILN_ATTENTION_PORTABLE, 3);
    if (!strncmp(device, "cuda", 4)) {
        test_shapes(k, large_shapes, sizeof large_shapes / sizeof *large_shapes, all_dims,
                    KILN_ATTENTION_SM90, 2);
        for (int causal = 0; causal < 2; causal++) { // tiles the table above does not come by
            for (uint32_t head_dim = 64; head_dim <= 256; head_dim *= 2)
                for (uint32_t tile = 64; tile <= (head_dim == 128  ? 192
                                                  : head_dim == 64 ? 256
                                                                   : 128);
                     tile += 64)
                    test_case(k, types[0], with(large_shapes[8], head_dim, causal), DENSE, 1,
                              KILN_ATTENTION_SM90, tile);
            for (uint32_t head_dim = 64; head_dim <= 256; head_dim += 64)
                for (layout form = DENSE; form <= ALIGNED; form++)
                    test_case(k, types[form % 2],
                              with(form == PACKED ? large_shapes[5] : long_shape, head_dim, causal),
                              form, 1, KILN_ATTENTION_SM90, 0);
        }
        test_case(k, types[0], with(large_shapes[8], 96, true), DENSE, 1, KILN_ATTENTION_BEST, 0);
        test_repeats(k, (shape){2, 8, 4, 1000, 1000, 128, true}, KILN_ATTENTION_BEST, 100);
        test_repeats(k, (shape){2, 8, 4, 1000, 1000, 64, false}, KILN_ATTENTION_BEST, 100);
        test_repeats(k, (shape){1, 2, 1, 70, 3000, 128, true}, KILN_ATTENTION_BEST, 100);
        test_random(k, 1, 100);
    } else {
        if (is_emulated)
            test_shapes(k, emulated_shapes, 3, all_dims, KILN_ATTENTION_SM90, 2);
        for (uint32_t tile = 64; tile <= 192 && is_emulated; tile += 64)
            for (int causal = 0; causal < 2; causal++)
                test_case(k, types[1], with(emulated_shapes[1], 64, causal), DENSE, 1,
                          KILN_ATTENTION_SM90, tile);
        for (uint32_t head_dim = 128; head_dim <= 256 && is_emulated; head_dim *= 2)
            test_case(k, types[0], with(emulated_shapes[1], head_dim, head_dim == 256), DENSE, 1,
                      KILN_ATTENTION_SM90, 64);
        test_repeats(k, with(small_shapes[1], 64, true), KILN_ATTENTION_BEST, 3);
        if (is_emulated)
            test_repeats(k, (shape){1, 2, 1, 70, 1000, 64, true}, KILN_ATTENTION_SM90, 3);
        test_random(k, 1, 20);
    }
    CHECK(!kiln_sync(k));
    kiln_close(k);
    printf("attention: %d passed, %d failed, %d skipped\n", api_passed, api_failed, skipped);
    return api_failed != 0;
}
