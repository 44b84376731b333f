// The game of life on a torus: arrays as parameters by a name for their type, a table of texts.
#include <stdio.h>
#include <string.h>
enum { W = 32, H = 12 };
typedef unsigned char grid[H][W];
static int around(grid g, int y, int x)
{
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dy || dx)
                n += g[(y + dy + H) % H][(x + dx + W) % W];
    return n;
}
static void step(grid from, grid to)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int n = around(from, y, x);
            to[y][x] = n == 3 || (n == 2 && from[y][x]);
        }
}
int main(void)
{
    grid a = {{0}}, b;
    static const char *const glider[] = {".#.", "..#", "###"};
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            a[y][x] = glider[y][x] == '#';
    a[6][10] = a[6][11] = a[6][12] = 1;
    for (int i = 0; i < 20; i++) {
        step(a, b);
        memcpy(a, b, sizeof a);
    }
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++)
            putchar(a[y][x] ? '#' : '.');
        putchar('\n');
    }
}
