// Source texts and positions. Every byte of every loaded text has one global 32-bit position, so a
// span is two integers; position 0 means "nowhere". Each expansion of a macro has positions of its
// own, from SOURCE_MACRO up, one for each byte of the macro's text: such a position knows where the
// text stands (the definition) and where the macro was used. A span may begin and end in different
// expansions; source_spell turns any span into a piece of one text.
#ifndef KILN_SOURCE_H
#define KILN_SOURCE_H

#include "base/str.h"

enum { SOURCE_MACRO_BIT = 31 };
#define SOURCE_MACRO ((uint32_t)1 << SOURCE_MACRO_BIT)

typedef struct span {
    uint32_t lo, hi; // global positions, hi exclusive; lo == 0: no place
} span;

// From here on a file says that its lines belong to another place: #line.
typedef struct source_line_mark {
    uint32_t line;    // the first line it holds for
    int64_t shift;    // what is added to line numbers
    const char *path; // NULL: the file's own
} source_line_mark;

typedef struct source_file {
    const char *path; // as shown to the user
    str text;         // followed by a NUL byte
    uint32_t base;    // global position of text.at[0]
    bool is_builtin;  // a header or library text of Kiln's own
    bool is_closed;   // … in which the user's macros and names mean nothing: see pp_include.c
    bool is_embedded; // its text is a part of the library: no file, also where it has a path
    uint32_t *lines;  // start offset of each line, made on demand
    uint32_t line_count;
    source_line_mark *line_marks; // by rising line
    uint32_t line_mark_count;
} source_file;

typedef struct source_macro { // a #define with a text
    const char *name;
    span at;       // its name in the #define
    span body;     // its replacement
    uint32_t uses; // expansions made so far
} source_macro;

typedef struct source_map source_map;

typedef struct source_place {
    const source_file *file;
    uint32_t line, column; // 1-based; column counts bytes
} source_place;

typedef struct source_shown_place {
    const char *path; // "" when there is none
    uint32_t line, column;
} source_shown_place;

source_map *sources_in(arena *a);
// The text is copied. NULL when the total passes 1 GiB.
source_file *source_add(source_map *map, const char *path, str text);
// Inside an expansion both give the outermost use: the line that a debugger would show.
const source_file *source_file_at(const source_map *map, uint32_t position);
source_place source_find(source_map *map, uint32_t position);
str source_line(source_map *map, const source_file *file, uint32_t line); // without the newline
str source_text(const source_map *map, span s); // "" when it is not one piece of text

// --- #line
// From `line` on, `file` counts as the lines from `number` of `path` (NULL: of the file itself).
void source_mark_line(source_map *map, const source_file *file, uint32_t line, int64_t number,
                      const char *path);
// The path and line that are shown for a line of a file.
const char *source_shown_path(const source_file *file, uint32_t line);
uint32_t source_shown_line(const source_file *file, uint32_t line);

// --- expansions of macros
// Positions for one expansion of `m` at `use`. Returns the position that stands for m->body.lo, or
// 0 when none are left: its tokens then stand at `use`.
uint32_t source_expand(source_map *map, source_macro *m, span use);
// Positions for a run of an argument's tokens, written at `from`, that replaces the parameter at
// `use` (in an expansion). Returns the position that stands for from.lo, or 0.
uint32_t source_pass(source_map *map, span from, span use, bool is_first, bool is_last);

typedef struct source_spelling {
    span at;            // one piece of one file
    uint32_t expansion; // whose definition holds it; 0: none
    uint32_t whole;     // the outermost expansion that `at` is the use of, all of it; 0: none
    bool is_exact;      // `at` has the tokens of the span and no others
} source_spelling;

// Where a span is written: inside a macro's definition when all of it comes from there. A span that
// is everything a macro expands to stands at the use of the macro, and so does one that comes from
// a macro of Kiln's own.
source_spelling source_spell(const source_map *map, span s);
const source_macro *source_macro_of(const source_map *map, uint32_t expansion);
// Where the macro is used: in the definition of another one, or in the user's text.
source_spelling source_use_of(const source_map *map, uint32_t expansion);
// Does the token there come from the text of a macro of Kiln's own?
bool source_is_own(const source_map *map, uint32_t position);
// What messages without a snippet name: where the text stands, and the line of the outermost use
// when that is in a macro's definition (else 0). Both follow #line.
source_shown_place source_shown(source_map *map, span s, uint32_t *use_line);

// The same texts at the same positions, in another arena.
source_map *source_copy(arena *a, const source_map *map);

// Every text in the order of loading, and the paths where one was looked for in vain (so that a
// cache can tell when it would be found).
uint32_t source_count(const source_map *map);
const source_file *source_at(const source_map *map, uint32_t index);
void source_note_absent(source_map *map, const char *path);
uint32_t source_absent_count(const source_map *map);
const char *source_absent_at(const source_map *map, uint32_t index);

// `a` stands before `b`, which matters where the two come from different expansions.
static inline span span_join(span a, span b)
{
    if (!a.lo)
        return b;
    if (!b.lo)
        return a;
    if ((a.lo | a.hi | b.lo | b.hi) & SOURCE_MACRO)
        return (span){a.lo, b.hi};
    return (span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

#endif
