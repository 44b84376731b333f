// What libFuzzer's entries share that read text into an arena. Errors of the text and a full arena
// are fine; what Kiln calls a mistake of its own ends the fuzzer.
#ifndef KILN_FUZZ_IN_ARENA_H
#define KILN_FUZZ_IN_ARENA_H

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Calls `look` with the input and an arena of its own, of at most `most` bytes.
static inline int fuzz_in_arena(const uint8_t *data, size_t size, size_t most,
                                void (*look)(arena *a, str input))
{
    arena *volatile a = arena_new();
    bug_frame frame;
    if (!a)
        return 0;
    arena_limit(a, most);
    if (bug_enter(&frame)) {
        if (frame.kind == BUG_INTERNAL) {
            fprintf(stderr, "%s\n", frame.text);
            abort();
        }
    } else {
        look(a, (str){(const char *)data, size});
        bug_leave(&frame);
    }
    arena_free(a);
    return 0;
}

#endif
