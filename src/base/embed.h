// Texts built into the library: library functions, headers, pages of `kiln explain`. The table is
// written by tools/embed at build time. Names are like "lib/reduce.h", "kiln/cuda.h",
// "errors/K3104.md".
#ifndef KILN_EMBED_H
#define KILN_EMBED_H

#include "base/base.h"

// NULL when there is none. NUL-terminated; `len` may be NULL.
const char *embed_find(const char *name, size_t *len);

// The version, and a hash of everything the library is built from: two builds that may compile
// differently differ here.
extern const char embed_build_id[];

#endif
