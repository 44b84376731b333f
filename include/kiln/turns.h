// kiln/turns.h: steps of the outermost loop of a nest (kiln/nest.h) that a thread takes itself, so
// that it finds its place in the other loops once. The host makes the struct (ops/walk.h).
#ifndef KILN_KERNEL_TURNS_H
#define KILN_KERNEL_TURNS_H

#include <kiln/kernel.h>

// sizes[0] of the nest is how far a thread's steps are apart, its index there the first of them.
struct nest_turns {
    u64 count;    // steps of all threads
    i64 steps[2]; // from one of a thread's steps to the next: of what is read, of what is written
};

#endif
