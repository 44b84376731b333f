// kiln --cflags, kiln --libs: what a C compiler needs to use Kiln, from the kiln.pc that belongs to
// this very program: beside it in a build folder, or in ../lib/pkgconfig where it was installed. So
// a makefile needs neither an installation nor pkg-config.
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

enum { LIMIT = 64 * 1024 };

// The value of "NAME=…" or "NAME: …" in the text of a .pc file; empty when it is not there.
static str find_line(str pc, const char *name, char mark)
{
    size_t len = strlen(name);
    for (size_t at = 0; at < pc.len;) {
        const char *newline = memchr(pc.at + at, '\n', pc.len - at);
        size_t end = newline ? (size_t)(newline - pc.at) : pc.len;
        if (end - at > len && !memcmp(pc.at + at, name, len) && pc.at[at + len] == mark) {
            size_t first = at + len + 1;
            while (first < end && pc.at[first] == ' ')
                first++;
            return (str){pc.at + first, end - first};
        }
        at = end + 1;
    }
    return (str){"", 0};
}

// Replaces ${name}; `prefix` is where the program really is, NULL: as the file says.
static void expand(arena *a, str pc, str value, const char *prefix, int depth, text *out)
{
    for (size_t i = 0; i < value.len; i++) {
        const char *end = value.at[i] == '$' && i + 1 < value.len && value.at[i + 1] == '{'
                              ? memchr(value.at + i, '}', value.len - i)
                              : NULL;
        if (!end || depth > 8) {
            text_putc(out, value.at[i]);
            continue;
        }
        const char *name = str_dup(a, (str){value.at + i + 2, (size_t)(end - value.at) - i - 2});
        if (prefix && !strcmp(name, "prefix"))
            text_puts(out, prefix);
        else
            expand(a, pc, find_line(pc, name, '='), prefix, depth + 1, out);
        i = (size_t)(end - value.at);
    }
}

// Words for a shell: what stands in double quotes keeps its spaces, with backslashes.
static void print_words(const char *words)
{
    bool is_quoted = false;
    for (; *words; words++) {
        if (*words == '"') {
            is_quoted = !is_quoted;
            continue;
        }
        if (strchr("\\'$`&;|<>()*?[]#~\t", *words) || (is_quoted && *words == ' '))
            putchar('\\');
        putchar(*words);
    }
}

// The text of the .pc file, and the folder it was installed to; false after a message.
static bool find_pc(arena *a, str *pc, const char **prefix)
{
    char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *reason = "there is no /proc/self/exe";
    *prefix = NULL;
    if (len > 0) {
        self[len] = 0;
        str folder = file_folder(self);
        if (file_read(a, file_join(a, folder, STR("pkgconfig/kiln.pc")), LIMIT, pc, &reason))
            return true;
        *prefix = str_dup(a, file_folder(str_dup(a, folder)));
        if (file_read(a, str_format(a, "%s/lib/pkgconfig/kiln.pc", *prefix), LIMIT, pc, &reason))
            return true;
    }
    fprintf(stderr,
            "kiln: there is no kiln.pc beside this program, nor in ../lib/pkgconfig: %s\n"
            "hint: ask pkg-config --cflags --libs kiln\n",
            reason);
    return false;
}

const char *cli_include_folder(arena *a)
{
    str pc;
    const char *prefix;
    if (!find_pc(a, &pc, &prefix))
        return NULL;
    text out = {.in = a};
    text_puts(&out, "");
    expand(a, pc, find_line(pc, "includedir", '='), prefix, 0, &out);
    return out.at;
}

int cli_config(bool has_cflags, bool has_libs)
{
    arena *a = arena_new();
    str pc;
    const char *prefix, *between = "";
    if (!a || !find_pc(a, &pc, &prefix)) {
        arena_free(a);
        return EXIT_WORLD;
    }
    const char *const names[] = {has_cflags ? "Cflags" : NULL, has_libs ? "Libs" : NULL};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!names[i])
            continue;
        text out = {.in = a};
        text_puts(&out, "");
        expand(a, pc, find_line(pc, names[i], ':'), prefix, 0, &out);
        printf("%s", between);
        print_words(out.at);
        between = " ";
    }
    putchar('\n');
    arena_free(a);
    return EXIT_FINE;
}
