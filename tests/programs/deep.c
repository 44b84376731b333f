// Recursion as deep as a program may need: a list from its end, a sort of what is sorted, a
// function that calls itself through another.
#include <stdio.h>
#include <stdlib.h>

typedef struct cell {
    int value;
    struct cell *next;
} cell;

static cell *list(int n)
{
    if (n == 0)
        return NULL;
    cell *c = malloc(sizeof *c);
    *c = (cell){n * n % 97, list(n - 1)};
    return c;
}
static long sum_from_end(const cell *c, int *depth)
{
    if (!c)
        return 0;
    ++*depth;
    return 3 * c->value + sum_from_end(c->next, depth) % 1000;
}
static void drop(cell *c)
{
    if (c)
        drop(c->next), free(c);
}
static void sort(int *a, int n) // the first one splits: the worst case is what comes sorted
{
    if (n < 2)
        return;
    int low = 0;
    for (int i = 1; i < n; i++)
        if (a[i] < a[0]) {
            int t = a[++low];
            a[low] = a[i];
            a[i] = t;
        }
    int t = a[0];
    a[0] = a[low];
    a[low] = t;
    sort(a, low);
    sort(a + low + 1, n - low - 1);
}
static int is_odd(unsigned n);
static int is_even(unsigned n)
{
    return n == 0 ? 1 : is_odd(n - 1);
}
static int is_odd(unsigned n)
{
    return n == 0 ? 0 : is_even(n - 1);
}

int main(void)
{
    static int numbers[300];
    int depth = 0;
    cell *all = list(400);
    long sum = sum_from_end(all, &depth);
    printf("%ld at depth %d\n", sum, depth);
    drop(all);
    for (int i = 0; i < 300; i++)
        numbers[i] = i < 250 ? i : i * 7919 % 1000;
    sort(numbers, 300);
    int is_sorted = 1;
    for (int i = 1; i < 300; i++)
        is_sorted &= numbers[i - 1] <= numbers[i];
    printf("%d %d %d\n", is_sorted, is_even(200), is_odd(200));
    return depth % 256;
}
