// Files by POSIX calls. Reading copies (no mmap): a file that shrinks while it is used must not
// kill the process.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *reason_of(arena *a, int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR: return "no such file";
    case EACCES:
    case EPERM: return "permission denied";
    case EISDIR: return "is a folder";
    case ENOSPC: return "the disk is full";
    case EROFS: return "the file system is read-only";
    case ENAMETOOLONG: return "the name is too long";
    default: return str_format(a, "system error %d", error);
    }
}

static const char *too_large(arena *a, size_t limit)
{
    if (limit >= 1 << 20)
        return str_format(a, "is larger than %zu MiB", limit >> 20);
    return str_format(a, "is larger than %zu bytes", limit);
}

static ssize_t read_some(int fd, char *to, size_t len)
{
    ssize_t got;
    do
        got = read(fd, to, len);
    while (got < 0 && errno == EINTR);
    return got;
}

bool file_read(arena *a, const char *path, size_t limit, str *out, const char **reason)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // opening a FIFO must not wait
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        *reason = reason_of(a, errno);
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && (uint64_t)st.st_size > limit)) {
        *reason = S_ISDIR(st.st_mode) ? "is a folder" : too_large(a, limit);
        close(fd);
        return false;
    }
    // Pipes and /proc files have no size: read until the end or the limit.
    size_t cap = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : 64 * 1024;
    if (cap > limit + 1)
        cap = limit + 1;
    if (!S_ISREG(st.st_mode))
        fcntl(fd, F_SETFL, 0);
    char *bytes = arena_alloc(a, cap + 1);
    size_t len = 0;
    ssize_t got;
    while ((got = read_some(fd, bytes + len, cap - len)) > 0) {
        len += (size_t)got;
        if (len > limit)
            break;
        if (len == cap) {
            size_t more = cap * 2 > limit + 1 ? limit + 1 : cap * 2;
            bytes = arena_grow(a, bytes, cap + 1, more + 1);
            cap = more;
        }
    }
    int error = errno;
    close(fd);
    if (got < 0 || len > limit) {
        *reason = got < 0 ? reason_of(a, error) : too_large(a, limit);
        return false;
    }
    bytes[len] = 0;
    *out = (str){bytes, len};
    return true;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t put = write(fd, bytes, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        len -= (size_t)put;
    }
    return true;
}

bool file_write(arena *a, const char *path, const void *bytes, size_t len, const char **reason)
{
    struct stat st;
    bool exists = !stat(path, &st);
    if (exists && S_ISDIR(st.st_mode)) {
        *reason = "is a folder";
        return false;
    }
    // A device or pipe (/dev/stdout) cannot be replaced by a rename.
    if (exists && !S_ISREG(st.st_mode)) {
        int device = open(path, O_WRONLY | O_CLOEXEC);
        bool wrote = device >= 0 && write_all(device, bytes, len);
        if (!wrote)
            *reason = reason_of(a, errno);
        if (device >= 0)
            close(device);
        return wrote;
    }
    char *temporary = str_format(a, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    if (fd < 0) {
        *reason = errno == ENOENT ? "no such folder" : reason_of(a, errno);
        return false;
    }
    mode_t mask = umask(0);
    umask(mask);
    bool ok = write_all(fd, bytes, len) && !fchmod(fd, (mode_t)(0666 & ~mask));
    int error = errno;
    if (close(fd) < 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(temporary, path) < 0) {
        ok = false;
        error = errno;
    }
    if (!ok) {
        unlink(temporary);
        *reason = reason_of(a, error);
    }
    return ok;
}

bool file_exists(const char *path)
{
    struct stat st;
    return !stat(path, &st) && !S_ISDIR(st.st_mode);
}

const char *file_library(const char *path, char *room, size_t room_len)
{
    if (strchr(path, '/') || !file_exists(path) || strlen(path) + 3 > room_len)
        return path;
    snprintf(room, room_len, "./%s", path);
    return room;
}

bool file_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool file_make_folders(arena *a, const char *path, const char **reason)
{
    char *copy = str_dup(a, str_of(path));
    for (char *p = copy + 1; copy[0]; p++) {
        if (*p != '/' && *p)
            continue;
        char kept = *p;
        *p = 0;
        if (mkdir(copy, 0777) < 0 && !(errno == EEXIST && file_is_folder(copy))) {
            *reason = errno == EEXIST ? "a file with that name is in the way" : reason_of(a, errno);
            return false;
        }
        *p = kept;
        if (!kept)
            break;
    }
    return true;
}

str file_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return (str){"", 0};
    return (str){path, slash == path ? 1 : (size_t)(slash - path)};
}

const char *file_join(arena *a, str folder, str name)
{
    if (!folder.len || (name.len && name.at[0] == '/'))
        return str_dup(a, name);
    const char *slash = folder.at[folder.len - 1] == '/' ? "" : "/";
    return str_format(a, "%.*s%s%.*s", (int)folder.len, folder.at, slash, (int)name.len, name.at);
}
