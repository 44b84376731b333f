// Matrix products on the tensor cores: kiln_matmul against cuBLAS, cuBLASLt (the best of its
// heuristic's proposals) and the reference generator's PTX, in one process, in turns.
//
//     gemm [--type bf16,f16] [--layout nt,nn,tt,tn] [--sizes 256,64x4096x4096] [--skinny]
//          [--rounds 11] [--seconds 550] [--brief] [--ways 128x256,p128x176g8,s64x16k2] [--sweep]
//          [--keep] [--quick] [--unchecked] [-v]
// Layouts: a [m, k] is n, [k, m] is t; b [k, n] is n, [n, k] is t. KILN_TWINS names the folder that
// the generator filled. The plain candidate waits for the kernel before it, "chained" is what
// kiln_matmul does on its own, "early" that with constant weights. --skinny: few rows of a, many
// weights. --brief: shorter batches of small products. --ways: tiles of our kernel to time beside
// its own choice: s swapped, p ping-pong, kN split along K, cN parts of it, hN blocks that load
// columns together, rN stages, gN rows of tiles in a group, n3x128 three narrow columns, w waiting
// for the kernel before, e with weights
// read early. --sweep tries every tile and takes the fastest; --keep leaves the problems that are
// not measured as the result file has them; --quick only checks, --unchecked does not. -v names the
// kernels, and tells how the rounds scatter. No problem begins after --seconds; without a choice of
// problems that is 550. Every candidate is a graph of launches over buffers that together exceed
// the cache; each is launched once right before it is timed. Theirs ("library") is the fastest of
// cuBLAS, cuBLASLt's first proposal and, "tuned", the one of its others that was fastest in a short
// run; "default" is the faster of the first two, what they choose on their own. A time is the mean
// of the middle half of the rounds, a ratio that of theirs over that of ours. From 5120 on
// kiln_matmul does not start early: one measurement is both rows. The kernels for other targets
// come after the rounds: while they run the card cools, and whatever is timed next would have a
// faster clock than its rivals.
#include "bench/gpu/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln/ops.h"

enum { ROUNDS = 64, ROUNDS_ASIDE = 3, CANDIDATES = 160 };

typedef enum kind { OURS, CUBLAS, CUBLASLT, TWIN } kind;

typedef struct candidate {
    kind kind;
    char label[64], group[24]; // the fastest of a group takes part
    kiln_matmul_desc way;      // its kernel, tile and what belongs to it
    int algo;
    const twin *twin;
    kiln_graph *graph;
    double quick_us, us[ROUNDS];
    double of_sm90[ROUNDS_ASIDE]; // of those that are timed after the others
} candidate;

typedef struct bench {
    report r;
    kiln_stream *stream;
    gemm_problem p;
    gemm_data data;
    candidate list[CANDIDATES];
    int count, launches, wanted_rounds, rounds; // rounds: of this problem
    uint32_t seed;                              // of the order in which candidates run
    double ms;                                  // of a timed batch of large products
    double deadline;                            // no problem begins after it; 0: none
    int left_out;
    twin twins[TWINS];
    int twin_count;
    const char *ways;
    bool is_sweep, is_quick, is_unchecked, is_verbose, is_brief;
} bench;

static const char *layout_name(const gemm_problem *p)
{
    static const char *const names[2][2] = {{"nt", "nn"}, {"tt", "tn"}};
    return names[p->a_mn][p->b_mn];
}

// --- one launch
// False: this machine or library cannot do it.
static bool launch(bench *b, const candidate *c, const gemm_set *s)
{
    const gemm_problem *p = &b->p;
    switch (c->kind) {
    case OURS: {
        kiln_matmul_desc d = c->way;
        uint64_t m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
        d.a = p->a_mn ? kiln_view_transpose(KILN_VIEW(s->a, k, m)) : KILN_VIEW(s->a, m, k);
        d.b = p->b_mn ? KILN_VIEW(s->b, k, n) : kiln_view_transpose(KILN_VIEW(s->b, n, k));
        d.out = KILN_VIEW(s->c, m, n);
        d.is_tf32 = p->type == GEMM_TF32;
        d.stream = b->stream;
        return !kiln_matmul(b->r.k, &d);
    }
    case CUBLAS: return cublas_run(p, s);
    case CUBLASLT: return cublaslt_run(c->algo, s);
    case TWIN: twin_run(&b->r, c->twin, p, s, kiln_stream_native(b->r.k, b->stream)); return true;
    }
    return false;
}

static bool is_right(bench *b, const candidate *c)
{
    static const double limits[GEMM_TYPES] = {[GEMM_BF16] = 0.03,
                                              [GEMM_F16] = 0.005,
                                              [GEMM_TF32] = 0.01,
                                              [GEMM_E4M3] = 0.05,
                                              [GEMM_S8] = 0};
    static const unsigned char nothing[4] = {0xff, 0xff, 0xff, 0xff};
    bench_must(&b->r, kiln_fill(b->data.sets[0].c, nothing), "a fill");
    if (!launch(b, c, &b->data.sets[0])) {
        if (c->kind == OURS && (c->way.kernel != KILN_MATMUL_BEST || c->way.tile_m))
            printf("  %s: %s\n", c->label, kiln_last_error(b->r.k)->text);
        else if (c->kind == OURS)
            report_check(&b->r, false, "%s: %s", c->label, kiln_last_error(b->r.k)->text);
        return false;
    }
    double worst = gemm_data_worst(&b->r, &b->data, &b->p, b->stream);
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
        works = launch(b, c, &b->data.sets[n % b->data.set_count]);
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

static bool is_large(const gemm_problem *p)
{
    return (double)p->m * p->n * p->k >= 2048.0 * 2048 * 2048;
}

// Long enough that kiln_matmul (is_long in ops/matmul/matmul.c, by the cycles of a block) does not
// start beside the kernel before: as launched and waiting are the same. So it is with the sizes
// here.
static bool is_long(const gemm_problem *p)
{
    return (double)p->m * p->n * p->k >= 5120.0 * 5120 * 5120;
}

static int launches_for(const bench *b, double ms)
{
    static const double rates[GEMM_TYPES] = {600e12, 600e12, 300e12, 1200e12, 1200e12};
    double flops = 2.0 * b->p.m * b->p.n * b->p.k;
    int n = (int)(ms * 1e-3 / (flops / rates[b->p.type] + 3e-6));
    n = n < 1 ? 1 : n > 512 ? 512 : n;
    return (n + b->data.set_count - 1) / b->data.set_count * b->data.set_count;
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

// Reads "s64x16k2r12"; false: it is something else.
static bool read_way(const char *s, kiln_matmul_desc *way)
{
    kiln_matmul_sm90 *more = &way->sm90;
    int used = 0;
    *way = (kiln_matmul_desc){.kernel = KILN_MATMUL_SM90};
    for (; *s == 's' || *s == 'p'; s++)
        *(*s == 's' ? &more->is_swapped : &more->is_pingpong) = true;
    if (sscanf(s, "%ux%u%n", &way->tile_m, &way->tile_n, &used) < 2)
        return false;
    for (s += used; *s && *s != ','; s += used) {
        used = 1;
        if (*s == 'w')
            way->waits_for_previous = true;
        else if (*s == 'e')
            way->b_is_constant = true;
        else if (sscanf(s, "k%u%n", &more->split_k, &used) < 1 &&
                 sscanf(s, "c%u%n", &more->parts, &used) < 1 &&
                 sscanf(s, "h%u%n", &more->sharers, &used) < 1 &&
                 sscanf(s, "g%u%n", &more->group, &used) < 1 &&
                 sscanf(s, "r%u%n", &more->stages, &used) < 1 &&
                 sscanf(s, "n%ux%u%n", &more->narrow_columns, &more->narrow_n, &used) < 2)
            return false;
    }
    return true;
}

// Each way is a group of its own.
static void add_ways(bench *b)
{
    for (const char *s = b->ways; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        char group[24];
        kiln_matmul_desc way;
        snprintf(group, sizeof group, "%.*s", (int)strcspn(s, ","), s);
        if (!read_way(s, &way)) {
            fprintf(stderr, "gemm: '%s' is no way\n", group);
            exit(2);
        }
        add(b, OURS, group)->way = way;
    }
}

static void add_tile(bench *b, uint32_t m, uint32_t n, kiln_matmul_sm90 more)
{
    candidate *c = add(b, OURS, "swept");
    c->way = (kiln_matmul_desc){.kernel = KILN_MATMUL_SM90,
                                .tile_m = m,
                                .tile_n = n,
                                .sm90 = more,
                                .waits_for_previous = true};
    snprintf(c->label, sizeof c->label, "swept.%s%ux%uk%ug%u",
             more.is_swapped    ? "s"
             : more.is_pingpong ? "p"
                                : "",
             m, n, more.split_k, more.group);
}

static void add_tiles(bench *b)
{
    uint32_t m = (uint32_t)b->p.m, n = (uint32_t)b->p.n, right = 8;
    uint32_t step = gemm_types[b->p.type].out_bytes == 4 ? 32 : 16;
    for (uint32_t x = 64; x <= 256; x += 64)
        for (uint32_t y = step > 32 ? step : 32; y <= (x >= 192 ? 128 : 256); y += step) {
            uint64_t tiles = (uint64_t)((m + x - 1) / x) * ((n + y - 1) / y);
            if (tiles < 16 || tiles > 132 * 40 || x == 192)
                continue;
            add_tile(b, x, y, (kiln_matmul_sm90){.group = 16});
            for (uint32_t g = 8; g <= 16 && x == 128 && y >= 96 && y <= 192 && tiles > 132; g *= 2)
                add_tile(b, x, y, (kiln_matmul_sm90){.is_pingpong = true, .group = g});
        }
    while (right < m)
        right *= 2;
    for (uint32_t x = 64; x <= 128 && right <= 64; x += 64)
        for (uint32_t split = 1; split <= 8; split *= 2)
            add_tile(b, x, right, (kiln_matmul_sm90){.is_swapped = true, .split_k = split});
}

static void add_candidates(bench *b)
{
    b->count = 0;
    add(b, OURS, "kiln")->way.waits_for_previous = true;
    if (!is_long(&b->p))
        add(b, OURS, "kiln.chained");
    if (b->p.m <= 64)
        add(b, OURS, "kiln.early")->way.b_is_constant = true;
    bool is_small = (double)b->p.m * b->p.n * b->p.k <= 2048.0 * 2048 * 2048;
    add_ways(b);
    if (b->is_sweep)
        add_tiles(b);
    bool is_nt = !b->p.a_mn && !b->p.b_mn;
    if (((b->p.m == 4096 || b->p.m == 1024) && is_nt && !b->ways) || b->is_quick) {
        add(b, OURS, "kiln.sm80")->way.kernel = KILN_MATMUL_SM80;
        add(b, OURS, "kiln.portable")->way.kernel = KILN_MATMUL_PORTABLE;
    }
    add(b, CUBLAS, "cublas");
    int algos = cublaslt_plan(&b->p);
    for (int n = 0; n < algos; n++) {
        candidate *c = add(b, CUBLASLT, n ? "cublaslt.tuned" : "cublaslt");
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

static candidate *find(bench *b, const char *group)
{
    for (int n = 0; n < b->count; n++)
        if (!strcmp(b->list[n].group, group))
            return &b->list[n];
    return NULL;
}

// Keeps the right ones, and the fastest of each group; no tuned one that is not faster than the
// first.
static void choose(bench *b)
{
    int kept = 0, launches = launches_for(b, is_large(&b->p) ? b->ms / 4 : 2);
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
    candidate *first = find(b, "cublaslt"), *tuned = find(b, "cublaslt.tuned");
    if (first && tuned && tuned->quick_us >= first->quick_us)
        *tuned = b->list[--b->count];
}

static int rounds_of_square(int count)
{
    return count % 2 ? 2 * count : count;
}

// Each kernel finds the card as warm as the one before has left it. So in `count` rounds, or twice
// that if count is odd, each runs right after each of the others equally often: a Williams square,
// with the names drawn anew for every square.
static void order_of_round(bench *b, int round, int count, int *names, int *order)
{
    int row = round % rounds_of_square(count);
    for (int n = count - 1; n > 0 && row == 0; n--) {
        b->seed = b->seed * 1664525u + 1013904223u;
        int at = (int)((b->seed >> 8) % (uint32_t)(n + 1)), name = names[n];
        names[n] = names[at];
        names[at] = name;
    }
    for (int n = 0; n < count; n++) {
        int step = n % 2 ? count - (n + 1) / 2 : n / 2;
        order[row < count ? n : count - 1 - n] = names[(step + row) % count];
    }
}

// At the power limit clocks scatter, so there are more rounds of the largest products, and of large
// ones only whole squares.
static int rounds_for(const bench *b, int rivals)
{
    bool is_slow = (double)b->p.m * b->p.n * b->p.k >= 4096.0 * 4096 * 4096;
    int wanted = b->wanted_rounds * (is_long(&b->p) ? 3 : is_slow ? 2 : 1);
    int square = rivals && is_large(&b->p) ? rounds_of_square(rivals) : 1;
    int squares = (wanted + square - 1) / square, most = ROUNDS / square;
    if (!most) // of so many rivals not even one
        return wanted < ROUNDS ? wanted : ROUNDS;
    return square * (squares < most ? squares : most);
}

// Whole squares of rounds are even in their means, not in their medians; the middle half leaves out
// rounds in which the card did something else.
static double us_of(const candidate *c, int rounds)
{
    double v[ROUNDS];
    memcpy(v, c->us, sizeof v);
    return bench_middle(v, (size_t)rounds);
}

static double ratio(const bench *b, const candidate *ours, const candidate *theirs)
{
    return us_of(theirs, b->rounds) / us_of(ours, b->rounds);
}

// What the rounds one by one say, to see beside the ratio how much they scatter.
static void print_rounds(const bench *b, const candidate *ours, const candidate *theirs)
{
    double v[ROUNDS];
    for (int n = 0; n < b->rounds; n++)
        v[n] = theirs->us[n] / ours->us[n];
    double median = bench_median(v, (size_t)b->rounds);
    printf("    %s of %s, %d rounds: median %.4f, from %.4f to %.4f\n", ours->group, theirs->group,
           b->rounds, median, v[0], v[b->rounds - 1]);
}

static bool is_aside(const candidate *c)
{
    return c->kind == OURS && c->way.kernel > KILN_MATMUL_SM90;
}

static const candidate *fastest_library(const bench *b, bool is_default)
{
    const candidate *best = NULL;
    for (int n = 0; n < b->count; n++) {
        const candidate *c = &b->list[n];
        if ((c->kind == CUBLAS || c->kind == CUBLASLT) && !(is_default && c->algo) &&
            (!best || us_of(c, b->rounds) < us_of(best, b->rounds)))
            best = c;
    }
    return best;
}

// What runs: the kernel's name and grid, and of cuBLASLt what the algorithm says of itself.
static void print_kernel(bench *b, const candidate *c)
{
    cu_graph graph = NULL;
    cu_stream stream = kiln_stream_native(b->r.k, b->stream);
    char what[256] = "";
    bench_cu(&b->r, b->r.cu->capture_begin(stream, CU_CAPTURE_RELAXED), "a capture");
    bool works = launch(b, c, &b->data.sets[0]);
    bench_cu(&b->r, b->r.cu->capture_end(stream, &graph), "a capture");
    if (works && graph_kernel(&b->r, graph, what, sizeof what))
        printf("    %s: %s\n", c->group, what);
    if (graph)
        b->r.cu->graph_destroy(graph);
    if (c->kind == CUBLASLT && cublaslt_about(c->algo, what, sizeof what))
        printf("    %s: %s\n", c->label, what);
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
    char start[72];
    snprintf(start, sizeof start, "%s.", name);
    report_forget(&b->r, start);
    for (int n = 0; n < b->count; n++) {
        candidate *c = &b->list[n];
        if (strcmp(c->label, c->group))
            printf("    %s is %s\n", c->group, c->label);
        if (b->is_verbose)
            print_kernel(b, c);
        int rounds = is_aside(c) ? ROUNDS_ASIDE : b->rounds;
        report_number(&b->r, us_of(c, rounds), "%s.%s.us", name, c->group);
    }
    candidate *ours = find(b, "kiln"), *chained = find(b, "kiln.chained");
    const candidate *library = fastest_library(b, false), *usual = fastest_library(b, true);
    if (!ours)
        return;
    const candidate *launched = is_long(p) ? ours : chained; // as kiln_matmul does it
    if (library && is_long(p))
        report_number(&b->r, ratio(b, ours, library), "%s.chained.of_library", name);
    if (usual && launched)
        report_number(&b->r, ratio(b, launched, usual), "%s.chained.of_default", name);
    report_number(&b->r, flops / us_of(ours, b->rounds) * 1e-6, "%s.TFLOPS", name);
    for (int n = 0; n < b->count && library; n++) {
        const candidate *c = &b->list[n];
        if (b->is_verbose && c->kind == OURS && !is_aside(c))
            print_rounds(b, c, library);
        const char *way = c->group + (strncmp(c->group, "kiln.", 5) ? 0 : 5);
        if (c == ours)
            report_number(&b->r, ratio(b, c, library), "%s.of_library", name);
        else if (c->kind == OURS && !is_aside(c))
            report_number(&b->r, ratio(b, c, library), "%s.%s.of_library", name, way);
    }
    if (find(b, "twin"))
        report_number(&b->r, ratio(b, ours, find(b, "twin")), "%s.of_twin", name);
    if (chained && find(b, "twin.chained"))
        report_number(&b->r, ratio(b, chained, find(b, "twin.chained")), "%s.chained.of_twin",
                      name);
    for (int n = 0; n < b->count; n++)
        if (is_aside(&b->list[n]))
            report_number(&b->r, bench_median(b->list[n].of_sm90, ROUNDS_ASIDE), "%s.%s.of_sm90",
                          name, b->list[n].group + 5);
}

// Of the cubes of b->p's type and layout, as kiln_matmul launches them; adds to *count.
static double sum_of_logarithms(const bench *b, int *count)
{
    double sum = 0;
    char start[32];
    int len =
        snprintf(start, sizeof start, "%s.%s.", gemm_types[b->p.type].name, layout_name(&b->p));
    for (size_t n = 0; n < b->r.row_count; n++) {
        const char *key = b->r.rows[n].key;
        if (strncmp(key, start, (size_t)len) != 0 ||
            strcmp(key + len + strspn(key + len, "0123456789"), ".chained.of_library") != 0)
            continue;
        sum += log(b->r.rows[n].value);
        ++*count;
    }
    return sum;
}

static void print_means(bench *b)
{
    double logarithms = 0;
    int count = 0;
    report_forget(&b->r, "geomean.");
    for (gemm_type t = GEMM_BF16; t < GEMM_TYPES; t++)
        for (int layout = 0; layout < 4; layout++) {
            b->p = (gemm_problem){.type = t, .a_mn = layout / 2, .b_mn = layout % 2};
            int problems = 0;
            double sum = sum_of_logarithms(b, &problems);
            if (problems)
                report_number(&b->r, exp(sum / problems), "geomean.%s.%s.chained.of_library",
                              gemm_types[t].name, layout_name(&b->p));
            if (t == GEMM_BF16 || t == GEMM_F16) {
                logarithms += sum;
                count += problems;
            }
        }
    if (count)
        report_number(&b->r, exp(logarithms / count), "geomean.16bit.chained.of_library");
}

// Long enough for the clock to settle at what the candidate allows: it follows the load slowly.
static double time_settled(bench *b, const candidate *c, int launches)
{
    double until = bench_now() + 0.25;
    while (bench_now() < until)
        time_graph(b, c, launches);
    return time_graph(b, c, launches);
}

// Beside our best, in batches that take as long, each in its own steady state.
static void time_aside(bench *b, candidate *c)
{
    candidate *ours = find(b, "kiln");
    if (!ours)
        return;
    int launches = (int)fmax(1, b->launches * ours->quick_us / c->quick_us);
    if (!make_graph(b, c, launches))
        return;
    for (int round = 0; round < ROUNDS_ASIDE; round++) {
        c->us[round] = time_settled(b, c, launches);
        c->of_sm90[round] = time_settled(b, ours, b->launches) / c->us[round];
    }
}

static void run_problem(bench *b)
{
    if (b->deadline > 0 && bench_now() > b->deadline) {
        b->left_out++;
        return;
    }
    double began = bench_now();
    gemm_data_make(&b->r, &b->p, &b->data);
    double made = bench_now();
    add_candidates(b);
    choose(b);
    double chosen = bench_now();
    // Large products under the load of a long run: each one warms the card up for itself.
    b->launches = launches_for(b, is_long(&b->p)    ? b->ms
                                  : is_large(&b->p) ? b->ms * 0.6
                                  : b->is_brief     ? 4
                                                    : 10);
    for (int n = 0; n < b->count; n++)
        if (!is_aside(&b->list[n]))
            make_graph(b, &b->list[n], b->launches);
    for (int n = 0; n < 10 && b->count; n++)
        bench_must(&b->r, kiln_graph_launch(b->list[0].graph, b->stream), "warming up");
    int names[CANDIDATES], order[CANDIDATES], rivals = 0;
    for (int n = 0; n < b->count; n++)
        if (!is_aside(&b->list[n]))
            names[rivals++] = n;
    b->rounds = rounds_for(b, rivals);
    for (int round = 0; round < b->rounds && rivals; round++) {
        order_of_round(b, round, rivals, names, order);
        for (int n = 0; n < rivals; n++)
            b->list[order[n]].us[round] = time_graph(b, &b->list[order[n]], b->launches);
    }
    for (int n = 0; n < b->count; n++)
        if (is_aside(&b->list[n]))
            time_aside(b, &b->list[n]);
    if (b->count)
        tell(b);
    printf("    took %.1f s for the data, %.1f to choose, %.1f to time\n", made - began,
           chosen - made, bench_now() - chosen);
    for (int n = 0; n < b->count; n++)
        kiln_graph_free(b->list[n].graph);
    gemm_data_free(&b->data);
    report_save(&b->r); // a run that is cut short keeps what it has
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
static const char skinny_sizes[] =
    "1x4096x4096,8x4096x4096,16x4096x4096,32x4096x4096,64x4096x4096,1x14336x4096,16x14336x4096,"
    "64x14336x4096,1x4096x14336,16x4096x14336,64x4096x14336,16x7168x7168,64x7168x7168,"
    "128x4096x4096,256x7168x7168";

int main(int argc, char **argv)
{
    static bench b;
    plan one = {"bf16", "nt", all_sizes};
    bool is_given = false, is_kept = false;
    b.wanted_rounds = 11;
    b.ms = 25;
    for (int n = 1; n < argc; n++) {
        const char *value = n + 1 < argc ? argv[n + 1] : "";
        is_given |=
            strcmp(argv[n], "--seconds") && strcmp(argv[n], "-v") && strcmp(argv[n], "--keep");
        if (!strcmp(argv[n], "--sweep"))
            b.is_sweep = true;
        else if (!strcmp(argv[n], "--quick"))
            b.is_quick = true;
        else if (!strcmp(argv[n], "--keep"))
            is_kept = true;
        else if (!strcmp(argv[n], "--unchecked"))
            b.is_unchecked = true;
        else if (!strcmp(argv[n], "--brief"))
            b.is_brief = true;
        else if (!strcmp(argv[n], "-v"))
            b.is_verbose = true;
        else if (!strcmp(argv[n], "--skinny"))
            one.sizes = skinny_sizes;
        else if (!strcmp(argv[n], "--ways"))
            b.ways = value, n++;
        else if (!strcmp(argv[n], "--type"))
            one.types = value, n++;
        else if (!strcmp(argv[n], "--layout"))
            one.layouts = value, n++;
        else if (!strcmp(argv[n], "--sizes"))
            one.sizes = value, n++;
        else if (!strcmp(argv[n], "--rounds"))
            b.wanted_rounds = atoi(value), n++;
        else if (!strcmp(argv[n], "--seconds"))
            b.deadline = bench_now() + atof(value), n++;
        else {
            fprintf(stderr, "gemm: unknown option '%s'\n", argv[n]);
            return 2;
        }
    }
    b.wanted_rounds = b.wanted_rounds < 1 ? 1 : b.wanted_rounds > ROUNDS ? ROUNDS : b.wanted_rounds;
    if (!is_given && b.deadline == 0)
        b.deadline = bench_now() + 550;
    if (!report_start(&b.r, "gemm", argc, argv, true))
        return BENCH_SKIPPED;
    gemm_sources(&b.r);
    if (is_kept && !report_keep(&b.r))
        printf("there are no results of these kernels, this machine and this driver to keep\n");
    bench_must(&b.r, kiln_stream_new(b.r.k, 0, &b.stream), "a stream");
    if (!cublas_open(&b.r, kiln_stream_native(b.r.k, b.stream)))
        printf("there is no cuBLAS here: only our side is measured\n");
    run_plan(&b, &one);
    if (!is_given) {
        b.wanted_rounds = 8;
        b.is_brief = true;
        run_plan(&b, &(plan){"bf16", "nt", skinny_sizes});
        run_plan(&b, &(plan){"bf16", "nn,tt,tn", all_sizes});
        b.wanted_rounds = 4;
        run_plan(&b, &(plan){"tf32,e4m3,s8", "nt", "512,1024,2048,4096,8192"});
        run_plan(&b, &(plan){"f16", "nt,nn,tt,tn", all_sizes});
    }
    print_means(&b);
    if (b.left_out)
        printf("there was no time for %d problems\n", b.left_out);
    return report_end(&b.r);
}
