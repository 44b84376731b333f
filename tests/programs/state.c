// Variables of the file of every kind, with initialisers of every kind.
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int verbose;
int verbose = 2;
static int table[] = {5, 3, 9, 1}, count = sizeof table / sizeof *table;
char text[] = "abc", *pointer = text + 1, room[8] = "hi";
const char *names[] = {"first", "second", [3] = "fourth"};
static struct config {
    int depth;
    double scale;
    struct {
        bool on;
        const char *name;
    } part[2];
} config = {.scale = 0.5, .part = {[1] = {true, "inner"}}}, *current = &config;
static double matrix[2][3] = {{1, 2}, {4, 5, 6}}, *middle = &matrix[1][1];
union number {
    uint32_t bits;
    float value;
} one = {.value = 1.0f};
typedef int (*operation)(int, int);
static int plus(int a, int b)
{
    return a + b;
}
static int minus(int a, int b)
{
    return a - b;
}
static operation op = plus, all[2] = {plus, minus};
static FILE *out;
static unsigned char flags[4] = {0xff, [2] = 'x'};
static int16_t small = -3;
static size_t offset = offsetof(struct config, part[1].name);
static long long big = LLONG_MIN + 1;
enum { A = 3, B } mode = B;
static int *places[] = {&table[2], table, NULL};
static volatile int watched = 7;
static struct list {
    int value;
    struct list *next;
} third = {3, NULL}, second = {2, &third}, *head = &second;
static const struct config fixed = {7, .5, {{0}}};
static int calls;

static int *address_of(int index)
{
    static int *last = &table[3];
    int *before = last;
    last = &table[index];
    calls++;
    return before;
}

static int sum_of(int n, ...)
{
    va_list list;
    int sum = 0;
    va_start(list, n);
    while (n--)
        sum += va_arg(list, int);
    va_end(list);
    return sum;
}

static void add(struct list **where, int value)
{
    struct list *new_one = malloc(sizeof *new_one);
    while (*where && (*where)->value < value)
        where = &(*where)->next;
    *new_one = (struct list){value, *where};
    *where = new_one;
}

static struct config changed(struct config c, int by)
{
    c.depth += by;
    c.part[0].name = c.depth > 3 ? "deep" : "flat";
    return c;
}

// Numbers that stand for pointers.
static const char *const marks[] = {"first", (const char *)1, NULL, (const char *)-1};
static unsigned *video = (unsigned *)0xa000;

int main(void)
{
    printf("%s %d %lx %lx\n", marks[0], marks[1] == (const char *)1 && !marks[2],
           (unsigned long)marks[3], (unsigned long)video);
    out = stdout;
    fprintf(out, "%d %d %s %s %s\n", verbose, count, text, pointer, room);
    text[1] = 'B', *pointer += 1;
    fprintf(out, "%s %s %s %s\n", text, names[0], names[2] ? names[2] : "(none)", names[3]);
    current->depth += 4;
    config = changed(*current, 1);
    printf("%d %g %s %d %s\n", config.depth, current->scale, config.part[0].name,
           current->part[1].on, config.part[1].name);
    *middle *= 2;
    for (int i = 0; i < 6; i++)
        printf("%g ", matrix[0][i % 3] + matrix[i / 3][i % 3]);
    one.bits |= 1u << 22;
    printf("\n%g %d %d\n", one.value, op(7, 3), all[1](7, 3));
    op = all[1], op = op == minus ? plus : minus;
    flags[1]--, flags[2] += 1, small *= 30000;
    printf("%d %u %c %d %zu %lld %d\n", op(1, 1), flags[1], flags[2], small, offset, big, mode);
    int before = *address_of(1), after = *address_of(2);
    printf("%d %d %d\n", before, after, calls);
    watched += *places[0] + places[1][1] + (places[2] == NULL);
    add(&head, 1), add(&head, 9), add(&head, 3);
    for (struct list *l = head; l; l = l->next)
        printf("%d%s", l->value, l->next ? "," : "\n");
    printf("%d %d %d %d\n", watched, sum_of(4, 1, 20, 300, -4000), fixed.depth,
           memcmp(&fixed, &config, 4) > 0);
    char *made = NULL;
    int length = asprintf(&made, "%s %d %.3f", names[1], calls, config.scale);
    printf("%d %s\n", length, made);
    free(made);
    return head->value + calls * 10;
}
