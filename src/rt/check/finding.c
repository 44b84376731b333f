// Findings: equal ones (same code, same lines) are counted, the first is reported. Each becomes a
// diagnostic with the source under it.
#include <stdio.h>

#include "rt/check/check.h"

enum { FINDINGS_MAX = 200 };

static const place *place_of(const check *k, uint32_t index)
{
    return index ? &k->program->places[k->program->info[index - 1].place] : NULL;
}

static bool is_same_line(const place *a, const place *b)
{
    if (!a || !b)
        return a == b;
    return a->line == b->line && a->use_line == b->use_line && !strcmp(a->file, b->file);
}

static span span_of(const check *k, uint32_t index)
{
    return index ? k->program->spans[index - 1] : (span){0};
}

bool finding_is_one_place(const check *k, const finding *f)
{
    span here = span_of(k, f->at_code), there = span_of(k, f->other_code);
    return here.lo && here.lo == there.lo && here.hi == there.hi;
}

static void coordinates(uint64_t rank, const uint32_t dim[3], uint32_t out[3])
{
    out[0] = (uint32_t)(rank % dim[0]);
    out[1] = (uint32_t)(rank / dim[0] % dim[1]);
    out[2] = (uint32_t)(rank / dim[0] / dim[1]);
}

const char *finding_thread(check *k, const runner *r, spot at)
{
    uint32_t t[3], b[3];
    coordinates(at.thread, r->launch->block, t);
    coordinates(at.block, r->launch->grid, b);
    // Formatted again and again for findings that are known: not in the arena.
    static _Thread_local char texts[2][96];
    static _Thread_local unsigned next;
    char *out = texts[next++ & 1];
    (void)k;
    snprintf(out, sizeof texts[0], "thread (%u, %u, %u) of block (%u, %u, %u)", t[0], t[1], t[2],
             b[0], b[1], b[2]);
    return out;
}

static void fill_place(const check *k, uint32_t index, const char **file, int *line, int *column,
                       int *use_line)
{
    const place *p = place_of(k, index);
    *use_line = p ? (int)p->use_line : 0;
    *file = p ? p->file : "";
    *line = p ? (int)p->line : 0;
    *column = p ? (int)p->column : 0;
}

// Says through which calls the thread came, when it is still there.
static void add_calls(const check *k, const runner *r, diag *d, spot at)
{
    enum { SHOWN = 4 };
    const warp *w = NULL;
    for (uint32_t n = 0; n < r->kept_warps && !w; n++)
        if (r->warps[n].index == at.thread / LANES)
            w = &r->warps[n];
    if (!w || !at.code || !call_is_inside(r, w, at.code - 1))
        return;
    call_site calls[SHOWN];
    uint32_t more, count = call_trace(w, calls, SHOWN, &more);
    for (uint32_t n = 0; n < count; n++) {
        span call = span_of(k, (uint32_t)(calls[n].at - r->program->code) + 1);
        const char *name = r->program->functions[calls[n].at->a].name;
        if (call.lo && calls[n].times > 1)
            diag_label(d, call, "'%s' is called here, %u times", name, calls[n].times);
        else if (call.lo)
            diag_label(d, call, "'%s' is called here", name);
    }
    if (more)
        diag_note(d, "%u more calls wait outside of these", more);
}

finding *finding_new(check *k, const runner *r, diag_code kind, spot at, const spot *other,
                     const char *format, ...)
{
    const char *name = diag_code_name(kind);
    const place *here = place_of(k, at.code), *there = other ? place_of(k, other->code) : NULL;
    k->total++;
    k->is_stopped |= !k->all;
    for (finding *f = k->first; f; f = f->next)
        if (f->shown.code == name && is_same_line(place_of(k, f->at_code), here) &&
            is_same_line(place_of(k, f->other_code), there)) {
            f->shown.count++;
            return NULL;
        }
    if (k->finding_count >= FINDINGS_MAX)
        return NULL;
    finding *f = arena_new_of(k->a, finding);
    *(k->last ? &k->last->next : &k->first) = f;
    k->last = f;
    k->finding_count++;
    va_list args;
    va_start(args, format);
    const char *message = str_vformat(k->a, format, args);
    va_end(args);
    f->at_code = at.code;
    f->other_code = other ? other->code : 0;
    f->ds = diags_in(k->a, k->sources);
    f->d = diag_raise(f->ds, kind, span_of(k, at.code), "%s", message);
    add_calls(k, r, f->d, at);
    f->shown =
        (kiln_finding){.code = name, .message = message, .array = "", .other_file = "", .count = 1};
    fill_place(k, at.code, &f->shown.file, &f->shown.line, &f->shown.column, &f->shown.use_line);
    coordinates(at.thread, r->launch->block, f->shown.thread);
    coordinates(at.block, r->launch->grid, f->shown.block);
    if (other) {
        fill_place(k, other->code, &f->shown.other_file, &f->shown.other_line,
                   &f->shown.other_column, &f->shown.other_use_line);
        coordinates(other->thread, r->launch->block, f->shown.other_thread);
        coordinates(other->block, r->launch->grid, f->shown.other_block);
    }
    return f;
}

void finding_array(finding *f, const char *name, int64_t index)
{
    if (!f)
        return;
    f->shown.array = name; // lives as long as the program
    f->shown.index = index;
}

void finding_label(check *k, finding *f, bool is_other, const char *format, ...)
{
    if (!f)
        return;
    va_list args;
    va_start(args, format);
    const char *what = str_vformat(k->a, format, args);
    va_end(args);
    span at = span_of(k, is_other ? f->other_code : f->at_code);
    if (at.lo)
        diag_label(f->d, at, "%s", what);
    else // IR without places
        diag_note(f->d, "%s", what);
}

bool finding_goes_on(check *k)
{
    return !k->is_stopped;
}

void finding_finish(check *k, const kiln_check_desc *desc)
{
    for (finding *f = k->first; f; f = f->next) {
        if (f->shown.count > 1)
            diag_note(f->d, "%llu times in all; this is the first",
                      (unsigned long long)f->shown.count);
        text out = {.in = k->a};
        diag_render_text(f->ds, &out, desc->colour);
        f->shown.text = out.at ? out.at : "";
        if (desc->finding)
            desc->finding(desc->user, &f->shown);
    }
}
