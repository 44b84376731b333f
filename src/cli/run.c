// kiln run: compile a kernel file, fill its arguments from its signature, launch, and show what came out.
// Kernel printf and results go to standard output, diagnostics to standard error.
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "cli/npy.h"
#include "cli/run.h"

typedef struct run {
    cli_compile compile;
    const char *path, *kernel_name, *device;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    uint64_t seed;
    int repeat;
    const char *values[128], *outs[128];
    int value_count, out_count;
    kiln *k;
    kiln_module *module;
    kiln_kernel *kernel;
    run_arg *args;
    size_t arg_count;
    uint64_t items; // 0: grid given
} run;

static kiln *volatile running;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (running)
        kiln_cancel(running);
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

// 0: fine, else an exit code.
static int parse_options(run *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int taken = cli_compile_option(&r->compile, "run", argc, argv, &i);
        const char *value;
        int64_t number;
        if (taken < 0)
            return EXIT_USAGE;
        if (taken)
            continue;
        if ((value = cli_option("--device", argc, argv, &i))) {
            r->device = value;
        } else if ((value = cli_option("--grid", argc, argv, &i))) {
            if (!parse_triple(value, r->grid))
                return cli_usage("run", "--grid takes X[,Y[,Z]], not '%s'", value);
        } else if ((value = cli_option("--block", argc, argv, &i))) {
            if (!parse_triple(value, r->block))
                return cli_usage("run", "--block takes X[,Y[,Z]], not '%s'", value);
        } else if ((value = cli_option("--shared", argc, argv, &i))) {
            if (!cli_number(value, &number) || number < 0)
                return cli_usage("run", "--shared takes a number of bytes, not '%s'", value);
            r->shared_bytes = (size_t)number;
        } else if ((value = cli_option("--seed", argc, argv, &i))) {
            if (!cli_number(value, &number))
                return cli_usage("run", "--seed takes a number, not '%s'", value);
            r->seed = (uint64_t)number;
        } else if ((value = cli_option("--repeat", argc, argv, &i))) {
            if (!cli_number(value, &number) || number < 1 || number > 1000000)
                return cli_usage("run", "--repeat takes a number from 1, not '%s'", value);
            r->repeat = (int)number;
        } else if ((value = cli_option("--out", argc, argv, &i))) {
            const char *equals = strchr(value, '=');
            if (!equals || equals[1] != '@' || !equals[2])
                return cli_usage("run", "--out takes name=@FILE.npy, not '%s'", value);
            if (r->out_count < (int)COUNT(r->outs))
                r->outs[r->out_count++] = value;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("run", "there is no option '%s'", argv[i]);
        } else if (strchr(argv[i], '=') && r->path) {
            if (r->value_count < (int)COUNT(r->values))
                r->values[r->value_count++] = argv[i];
        } else if (!r->path) {
            r->path = argv[i];
        } else if (!r->kernel_name) {
            r->kernel_name = argv[i];
        } else {
            return cli_usage("run", "'%s' is one word too many", argv[i]);
        }
    }
    return r->path ? 0 : cli_usage("run", "which file?");
}

static run_arg *find_arg(run *r, const char *word)
{
    size_t len = strcspn(word, "=");
    for (size_t i = 0; i < r->arg_count; i++)
        if (strlen(r->args[i].info.name) == len && !memcmp(r->args[i].info.name, word, len))
            return &r->args[i];
    fprintf(stderr, "kiln run: kernel '%s' has no argument '%.*s'; it has", kiln_kernel_name(r->kernel), (int)len,
            word);
    for (size_t i = 0; i < r->arg_count; i++)
        fprintf(stderr, "%s '%s'", i ? "," : "", r->args[i].info.name);
    fprintf(stderr, "\n");
    return NULL;
}

static int pick_kernel(run *r)
{
    size_t count = kiln_module_kernel_count(r->module);
    if (!count) {
        fprintf(stderr, "kiln run: %s has no kernel\n", r->path);
        return EXIT_KERNEL;
    }
    kiln_status st = r->kernel_name ? kiln_module_kernel(r->module, r->kernel_name, &r->kernel)
                                    : kiln_module_kernel_at(r->module, 0, &r->kernel);
    if (st) {
        cli_fail(r->k, st);
        return EXIT_USAGE;
    }
    if (!r->kernel_name && count > 1) {
        fprintf(stderr, "kiln run: %s has %zu kernels; running the first, '%s'. The others:", r->path, count,
                kiln_kernel_name(r->kernel));
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
            return cli_usage("run", "--out %s: it is not a buffer", r->outs[i]);
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
        kiln_status st = a->info.type == KILN_VOID
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
    return a->info.kind == KILN_PARAM_SCALAR && a->info.type > KILN_BOOL && a->info.type <= KILN_U64;
}

static bool is_rows(const run_arg *a)
{
    static const char *const words[] = {"rows", "row_count", "m", "M", "height", "h", "batch", "blocks"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (is_size(a) && !strcmp(a->info.name, words[i]))
            return true;
    return false;
}

// Without --grid: a 1-D kernel covers its largest size with threads, or has one block per row when a size is called rows; a 2-D one
// covers columns by rows.
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

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int launch(run *r, double *best_ms)
{
    kiln_arg args[128];
    if (r->arg_count > COUNT(args))
        return cli_usage("run", "the kernel has more than %zu arguments", COUNT(args));
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
    kiln_launch_desc desc = {.shared_bytes = r->shared_bytes, .args = args, .arg_count = r->arg_count};
    memcpy(desc.grid, r->grid, sizeof desc.grid);
    memcpy(desc.block, r->block, sizeof desc.block);
    running = r->k;
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    *best_ms = -1;
    kiln_status st = KILN_OK;
    for (int i = 0; i < r->repeat && !st; i++) {
        double start = now_ms();
        if (r->grid[0] && r->grid[1] && r->grid[2])
            st = kiln_launch(r->kernel, &desc);
        if (!st)
            st = kiln_sync(r->k);
        double took = now_ms() - start;
        if (*best_ms < 0 || took < *best_ms)
            *best_ms = took;
    }
    running = NULL;
    fflush(stdout);
    return st ? cli_fail(r->k, st) : 0;
}

static int show_results(run *r, double ms)
{
    printf("%s on %s, grid %u,%u,%u block %u,%u,%u\n", kiln_kernel_name(r->kernel), kiln_device_name(r->k),
           r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1], r->block[2]);
    for (size_t i = 0; i < r->arg_count; i++) {
        run_arg *a = &r->args[i];
        if (a->info.kind == KILN_PARAM_SCALAR) {
            if (a->info.type <= KILN_U64)
                printf("  %s = %lld\n", a->info.name, (long long)a->integer);
            else
                printf("  %s = %.9g\n", a->info.name, a->real);
            continue;
        }
        if (a->info.kind == KILN_PARAM_STRUCT) {
            printf("  %s = %zu bytes\n", a->info.name, a->info.size);
            continue;
        }
        const char *element = a->info.type == KILN_VOID ? "struct" : kiln_type_name(a->info.type);
        printf("  %s: %s[%zu]", a->info.name, element, a->count);
        if (a->info.is_const && !a->out) {
            printf(" (input)\n");
            continue;
        }
        kiln_status st = kiln_read(a->buffer, 0, a->bytes, a->count);
        if (st)
            return cli_fail(r->k, st);
        printf(" =");
        for (size_t e = 0; e < a->count && e < 8; e++) {
            putchar(' ');
            run_print_element(stdout, a->info.type, a->bytes + e * a->info.size, a->info.size);
        }
        printf("%s  checksum %016llx\n", a->count > 8 ? " …" : "",
               (unsigned long long)run_checksum(a->info.type, a->info.size, a->count, a->bytes));
        char why[256];
        if (a->out && !npy_write(a->out, a->info.type, a->info.size, a->count, a->bytes, why)) {
            fprintf(stderr, "kiln run: %s: %s\n", a->out, why);
            return EXIT_WORLD;
        }
    }
    printf("time %.3f ms\n", ms);
    return 0;
}

static void clean_up(run *r)
{
    for (size_t i = 0; r->args && i < r->arg_count; i++) {
        kiln_buffer_free(r->args[i].buffer);
        free(r->args[i].bytes);
    }
    free(r->args);
    kiln_module_free(r->module);
    kiln_close(r->k);
}

int cli_run(int argc, char **argv)
{
    run r = {.seed = 1, .repeat = 1};
    double ms = 0;
    int failed = parse_options(&r, argc, argv);
    if (failed)
        return failed;
    kiln_status st = kiln_open(r.device, &r.k);
    if (st)
        return cli_fail(NULL, st);
    kiln_on_print(r.k, on_print, NULL);
    kiln_compile_desc desc;
    cli_compile_desc(&r.compile, r.path, &desc);
    st = kiln_compile(r.k, &desc, &r.module);
    if (st)
        failed = cli_fail(r.k, st);
    if (!failed) {
        fputs(kiln_module_log(r.module), stderr);
        failed = pick_kernel(&r);
    }
    if (!failed)
        failed = prepare_args(&r);
    if (!failed) {
        pick_grid(&r);
        failed = launch(&r, &ms);
    }
    if (!failed)
        failed = show_results(&r, ms);
    clean_up(&r);
    return failed;
}
