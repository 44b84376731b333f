// The cache's files (disk.c) as cache.c and why.c see them: whole records by name.
//
// A record file is a header (magic, version, key, length, checksum) and a body: path, source hash,
// parts, inputs, value. Entries end in ".code", the notes that explain misses in ".why".
#ifndef KILN_CACHE_DISK_H
#define KILN_CACHE_DISK_H

#include "base/sha256.h"
#include "rt/cache/cache.h"

typedef struct blob {
    const uint8_t *at;
    size_t len;
} blob;

typedef struct record_input {
    blob path; // NUL-terminated
    uint8_t hash[SHA256_BYTES];
    bool is_absent;
} record_input;

// A body, taken apart; points into `bytes`.
typedef struct record {
    uint8_t *bytes; // malloc'ed
    size_t len;
    blob path; // the texts are NUL-terminated
    uint8_t source[SHA256_BYTES];
    blob part_names[CACHE_PARTS], part_values[CACHE_PARTS];
    size_t part_count;
    record_input *inputs; // malloc'ed
    size_t input_count;
    blob value;
} record;

typedef struct cache_folder {
    char path[1024];
    uint64_t limit;
    bool is_off; // by KILN_CACHE: not even in memory
} cache_folder;

// Parts that are for people, and no part of the key: the file a text was made from, and its
// SHA-256.
#define RECORD_ABOUT      "about"
#define RECORD_ABOUT_HASH "about hash"
bool record_is_note(const blob *part_name);

// False: switched off, or there is no place, or it is not safe; *why (may be NULL) says it.
bool disk_folder(cache_folder *out, const char **why);
// The folder alone, whether or not compiled code is kept there: false and *why where there is none
// or others may write it.
bool disk_place(cache_folder *out, const char **why);
// False when there is none or it is broken (then it is removed). `key` must be the one it was
// written with.
bool disk_read(const cache_folder *folder, const char *name, const uint8_t key[SHA256_BYTES],
               record *out);
typedef enum disk_state { DISK_NONE, DISK_BROKEN, DISK_FOREIGN, DISK_GOOD } disk_state;
// The same as a query: nothing is removed or counted. `out` is set when it is good.
disk_state disk_look(const cache_folder *folder, const char *name, const uint8_t key[SHA256_BYTES],
                     record *out);
void record_free(record *r);
// The key of a compile from its path, source and parts, and the name of its entry.
void record_key(const record *r, uint8_t key[SHA256_BYTES], char name[SHA256_TEXT + 8]);
// Sets r->bytes and len from the other fields. False: no memory.
bool record_pack(record *r);
// Takes bytes and len apart. False: they make no sense.
bool record_unpack(record *r);
// False: the disk did not take it, or has not taken an earlier entry.
bool disk_write(const cache_folder *folder, const char *name, const uint8_t key[SHA256_BYTES],
                const record *r);
// Why disk_write takes no record of this size into this folder, in words; "" when it should.
void disk_failure(const cache_folder *folder, const record *r, char *out, size_t size);
void disk_touch(const cache_folder *folder, const char *name);
// All of a file, malloc'ed; false when it cannot be read.
bool disk_slurp(const char *path, uint8_t **bytes, size_t *len);
// The same of a file that no other user may write, and that is no link.
bool disk_slurp_own(const char *path, uint8_t **bytes, size_t *len);
bool disk_make_folder(const cache_folder *folder); // with those above it
// A whole file under that name, or the old one; the folder is made. False: disk_failure says why.
bool disk_write_text(const cache_folder *folder, const char *name, blob bytes);
void disk_name(char out[SHA256_TEXT + 8], const uint8_t key[SHA256_BYTES], const char *ending);

void disk_remove(const cache_folder *folder, const char *name);
void disk_count(bool is_hit);

// --- memory.c: packed records (bytes and len are set)
bool memory_get(const uint8_t key[SHA256_BYTES], record *out);
void memory_put(const uint8_t key[SHA256_BYTES], const record *r);
void memory_forget(const uint8_t key[SHA256_BYTES]);

// --- why.c: leaves a note why `now` is compiled, and whether its entry could be kept.
void why_note(const cache_folder *folder, const char *path, const record *now, bool is_kept);

#endif
