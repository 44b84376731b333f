// Attention for few queries: caches of keys that are not full, in pages or not, of the queries'
// type or of fp8, and windows over them, against double precision; the decode kernel and the
// portable one.
//     attention_decode [DEVICE]        (default: cuda)
#include "test_case.h"

static int skipped;
static bool is_fake, is_emulated, is_large;

typedef struct cache { // of a case: where its keys and values are
    kiln_buffer *lengths, *table, *k, *v;
    int32_t seen[8]; // lengths of the batches
    uint32_t page_size, pages;
    bool has_window;
    kiln_view k_view, v_view;
} cache;

static void free_cache(cache *x)
{
    kiln_buffer_free(x->lengths);
    kiln_buffer_free(x->table);
    kiln_buffer_free(x->k);
    kiln_buffer_free(x->v);
}

// Full, of any length, empty, and lengths that do not fit the cache.
static bool make_lengths(attention_case *c, cache *x)
{
    for (uint32_t n = 0; n < c->s.batch; n++) {
        static const int32_t odd[] = {0, -3, 1, INT32_MAX};
        x->seen[n] = next_random(c, 3) == 0 ? odd[next_random(c, 4)]
                                            : (int32_t)next_random(c, c->s.keys + 1);
    }
    return !kiln_buffer_new(c->k, KILN_I32, c->s.batch, &x->lengths) &&
           !kiln_write(x->lengths, 0, x->seen, c->s.batch);
}

// --- fp8
static double narrow(kiln_type type, uint32_t code)
{
    int mantissa_bits = type == KILN_F8E4 ? 3 : 2, bias = type == KILN_F8E4 ? 7 : 15;
    int exponent = (int)((code & 127) >> mantissa_bits);
    uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
    bool is_special = type == KILN_F8E4 ? (code & 127) == 127 : exponent == 31;
    if (is_special)
        return (double)NAN;
    double size = ldexp(exponent ? mantissa + (1u << mantissa_bits) : mantissa,
                        (exponent ? exponent : 1) - bias - mantissa_bits);
    return code & 128 ? -size : size;
}

// Values are multiples of 1/64 up to 16; each is looked for once.
static uint32_t nearest_code(kiln_type type, double value)
{
    static uint16_t found[2][2049]; // the code and 1
    uint16_t *place = &found[type == KILN_F8E4][(size_t)(lrint(value * 64) + 1024) % 2049];
    if (*place)
        return *place - 1u;
    uint32_t best = 0;
    for (uint32_t code = 1; code < 256; code++)
        if (fabs(narrow(type, code) - value) < fabs(narrow(type, best) - value))
            best = code;
    *place = (uint16_t)(best + 1);
    return best;
}

static bool is_narrow(kiln_type type)
{
    return type == KILN_F8E4 || type == KILN_F8E5;
}

// The factors of K and V; numbers become what the cache holds.
static const double factors[] = {0.5, 2};
static void round_numbers(attention_case *c, kiln_type type)
{
    for (int t = K; t <= V; t++)
        for (size_t i = 0; i < c->counts[t]; i++)
            c->numbers[t][i] = narrow(type, nearest_code(type, c->numbers[t][i] / factors[t - K])) *
                               factors[t - K];
}

static void put_key(void *to, kiln_type type, size_t i, double value, double factor)
{
    if (is_narrow(type))
        ((uint8_t *)to)[i] = (uint8_t)nearest_code(type, value / factor);
    else
        put(to, type, i, value);
}

// A cache of its own. Pages are in any order, with one more that nobody has; page_size 0: none.
// Numbers are those of K and V.
static bool make_cache(attention_case *c, cache *x, uint32_t page_size, kiln_type type)
{
    const shape *s = &c->s;
    bool has_pages = page_size > 0;
    page_size = has_pages ? page_size : s->keys;
    uint32_t each = s->keys / page_size, count = each * s->batch + has_pages;
    size_t row = s->head_dim, page = (size_t)s->kv_heads * page_size * row;
    int32_t *table = (int32_t *)calloc(count, sizeof *table);
    void *to[2] = {calloc(page * count, 2), calloc(page * count, 2)};
    bool is_good = table && to[0] && to[1];
    for (uint32_t n = 0; n < count && is_good; n++)
        table[n] = (int32_t)n;
    for (uint32_t n = count; n-- > 1 && is_good && has_pages;) {
        uint32_t with = next_random(c, n + 1);
        int32_t other = table[n];
        table[n] = table[with];
        table[with] = other;
    }
    for (size_t i = 0; is_good && i < c->counts[K]; i++) {
        size_t column = i % row, key = i / row % s->keys, head = i / row / s->keys % s->kv_heads;
        size_t batch = i / row / s->keys / s->kv_heads;
        size_t at = (size_t)table[batch * each + key / page_size] * page +
                    (head * page_size + key % page_size) * row + column;
        put_key(to[0], type, at, c->numbers[K][i], factors[0]);
        put_key(to[1], type, at, c->numbers[V][i], factors[1]);
    }
    x->page_size = page_size;
    x->pages = count;
    kiln_buffer **buffers[] = {&x->k, &x->v};
    for (int n = 0; n < 2 && is_good; n++)
        is_good = !kiln_buffer_new(c->k, type, page * count, buffers[n]) &&
                  !kiln_write(*buffers[n], 0, to[n], page * count);
    is_good = is_good && !kiln_buffer_new(c->k, KILN_I32, count, &x->table) &&
              !kiln_write(x->table, 0, table, count);
    free(table);
    free(to[0]);
    free(to[1]);
    const uint64_t sizes[] = {count, s->kv_heads, page_size, row};
    if (is_good) {
        x->k_view = kiln_view_of(x->k, 4, sizes);
        x->v_view = kiln_view_of(x->v, 4, sizes);
    }
    return is_good;
}

enum { LEFT = 11 }; // of the window
static size_t seen_by(const attention_case *c, const cache *x, size_t row, size_t *from)
{
    const shape *s = &c->s;
    size_t batch = row / s->queries / s->heads, keys = s->keys;
    size_t hidden = s->is_causal ? s->queries - 1 - row % s->queries : 0;
    if (x->lengths)
        keys = x->seen[batch] < 0                   ? 0
               : (uint32_t)x->seen[batch] < s->keys ? (size_t)x->seen[batch]
                                                    : s->keys;
    size_t seen = keys > hidden ? keys - hidden : 0;
    size_t own = keys + row % s->queries; // its own key, counted from minus `queries` on
    *from = x->has_window && own > s->queries + LEFT ? own - s->queries - LEFT : 0;
    return seen;
}

static bool is_accurate(attention_case *c, const cache *x)
{
    const shape *s = &c->s;
    size_t rows = (size_t)s->batch * s->heads * s->queries, n = s->head_dim;
    double *out = read_numbers(c, OUT), *lse = read_numbers(c, LSE), off = 0, size = 0;
    double *p = (double *)calloc(s->keys + 1, sizeof *p);
    bool is_good = out && lse && p;
    for (size_t row = 0; is_good && row < rows; row++) {
        size_t from, seen = seen_by(c, x, row, &from);
        attend_between(c, row, from, seen, p);
        seen = seen > from;
        for (size_t i = row * n; i < row * n + n; i++) {
            double wanted = c->numbers[OUT][i];
            off += (out[i] - wanted) * (out[i] - wanted);
            size += wanted * wanted;
            is_good = is_good && (seen || out[i] == 0);
        }
        is_good = is_good && (seen ? fabs(lse[row] - c->numbers[LSE][row]) < 1e-3
                                   : isinf(lse[row]) && lse[row] < 0);
    }
    free(out);
    free(lse);
    free(p);
    double error = size > 0 ? sqrt(off / size) : off;
    is_good = is_good && error < c->type.bound;
    if (!is_good) {
        char text[96];
        snprintf(text, sizeof text, "error %.2e, pages of %u, lengths %d %d", error, x->page_size,
                 x->seen[0], x->seen[1]);
        print_case(c, text);
    }
    return is_good;
}

enum { LENGTHS = 1, PAGES = 2, WINDOW = 4, FP8 = 8, COMBINATIONS = 16 };

static void test_case(kiln *k, number_type type, shape s, layout form, uint32_t seed,
                      kiln_attention_kernel kernel, int with, uint32_t page_size)
{
    attention_case c;
    cache x;
    memset(&x, 0, sizeof x);
    if (with & PAGES)
        s.keys = (s.keys + page_size - 1) / page_size * page_size;
    CHECK(begin_case(&c, k, s, type, form, seed));
    CHECK(!(with & LENGTHS) || make_lengths(&c, &x));
    kiln_type key_type = !(with & FP8) ? type.type : seed % 2 ? KILN_F8E4 : KILN_F8E5;
    bool has_cache = with & (PAGES | FP8);
    if (with & FP8)
        round_numbers(&c, key_type);
    x.has_window = with & WINDOW;
    CHECK(!has_cache || make_cache(&c, &x, with & PAGES ? page_size : 0, key_type));
    kiln_attention_desc d;
    memset(&d, 0, sizeof d);
    d.q = c.views[Q];
    d.k = has_cache ? x.k_view : c.views[K];
    d.v = has_cache ? x.v_view : c.views[V];
    d.k_scale = with & FP8 ? (float)factors[0] : 0;
    d.v_scale = with & FP8 ? (float)factors[1] : 0;
    d.has_window = x.has_window;
    d.window_left = x.has_window ? LEFT : 0;
    d.window_right = x.has_window ? -1 : 0;
    d.out = c.views[OUT];
    d.lse = c.views[LSE];
    d.is_causal = s.is_causal;
    d.kernel = kernel;
    if (with & LENGTHS)
        d.lengths = kiln_view_all(x.lengths);
    if (with & PAGES) {
        const uint64_t sizes[] = {s.batch, s.keys / page_size};
        d.pages = kiln_view_of(x.table, 2, sizes);
    }
    bool has_run = !kiln_attention_forward(k, &d) && !kiln_sync(k);
    if (!has_run && kiln_last_error(k)->status == KILN_E_UNSUPPORTED && !is_emulated) {
        printf("skipped: %s\n", kiln_last_error(k)->text);
        skipped++;
    } else {
        if (!has_run)
            printf("%s\n", kiln_last_error(k)->text);
        CHECK(has_run && (is_fake || (is_accurate(&c, &x) && is_only_view(&c, OUT))));
    }
    free_cache(&x);
    end_case(&c);
}

// Every kernel, with and without lengths and pages.
static void test_shape(kiln *k, shape s, uint32_t seed)
{
    static const kiln_attention_kernel kernels[] = {KILN_ATTENTION_DECODE, KILN_ATTENTION_PORTABLE,
                                                    KILN_ATTENTION_BEST};
    for (int with = 0; with < COMBINATIONS; with++) {
        // a GPU is fast, the reference for long caches is not; elsewhere some of the
        // combinations with a window or fp8
        if (s.keys > 1000 && !is_fake && with % 4 != (int)seed % 4)
            continue;
        bool is_brief = with > PAGES + LENGTHS && (!is_large || is_fake);
        if (is_brief && (with + (int)seed) % (is_fake ? 6 : 3))
            continue;
        if (((with & FP8) && s.head_dim % 16) || (is_brief && is_fake && s.keys > 1000))
            continue;
        size_t count = is_brief || s.keys > 1000 ? 2 : sizeof kernels / sizeof *kernels;
        for (size_t n = 0; n < count; n++) {
            layout form =
                with & PAGES ? DENSE : (layout)(seed % ANY == PACKED ? DENSE : seed % ANY);
            test_case(k, types[(seed + n) % 2], s, form, seed + (uint32_t)with, kernels[n], with,
                      seed % 2 ? 16 : 5 + seed % 30);
        }
    }
}

static void test_random(kiln *k, uint32_t seed, uint32_t count)
{
    attention_case r;
    r.state = seed;
    for (uint32_t n = 0; n < count; n++) {
        shape s = {1 + next_random(&r, 4),       1, 1 + next_random(&r, 3),
                   1 + next_random(&r, 5),       1, 8,
                   (next_random(&r, 2) & 1) != 0};
        s.heads = s.kv_heads * (1 + next_random(&r, is_large ? 12 : 5));
        s.keys = s.queries + next_random(&r, is_large ? 3000 : 150);
        s.head_dim = 8 * (1 + next_random(&r, is_large ? 32 : 12));
        test_shape(k, s, seed + n);
    }
}

static void test_refusals(kiln *k)
{
    attention_case c;
    kiln_buffer *numbers = NULL, *floats = NULL;
    CHECK(begin_case(&c, k, (shape){2, 2, 1, 1, 32, 64, false}, types[0], DENSE, 1));
    CHECK(!kiln_buffer_new(k, KILN_I32, 8, &numbers) && !kiln_buffer_new(k, KILN_F32, 8, &floats));
    kiln_attention_desc good, d;
    memset(&good, 0, sizeof good);
    good.q = c.views[Q];
    good.k = c.views[K];
    good.v = c.views[V];
    good.out = c.views[OUT];
#define REFUSED(change, status, code, words)                                                       \
    do {                                                                                           \
        d = good;                                                                                  \
        change;                                                                                    \
        EXPECT(kiln_attention_forward(k, &d), status, code, words);                                \
    } while (0)
    REFUSED(d.lengths = kiln_view_all(floats), KILN_E_BAD_ARGUMENT, "K6011", "'lengths' is f32");
    REFUSED(d.lengths = kiln_view_all(numbers), KILN_E_BAD_ARGUMENT, "K7004", "'lengths' is [8]");
    REFUSED(d.pages = kiln_view_all(numbers), KILN_E_BAD_ARGUMENT, "K6003", "no keys");
    REFUSED((d.lengths = KILN_VIEW(numbers, 2), d.kernel = KILN_ATTENTION_SM90), KILN_E_UNSUPPORTED,
            "K6038", "cannot");
    REFUSED((d.pages = KILN_VIEW(numbers, 4, 2)), KILN_E_BAD_ARGUMENT, "K7004",
            "'pages' is [4, 2]");
    kiln_buffer *bytes = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F8E4, 2 * 32 * 64, &bytes));
    const kiln_view narrow_keys = KILN_VIEW(bytes, 2, 1, 32, 64);
    d = good;
    d.k = d.v = narrow_keys;
    CHECK(!kiln_attention_forward(k, &d));
    REFUSED(d.k = narrow_keys, KILN_E_BAD_ARGUMENT, "K6011", "'v' is bf16, not f8e4");
    REFUSED(d.v = narrow_keys, KILN_E_BAD_ARGUMENT, "K6011", "'v' is f8e4, not bf16");
    REFUSED(d.k_scale = 2, KILN_E_BAD_ARGUMENT, "K6003", "are for k and v of f8e4 or f8e5");
    REFUSED((d.k = d.v = narrow_keys, d.v_scale = -1), KILN_E_BAD_ARGUMENT, "K6003",
            "not a positive number");
    REFUSED((d.k = d.v = narrow_keys, d.kernel = KILN_ATTENTION_SM80), KILN_E_UNSUPPORTED, "K6038",
            "it takes no fp8 cache");
    kiln_buffer_free(bytes);
    kiln_buffer_free(numbers);
    kiln_buffer_free(floats);
    end_case(&c);
}

static void show_finding(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

// kiln check finds nothing wrong with the decode kernel, whose keys several blocks share: parts of
// each head, or equal shares of the keys of all heads. Results are those of double precision.
static void test_check(kiln *k, uint32_t batch, uint32_t parts, uint32_t shares)
{
    const char *tune[] = {"STAGES=3", NULL},
               *define[] = {"HD=64", parts > 1 ? "PARTS" : NULL, shares ? "SHARES" : NULL, NULL};
    kiln_compile_desc source;
    memset(&source, 0, sizeof source);
    source.path = "ops/attention/decode.c";
    source.tune = tune;
    source.define = define;
    source.for_check = true;
    kiln_module *m = NULL;
    kiln_buffer *left = NULL, *tickets = NULL;
    attention_case c;
    cache x;
    memset(&x, 0, sizeof x);
    CHECK(begin_case(&c, k, (shape){batch, 2, 1, 1, 300, 64, false}, types[0], DENSE, 1));
    CHECK(!kiln_compile(k, &source, &m));
    CHECK(!kiln_buffer_new(k, KILN_F32, (size_t)16 * (64 + 2) * parts * batch, &left));
    CHECK(!kiln_buffer_new(k, KILN_U32, batch, &tickets));
    if (m) {
        struct {
            uint32_t heads, kv_heads, queries, keys, row_tiles, parts, units, pages, page_size;
            uint32_t table;
            float scale;
        } s = {2, 1, 1, 300, 1, 0, 0, 0, 0, 0, 0.125f * 1.44269504f};
        s.parts = parts;
        s.units = batch;
        const int64_t by[5][3] = {
            {128, 64, 64}, {19200, 19200, 64}, {19200, 19200, 64}, {128, 64, 64}, {2, 1, 1}};
        kiln_arg args[9] = {kiln_arg_buffer(c.buffers[Q]), kiln_arg_buffer(c.buffers[K]),
                            kiln_arg_buffer(c.buffers[V]), kiln_arg_buffer(c.buffers[OUT]),
                            kiln_arg_buffer(c.buffers[LSE])};
        uint32_t count = 5;
        if (parts > 1) {
            args[count++] = kiln_arg_buffer(left);
            args[count++] = kiln_arg_buffer(tickets);
        }
        args[count++] = kiln_arg_struct(&s, sizeof s);
        args[count++] = kiln_arg_struct(by, sizeof by);
        kiln_check_desc d;
        memset(&d, 0, sizeof d);
        d.launch.grid[0] = shares ? shares : batch * parts;
        d.launch.shared_bytes = 60000;
        d.launch.args = args;
        d.launch.arg_count = count;
        d.finding = show_finding;
        size_t findings = 0;
        CHECK(!kiln_check(api_kernel(m, NULL), &d, &findings) && !findings);
        CHECK(is_accurate(&c, &x));
        for (uint32_t n = 0; n < batch; n++) { // for the next launch
            uint32_t ticket = 1;
            CHECK(!kiln_read(tickets, n, &ticket, 1) && ticket == 0);
        }
        kiln_module_free(m);
    }
    kiln_buffer_free(left);
    kiln_buffer_free(tickets);
    end_case(&c);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    is_fake = api_is_fake(k);
    is_emulated = !is_fake && !strcmp(kiln_device_name(k), "interp");
    is_large = !strncmp(device, "cuda", 4);
    test_refusals(k);
    if (is_emulated) {
        test_check(k, 1, 1, 0);
        test_check(k, 1, 4, 0);
        // of five groups of keys for each of three heads: pieces of one head, of two, of three
        test_check(k, 3, 4, 7);
        test_check(k, 3, 3, 4);
        test_check(k, 3, 2, 2);
        test_check(k, 3, 2, 1);
    }
    // one row, a whole tile of rows, several; keys around the groups of 16 and of all warps
    test_shape(k, (shape){1, 1, 1, 1, 1, 8, false}, 0);
    test_shape(k, (shape){2, 8, 2, 1, 65, 64, false}, 1);
    test_shape(k, (shape){1, 6, 1, 3, 130, 40, true}, 3);
    test_shape(k, (shape){1, 16, 1, 2, 63, 128, true}, 4);
    if (is_large) {
        test_shape(k, (shape){1, 32, 8, 1, 8192, 128, false}, 1);
        test_shape(k, (shape){4, 32, 8, 1, 4097, 64, false}, 3);
        test_shape(k, (shape){1, 8, 8, 4, 2000, 256, true}, 4);
        test_shape(k, (shape){3, 8, 2, 16, 1111, 192, true}, 5);
        test_random(k, 1, is_fake ? 3 : 8);
    } else {
        test_shape(k, (shape){1, 2, 1, 1, 300, 16, false}, 3); // several blocks share the keys
        test_random(k, 1, 6);
    }
    CHECK(!kiln_sync(k));
    kiln_close(k);
    printf("attention_decode: %d passed, %d failed, %d skipped\n", api_passed, api_failed, skipped);
    return api_failed != 0;
}
