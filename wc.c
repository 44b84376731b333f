#include <kiln/kernel.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
// counts words of a file, by one thread; then sorts them
static int cmp(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
kernel block(1) void wordcount(u32 *n)
{
    FILE *f = fopen("in.txt", "r");
    if (!f) { perror("in.txt"); return; }
    char line[128]; char *words[64]; u32 c = 0;
    while (fgets(line, sizeof line, f)) {
        for (char *p = strtok(line, " \n"); p; p = strtok(NULL, " \n"))
            if (c < 64) { words[c] = malloc(strlen(p) + 1); strcpy(words[c++], p); }
    }
    fclose(f);
    qsort(words, c, sizeof *words, cmp);
    for (u32 i = 0; i < c; i++) { printf("%2u %-10s|\n", i, words[i]); free(words[i]); }
    *n = c;
}
