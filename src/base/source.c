// Source texts side by side in one 32-bit position space, expansions of macros above them; lines
// are found on demand. Invariant: an expansion's number is greater than that of every expansion its
// use stands in, so that two positions meet by climbing from the one with the greater number.
#include "base/source.h"

#include "base/map.h"
#include "base/vec.h"

typedef struct expansion {
    uint32_t base;       // stands for from.lo
    span from;           // the text: a macro's replacement, or tokens of an argument
    span use;            // what the text replaces
    source_macro *macro; // NULL: an argument
    bool is_first, is_last;
} expansion;

struct source_map {
    arena *in;
    vec(source_file *) files; // by rising base
    vec(const char *) absent;
    uint32_t end;
    vec(expansion) expansions; // by rising base; [0] is no expansion
    uint32_t expansion_end;
};

source_map *sources_in(arena *a)
{
    source_map *m = arena_new_of(a, source_map);
    m->in = a;
    m->end = 1; // 0 is "nowhere"
    m->expansion_end = SOURCE_MACRO;
    vec_push(a, &m->expansions, (expansion){0});
    return m;
}

source_file *source_add(source_map *m, const char *path, str contents)
{
    if (contents.len > (1u << 30) || m->end + contents.len + 1 > (1u << 30))
        return NULL;
    source_file *f = arena_new_of(m->in, source_file);
    f->path = str_dup(m->in, str_of(path));
    char *copy = arena_alloc(m->in, contents.len + 1);
    if (contents.len)
        memcpy(copy, contents.at, contents.len);
    f->text = (str){copy, contents.len};
    f->base = m->end;
    m->end += (uint32_t)contents.len + 1; // one past the end is a position, too
    vec_push(m->in, &m->files, f);
    return f;
}

// --- expansions

static uint32_t add_expansion(source_map *m, expansion e)
{
    uint32_t len = e.from.hi - e.from.lo;
    if (!e.use.lo || e.from.hi < e.from.lo || m->expansion_end > UINT32_MAX - len - 2)
        return 0;
    e.base = m->expansion_end;
    m->expansion_end += len + 1; // one past the end is a position, too
    vec_push(m->in, &m->expansions, e);
    return e.base;
}

uint32_t source_expand(source_map *m, source_macro *macro, span use)
{
    macro->uses++;
    return add_expansion(
        m, (expansion){
               .from = macro->body, .use = use, .macro = macro, .is_first = true, .is_last = true});
}

uint32_t source_pass(source_map *m, span from, span use, bool is_first, bool is_last)
{
    return add_expansion(
        m, (expansion){.from = from, .use = use, .is_first = is_first, .is_last = is_last});
}

static uint32_t expansion_at(const source_map *m, uint32_t position)
{
    if (position < SOURCE_MACRO)
        return 0;
    uint32_t lo = 1, hi = m->expansions.len;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (m->expansions.at[mid].base <= position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - 1;
}

const source_macro *source_macro_of(const source_map *m, uint32_t number)
{
    return m->expansions.at[number].macro;
}

// One end of a span: the piece it is part of in expansion `in` (0: in a file).
typedef struct end {
    span at;
    uint32_t in;
} end;

static end meet(const source_map *m, span s, bool *is_exact);

static bool starts(const expansion *e, span at)
{
    return e->is_first && at.lo == e->base;
}

static bool ends(const expansion *e, span at)
{
    return e->is_last && at.hi == e->base + (e->from.hi - e->from.lo);
}

// The same bytes in the text that the expansion took them from.
static uint32_t written(const expansion *e, uint32_t position)
{
    return position - e->base + e->from.lo;
}

// The smallest piece of one text, or of one macro's expansion, that has all of the span.
static end meet(const source_map *m, span s, bool *is_exact)
{
    const expansion *all = m->expansions.at;
    end a = {s, expansion_at(m, s.lo)}, b = {s, expansion_at(m, s.hi)};
    if (a.in != b.in || s.lo > s.hi) {
        a.at = (span){s.lo, s.lo + 1};
        b = (end){{s.hi - 1, s.hi}, expansion_at(m, s.hi - 1)};
    }
    for (;;) {
        const expansion *x = &all[a.in], *y = &all[b.in];
        bool is_one_argument = a.in && b.in && !x->macro && !y->macro && x->use.lo == y->use.lo &&
                               x->use.hi == y->use.hi;
        if (is_one_argument)
            return meet(m, (span){written(x, a.at.lo), written(y, b.at.hi)}, is_exact);
        if (a.in == b.in)
            break;
        if (a.in > b.in) {
            *is_exact &= starts(x, a.at);
            a = meet(m, x->use, is_exact);
        } else {
            *is_exact &= ends(y, b.at);
            b = meet(m, y->use, is_exact);
        }
    }
    // Else one end is an argument of the other's macro.
    *is_exact &= a.at.hi <= b.at.lo || (a.at.lo == b.at.lo && a.at.hi == b.at.hi);
    span both = {a.at.lo < b.at.lo ? a.at.lo : b.at.lo, a.at.hi > b.at.hi ? a.at.hi : b.at.hi};
    return (end){both, a.in};
}

static const source_file *plain_file_at(const source_map *m, uint32_t position);

static bool is_own_macro(const source_map *m, const source_macro *macro)
{
    const source_file *f = plain_file_at(m, macro->body.lo);
    return !f || f->is_builtin;
}

static source_spelling spell(const source_map *m, span s, bool climbs_whole)
{
    source_spelling out = {.at = s, .is_exact = true};
    if (!s.lo)
        return out;
    end e = meet(m, s, &out.is_exact);
    while (e.in) {
        const expansion *x = &m->expansions.at[e.in];
        bool is_whole = starts(x, e.at) && ends(x, e.at), is_own = is_own_macro(m, x->macro);
        if (!(is_whole && climbs_whole) && !is_own)
            break;
        out.is_exact &= is_whole;
        out.whole = is_own ? 0 : e.in;
        e = meet(m, x->use, &out.is_exact);
    }
    if (e.in) {
        const expansion *x = &m->expansions.at[e.in];
        e.at = (span){written(x, e.at.lo), written(x, e.at.hi)};
    }
    out.at = e.at;
    out.expansion = e.in;
    return out;
}

source_spelling source_spell(const source_map *m, span s)
{
    return spell(m, s, true);
}

source_spelling source_use_of(const source_map *m, uint32_t number)
{
    return spell(m, m->expansions.at[number].use, false);
}

bool source_is_own(const source_map *m, uint32_t position)
{
    const expansion *e = &m->expansions.at[expansion_at(m, position)];
    while (position >= SOURCE_MACRO && !e->macro) { // an argument: where it was written
        position = written(e, position);
        e = &m->expansions.at[expansion_at(m, position)];
    }
    return e->macro && is_own_macro(m, e->macro);
}

// A position in a file: an argument's own, else the outermost use.
static uint32_t plain(const source_map *m, uint32_t position)
{
    while (position >= SOURCE_MACRO) {
        const expansion *e = &m->expansions.at[expansion_at(m, position)];
        position = e->macro ? e->use.lo : written(e, position);
    }
    return position;
}

// --- files

static const source_file *plain_file_at(const source_map *m, uint32_t position)
{
    uint32_t lo = 0, hi = m->files.len;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (m->files.at[mid]->base <= position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return position && lo ? m->files.at[lo - 1] : NULL;
}

source_map *source_copy(arena *a, const source_map *from)
{
    source_map *to = sources_in(a);
    for (uint32_t k = 0; k < from->files.len; k++) {
        const source_file *f = from->files.at[k];
        source_file *copy = source_add(to, f->path, f->text);
        copy->is_builtin = f->is_builtin;
        copy->is_closed = f->is_closed;
        copy->is_embedded = f->is_embedded;
        for (uint32_t n = 0; n < f->line_mark_count; n++) {
            const source_line_mark *mark = &f->line_marks[n];
            source_mark_line(to, copy, mark->line, (int64_t)mark->line + mark->shift, mark->path);
        }
    }
    map macros = map_make(a);
    for (uint32_t k = 1; k < from->expansions.len; k++) {
        expansion e = from->expansions.at[k];
        uint64_t *known = e.macro ? map_at(&macros, map_key(e.macro)) : NULL;
        if (known && !*known) {
            source_macro *m = arena_copy(a, e.macro, sizeof *m);
            m->name = str_dup(a, str_of(m->name));
            *known = map_key(m);
        }
        if (known)
            e.macro = (source_macro *)(uintptr_t)*known;
        vec_push(a, &to->expansions, e);
    }
    to->expansion_end = from->expansion_end;
    return to;
}

const source_file *source_file_at(const source_map *m, uint32_t position)
{
    return plain_file_at(m, plain(m, position));
}

static void find_lines(source_map *m, source_file *f)
{
    if (f->lines)
        return;
    uint32_t count = 1;
    for (size_t i = 0; i < f->text.len; i++)
        count += f->text.at[i] == '\n';
    f->lines = arena_array(m->in, uint32_t, count);
    f->line_count = count;
    uint32_t line = 1;
    for (size_t i = 0; i < f->text.len; i++)
        if (f->text.at[i] == '\n')
            f->lines[line++] = (uint32_t)i + 1;
}

source_place source_find(source_map *m, uint32_t position)
{
    position = plain(m, position);
    source_file *f = (source_file *)(uintptr_t)plain_file_at(m, position);
    if (!f)
        return (source_place){0};
    find_lines(m, f);
    uint32_t offset = position - f->base, lo = 0, hi = f->line_count;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->lines[mid] <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (source_place){f, lo, offset - f->lines[lo - 1] + 1};
}

str source_line(source_map *m, const source_file *file, uint32_t line)
{
    source_file *f = (source_file *)(uintptr_t)file;
    find_lines(m, f);
    if (!line || line > f->line_count)
        return (str){"", 0};
    size_t from = f->lines[line - 1], to = line < f->line_count ? f->lines[line] - 1 : f->text.len;
    if (to > from && f->text.at[to - 1] == '\r')
        to--;
    return (str){f->text.at + from, to - from};
}

str source_text(const source_map *m, span s)
{
    s = source_spell(m, s).at;
    const source_file *f = plain_file_at(m, s.lo);
    if (!f || s.hi < s.lo || s.hi > f->base + f->text.len)
        return (str){"", 0};
    return (str){f->text.at + (s.lo - f->base), s.hi - s.lo};
}

void source_mark_line(source_map *m, const source_file *file, uint32_t line, int64_t number,
                      const char *path)
{
    source_file *f = (source_file *)(uintptr_t)file;
    if (f->line_mark_count && f->line_marks[f->line_mark_count - 1].line >= line)
        return; // the file is read a second time
    const char *before = f->line_mark_count ? f->line_marks[f->line_mark_count - 1].path : NULL;
    size_t old = f->line_mark_count * sizeof *f->line_marks;
    f->line_marks = arena_grow(m->in, f->line_marks, old, old + sizeof *f->line_marks);
    f->line_marks[f->line_mark_count++] = (source_line_mark){
        line, number - (int64_t)line, path ? str_dup(m->in, str_of(path)) : before};
}

static const source_line_mark *line_mark(const source_file *f, uint32_t line)
{
    uint32_t lo = 0, hi = f->line_mark_count;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->line_marks[mid].line <= line)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? &f->line_marks[lo - 1] : NULL;
}

const char *source_shown_path(const source_file *f, uint32_t line)
{
    const source_line_mark *mark = line_mark(f, line);
    return mark && mark->path ? mark->path : f->path;
}

uint32_t source_shown_line(const source_file *f, uint32_t line)
{
    const source_line_mark *mark = line_mark(f, line);
    return mark ? (uint32_t)((int64_t)line + mark->shift) : line;
}

static source_shown_place shown_at(source_map *m, uint32_t position)
{
    source_place p = source_find(m, position);
    if (!p.file)
        return (source_shown_place){.path = ""};
    return (source_shown_place){source_shown_path(p.file, p.line),
                                source_shown_line(p.file, p.line), p.column};
}

source_shown_place source_shown(source_map *m, span s, uint32_t *use_line)
{
    source_spelling spelled = source_spell(m, s);
    *use_line = spelled.expansion ? shown_at(m, s.lo).line : 0;
    return shown_at(m, spelled.at.lo);
}

uint32_t source_count(const source_map *m)
{
    return m->files.len;
}

const source_file *source_at(const source_map *m, uint32_t index)
{
    return m->files.at[index];
}

void source_note_absent(source_map *m, const char *path)
{
    for (uint32_t k = 0; k < m->absent.len; k++)
        if (!strcmp(m->absent.at[k], path))
            return;
    const char *copy = str_dup(m->in, str_of(path));
    vec_push(m->in, &m->absent, copy);
}

uint32_t source_absent_count(const source_map *m)
{
    return m->absent.len;
}

const char *source_absent_at(const source_map *m, uint32_t index)
{
    return m->absent.at[index];
}
