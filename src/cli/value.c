// Reads the values that a user writes on the command line into the bytes that a kernel gets. Depth
// and lengths are bounded by the text itself, whose nesting is limited. Start at value_read.
#include "cli/value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ir/eval.h"

#define FAIL(...) (snprintf(why, VALUE_WHY, __VA_ARGS__), false)

enum { DEPTH_LIMIT = 32, WORD_ROOM = 128 };

// --- scalars

static const struct {
    kiln_type type;
    int64_t low;
    uint64_t high;
} limits[] = {
    {KILN_BOOL, 0, 1},         {KILN_I8, INT8_MIN, INT8_MAX},
    {KILN_U8, 0, UINT8_MAX},   {KILN_I16, INT16_MIN, INT16_MAX},
    {KILN_U16, 0, UINT16_MAX}, {KILN_I32, INT32_MIN, INT32_MAX},
    {KILN_U32, 0, UINT32_MAX}, {KILN_I64, INT64_MIN, INT64_MAX},
    {KILN_U64, 0, UINT64_MAX},
};

// Sign and magnitude of a whole number. False: it is none, or too large for 64 bits.
static bool read_whole(const char *word, bool *is_negative, uint64_t *magnitude, bool *is_too_large)
{
    char *end;
    *is_negative = *word == '-';
    *is_too_large = false;
    const char *digits = word + (*word == '-' || *word == '+');
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    unsigned long long v = strtoull(digits, &end, 0);
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    if (!is_hex && strpbrk(digits, ".eE")) { // 1e6 is a whole number, too
        double real = strtod(digits, &end);
        if (*end || real != floor(real))
            return false;
        *is_too_large = real >= 0x1p64;
        *magnitude = *is_too_large ? 0 : (uint64_t)real;
        return true;
    }
    *is_too_large = errno == ERANGE;
    uint64_t scale = *end == 'K' || *end == 'k' ? 1 << 10
                     : *end == 'M'              ? 1 << 20
                     : *end == 'G'              ? 1 << 30
                                                : 1;
    end += scale != 1;
    uint64_t scaled = 0;
    *is_too_large |= __builtin_mul_overflow((uint64_t)v, scale, &scaled);
    *magnitude = scaled;
    return !*end;
}

static bool read_integer(kiln_type type, const char *word, void *to, char why[VALUE_WHY])
{
    bool is_negative, is_too_large;
    uint64_t magnitude, bits;
    const char *name = kiln_type_name(type);
    if (type == KILN_BOOL && (!strcmp(word, "true") || !strcmp(word, "false")))
        word = *word == 't' ? "1" : "0";
    if (!read_whole(word, &is_negative, &magnitude, &is_too_large))
        return FAIL("'%.80s' is %s", word,
                    type == KILN_BOOL ? "neither true nor false" : "not an integer");
    for (size_t k = 0; k < COUNT(limits); k++) {
        if (limits[k].type != type)
            continue;
        uint64_t most = is_negative ? (uint64_t) - (limits[k].low + 1) + 1 : limits[k].high;
        if (is_negative && !limits[k].low)
            most = 0;
        if (is_too_large || magnitude > most)
            return FAIL("'%.80s' does not fit its type: %s is %lld to %llu", word, name,
                        (long long)limits[k].low, (unsigned long long)limits[k].high);
    }
    bits = is_negative ? 0 - magnitude : magnitude;
    memcpy(to, &bits, kiln_type_size(type)); // little-endian, as all of Kiln's hosts
    return true;
}

static bool read_real(kiln_type type, const char *word, void *to, char why[VALUE_WHY])
{
    char *end;
    double v = strtod(word, &end);
    if (end == word || *end)
        return FAIL("'%.80s' is not a number", word);
    double kept = v;
    if (type == KILN_F64) {
        memcpy(to, &v, 8);
    } else if (type == KILN_F32) {
        kept = (double)(float)v;
        memcpy(to, &(float){(float)v}, 4);
    } else {
        ir_type narrow = type == KILN_F16    ? IR_F16
                         : type == KILN_BF16 ? IR_BF16
                         : type == KILN_F8E4 ? IR_F8E4
                                             : IR_F8E5;
        uint32_t bits = ir_narrow(narrow, v);
        kept = ir_widen(narrow, bits);
        memcpy(to, &bits, kiln_type_size(type));
    }
    bool is_infinite = isinf(v) && strchr(word, 'n') == NULL && strchr(word, 'N') == NULL;
    if (is_infinite || (isfinite(v) && !isfinite(kept)))
        return FAIL("'%.80s' is too large for %s", word, kiln_type_name(type));
    return true;
}

bool value_scalar(kiln_type type, const char *word, void *to, char why[VALUE_WHY])
{
    if (type >= KILN_BOOL && type <= KILN_U64)
        return read_integer(type, word, to, why);
    return type == KILN_VOID ? FAIL("has no type") : read_real(type, word, to, why);
}

// --- structure

typedef struct reader {
    const char *at;
    int depth;
    char *why;
} reader;

static bool accept(reader *r, char c)
{
    while (*r->at == ' ')
        r->at++;
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

// Says what should stand where the reader is.
static bool missing(const reader *r, const char *what)
{
    char *why = r->why;
    return *r->at ? FAIL("%s is missing before '%.40s'", what, r->at)
                  : FAIL("%s is missing at the end", what);
}

static bool read_into(reader *r, const layout *l, unsigned char *to);

static bool read_word(reader *r, kiln_type type, void *to)
{
    char *why = r->why, word[WORD_ROOM];
    while (*r->at == ' ')
        r->at++;
    size_t len = strcspn(r->at, ",]}[{= ");
    if (!len)
        return missing(r, "a number");
    if (len >= sizeof word)
        return FAIL("a number is longer than %d characters", WORD_ROOM - 1);
    memcpy(word, r->at, len);
    word[len] = 0;
    r->at += len;
    return value_scalar(type, word, to, why);
}

// "[a,b,c]" into the elements of an array or the members of a struct.
static bool read_in_order(reader *r, const layout *l, unsigned char *to)
{
    char *why = r->why;
    bool is_array = l->kind == LAYOUT_ARRAY;
    size_t count = is_array ? l->count : l->is_union ? 1 : l->part_count, n = 0;
    if (!accept(r, '['))
        return FAIL("%s takes [%zu value%s], not '%.40s'", l->is_vector ? "a vector" : "it", count,
                    count == 1 ? "" : "s", r->at);
    while (!accept(r, ']')) {
        if (n == count)
            return FAIL("a [..] has more than the %zu value%s that it takes", count,
                        count == 1 ? "" : "s");
        const layout *part = is_array ? l->parts : &l->parts[n];
        size_t offset = is_array ? n * l->parts->size : part->offset;
        if (!read_into(r, part, to + offset))
            return false;
        n++;
        if (!accept(r, ',') && *r->at != ']')
            return missing(r, "a ',' or ']'");
    }
    return n == count ? true
                      : FAIL("a [..] has %zu value%s and takes %zu", n, n == 1 ? "" : "s", count);
}

// "{mass=2,pos=[1,2,3]}".
static bool read_by_name(reader *r, const layout *l, unsigned char *to)
{
    char *why = r->why, path[WORD_ROOM];
    while (!accept(r, '}')) {
        while (*r->at == ' ')
            r->at++;
        size_t len = strcspn(r->at, "=,{}"), offset;
        if (r->at[len] != '=' || !len || len + 2 >= sizeof path)
            return FAIL("'%.40s' is not MEMBER=VALUE", r->at);
        path[0] = '.';
        memcpy(path + 1, r->at, len);
        path[len + 1] = 0;
        r->at += len + 1;
        const layout *part = layout_find(l, path, &offset, why);
        if (!part || !read_into(r, part, to + offset))
            return false;
        if (!accept(r, ',') && *r->at != '}')
            return missing(r, "a ',' or '}'");
    }
    return true;
}

static bool read_bits(reader *r, const layout *l, unsigned char *to)
{
    char *why = r->why;
    uint64_t integer = 0;
    if (!read_word(r, l->type, &integer))
        return false;
    return layout_put_bits(l, &integer, to) ? true
                                            : FAIL("the value does not fit %u bits", l->bits);
}

static bool read_into(reader *r, const layout *l, unsigned char *to)
{
    char *why = r->why;
    if (++r->depth > DEPTH_LIMIT)
        return FAIL("it is nested more than %d deep", DEPTH_LIMIT);
    bool ok = l->kind == LAYOUT_SCALAR   ? read_word(r, l->type, to)
              : l->kind == LAYOUT_BITS   ? read_bits(r, l, to)
              : l->kind == LAYOUT_OPAQUE ? FAIL("nothing is known of its members; give @FILE")
              : l->kind == LAYOUT_RECORD && accept(r, '{') ? read_by_name(r, l, to)
                                                           : read_in_order(r, l, to);
    r->depth--;
    return ok;
}

static bool at_end(reader *r, char why[VALUE_WHY])
{
    while (*r->at == ' ')
        r->at++;
    return *r->at ? FAIL("'%.40s' is left over", r->at) : true;
}

bool value_read(const layout *l, const char *word, void *to, char why[VALUE_WHY])
{
    reader r = {.at = word, .why = why};
    return read_into(&r, l, to) && at_end(&r, why);
}

// --- lists of elements

typedef struct list_reader {
    reader r;
    const layout *element;
    value_list *out;
    size_t used, room;       // bytes
    bool is_known[NPY_RANK]; // is the size of this level known?
} list_reader;

static unsigned char *add_element(list_reader *l)
{
    char *why = l->r.why;
    size_t size = l->element->size;
    if (l->used + size > l->room) {
        l->room = l->room * 2 + size + 64;
        unsigned char *more = realloc(l->out->bytes, l->room);
        if (!more) {
            snprintf(why, VALUE_WHY, "out of memory");
            return NULL;
        }
        l->out->bytes = more;
    }
    memset(l->out->bytes + l->used, 0, size);
    l->used += size;
    return l->out->bytes + l->used - size;
}

static bool read_level(list_reader *l, int level)
{
    char *why = l->r.why;
    if (level == l->out->shape.rank) {
        unsigned char *to = add_element(l);
        return to && read_into(&l->r, l->element, to);
    }
    if (!accept(&l->r, '['))
        return missing(&l->r, "a '['");
    size_t n = 0;
    while (!accept(&l->r, ']')) {
        if (!read_level(l, level + 1))
            return false;
        n++;
        if (!accept(&l->r, ',') && *l->r.at != ']')
            return missing(&l->r, "a ',' or ']'");
    }
    if (l->is_known[level] && l->out->shape.size[level] != n)
        return FAIL("its rows differ in length: %zu and %zu", l->out->shape.size[level], n);
    l->out->shape.size[level] = n;
    l->is_known[level] = true;
    return true;
}

// How many of the leading '[' are the list's own: the rest open an element.
static int depth_of_list(const layout *element, const char *word)
{
    int depth = 0;
    for (; *word == '[' || *word == ' '; word++)
        depth += *word == '[';
    kiln_type type;
    size_t count;
    bool is_flat = layout_is_flat(element, &type, &count);
    if (element->kind == LAYOUT_SCALAR || *word == '{' || *word == ']')
        return depth;
    if (is_flat && depth == 1)
        return 1; // a flat list of numbers
    int own = 0;
    for (const layout *l = element; l->kind == LAYOUT_ARRAY || l->kind == LAYOUT_RECORD;
         l = l->parts)
        own++;
    return depth - own;
}

static bool read_text(const layout *element, const char *word, value_list *out, char why[VALUE_WHY])
{
    size_t len = strlen(word);
    if (len < 2 || word[len - 1] != '"')
        return FAIL("the text does not end in a quote");
    if (element->size != 1)
        return FAIL("a text needs elements of one byte");
    out->bytes = malloc(len);
    if (!out->bytes)
        return FAIL("out of memory");
    memcpy(out->bytes, word + 1, len - 2);
    out->shape = (value_shape){.size = {len - 2}, .rank = 1, .count = len - 2};
    return true;
}

static bool read_list(const layout *element, const char *word, value_list *out, char why[VALUE_WHY])
{
    kiln_type type;
    size_t per_element = 1;
    bool is_flat = layout_is_flat(element, &type, &per_element);
    layout scalar = layout_scalar(type);
    int depth = depth_of_list(element, word);
    bool is_regrouped =
        is_flat && element->kind != LAYOUT_SCALAR && depth == 1 && !strchr(word + 1, '[');
    if (depth < 1 || depth > NPY_RANK)
        return FAIL("it takes a list of elements: [..] for each");
    out->shape.rank = depth;
    list_reader l = {
        .r = {.at = word, .why = why}, .element = is_regrouped ? &scalar : element, .out = out};
    if (!read_level(&l, 0) || !at_end(&l.r, why))
        return false;
    size_t count = l.used / (is_regrouped ? scalar.size : element->size);
    if (is_regrouped) {
        if (count % per_element)
            return FAIL("%zu numbers do not make whole elements of %zu", count, per_element);
        count /= per_element;
        out->shape.size[0] = count;
    }
    out->shape.count = count;
    return true;
}

bool value_read_list(const layout *element, const char *word, value_list *out, char why[VALUE_WHY])
{
    *out = (value_list){0};
    bool ok = element->size == 0 ? FAIL("its elements have no size")
              : *word == '"'     ? read_text(element, word, out, why)
                                 : read_list(element, word, out, why);
    if (!ok) {
        free(out->bytes);
        out->bytes = NULL;
    }
    return ok;
}

bool value_read_shape(const char *word, size_t len, value_shape *out)
{
    char part[32];
    *out = (value_shape){.count = 1};
    for (size_t at = 0; at < len;) {
        size_t end = at;
        // The x of a hexadecimal number is not between two sizes.
        while (end < len && (word[end] != 'x' || (end == at + 1 && word[at] == '0')))
            end++;
        bool is_negative, is_too_large;
        uint64_t size;
        if (end == at || end - at >= sizeof part || out->rank == NPY_RANK)
            return false;
        memcpy(part, word + at, end - at);
        part[end - at] = 0;
        if (!read_whole(part, &is_negative, &size, &is_too_large) || is_negative || is_too_large ||
            __builtin_mul_overflow(out->count, (size_t)size, &out->count))
            return false;
        out->size[out->rank++] = (size_t)size;
        at = end + 1;
        if (end + 1 == len)
            return false;
    }
    return out->rank > 0;
}
