// Lengths that are const variables: each is told with the enum that it should be.
#include <kiln/kernel.h>

static const u32 width = 16;

kernel block(16, 16) void f(f32 *x, u32 n)
{
    const i32 tile = 8 * 2;
    const u32 late = n;
    i32 plain = 4;
    shared f32 square[tile][tile + 1];
    f32 row[width], other[late], last[2 * plain];
    square[0][0] = row[0] = other[0] = last[0] = x[0];
    x[1] = square[0][0] + row[0] + other[0] + last[0];
    switch (n) {
    case tile - 1: x[2] = 1; break;
    }
}
