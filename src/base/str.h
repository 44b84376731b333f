// Slices, formatting into arenas, and interned names (equal names are equal pointers).
#ifndef KILN_STR_H
#define KILN_STR_H

#include "base/arena.h"

// A slice of bytes; not NUL-terminated unless said so.
typedef struct str {
    const char *at;
    size_t len;
} str;

#define STR(literal) ((str){(literal), sizeof(literal) - 1})

str str_of(const char *c_string);
bool str_same(str a, str b);
bool str_starts(str s, const char *prefix);

// NUL-terminated text in the arena.
char *str_format(arena *a, const char *format, ...) PRINTF_LIKE(2, 3);
char *str_vformat(arena *a, const char *format, va_list args) PRINTF_LIKE(2, 0);
char *str_dup(arena *a, str s);

// A growing text.
typedef struct text {
    arena *in;
    char *at; // always NUL-terminated once something was added
    size_t len, cap;
} text;

// Room for that many bytes more, so that adding them does not move the text.
void text_reserve(text *t, size_t more);
void text_add(text *t, const char *bytes, size_t len);
void text_puts(text *t, const char *c_string);
static inline void text_putc(text *t, char c)
{
    if (t->len + 2 > t->cap) {
        text_add(t, &c, 1);
        return;
    }
    t->at[t->len++] = c;
    t->at[t->len] = 0;
}
void text_printf(text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vprintf(text *t, const char *format, va_list args) PRINTF_LIKE(2, 0);

// Names: the same bytes always give the same pointer within one table. NUL-terminated.
typedef struct name_table name_table;
name_table *names_in(arena *a);
const char *name_of(name_table *names, const char *bytes, size_t len);
const char *name_cstr(name_table *names, const char *c_string);
size_t name_len(const char *name); // only for names made by name_of

// Edit distance capped at `limit` (for "did you mean").
unsigned str_distance(str a, str b, unsigned limit);
// Is `candidate` (NULL: no) nearer to `wanted` than `distance`? It is lowered then.
bool str_nearer(str wanted, const char *candidate, unsigned *distance);

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

#endif
