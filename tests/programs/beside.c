// Attributes beside one of several names belong to that one alone, and may follow a bit-field.
#include <stddef.h>
#include <stdio.h>
struct aligned {
    char x;
    int a __attribute__((aligned(16))), b;
    char c;
    char __attribute__((aligned(8))) d, e;
};
struct bits {
    int a : 3 __attribute__((unused));
    unsigned b : 4 __attribute__((unused)), c : 5;
    int d __attribute__((unused));
};

int main(void)
{
    printf("%zu %zu %zu %zu %zu %zu\n", sizeof(struct aligned), offsetof(struct aligned, a),
           offsetof(struct aligned, b), offsetof(struct aligned, c), offsetof(struct aligned, d),
           offsetof(struct aligned, e));
    struct bits f = {1, 2, 3, 4};
    printf("%d%u%u%d\n", f.a, f.b, f.c, f.d);
    return 0;
}
