// Reads and writes .npy. The header is a Python dictionary literal, which a small scanner reads;
// everything is checked against the file's real length before memory is taken. What is read is
// turned into C order and this machine's byte order. Start reading at npy_read_bytes.
#include "cli/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *code; // without the byte order
    kiln_type type;
    size_t size;
} codes[] = {
    {"b1", KILN_BOOL, 1}, {"i1", KILN_I8, 1},  {"u1", KILN_U8, 1},  {"i2", KILN_I16, 2},
    {"u2", KILN_U16, 2},  {"i4", KILN_I32, 4}, {"u4", KILN_U32, 4}, {"i8", KILN_I64, 8},
    {"u8", KILN_U64, 8},  {"f2", KILN_F16, 2}, {"f4", KILN_F32, 4}, {"f8", KILN_F64, 8},
};

#define FAIL(...) (snprintf(why, NPY_WHY, __VA_ARGS__), false)

enum { DEPTH_LIMIT = 8, ELEMENT_LIMIT = 1 << 20 };

typedef struct scan {
    const char *at, *end;
    npy *out;
    bool is_fortran, is_swapped;
    char *why;
} scan;

static bool accept(scan *s, char c)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n'))
        s->at++;
    if (s->at >= s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool is_next(scan *s, char c)
{
    bool found = accept(s, c);
    s->at -= found;
    return found;
}

static bool parse_string(scan *s, char *to, size_t room)
{
    char *why = s->why;
    char quote = accept(s, '\'') ? '\'' : accept(s, '"') ? '"' : 0;
    size_t len = 0;
    if (!quote)
        return FAIL("its header is damaged: a quoted name is missing");
    for (; s->at < s->end && *s->at != quote; s->at++) {
        bool is_plain = *s->at >= ' ' && *s->at <= '~' && *s->at != '\\';
        if (len + 1 >= room || !is_plain)
            return FAIL("its header has a name that Kiln cannot use (too long, or not plain text)");
        to[len++] = *s->at;
    }
    to[len] = 0;
    return s->at++ < s->end ? true : FAIL("its header ends inside a name");
}

// "(3, 4)": the sizes, at most NPY_RANK of them; a number alone counts as "(3,)".
static bool parse_shape(scan *s, size_t *shape, int *rank, size_t *count)
{
    char *why = s->why;
    bool is_tuple = accept(s, '(');
    *rank = 0;
    *count = 1;
    while (!is_tuple || !accept(s, ')')) {
        size_t value = 0;
        int digits = 0;
        if (is_next(s, '-'))
            return FAIL("its shape has a negative size");
        for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++, digits++)
            if (__builtin_mul_overflow(value, (size_t)10, &value) ||
                __builtin_add_overflow(value, (size_t)(*s->at - '0'), &value))
                return FAIL("its shape is too large");
        if (!digits)
            return FAIL("its shape is not a list of numbers");
        accept(s, 'L'); // Python 2 wrote long numbers so
        if (*rank == NPY_RANK)
            return FAIL("its shape has more than %d dimensions", NPY_RANK);
        shape[(*rank)++] = value;
        if (!is_tuple)
            break;
        if (!accept(s, ',') && !is_next(s, ')'))
            return FAIL("its shape is not a list of numbers");
    }
    for (int k = 0; k < *rank; k++) // a zero first: (0, huge) is empty
        *count = shape[k] ? *count : 0;
    for (int k = 0; k < *rank; k++)
        if (__builtin_mul_overflow(*count, shape[k], count))
            return FAIL("its shape is too large");
    return true;
}

// "<f4" and the like. Raw bytes (V, S) have type KILN_VOID.
static bool read_code(scan *s, const char *code, kiln_type *type, size_t *size, bool *is_swapped)
{
    char *why = s->why;
    const char *at = code;
    bool is_big = *at == '>';
    if (*at == '<' || *at == '|' || *at == '=' || *at == '>')
        at++;
    for (size_t i = 0; i < COUNT(codes); i++) {
        if (strcmp(at, codes[i].code) != 0)
            continue;
        *type = codes[i].type;
        *size = codes[i].size;
        *is_swapped = is_big && *size > 1;
        s->is_swapped |= *is_swapped;
        return true;
    }
    char *end;
    unsigned long bytes = *at == 'V' || *at == 'S' ? strtoul(at + 1, &end, 10) : 0;
    if (bytes && !*end && at[1] >= '0' && at[1] <= '9' && bytes <= ELEMENT_LIMIT) {
        *type = KILN_VOID;
        *size = bytes;
        return true;
    }
    return FAIL(
        "its element type '%s' is not one that Kiln reads: b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 "
        "f8, or a list of fields of them",
        code);
}

// The fields from `first` on are those of one record at `prefix`; there are `count` such records,
// of `size` bytes each.
static bool repeat_fields(npy *n, size_t first, const char *prefix, size_t count, size_t size,
                          char why[NPY_WHY])
{
    size_t each = n->field_count - first, len = strlen(prefix);
    if (each && count > (NPY_FIELDS - first) / each)
        return FAIL("its records have more than %d fields", NPY_FIELDS);
    for (size_t e = each ? count : 0; e-- > 0;) // the first one last: it is copied from
        for (size_t k = 0; k < each; k++) {
            npy_field f = n->fields[first + k];
            char path[sizeof f.path];
            if (snprintf(path, sizeof path, "%s[%zu]%s", prefix, e, f.path + len) >=
                (int)sizeof path)
                return FAIL("its header has a name that is too long");
            memcpy(f.path, path, sizeof path);
            f.offset += e * size;
            n->fields[first + e * each + k] = f;
        }
    n->field_count = first + each * count;
    return true;
}

// "[('mass', '<f4'), ('pos', '<f4', (3,)), ('', '|V4')]" at byte `offset` of the record; a field's
// type may be such a list again. *size gets the bytes of it.
static bool parse_fields(scan *s, const char *prefix, size_t offset, int depth, size_t *size)
{
    char *why = s->why;
    *size = 0;
    if (depth > DEPTH_LIMIT)
        return FAIL("its records are nested more than %d deep", DEPTH_LIMIT);
    while (!accept(s, ']')) {
        char name[64], code[64];
        npy_field f = {.offset = offset + *size, .count = 1};
        size_t one = 0, shape[NPY_RANK], bytes;
        int rank;
        if (!accept(s, '('))
            return FAIL("its header has a field that is not (name, type)");
        if (accept(s, '(')) { // (title, name)
            if (!parse_string(s, name, sizeof name) || !accept(s, ','))
                return FAIL("its header has a field without a name");
        }
        if (!parse_string(s, name, sizeof name))
            return false;
        accept(s, ')');
        int len = snprintf(f.path, sizeof f.path, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (len >= (int)sizeof f.path || !accept(s, ','))
            return FAIL("its header has a field '%s' without a type", name);
        bool is_record = accept(s, '[');
        size_t first = s->out->field_count;
        if (is_record ? !parse_fields(s, f.path, f.offset, depth + 1, &one)
                      : !parse_string(s, code, sizeof code) ||
                            !read_code(s, code, &f.type, &one, &f.is_swapped))
            return false;
        bool has_shape = accept(s, ',') && !is_next(s, ')');
        if (has_shape && !parse_shape(s, shape, &rank, &f.count))
            return false;
        if (!accept(s, ')'))
            return FAIL("its header has a field '%s' that does not end", name);
        if (is_record && has_shape && !repeat_fields(s->out, first, f.path, f.count, one, why))
            return false;
        if (__builtin_mul_overflow(one, f.count, &bytes) || bytes > ELEMENT_LIMIT ||
            (*size += bytes) > ELEMENT_LIMIT)
            return FAIL("its records are larger than 1 MiB");
        bool is_padding = !*name || f.type == KILN_VOID;
        if (is_record && !*name)
            s->out->field_count = first;
        if (!is_record && !is_padding) {
            if (s->out->field_count == NPY_FIELDS)
                return FAIL("its records have more than %d fields", NPY_FIELDS);
            s->out->fields[s->out->field_count++] = f;
        }
        if (!accept(s, ',') && !is_next(s, ']'))
            return FAIL("its list of fields is damaged");
    }
    return true;
}

static bool parse_descr(scan *s)
{
    char *why = s->why, code[64];
    npy *n = s->out;
    bool is_swapped;
    if (!accept(s, '['))
        return parse_string(s, code, sizeof code) &&
               read_code(s, code, &n->type, &n->element_size, &is_swapped);
    n->fields = calloc(NPY_FIELDS, sizeof *n->fields);
    if (!n->fields)
        return FAIL("out of memory");
    if (!parse_fields(s, "", 0, 0, &n->element_size))
        return false;
    return n->element_size ? true : FAIL("its records have no fields");
}

static bool parse_bool(scan *s, bool *out)
{
    char *why = s->why;
    is_next(s, ' ');
    size_t left = (size_t)(s->end - s->at);
    *out = left >= 4 && !memcmp(s->at, "True", 4);
    if (!*out && !(left >= 5 && !memcmp(s->at, "False", 5)))
        return FAIL("its header has no True or False after 'fortran_order'");
    s->at += *out ? 4 : 5;
    return true;
}

static bool read_header(scan *s)
{
    char *why = s->why, key[32];
    bool has_descr = false, has_order = false, has_shape = false;
    if (!accept(s, '{'))
        return FAIL("its header is not a dictionary");
    while (!accept(s, '}')) {
        if (!parse_string(s, key, sizeof key))
            return false;
        if (!accept(s, ':'))
            return FAIL("its header has no value for '%s'", key);
        bool *has = !strcmp(key, "descr")           ? &has_descr
                    : !strcmp(key, "fortran_order") ? &has_order
                    : !strcmp(key, "shape")         ? &has_shape
                                                    : NULL;
        if (!has || *has)
            return FAIL("its header has %s key '%s'", has ? "twice the" : "an unknown", key);
        *has = true;
        if (has == &has_descr   ? !parse_descr(s)
            : has == &has_order ? !parse_bool(s, &s->is_fortran)
                                : !parse_shape(s, s->out->shape, &s->out->rank, &s->out->count))
            return false;
        if (!accept(s, ',') && !is_next(s, '}'))
            return FAIL("its header is damaged after '%s'", key);
    }
    return has_descr && has_order && has_shape
               ? true
               : FAIL("its header has no '%s'", !has_descr   ? "descr"
                                                : !has_shape ? "shape"
                                                             : "fortran_order");
}

static void swap_bytes(unsigned char *at, size_t size)
{
    for (size_t k = 0; k < size / 2; k++) {
        unsigned char c = at[k];
        at[k] = at[size - 1 - k];
        at[size - 1 - k] = c;
    }
}

// The first dimension runs fastest in the file; the last one in what is wanted.
static bool to_c_order(npy *n, char why[NPY_WHY])
{
    size_t size = n->element_size;
    unsigned char *to = malloc(n->count * size + 1), *from = n->data;
    if (!to)
        return FAIL("out of memory: %zu bytes", n->count * size);
    size_t index[NPY_RANK] = {0};
    for (size_t k = 0; k < n->count; k++) {
        size_t at = 0;
        for (int d = n->rank - 1; d >= 0; d--)
            at = at * n->shape[d] + index[d];
        memcpy(to + k * size, from + at * size, size);
        for (int d = n->rank - 1; d >= 0 && ++index[d] == n->shape[d]; d--)
            index[d] = 0;
    }
    free(n->data);
    n->data = to;
    return true;
}

static void to_own_bytes(npy *n)
{
    unsigned char *at = n->data;
    for (size_t k = 0; k < n->count; k++, at += n->element_size) {
        if (!n->fields)
            swap_bytes(at, n->element_size);
        for (size_t f = 0; f < n->field_count; f++)
            for (size_t e = 0; n->fields[f].is_swapped && e < n->fields[f].count; e++) {
                size_t size = kiln_type_size(n->fields[f].type);
                swap_bytes(at + n->fields[f].offset + e * size, size);
            }
    }
}

static bool read_all(const unsigned char *bytes, size_t len, npy *out, char why[NPY_WHY])
{
    size_t start = 10, total;
    if (len < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return FAIL("it is not a .npy file");
    if (bytes[6] < 1 || bytes[6] > 3)
        return FAIL("it is of version %u of the .npy format; Kiln reads 1 to 3", bytes[6]);
    size_t header_len = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] >= 2) {
        start = 12;
        if (len >= start)
            header_len |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    if (len < start || len - start < header_len)
        return FAIL("it ends in its header");
    const char *header = (const char *)bytes + start;
    scan s = {.at = header, .end = header + header_len, .out = out, .why = why};
    if (!read_header(&s))
        return false;
    if (__builtin_mul_overflow(out->count, out->element_size, &total))
        return FAIL("its shape is too large");
    if (len - start - header_len < total)
        return FAIL("it is shorter than its shape says: %zu bytes of data instead of %zu",
                    len - start - header_len, total);
    out->data = malloc(total + 1);
    if (!out->data)
        return FAIL("out of memory: %zu bytes", total);
    memcpy(out->data, header + header_len, total);
    if (s.is_fortran && out->rank > 1 && !to_c_order(out, why))
        return false;
    if (s.is_swapped)
        to_own_bytes(out);
    return true;
}

bool npy_read_bytes(const void *bytes, size_t len, npy *out, char why[NPY_WHY])
{
    *out = (npy){0};
    bool ok = read_all(bytes, len, out, why);
    if (!ok)
        npy_free(out);
    return ok;
}

bool npy_read(const char *path, npy *out, char why[NPY_WHY])
{
    *out = (npy){0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return FAIL("%s", strerror(errno));
    size_t len = 0, room = 1 << 16;
    unsigned char *bytes = malloc(room);
    bool ok = bytes ? true : FAIL("out of memory");
    while (ok && !feof(file)) {
        if (len == room) {
            unsigned char *more = realloc(bytes, room *= 2);
            ok = more ? true : FAIL("out of memory: %zu bytes", room);
            bytes = more ? more : bytes;
        }
        if (ok)
            len += fread(bytes + len, 1, room - len, file);
        if (ok && ferror(file))
            ok = FAIL("it could not be read: %s", strerror(errno));
    }
    fclose(file);
    ok = ok && npy_read_bytes(bytes, len, out, why);
    free(bytes);
    return ok;
}

void npy_free(npy *n)
{
    free(n->data);
    free(n->fields);
    *n = (npy){0};
}

const char *npy_code(kiln_type type)
{
    static const char *const names[] = {
        [KILN_VOID] = "|V1", [KILN_BOOL] = "|b1", [KILN_I8] = "|i1",  [KILN_U8] = "|u1",
        [KILN_I16] = "<i2",  [KILN_U16] = "<u2",  [KILN_I32] = "<i4", [KILN_U32] = "<u4",
        [KILN_I64] = "<i8",  [KILN_U64] = "<u8",  [KILN_F16] = "<f2", [KILN_BF16] = "<u2",
        [KILN_F8E4] = "|u1", [KILN_F8E5] = "|u1", [KILN_F32] = "<f4", [KILN_F64] = "<f8"};
    return (size_t)type < COUNT(names) ? names[type] : "|V1";
}

static bool is_long(size_t header_len) // the length needs four bytes
{
    return header_len + 64 > UINT16_MAX;
}

static bool write_to(FILE *file, const char *header, size_t len, const void *data, size_t bytes)
{
    unsigned char start[12] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(len & 255), (unsigned char)(len >> 8)};
    size_t start_len = 10;
    if (is_long(len)) { // a long list of fields
        start[6] = 2;
        start[10] = (unsigned char)(len >> 16);
        start[11] = (unsigned char)(len >> 24);
        start_len = 12;
    }
    bool has_header = !len || (fwrite(start, 1, start_len, file) == start_len &&
                               fwrite(header, 1, len, file) == len);
    return has_header && (!bytes || fwrite(data, 1, bytes, file) == bytes) && fflush(file) == 0;
}

// The dictionary, padded so that the data starts at a multiple of 64; malloc'ed.
static char *make_header(const char *descr, const size_t *shape, int rank, size_t *out_len)
{
    size_t room = strlen(descr) + 24 * (size_t)rank + 256;
    char *header = malloc(room);
    if (!header)
        return NULL;
    int len = snprintf(header, room, "{'descr': %s, 'fortran_order': False, 'shape': (", descr);
    for (int k = 0; k < rank; k++)
        len += snprintf(header + len, room - (size_t)len, "%s%zu%s", k ? " " : "", shape[k],
                        k + 1 < rank || rank == 1 ? "," : "");
    len += snprintf(header + len, room - (size_t)len, "), }");
    size_t start = is_long((size_t)len) ? 12 : 10;
    for (; ((size_t)len + 1 + start) % 64; len++)
        header[len] = ' ';
    header[len++] = '\n';
    *out_len = (size_t)len;
    return header;
}

// A pipe or a device is written to; a file is replaced.
static bool is_replaced(const char *path)
{
    struct stat info;
    return lstat(path, &info) || S_ISREG(info.st_mode);
}

bool npy_write(const char *path, const char *descr, const size_t *shape, int rank, const void *data,
               size_t bytes, char why[NPY_WHY])
{
    size_t len = 0, path_room = strlen(path) + 32;
    char *header = descr ? make_header(descr, shape, rank, &len) : calloc(1, 1);
    char *beside = malloc(path_room);
    int saved = ENOMEM;
    bool ok = header && beside, replaces = is_replaced(path);
    FILE *file = NULL;
    if (ok) {
        snprintf(beside, path_room, replaces ? "%s.%ld.part" : "%s", path, (long)getpid());
        file = fopen(beside, "wb");
        ok = file && write_to(file, header, len, data, bytes);
        saved = errno;
    }
    if (file && fclose(file) && ok) {
        saved = errno;
        ok = false;
    }
    if (ok && replaces && rename(beside, path)) {
        saved = errno;
        ok = false;
    }
    if (file && !ok && replaces)
        unlink(beside);
    free(header);
    free(beside);
    return ok ? true : FAIL("%s", strerror(saved));
}
