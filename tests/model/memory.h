// Weak memory. Every word has a list of messages (what was stored, oldest first), every thread a
// view: of each word the oldest message that it may still read. A load gives any message from there
// on and moves the view; a store goes anywhere behind the view. So loads may be stale and stores
// may overtake each other, in any combination. A release store and a store after a release fence
// carry the view of their thread; an acquire load, and an acquire fence after a load, take it over:
// that is all the order there is, as PTX and C11 promise it. x86 promises more.
//
// `own` is in the GPU's memory, where exchanges are made in one order: it has one message. Views
// are passed on within a mailbox only: fewer promises than there are, so nothing is missed.
#ifndef KILN_TESTS_MODEL_MEMORY_H
#define KILN_TESTS_MODEL_MEMORY_H

#include "tests/model/model.h"

enum { SHARED = MODEL_BOXES }; // the box of the words that all share
enum { MOST_MESSAGES = 20, MOST_ACTORS = MODEL_WARPS * MODEL_LANES + 3 };
enum { VIEW_NONE, VIEW_BOX, VIEW_ALL }; // ALL: kernels have ended, all they stored has arrived
enum { ACTOR_WARP, ACTOR_HOST, ACTOR_PROGRAM };

typedef struct message {
    uint64_t value;
    uint8_t tag; // the call that it belongs to; 0: none
    uint8_t has_view;
    uint8_t view[AT_WORDS];
} message;

typedef struct word {
    uint8_t count;
    message m[MOST_MESSAGES];
} word;

typedef struct box {
    word words[AT_WORDS];
} box;

typedef struct views {
    uint8_t of[MODEL_BOXES + 1][AT_WORDS];
} views;

typedef struct actor {
    uint32_t local; // its state as a coroutine
    uint8_t role, lane, is_over, is_dead;
    uint8_t begun, served[MODEL_CALLS]; // of a warp, in its first lane
    uint8_t outcome[MODEL_CALLS];       // status + 3
    uint8_t has_joined;
    uint8_t held;              // of a warp: 1 + the mailbox that it has claimed; 0: none
    uint32_t stored;           // and the words of its request that it has stored, of AT_…
    uint8_t tags[AT_WORDS];    // what was read last. Host: the call; warp: 1 mine, 2 foreign
    views now, released, seen; // seen: what an acquire fence would take over
} actor;

typedef struct world {
    box boxes[MODEL_BOXES + 1];
    actor actors[MOST_ACTORS];
    uint32_t actor_count;
} world;

// The words that a scenario uses; the others keep their first message, and are passed over.
typedef struct word_list {
    uint8_t at[AT_WORDS], count;
} word_list;
extern word_list model_words;

void world_start(world *w);
bool world_is_over(const world *w);
int world_end(const world *w); // FOUND_… of a world that is over
// In how many ways the actor can go on; and one of them.
uint32_t actor_ways(const world *w, uint32_t a);
int actor_go(world *w, uint32_t a, uint32_t way);
uint8_t tag_of(const world *w, uint32_t a); // of the call that a warp makes
// Messages that nobody can read any more, and the order of the warps, make no difference.
void world_tidy(world *w);

static inline bool is_latest_only(uint32_t b, uint32_t at)
{
    return b != SHARED && at == AT_OWN;
}

// --- reduce.c: steps that need not be tried
bool is_followed(void); // who holds what is known
bool is_quiet(const model_op *op);
bool is_of_request(uint32_t at);
bool is_host_dead(const world *w);
// It may go first, whatever the others do: nobody can tell.
bool actor_is_first(const world *w, uint32_t a);
// It may wait: what it can do now it can do later, too.
bool actor_is_waiting(const world *w, uint32_t a);
// A step does what the two above rely on. Then `note_step` notes it.
bool is_as_assumed(const world *w, uint32_t a, const model_op *op);
void note_step(world *w, uint32_t a, const model_op *op);

#endif
