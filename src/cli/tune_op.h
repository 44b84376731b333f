// Ops of the library that can be tuned: what the command line asks for, and a file for each op that
// makes its data and lists its candidates.
#ifndef KILN_CLI_TUNE_OP_H
#define KILN_CLI_TUNE_OP_H

#include "cli/bench.h"
#include "cli/tune.h"

enum { TUNE_SIZES = 6 };

typedef struct tune_request {
    tune_session s;
    kiln_type type, out; // of operands, of the result
    bool is_tf32, is_causal;
    const char *layout; // "nt"
    uint64_t sizes[TUNE_SIZES];
    size_t size_count;
} tune_request;

// A buffer with random numbers, or with none. The caller frees it.
kiln_status tune_new_operand(kiln *k, kiln_type type, uint64_t count, bool is_random,
                             kiln_buffer **out);
// Lists `count` candidates; their choices are still to be written. False: no memory.
bool tune_list(tune_session *s, size_t count);
// Runs the candidate whose launch the session has, once, over a result of NaN, and reads it.
// TUNE_TIMED: it ran; else why it did not.
tune_state tune_run_once(tune_session *s, tune_candidate *c, kiln_buffer *result, void *got,
                         uint64_t count, size_t bytes);
// Times the candidates and saves the best. `program` is what the table calls the op. Gives the exit
// code.
int tune_compare(tune_session *s, const char *program);

int tune_matmul(tune_request *r);    // tune_matmul.c
int tune_attention(tune_request *r); // tune_attention.c

#endif
