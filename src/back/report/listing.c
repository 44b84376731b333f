// Printed code in, lines that know their source line out: from the IR's own comments, PTX's .loc,
// and nvdisasm's "## File" lines.
#include "back/report/listing.h"

#include <stdio.h>
#include <stdlib.h>

static str next_line(str all, size_t *at)
{
    const char *start = all.at + *at, *end = memchr(start, '\n', all.len - *at);
    size_t len = end ? (size_t)(end - start) : all.len - *at;
    *at += len + 1;
    return (str){start, len};
}

static str without_end(str s)
{
    while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\r'))
        s.len--;
    return s;
}

static str trimmed(str s)
{
    while (s.len && (*s.at == ' ' || *s.at == '\t'))
        s = (str){s.at + 1, s.len - 1};
    return without_end(s);
}

static const source_file *file_named(const listing *p, str path)
{
    for (uint32_t k = 0; k < source_count(p->sources); k++) {
        const source_file *file = source_at(p->sources, k);
        size_t len = strlen(file->path);
        // A disassembler may show the whole path of what was named by a part of it.
        if (len && len <= path.len && !memcmp(path.at + path.len - len, file->path, len))
            return file;
    }
    return NULL;
}

// Kiln's own code belongs to the line before it.
static void go_to(const source_file *file, uint32_t line, source_place *at)
{
    if (!file || file->is_builtin)
        return;
    at->file = file;
    at->line = line;
}

static void add(const listing *p, listing_lines *out, source_place at, str shown)
{
    if (at.file && trimmed(shown).len)
        vec_push(p->in, out, (listing_line){at.file, at.line, without_end(shown)});
}

// "7:9" or "kiln/math.h:7:9".
static bool read_place(str s, str *path, uint32_t *line)
{
    s = trimmed(s);
    size_t end = s.len;
    for (int part = 0; part < 2; part++) {
        size_t digits = 0;
        while (end > 0 && s.at[end - 1] >= '0' && s.at[end - 1] <= '9') {
            end--;
            digits++;
        }
        if (!digits)
            return false;
        if (part == 1)
            *line = (uint32_t)strtoul(s.at + end, NULL, 10);
        if (end && s.at[end - 1] == ':')
            end--;
        else if (end || part == 0)
            return false;
    }
    *path = (str){s.at, end};
    return true;
}

// Each line of a printed function ends in its place where that is known.
void listing_ir(const listing *p, const ir_func *f, listing_lines *out)
{
    text all = {.in = p->in};
    ir_print_func(f, &all);
    source_place at = source_find(p->sources, f->at.lo);
    const source_file *home = at.file;
    for (size_t pos = 0; pos < all.len;) {
        str line = next_line((str){all.at, all.len}, &pos), path;
        uint32_t number = 0;
        size_t mark = line.len;
        while (mark && line.at[mark - 1] != ';')
            mark--;
        if (mark && read_place((str){line.at + mark, line.len - mark}, &path, &number)) {
            go_to(path.len ? file_named(p, path) : home, number, &at);
            line.len = mark - 1;
        }
        add(p, out, at, line);
    }
}

static bool is_wanted(const listing *p, str entry_name)
{
    bool is_known = false;
    for (uint32_t k = 0; k < p->module->funcs.len; k++)
        if (str_same(str_of(p->module->funcs.at[k]->name), entry_name))
            is_known = !p->only || p->only == p->module->funcs.at[k];
    return is_known;
}

static const ir_func *kernel_named(const listing *p, str name)
{
    for (uint32_t k = 0; k < p->module->funcs.len; k++)
        if (str_same(str_of(p->module->funcs.at[k]->name), name))
            return p->module->funcs.at[k];
    return NULL;
}

void listing_ptx(const listing *p, str ptx, listing_lines *out)
{
    const source_file *files[64] = {0};
    source_place at = {0};
    bool is_shown = false;
    for (size_t pos = 0; pos < ptx.len;) {
        str line = next_line(ptx, &pos), bare = trimmed(line);
        unsigned file, number;
        char path[512], name[256];
        const char *start = str_format(p->in, "%.*s", (int)bare.len, bare.at);
        if (sscanf(start, ".file %u \"%511[^\"]\"", &file, path) == 2 && file < COUNT(files)) {
            files[file] = file_named(p, str_of(path));
        } else if (sscanf(start, ".loc %u %u", &file, &number) == 2) {
            go_to(file < COUNT(files) ? files[file] : NULL, number, &at);
        } else if (sscanf(start, ".visible .entry %255[^( ]", name) == 1) {
            const ir_func *f = kernel_named(p, str_of(name));
            is_shown = f && is_wanted(p, str_of(name));
            if (f && f->at.lo)
                at = source_find(p->sources, f->at.lo);
        } else if (is_shown && *start != '.' && *start != '{' && *start != '}' && *start != ')') {
            add(p, out, at, *start == '$' ? bare : (str){line.at, line.len});
        }
    }
}

void listing_sass(const listing *p, str sass, listing_lines *out)
{
    source_place at = {0};
    for (size_t pos = 0; pos < sass.len;) {
        str line = next_line(sass, &pos), bare = trimmed(line);
        unsigned number;
        char path[512], name[256];
        const char *start = str_format(p->in, "%.*s", (int)bare.len, bare.at);
        if (sscanf(start, "//## File \"%511[^\"]\", line %u", path, &number) == 2) {
            go_to(file_named(p, str_of(path)), number, &at);
        } else if (sscanf(start, ".text.%255[^: ]", name) == 1) {
            const ir_func *f = is_wanted(p, str_of(name)) ? kernel_named(p, str_of(name)) : NULL;
            at = f && f->at.lo ? source_find(p->sources, f->at.lo) : (source_place){0};
        } else if (str_starts(bare, "/*") && bare.len > 8) {
            const char *code = strstr(start, "*/"), *end = code ? strchr(code, ';') : NULL;
            if (code && end)
                add(p, out, at, trimmed((str){code + 2, (size_t)(end - code) - 1}));
        } else if (str_starts(bare, ".L_")) {
            add(p, out, at, bare);
        }
    }
}
