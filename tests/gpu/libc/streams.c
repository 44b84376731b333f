// The kernels of tests/gpu/libc_streams.c.
#include "streams.h"

#include <kiln/kernel.h>

kernel block(1) void streams(i32 *out)
{
    use_streams(out);
}

// Every thread of a warp writes a line of its own, and a format that only the device knows.
kernel block(32) void lines(i32 *out)
{
    char format[16];
    u32 i = thread_x();
    snprintf(format, sizeof format, "%%%ud|%%s\n", i % 5 + 1);
    printf(format, (i32)i * 7, i % 2u ? "odd" : "even");
    out[i] = fputs("", stdout);
}

kernel block(1) void echo(i32 *out)
{
    char line[32];
    i32 count = 0, value;
    while (scanf("%d", &value) == 1)
        count += value;
    out[0] = count;
    out[1] = fgets(line, 32, stdin) != NULL && line[0] == 'e';
    out[2] = getchar();
    out[3] = fopen("/etc/hostname", "r") == NULL && errno == EACCES;
}

kernel block(1) void full(i32 *out)
{
    FILE *f = fopen("/dev/full", "w");
    out[0] = f != NULL;
    out[1] = fputs("text", f) < 0 && errno == ENOSPC;
    out[2] = fprintf(f, "%d", 1) < 0;
    out[3] = (i32)fwrite("text", 1, 4, f);
    out[4] = ferror(f) != 0;
    out[5] = fclose(f) + fclose(stdout);
}
