// Small mechanical changes of C source, for `make mutants` (run beside this file): a flipped
// comparison, a dropped statement, swapped operands, a constant that is off by one.
//
//     mutate draw COUNT SEED FILES…      lines "FILE OFFSET KIND", drawn at random from all places
//     mutate apply FILE OFFSET KIND      the changed text on standard output
//     mutate tell FILE OFFSET KIND       "FILE:LINE: KIND: the line before -> the line after"
//
// A place is the offset of a token outside comments, strings and directives. Start at main.
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct source {
    char *text;
    size_t len;
    char *code; // the text with comments, strings, characters and directives blanked
} source;

typedef struct place {
    const char *file;
    size_t at;
    int kind;
} place;

// A token and what takes its place. Tokens stand between blanks, as clang-format writes them.
static const struct {
    const char *name, *from, *to;
} swaps[] = {
    {"lt-le", " < ", " <= "},    {"le-lt", " <= ", " < "},      {"gt-ge", " > ", " >= "},
    {"ge-gt", " >= ", " > "},    {"eq-ne", " == ", " != "},     {"ne-eq", " != ", " == "},
    {"and-or", " && ", " || "},  {"or-and", " || ", " && "},    {"add-sub", " + ", " - "},
    {"sub-add", " - ", " + "},   {"mul-add", " * ", " + "},     {"shl-shr", " << ", " >> "},
    {"shr-shl", " >> ", " << "}, {"mask-set", " & ", " | "},    {"set-mask", " | ", " & "},
    {"add-to", " += ", " -= "},  {"or-to", " |= ", " &= "},     {"and-to", " &= ", " |= "},
    {"up-down", "++", "--"},     {"true", "true", "false"},     {"false", "false", "true"},
    {"break", "break;", ";"},    {"continue", "continue;", ";"}};
enum { SWAPS = sizeof swaps / sizeof swaps[0], DROP = SWAPS, NEGATE, PLUS_ONE, EXCHANGE, KINDS };
static const char *const others[] = {"drop", "negate", "plus-one", "exchange"};

static const char *kind_name(int kind)
{
    return kind < SWAPS ? swaps[kind].name : others[kind - SWAPS];
}

static int kind_find(const char *name)
{
    for (int k = 0; k < KINDS; k++)
        if (!strcmp(kind_name(k), name))
            return k;
    fprintf(stderr, "mutate: there is no change '%s'\n", name);
    exit(2);
}

static void blank(char *code, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++)
        if (code[k] != '\n')
            code[k] = '\1';
}

static size_t end_of_quoted(const char *t, size_t len, size_t at)
{
    char quote = t[at];
    for (at++; at < len && t[at] != quote; at++)
        if (t[at] == '\\')
            at++;
    return at < len ? at + 1 : len;
}

static source read_source(const char *path)
{
    source s = {0};
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        exit(2);
    }
    size_t cap = 1 << 20;
    s.text = malloc(cap + 1);
    s.len = fread(s.text, 1, cap, in);
    s.text[s.len] = 0;
    fclose(in);
    s.code = malloc(s.len + 1);
    memcpy(s.code, s.text, s.len + 1);
    bool is_start = true;
    for (size_t k = 0; k < s.len;) {
        const char *t = s.text + k;
        size_t end = k + 1;
        if (t[0] == '/' && t[1] == '/') {
            end = k + strcspn(t, "\n");
        } else if (t[0] == '/' && t[1] == '*') {
            const char *close = strstr(t + 2, "*/");
            end = close ? (size_t)(close + 2 - s.text) : s.len;
        } else if (t[0] == '"' || t[0] == '\'') {
            end = end_of_quoted(s.text, s.len, k);
        } else if (t[0] == '#' && is_start) {
            end = k + strcspn(t, "\n");
            while (end < s.len && s.text[end - 1] == '\\')
                end += 1 + strcspn(s.text + end + 1, "\n");
        } else {
            is_start = t[0] == '\n' || (is_start && isspace((unsigned char)t[0]));
            k++;
            continue;
        }
        blank(s.code, k, end);
        k = end;
    }
    return s;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// A statement that stands on one line, more than four blanks in, and is a call or an assignment.
static bool is_droppable(const source *s, size_t at, size_t *end)
{
    const char *t = s->code + at;
    if (at && s->code[at - 1] != '\n')
        return false;
    size_t indent = strspn(t, " "), len = strcspn(t, "\n");
    if (indent < 4 || len < indent + 4 || t[len - 1] != ';' || !islower((unsigned char)t[indent]))
        return false;
    static const char *const kept[] = {"return", "break",  "continue", "case",   "default", "goto",
                                       "static", "const",  "struct",   "if",     "for",     "while",
                                       "else",   "switch", "do",       "typedef"};
    size_t word = 0;
    while (is_word(t[indent + word]))
        word++;
    for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++)
        if (strlen(kept[k]) == word && !strncmp(t + indent, kept[k], word))
            return false;
    // "type name" declares; "name = ", "name->x", "name(" acts
    char next = t[indent + word];
    bool acts = next == '(' || next == '-' || next == '.' || next == '[' ||
                (next == ' ' && strchr("=+-|&*", t[indent + word + 1]) &&
                 memchr(t + indent + word, '=', 5));
    int depth = 0;
    for (size_t k = 0; k < len; k++)
        depth += t[k] == '(' ? 1 : t[k] == ')' ? -1 : 0;
    *end = at + len;
    return acts && depth == 0;
}

static size_t match(const char *code, size_t open)
{
    int depth = 0;
    for (size_t k = open; code[k]; k++) {
        depth += code[k] == '(' ? 1 : code[k] == ')' ? -1 : 0;
        if (depth == 0)
            return k;
    }
    return 0;
}

// "if (" whose condition ends on the same line: where it begins and ends.
static bool is_condition(const source *s, size_t at, size_t *from, size_t *to)
{
    if (strncmp(s->code + at, "if (", 4) || (at && is_word(s->code[at - 1])))
        return false;
    *from = at + 4;
    *to = match(s->code, at + 3);
    return *to && !memchr(s->code + at, '\n', *to - at);
}

static bool is_small_number(const source *s, size_t at, size_t *len)
{
    const char *t = s->code + at;
    if (!isdigit((unsigned char)t[0]) || (at && (is_word(t[-1]) || t[-1] == '.' || t[-1] == '\1')))
        return false;
    size_t n = strspn(t, "0123456789");
    *len = n;
    return n <= 3 && !is_word(t[n]) && t[n] != '.';
}

// name(a, b) with two plain arguments that differ: their places.
static bool is_pair(const source *s, size_t at, size_t part[4])
{
    const char *t = s->code;
    if (t[at] != '(' || !at || !is_word(t[at - 1]))
        return false;
    size_t k = at + 1;
    for (int n = 0; n < 2; n++) {
        part[2 * n] = k;
        while (is_word(t[k]) || t[k] == '.' || (t[k] == '-' && t[k + 1] == '>') || t[k] == '>')
            k++;
        part[2 * n + 1] = k;
        if (k == part[2 * n] || (n == 0 && (t[k] != ',' || t[k + 1] != ' ')))
            return false;
        if (n == 0)
            k += 2;
    }
    size_t a = part[1] - part[0], b = part[3] - part[2];
    return t[k] == ')' && (a != b || strncmp(t + part[0], t + part[2], a));
}

static bool can(const source *s, size_t at, int kind)
{
    size_t from, to, part[4];
    if (kind == DROP)
        return is_droppable(s, at, &to);
    if (kind == NEGATE)
        return is_condition(s, at, &from, &to);
    if (kind == PLUS_ONE)
        return is_small_number(s, at, &to);
    if (kind == EXCHANGE)
        return is_pair(s, at, part);
    size_t len = strlen(swaps[kind].from);
    if (strncmp(s->code + at, swaps[kind].from, len))
        return false;
    bool is_name = isalpha((unsigned char)swaps[kind].from[0]);
    return !is_name || ((!at || !is_word(s->code[at - 1])) && !is_word(s->code[at + len]));
}

static char *change(const source *s, size_t at, int kind)
{
    char *out = NULL;
    size_t size = 0, from = at, to = at, part[4];
    FILE *f = open_memstream(&out, &size);
    if (!f || !can(s, at, kind)) {
        fprintf(stderr, "mutate: no such place\n");
        exit(2);
    }
    if (kind == DROP) {
        is_droppable(s, at, &to);
        fprintf(f, "%.*s    ;", (int)at, s->text);
    } else if (kind == NEGATE) {
        is_condition(s, at, &from, &to);
        fprintf(f, "%.*s!(%.*s)", (int)from, s->text, (int)(to - from), s->text + from);
    } else if (kind == PLUS_ONE) {
        is_small_number(s, at, &to);
        fprintf(f, "%.*s%d", (int)at, s->text, atoi(s->text + at) + 1);
        to += at;
    } else if (kind == EXCHANGE) {
        is_pair(s, at, part);
        fprintf(f, "%.*s%.*s, %.*s", (int)part[0], s->text, (int)(part[3] - part[2]),
                s->text + part[2], (int)(part[1] - part[0]), s->text + part[0]);
        to = part[3];
    } else {
        fprintf(f, "%.*s%s", (int)at, s->text, swaps[kind].to);
        to = at + strlen(swaps[kind].from);
    }
    fputs(s->text + to, f);
    fclose(f);
    return out;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void draw(size_t count, uint64_t seed, char **files, int file_count)
{
    place *all = NULL;
    size_t len = 0, cap = 0;
    for (int n = 0; n < file_count; n++) {
        source s = read_source(files[n]);
        for (size_t at = 0; at < s.len; at++)
            for (int kind = 0; kind < KINDS; kind++)
                if (can(&s, at, kind)) {
                    if (len == cap) {
                        cap = cap ? 2 * cap : 4096;
                        all = realloc(all, cap * sizeof *all);
                    }
                    all[len++] = (place){files[n], at, kind};
                }
        free(s.text);
        free(s.code);
    }
    fprintf(stderr, "%zu places in %d files, seed %llu\n", len, file_count,
            (unsigned long long)seed);
    for (size_t k = 0; k < count && k < len; k++) {
        size_t pick = k + (size_t)(next_random(&seed) % (len - k));
        place p = all[pick];
        all[pick] = all[k];
        printf("%s %zu %s\n", p.file, p.at, kind_name(p.kind));
    }
    free(all);
}

static void print_line(const char *text, size_t at)
{
    size_t from = at;
    while (from && text[from - 1] != '\n')
        from--;
    from += strspn(text + from, " ");
    printf("%.*s", (int)strcspn(text + from, "\n"), text + from);
}

int main(int argc, char **argv)
{
    if (argc > 4 && !strcmp(argv[1], "draw")) {
        draw(strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv + 4, argc - 4);
        return 0;
    }
    if (argc != 5 || (strcmp(argv[1], "apply") && strcmp(argv[1], "tell"))) {
        fprintf(stderr, "usage: mutate draw COUNT SEED FILES… | apply|tell FILE OFFSET KIND\n");
        return 2;
    }
    source s = read_source(argv[2]);
    size_t at = strtoul(argv[3], NULL, 10);
    char *changed = change(&s, at, kind_find(argv[4]));
    if (!strcmp(argv[1], "apply")) {
        fputs(changed, stdout);
    } else {
        size_t line = 1;
        for (size_t k = 0; k < at; k++)
            line += s.text[k] == '\n';
        printf("%s:%zu: %s: ", argv[2], line, argv[4]);
        print_line(s.text, at + (s.code[at] == '\n'));
        printf(" -> ");
        print_line(changed, at);
        putchar('\n');
    }
    free(changed);
    free(s.text);
    free(s.code);
    return 0;
}
