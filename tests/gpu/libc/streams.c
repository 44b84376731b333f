// The kernels of tests/gpu/libc_streams.c.
#include "streams.h"

#include <kiln/kernel.h>
#include <time.h>

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

kernel block(1) void put_back(i32 *out)
{
    FILE *f = fopen("files/back.txt", "r+");
    fgetc(f);
    ungetc('x', f);
    ungetc('y', f); // one more than was read
    out[0] = (i32)ftell(f);
    out[1] = fseek(f, 0, SEEK_CUR);
    out[2] = fgetc(f);
    ungetc('y', f);
    out[3] = fseek(f, -5, SEEK_SET);
    out[4] = fgetc(f);
    out[5] = fgetc(f);
    out[6] = ungetc((char)200, f);
    out[7] = fgetc(f);
    out[8] = ungetc(EOF, f);
    out[9] = fclose(f);
}

kernel block(1) void sleeps(i32 *out)
{
    struct timespec wanted = {10000000000, 0};
    for (i32 times = 0; times < 100; times++)
        out[0] += nanosleep(&wanted, NULL);
}
