// Counts words: lines of any length, a hash table of lists, a sort of pointers.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct entry {
    char *word;
    int count;
    struct entry *next;
};
static unsigned hash(const char *s)
{
    unsigned h = 5381;
    while (*s)
        h = h * 33 ^ (unsigned char)*s++;
    return h;
}
static int by_count(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    return x->count != y->count ? y->count - x->count : strcmp(x->word, y->word);
}
int main(void)
{
    struct entry *table[64] = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    int total = 0, distinct = 0;
    while ((len = getline(&line, &room, stdin)) != -1) {
        for (char *p = line; *p; p++)
            *p = isalpha((unsigned char)*p) ? tolower((unsigned char)*p) : ' ';
        for (char *w = strtok(line, " "); w; w = strtok(NULL, " ")) {
            unsigned h = hash(w) % 64;
            struct entry *e = table[h];
            while (e && strcmp(e->word, w))
                e = e->next;
            if (!e) {
                e = malloc(sizeof *e);
                e->word = strdup(w);
                e->count = 0;
                e->next = table[h];
                table[h] = e;
                distinct++;
            }
            e->count++;
            total++;
        }
    }
    struct entry **all = malloc(distinct * sizeof *all);
    int n = 0;
    for (int i = 0; i < 64; i++)
        for (struct entry *e = table[i]; e; e = e->next)
            all[n++] = e;
    qsort(all, n, sizeof *all, by_count);
    printf("%d words, %d distinct\n", total, distinct);
    for (int i = 0; i < n && i < 10; i++)
        printf("%6d %-12s %5.1f%%\n", all[i]->count, all[i]->word, 100.0 * all[i]->count / total);
    for (int i = 0; i < n; i++) {
        free(all[i]->word);
        free(all[i]);
    }
    free(all);
    free(line);
    return distinct > 20 ? EXIT_FAILURE : EXIT_SUCCESS;
}
