// Paths of kernels: resolved beneath the folder that a permission names, by the kernel of the
// system (openat2) where it can, else part by part with no link followed at all. Start reading at
// io_find_folder.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/io/io.h"

static bool has_dots(const char *path)
{
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");
        if (len == 2 && at[0] == '.' && at[1] == '.')
            return true;
        at += len + (at[len] == '/');
    }
    return false;
}

// What follows the folder in the path, or NULL: it does not lie in there.
static const char *beneath(const char *folder, const char *path)
{
    size_t len = strlen(folder);
    while (len > 1 && folder[len - 1] == '/')
        len--;
    if (len == 1 && folder[0] == '/')
        return path + 1;
    if (strncmp(folder, path, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path + len;
}

static const char *rest_of(const io_grant *g, const char *path)
{
    const char *rest = beneath(g->path, path);
    if (!rest)
        rest = beneath(g->asked, path);
    while (rest && *rest == '/')
        rest++;
    if (rest && g->file && strcmp(rest, g->file) != 0)
        return NULL;
    return rest && !*rest ? "." : rest;
}

static bool allows(const io_state *s, io_right right, const char *path, int *folder,
                   const char **rest)
{
    for (const io_grant *g = s->grants; g; g = g->next) {
        const char *found = g->right == right ? rest_of(g, path) : NULL;
        if (!found)
            continue;
        *folder = g->folder;
        *rest = found;
        return true;
    }
    return false;
}

static void refuse_path(io_state *s, unsigned rights, const char *path)
{
    const char *slash = strrchr(path, '/');
    int len = slash && slash != path ? (int)(slash - path) : 1;
    const char *right = rights & 1u << IO_WRITE ? "write" : "read";
    if (has_dots(path))
        io_refuse(s, "a kernel may not %s '%s': a path with '..' is never allowed", right, path);
    else
        io_refuse(s,
                  "a kernel may not %s '%s': allow it with kiln_allow(k, \"%s\", \"%.*s\") or "
                  "--allow-%s=%.*s",
                  right, path, right, len, path, right, len, path);
}

bool io_find_folder(io_state *s, const char *path, unsigned rights, io_place *out)
{
    char *whole = out->whole;
    char cwd[IO_PATH] = "";
    if (*path != '/' && !getcwd(cwd, sizeof cwd))
        return false;
    while (path[0] == '.' && path[1] == '/')
        path += 2 + strspn(path + 2, "/");
    bool is_here = !strcmp(path, ".");
    snprintf(whole, sizeof out->whole, "%s%s%s", cwd, *cwd && !is_here ? "/" : "",
             is_here ? "" : path);
    bool may = !has_dots(whole);
    pthread_mutex_lock(&s->lock);
    for (unsigned right = IO_READ; right <= IO_WRITE && may; right++)
        if (rights & 1u << right)
            may = allows(s, (io_right)right, whole, &out->folder, &out->rest);
    pthread_mutex_unlock(&s->lock);
    if (!may) {
        bool may_read = false;
        if (rights == (1u << IO_READ | 1u << IO_WRITE)) { // says the one that is missing
            pthread_mutex_lock(&s->lock);
            may_read = allows(s, IO_READ, whole, &out->folder, &out->rest);
            bool may_write = allows(s, IO_WRITE, whole, &out->folder, &out->rest);
            pthread_mutex_unlock(&s->lock);
            rights = may_write && !may_read ? 1u << IO_READ : 1u << IO_WRITE;
        }
        refuse_path(s, rights, whole);
    }
    return may;
}

int io_open_by_parts(int folder, const char *rest, int flags, uint32_t mode)
{
    char name[256];
    int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    while (at >= 0) {
        size_t len = strcspn(rest, "/");
        const char *next = rest + len + strspn(rest + len, "/");
        if (len >= sizeof name || (len == 2 && rest[0] == '.' && rest[1] == '.')) {
            close(at);
            errno = len >= sizeof name ? ENAMETOOLONG : EXDEV;
            return -1;
        }
        memcpy(name, rest, len);
        name[len] = 0;
        bool is_last = !*next;
        int inner = is_last ? openat(at, len ? name : ".", flags | O_NOFOLLOW, mode)
                            : openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int why = errno;
        close(at);
        errno = why;
        if (inner < 0 || is_last)
            return inner;
        at = inner;
        rest = next;
    }
    return at;
}

#if defined(SYS_openat2)
typedef struct open_how_words { // struct open_how of the system
    uint64_t flags, mode, resolve;
} open_how_words;
enum { NO_MAGIC_LINKS = 2, BENEATH = 8 };
#endif

int io_open_beneath(int folder, const char *rest, int flags, uint32_t mode)
{
    int fd = -1;
    flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY); // openat2 minds
    errno = ENOSYS;
#if defined(SYS_openat2)
    open_how_words how = {(uint64_t)(unsigned)flags, flags & O_CREAT ? mode : 0,
                          NO_MAGIC_LINKS | BENEATH};
    do
        fd = (int)syscall(SYS_openat2, folder, rest, &how, sizeof how);
    while (fd < 0 && (errno == EAGAIN || errno == EINTR));
#endif
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = io_open_by_parts(folder, rest, flags, mode);
    return fd < 0 ? -errno : fd;
}

int io_open_parent(int folder, const char *rest, const char **name)
{
    char parent[IO_PATH];
    const char *slash = strrchr(rest, '/');
    *name = slash ? slash + 1 : rest;
    if (!**name || !strcmp(*name, ".") || (size_t)(*name - rest) >= sizeof parent)
        return -EINVAL;
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - rest) : 1, slash ? rest : ".");
    return io_open_beneath(folder, parent, O_PATH | O_DIRECTORY, 0);
}
