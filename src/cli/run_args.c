// Turns "x=3x4:range", "n=4096", "x=@in.npy", "p.mass=2" or silence into the bytes of a kernel
// parameter. Start reading at run_read_value.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/run.h"
#include "ir/eval.h"

static bool is_integer(kiln_type t)
{
    return t >= KILN_BOOL && t <= KILN_U64;
}

static bool complain(const run *r, const run_arg *a, const char *what)
{
    fprintf(stderr, "kiln %s: argument '%s' (%s): %s\n", r->verb, a->info.name, a->info.c_type,
            what);
    return false;
}

// --- :FILL

// "name(1,2)": the numbers, up to `most`; -1: not of that form.
static int numbers_of(const char *word, const char *name, double *out, int most)
{
    size_t len = strlen(name);
    if (strncmp(word, name, len) != 0 || (word[len] && word[len] != '('))
        return -1;
    if (!word[len])
        return 0;
    int count = 0;
    for (const char *at = word + len + 1; count < most;) {
        char *end;
        out[count++] = strtod(at, &end);
        if (end == at || (*end != ',' && *end != ')'))
            return -1;
        if (*end == ')')
            return end[1] ? -1 : count;
        at = end + 1;
    }
    return -1;
}

static bool read_constant(const run *r, run_arg *a, const char *word)
{
    char word_of[80], why[VALUE_WHY], message[VALUE_WHY + 16];
    size_t len = strlen(word);
    kiln_type type;
    size_t count;
    if (len < 8 || len >= sizeof word_of || word[len - 1] != ')')
        return complain(r, a, "const takes one value: const(2.5)");
    memcpy(word_of, word + 6, len - 7);
    word_of[len - 7] = 0;
    if (!layout_is_flat(&a->element, &type, &count))
        return complain(r, a, "const fills numbers and vectors, not structs");
    a->fill = FILL_CONST;
    if (value_scalar(type, word_of, a->constant, why))
        return true;
    snprintf(message, sizeof message, "const: %s", why);
    return complain(r, a, message);
}

static bool read_fill(const run *r, run_arg *a, const char *word)
{
    static const struct {
        const char *word;
        fill_kind fill;
    } plain[] = {
        {"zeros", FILL_ZEROS}, {"ones", FILL_ONES}, {"uninit", FILL_UNSET}, {"unset", FILL_UNSET}};
    double numbers[3];
    int count;
    a->is_filled = true;
    for (size_t k = 0; k < COUNT(plain); k++)
        if (!strcmp(word, plain[k].word)) {
            a->fill = plain[k].fill;
            return true;
        }
    if (!strncmp(word, "const", 5) && (!word[5] || word[5] == '('))
        return read_constant(r, a, word);
    if ((count = numbers_of(word, "random", numbers, 3)) >= 0 ||
        (count = numbers_of(word, "rand", numbers, 3)) >= 0) {
        a->fill = FILL_RANDOM;
    } else if ((count = numbers_of(word, "normal", numbers, 3)) >= 0) {
        a->fill = FILL_NORMAL;
        a->low = 0;
        a->high = 1;
    } else if ((count = numbers_of(word, "range", numbers, 2)) >= 0) {
        a->fill = FILL_RANGE;
        a->low = count > 0 ? numbers[0] : 0;
        a->high = count > 1 ? numbers[1] : 1;
        return true;
    } else {
        char message[400];
        snprintf(message, sizeof message,
                 "'%.100s' is no way to fill it: zeros, ones, const(V), range, range(START,STEP), "
                 "random, random(LOW,HIGH), random(LOW,HIGH,SEED), normal, normal(MEAN,DEVIATION), "
                 "uninit",
                 word);
        return complain(r, a, message);
    }
    if (count == 1)
        return complain(r, a, "random and normal take two numbers or none");
    if (count >= 2) {
        a->low = numbers[0];
        a->high = numbers[1];
    }
    a->seed = count == 3 ? (uint64_t)(int64_t)numbers[2] : 0;
    return true;
}

// --- @FILE

// A record of the file into one of the kernel's, member by member.
static bool read_records(const run_arg *a, const npy *n, unsigned char *to, char why[NPY_WHY])
{
    for (size_t k = 0; k < n->field_count; k++) {
        const npy_field *f = &n->fields[k];
        char path[128], problem[LAYOUT_WHY];
        size_t offset, count;
        kiln_type type;
        snprintf(path, sizeof path, ".%s", f->path);
        const layout *part = layout_find(&a->element, path, &offset, problem);
        if (!part || !layout_is_flat(part, &type, &count)) {
            snprintf(why, NPY_WHY, "its field '%s' does not fit: %.190s", f->path,
                     part ? "it is a struct in the kernel" : problem);
            return false;
        }
        size_t bytes = kiln_type_size(type) * count;
        bool is_same = type == f->type ||
                       (npy_code(type)[1] == 'u' && !strcmp(npy_code(type), npy_code(f->type)));
        if (!is_same || count != f->count) {
            snprintf(why, NPY_WHY, "its field '%s' has %zu %s, the kernel's %zu %s", f->path,
                     f->count, kiln_type_name(f->type), count, kiln_type_name(type));
            return false;
        }
        for (size_t e = 0; e < n->count; e++)
            memcpy(to + e * a->element.size + offset,
                   (const unsigned char *)n->data + e * n->element_size + f->offset, bytes);
    }
    return true;
}

// The shape of the buffer: the file's without the dimension that a vector's elements take.
static bool read_plain(const run_arg *a, npy *n, value_shape *shape, char why[NPY_WHY])
{
    kiln_type type;
    size_t per_element, size = a->element.size, bytes = n->count * n->element_size;
    bool is_flat = layout_is_flat(&a->element, &type, &per_element);
    bool is_same = n->type == KILN_VOID ||
                   (is_flat && (n->type == type || !strcmp(npy_code(type), npy_code(n->type)))) ||
                   a->element.kind == LAYOUT_OPAQUE;
    if (!is_same || !size || bytes % size) {
        text name = {.in = arena_new()};
        layout_name(&a->element, &name);
        snprintf(why, NPY_WHY, "it holds %zu %s, the kernel takes %.120s", n->count,
                 kiln_type_name(n->type), name.at ? name.at : "");
        arena_free(name.in);
        return false;
    }
    *shape = (value_shape){.size = {bytes / size}, .rank = 1, .count = bytes / size};
    bool has_inner = n->rank > 1 && n->shape[n->rank - 1] == per_element;
    int rank = n->element_size == size ? n->rank : has_inner ? n->rank - 1 : 0;
    if (is_flat && rank > 1) {
        shape->rank = rank;
        memcpy(shape->size, n->shape, (size_t)rank * sizeof *n->shape);
    }
    return true;
}

static bool read_npy(const run *r, run_arg *a, const char *path, char why[NPY_WHY])
{
    npy n;
    (void)r;
    if (!npy_read(path, &n, why))
        return false;
    bool ok = true;
    if (n.field_count) {
        a->shape = (value_shape){.size = {n.count}, .rank = 1, .count = n.count};
        a->bytes = calloc(n.count + 1, a->element.size);
        ok = a->bytes && read_records(a, &n, a->bytes, why);
        if (!a->bytes)
            snprintf(why, NPY_WHY, "out of memory");
    } else {
        ok = read_plain(a, &n, &a->shape, why);
        if (ok) {
            a->bytes = n.data;
            n.data = NULL;
        }
    }
    npy_free(&n);
    return ok;
}

// How many bytes a file may have. A device such as /dev/zero has no end.
static size_t most_bytes(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISCHR(st.st_mode) ? (size_t)1 << 28 : (size_t)1 << 36;
}

// Anything but .npy: the bytes as they are.
static bool read_raw(run_arg *a, const char *path, char why[NPY_WHY])
{
    const char *reason = "out of memory";
    arena *scratch = arena_new();
    str all;
    bool ok = scratch && file_read(scratch, path, most_bytes(path), &all, &reason);
    if (!ok) {
        snprintf(why, NPY_WHY, "%s", reason);
    } else if (!a->element.size || all.len % a->element.size) {
        snprintf(why, NPY_WHY, "it has %zu bytes, which is no multiple of an element's %zu",
                 all.len, a->element.size);
        ok = false;
    } else {
        a->bytes = malloc(all.len + 1);
        ok = a->bytes != NULL;
        if (ok)
            memcpy(a->bytes, all.at, all.len);
        size_t count = all.len / a->element.size;
        a->shape = (value_shape){.size = {count}, .rank = 1, .count = count};
    }
    arena_free(scratch);
    return ok;
}

bool run_read_file(const run *r, run_arg *a, const char *path)
{
    char why[NPY_WHY] = "out of memory";
    size_t len = strlen(path);
    if (!len)
        return complain(r, a, "there is no file behind the @");
    bool is_npy = len > 4 && !strcmp(path + len - 4, ".npy");
    if (is_npy ? read_npy(r, a, path, why) : read_raw(a, path, why)) {
        a->fill = FILL_DATA;
        a->is_filled = a->has_count = true;
        if (a->info.kind == KILN_PARAM_POINTER || a->shape.count == 1)
            return true;
        snprintf(why, sizeof why, "it has %zu values; the argument is one", a->shape.count);
    }
    fprintf(stderr, "kiln %s: argument '%s': %s: %s\n", r->verb, a->info.name, path, why);
    return false;
}

// --- tensor maps: SHAPE:TYPE[:FILL][,box=SHAPE][,swizzle=BYTES]

static bool read_map(const run *r, run_arg *a)
{
    char words[256], *rest = words, *word, *part;
    value_shape box = {0};
    snprintf(words, sizeof words, "%s", a->given);
    word = strsep(&rest, ",");
    for (char *option; (option = strsep(&rest, ","));) {
        if (!strncmp(option, "box=", 4) && value_read_shape(option + 4, strlen(option + 4), &box))
            continue;
        if (!strncmp(option, "swizzle=", 8)) {
            a->map_swizzle = (uint32_t)strtoul(option + 8, NULL, 10);
            continue;
        }
        return complain(r, a, "a tensor map takes SHAPE:TYPE[:FILL][,box=SHAPE][,swizzle=BYTES]");
    }
    part = strsep(&word, ":");
    bool ok = value_read_shape(part, strlen(part), &a->shape) && a->shape.rank <= 5;
    part = ok ? strsep(&word, ":") : NULL;
    for (kiln_type t = KILN_BOOL; part && t <= KILN_F64; t++)
        if (!strcmp(part, kiln_type_name(t)))
            a->map_type = t;
    if (!ok || a->map_type == KILN_VOID || (box.rank && box.rank != a->shape.rank))
        return complain(r, a, "a tensor map takes SHAPE:TYPE[:FILL][,box=SHAPE][,swizzle=BYTES]");
    for (int k = 0; k < a->shape.rank; k++) { // dimension 0 of a map is the last of a shape
        size_t size = box.rank ? box.size[k] : a->shape.size[k];
        a->map_box[a->shape.rank - 1 - k] = (uint32_t)(size > UINT32_MAX ? UINT32_MAX : size);
    }
    a->element = layout_scalar(a->map_type);
    a->is_map = a->has_count = true;
    a->low = is_integer(a->map_type) ? 0 : -1;
    a->high = is_integer(a->map_type) ? 100 : 1;
    a->fill = FILL_RANDOM;
    return word ? read_fill(r, a, word) : true;
}

// --- one argument

static bool read_literal(const run *r, run_arg *a)
{
    char why[VALUE_WHY];
    value_list list;
    if (!value_read_list(&a->element, a->given, &list, why))
        return complain(r, a, why);
    a->bytes = list.bytes ? list.bytes : calloc(1, 1);
    a->shape = list.shape;
    a->fill = FILL_DATA;
    a->has_count = a->is_filled = true;
    return true;
}

static bool read_buffer(const run *r, run_arg *a)
{
    const char *given = a->given;
    if (!*given)
        return complain(r, a, "there is no value behind the =, such as 1000, 3x4:ones or @FILE");
    if (*given == '@')
        return run_read_file(r, a, given + 1);
    if (*given == '[' || *given == '"')
        return read_literal(r, a);
    const char *colon = strchr(given, ':');
    size_t len = colon ? (size_t)(colon - given) : strlen(given);
    if (len) {
        if (value_read_shape(given, len, &a->shape))
            a->has_count = true;
        else if (colon || strchr("+-.0123456789", *given)) // no fill begins so
            return complain(r, a, "it does not start with a count or a shape, such as 1000 or 3x4");
        else
            return read_fill(r, a, given);
    }
    return colon ? read_fill(r, a, colon + 1) : true;
}

static bool read_single(const run *r, run_arg *a)
{
    char why[VALUE_WHY];
    if (a->info.kind == KILN_PARAM_TENSOR_MAP)
        return read_map(r, a);
    if (*a->given == '@')
        return run_read_file(r, a, a->given + 1);
    a->bytes = calloc(1, a->element.size + 8);
    if (!a->bytes)
        return complain(r, a, "out of memory");
    if (a->info.kind == KILN_PARAM_STRUCT && !strcmp(a->given, ":zeros"))
        return true;
    return value_read(&a->element, a->given, a->bytes, why) ? true : complain(r, a, why);
}

static bool is_name(const char *word)
{
    if (!*word || (*word >= '0' && *word <= '9'))
        return false;
    return word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ==
           0;
}

bool run_read_value(const run *r, const run_launch *l, run_arg *a)
{
    a->low = is_integer(a->info.type) ? 0 : -1;
    a->high = is_integer(a->info.type) ? 100 : 1;
    bool is_pointer = a->info.kind == KILN_PARAM_POINTER;
    // The same name, or name=OTHER, takes what an earlier launch had.
    const char *name = !a->given ? a->info.name : is_name(a->given) ? a->given : NULL;
    const run_arg *from = name ? run_find_buffer(r, l, name, strlen(name)) : NULL;
    if (from && from->info.kind == a->info.kind && from->element.size == a->element.size) {
        a->from = from;
        a->shape = from->shape;
        a->has_count = true;
        a->buffer = from->buffer;
        if (!is_pointer) {
            a->bytes = malloc(from->element.size + 8);
            if (!a->bytes)
                return complain(r, a, "out of memory");
            memcpy(a->bytes, from->bytes, from->element.size);
        }
        return true;
    }
    if (a->given && from)
        return complain(r, a, "the earlier argument of that name has elements of another size");
    if (!a->given)
        return true;
    return is_pointer ? read_buffer(r, a) : read_single(r, a);
}

// --- data

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double unit(uint64_t bits) // 0 … 1, without 1
{
    return (double)(bits >> 40) * 0x1p-24;
}

static void put(kiln_type type, void *at, double v)
{
    static const uint8_t narrow[] = {
        [KILN_F16] = IR_F16, [KILN_BF16] = IR_BF16, [KILN_F8E4] = IR_F8E4, [KILN_F8E5] = IR_F8E5};
    if (type == KILN_F64) {
        memcpy(at, &v, 8);
    } else if (type == KILN_F32) {
        memcpy(at, &(float){(float)v}, 4);
    } else if (type >= KILN_F16 && type <= KILN_F8E5) {
        memcpy(at, &(uint32_t){ir_narrow((ir_type)narrow[type], v)}, kiln_type_size(type));
    } else if (type == KILN_BOOL) {
        memcpy(at, &(uint8_t){v != 0}, 1);
    } else { // wraps, as a conversion in C does to what is too large
        double whole = v < 0x1p63 && v > -0x1p63 ? v : 0;
        memcpy(at, &(int64_t){(int64_t)whole}, kiln_type_size(type));
    }
}

typedef struct filler {
    const run_arg *a;
    unsigned char *to;
    uint64_t stream, index; // of the scalar
} filler;

static void fill_one(void *user, kiln_type type, size_t offset)
{
    filler *f = user;
    const run_arg *a = f->a;
    uint64_t bits = mix(f->stream + f->index);
    double v = 1;
    if (a->fill == FILL_RANGE)
        v = a->low + a->high * (double)f->index;
    else if (a->fill == FILL_RANDOM)
        v = a->low + (a->high - a->low) * unit(bits);
    else if (a->fill == FILL_NORMAL) // Box and Muller
        v = a->low +
            a->high * sqrt(-2 * log(1 - unit(bits))) * cos(6.283185307179586 * unit(mix(bits)));
    f->index++;
    if (a->fill == FILL_CONST)
        memcpy(f->to + offset, a->constant, kiln_type_size(type));
    else
        put(type, f->to + offset, v);
}

static bool fill_buffer(const run *r, run_arg *a, size_t position)
{
    size_t bytes;
    if (__builtin_mul_overflow(a->shape.count, a->element.size, &bytes) ||
        !(a->bytes = calloc(1, bytes ? bytes : 1))) {
        fprintf(stderr, "kiln %s: argument '%s': no memory for %zu elements of %zu byte%s\n",
                r->verb, a->info.name, a->shape.count, a->element.size,
                a->element.size == 1 ? "" : "s");
        return false;
    }
    if (a->fill == FILL_AUTO)
        a->fill = a->info.is_const ? FILL_RANDOM : FILL_ZEROS;
    if (a->fill == FILL_UNSET)
        memset(a->bytes, 0xcd, bytes);
    if (a->fill == FILL_ZEROS || a->fill == FILL_UNSET)
        return true;
    filler f = {.a = a, .to = a->bytes, .stream = mix((r->seed + a->seed) * 1000003u + position)};
    for (size_t i = 0; i < a->shape.count; i++, f.to += a->element.size)
        layout_each(&a->element, 0, fill_one, &f);
    return true;
}

// "p.mass=2", "x[3].pos=[1,2,3]" in the words of the launch.
static bool set_parts(const run *r, const run_launch *l, run_arg *a, unsigned char *bytes)
{
    size_t name_len = strlen(a->info.name);
    layout whole = a->element;
    if (a->info.kind == KILN_PARAM_POINTER)
        whole = (layout){.kind = LAYOUT_ARRAY,
                         .size = a->element.size * a->shape.count,
                         .count = a->shape.count,
                         .parts = &a->element};
    for (size_t k = 0; k < l->value_count; k++) {
        const char *word = l->values[k], *equals = strchr(word, '=');
        char path[256], why[VALUE_WHY], message[VALUE_WHY + 320];
        size_t offset;
        if (strncmp(word, a->info.name, name_len) != 0 ||
            (word[name_len] != '.' && word[name_len] != '['))
            continue;
        snprintf(path, sizeof path, "%.*s", (int)(equals - word - (ptrdiff_t)name_len),
                 word + name_len);
        const layout *part = layout_find(&whole, path, &offset, why);
        if (!part || !value_read(part, equals + 1, bytes + offset, why)) {
            snprintf(message, sizeof message, "%s%s: %s", a->info.name, path, why);
            return complain(r, a, message);
        }
    }
    return true;
}

typedef struct unset_search {
    const unsigned char *from_zeros, *from_ones;
    size_t offset;
    bool is_found;
} unset_search;

static void look_for_unset(void *user, kiln_type type, size_t offset)
{
    unset_search *s = user;
    if (!s->is_found &&
        memcmp(s->from_zeros + offset, s->from_ones + offset, kiln_type_size(type))) {
        s->is_found = true;
        s->offset = offset;
    }
}

// The path of the scalar at a byte: ".pos.x".
static void path_of(const layout *l, size_t at, text *out)
{
    if (l->kind == LAYOUT_ARRAY) {
        size_t index = at / l->parts->size;
        if (l->is_vector && l->count <= 4)
            text_printf(out, ".%c", "xyzw"[index % 4]);
        else
            text_printf(out, "%s[%zu]", l->is_vector ? ".e" : "", index);
        path_of(l->parts, at % l->parts->size, out);
    }
    for (size_t k = 0; l->kind == LAYOUT_RECORD && k < l->part_count; k++) {
        const layout *part = &l->parts[k];
        if (at < part->offset || at >= part->offset + part->size)
            continue;
        text_printf(out, ".%s", part->name ? part->name : "");
        path_of(part, at - part->offset, out);
        return;
    }
}

// A struct of which some members are named: all must be, or p=:zeros says what the others are. What
// depends on the bytes before was not set.
static bool set_members(const run *r, const run_launch *l, run_arg *a)
{
    unsigned char *other = malloc(a->element.size + 8);
    bool ok = other != NULL && set_parts(r, l, a, a->bytes);
    if (other)
        memset(other, 0xff, a->element.size + 8);
    ok = ok && set_parts(r, l, a, other);
    unset_search search = {.from_zeros = a->bytes, .from_ones = other};
    if (ok)
        layout_each(&a->element, 0, look_for_unset, &search);
    free(other);
    if (!search.is_found)
        return ok;
    text path = {.in = arena_new()};
    path_of(&a->element, search.offset, &path);
    fprintf(stderr,
            "kiln %s: argument '%s' (%s): %s%s is not given\n"
            "hint: %s%s=VALUE gives it; %s=:zeros makes 0 of all that are not named\n",
            r->verb, a->info.name, a->info.c_type, a->info.name, path.at, a->info.name, path.at,
            a->info.name);
    arena_free(path.in);
    return false;
}

bool run_make_data(const run *r, const run_launch *l, run_arg *a, size_t position)
{
    if (a->from)
        return a->has_parts ? complain(r, a, "it is an earlier launch's; its elements stay") : true;
    bool is_buffer = a->info.kind == KILN_PARAM_POINTER || a->is_map;
    if (is_buffer && a->fill != FILL_DATA && !fill_buffer(r, a, position))
        return false;
    bool is_based = a->bytes != NULL;
    if (!is_buffer && !is_based && !(a->bytes = calloc(1, a->element.size + 8)))
        return complain(r, a, "out of memory");
    if (!a->has_parts)
        return true;
    return is_based ? set_parts(r, l, a, a->bytes) : set_members(r, l, a);
}
