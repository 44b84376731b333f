// Eight queens: recursion over boards in variables of the file.
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#define N 8
static int board[N];
static uint64_t solutions, nodes;
static bool safe(int row, int col)
{
    for (int r = 0; r < row; r++) {
        int d = board[r] - col;
        if (d == 0 || d == row - r || d == r - row)
            return false;
    }
    return true;
}
static void place(int row)
{
    if (row == N) {
        solutions++;
        return;
    }
    for (int c = 0; c < N; c++) {
        nodes++;
        if (safe(row, c)) {
            board[row] = c;
            place(row + 1);
        }
    }
}
int main(void)
{
    time_t t = time(NULL);
    if (t == (time_t)-1)
        puts("no clock");
    place(0);
    printf("%" PRIu64 " solutions, %" PRIu64 " nodes\n", solutions, nodes);
    return (int)(solutions & 0x7f);
}
