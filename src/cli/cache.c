// kiln cache: the folder of compiled kernels, looked at, emptied, and asked why a file was compiled
// again.
#include "rt/cache/cache.h"

#include <stdlib.h>
#include <time.h>

#include "cli/cli.h"

static void print_bytes(uint64_t bytes)
{
    if (bytes < 10240)
        printf("%llu bytes", (unsigned long long)bytes);
    else if (bytes < (uint64_t)10 << 20)
        printf("%.1f KiB", (double)bytes / 1024);
    else
        printf("%.1f MiB", (double)bytes / (1 << 20));
}

static int show_state(void)
{
    cache_state state;
    cache_look(&state);
    if (!state.is_on)
        printf("no cache: %s\n", state.reason);
    if (!state.folder[0])
        return EXIT_FINE;
    printf("folder:  %s\nentries: %llu\nsize:    ", state.folder,
           (unsigned long long)state.entry_count);
    print_bytes(state.bytes);
    printf(" of at most ");
    print_bytes(state.limit);
    printf("\n");
    return EXIT_FINE;
}

static void print_entry(void *user, const cache_entry *e)
{
    (void)user;
    char used[32] = "";
    time_t when = (time_t)e->used;
    struct tm local;
    if (localtime_r(&when, &local))
        strftime(used, sizeof used, "%Y-%m-%d %H:%M", &local);
    printf("%-16s %10llu  %-8s %s%s\n", used, (unsigned long long)e->bytes, e->target,
           e->path[0] ? e->path : "(text)",
           e->is_broken    ? " (broken; it will be written again)"
           : e->is_foreign ? " (not used: another user owns it, or may write it)"
                           : "");
}

static int show_why(const char *path)
{
    char *answer = cache_why(path);
    if (!answer)
        return EXIT_WORLD;
    fputs(answer, stdout);
    free(answer);
    return EXIT_FINE;
}

int cli_cache(int argc, char **argv)
{
    cli_args args = CLI_ARGS("cache", argc, argv);
    const char *words[2] = {NULL, NULL};
    int count = 0;
    for (int option; (option = cli_next(&args)) != CLI_END; count++) {
        if (option != CLI_WORD)
            return EXIT_USAGE;
        if (count < 2)
            words[count] = args.value;
    }
    const char *what = words[0];
    if (!count)
        return show_state();
    if (!strcmp(what, "why")) {
        if (count != 2)
            return cli_usage("cache", "why takes one file");
        return show_why(words[1]);
    }
    if (count != 1)
        return cli_usage("cache", "'%s' takes nothing more", what);
    if (!strcmp(what, "list")) {
        cache_each(print_entry, NULL);
        return EXIT_FINE;
    }
    if (!strcmp(what, "clear")) {
        size_t removed = cache_clear();
        printf("%zu %s removed\n", removed, removed == 1 ? "entry" : "entries");
        return EXIT_FINE;
    }
    if (!strcmp(what, "path")) {
        cache_state state;
        cache_look(&state);
        if (!state.folder[0]) {
            fprintf(stderr, "kiln cache: %s\n", state.reason);
            return EXIT_WORLD;
        }
        puts(state.folder);
        return EXIT_FINE;
    }
    return cli_usage("cache", "it is list, clear, path or why, not '%s'", what);
}
