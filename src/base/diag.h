// Diagnostics: what the user is told about a kernel. Raising one records it; rendering is
// diag_text.c (carets) and diag_json.c (editors). Codes are rows of diag.def.
//
//     diag *d = diag_raise(ds, K2003, expr->span, "cannot add %s and %s", a, b);
//     diag_label(d, a->span, "this is %s", a);
//     diag_fix(d, b->span, "convert explicitly", "(f32)(%s)", text);
#ifndef KILN_DIAG_H
#define KILN_DIAG_H

#include "base/source.h"
#include "base/vec.h"

typedef enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_REMARK } diag_level;

typedef enum diag_code {
    DIAG_NONE,
#define D(code, level, title) code,
#include "base/diag.def"
#undef D
    DIAG_CODE_COUNT
} diag_code;

typedef struct diag_part { // a label, an edit
    span at;
    const char *text;
} diag_part;

typedef struct diag_fixit {
    const char *title;    // "close the branch before the barrier"
    vec(diag_part) edits; // each replaces its span by its text; an empty span inserts
} diag_fixit;

typedef struct diag {
    struct diags *owner;
    diag_code code;
    diag_level level;
    span at;     // in the text of a file
    span raised; // as it was given: maybe in the expansion of a macro
    const char *message;
    vec(diag_part) labels; // labels.at[0] is the primary one when it has text for `at`
    vec(diag_part) uses;   // labels for the macros that these places come from
    bool drops_fix;        // the newest fix-it has no place in the text
    vec(const char *) notes;
    vec(diag_fixit) fixes;
} diag;

typedef struct diags {
    arena *in;
    source_map *sources;
    vec(diag *) list;
    uint32_t error_count, warning_count;
    uint32_t error_limit; // default 20; more are counted, not kept
    bool warnings_are_errors;
    diag *spare; // what raisers get when nothing is recorded; takes no labels or notes
} diags;

diags *diags_in(arena *a, source_map *sources);

// The record is owned by `ds`; never NULL (past the limit it is a throw-away one). The same code at
// the same place is recorded once.
diag *diag_raise(diags *ds, diag_code code, span at, const char *format, ...) PRINTF_LIKE(4, 5);
// A label under another (or the same) place.
void diag_label(diag *d, span at, const char *format, ...) PRINTF_LIKE(3, 4);
void diag_note(diag *d, const char *format, ...) PRINTF_LIKE(2, 3);
// Gives a record another place.
void diag_move(diag *d, span at);
// Starts a fix-it of one edit: replaces `at` by the formatted text. diag_fix_more adds an edit to
// the newest fix-it. A fix-it whose text does not stand in a file as it is meant is dropped.
void diag_fix(diag *d, span at, const char *title, const char *format, ...) PRINTF_LIKE(4, 5);
void diag_fix_more(diag *d, span at, const char *format, ...) PRINTF_LIKE(3, 4);

// Turns a span into the text that an edit may change: in a macro's definition only when that is
// used once. False: there is none.
bool diag_fix_place(const diags *ds, span *at);

const char *diag_code_name(diag_code code);  // "K2003"
const char *diag_code_title(diag_code code); // the row's title
diag_level diag_code_level(diag_code code);
diag_code diag_code_find(const char *name); // DIAG_NONE when unknown

// Renders all records in order. `colour` adds ANSI colours.
void diag_render_text(diags *ds, text *out, bool colour);
void diag_render_json(diags *ds, text *out); // one object a line
// Applies the first fix-it of every record that touches `file`; returns the new text.
str diag_apply_fixes(diags *ds, arena *a, const source_file *file, uint32_t *applied);

#endif
