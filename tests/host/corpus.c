// Reads the //! lines of test kernels and writes the C wrapper through which the host runs them.
// Start reading at corpus_parse; the format is in corpus.h.
#include "host/corpus.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct scalar {
    const char *name;
    size_t size;
} scalars[] = {{"i8", 1},  {"u8", 1},   {"i16", 2},  {"u16", 2},  {"i32", 4},
               {"u32", 4}, {"i64", 8},  {"u64", 8},  {"f32", 4},  {"f64", 8},
               {"f16", 2}, {"bf16", 2}, {"f8e4", 1}, {"f8e5", 1}, {"bool", 1}};

static size_t scalar_size(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strlen(scalars[i].name) == len && strncmp(scalars[i].name, name, len) == 0)
            return scalars[i].size;
    return 0;
}

// Scalars and vectors; 0 for a struct of the file.
static size_t type_size(const char *type, char as[16])
{
    const char *x = strrchr(type, 'x');
    size_t base = x ? scalar_size(type, (size_t)(x - type)) : 0;
    size_t len = base ? (size_t)(x - type) : strlen(type);
    size_t size = base ? base * (size_t)atoi(x + 1) : scalar_size(type, len);
    snprintf(as, 16, "%.*s", size ? (int)len : 2, size ? type : "u8");
    return size;
}

// --- one line
typedef struct reader {
    const char *at;
    const char *problem;
} reader;

static void skip_blank(reader *r)
{
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

static bool accept(reader *r, char c)
{
    skip_blank(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void read_word(reader *r, char *out, size_t size)
{
    size_t n = 0;
    skip_blank(r);
    while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.' || *r->at == '-' ||
           *r->at == '+') {
        if (n + 1 < size)
            out[n++] = *r->at;
        r->at++;
    }
    out[n] = 0;
    if (!n)
        r->problem = "a word was expected";
}

static unsigned long read_count(reader *r)
{
    char word[32], *end;
    read_word(r, word, sizeof word);
    unsigned long count = strtoul(word, &end, 0);
    if (*end || word[0] == '-')
        r->problem = "a count was expected";
    return count;
}

static void read_dims(reader *r, uint32_t dims[3])
{
    for (int i = 0; i < 3; i++) {
        dims[i] = (uint32_t)read_count(r);
        if (*r->at != ',')
            return;
        r->at++;
    }
}

static bool is_fill(const char *word)
{
    static const char *const words[] = {"bits", "rand", "iota", "unit", "edge", "edge2", "edge3"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    bool has_number = strncmp(word, "mod", 3) == 0 || strncmp(word, "sym", 3) == 0;
    return has_number && word[3] >= '1' && word[3] <= '9' &&
           !word[3 + strspn(word + 3, "0123456789")];
}

static void read_arg(reader *r, corpus_arg *a)
{
    char word[64], *end;
    read_word(r, a->type, sizeof a->type);
    a->size = type_size(a->type, a->as);
    if (accept(r, '[')) {
        a->is_buffer = true;
        a->count = read_count(r);
        if (!accept(r, ']'))
            r->problem = "']' was expected";
    }
    if (accept(r, '=')) {
        read_word(r, word, sizeof word);
        a->value = strtod(word, &end);
        if (*end)
            r->problem = "a number was expected";
        a->whole = word[0] == '-' ? strtoll(word, NULL, 0) : (long long)strtoull(word, NULL, 0);
    } else if (accept(r, ':')) {
        read_word(r, a->fill, sizeof a->fill);
        if (!is_fill(a->fill))
            r->problem = "there is no such way to fill (corpus.h lists them)";
        if (accept(r, '@'))
            read_word(r, a->as, sizeof a->as);
        if (!scalar_size(a->as, strlen(a->as)))
            r->problem = "the type after '@' is not a scalar";
    } else if (!a->is_buffer) {
        r->problem = "a value, a fill or a count was expected";
    }
}

static const char *parse_line(const char *line, corpus_case *c)
{
    reader r = {line, NULL};
    char word[64];
    *c = (corpus_case){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    read_word(&r, c->kernel, sizeof c->kernel);
    for (skip_blank(&r); *r.at && *r.at != '(' && !r.problem; skip_blank(&r)) {
        read_word(&r, word, sizeof word);
        if (!accept(&r, '='))
            return "'=' was expected";
        if (strcmp(word, "grid") == 0) {
            read_dims(&r, c->grid);
        } else if (strcmp(word, "block") == 0) {
            read_dims(&r, c->block);
        } else if (strcmp(word, "check") == 0) {
            read_word(&r, c->check, sizeof c->check);
        } else if (strcmp(word, "oracle") == 0) {
            read_word(&r, c->oracle, sizeof c->oracle);
        } else if (strcmp(word, "shared") == 0) {
            c->shared_bytes = (uint32_t)read_count(&r);
        } else {
            return "known words are grid, block, shared, check and oracle";
        }
    }
    if (!accept(&r, '('))
        return "'(' was expected";
    while (!accept(&r, ')') && !r.problem) {
        if (c->arg_count == CORPUS_MAX_ARGS)
            return "too many arguments";
        read_arg(&r, &c->args[c->arg_count++]);
        accept(&r, ',');
    }
    skip_blank(&r);
    if (!r.problem && *r.at)
        return "nothing was expected behind ')'";
    return r.problem;
}

// --- braces: replaces the first {a,b} by each choice in turn and $depth by the same.
static const char *add_case(corpus_file *f, const char *line, int number)
{
    corpus_case *grown = realloc(f->cases, sizeof *grown * (size_t)(f->case_count + 1));
    if (!grown)
        return "no memory";
    f->cases = grown;
    corpus_case *c = &f->cases[f->case_count];
    const char *problem = parse_line(line, c);
    c->line = number;
    int same = 1;
    for (int i = 0; i < f->case_count; i++)
        same += strcmp(f->cases[i].kernel, c->kernel) == 0;
    snprintf(c->label, sizeof c->label, same > 1 ? "%s#%d" : "%s", c->kernel, same);
    f->case_count++;
    return problem;
}

static const char *expand(corpus_file *f, const char *line, int number, int depth)
{
    const char *open = strchr(line, '{'), *close = open ? strchr(open, '}') : NULL;
    if (open && !close)
        return "'}' was expected";
    if (!close)
        return add_case(f, line, number);
    for (const char *choice = open + 1; choice <= close;) {
        size_t len = strcspn(choice, ",}"), n = 0;
        char text[1024];
        for (const char *p = line; *p && n + len + 2 < sizeof text;) {
            if (p == open || (p[0] == '$' && p[1] == '0' + depth)) {
                memcpy(text + n, choice, len);
                n += len;
                p = p == open ? close + 1 : p + 2;
            } else {
                text[n++] = *p++;
            }
        }
        text[n] = 0;
        const char *problem = expand(f, text, number, depth + 1);
        if (problem)
            return problem;
        choice += len + 1;
    }
    return NULL;
}

const char *corpus_parse(const char *text, corpus_file *out)
{
    static const char mark[] = "//!", run[] = "//! run ";
    int number = 1;
    for (const char *line = text; line && *line; number++) {
        line += strspn(line, " ");
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);
        char copy[1024];
        if (strncmp(line, mark, sizeof mark - 1) == 0) {
            const char *problem = NULL;
            if (strncmp(line, run, sizeof run - 1) != 0)
                problem = "a line with //! starts with '//! run '";
            else if (len >= sizeof copy)
                problem = "the line is too long";
            if (!problem) {
                snprintf(copy, sizeof copy, "%.*s", (int)(len - (sizeof run - 1)),
                         line + sizeof run - 1);
                problem = expand(out, copy, number, 1);
            }
            if (problem) {
                fprintf(stderr, "%s:%d: %s\n", out->path, number, problem);
                return problem;
            }
        }
        line = end ? end + 1 : NULL;
    }
    return out->case_count ? NULL : "no line with '//! run ' says what to run";
}

const char *corpus_read(const char *path, corpus_file *out)
{
    *out = (corpus_file){0};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    snprintf(out->path, sizeof out->path, "%s", path);
    snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(base, "."), base);
    for (char *c = out->name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    FILE *in = fopen(path, "rb");
    if (!in)
        return "cannot read it";
    char *text = NULL;
    size_t len = 0, cap = 0;
    do {
        cap = cap ? cap * 2 : 65536;
        char *grown = realloc(text, cap);
        if (!grown) {
            free(text);
            fclose(in);
            return "no memory";
        }
        text = grown;
        len += fread(text + len, 1, cap - len - 1, in);
    } while (len == cap - 1);
    fclose(in);
    text[len] = 0;
    const char *problem = corpus_parse(text, out);
    free(text);
    return problem;
}

void corpus_free(corpus_file *file)
{
    free(file->cases);
    *file = (corpus_file){0};
}

// --- the host's side
static void write_args(const corpus_case *c, FILE *out)
{
    for (int i = 0; i < c->arg_count; i++)
        if (c->args[i].is_buffer)
            fprintf(out, "%sa[%d]", i ? ", " : "", i);
        else
            fprintf(out, "%s*(const %s *)a[%d]", i ? ", " : "", c->args[i].type, i);
}

void corpus_wrapper(const corpus_file *file, const char *include_path, FILE *out)
{
    fprintf(out, "#include \"%s\"\n#include \"host/fiber.h\"\n", include_path);
    for (int k = 0; k < file->case_count; k++) {
        const corpus_case *c = &file->cases[k];
        const char *unused = c->arg_count ? "" : "(void)a; ";
        fprintf(out, "static void call_%d(void *const *a) { %s%s(", k, unused,
                c->oracle[0] ? c->oracle : c->kernel);
        write_args(c, out);
        fprintf(out, "); }\nstatic const size_t sizes_%d[] = {", k);
        for (int i = 0; i < c->arg_count; i++)
            fprintf(out, "sizeof(%s), ", c->args[i].type);
        fprintf(out, "0};\n");
        if (c->check[0]) {
            fprintf(out, "static int check_%d(void *const *a) { %sreturn %s(", k, unused, c->check);
            write_args(c, out);
            fprintf(out, "); }\n");
        }
    }
    fprintf(out, "extern const host_kernel host_kernels_%s[];\n", file->name);
    fprintf(out, "const host_kernel host_kernels_%s[] = {\n", file->name);
    for (int k = 0; k < file->case_count; k++) {
        const corpus_case *c = &file->cases[k];
        fprintf(out, "    {\"%s\", call_%d, ", c->label, k);
        fprintf(out, c->check[0] ? "check_%d, " : "0, ", k);
        fprintf(out, "sizes_%d},\n", k);
    }
    fprintf(out, "    {0, 0, 0, 0}};\n");
}
