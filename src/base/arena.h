// Bump allocation for everything that lives as long as one compile, with marks for scratch work.
// Memory comes zeroed. An arena never returns NULL: when the system is out of memory, or the
// arena's limit is reached, it leaves through bug.h's frame (see bug_out_of_memory).
#ifndef KILN_ARENA_H
#define KILN_ARENA_H

#include "base/base.h"

typedef struct arena arena;
typedef struct arena_mark {
    void *chunk;
    size_t used, total;
} arena_mark;

// NULL when the system has no memory.
arena *arena_new(void);
void arena_free(arena *a);

// Zeroed, 16-byte aligned.
void *arena_alloc(arena *a, size_t bytes);
// The same without the zeros, for what is written at once.
void *arena_room(arena *a, size_t bytes);
// Grows the last allocation in place when it can, else copies. `old` may be NULL.
void *arena_grow(arena *a, void *old, size_t old_bytes, size_t new_bytes);
// The same without the zeros behind the old bytes.
void *arena_extend(arena *a, void *old, size_t old_bytes, size_t new_bytes);
void *arena_copy(arena *a, const void *bytes, size_t len);

// Everything allocated after the mark is gone after the restore.
arena_mark arena_save(arena *a);
void arena_restore(arena *a, arena_mark mark);

// Bytes handed out so far, and a ceiling for them (0: none).
size_t arena_used(const arena *a);
void arena_limit(arena *a, size_t bytes);

#define arena_new_of(a, type)       ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc((a), sizeof(type) * (size_t)(count)))

#endif
