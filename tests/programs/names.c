// A program whose macros, types and functions have the names that Kiln's own headers and builtins
// use: nothing of it may change what those mean, nor the other way round.
#define letter    77
#define count     3
#define base      10
#define at        x +
#define is_bad(x) x
#define NUMBER    1
typedef short u64, i32;
typedef struct u8 {
    int size;
} u8;
enum { true = 0, false = 1 };
static unsigned long min(unsigned long a, unsigned long b)
{
    return a > b ? a : b;
}
static unsigned long max(unsigned long a)
{
    return a + 100;
}
static int popcount(unsigned x)
{
    return 99 + (int)x;
}
static int leading_zeros(unsigned long x)
{
    return 9 - (int)x;
}
static int trailing_zeros(unsigned long x)
{
    return 8 + (int)x;
}
static double f64_from_bits(unsigned long b)
{
    return (double)b;
}
static int thread_rank(void)
{
    return 5;
}

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define exit(status) oops(status)
#define block        *
static float kernel[3] = {1, 2, 3};
static int shared = 4, grid = 2, lane = 3, tune = 1, host = 2, cluster = 7;
struct kernel {
    int shared;
};

static int program(void)
{
    return NUMBER;
}

static int rising(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int clamp(int x)
{
    return x - 1;
}

int main(void)
{
    char text[40];
    struct kernel mine = {.shared = letter};
    snprintf(text, sizeof text, "%d %s %f %g", count, "abc", 1.5, 1e300);
    printf("%s %ld %g\n", text, strtol("0x1f", 0, 0), atof("1.2345e5"));
    int list[] = {3, 1, 2}, key = 2, *found;
    qsort(list, count, sizeof *list, rising);
    found = bsearch(&key, list, count, sizeof *list, rising);
    printf("%d %d %d, %d\n", list[0], list[1], list[2], found ? (int)(found - list) : -1);
    int exponent;
    double part = frexp(10.0, &exponent);
    printf("%g %d %g %d %c\n", part, exponent, ldexp(1, 3), (int)strspn("aab", "a"), toupper('x'));
    int *zeros = calloc(3, 4);
    printf("%d %d\n", zeros ? zeros[1] : -1, (int)strlen(strcpy(text, "four")));
    free(zeros);
    printf("%d %d %d %d\n", (int)min(1, 2), (int)max(1), popcount(1), leading_zeros(1));
    printf("%d %g %d %d\n", trailing_zeros(1), f64_from_bits(4), thread_rank(), clamp(8));
    printf("%g %d %d %d\n", kernel[1], shared + grid, lane + tune + host + cluster, mine.shared);
    printf("%d %d %d\n", (int)sizeof(u64), (int)sizeof(u8), true - false + program());
    printf("%p|%10p|%-8p|\n", (void *)0, (void *)0, (void *)0x10);
    return base;
}
