// switch, nested loops with break and continue, early return.
#include <kiln/kernel.h>

kernel block(32) void control(const i32 *x, i32 *out, i32 n)
{
    i32 sum = 0;
    if (n <= 0)
        return;
    for (i32 i = 0; i < n; i++) {
        if (x[i] < 0)
            continue;
        switch (x[i] % 4) {
        case 0: sum += 1; break;
        case 1: sum += x[i]; break;
        case 2: sum -= x[i]; // falls through
        default: sum ^= i;
        }
        if (sum > 1000)
            break;
    }
    out[thread_x()] = sum;
}
