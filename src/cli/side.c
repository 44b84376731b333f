// Listings in, one table out: every listing is cut into lines that know which source line they come
// from (the IR's own comments, PTX's .loc, nvdisasm's "## File" lines), then the source is walked
// and each of its lines shown beside what it became.
#include "cli/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/utf8.h"

enum { COLUMN_MAX = 3 };

typedef struct entry {
    const source_file *file;
    uint32_t line;
    str text;
} entry;

typedef struct side_column {
    const char *title;
    vec(entry) entries;
} side_column;

typedef struct table {
    const side_page *page;
    side_column columns[COLUMN_MAX];
    uint32_t column_count;
} table;

// --- cutting listings
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

static const source_file *file_named(const side_page *p, str path)
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

static void add(table *t, uint32_t column, source_place at, str shown)
{
    if (at.file && trimmed(shown).len)
        vec_push(t->page->in, &t->columns[column].entries,
                 (entry){at.file, at.line, without_end(shown)});
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
static void cut_ir(table *t, uint32_t column, const ir_func *f)
{
    const side_page *p = t->page;
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
        add(t, column, at, line);
    }
}

static bool is_wanted(const side_page *p, str entry_name)
{
    bool is_known = false;
    for (uint32_t k = 0; k < p->module->funcs.len; k++)
        if (str_same(str_of(p->module->funcs.at[k]->name), entry_name))
            is_known = !p->only || p->only == p->module->funcs.at[k];
    return is_known;
}

static const ir_func *kernel_named(const side_page *p, str name)
{
    for (uint32_t k = 0; k < p->module->funcs.len; k++)
        if (str_same(str_of(p->module->funcs.at[k]->name), name))
            return p->module->funcs.at[k];
    return NULL;
}

static void cut_ptx(table *t, uint32_t column)
{
    const side_page *p = t->page;
    const source_file *files[64] = {0};
    source_place at = {0};
    bool is_shown = false;
    for (size_t pos = 0; pos < p->ptx.len;) {
        str line = next_line(p->ptx, &pos), bare = trimmed(line);
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
            add(t, column, at, *start == '$' ? bare : (str){line.at, line.len});
        }
    }
}

static void cut_sass(table *t, uint32_t column)
{
    const side_page *p = t->page;
    source_place at = {0};
    for (size_t pos = 0; pos < p->sass.len;) {
        str line = next_line(p->sass, &pos), bare = trimmed(line);
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
                add(t, column, at, trimmed((str){code + 2, (size_t)(end - code) - 1}));
        } else if (str_starts(bare, ".L_")) {
            add(t, column, at, bare);
        }
    }
}

static table make_table(const side_page *p)
{
    table t = {.page = p, .column_count = p->sass.len ? 3 : 2};
    t.columns[0].title = "IR";
    t.columns[1].title = "PTX";
    t.columns[2].title = "SASS";
    for (uint32_t k = 0; k < p->module->funcs.len; k++)
        if (p->module->funcs.at[k]->is_kernel && (!p->only || p->only == p->module->funcs.at[k]))
            cut_ir(&t, 0, p->module->funcs.at[k]);
    cut_ptx(&t, 1);
    cut_sass(&t, 2);
    return t;
}

// --- what belongs to one line
// The first and last line of `file` that became code; false: none did.
static bool lines_of(const table *t, const source_file *file, uint32_t *first, uint32_t *last)
{
    *first = UINT32_MAX;
    *last = 0;
    for (uint32_t c = 0; c < t->column_count; c++)
        for (uint32_t k = 0; k < t->columns[c].entries.len; k++) {
            const entry *e = &t->columns[c].entries.at[k];
            if (e->file != file)
                continue;
            *first = e->line < *first ? e->line : *first;
            *last = e->line > *last ? e->line : *last;
        }
    return *last > 0;
}

// The n-th entry of a column for this line, or an empty string.
static str nth(const side_column *c, const source_file *file, uint32_t line, uint32_t n)
{
    for (uint32_t k = 0; k < c->entries.len; k++)
        if (c->entries.at[k].file == file && c->entries.at[k].line == line && !n--)
            return c->entries.at[k].text;
    return (str){0};
}

static uint32_t height_of(const table *t, const source_file *file, uint32_t line)
{
    uint32_t most = 1;
    for (uint32_t c = 0; c < t->column_count; c++)
        for (uint32_t n = most; nth(&t->columns[c], file, line, n).len; n++)
            most = n + 1;
    return most;
}

// --- in columns of characters
static void put_cell(text *out, str s, uint32_t width)
{
    uint32_t used = 0;
    for (size_t k = 0; k < s.len && used < width;) {
        unsigned len;
        utf8_read(s.at + k, s.len - k, &len);
        if (used + 1 == width && k + len < s.len) {
            text_puts(out, "…");
            used++;
            break;
        }
        if (s.at[k] == '\t') {
            text_puts(out, "  ");
            used += 2;
        } else {
            text_add(out, s.at + k, len);
            used++;
        }
        k += len;
    }
    for (; used < width; used++)
        text_putc(out, ' ');
}

static void end_row(text *out)
{
    while (out->len && out->at[out->len - 1] == ' ')
        out->at[--out->len] = 0;
    text_putc(out, '\n');
}

void side_text(const side_page *page, int width, bool has_colour, text *out)
{
    table t = make_table(page);
    uint32_t rest = width > 60 ? (uint32_t)width : 60, source = rest / (t.column_count + 1);
    uint32_t cell = (rest - source - 6) / t.column_count - 2;
    const char *dim = has_colour ? "\033[2m" : "", *plain = has_colour ? "\033[0m" : "";
    for (uint32_t k = 0; k < source_count(page->sources); k++) {
        const source_file *file = source_at(page->sources, k);
        uint32_t first, last;
        if (!lines_of(&t, file, &first, &last))
            continue;
        put_cell(out, str_of(file->path), source + 6);
        for (uint32_t c = 0; c < t.column_count; c++) {
            text_puts(out, "| ");
            put_cell(out, str_of(t.columns[c].title), cell);
        }
        end_row(out);
        for (uint32_t line = first; line <= last; line++) {
            uint32_t height = height_of(&t, file, line);
            for (uint32_t n = 0; n < height; n++) {
                if (n)
                    text_puts(out, "      ");
                else
                    text_printf(out, "%s%5u%s ", dim, line, plain);
                put_cell(out, n ? (str){0} : source_line(page->sources, file, line), source);
                for (uint32_t c = 0; c < t.column_count; c++) {
                    text_puts(out, "| ");
                    put_cell(out, nth(&t.columns[c], file, line, n), cell);
                }
                end_row(out);
            }
        }
    }
}

// --- as HTML
static void put_escaped(text *out, str s)
{
    for (size_t k = 0; k < s.len; k++) {
        if (s.at[k] == '<')
            text_puts(out, "&lt;");
        else if (s.at[k] == '>')
            text_puts(out, "&gt;");
        else if (s.at[k] == '&')
            text_puts(out, "&amp;");
        else
            text_putc(out, s.at[k]);
    }
}

static const char page_start[] =
    "<style>\n"
    "body { font: 14px system-ui, sans-serif; margin: 1em; color: #222; background: #fff; }\n"
    "table { border-collapse: collapse; width: 100%; }\n"
    "td, th { vertical-align: top; text-align: left; padding: 1px 8px; border-left: 1px solid "
    "#ddd; }\n"
    "pre { font: 12px ui-monospace, monospace; margin: 0; white-space: pre-wrap; tab-size: 2; }\n"
    ".n { color: #888; text-align: right; border: 0; }\n"
    "tr:hover { outline: 2px solid #444; }\n"
    "</style>\n";

static void put_html_line(const table *t, const source_file *file, uint32_t line, uint32_t *hue,
                          text *out)
{
    bool has_code = false;
    for (uint32_t c = 0; c < t->column_count; c++)
        has_code |= nth(&t->columns[c], file, line, 0).len > 0;
    if (has_code) {
        text_printf(out, "<tr style=\"background: hsl(%u 70%% 93%%)\">", *hue);
        *hue = (*hue + 137) % 360; // neighbours differ
    } else {
        text_puts(out, "<tr>");
    }
    text_printf(out, "<td class=n>%u</td><td><pre>", line);
    put_escaped(out, source_line(t->page->sources, file, line));
    text_puts(out, "</pre></td>");
    for (uint32_t c = 0; c < t->column_count; c++) {
        text_puts(out, "<td><pre>");
        str s;
        for (uint32_t n = 0; (s = nth(&t->columns[c], file, line, n)).len; n++) {
            put_escaped(out, s);
            text_putc(out, '\n');
        }
        text_puts(out, "</pre></td>");
    }
    text_puts(out, "</tr>\n");
}

void side_html(const side_page *page, const char *title, text *out)
{
    table t = make_table(page);
    uint32_t hue = 200;
    text_puts(out, "<!doctype html>\n<meta charset=utf-8>\n<title>");
    put_escaped(out, str_of(title));
    text_printf(out, "</title>\n%s<h1>", page_start);
    put_escaped(out, str_of(title));
    text_puts(out, "</h1>\n");
    for (uint32_t k = 0; k < source_count(page->sources); k++) {
        const source_file *file = source_at(page->sources, k);
        uint32_t first, last;
        if (!lines_of(&t, file, &first, &last))
            continue;
        text_puts(out, "<table>\n<tr><th></th><th>");
        put_escaped(out, str_of(file->path));
        text_puts(out, "</th>");
        for (uint32_t c = 0; c < t.column_count; c++)
            text_printf(out, "<th>%s</th>", t.columns[c].title);
        text_puts(out, "</tr>\n");
        for (uint32_t line = first; line <= last; line++)
            put_html_line(&t, file, line, &hue, out);
        text_puts(out, "</table>\n");
    }
}

// --- the disassembler
str side_disassemble(arena *a, const char *t, str ptx)
{
    const char *ptxas = proc_find_cuda(a, "ptxas"), *nvdisasm = proc_find_cuda(a, "nvdisasm"),
               *reason, *temp = getenv("TMPDIR");
    char *folder = str_format(a, "%s/kiln-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!ptxas || !nvdisasm || !mkdtemp(folder))
        return (str){0};
    const char *code = str_format(a, "%s/k.ptx", folder),
               *cubin = str_format(a, "%s/k.cubin", folder);
    const char *assemble[] = {ptxas, "-lineinfo", str_format(a, "-arch=%s", t), code, "-o",
                              cubin, NULL};
    const char *show_code[] = {nvdisasm, "-g", "-c", cubin, NULL};
    proc_result result = {0};
    bool is_done = file_write(a, code, ptx.at, ptx.len, &reason) &&
                   proc_run(a, assemble, &result, &reason) && !result.status &&
                   proc_run(a, show_code, &result, &reason) && !result.status;
    unlink(code);
    unlink(cubin);
    rmdir(folder);
    return is_done ? result.output : (str){0};
}
