// kiln bench: how fast the operations of the library are on a device. Matrix products and attention
// are here, in sizes of the command line; --against has another library beside them
// (bench_theirs.c). The other ops are rows of ops.def: bench_op.c. bench_row.c prints the table of
// all of them. `make gpu-bench` has more to compare with, and more shapes. Start at cli_bench.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "kiln/ops.h"

enum { MAX_SIZES = 64, NUMBERS = 6 };

typedef struct size { // as it was written: 1024, 64x4096x4096 …
    int64_t numbers[NUMBERS];
    int count;
} size;

typedef struct set { // a call, and its buffers
    kiln_matmul_desc matmul;
    kiln_attention_desc forward;
    kiln_attention_backward_desc backward;
    kiln_buffer *buffers[16];
    int buffer_count;
} set;

typedef struct bench {
    kiln *k;
    kiln_type type, out;
    const char *type_name;
    bool is_matmul, is_tf32, is_causal, is_backward;
    uint32_t dim, tile_m, tile_n; // of the tile; 0: kiln_matmul chooses
    size sizes[MAX_SIZES];
    int size_count;
    set *sets; // BENCH_COPIES of them, of the same size
    int copies;
    bench_table table;
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

// first: the same buffer of the first set, whose data it gets; NULL: it is that.
static kiln_status new_buffer(bench *b, set *s, kiln_type type, size_t count, bool is_input,
                              kiln_buffer **out)
{
    kiln_status status = kiln_buffer_new(b->k, type, count, out);
    if (status)
        return status;
    const kiln_buffer *first = s == b->sets ? NULL : b->sets[0].buffers[s->buffer_count];
    s->buffers[s->buffer_count++] = *out;
    if (!is_input)
        return KILN_OK;
    if (first)
        return kiln_copy(&(kiln_copy_desc){.to = *out, .from = first, .count = count});
    size_t bytes = count * kiln_type_size(type);
    uint8_t *data = malloc(bytes);
    if (!data)
        return KILN_OK;
    bench_fill_random(type, data, bytes);
    status = kiln_write(*out, 0, data, count);
    free(data);
    return status;
}

static kiln_status new_view(bench *b, set *s, kiln_type type, uint32_t rank, const uint64_t *sizes,
                            bool is_input, kiln_view *out)
{
    size_t count = 1;
    for (uint32_t n = 0; n < rank; n++)
        count *= sizes[n];
    kiln_buffer *buffer = NULL;
    kiln_status status = new_buffer(b, s, type, count, is_input, &buffer);
    *out = kiln_view_of(buffer, rank, sizes);
    return status;
}

// --- what is measured

static kiln_status call(void *user, int round)
{
    bench *b = user;
    const set *s = &b->sets[round % b->copies];
    if (b->is_matmul)
        return kiln_matmul(b->k, &s->matmul);
    return b->is_backward ? kiln_attention_backward(b->k, &s->backward)
                          : kiln_attention_forward(b->k, &s->forward);
}

// Rows, columns, length of the sum; 1024: all of them.
static void matmul_sizes(size s, int64_t *m, int64_t *n, int64_t *k)
{
    *m = s.numbers[0];
    *n = s.count > 1 ? s.numbers[1] : *m;
    *k = s.count > 2 ? s.numbers[2] : *m;
}

static kiln_status prepare_matmul(bench *b, size s, set *to)
{
    int64_t m, n, k;
    matmul_sizes(s, &m, &n, &k);
    kiln_buffer *left = NULL, *right = NULL, *out = NULL;
    kiln_status status = new_buffer(b, to, b->type, (size_t)(m * k), true, &left);
    if (!status)
        status = new_buffer(b, to, b->type, (size_t)(n * k), true, &right);
    if (!status)
        status = new_buffer(b, to, b->out, (size_t)(m * n), false, &out);
    uint64_t rows = (uint64_t)m, columns = (uint64_t)n, depth = (uint64_t)k;
    to->matmul = (kiln_matmul_desc){.a = KILN_VIEW(left, rows, depth),
                                    .b = kiln_view_transpose(KILN_VIEW(right, columns, depth)),
                                    .out = KILN_VIEW(out, rows, columns),
                                    .tile_m = b->tile_m,
                                    .tile_n = b->tile_n,
                                    .is_tf32 = b->is_tf32};
    return status;
}

// Batch, heads, heads of keys, queries, keys, head dimension. 1024: the length; then a GPU gets as
// much work as 16384 tokens of 2048 numbers are.
static void attention_sizes(const bench *b, size s, uint64_t out[6])
{
    int64_t length = s.numbers[0], heads = 2048 / b->dim,
            batch = length < 16384 ? 16384 / length : 1;
    kiln_device_info info;
    if (!kiln_device_info_of(b->k, &info) && !info.caps.sm)
        heads = batch = 1; // not a GPU
    const int64_t of_length[] = {batch, heads, heads, length, length, b->dim},
                  of_four[] = {s.numbers[0], s.numbers[1], s.numbers[1],
                               s.numbers[2], s.numbers[2], s.numbers[3]};
    const int64_t *from = s.count == 1 ? of_length : s.count == 4 ? of_four : s.numbers;
    for (int n = 0; n < 6; n++)
        out[n] = (uint64_t)(from[n] > 0 ? from[n] : 1);
}

static kiln_status prepare_attention(bench *b, size s, set *to)
{
    uint64_t n[6];
    attention_sizes(b, s, n);
    const uint64_t sizes[] = {n[0], n[1], n[3], n[5]}, of_keys[] = {n[0], n[2], n[4], n[5]};
    kiln_view t[8] = {{.buffer = NULL}}, lse = {0}; // q k v out dout dq dk dv
    kiln_status status = KILN_OK;
    for (int i = 0; i < (b->is_backward ? 8 : 4) && !status; i++) {
        bool is_of_keys = i == 1 || i == 2 || i > 5;
        status = new_view(b, to, b->type, 4, is_of_keys ? of_keys : sizes, i < 3 || i == 4, &t[i]);
    }
    if (!status)
        status = new_view(b, to, KILN_F32, 3, sizes, false, &lse);
    if (status)
        return status;
    to->forward = (kiln_attention_desc){
        .q = t[0], .k = t[1], .v = t[2], .out = t[3], .lse = lse, .is_causal = b->is_causal};
    if (!b->is_backward)
        return status;
    to->backward = (kiln_attention_backward_desc){.q = t[0],
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
    status = kiln_attention_forward(b->k, &to->forward);
    if (!status)
        status = kiln_attention_backward_workspace(b->k, &to->backward, &elements);
    if (!status)
        status = new_view(b, to, KILN_F32, 1, &elements, false, &to->backward.workspace);
    return status;
}

// Pairs of a query and a key that it sees: with a causal mask the last one sees them all.
static double pairs_of(const bench *b, double queries, double keys)
{
    if (!b->is_causal)
        return queries * keys;
    return queries < keys ? queries * (keys - queries / 2) : keys * keys / 2;
}

static double operations(const bench *b, size s)
{
    uint64_t a[6];
    int64_t m, n, k;
    if (b->is_matmul) {
        matmul_sizes(s, &m, &n, &k);
        return 2.0 * (double)m * (double)n * (double)k;
    }
    attention_sizes(b, s, a);
    double pairs = pairs_of(b, (double)a[3], (double)a[4]) * (double)(a[0] * a[1]);
    return pairs * (double)a[5] * (b->is_backward ? 10 : 4);
}

// Bytes of operands, results and gradients, each once.
static double bytes_of(const bench *b, size s)
{
    uint64_t a[6];
    int64_t m, n, k;
    double in = (double)kiln_type_size(b->type), out = (double)kiln_type_size(b->out);
    if (b->is_matmul) {
        matmul_sizes(s, &m, &n, &k);
        return in * (double)(m * k + n * k) + out * (double)(m * n);
    }
    attention_sizes(b, s, a);
    double of_q = (double)(a[0] * a[1] * a[3] * a[5]), of_k = (double)(a[0] * a[2] * a[4] * a[5]);
    return in * (2 * of_q + 2 * of_k) * (b->is_backward ? 2 : 1);
}

static void drop_sets(bench *b)
{
    for (int n = 0; n < BENCH_COPIES; n++) {
        for (int i = 0; i < b->sets[n].buffer_count; i++)
            kiln_buffer_free(b->sets[n].buffers[i]);
        b->sets[n] = (set){.buffer_count = 0};
    }
}

// "64x4096x4096"
static void size_name(const bench *b, size s, char *out, size_t room)
{
    size_t at = 0;
    if (b->is_matmul) {
        matmul_sizes(s, &s.numbers[0], &s.numbers[1], &s.numbers[2]);
        s.count = 3;
    }
    for (int n = 0; n < s.count; n++)
        at +=
            (size_t)snprintf(out + at, room - at, "%s%lld", n ? "x" : "", (long long)s.numbers[n]);
}

static bool prepare_cudnn(bench *b, int copies, bench_cudnn *dnn)
{
    kiln_attention_desc forward[BENCH_COPIES];
    kiln_attention_backward_desc backward[BENCH_COPIES];
    for (int n = 0; n < copies; n++) {
        forward[n] = b->sets[n].forward;
        backward[n] = b->sets[n].backward;
    }
    return bench_cudnn_attention(dnn, b->k, forward, b->is_backward ? backward : NULL, copies);
}

static int run_size(bench *b, size s)
{
    bench_cudnn dnn = {.copies = 0};
    bench_cublas blas = {.k = NULL};
    kiln_matmul_desc products[BENCH_COPIES];
    double difference = 0;
    char name[128];
    size_name(b, s, name, sizeof name);
    bench_row r = {.key = "size",
                   .name = name,
                   .pass = b->is_backward ? "backward" : "forward",
                   .type_name = b->type_name,
                   .type = b->type,
                   .is_tf32 = b->is_tf32,
                   .bytes = bytes_of(b, s),
                   .operations = operations(b, s),
                   .why = b->is_matmul ? "it has no such product" : dnn.why};
    int copies = bench_copies(&b->table, r.bytes);
    kiln_status status = KILN_OK;
    for (int n = 0; n < copies && !status; n++)
        status =
            b->is_matmul ? prepare_matmul(b, s, &b->sets[n]) : prepare_attention(b, s, &b->sets[n]);
    b->copies = copies;
    bench_calls calls = {.ours = call, .user = b, .copies = &b->copies, .most_copies = copies};
    if (!status && bench_theirs_is_there(&b->table.theirs)) {
        if (b->is_matmul) {
            for (int n = 0; n < copies; n++)
                products[n] = b->sets[n].matmul;
            if (bench_cublas_prepare(&blas, b->k, !strcmp(b->table.theirs.name, "cublaslt"),
                                     products, &b->copies)) {
                calls.theirs = bench_cublas_call;
                calls.their_user = &blas;
            }
        } else if (prepare_cudnn(b, copies, &dnn)) {
            calls.theirs = bench_cudnn_call;
            calls.their_user = &dnn;
            status = bench_cudnn_compare(&dnn, call, b, &difference);
        }
    }
    if (!status)
        status = bench_row_measure(&b->table, &calls, &r);
    if (!status)
        bench_row_print(&b->table, &r);
    bench_cudnn_free(&dnn);
    bench_cublas_free(&blas);
    drop_sets(b);
    return status ? cli_fail(b->k, status) : bench_is_same(difference);
}

static int run(bench *b)
{
    int code = EXIT_FINE;
    for (int i = 0; i < b->size_count; i++) {
        char name[128];
        size_name(b, b->sizes[i], name, sizeof name);
        b->table.width = (int)strlen(name) > b->table.width ? (int)strlen(name) : b->table.width;
    }
    for (int i = 0; i < b->size_count && !code; i++)
        code = run_size(b, b->sizes[i]);
    return code;
}

// --- the command line

// "1024" or "64x4096x4096", separated by commas. Attention: one number, four or six.
static bool read_sizes(bench *b, const char *list)
{
    b->size_count = 0;
    while (*list) {
        size s = {.count = 0};
        char *end = NULL;
        bool is_bad = b->size_count == MAX_SIZES;
        for (const char *at = list; s.count < NUMBERS; at = end + 1) {
            int64_t number = strtoll(at, &end, 10);
            is_bad |= end == at || number < 1 || number > 1 << 20;
            s.numbers[s.count++] = number;
            if (*end != 'x')
                break;
        }
        is_bad |= *end && *end != ',';
        is_bad |= b->is_matmul ? s.count > 3 : s.count != 1 && s.count != 4 && s.count != 6;
        if (is_bad)
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

static bool read_type(bench *b, const char *name)
{
    if (!bench_read_type(name, &b->type, &b->out, &b->is_tf32))
        return false;
    bool has_attention = b->type == KILN_BF16 || b->type == KILN_F16 || b->type == KILN_F32;
    b->type_name = name;
    return b->is_matmul || (has_attention && !b->is_tf32);
}

static bool read_tile(bench *b, const char *word)
{
    char *end;
    unsigned long m = strtoul(word, &end, 10), n = *end == 'x' ? strtoul(end + 1, &end, 10) : 0;
    b->tile_m = (uint32_t)m;
    b->tile_n = (uint32_t)n;
    return !*end && m - 1 < 1024 && n - 1 < 1024;
}

static const char *default_sizes(const bench *b)
{
    kiln_device_info info;
    bool is_gpu = !kiln_device_info_of(b->k, &info) && info.caps.sm;
    if (!is_gpu)
        return b->is_matmul ? "64,128,256" : "64,128";
    return b->is_matmul ? "256,512,1024,2048,4096,8192" : "1024,4096,16384";
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
    bench b = {.dim = 128, .table.width = 16};
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
    const char *what = "", *device = NULL, *sizes = NULL, *type = "bf16", *tile = NULL, *dim = NULL;
    int64_t number = 0;
    const char *against = NULL;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        switch (option) {
        case OPT_device: device = args.value; break;
        case OPT_sizes: sizes = args.value; break;
        case OPT_json: b.table.is_json = true; break;
        case OPT_svg: b.table.svg = args.value; break;
        case OPT_tile: tile = args.value; break;
        case OPT_against: against = args.value; break;
        case OPT_causal: b.is_causal = true; break;
        case OPT_backward: b.is_backward = true; break;
        case OPT_dim: dim = args.value; break;
        case OPT_type: type = args.value; break;
        case OPT_repeat:
            if (!bench_read_rounds(args.value))
                return cli_usage("bench", "--repeat is 1 to 999 rounds");
            break;
        case CLI_WORD:
            if (*what)
                return cli_usage("bench", "'%s' is one word too many", args.value);
            what = args.value;
            break;
        case CLI_BAD: return EXIT_USAGE;
        default:
            return cli_no_effect("bench", option, args.given[option], "%s has no such thing",
                                 first ? first : "it");
        }
    }
    b.is_matmul = !strcmp(what, "matmul");
    if (!*what)
        return cli_usage("bench", "of what?");
    if (!b.is_matmul && strcmp(what, "attention") != 0) {
        const char *near = bench_nearest_op(what);
        return cli_usage("bench", "there is no benchmark '%s', and no such file%s%s%s", what,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    static const int of_matmul[] = {OPT_tile, 0},
                     of_attention[] = {OPT_dim, OPT_causal, OPT_backward, 0};
    for (const int *other = b.is_matmul ? of_attention : of_matmul; *other; other++)
        if (args.given[*other])
            return cli_no_effect("bench", *other, args.given[*other], "%s has no such thing", what);
    if (tile && !read_tile(&b, tile))
        return cli_usage("bench", "--tile is rows and columns such as 128x256");
    if (!read_type(&b, type))
        return cli_usage("bench", "%s has no type '%s'", what, type);
    if (dim && (!cli_number(dim, &number) || number < 8 || number > 1024))
        return cli_usage("bench", "--dim is 8 to 1024");
    if (dim)
        b.dim = (uint32_t)number;
    if (bench_theirs_read(&b.table.theirs, what, against))
        return EXIT_USAGE;
    if (b.table.svg && bench_try_svg(b.table.svg))
        return EXIT_WORLD;
    kiln_status status = kiln_open(device, &b.k);
    if (status)
        return cli_fail(NULL, status);
    if (!read_sizes(&b, sizes ? sizes : default_sizes(&b))) {
        kiln_close(b.k);
        return cli_usage("bench", b.is_matmul ? "--sizes is a list such as 512,1024 or 64x4096x4096"
                                              : "--sizes is a list such as 1024,4x16x2048x128 or "
                                                "4x16x2x2048x2048x128 for attention");
    }
    b.sets = calloc(BENCH_COPIES, sizeof *b.sets);
    status = b.sets ? bench_table_open(&b.table, b.k, what) : KILN_E_NO_MEMORY;
    int code = status ? cli_fail(b.k, status) : run(&b);
    if (!status)
        code = bench_table_close(&b.table, what, b.is_backward ? "backward" : "forward", code);
    free(b.sets);
    kiln_close(b.k);
    return code;
}
