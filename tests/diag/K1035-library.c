// Functions of C's library that are declared by hand: the note names the header that has them.
#include <kiln/kernel.h>

int isalpha(int c);
u64 strlen(const char *s);
int setjmp(void *place);

kernel block(64) void f(i32 *x)
{
    x[0] = isalpha(x[1]);
    x[1] = (i32)strlen("text");
    x[2] = setjmp(x);
}
