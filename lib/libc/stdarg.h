// <stdarg.h> for kernels: the arguments that `...` stands for lie one after another, 8 bytes each,
// in memory of the caller (docs/design/0011-variable-arguments.md).
#pragma once

typedef u64 *va_list;

#define va_start(list, last) ((void)((list) = __arguments))
#define va_arg(list, T)      (*(T *)((list)++))
#define va_copy(to, from)    ((void)((to) = (from)))
#define va_end(list)         ((void)(list))
