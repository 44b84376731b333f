// What the protocol's source under test and the model checker know of each other. The source runs
// as coroutines (actors.c); each access to shared memory asks the checker (thread.c), which decides
// what it gives: memory.c has the rules of weak memory, explore.c goes through all states.
#ifndef KILN_TESTS_MODEL_H
#define KILN_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_BOXES = 4, MODEL_ROWS = 3, MODEL_LANES = 2, MODEL_WARPS = 4, MODEL_CALLS = 6 };

// The words of a mailbox; the box after the last one has the words that all share.
enum {
    AT_OWN,
    AT_HEADER,
    AT_WHO = AT_HEADER + 2,
    AT_CANCEL,
    AT_DONE,
    AT_REQUEST,
    AT_REPLY = AT_REQUEST + MODEL_ROWS * MODEL_LANES,
    AT_DATA = AT_REPLY + MODEL_ROWS * MODEL_LANES,
    AT_WORDS,
    AT_DEAD = AT_OWN, // of the last box: in the GPU's memory
    AT_STATE          // and in the host's
};

#define OP(name, text) OP_##name,
enum { // what a thread asks for
#include "tests/model/model.def"
    OP_COUNT
};
#define FINDING(name, text) FOUND_##name,
enum { // what can be wrong
#include "tests/model/model.def"
    FOUND_COUNT
};
enum { RELAXED, ACQUIRE = 1, RELEASE = 2 };
enum { OVER_PATIENCE = 1, OVER_SILENCE };

typedef struct model_op {
    uint8_t kind, order, is_system, box, at; // box and at: the word
    uint64_t value;
} model_op;

// One way to use the protocol, explored whole.
typedef struct scenario {
    const char *name;
    uint32_t warps, lanes, mask; // mask: the lanes that call
    uint32_t boxes, calls, hosts;
    uint32_t rows_out, rows_in;
    uint32_t last;   // the number after which numbers begin again
    bool is_send;    // nobody waits
    bool has_data;   // beside the rows
    bool is_one_way; // the host only reads them
    bool has_who;    // in the header
    bool has_patience, may_close, may_die;
    uint32_t phase;   // only every third call, from this one on, has all rows; 3: all have
    uint32_t start;   // the number of the last call before this
    bool is_any_home; // a warp may begin with any mailbox; else all begin with the first
    bool is_plain;    // no step goes first and nobody waits because of who holds what (reduce.c)
    bool is_raw;      // and worlds are not made equal that differ in what nobody looks at (tidy.c)
} scenario;
extern scenario model_now;
static inline uint32_t model_rows(uint32_t rows, uint32_t call)
{
    return model_now.phase == 3 || call % 3 == model_now.phase || !rows ? rows : 1;
}

// --- actors.c
void model_warp(void *lane); // (uintptr_t)
void model_host(void *index);
void model_program(void *unused);
// The word at this address; false: it is none.
bool model_where(const void *address, uint8_t *box, uint8_t *at);

// --- thread.c: coroutines as automata
// From the coroutine: waits for what the checker gives.
uint64_t model_ask(uint8_t kind, const void *word, uint64_t value, uint8_t order, bool is_system);
uint32_t model_lane(void); // the coroutine's argument
// The number of a state of a coroutine: its stack, and what it asks for.
uint32_t thread_start(void (*run)(void *), void *user);
uint32_t thread_step(uint32_t state, uint64_t given);
const model_op *thread_op(uint32_t state);
uint32_t thread_states(void);
void thread_forget(void); // all

// --- explore.c
typedef struct verdict {
    int found;
    uint64_t states, steps, ends; // ends: states in which all is over
    uint32_t local, depth;
} verdict;
// `limit`: most states, then FOUND_SIZE; is_told: prints how it came to what was found.
verdict explore(const scenario *s, uint64_t limit, bool is_told);
extern const char *const finding_text[FOUND_COUNT];
extern const char *const op_text[OP_COUNT];

#endif
