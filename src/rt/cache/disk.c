// Records as files in one folder: packing, reading with every check, writing aside and renaming,
// and throwing out what was not used for longest. No lock is held between processes: a reader has a
// whole old file, a whole new one, or none. Start at disk_read and disk_write.
#include "rt/cache/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/knobs.h"
#include "base/str.h"

enum { FORMAT = 3, STALE_SECONDS = 600 };
static const char magic[8] = "KILNCODE";
static const size_t file_limit = (size_t)1 << 30;

typedef struct file_header {
    char magic[8];
    uint32_t version, reserved;
    uint8_t key[SHA256_BYTES];
    uint64_t len, checksum;
} file_header;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char write_failure[256];      // why this process has stopped writing, or ""
static uint64_t unseen = UINT64_MAX; // bytes written since the folder was last counted
static cache_counts counts;

static void count_up(uint64_t *counter)
{
    pthread_mutex_lock(&lock);
    ++*counter;
    pthread_mutex_unlock(&lock);
}

// --- where
// Code in the cache is executed, so other users must not be able to put it there.
static bool is_own(const struct stat *s)
{
    return s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH));
}

static const char *folder_complaint(const char *path)
{
    struct stat link, s;
    if (lstat(path, &link) || stat(path, &s))
        return ""; // it will be made
    if (link.st_uid != geteuid() || s.st_uid != geteuid())
        return "the folder belongs to another user, who could put code there";
    return is_own(&s) ? "" : "others may write into the folder (chmod go-w)";
}

bool disk_place(cache_folder *out, const char **why)
{
    const char *given = knob_text(KNOB_CACHE_DIR), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    *why = "";
    *out = (cache_folder){.limit = knob_size(KNOB_CACHE_SIZE)};
    int len = -1;
    if (given[0])
        len = snprintf(out->path, sizeof out->path, "%s", given);
    else if (xdg && xdg[0] == '/')
        len = snprintf(out->path, sizeof out->path, "%s/kiln", xdg);
    else if (home && home[0] == '/')
        len = snprintf(out->path, sizeof out->path, "%s/.cache/kiln", home);
    if (len < 0 || (size_t)len >= sizeof out->path) {
        out->path[0] = 0;
        *why = len < 0 ? "neither KILN_CACHE_DIR nor HOME is set" : "the folder's name is too long";
    } else {
        *why = folder_complaint(out->path);
    }
    return !(*why)[0];
}

bool disk_folder(cache_folder *out, const char **why)
{
    const char *unused;
    why = why ? why : &unused;
    disk_place(out, why);
    if (!out->path[0])
        return false;
    if (!strcmp(knob_text(KNOB_CACHE), "off") || !strcmp(knob_text(KNOB_CACHE), "0")) {
        *why = "KILN_CACHE is off";
        out->is_off = true;
    } else if (!out->limit) {
        *why = "KILN_CACHE_SIZE is 0";
    }
    return !(*why)[0];
}

void disk_name(char out[SHA256_TEXT + 8], const uint8_t key[SHA256_BYTES], const char *ending)
{
    sha256_text(key, out);
    memcpy(out + 40, ending, strlen(ending) + 1);
}

static bool full_path(char out[1200], const cache_folder *folder, const char *name)
{
    int len = snprintf(out, 1200, "%s/%s", folder->path, name);
    return len > 0 && len < 1200;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && !strcmp(name + n - m, ending);
}

static bool is_entry(const char *name)
{
    return ends_with(name, ".code");
}

static bool is_part(const char *name)
{
    return !strncmp(name, "part-", 5);
}

static bool is_ours(const char *name)
{
    return is_entry(name) || ends_with(name, ".why") || is_part(name);
}

// mkdir -p, with no access for other users.
static bool make_folder(const char *path)
{
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *p = copy + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char kept = *p;
        *p = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST && access(copy, F_OK))
            return false;
        if (!kept)
            return true;
        *p = kept;
    }
}

bool disk_make_folder(const cache_folder *folder)
{
    return make_folder(folder->path);
}

// --- packing
typedef struct packer {
    uint8_t *at;
    size_t len, cap;
    bool failed;
} packer;

static void pack(packer *p, const void *bytes, size_t len)
{
    if (p->len + len > p->cap) {
        size_t cap = (p->len + len) * 2 + 256;
        uint8_t *more = realloc(p->at, cap);
        if (!more) {
            p->failed = true;
            return;
        }
        p->at = more, p->cap = cap;
    }
    if (len)
        memcpy(p->at + p->len, bytes, len);
    p->len += len;
}

static void pack_u64(packer *p, uint64_t v)
{
    pack(p, &v, sizeof v);
}

static void pack_blob(packer *p, blob b)
{
    pack_u64(p, b.len);
    pack(p, b.at, b.len);
    pack(p, "", 1);
}

bool record_pack(record *r)
{
    packer p = {0};
    pack_blob(&p, r->path);
    pack(&p, r->source, sizeof r->source);
    pack_u64(&p, r->part_count);
    for (size_t k = 0; k < r->part_count; k++) {
        pack_blob(&p, r->part_names[k]);
        pack_blob(&p, r->part_values[k]);
    }
    pack_u64(&p, r->input_count);
    for (size_t k = 0; k < r->input_count; k++) {
        pack_blob(&p, r->inputs[k].path);
        pack(&p, r->inputs[k].hash, SHA256_BYTES);
        pack(&p, r->inputs[k].is_absent ? "\1" : "\0", 1);
    }
    pack_blob(&p, r->value);
    if (p.failed) {
        free(p.at);
        return false;
    }
    r->bytes = p.at;
    r->len = p.len;
    return true;
}

typedef struct unpacker {
    const uint8_t *at;
    size_t left;
    bool failed;
} unpacker;

static const uint8_t *unpack_bytes(unpacker *u, size_t len)
{
    if (u->failed || u->left < len) {
        u->failed = true;
        return NULL;
    }
    const uint8_t *at = u->at;
    u->at += len, u->left -= len;
    return at;
}

static uint64_t unpack_u64(unpacker *u)
{
    uint64_t v = 0;
    const uint8_t *at = unpack_bytes(u, sizeof v);
    if (at)
        memcpy(&v, at, sizeof v);
    return v;
}

static blob unpack_blob(unpacker *u)
{
    uint64_t len = unpack_u64(u);
    const uint8_t *at = len < SIZE_MAX ? unpack_bytes(u, (size_t)len + 1) : NULL;
    if (!at || at[len])
        u->failed = true;
    return u->failed ? (blob){(const uint8_t *)"", 0} : (blob){at, (size_t)len};
}

static void unpack_hash(unpacker *u, uint8_t out[SHA256_BYTES])
{
    const uint8_t *at = unpack_bytes(u, SHA256_BYTES);
    if (at)
        memcpy(out, at, SHA256_BYTES);
}

bool record_unpack(record *r)
{
    unpacker u = {r->bytes, r->len, false};
    r->path = unpack_blob(&u);
    unpack_hash(&u, r->source);
    uint64_t parts = unpack_u64(&u);
    u.failed |= parts > CACHE_PARTS;
    for (r->part_count = 0; !u.failed && r->part_count < parts; r->part_count++) {
        r->part_names[r->part_count] = unpack_blob(&u);
        r->part_values[r->part_count] = unpack_blob(&u);
    }
    uint64_t inputs = unpack_u64(&u);
    if (u.failed || inputs > u.left / SHA256_BYTES)
        return false;
    r->inputs = calloc((size_t)inputs + 1, sizeof *r->inputs);
    if (!r->inputs)
        return false;
    for (r->input_count = 0; !u.failed && r->input_count < inputs; r->input_count++) {
        record_input *input = &r->inputs[r->input_count];
        input->path = unpack_blob(&u);
        unpack_hash(&u, input->hash);
        const uint8_t *absent = unpack_bytes(&u, 1);
        input->is_absent = absent && *absent;
    }
    r->value = unpack_blob(&u);
    return !u.failed && !u.left;
}

void record_free(record *r)
{
    free(r->bytes);
    free(r->inputs);
    *r = (record){0};
}

// --- reading
// *is_foreign, unless it is NULL: other users must not be able to write the file, and it is no
// link; else true.
static bool slurp(const char *path, bool *is_foreign, uint8_t **bytes, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_foreign ? O_NOFOLLOW : 0));
    struct stat st;
    *bytes = NULL;
    *len = 0;
    if (is_foreign)
        *is_foreign = fd < 0 && (errno == ELOOP || errno == EACCES);
    if (fd < 0)
        return false;
    bool ok = !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size < file_limit;
    if (ok && is_foreign)
        *is_foreign = !(ok = is_own(&st));
    uint8_t *at = ok ? malloc((size_t)st.st_size + 1) : NULL;
    size_t have = 0, want = ok ? (size_t)st.st_size : 0;
    while (at && have < want) {
        ssize_t got = read(fd, at + have, want - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    close(fd);
    if (!at || have < want) {
        free(at);
        return false;
    }
    at[have] = 0;
    *bytes = at;
    *len = have;
    return true;
}

bool disk_slurp(const char *path, uint8_t **bytes, size_t *len)
{
    return slurp(path, NULL, bytes, len);
}

bool disk_slurp_own(const char *path, uint8_t **bytes, size_t *len)
{
    bool is_foreign;
    return slurp(path, &is_foreign, bytes, len);
}

// Four chains of 8-byte words side by side: a file has hundreds of kilobytes, and a chain of bytes
// took longer than reading it.
static uint64_t checksum(const uint8_t *bytes, size_t len)
{
    uint64_t chains[5] = {1, 2, 3, 4, len};
    size_t at = 0;
    for (; len - at >= 32; at += 32)
        for (size_t n = 0; n < 4; n++) {
            uint64_t word;
            memcpy(&word, bytes + at + n * 8, sizeof word);
            word ^= chains[n];
            chains[n] = (word << 29 | word >> 35) * 0x9e3779b97f4a7c15u;
        }
    return hash_bytes(hash_bytes(FORMAT, bytes + at, len - at), chains, sizeof chains);
}

static bool check_header(const uint8_t *bytes, size_t len, const uint8_t *key)
{
    file_header h;
    if (len < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    return !memcmp(h.magic, magic, sizeof magic) && h.version == FORMAT &&
           h.len == len - sizeof h && (!key || !memcmp(h.key, key, sizeof h.key)) &&
           h.checksum == checksum(bytes + sizeof h, len - sizeof h);
}

// As disk_read; any key, and nothing is removed.
static disk_state read_any(const char *path, const uint8_t *key, record *out)
{
    uint8_t *bytes;
    size_t len;
    bool is_foreign;
    *out = (record){0};
    if (!slurp(path, &is_foreign, &bytes, &len))
        return is_foreign ? DISK_FOREIGN : DISK_NONE;
    if (check_header(bytes, len, key)) {
        memmove(bytes, bytes + sizeof(file_header), len - sizeof(file_header));
        out->bytes = bytes;
        out->len = len - sizeof(file_header);
        if (record_unpack(out))
            return DISK_GOOD;
        record_free(out);
    } else {
        free(bytes);
    }
    return DISK_BROKEN;
}

bool disk_read(const cache_folder *folder, const char *name, const uint8_t key[SHA256_BYTES],
               record *out)
{
    char path[1200];
    *out = (record){0};
    disk_state found = full_path(path, folder, name) ? read_any(path, key, out) : DISK_NONE;
    if (found == DISK_BROKEN) {
        unlink(path);
        count_up(&counts.broken);
    }
    return found == DISK_GOOD;
}

disk_state disk_look(const cache_folder *folder, const char *name, const uint8_t key[SHA256_BYTES],
                     record *out)
{
    char path[1200];
    *out = (record){0};
    return full_path(path, folder, name) ? read_any(path, key, out) : DISK_NONE;
}

void disk_touch(const cache_folder *folder, const char *name)
{
    char path[1200];
    if (full_path(path, folder, name))
        (void)!utimensat(AT_FDCWD, path, NULL, 0); // a read-only cache is fine
}

// --- making room
typedef struct seen_file {
    char name[SHA256_TEXT + 8];
    uint64_t bytes;
    struct timespec used;
} seen_file;

// Of a process that died while it wrote.
static bool is_stale(const seen_file *f, time_t now)
{
    return is_part(f->name) && now - f->used.tv_sec > STALE_SECONDS;
}

static int older_first(const void *a, const void *b)
{
    const seen_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

// Every file of ours, malloc'ed. NULL: no folder or no memory.
static seen_file *list_files(const cache_folder *folder, size_t *count)
{
    DIR *dir = opendir(folder->path);
    seen_file *files = NULL;
    size_t cap = 0;
    *count = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        struct stat st;
        if (!is_ours(d->d_name) || strlen(d->d_name) >= sizeof files->name ||
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (*count == cap) {
            cap = cap * 2 + 64;
            seen_file *more = realloc(files, cap * sizeof *files);
            if (!more)
                break;
            files = more;
        }
        seen_file *f = &files[(*count)++];
        memcpy(f->name, d->d_name, strlen(d->d_name) + 1);
        f->bytes = (uint64_t)st.st_size;
        f->used = st.st_mtim;
    }
    if (dir)
        closedir(dir);
    return files;
}

void disk_remove(const cache_folder *folder, const char *name)
{
    char path[1200];
    if (full_path(path, folder, name))
        unlink(path);
}

// Down to nine tenths of the limit, so that not every write has to make room.
static void make_room(const cache_folder *folder)
{
    size_t count;
    seen_file *files = list_files(folder, &count);
    uint64_t total = 0;
    time_t now = time(NULL);
    for (size_t k = 0; k < count; k++) {
        if (is_stale(&files[k], now)) {
            disk_remove(folder, files[k].name);
            files[k].bytes = 0;
        }
        total += files[k].bytes;
    }
    if (total > folder->limit) {
        qsort(files, count, sizeof *files, older_first);
        for (size_t k = 0; k < count && total > folder->limit / 10 * 9; k++)
            if (files[k].bytes && !is_part(files[k].name)) {
                disk_remove(folder, files[k].name);
                total -= files[k].bytes;
            }
    }
    free(files);
}

// --- writing
// A file-size limit raises a signal that would end the program: held back for the write, and taken
// when it came.
static ssize_t write_some(int fd, const uint8_t *bytes, size_t len)
{
    sigset_t size_signal, before, pending;
    sigemptyset(&size_signal);
    sigaddset(&size_signal, SIGXFSZ);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &size_signal, &before);
    ssize_t put;
    do
        put = write(fd, bytes, len);
    while (put < 0 && errno == EINTR);
    int error = errno;
    if (put < 0 && error == EFBIG && !was_pending)
        sigtimedwait(&size_signal, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return put;
}

static bool write_whole(int fd, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    while (len) {
        ssize_t put = write_some(fd, at, len);
        if (put <= 0)
            return false;
        at += put;
        len -= (size_t)put;
    }
    return true;
}

static void remember_failure(const char *doing, const char *path, int error)
{
    const char *why = error == ENOSPC || error == EDQUOT    ? "the disk is full"
                      : error == EROFS                      ? "the file system is read-only"
                      : error == EACCES || error == EPERM   ? "permission denied"
                      : error == EFBIG                      ? "files may not grow so large here"
                      : error == ENOENT || error == ENOTDIR ? "it cannot be made there"
                                                            : NULL;
    pthread_mutex_lock(&lock);
    if (why)
        snprintf(write_failure, sizeof write_failure, "%s '%.128s' failed: %s", doing, path, why);
    else
        snprintf(write_failure, sizeof write_failure, "%s '%.128s' failed: system error %d", doing,
                 path, error);
    pthread_mutex_unlock(&lock);
}

// The file under its final name, all of it or not at all.
static bool write_aside(const cache_folder *folder, const char *name, blob head, blob body)
{
    char part[1200], path[1200];
    if (!full_path(part, folder, "part-XXXXXX") || !full_path(path, folder, name))
        return false;
    int fd = mkstemp(part);
    if (fd < 0 && errno == ENOENT && make_folder(folder->path)) {
        full_path(part, folder, "part-XXXXXX");
        fd = mkstemp(part);
    }
    if (fd < 0) {
        remember_failure("writing into the folder", folder->path, errno);
        return false;
    }
    bool ok = write_whole(fd, head.at, head.len) && write_whole(fd, body.at, body.len);
    int error = errno;
    if (close(fd) && ok)
        ok = false, error = errno;
    if (ok && rename(part, path))
        ok = false, error = errno;
    if (!ok) {
        unlink(part);
        if (error != ENOENT) // the whole folder was removed meanwhile: next time it is made again
            remember_failure("writing into the folder", folder->path, error);
    }
    return ok;
}

bool disk_write_text(const cache_folder *folder, const char *name, blob bytes)
{
    return write_aside(folder, name, (blob){(const uint8_t *)"", 0}, bytes);
}

// Only the first writes of a process and every 1/128 of the limit look at the whole folder.
static bool is_time_to_count(const cache_folder *folder, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    bool is_time = unseen > folder->limit / 128 || bytes > folder->limit / 128;
    unseen = is_time ? 0 : unseen + bytes;
    pthread_mutex_unlock(&lock);
    return is_time;
}

static bool is_too_large(const cache_folder *folder, const record *r)
{
    uint64_t bytes = sizeof(file_header) + r->len;
    return bytes > folder->limit / 2 || bytes >= file_limit;
}

void disk_failure(const cache_folder *folder, const record *r, char *out, size_t size)
{
    pthread_mutex_lock(&lock);
    snprintf(out, size, "%s",
             is_too_large(folder, r) ? "it is larger than half of KILN_CACHE_SIZE" : write_failure);
    pthread_mutex_unlock(&lock);
}

bool disk_write(const cache_folder *folder, const char *name, const uint8_t key[SHA256_BYTES],
                const record *r)
{
    pthread_mutex_lock(&lock);
    bool gave_up = write_failure[0];
    pthread_mutex_unlock(&lock);
    uint64_t bytes = sizeof(file_header) + r->len;
    // A note is small: it may fit where an entry did not, and records why that is missing.
    if ((gave_up && is_entry(name)) || is_too_large(folder, r))
        return false;
    file_header h = {.version = FORMAT, .len = r->len, .checksum = checksum(r->bytes, r->len)};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.key, key, sizeof h.key);
    if (!write_aside(folder, name, (blob){(const uint8_t *)&h, sizeof h}, (blob){r->bytes, r->len}))
        return false;
    if (is_entry(name))
        count_up(&counts.stored);
    if (is_time_to_count(folder, bytes))
        make_room(folder);
    return true;
}

// --- for people
void cache_look(cache_state *out)
{
    cache_folder folder;
    const char *why;
    *out = (cache_state){.is_on = disk_folder(&folder, &why)};
    snprintf(out->folder, sizeof out->folder, "%s", folder.path);
    snprintf(out->reason, sizeof out->reason, "%s", why);
    out->limit = folder.limit;
    size_t count = 0;
    seen_file *files = folder.path[0] ? list_files(&folder, &count) : NULL;
    for (size_t k = 0; k < count; k++) {
        out->bytes += files[k].bytes;
        out->entry_count += is_entry(files[k].name);
    }
    free(files);
    if (!out->is_on)
        return;
    record empty = {0};
    uint8_t key[SHA256_BYTES] = {0};
    bool can_write = record_pack(&empty) && disk_write(&folder, "probe.why", key, &empty);
    if (can_write)
        disk_remove(&folder, "probe.why");
    record_free(&empty);
    pthread_mutex_lock(&lock);
    if (write_failure[0])
        snprintf(out->reason, sizeof out->reason, "%s", write_failure);
    pthread_mutex_unlock(&lock);
    out->is_on = !out->reason[0];
}

void cache_each(void (*see)(void *user, const cache_entry *entry), void *user)
{
    cache_folder folder;
    disk_folder(&folder, NULL);
    size_t count;
    seen_file *files = folder.path[0] ? list_files(&folder, &count) : NULL;
    if (!files)
        return;
    qsort(files, count, sizeof *files, older_first);
    for (size_t k = count; k-- > 0;) {
        char path[1200];
        if (!is_entry(files[k].name) || !full_path(path, &folder, files[k].name))
            continue;
        record r;
        cache_entry entry = {
            .path = "", .target = "", .bytes = files[k].bytes, .used = files[k].used.tv_sec};
        disk_state found = read_any(path, NULL, &r);
        entry.is_broken = found == DISK_BROKEN;
        entry.is_foreign = found == DISK_FOREIGN;
        if (found == DISK_GOOD) {
            entry.path = (const char *)r.path.at;
            for (size_t p = 0; p < r.part_count; p++) {
                if (!strcmp((const char *)r.part_names[p].at, "target"))
                    entry.target = (const char *)r.part_values[p].at;
                if (!strcmp((const char *)r.part_names[p].at, RECORD_ABOUT))
                    entry.path = (const char *)r.part_values[p].at;
            }
        }
        see(user, &entry);
        record_free(&r);
    }
    free(files);
}

size_t cache_clear(void)
{
    cache_folder folder;
    disk_folder(&folder, NULL);
    size_t count = 0, removed = 0;
    time_t now = time(NULL);
    cache_drop_memory();
    seen_file *files = folder.path[0] ? list_files(&folder, &count) : NULL;
    for (size_t k = 0; k < count; k++) {
        if (is_part(files[k].name) && !is_stale(&files[k], now))
            continue; // another process is writing it
        removed += is_entry(files[k].name);
        disk_remove(&folder, files[k].name);
    }
    free(files);
    return removed;
}

cache_counts cache_counts_now(void)
{
    pthread_mutex_lock(&lock);
    cache_counts now = counts;
    pthread_mutex_unlock(&lock);
    return now;
}

void disk_count(bool is_hit)
{
    count_up(is_hit ? &counts.hits : &counts.misses);
}
