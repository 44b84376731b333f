// kiln bench: how fast the operations of the library are on a device. Matrix products and attention
// are here: a table of sizes with the median time of a call and what that is in floating-point
// operations; --against has cuBLAS beside it (bench_theirs.c). The other ops are rows of ops.def:
// bench_op.c. `make gpu-bench` has the comparison with cuBLASLt, cuDNN and the like, in turns.
// Start at cli_bench.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "kiln/ops.h"

enum { MAX_SIZES = 32 };

typedef struct size {
    int64_t m, n, k; // attention: m is the length
} size;

typedef struct bench {
    kiln *k;
    kiln_type type, out;
    bool is_tf32, is_causal, is_backward, is_json, is_against;
    uint32_t dim, tile_m, tile_n; // of the tile; 0: kiln_matmul chooses
    size sizes[MAX_SIZES];
    int size_count;
    kiln_matmul_desc matmul;
    kiln_attention_desc forward;
    kiln_attention_backward_desc backward;
    kiln_buffer *buffers[16];
    int buffer_count;
    double ratios[MAX_SIZES]; // is_against: their time, by ours
} bench;

static const struct type_name {
    const char *name;
    kiln_type type, out;
    bool is_tf32;
} types[] = {
    {"bf16", KILN_BF16, KILN_BF16, false}, {"f16", KILN_F16, KILN_F16, false},
    {"tf32", KILN_F32, KILN_F32, true},    {"f32", KILN_F32, KILN_F32, false},
    {"e4m3", KILN_F8E4, KILN_BF16, false}, {"s8", KILN_I8, KILN_I32, false},
};

// --- data

// Small numbers of every type by their bits: floats around 1 of both signs, bytes in -8 … 7.
void bench_fill_random(kiln_type type, uint8_t *to, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint8_t word = (uint8_t)(state >> 56);
        size_t size_of = kiln_type_size(type), place = i % size_of;
        if (type == KILN_I8)
            to[i] = (uint8_t)((word & 15) - 8);
        else if (type == KILN_F8E4)
            to[i] = (uint8_t)((word & 0x87) | 0x30);
        else if (place == size_of - 1) // sign and exponent
            to[i] = (uint8_t)((word & 0x80) | (type == KILN_F16 ? 0x38 | (word & 3) : 0x3f));
        else
            to[i] = place == size_of - 2 && type != KILN_F16 ? word & 0x7f : word;
    }
}

static kiln_status new_buffer(bench *b, kiln_type type, size_t count, bool is_input,
                              kiln_buffer **out)
{
    kiln_status status = kiln_buffer_new(b->k, type, count, out);
    if (status)
        return status;
    b->buffers[b->buffer_count++] = *out;
    size_t bytes = count * kiln_type_size(type);
    uint8_t *data = is_input ? malloc(bytes) : NULL;
    if (!data)
        return KILN_OK;
    bench_fill_random(type, data, bytes);
    status = kiln_write(*out, 0, data, count);
    free(data);
    return status;
}

static kiln_status new_view(bench *b, kiln_type type, uint32_t rank, const uint64_t *sizes,
                            bool is_input, kiln_view *out)
{
    size_t count = 1;
    for (uint32_t n = 0; n < rank; n++)
        count *= sizes[n];
    kiln_buffer *buffer = NULL;
    kiln_status status = new_buffer(b, type, count, is_input, &buffer);
    *out = kiln_view_of(buffer, rank, sizes);
    return status;
}

// --- what is measured

static kiln_status call(void *user, int round)
{
    bench *b = user;
    (void)round;
    if (b->matmul.a.buffer)
        return kiln_matmul(b->k, &b->matmul);
    return b->is_backward ? kiln_attention_backward(b->k, &b->backward)
                          : kiln_attention_forward(b->k, &b->forward);
}

static kiln_status call_theirs(void *user, int round)
{
    const bench *b = user;
    (void)round;
    return bench_theirs_matmul(&b->matmul);
}

static kiln_status prepare_matmul(bench *b, size s)
{
    kiln_buffer *left = NULL, *right = NULL, *out = NULL;
    kiln_status status = new_buffer(b, b->type, (size_t)(s.m * s.k), true, &left);
    if (!status)
        status = new_buffer(b, b->type, (size_t)(s.n * s.k), true, &right);
    if (!status)
        status = new_buffer(b, b->out, (size_t)(s.m * s.n), false, &out);
    uint64_t rows = (uint64_t)s.m, columns = (uint64_t)s.n, depth = (uint64_t)s.k;
    b->matmul = (kiln_matmul_desc){.a = KILN_VIEW(left, rows, depth),
                                   .b = kiln_view_transpose(KILN_VIEW(right, columns, depth)),
                                   .out = KILN_VIEW(out, rows, columns),
                                   .tile_m = b->tile_m,
                                   .tile_n = b->tile_n,
                                   .is_tf32 = b->is_tf32};
    return status;
}

static kiln_status prepare_attention(bench *b, size s)
{
    uint32_t heads = 2048 / b->dim, batch = s.m < 16384 ? (uint32_t)(16384 / s.m) : 1;
    kiln_device_info info;
    if (!kiln_device_info_of(b->k, &info) && !info.caps.sm)
        heads = batch = 1; // not a GPU
    const uint64_t length = (uint64_t)s.m, sizes[] = {batch, heads, length, b->dim};
    kiln_view t[8] = {{.buffer = NULL}}, lse; // q k v out dout dq dk dv
    kiln_status status = KILN_OK;
    for (int i = 0; i < (b->is_backward ? 8 : 4) && !status; i++)
        status = new_view(b, b->type, 4, sizes, i < 3 || i == 4, &t[i]);
    if (!status)
        status = new_view(b, KILN_F32, 3, sizes, false, &lse);
    if (status)
        return status;
    b->forward = (kiln_attention_desc){
        .q = t[0], .k = t[1], .v = t[2], .out = t[3], .lse = lse, .is_causal = b->is_causal};
    if (!b->is_backward)
        return status;
    b->backward = (kiln_attention_backward_desc){.q = t[0],
                                                 .k = t[1],
                                                 .v = t[2],
                                                 .out = t[3],
                                                 .lse = lse,
                                                 .dout = t[4],
                                                 .dq = t[5],
                                                 .dk = t[6],
                                                 .dv = t[7],
                                                 .is_causal = b->is_causal};
    uint64_t elements = 0;
    status = kiln_attention_forward(b->k, &b->forward);
    if (!status)
        status = kiln_attention_backward_workspace(b->k, &b->backward, &elements);
    if (!status)
        status = new_view(b, KILN_F32, 1, &elements, false, &b->backward.workspace);
    return status;
}

static double operations(const bench *b, size s)
{
    if (b->matmul.a.buffer)
        return 2.0 * (double)s.m * (double)s.n * (double)s.k;
    double pairs =
        (double)(b->forward.q.sizes[0] * b->forward.q.sizes[1]) * (double)s.m * (double)s.m;
    return pairs * b->dim * (b->is_backward ? 10 : 4) * (b->is_causal ? 0.5 : 1);
}

static void drop_buffers(bench *b)
{
    for (int i = 0; i < b->buffer_count; i++)
        kiln_buffer_free(b->buffers[i]);
    b->buffer_count = 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_ratios(bench *b)
{
    int count = b->size_count;
    qsort(b->ratios, (size_t)count, sizeof *b->ratios, by_value);
    if (b->is_json)
        printf("], \"cublas\": {\"worst\": %.4f, \"median\": %.4f, \"best\": %.4f}}\n",
               b->ratios[0], b->ratios[count / 2], b->ratios[count - 1]);
    else
        printf("cuBLAS takes %.3f (worst), %.3f (median), %.3f (best) of our time\n", b->ratios[0],
               b->ratios[count / 2], b->ratios[count - 1]);
}

static void print_row(const bench *b, size s, double seconds, double theirs, bool is_last)
{
    char name[64];
    if (!b->matmul.a.buffer)
        snprintf(name, sizeof name, "%lld", (long long)s.m);
    else
        snprintf(name, sizeof name, "%lldx%lldx%lld", (long long)s.m, (long long)s.n,
                 (long long)s.k);
    double rate = operations(b, s) / seconds * 1e-12;
    char beside[64] = "";
    if (b->is_against)
        snprintf(beside, sizeof beside,
                 b->is_json ? ", \"cublas_us\": %.3f, \"ratio\": %.4f"
                            : "  cuBLAS %10.2f us  ratio %.3f",
                 theirs * 1e6, theirs / seconds);
    if (b->is_json)
        printf("  {\"size\": \"%s\", \"us\": %.3f, \"tflops\": %.4f%s}%s\n", name, seconds * 1e6,
               rate, beside, is_last ? "" : ",");
    else
        printf("  %-20s %12.2f us  %9.2f %cFLOP/s%s\n", name, seconds * 1e6,
               rate < 1 ? rate * 1e3 : rate, rate < 1 ? 'G' : 'T', beside);
}

static int run(bench *b, bool is_matmul)
{
    for (int i = 0; i < b->size_count; i++) {
        bench_times times = {0}, theirs = {0};
        kiln_status status =
            is_matmul ? prepare_matmul(b, b->sizes[i]) : prepare_attention(b, b->sizes[i]);
        if (!status)
            status = bench_measure(b->k, call, b, &times);
        if (!status && b->is_against) { // in turns: the device gets warmer
            bench_times again = {0}, last = {0};
            kiln_status of_theirs = bench_measure(b->k, call_theirs, b, &theirs);
            status = bench_measure(b->k, call, b, &again);
            if (!of_theirs)
                of_theirs = bench_measure(b->k, call_theirs, b, &last);
            if (of_theirs) {
                fprintf(stderr, "kiln bench: cuBLAS has no such product\n");
                return EXIT_WORLD;
            }
            times.median = (times.median + again.median) / 2;
            theirs.median = (theirs.median + last.median) / 2;
            b->ratios[i] = theirs.median / times.median;
        }
        if (status)
            return cli_fail(b->k, status);
        print_row(b, b->sizes[i], times.median, theirs.median, i + 1 == b->size_count);
        drop_buffers(b);
    }
    if (b->is_against)
        print_ratios(b);
    return EXIT_FINE;
}

// --- the command line

// "1024" or "64x4096x4096", separated by commas.
static bool read_sizes(bench *b, const char *list)
{
    b->size_count = 0;
    while (*list) {
        size s;
        char *end;
        s.m = strtoll(list, &end, 10);
        s.n = s.k = s.m;
        if (*end == 'x')
            s.n = strtoll(end + 1, &end, 10);
        if (*end == 'x')
            s.k = strtoll(end + 1, &end, 10);
        bool is_bad = s.m < 1 || s.n < 1 || s.k < 1 || s.m > 1 << 20 || s.n > 1 << 20 ||
                      s.k > 1 << 20 || (*end && *end != ',');
        if (is_bad || b->size_count == MAX_SIZES)
            return false;
        b->sizes[b->size_count++] = s;
        list = end + (*end == ',');
    }
    return b->size_count > 0;
}

bool bench_read_type(const char *name, kiln_type *type, kiln_type *out, bool *is_tf32)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (!strcmp(types[i].name, name)) {
            *type = types[i].type;
            *out = types[i].out;
            *is_tf32 = types[i].is_tf32;
            return true;
        }
    return false;
}

static bool read_type(bench *b, const char *name, bool is_matmul)
{
    if (!bench_read_type(name, &b->type, &b->out, &b->is_tf32))
        return false;
    bool has_attention = b->type == KILN_BF16 || b->type == KILN_F16 || b->type == KILN_F32;
    return is_matmul || (has_attention && !b->is_tf32);
}

static bool read_tile(bench *b, const char *word)
{
    char *end;
    unsigned long m = strtoul(word, &end, 10), n = *end == 'x' ? strtoul(end + 1, &end, 10) : 0;
    b->tile_m = (uint32_t)m;
    b->tile_n = (uint32_t)n;
    return !*end && m - 1 < 1024 && n - 1 < 1024;
}

static const char *default_sizes(const bench *b, bool is_matmul)
{
    kiln_device_info info;
    bool is_gpu = !kiln_device_info_of(b->k, &info) && info.caps.sm;
    if (!is_gpu)
        return is_matmul ? "64,128,256" : "64,128";
    return is_matmul ? "256,512,1024,2048,4096,8192" : "1024,4096,16384";
}

// What is to be measured: the first word that is no option and no option's value.
static const char *first_word(int argc, char **argv)
{
    cli_args args = CLI_ARGS("bench", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;)
        if (option == CLI_WORD)
            return args.value;
        else if (option == CLI_BAD)
            return NULL;
    return NULL;
}

static bool is_listing(int argc, char **argv)
{
    cli_args args = CLI_ARGS("bench", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END && option != CLI_BAD;)
        if (option == OPT_list)
            return true;
    return false;
}

int cli_bench(int argc, char **argv)
{
    bench b = {.dim = 128};
    const char *first = first_word(argc, argv);
    bool is_file = first && (file_exists(first) || strpbrk(first, "./") || !strcmp(first, "-"));
    if (is_file && strcmp(first, "matmul") != 0 && strcmp(first, "attention") != 0)
        return bench_kernel(argc, argv);
    if (is_listing(argc, argv))
        return bench_list(argc, argv);
    if (first && bench_is_op(first) && strcmp(first, "matmul") && strcmp(first, "attention"))
        return bench_op(first, argc, argv);
    setenv("KILN_CPU", "wait", 0); // no interpreted launches among those that are timed
    cli_args args = CLI_ARGS("bench", argc, argv);
    const char *what = "", *device = NULL, *sizes = NULL, *type = "bf16", *tile = NULL;
    const char *against = NULL;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        switch (option) {
        case OPT_device: device = args.value; break;
        case OPT_sizes: sizes = args.value; break;
        case OPT_json: b.is_json = true; break;
        case OPT_tile: tile = args.value; break;
        case OPT_against: against = args.value; break;
        case OPT_causal: b.is_causal = true; break;
        case OPT_backward: b.is_backward = true; break;
        case OPT_dim: b.dim = (uint32_t)atoi(args.value); break;
        case OPT_type: type = args.value; break;
        case CLI_WORD:
            if (*what)
                return cli_usage("bench", "'%s' is one word too many", args.value);
            what = args.value;
            break;
        default: return EXIT_USAGE;
        }
    }
    bool is_matmul = !strcmp(what, "matmul");
    if (!is_matmul && strcmp(what, "attention") != 0)
        return cli_usage(
            "bench", *what ? "there is no benchmark '%s', and no such file" : "of what?%s", what);
    static const int of_matmul[] = {OPT_tile, OPT_against, 0},
                     of_attention[] = {OPT_dim, OPT_causal, OPT_backward, 0};
    for (const int *other = is_matmul ? of_attention : of_matmul; *other; other++)
        if (args.given[*other])
            return cli_no_effect("bench", *other, args.given[*other], "%s has no such thing", what);
    if (tile && !read_tile(&b, tile))
        return cli_usage("bench", "--tile is rows and columns such as 128x256");
    if (!read_type(&b, type, is_matmul))
        return cli_usage("bench", "%s has no type '%s'", what, type);
    if (b.dim < 8 || b.dim > 1024)
        return cli_usage("bench", "--dim is 8 to 1024");
    if (against && strcmp(against, "cublas") != 0)
        return cli_usage("bench", "--against is cublas");
    kiln_status status = kiln_open(device, &b.k);
    if (status)
        return cli_fail(NULL, status);
    const char *why = against ? bench_theirs_open(b.k) : NULL;
    if (why) {
        fprintf(stderr, "kiln bench: %s\n", why);
        kiln_close(b.k);
        return EXIT_WORLD;
    }
    b.is_against = against;
    if (!read_sizes(&b, sizes ? sizes : default_sizes(&b, is_matmul))) {
        kiln_close(b.k);
        return cli_usage("bench", "--sizes is a list such as 512,1024 or 64x4096x4096");
    }
    kiln_device_info info;
    const char *name = kiln_device_info_of(b.k, &info) ? "?" : info.name;
    if (b.is_json)
        printf("{\"bench\": \"%s\", \"device\": \"%s\", \"rows\": [\n", what, name);
    else
        printf("%s on %s\n", what, name);
    int code = run(&b, is_matmul);
    if (b.is_json && !(b.is_against && !code))
        printf("]}\n");
    kiln_close(b.k);
    return code;
}
