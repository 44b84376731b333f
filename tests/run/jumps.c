// goto: forward out of loops and branches, back to repeat, both at once, over declarations.
#include <kiln/kernel.h>

// One way out, as functions that clean up have it.
static i32 cleaned(i32 x, i32 *log)
{
    i32 result = -1;
    *log = 1;
    if (x % 7 == 0)
        goto out;
    i32 half = x / 2; // jumped over
    *log += 10;
    if (half % 3 == 0) {
        result = half;
        goto release;
    }
    for (i32 i = 0; i < 20; i++)
        for (i32 j = 0; j < 20; j++)
            if (i * j == x) {
                result = i * 100 + j;
                goto release;
            }
    *log += 100;
release:
    *log += 1000;
out:
    return result;
}

//! run jumps_forward block=64 (i32[128])
kernel void jumps_forward(i32 *out)
{
    i32 log = 0, x = (i32)thread_x();
    out[2 * x] = cleaned(x, &log);
    out[2 * x + 1] = log;
}

// Collatz with a label, an odd step and an even one.
static u32 steps_of(u32 n)
{
    u32 count = 0;
again:
    if (n <= 1)
        return count;
    count++;
    if (n & 1)
        goto odd;
    n /= 2;
    goto again;
odd:
    n = 3 * n + 1;
    goto again;
}

//! run jumps_back block=96 (u32[96])
kernel void jumps_back(u32 *out)
{
    out[thread_x()] = steps_of(thread_x() + 1);
}

// A machine of states, each with a label.
static i32 parsed(u32 bits, u32 count)
{
    i32 value = 0, signs = 0;
    u32 at = 0;
    if (bits & 1)
        goto number;
sign:
    if (at++ == count)
        goto end;
    signs++;
    if (bits >> at & 1)
        goto number;
    if (bits >> at & 2)
        goto sign;
    at++;
number:
    value = value * 2 + 1;
    if (++at >= count)
        goto end;
    switch (bits >> at & 3) {
    case 0: goto number;
    case 1: value += 3; break;
    case 2:
        if (value > 50)
            goto end;
        goto sign;
    default: value ^= 5;
    }
    if (at < count)
        goto number;
end:
    return value * 10 + signs;
}

//! run jumps_between block=128 grid=2 (u32[256]:bits, i32[256])
kernel void jumps_between(const u32 *bits, i32 *out)
{
    u32 i = global_x();
    out[i] = parsed(bits[i] & 0xffff, 4 + i % 12);
}

//! run jumps_nested block=64 (i32[64])
kernel void jumps_nested(i32 *out)
{
    i32 x = (i32)thread_x(), total = 0, rounds = 0;
    {
    outer:
        rounds++;
        i32 inner = 0;
        {
        retry:
            total += inner + x;
            if (inner++ < x % 4)
                goto retry;
            if (rounds < 3)
                goto outer;
            if (x % 5 == 0)
                goto after;
        }
        total *= 2;
    }
    while (total < 500) {
        total += 37;
        if (total % 11 == x % 11)
            goto after;
        for (;;) {
            total++;
            if (total % 3 == 0)
                break;
            if (total % 13 == 12)
                goto next;
        }
        total += 5;
    next:
        rounds++;
    }
after:;
    out[x] = total * 100 + rounds;
}

//! run jumps_with_lanes block=64 (i32[64])
kernel void jumps_with_lanes(i32 *out)
{
    i32 x = (i32)thread_x(), sum = 0;
    if (x % 3 == 0)
        goto together;
    for (i32 i = 0; i < x; i++) {
        sum += i;
        if (sum > 40)
            goto together;
    }
    sum = -sum;
together: // all lanes are here again
    out[x] = warp_sum(sum) + x;
}
