// POSIX's random numbers of 48 bits: x becomes a * x + c, and its upper bits are the number. Each
// thread has its own state, which begins with zeros, as glibc's does.
#pragma once

static _Thread_local u64 __k_48_x, __k_48_a, __k_48_c; // a and c: xor the usual ones

enum { __K_48_SUM = 0xb };
#define __K_48_FACTOR 0x5deece66dull
#define __K_48_MASK   0xffffffffffffull

static u64 __k_48_next(u64 x)
{
    return ((__k_48_a ^ __K_48_FACTOR) * x + (__k_48_c ^ __K_48_SUM)) & __K_48_MASK;
}
static u64 __k_48_read(const unsigned short *from)
{
    return from[0] | (u64)from[1] << 16 | (u64)from[2] << 32;
}
static void __k_48_write(unsigned short *to, u64 x)
{
    to[0] = (unsigned short)x;
    to[1] = (unsigned short)(x >> 16);
    to[2] = (unsigned short)(x >> 32);
}
static void __k_48_begin(u64 x, u64 a, u64 c)
{
    __k_48_x = x;
    __k_48_a = a ^ __K_48_FACTOR;
    __k_48_c = c ^ __K_48_SUM;
}

// Of the thread's state, and of one that the caller keeps.
#define __K_48(T, own, others, result)                                                             \
    static T own(void)                                                                             \
    {                                                                                              \
        u64 x = __k_48_x = __k_48_next(__k_48_x);                                                  \
        return result;                                                                             \
    }                                                                                              \
    static T others(unsigned short state[3])                                                       \
    {                                                                                              \
        u64 x = __k_48_next(__k_48_read(state));                                                   \
        __k_48_write(state, x);                                                                    \
        return result;                                                                             \
    }
__K_48(double, drand48, erand48, (double)x * 0x1p-48)
__K_48(long, lrand48, nrand48, (long)(x >> 17))
__K_48(long, mrand48, jrand48, (long)(i32)(u32)(x >> 16))
#undef __K_48

static void srand48(long seed)
{
    __k_48_begin((u64)(u32)seed << 16 | 0x330eu, __K_48_FACTOR, __K_48_SUM);
}
// The state before, until the next call.
static unsigned short *seed48(unsigned short seed[3])
{
    static _Thread_local unsigned short before[3];
    u64 x = __k_48_read(seed);
    __k_48_write(before, __k_48_x);
    __k_48_begin(x, __K_48_FACTOR, __K_48_SUM);
    return before;
}
static void lcong48(unsigned short with[7])
{
    __k_48_begin(__k_48_read(with), __k_48_read(with + 3), with[6]);
}
