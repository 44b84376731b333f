// Pointers to integers that differ only in sign, which compilers of C take for each other, and the
// old names of headers.
#include <malloc.h>
#include <memory.h>
#include <stdio.h>

static unsigned sum(const unsigned char *bytes)
{
    unsigned all = 0;
    while (*bytes)
        all = all * 31 + *bytes++;
    return all;
}

int main(void)
{
    unsigned char bytes[8] = "\xe4\xf6\xfc";
    char *text = bytes;
    signed char *low = text;
    int number = -2;
    unsigned *same = &number;
    printf("%zu %u %d %u %d\n", strlen(bytes), sum("words"), *low, *same, text == bytes);
    char *copy = malloc(8);
    memcpy(copy, bytes, 8);
    printf("%d %u\n", strcmp(copy, bytes), sum(copy));
    free(copy);
    return 0;
}
