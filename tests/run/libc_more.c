// What POSIX and GNU have beside C's <string.h>, <stdlib.h> and <math.h>, in kernels, against the
// host's own library.
#define _GNU_SOURCE // memmem, memrchr, mempcpy, strchrnul, strcasestr
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <kiln/kernel.h>

static const char line[] = "Alpha,beta;;GAMMA delta,,Epsilon;zeta";

static i32 place(const void *found, const void *start)
{
    return found ? (i32)((const char *)found - (const char *)start) : -1;
}

static i32 sign(i32 x)
{
    return (x > 0) - (x < 0);
}

//! run libc_search block=36 (i32[576])
kernel void libc_search(i32 *out)
{
    u32 i = thread_x();
    i32 *o = out + 16 * i;
    const char *from = line + i;
    o[0] = place(memrchr(from, 'a', 37 - i), from);
    o[1] = place(memmem(from, 37 - i, "ta", 2), from);
    o[2] = place(memmem(from, i % 5, "ta", i % 3), from);
    o[3] = place(strchrnul(from, ';'), from);
    o[4] = place(strcasestr(from, "gamma"), from);
    o[5] = sign(strcasecmp(from, "DELTA,,epsilon;ZETA"));
    o[6] = sign(strncasecmp(from, "Gamma rays", i % 8));
    o[7] = sign(strcoll(from, line + 35 - i));
    char room[48];
    memset(room, '#', sizeof room);
    o[8] = (i32)strxfrm(room, from, 38 - i) + room[0];
    o[9] = place(mempcpy(room, line + i / 2, 5), room);
    o[10] = place(memccpy(room + 6, line + i / 2, ';', 18), room) + room[10];
    bzero(room, i % 7);
    bcopy(line, room + 2, 4);
    o[11] = bcmp(room, line, 3) != 0;
    o[12] = place(index(from, 'd'), from) * 100 + place(rindex(from, 'e'), from);
    o[13] =
        ffs((i32)(i * i << (i % 19))) + ffsl((i64)i << 40) * 100 + ffsll(i ? 1ll << (i + 20) : 0);
    o[14] = toascii((i32)(i * 37)) + (isascii((i32)(i * 9)) != 0) * 1000;
    o[15] = room[0] + room[3] * 256;
}

//! run libc_tokens block=32 (i32[96])
kernel void libc_tokens(i32 *out)
{
    u32 i = thread_x();
    char text[sizeof line], fields[sizeof line], *rest = fields;
    memcpy(text, line, sizeof line);
    memcpy(fields, line, sizeof line);
    text[sizeof line - 1 - i] = 0;
    fields[sizeof line - 1 - i] = 0;
    i32 sum = 0, count = 0, empty = 0;
    for (char *word = strtok(text, ",; "); word; word = strtok(NULL, i % 2 ? ",;" : ", ")) {
        sum = sum * 5 + (i32)strlen(word) + word[0];
        count++;
    }
    for (char *field = strsep(&rest, ",;"); field; field = strsep(&rest, ",;"))
        empty += *field ? 1 : 100;
    out[3 * i] = sum;
    out[3 * i + 1] = count;
    out[3 * i + 2] = empty;
}

//! run libc_copies block=16 (i32[48])
kernel void libc_copies(i32 *out)
{
    u32 i = thread_x();
    char *whole = strdup(line + i), *part = strndup(line + i, i);
    i32 *o = out + 3 * i;
    o[0] = whole ? (i32)strlen(whole) + whole[2] : -1;
    o[1] = part ? (i32)strlen(part) + part[0] : -1;
    o[2] = whole && part ? strcmp(whole, part) > 0 : -1;
    free(whole);
    free(part);
    void *block = NULL;
    o[1] += !posix_memalign(&block, 256, 40) && (u64)(uintptr_t)block % 256 == 0 ? 1000 : 0;
    i32 *numbers = reallocarray(block, i + 100, sizeof *numbers);
#ifdef __KILN__ // what a sanitizer of the host does not let pass
    void *none = NULL;
    volatile u64 huge = (u64)1 << 62;
    o[0] += posix_memalign(&none, 3, 8) == EINVAL && !none ? 1000 : 0;
    errno = 0;
    o[2] += !reallocarray(NULL, huge, 16) && errno == ENOMEM ? 100000 : 0;
#else
    o[0] += 1000;
    o[2] += 100000;
#endif
    if (numbers)
        numbers[i + 99] = 7;
    free(numbers);
}

//! run libc_errors block=140 (i32[140])
kernel void libc_errors(i32 *out)
{
    static const u8 known[] = {0,  1,  2,  4,  5,  9,  11, 12, 13,  14,  16,  17,  20, 21,
                               22, 24, 28, 32, 34, 36, 39, 98, 104, 110, 111, 125, 75, 84};
    u32 i = thread_x();
    const char *text = strerror(i < sizeof known ? (i32)known[i] : 4000 + (i32)i * (i32)i * 7);
    i32 sum = 0;
    for (u32 k = 0; text[k]; k++)
        sum = sum * 31 + text[k];
    out[i] = sum;
}

static u64 bits_of(f64 x)
{
    return isnan(x) ? 1 : bits_f64(x);
}

static u64 bits_of_small(f32 x)
{
    return isnan(x) ? 1 : bits_f32(x);
}

// Of every size: random bits, whole and half numbers, subnormals, what is no number.
static f64 number(u64 random, u32 kind)
{
    static const f64 plain[8] = {0, -0.0, 0.5, -0.5, 1.5, -2.5, 0x1p-1022, 0x1.fffffffffffffp1023};
    return kind == 0   ? f64_from_bits(random)
           : kind == 1 ? f64_from_bits(random & 0x800fffffffffffffull)
           : kind == 2 ? (f64)(i32)(random >> 40) / 2
           : kind == 3 ? f64_from_bits((random & 1) << 63 | 0x7ff0000000000000ull)
           : kind == 4 ? plain[random >> 61]
                       : f64_from_bits(0x3fe0000000000000ull + (random & 0x803fffffffffffffull));
}

//! run libc_numbers_apart grid=8 block=64 (u64[1024]:bits, u64[9216])
kernel void libc_numbers_apart(const u64 *random, u64 *out)
{
    u32 i = global_x();
    u64 *o = out + 18 * i;
    f64 x = number(random[2 * i], i % 6), y = number(random[2 * i + 1], i / 6 % 6), whole;
    i32 e = 0, n = (i32)(random[2 * i] >> (50 - i % 3)) % 2300 - 1150;
    o[0] = bits_of(frexp(x, &e)) ^ (isfinite(x) ? (u64)(u32)e : 0);
    o[1] = bits_of(ldexp(x, n));
    o[2] = bits_of(scalbn(y, -n)) + bits_of(scalbln(y, (i64)n * 3));
    o[3] = bits_of(modf(x, &whole));
    o[4] = bits_of(whole);
    o[5] = bits_of(logb(x));
    o[6] = (u64)(u32)ilogb(y);
    o[7] = bits_of(nextafter(x, y));
    o[8] = bits_of(fdim(x, y));
    o[9] = bits_of(nearbyint(x));
    f64 near = fabs(x) < 0x1p62 ? x : 0;
    o[10] = (u64)lrint(near) * 3 + (u64)llrint(near);
    o[11] = (u64)lround(near) * 3 + (u64)llround(near);
    o[12] = (u64)(isnormal(x) * 2 + isunordered(x, y) * 4 + isgreater(x, y) * 8 +
                  isgreaterequal(x, y) * 16 + isless(x, y) * 32 + islessequal(x, y) * 64 +
                  islessgreater(x, y) * 128);
    o[13] = (u64)(fpclassify(x) == FP_NAN) | (u64)(fpclassify(x) == FP_INFINITE) << 1 |
            (u64)(fpclassify(x) == FP_ZERO) << 2 | (u64)(fpclassify(x) == FP_SUBNORMAL) << 3 |
            (u64)(fpclassify(x) == FP_NORMAL) << 4 | (u64)(isnan(nan("")) != 0) << 5 |
            bits_f64(nan("0x12")) << 8 | (u64)bits_f32(nanf("9")) << 32;
    f32 small = f32_from_bits((u32)random[2 * i]), other = (f32)y, part;
    o[14] = bits_of_small(frexpf(small, &e)) ^ (isfinite(small) ? (u64)(u32)e << 32 : 0);
    o[15] = bits_of_small(ldexpf(small, n / 4)) + bits_of_small(scalbnf(other, n)) * 3;
    o[16] = bits_of_small(modff(small, &part)) ^ bits_of_small(part) << 32;
    f32 close = fabs(small) < 0x1p62f ? small : 1.5f;
    o[17] = (bits_of_small(nextafterf(small, other)) + bits_of_small(logbf(small)) * 5 +
             bits_of_small(fdimf(small, other)) * 7 + (u64)(u32)ilogbf(small) * 11) ^
            ((u64)lrintf(close) + (u64)lroundf(close) * 3 + bits_of_small(nearbyintf(close)) * 9);
}

//! run libc_widest block=32 (i64[96])
kernel void libc_widest(i64 *out)
{
    u32 i = thread_x();
    static const char texts[4][32] = {"0 7 ff", "-99999999999 12 1a2b3c", "42",
                                      " 7777777 255 0x10"};
    const char *text = texts[i % 4] + i / 16;
    char *end = NULL;
    int_fast16_t first = strtoimax(text, &end, 10);
    uint_least8_t second = (uint_least8_t)strtoumax(end, &end, 10);
    out[3 * i] = first + second;
    out[3 * i + 1] = (i64)strtoumax(end, NULL, 16) - imaxabs(-(i64)i) + (i64)sizeof PRId64 PRIxMAX;
    out[3 * i + 2] = imaxdiv(first, 1000).quot + imaxdiv(first, 1000).rem;
}

//! run libc_sequence block=16 (i32[32])
kernel void libc_sequence(i32 *out)
{
    u32 i = thread_x();
#ifdef __KILN__ // rand's numbers are not glibc's
    unsigned seed = 1;
    i32 is_same = rand() == rand_r(&seed) && rand() == rand_r(&seed);
    seed = i;
    srand(i);
    for (u32 k = 0; k < 5; k++)
        is_same = is_same && rand() == rand_r(&seed);
    out[2 * i] = is_same;
#else
    out[2 * i] = 1;
#endif
    i32 drawn = rand();
    out[2 * i + 1] = drawn >= 0 && drawn <= RAND_MAX && EXIT_SUCCESS == 0 && EXIT_FAILURE == 1;
}

// Each thread seeds its own state; there is no barrier, because the host has one state for all.
//! run libc_rand48 block=40 (u64[800])
kernel void libc_rand48(u64 *out)
{
    u32 i = thread_x();
    u64 *o = out + 20 * i;
    unsigned short state[3] = {(unsigned short)(i * 7919), (unsigned short)i, 77},
                   with[7] = {1, 2, (unsigned short)i, 0x1235, 0xbeef, 5, (unsigned short)(3 * i)};
    srand48((long)i * 123456789 - 99);
    for (u32 n = 0; n < 3; n++)
        o[n] = bits_f64(drand48());
    o[3] = (u64)lrand48();
    o[4] = (u64)mrand48();
    o[5] = bits_f64(erand48(state));
    o[6] = (u64)nrand48(state);
    o[7] = (u64)jrand48(state);
    o[8] = state[0] + 65536ull * state[1] + 4294967296ull * state[2];
    const unsigned short *before = seed48(state);
    o[9] = before[0] + 65536ull * before[1] + 4294967296ull * before[2];
    o[10] = bits_f64(drand48());
    lcong48(with);
    o[11] = bits_f64(drand48());
    o[12] = (u64)lrand48();
    o[13] = (u64)nrand48(state); // with the other factor, too
    before = seed48(state);
    o[14] = before[0] + 65536ull * before[1] + 4294967296ull * before[2];
    o[15] = (u64)mrand48();
    srand48(1);
    o[16] = (u64)lrand48();
}
