// What kiln run and kiln check do before the launch: options, compile, arguments, grid. Kernel
// printf goes to standard output.
#include <signal.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/run.h"

static kiln *volatile running;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (running)
        kiln_cancel(running);
}

// Only the host's own devices stop when told; elsewhere Ctrl-C ends the process, and the driver
// what runs for it. A second one ends it everywhere.
void run_catch_interrupt(run *r)
{
    const char *device = r ? kiln_device_name(r->k) : "";
    bool is_told = !strcmp(device, "interp") || !strcmp(device, "cpu");
    running = is_told ? r->k : NULL;
    struct sigaction action = {.sa_handler = is_told ? on_interrupt : SIG_DFL,
                               .sa_flags = is_told ? (int)SA_RESETHAND : 0};
    sigaction(SIGINT, &action, NULL);
}

static void on_print(void *user, const char *bytes, size_t len)
{
    (void)user;
    fwrite(bytes, 1, len, stdout);
}

static bool parse_triple(const char *word, uint32_t out[3])
{
    uint32_t parsed[3] = {1, 1, 1};
    for (int axis = 0; axis < 3; axis++) {
        char part[32];
        size_t len = strcspn(word, ",x");
        if (!len || len >= sizeof part)
            return false;
        memcpy(part, word, len);
        part[len] = 0;
        int64_t v;
        if (!cli_number(part, &v) || v < 0 || v > UINT32_MAX)
            return false;
        parsed[axis] = (uint32_t)v;
        word += len;
        if (!*word) {
            memcpy(out, parsed, sizeof parsed);
            return true;
        }
        word++;
    }
    return false;
}

// X[,Y[,Z]] of a thread or block to stop in: what is not said is 0.
static bool parse_place(const char *word, uint32_t out[3])
{
    uint32_t parsed[3] = {0, 0, 0};
    for (int axis = 0; axis < 3; axis++) {
        char *end;
        unsigned long v = strtoul(word, &end, 10);
        if (end == word || *word == '-' || v > 0xffffffffu)
            return false;
        parsed[axis] = (uint32_t)v;
        word = end + 1;
        if (*end && *end != ',')
            return false;
        if (!*end) {
            memcpy(out, parsed, sizeof parsed);
            return true;
        }
    }
    return false;
}

// A word that is no option: the file, the kernel, name=value.
static int take_word(run *r, const char *word)
{
    if (strchr(word, '=') && r->path) {
        if (r->value_count >= (int)COUNT(r->values))
            return cli_usage(r->verb, "more than %zu arguments", COUNT(r->values));
        r->values[r->value_count++] = word;
    } else if (!r->path) {
        r->path = word;
    } else if (!r->kernel_name) {
        r->kernel_name = word;
    } else {
        return cli_usage(r->verb, "'%s' is one word too many", word);
    }
    return 0;
}

// Where the value must be a number from `least` to `most`.
static int take_number(const cli_args *args, const char *name, int64_t least, int64_t most,
                       int64_t *out)
{
    if (cli_number(args->value, out) && *out >= least && *out <= most)
        return 0;
    return cli_usage(args->verb, "--%s takes a number from %lld, not '%s'", name, (long long)least,
                     args->value);
}

static int take_option(run *r, const cli_args *args, int option)
{
    const char *value = args->value;
    int64_t number = 0;
    int failed = 0;
    switch (option) {
    case CLI_WORD: return take_word(r, value);
    case OPT_device: r->device = value; break;
    case OPT_grid:
        if (!parse_triple(value, r->grid))
            return cli_usage(r->verb, "--grid takes X[,Y[,Z]], not '%s'", value);
        break;
    case OPT_block:
        if (!parse_triple(value, r->block))
            return cli_usage(r->verb, "--block takes X[,Y[,Z]], not '%s'", value);
        break;
    case OPT_thread:
        if (!parse_place(value, r->stop_thread))
            return cli_usage(r->verb, "--thread takes X[,Y[,Z]], not '%s'", value);
        break;
    case OPT_in_block:
        if (!parse_place(value, r->stop_block))
            return cli_usage(r->verb, "--in-block takes X[,Y[,Z]], not '%s'", value);
        break;
    case OPT_shared:
        failed = take_number(args, "shared", 0, INT64_MAX, &number);
        r->shared_bytes = (size_t)number;
        break;
    case OPT_seed:
        failed = take_number(args, "seed", INT64_MIN, INT64_MAX, &number);
        r->seed = (uint64_t)number;
        break;
    case OPT_repeat:
        failed = take_number(args, "repeat", 1, 1000000, &number);
        r->repeat = (int)number;
        break;
    case OPT_steps:
        failed = take_number(args, "steps", 1, INT64_MAX, &number);
        r->steps = (uint64_t)number;
        break;
    case OPT_out: {
        const char *equals = strchr(value, '=');
        if (!equals || equals[1] != '@' || !equals[2])
            return cli_usage(r->verb, "--out takes name=@FILE.npy, not '%s'", value);
        if (r->out_count >= (int)COUNT(r->outs))
            return cli_usage(r->verb, "more than %zu files", COUNT(r->outs));
        r->outs[r->out_count++] = value;
        break;
    }
    case OPT_all: r->all = true; break;
    case OPT_nan: r->nan = true; break;
    case OPT_json: r->json = true; break;
    case OPT_unset_outputs: r->outputs_unset = true; break;
    case OPT_sanitize: r->sanitize = value; break;
    default: return EXIT_USAGE;
    }
    return failed;
}

int run_parse(run *r, int argc, char **argv)
{
    cli_args args = CLI_ARGS(r->verb, argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        int taken = cli_compile_option(&r->compile, &args, option);
        if (taken < 0)
            return EXIT_USAGE;
        int failed = taken ? 0 : take_option(r, &args, option);
        if (failed)
            return failed;
    }
    return r->path ? 0 : cli_usage(r->verb, "which file?");
}

static run_arg *find_arg(run *r, const char *word)
{
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < r->arg_count; i++)
        if (strlen(r->args[i].info.name) == len && !memcmp(r->args[i].info.name, word, len))
            return &r->args[i];
    fprintf(stderr, "kiln %s: kernel '%s' has no argument '%.*s'; it has", r->verb,
            kiln_kernel_name(r->kernel), (int)len, word);
    for (size_t i = 0; i < r->arg_count; i++)
        fprintf(stderr, "%s '%s'", i ? "," : "", r->args[i].info.name);
    fprintf(stderr, "\n");
    return NULL;
}

static int pick_kernel(run *r)
{
    size_t count = kiln_module_kernel_count(r->module);
    if (!count) {
        fprintf(stderr, "kiln %s: %s has no kernel\n", r->verb, r->path);
        return EXIT_KERNEL;
    }
    kiln_status st = r->kernel_name ? kiln_module_kernel(r->module, r->kernel_name, &r->kernel)
                                    : kiln_module_kernel_at(r->module, 0, &r->kernel);
    if (st) {
        cli_fail(r->k, st);
        return EXIT_USAGE;
    }
    if (!r->kernel_name && count > 1) {
        fprintf(stderr, "kiln %s: %s has %zu kernels; taking the first, '%s'. The others:", r->verb,
                r->path, count, kiln_kernel_name(r->kernel));
        for (size_t i = 1; i < count; i++) {
            kiln_kernel *other;
            if (!kiln_module_kernel_at(r->module, i, &other))
                fprintf(stderr, " %s", kiln_kernel_name(other));
        }
        fprintf(stderr, "\n");
    }
    return 0;
}

static int prepare_args(run *r)
{
    r->arg_count = kiln_kernel_param_count(r->kernel);
    r->args = calloc(r->arg_count + 1, sizeof *r->args);
    if (!r->args)
        return EXIT_WORLD;
    for (size_t i = 0; i < r->arg_count; i++)
        kiln_kernel_param(r->kernel, i, &r->args[i].info);
    for (int i = 0; i < r->value_count; i++) {
        run_arg *a = find_arg(r, r->values[i]);
        if (!a)
            return EXIT_USAGE;
        a->given = strchr(r->values[i], '=') + 1;
    }
    for (int i = 0; i < r->out_count; i++) {
        run_arg *a = find_arg(r, r->outs[i]);
        if (!a)
            return EXIT_USAGE;
        if (a->info.kind != KILN_PARAM_POINTER)
            return cli_usage(r->verb, "--out %s: it is not a buffer", r->outs[i]);
        a->out = strchr(r->outs[i], '@') + 1;
    }
    uint32_t declared[3];
    kiln_kernel_block(r->kernel, declared);
    for (size_t i = 0; i < r->arg_count; i++)
        if (!run_parse_value(&r->args[i]))
            return EXIT_USAGE;
    if (!run_choose(r->args, r->arg_count, declared))
        return EXIT_WORLD;
    for (size_t i = 0; i < r->arg_count; i++) {
        run_arg *a = &r->args[i];
        if (a->info.kind == KILN_PARAM_SCALAR)
            continue;
        if (!run_make_data(a, i, r->seed))
            return EXIT_WORLD;
        if (a->info.kind == KILN_PARAM_STRUCT)
            continue;
        kiln_status st =
            a->info.type == KILN_VOID
                ? kiln_buffer_new_bytes(r->k, a->info.size ? a->info.size : 1, a->count, &a->buffer)
                : kiln_buffer_new(r->k, a->info.type, a->count, &a->buffer);
        if (!st)
            st = kiln_write(a->buffer, 0, a->bytes, a->count);
        if (st)
            return cli_fail(r->k, st);
    }
    return 0;
}

static bool is_size(const run_arg *a)
{
    return a->info.kind == KILN_PARAM_SCALAR && a->info.type > KILN_BOOL &&
           a->info.type <= KILN_U64;
}

static bool is_rows(const run_arg *a)
{
    static const char *const words[] = {"rows",   "row_count", "m",     "M",
                                        "height", "h",         "batch", "blocks"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (is_size(a) && !strcmp(a->info.name, words[i]))
            return true;
    return false;
}

// Without --grid: a 1-D kernel covers its largest size with threads, or has one block per row when
// a size is called rows; a 2-D one covers columns by rows.
static void pick_grid(run *r)
{
    uint32_t block[3];
    kiln_kernel_block(r->kernel, block);
    if (!block[0]) {
        if (!r->block[0]) {
            r->block[0] = 256;
            r->block[1] = r->block[2] = 1;
        }
        memcpy(block, r->block, sizeof block);
    } else {
        memcpy(r->block, block, sizeof block);
    }
    if (r->grid[0])
        return;
    uint64_t largest = 0, rows = 0, buffer = 0;
    for (size_t i = 0; i < r->arg_count; i++) {
        run_arg *a = &r->args[i];
        if (is_rows(a))
            rows = (uint64_t)a->integer;
        if (is_size(a) && a->integer > (int64_t)largest)
            largest = (uint64_t)a->integer;
        if (a->info.kind == KILN_PARAM_POINTER && a->count > buffer)
            buffer = a->count;
    }
    uint64_t x = largest ? largest : buffer, y = 1, z = 1;
    if (block[1] > 1)
        y = rows ? rows : x;
    else if (rows)
        x = rows * block[0];
    uint64_t grid[3] = {(x + block[0] - 1) / block[0], (y + block[1] - 1) / block[1], z};
    for (int axis = 0; axis < 3; axis++)
        r->grid[axis] = grid[axis] > INT32_MAX ? INT32_MAX : (uint32_t)grid[axis];
}

int run_args(const run *r, kiln_arg *args, size_t room)
{
    if (r->arg_count > room)
        return cli_usage(r->verb, "the kernel has more than %zu arguments", room);
    for (size_t i = 0; i < r->arg_count; i++) {
        run_arg *a = &r->args[i];
        if (a->info.kind == KILN_PARAM_POINTER)
            args[i] = kiln_arg_buffer(a->buffer);
        else if (a->info.kind == KILN_PARAM_STRUCT)
            args[i] = kiln_arg_struct(a->bytes, a->info.size);
        else if (a->info.type <= KILN_U64)
            args[i] = kiln_arg_i64(a->info.type, a->integer);
        else
            args[i] = kiln_arg_f64(a->info.type, a->real);
    }
    return 0;
}

void run_clean_up(run *r)
{
    for (size_t i = 0; r->args && i < r->arg_count; i++) {
        kiln_buffer_free(r->args[i].buffer);
        free(r->args[i].bytes);
    }
    free(r->args);
    kiln_module_free(r->module);
    kiln_close(r->k);
}

int run_prepare(run *r)
{
    kiln_status st = kiln_open(r->device, &r->k);
    if (st)
        return cli_fail(NULL, st);
    kiln_on_print(r->k, on_print, NULL);
    kiln_compile_desc desc;
    // Machine code on the host's own cores could harm this very process: whoever wants it unguarded
    // says so.
    if (!strcmp(kiln_device_name(r->k), "cpu") && !r->compile.check_none)
        r->compile.check_bounds = true;
    cli_compile_desc(&r->compile, r->path, &desc);
    desc.for_check = r->is_check;
    st = kiln_compile(r->k, &desc, &r->module);
    if (st)
        return cli_fail(r->k, st);
    fputs(kiln_module_log(r->module), stderr);
    int failed = pick_kernel(r);
    if (!failed)
        failed = prepare_args(r);
    if (!failed)
        pick_grid(r);
    return failed;
}
