// <errno.h> for kernels: every thread has its own, 0 when the kernel starts. The numbers are
// Linux's.
#pragma once

static _Thread_local int __k_errno;
#define errno __k_errno

// clang-format off
enum {
    EPERM = 1, ENOENT = 2, EINTR = 4, EIO = 5, ENXIO = 6, EBADF = 9, EAGAIN = 11, ENOMEM = 12, EACCES = 13, EFAULT = 14,
    EBUSY = 16, EEXIST = 17, EXDEV = 18, ENODEV = 19, ENOTDIR = 20, EISDIR = 21, EINVAL = 22, ENFILE = 23, EMFILE = 24,
    EFBIG = 27, ENOSPC = 28, ESPIPE = 29, EROFS = 30, EPIPE = 32, EDOM = 33, ERANGE = 34, ENAMETOOLONG = 36, ENOSYS = 38,
    ENOTEMPTY = 39, ELOOP = 40, EILSEQ = 84, EOVERFLOW = 75, ECONNRESET = 104, ETIMEDOUT = 110, ECONNREFUSED = 111,
    ECANCELED = 125
};
// clang-format on
