// The rows of knobs.def as data, and their values.
#include "base/knobs.h"

#include <limits.h>
#include <stdlib.h>

static const knob knobs[] = {
#define KNOB(id, name, value, doc) {name, value, doc},
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

int knob_number(knob_id id)
{
    const char *texts[] = {knob_text(id), knobs[id].default_value};
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *end;
        long value = strtol(texts[i], &end, 10);
        if (end != texts[i] && !*end && value >= INT_MIN && value <= INT_MAX)
            return (int)value;
    }
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
