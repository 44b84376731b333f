// A large number in pieces of nine digits, a goto, a static in a block.
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct {
    unsigned *d;
    size_t n;
} big;
static big from(unsigned x)
{
    big b = {malloc(sizeof *b.d), 1};
    assert(b.d);
    b.d[0] = x;
    return b;
}
static void mul(big *b, unsigned m)
{
    unsigned long long carry = 0;
    for (size_t i = 0; i < b->n; i++) {
        carry += (unsigned long long)b->d[i] * m;
        b->d[i] = (unsigned)(carry % 1000000000u);
        carry /= 1000000000u;
    }
    if (carry) {
        b->d = realloc(b->d, (b->n + 1) * sizeof *b->d);
        b->d[b->n++] = (unsigned)carry;
    }
}
static void show(const big *b)
{
    printf("%u", b->d[b->n - 1]);
    for (size_t i = b->n - 1; i-- > 0;)
        printf("%09u", b->d[i]);
    putchar('\n');
}
int main(int argc, char *argv[])
{
    int n = argc > 1 ? atoi(argv[1]) : 30;
    errno = 0;
    long v = strtol("99999999999999999999", NULL, 10);
    printf("%d %s %ld\n", v == LONG_MAX, strerror(errno), labs(-5L));
    big f = from(1);
    for (int i = 2; i <= n; i++)
        mul(&f, i);
    show(&f);
    free(f.d);
    union {
        float f;
        unsigned u;
    } pun = {.f = 1.0f};
    printf("%08x\n", pun.u);
    if (n > 0)
        goto end;
    puts("never");
end:
    do {
        static int count;
        count++;
        printf("static %d\n", count);
    } while (0);
    return 0;
}
