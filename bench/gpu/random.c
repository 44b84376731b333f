// Matrix products of random sizes: kiln_matmul beside cuBLAS and cuBLASLt (its first proposal), in
// one process, in turns.
//
//     random [--count 200] [--seed 1] [--seconds 550] [--rounds 5] [--class eight] [--only bf16]
//            [--sizes 8x28672x4096,100x100x30000] [--layout nt] [--unchecked]
//            [--ways 'tiles;portable;sm90 tile_m=128 tile_n=256 sharers=2'] [--tuned [--most 12]]
//            [--slice 3/16]
// Sides are log-uniform from 1 to 32768; what takes more than the pools or too long is drawn again.
// Of three shapes one has sides that are multiples of 64 ("whole"), one multiples of 8 ("eight"),
// one of anything ("odd"). Types and layouts change from shape to shape. --sizes takes these
// instead, nn:100x100x30000 with a layout of its own, in bf16 or what --only says. No shape begins
// after --seconds. --ways measures other ways to do each product, too: a kernel and a tile as `kiln
// tune` writes them, or all tiles that the tuner would try; and says how far the fastest is ahead
// of what the library chose. --tuned is that for every kernel and the --most tiles of the tuner
// that the model expects to be the fastest: how many of its choices are within 5 % of the fastest;
// results: bench/results/random_tuned.json. --slice measures every 16th shape alone, beginning with
// number 3: as many processes compile what one with the same options then finds in the cache.
//
// Every shape prints a line: what was chosen, both times, theirs over ours. Operands lie in large
// pools of random numbers and are taken from another place each time, so that the cache has none of
// them. A time is the mean of the middle half of the rounds; theirs is the faster of the two.
// Results: bench/results/random_gemm.json.
#include "bench/gpu/gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval.h"
#include "kiln/ops.h"
#include "ops/matmul/host_matmul.h"

enum { ROUNDS = 32, SIDE = 32768, PATTERN = 1048573, SAMPLES = 48, MOST_LAUNCHES = 192 };
#define POOL_BYTES    (768e6)
#define MOST_PRODUCTS (1.2e12)
#define BATCH_MS      2.5

typedef enum class_of_sizes { WHOLE, EIGHT, ODD, CLASSES } class_of_sizes;
static const char *const class_names[CLASSES] = {"whole", "eight", "odd"};
static const uint32_t units[CLASSES] = {64, 8, 1};

enum { KILN, CUBLAS, CUBLASLT, RIVALS };
static const char *const rival_names[RIVALS] = {"kiln", "cublas", "cublaslt"};

typedef struct bench {
    report r;
    kiln_stream *stream;
    gemm_type pool_type; // of the pools that are there
    kiln_buffer *a, *b, *c;
    float *values[2]; // the patterns of a and b
    gemm_problem p;
    int sets, rounds;
    uint64_t state; // of the random numbers
    double deadline;
    bool is_unchecked;
    const char *ways;     // others that are measured; NULL: none
    size_t most;          // tiles of "tiles"
    int slice, slices;    // every so many-th shape alone; 0: all
    kiln_matmul_desc way; // of ours: kernel and tile
    double logarithms[CLASSES + 1], worst[CLASSES + 1];
    int counts[CLASSES + 1], below[CLASSES + 1];
    int tried, near; // shapes with other ways, and those whose own is within 5 % of the best
} bench;

static uint32_t random_bits(bench *b)
{
    b->state = b->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(b->state >> 33);
}

static double fraction(bench *b) // from 0 to 1
{
    return random_bits(b) / 2147483648.0;
}

static const char *layout_name(const gemm_problem *p)
{
    static const char *const names[2][2] = {{"nt", "nn"}, {"tt", "tn"}};
    return names[p->a_mn][p->b_mn];
}

// --- pools
static void drop_pools(bench *b)
{
    kiln_buffer_free(b->a);
    kiln_buffer_free(b->b);
    kiln_buffer_free(b->c);
    b->a = b->b = b->c = NULL;
}

// PATTERN random numbers, rounded to the type: `values`, and their bytes.
static void fill_pattern(kiln_type type, uint64_t seed, float *values, unsigned char *bytes)
{
    ir_type narrow = type == KILN_BF16 ? IR_BF16 : IR_F16;
    bench_random(values, PATTERN, seed);
    for (size_t i = 0; i < PATTERN; i++) {
        uint16_t bits = (uint16_t)ir_narrow(narrow, (double)values[i]);
        if (type == KILN_F32) {
            memcpy(bytes + i * 4, &values[i], 4);
            continue;
        }
        values[i] = (float)ir_widen(narrow, bits);
        memcpy(bytes + i * 2, &bits, 2);
    }
}

static void make_pools(bench *b, gemm_type type)
{
    const gemm_type_info *t = &gemm_types[type];
    size_t size = kiln_type_size(t->in), count = (size_t)POOL_BYTES / size;
    if (b->a && b->pool_type == type)
        return;
    drop_pools(b);
    b->pool_type = type;
    unsigned char *bytes = malloc(count * size);
    if (!bytes)
        exit(1);
    kiln_buffer **const operands[] = {&b->a, &b->b};
    for (size_t n = 0; n < 2; n++) {
        fill_pattern(t->in, 7 + n, b->values[n], bytes);
        for (size_t have = PATTERN; have < count; have += have) {
            size_t more = have < count - have ? have : count - have;
            memcpy(bytes + have * size, bytes, more * size);
        }
        kiln_buffer_desc desc = {.type = t->in, .count = count, .is_not_zeroed = true};
        bench_must(&b->r, kiln_buffer_make(b->r.k, &desc, operands[n]), "a pool");
        bench_must(&b->r, kiln_write(*operands[n], 0, bytes, count), "a copy");
    }
    free(bytes);
    kiln_buffer_desc desc = {.type = t->out,
                             .count = (size_t)POOL_BYTES / kiln_type_size(t->out),
                             .is_not_zeroed = true};
    bench_must(&b->r, kiln_buffer_make(b->r.k, &desc, &b->c), "a pool");
}

static size_t padded(size_t count) // matrices begin at multiples of this
{
    return (count + 511) / 512 * 512;
}

// Where the matrices of set `n` begin.
static gemm_set set_of(const bench *b, int n)
{
    const gemm_problem *p = &b->p;
    size_t at = (size_t)n, rows = (size_t)p->m, columns = (size_t)p->n, k = (size_t)p->k;
    return (gemm_set){.a = b->a,
                      .b = b->b,
                      .c = b->c,
                      .a_first = at * padded(rows * k),
                      .b_first = at * padded(columns * k),
                      .c_first = at * padded(rows * columns)};
}

// --- one launch
static kiln_view view_of(kiln_buffer *of, size_t first, int rows, int columns, bool is_transposed)
{
    kiln_view v = KILN_VIEW(of, (uint64_t)rows, (uint64_t)columns);
    v.first = first;
    return is_transposed ? kiln_view_transpose(v) : v;
}

static kiln_matmul_desc desc_of(const bench *b, const gemm_set *s)
{
    const gemm_problem *p = &b->p;
    return (kiln_matmul_desc){
        .a = view_of(s->a, s->a_first, p->a_mn ? p->k : p->m, p->a_mn ? p->m : p->k, p->a_mn),
        .b = view_of(s->b, s->b_first, p->b_mn ? p->k : p->n, p->b_mn ? p->n : p->k, !p->b_mn),
        .out = view_of(s->c, s->c_first, p->m, p->n, false),
        .is_tf32 = p->type == GEMM_TF32,
        .kernel = b->way.kernel,
        .tile_m = b->way.tile_m,
        .tile_n = b->way.tile_n,
        .sm90 = b->way.sm90,
        .stream = b->stream};
}

static bool launch(bench *b, int rival, int n)
{
    gemm_set s = set_of(b, n);
    kiln_matmul_desc d = desc_of(b, &s);
    return rival == KILN     ? !kiln_matmul(b->r.k, &d)
           : rival == CUBLAS ? cublas_run(&b->p, &s)
                             : cublaslt_run(0, &s);
}

// --- is it right?
static double value_of(kiln_type t, const void *from)
{
    float f;
    uint16_t bits;
    memcpy(&f, from, t == KILN_F32 ? 4 : 0);
    memcpy(&bits, from, 2);
    return t == KILN_F32 ? (double)f : ir_widen(t == KILN_BF16 ? IR_BF16 : IR_F16, bits);
}

// The largest error of some samples of set 0, in units of sqrt(k).
static double worst_error(bench *b)
{
    const gemm_problem *p = &b->p;
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    double worst = 0;
    bench_must(&b->r, kiln_stream_sync(b->stream), "a product");
    for (size_t s = 0; s < SAMPLES; s++) {
        size_t at = s == 0 ? 0 : s == 1 ? m * n - 1 : s * 2654435761u % (m * n);
        size_t row = at / n, column = at % n;
        unsigned char got[8] = {0};
        double want = 0;
        for (size_t i = 0; i < k; i++)
            want += (double)b->values[0][(p->a_mn ? i * m + row : row * k + i) % PATTERN] *
                    (double)b->values[1][(p->b_mn ? i * n + column : column * k + i) % PATTERN];
        bench_must(&b->r, kiln_read(b->c, at, got, 1), "a copy");
        double error = fabs(value_of(gemm_types[p->type].out, got) - want) / sqrt((double)p->k);
        worst = error <= worst ? worst : isnan(error) ? HUGE_VAL : error;
    }
    return worst;
}

// Fills the whole result before, so that what is not written shows.
static bool is_right(bench *b, int rival)
{
    static const double limits[GEMM_TYPES] = {
        [GEMM_BF16] = 0.03, [GEMM_F16] = 0.005, [GEMM_TF32] = 0.01};
    static const unsigned char nothing[4] = {0xff, 0xff, 0xff, 0xff};
    if (b->is_unchecked)
        return launch(b, rival, 0);
    bench_must(&b->r, kiln_sync(b->r.k), "a product");
    for (size_t s = 0; s < SAMPLES; s++) {
        size_t all = (size_t)b->p.m * (size_t)b->p.n;
        size_t at = s == 0 ? 0 : s == 1 ? all - 1 : s * 2654435761u % all;
        bench_must(&b->r, kiln_write(b->c, at, nothing, 1), "a copy");
    }
    if (!launch(b, rival, 0))
        return false;
    double worst = worst_error(b);
    if (worst > limits[b->p.type])
        report_check(&b->r, rival != KILN, "%s %s %dx%dx%d of %s: largest error / sqrt(k) %.3g",
                     gemm_types[b->p.type].name, layout_name(&b->p), b->p.m, b->p.n, b->p.k,
                     rival_names[rival], worst);
    return worst <= limits[b->p.type];
}

// --- time
static double time_graph(bench *b, kiln_graph *graph, int launches)
{
    static cu_event start, end;
    cu_stream stream = kiln_stream_native(b->r.k, b->stream);
    float ms = 0;
    if (!start) {
        bench_cu(&b->r, b->r.cu->event_create(&start, 0), "event");
        bench_cu(&b->r, b->r.cu->event_create(&end, 0), "event");
    }
    bench_must(&b->r, kiln_graph_launch(graph, b->stream), "a graph");
    bench_cu(&b->r, b->r.cu->event_record(start, stream), "event");
    bench_must(&b->r, kiln_graph_launch(graph, b->stream), "a graph");
    bench_cu(&b->r, b->r.cu->event_record(end, stream), "event");
    bench_cu(&b->r, b->r.cu->event_sync(end), "waiting");
    bench_cu(&b->r, b->r.cu->event_elapsed(&ms, start, end), "event");
    return (double)ms * 1e3 / launches;
}

static int launches_for(const gemm_problem *p)
{
    const gemm_type_info *t = &gemm_types[p->type];
    double flops = 2.0 * p->m * p->n * p->k, rate = p->type == GEMM_TF32 ? 300e12 : 600e12;
    double bytes = t->in_bytes * ((double)p->m * p->k + (double)p->n * p->k) +
                   t->out_bytes * (double)p->m * p->n;
    int n = (int)(BATCH_MS * 1e-3 / (fmax(flops / rate, bytes / 4e12) + 3e-6));
    return n < 1 ? 1 : n > MOST_LAUNCHES ? MOST_LAUNCHES : n;
}

static void times_of(bench *b, bool *takes_part, double us[RIVALS])
{
    kiln_graph *graphs[RIVALS] = {0};
    double rounds[RIVALS][ROUNDS];
    int launches = launches_for(&b->p);
    for (int n = 0; n < RIVALS; n++) {
        if (!takes_part[n])
            continue;
        bench_must(&b->r, kiln_capture_begin(b->stream), "a capture");
        for (int i = 0; i < launches && takes_part[n]; i++)
            takes_part[n] = launch(b, n, i % b->sets);
        bench_must(&b->r, kiln_capture_end(b->stream, &graphs[n]), "a capture");
    }
    for (int round = 0; round < b->rounds; round++)
        for (int i = 0; i < RIVALS; i++) {
            int n = (i + round) % RIVALS;
            if (takes_part[n])
                rounds[n][round] = time_graph(b, graphs[n], launches);
        }
    for (int n = 0; n < RIVALS; n++) {
        us[n] = takes_part[n] ? bench_middle(rounds[n], (size_t)b->rounds) : 0;
        kiln_graph_free(graphs[n]);
    }
}

// What kiln_matmul chooses.
static void choice_of(bench *b, char *out, size_t size)
{
    static matmul_list list;
    char choice[MATMUL_NAME];
    gemm_set s = set_of(b, 0);
    kiln_matmul_desc d = desc_of(b, &s);
    snprintf(out, size, "strided");
    if (matmul_list_tiles(b->r.k, &d, &list) || !list.count)
        return;
    matmul_write_choice(&list.all[0], choice);
    snprintf(out, size, "%s%s %s", matmul_at_names[list.at], list.is_packed ? " packed" : "",
             choice);
}

// --- other ways to do it, for the model of what they cost
static void time_way(bench *b, const kiln_matmul_desc *way, const char *name, double *best)
{
    double us[RIVALS] = {0};
    bool takes_part[RIVALS] = {true};
    b->way = *way;
    if (is_right(b, KILN)) {
        times_of(b, takes_part, us);
        printf("      %8.2f us  %s\n", us[KILN], name);
        *best = fmin(*best, us[KILN]);
    }
    b->way = (kiln_matmul_desc){.kernel = KILN_MATMUL_BEST};
}

static void time_tiles(bench *b, double *best)
{
    static matmul_list list;
    gemm_set s = set_of(b, 0);
    kiln_matmul_desc d = desc_of(b, &s);
    d.kernel = KILN_MATMUL_SM90;
    if (matmul_list_tiles(b->r.k, &d, &list))
        return;
    for (size_t n = 0; n < list.count && n < b->most; n++) {
        char name[MATMUL_NAME];
        matmul_write_choice(&list.all[n], name);
        time_way(b,
                 &(kiln_matmul_desc){.kernel = KILN_MATMUL_SM90,
                                     .tile_m = list.all[n].m,
                                     .tile_n = list.all[n].n,
                                     .sm90 = list.all[n].sm90},
                 name, best);
    }
}

// The forms of the kernel for few rows or columns: warps and parts that share the sum.
static void time_thin(bench *b, double *best)
{
    const gemm_problem *p = &b->p;
    uint32_t few = (uint32_t)(p->m <= p->n ? p->m : p->n), tiles = (few + 31) / 32;
    for (uint32_t warps = 1; warps <= 8; warps *= 2)
        for (uint32_t parts = 1; parts <= 16; parts *= 4) {
            matmul_choice c = {warps < 4 ? 256 / warps : 64,
                               ((few + tiles - 1) / tiles + 7) / 8 * 8,
                               {.is_swapped = p->m <= p->n, .split_k = warps, .parts = parts}};
            char name[MATMUL_NAME];
            matmul_write_choice(&c, name);
            time_way(b,
                     &(kiln_matmul_desc){
                         .kernel = KILN_MATMUL_THIN, .tile_m = c.m, .tile_n = c.n, .sm90 = c.sm90},
                     name, best);
        }
}

// The forms of gemm_stream.c: rows of a block, and parts of K that make a block for every
// multiprocessor, two or four.
static void time_streams(bench *b, double *best)
{
    const gemm_problem *p = &b->p;
    uint32_t few = (uint32_t)(p->m <= p->n ? p->m : p->n), many = (uint32_t)(p->m + p->n) - few;
    uint32_t unit = p->m <= p->n ? 16 : 8, tiles = (few + 63) / 64;
    uint32_t steps = (uint32_t)(p->k * gemm_types[p->type].in_bytes + 127) / 128;
    for (uint32_t rows = 128; few <= 128 && rows <= 256; rows *= 2)
        for (uint32_t wanted = 0, last = 0; wanted <= 528; wanted = wanted ? wanted * 2 : 132) {
            uint32_t blocks = (many + rows - 1) / rows * tiles, parts = wanted / blocks;
            parts = parts < 1 ? 1 : parts * 2 > steps ? steps / 2 : parts;
            if (!parts || parts == last)
                continue;
            last = parts;
            matmul_choice c = {rows,
                               ((few + tiles - 1) / tiles + unit - 1) / unit * unit,
                               {.is_swapped = p->m <= p->n, .stages = 4, .parts = parts}};
            char name[MATMUL_NAME];
            matmul_write_choice(&c, name);
            time_way(b,
                     &(kiln_matmul_desc){
                         .kernel = KILN_MATMUL_THIN, .tile_m = c.m, .tile_n = c.n, .sm90 = c.sm90},
                     name, best);
        }
}

static void time_shorts(bench *b, double *best)
{
    for (uint32_t rows = 32; b->p.k * gemm_types[b->p.type].in_bytes <= 128 && rows <= 64;
         rows *= 2) {
        char name[MATMUL_NAME];
        snprintf(name, sizeof name, "short %u", rows);
        time_way(b, &(kiln_matmul_desc){.kernel = KILN_MATMUL_SMALL, .tile_m = rows, .tile_n = 128},
                 name, best);
    }
}

static void time_others(bench *b, double own)
{
    double best = own;
    for (const char *at = b->ways, *end; *at; at = end + (*end == ';')) {
        char name[MATMUL_NAME];
        matmul_choice c;
        end = at + strcspn(at, ";");
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        kiln_matmul_kernel kernel = !strncmp(name, "portable", 8) ? KILN_MATMUL_PORTABLE
                                    : !strncmp(name, "thin", 4)   ? KILN_MATMUL_THIN
                                    : !strncmp(name, "small", 5)  ? KILN_MATMUL_SMALL
                                                                  : KILN_MATMUL_SM90;
        // The kernel's name stands in front of the tile.
        matmul_read_choice(strchr(name, ' ') ? strchr(name, ' ') + 1 : name, &c);
        if (!strcmp(name, "tiles"))
            time_tiles(b, &best);
        else if (!strcmp(name, "thins"))
            time_thin(b, &best);
        else if (!strcmp(name, "streams"))
            time_streams(b, &best);
        else if (!strcmp(name, "shorts"))
            time_shorts(b, &best);
        else
            time_way(
                b,
                &(kiln_matmul_desc){.kernel = kernel, .tile_m = c.m, .tile_n = c.n, .sm90 = c.sm90},
                name, &best);
    }
    printf("      own choice: %.3f of the fastest\n", best / own);
    b->tried++;
    b->near += best / own >= 0.95;
}

static void count_ratio(bench *b, size_t which, double ratio)
{
    b->logarithms[which] += log(ratio);
    b->worst[which] = b->counts[which] ? fmin(b->worst[which], ratio) : ratio;
    b->counts[which]++;
    b->below[which] += ratio < 0.9;
}

static void run_problem(bench *b, class_of_sizes class)
{
    const gemm_problem *p = &b->p;
    char choice[256];
    double us[RIVALS] = {0}, began = bench_now();
    make_pools(b, p->type);
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    size_t largest = padded(m * k) > padded(n * k) ? padded(m * k) : padded(n * k);
    largest = padded(m * n) > largest ? padded(m * n) : largest;
    double sets = floor(POOL_BYTES / 4 / (double)largest); // results may be of four bytes
    b->sets = sets > 512 ? 512 : sets < 1 ? 1 : (int)sets;
    bool takes_part[RIVALS] = {true, true, cublaslt_plan(p) > 0};
    for (int i = RIVALS - 1; i >= 0; i--)
        takes_part[i] = takes_part[i] && is_right(b, i);
    if (!takes_part[KILN]) {
        const kiln_error *e = kiln_last_error(b->r.k);
        report_check(&b->r, false, "%s %s %dx%dx%d: %s", gemm_types[p->type].name, layout_name(p),
                     p->m, p->n, p->k, e->text);
        return;
    }
    choice_of(b, choice, sizeof choice);
    times_of(b, takes_part, us);
    int best = !takes_part[CUBLASLT] || (takes_part[CUBLAS] && us[CUBLAS] < us[CUBLASLT])
                   ? CUBLAS
                   : CUBLASLT;
    double ratio = us[best] > 0 ? us[best] / us[KILN] : 1;
    double bytes = gemm_types[p->type].in_bytes * (double)(m * k + n * k) +
                   gemm_types[p->type].out_bytes * (double)(m * n);
    printf(
        "%-5s %-4s %s %5dx%5dx%5d ours %9.2f us, theirs %9.2f (%s), ratio %.3f, %.0f TFLOPS, %.2f "
        "TB/s, %s (%.1f s)\n",
        class_names[class], gemm_types[p->type].name, layout_name(p), p->m, p->n, p->k, us[KILN],
        us[best], rival_names[best], ratio, 2.0 * p->m * p->n * p->k / us[KILN] * 1e-6,
        bytes / us[KILN] * 1e-6, choice, bench_now() - began);
    if (b->ways)
        time_others(b, us[KILN]);
    report_number(&b->r, ratio, "%s.%s.%s.%dx%dx%d.of_library", class_names[class],
                  gemm_types[p->type].name, layout_name(p), p->m, p->n, p->k);
    count_ratio(b, class, ratio);
    count_ratio(b, CLASSES, ratio);
}

// --- which shapes
static int side_of(bench *b, class_of_sizes class)
{
    double x = exp(fraction(b) * log((double)SIDE));
    uint32_t unit = units[class], length = ((uint32_t)x + unit - 1) / unit * unit;
    if (class == ODD && length % 8 == 0)
        length--;
    return (int)length;
}

static void draw(bench *b, class_of_sizes class, int number, const char *only)
{
    gemm_problem *p = &b->p;
    double largest;
    p->type = number % 12 == 11 ? GEMM_TF32 : number % 4 == 3 ? GEMM_F16 : GEMM_BF16;
    for (gemm_type t = GEMM_BF16; t <= GEMM_TF32; t++)
        if (only && !strcmp(only, gemm_types[t].name))
            p->type = t;
    // Of tf32 only rows along K are read by the matrix units.
    uint32_t layout = random_bits(b) % 4;
    p->a_mn = p->type != GEMM_TF32 && layout == 2;
    p->b_mn = p->type != GEMM_TF32 && layout % 2 == 1;
    p->a_mn |= p->type != GEMM_TF32 && layout == 3 && random_bits(b) % 4 == 0;
    do {
        p->m = side_of(b, class);
        p->n = side_of(b, class);
        p->k = side_of(b, class);
        largest = fmax(fmax((double)p->m * p->k, (double)p->n * p->k), (double)p->m * p->n);
    } while (largest * 4 > POOL_BYTES || (double)p->m * p->n * p->k > MOST_PRODUCTS);
}

static void run_sizes(bench *b, const char *sizes, const char *layout, const char *only)
{
    int number = 0;
    for (const char *s = sizes; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL, number++) {
        gemm_problem *p = &b->p;
        const char *own = strcspn(s, ":") < strcspn(s, ",") ? s : layout;
        const char *at = own == s ? s + 3 : s;
        if (sscanf(at, "%dx%dx%d", &p->m, &p->n, &p->k) < 3)
            p->n = p->k = p->m = atoi(at);
        p->type = GEMM_BF16;
        for (gemm_type t = GEMM_BF16; t <= GEMM_TF32; t++)
            if (only && !strcmp(only, gemm_types[t].name))
                p->type = t;
        p->a_mn = own[0] == 't';
        p->b_mn = own[1] == 'n';
        uint32_t all = (uint32_t)p->m | (uint32_t)p->n | (uint32_t)p->k;
        if (b->slices && number % b->slices != b->slice)
            continue;
        if (bench_now() < b->deadline && p->m > 0 && p->n > 0 && p->k > 0)
            run_problem(b, all % 64 == 0 ? WHOLE : all % 8 == 0 ? EIGHT : ODD);
    }
}

static void print_means(bench *b)
{
    for (int n = 0; n <= CLASSES; n++) {
        const char *name = n < CLASSES ? class_names[n] : "all";
        if (!b->counts[n])
            continue;
        report_number(&b->r, exp(b->logarithms[n] / b->counts[n]), "geomean.%s.of_library", name);
        report_number(&b->r, b->worst[n], "worst.%s.of_library", name);
        report_number(&b->r, b->below[n], "below_0.9.%s.count", name);
        report_number(&b->r, b->counts[n], "shapes.%s.count", name);
    }
}

int main(int argc, char **argv)
{
    static bench b;
    int count = 200, left_out = 0;
    const char *only = NULL, *class = NULL, *sizes = NULL, *layout = "nt";
    bool is_tuned = false;
    b.rounds = 5;
    b.state = 1;
    b.most = MATMUL_TILES;
    b.deadline = bench_now() + 550;
    for (int n = 1; n < argc; n++) {
        const char *value = n + 1 < argc ? argv[n + 1] : "";
        if (!strcmp(argv[n], "--unchecked"))
            b.is_unchecked = true;
        else if (!strcmp(argv[n], "--tuned"))
            is_tuned = true, b.ways = "tiles;thin;streams;shorts;portable";
        else if (!strcmp(argv[n], "--ways"))
            b.ways = value, n++;
        else if (!strcmp(argv[n], "--most"))
            b.most = (size_t)atoi(value), n++;
        else if (!strcmp(argv[n], "--slice") && sscanf(value, "%d/%d", &b.slice, &b.slices) == 2)
            n++;
        else if (!strcmp(argv[n], "--count"))
            count = atoi(value), n++;
        else if (!strcmp(argv[n], "--seed"))
            b.state = strtoull(value, NULL, 10), n++;
        else if (!strcmp(argv[n], "--seconds"))
            b.deadline = bench_now() + atof(value), n++;
        else if (!strcmp(argv[n], "--rounds"))
            b.rounds = atoi(value), n++;
        else if (!strcmp(argv[n], "--class"))
            class = value, n++;
        else if (!strcmp(argv[n], "--only"))
            only = value, n++;
        else if (!strcmp(argv[n], "--layout") && strlen(value) == 2)
            layout = value, n++;
        else if (!strcmp(argv[n], "--sizes"))
            sizes = value, n++;
        else {
            fprintf(stderr, "random: unknown option '%s'\n", argv[n]);
            return 2;
        }
    }
    b.rounds = b.rounds < 1 ? 1 : b.rounds > ROUNDS ? ROUNDS : b.rounds;
    if (!report_start(&b.r, is_tuned ? "random_tuned" : "random_gemm", argc, argv, true))
        return BENCH_SKIPPED;
    gemm_sources(&b.r);
    for (size_t n = 0; n < 2; n++)
        b.values[n] = bench_floats(PATTERN);
    bench_must(&b.r, kiln_stream_new(b.r.k, 0, &b.stream), "a stream");
    if (!cublas_open(&b.r, kiln_stream_native(b.r.k, b.stream)))
        printf("there is no cuBLAS here: only our side is measured\n");
    if (sizes)
        run_sizes(&b, sizes, layout, only);
    // A type at a time: each has pools of its own.
    for (gemm_type t = GEMM_BF16; t <= GEMM_TF32 && !sizes; t++) {
        uint64_t seed = b.state;
        for (int n = 0; n < count; n++) {
            class_of_sizes of = (class_of_sizes)(n % CLASSES);
            draw(&b, of, n, only);
            if (b.p.type != t || (class && strcmp(class, class_names[of]) != 0) ||
                (b.slices && n % b.slices != b.slice))
                continue;
            if (bench_now() < b.deadline)
                run_problem(&b, of);
            else
                left_out++;
        }
        b.state = seed;
    }
    print_means(&b);
    if (b.tried) {
        printf("%d of %d choices are within 5 %% of the fastest way\n", b.near, b.tried);
        report_number(&b.r, b.tried, "tried.count");
        report_number(&b.r, (double)b.near / b.tried, "within_5_percent.share");
    }
    if (left_out)
        printf("there was no time for %d shapes\n", left_out);
    drop_pools(&b);
    kiln_stream_free(b.stream);
    free(b.values[0]);
    free(b.values[1]);
    return report_end(&b.r);
}
