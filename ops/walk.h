// Kernels of which a thread has a pack of elements, at the same place in several views: from the
// views to the launch. The kernels include kiln/nest.h; ops over elements that are maps are in
// map.h, ops over rows in rows.h.
#ifndef KILN_OP_WALK_H
#define KILN_OP_WALK_H

#include "ops/launch.h"
#include "ops/nest.h"

enum {
    WALK_THREADS = 256, // of a block of such a kernel
    WALK_TURNS = 16     // steps that its threads take, at most
};

typedef struct op_walk {
    uint32_t widest; // packs; 0: 16
    uint32_t dense;  // bits of views: packs only where these are contiguous
    uint32_t single; // bits of views: packs only where these stay at one element, which is read
} op_walk;

// Packs over views of one shape, sorted by the strides of the last view. No pack is partly filled.
void op_walk_make(const kiln_view *views, uint32_t count, op_walk how, op_packs *out);
// The widest packs, at most `width`, of which all strides are multiples.
uint32_t op_walk_divide(uint32_t width, const int64_t *strides, uint32_t count);
// The packs as the kernel's argument `struct nest`.
kiln_arg op_walk_arg(const op_packs *packs);
// How many packs a thread of a kernel that reads nothing should have: several where there are so
// many, one after the other, that they need not fill the device; on the cpu device one.
uint32_t op_walk_per(const kiln *k, const op_packs *packs);
// A thread for every `per` packs.
kiln_status op_walk_launch(kiln *k, const op_request *r, const op_packs *packs, uint32_t per,
                           const kiln_arg *args, size_t count, kiln_stream *stream);

typedef struct op_turns { // `struct nest_turns` of the kernels
    uint64_t count;
    int64_t steps[2];
} op_turns;

// Has each thread take several steps of the outermost loop, where there are more packs than a large
// GPU runs at the same time: what it finds out about the other loops then holds for all of them.
// `read` and `written` are strides of that loop. is_possible: that is so, and there are two loops;
// else each thread takes one step.
void op_walk_turn(op_packs *packs, bool is_possible, int64_t read, int64_t written, op_turns *out);
// The same for kernel `r`, where that is always possible. Where the device says how many blocks of
// it run at the same time, the number of steps, `most` at most, is the one with which they fill it
// evenly: what a thread does before its first step counts as one more, and a last wave of few
// blocks as a full one.
void op_walk_turn_even(kiln *k, const op_request *r, op_packs *packs, uint32_t most, int64_t read,
                       int64_t written, op_turns *out);

// Gives the axes V, RANK and LONG of an op's axes.def the values of the packs.
#define op_walk_set(request, packs)                                                                \
    do {                                                                                           \
        op_set(request, V, (packs)->width);                                                        \
        op_walk_set_loops(request, packs);                                                         \
    } while (0)
// The same where the kernel has no packs: the axes RANK and LONG.
#define op_walk_set_loops(request, packs)                                                          \
    do {                                                                                           \
        op_set(request, RANK, (packs)->rank);                                                      \
        op_set(request, LONG, (packs)->is_long);                                                   \
    } while (0)

#endif
