// offsetof as programs have written it since before C had it: a constant, wherever one is wanted.
#include <stddef.h>
#include <stdio.h>
typedef struct part {
    char c;
    float at[3];
    struct {
        int a, b[4];
    } in;
    unsigned bits : 3;
} part;
#ifdef __clang__ // which takes it in initialisers alone
#    define OFFSET(t, m) offsetof(t, m)
#    define AS_INT(t, m) (int)offsetof(t, m)
#else
#    define OFFSET(t, m) ((size_t) & ((t *)0)->m)
#    define AS_INT(t, m) ((int)(long)&(((t *)0)->m))
#endif
#define FROM_NULL(t, m)    ((unsigned long)((char *)&((t *)0)->m - (char *)0))
#define container(p, t, m) ((t *)((char *)(p)-OFFSET(t, m)))
static size_t table[] = {OFFSET(part, at), OFFSET(part, at[2]), OFFSET(part, in.b[1]),
                         sizeof(((part *)0)->at), FROM_NULL(part, in)};
static const int fixed[] = {AS_INT(part, in.a), AS_INT(part, at[1])};
static int list[OFFSET(part, at)];
enum { E = OFFSET(part, in.b), F = AS_INT(part, in) };
_Static_assert(OFFSET(part, in) == 16, "where it is");
struct narrow {
    int x : OFFSET(part, at);
};
static unsigned long row = (unsigned long)&((float (*)[3])0)[1];
static long behind = (long)&((part *)8)->at, elements = (part *)200 - (part *)40;
static part *eleventh = (part *)64 + 1;

int main(void)
{
    for (int i = 0; i < 5; i++)
        printf("%zu ", table[i]);
    printf("%d %d %zu %d %d %lu %ld %p\n", fixed[0], fixed[1], sizeof list, E, F, row, behind,
           (void *)eleventh);
    switch (16) {
    case OFFSET(part, in): puts("in"); break;
    default: puts("other");
    }
    int i = 2;
    struct narrow n = {-8};
    part p = {.c = 'p', .in = {.a = 5}};
    int *a = &p.in.a;
    printf("%zu %d %ld %c\n", OFFSET(part, at[i]), n.x, elements, container(a, part, in.a)->c);
    return 0;
}
