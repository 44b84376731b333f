#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
typedef unsigned long word;
#define BITS       (sizeof(word) * CHAR_BIT)
#define SET(b, i)  ((b)[(i) / BITS] |= 1UL << ((i) % BITS))
#define TEST(b, i) (((b)[(i) / BITS] >> ((i) % BITS)) & 1UL)
#define WORDS(n)   (((n) + BITS - 1) / BITS)
int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000;
    word *comp = calloc(WORDS(n + 1), sizeof(word));
    if (!comp)
        return perror("calloc"), 1;
    for (unsigned long i = 2; i * i <= n; i++)
        if (!TEST(comp, i))
            for (unsigned long j = i * i; j <= n; j += i)
                SET(comp, j);
    unsigned long count = 0, last = 0, gap = 0, twin = 0;
    for (unsigned long i = 2; i <= n; i++)
        if (!TEST(comp, i)) {
            count++;
            if (last && i - last > gap)
                gap = i - last;
            if (last && i - last == 2)
                twin++;
            last = i;
        }
    printf("%lu primes up to %lu, last %lu, gap %lu, twins %lu\n", count, n, last, gap, twin);
    int pop = 0;
    for (size_t w = 0; w < WORDS(n + 1); w++)
        pop += __builtin_popcountl(comp[w]);
    printf("%d bits set\n", pop);
    if (__builtin_expect(count > 1000, 1)) {
        unsigned char copy[8];
        __builtin_memcpy(copy, comp + 1, 8);
        __builtin_prefetch(comp);
        printf("%d %d %d %d\n", __builtin_clz(1234u), __builtin_ctzll(4096ull << 30),
               __builtin_popcount(-1), copy[3]);
    } else if (n > 5000) {
        __builtin_unreachable();
    }
    free(comp);
    return 0;
}
