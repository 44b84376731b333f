// Lists of values: texts inside of records whose braces are left out, values that replace others,
// members of unions that take the place of others.
#include <stdio.h>
typedef struct word {
    char text[4];
    int n;
} word;
typedef struct entry {
    word w;
    int k;
} entry;
typedef struct page {
    union {
        word w;
        int i;
    } u;
    int n;
} page;
typedef struct grid {
    char rows[3][4];
    int end;
} grid;
typedef struct deep {
    struct {
        struct {
            char text[5];
        } in;
    } at;
    const char *p;
} deep;
static entry one = {"Oi", 1, 2}, several[] = {"ab", 1, 2, "cd", 3, 4}, named = {.w = "x", 9};
static page first = {"Oi", 5}, second = {{"hi"}, 6};
static const grid table = {"ab", "cd"}, mixed = {{"x", {'y', 'z'}, "w"}, 3};
static deep inside = {"deep", "ptr"};
static const char *const names[2][2] = {"a", "b", "c", "d"};
static struct {
    const char *name;
    char key[4];
} keys[] = {"n1", "k1", "n2", "k2", {"n3"}, [4] = {"n5", "k5"}};

typedef struct pair {
    int a, b;
} pair;
typedef struct pairs {
    pair s;
    int c;
    pair t[2];
    int d;
} pairs;
typedef union all {
    pair s;
    float f;
    long long l;
    struct {
        char c;
        union {
            int i;
            short h[4];
        };
    } n;
} all;
typedef struct holder {
    all u;
    int k;
} holder;
static const pairs fixed = {
    .s = {1, 2}, .s = {.b = 3}, .t = {{1, 2}, {3, 4}}, .t[1] = {.a = 9}, .d = 5};
static pairs changing = {
    .s = {1, 2}, .s = {.b = 3}, .t = {{1, 2}, {3, 4}}, .t[1] = {.a = 9}, .d = 5};
static const pair rows[] = {{1, 2}, {3, 4}, [0] = {.b = 7}, [1].a = 8, [3] = {5}};
static holder grown = {.u.s.a = 1, .u.s.b = 2, .u.n.i = 7, .k = 3};
static holder two[2] = {{.u.l = -1, .u.f = 1.0f}, {{.s = {1, 2}}, 5}};
static holder wide = {.u = {.l = -1}, .u.n.c = 1, .u.n.h[1] = 2};
static const word shorter = {.text = "abc", .text = "", .n = 1};
static const all narrow = {.l = -1, .s.a = 4};
static union {
    pair s;
    float f;
} behind = {42, 1, .f = 2.5f};

static void print_pairs(const pairs *p)
{
    printf("%d %d %d %d %d %d\n", p->s.a, p->s.b, p->t[0].b, p->t[1].a, p->t[1].b, p->d);
}

static int next(int *n)
{
    return ++*n;
}

static void replaced(void)
{
    int n = 0;
    pairs here = {.s = {1, 2}, .s = {.b = 3}, .t = {{1, 2}, {3, 4}}, .t[1] = {.a = 9}, .d = 5};
    print_pairs(&fixed);
    print_pairs(&changing);
    print_pairs(&here);
    for (int i = 0; i < 4; i++)
        printf("%d,%d ", rows[i].a, rows[i].b);
    printf("%d %d %d\n", grown.u.n.i, grown.u.n.c, grown.k);
    printf("%lld %d %d %d\n", two[0].u.l, two[1].u.s.a, two[1].u.s.b, two[1].k);
    printf("%d %d %d\n", wide.u.n.c, wide.u.n.h[0], wide.u.n.h[1]);
    printf("%lld %g %d\n", narrow.l, behind.f, behind.s.b);
    printf("%d%d%d %d\n", shorter.text[0], shorter.text[1], shorter.text[2], shorter.n);
    holder a = {.u.s.a = 1, .u.s.b = 2, .u.n.i = 7, .k = 3}, b = {.u.l = -1, .u.f = 1.0f};
    holder c = {.u = {.l = -1}, .u.n.c = next(&n), .u.n.h[1] = next(&n)};
    printf("%d %d %lld %d %d %d\n", a.u.n.i, a.u.n.c, b.u.l, c.u.n.c, c.u.n.h[0], c.u.n.h[1]);
    pair x = {7, 8};
    pairs d = {.s = x, .s = {.b = 1}, .t = {x, x}, .t[0] = {1}};
    print_pairs(&d);
    holder e = (holder){.u = {.l = -1}, .u.s = {5}};
    printf("%d %d\n", e.u.s.a, e.u.s.b);
    int m[2][3] = {{1, 2, 3}, {4, 5, 6}, [0] = {9}, [1][1] = 8};
    for (int i = 0; i < 6; i++)
        printf("%d", m[i / 3][i % 3]);
    char s[2][4] = {"abc", "def", [0] = "x", [1][1] = 'Y'};
    printf(" %s %s %d\n", s[0], s[1], s[0][2]);
}

int main(void)
{
    printf("%s %d %d, %s %d %s %d, %s %d\n", one.w.text, one.w.n, one.k, several[0].w.text,
           several[0].k, several[1].w.text, several[1].k, named.w.text, named.k);
    printf("%s %d %s %d\n", first.u.w.text, first.n, second.u.w.text, second.n);
    printf("%s %s %s %d, %s %s %s %d\n", table.rows[0], table.rows[1], table.rows[2], table.end,
           mixed.rows[0], mixed.rows[1], mixed.rows[2], mixed.end);
    printf("%s %s %s %zu %s %s %s\n", inside.at.in.text, inside.p, names[1][0],
           sizeof keys / sizeof *keys, keys[1].key, keys[2].name, keys[4].key);
    entry here = {"lo", 1, 2}, rest[2] = {"lo", 1, 2, "lp", 3, 4};
    page k = {"Kk"};
    deep e = {"abcd", "q"};
    printf("%s %s %s %s %s %s\n", here.w.text, rest[1].w.text, k.u.w.text, e.at.in.text, e.p,
           ((entry){"cl", 1}).w.text);
    replaced();
    return 0;
}
