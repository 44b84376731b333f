// The words every file speaks: fixed-width integers, compiler attributes, array length.
// Nothing here knows about kernels.
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NORETURN          _Noreturn
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define COUNT(array)      (sizeof(array) / sizeof((array)[0]))

#endif
