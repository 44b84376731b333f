// Constructors and destructors, where each thread has the variables of the file; above the pragma
// they are host code.
#include <kiln/kernel.h>

__attribute__((constructor)) static void of_the_host(int argc, char **argv)
{
    start_everything(argc, argv);
}

#pragma kiln variables(thread)
static i32 ready;

__attribute__((constructor)) static void with_arguments(int argc, char **argv)
{
    ready = argc;
}

__attribute__((constructor(70000))) static void late(void)
{
    ready = 1;
}

static void unknown(void) __attribute__((__constructor__));
static void unknown(void)
{
    ready = start_everything(0, NULL);
}

static void never(void) __attribute__((destructor));
static void never(void)
{
    ready = 0;
}

kernel block(1) void f(i32 *out)
{
    out[0] = ready;
}
