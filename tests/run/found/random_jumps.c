// Random programs of jumps: forward, back, into one another, out of loops, branches and switches.
#include <kiln/kernel.h>
static i32 g700(i32 x, i32 y, i32 z)
{
    i32 f = 0, fuel = 40;
    if ((x + z) % 3 == 0) {
        if (--fuel < 0)
            goto done;
        goto L2;
    }
L0:
    f += 3;
    if (x > y) {
        switch (x & 3) {
        case 0: x += y * 3; break;
        case 1: f = f * 5 + y;
        default: z -= y * 3;
        }
        if ((x + z) % 3 == 0) {
            f = f * 5 + x;
        } else {
            z ^= y % 7 + z;
        }
        x ^= y % 7 + z;
    } else {
        x ^= y;
    }
    if (f % 4 == 1) {
        if (--fuel < 0)
            goto done;
        goto L1;
    }
    if ((x + z) % 3 == 0) {
        if (--fuel < 0)
            goto done;
        goto L1;
    }
L1:
    f += 3;
    if ((x ^ y) & 2) {
        if (--fuel < 0)
            goto done;
        goto L0;
    }
    for (i32 i2 = 0; i2 < 4; i2++) {
        z ^= (x ^ z);
        y = z - x;
    }
    x ^= x + y;
L2:
    f += 3;
    x += x;
    if (z < 20) {
        y += x & y;
    } else {
        if (f % 4 == 1) {
            z ^= x;
        } else {
            f = f * 5 + x;
        }
    }
    z ^= z;
    if (fuel == -12345)
        goto L0;
    if (fuel == -12345)
        goto L1;
    if (fuel == -12345)
        goto L2;
done:
    return x * 31 + y * 7 + z * 3 + f + fuel;
}
//! run k700 block=64 (i32[192]:sym99, i32[64])
kernel void k700(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = g700(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

static i32 g701(i32 x, i32 y, i32 z)
{
    i32 f = 0, fuel = 40;
    z += (x ^ z);
    y = z;
L0:
    f += 3;
    {
        f = f * 5 + y;
        if (y & 1) {
            if (--fuel < 0)
                goto done;
            goto L2;
        }
    M1_0:
        f++;
        z -= (x ^ z);
        f = f * 5 + z;
        if (fuel == -12345)
            goto M1_0;
    }
    z ^= x & y;
    z += 1;
L1:
    f += 3;
    z = y * 3;
L2:
    f += 3;
    for (i32 i2 = 0; i2 < 4; i2++) {
        if (x > y) {
            if (f % 4 == 1)
                continue;
            x = x & y;
            z -= 9;
        } else {
            y -= 7;
        }
        f = f * 5 + x;
    }
L3:
    f += 3;
    z ^= -5;
    if (y & 1) {
        x = x;
    } else {
        z -= (x ^ z);
    }
    if (fuel == -12345)
        goto L0;
    if (fuel == -12345)
        goto L1;
    if (fuel == -12345)
        goto L2;
    if (fuel == -12345)
        goto L3;
done:
    return x * 31 + y * 7 + z * 3 + f + fuel;
}
//! run k701 block=64 (i32[192]:sym99, i32[64])
kernel void k701(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = g701(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

static i32 g702(i32 x, i32 y, i32 z)
{
    i32 f = 0, fuel = 40;
    y += x + y;
L0:
    f += 3;
    {
        x += x & y;
    M1_0:
        f++;
        if (x > y) {
            f = f * 5 + y;
            z = y % 7 + z;
        } else {
            f = f * 5 + x;
        }
    M1_1:
        f++;
        if (z < 20) {
            if (--fuel < 0)
                goto done;
            goto L0;
        }
        if (fuel == -12345)
            goto M1_0;
        if (fuel == -12345)
            goto M1_1;
    }
    f = f * 5 + x;
L1:
    f += 3;
    if (x > y) {
        if (--fuel < 0)
            goto done;
        goto L0;
    }
    if (--fuel < 0)
        goto done;
    else if (z < 20)
        goto L0;
    if (f % 4 == 1) {
        for (i32 i1 = 0; i1 < 2; i1++) {
            if ((x ^ y) & 2) {
                if (--fuel < 0)
                    goto done;
                goto L1;
            }
            if ((x + z) % 3 == 0)
                break;
            if ((x ^ y) & 2)
                break;
        }
        switch (x & 3) {
        case 0:
            if (f % 4 == 1) {
                if (--fuel < 0)
                    goto done;
                goto L1;
            }
            break;
        case 1: y -= z - x;
        default: x ^= z;
        }
        if ((x + z) % 3 == 0) {
            z ^= (x ^ z);
            f = f * 5 + z;
        } else {
            if (f % 4 == 1) {
                if (--fuel < 0)
                    goto done;
                goto L0;
            }
        }
    } else {
        for (i32 i1 = 0; i1 < 4; i1++) {
            x ^= (x ^ z);
            if ((x + z) % 3 == 0) {
                if (--fuel < 0)
                    goto done;
                goto L0;
            }
            x = z - x;
        }
    }
    if (fuel == -12345)
        goto L0;
    if (fuel == -12345)
        goto L1;
done:
    return x * 31 + y * 7 + z * 3 + f + fuel;
}
//! run k702 block=64 (i32[192]:sym99, i32[64])
kernel void k702(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = g702(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

static i32 g703(i32 x, i32 y, i32 z)
{
    i32 f = 0, fuel = 40;
    z += y;
    x ^= (x ^ z);
L0:
    f += 3;
    if (y & 1) {
        if (--fuel < 0)
            goto done;
        goto L1;
    }
    z -= 7;
L1:
    f += 3;
    y = y % 7 + z;
    if (fuel == -12345)
        goto L0;
    if (fuel == -12345)
        goto L1;
done:
    return x * 31 + y * 7 + z * 3 + f + fuel;
}
//! run k703 block=64 (i32[192]:sym99, i32[64])
kernel void k703(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = g703(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

static i32 g704(i32 x, i32 y, i32 z)
{
    i32 f = 0, fuel = 40;
    if (y & 1) {
        if ((x + z) % 3 == 0) {
            if (--fuel < 0)
                goto done;
            goto L2;
        }
        if (y & 1) {
            if (--fuel < 0)
                goto done;
            goto L1;
        }
    } else {
        x = 6;
    }
    z ^= 0;
    y -= x & y;
L0:
    f += 3;
    if ((x ^ y) & 2) {
        if (--fuel < 0)
            goto done;
        goto L3;
    }
    if (y & 1) {
        if (--fuel < 0)
            goto done;
        goto L1;
    }
    z -= y % 7 + z;
L1:
    f += 3;
    z ^= x + y;
    if (--fuel < 0)
        goto done;
    else if (z < 20)
        goto L1;
L2:
    f += 3;
    for (i32 i2 = 0; i2 < 3; i2++) {
        for (i32 i1 = 0; i1 < 4; i1++) {
            x += y * 3;
            z = x & y;
            f = f * 5 + x;
        }
        if (y & 1) {
            if (--fuel < 0)
                goto done;
            goto L0;
        }
        x -= x;
    }
L3:
    f += 3;
    {
        f = f * 5 + z;
    M1_0:
        f++;
        switch (x & 3) {
        case 0: y = y % 7 + z; break;
        case 1:
            if (f % 4 == 1) {
                if (--fuel < 0)
                    goto done;
                goto L0;
            }
        default: y -= z - x;
        }
        y += y * 3;
    M1_1:
        f++;
        if (x > y) {
            if (--fuel < 0)
                goto done;
            goto M1_1;
        }
        for (i32 i1 = 0; i1 < 1; i1++) {
            if (x > y)
                continue;
        }
    M1_2:
        f++;
        switch (x & 3) {
        case 0: f = f * 5 + x; break;
        case 1:
            if ((x + z) % 3 == 0) {
                if (--fuel < 0)
                    goto done;
                goto M1_1;
            }
        default: f = f * 5 + y;
        }
        z = y % 7 + z;
        if (fuel == -12345)
            goto M1_0;
        if (fuel == -12345)
            goto M1_1;
        if (fuel == -12345)
            goto M1_2;
    }
    {
        x ^= z - x;
        if (--fuel < 0)
            goto done;
        else if (z < 20)
            goto L0;
    M2_0:
        f++;
        {
            y -= x;
        M3_0:
            f++;
            if (--fuel < 0)
                goto done;
            else if (y & 1)
                goto M3_0;
            f = f * 5 + x;
        M3_1:
            f++;
            x -= y * 3;
            y -= x + y;
        M3_2:
            f++;
            f = f * 5 + y;
            if (fuel == -12345)
                goto M3_0;
            if (fuel == -12345)
                goto M3_1;
            if (fuel == -12345)
                goto M3_2;
        }
        y ^= x;
    M2_1:
        f++;
        if ((x + z) % 3 == 0) {
            if (--fuel < 0)
                goto done;
            goto L1;
        }
        if (y & 1) {
            if (--fuel < 0)
                goto done;
            goto L2;
        }
        if (fuel == -12345)
            goto M2_0;
        if (fuel == -12345)
            goto M2_1;
    }
    if (fuel == -12345)
        goto L0;
    if (fuel == -12345)
        goto L1;
    if (fuel == -12345)
        goto L2;
    if (fuel == -12345)
        goto L3;
done:
    return x * 31 + y * 7 + z * 3 + f + fuel;
}
//! run k704 block=64 (i32[192]:sym99, i32[64])
kernel void k704(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = g704(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

static i32 g705(i32 x, i32 y, i32 z)
{
    i32 f = 0, fuel = 40;
    z ^= x + y;
L0:
    f += 3;
    f = f * 5 + z;
L1:
    f += 3;
    switch (x & 3) {
    case 0:
        if (x > y) {
            if (--fuel < 0)
                goto done;
            goto L0;
        }
        break;
    case 1:
        if (y & 1) {
            if (--fuel < 0)
                goto done;
            goto L2;
        }
    default: z ^= (x ^ z);
    }
    switch (x & 3) {
    case 0: z -= z - x; break;
    case 1: y += (x ^ z);
    default:
        if ((x ^ y) & 2) {
            if (--fuel < 0)
                goto done;
            goto L3;
        }
    }
    y += y % 7 + z;
L2:
    f += 3;
    z ^= x + y;
    z -= z;
    z ^= y * 3;
L3:
    f += 3;
    if (--fuel < 0)
        goto done;
    else if (x > y)
        goto L2;
    z = x;
    if (x > y) {
        x -= y;
    } else {
        if (z < 20) {
            if (--fuel < 0)
                goto done;
            goto L3;
        }
    }
    if (fuel == -12345)
        goto L0;
    if (fuel == -12345)
        goto L1;
    if (fuel == -12345)
        goto L2;
    if (fuel == -12345)
        goto L3;
done:
    return x * 31 + y * 7 + z * 3 + f + fuel;
}
//! run k705 block=64 (i32[192]:sym99, i32[64])
kernel void k705(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = g705(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}
