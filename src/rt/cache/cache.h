// Compiled code on disk, shared by all processes of a user, and the newest of it in memory. An
// entry is found by what went into the compile (path, source text and the named parts: defines,
// tune, target, kiln, driver, options), and counts only while every file the compile has included
// still has the same contents. Whatever goes wrong on disk (no folder, no room, no permission, a
// broken file) means "not cached", never an error. Entries are run as they are, so a folder or file
// that another user owns or may write is not used. Safe with any number of threads and processes:
// files are written aside and renamed.
#ifndef KILN_CACHE_H
#define KILN_CACHE_H

#include "base/base.h"

typedef struct cache_part {
    const char *name;  // "defines", "tune", "target", "kiln", "driver", "options", …
    const char *value; // one item a line; NULL counts as ""
} cache_part;

typedef struct cache_request {
    const char *path;  // of the main source as the compile shows it; NULL: a text of no file
    const char *about; // the file that such a text was made from, for people; may be NULL
    const void *source;
    size_t source_len;
    const cache_part *parts;
    size_t part_count; // at most CACHE_PARTS
} cache_request;
enum { CACHE_PARTS = 16 };

// A file the compile has read besides the main one, or has looked for and not found.
typedef struct cache_input {
    const char *path;
    uint8_t hash[32]; // SHA-256 of its text
    bool is_absent;
} cache_input;

// True: *bytes is malloc'ed and the caller's.
bool cache_get(const cache_request *request, void **bytes, size_t *len);
void cache_put(const cache_request *request, const cache_input *inputs, size_t input_count,
               const void *bytes, size_t len);
// The entry turned out to be of no use.
void cache_forget(const cache_request *request);
// Why the file was compiled the last time, and whether it would be again; a text to show,
// malloc'ed. NULL: no memory.
char *cache_why(const char *path);

// --- for people (kiln cache, kiln doctor)
typedef struct cache_state {
    bool is_on;
    char folder[1024]; // "" when there is no place for one
    char reason[256];  // why it is off
    uint64_t entry_count, bytes, limit;
} cache_state;
// Looks at the folder and tries to write there.
void cache_look(cache_state *out);

typedef struct cache_entry {
    const char *path;   // of the source, or ""
    const char *target; // or ""
    uint64_t bytes;     // of the file
    int64_t used;       // seconds since 1970
    bool is_broken;
    bool is_foreign; // another user's, or others may write it: not used
} cache_entry;
void cache_each(void (*see)(void *user, const cache_entry *entry), void *user);
// Removes every entry; gives how many.
size_t cache_clear(void);

// Forgets what is kept in memory.
void cache_drop_memory(void);

// What this process has done with the cache so far.
typedef struct cache_counts {
    uint64_t hits, misses, stored, broken;
} cache_counts;
cache_counts cache_counts_now(void);

#endif
