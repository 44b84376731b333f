// A function of some size that thousands of places call: as many copies would be too much code, so
// it stays a function.
#include <stdio.h>

static unsigned calls;

#define MIX(k)                                                                                     \
    x ^= x << 13, x += (k), x ^= x >> 17, y = y * 5 + x, x ^= y << 5, y ^= x >> 3, x += y * (k)
static unsigned mix(unsigned x)
{
    unsigned y = x ^ 0x9e3779b9u;
    calls++;
    MIX(1), MIX(2), MIX(3), MIX(4), MIX(5), MIX(6), MIX(7), MIX(8), MIX(9), MIX(10), MIX(11);
    MIX(12), MIX(13), MIX(14), MIX(15), MIX(16), MIX(17), MIX(18), MIX(19), MIX(20), MIX(21);
    return x ^ y;
}

static unsigned nine(unsigned x)
{
    return mix(mix(mix(mix(mix(mix(mix(mix(mix(x)))))))));
}

static unsigned ninety(unsigned x)
{
    return nine(nine(nine(nine(nine(nine(nine(nine(nine(x)))))))));
}

static unsigned hundreds(unsigned x)
{
    return ninety(ninety(ninety(ninety(ninety(ninety(ninety(ninety(ninety(x)))))))));
}

int main(void)
{
    unsigned x = hundreds(hundreds(hundreds(hundreds(hundreds(hundreds(hundreds(1)))))));
    printf("%u after %u calls\n", x, calls);
    return 0;
}
