// What runs before main and after it: constructors by priority, destructors, what atexit
// registered, the last one first; also when exit is called deep inside.
#include <stdio.h>
#include <stdlib.h>

static int trace, table[8];
static char *log_text;

static void note(const char *what)
{
    printf("%s (trace %d)\n", what, trace);
}

static void __attribute__((constructor)) fill_table(void)
{
    for (int i = 0; i < 8; i++)
        table[i] = i * i;
    trace = trace * 10 + 3;
}

__attribute__((constructor(200), unused)) static void second(void)
{
    trace = trace * 10 + 2;
}

static void first(void) __attribute__((__constructor__(101)));
static void first(void)
{
    trace = trace * 10 + 1;
    log_text = malloc(16);
    snprintf(log_text, 16, "made by %s", "first");
}

static __attribute__((destructor)) void last(void)
{
    note("last destructor but one");
}

static __attribute__((destructor(150))) void very_last(void)
{
    note("last destructor");
    free(log_text);
}

static void registered_first(void)
{
    note("registered first");
}

static void registered_second(void)
{
    note("registered second");
    atexit(registered_first); // in the middle of it all: the next one
}

static void quit(int depth)
{
    if (depth)
        quit(depth - 1);
    exit(7);
}

// A table of commands of the same type as what atexit takes: none of them is called by exit.
static void by_name(void)
{
    note("a command");
}

static void by_exit(void)
{
    quit(3);
}

static void (*const commands[])(void) = {by_name, by_exit};

int main(void)
{
    printf("%d %d %s\n", trace, table[5], log_text);
    if (atexit(registered_first) || atexit(registered_second))
        return 1;
    for (int i = 0; i < 2; i++)
        commands[i]();
    return 0;
}
