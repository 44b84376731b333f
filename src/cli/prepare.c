// What a launch needs before it runs: the device, the compiled file, arguments, the grid. What the
// user did not say is inferred from the kernel (infer.c); what cannot be is asked for by name.
// Start reading at run_prepare.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/run.h"
#include "kiln/hostcall.h"
#include "rt/rt.h"
#include "rt/tuned/tuned.h"

static kiln *volatile running;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (running)
        kiln_cancel(running);
}

// Only the host's own devices can be cancelled; elsewhere Ctrl-C ends the process, and the driver
// what runs for it. A second one ends it everywhere.
void run_catch_interrupt(run *r)
{
    bool is_told = r && r->k->caps.can_cancel;
    running = is_told ? r->k : NULL;
    struct sigaction action = {.sa_handler = is_told ? on_interrupt : SIG_DFL,
                               .sa_flags = is_told ? (int)SA_RESETHAND : 0};
    sigaction(SIGINT, &action, NULL);
}

static void on_print(void *user, const char *bytes, size_t len)
{
    (void)user;
    if (len)
        fwrite(bytes, 1, len, stdout);
    else
        fflush(stdout);
}

// What was printed before comes first, as where both go to a terminal.
static void on_print_error(void *user, const char *bytes, size_t len)
{
    (void)user;
    fflush(stdout);
    fwrite(bytes, 1, len, stderr);
}

// --- the kernel and its words

static int pick_kernel(run *r, run_launch *l)
{
    size_t count = kiln_module_kernel_count(r->module);
    if (!count) {
        fprintf(stderr, "kiln %s: %s has no kernel\n", r->verb, r->path);
        if (!strcmp(r->verb, "run") && run_has_main(r))
            fprintf(stderr, "hint: kiln run --main %s runs its main in one thread\n", r->path);
        else
            fputs(CLI_NO_KERNEL, stderr);
        return EXIT_KERNEL;
    }
    kiln_status st = l->kernel_name ? kiln_module_kernel(r->module, l->kernel_name, &l->kernel)
                                    : kiln_module_kernel_at(r->module, 0, &l->kernel);
    if (st) {
        cli_fail(r->k, st);
        return EXIT_USAGE;
    }
    if (!l->kernel_name && count > 1) {
        fprintf(stderr, "kiln %s: %s has %zu kernels; taking the first, '%s'. The others:", r->verb,
                r->path, count, kiln_kernel_name(l->kernel));
        for (size_t i = 1; i < count; i++) {
            kiln_kernel *other;
            if (!kiln_module_kernel_at(r->module, i, &other))
                fprintf(stderr, " %s", kiln_kernel_name(other));
        }
        fprintf(stderr, "\n");
    }
    return 0;
}

static run_arg *find_arg(const run *r, const run_launch *l, const char *word)
{
    size_t len = strcspn(word, "=.[");
    for (size_t i = 0; i < l->arg_count; i++)
        if (strlen(l->args[i].info.name) == len && !memcmp(l->args[i].info.name, word, len))
            return &l->args[i];
    fprintf(stderr, "kiln %s: kernel '%s' has no argument '%.*s'; it has", r->verb,
            kiln_kernel_name(l->kernel), (int)len, word);
    for (size_t i = 0; i < l->arg_count; i++)
        fprintf(stderr, "%s '%s'", i ? "," : "", l->args[i].info.name);
    fprintf(stderr, l->arg_count ? "\n" : " none\n");
    return NULL;
}

const run_arg *run_find_buffer(const run *r, const run_launch *before, const char *name, size_t len)
{
    const run_arg *found = NULL;
    for (size_t k = 0; k < r->launch_count && &r->launches[k] != before; k++)
        for (size_t i = 0; r->launches[k].args && i < r->launches[k].arg_count; i++) {
            const run_arg *a = &r->launches[k].args[i];
            if (strlen(a->info.name) == len && !memcmp(a->info.name, name, len))
                found = a;
        }
    return found;
}

static int read_words(run *r, run_launch *l)
{
    l->arg_count = kiln_kernel_param_count(l->kernel);
    l->args = calloc(l->arg_count + 1, sizeof *l->args);
    if (!l->args)
        return EXIT_WORLD;
    for (size_t i = 0; i < l->arg_count; i++) {
        run_arg *a = &l->args[i];
        kiln_kernel_param(l->kernel, i, &a->info);
        a->element = signature_layout(r->signature, kiln_kernel_name(l->kernel), i, &a->info);
    }
    for (size_t i = 0; i < l->value_count; i++) {
        run_arg *a = find_arg(r, l, l->values[i]);
        if (!a)
            return EXIT_USAGE;
        if (l->values[i][strlen(a->info.name)] != '=')
            a->has_parts = true;
        else if (a->given)
            return cli_usage(r->verb, "argument '%s' is given twice: '%s' and '%s'", a->info.name,
                             a->given, strchr(l->values[i], '=') + 1);
        else
            a->given = strchr(l->values[i], '=') + 1;
    }
    for (size_t i = 0; i < l->arg_count; i++) {
        run_arg *a = &l->args[i];
        bool is_file = a->given && *a->given == '@';
        if (!run_read_value(r, l, a))
            return is_file ? EXIT_WORLD : EXIT_USAGE;
    }
    return 0;
}

static int set_block(run *r, run_launch *l)
{
    uint32_t declared[3];
    kiln_kernel_block(l->kernel, declared);
    if (!declared[0] && !l->has_block) {
        uint32_t most = kiln_kernel_max_threads(l->kernel);
        l->block[0] = most && most < 256 ? most : 256;
        l->block[1] = l->block[2] = 1;
    }
    if (!declared[0])
        return 0;
    if (l->has_block && memcmp(l->block, declared, sizeof declared) != 0) {
        fprintf(stderr,
                "kiln %s: --block %u,%u,%u has no effect: the kernel says block(%u, %u, %u)\n"
                "hint: leave --block out, or remove block(…) from the kernel\n",
                r->verb, l->block[0], l->block[1], l->block[2], declared[0], declared[1],
                declared[2]);
        return EXIT_USAGE;
    }
    memcpy(l->block, declared, sizeof declared);
    return 0;
}

// --- what is missing

static bool is_integer(const run_arg *a)
{
    return a->info.kind == KILN_PARAM_SCALAR && a->info.type >= KILN_BOOL &&
           a->info.type <= KILN_U64;
}

static int64_t integer_of(const run_arg *a)
{
    uint64_t bits = 0;
    memcpy(&bits, a->bytes, a->info.size);
    bool is_signed =
        a->info.type == KILN_I8 || a->info.type == KILN_I16 || a->info.type == KILN_I32;
    unsigned unused = is_signed ? 64 - 8 * (unsigned)a->info.size : 0;
    return (int64_t)(bits << unused) >> unused;
}

static infer_arg *facts_of(const run_launch *l, arena *scratch)
{
    infer_arg *facts = arena_array(scratch, infer_arg, l->arg_count + 1);
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        facts[i].is_integer = is_integer(a);
        if (facts[i].is_integer && a->bytes) {
            facts[i].is_known = true;
            facts[i].value = integer_of(a);
        }
        if (a->info.kind == KILN_PARAM_POINTER && a->has_count) {
            facts[i].is_known = true;
            facts[i].bytes = (uint64_t)a->shape.count * a->element.size;
            facts[i].sizes = a->shape.size;
            facts[i].rank = a->shape.rank;
            facts[i].element_bytes = (int64_t)a->element.size;
        }
        if (a->info.kind == KILN_PARAM_STRUCT && a->bytes && !a->is_map) {
            facts[i].bytes_at = a->bytes;
            facts[i].bytes = a->info.size;
        }
    }
    return facts;
}

static bool is_missing(const run_arg *a)
{
    if (a->from || a->is_map)
        return false;
    if (a->info.kind == KILN_PARAM_POINTER)
        return !a->has_count;
    return !a->bytes && !a->has_parts;
}

static void print_example(const run_arg *a, FILE *to)
{
    const char *name = a->info.name;
    if (a->info.kind == KILN_PARAM_POINTER)
        fprintf(to, "%s=1000", name);
    else if (a->info.kind == KILN_PARAM_SCALAR)
        fprintf(to, "%s=%s", name,
                !is_integer(a)              ? "2.5"
                : a->info.type == KILN_BOOL ? "true"
                : a->info.size == 1         ? "16"
                                            : "1000");
    else if (a->info.kind == KILN_PARAM_TENSOR_MAP)
        fprintf(to, "%s=64x64:bf16:random", name);
    else if (a->element.kind == LAYOUT_RECORD && a->element.part_count && a->element.parts[0].name)
        fprintf(to, "%s=:zeros %s.%s=1", name, name, a->element.parts[0].name);
    else
        fprintf(to, "%s=:zeros", name);
}

// The arguments of one kind that are still missing, all at once.
static int ask_for(const run *r, const run_launch *l, bool buffers)
{
    int count = 0;
    size_t width = 0;
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        if (!is_missing(a) || (a->info.kind == KILN_PARAM_POINTER) != buffers)
            continue;
        count++;
        width = strlen(a->info.name) > width ? strlen(a->info.name) : width;
    }
    if (!count)
        return 0;
    fprintf(stderr, "kiln %s: kernel '%s' needs %s%s, which cannot be inferred:\n", r->verb,
            kiln_kernel_name(l->kernel), buffers ? "the length of " : "",
            count == 1 ? (buffers ? "a buffer" : "an argument")
                       : (buffers ? "buffers" : "arguments"));
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        if (!is_missing(a) || (a->info.kind == KILN_PARAM_POINTER) != buffers)
            continue;
        fprintf(stderr, "  %-*s  %-14s for example ", (int)width, a->info.name, a->info.c_type);
        print_example(a, stderr);
        fputc('\n', stderr);
    }
    fprintf(stderr, "hint: name=value gives a kernel its arguments; kiln help %s has the forms\n",
            r->verb);
    return EXIT_USAGE;
}

// What the lengths and the shapes of buffers say about parameter i; the smaller of both.
static bool find_scalar(const run_launch *l, const ir_func *f, arena *scratch, uint32_t i,
                        int64_t *value, char because[INFER_TEXT])
{
    const infer_arg *facts = facts_of(l, scratch);
    int64_t of_shape = 0;
    char why[INFER_TEXT];
    bool is_found = infer_scalar(f, scratch, facts, l->block, i, value, because);
    if (!infer_from_shapes(f, scratch, facts, l->block, i, &of_shape, why) ||
        (is_found && *value <= of_shape))
        return is_found;
    *value = of_shape;
    memcpy(because, why, INFER_TEXT);
    return true;
}

static int infer_scalars(run *r, run_launch *l, const ir_func *f, arena *scratch)
{
    // A second time: of a product of sizes one follows from the others.
    for (size_t n = 0; f && n < 2 * l->arg_count; n++) {
        size_t i = n % l->arg_count;
        run_arg *a = &l->args[i];
        int64_t value;
        if (!is_integer(a) || a->bytes || a->info.type == KILN_BOOL)
            continue;
        if (!find_scalar(l, f, scratch, (uint32_t)i, &value, a->because))
            continue;
        a->bytes = calloc(1, 16);
        if (!a->bytes)
            return EXIT_WORLD;
        memcpy(a->bytes, &value, a->info.size);
        if (integer_of(a) != value) {
            free(a->bytes);
            a->bytes = NULL;
            a->because[0] = 0;
        }
    }
    return ask_for(r, l, false);
}

// --- the grid

static int set_items(const run *r, run_launch *l)
{
    for (int axis = 0; axis < 3; axis++) {
        uint64_t blocks = (l->items[axis] + l->block[axis] - 1) / l->block[axis];
        if (blocks > INT32_MAX)
            return cli_usage(r->verb, "--items: %llu blocks are too many",
                             (unsigned long long)blocks);
        l->grid[axis] = (uint32_t)blocks;
    }
    return 0;
}

static int pick_grid(run *r, run_launch *l, const ir_func *f, arena *scratch)
{
    infer_axis axes[3] = {{0}};
    if (l->has_grid)
        return 0;
    if (l->has_items)
        return set_items(r, l);
    if (f)
        infer_grid(f, scratch, facts_of(l, scratch), l->block, axes);
    size_t used = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (!axes[axis].is_known) {
            fprintf(stderr,
                    "kiln %s: nothing says how many blocks kernel '%s' needs along %c\n"
                    "hint: --grid X[,Y[,Z]] gives the blocks, --items X[,Y[,Z]] the threads; or "
                    "give the length of a buffer that it indexes, %s=COUNT\n",
                    r->verb, kiln_kernel_name(l->kernel), "xyz"[axis],
                    l -> arg_count ? l -> args[0].info.name : "name");
            return EXIT_USAGE;
        }
        if (axes[axis].blocks > INT32_MAX) {
            fprintf(stderr, "kiln %s: %s are %llu blocks along %c, which is too many\n", r->verb,
                    axes[axis].because, (unsigned long long)axes[axis].blocks, "xyz"[axis]);
            return EXIT_USAGE;
        }
        l->grid[axis] = (uint32_t)axes[axis].blocks;
        l->is_empty |= !axes[axis].blocks;
        l->is_guess |= axes[axis].is_guess;
        if (!axes[axis].because[0] || used >= sizeof l->assumed)
            continue;
        used += (size_t)snprintf(l->assumed + used, sizeof l->assumed - used, "%s%s",
                                 used ? ", " : "", axes[axis].because);
        if (axes[1].because[0] && used < sizeof l->assumed)
            used += (size_t)snprintf(l->assumed + used, sizeof l->assumed - used, " along %c",
                                     "xyz"[axis]);
    }
    if (!used)
        snprintf(l->assumed, sizeof l->assumed,
                 "one block, because the kernel asks for no block index");
    return 0;
}

// --- buffers

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

// A size that the arguments name, a number or a product of up to three, and that is what the kernel
// reaches or nearly: an index that goes past it is a mistake to be found, not a length.
static uint64_t named_size(const run_launch *l, const bool *is_size, uint64_t reach,
                           char because[INFER_TEXT])
{
    uint64_t slack = (uint64_t)l->block[0] * l->block[1] * l->block[2], best = 0;
    slack = slack < reach / 2 ? slack : reach / 2;
    const run_arg *names[3];
    for (size_t i = 0; i < l->arg_count; i++)
        for (size_t j = i; j < l->arg_count; j++)
            for (size_t k = j; k < l->arg_count; k++) {
                // One is (i, i, i), two are (i, i, k): the same size squared names nothing.
                uint64_t size = 1;
                int count = 0;
                size_t all[3] = {i, j, k};
                bool is_fine = i == j || j != k;
                for (int n = 0; n < 3 && is_fine; n++) {
                    const run_arg *a = &l->args[all[n]];
                    if (n && all[n] == all[n - 1])
                        continue;
                    is_fine = is_size[all[n]] && integer_of(a) > 1 &&
                              !__builtin_mul_overflow(size, (uint64_t)integer_of(a), &size);
                    names[count++] = a;
                }
                if (!is_fine || distance(size, reach) > slack ||
                    (best && distance(size, reach) >= distance(best, reach)))
                    continue;
                best = size;
                size_t used = 0;
                for (int n = 0; n < count && used < INFER_TEXT; n++)
                    used += (size_t)snprintf(because + used, INFER_TEXT - used, "%s%.40s",
                                             n ? " times " : "", names[n]->info.name);
            }
    return best;
}

static int infer_lengths(run *r, run_launch *l, const ir_func *f, arena *scratch)
{
    const infer_arg *facts = facts_of(l, scratch);
    bool *is_size = arena_array(scratch, bool, l->arg_count + 1);
    for (size_t i = 0; f && i < l->arg_count; i++)
        is_size[i] = is_integer(&l->args[i]) && l->args[i].bytes && infer_is_size(f, (uint32_t)i);
    for (size_t i = 0; i < l->arg_count; i++) {
        run_arg *a = &l->args[i];
        uint64_t bytes = 0, size = a->element.size ? a->element.size : 1;
        if (a->info.kind != KILN_PARAM_POINTER || a->has_count || !f)
            continue;
        if (!l->is_empty && !infer_bytes(f, scratch, facts, l->block, l->grid, (uint32_t)i, &bytes))
            continue;
        uint64_t reach = (bytes + size - 1) / size,
                 named = named_size(l, is_size, reach, a->because);
        size_t count = (size_t)(named ? named : reach);
        a->shape = (value_shape){.size = {count}, .rank = 1, .count = count};
        a->has_count = true;
        if (!named)
            snprintf(a->because, sizeof a->because, "what the kernel reaches");
    }
    return ask_for(r, l, true);
}

static int make_map(run *r, run_arg *a)
{
    kiln_tensor_map_desc desc = {
        .buffer = a->buffer, .rank = (uint32_t)a->shape.rank, .swizzle_bytes = a->map_swizzle};
    for (int k = 0; k < a->shape.rank; k++)
        desc.size[k] = a->shape.size[a->shape.rank - 1 - k];
    memcpy(desc.box, a->map_box, sizeof desc.box);
    kiln_status st = kiln_tensor_map_make(r->k, &desc, &a->map);
    return st ? cli_fail(r->k, st) : 0;
}

// Scalars and structs, whose members may be sizes.
static int make_singles(run *r, run_launch *l)
{
    for (size_t i = 0; i < l->arg_count; i++) {
        run_arg *a = &l->args[i];
        if (a->info.kind != KILN_PARAM_POINTER && !a->is_map && !run_make_data(r, l, a, i))
            return EXIT_USAGE;
    }
    return 0;
}

static int make_buffers(run *r, run_launch *l)
{
    for (size_t i = 0; i < l->arg_count; i++) {
        run_arg *a = &l->args[i];
        if (a->info.kind != KILN_PARAM_POINTER && !a->is_map)
            continue;
        if (!run_make_data(r, l, a, i))
            return a->fill == FILL_DATA || !a->has_parts ? EXIT_WORLD : EXIT_USAGE;
        if (a->from)
            continue;
        kiln_type type = a->is_map ? a->map_type : a->info.type;
        kiln_status st = type == KILN_VOID
                             ? kiln_buffer_new_bytes(r->k, a->info.size ? a->info.size : 1,
                                                     a->shape.count, &a->buffer)
                             : kiln_buffer_new(r->k, type, a->shape.count, &a->buffer);
        if (!st)
            st = kiln_write(a->buffer, 0, a->bytes, a->shape.count);
        if (st)
            return cli_fail(r->k, st);
        int failed = a->is_map ? make_map(r, a) : 0;
        if (failed)
            return failed;
    }
    return 0;
}

int run_args(const run *r, const run_launch *l, kiln_arg *args, size_t room)
{
    if (l->arg_count > room)
        return cli_usage(r->verb, "the kernel has more than %zu arguments", room);
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        if (a->info.kind == KILN_PARAM_POINTER)
            args[i] = kiln_arg_buffer(a->buffer);
        else if (a->is_map)
            args[i] = kiln_arg_struct(&a->map, sizeof a->map);
        else if (a->info.kind == KILN_PARAM_STRUCT)
            args[i] = kiln_arg_struct(a->bytes, a->info.size);
        else
            args[i] = kiln_arg_bits(a->info.type, a->bytes, a->info.size);
    }
    return 0;
}

void run_describe(const run_launch *l, kiln_launch_desc *out)
{
    memcpy(out->grid, l->grid, sizeof out->grid);
    memcpy(out->block, l->block, sizeof out->block);
    int64_t needed = 0;
    out->shared_bytes = l->shared_bytes;
    if (!out->shared_bytes && !kiln_kernel_constant(l->kernel, "SHARED_BYTES", &needed))
        out->shared_bytes = (size_t)needed;
    out->arg_count = l->arg_count;
}

// --- the whole

// "KERNEL n=4096": the kernel of the first launch and the integers that it is given.
static const char *tuned_words(const run *r, char *out, size_t size)
{
    const run_launch *l = &r->launches[0];
    kiln_kernel *first;
    const char *name = l->kernel_name;
    if (!name && !kiln_module_kernel_at(r->module, 0, &first))
        name = kiln_kernel_name(first);
    size_t used = (size_t)snprintf(out, size, "%.255s", name ? name : "?");
    for (size_t n = 0; n < l->value_count; n++) {
        int64_t value;
        size_t len = strcspn(l->values[n], "=.[");
        if (l->values[n][len] != '=' || !cli_number(l->values[n] + len + 1, &value) ||
            used + len + 32 > size)
            continue;
        used += (size_t)snprintf(out + used, size - used, " %.*s=%lld", (int)len, l->values[n],
                                 (long long)value);
    }
    return out;
}

// --tuned: compiles again with what was found, and says so. The values are the caller's to free,
// desc->tune points to them; NULL: nothing was found, and the module stays.
static const char **take_tuned(run *r, kiln_compile_desc *desc)
{
    char words[4096];
    const char **tunes = NULL;
    kiln_compile_desc tuned = *desc;
    kiln_module *m;
    tuned.tuned = tuned_words(r, words, sizeof words);
    kiln_status st = tuned_choose(r->k, &tuned, &tunes);
    tuned.tuned = NULL;
    tuned.tune = tunes;
    if (st || !tunes || kiln_compile(r->k, &tuned, &m)) {
        free((void *)(uintptr_t)tunes);
        fprintf(stderr,
                "kiln %s: nothing is tuned for this kernel, device and size: the defaults "
                "are taken\n",
                r->verb);
        return NULL;
    }
    kiln_module_free(r->module);
    r->module = m;
    desc->tune = tunes;
    fprintf(stderr, "kiln %s: tuned:", r->verb);
    for (size_t n = 0; tunes[n]; n++)
        fprintf(stderr, " %s", tunes[n]);
    fprintf(stderr, "\n");
    return tunes;
}

int run_open(run *r)
{
    kiln_status st = kiln_open(r->device, &r->k);
    if (st)
        return cli_fail(NULL, st);
    kiln_on_print(r->k, on_print, NULL);
    kiln_on_print_error(r->k, on_print_error, NULL);
    kiln_compile_desc desc;
    // Machine code on the host's own cores could damage this process: a user who wants it unguarded
    // says so.
    if (r->k->caps.is_host && !r->k->caps.is_emulated && !r->compile.check_none)
        r->compile.check_bounds = true;
    cli_compile_desc(&r->compile, r->path, &desc);
    desc.for_check = r->is_check;
    desc.source = r->source;
    desc.source_len = r->source_len;
    st = kiln_compile(r->k, &desc, &r->module);
    const char **tunes = NULL;
    if (!st && r->is_tuned)
        tunes = take_tuned(r, &desc);
    if (!st)
        fputs(kiln_module_log(r->module), stderr);
    if (!st && r->heap_bytes)
        st = kiln_heap_set(r->k, r->heap_bytes);
    for (size_t n = 0; !st && n < r->grant_count; n++)
        st = r->grants[n].right ? kiln_allow(r->k, r->grants[n].right, r->grants[n].what)
                                : kiln_host_library(r->k, r->grants[n].what, r->module);
    r->signature = signature_new(&desc, r->k->target);
    free((void *)(uintptr_t)tunes);
    for (size_t k = 0; r->on_input && r->signature && k < signature_input_count(r->signature); k++)
        r->on_input(r->input_user, signature_input(r->signature, k));
    // A target or right that is none, a heap too large: the command line is wrong.
    int failed = st ? cli_fail(r->k, st) : 0;
    return st == KILN_E_BAD_ARGUMENT ? EXIT_USAGE : failed;
}

int run_prepare(run *r, run_launch *l)
{
    int failed = pick_kernel(r, l);
    if (!failed)
        failed = read_words(r, l);
    if (!failed)
        failed = set_block(r, l);
    if (failed)
        return failed;
    const ir_func *f = signature_func(r->signature, kiln_kernel_name(l->kernel));
    arena *scratch = arena_new();
    if (!scratch)
        return EXIT_WORLD;
    uint32_t own = 0; // parameters that are the user's
    while (f && own < f->params.len && !f->params.at[own].is_hidden)
        own++;
    if (f && own != l->arg_count)
        f = NULL;
    failed = infer_scalars(r, l, f, scratch);
    if (!failed)
        failed = make_singles(r, l);
    if (!failed)
        failed = pick_grid(r, l, f, scratch);
    if (!failed)
        failed = infer_lengths(r, l, f, scratch);
    if (!failed)
        failed = make_buffers(r, l);
    arena_free(scratch);
    return failed;
}

int run_retarget(run *r, run_launch *l)
{
    kiln_status st = kiln_module_kernel(r->module, l->kernel_name, &l->kernel);
    if (st)
        return cli_fail(r->k, st);
    int failed = set_block(r, l);
    const ir_func *f = signature_func(r->signature, l->kernel_name);
    arena *scratch = failed ? NULL : arena_new();
    if (!scratch)
        return failed ? failed : EXIT_WORLD;
    if (f && f->params.len != l->arg_count)
        f = NULL;
    l->is_empty = l->is_guess = false;
    l->assumed[0] = 0;
    failed = pick_grid(r, l, f, scratch);
    arena_free(scratch);
    return failed;
}

void run_sizes(const run *r, const run_launch *l, char *out, size_t size)
{
    const ir_func *f = signature_func(r->signature, kiln_kernel_name(l->kernel));
    size_t used = 0;
    *out = 0;
    for (size_t i = 0; f && f->params.len == l->arg_count && i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        if (!is_integer(a) || !a->bytes || !infer_is_size(f, (uint32_t)i))
            continue;
        int len = snprintf(out + used, size - used, "%s%s=%lld", used ? " " : "", a->info.name,
                           (long long)integer_of(a));
        if (len < 0 || (size_t)len >= size - used) {
            out[used] = 0;
            return;
        }
        used += (size_t)len;
    }
}

void run_close(run *r)
{
    if (r->k && *kiln_refusal(r->k))
        fprintf(stderr, "kiln %s: refused: %s\n", r->verb, kiln_refusal(r->k));
    for (size_t k = 0; k < r->launch_count; k++) {
        run_launch *l = &r->launches[k];
        for (size_t i = 0; l->args && i < l->arg_count; i++) {
            if (!l->args[i].from)
                kiln_buffer_free(l->args[i].buffer);
            free(l->args[i].bytes);
        }
        free(l->args);
        l->args = NULL;
        l->arg_count = 0;
    }
    signature_free(r->signature);
    kiln_module_free(r->module);
    kiln_close(r->k);
    r->signature = NULL;
    r->module = NULL;
    r->k = NULL;
}
