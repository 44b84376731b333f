// kiln tune matmul MxNxK: the tiles that the library's kernel has for a product, forced one after
// the other. All share the sum of an element among as many blocks as the model's choice does, so
// every one must give the same bits. What is found takes the place of the model's choice for
// products of exactly that size. Start at tune_op.
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/tune.h"
#include "kiln/ops.h"
#include "ops/matmul/host_matmul.h"

typedef struct product {
    kiln_type type, out;
    bool is_tf32;
    uint64_t m, n, k;
    kiln_buffer *buffers[3];
    kiln_matmul_desc desc;
    matmul_list list;
    tune_session s;
    unsigned char *right, *got; // the model's result, a candidate's
} product;

// --- data
static kiln_status new_operand(product *p, int index, kiln_type type, uint64_t count)
{
    kiln_status status = kiln_buffer_new(p->s.k, type, count, &p->buffers[index]);
    size_t bytes = count * kiln_type_size(type);
    uint8_t *data = status || index == 2 ? NULL : malloc(bytes + 1);
    if (!data)
        return status ? status : index == 2 ? KILN_OK : KILN_E_NO_MEMORY;
    bench_fill_random(type, data, bytes);
    status = kiln_write(p->buffers[index], 0, data, count);
    free(data);
    return status;
}

// A layout "nt" means that b is stored as [n, k].
static kiln_status prepare(product *p, const char *layout)
{
    bool a_is_t = layout[0] == 't', b_is_t = layout[1] == 't';
    kiln_status status = new_operand(p, 0, p->type, p->m * p->k);
    if (!status)
        status = new_operand(p, 1, p->type, p->k * p->n);
    if (!status)
        status = new_operand(p, 2, p->out, p->m * p->n);
    if (status)
        return status;
    kiln_view a = a_is_t ? kiln_view_transpose(KILN_VIEW(p->buffers[0], p->k, p->m))
                         : KILN_VIEW(p->buffers[0], p->m, p->k);
    kiln_view b = b_is_t ? kiln_view_transpose(KILN_VIEW(p->buffers[1], p->n, p->k))
                         : KILN_VIEW(p->buffers[1], p->k, p->n);
    p->desc = (kiln_matmul_desc){
        .a = a, .b = b, .out = KILN_VIEW(p->buffers[2], p->m, p->n), .is_tf32 = p->is_tf32};
    size_t bytes = p->m * p->n * kiln_type_size(p->out);
    p->right = malloc(bytes + 1);
    p->got = malloc(bytes + 1);
    return p->right && p->got ? matmul_list_tiles(p->s.k, &p->desc, &p->list) : KILN_E_NO_MEMORY;
}

// --- candidates
static kiln_status reset(void *user)
{
    (void)user; // a product reads nothing that it writes
    return KILN_OK;
}

static kiln_status launch(void *user)
{
    product *p = user;
    return kiln_matmul(p->s.k, &p->desc);
}

static tune_state begin(void *user, size_t index)
{
    product *p = user;
    const matmul_choice *choice = &p->list.all[index];
    tune_candidate *c = &p->s.all[index];
    p->desc.tile_m = index ? choice->m : 0;
    p->desc.tile_n = index ? choice->n : 0;
    p->desc.sm90 = index ? choice->sm90 : (kiln_matmul_sm90){.group = 0};
    size_t count = p->m * p->n, bytes = count * kiln_type_size(p->out);
    unsigned char *got = index ? p->got : p->right;
    memset(got, 0xff, bytes); // NaN: a candidate that writes nothing is seen
    kiln_status status = tune_is_interrupted() ? KILN_E_CANCELLED : KILN_OK;
    if (!status)
        status = kiln_write(p->buffers[2], 0, got, count);
    if (!status)
        status = launch(p);
    if (!status)
        status = kiln_sync(p->s.k);
    if (!status)
        status = kiln_read(p->buffers[2], 0, got, count);
    if (status) {
        snprintf(c->why, sizeof c->why, "%.190s", kiln_last_error(p->s.k)->text);
        return TUNE_FAILED;
    }
    if (!memcmp(got, p->right, bytes))
        return TUNE_TIMED;
    snprintf(c->why, sizeof c->why, "its results are not those of the model's choice");
    return TUNE_WRONG;
}

static int tune(product *p)
{
    char device[TUNED_FIELD];
    p->s.count = p->list.count;
    p->s.all = calloc(p->s.count + 1, sizeof *p->s.all);
    if (!p->s.all || tuned_device(p->s.k, device, &p->s.driver))
        return EXIT_WORLD;
    // The model may have details that no description can ask for: its own choice is not forced.
    snprintf(p->s.all[0].choice, sizeof p->s.all[0].choice, "model=1");
    for (size_t n = 1; n < p->s.count; n++)
        matmul_write_choice(&p->list.all[n], p->s.all[n].choice);
    memcpy(p->s.shape, p->list.shape, sizeof p->list.shape);
    p->s.device = device;
    p->s.program = p->s.title = p->list.program;
    p->s.user = p;
    p->s.begin = begin;
    p->s.reset = reset;
    p->s.launch = launch;
    tune_catch_interrupt(p->s.k);
    bool is_timed = tune_all(&p->s);
    tune_catch_interrupt(NULL);
    if (is_timed)
        return tune_finish(&p->s);
    if (!tune_is_interrupted())
        fprintf(stderr, "kiln tune: the model's choice cannot be timed: %s\n", p->s.all[0].why);
    return tune_is_interrupted() ? EXIT_INTERRUPT : EXIT_KERNEL;
}

// --- the command line
static bool read_sizes(product *p, const char *word)
{
    uint64_t *const sizes[] = {&p->m, &p->n, &p->k};
    for (size_t n = 0; n < COUNT(sizes); n++) {
        char *end;
        long long value = strtoll(word, &end, 10);
        if (end == word || value < 1 || value > 1 << 20)
            return false;
        *sizes[n] = (uint64_t)value;
        word = *end ? end + 1 : end;
        if (*end != (n + 1 < COUNT(sizes) ? 'x' : 0))
            return false;
    }
    return true;
}

int tune_op(int argc, char **argv)
{
    product p = {.m = 0};
    const char *device = NULL, *type = "bf16", *layout = "nt", *what = NULL, *sizes = NULL;
    setenv("KILN_CPU", "wait", 0);  // no interpreted launches among those that are timed
    setenv("KILN_TUNED", "off", 1); // the model's choice is what is compared with
    cli_args args = CLI_ARGS("tune", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        int64_t number;
        switch (option) {
        case OPT_device: device = args.value; break;
        case OPT_json: p.s.is_json = true; break;
        case OPT_tune_type: type = args.value; break;
        case OPT_layout: layout = args.value; break;
        case OPT_repeat:
            if (!cli_number(args.value, &number) || number < 1 || number > 1000)
                return cli_usage("tune", "--repeat is 1 to 1000");
            p.s.repeat = (int)number;
            break;
        case CLI_WORD:
            if (sizes)
                return cli_usage("tune", "'%s' is one word too many", args.value);
            *(what ? &sizes : &what) = args.value;
            break;
        case CLI_BAD: return EXIT_USAGE;
        default:
            return cli_no_effect("tune", option, args.given[option], "%s has no such thing",
                                 what ? what : "an op");
        }
    }
    if (!sizes || !read_sizes(&p, sizes))
        return cli_usage("tune",
                         "%s takes a shape such as 4096x4096x1024: rows, columns, length of "
                         "the sum",
                         what);
    if (!bench_read_type(type, &p.type, &p.out, &p.is_tf32))
        return cli_usage("tune", "%s has no type '%s'", what, type);
    kiln_status status = kiln_open(device, &p.s.k);
    if (status)
        return cli_fail(NULL, status);
    status = prepare(&p, layout);
    int code = status ? cli_fail(p.s.k, status) : tune(&p);
    for (size_t n = 0; n < COUNT(p.buffers); n++)
        kiln_buffer_free(p.buffers[n]);
    free(p.right);
    free(p.got);
    free(p.s.all);
    kiln_close(p.s.k);
    return code;
}
