// What the assignment to a bit-field gives is promoted as the bit-field itself is.
#include <stdio.h>
static struct {
    unsigned a : 2, b : 32;
    unsigned char c : 3;
    unsigned long long wide : 5;
} f = {1, 1, 1, 1};
static volatile int low = -10;
#define below(e) (low < (e))
#define kind(e)  _Generic((e) + 0, int : "int", unsigned : "unsigned", default : "other")

static int calls;
static int next(void)
{
    return ++calls;
}

int main(void)
{
    printf("%d%d%d%d%d\n", below(f.a = 2), below(f.a += 1), below(++f.a), below(--f.a),
           below((low++, f.a)));
    printf("%d%d%d\n", below(f.b = 3), below(f.c = 2), below(f.c |= 4));
    printf("%s %s %s %s\n", kind(f.a = 1), kind(f.a += 2), kind(f.c = 1), kind(f.b = 1));
    if ((f.a = 0))
        puts("no");
    while ((f.a = next()) < 3)
        printf("%d ", f.a);
    int sum = (f.a = f.c = 5) - 7;
    printf("%d %u %u\n", sum, f.a, f.c);
    return 0;
}
