// Shrinks a bad kernel by taking lines away while it stays bad in the same way. A line that ends in
// `{` stands for everything up to its `}`; lines that end in the same mark `//@NUMBER` go together
// (a statement and what an oracle of its own does for it), and `//@0` stays; a barrier only goes
// together with what is around it, because without it the host's answer would depend on luck. Start
// reading at shrink.
#include "fuzz/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TRIES = 400 };

typedef struct search {
    fuzz_setup setup; // the way that is bad, after the first way of all unless that is it
    fuzz_kind kind;
    time_t end;
    int tries;
} search;

typedef struct lines {
    char **at;
    int count;
} lines;

static lines split(const char *text)
{
    lines l = {calloc(strlen(text) + 1, sizeof(char *)), 0};
    while (l.at && *text) {
        size_t len = strcspn(text, "\n");
        l.at[l.count++] = strndup(text, len);
        text += len + (text[len] == '\n');
    }
    return l;
}

static char *join(const lines *l, const char *skip)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    for (int i = 0; i < l->count && to; i++)
        if (!skip[i])
            fprintf(to, "%s\n", l->at[i]);
    if (to)
        fclose(to);
    return out;
}

static bool ends_with(const char *text, char c)
{
    size_t len = strlen(text);
    return len && text[len - 1] == c;
}

// The line that closes what line `first` opens; `first` itself when it opens nothing.
static int unit_end(const lines *l, int first)
{
    int depth = 0;
    for (int i = first; i < l->count; i++) {
        for (const char *p = l->at[i]; *p; p++)
            depth += (*p == '{') - (*p == '}');
        if (depth <= 0 && !(i == first && i + 1 < l->count && strcmp(l->at[i + 1], "{") == 0))
            return i;
    }
    return l->count - 1;
}

// Text stays bad when the reference way is fine and the bad way is bad as before.
static bool still_bad(search *s, const lines *l, const char *skip)
{
    fuzz_verdict v = {0};
    char *text = join(l, skip);
    const char *one[] = {text};
    s->tries++;
    bool bad = text && fuzz_judge(&s->setup, "", one, 1, &v) && v.kind == s->kind &&
               v.way == s->setup.way_count - 1;
    free(text);
    return bad;
}

static bool is_over(const search *s)
{
    return s->tries >= MOST_TRIES || time(NULL) >= s->end;
}

// Takes away what has the same mark as line `at` of the lines that go.
static void take_marked(const lines *l, char *trial, int at)
{
    const char *mark = strstr(l->at[at], "//@");
    for (int i = 0; mark && i < l->count; i++) {
        const char *other = strstr(l->at[i], "//@");
        if (other && strcmp(other, mark) == 0)
            memset(trial + i, 1, (size_t)(unit_end(l, i) - i + 1));
    }
}

static bool try_without(search *s, const lines *l, char *skip, int first, int last, bool only_ends)
{
    char *trial = malloc((size_t)l->count + 1);
    if (!trial)
        return false;
    memcpy(trial, skip, (size_t)l->count);
    for (int i = first; i <= last; i++)
        if (!only_ends || i == first || i == last) {
            trial[i] = 1;
            take_marked(l, trial, i);
        }
    bool better = still_bad(s, l, trial);
    if (better)
        memcpy(skip, trial, (size_t)l->count);
    free(trial);
    return better;
}

static bool may_go(const char *line)
{
    static const char *const stay[] = {"#", "}", "{", "//", "barrier", "kernel"};
    const char *s = line + strspn(line, " ");
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        if (strncmp(s, stay[i], strlen(stay[i])) == 0)
            return false;
    const char *mark = strstr(s, "//@0");
    return *s && (!mark || mark[4]);
}

// Whole statements from line `first` on, about `size` lines of them; -1: they are not so.
static int run_of(const lines *l, int first, int size)
{
    int i = first, last = -1;
    while (i < l->count && i < first + size && may_go(l->at[i])) {
        last = unit_end(l, i);
        i = last + 1;
    }
    return last > first ? last : -1;
}

// Many lines at once, then fewer.
static void cut_runs(search *s, const lines *l, char *skip)
{
    for (int size = 32; size > 1 && !is_over(s); size /= 2)
        for (int i = l->count - size; i >= 0 && !is_over(s); i--) {
            int last = skip[i] || !may_go(l->at[i]) ? -1 : run_of(l, i, size);
            if (last > i && try_without(s, l, skip, i, last, false))
                i = i > size ? i - size + 1 : 0;
            else if (last > i)
                i -= size / 2 - 1;
        }
}

char *shrink(const fuzz_setup *setup, const char *text, const fuzz_verdict *verdict,
             unsigned seconds)
{
    search s = {.setup = *setup, .kind = verdict->kind, .end = time(NULL) + (time_t)seconds};
    s.setup.way_count = 0;
    s.setup.validate = setup->ways[verdict->way].optimise > 0;
    if (verdict->way > 0)
        s.setup.ways[s.setup.way_count++] = setup->ways[0];
    s.setup.ways[s.setup.way_count++] = setup->ways[verdict->way];
    for (int i = 0; i < s.setup.way_count; i++)
        s.setup.ways[i].share = 1;
    lines l = split(text);
    char *skip = calloc(1, (size_t)l.count + 1), *result = NULL;
    if (l.at && skip)
        cut_runs(&s, &l, skip);
    for (bool moved = true; l.at && skip && moved && !is_over(&s);) {
        moved = false;
        for (int i = l.count - 1; i >= 0 && !is_over(&s); i--) {
            if (skip[i] || !may_go(l.at[i]))
                continue;
            int last = unit_end(&l, i);
            if (try_without(&s, &l, skip, i, last, false))
                moved = true;
            else if (last > i && ends_with(l.at[i], '{') &&
                     try_without(&s, &l, skip, i, last, true))
                moved = true;
        }
    }
    if (l.at && skip)
        result = join(&l, skip);
    for (int i = 0; l.at && i < l.count; i++)
        free(l.at[i]);
    free(l.at);
    free(skip);
    return result;
}
