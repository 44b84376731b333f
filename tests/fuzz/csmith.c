// Csmith's programs as kernels: another generator than ours, with gcc as the judge.
//
// Csmith writes a C program: types, variables at file scope, functions, and a main that calls
// func_1 and then sums up all variables. A kernel has no variables at file scope, so they become
// the members of a struct that every function gets as its first argument, in local, shared or
// global memory; main becomes a function. A loop that runs out of fuel ends, here as there, and a
// goto is not taken. What follows such a loop may read what it has not set: Csmith's promise is
// gone, and its program is left out (check=fits_N, on the host). Start reading at csmith_write.
#include "fuzz/csmith_profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char csmith_prelude[] = "#include <kiln/kernel.h>\n"
                              "#pragma kiln conversions(c)\n"
                              "#include \"../fuzz/csmith.h\"\n";

static const char command[] =
    "d=$(mktemp -d) && cd \"$d\" && csmith --seed %llu --no-argc --no-volatiles "
    "--no-volatile-pointers --no-consts --no-const-pointers --jumps --no-packed-struct "
    "--no-builtins --max-funcs %u --max-block-depth %u --max-expr-complexity %u "
    "2>/dev/null; rm -rf \"$d\""; // Csmith leaves a file where it runs

enum part { TYPES, VARIABLES, PROTOTYPES, FUNCTIONS, MAIN };

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_tag(const char *word, size_t len) // S0, U12
{
    return len >= 2 && (*word == 'S' || *word == 'U') && isdigit((unsigned char)word[1]);
}

// A line with g_3 as (G->g_3), and with G as the first argument of every function; in a
// declaration as its first parameter. Functions and types get the program's number.
static void write_line(const char *line, unsigned number, bool is_declaration, FILE *out)
{
    for (const char *p = line; *p;) {
        bool is_start = p == line || !is_word(p[-1]);
        size_t len = 0;
        while (is_word(p[len]))
            len++;
        if (is_start && begins(p, "g_")) {
            fprintf(out, "(G->%.*s)", (int)len, p);
            p += len;
        } else if (is_start && is_tag(p, len)) {
            fprintf(out, "%.*s_%u", (int)len, p, number);
            p += len;
        } else if (is_start && begins(p, "func_") && p[len] == '(') {
            const char *rest = p + len + 1;
            if (begins(rest, "void)"))
                rest += 4;
            fprintf(out, "%.*s_%u(", (int)len, p, number);
            if (is_declaration)
                fprintf(out, "globals_%u *", number);
            fprintf(out, "G%s", *rest == ')' ? "" : ", ");
            p = rest;
        } else {
            size_t count = len ? len : 1;
            fwrite(p, 1, count, out);
            p += count;
        }
    }
}

// static T g_3 = VALUE; becomes a member, and its value a line of the first values.
static void variable(const char *line, unsigned number, FILE *members, FILE *values)
{
    const char *text = line + strlen("static "), *equals = strstr(text, " = ");
    char *value = equals ? strdup(equals + 3) : NULL;
    if (!value)
        return;
    for (const char *p = text; p < equals;) { // the type's tag with the number, the name without
        size_t word = 0;
        while (is_word(p[word]))
            word++;
        fprintf(members, "%.*s", (int)(word ? word : 1), p);
        if (is_tag(p, word))
            fprintf(members, "_%u", number);
        p += word ? word : 1;
    }
    fprintf(members, ";\n");
    char *end = strrchr(value, ';');
    if (end)
        *end = 0;
    write_line(value, number, false, values);
    fprintf(values, ",\n");
    free(value);
}

// Where the variables are.
typedef struct place {
    const char *arg;   // of the //! line
    const char *param; // of the kernel
    const char *text;
    unsigned threads;
} place;
static const place places[] = {
    {"", "", "    GLOBALS memory, *G = &memory;\n", 4},
    {"", "", "    shared GLOBALS memory[1];\n    GLOBALS *G = memory;\n", 1},
    {"GLOBALS[4], ", "GLOBALS *all, ", "    GLOBALS *G = all + thread_x();\n", 4},
};

static void write_numbered(const char *text, unsigned number, FILE *out)
{
    for (const char *at; (at = strstr(text, "GLOBALS")) != NULL; text = at + strlen("GLOBALS"))
        fprintf(out, "%.*sglobals_%u", (int)(at - text), text, number);
    fputs(text, out);
}

static void write_kernel(const place *p, unsigned number, FILE *out)
{
    fprintf(out, "kernel block(%u) void fuzz_%u(", p->threads, number);
    write_numbered(p->param, number, out);
    fprintf(out, "u64 *out)\n{\n");
    write_numbered(p->text, number, out);
    fprintf(out,
            "    u64 h = 7;\n    begin_%u(G);\n    run_%u(G, &h);\n"
            "    out[thread_x()] = G->fuel < 0 ? 0 : h;\n",
            number, number);
    if (*p->param) // addresses differ from device to device
        fprintf(out, "    for (u32 i = 0; i < sizeof *G; i++)\n        ((u8 *)G)[i] = 0;\n");
    fprintf(out, "}\n");
}

// Whether every thread has had enough fuel: its result is not 0 then.
static void write_check(const place *p, unsigned number, FILE *out)
{
    fprintf(out, "static bool fits_%u(", number);
    write_numbered(p->param, number, out);
    fprintf(out,
            "const u64 *out)\n{\n%s    for (int i = 0; i < %u; i++)\n        if (!out[i])\n"
            "            return false;\n    return true;\n}\n\n",
            *p->param ? "    (void)all;\n" : "", p->threads);
}

static enum part next_part(const char *line, enum part part)
{
    static const struct {
        const char *text;
        enum part part;
    } heads[] = {{"/* --- Struct/Union", TYPES},
                 {"/* --- GLOBAL", VARIABLES},
                 {"/* --- FORWARD", PROTOTYPES},
                 {"/* --- FUNCTIONS", FUNCTIONS},
                 {"int main", MAIN}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (begins(line, heads[i].text))
            return heads[i].part;
    return part;
}

static void convert(FILE *from, unsigned number, FILE *types, FILE *members, FILE *values,
                    FILE *functions)
{
    enum part part = TYPES;
    bool is_loop = false, is_over = false; // the line before begins a loop; main has ended
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, from) > 0) { // to its end: Csmith must not meet a closed pipe
        if (is_over)
            continue;
        part = next_part(line, part);
        const char *text = line + strspn(line, " ");
        bool is_declaration = begins(line, "static ") || begins(line, "inline static ");
        if (*text == '#' || begins(text, "/*") || begins(line, " *") ||
            strstr(text, "__undefined") || strstr(text, "platform_main") ||
            strstr(text, "crc32_gentab") || strstr(text, "print_hash_value = 0") ||
            strstr(text, ") printf("))
            continue;
        if (part == TYPES)
            write_line(line, number, false, types);
        else if (part == VARIABLES && is_declaration)
            variable(line, number, members, values);
        else if (begins(line, "int main"))
            fprintf(functions, "static int run_%u(globals_%u *G, u64 *hash)\n", number, number);
        else if (part != VARIABLES && begins(text, "goto "))
            fprintf(functions, "if (--G->fuel >= 0) %s", text);
        else if (part != VARIABLES)
            write_line(line, number, is_declaration, functions);
        if (is_loop && *text == '{')
            fputs("if (--G->fuel < 0) break;\n", functions);
        is_loop = begins(text, "for (");
        is_over = part == MAIN && *line == '}';
    }
    free(line);
}

bool csmith_write(uint64_t seed, unsigned number, FILE *out)
{
    enum { TEXTS = 4 };
    char *texts[TEXTS] = {0}, shell[1024];
    size_t sizes[TEXTS] = {0};
    FILE *files[TEXTS];
    bool ok = true;
    snprintf(shell, sizeof shell, command, (unsigned long long)seed, 2 + (unsigned)(seed / 3 % 5),
             2 + (unsigned)(seed / 15 % 3), 4 + (unsigned)(seed / 45 % 6));
    for (int i = 0; i < TEXTS; i++)
        ok &= (files[i] = open_memstream(&texts[i], &sizes[i])) != NULL;
    FILE *from = ok ? popen(shell, "r") : NULL;
    if (from) {
        convert(from, number, files[0], files[1], files[2], files[3]);
        pclose(from);
    }
    for (int i = 0; i < TEXTS; i++)
        if (files[i])
            ok &= fclose(files[i]) == 0;
    ok &= from && sizes[3];
    if (ok) {
        const place *p = &places[seed % 3];
        fprintf(out, "//! run fuzz_%u block=%u check=fits_%u (", number, p->threads, number);
        write_numbered(p->arg, number, out);
        fprintf(out, "u64[%u])\n%stypedef struct globals_%u {\n%sint32_t fuel;\n} globals_%u;\n",
                p->threads, texts[0], number, texts[1], number);
        fprintf(out,
                "static void begin_%u(globals_%u *G)\n{\n    globals_%u first = {\n%s5000\n};\n"
                "    *G = first;\n}\n%s",
                number, number, number, texts[2], texts[3]);
        write_kernel(p, number, out);
        write_check(p, number, out);
    }
    for (int i = 0; i < TEXTS; i++)
        free(texts[i]);
    return ok;
}
