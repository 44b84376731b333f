// <string.h>, <ctype.h>, <stdlib.h>, <stdarg.h> and <stdio.h> in kernels, against the host's own
// library.
#define _POSIX_C_SOURCE 200809L // strnlen, strtok_r, rand_r
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kiln/kernel.h>

static const char words[] = "the quick  brown,fox;jumps over the lazy dog";
static const char set[] = " ,;";

//! run libc_text block=32 (i32[320])
kernel void libc_text(i32 *out)
{
    u32 i = thread_x();
    i32 *o = out + 10 * i;
    char mine[64], copy[64];
    memset(mine, 0, sizeof mine);
    memset(copy, 'x', sizeof copy);
    strncpy(mine, words + i, 20);
    o[0] = (i32)strlen(words + i);
    o[1] = (i32)strnlen(words + i, 7);
    strcpy(copy, mine);
    strcat(copy, "!");
    o[2] = strcmp(copy, mine) > 0;
    o[3] = strncmp(words, words + i, 3) < 0;
    char *at = strchr(copy, 'o'), *last = strrchr(copy, 'o'), *found = strstr(copy, "ow");
    o[4] = at ? (i32)(at - copy) : -1;
    o[5] = last ? (i32)(last - copy) : -1;
    o[6] = found ? (i32)(found - copy) : -1;
    o[7] = (i32)(strspn(words + i, "the quick") * 100 + strcspn(words + i, set));
    char *stop = strpbrk(mine, set), *rest = NULL;
    o[8] = stop ? *stop : 0;
    strncat(mine, words, i % 9);
    i32 count = 0;
    for (char *word = strtok_r(mine, set, &rest); word; word = strtok_r(NULL, set, &rest))
        count = count * 7 + (i32)strlen(word) + *word;
    const void *byte = memchr(words, 'z', i * 2);
    o[9] = count * 2 + (byte != NULL);
}

//! run libc_ctype block=288 (u32[288])
kernel void libc_ctype(u32 *out)
{
    i32 c = (i32)thread_x() - 1;
    u32 r = 0;
    if (c > 255)
        return;
    r |= (isalnum(c) != 0) << 0 | (isalpha(c) != 0) << 1 | (isblank(c) != 0) << 2;
    r |= (iscntrl(c) != 0) << 3 | (isdigit(c) != 0) << 4 | (isgraph(c) != 0) << 5;
    r |= (islower(c) != 0) << 6 | (isprint(c) != 0) << 7 | (ispunct(c) != 0) << 8;
    r |= (isspace(c) != 0) << 9 | (isupper(c) != 0) << 10 | (isxdigit(c) != 0) << 11;
    out[thread_x()] = r << 18 | (u32)(toupper(c) & 0x1ff) << 9 | (u32)(tolower(c) & 0x1ff);
}

static const char numbers[16][24] = {"0",
                                     "42",
                                     "  -17x",
                                     "+0x1fg",
                                     "0x",
                                     "0777",
                                     "089",
                                     "zz",
                                     "-",
                                     "",
                                     "9223372036854775807",
                                     "9223372036854775808",
                                     "-9223372036854775809",
                                     "18446744073709551616",
                                     "\t\n 123abc",
                                     "-0x8000000000000000"};

//! run libc_numbers block=96 (i64[384])
kernel void libc_numbers(i64 *out)
{
    static const i32 bases[6] = {10, 0, 16, 8, 36, 2};
    u32 i = thread_x();
    const char *s = numbers[i % 16];
    i32 base = bases[i / 16 % 6];
    char *end = NULL;
    out[4 * i] = strtoll(s, &end, base);
    out[4 * i + 1] = end - s;
    out[4 * i + 2] = (i64)strtoull(s, NULL, base);
    out[4 * i + 3] = strtol(s, NULL, base) / 2 + (i64)(strtoul(s, &end, base) >> 3) + (end - s);
}

//! run libc_quotients block=32 (i32[32]:sym99, i32[96])
kernel void libc_quotients(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    i32 by = in[31 - i] ? in[31 - i] : 3;
    div_t d = div(in[i], by);
    ldiv_t l = ldiv((i64)in[i] << 33, by);
    out[3 * i] = d.quot * 1000 + d.rem;
    out[3 * i + 1] = (i32)(l.quot >> 20) + (i32)l.rem;
    out[3 * i + 2] = (i32)labs(in[i]) + (i32)llabs(-(i64)by) + atoi("-12") + (i32)atol("7");
}

typedef struct item {
    u16 key;
    u8 name[3];
} item;
static int by_key(const void *a, const void *b)
{
    const item *x = (const item *)a, *y = (const item *)b;
    return (int)x->key - (int)y->key;
}
static int falling(const void *a, const void *b)
{
    i32 x = *(const i32 *)a, y = *(const i32 *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

//! run libc_sort block=8 (i32[256]:sym99, u32[8])
kernel void libc_sort(i32 *data, u32 *sums)
{
    u32 i = thread_x();
    item all[16];
    for (u32 k = 0; k < 16; k++)
        all[k] = (item){(u16)((k * 7 + i * 3) % 16 * 11), {(u8)k, (u8)(k * i), 1}};
    qsort(all, 16, sizeof *all, by_key);
    qsort(data + 32 * i, 32 - i, sizeof *data, falling);
    u32 sum = 0;
    for (u32 k = 0; k < 16; k++)
        sum = sum * 31 + all[k].key + all[k].name[0] + all[k].name[1];
    item wanted = {(u16)(i * 11 + (i & 1)), {0}};
    const item *found = (const item *)bsearch(&wanted, all, 16, sizeof *all, by_key);
    sums[i] = sum + (found ? (u32)(found - all) + 1000 : 0);
}

//! run libc_random block=16 (i32[64])
kernel void libc_random(i32 *out)
{
    unsigned seed = thread_x() * 77;
    for (u32 k = 0; k < 4; k++)
        out[4 * thread_x() + k] = rand_r(&seed);
}

// The kinds of the arguments are letters: i int, l long, d double, s text; '.' ends them.
static f64 added(const char *kinds, ...)
{
    va_list list, again;
    f64 total = 0;
    va_start(list, kinds);
    va_copy(again, list);
    for (const char *at = kinds; *at != '.'; at++) {
        if (*at == 'i')
            total += va_arg(list, int);
        else if (*at == 'l')
            total += (f64)va_arg(list, long);
        else if (*at == 'd')
            total += va_arg(list, double);
        else
            total += va_arg(list, const char *)[1];
    }
    if (*kinds == 'i')
        total += 1000.0 * va_arg(again, int);
    va_end(again);
    va_end(list);
    return total;
}

static f64 twice(va_list list)
{
    f64 x = va_arg(list, double);
    return x * 2;
}

static f64 handed_on(i32 count, ...)
{
    va_list list;
    va_start(list, count);
    f64 result = count ? twice(list) : 0.5;
    va_end(list);
    return result;
}

//! run libc_arguments block=32 (f64[128])
kernel void libc_arguments(f64 *out)
{
    u32 i = thread_x();
    f64 *o = out + 4 * i;
    o[0] = added("ildsi.", (i8)(i - 5u), (i64)i << 33, (f32)i * 0.5f, words + i % 20, i > 9u);
    o[1] = added("dd.", 0.25, (f64)i) + added(".");
    o[2] = handed_on(i % 2u ? 1 : 0, (f64)i);
    o[3] = added("iiiiiiii.", (u8)200, (i16)-7, 'a', i, -1, 2, 3, 4);
}

//! run libc_print block=32 (i8[2048])
kernel void libc_print(char *out)
{
    u32 i = thread_x();
    snprintf(out + 64 * i, 64, "%u%% of %-6.3s|%+05d|%.*e|%g", i, words + i, (i32)i - 9,
             (i32)(i % 5), (f64)i / 7, (f32)i * 1e4f);
}

// The compiler knows this format, so that no stream is needed; nobody gets there.
//! run printed_never grid=1 block=32 (u32[32]:mod7, u32[32])
kernel block(32) void printed_never(const u32 *in, u32 *out)
{
    u32 t = thread_x();
    if (in[t] > 100)
        printf("%u of %s, %5.2f%%\n", in[t], "all", 2.5);
    out[t] = in[t] + 1;
}
