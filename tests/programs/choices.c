// What a condition declares is gone behind its statement; ?: of a pointer and (void *)0 has the
// pointer's type; main takes the number of arguments alone;
// GNU's old spelling of a designator.
#include <stdio.h>

enum { level = 0 };
struct one {
    int value;
};

static void names_of_conditions(void)
{
    int rounds = 0;
    if (sizeof(enum {level = 1}))
        printf("if %d, ", level);
    switch (sizeof(enum {level = 2})) {
    default: printf("switch %d, ", level);
    }
    while (rounds < 2 && sizeof(enum {level = 3})) {
        printf("while %d, ", level);
        rounds++;
    }
    do
        printf("do %d, ", level);
    while (0 * sizeof(enum {level = 4}));
    printf("behind them %d\n", level);
}

static void pointers(int yes)
{
    struct one seven = {7}, *p = &seven;
    const char *text = "abc";
    printf("%d %d %c\n", (yes ? p : (void *)0)->value, (!yes ? (void *)0 : p)->value,
           *(yes ? text : (void *)0));
    printf("%d %d %d\n", _Generic(yes ? (void *)0 : text, const char * : 1, default : 0),
           _Generic(yes ? (const void *)0 : p, const void * : 1, default : 0),
           _Generic(yes ? (void *)0 : (void *)p, void * : 1, default : 0));
}

int main(int count)
{
    struct one old = {value : count + 4};
    printf("%d\n", old.value);
    names_of_conditions();
    pointers(count == 1);
    return count;
}
