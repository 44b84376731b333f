// ++ and -- on bools: one more makes true, one less the other value.
#include <stdbool.h>
#include <stdio.h>
struct two {
    bool f : 1;
    bool g;
};
static bool one = false;
static bool list[3] = {1, 0, 1};
int main(void)
{
    bool b = 0;
    printf("%d", b++);
    printf("%d", b++);
    printf("%d", b--);
    printf("%d", b--);
    printf("%d", b--);
    printf("%d\n", b);
    printf("%d", ++b);
    printf("%d\n", --b);
    struct two s = {0};
    s.f++;
    s.f++;
    s.g--;
    printf("%d%d", s.f, s.g);
    printf("%d", s.f--);
    printf("%d\n", s.f);
    one++;
    one++;
    list[1]++;
    list[0]--;
    bool *p = list;
    (*p++)++;
    ++*p;
    printf("%d%d%d%d\n", one, list[0], list[1], list[2]);
    return 0;
}
