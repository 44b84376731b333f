// Matrix products on the tensor cores: kiln_matmul against cuBLAS, cuBLASLt (the best of its
// heuristic's proposals) and the reference generator's PTX, in one process, in random order.
//
//     gemm [--type bf16,f16] [--layout nt,nn,tt,tn] [--sizes 256,64x4096x4096] [--rounds 9]
//          [--sweep] [--quick] [--unchecked]
// Layouts: a [m, k] is n, [k, m] is t; b [k, n] is n, [n, k] is t. KILN_TWINS names the folder that
// the generator filled. --sweep tries every tile and takes the fastest; --quick only checks,
// --unchecked does not. Every candidate is a graph of launches over buffers that together exceed
// the cache; each is launched once right before it is timed. Ratios are theirs / ours, medians over
// the rounds.
#include "bench/gpu/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval.h"
#include "kiln/ops.h"

enum { SETS = 16, ROUNDS = 32, CANDIDATES = 160, SAMPLES = 1000, PATTERN = 1048573 };

typedef enum kind { OURS, CUBLAS, CUBLASLT, TWIN } kind;

typedef struct candidate {
    kind kind;
    char label[64], group[24]; // the fastest of a group takes part
    bool is_chained;
    kiln_matmul_kernel kernel;
    uint32_t tile_m, tile_n;
    int algo;
    const twin *twin;
    kiln_graph *graph;
    double quick_us, us[ROUNDS];
} candidate;

typedef struct bench {
    report r;
    kiln_stream *stream;
    gemm_problem p;
    gemm_set sets[SETS];
    int set_count;
    float *a_values, *b_values; // PATTERN values each, repeated
    double want[SAMPLES];
    candidate list[CANDIDATES];
    int count, launches, rounds;
    twin twins[TWINS];
    int twin_count;
    bool is_sweep, is_quick, is_unchecked;
} bench;

static const char *layout_name(const gemm_problem *p)
{
    static const char *const names[2][2] = {{"nt", "nn"}, {"tt", "tn"}};
    return names[p->a_mn][p->b_mn];
}

// --- data
static ir_type ir_of(kiln_type t)
{
    return t == KILN_BF16 ? IR_BF16 : t == KILN_F16 ? IR_F16 : IR_F8E4;
}

static double value_at(kiln_type t, const void *from, size_t i)
{
    if (t == KILN_F32)
        return (double)((const float *)from)[i];
    if (t == KILN_I32)
        return (double)((const int32_t *)from)[i];
    return ir_widen(ir_of(t), ((const uint16_t *)from)[i]);
}

// Rounds `values` to the type and writes their bytes.
static void encode(kiln_type t, float *values, unsigned char *bytes)
{
    for (size_t i = 0; i < PATTERN; i++) {
        if (t == KILN_F32) {
            memcpy(bytes + i * 4, &values[i], 4);
        } else if (t == KILN_I8) {
            values[i] = fmaxf(-127, fminf(127, roundf(values[i] * 40)));
            ((int8_t *)bytes)[i] = (int8_t)values[i];
        } else {
            uint32_t bits = ir_narrow(ir_of(t), (double)values[i]);
            values[i] = (float)ir_widen(ir_of(t), bits);
            memcpy(bytes + i * kiln_type_size(t), &bits, kiln_type_size(t));
        }
    }
}

static void operand(bench *b, float *values, size_t count, uint64_t seed, kiln_buffer **more)
{
    kiln_type t = gemm_types[b->p.type].in;
    size_t size = kiln_type_size(t);
    unsigned char *bytes = malloc((count + PATTERN) * size);
    if (!bytes)
        exit(1);
    bench_random(values, PATTERN, seed);
    encode(t, values, bytes);
    for (size_t have = PATTERN; have < count; have += PATTERN)
        memcpy(bytes + have * size, bytes, PATTERN * size);
    for (int n = 0; n < b->set_count; n++) {
        bench_must(&b->r, kiln_buffer_new(b->r.k, t, count, &more[n]), "a buffer");
        bench_must(&b->r, kiln_write(more[n], 0, bytes, count), "a copy");
    }
    free(bytes);
}

static size_t sample_at(const gemm_problem *p, size_t s)
{
    size_t all = (size_t)p->m * (size_t)p->n;
    return s == 0 ? 0 : s == 1 ? all - 1 : s * 2654435761u % all;
}

static void make_data(bench *b)
{
    const gemm_problem *p = &b->p;
    const gemm_type_info *t = &gemm_types[p->type];
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    double bytes =
        (double)t->in_bytes * (double)(m * k + n * k) + (double)t->out_bytes * (double)(m * n);
    double sets = ceil(200e6 / bytes);
    b->set_count = sets > SETS ? SETS : (int)sets;
    kiln_buffer *a[SETS], *other[SETS];
    operand(b, b->a_values, m * k, 3, a);
    operand(b, b->b_values, n * k, 4, other);
    for (int s = 0; s < b->set_count; s++) {
        b->sets[s] = (gemm_set){a[s], other[s], NULL};
        bench_must(&b->r, kiln_buffer_new(b->r.k, t->out, m * n, &b->sets[s].c), "a buffer");
    }
    for (size_t s = 0; s < SAMPLES; s++) {
        size_t at = sample_at(p, s), row = at / n, column = at % n;
        b->want[s] = 0;
        for (size_t i = 0; i < k; i++) {
            size_t x = p->a_mn ? i * m + row : row * k + i,
                   y = p->b_mn ? i * n + column : column * k + i;
            b->want[s] += (double)b->a_values[x % PATTERN] * (double)b->b_values[y % PATTERN];
        }
    }
}

static void free_data(bench *b)
{
    for (int s = 0; s < b->set_count; s++) {
        kiln_buffer_free(b->sets[s].a);
        kiln_buffer_free(b->sets[s].b);
        kiln_buffer_free(b->sets[s].c);
    }
}

// --- one launch
// False: this machine or library cannot do it.
static bool launch(bench *b, const candidate *c, const gemm_set *s)
{
    const gemm_problem *p = &b->p;
    switch (c->kind) {
    case OURS:
        return !kiln_matmul(b->r.k, &(kiln_matmul_desc){.a = s->a,
                                                        .b = s->b,
                                                        .out = s->c,
                                                        .m = (uint32_t)p->m,
                                                        .n = (uint32_t)p->n,
                                                        .k = (uint32_t)p->k,
                                                        .a_is_transposed = p->a_mn,
                                                        .b_is_transposed = !p->b_mn,
                                                        .is_tf32 = p->type == GEMM_TF32,
                                                        .stream = b->stream,
                                                        .overlaps_previous = c->is_chained,
                                                        .kernel = c->kernel,
                                                        .tile_m = c->tile_m,
                                                        .tile_n = c->tile_n});
    case CUBLAS: return cublas_run(p, s);
    case CUBLASLT: return cublaslt_run(c->algo, s);
    case TWIN: twin_run(&b->r, c->twin, p, s, kiln_stream_native(b->r.k, b->stream)); return true;
    }
    return false;
}

// Largest error of the samples, in units of sqrt(k).
static double worst_of(bench *b)
{
    const gemm_problem *p = &b->p;
    kiln_type t = gemm_types[p->type].out;
    size_t all = (size_t)p->m * (size_t)p->n;
    void *got = malloc(all * kiln_type_size(t));
    double worst = 0;
    if (!got)
        exit(1);
    bench_must(&b->r, kiln_stream_sync(b->stream), "a product");
    bench_must(&b->r, kiln_read(b->sets[0].c, 0, got, all), "a copy");
    for (size_t s = 0; s < SAMPLES; s++) {
        double error = fabs(value_at(t, got, sample_at(p, s)) - b->want[s]) / sqrt(p->k);
        worst = error <= worst ? worst : isnan(error) ? HUGE_VAL : error;
    }
    free(got);
    return worst;
}

static bool is_right(bench *b, const candidate *c)
{
    static const double limits[GEMM_TYPES] = {[GEMM_BF16] = 0.03,
                                              [GEMM_F16] = 0.005,
                                              [GEMM_TF32] = 0.01,
                                              [GEMM_E4M3] = 0.05,
                                              [GEMM_S8] = 0};
    static const unsigned char nothing[4] = {0xff, 0xff, 0xff, 0xff};
    bench_must(&b->r, kiln_fill(b->sets[0].c, nothing), "a fill");
    if (!launch(b, c, &b->sets[0])) {
        if (c->kind == OURS && c->kernel != KILN_MATMUL_BEST)
            printf("  %s: %s\n", c->label, kiln_last_error(b->r.k)->text);
        else if (c->kind == OURS)
            report_check(&b->r, false, "%s: %s", c->label, kiln_last_error(b->r.k)->text);
        return false;
    }
    double worst = worst_of(b);
    bool right = worst <= limits[b->p.type] || b->is_unchecked;
    if (!right && c->kind != OURS)
        printf("  %s is wrong (%.3g) and takes no part\n", c->label, worst);
    else if (!right || b->is_quick)
        report_check(&b->r, right, "%s %s %dx%dx%d %s: largest error / sqrt(k) %.3g",
                     gemm_types[b->p.type].name, layout_name(&b->p), b->p.m, b->p.n, b->p.k,
                     c->label, worst);
    return right;
}

// --- time
static bool make_graph(bench *b, candidate *c, int launches)
{
    bool works = true;
    bench_must(&b->r, kiln_capture_begin(b->stream), "a capture");
    for (int n = 0; n < launches && works; n++)
        works = launch(b, c, &b->sets[n % b->set_count]);
    bench_must(&b->r, kiln_capture_end(b->stream, &c->graph), "a capture");
    return works;
}

static double time_graph(bench *b, const candidate *c, int launches)
{
    static cu_event start, end;
    cu_stream stream = kiln_stream_native(b->r.k, b->stream);
    float ms = 0;
    if (!start) {
        bench_cu(&b->r, b->r.cu->event_create(&start, 0), "event");
        bench_cu(&b->r, b->r.cu->event_create(&end, 0), "event");
    }
    bench_must(&b->r, kiln_graph_launch(c->graph, b->stream), "a graph");
    bench_cu(&b->r, b->r.cu->event_record(start, stream), "event");
    bench_must(&b->r, kiln_graph_launch(c->graph, b->stream), "a graph");
    bench_cu(&b->r, b->r.cu->event_record(end, stream), "event");
    bench_cu(&b->r, b->r.cu->event_sync(end), "waiting");
    bench_cu(&b->r, b->r.cu->event_elapsed(&ms, start, end), "event");
    return (double)ms * 1e3 / launches;
}

static int launches_for(const bench *b, double ms)
{
    static const double rates[GEMM_TYPES] = {600e12, 600e12, 300e12, 1200e12, 1200e12};
    double flops = 2.0 * b->p.m * b->p.n * b->p.k;
    int n = (int)(ms * 1e-3 / (flops / rates[b->p.type] + 3e-6));
    n = n < 1 ? 1 : n > 512 ? 512 : n;
    return (n + b->set_count - 1) / b->set_count * b->set_count;
}

// --- candidates
static candidate *add(bench *b, kind what, const char *group)
{
    if (b->count == CANDIDATES)
        exit(1);
    candidate *c = &b->list[b->count++];
    memset(c, 0, sizeof *c);
    c->kind = what;
    snprintf(c->group, sizeof c->group, "%s", group);
    snprintf(c->label, sizeof c->label, "%s", group);
    return c;
}

static void add_tiles(bench *b, bool is_chained)
{
    uint32_t step = b->p.b_mn ? 64 : gemm_types[b->p.type].out_bytes == 4 ? 32 : 16;
    for (uint32_t m = 64; m <= 256; m += 64)
        for (uint32_t n = step > 32 ? step : 32; n <= (m >= 192 ? 128 : 256); n += step) {
            uint64_t tiles =
                (uint64_t)((uint32_t)b->p.m + m - 1) / m * (((uint32_t)b->p.n + n - 1) / n);
            if (tiles < 16 || tiles > 132 * 40 || m == 192)
                continue;
            candidate *c = add(b, OURS, is_chained ? "chained" : "ours");
            c->tile_m = m;
            c->tile_n = n;
            c->is_chained = is_chained;
            snprintf(c->label, sizeof c->label, "%s.%ux%u", c->group, m, n);
        }
}

static void add_candidates(bench *b)
{
    b->count = 0;
    add(b, OURS, "kiln");
    bool is_small = (double)b->p.m * b->p.n * b->p.k <= 2048.0 * 2048 * 2048;
    if (is_small)
        add(b, OURS, "kiln.chained")->is_chained = true;
    if (b->is_sweep) {
        add_tiles(b, false);
        if (is_small)
            add_tiles(b, true);
    }
    if (b->p.m == 4096 || b->p.m == 1024 || b->is_quick) {
        add(b, OURS, "kiln.sm80")->kernel = KILN_MATMUL_SM80;
        add(b, OURS, "kiln.portable")->kernel = KILN_MATMUL_PORTABLE;
    }
    add(b, CUBLAS, "cublas");
    int algos = cublaslt_plan(&b->p);
    for (int n = 0; n < algos; n++) {
        candidate *c = add(b, CUBLASLT, "cublaslt");
        c->algo = n;
        snprintf(c->label, sizeof c->label, "cublaslt.%d", n);
    }
    for (int n = 0; n < b->twin_count; n++)
        if (!b->twins[n].is_chained || is_small) {
            candidate *c = add(b, TWIN, b->twins[n].is_chained ? "twin.chained" : "twin");
            c->twin = &b->twins[n];
            snprintf(c->label, sizeof c->label, "twin.%.48s", b->twins[n].name);
        }
}

// Keeps the right ones, and the fastest of each group.
static void choose(bench *b)
{
    int kept = 0, launches = launches_for(b, 2);
    for (int n = 0; n < b->count; n++) {
        candidate c = b->list[n];
        if (!is_right(b, &c) || b->is_quick)
            continue;
        if (!make_graph(b, &c, launches)) {
            kiln_graph_free(c.graph);
            continue;
        }
        c.quick_us = HUGE_VAL;
        for (int i = 0; i < 3; i++)
            c.quick_us = fmin(c.quick_us, time_graph(b, &c, launches));
        kiln_graph_free(c.graph);
        c.graph = NULL;
        if (b->is_sweep && c.kind == OURS)
            printf("    %-24s %9.2f us\n", c.label, c.quick_us);
        int same = 0;
        while (same < kept && strcmp(b->list[same].group, c.group))
            same++;
        if (same == kept || c.quick_us < b->list[same].quick_us)
            b->list[same] = c;
        kept += same == kept;
    }
    b->count = kept;
}

static void shuffle_order(int *order, int count, uint32_t *seed)
{
    for (int n = 0; n < count; n++) {
        *seed = *seed * 1664525u + 1013904223u;
        int at = (int)((*seed >> 8) % (uint32_t)(n + 1));
        order[n] = order[at];
        order[at] = n;
    }
}

static double median_of(const candidate *c, const candidate *over, int rounds)
{
    double v[ROUNDS];
    for (int n = 0; n < rounds; n++)
        v[n] = over ? over->us[n] / c->us[n] : c->us[n];
    return bench_median(v, (size_t)rounds);
}

static candidate *find(bench *b, const char *group)
{
    for (int n = 0; n < b->count; n++)
        if (!strcmp(b->list[n].group, group))
            return &b->list[n];
    return NULL;
}

static void tell(bench *b)
{
    const gemm_problem *p = &b->p;
    char name[64];
    double flops = 2.0 * p->m * p->n * p->k;
    if (p->m == p->n && p->n == p->k)
        snprintf(name, sizeof name, "%s.%s.%d", gemm_types[p->type].name, layout_name(p), p->m);
    else
        snprintf(name, sizeof name, "%s.%s.%dx%dx%d", gemm_types[p->type].name, layout_name(p),
                 p->m, p->n, p->k);
    for (int n = 0; n < b->count; n++) {
        candidate *c = &b->list[n];
        if (strcmp(c->label, c->group))
            printf("    %s is %s\n", c->group, c->label);
        report_number(&b->r, median_of(c, NULL, b->rounds), "%s.%s.us", name, c->group);
    }
    candidate *ours = find(b, "kiln"), *chained = find(b, "kiln.chained"), *library = NULL;
    const char *const theirs[] = {"cublas", "cublaslt"};
    for (int n = 0; n < 2; n++) {
        candidate *c = find(b, theirs[n]);
        if (c && (!library || median_of(c, NULL, b->rounds) < median_of(library, NULL, b->rounds)))
            library = c;
    }
    if (!ours)
        return;
    report_number(&b->r, flops / median_of(ours, NULL, b->rounds) * 1e-6, "%s.TFLOPS", name);
    if (library)
        report_number(&b->r, median_of(ours, library, b->rounds), "%s.of_library", name);
    if (library && chained)
        report_number(&b->r, median_of(chained, library, b->rounds), "%s.chained.of_library", name);
    if (find(b, "twin"))
        report_number(&b->r, median_of(ours, find(b, "twin"), b->rounds), "%s.of_twin", name);
    if (chained && find(b, "twin.chained"))
        report_number(&b->r, median_of(chained, find(b, "twin.chained"), b->rounds),
                      "%s.chained.of_twin", name);
    if (find(b, "kiln.sm80"))
        report_number(&b->r, median_of(find(b, "kiln.sm80"), ours, b->rounds), "%s.sm80.of_sm90",
                      name);
    if (find(b, "kiln.portable"))
        report_number(&b->r, median_of(find(b, "kiln.portable"), ours, b->rounds),
                      "%s.portable.of_sm90", name);
}

static void run_problem(bench *b)
{
    make_data(b);
    add_candidates(b);
    choose(b);
    b->launches = launches_for(b, 10);
    for (int n = 0; n < b->count; n++)
        make_graph(b, &b->list[n], b->launches);
    for (int n = 0; n < 20 && b->count; n++)
        bench_must(&b->r, kiln_graph_launch(b->list[0].graph, b->stream), "warming up");
    uint32_t seed = 1;
    for (int round = 0; round < b->rounds && b->count; round++) {
        int order[CANDIDATES];
        shuffle_order(order, b->count, &seed);
        for (int n = 0; n < b->count; n++)
            b->list[order[n]].us[round] = time_graph(b, &b->list[order[n]], b->launches);
    }
    if (b->count)
        tell(b);
    for (int n = 0; n < b->count; n++)
        kiln_graph_free(b->list[n].graph);
    free_data(b);
}

// --- the command line
typedef struct plan {
    const char *types, *layouts, *sizes;
} plan;

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = list; (p = strstr(p, word)) != NULL; p++)
        if ((p == list || p[-1] == ',') && (p[len] == ',' || !p[len]))
            return true;
    return false;
}

static void run_plan(bench *b, const plan *what)
{
    const char *folder = getenv("KILN_TWINS");
    for (gemm_type t = GEMM_BF16; t < GEMM_TYPES; t++)
        for (int layout = 0; layout < 4; layout++) {
            b->p = (gemm_problem){.type = t, .a_mn = layout / 2, .b_mn = layout % 2};
            bool is_16_bit = t == GEMM_BF16 || t == GEMM_F16;
            if (!has_word(what->types, gemm_types[t].name) ||
                !has_word(what->layouts, layout_name(&b->p)) || (layout && !is_16_bit))
                continue;
            b->twin_count = folder ? twins_load(&b->r, folder, &b->p, b->twins) : 0;
            for (const char *s = what->sizes; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
                if (sscanf(s, "%dx%dx%d", &b->p.m, &b->p.n, &b->p.k) < 3)
                    b->p.n = b->p.k = b->p.m = atoi(s);
                run_problem(b);
            }
        }
}

static const char all_sizes[] =
    "256,384,512,768,1024,1280,1536,2048,2560,3072,4096,5120,6144,7168,8192";

int main(int argc, char **argv)
{
    static bench b;
    plan one = {"bf16", "nt", all_sizes};
    bool is_given = false;
    b.rounds = 9;
    for (int n = 1; n < argc; n++) {
        const char *value = n + 1 < argc ? argv[n + 1] : "";
        is_given = true;
        if (!strcmp(argv[n], "--sweep"))
            b.is_sweep = true;
        else if (!strcmp(argv[n], "--quick"))
            b.is_quick = true;
        else if (!strcmp(argv[n], "--unchecked"))
            b.is_unchecked = true;
        else if (!strcmp(argv[n], "--type"))
            one.types = value, n++;
        else if (!strcmp(argv[n], "--layout"))
            one.layouts = value, n++;
        else if (!strcmp(argv[n], "--sizes"))
            one.sizes = value, n++;
        else if (!strcmp(argv[n], "--rounds"))
            b.rounds = atoi(value), n++;
        else {
            fprintf(stderr, "gemm: unknown option '%s'\n", argv[n]);
            return 2;
        }
    }
    b.rounds = b.rounds < 1 ? 1 : b.rounds > ROUNDS ? ROUNDS : b.rounds;
    if (!report_start(&b.r, "gemm", argc, argv, true))
        return BENCH_SKIPPED;
    static const char *const sources[] = {"gemm_sm90.c", "gemm_sm80.c", "gemm_portable.c",
                                          "gemm_f32.c", "gemm_common.h"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char path[64];
        snprintf(path, sizeof path, "ops/matmul/%s", sources[i]);
        free(report_source(&b.r, path, NULL));
    }
    bench_must(&b.r, kiln_stream_new(b.r.k, 0, &b.stream), "a stream");
    if (!cublas_open(&b.r, kiln_stream_native(b.r.k, b.stream)))
        printf("there is no cuBLAS here: only our side is measured\n");
    b.a_values = bench_floats(PATTERN);
    b.b_values = bench_floats(PATTERN);
    run_plan(&b, &one);
    if (!is_given) {
        run_plan(&b, &(plan){"bf16", "nn,tt,tn", "512,1024,2048,4096,8192"});
        run_plan(&b, &(plan){"f16", "nt,nn,tt,tn", "512,1024,2048,4096,8192"});
        run_plan(&b, &(plan){"tf32,e4m3,s8", "nt", "512,1024,2048,4096,8192"});
    }
    free(b.a_values);
    free(b.b_values);
    return report_end(&b.r);
}
