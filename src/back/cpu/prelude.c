// The text in front of a kernel's C code. It has parts (lines "//@ names" start them, see lanes.h),
// and those whose names are not used are hidden from the compiler by "#ifdef KILN_ALL": a small
// kernel is compiled in two thirds of the time that way. A part that was left out by mistake makes
// the compiler fail, and the caller tries again with KILN_ALL defined. Start reading at
// cpu_add_prelude.
#include "back/cpu/cpu.h"

#include "base/embed.h"

typedef struct part {
    const char *at;
    size_t len;
    bool is_used;
} part;

typedef struct pattern { // of a name: before and after the star
    const char *head, *tail;
    size_t head_len, tail_len;
    bool has_star;
    uint32_t part, next; // next: with the same first letter; 0: none
} pattern;

typedef struct prelude {
    arena *a;
    vec(part) parts;
    vec(pattern) patterns;
    uint32_t first[256]; // by first letter, 1 + index
    vec(uint32_t) todo;  // parts that were found to be used and are not yet read
} prelude;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

// --- reading the parts

static void add_pattern(prelude *p, const char *at, size_t len)
{
    pattern n = {.head = at, .head_len = len, .part = p->parts.len - 1};
    const char *star = memchr(at, '*', len);
    if (star) {
        n.has_star = true;
        n.head_len = (size_t)(star - at);
        n.tail = star + 1;
        n.tail_len = len - n.head_len - 1;
    }
    n.next = p->first[(uint8_t)at[0]];
    vec_push(p->a, &p->patterns, n);
    p->first[(uint8_t)at[0]] = p->patterns.len;
}

// `at` is at a line "//@ names", or at the beginning of a text.
static const char *add_part(prelude *p, const char *at)
{
    bool is_marked = !strncmp(at, "//@", 3), has_names = false;
    const char *next = strstr(at + (is_marked ? 3 : 0), "\n//@");
    size_t len = next ? (size_t)(next + 1 - at) : strlen(at);
    vec_push(p->a, &p->parts, ((part){at, len, false}));
    for (const char *name = is_marked ? at + 3 : "\n"; *name != '\n';) {
        size_t skip = strspn(name, " "), size = strcspn(name + skip, " \n");
        if (size) {
            add_pattern(p, name + skip, size);
            has_names = true;
        }
        name += skip + size;
    }
    if (!has_names) {
        vec_last(&p->parts).is_used = true;
        vec_push(p->a, &p->todo, p->parts.len - 1);
    }
    return at + len;
}

// --- finding out what is used

static bool fits(const pattern *n, const char *name, size_t len)
{
    if (n->has_star ? len < n->head_len + n->tail_len : len != n->head_len)
        return false;
    return !memcmp(name, n->head, n->head_len) &&
           !memcmp(name + len - n->tail_len, n->tail_len ? n->tail : "", n->tail_len);
}

static void use_name(prelude *p, const char *name, size_t len)
{
    for (uint32_t k = p->first[(uint8_t)name[0]]; k; k = p->patterns.at[k - 1].next) {
        const pattern *n = &p->patterns.at[k - 1];
        part *of = &p->parts.at[n->part];
        if (!of->is_used && fits(n, name, len)) {
            of->is_used = true;
            vec_push(p->a, &p->todo, n->part);
        }
    }
}

static void use_names(prelude *p, const char *at, size_t len)
{
    const char *end = at + len;
    if (len > 3 && !memcmp(at, "//@", 3)) // its own names
        at += strcspn(at, "\n");
    while (at < end) {
        const char *start = at;
        while (at < end && is_name(*at))
            at++;
        if (at == start)
            at++;
        else if (is_letter(*start))
            use_name(p, start, (size_t)(at - start));
    }
}

void cpu_add_prelude(const text *code, arena *scratch, text *out)
{
    static const char *const files[] = {"cpu/lanes.h", "cpu/convert.h", "cpu/memory.h"};
    prelude p = {.a = scratch};
    for (size_t k = 0; k < COUNT(files); k++)
        for (const char *at = embed_find(files[k], NULL); *at;)
            at = add_part(&p, at);
    use_names(&p, code->at, code->len);
    while (p.todo.len) {
        const part *x = &p.parts.at[p.todo.at[--p.todo.len]];
        use_names(&p, x->at, x->len);
    }
    for (uint32_t k = 0; k < p.parts.len; k++) {
        const part *x = &p.parts.at[k];
        if (!x->is_used)
            text_puts(out, "#ifdef KILN_ALL\n");
        text_add(out, x->at, x->len);
        if (!x->is_used)
            text_puts(out, "#endif\n");
    }
}
