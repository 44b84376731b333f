// GGUF files (kiln/gguf.h). A file is a header, keys with values, descriptions of tensors, and the
// tensors. Opening walks over all but the tensors once and keeps where each entry begins; a call
// then reads its entry again. Every step of a walk is checked against the end of the file: nothing
// outside is ever read, whatever the bytes are. Start reading at walk.
#include "kiln/gguf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/rt.h"

static const struct type_row {
    uint32_t number;
    const char *name;
    uint32_t block_size, block_bytes;
    kiln_type element;
} types[] = {
#define TYPE(number, name, size, bytes, element) {number, name, size, bytes, element},
#include "rt/gguf/types.def"
};

enum {
    MOST_RANK = 4,
    MOST_DEPTH = 4,        // of arrays in arrays
    LEAST_VALUE = 13,      // bytes of an entry: a key of no letters, a kind, a byte
    LEAST_TENSOR = 24,     // a name of no letters, a rank, a type, an offset
    DEFAULT_ALIGNMENT = 32 // where no key says another
};

// --- walking over bytes
typedef struct walker {
    const uint8_t *bytes;
    uint64_t size, at; // at <= size
    const char *why;   // the first thing that is wrong
} walker;

// Says what is wrong, once.
static bool fail(walker *w, const char *why)
{
    if (!w->why)
        w->why = why;
    return false;
}

// The next `count` bytes; NULL: there are not so many.
static const uint8_t *take(walker *w, uint64_t count)
{
    if (w->why || count > w->size - w->at) {
        fail(w, "it ends in the middle of an entry");
        return NULL;
    }
    w->at += count;
    return w->bytes + (w->at - count);
}

// A number of that many bytes, little-endian.
static uint64_t take_number(walker *w, uint32_t bytes)
{
    const uint8_t *from = take(w, bytes);
    uint64_t number = 0;
    for (uint32_t n = 0; from && n < bytes; n++)
        number |= (uint64_t)from[n] << n * 8;
    return number;
}

static const char *take_text(walker *w, uint64_t *length)
{
    *length = take_number(w, 8);
    return (const char *)take(w, *length);
}

// Bytes of a value; 0: it has a length of its own, or is no kind.
static uint32_t size_of(uint64_t kind)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kind < sizeof sizes ? sizes[kind] : 0;
}

static double real_of(kiln_gguf_kind kind, uint64_t bits)
{
    float narrow;
    double wide;
    uint32_t half = (uint32_t)bits;
    switch (kind) {
    case KILN_GGUF_F32: memcpy(&narrow, &half, sizeof narrow); return (double)narrow;
    case KILN_GGUF_F64: memcpy(&wide, &bits, sizeof wide); return wide;
    case KILN_GGUF_I8:
    case KILN_GGUF_I16:
    case KILN_GGUF_I32:
    case KILN_GGUF_I64: return (double)(int64_t)bits;
    case KILN_GGUF_U8:
    case KILN_GGUF_U16:
    case KILN_GGUF_U32:
    case KILN_GGUF_U64:
    case KILN_GGUF_BOOL: return (double)bits;
    case KILN_GGUF_STRING:
    case KILN_GGUF_ARRAY: break;
    }
    return 0;
}

static void take_scalar(walker *w, kiln_gguf_kind kind, kiln_gguf_value *out)
{
    uint32_t bytes = size_of(kind);
    uint64_t bits = take_number(w, bytes);
    bool is_signed = kind == KILN_GGUF_I8 || kind == KILN_GGUF_I16 || kind == KILN_GGUF_I32;
    if (is_signed && bits >> (bytes * 8 - 1))
        bits |= UINT64_MAX << bytes * 8;
    if (kind == KILN_GGUF_BOOL)
        bits = bits != 0;
    out->real = real_of(kind, bits);
    if (kind != KILN_GGUF_F32 && kind != KILN_GGUF_F64)
        out->integer = bits;
}

static void take_value(walker *w, uint64_t kind, uint32_t depth, kiln_gguf_value *out);

// Passes over all elements, so that the array is known to lie inside the file.
static void take_array(walker *w, uint32_t depth, kiln_gguf_value *out)
{
    uint64_t kind = take_number(w, 4), count = take_number(w, 8), first = w->at;
    uint32_t size = size_of(kind);
    kiln_gguf_value element;
    out->element = (kiln_gguf_kind)kind;
    out->count = count;
    if (depth == MOST_DEPTH)
        fail(w, "it has arrays in arrays in arrays in arrays");
    else if (kind > KILN_GGUF_F64)
        fail(w, "it has an array of a kind that is not known");
    else if (count > w->size - w->at || (size && count > (w->size - w->at) / size))
        fail(w, "it ends in the middle of an array");
    else if (size)
        take(w, count * size);
    else
        for (uint64_t n = 0; n < count && !w->why; n++)
            take_value(w, kind, depth + 1, &element);
    if (w->why)
        return;
    out->text = (const char *)w->bytes + first;
    out->bytes = w->at - first;
}

static void take_value(walker *w, uint64_t kind, uint32_t depth, kiln_gguf_value *out)
{
    *out = (kiln_gguf_value){.kind = (kiln_gguf_kind)kind};
    if (size_of(kind))
        take_scalar(w, out->kind, out);
    else if (kind == KILN_GGUF_STRING)
        out->text = take_text(w, &out->bytes);
    else if (kind == KILN_GGUF_ARRAY)
        take_array(w, depth, out);
    else
        fail(w, "it has a value of a kind that is not known");
}

// --- entries
// A key and its value. The key has no end mark here.
static const char *take_entry(walker *w, uint64_t *length, kiln_gguf_value *out)
{
    const char *key = take_text(w, length);
    take_value(w, take_number(w, 4), 0, out);
    return key;
}

static const struct type_row *type_of(uint32_t number)
{
    for (size_t n = 0; n < COUNT(types); n++)
        if (types[n].number == number)
            return &types[n];
    return NULL;
}

// How many bytes the tensor has; false: they are more than any file's, or no whole blocks.
static bool bytes_of(walker *w, kiln_gguf_tensor *t, const struct type_row *row)
{
    t->count = 1;
    for (uint32_t n = 0; n < t->rank; n++)
        if (__builtin_mul_overflow(t->count, t->sizes[n], &t->count))
            return fail(w, "it has a tensor of more elements than can be counted");
    if (!row)
        return true;
    if ((t->rank ? t->sizes[t->rank - 1] : 1) % row->block_size)
        return fail(w, "it has a tensor whose rows are not whole blocks of its type");
    if (__builtin_mul_overflow(t->count / row->block_size, (uint64_t)row->block_bytes, &t->bytes))
        return fail(w, "it has a tensor of more bytes than can be counted");
    return true;
}

// A description of a tensor; its offset counts from the first one's place. The name has no end
// mark.
static const char *take_tensor(walker *w, uint64_t *length, kiln_gguf_tensor *t)
{
    const char *name = take_text(w, length);
    *t = (kiln_gguf_tensor){.rank = (uint32_t)take_number(w, 4)};
    if (t->rank > MOST_RANK) {
        fail(w, "it has a tensor of more than four dimensions");
        return NULL;
    }
    for (uint32_t n = t->rank; n-- > 0;) // the file has the contiguous one first
        t->sizes[n] = take_number(w, 8);
    t->type = (uint32_t)take_number(w, 4);
    t->offset = take_number(w, 8);
    const struct type_row *row = type_of(t->type);
    if (w->why || !bytes_of(w, t, row))
        return NULL;
    if (row) {
        t->type_name = row->name;
        t->element = row->element;
    }
    return name;
}

// --- opening
static walker walker_at(const kiln_gguf *g, uint64_t at)
{
    return (walker){.bytes = g->bytes, .size = g->size, .at = at};
}

// Where the next entry begins, with a copy of its name behind those of the others.
static bool keep(walker *w, gguf_entry *e, uint64_t at, const char *name, uint64_t length,
                 char **names)
{
    if (w->why || !name)
        return fail(w, "it ends in the middle of an entry");
    if (memchr(name, 0, (size_t)length))
        return fail(w, "it has a name with a zero byte");
    e->at = at;
    e->name = *names;
    memcpy(*names, name, (size_t)length);
    (*names)[length] = 0;
    *names += length + 1;
    return true;
}

static bool walk_values(kiln_gguf *g, walker *w, char **names)
{
    g->info.alignment = DEFAULT_ALIGNMENT;
    for (uint64_t n = 0; n < g->info.values; n++) {
        uint64_t at = w->at, length;
        kiln_gguf_value v;
        const char *key = take_entry(w, &length, &v);
        if (!keep(w, &g->entries[n], at, key, length, names))
            return false;
        if (!strcmp(g->entries[n].name, "general.alignment")) {
            g->info.alignment = v.integer;
            if (!v.integer || v.integer > UINT32_MAX || (v.integer & (v.integer - 1)))
                return fail(w, "its 'general.alignment' is no power of two");
        }
    }
    return true;
}

static bool walk_tensors(kiln_gguf *g, walker *w, char **names)
{
    gguf_entry *entries = g->entries + g->info.values;
    kiln_gguf_tensor t;
    for (uint64_t n = 0; n < g->info.tensors; n++) {
        uint64_t at = w->at, length;
        const char *name = take_tensor(w, &length, &t);
        if (!keep(w, &entries[n], at, name, length, names))
            return false;
    }
    uint64_t before = g->info.alignment - 1;
    g->info.data = w->at > UINT64_MAX - before ? UINT64_MAX : (w->at + before) & ~before;
    for (uint64_t n = 0; n < g->info.tensors; n++) { // now that it is known where they begin
        walker again = walker_at(g, entries[n].at);
        uint64_t length;
        take_tensor(&again, &length, &t);
        if (t.offset & before)
            return fail(w, "it has a tensor that is not aligned as the file says");
        bool is_inside = g->info.data <= g->size && t.offset <= g->size - g->info.data &&
                         t.bytes <= g->size - g->info.data - t.offset;
        if (!is_inside)
            return fail(w, "it has a tensor that reaches beyond its end");
    }
    return true;
}

// The header, then all entries. KILN_OK with w->why: the file is wrong.
static kiln_status walk(kiln_gguf *g, walker *w)
{
    const uint8_t *magic = take(w, 4);
    if (!magic || memcmp(magic, "GGUF", 4)) {
        w->why = "it does not begin with 'GGUF'";
        return KILN_OK;
    }
    g->info.version = (uint32_t)take_number(w, 4);
    g->info.tensors = take_number(w, 8);
    g->info.values = take_number(w, 8);
    if (!w->why && g->info.version != 2 && g->info.version != 3)
        fail(w, "it is of another version than 2 and 3, or big-endian");
    // Each entry takes some bytes: a count that does not fit into the file is no count.
    if (!w->why && (g->info.values > (w->size - w->at) / LEAST_VALUE ||
                    g->info.tensors > (w->size - w->at) / LEAST_TENSOR))
        fail(w, "it says that it has more entries than it has room for");
    if (w->why)
        return KILN_OK;
    size_t count = (size_t)(g->info.values + g->info.tensors);
    g->entries = calloc(count ? count : 1, sizeof *g->entries);
    g->names = malloc(g->size); // a name takes 8 bytes more than its letters in the file
    if (!g->entries || !g->names)
        return error_no_memory(NULL, "the entries of a GGUF file");
    char *names = g->names;
    if (walk_values(g, w, &names))
        walk_tensors(g, w, &names);
    return KILN_OK;
}

static kiln_status open_bytes(const char *call, const char *path, const void *bytes, size_t size,
                              bool is_mapped, kiln_gguf **out)
{
    kiln_gguf *g = handle_new(HANDLE_GGUF);
    if (!g) {
        if (is_mapped)
            munmap((void *)(uintptr_t)bytes, size);
        return error_no_memory(NULL, "a GGUF file");
    }
    g->bytes = bytes;
    g->size = size;
    g->is_mapped = is_mapped;
    walker w = walker_at(g, 0);
    kiln_status status = walk(g, &w);
    if (!status && w.why)
        status = error_set(NULL, KILN_E_IO, K6005,
                           "%s: '%s' is no GGUF file that can be read: %s (byte %llu)", call, path,
                           w.why, (unsigned long long)w.at);
    if (status)
        kiln_gguf_free(g);
    else
        *out = g;
    return status;
}

static kiln_status begin(const char *call, const void *from, kiln_gguf **out)
{
    if (out)
        *out = NULL;
    return from && out ? KILN_OK
                       : error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: '%s' is NULL", call,
                                   out ? "the source" : "out");
}

kiln_status kiln_gguf_read(const void *bytes, size_t size, kiln_gguf **out)
{
    kiln_status status = begin("kiln_gguf_read", bytes, out);
    return status ? status : open_bytes("kiln_gguf_read", "memory", bytes, size, false, out);
}

kiln_status kiln_gguf_open(const char *path, kiln_gguf **out)
{
    const char *call = "kiln_gguf_open";
    kiln_status status = begin(call, path, out);
    if (status)
        return status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about)) {
        status = error_set(NULL, errno == ENOENT ? KILN_E_NOT_FOUND : KILN_E_IO, K6005,
                           "%s: '%s' cannot be opened: %s", call, path, strerror(errno));
    } else if (!S_ISREG(about.st_mode) || about.st_size <= 0) {
        status = error_set(NULL, KILN_E_IO, K6005, "%s: '%s' is %s", call, path,
                           S_ISREG(about.st_mode) ? "empty" : "no file");
    } else {
        size_t size = (size_t)about.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        status = bytes == MAP_FAILED
                     ? error_set(NULL, KILN_E_IO, K6005, "%s: '%s' cannot be mapped: %s", call,
                                 path, strerror(errno))
                     : open_bytes(call, path, bytes, size, true, out);
    }
    if (file >= 0)
        close(file);
    return status;
}

void kiln_gguf_free(kiln_gguf *g)
{
    if (!handle_can_free(HANDLE_GGUF, g))
        return;
    free(g->entries);
    free(g->names);
    if (g->is_mapped)
        munmap((void *)(uintptr_t)g->bytes, g->size);
    handle_free(HANDLE_GGUF, g);
}

// --- questions
static kiln_status check(const char *call, const kiln_gguf *g, const void *name, const void *out)
{
    if (!handle_is(HANDLE_GGUF, g))
        return error_bad_handle(HANDLE_GGUF, g);
    return name && out ? KILN_OK
                       : error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: '%s' is NULL", call,
                                   name ? "out" : "the name");
}

static kiln_status check_index(const char *call, uint64_t index, uint64_t count)
{
    return index < count
               ? KILN_OK
               : error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: there is no number %llu of %llu",
                           call, (unsigned long long)index, (unsigned long long)count);
}

// The number of the entry; `count`: there is none of that name, and the error is set.
static uint64_t find(const char *call, const gguf_entry *entries, uint64_t count, const char *name)
{
    for (uint64_t n = 0; n < count; n++)
        if (!strcmp(entries[n].name, name))
            return n;
    error_set(NULL, KILN_E_NOT_FOUND, K6003, "%s: the file has no '%s'", call, name);
    return count;
}

kiln_status kiln_gguf_info_of(const kiln_gguf *g, kiln_gguf_info *out)
{
    kiln_status status = check("kiln_gguf_info_of", g, "", out);
    if (!status)
        *out = g->info;
    return status;
}

static void tensor_at(const kiln_gguf *g, uint64_t index, kiln_gguf_tensor *out)
{
    const gguf_entry *e = &g->entries[g->info.values + index];
    walker w = walker_at(g, e->at);
    uint64_t length;
    take_tensor(&w, &length, out);
    out->name = e->name;
    out->offset += g->info.data;
    out->data = out->type_name && out->bytes ? g->bytes + out->offset : NULL;
}

kiln_status kiln_gguf_tensor_at(const kiln_gguf *g, uint64_t index, kiln_gguf_tensor *out)
{
    const char *call = "kiln_gguf_tensor_at";
    kiln_status status = check(call, g, "", out);
    if (!status)
        status = check_index(call, index, g->info.tensors);
    if (!status)
        tensor_at(g, index, out);
    return status;
}

kiln_status kiln_gguf_tensor_find(const kiln_gguf *g, const char *name, kiln_gguf_tensor *out)
{
    const char *call = "kiln_gguf_tensor_find";
    kiln_status status = check(call, g, name, out);
    if (status)
        return status;
    uint64_t index = find(call, g->entries + g->info.values, g->info.tensors, name);
    if (index == g->info.tensors)
        return KILN_E_NOT_FOUND;
    tensor_at(g, index, out);
    return KILN_OK;
}

static void value_at(const kiln_gguf *g, uint64_t index, kiln_gguf_value *out)
{
    walker w = walker_at(g, g->entries[index].at);
    uint64_t length;
    take_entry(&w, &length, out);
    out->key = g->entries[index].name;
}

kiln_status kiln_gguf_value_at(const kiln_gguf *g, uint64_t index, kiln_gguf_value *out)
{
    const char *call = "kiln_gguf_value_at";
    kiln_status status = check(call, g, "", out);
    if (!status)
        status = check_index(call, index, g->info.values);
    if (!status)
        value_at(g, index, out);
    return status;
}

kiln_status kiln_gguf_value_find(const kiln_gguf *g, const char *key, kiln_gguf_value *out)
{
    const char *call = "kiln_gguf_value_find";
    kiln_status status = check(call, g, key, out);
    if (status)
        return status;
    uint64_t index = find(call, g->entries, g->info.values, key);
    if (index == g->info.values)
        return KILN_E_NOT_FOUND;
    value_at(g, index, out);
    return KILN_OK;
}

kiln_status kiln_gguf_next(const kiln_gguf_value *array, uint64_t *cursor, kiln_gguf_value *out)
{
    const char *call = "kiln_gguf_next";
    if (!array || !cursor || !out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: an argument is NULL", call);
    if (array->kind != KILN_GGUF_ARRAY || !array->text)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: the value is no array", call);
    if (*cursor >= array->bytes)
        return KILN_E_NOT_FOUND;
    walker w = {.bytes = (const uint8_t *)array->text, .size = array->bytes, .at = *cursor};
    take_value(&w, array->element, 1, out);
    if (w.why)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: the cursor is not where an element begins", call);
    *cursor = w.at;
    return KILN_OK;
}
