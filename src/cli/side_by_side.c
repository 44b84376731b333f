// Lines of IR, PTX and SASS in, one table out: the source is walked and each of its lines shown
// beside what it became.
#include "cli/side_by_side.h"

#include "base/utf8.h"

enum { COLUMN_MAX = 3 };

typedef struct side_column {
    const char *title;
    listing_lines entries;
} side_column;

typedef struct table {
    const side_by_side *page;
    side_column columns[COLUMN_MAX];
    uint32_t column_count;
} table;

static table make_table(const side_by_side *p)
{
    const listing *of = &p->of;
    table t = {.page = p, .column_count = p->sass.len ? 3 : 2};
    t.columns[0].title = "IR";
    t.columns[1].title = "PTX";
    t.columns[2].title = "SASS";
    for (uint32_t k = 0; k < of->module->funcs.len; k++) {
        const ir_func *f = of->module->funcs.at[k];
        if (f->is_kernel && (!of->only || of->only == f))
            listing_ir(of, f, &t.columns[0].entries);
    }
    listing_ptx(of, p->ptx, &t.columns[1].entries);
    listing_sass(of, p->sass, &t.columns[2].entries);
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
            const listing_line *e = &t->columns[c].entries.at[k];
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

void side_by_side_text(const side_by_side *page, int width, bool has_colour, text *out)
{
    table t = make_table(page);
    uint32_t rest = width > 60 ? (uint32_t)width : 60, source = rest / (t.column_count + 1);
    uint32_t cell = (rest - source - 6) / t.column_count - 2;
    const char *dim = has_colour ? "\033[2m" : "", *plain = has_colour ? "\033[0m" : "";
    for (uint32_t k = 0; k < source_count(page->of.sources); k++) {
        const source_file *file = source_at(page->of.sources, k);
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
                put_cell(out, n ? (str){0} : source_line(page->of.sources, file, line), source);
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
    put_escaped(out, source_line(t->page->of.sources, file, line));
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

void side_by_side_html(const side_by_side *page, const char *title, text *out)
{
    table t = make_table(page);
    uint32_t hue = 200;
    text_puts(out, "<!doctype html>\n<meta charset=utf-8>\n<title>");
    put_escaped(out, str_of(title));
    text_printf(out, "</title>\n%s<h1>", page_start);
    put_escaped(out, str_of(title));
    text_puts(out, "</h1>\n");
    for (uint32_t k = 0; k < source_count(page->of.sources); k++) {
        const source_file *file = source_at(page->of.sources, k);
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
