// UTF-8, one character at a time.
#ifndef KILN_UTF8_H
#define KILN_UTF8_H

#include "base/base.h"

// The code point that starts at `at` (left > 0 bytes are there) and its length in bytes. Broken
// bytes give 0xfffd and length 1.
uint32_t utf8_read(const char *at, size_t left, unsigned *len);
// Writes at most 4 bytes; gives how many.
unsigned utf8_write(char *out, uint32_t code);

#endif
