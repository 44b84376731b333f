// Why was it compiled again? Beside the entries there is one note for each source file: what its
// last compile was made of, and in words how that differed from the compile before. Start at
// why_note (written after a compile) and cache_why (read by people).
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rt/cache/disk.h"

// How the parts are spoken of: `item` when a part is a list of NAME=VALUE lines.
static const struct part_words {
    const char *name, *shown, *item;
} words[] = {
    {"defines", "defines", "-D"},
    {"tune", "tunables", "--tune "},
    {"includes", "include folders", "-I"},
    {"target", "target", NULL},
    {"kiln", "compiler", NULL},
    {"driver", "driver", NULL},
    {"compiler", "C compiler", NULL},
    {"machine", "processor", NULL},
    {"options", "options", NULL},
};

typedef struct story { // a text that stops growing when it is full
    char at[4096];
    size_t len;
} story;

static void print_line(story *s, const char *format, ...) PRINTF_LIKE(2, 3);
static void print_line(story *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->at + s->len, sizeof s->at - s->len, format, args);
    va_end(args);
    if (n > 0)
        s->len = s->len + (size_t)n < sizeof s->at ? s->len + (size_t)n : sizeof s->at - 1;
}

static const char *print_next(const story *s, const char *before)
{
    return s->len > strlen(before) ? "; " : "";
}

// The line of `list` that starts with the name of `item` (up to '='); its length is 0 when there is
// none.
static blob same_name(blob list, blob item)
{
    const uint8_t *equals = memchr(item.at, '=', item.len);
    size_t name = equals ? (size_t)(equals - item.at) : item.len;
    for (size_t at = 0; at < list.len;) {
        const uint8_t *end = memchr(list.at + at, '\n', list.len - at);
        size_t len = end ? (size_t)(end - (list.at + at)) : list.len - at;
        if (len >= name && !memcmp(list.at + at, item.at, name) &&
            (len == name || list.at[at + name] == '='))
            return (blob){list.at + at, len};
        at += len + 1;
    }
    return (blob){item.at, 0};
}

static blob after_equals(blob item)
{
    const uint8_t *equals = memchr(item.at, '=', item.len);
    return equals ? (blob){equals + 1, item.len - (size_t)(equals + 1 - item.at)}
                  : (blob){(const uint8_t *)"(no value)", 10};
}

static int width(blob b)
{
    return b.len < 200 ? (int)b.len : 200;
}

// Every line of `from` beside the line of the same name in `to`. Changed ones are printed once:
// when `tells_changes`.
static void print_items(story *s, const char *prefix, blob from, blob to, const char *alone,
                        bool tells_changes)
{
    for (size_t at = 0; at < from.len;) {
        const uint8_t *end = memchr(from.at + at, '\n', from.len - at);
        blob item = {from.at + at, end ? (size_t)(end - (from.at + at)) : from.len - at};
        at += item.len + 1;
        if (!item.len)
            continue;
        blob other = same_name(to, item);
        if (!other.len) {
            print_line(s, "%s%s%.*s %s", print_next(s, ""), prefix, width(item),
                       (const char *)item.at, alone);
        } else if (tells_changes &&
                   (other.len != item.len || memcmp(other.at, item.at, item.len))) {
            const uint8_t *equals = memchr(item.at, '=', item.len);
            blob name = {item.at, equals ? (size_t)(equals - item.at) : item.len};
            blob was = after_equals(item), is = after_equals(other);
            print_line(s, "%s%s%.*s changed %.*s -> %.*s", print_next(s, ""), prefix, width(name),
                       (const char *)name.at, width(was), (const char *)was.at, width(is),
                       (const char *)is.at);
        }
    }
}

static bool is_same(blob a, blob b)
{
    return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

static void print_part(story *changed, story *same, const record *old, const record *now, size_t k)
{
    const char *name = (const char *)now->part_names[k].at;
    const struct part_words *word = NULL;
    for (size_t w = 0; w < COUNT(words); w++)
        if (!strcmp(words[w].name, name))
            word = &words[w];
    blob was = {(const uint8_t *)"", 0}, is = now->part_values[k];
    for (size_t p = 0; p < old->part_count; p++)
        if (is_same(old->part_names[p], now->part_names[k]))
            was = old->part_values[p];
    const char *shown = word ? word->shown : name;
    if (is_same(was, is)) {
        print_line(same, "; %s same", shown);
    } else if (word && word->item) {
        print_items(changed, word->item, was, is, "is gone", true);
        print_items(changed, word->item, is, was, "is new", false);
    } else {
        print_line(changed, "%s%s changed %.*s -> %.*s", print_next(changed, ""), shown, width(was),
                   (const char *)was.at, width(is), (const char *)is.at);
    }
}

static void print_inputs(story *changed, const record *old, const record *now)
{
    for (size_t k = 0; k < now->input_count; k++)
        for (size_t p = 0; p < old->input_count; p++) {
            const record_input *a = &old->inputs[p], *b = &now->inputs[k];
            if (!is_same(a->path, b->path) ||
                (a->is_absent == b->is_absent && !memcmp(a->hash, b->hash, sizeof a->hash)))
                continue;
            print_line(changed, "%s'%s' %s", print_next(changed, ""), (const char *)b->path.at,
                       b->is_absent   ? "is gone"
                       : a->is_absent ? "is new"
                                      : "changed");
        }
}

static void explain(story *out, const record *old, const record *now)
{
    story changed = {.len = 0}, same = {.len = 0};
    changed.at[0] = same.at[0] = 0;
    if (!memcmp(old->source, now->source, sizeof old->source))
        print_line(&same, "; source same");
    else
        print_line(&changed, "the source changed");
    print_inputs(&changed, old, now);
    for (size_t k = 0; k < now->part_count; k++)
        if (!record_is_note(&now->part_names[k]))
            print_part(&changed, &same, old, now, k);
    if (changed.len)
        print_line(out, "recompiled: %s%s", changed.at, same.at);
    else
        print_line(out,
                   "recompiled: nothing has changed, but the compiled code was no longer in the "
                   "cache (thrown out, cleared or broken)");
}

static void note_name(const char *path, uint8_t key[SHA256_BYTES], char name[SHA256_TEXT + 8])
{
    char whole[PATH_MAX];
    const char *known = realpath(path, whole) ? whole : path;
    sha256_of(known, strlen(known), key);
    disk_name(name, key, ".why");
}

void why_note(const cache_folder *folder, const char *path, const record *now, bool is_kept)
{
    uint8_t key[SHA256_BYTES];
    char name[SHA256_TEXT + 8];
    note_name(path, key, name);
    record old, note = *now;
    story s = {.len = 0};
    if (disk_read(folder, name, key, &old))
        explain(&s, &old, now);
    else
        print_line(&s, "compiled: there was nothing in the cache for this file");
    record_free(&old);
    if (!is_kept) {
        char reason[256];
        disk_failure(folder, now, reason, sizeof reason);
        print_line(&s, "; the compiled code could not be kept%s%s", *reason ? ": " : "", reason);
    }
    note.value = (blob){(const uint8_t *)s.at, s.len};
    note.bytes = NULL;
    if (record_pack(&note)) {
        disk_write(folder, name, key, &note);
        free(note.bytes);
    }
}

static bool has_changed(const char *path, bool is_absent, const uint8_t hash[SHA256_BYTES])
{
    uint8_t *bytes, now[SHA256_BYTES];
    size_t len;
    if (is_absent)
        return access(path, F_OK) == 0;
    if (!disk_slurp(path, &bytes, &len))
        return true;
    sha256_of(bytes, len, now);
    free(bytes);
    return memcmp(now, hash, sizeof now) != 0;
}

// The same with the hash as text.
static bool has_other_text(const char *path, const char *hash)
{
    uint8_t *bytes, now[SHA256_BYTES];
    char text_of[SHA256_TEXT + 1];
    size_t len;
    if (!disk_slurp(path, &bytes, &len))
        return true;
    sha256_of(bytes, len, now);
    sha256_text(now, text_of);
    free(bytes);
    return strcmp(text_of, hash) != 0;
}

// What of the last compile has changed since; false: nothing.
static bool print_changes(story *s, const char *path, const record *note)
{
    size_t before = s->len;
    bool has_hash = false, is_other = false;
    for (size_t k = 0; k < note->part_count; k++)
        if (!strcmp((const char *)note->part_names[k].at, RECORD_ABOUT_HASH)) {
            has_hash = true;
            is_other = has_other_text(path, (const char *)note->part_values[k].at);
        }
    if (has_hash ? is_other : has_changed(path, false, note->source))
        print_line(s, "since then '%s' has changed: the next use compiles it\n", path);
    for (size_t k = 0; k < note->input_count; k++) {
        const record_input *input = &note->inputs[k];
        if (has_changed((const char *)input->path.at, input->is_absent, input->hash))
            print_line(s, "since then '%s' has changed: the next use compiles it\n",
                       (const char *)input->path.at);
    }
    return s->len > before;
}

// What became of the entry that the last compile has left.
static void print_entry(story *s, const cache_folder *folder, const record *note)
{
    uint8_t key[SHA256_BYTES];
    char name[SHA256_TEXT + 8];
    record entry;
    record_key(note, key, name);
    switch (disk_look(folder, name, key, &entry)) {
    case DISK_GOOD: print_line(s, "its compiled code is in the cache\n"); break;
    case DISK_BROKEN:
        print_line(
            s, "since then its compiled code in the cache was damaged: the next use compiles it "
               "and writes it again\n");
        break;
    case DISK_FOREIGN:
        print_line(
            s, "its compiled code in the cache is not used, because another user owns it or may "
               "write it: the next use compiles it\n");
        break;
    case DISK_NONE:
        print_line(s,
                   "its compiled code is not in the cache (any more): the next use compiles it\n");
        break;
    }
    record_free(&entry);
}

static void print_file(story *s, const cache_folder *folder, const char *path)
{
    uint8_t key[SHA256_BYTES];
    char name[SHA256_TEXT + 8];
    record note;
    cache_state state;
    cache_look(&state); // tries to write
    note_name(path, key, name);
    disk_state found = disk_look(folder, name, key, &note);
    if (found == DISK_GOOD) {
        print_line(s, "%s\n", (const char *)note.value.at);
        if (!print_changes(s, path, &note))
            print_entry(s, folder, &note);
    } else if (found == DISK_BROKEN) {
        print_line(s, "the note about '%s' is damaged: the next compile writes it again\n", path);
    } else if (state.is_on) {
        print_line(
            s,
            "'%s' was never compiled with this cache\n"
            "(on cpu, only what the C compiler makes is kept, and only when it is done before "
            "the program ends; KILN_CPU=wait waits for it. On interp nothing is kept.)\n",
            path);
    } else {
        print_line(s, "the cache has nothing about '%s'\n", path);
    }
    if (!state.is_on)
        print_line(s, "nothing can be kept now, every use compiles: %s\n", state.reason);
    record_free(&note);
}

char *cache_why(const char *path)
{
    cache_folder folder;
    const char *off;
    story s = {.len = 0};
    s.at[0] = 0;
    if (disk_folder(&folder, &off))
        print_file(&s, &folder, path);
    else
        print_line(&s, "nothing is cached: %s\n", off);
    char *copy = malloc(s.len + 1);
    if (copy)
        memcpy(copy, s.at, s.len + 1);
    return copy;
}
