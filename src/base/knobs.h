// The environment's switches: rows of knobs.def. Nobody else calls getenv for a KILN_… name.
#ifndef KILN_KNOBS_H
#define KILN_KNOBS_H

#include "base/base.h"

typedef enum knob_id {
#define KNOB(id, name, value, takes, doc) KNOB_##id,
#include "base/knobs.def"
#undef KNOB
    KNOB_COUNT
} knob_id;

typedef struct knob {
    const char *name, *default_value, *takes, *doc;
} knob;

size_t knob_count(void);
const knob *knob_at(size_t index);
// The environment's value, or the default. Never NULL.
const char *knob_text(knob_id id);
// As a number; the default when the text is not one.
int knob_number(knob_id id);
// As bytes: "256M"; the default when the text is not a size.
uint64_t knob_size(knob_id id);
// Is `word` one of the value's parts, which commas separate?
bool knob_lists(knob_id id, const char *word);

// --- values that make no sense
// Does the switch take this value? An empty one always means the default.
bool knob_accepts(const knob *row, const char *value);
// What the switch takes, in words: "a number from 0 to 6".
void knob_describe_values(const knob *row, char *out, size_t size);
// A sentence about the first switch to which the environment gives a value that it does not take;
// false: there is none.
bool knob_complaint(char *out, size_t size);

#endif
