// <string.h> for kernels: what C and POSIX say, on bytes in any memory. memcpy, memmove, memset and
// memcmp are builtins.
#pragma once
#include "error_text.h"
#include "heap.h"

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

// In the C locale the order is that of the bytes.
static int strcoll(const char *a, const char *b)
{
    return strcmp(a, b);
}

static u64 strxfrm(char *to, const char *from, u64 room)
{
    u64 length = strlen(from);
    if (length < room)
        strcpy(to, from);
    return length;
}

static void *memchr(const void *s, int wanted, u64 count)
{
    const u8 *at = (const u8 *)s;
    for (u64 n = 0; n < count; n++)
        if (at[n] == (u8)wanted)
            return (void *)(at + n);
    return NULL;
}

static void *memrchr(const void *s, int wanted, u64 count)
{
    const u8 *at = (const u8 *)s;
    while (count--)
        if (at[count] == (u8)wanted)
            return (void *)(at + count);
    return NULL;
}

static void *memmem(const void *s, u64 count, const void *wanted, u64 length)
{
    const u8 *at = (const u8 *)s;
    for (; count >= length; at++, count--)
        if (!memcmp(at, wanted, length))
            return (void *)at;
    return NULL;
}

static void *mempcpy(void *to, const void *from, u64 count)
{
    memcpy(to, from, count);
    return (u8 *)to + count;
}

static void *memccpy(void *to, const void *from, int last, u64 count)
{
    u8 *out = (u8 *)to;
    const u8 *in = (const u8 *)from;
    for (u64 n = 0; n < count; n++) {
        out[n] = in[n];
        if (in[n] == (u8)last)
            return out + n + 1;
    }
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

static char *strchrnul(const char *s, int wanted)
{
    while (*s && *s != (char)wanted)
        s++;
    return (char *)s;
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

// Each thread goes through a text of its own.
static _Thread_local char *__k_token;
static char *strtok(char *s, const char *set)
{
    return strtok_r(s, set, &__k_token);
}

static char *strsep(char **rest, const char *set)
{
    char *s = *rest;
    if (!s)
        return NULL;
    char *end = s + strcspn(s, set);
    *rest = *end ? end + 1 : NULL;
    *end = 0;
    return s;
}

static char *strndup(const char *s, u64 most)
{
    u64 length = strnlen(s, most);
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, s, length);
    copy[length] = 0;
    return copy;
}

static char *strdup(const char *s)
{
    return strndup(s, strlen(s));
}

static char *strerror(int number)
{
    return (char *)__k_error_text(number);
}

// --- builtins as functions that a pointer can name
static void *__k_of_memcpy(void *to, const void *from, size_t count)
{
    return memcpy(to, from, count);
}

static void *__k_of_memmove(void *to, const void *from, size_t count)
{
    return memmove(to, from, count);
}

static void *__k_of_memset(void *to, int value, size_t count)
{
    return memset(to, value, count);
}

static int __k_of_memcmp(const void *a, const void *b, size_t count)
{
    return memcmp(a, b, count);
}
