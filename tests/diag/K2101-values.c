// Initialisers that do not fit what they fill: an error each.
#include <kiln/kernel.h>

typedef struct pair {
    i32 a, b;
} pair;
typedef struct later later;

kernel block(64) void f(i32 *n)
{
    i8 text[3] = "abcdef";
    i32 one = {1, 2};
    pair p = {1, 2, 3}, q = {.c = 1}, r = {[1] = 2}, s = {.a.b = 3};
    i32 many[2] = {1, 2, 3}, at[2] = {[2] = 1}, named[2] = {.a = 1}, low[2] = {[-1] = 1};
    i32 whole[2] = n[0], copy[2] = many;
    later l = {1};
    pair t = n[1];
    n[0] = text[0] + one + p.a + q.a + r.a + s.a + many[0] + at[0] + named[0] + low[0] + whole[0] + copy[0] + t.a;
}
