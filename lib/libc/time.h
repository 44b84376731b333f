// <time.h> for kernels: clocks of the host, each reading a call by permission (kiln/io.h).
#pragma once
#include <errno.h>

typedef long time_t;
typedef long clock_t;
typedef int clockid_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

#define CLOCKS_PER_SEC           1000000l
#define CLOCK_REALTIME           0
#define CLOCK_MONOTONIC          1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define TIME_UTC                 1

host i64 kiln_io_clock(i32 which);
host i32 kiln_io_sleep(i64 nanoseconds);

static int clock_gettime(clockid_t which, struct timespec *out)
{
    i64 ns = which < 0 || which > 2 ? -EINVAL : kiln_io_clock(which);
    if (ns < 0) {
        errno = (int)-ns;
        return -1;
    }
    out->tv_sec = ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
    return 0;
}

static int timespec_get(struct timespec *out, int base)
{
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, out) ? base : 0;
}

static time_t time(time_t *out)
{
    struct timespec now;
    time_t seconds = clock_gettime(CLOCK_REALTIME, &now) ? -1 : now.tv_sec;
    if (out)
        *out = seconds;
    return seconds;
}

static clock_t clock(void)
{
    struct timespec used;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
               ? -1
               : used.tv_sec * CLOCKS_PER_SEC + used.tv_nsec / 1000;
}

static double difftime(time_t end, time_t begin)
{
    return (double)(end - begin);
}

static int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    if (wanted->tv_sec < 0 || wanted->tv_nsec < 0 || wanted->tv_nsec > 999999999) {
        errno = EINVAL;
        return -1;
    }
    i64 seconds = wanted->tv_sec < 9000000000 ? wanted->tv_sec : 9000000000; // 285 years
    i32 result = kiln_io_sleep(seconds * 1000000000 + wanted->tv_nsec);
    if (rest)
        *rest = (struct timespec){0};
    if (result < 0)
        errno = -result;
    return result < 0 ? -1 : 0;
}
