// Runs a compiler that ends with its job: in a process group of its own, so that all its parts can
// be ended at once, and beside a shell that does the same when this process is gone, however it
// went. Its folder has this process's number in its name; a later process removes what was left.
// Start reading at child_run.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // pipe2
#endif
#include "dev/cpu/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// --- folders
enum { STALE_SECONDS = 600 }; // another container may have the same /tmp and other numbers
static const char prefix[] = "kiln-cpu-";

static void temporary(char *out, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(out, size, "%s", tmp && *tmp ? tmp : "/tmp");
}

void folder_remove(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
}

static bool is_stale(int in, const char *name)
{
    struct stat s;
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1))
        return false;
    long owner = strtol(name + sizeof prefix - 1, &end, 10);
    return owner > 0 && *end == '-' && !fstatat(in, name, &s, AT_SYMLINK_NOFOLLOW) &&
           S_ISDIR(s.st_mode) && s.st_uid == geteuid() && s.st_mtime + STALE_SECONDS < time(NULL) &&
           kill((pid_t)owner, 0) && errno == ESRCH;
}

static void sweep(void)
{
    char tmp[200], path[480];
    temporary(tmp, sizeof tmp);
    DIR *d = opendir(tmp);
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_stale(dirfd(d), e->d_name)) {
            snprintf(path, sizeof path, "%s/%s", tmp, e->d_name);
            folder_remove(path);
        }
    if (d)
        closedir(d);
}

void folder_name(char *out, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char tmp[200];
    pthread_once(&once, sweep);
    temporary(tmp, sizeof tmp);
    snprintf(out, size, "%s/%s%ld-XXXXXX", tmp, prefix, (long)getpid());
}

// --- the process
// $0 is the folder, the rest the compiler and its arguments. Descriptor 3 ends when this process
// does: then the group ends and the folder goes.
static const char script[] =
    "(trap '' TERM; read x; kill -TERM 0; rm -rf -- \"$0\"; kill -KILL 0) <&3 &\n"
    "exec 3<&-\n"
    "\"$@\"\n"
    "status=$?\n"
    "kill -KILL $!\n"
    "exit $status\n";

static bool spawn(const build_job *job, const char *const *argv, int alive, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    posix_spawnattr_setsigmask(&attributes, &job->signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    bool fine = !posix_spawn_file_actions_adddup2(&actions, alive, 3) &&
                !posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int k = 1; k <= 2 && fine && !job->talks; k++)
        fine = !posix_spawn_file_actions_addopen(&actions, k, "/dev/null", O_WRONLY, 0);
    fine = fine && !posix_spawn(child, "/bin/sh", &actions, &attributes,
                                (char *const *)(uintptr_t)argv, job->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return fine;
}

// Its number stays taken until child_stop cannot use it any more. True: it may have done its work.
// Somebody else in this process may have taken note of its end.
static bool wait_for(build_job *job)
{
    siginfo_t info;
    int status = 1;
    pid_t child = job->group;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) && errno == EINTR)
        continue;
    pthread_mutex_lock(&job->lock);
    job->group = 0;
    pthread_mutex_unlock(&job->lock);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno == ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool child_run(build_job *job, const char *const *argv, size_t count)
{
    enum { MOST = 60 };
    const char *words[MOST + 5] = {"sh", "-c", script, job->folder};
    int ends[2];
    if (count > MOST || pipe2(ends, O_CLOEXEC))
        return false;
    for (size_t k = 0; k < count; k++)
        words[4 + k] = argv[k];
    pid_t child = 0;
    pthread_mutex_lock(&job->lock);
    bool fine = !job->is_stopped && spawn(job, words, ends[0], &child);
    job->group = fine ? child : 0;
    pthread_mutex_unlock(&job->lock);
    close(ends[0]);
    fine = fine && wait_for(job);
    close(ends[1]);
    return fine;
}

void child_stop(build_job *job)
{
    pthread_mutex_lock(&job->lock);
    job->is_stopped = true;
    if (job->group > 0)
        kill(-job->group, SIGKILL);
    pthread_mutex_unlock(&job->lock);
}
