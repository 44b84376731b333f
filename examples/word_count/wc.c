// A plain C program: counts lines, words and bytes of its standard input. gcc compiles it for the
// host, `kiln run --main` runs it in one thread of a device.
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char line[256], *rest;
    int lines = 0, words = 0;
    long bytes = 0;
    while (fgets(line, sizeof line, stdin)) {
        lines++;
        bytes += (long)strlen(line);
        for (char *at = strtok_r(line, " \t\n", &rest); at; at = strtok_r(NULL, " \t\n", &rest))
            words++;
    }
    printf("%d %d %ld %s\n", lines, words, bytes, argc > 1 ? argv[1] : "");
    return lines ? 0 : 3;
}
