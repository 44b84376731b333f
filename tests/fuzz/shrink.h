// Making a bad kernel smaller.
#ifndef KILN_FUZZ_SHRINK_H
#define KILN_FUZZ_SHRINK_H

#include "fuzz/judge.h"

// The smallest text found in `seconds` whose only test is still bad in the same way; the caller
// frees it.
char *shrink(const fuzz_setup *setup, const char *text, const fuzz_verdict *verdict,
             unsigned seconds);

#endif
