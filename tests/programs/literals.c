// Compound literals outside of functions live as long as the variables there, and can be changed.
// Texts have addresses, too.
#include <stdio.h>
struct pair {
    int a, b;
};
struct tree {
    int value;
    struct tree *left, *right;
};
struct menu {
    const char *title;
    const char *const *items;
    struct pair *at;
    int (*choose)(int);
};
static int twice(int x)
{
    return 2 * x;
}
static int *list = (int[]){1, 2, 3, 4, 5}, *third = &(int[]){1, 2, 3, 4, 5}[2];
static int *behind = &(&((int[]){6, 7, 8, 9}[1]))[1];
static struct pair *one = &(struct pair){3, 4}, *zero = &(struct pair){0};
static char *text = (char[]){"changes"};
static struct tree *root = &(struct tree){
    1,
    &(struct tree){2, &(struct tree){4, 0, 0}, &(struct tree){5, 0, 0}},
    &(struct tree){3, 0, 0},
};
static const struct menu menus[] = {
    {"file", (const char *const[]){"open", "close", NULL}, &(struct pair){1, 2}, twice},
    {.title = "edit", .items = (const char *const[]){"cut", NULL}, .at = (struct pair[]){{5, 6}}},
};
static const int *const rows[] = {(const int[]){1, 2}, (const int[]){3, 4, 5}, &(const int){6}};
static char (*whole)[6] = &"Hello";
static const char (*const wholes[])[3] = {&"ab", &"cd"};
static struct pair copied = (struct pair){7, 8};

static int sum(const struct tree *t)
{
    return t ? t->value + sum(t->left) + sum(t->right) : 0;
}

static int next(void)
{
    return ++one->a;
}

int main(void)
{
    printf("%d %d %d %d %d\n", list[4], *third, *behind, one->b, zero->a);
    list[4] = 50;
    third[1]--;
    text[0] = 'C';
    printf("%d %d %d %s\n", list[4], third[1], next() + next(), text);
    root->left->right->value = 100;
    printf("%d\n", sum(root));
    for (int i = 0; i < 2; i++) {
        printf("%s %d:", menus[i].title, menus[i].at->b);
        for (const char *const *item = menus[i].items; *item; item++)
            printf(" %s", *item);
        puts("");
    }
    printf("%d %d %d %d %d\n", menus[0].choose(21), rows[0][1], rows[1][2], *rows[2], copied.b);
    printf("%s %s %zu %c\n", *whole, *wholes[1], sizeof *whole, (*&"abc")[1]);
    return 0;
}
