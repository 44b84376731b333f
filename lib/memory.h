// C's functions on bytes, where the number of bytes is only known when the kernel runs.
#ifndef KILN_LIB_MEMORY_H
#define KILN_LIB_MEMORY_H

static inline void *k_memcpy(void *to, const void *from, u64 n)
{
    u8 *t = (u8 *)to;
    const u8 *f = (const u8 *)from;
    for (u64 i = 0; i < n; i++)
        t[i] = f[i];
    return to;
}

static inline void *k_memmove(void *to, const void *from, u64 n)
{
    u8 *t = (u8 *)to;
    const u8 *f = (const u8 *)from;
    if ((u64)to <= (u64)from) {
        for (u64 i = 0; i < n; i++)
            t[i] = f[i];
    } else {
        for (u64 i = n; i > 0; i--)
            t[i - 1] = f[i - 1];
    }
    return to;
}

static inline void *k_memset(void *to, i32 value, u64 n)
{
    u8 *t = (u8 *)to;
    for (u64 i = 0; i < n; i++)
        t[i] = (u8)value;
    return to;
}

static inline i32 k_memcmp(const void *a, const void *b, u64 n)
{
    const u8 *x = (const u8 *)a, *y = (const u8 *)b;
    for (u64 i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
#endif
