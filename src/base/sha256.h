// SHA-256: names for contents. Two different texts never share one, so a cache may trust it;
// `sha256sum` gives the same.
#ifndef KILN_SHA256_H
#define KILN_SHA256_H

#include "base/base.h"

enum { SHA256_BYTES = 32, SHA256_TEXT = 65 };

typedef struct sha256 {
    uint32_t state[8];
    uint8_t block[64];
    size_t fill;
    uint64_t total;
} sha256;

void sha256_start(sha256 *s);
void sha256_add(sha256 *s, const void *bytes, size_t len);
void sha256_end(sha256 *s, uint8_t out[SHA256_BYTES]);
void sha256_of(const void *bytes, size_t len, uint8_t out[SHA256_BYTES]);
// For tests: without the processor's instructions for it; false: with them again, if it has them.
void sha256_plain(bool is_plain);
// Lower-case hexadecimal digits and a NUL.
void sha256_text(const uint8_t hash[SHA256_BYTES], char out[SHA256_TEXT]);

#endif
