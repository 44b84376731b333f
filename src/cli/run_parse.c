// The command line of the verbs that launch: options, then launches. "--" ends one launch and
// begins the next; --grid, --block, --items and --shared belong to the launch they stand in.
#include <stdlib.h>

#include "cli/run.h"

// X[,Y[,Z]] (or XxYxZ), each at least `least`; missing ones are `rest`.
static bool read_triple(const char *word, uint64_t least, uint64_t most, uint64_t rest,
                        uint64_t out[3])
{
    uint64_t parsed[3] = {rest, rest, rest};
    for (int axis = 0; axis < 3; axis++) {
        char part[32];
        size_t len = strcspn(word, ",x");
        int64_t v;
        if (!len || len >= sizeof part)
            return false;
        memcpy(part, word, len);
        part[len] = 0;
        if (!cli_number(part, &v) || v < 0 || (uint64_t)v < least || (uint64_t)v > most)
            return false;
        parsed[axis] = (uint64_t)v;
        word += len;
        if (!*word) {
            memcpy(out, parsed, sizeof parsed);
            return true;
        }
        word++;
    }
    return false;
}

// --grid, --block, --thread …: missing ones are `rest`.
static int parse_triple(const cli_args *args, const char *name, uint64_t least, uint64_t rest,
                        uint32_t out[3])
{
    uint64_t parsed[3];
    if (!read_triple(args->value, least, UINT32_MAX, rest, parsed))
        return cli_usage(args->verb, "--%s takes X[,Y[,Z]], each from %d to %u, not '%s'", name,
                         (int)least, UINT32_MAX, args->value);
    for (int axis = 0; axis < 3; axis++)
        out[axis] = (uint32_t)parsed[axis];
    return 0;
}

// Grows the list by one zeroed element; NULL: no memory.
static void *grow(void **list, size_t *count, size_t size)
{
    char *more = realloc(*list, (*count + 1) * size);
    if (!more)
        return NULL;
    *list = more;
    memset(more + *count * size, 0, size);
    return more + (*count)++ * size;
}

static int refuse_word(const run *r, const char *word)
{
    if (r->is_main)
        return cli_usage(r->verb, "'%s': the arguments of the program stand behind --", word);
    return cli_usage(r->verb, "'%s' is one word too many", word);
}

// A word that is no option: the file, the kernel, name=value.
static int parse_word(run *r, run_launch *l, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!r->path) {
        r->path = word;
    } else if (equals && equals != word) {
        void *values = (void *)(uintptr_t)l->values;
        const char **to = grow(&values, &l->value_count, sizeof *to);
        l->values = values;
        if (!to)
            return EXIT_WORLD;
        *to = word;
    } else if (!l->kernel_name && !equals) {
        l->kernel_name = word;
    } else {
        return refuse_word(r, word);
    }
    return 0;
}

// Where the value must be a number from `least` to `most`.
static int parse_number(const cli_args *args, const char *name, int64_t least, int64_t most,
                        int64_t *out)
{
    if (cli_number(args->value, out) && *out >= least && *out <= most)
        return 0;
    if (least == INT64_MIN)
        return cli_usage(args->verb, "--%s takes an integer, not '%s'", name, args->value);
    if (most == INT64_MAX)
        return cli_usage(args->verb, "--%s takes a number from %lld, not '%s'", name,
                         (long long)least, args->value);
    return cli_usage(args->verb, "--%s takes a number from %lld to %lld, not '%s'", name,
                     (long long)least, (long long)most, args->value);
}

static int parse_file(const cli_args *args, const char *name, run_file **list, size_t *count)
{
    const char *equals = strchr(args->value, '=');
    const char *path = equals ? equals + 1 + (equals[1] == '@') : "";
    if (!equals || equals == args->value || !*path)
        return cli_usage(args->verb, "--%s takes name=FILE, not '%s'", name, args->value);
    void *files = *list;
    run_file *to = grow(&files, count, sizeof *to);
    *list = files;
    if (!to)
        return EXIT_WORLD;
    *to = (run_file){args->value, (size_t)(equals - args->value), path};
    return 0;
}

static int parse_grant(run *r, const char *right, const char *what)
{
    void *grants = r->grants;
    run_grant *to = grow(&grants, &r->grant_count, sizeof *to);
    r->grants = grants;
    if (!to)
        return EXIT_WORLD;
    *to = (run_grant){right, what};
    return 0;
}

static int parse_program_arg(run *r, const char *value)
{
    void *all = r->program_args;
    const char **to = grow(&all, &r->program_arg_count, sizeof *to);
    r->program_args = all;
    if (!to)
        return EXIT_WORLD;
    *to = value;
    return 0;
}

static int parse_tolerance(run *r, const cli_args *args)
{
    char *end;
    r->tolerance = strtod(args->value, &end);
    bool is_fine = end != args->value && r->tolerance >= 0;
    if (is_fine && *end == ',') {
        const char *second = end + 1;
        r->relative = strtod(second, &end);
        is_fine = end != second && r->relative >= 0;
    }
    r->has_tolerance = true;
    return is_fine && !*end
               ? 0
               : cli_usage(args->verb, "--tolerance takes ABSOLUTE[,RELATIVE], not '%s'",
                           args->value);
}

static int parse_option(run *r, run_launch *l, const cli_args *args, int option)
{
    int64_t number = 0;
    int failed = 0;
    switch (option) {
    case CLI_WORD: return parse_word(r, l, args->value);
    case OPT_device: r->device = args->value; break;
    case OPT_grid: l->has_grid = true; return parse_triple(args, "grid", 1, 1, l->grid);
    case OPT_block: l->has_block = true; return parse_triple(args, "block", 1, 1, l->block);
    case OPT_items:
        l->has_items = true;
        if (!read_triple(args->value, 1, UINT64_MAX >> 1, 1, l->items))
            return cli_usage(r->verb, "--items takes X[,Y[,Z]], each at least 1, not '%s'",
                             args->value);
        break;
    case OPT_thread: return parse_triple(args, "thread", 0, 0, r->stop_thread);
    case OPT_in_block: return parse_triple(args, "in-block", 0, 0, r->stop_block);
    case OPT_shared:
        failed = parse_number(args, "shared", 0, INT64_MAX, &number);
        l->shared_bytes = (size_t)number;
        break;
    case OPT_heap:
        failed = parse_number(args, "heap", 128 << 10, INT64_MAX, &number);
        r->heap_bytes = (size_t)number;
        break;
    case OPT_seed:
        failed = parse_number(args, "seed", INT64_MIN, INT64_MAX, &number);
        r->seed = (uint64_t)number;
        break;
    case OPT_repeat:
        failed = parse_number(args, "repeat", 1, 1000000, &number);
        r->repeat = (int)number;
        break;
    case OPT_rounds:
        failed = parse_number(args, "rounds", 1, 1000000, &number);
        r->rounds = (int)number;
        break;
    case OPT_steps:
        failed = parse_number(args, "steps", 1, INT64_MAX, &number);
        r->steps = (uint64_t)number;
        break;
    case OPT_out: return parse_file(args, "out", &r->outs, &r->out_count);
    case OPT_expect: return parse_file(args, "expect", &r->expects, &r->expect_count);
    case OPT_main: r->is_main = true; break;
    case OPT_arg: return parse_program_arg(r, args->value);
    case OPT_host: return parse_grant(r, NULL, args->value);
    case OPT_allow_read: return parse_grant(r, "read", args->value);
    case OPT_allow_write: return parse_grant(r, "write", args->value);
    case OPT_allow_net: return parse_grant(r, "net", args->value);
    case OPT_allow_env: return parse_grant(r, "env", args->value);
    case OPT_allow_stdin: return parse_grant(r, "stdin", NULL);
    case OPT_tolerance:
    case OPT_tune_tolerance: return parse_tolerance(r, args);
    case OPT_show_all: r->shows_all = true; break;
    case OPT_all: r->all = true; break;
    case OPT_nan: r->nan = true; break;
    case OPT_leaks: r->leaks = true; break;
    case OPT_json: r->json = true; break;
    case OPT_tuned: r->is_tuned = true; break;
    case OPT_unset_outputs: r->outputs_unset = true; break;
    case OPT_sanitize: r->sanitize = args->value; break;
    case CLI_BAD: return EXIT_USAGE;
    default: // of bench and tune, where FILE may be the name of an op
        return cli_no_effect(r->verb, option, args->given[option],
                             "it is for operations of the library, not for a kernel file");
    }
    return failed;
}

static int parse_launch(run *r, int argc, char **argv)
{
    void *launches = r->launches;
    // Before the file is named, -- only says that no option follows.
    run_launch *l = r->launch_count && !r->path ? &r->launches[0]
                                                : grow(&launches, &r->launch_count, sizeof *l);
    r->launches = launches;
    if (!l)
        return EXIT_WORLD;
    cli_args args = CLI_ARGS(r->verb, argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        int taken = cli_compile_option(&r->compile, &args, option);
        if (taken < 0)
            return EXIT_USAGE;
        int failed = taken ? 0 : parse_option(r, l, &args, option);
        if (failed)
            return failed;
    }
    if (l->has_grid && l->has_items)
        return cli_usage(r->verb, "--grid and --items: one of them says how many blocks there are");
    return 0;
}

int cli_standard_input(const char *verb, char **bytes, size_t *len)
{
    size_t room = 1 << 16, limit = 16 << 20;
    *len = 0;
    *bytes = malloc(room + 1);
    while (*bytes && !feof(stdin) && !ferror(stdin)) {
        if (*len == room) {
            char *more = room > limit ? NULL : realloc(*bytes, room * 2 + 1);
            if (!more) {
                fprintf(stderr, "kiln %s: the file on standard input is larger than 16 MiB\n",
                        verb);
                return EXIT_WORLD;
            }
            *bytes = more;
            room *= 2;
        }
        *len += fread(*bytes + *len, 1, room - *len, stdin);
    }
    if (!*bytes || ferror(stdin)) {
        fprintf(stderr, "kiln %s: cannot read standard input\n", verb);
        return EXIT_WORLD;
    }
    (*bytes)[*len] = 0;
    return *len ? 0 : cli_usage(verb, "standard input is empty");
}

static int read_standard_input(run *r)
{
    r->path = CLI_STDIN;
    return cli_standard_input(r->verb, &r->source, &r->source_len);
}

int run_parse(run *r, int argc, char **argv)
{
    for (int first = 0; first < argc;) {
        int end = first + 1;
        while (end < argc && strcmp(argv[end], "--") != 0)
            end++;
        int failed = parse_launch(r, end - first, argv + first);
        if (failed)
            return failed;
        first = end;
        if (!r->is_main || !r->path)
            continue;
        while (!failed && ++first < argc) // behind -- all is the program's
            failed = parse_program_arg(r, argv[first]);
        if (failed)
            return failed;
    }
    if (!r->path)
        return cli_usage(r->verb, "which file?");
    if (r->has_tolerance && !r->expect_count && strcmp(r->verb, "tune") != 0)
        return cli_no_effect(r->verb, OPT_tolerance, NULL, "there is no --expect to compare with");
    if (r->program_arg_count && !r->is_main)
        return cli_no_effect(r->verb, OPT_arg, NULL, "there is no --main whose argument it is");
    if (r->is_main) {
        const run_launch *l = &r->launches[0];
        if (l->kernel_name || l->value_count)
            return refuse_word(r, l->kernel_name ? l->kernel_name : l->values[0]);
        if (l->has_grid || l->has_items)
            return cli_no_effect(r->verb, l->has_grid ? OPT_grid : OPT_items, NULL,
                                 "one thread runs main");
        return run_wrap_main(r);
    }
    return !strcmp(r->path, "-") ? read_standard_input(r) : 0;
}

void run_free(run *r)
{
    for (size_t k = 0; k < r->launch_count; k++)
        free((void *)(uintptr_t)r->launches[k].values);
    free(r->launches);
    free(r->grants);
    free(r->outs);
    free(r->expects);
    free(r->source);
    free(r->program_args);
    free(r->program_path);
}
