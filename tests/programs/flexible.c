// Arrays without a length at the end of structs: in memory of the heap, in bytes of a local array,
// and what sizeof, copies and initialisers make of them.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct row {
    unsigned short n;
    double sum;
    float v[];
} row;
typedef struct text {
    size_t len;
    char s[];
} text;
typedef struct list {
    struct list *next;
    int n;
    struct {
        int a;
        char b;
    } e[];
} list;
static row *make(int n)
{
    row *r = malloc(sizeof *r + n * sizeof r->v[0]);
    r->n = n;
    r->sum = 0;
    for (int i = 0; i < n; i++) {
        r->v[i] = i * 1.5f;
        r->sum += r->v[i];
    }
    return r;
}
static text *dup(const char *s)
{
    text *t = malloc(sizeof(text) + strlen(s) + 1);
    t->len = strlen(s);
    memcpy(t->s, s, t->len + 1);
    return t;
}
int main(void)
{
    row *r = make(7), copy = *r, zero = {3};
    printf("%zu %zu %d %g %g %d\n", sizeof *r, offsetof(row, v), r->n, r->sum, r->v[6],
           copy.n + zero.n);
    text *t = dup("hello flexible");
    printf("%s %zu %c %zu\n", t->s, t->len, *(t->s + 1), sizeof(text));
    list *l = calloc(1, sizeof *l + 3 * sizeof l->e[0]);
    for (int i = 0; i < 3; i++)
        l->e[i].a = i, l->e[i].b = 'a' + i;
    int s = 0;
    for (int i = 0; i < 3; i++)
        s += l->e[i].a * l->e[i].b;
    printf("%d %zu\n", s, sizeof(list));
    float *p = r->v;
    p[2] = 9;
    printf("%g %g\n", p[2], r->v[2]);
    r = realloc(r, sizeof *r + 20 * sizeof(float));
    r->v[19] = 4;
    printf("%g\n", r->v[19] + r->v[5]);
    _Alignas(row) unsigned char place[sizeof(row) + 4 * sizeof(float)];
    row *in = (row *)place;
    *in = zero;
    in->v[3] = 2.5f;
    printf("%g %d\n", in->v[3], in->n);
    free(r);
    free(t);
    free(l);
    return 0;
}
