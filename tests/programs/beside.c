// Attributes beside one of several names belong to that one alone; they may follow a bit-field or
// an enumerator, and stand where a type or a declarator in parentheses begins.
#include <stddef.h>
#include <stdio.h>
struct aligned {
    char x;
    int a __attribute__((aligned(16))), b;
    char c;
    char __attribute__((aligned(8))) d, e;
};
struct bits {
    int a : 3 __attribute__((unused));
    unsigned b : 4 __attribute__((unused)), c : 5;
    int d __attribute__((unused));
};

#define HINT __attribute__((unused))
#define OUT  __attribute__((noinline))
enum HINT sizes { SMALL HINT, LARGE HINT = 5 };
static int four(void)
{
    return 4;
}
typedef int(OUT *getter)(void);
static int OUT(same)(int x)
{
    return x;
}
struct hints {
    HINT int a;
    int HINT b;
    int(HINT *p)(void);
};
static int sum(HINT int x, int HINT y, HINT int(HINT *get)(void))
{
    return x + y + get();
}

int main(void)
{
    printf("%zu %zu %zu %zu %zu %zu\n", sizeof(struct aligned), offsetof(struct aligned, a),
           offsetof(struct aligned, b), offsetof(struct aligned, c), offsetof(struct aligned, d),
           offsetof(struct aligned, e));
    struct bits f = {1, 2, 3, 4};
    printf("%d%u%u%d\n", f.a, f.b, f.c, f.d);
    getter get = four;
    void *nothing = (HINT void *)0;
    struct hints h = {1, 2, four};
    int HINT one = 1, HINT two = 2;
    printf("%d %d %d\n", ((HINT int (*)(void))get)(), ((int(HINT *)(void))four)(), nothing == 0);
    printf("%d %d %d %zu\n", sum(one, two, get), same(LARGE), h.p(), sizeof(HINT int));
    return 0;
}
