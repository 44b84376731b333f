// Runs another program with its output in memory. The child gets /dev/null as input and one pipe as
// output and error.
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *in_folder(arena *a, str folder, const char *program)
{
    const char *path = str_format(a, "%.*s/%s", (int)folder.len, folder.at, program);
    return folder.len && !access(path, X_OK) ? path : NULL;
}

const char *proc_find(arena *a, const char *program, const char *const *more)
{
    const char *found = NULL;
    for (const char *at = getenv("PATH"); at && *at && !found; at += *at == ':') {
        size_t len = strcspn(at, ":");
        found = in_folder(a, (str){at, len}, program);
        at += len;
    }
    for (; !found && more && *more; more++)
        found = in_folder(a, str_of(*more), program);
    return found;
}

const char *proc_find_cuda(arena *a, const char *program)
{
    const char *home = getenv("CUDA_HOME");
    const char *folders[] = {"/usr/local/cuda/bin", home ? str_format(a, "%s/bin", home) : NULL,
                             NULL};
    return proc_find(a, program, folders);
}

static str read_all(arena *a, int from)
{
    text all = {.in = a};
    char piece[4096];
    ssize_t len;
    text_puts(&all, "");
    while ((len = read(from, piece, sizeof piece)) > 0 || (len < 0 && errno == EINTR))
        if (len > 0)
            text_add(&all, piece, (size_t)len);
    return (str){all.at, all.len};
}

static int spawn(const char *const *argv, int to, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int k = 1; k <= 2 && !failed; k++)
        failed = posix_spawn_file_actions_adddup2(&actions, to, k);
    // The prototype lacks a const that POSIX promises.
    char *const *words;
    memcpy(&words, &argv, sizeof words);
    if (!failed)
        failed = posix_spawnp(child, argv[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

bool proc_run(arena *a, const char *const *argv, proc_result *out, const char **reason)
{
    int ends[2], status = 0;
    pid_t child;
    *out = (proc_result){0};
    if (pipe(ends)) {
        *reason = strerror(errno);
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    int failed = spawn(argv, ends[1], &child);
    close(ends[1]);
    if (!failed)
        out->output = read_all(a, ends[0]);
    close(ends[0]);
    if (failed) {
        *reason = strerror(failed);
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}
