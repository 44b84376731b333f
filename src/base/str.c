// Slices, growing texts, interned names, hashing.
#include "base/str.h"

#include <stdio.h>

#include "base/bug.h"

str str_of(const char *c_string)
{
    return (str){c_string, c_string ? strlen(c_string) : 0};
}

bool str_same(str a, str b)
{
    return a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len));
}

bool str_starts(str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return s.len >= len && !memcmp(s.at, prefix, len);
}

// --- formatting
//
// The conversions that code is printed with are done here, several times faster than the C library
// does them: %s %c %d %u %X %.*s %%, with l, ll, z and a width that pads with zeros. Any other, and
// a text that does not fit, is the library's.

typedef struct filler {
    char *at, *end; // of the room
} filler;

// False: does not fit, or is none.
static inline bool fill_string(filler *f, const char *s, size_t most)
{
    if (!s)
        return false;
    size_t room = (size_t)(f->end - f->at);
    char *at = f->at, *stop = at + (most < room ? most : room);
    while (at < stop && *s) // mostly a few bytes: no call of memcpy
        *at++ = *s++;
    f->at = at;
    return at < stop || most <= room || !*s;
}

static bool fill_number(filler *f, uint64_t v, bool is_negative, unsigned base, unsigned width)
{
    char digits[24], *end = digits + sizeof digits, *at = end;
    if (base == 16) {
        do
            *--at = "0123456789ABCDEF"[v & 15];
        while (v >>= 4);
    } else {
        for (; v > UINT32_MAX; v /= 10)
            *--at = (char)('0' + v % 10);
        uint32_t low = (uint32_t)v;
        do
            *--at = (char)('0' + low % 10);
        while (low /= 10);
    }
    while (at > digits + 1 && end - at + is_negative < (ptrdiff_t)width)
        *--at = '0';
    if (is_negative)
        *--at = '-';
    if (end - at > f->end - f->at)
        return false;
    while (at < end)
        *f->at++ = *at++;
    return true;
}

// One conversion; `at` stands behind the %. Gives what stands behind it, or NULL when it is not one
// of ours or does not fit.
static const char *fill_one(filler *f, const char *at, va_list *args)
{
    unsigned width = 0;
    size_t most = SIZE_MAX;
    if (*at == '0' && at[1] >= '1' && at[1] <= '9') {
        for (at++; *at >= '0' && *at <= '9' && width < 20; at++)
            width = width * 10 + (unsigned)(*at - '0');
        if (width > 20)
            return NULL;
    }
    if (at[0] == '.' && at[1] == '*' && at[2] == 's') {
        int given = va_arg(*args, int);
        most = given < 0 ? SIZE_MAX : (size_t)given;
        at += 2;
    }
    _Static_assert(sizeof(long) == 8 && sizeof(size_t) == 8, "l, ll and z are 64 bits");
    bool is_wide = *at == 'l' || *at == 'z', fits = false;
    at += is_wide;
    at += is_wide && *at == 'l';
    switch (*at) {
    case 's': {
        const char *s = va_arg(*args, const char *);
        fits = !is_wide && !width && fill_string(f, s, most);
        break;
    }
    case 'c': {
        char c[2] = {(char)va_arg(*args, int)};
        fits = c[0] && fill_string(f, c, 1);
        break;
    }
    case 'd': {
        int64_t v = is_wide ? va_arg(*args, int64_t) : va_arg(*args, int);
        fits = fill_number(f, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0, 10, width);
        break;
    }
    case 'u':
    case 'X': {
        uint64_t v = is_wide ? va_arg(*args, uint64_t) : va_arg(*args, unsigned);
        fits = fill_number(f, v, false, *at == 'u' ? 10 : 16, width);
        break;
    }
    case '%': fits = fill_string(f, "%", 1); break;
    default: break;
    }
    return fits ? at + 1 : NULL;
}

static size_t format_to(char *out, size_t cap, const char *format, va_list args) PRINTF_LIKE(3, 0);
// What vsnprintf does.
static size_t format_to(char *out, size_t cap, const char *format, va_list args)
{
    filler f = {.at = out, .end = cap ? out + cap - 1 : out};
    va_list mine;
    va_copy(mine, args);
    const char *at = format;
    while (at && *at) {
        char *to = f.at;
        while (*at && *at != '%' && to < f.end)
            *to++ = *at++;
        f.at = to;
        if (at[0] == '%' && at[1] == 's') // most are
            at = fill_string(&f, va_arg(mine, const char *), SIZE_MAX) ? at + 2 : NULL;
        else if (*at)
            at = *at == '%' ? fill_one(&f, at + 1, &mine) : NULL;
    }
    va_end(mine);
    if (at && cap) {
        *f.at = 0;
        return (size_t)(f.at - out);
    }
    int len = vsnprintf(out, cap, format, args);
    if (len < 0)
        bug("bad format: %s", format);
    return (size_t)len;
}

char *str_vformat(arena *a, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    char few[128];
    size_t len = format_to(few, sizeof few, format, args);
    char *out;
    if (len < sizeof few) {
        out = arena_copy(a, few, len + 1);
    } else {
        out = arena_alloc(a, len + 1);
        format_to(out, len + 1, format, again);
    }
    va_end(again);
    return out;
}

char *str_format(arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *out = str_vformat(a, format, args);
    va_end(args);
    return out;
}

char *str_dup(arena *a, str s)
{
    char *copy = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(copy, s.at, s.len);
    return copy;
}

void text_reserve(text *t, size_t more)
{
    if (t->len + more + 1 <= t->cap)
        return;
    size_t cap = t->cap ? t->cap * 2 : 256;
    while (cap < t->len + more + 1)
        cap *= 2;
    t->at = arena_extend(t->in, t->at, t->cap, cap);
    t->cap = cap;
}

void text_add(text *t, const char *bytes, size_t len)
{
    text_reserve(t, len);
    if (len)
        memcpy(t->at + t->len, bytes, len);
    t->len += len;
    t->at[t->len] = 0;
}

void text_puts(text *t, const char *c_string)
{
    text_add(t, c_string, strlen(c_string));
}

void text_vprintf(text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    text_reserve(t, 250);
    size_t len = format_to(t->at + t->len, t->cap - t->len, format, args);
    if (len + 1 > t->cap - t->len) {
        text_reserve(t, len);
        format_to(t->at + t->len, t->cap - t->len, format, again);
    }
    va_end(again);
    t->len += len;
}

void text_printf(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(t, format, args);
    va_end(args);
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
    // FNV-1a by bytes with a final mix: short keys, stable across machines.
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 29);
}

typedef struct name_node {
    uint64_t hash;
    size_t len;
    char bytes[];
} name_node;

struct name_table {
    arena *in;
    name_node **slots;
    size_t count, cap;
};

name_table *names_in(arena *a)
{
    name_table *t = arena_new_of(a, name_table);
    t->in = a;
    t->cap = 512;
    t->slots = arena_array(a, name_node *, t->cap);
    return t;
}

static void names_grow(name_table *t)
{
    name_node **old = t->slots;
    size_t old_cap = t->cap;
    t->cap *= 2;
    t->slots = arena_array(t->in, name_node *, t->cap);
    for (size_t i = 0; i < old_cap; i++) {
        if (!old[i])
            continue;
        size_t at = old[i]->hash & (t->cap - 1);
        while (t->slots[at])
            at = (at + 1) & (t->cap - 1);
        t->slots[at] = old[i];
    }
}

const char *name_of(name_table *t, const char *bytes, size_t len)
{
    uint64_t hash = hash_bytes(0, bytes, len);
    size_t at = hash & (t->cap - 1);
    for (; t->slots[at]; at = (at + 1) & (t->cap - 1)) {
        name_node *n = t->slots[at];
        if (n->hash == hash && n->len == len && !memcmp(n->bytes, bytes, len))
            return n->bytes;
    }
    name_node *n = arena_alloc(t->in, sizeof(name_node) + len + 1);
    n->hash = hash;
    n->len = len;
    memcpy(n->bytes, bytes, len);
    t->slots[at] = n;
    if (++t->count * 2 > t->cap)
        names_grow(t);
    return n->bytes;
}

const char *name_cstr(name_table *t, const char *c_string)
{
    return name_of(t, c_string, strlen(c_string));
}

size_t name_len(const char *name)
{
    return ((const name_node *)(const void *)(name - offsetof(name_node, bytes)))->len;
}

unsigned str_distance(str a, str b, unsigned limit)
{
    enum { MAX = 64 };
    if (a.len >= MAX || b.len >= MAX)
        return limit + 1;
    unsigned row[MAX + 1], before_row[MAX + 1] = {0};
    for (size_t j = 0; j <= b.len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned diagonal = row[0], best = limit + 1;
        row[0] = (unsigned)i;
        unsigned saved[MAX + 1];
        memcpy(saved, row, sizeof saved);
        for (size_t j = 1; j <= b.len; j++) {
            unsigned up = saved[j];
            unsigned cost = diagonal + (a.at[i - 1] != b.at[j - 1]);
            // A swap of neighbours is one mistake.
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1] &&
                before_row[j - 2] + 1 < cost)
                cost = before_row[j - 2] + 1;
            if (up + 1 < cost)
                cost = up + 1;
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            diagonal = up;
            row[j] = cost;
            if (cost < best)
                best = cost;
        }
        memcpy(before_row, saved, sizeof before_row);
        before_row[0] = (unsigned)i - 1;
        if (best > limit)
            return limit + 1;
    }
    return row[b.len] > limit ? limit + 1 : row[b.len];
}

bool str_nearer(str wanted, const char *candidate, unsigned *distance)
{
    unsigned one = candidate ? str_distance(wanted, str_of(candidate), *distance) : *distance;
    bool is_nearer = one < *distance;
    if (is_nearer)
        *distance = one;
    return is_nearer;
}
