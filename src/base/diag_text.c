// Diagnostics as people read them: the message, the lines it is about with marks and labels under
// them, fixes as small diffs, notes. Layout of one record: header, one snippet per file (the file
// of the main place first), fixes, notes, the pointer to `kiln explain`. Start at diag_render_text.
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/diag_line.h"

enum { DISTANT_LINES = 4, FIX_LINES_MAX = 16, FIXES_MAX = 3 };

typedef enum style { PLAIN, BOLD, RED, YELLOW, CYAN, GREEN, BLUE } style;
static const char *const escapes[] = {"\033[0m",    "\033[1m",    "\033[1;31m", "\033[1;33m",
                                      "\033[1;36m", "\033[1;32m", "\033[1;34m"};

typedef struct mark { // one span, or the first or last line of a long one
    uint32_t line;
    uint32_t lo_byte, hi_byte; // in the line; hi exclusive, UINT32_MAX: to its end
    uint32_t lo, hi;           // columns
    bool is_primary;
    const char *label; // NULL: none
    const source_file *file;
    const char *path; // as shown: #line may name another
} mark;

typedef struct page {
    diags *ds;
    const diag *d;
    text *out;
    bool colour;
    unsigned digits; // of the widest line number
    style main_style;
    vec(mark) marks;
} page;

static void put(page *p, style s, const char *what)
{
    if (p->colour && s != PLAIN)
        text_printf(p->out, "%s%s%s", escapes[s], what, escapes[PLAIN]);
    else
        text_puts(p->out, what);
}

static void drop_trailing_blanks(text *out)
{
    while (out->len && out->at[out->len - 1] == ' ')
        out->at[--out->len] = 0;
}

static void end_row(page *p)
{
    drop_trailing_blanks(p->out);
    text_putc(p->out, '\n');
}

// "   |", or "18 |" with a number, or "18 -" in a fix.
static void gutter(page *p, uint32_t line, char bar)
{
    char start[32];
    if (line)
        snprintf(start, sizeof start, "%*u %c", (int)p->digits, line, bar);
    else
        snprintf(start, sizeof start, "%*s %c", (int)p->digits, "", bar);
    put(p, bar == '-' ? RED : bar == '+' ? GREEN : BLUE, start);
}

static void empty_row(page *p)
{
    gutter(p, 0, '|');
    end_row(p);
}

// --- from spans to marks

// Where a position is shown. The end of a file that ends in a newline is the end of its last line.
static source_place shown_place(page *p, uint32_t position)
{
    source_place at = source_find(p->ds->sources, position);
    if (at.file && at.line > 1 && position == at.file->base + at.file->text.len && at.column == 1) {
        at.line--;
        at.column = (uint32_t)source_line(p->ds->sources, at.file, at.line).len + 1;
    }
    return at;
}

static uint32_t indentation(page *p, const source_file *file, uint32_t line)
{
    str s = source_line(p->ds->sources, file, line);
    uint32_t i = 0;
    while (i < s.len && (s.at[i] == ' ' || s.at[i] == '\t'))
        i++;
    return i;
}

static void add_mark(page *p, span at, const char *label, bool is_primary)
{
    if (!at.lo || !source_file_at(p->ds->sources, at.lo))
        return;
    const source_file *file = source_file_at(p->ds->sources, at.lo);
    uint32_t end = file->base + (uint32_t)file->text.len;
    if (at.hi < at.lo)
        at.hi = at.lo;
    if (at.hi > end)
        at.hi = end;
    source_place first = shown_place(p, at.lo), last = first;
    if (at.hi > at.lo) {
        last = shown_place(p, at.hi - 1);
        last.column++;
    }
    arena *a = p->ds->in;
    mark m = {.line = first.line,
              .lo_byte = first.column - 1,
              .is_primary = is_primary,
              .label = label,
              .file = first.file,
              .path = source_shown_path(first.file, first.line)};
    if (last.line == first.line) {
        m.hi_byte = last.column - 1;
        vec_push(a, &p->marks, m);
        return;
    }
    m.hi_byte = UINT32_MAX;
    vec_push(a, &p->marks, m);
    m.line = last.line;
    m.lo_byte = indentation(p, last.file, last.line);
    m.hi_byte = last.column - 1;
    m.label = label ? "… to here" : NULL;
    vec_push(a, &p->marks, m);
}

static bool same_span(span a, span b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

// A macro's text needs no mark of its own where something in it is marked.
static bool is_marked_inside(const diag *d, span whole)
{
    for (uint32_t i = 0; i < d->labels.len; i++)
        if (d->labels.at[i].at.lo >= whole.lo && d->labels.at[i].at.hi <= whole.hi)
            return true;
    return false;
}

static void collect_marks(page *p)
{
    const diag *d = p->d;
    const char *primary = NULL;
    for (uint32_t i = 0; i < d->labels.len && !primary; i++)
        if (same_span(d->labels.at[i].at, d->at))
            primary = d->labels.at[i].text;
    for (uint32_t i = 0; i < d->uses.len && !primary; i++)
        if (same_span(d->uses.at[i].at, d->at))
            primary = d->uses.at[i].text;
    add_mark(p, d->at, primary, true);
    for (uint32_t i = 0; i < d->labels.len; i++)
        if (d->labels.at[i].text != primary)
            add_mark(p, d->labels.at[i].at, d->labels.at[i].text, false);
    for (uint32_t i = 0; i < d->uses.len; i++)
        if (!same_span(d->uses.at[i].at, d->at) && !is_marked_inside(d, d->uses.at[i].at))
            add_mark(p, d->uses.at[i].at, d->uses.at[i].text, false);
}

// --- one line with its marks

static int by_column(const void *left, const void *right)
{
    const mark *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return (int)a->is_primary - (int)b->is_primary;
}

static style mark_style(const page *p, const mark *m)
{
    return m->is_primary ? p->main_style : BLUE;
}

// The row of ^^^^ and ----, and the label of the last mark.
static void marks_row(page *p, const mark *marks, uint32_t count, bool has_label)
{
    uint32_t width = 0;
    for (uint32_t i = 0; i < count; i++)
        width = marks[i].hi > width ? marks[i].hi : width;
    char *cells = arena_alloc(p->ds->in, width + 1);
    memset(cells, ' ', width);
    for (int primary = 0; primary < 2; primary++)
        for (uint32_t i = 0; i < count; i++)
            if (marks[i].is_primary == primary)
                memset(cells + marks[i].lo, primary ? '^' : '-', marks[i].hi - marks[i].lo);
    gutter(p, 0, '|');
    text_putc(p->out, ' ');
    for (uint32_t i = 0; i < width;) {
        uint32_t end = i;
        while (end < width && cells[end] == cells[i])
            end++;
        char *run = str_dup(p->ds->in, (str){cells + i, end - i});
        put(p, cells[i] == '^' ? p->main_style : cells[i] == '-' ? BLUE : PLAIN, run);
        i = end;
    }
    if (has_label) {
        text_putc(p->out, ' ');
        put(p, mark_style(p, &marks[count - 1]), marks[count - 1].label);
    }
    end_row(p);
}

// A row with a bar under each labelled mark before `upto`; gives the column it ends in.
static uint32_t bars(page *p, const mark *marks, uint32_t upto)
{
    uint32_t column = 0;
    gutter(p, 0, '|');
    text_putc(p->out, ' ');
    for (uint32_t i = 0; i < upto; i++) {
        if (!marks[i].label || marks[i].lo < column)
            continue;
        for (; column < marks[i].lo; column++)
            text_putc(p->out, ' ');
        put(p, mark_style(p, &marks[i]), "|");
        column++;
    }
    return column;
}

// Marks of one line, sorted by column: the rightmost label beside its marks, the others below.
static void show_marks(page *p, const mark *marks, uint32_t count)
{
    uint32_t last = count - 1, below = 0;
    bool is_rightmost = marks[last].label != NULL;
    for (uint32_t i = 0; i < last; i++)
        is_rightmost = is_rightmost && marks[i].hi <= marks[last].hi;
    for (uint32_t i = 0; i < count; i++)
        below += marks[i].label && !(is_rightmost && i == last);
    marks_row(p, marks, count, is_rightmost);
    if (!below)
        return;
    uint32_t end = is_rightmost ? last : count;
    bars(p, marks, end);
    end_row(p);
    for (uint32_t i = end; i-- > 0;) {
        if (!marks[i].label)
            continue;
        uint32_t before = i;
        while (before && marks[before - 1].lo == marks[i].lo)
            before--;
        for (uint32_t column = bars(p, marks, before); column < marks[i].lo; column++)
            text_putc(p->out, ' ');
        put(p, mark_style(p, &marks[i]), marks[i].label);
        end_row(p);
    }
}

static void show_line(page *p, const source_file *file, uint32_t line)
{
    arena *a = p->ds->in;
    vec(mark) here = {0};
    uint32_t focus = UINT32_MAX;
    for (uint32_t i = 0; i < p->marks.len; i++) {
        const mark *m = &p->marks.at[i];
        if (m->file != file || m->line != line)
            continue;
        vec_push(a, &here, *m);
        if (m->is_primary || focus == UINT32_MAX)
            focus = m->lo_byte;
    }
    diag_line view = diag_line_make(a, source_line(p->ds->sources, file, line), focus);
    gutter(p, source_shown_line(file, line), '|');
    text_printf(p->out, " %s", view.shown);
    end_row(p);
    for (uint32_t i = 0; i < here.len; i++) {
        mark *m = &here.at[i];
        m->lo = diag_line_column(&view, m->lo_byte);
        m->hi = m->hi_byte == UINT32_MAX ? view.width : diag_line_column(&view, m->hi_byte);
        if (m->hi <= m->lo)
            m->hi = m->lo + 1;
    }
    qsort(here.at, here.len, sizeof(mark), by_column);
    show_marks(p, here.at, here.len);
}

// --- snippets

// Marks that share a snippet.
static bool is_together(const mark *a, const mark *b)
{
    return a->file == b->file && !strcmp(a->path, b->path);
}

// The next marked line of the snippet after `line`; 0: none.
static uint32_t next_line(const page *p, const mark *of, uint32_t line)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < p->marks.len; i++) {
        const mark *m = &p->marks.at[i];
        if (is_together(m, of) && m->line > line && (!best || m->line < best))
            best = m->line;
    }
    return best;
}

static void show_snippet(page *p, const mark *of, const char *arrow, uint32_t position)
{
    source_place at = source_find(p->ds->sources, position);
    char start[40];
    snprintf(start, sizeof start, "%*s%s ", (int)p->digits, "", arrow);
    put(p, BLUE, start);
    text_printf(p->out, "%s:%u:%u\n", of->path, source_shown_line(of->file, at.line), at.column);
    empty_row(p);
    for (uint32_t line = next_line(p, of, 0), before = 0; line;
         before = line, line = next_line(p, of, line)) {
        if (before && line - before > DISTANT_LINES)
            text_puts(p->out, "...\n");
        show_line(p, of->file, line);
    }
    empty_row(p);
}

static void show_snippets(page *p)
{
    for (uint32_t i = 0; i < p->marks.len; i++) {
        const mark *m = &p->marks.at[i];
        bool is_done = false;
        for (uint32_t j = 0; j < i; j++)
            is_done |= is_together(&p->marks.at[j], m);
        if (is_done)
            continue;
        uint32_t position = p->d->at.lo;
        if (i) {
            source_line(p->ds->sources, m->file, 1);
            position = m->file->base + m->file->lines[m->line - 1] + m->lo_byte;
        }
        show_snippet(p, m, i ? ":::" : "-->", position);
    }
}

// --- fixes

typedef struct hunk {
    uint32_t first, last; // lines
    uint32_t from, to;    // edits
} hunk;

static int by_start(const void *left, const void *right)
{
    const diag_part *a = left, *b = right;
    if (a->at.lo != b->at.lo)
        return a->at.lo < b->at.lo ? -1 : 1;
    return a->at.hi < b->at.hi ? -1 : a->at.hi > b->at.hi;
}

// `differs`: where the first line begins to differ from that of the other side. A long line is
// shown from its start unless that would hide the difference.
static uint32_t show_diff_lines(page *p, str lines, uint32_t differs, uint32_t number, char bar)
{
    uint32_t count = 0;
    for (size_t at = 0; at <= lines.len && lines.at; count++) {
        const char *newline = memchr(lines.at + at, '\n', lines.len - at);
        size_t end = newline ? (size_t)(newline - lines.at) : lines.len;
        if (count < FIX_LINES_MAX) {
            str line = {lines.at + at, end - at};
            if (line.len && line.at[line.len - 1] == '\r')
                line.len--;
            gutter(p, number + count, bar);
            diag_line shown = diag_line_make(p->ds->in, line, 0);
            if (!count && shown.to < line.len && differs + 20 > shown.to)
                shown = diag_line_make(p->ds->in, line, differs);
            text_printf(p->out, " %s", shown.shown);
            end_row(p);
        } else if (count == FIX_LINES_MAX) {
            text_puts(p->out, "...\n");
        }
        at = end + 1;
    }
    return count;
}

// Drops whole lines that both texts start or end with; gives how many were dropped at the start.
static uint32_t trim_common(str *before, str *after)
{
    uint32_t dropped = 0;
    for (;;) {
        const char *a = memchr(before->at, '\n', before->len),
                   *b = memchr(after->at, '\n', after->len);
        size_t len = a ? (size_t)(a - before->at) + 1 : 0;
        if (!a || !b || (size_t)(b - after->at) + 1 != len || memcmp(before->at, after->at, len))
            break;
        *before = (str){before->at + len, before->len - len};
        *after = (str){after->at + len, after->len - len};
        dropped++;
    }
    return dropped;
}

static void show_hunk(page *p, const source_file *file, const diag_part *edits, const hunk *h,
                      int64_t *shift)
{
    source_map *sources = p->ds->sources;
    str first = source_line(sources, file, h->first), last = source_line(sources, file, h->last);
    str before = {first.at, (size_t)(last.at + last.len - first.at)};
    text out = {.in = p->ds->in};
    text_puts(&out, "");
    const char *done = before.at, *end = before.at + before.len;
    for (uint32_t i = h->from; i < h->to; i++) {
        const char *lo = file->text.at + (edits[i].at.lo - file->base);
        const char *hi = file->text.at + (edits[i].at.hi - file->base);
        if (lo < done || lo > end)
            continue;
        text_add(&out, done, (size_t)(lo - done));
        text_puts(&out, edits[i].text);
        done = hi;
    }
    if (done < end)
        text_add(&out, done, (size_t)(end - done));
    str after = {out.at, out.len};
    // A fix that only removes text may leave a line empty or remove it with its newline.
    bool is_gone = !after.len && done > end;
    uint32_t line = h->first + trim_common(&before, &after);
    uint32_t shown = source_shown_line(file, line), differs = 0;
    while (differs < before.len && differs < after.len && before.at[differs] == after.at[differs])
        differs++;
    uint32_t removed = show_diff_lines(p, before, differs, shown, '-');
    uint32_t added =
        is_gone ? 0 : show_diff_lines(p, after, differs, (uint32_t)((int64_t)shown + *shift), '+');
    *shift += (int64_t)added - (int64_t)removed;
}

static void show_fix(page *p, const diag_fixit *fix)
{
    source_map *sources = p->ds->sources;
    uint32_t count = fix->edits.len;
    diag_part *edits = arena_copy(p->ds->in, fix->edits.at, count * sizeof(diag_part));
    qsort(edits, count, sizeof(diag_part), by_start);
    const source_file *file = source_file_at(sources, edits[0].at.lo);
    put(p, GREEN, "fix");
    text_printf(p->out, ": %s\n", fix->title);
    if (file != source_file_at(sources, p->d->at.lo)) {
        uint32_t line = source_find(sources, edits[0].at.lo).line;
        text_printf(p->out, "%*s--> %s\n", (int)p->digits, "", source_shown_path(file, line));
    }
    empty_row(p);
    int64_t shift = 0;
    for (uint32_t i = 0; i < count;) {
        hunk h = {.from = i};
        h.first = source_find(sources, edits[i].at.lo).line;
        h.last = h.first;
        for (; i < count && source_file_at(sources, edits[i].at.lo) == file; i++) {
            uint32_t first = source_find(sources, edits[i].at.lo).line;
            uint32_t last =
                source_find(sources,
                            edits[i].at.hi > edits[i].at.lo ? edits[i].at.hi - 1 : edits[i].at.hi)
                    .line;
            if (first > h.last)
                break;
            h.last = last > h.last ? last : h.last;
        }
        h.to = i;
        if (h.from == h.to)
            break; // an edit in another file
        show_hunk(p, file, edits, &h, &shift);
    }
    empty_row(p);
}

// --- one record

static uint32_t shown_line(const mark *m)
{
    return source_shown_line(m->file, m->line);
}

static unsigned digits_of(const page *p)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < p->marks.len; i++)
        most = shown_line(&p->marks.at[i]) > most ? shown_line(&p->marks.at[i]) : most;
    for (uint32_t i = 0; i < p->d->fixes.len; i++)
        for (uint32_t j = 0; j < p->d->fixes.at[i].edits.len; j++) {
            source_place at = source_find(p->ds->sources, p->d->fixes.at[i].edits.at[j].at.hi);
            uint32_t line = at.file ? source_shown_line(at.file, at.line) : 0;
            most = line + 1 > most ? line + 1 : most;
        }
    unsigned digits = 2;
    for (uint32_t n = 100; n && most >= n; n *= 10)
        digits++;
    return digits;
}

static void show_note(page *p, const char *kind, const char *note)
{
    text_printf(p->out, "%*s ", (int)p->digits, "");
    put(p, BLUE, "=");
    text_printf(p->out, " %s: ", kind);
    for (; *note; note++) {
        text_putc(p->out, *note);
        if (*note == '\n')
            text_printf(p->out, "%*s", (int)(p->digits + 5 + strlen(kind)), "");
    }
    text_putc(p->out, '\n');
}

static void show_record(diags *ds, const diag *d, text *out, bool colour)
{
    static const char *const names[] = {
        [DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_REMARK] = "remark"};
    static const style styles[] = {
        [DIAG_ERROR] = RED, [DIAG_WARNING] = YELLOW, [DIAG_REMARK] = CYAN};
    page p = {.ds = ds, .d = d, .out = out, .colour = colour, .main_style = styles[d->level]};
    char head[40];
    snprintf(head, sizeof head, "%s[%s]", names[d->level], diag_code_name(d->code));
    put(&p, p.main_style, head);
    put(&p, BOLD, ": ");
    put(&p, BOLD, d->message);
    end_row(&p);
    collect_marks(&p);
    p.digits = digits_of(&p);
    show_snippets(&p);
    for (uint32_t i = 0; i < d->fixes.len && i < FIXES_MAX; i++)
        show_fix(&p, &d->fixes.at[i]);
    for (uint32_t i = 0; i < d->notes.len; i++)
        show_note(&p, "note", d->notes.at[i]);
    show_note(&p, "more", str_format(ds->in, "kiln explain %s", diag_code_name(d->code)));
}

void diag_render_text(diags *ds, text *out, bool colour)
{
    uint32_t errors = 0, warnings = 0;
    for (uint32_t i = 0; i < ds->list.len; i++) {
        errors += ds->list.at[i]->level == DIAG_ERROR;
        warnings += ds->list.at[i]->level == DIAG_WARNING;
        if (i)
            text_putc(out, '\n');
        show_record(ds, ds->list.at[i], out, colour);
    }
    if (ds->error_count > errors)
        text_printf(out, "\n%u more error%s not shown\n", ds->error_count - errors,
                    ds->error_count - errors == 1 ? "" : "s");
    if (ds->warning_count > warnings)
        text_printf(out, "\n%u more warning%s not shown\n", ds->warning_count - warnings,
                    ds->warning_count - warnings == 1 ? "" : "s");
}
