// Source texts and positions. Every byte of every loaded text has one global 32-bit position, so a
// span is two integers; position 0 means "nowhere".
#ifndef KILN_SOURCE_H
#define KILN_SOURCE_H

#include "base/str.h"

typedef struct span {
    uint32_t lo, hi; // global positions, hi exclusive; lo == 0: no place
} span;

typedef struct source_file {
    const char *path; // as shown to the user
    str text;         // followed by a NUL byte
    uint32_t base;    // global position of text.at[0]
    bool is_builtin;  // a header or library text of Kiln's own
    uint32_t *lines;  // start offset of each line, made on demand
    uint32_t line_count;
} source_file;

typedef struct source_map source_map;

typedef struct source_place {
    const source_file *file;
    uint32_t line, column; // 1-based; column counts bytes
} source_place;

source_map *sources_in(arena *a);
// The text is copied. NULL when the total passes 1 GiB.
source_file *source_add(source_map *map, const char *path, str text);
const source_file *source_file_at(const source_map *map, uint32_t position);
source_place source_find(source_map *map, uint32_t position);
str source_line(source_map *map, const source_file *file, uint32_t line); // without the newline
str source_text(const source_map *map, span s);

// Every text in the order of loading, and the paths where one was looked for in vain (so that a
// cache can tell when it would be found).
uint32_t source_count(const source_map *map);
const source_file *source_at(const source_map *map, uint32_t index);
void source_note_absent(source_map *map, const char *path);
uint32_t source_absent_count(const source_map *map);
const char *source_absent_at(const source_map *map, uint32_t index);

static inline span span_join(span a, span b)
{
    if (!a.lo)
        return b;
    if (!b.lo)
        return a;
    return (span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

#endif
