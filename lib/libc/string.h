// <string.h> for kernels: what C says, on bytes in any memory. memcpy, memmove, memset and memcmp
// are builtins.
#pragma once

static u64 strnlen(const char *s, u64 most)
{
    u64 n = 0;
    while (n < most && s[n])
        n++;
    return n;
}

static u64 strlen(const char *s)
{
    u64 n = 0;
    while (s[n])
        n++;
    return n;
}

static char *stpcpy(char *to, const char *from)
{
    u64 n = 0;
    for (; from[n]; n++)
        to[n] = from[n];
    to[n] = 0;
    return to + n;
}

static char *strcpy(char *to, const char *from)
{
    stpcpy(to, from);
    return to;
}

static char *strncpy(char *to, const char *from, u64 count)
{
    u64 n = 0;
    for (; n < count && from[n]; n++)
        to[n] = from[n];
    for (; n < count; n++)
        to[n] = 0;
    return to;
}

static char *strcat(char *to, const char *from)
{
    stpcpy(to + strlen(to), from);
    return to;
}

static char *strncat(char *to, const char *from, u64 most)
{
    u64 at = strlen(to), n = 0;
    for (; n < most && from[n]; n++)
        to[at + n] = from[n];
    to[at + n] = 0;
    return to;
}

static int strncmp(const char *a, const char *b, u64 most)
{
    for (u64 n = 0; n < most; n++) {
        u8 x = (u8)a[n], y = (u8)b[n];
        if (x != y)
            return x < y ? -1 : 1;
        if (!x)
            break;
    }
    return 0;
}

static int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, 0xffffffffffffffffull);
}

static void *memchr(const void *s, int wanted, u64 count)
{
    const u8 *at = (const u8 *)s;
    for (u64 n = 0; n < count; n++)
        if (at[n] == (u8)wanted)
            return (void *)(at + n);
    return NULL;
}

static char *strchr(const char *s, int wanted)
{
    for (;; s++) {
        if (*s == (char)wanted)
            return (char *)s;
        if (!*s)
            return NULL;
    }
}

static char *strrchr(const char *s, int wanted)
{
    char *last = NULL;
    for (;; s++) {
        if (*s == (char)wanted)
            last = (char *)s;
        if (!*s)
            return last;
    }
}

static u64 strspn(const char *s, const char *set)
{
    u64 n = 0;
    while (s[n] && strchr(set, s[n]))
        n++;
    return n;
}

static u64 strcspn(const char *s, const char *set)
{
    u64 n = 0;
    while (s[n] && !strchr(set, s[n]))
        n++;
    return n;
}

static char *strpbrk(const char *s, const char *set)
{
    s += strcspn(s, set);
    return *s ? (char *)s : NULL;
}

static char *strstr(const char *s, const char *wanted)
{
    u64 length = strlen(wanted);
    for (;; s++) {
        if (!strncmp(s, wanted, length))
            return (char *)s;
        if (!*s)
            return NULL;
    }
}

static char *strtok_r(char *s, const char *set, char **rest)
{
    if (!s)
        s = *rest;
    s += strspn(s, set);
    char *end = s + strcspn(s, set);
    *rest = *end ? end + 1 : end;
    if (end == s)
        return NULL;
    *end = 0;
    return s;
}
