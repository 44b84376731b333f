// Paths of kernels: resolved beneath the folder that a permission names, by the kernel of the
// system (openat2) where it can, else part by part with no link followed at all. Start reading at
// io_find.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // openat2 and its kin
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/io/io.h"

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
        int folder_only = rest[len] == '/' ? O_DIRECTORY : 0; // what a slash follows is a folder
        int inner = is_last ? openat(at, len ? name : ".", flags | O_NOFOLLOW | folder_only, mode)
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

int io_absolute(const char *path, char *out, size_t size)
{
    size_t at = 0;
    if (*path != '/') {
        if (!getcwd(out, size))
            return errno == ERANGE ? -ENAMETOOLONG : -errno;
        at = strlen(out);
        at -= at == 1; // the root brings its slash with the first part
    }
    while (*path) {
        size_t slashes = strspn(path, "/"), len = strcspn(path + slashes, "/");
        const char *part = path + slashes;
        path = part + len;
        if (len == 1 && *part == '.' && *path)
            continue;
        if (at + len + 2 > size)
            return -ENAMETOOLONG;
        out[at++] = '/'; // at the end, too: "x/" and "x/." name a folder
        memcpy(out + at, part, len);
        at += len;
    }
    out[at] = 0;
    return 0;
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
    return path + len + (path[len] == '/');
}

// A file is allowed by its own name, and by the one that the permission was given with.
static const char *rest_of(const io_grant *g, const char *path)
{
    const char *rest = beneath(g->path, path);
    if (g->file)
        return (rest && !strcmp(rest, g->file)) || !strcmp(g->asked, path) ? g->file : NULL;
    if (!rest)
        rest = beneath(g->asked, path);
    return rest && !*rest ? "." : rest;
}

// The permission number `index` of those that name the path; NULL: there are not so many.
static const io_grant *naming(const io_place *p, io_right right, uint32_t index)
{
    for (const io_grant *g = p->grants; g; g = g->next)
        if (g->right == right && rest_of(g, p->whole) && !index--)
            return g;
    return NULL;
}

// Is everything that the first allows in what the second names?
static bool lies_in(const io_grant *inner, const io_grant *outer)
{
    const char *rest = beneath(outer->path, inner->path);
    if (!outer->file)
        return rest != NULL;
    return rest && !*rest && inner->file && !strcmp(inner->file, outer->file);
}

static bool next_one(io_place *p, io_right right, const io_grant **found)
{
    *found = naming(p, right, p->tried);
    p->tried += *found != NULL;
    return *found != NULL;
}

// Both rights: of two permissions, one in the other, the inner one is opened, so that no link leads
// to what only one of them allows.
static bool next_pair(io_place *p, const io_grant **found)
{
    uint32_t readers = 0;
    while (naming(p, IO_READ, readers))
        readers++;
    for (; readers; p->tried++) {
        const io_grant *reader = naming(p, IO_READ, p->tried % readers);
        const io_grant *writer = naming(p, IO_WRITE, p->tried / readers);
        if (!writer)
            break;
        *found = lies_in(reader, writer) ? reader : lies_in(writer, reader) ? writer : NULL;
        if (*found) {
            p->tried++;
            return true;
        }
    }
    return false;
}

// The next folder that allows all rights, and the rest of the path in it.
static bool next_folder(io_place *p)
{
    const io_grant *found;
    if (p->rights == IO_READS_AND_WRITES ? !next_pair(p, &found)
        : p->rights == IO_READS          ? !next_one(p, IO_READ, &found)
                                         : !next_one(p, IO_WRITE, &found))
        return false;
    p->folder = found->folder;
    p->is_file = found->file != NULL;
    p->rest = rest_of(found, p->whole);
    return true;
}

static void refuse_path(io_state *s, const io_place *p)
{
    const char *path = p->whole, *slash = strrchr(path, '/');
    int len = slash && slash != path ? (int)(slash - path) : 1;
    bool is_write = p->rights == IO_READS_AND_WRITES ? !naming(p, IO_WRITE, 0) // the missing one
                                                     : p->rights == IO_WRITES;
    const char *right = is_write ? "write" : "read";
    if (has_dots(path))
        io_refuse(s, "a kernel may not %s '%s': a path with '..' is never allowed", right, path);
    else
        io_refuse(s,
                  "a kernel may not %s '%s': allow it with kiln_allow(k, \"%s\", \"%.*s\") or "
                  "--allow-%s=%.*s",
                  right, path, right, len, path, right, len, path);
}

// As io_find, and says nothing.
static int look_up(io_state *s, const char *path, unsigned rights, io_place *out)
{
    int failed = io_absolute(path, out->whole, sizeof out->whole);
    if (failed)
        return failed;
    pthread_mutex_lock(&s->lock);
    out->grants = s->grants; // those that are there stay until the context is closed
    pthread_mutex_unlock(&s->lock);
    out->rights = rights;
    out->tried = 0;
    bool may = !has_dots(out->whole) && (!(rights & IO_READS) || naming(out, IO_READ, 0)) &&
               (!(rights & IO_WRITES) || naming(out, IO_WRITE, 0));
    return may ? 0 : -EACCES;
}

// A link in the path led out of every folder that allows it: -EXDEV.
static int refuse_link(io_state *s, const io_place *p)
{
    io_place there;
    char *target = realpath(p->whole, NULL), *slash = target ? strrchr(target, '/') : NULL;
    bool is_read = p->rights == IO_READS || (p->rights == IO_READS_AND_WRITES && target &&
                                             look_up(s, target, IO_READS, &there));
    const char *right = is_read ? "read" : "write";
    if (slash) {
        int len = slash != target ? (int)(slash - target) : 1;
        io_refuse(s,
                  "a kernel may not %s '%s': a link leads out of the folder that is allowed, to "
                  "'%s': use that path, and allow it with kiln_allow(k, \"%s\", \"%.*s\") or "
                  "--allow-%s=%.*s",
                  right, p->whole, target, right, len, target, right, len, target);
    } else {
        io_refuse(s,
                  "a kernel may not %s '%s': a link leads out of the folder that is allowed: allow "
                  "the folder it leads to with kiln_allow(k, \"%s\", FOLDER) or "
                  "--allow-%s=FOLDER, and use the path without the link",
                  right, p->whole, right, right);
    }
    free(target);
    return -EXDEV;
}

int io_find(io_state *s, const char *path, unsigned rights, io_place *out)
{
    int failed = look_up(s, path, rights, out);
    if (failed == -EACCES)
        refuse_path(s, out);
    return failed;
}

int io_find_both(io_state *s, const char *from, const char *to, io_place *here, io_place *there)
{
    int failed = 0;
    if (!look_up(s, to, IO_READS, there))
        failed = io_find(s, from, IO_READS, here);
    if (!failed)
        failed = io_find(s, from, IO_WRITES, here);
    return failed ? failed : io_find(s, to, IO_WRITES, there);
}

int io_open_place(io_state *s, io_place *p, int flags, uint32_t mode)
{
    int fd = -EXDEV;
    p->tried = 0;
    while (fd == -EXDEV && next_folder(p)) // a file that is allowed was no link
        fd = io_open_beneath(p->folder, p->rest, flags | (p->is_file ? O_NOFOLLOW : 0), mode);
    return fd == -EXDEV ? refuse_link(s, p) : fd;
}

// The one before the last part, which may end with a slash: then it must be a folder, and the
// system says so.
static const char *last_slash(const char *path)
{
    const char *found = NULL;
    for (const char *at = path; *at; at++)
        if (*at == '/' && at[1])
            found = at;
    return found;
}

int io_open_parent(io_state *s, io_place *p, const char **name)
{
    int fd = -EXDEV;
    p->tried = 0;
    while (fd == -EXDEV && next_folder(p)) {
        char parent[IO_PATH];
        const char *rest = p->rest, *slash = last_slash(rest);
        *name = slash ? slash + 1 : rest;
        if (!**name || !strcmp(*name, "."))
            return -EINVAL;
        if ((size_t)(*name - rest) >= sizeof parent)
            return -ENAMETOOLONG;
        snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - rest) : 1,
                 slash ? rest : ".");
        fd = io_open_beneath(p->folder, parent, O_PATH | O_DIRECTORY, 0);
    }
    return fd == -EXDEV ? refuse_link(s, p) : fd;
}

// Does a permission to read name that folder, or the one file in it?
static bool grants_read(const io_place *p, const struct stat *folder, const char *name)
{
    size_t len = strcspn(name, "/"); // a folder's name may end with one
    for (const io_grant *g = p->grants; g; g = g->next) {
        struct stat about;
        if (g->right != IO_READ ||
            (g->file && (strlen(g->file) != len || memcmp(g->file, name, len) != 0)))
            continue;
        if (!fstat(g->folder, &about) && about.st_dev == folder->st_dev &&
            about.st_ino == folder->st_ino)
            return true;
    }
    return false;
}

int io_is_readable(const io_place *p, int folder, const char *name)
{
    struct stat here, above;
    int at = fcntl(folder, F_DUPFD_CLOEXEC, 0), result = at < 0 || fstat(at, &here) ? -errno : 0;
    bool is_root = false;
    while (!result && !is_root) {
        result = grants_read(p, &here, name);
        name = "";
        int up = result ? -1 : openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (!result && (up < 0 || fstat(up, &above)))
            result = -errno;
        if (up >= 0)
            close(at);
        at = up >= 0 ? up : at;
        if (!result) {
            is_root = above.st_dev == here.st_dev && above.st_ino == here.st_ino;
            here = above;
        }
    }
    if (at >= 0)
        close(at);
    return result;
}
