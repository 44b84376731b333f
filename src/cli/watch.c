// kiln watch: kiln run, and again whenever one of the files that the compile has read is saved. The
// folders are watched, not the files, because editors replace files; where inotify is not to be
// had, the files' times are looked at.
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/term.h"
#include "cli/run.h"

enum { POLL_MS = 30, SETTLE_MS = 4, MOST_FILES = 256 };

typedef struct watched {
    char path[4096];
    struct timespec changed;
    off_t size;
    ino_t inode;
} watched;

typedef struct watch {
    int inotify; // -1: poll
    watched files[MOST_FILES];
    size_t count;
    struct timespec saved; // when the file that changed last was
} watch;

static bool look(watched *f)
{
    struct stat info;
    watched before = *f;
    if (stat(f->path, &info)) {
        f->changed = (struct timespec){0};
        f->size = -1;
    } else {
        f->changed = info.st_mtim;
        f->size = info.st_size;
        f->inode = info.st_ino;
    }
    return before.changed.tv_sec != f->changed.tv_sec ||
           before.changed.tv_nsec != f->changed.tv_nsec || before.size != f->size ||
           before.inode != f->inode;
}

static void add_file(watch *w, const char *path)
{
    for (size_t k = 0; k < w->count; k++)
        if (!strcmp(w->files[k].path, path))
            return;
    if (w->count == MOST_FILES || strlen(path) >= sizeof w->files[0].path)
        return;
    watched *f = &w->files[w->count++];
    memset(f, 0, sizeof *f);
    snprintf(f->path, sizeof f->path, "%s", path);
    look(f);
    if (w->inotify < 0)
        return;
    char folder[4096];
    str part = file_folder(path);
    snprintf(folder, sizeof folder, "%.*s", part.len ? (int)part.len : 1, part.len ? part.at : ".");
    uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB;
    if (inotify_add_watch(w->inotify, folder, events) < 0 && errno != ENOENT) {
        close(w->inotify);
        w->inotify = -1;
    }
}

// Has any of the files changed since it was last looked at? Looks at all of them.
static bool any_changed(watch *w)
{
    bool changed = false;
    for (size_t k = 0; k < w->count; k++) {
        if (!look(&w->files[k]))
            continue;
        changed = true;
        w->saved = w->files[k].changed;
    }
    return changed;
}

// From the save, as the file's own time has it, until now.
static double ms_since_save(const watch *w, double start)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double ms = (double)(now.tv_sec - w->saved.tv_sec) * 1e3 +
                (double)(now.tv_nsec - w->saved.tv_nsec) * 1e-6;
    bool is_plausible = w->saved.tv_sec && ms >= 0 && ms < 60000; // moved files keep their time
    return is_plausible ? ms : run_now_ms() - start;
}

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
}

// False: the wait was interrupted.
static bool wait_for_change(watch *w)
{
    for (;;) {
        if (w->inotify < 0) {
            sleep_ms(POLL_MS);
        } else {
            struct pollfd p = {.fd = w->inotify, .events = POLLIN};
            char events[4096];
            // The time limit is for file systems that send no events, such as network ones.
            if (poll(&p, 1, 500) < 0 && errno != EINTR)
                return false;
            if (p.revents && read(w->inotify, events, sizeof events) < 0 && errno != EAGAIN)
                return false;
        }
        if (!any_changed(w))
            continue;
        // A file that is being written is there in halves: wait until it stays as it is.
        for (int k = 0; k < 50; k++) {
            sleep_ms(SETTLE_MS);
            if (!any_changed(w))
                break;
        }
        return true;
    }
}

static void add_inputs(void *user, const char *path)
{
    add_file(user, path);
}

// A file that the run itself writes would start the next one.
static void add_given(watch *w, const run *parsed, const char *path)
{
    for (size_t n = 0; n < parsed->out_count; n++)
        if (!strcmp(parsed->outs[n].path, path))
            return;
    add_file(w, path);
}

// What the command line names beside the source: data, what results are compared with, libraries.
static void add_words(watch *w, const run *parsed)
{
    for (size_t k = 0; k < parsed->launch_count; k++)
        for (size_t n = 0; n < parsed->launches[k].value_count; n++) {
            const char *equals = strchr(parsed->launches[k].values[n], '=');
            if (equals[1] == '@')
                add_given(w, parsed, equals + 2);
        }
    for (size_t n = 0; n < parsed->expect_count; n++)
        add_given(w, parsed, parsed->expects[n].path);
    for (size_t n = 0; n < parsed->grant_count; n++)
        if (!parsed->grants[n].right)
            add_given(w, parsed, parsed->grants[n].what);
}

static void print_rule(int round)
{
    char clock[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &parts));
    if (term_is_tty(stdout) && round)
        printf("\033[2J\033[H");
    printf("--- %s\n", clock);
    fflush(stdout);
}

int cli_watch(int argc, char **argv)
{
    watch *w = calloc(1, sizeof *w);
    run parsed = {.verb = "watch", .seed = 1, .repeat = 1};
    int failed = w ? run_parse(&parsed, argc, argv) : EXIT_WORLD;
    if (!failed && parsed.source)
        failed = cli_usage("watch", "standard input cannot be watched; give a file");
    if (failed) {
        free(w);
        run_free(&parsed);
        return failed;
    }
    w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    parsed.on_input = add_inputs;
    parsed.input_user = w;
    add_file(w, parsed.path);
    add_words(w, &parsed);
    int rounds = parsed.rounds;
    for (int round = 0; !rounds || round < rounds; round++) {
        if (round && !wait_for_change(w))
            break;
        print_rule(round);
        double start = run_now_ms();
        failed = run_once(&parsed);
        printf("%s, %.0f ms%s\n", failed ? "failed" : "ok",
               round ? ms_since_save(w, start) : run_now_ms() - start,
               round ? " after the save" : "");
        fflush(stdout);
        if (failed == EXIT_INTERRUPT)
            break;
    }
    if (w->inotify >= 0)
        close(w->inotify);
    free(w);
    run_free(&parsed);
    return failed;
}
