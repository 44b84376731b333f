// A packed enum would have the size of a byte.
#include <kiln/kernel.h>

enum __attribute__((packed)) colour { RED, GREEN };

kernel block(64) void f(u32 *x)
{
    enum colour c = GREEN;
    x[0] = c + (u32)sizeof(enum colour);
}
