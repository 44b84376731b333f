// Names of C's library for what a program has of its own, where it includes the header and where
// only other headers do. The library goes on with its own.
#include <stdio.h>
#include <string.h>

static char *own_copy(const char *s);
char *strdup(const char *s);
char *strdup(const char *s)
{
    char *text = __builtin_malloc(strlen(s) + 2);
    if (!text)
        return text;
    text[0] = '!';
    strcpy(text + 1, s);
    return text; // never freed
}

size_t strnlen(const char *s, size_t most)
{
    size_t n = 0;
    while (n < most && s[n])
        n++;
    return n;
}

int div, drand, atexit_;
static long labs = 4;
typedef int div_t;
struct div_t {
    int z;
};
enum { rand = 4 };
static double strtof_ = 2.5;
static int qsort(int x)
{
    return x + 1;
}
int atoi(int a, int b);
static char *getenv = "env";
static int abs(int x)
{
    return x + 1000;
}
static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    div_t d = 3;
    struct div_t tag = {5};
    char text[32];
    int value;
    div = d;
    snprintf(text, sizeof text, "%d", 12345);
    printf("%s\n", strdup(text));
    printf("%s %d\n", own_copy(text), (int)strnlen(text, 4));
    printf("%d %ld %d %g %d %d %s %d\n", div, labs, rand, strtof_, qsort(2), atoi(3, 4), getenv,
           abs(-1));
    int n = sscanf("12 0x1p3", "%d %s", &value, text);
    printf("%d %d %s %d %d\n", n, value, text, compare(&d, &value), drand + atexit_ + tag.z);
    snprintf(text, sizeof text, "%.3f|%5.2s", 1.0 / 3, "abc");
    printf("%s %d\n", text, strncmp(text, "0.33", 4));
    return 0;
}

int atoi(int a, int b)
{
    return a * b;
}

static char *own_copy(const char *s)
{
    return strdup(strdup(s) + 1);
}
