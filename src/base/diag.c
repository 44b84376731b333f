// Records of what the user is told. Raising one copies its texts into the collection's arena; what
// is past the limit, or says the same thing about the same place again, is counted or dropped, and
// the raiser gets a throw-away record so that it need not care. Start reading at diag_raise.
#include "base/diag.h"

#include <stdlib.h>

enum { WARNING_LIMIT = 100, USES_MAX = 4 };

typedef struct code_row {
    const char *name, *title;
    diag_level level;
} code_row;

static const code_row codes[DIAG_CODE_COUNT] = {
#define D(code, level, title) {#code, title, level},
    {"", "", DIAG_ERROR},
#include "base/diag.def"
#undef D
};

const char *diag_code_name(diag_code code)
{
    return codes[code].name;
}

const char *diag_code_title(diag_code code)
{
    return codes[code].title;
}

diag_level diag_code_level(diag_code code)
{
    return codes[code].level;
}

diag_code diag_code_find(const char *name)
{
    for (int i = 1; i < DIAG_CODE_COUNT; i++)
        if (!strcmp(codes[i].name, name))
            return (diag_code)i;
    return DIAG_NONE;
}

diags *diags_in(arena *a, source_map *sources)
{
    diags *ds = arena_new_of(a, diags);
    ds->in = a;
    ds->sources = sources;
    ds->error_limit = 20;
    return ds;
}

static bool is_known(const diags *ds, diag_code code, span at)
{
    for (uint32_t i = 0; i < ds->list.len; i++) {
        const diag *d = ds->list.at[i];
        if (d->code == code && d->raised.lo == at.lo && d->raised.hi == at.hi)
            return true;
    }
    return false;
}

// Counts the record, and says whether it is to be kept.
static bool count_in(diags *ds, diag_level level)
{
    switch (level) {
    case DIAG_ERROR: return ++ds->error_count <= ds->error_limit;
    case DIAG_WARNING: return ++ds->warning_count <= WARNING_LIMIT;
    case DIAG_REMARK: return true;
    }
    return true;
}

// --- places in macros

static void add_use(diag *d, span at, const char *what, const char *name)
{
    for (uint32_t i = 0; i < d->uses.len; i++)
        if (d->uses.at[i].at.lo == at.lo && d->uses.at[i].at.hi == at.hi)
            return;
    diag_part use = {at, str_format(d->owner->in, "%s macro '%s'", what, name)};
    vec_push(d->owner->in, &d->uses, use);
}

// Where a place stands in a file; the macros on the way to it become labels. Of a long chain the
// innermost and the outermost are shown.
static span place_in_file(diag *d, span at)
{
    const source_map *m = d->owner->sources;
    source_spelling s = source_spell(m, at);
    if (s.whole) {
        const source_macro *macro = source_macro_of(m, s.whole);
        add_use(d, macro->body, "the text of", macro->name);
    }
    uint32_t depth = 0;
    for (uint32_t in = s.expansion; in;) {
        const char *name = source_macro_of(m, in)->name;
        source_spelling use = source_use_of(m, in);
        if (++depth < USES_MAX || !use.expansion)
            add_use(d, use.at, "in this use of", name);
        in = use.expansion;
    }
    return s.at;
}

bool diag_fix_place(const diags *ds, span *at)
{
    source_spelling s = source_spell(ds->sources, *at);
    if (!s.is_exact || (s.expansion && source_macro_of(ds->sources, s.expansion)->uses > 1))
        return false;
    *at = s.at;
    return true;
}

void diag_move(diag *d, span at)
{
    d->raised = at;
    d->at = at.lo ? place_in_file(d, at) : at;
}

// --- raising

diag *diag_raise(diags *ds, diag_code code, span at, const char *format, ...)
{
    diag_level level = codes[code].level;
    if (level == DIAG_WARNING && ds->warnings_are_errors)
        level = DIAG_ERROR;
    if ((at.lo && is_known(ds, code, at)) || !count_in(ds, level)) {
        if (!ds->spare)
            ds->spare = arena_new_of(ds->in, diag);
        *ds->spare = (diag){
            .owner = ds, .code = code, .level = level, .at = at, .raised = at, .message = ""};
        return ds->spare;
    }
    diag *d = arena_new_of(ds->in, diag);
    *d = (diag){.owner = ds, .code = code, .level = level};
    diag_move(d, at);
    va_list args;
    va_start(args, format);
    d->message = str_vformat(ds->in, format, args);
    va_end(args);
    vec_push(ds->in, &ds->list, d);
    return d;
}

static bool is_recorded(const diag *d)
{
    return d != d->owner->spare;
}

void diag_label(diag *d, span at, const char *format, ...)
{
    if (!at.lo || !is_recorded(d))
        return;
    va_list args;
    va_start(args, format);
    diag_part label = {place_in_file(d, at), str_vformat(d->owner->in, format, args)};
    va_end(args);
    vec_push(d->owner->in, &d->labels, label);
}

void diag_note(diag *d, const char *format, ...)
{
    if (!is_recorded(d))
        return;
    va_list args;
    va_start(args, format);
    const char *note = str_vformat(d->owner->in, format, args);
    va_end(args);
    vec_push(d->owner->in, &d->notes, note);
}

void diag_fix(diag *d, span at, const char *title, const char *format, ...)
{
    if (!at.lo || !is_recorded(d))
        return;
    d->drops_fix = !diag_fix_place(d->owner, &at);
    if (d->drops_fix)
        return;
    va_list args;
    va_start(args, format);
    diag_part edit = {at, str_vformat(d->owner->in, format, args)};
    va_end(args);
    diag_fixit fix = {.title = str_dup(d->owner->in, str_of(title))};
    vec_push(d->owner->in, &fix.edits, edit);
    vec_push(d->owner->in, &d->fixes, fix);
}

void diag_fix_more(diag *d, span at, const char *format, ...)
{
    if (!at.lo || !is_recorded(d) || !d->fixes.len || d->drops_fix)
        return;
    d->drops_fix = !diag_fix_place(d->owner, &at);
    if (d->drops_fix) {
        d->fixes.len--;
        return;
    }
    va_list args;
    va_start(args, format);
    diag_part edit = {at, str_vformat(d->owner->in, format, args)};
    va_end(args);
    vec_push(d->owner->in, &vec_last(&d->fixes).edits, edit);
}

typedef struct numbered_edit {
    diag_part part;
    uint32_t order; // insertions at one place keep the order in which they were raised
} numbered_edit;

static int by_place(const void *left, const void *right)
{
    const numbered_edit *a = left, *b = right;
    if (a->part.at.lo != b->part.at.lo)
        return a->part.at.lo < b->part.at.lo ? -1 : 1;
    if (a->part.at.hi != b->part.at.hi)
        return a->part.at.hi < b->part.at.hi ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool is_inside(const source_file *file, span at)
{
    return at.lo >= file->base && at.hi >= at.lo && at.hi <= file->base + file->text.len;
}

str diag_apply_fixes(diags *ds, arena *a, const source_file *file, uint32_t *applied)
{
    vec(numbered_edit) edits = {0};
    uint32_t fix_count = 0;
    for (uint32_t i = 0; i < ds->list.len; i++) {
        diag *d = ds->list.at[i];
        if (!d->fixes.len)
            continue;
        bool touches = false;
        for (uint32_t j = 0; j < d->fixes.at[0].edits.len; j++) {
            diag_part part = d->fixes.at[0].edits.at[j];
            if (!is_inside(file, part.at))
                continue;
            vec_push(a, &edits, (numbered_edit){part, edits.len});
            touches = true;
        }
        fix_count += touches;
    }
    if (edits.len)
        qsort(edits.at, edits.len, sizeof edits.at[0], by_place);
    text out = {.in = a};
    uint32_t done = file->base;
    text_puts(&out, "");
    for (uint32_t i = 0; i < edits.len; i++) {
        diag_part part = edits.at[i].part;
        // Two fixes may want the same bytes: the first wins. Equal insertions are one.
        if (part.at.lo < done)
            continue;
        if (i && part.at.lo == part.at.hi && !strcmp(part.text, edits.at[i - 1].part.text) &&
            edits.at[i - 1].part.at.lo == part.at.lo && edits.at[i - 1].part.at.hi == part.at.hi)
            continue;
        text_add(&out, file->text.at + (done - file->base), part.at.lo - done);
        text_puts(&out, part.text);
        done = part.at.hi;
    }
    text_add(&out, file->text.at + (done - file->base), file->text.len - (done - file->base));
    if (applied)
        *applied = fix_count;
    return (str){out.at, out.len};
}
