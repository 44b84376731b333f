// kiln tune OP SHAPE: the command line of the ops that can be tuned, and what they share: random
// operands, one run of a candidate, the comparison. Start at tune_op.
#include "cli/tune_op.h"

#include <stdlib.h>
#include <string.h>

// --- what ops share
kiln_status tune_new_operand(kiln *k, kiln_type type, uint64_t count, bool is_random,
                             kiln_buffer **out)
{
    kiln_status status = kiln_buffer_new(k, type, count, out);
    size_t bytes = count * kiln_type_size(type);
    if (status || !is_random)
        return status;
    uint8_t *data = malloc(bytes + 1);
    if (!data)
        return KILN_E_NO_MEMORY;
    bench_fill_random(type, data, bytes);
    status = kiln_write(*out, 0, data, count);
    free(data);
    return status;
}

bool tune_list(tune_session *s, size_t count)
{
    s->count = count;
    s->all = calloc(count + 1, sizeof *s->all);
    return s->all != NULL;
}

tune_state tune_run_once(tune_session *s, tune_candidate *c, kiln_buffer *result, void *got,
                         uint64_t count, size_t bytes)
{
    memset(got, 0xff, bytes); // NaN: a candidate that writes nothing is seen
    kiln_status status = tune_is_interrupted() ? KILN_E_CANCELLED : KILN_OK;
    if (!status)
        status = kiln_write(result, 0, got, count);
    if (!status)
        status = s->launch(s->user);
    if (!status)
        status = kiln_sync(s->k);
    if (!status)
        status = kiln_read(result, 0, got, count);
    if (!status)
        return TUNE_TIMED;
    snprintf(c->why, sizeof c->why, "%.190s", kiln_last_error(s->k)->text);
    return TUNE_FAILED;
}

static kiln_status reset(void *user)
{
    (void)user; // an op reads nothing that it writes
    return KILN_OK;
}

int tune_compare(tune_session *s, const char *program)
{
    char device[TUNED_FIELD];
    if (tuned_device(s->k, device, &s->driver))
        return EXIT_WORLD;
    s->device = device;
    s->program = s->title = program;
    s->reset = reset;
    tune_catch_interrupt(s->k);
    bool is_timed = tune_all(s);
    tune_catch_interrupt(NULL);
    if (is_timed)
        return tune_finish(s);
    if (!tune_is_interrupted())
        fprintf(stderr, "kiln tune: the model's choice cannot be timed: %s\n", s->all[0].why);
    return tune_is_interrupted() ? EXIT_INTERRUPT : EXIT_KERNEL;
}

// --- the command line
enum { HAS_LAYOUT = 1, HAS_CAUSAL = 2 };
static const struct op {
    const char *name;
    int (*tune)(tune_request *r);
    size_t counts[2]; // of the numbers of a shape
    unsigned options;
    const char *shape;
} ops[] = {
    {"matmul", tune_matmul, {3, 3}, HAS_LAYOUT, "4096x4096x1024: rows, columns, length of the sum"},
    {"attention",
     tune_attention,
     {4, 6},
     HAS_CAUSAL,
     "4x16x2048x128: batch, heads, length, head dimension; or 4x16x2x1x8192x128: with heads of "
     "keys, "
     "queries and keys"},
};

static const struct op *op_named(const char *name)
{
    for (size_t n = 0; n < COUNT(ops); n++)
        if (!strcmp(ops[n].name, name))
            return &ops[n];
    return NULL;
}

bool tune_is_op(const char *name)
{
    return op_named(name) != NULL;
}

// "4096x4096x1024"
static bool read_sizes(tune_request *r, const struct op *op, const char *word)
{
    for (r->size_count = 0; r->size_count < TUNE_SIZES;) {
        char *end;
        long long value = strtoll(word, &end, 10);
        if (end == word || value < 1 || value > 1 << 20)
            return false;
        r->sizes[r->size_count++] = (uint64_t)value;
        if (!*end)
            return r->size_count == op->counts[0] || r->size_count == op->counts[1];
        if (*end != 'x')
            return false;
        word = end + 1;
    }
    return false;
}

static int read_options(tune_request *r, cli_args *args, const char **device, const struct op **out)
{
    const char *type = "bf16", *what = NULL, *sizes = NULL;
    bool has_layout = false;
    for (int option; (option = cli_next(args)) != CLI_END;) {
        int64_t number;
        switch (option) {
        case OPT_device: *device = args->value; break;
        case OPT_json: r->s.is_json = true; break;
        case OPT_tune_type: type = args->value; break;
        case OPT_layout:
            r->layout = args->value;
            has_layout = true;
            break;
        case OPT_tune_causal: r->is_causal = true; break;
        case OPT_repeat:
            if (!cli_number(args->value, &number) || number < 1 || number > 1000)
                return cli_usage("tune", "--repeat is 1 to 1000");
            r->s.repeat = (int)number;
            break;
        case CLI_WORD:
            if (sizes)
                return cli_usage("tune", "'%s' is one word too many", args->value);
            *(what ? &sizes : &what) = args->value;
            break;
        case CLI_BAD: return EXIT_USAGE;
        default:
            return cli_no_effect("tune", option, args->given[option], "%s has no such thing",
                                 what ? what : "an op");
        }
    }
    const struct op *op = what ? op_named(what) : NULL;
    if (!op)
        return cli_usage("tune", "there is no op '%s' that can be tuned, and no such file", what);
    if (has_layout && !(op->options & HAS_LAYOUT))
        return cli_no_effect("tune", OPT_layout, r->layout, "%s has no such thing", what);
    if (r->is_causal && !(op->options & HAS_CAUSAL))
        return cli_no_effect("tune", OPT_tune_causal, NULL, "%s has no such thing", what);
    if (!sizes || !read_sizes(r, op, sizes))
        return cli_usage("tune", "%s takes a shape such as %s", what, op->shape);
    bool is_type = bench_read_type(type, &r->type, &r->out, &r->is_tf32);
    if (!is_type || (op->tune == tune_attention && r->type != KILN_BF16 && r->type != KILN_F16))
        return cli_usage("tune", "%s has no type '%s'", what, type);
    *out = op;
    return EXIT_FINE;
}

int tune_op(int argc, char **argv)
{
    tune_request r = {.layout = "nt"};
    const char *device = NULL;
    setenv("KILN_CPU", "wait", 0);  // no interpreted launches among those that are timed
    setenv("KILN_TUNED", "off", 1); // the model's choice is what is compared with
    cli_args args = CLI_ARGS("tune", argc, argv);
    const struct op *op = NULL;
    int code = read_options(&r, &args, &device, &op);
    if (code)
        return code;
    kiln_status status = kiln_open(device, &r.s.k);
    if (status)
        return cli_fail(NULL, status);
    code = op->tune(&r);
    free(r.s.all);
    kiln_close(r.s.k);
    return code;
}
