// Labels of a switch wherever C lets them stand: inside blocks, branches and loops of every kind.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#pragma GCC diagnostic ignored "-Wmisleading-indentation"
#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wsometimes-uninitialized"
#    pragma clang diagnostic ignored "-Wconditional-uninitialized"
#else
#    pragma GCC diagnostic ignored "-Wswitch-unreachable"
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

//! run switch_duff block=48 (i32[64]:rand, i32[64])
kernel void switch_duff(const i32 *in, i32 *out)
{
    i32 count = (i32)thread_x() % 17 + 1, at = 0, sum = 0;
    i32 rounds = (count + 7) / 8;
    switch (count % 8) {
    case 0: do { sum = sum * 3 + in[at++];
        case 7: sum = sum * 3 + in[at++];
        case 6: sum = sum * 3 + in[at++];
        case 5: sum = sum * 3 + in[at++];
        case 4: sum = sum * 3 + in[at++];
        case 3: sum = sum * 3 + in[at++];
        case 2: sum = sum * 3 + in[at++];
        case 1: sum = sum * 3 + in[at++];
        } while (--rounds > 0);
    }
    out[thread_x()] = sum ^ at;
}

//! run case_in_do block=8 (i32[8]:iota, i32[8])
kernel void case_in_do(const i32 *a, i32 *out)
{
    i32 n = a[thread_x()];
    switch (n % 3) {
        do {
            n += 100;
        case 0: n++;
        } while (n < 4);
        n *= 2;
    }
    out[thread_x()] = n;
}

//! run case_in_if block=32 (i32[32]:iota, i32[32])
kernel void case_in_if(const i32 *a, i32 *out)
{
    i32 n = a[thread_x()], sum = 0;
    switch (n % 8) {
    case 1:
        if (n > 12) {
            sum += 1;
        case 0:
            sum += 10;
            if (n & 4) {
                sum += 5;
            case 5: sum += 50;
            }
        } else {
            sum += 100;
        case 2: sum += 1000;
        }
        sum += 10000;
        break;
    case 3:
        if (0) {
        case 4: sum += 7;
        }
        if (n > 20)
        case 6: sum += 11; else
        default: sum += 13; sum *= 3;
    }
    out[thread_x()] = sum + n;
}

//! run case_in_loops block=40 (i32[40]:iota, i32[40])
kernel void case_in_loops(const i32 *a, i32 *out)
{
    i32 n = a[thread_x()], sum = 0, i = 3, j = 0;
    switch (n % 7) {
    case 0:
        for (i = 0; i < 5; i++) {
            sum += i;
            if (i == 3)
                continue;
        case 1:
            sum += 100;
            while (j < n) {
                j += 2;
            case 2:
                sum += 3;
                if (sum > 400)
                    break;
                if (j % 4 == 2)
                    continue;
                sum += 1;
            }
        case 3: sum ^= 5;
        }
        sum += 1000000;
        break;
    default:
        sum = -1;
        while (0) {
        case 5: sum -= 77;
        }
    }
    out[thread_x()] = sum * 10 + i + j;
}

//! run case_in_blocks block=16 (i64[16]:iota, i64[16])
kernel void case_in_blocks(const i64 *a, i64 *out)
{
    i64 n = a[thread_x()], sum = 0;
    switch (n * 1000000007LL) {
        i64 scale;
    case 0:
        scale = 3;
        {
            i64 inner;
        case 1000000007LL:
            inner = n + 1;
            scale = 2;
            {
                sum += inner * scale;
            case 3000000021LL: sum += 9;
            }
        }
        sum *= 2;
    }
    switch (n % 4)
    case 1:
    case 2:
        sum += 4;
    switch (n % 5)
        while (sum < 1000) {
            sum += 3;
        case 3: sum = sum * 2 + 1;
        }
    out[thread_x()] = sum;
}

static i32 next_of(i32 *state, i32 *at)
{
    switch (*state) {
    case 0:
        for (*at = 0; *at < 4; ++*at) {
            *state = 1;
            return *at * 10;
        case 1:;
        }
        for (;;) {
            *state = 2;
            return -1;
        case 2:
            if (++*at > 6) {
                *state = 0;
                return -2;
            }
        }
    }
    return -3;
}
//! run switch_generator block=4 (i32[64])
kernel void switch_generator(i32 *out)
{
    i32 state = 0, at = 0;
    for (u32 i = 0; i < 16; i++)
        out[thread_x() * 16 + i] = next_of(&state, &at) + (i32)thread_x();
}

//! run switch_nested block=32 (u32[32]:iota, u32[32])
kernel void switch_nested(const u32 *a, u32 *out)
{
    u32 sum = 0;
    for (u32 i = 0; i < a[thread_x()]; i++) {
        switch (i % 4) {
        case 0: {
            if (i % 3 == 0)
                continue;
        case 1:
            if (sum & 1)
                break;
            switch (sum % 3) {
                {
                case 0: sum += 5;
                }
            case 1: sum += 1; break;
            default: sum += 2;
            }
        }
            sum += i;
        }
        sum = sum * 3 + 1;
    }
    out[thread_x()] = sum;
}
