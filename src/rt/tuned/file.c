// The table on disk: "tuned.txt" in the cache's folder. A process keeps what it has read and looks
// at the file's date before each use. Writers take turns by a lock file, read the file again, add
// their rows, write aside and rename: a reader sees a whole table. A file that cannot be read, or
// that others may write, is no table. Start reading at refresh and tuned_merge.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/str.h"
#include "rt/cache/disk.h"
#include "rt/tuned/tuned.h"

static const char file_name[] = "tuned.txt", lock_name[] = "tuned.lock";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tuned_table known; // what is shipped for known_device, and over it the file
static char known_device[TUNED_FIELD];
static char known_path[1200];  // of the file that it was read from; "": not read yet
static struct stat known_stat; // as it was then; st_ino 0: there was none

static bool find_file(char path[1200], cache_folder *folder, const char **why)
{
    if (!disk_place(folder, why))
        return false;
    int len = snprintf(path, 1200, "%s/%s", folder->path, file_name);
    *why = len > 0 && len < 1200 ? "" : "the folder's name is too long";
    return !**why;
}

static bool read_file(tuned_table *t, const char *path)
{
    uint8_t *bytes;
    size_t len;
    if (!disk_slurp_own(path, &bytes, &len))
        return true; // none
    bool ok = tuned_read(t, (const char *)bytes, len);
    free(bytes);
    return ok;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// The end of the line at `at`, behind its newline.
static const char *end_of_line(const char *at, const char *last)
{
    const char *newline = memchr(at, '\n', (size_t)(last - at));
    return newline ? newline + 1 : last;
}

static bool is_row_of(const char *line, const char *last, const char *device, size_t name)
{
    return (size_t)(last - line) > name && line[name] == '\t' && !memcmp(line, device, name);
}

// Of what is shipped the rows of one device, which stand together: a program waits for this at its
// first product.
static bool read_shipped(tuned_table *t, const char *device)
{
    size_t len = 0, name = strlen(device);
    const char *at = embed_find("lib/tuned.txt", &len), *last = at ? at + len : NULL;
    while (at < last && !is_row_of(at, last, device, name))
        at = end_of_line(at, last);
    const char *first = at;
    while (at < last && is_row_of(at, last, device, name))
        at = end_of_line(at, last);
    return at == first || tuned_read(t, first, (size_t)(at - first));
}

// Makes `known` what the file is now, and what is shipped for the device. Without memory it stays
// as it was.
static void refresh(const char *device)
{
    char path[1200] = "none";
    cache_folder folder;
    const char *why;
    struct stat now = {0};
    bool is_there = find_file(path, &folder, &why) && !stat(path, &now);
    if (!is_there)
        now = (struct stat){0};
    if (!strcmp(path, known_path) && is_same_file(&now, &known_stat) &&
        !strcmp(device, known_device))
        return;
    tuned_table fresh = {0};
    bool ok = read_shipped(&fresh, device);
    if (ok && is_there)
        ok = read_file(&fresh, path);
    if (!ok) {
        tuned_free(&fresh);
        return;
    }
    tuned_free(&known);
    known = fresh;
    memcpy(known_path, path, sizeof known_path);
    snprintf(known_device, sizeof known_device, "%s", device);
    known_stat = now;
}

bool tuned_each(const char *device, int driver, const char *program,
                void (*see)(void *user, const tuned_row *row), void *user)
{
    const tuned_row *rows;
    pthread_mutex_lock(&lock);
    refresh(device);
    size_t count = tuned_rows(&known, device, driver, program, &rows);
    for (size_t n = 0; n < count; n++)
        see(user, &rows[n]);
    pthread_mutex_unlock(&lock);
    return count;
}

bool tuned_lookup(const char *device, int driver, const char *program, const char *sizes,
                  char choice[TUNED_FIELD])
{
    pthread_mutex_lock(&lock);
    refresh(device);
    const tuned_row *row = tuned_find(&known, device, driver, program, sizes);
    if (row)
        memcpy(choice, row->choice, strlen(row->choice) + 1); // shorter than a field
    pthread_mutex_unlock(&lock);
    return row;
}

bool tuned_load(tuned_table *out, char path[1200], char *why, size_t size)
{
    cache_folder folder;
    const char *reason;
    *out = (tuned_table){0};
    if (!find_file(path, &folder, &reason)) {
        snprintf(why, size, "%s", reason);
        return false;
    }
    if (read_file(out, path))
        return true;
    tuned_free(out);
    snprintf(why, size, "there is no memory for the table");
    return false;
}

// Held until it is closed; -1: the file system has no locks, and the last writer wins.
static int take_turn(const cache_folder *folder)
{
    char path[1200];
    int len = snprintf(path, sizeof path, "%s/%s", folder->path, lock_name);
    int fd = len > 0 && (size_t)len < sizeof path
                 ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    if (fd >= 0 && flock(fd, LOCK_EX)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// With the writers' turn taken.
static bool merge(const cache_folder *folder, const char *path, const tuned_table *more, char *why,
                  size_t size)
{
    tuned_table all = {0};
    size_t len = 0;
    snprintf(why, size, "there is no memory for the table");
    bool ok = read_file(&all, path);
    char *lines = ok ? tuned_write(more, &len) : NULL;
    ok = lines && tuned_read(&all, lines, len);
    free(lines);
    lines = ok ? tuned_write(&all, &len) : NULL;
    ok = lines;
    if (lines && !disk_write_text(folder, file_name, (blob){(const uint8_t *)lines, len})) {
        disk_failure(folder, &(record){0}, why, size);
        ok = false;
    }
    free(lines);
    tuned_free(&all);
    return ok;
}

bool tuned_merge(const tuned_table *more, char *why, size_t size)
{
    char path[1200];
    cache_folder folder;
    const char *reason;
    if (!find_file(path, &folder, &reason)) {
        snprintf(why, size, "%s", reason);
        return false;
    }
    int turn = disk_make_folder(&folder) ? take_turn(&folder) : -1;
    bool ok = merge(&folder, path, more, why, size);
    if (turn >= 0)
        close(turn);
    return ok;
}
