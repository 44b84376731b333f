// Solves a sudoku from standard input by masks of candidates; goes back when stuck.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef uint16_t mask;
typedef mask board[9][9];
static board cells;
static unsigned tries;

static int bits(mask m)
{
    int n = 0;
    for (; m; m &= (mask)(m - 1))
        n++;
    return n;
}
static mask allowed(board b, int row, int column)
{
    mask used = 0;
    for (int i = 0; i < 9; i++)
        used |= b[row][i] | b[i][column] | b[row / 3 * 3 + i / 3][column / 3 * 3 + i % 3];
    return (mask)(~used & 0x1ff);
}
static bool solve(void)
{
    int best = 10, row = -1, column = -1;
    for (int r = 0; r < 9; r++)
        for (int c = 0; c < 9; c++) {
            if (cells[r][c])
                continue;
            int n = bits(allowed(cells, r, c));
            if (n < best)
                best = n, row = r, column = c;
        }
    if (row < 0)
        return true;
    mask open = allowed(cells, row, column);
    while (open) {
        mask one = open & (mask)-open;
        open ^= one;
        cells[row][column] = one;
        tries++;
        if (solve())
            return true;
    }
    cells[row][column] = 0;
    return false;
}

int main(void)
{
    for (int i = 0; i < 81; i++) {
        int c;
        do
            c = getchar();
        while (c != EOF && c != '.' && (c < '1' || c > '9'));
        if (c == EOF) {
            fputs("too short\n", stderr);
            return 2;
        }
        cells[i / 9][i % 9] = c == '.' ? 0 : (mask)(1u << (c - '1'));
    }
    bool is_solved = solve();
    for (int r = 0; r < 9; r++, putchar('\n'))
        for (int c = 0; c < 9; c++) {
            int digit = 0;
            while (cells[r][c] >> digit)
                digit++;
            printf("%d%s", digit, c % 3 == 2 ? " " : "");
        }
    printf("%s after %u tries\n", is_solved ? "solved" : "impossible", tries);
    return is_solved ? 0 : 1;
}
