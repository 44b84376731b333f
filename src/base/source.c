// Source texts side by side in one 32-bit position space; lines are found on demand.
#include "base/source.h"

#include "base/vec.h"

struct source_map {
    arena *in;
    vec(source_file *) files; // by rising base
    vec(const char *) absent;
    uint32_t end;
};

source_map *sources_in(arena *a)
{
    source_map *m = arena_new_of(a, source_map);
    m->in = a;
    m->end = 1; // 0 is "nowhere"
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

const source_file *source_file_at(const source_map *m, uint32_t position)
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
    source_file *f = (source_file *)(uintptr_t)source_file_at(m, position);
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
    const source_file *f = source_file_at(m, s.lo);
    if (!f || s.hi < s.lo || s.hi > f->base + f->text.len)
        return (str){"", 0};
    return (str){f->text.at + (s.lo - f->base), s.hi - s.lo};
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
