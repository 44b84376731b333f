// The accesses of the protocol (src/rt/channel/word.h) for the model checker, and its small world:
// two rows, two lanes, no time.
#ifndef KILN_TESTS_MODEL_WORD_H
#define KILN_TESTS_MODEL_WORD_H

#include <string.h>

#include "tests/model/model.h"

#define MAILBOX_ROWS       MODEL_ROWS
#define MAILBOX_LANES      MODEL_LANES
#define MAILBOX_WHO        1
#define MAILBOX_LINE(kind) (2u + ((kind)&MAILBOX_HAS_WHO ? MAILBOX_WHO : 0u))
#define MAILBOX_LAST       (model_now.last)
#define MAILBOX_FIRST_POLL 0
#define MAILBOX_NAP        0
#define MAILBOX_LONG_NAP   0

#define word_load(p)             model_ask(OP_LOAD, p, 0, RELAXED, true)
#define word_load_acquire(p)     model_ask(OP_LOAD, p, 0, ACQUIRE, true)
#define word_store(p, v)         ((void)model_ask(OP_STORE, p, v, RELAXED, true))
#define word_store_release(p, v) ((void)model_ask(OP_STORE, p, v, RELEASE, true))
#define word_swap_acquire(p, v)  model_ask(OP_SWAP, p, v, ACQUIRE, false)
#define word_give(p, v)          ((void)model_ask(OP_STORE, p, v, RELEASE, false))
#define word_settle()            ((void)model_ask(OP_FENCE, NULL, 0, RELEASE, false)) // of more, no use
#define word_give_settled(p, v)  ((void)model_ask(OP_STORE, p, v, RELAXED, false))
#define word_fence()             ((void)model_ask(OP_FENCE, NULL, 0, ACQUIRE | RELEASE, true))

#define word_lane()     model_lane()
#define word_ballot(is) ((uint32_t)model_ask(OP_BALLOT, NULL, is, 0, 0))
#define word_all(is)    (model_ask(OP_BALLOT, NULL, !(is), 0, 0) == 0)
#define word_from(v, from)                                                                         \
    ((__typeof__(v))model_ask(OP_FROM, NULL, (uint64_t)(v), (uint8_t)(from), 0))
#define word_sync() ((void)model_ask(OP_SYNC, NULL, 0, 0, 0))

#define word_now()             UINT64_C(0)
#define word_is_over(t, limit) ((void)(t), model_ask(OP_OVER, NULL, limit, 0, 0) != 0)
#define word_beat(p, last)     ((void)(p), model_ask(OP_BEAT, NULL, last, 0, 0))
#define word_pause(cycles)     ((void)(cycles))
// After a round the call is over: what is left of it must not make equal states different.
#define word_count(beat)       ((void)(beat), (void)memset(call, 0, sizeof *call))
#define word_idle(rounds)      ((void)(rounds))
#define word_expect(p)         ((void)(p))
#define word_expect_store(p)   ((void)(p))
#define word_hint(p)           ((void)(p), UINT64_C(0))

#endif
