// What came out of a launch: the first values of its buffers, files of them, and how they compare
// with files of what was expected.
#include <math.h>
#include <stdlib.h>

#include "base/term.h"
#include "cli/run.h"
#include "ir/eval.h"

// --- numbers

static double value_of(kiln_type type, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, kiln_type_size(type));
    switch (type) {
    case KILN_I8: return (int8_t)bits;
    case KILN_I16: return (int16_t)bits;
    case KILN_I32: return (int32_t)bits;
    case KILN_I64: return (double)(int64_t)bits;
    case KILN_F32: {
        float f;
        memcpy(&f, at, 4);
        return (double)f;
    }
    case KILN_F64: {
        double d;
        memcpy(&d, at, 8);
        return d;
    }
    case KILN_F16: return ir_widen(IR_F16, (uint32_t)bits);
    case KILN_BF16: return ir_widen(IR_BF16, (uint32_t)bits);
    case KILN_F8E4: return ir_widen(IR_F8E4, (uint32_t)bits);
    case KILN_F8E5: return ir_widen(IR_F8E5, (uint32_t)bits);
    case KILN_VOID:
    case KILN_BOOL:
    case KILN_U8:
    case KILN_U16:
    case KILN_U32:
    case KILN_U64: return (double)bits;
    }
    return (double)bits;
}

static bool is_float(kiln_type type)
{
    return type >= KILN_F16;
}

// Floats of one type in order, so that neighbours differ by one: the distance is in units of the
// last place.
static uint64_t ulps_between(kiln_type type, const void *a, const void *b)
{
    size_t size = kiln_type_size(type);
    uint64_t x = 0, y = 0, sign = UINT64_C(1) << (8 * size - 1);
    memcpy(&x, a, size);
    memcpy(&y, b, size);
    x = x & sign ? sign - (x & ~sign) : sign + x;
    y = y & sign ? sign - (y & ~sign) : sign + y;
    return x > y ? x - y : y - x;
}

typedef struct summer {
    const unsigned char *at;
    uint64_t hash;
} summer;

static void add_bytes(summer *s, const unsigned char *from, size_t len)
{
    for (size_t b = 0; b < len; b++)
        s->hash = (s->hash ^ from[b]) * 0x100000001b3u;
}

static void add_scalar(void *user, kiln_type type, size_t offset)
{
    static const unsigned char nan_bytes[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    summer *s = user;
    bool is_nan = is_float(type) && isnan(value_of(type, s->at + offset));
    add_bytes(s, is_nan ? nan_bytes : s->at + offset, kiln_type_size(type));
}

// 64 bits of the values; every NaN counts the same, so equal results have equal checksums on every
// device.
uint64_t run_checksum(const layout *l, size_t count, const void *data)
{
    summer s = {.at = data, .hash = 0xcbf29ce484222325u};
    for (size_t i = 0; i < count; i++, s.at += l->size) {
        if (layout_scalar_count(l))
            layout_each(l, 0, add_scalar, &s);
        else
            add_bytes(&s, s.at, l->size);
    }
    return s.hash;
}

// --- on the screen

static void print_shape(const run_arg *a, const char *element)
{
    printf("%s[", element);
    for (int k = 0; k < a->shape.rank; k++)
        printf("%s%zu", k ? "x" : "", a->shape.size[k]);
    printf("]");
}

// Values of the buffer: eight of them, or all; rows of a shape on lines of their own.
static void print_values(const run *r, const run_arg *a, arena *scratch)
{
    size_t most = r->shows_all ? a->shape.count : 8;
    size_t row = a->shape.rank > 1 ? a->shape.size[a->shape.rank - 1] : 0;
    bool has_rows = r->shows_all && row > 0;
    printf(" =");
    for (size_t e = 0; e < a->shape.count && e < most; e++) {
        text one = {.in = scratch};
        arena_mark mark = arena_save(scratch);
        layout_show(&a->element, a->bytes + e * a->element.size, &one);
        printf("%s%s", has_rows && e % row == 0 ? "\n    " : " ", one.at ? one.at : "");
        arena_restore(scratch, mark);
    }
    printf("%s%schecksum %016llx\n", a->shape.count > most ? " …" : "", has_rows ? "\n    " : "  ",
           (unsigned long long)run_checksum(&a->element, a->shape.count, a->bytes));
}

static void print_single(const run_arg *a, arena *scratch)
{
    text one = {.in = scratch};
    if (a->is_map) {
        printf("  %s: a map of ", a->info.name);
        print_shape(a, kiln_type_name(a->map_type));
        printf("\n");
        return;
    }
    layout_show(&a->element, a->bytes, &one);
    printf("  %s = %s", a->info.name, one.at ? one.at : "");
    printf(a->because[0] ? " (assumed: %s)\n" : "%s\n", a->because);
}

int run_show(run *r, run_launch *l)
{
    arena *scratch = arena_new();
    if (!scratch)
        return EXIT_WORLD;
    printf("%s on %s, grid %u,%u,%u block %u,%u,%u\n", kiln_kernel_name(l->kernel),
           kiln_device_name(r->k), l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
           l->block[2]);
    if (l->assumed[0])
        printf("  grid assumed: %s (--grid or --items changes it)\n", l->assumed);
    if (l->is_empty)
        printf("  nothing was launched: a size is 0\n");
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < l->arg_count && !st; i++) {
        run_arg *a = &l->args[i];
        if (a->info.kind != KILN_PARAM_POINTER) {
            print_single(a, scratch);
            continue;
        }
        text name = {.in = scratch};
        if (a->element.kind == LAYOUT_RECORD)
            text_puts(&name, a->element.is_union ? "union" : "struct");
        else
            layout_name(&a->element, &name);
        printf("  %s: ", a->info.name);
        print_shape(a, a->element.kind == LAYOUT_OPAQUE ? "struct" : name.at);
        if (a->info.is_const) {
            printf(" (input)\n");
            continue;
        }
        if (!a->bytes)
            a->bytes = malloc(a->shape.count * a->element.size + 1);
        st = a->bytes ? kiln_read(a->buffer, 0, a->bytes, a->shape.count) : KILN_OK;
        if (!st && a->bytes)
            print_values(r, a, scratch);
    }
    arena_free(scratch);
    return st ? cli_fail(r->k, st) : 0;
}

// --- files

// The newest state of the buffer of that name; NULL after a message.
static const run_arg *find_result(const run *r, const run_file *f)
{
    return run_find_buffer(r, NULL, f->name, f->name_len);
}

// Does the newest argument of that name hold a buffer? Asked before the first launch: later, what
// it has computed would be lost.
static int check_result(const run *r, const char *option, const run_file *f)
{
    bool is_argument = false, is_buffer = false;
    for (size_t k = 0; k < r->launch_count; k++) {
        const run_launch *l = &r->launches[k];
        kiln_kernel *kernel;
        kiln_param_info info;
        kiln_status st = l->kernel_name ? kiln_module_kernel(r->module, l->kernel_name, &kernel)
                                        : kiln_module_kernel_at(r->module, 0, &kernel);
        if (st)
            return cli_fail(r->k, st);
        for (size_t p = 0; !kiln_kernel_param(kernel, p, &info); p++) {
            if (strlen(info.name) != f->name_len || memcmp(info.name, f->name, f->name_len) != 0)
                continue;
            is_argument = true;
            is_buffer = info.kind == KILN_PARAM_POINTER;
        }
    }
    if (is_buffer)
        return 0;
    fprintf(stderr, "kiln %s: --%s %.*s: %s\n", r->verb, option, (int)f->name_len, f->name,
            is_argument ? "it is not a buffer" : "no launch has such an argument");
    return EXIT_USAGE;
}

int run_check_results(const run *r)
{
    int failed = 0;
    if (!kiln_module_kernel_count(r->module))
        return 0; // run_prepare says so
    for (size_t k = 0; !failed && k < r->out_count; k++)
        failed = check_result(r, "out", &r->outs[k]);
    for (size_t k = 0; !failed && k < r->expect_count; k++)
        failed = check_result(r, "expect", &r->expects[k]);
    return failed;
}

static unsigned char *read_back(run *r, const run_arg *a, int *failed)
{
    unsigned char *bytes = malloc(a->shape.count * a->element.size + 1);
    kiln_status st = bytes ? kiln_read(a->buffer, 0, bytes, a->shape.count) : KILN_OK;
    *failed = st ? cli_fail(r->k, st) : bytes ? 0 : EXIT_WORLD;
    if (*failed) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

// A buffer of vectors has one dimension more in the file.
static int write_file(run *r, const run_file *f)
{
    const run_arg *a = find_result(r, f);
    int failed = 0;
    unsigned char *bytes = read_back(r, a, &failed);
    if (!bytes)
        return failed;
    arena *scratch = arena_new();
    text descr = {.in = scratch};
    size_t shape[NPY_RANK + 1];
    int rank = a->shape.rank;
    kiln_type type;
    size_t count;
    char why[NPY_WHY];
    memcpy(shape, a->shape.size, sizeof a->shape.size);
    if (a->element.kind == LAYOUT_ARRAY && layout_is_flat(&a->element, &type, &count)) {
        shape[rank++] = count;
        text_printf(&descr, "'%s'", npy_code(type));
    } else {
        layout_descr(&a->element, &descr);
    }
    size_t path_len = strlen(f->path);
    bool is_npy = path_len > 4 && !strcmp(f->path + path_len - 4, ".npy");
    if (!npy_write(f->path, is_npy ? descr.at : NULL, shape, rank, bytes,
                   a->shape.count * a->element.size, why)) {
        fprintf(stderr, "kiln %s: %s: %s\n", r->verb, f->path, why);
        failed = EXIT_WORLD;
    }
    arena_free(scratch);
    free(bytes);
    return failed;
}

// --- comparing

typedef struct comparison {
    const run *r;
    const unsigned char *got, *wanted;
    size_t element, scalar; // where it is
    size_t scalars, wrong, first_wrong;
    double most_absolute, most_relative;
    uint64_t most_ulps;
    bool has_floats;
    kiln_type first_type;
    unsigned char first_got[8], first_wanted[8];
} comparison;

static void compare_one(void *user, kiln_type type, size_t offset)
{
    comparison *c = user;
    const void *a = c->got + offset, *b = c->wanted + offset;
    double x = value_of(type, a), y = value_of(type, b);
    bool is_same =
        !memcmp(a, b, kiln_type_size(type)) || (isnan(x) && isnan(y)) || (is_float(type) && x == y);
    double difference = fabs(x - y);
    c->scalars++;
    if (is_same)
        return;
    double relative = y != 0 ? difference / fabs(y) : HUGE_VAL;
    bool is_near = difference <= c->r->tolerance + c->r->relative * fabs(y);
    if (difference > c->most_absolute || isnan(difference))
        c->most_absolute = difference;
    if (relative > c->most_relative || isnan(relative))
        c->most_relative = relative;
    if (is_float(type)) {
        uint64_t ulps = ulps_between(type, a, b);
        c->has_floats = true;
        c->most_ulps = ulps > c->most_ulps ? ulps : c->most_ulps;
    }
    if (is_near)
        return;
    if (!c->wrong++) {
        c->first_wrong = c->element;
        c->first_type = type;
        memcpy(c->first_got, a, kiln_type_size(type));
        memcpy(c->first_wanted, b, kiln_type_size(type));
    }
}

static void print_index(const run_arg *a, size_t element)
{
    size_t index[NPY_RANK];
    for (int k = a->shape.rank - 1; k >= 0; k--) {
        index[k] = element % (a->shape.size[k] ? a->shape.size[k] : 1);
        element /= a->shape.size[k] ? a->shape.size[k] : 1;
    }
    for (int k = 0; k < a->shape.rank; k++)
        fprintf(stderr, "[%zu]", index[k]);
}

static int report(const run *r, const run_arg *a, const run_file *f, const comparison *c)
{
    const char *name = a->info.name;
    if (!c->wrong) {
        printf("  %s agrees with %s: %zu value%s", name, f->path, c->scalars,
               c->scalars == 1 ? "" : "s");
        if (c->most_absolute > 0)
            printf(", largest difference %.3g", c->most_absolute);
        printf("\n");
        return 0;
    }
    arena *scratch = arena_new();
    text got = {.in = scratch}, wanted = {.in = scratch};
    layout_show_scalar(c->first_type, c->first_got, &got);
    layout_show_scalar(c->first_type, c->first_wanted, &wanted);
    fflush(stdout);
    fprintf(stderr, "kiln %s: %s differs from %s: %zu of %zu values (%.3g %%)\n", r->verb, name,
            f->path, c->wrong, c->scalars, 100.0 * (double)c->wrong / (double)c->scalars);
    fprintf(stderr, "  largest difference %.6g, relative %.3g", c->most_absolute, c->most_relative);
    if (c->has_floats)
        fprintf(stderr, ", %llu units in the last place", (unsigned long long)c->most_ulps);
    fprintf(stderr, "\n  first at %s", name);
    print_index(a, c->first_wrong);
    fprintf(stderr, ": %s, expected %s\n", got.at, wanted.at);
    arena_free(scratch);
    return EXIT_KERNEL;
}

static comparison compare_all(const run *r, const run_arg *a, const unsigned char *got,
                              const unsigned char *wanted)
{
    comparison c = {.r = r, .got = got, .wanted = wanted};
    for (; c.element < a->shape.count; c.element++) {
        if (layout_scalar_count(&a->element)) {
            layout_each(&a->element, 0, compare_one, &c);
        } else {
            layout byte = layout_scalar(KILN_U8);
            for (size_t b = 0; b < a->element.size; b++)
                layout_each(&byte, b, compare_one, &c);
        }
        c.got += a->element.size;
        c.wanted += a->element.size;
    }
    return c;
}

size_t run_count_wrong(const run *r, const run_arg *a, const unsigned char *got,
                       const unsigned char *wanted, double *most)
{
    comparison c = compare_all(r, a, got, wanted);
    *most = c.most_absolute;
    return c.wrong;
}

// The file is read as an argument's would be, so that the same types and shapes fit.
static int compare_file(run *r, const run_file *f)
{
    const run_arg *a = find_result(r, f);
    int failed = 0;
    unsigned char *got = read_back(r, a, &failed);
    if (!got)
        return failed;
    run_arg wanted = {.info = a->info, .element = a->element};
    if (!run_read_file(r, &wanted, f->path)) {
        failed = EXIT_WORLD;
    } else if (wanted.shape.count != a->shape.count) {
        fprintf(stderr, "kiln %s: %s has %zu elements, %s has %zu\n", r->verb, f->path,
                wanted.shape.count, a->info.name, a->shape.count);
        failed = EXIT_KERNEL;
    } else {
        comparison c = compare_all(r, a, got, wanted.bytes);
        failed = report(r, a, f, &c);
    }
    free(wanted.bytes);
    free(got);
    return failed;
}

int run_finish(run *r)
{
    int failed = 0;
    for (size_t k = 0; k < r->out_count; k++) {
        int one = write_file(r, &r->outs[k]);
        failed = failed ? failed : one;
    }
    for (size_t k = 0; k < r->expect_count; k++) {
        int one = compare_file(r, &r->expects[k]);
        failed = failed ? failed : one;
    }
    return failed;
}
