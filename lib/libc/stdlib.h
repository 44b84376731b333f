// <stdlib.h> for kernels: memory, numbers from text, quotients, sorting and searching, random
// numbers.
#pragma once
#include "heap.h"

#include "number.h"
#include "rand48.h"
#include <errno.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX     2147483647

typedef struct {
    int quot, rem;
} div_t;
typedef struct {
    long quot, rem;
} ldiv_t;
typedef struct {
    long long quot, rem;
} lldiv_t;

static int __k_of_abs(int x) // the builtin as a function that a pointer can name
{
    return abs(x);
}

static long labs(long x)
{
    return x < 0 ? -x : x;
}

static long long llabs(long long x)
{
    return x < 0 ? -x : x;
}

static div_t div(int a, int b)
{
    return (div_t){a / b, a % b};
}

static ldiv_t ldiv(long a, long b)
{
    return (ldiv_t){a / b, a % b};
}

static lldiv_t lldiv(long long a, long long b)
{
    return (lldiv_t){a / b, a % b};
}

// --- ends
static _Noreturn void abort(void)
{
    assert(!"abort() was called");
    trap();
}

// What atexit registers, each thread for itself; exit calls the last one first.
enum { __K_EXITS = 64 };
static _Thread_local void (*__k_exits[__K_EXITS])(void);
static _Thread_local u32 __k_exit_count;

static int atexit(void (*function)(void))
{
    if (__k_exit_count == __K_EXITS)
        return 1;
    __k_exits[__k_exit_count++] = function;
    return 0;
}

static void __k_call_exits(void)
{
    while (__k_exit_count)
        __k_exits[--__k_exit_count]();
}

host void kiln_io_exit(i32 status);
static _Noreturn void exit(int status)
{
    __k_when_named(atexit)
    {
        __k_call_exits();
    }
    kiln_io_exit(status);
}

static _Noreturn void _Exit(int status)
{
    kiln_io_exit(status);
}

static _Noreturn void quick_exit(int status)
{
    kiln_io_exit(status);
}

// --- the environment
// What getenv has found, each thread for itself: a result stays where it is. Name and value follow.
typedef struct __k_variable {
    struct __k_variable *next;
    i64 length; // of the name
} __k_variable;
static _Thread_local __k_variable *__k_variables;

host i64 kiln_io_env(counted(length) const char *name, i64 length, counted(room) char *value,
                     i64 room);

// NULL, and EACCES in errno, when nobody has allowed to read the variable.
static char *getenv(const char *name)
{
    char nothing[1];
    i64 length = 0;
    while (name[length])
        length++;
    for (__k_variable *v = __k_variables; v; v = v->next)
        if (v->length == length && !memcmp(v + 1, name, (u64)length))
            return (char *)(v + 1) + length + 1;
    i64 bytes = kiln_io_env(name, length, nothing, 0);
    if (bytes == -EACCES)
        errno = EACCES;
    __k_variable *made = bytes < 0 ? NULL : malloc(sizeof *made + (u64)(length + bytes) + 2);
    if (!made)
        return NULL;
    char *text = (char *)(made + 1), *value = text + length + 1;
    memcpy(text, name, (u64)length + 1);
    i64 got = kiln_io_env(name, length, value, bytes);
    value[got < 0 ? 0 : got < bytes ? got : bytes] = 0;
    *made = (__k_variable){__k_variables, length};
    __k_variables = made;
    return value;
}

// --- memory, as POSIX and GNU name it
static int posix_memalign(void **out, u64 align, u64 bytes)
{
    if (align < sizeof(void *) || align & (align - 1))
        return EINVAL;
    void *block = aligned_alloc(align, bytes);
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

static void *reallocarray(void *block, u64 count, u64 size)
{
    if (size && count > 0xffffffffffffffffull / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, count * size);
}

// --- numbers from text
static int __k_digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

static bool __k_is_base(int base)
{
    if (base == 0 || (base >= 2 && base <= 36))
        return true;
    errno = EINVAL;
    return false;
}

// The magnitude and the sign; *end is where the number ends, or `s` when there is none.
static u64 __k_number(const char *s, const char **end, int base, bool *is_negative, bool *is_over)
{
    const char *at = s;
    u64 value = 0;
    *is_negative = *is_over = false;
    *end = s;
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    if (*at == '-' || *at == '+') {
        *is_negative = *at == '-';
        at++;
    }
    bool is_hex = *at == '0' && (at[1] == 'x' || at[1] == 'X') && __k_digit(at[2]) < 16;
    if ((base == 0 || base == 16) && is_hex) {
        at += 2;
        base = 16;
    } else if (base == 0) {
        base = *at == '0' ? 8 : 10;
    }
    for (; __k_digit(*at) < base; at++) {
        u64 digit = (u64)__k_digit(*at);
        *is_over = *is_over || value > (0xffffffffffffffffull - digit) / (u64)base;
        value = value * (u64)base + digit;
        *end = at + 1;
    }
    return value;
}

static unsigned long long strtoull(const char *s, char **end, int base)
{
    bool is_negative, is_over;
    const char *stop;
    if (!__k_is_base(base))
        return 0;
    u64 value = __k_number(s, &stop, base, &is_negative, &is_over);
    if (end)
        *end = (char *)stop;
    if (is_over)
        errno = ERANGE;
    return is_over ? 0xffffffffffffffffull : is_negative ? 0 - value : value;
}

static long long strtoll(const char *s, char **end, int base)
{
    bool is_negative, is_over;
    const char *stop;
    if (!__k_is_base(base))
        return 0;
    u64 value = __k_number(s, &stop, base, &is_negative, &is_over);
    u64 most = 0x7fffffffffffffffull + (is_negative ? 1u : 0u);
    if (end)
        *end = (char *)stop;
    if (is_over || value > most) {
        errno = ERANGE;
        value = most;
    }
    return (i64)(is_negative ? 0 - value : value);
}

static unsigned long strtoul(const char *s, char **end, int base)
{
    return strtoull(s, end, base);
}

static long strtol(const char *s, char **end, int base)
{
    return strtoll(s, end, base);
}

static int atoi(const char *s)
{
    return (int)strtoll(s, NULL, 10);
}

static long atol(const char *s)
{
    return strtoll(s, NULL, 10);
}

static long long atoll(const char *s)
{
    return strtoll(s, NULL, 10);
}

static double atof(const char *s)
{
    return strtod(s, NULL);
}

// --- sorting and searching
static void __k_swap(u8 *a, u8 *b, u64 size)
{
    for (u64 n = 0; n < size; n++) {
        u8 kept = a[n];
        a[n] = b[n];
        b[n] = kept;
    }
}

// Restores the heap below `root`: every element is at least as large as its children.
static void __k_sift(u8 *base, u64 root, u64 count, u64 size,
                     int (*compare)(const void *, const void *))
{
    while (2 * root + 1 < count) {
        u64 child = 2 * root + 1;
        if (child + 1 < count && compare(base + child * size, base + (child + 1) * size) < 0)
            child++;
        if (compare(base + root * size, base + child * size) >= 0)
            return;
        __k_swap(base + root * size, base + child * size, size);
        root = child;
    }
}

// A heap sort: no stack, no memory, n log n whatever the order. Equal elements may change places.
static void qsort(void *base, u64 count, u64 size, int (*compare)(const void *, const void *))
{
    u8 *first = (u8 *)base;
    for (u64 root = count / 2; root > 0; root--)
        __k_sift(first, root - 1, count, size, compare);
    for (u64 last = count; last > 1; last--) {
        __k_swap(first, first + (last - 1) * size, size);
        __k_sift(first, 0, last - 1, size, compare);
    }
}

static void *bsearch(const void *key, const void *base, u64 count, u64 size,
                     int (*compare)(const void *, const void *))
{
    const u8 *from = (const u8 *)base;
    while (count) {
        const u8 *middle = from + count / 2 * size;
        int order = compare(key, middle);
        if (order == 0)
            return (void *)middle;
        if (order > 0) {
            from = middle + size;
            count = (count - 1) / 2;
        } else {
            count /= 2;
        }
    }
    return NULL;
}

// --- random numbers: three steps of a linear congruential generator give 31 bits
static int rand_r(unsigned *seed)
{
    u32 state = *seed, result = 0;
    for (u32 step = 0; step < 3; step++) {
        u32 bits = step == 0 ? 11 : 10;
        state = state * 1103515245u + 12345u;
        result = result << 10 ^ (state / 65536u) % (1u << bits);
    }
    *seed = state;
    return (int)result;
}

// Each thread has its own sequence, which begins with seed 1: srand(thread_rank()) makes them
// differ.
static _Thread_local unsigned __k_seed; // xor 1, because it is 0 when the kernel starts
static void srand(unsigned seed)
{
    __k_seed = seed ^ 1u;
}

static int rand(void)
{
    unsigned seed = __k_seed ^ 1u;
    int result = rand_r(&seed);
    __k_seed = seed ^ 1u;
    return result;
}
