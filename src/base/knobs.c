// The rows of knobs.def as data, and their values.
#include "base/knobs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const knob knobs[] = {
#define KNOB(id, name, value, takes, doc) {name, value, takes, doc},
#include "base/knobs.def"
#undef KNOB
};

size_t knob_count(void)
{
    return KNOB_COUNT;
}

const knob *knob_at(size_t index)
{
    return &knobs[index];
}

const char *knob_text(knob_id id)
{
    const char *value = getenv(knobs[id].name);
    return value && *value ? value : knobs[id].default_value;
}

static bool read_number(const char *text, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    *out = (int)value;
    return end != text && !*end && !errno && value >= INT_MIN && value <= INT_MAX;
}

int knob_number(knob_id id)
{
    int value = 0;
    if (read_number(knob_text(id), &value) || read_number(knobs[id].default_value, &value))
        return value;
    return 0;
}

// "300K", "256M", "2G", or bytes.
static bool read_size(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    uint64_t scale = *end == 'K' || *end == 'k'   ? 1 << 10
                     : *end == 'M' || *end == 'm' ? 1 << 20
                     : *end == 'G' || *end == 'g' ? 1 << 30
                                                  : 1;
    bool is_number = *text >= '0' && *text <= '9' && !errno && !end[scale != 1];
    return is_number && !__builtin_mul_overflow((uint64_t)value, scale, out);
}

uint64_t knob_size(knob_id id)
{
    uint64_t bytes = 0;
    if (read_size(knob_text(id), &bytes) || read_size(knobs[id].default_value, &bytes))
        return bytes;
    return 0;
}

bool knob_lists(knob_id id, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = knob_text(id); *at; at += *at == ',') {
        size_t part = strcspn(at, ",");
        if (part == len && !memcmp(at, word, len))
            return true;
        at += part;
    }
    return false;
}

// --- values that make no sense
// What stands behind `form` in the row's takes, or NULL.
static const char *after_form(const knob *row, const char *form)
{
    size_t len = strlen(form);
    return strncmp(row->takes, form, len) ? NULL : row->takes + len;
}

// Is the word one of `words`, which spaces separate?
static bool is_one_of(const char *words, const char *word, size_t len)
{
    for (const char *at = words; *at; at += *at == ' ') {
        size_t part = strcspn(at, " ");
        if (part == len && !memcmp(at, word, len))
            return true;
        at += part;
    }
    return false;
}

static bool are_some_of(const char *words, const char *value)
{
    for (const char *at = value; *at; at += *at == ',') {
        size_t part = strcspn(at, ",");
        if (part && !is_one_of(words, at, part))
            return false;
        at += part;
    }
    return true;
}

static bool is_in_range(const char *range, const char *value)
{
    char *end;
    long least = strtol(range, &end, 10), most = strtol(end, NULL, 10);
    int number;
    return read_number(value, &number) && number >= least && number <= most;
}

bool knob_accepts(const knob *row, const char *value)
{
    const char *rest;
    uint64_t bytes;
    if (!*value)
        return true;
    if ((rest = after_form(row, "one of ")))
        return is_one_of(rest, value, strlen(value));
    if ((rest = after_form(row, "some of ")))
        return are_some_of(rest, value);
    if ((rest = after_form(row, "number ")))
        return is_in_range(rest, value);
    return strcmp(row->takes, "size") != 0 || read_size(value, &bytes);
}

void knob_describe_values(const knob *row, char *out, size_t size)
{
    const char *rest;
    if ((rest = after_form(row, "number ")))
        snprintf(out, size, "a number from %.*s to %s", (int)strcspn(rest, " "), rest,
                 rest + strcspn(rest, " ") + 1);
    else if (!strcmp(row->takes, "size"))
        snprintf(out, size, "a size in bytes, K, M or G, such as %s", row->default_value);
    else if ((rest = after_form(row, "some of ")))
        snprintf(out, size, "some of these, with commas between them: %s", rest);
    else
        snprintf(out, size, "%s", *row->takes ? row->takes : "any text");
}

bool knob_complaint(char *out, size_t size)
{
    for (size_t i = 0; i < KNOB_COUNT; i++) {
        const char *value = getenv(knobs[i].name);
        if (!value || knob_accepts(&knobs[i], value))
            continue;
        char takes[160];
        knob_describe_values(&knobs[i], takes, sizeof takes);
        snprintf(out, size, "the environment says %s=%.80s: the switch takes %s", knobs[i].name,
                 value, takes);
        return true;
    }
    return false;
}
