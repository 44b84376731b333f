// <strings.h> for kernels: what POSIX has beside <string.h>, in the C locale.
#pragma once
#include <ctype.h>
#include <string.h>

static int strncasecmp(const char *a, const char *b, u64 most)
{
    for (u64 n = 0; n < most; n++) {
        int x = tolower((u8)a[n]), y = tolower((u8)b[n]);
        if (x != y)
            return x - y;
        if (!x)
            break;
    }
    return 0;
}

static int strcasecmp(const char *a, const char *b)
{
    return strncasecmp(a, b, 0xffffffffffffffffull);
}

static char *strcasestr(const char *s, const char *wanted)
{
    u64 length = strlen(wanted);
    for (;; s++) {
        if (!strncasecmp(s, wanted, length))
            return (char *)s;
        if (!*s)
            return NULL;
    }
}

static char *index(const char *s, int wanted)
{
    return strchr(s, wanted);
}

static char *rindex(const char *s, int wanted)
{
    return strrchr(s, wanted);
}

static int bcmp(const void *a, const void *b, u64 count)
{
    return memcmp(a, b, count);
}

static void bcopy(const void *from, void *to, u64 count)
{
    memmove(to, from, count);
}

static void bzero(void *to, u64 count)
{
    memset(to, 0, count);
}

// The place of the lowest bit that is set, counted from 1; 0: there is none.
static int ffsll(long long x)
{
    return x ? (int)trailing_zeros((u64)x) + 1 : 0;
}

static int ffsl(long x)
{
    return ffsll(x);
}

static int ffs(int x)
{
    return ffsll((u32)x);
}
