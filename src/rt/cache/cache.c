// Finding and keeping compiled code, in memory and on disk. The key is the hash of path, source
// text and parts: it needs no compile. What the compile read beyond that (included files, and
// places where it looked for them in vain) is listed in the entry and checked on every hit.
#include "rt/cache/cache.h"

#include <stdlib.h>
#include <unistd.h>

#include "rt/cache/disk.h"

static blob text_blob(const char *s)
{
    return s ? (blob){(const uint8_t *)s, strlen(s)} : (blob){(const uint8_t *)"", 0};
}

static void add_sized(sha256 *s, blob b)
{
    uint64_t len = b.len;
    sha256_add(s, &len, sizeof len);
    sha256_add(s, b.at, b.len);
}

bool record_is_note(const blob *name)
{
    return !strcmp((const char *)name->at, RECORD_ABOUT) ||
           !strcmp((const char *)name->at, RECORD_ABOUT_HASH);
}

// Parts that say from which file the text was made, as it is now.
static void add_about(record *r, const char *about, char hash[SHA256_TEXT + 1])
{
    uint8_t *bytes, sum[SHA256_BYTES];
    size_t len;
    if (!about || r->part_count + 2 > CACHE_PARTS || !disk_slurp(about, &bytes, &len))
        return;
    sha256_of(bytes, len, sum);
    sha256_text(sum, hash);
    free(bytes);
    r->part_names[r->part_count] = text_blob(RECORD_ABOUT);
    r->part_values[r->part_count++] = text_blob(about);
    r->part_names[r->part_count] = text_blob(RECORD_ABOUT_HASH);
    r->part_values[r->part_count++] = text_blob(hash);
}

void record_key(const record *r, uint8_t key[SHA256_BYTES], char name[SHA256_TEXT + 8])
{
    sha256 s;
    sha256_start(&s);
    add_sized(&s, r->path);
    sha256_add(&s, r->source, sizeof r->source);
    for (size_t k = 0; k < r->part_count; k++) {
        if (record_is_note(&r->part_names[k]))
            continue;
        add_sized(&s, r->part_names[k]);
        add_sized(&s, r->part_values[k]);
    }
    sha256_end(&s, key);
    disk_name(name, key, ".code");
}

// The fields of a record that follow from the request, its key and its name.
static void describe(const cache_request *q, record *r, uint8_t key[SHA256_BYTES],
                     char name[SHA256_TEXT + 8])
{
    *r = (record){.path = text_blob(q->path),
                  .part_count = q->part_count < CACHE_PARTS ? q->part_count : CACHE_PARTS};
    sha256_of(q->source, q->source_len, r->source);
    for (size_t k = 0; k < r->part_count; k++) {
        r->part_names[k] = text_blob(q->parts[k].name);
        r->part_values[k] = text_blob(q->parts[k].value);
    }
    record_key(r, key, name);
}

static bool is_same_file(const record_input *input)
{
    const char *path = (const char *)input->path.at;
    if (input->is_absent)
        return access(path, F_OK) != 0;
    uint8_t *bytes, hash[SHA256_BYTES];
    size_t len;
    if (!disk_slurp(path, &bytes, &len))
        return false;
    sha256_of(bytes, len, hash);
    free(bytes);
    return !memcmp(hash, input->hash, sizeof hash);
}

static bool has_same_inputs(const record *r)
{
    for (size_t k = 0; k < r->input_count; k++)
        if (!is_same_file(&r->inputs[k]))
            return false;
    return true;
}

bool cache_get(const cache_request *request, void **bytes, size_t *len)
{
    cache_folder folder;
    record wanted, found;
    uint8_t key[SHA256_BYTES];
    char name[SHA256_TEXT + 8];
    *bytes = NULL;
    *len = 0;
    bool has_disk = disk_folder(&folder, NULL);
    if (folder.is_off)
        return false;
    describe(request, &wanted, key, name);
    bool is_good = memory_get(key, &found) && has_same_inputs(&found);
    if (!is_good && has_disk) {
        record_free(&found);
        is_good = disk_read(&folder, name, key, &found) && has_same_inputs(&found);
        if (is_good)
            memory_put(key, &found);
    }
    if (is_good) {
        // The value moves to the front of the record's memory, which becomes the caller's.
        *len = found.value.len;
        memmove(found.bytes, found.value.at, found.value.len);
        *bytes = found.bytes;
        found.bytes = NULL;
        if (has_disk)
            disk_touch(&folder, name);
    }
    record_free(&found);
    disk_count(is_good);
    return is_good;
}

void cache_put(const cache_request *request, const cache_input *inputs, size_t input_count,
               const void *bytes, size_t len)
{
    cache_folder folder;
    record r;
    uint8_t key[SHA256_BYTES];
    char name[SHA256_TEXT + 8];
    bool has_disk = disk_folder(&folder, NULL);
    if (folder.is_off)
        return;
    char hash[SHA256_TEXT + 1];
    describe(request, &r, key, name);
    add_about(&r, request->about, hash);
    r.value = (blob){bytes, len};
    r.inputs = calloc(input_count + 1, sizeof *r.inputs);
    if (!r.inputs)
        return;
    r.input_count = input_count;
    for (size_t k = 0; k < input_count; k++) {
        r.inputs[k].path = text_blob(inputs[k].path);
        r.inputs[k].is_absent = inputs[k].is_absent;
        memcpy(r.inputs[k].hash, inputs[k].hash, SHA256_BYTES);
    }
    if (record_pack(&r)) {
        memory_put(key, &r);
        bool is_kept = has_disk && disk_write(&folder, name, key, &r);
        const char *file = request->path ? request->path : request->about;
        if (has_disk && file)
            why_note(&folder, file, &r, is_kept);
    }
    record_free(&r);
}

void cache_forget(const cache_request *request)
{
    cache_folder folder;
    record r;
    uint8_t key[SHA256_BYTES];
    char name[SHA256_TEXT + 8];
    bool has_disk = disk_folder(&folder, NULL);
    describe(request, &r, key, name);
    memory_forget(key);
    if (has_disk)
        disk_remove(&folder, name);
}
