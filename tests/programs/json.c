// Reads JSON, prints it with indents and counts what is in it: a recursive parser, a tagged union,
// a heap, tables of names.
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __KILN__ // on a GPU 512 calls of these would need more stack than a thread can have
#    define recursion(n)
#endif

typedef enum kind { NOTHING, BOOLEAN, NUMBER, TEXT, LIST, OBJECT, KINDS } kind;
static const char *const names[KINDS] = {
    [NOTHING] = "null", [BOOLEAN] = "boolean", [NUMBER] = "number",
    [TEXT] = "text",    [LIST] = "list",       [OBJECT] = "object",
};

typedef struct value {
    kind kind;
    char *key; // in an object
    struct value *next;
    union {
        bool truth;
        double number;
        char *text;
        struct value *first;
    };
} value;

static const char *at;
static unsigned depth, deepest, counts[KINDS];

static void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("error: ");
    vprintf(format, list);
    va_end(list);
    puts("");
    exit(3);
}

static void skip(void)
{
    while (isspace((unsigned char)*at))
        ++at;
}

static char *parse_text(void)
{
    size_t room = 4, used = 0;
    char *out = malloc(room);
    for (at++; *at != '"'; at++) {
        char c = *at;
        if (!c)
            fail("a text does not end");
        if (c == '\\') {
            static const char from[] = "ntr\"\\/bf", to[] = "\n\t\r\"\\/\b\f";
            const char *found = strchr(from, *++at);
            if (!found || !*found)
                fail("\\%c is unknown", *at);
            c = to[found - from];
        }
        if (used + 2 > room)
            out = realloc(out, room *= 2);
        out[used++] = c;
    }
    at++;
    out[used] = '\0';
    return out;
}

static value *parse(void);

static value *parse_members(char close, bool has_keys)
{
    value *first = NULL, **end = &first;
    if (++depth > deepest)
        deepest = depth;
    for (at++, skip(); *at != close;) {
        char *key = NULL;
        if (has_keys) {
            if (*at != '"')
                fail("a key is missing at \"%.8s\"", at);
            key = parse_text();
            skip();
            if (*at++ != ':')
                fail("':' is missing");
        }
        *end = parse();
        (*end)->key = key;
        end = &(*end)->next;
        skip();
        if (*at == ',')
            at++, skip();
        else if (*at != close)
            fail("'%c' is missing at \"%.8s\"", close, at);
    }
    at++;
    depth--;
    return first;
}

static recursion(64) value *parse(void)
{
    value *v = calloc(1, sizeof *v);
    skip();
    switch (*at) {
    case '{':
        v->kind = OBJECT;
        v->first = parse_members('}', true);
        break;
    case '[':
        v->kind = LIST;
        v->first = parse_members(']', false);
        break;
    case '"':
        v->kind = TEXT;
        v->text = parse_text();
        break;
    case 't':
    case 'f':
        v->kind = BOOLEAN;
        v->truth = *at == 't';
        at += v->truth ? 4 : 5;
        break;
    case 'n': at += 4; break;
    default: {
        char *end;
        v->kind = NUMBER;
        v->number = strtod(at, &end);
        if (end == at)
            fail("nothing fits \"%.8s\"", at);
        at = end;
    }
    }
    counts[v->kind]++;
    return v;
}

static recursion(64) void print(const value *v, int indent)
{
    printf("%*s", indent, "");
    if (v->key)
        printf("%s: ", v->key);
    switch (v->kind) {
    case NOTHING: puts("null"); break;
    case BOOLEAN: puts(v->truth ? "true" : "false"); break;
    case NUMBER: printf("%.10g\n", v->number); break;
    case TEXT: printf("\"%s\"\n", v->text); break;
    default:
        puts(v->kind == LIST ? "[" : "{");
        for (const value *m = v->first; m; m = m->next)
            print(m, indent + 2);
        printf("%*s%c\n", indent, "", v->kind == LIST ? ']' : '}');
    }
}

static recursion(64) void drop(value *v)
{
    while (v) {
        value *next = v->next;
        if (v->kind == TEXT)
            free(v->text);
        else if (v->kind >= LIST)
            drop(v->first);
        free(v->key);
        free(v);
        v = next;
    }
}

int main(int argc, char **argv)
{
    char text[2048];
    size_t length = fread(text, 1, sizeof text - 1, stdin);
    text[length] = 0;
    at = text;
    value *all = parse();
    print(all, 0);
    for (kind k = NOTHING; k < KINDS; k++)
        printf("%-8s%3u\n", names[k], counts[k]);
    printf("%u deep, %d arguments, %s\n", deepest, argc - 1, argc > 1 ? argv[1] : "none");
    drop(all);
    return deepest;
}
