// kiln bench OP: how fast a row of ops/ops.def is on a device. The cases are those of its suite
// (ops/NAME/cases.def) that are for benchmarks. Each is timed with tensors that stay in the cache
// (warm) and with copies of them that take turns (cold), and set beside the fastest copy of memory
// that the same process measures. Convolutions have cuDNN beside them with --against
// (bench_cudnn.c). Start at bench_op.
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "ops/conv/suite.h"

enum { MAX_COPIES = BENCH_COPIES, MAX_CASES = 64 };

typedef struct op_bench {
    kiln *k;
    const op_suite *suite;
    op_pass pass;
    uint32_t types;
    op_case cases[MAX_CASES];
    size_t case_count;
    suite_run runs[MAX_COPIES];
    int copies;
    bench_table table;
} op_bench;

bool bench_is_op(const char *name)
{
    return op_suite_find(name) != NULL;
}

const char *bench_nearest_op(const char *name)
{
    const char *best = NULL;
    unsigned distance = 3;
    for (const op_suite *const *s = op_suites; *s; s++)
        if (str_nearer(str_of(name), (*s)->name, &distance))
            best = (*s)->name;
    return best;
}

// --- what is measured

// Bytes that a pass cannot do without: forward reads inputs and writes outputs; backward reads both
// the inputs and the gradients of the outputs, and writes gradients of inputs.
static double bytes_of(const op_suite *s, const op_case *c, kiln_type type, op_pass pass)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, type, tensors);
    double bytes = 0;
    for (uint32_t n = 0; n < count; n++) {
        double size = (double)kiln_type_size(tensors[n].type);
        for (uint32_t d = 0; d < tensors[n].rank; d++)
            size *= (double)tensors[n].sizes[d];
        if (tensors[n].role == ROLE_SCRATCH)
            continue;
        bytes += size;
        if (pass == PASS_BACKWARD && tensors[n].role == ROLE_INPUT && tensors[n].has_gradient)
            bytes += size;
    }
    return bytes;
}

static kiln_status call_one(void *user, int round)
{
    op_bench *b = user;
    return suite_call(&b->runs[round % b->copies], b->pass);
}

// Half of those that memory has room for, where it has not room for all: others need some, too.
static kiln_status prepare(op_bench *b, const op_case *c, kiln_type type, int copies)
{
    kiln_status status = KILN_OK;
    for (b->copies = 0; b->copies < copies && !status; b->copies += !status)
        status = suite_prepare(b->k, b->suite, c, type, b->pass, b->copies ? b->runs : NULL,
                               &b->runs[b->copies]);
    if (status != KILN_E_NO_MEMORY || b->copies < 2)
        return status;
    for (int left = b->copies / 2; b->copies > left;)
        suite_release(&b->runs[--b->copies]);
    return KILN_OK;
}

static void release(op_bench *b, int copies)
{
    while (copies)
        suite_release(&b->runs[--copies]);
    b->copies = 0;
}

// The device's memory at its best: a copy that no cache holds.
kiln_status bench_copy_rate(kiln *k, double bytes, double *out)
{
    const op_suite *copy = op_suite_find("elementwise");
    op_case c = {.tags = SUITE_BENCH, .rank = 1, .sizes = {(uint64_t)(bytes / 8)}};
    op_bench roof = {.k = k, .suite = copy, .pass = PASS_FORWARD};
    bench_times t = {0};
    kiln_status status = prepare(&roof, &c, KILN_F32, 1); // its first row copies
    if (!status)
        status = bench_measure(k, call_one, &roof, &t);
    release(&roof, roof.copies);
    *out = status ? 0 : bytes_of(copy, &c, KILN_F32, PASS_FORWARD) / t.median;
    return status;
}

// cuDNN with the same tensors; false: why not.
static bool prepare_theirs(op_bench *b, const op_case *c, int copies, bench_cudnn *dnn)
{
    kiln_conv_desc forward[MAX_COPIES];
    kiln_conv_backward_desc backward[MAX_COPIES];
    bool is_backward = b->pass == PASS_BACKWARD;
    for (int n = 0; n < copies; n++)
        if (is_backward)
            conv_suite_backward(c, b->runs[n].views, &backward[n]);
        else
            conv_suite_forward(c, b->runs[n].views, &forward[n]);
    return bench_cudnn_conv(dnn, b->k, forward, is_backward ? backward : NULL, copies);
}

static int run_case(op_bench *b, const op_case *given, kiln_type type)
{
    bench_cudnn dnn = {0};
    double difference = 0;
    char name[96];
    op_case c = suite_fitted(b->suite, *given, type, b->table.most_bytes);
    bool is_backward = b->pass == PASS_BACKWARD;
    suite_describe(b->suite, &c, name, sizeof name);
    bench_row r = {.key = "case",
                   .name = name,
                   .pass = is_backward ? "backward" : "forward",
                   .type_name = kiln_type_name(type),
                   .type = type,
                   .bytes = bytes_of(b->suite, &c, type, b->pass),
                   .why = dnn.why};
    if (b->suite->operations) // backward: a product for each of the two operands
        r.operations = b->suite->operations(&c) * (is_backward ? 2 : 1);
    int copies = bench_copies(&b->table, r.bytes);
    kiln_status status = prepare(b, &c, type, copies);
    int prepared = copies = b->copies;
    bench_calls calls = {.ours = call_one, .user = b, .copies = &b->copies, .most_copies = copies};
    if (!status && bench_theirs_is_there(&b->table.theirs) && prepare_theirs(b, &c, copies, &dnn)) {
        status = bench_cudnn_compare(&dnn, call_one, b, &difference);
        calls.theirs = bench_cudnn_call;
        calls.their_user = &dnn;
    }
    if (!status)
        status = bench_row_measure(&b->table, &calls, &r);
    if (!status)
        bench_row_print(&b->table, &r);
    bench_cudnn_free(&dnn);
    release(b, prepared);
    return status ? cli_fail(b->k, status) : bench_is_same(difference);
}

// --- the command line

// "4096x4096,128x768": the cases of the suite with these sizes, each of as many dimensions.
static bool read_sizes(op_bench *b, const char *list)
{
    op_case given[MAX_CASES];
    size_t given_count = b->case_count;
    memcpy(given, b->cases, sizeof given);
    b->case_count = 0;
    while (*list) {
        uint64_t sizes[KILN_MAX_RANK] = {0};
        uint32_t rank = 0;
        char *end = NULL;
        for (const char *at = list; rank < KILN_MAX_RANK; at = end + 1) {
            sizes[rank++] = strtoull(at, &end, 10);
            if (end == at || *end != 'x')
                break;
        }
        if (end == list || (*end && *end != ','))
            return false;
        bool is_used = false;
        for (size_t n = 0; n < given_count; n++) {
            op_case c = given[n];
            bool is_new = c.rank == rank && b->case_count < MAX_CASES;
            memcpy(c.sizes, sizes, sizeof c.sizes);
            for (size_t i = 0; i < b->case_count; i++) // the same but for its sizes before
                is_new = is_new && memcmp(&b->cases[i], &c, sizeof c);
            if (is_new && (!b->suite->is_possible || b->suite->is_possible(&c)))
                b->cases[b->case_count++] = c;
            is_used |= c.rank == rank;
        }
        if (!is_used)
            return false;
        list = end + (*end == ',');
    }
    return b->case_count > 0;
}

static uint32_t type_named(const char *name)
{
    for (int type = 0; type <= KILN_F64; type++)
        if (!strcmp(name, kiln_type_name((kiln_type)type)))
            return (uint32_t)1 << type;
    return 0;
}

static void take_cases(op_bench *b)
{
    for (size_t n = 0; n < b->suite->case_count && b->case_count < MAX_CASES; n++) {
        const op_case *c = &b->suite->cases[n];
        bool is_wanted = c->tags & SUITE_BENCH;
        if (b->pass == PASS_BACKWARD && !suite_has_backward(b->suite, c))
            is_wanted = false;
        if (is_wanted)
            b->cases[b->case_count++] = *c;
    }
}

// The sizes of the cases, each with the window.
static bool take_window(op_bench *b, const char *words)
{
    size_t count = b->case_count;
    b->case_count = 0;
    for (size_t n = 0; n < count; n++) {
        op_case c = b->cases[n];
        bool is_new = conv_suite_read(&c, words);
        if (!is_new)
            return false;
        for (size_t i = 0; i < b->case_count; i++)
            is_new = is_new && memcmp(&b->cases[i], &c, sizeof c);
        if (is_new && b->suite->is_possible(&c))
            b->cases[b->case_count++] = c;
    }
    return true;
}

static int run_all(op_bench *b)
{
    int code = EXIT_FINE;
    bool is_any = false;
    for (size_t n = 0; n < b->case_count; n++) {
        char words[96];
        suite_describe(b->suite, &b->cases[n], words, sizeof words);
        b->table.width = (int)strlen(words) > b->table.width ? (int)strlen(words) : b->table.width;
    }
    for (size_t n = 0; n < b->case_count && !code; n++)
        for (int type = 0; type <= KILN_F64 && !code; type++)
            if (b->types & b->cases[n].types & (uint32_t)1 << type) {
                code = run_case(b, &b->cases[n], (kiln_type)type);
                is_any = true;
            }
    return code || is_any ? code
                          : cli_usage("bench", "%s has no case of that type", b->suite->name);
}

int bench_op(const char *name, int argc, char **argv)
{
    op_bench b = {.suite = op_suite_find(name), .types = ~(uint32_t)0};
    const char *device = NULL, *sizes = NULL, *type = NULL, *against = NULL;
    const char *window = NULL;
    bool is_conv = !strcmp(name, "conv");
    setenv("KILN_CPU", "wait", 0); // no interpreted launches among those that are timed
    cli_args args = CLI_ARGS("bench", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        switch (option) {
        case OPT_device: device = args.value; break;
        case OPT_sizes: sizes = args.value; break;
        case OPT_type: type = args.value; break;
        case OPT_json: b.table.is_json = true; break;
        case OPT_svg: b.table.svg = args.value; break;
        case OPT_backward: b.pass = PASS_BACKWARD; break;
        case OPT_against: against = args.value; break;
        case OPT_window: window = args.value; break;
        case OPT_repeat:
            if (!bench_read_rounds(args.value))
                return cli_usage("bench", "--repeat is 1 to 999 rounds");
            break;
        case CLI_WORD:
            if (strcmp(args.value, name) != 0)
                return cli_usage("bench", "'%s' is one word too many", args.value);
            break;
        case CLI_BAD: return EXIT_USAGE;
        default:
            return cli_no_effect("bench", option, args.given[option], "%s has no such thing", name);
        }
    }
    if (b.pass == PASS_BACKWARD && !b.suite->has_backward)
        return cli_usage("bench", "%s has no backward", name);
    if (type && !(b.types = type_named(type)))
        return cli_usage("bench", "there is no type '%s'", type);
    if (bench_theirs_read(&b.table.theirs, name, against))
        return EXIT_USAGE;
    if (window && !is_conv)
        return cli_no_effect("bench", OPT_window, window, "%s has no such thing", name);
    take_cases(&b);
    if (window && !take_window(&b, window))
        return cli_usage("bench", "--window is a list of outputs=, window=, stride=, dilation=, "
                                  "groups= and pad= with small numbers");
    if (sizes && !read_sizes(&b, sizes))
        return cli_usage(
            "bench",
            "--sizes is a list such as 128x768,4096x4096, with as many sizes as a case of %s has",
            name);
    if (b.table.svg && bench_try_svg(b.table.svg))
        return EXIT_WORLD;
    kiln_status status = kiln_open(device, &b.k);
    if (status)
        return cli_fail(NULL, status);
    status = bench_table_open(&b.table, b.k, name);
    if (sizes)
        b.table.most_bytes = 0;
    int code = status ? cli_fail(b.k, status) : run_all(&b);
    if (!status)
        code = bench_table_close(&b.table, name, b.pass == PASS_BACKWARD ? "backward" : "forward",
                                 code);
    kiln_close(b.k);
    return code;
}

// --- the cases of all ops, for people and for bench/gpu/ops.py
int bench_list(int argc, char **argv)
{
    bool is_json = false, is_first = true;
    cli_args args = CLI_ARGS("bench", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        switch (option) {
        case OPT_list: break;
        case OPT_json: is_json = true; break;
        case CLI_BAD: return EXIT_USAGE;
        case CLI_WORD: return cli_usage("bench", "--list takes no '%s'", args.value);
        default:
            return cli_no_effect("bench", option, args.given[option], "--list measures nothing");
        }
    }
    if (is_json)
        printf("[");
    for (const op_suite *const *s = op_suites; *s; s++)
        for (size_t n = 0; n < (*s)->case_count; n++) {
            const op_case *c = &(*s)->cases[n];
            char words[96];
            if (!(c->tags & SUITE_BENCH))
                continue;
            suite_describe(*s, c, words, sizeof words);
            bool has_backward = suite_has_backward(*s, c);
            if (is_json)
                printf("%s\n{\"op\": \"%s\", \"index\": %zu, \"case\": \"%s\", \"backward\": %s, "
                       "\"is_bound_by_memory\": %s, \"types\": [",
                       is_first ? "" : ",", (*s)->name, n, words, has_backward ? "true" : "false",
                       (*s)->operations ? "false" : "true");
            else
                printf("%-12s %-34s%s ", (*s)->name, words,
                       has_backward ? " forward, backward;" : " forward;");
            const char *between = "";
            for (int type = 0; type <= KILN_F64; type++)
                if (c->types >> type & 1) {
                    printf(is_json ? "%s\"%s\"" : "%s%s", between, kiln_type_name((kiln_type)type));
                    between = ", ";
                }
            printf(is_json ? "]}" : "\n");
            is_first = false;
        }
    if (is_json)
        printf("\n]\n");
    return EXIT_FINE;
}
