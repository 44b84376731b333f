// Values that leave loops from inside: in each round all threads have the same one, but they leave
// in different rounds. By return, by break through two loops, by continue of the outer one, by
// goto.
#include <kiln/kernel.h>

static u32 steps_of(u32 n)
{
    for (u32 count = 0;; count++) {
        if (n <= 1)
            return count;
        n = n & 1 ? 3 * n + 1 : n / 2;
    }
}

static i32 place_of(const i32 *x, i32 wanted)
{
    for (i32 i = 0; i < 8; i++)
        for (i32 j = 0; j < 8; j++)
            if (x[i * 8 + j] == wanted)
                return i * 10 + j;
    return -1;
}

//! run rounds_left block=96 (i32[64]:mod17, u32[96], i32[96])
kernel void rounds_left(const i32 *x, u32 *steps, i32 *places)
{
    u32 i = thread_x();
    steps[i] = steps_of(i + 1);
    places[i] = place_of(x, (i32)(i % 20));
}

//! run rounds_again block=64 (u32[64])
kernel void rounds_again(u32 *out)
{
    u32 i = thread_x(), found = 0, outer = 0;
next:
    if (++outer > 6)
        goto end;
    for (u32 k = 0; k < 9; k++) {
        if ((i + outer) % 7 == k) {
            found = found * 3 + k;
            goto next;
        }
        if ((i ^ outer) % 11 == k + 4) {
            found += 100 * k + outer;
            goto end;
        }
    }
    found++;
    goto next;
end:
    out[i] = found * 10 + outer;
}

//! run rounds_flag block=64 (u32[64])
kernel void rounds_flag(u32 *out)
{
    u32 i = thread_x(), last = 0, sum = 0;
    for (u32 round = 0; round < 12; round++) {
        bool is_done = false;
        for (u32 k = 0; k < 5; k++) {
            last = round * 5 + k;
            is_done = last == i % 31;
            if (is_done)
                break;
        }
        sum += last;
        if (is_done)
            break;
    }
    out[i] = sum * 100 + last;
}
