// kiln check's insides: shadow memory beside the interpreter's, and what it found.
//
// Epochs number the stretches between barriers, over all blocks of the launch: two accesses of one
// block with different epochs are ordered; an epoch below the block's first one is another block's.
// A cell is the shadow of one granule (interp_program.granule) of shared or global memory.
//
// shadow.c looks at accesses, async.c at what copy engines and wgmma do meanwhile, global.c at what
// copy engines do to global memory, heap.c at blocks of the heap, cluster.c at shared memory of
// other blocks, order.c knows what orders them, step.c the other instructions, finding.c keeps the
// findings, api.c is kiln_check. Start at api.c.
#ifndef KILN_CHECK_SHADOW_H
#define KILN_CHECK_SHADOW_H

#include "base/vec.h"
#include "dev/interp/engine.h"
#include "rt/rt.h"

typedef enum mark_flag {
    MARK_ATOMIC = 1,
    MARK_VOLATILE = 2,
    MARK_UNSET = 4, // a copy of something that was never set
    MARK_MANY = 8   // several threads of the warp; `other` is a second one's lane
} mark_flag;

typedef struct mark { // one access
    uint32_t epoch;   // 0: none
    uint32_t thread : 10, sync : 16, flags : 6;
    uint32_t code : 27, other : 5;
} mark;

typedef struct cell {
    mark write; // the last one
    mark plain; // the last one that was not atomic
    mark read;  // the last one, and
    mark far;   // one by another warp or block
} cell;

typedef struct row_shadow {    // of a buffer
    cell *cells;               // NULL: it is read-only
    struct global_word *words; // NULL: no copies by the engine that matter
    bool is_unset;             // its contents count as not set
} row_shadow;

typedef struct heap_watch heap_watch;
typedef struct global_word global_word;
typedef struct cluster_state cluster_state;
typedef struct global_fence global_fence;
typedef struct engine_use { // what copies of the engine do to global memory
    bool reads, writes;
} engine_use;

typedef struct release { // of an address: what is ordered by it
    uint32_t epoch;      // everything up to here
    uint32_t thread;
} release;

typedef struct spot { // one end of a finding
    uint32_t code;    // index + 1
    uint32_t thread;
    uint64_t block;
} spot;

typedef struct pending { // a read of shared memory that was not set: a race when another thread
                         // sets it before the next barrier
    const cell *cell;
    uint32_t epoch;
    bool is_atomic, is_update, is_one, is_far;
    spot at;
    const char *name;
    int64_t index;
} pending;

typedef struct finding {
    kiln_finding shown;
    diags *ds;
    diag *d;
    uint32_t at_code, other_code; // + 1
    struct finding *next;
} finding;

typedef struct runner_sizes { // what a shadow is made for
    uint64_t shared, threads; // of a block
    uint64_t blocks;          // of a cluster
} runner_sizes;

typedef struct check {
    arena *a;
    source_map *sources;
    const interp_program *program;
    bool all;
    bool is_stopped; // a finding ends the run
    bool is_over;    // nothing more is to be run
    uint32_t epoch, block_epoch;
    uint32_t acquired; // accesses of other blocks up to this epoch come before this one's
    uint32_t fence_block, fence_device; // epochs of the block's last fences
    uint16_t *sync;                     // per warp: how often it has synchronised
    cell *shared;                       // of the block, and of the others of its cluster
    uint64_t shared_stride;             // cells of one
    struct async_state *async;          // NULL unless the program has_nv
    cluster_state *cluster;             // NULL unless clusters have several blocks
    engine_use engine;
    global_fence *global_fences; // per thread of the grid; NULL unless engine.reads
    row_shadow *rows;
    uint32_t row_count;
    heap_watch *heap; // NULL unless the kernel allocates
    bool wants_leaks;
    uint8_t *local_set;    // per warp, laid out as its local memory: 1 where a byte is set
    uint64_t local_stride; // from one warp's to the next
    // Per warp and byte of a register: lanes that hold a copy of something unset.
    uint32_t *unset_lanes;
    uint32_t slot_count;  // of one warp, with one for scratch
    vec(uint64_t) starts; // epoch << 32 | block rank, of each block
    vec(pending) pending;
    map releases; // address -> release
    finding *first, *last;
    uint32_t finding_count;
    uint64_t total;
} check;

static inline check *check_of(const runner *r)
{
    return r->launch->hook_user;
}
static inline cell *check_shared(const runner *r)
{
    return check_of(r)->shared + r->rank * check_of(r)->shared_stride;
}
static inline bool is_atomic_op(const code *c)
{
    return c->op >= CODE_ATOMIC && c->op <= CODE_ATOMIC_STORE;
}
static inline uint32_t code_index(const runner *r, const code *c)
{
    return (uint32_t)(c - r->program->code);
}

// An access that happens now.
static inline mark mark_now(const runner *r, const code *c, uint32_t thread)
{
    const check *k = check_of(r);
    mark now = {.epoch = k->epoch, .sync = k->sync[thread / LANES]};
    now.thread = thread & 1023u;
    now.code = code_index(r, c) & 0x7ffffffu;
    return now;
}

// --- shadow.c: runs a load, store or atomic after looking at it.
bool shadow_access(runner *r, warp *w, const code *c);
// Looks at an access of a lane to the block's shared memory, and marks it.
bool shadow_touch(runner *r, warp *w, const code *c, uint32_t lane, uint32_t offset, uint32_t bytes,
                  bool writes);
// The same for bytes anywhere, one by one. False: some are outside, or the check ends.
bool shadow_bytes(runner *r, warp *w, const code *c, uint32_t lane, uint64_t address,
                  uint64_t bytes, bool writes);
void shadow_settle(runner *r); // before a barrier opens, after a block: reports what is pending

// --- quick.c: looks at the plain cases of an access; gives the lanes that need more.
uint32_t quick_lanes(const runner *r, const warp *w, const code *c);

// --- order.c
typedef enum conflict { CONFLICT_NONE, CONFLICT_BLOCK, CONFLICT_GRID, CONFLICT_CLUSTER } conflict;
// Whether the access `m` and one made now by the thread are unordered. `now` has its flags.
conflict order_conflict(const check *k, const mark *m, const mark *now);
// A release or acquire at an address: flags are watch_flag. Gives the epoch of the newest release
// there, or 0.
uint32_t order_at(check *k, uint64_t address, uint32_t thread, unsigned flags);
void order_fence(check *k, unsigned flags);
uint64_t order_block_of(const check *k, uint32_t epoch);

// --- finding.c
static inline spot spot_here(const runner *r, const warp *w, const code *c, uint32_t lane)
{
    return (spot){code_index(r, c) + 1, w->index * LANES + lane, r->block_rank};
}
bool finding_is_one_place(const check *k, const finding *f); // are both its ends one expression?
// A new finding, or NULL when an equal one is known (it is counted). `other` may be NULL.
finding *finding_new(check *k, const runner *r, diag_code kind, spot at, const spot *other,
                     const char *format, ...) PRINTF_LIKE(6, 7);
void finding_array(finding *f, const char *name, int64_t index);
// A label under the finding's own place (is_other: under the other one).
void finding_label(check *k, finding *f, bool is_other, const char *format, ...) PRINTF_LIKE(4, 5);
const char *finding_thread(check *k, const runner *r,
                           spot at); // "thread (1, 0, 0) of block (0, 0, 0)"
// What a caller does after any finding: true to go on.
bool finding_goes_on(check *k);
// Hands the findings out.
void finding_finish(check *k, const kiln_check_desc *desc);

// --- global.c: what is given to it belongs to rows with words
engine_use global_use_of(const interp_program *p);
uint64_t global_bytes(uint64_t buffer_bytes); // of a row's words, zeroed
uint64_t global_fence_bytes(uint64_t threads_of_grid);
void global_fenced(const runner *r, const warp *w);
bool global_is_quiet(const check *k, const global_word *words, uint64_t offset, uint64_t bytes);
// An access of a thread meets a store under way?
bool global_look(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                 uint64_t bytes, bool writes);
void global_stored(const runner *r, const code *c, uint32_t thread, uint64_t address,
                   uint64_t bytes); // any address
bool global_copy(runner *r, warp *w, const code *c, uint32_t lane, global_kind kind,
                 uint64_t address, uint64_t bytes); // any address

// --- heap.c
uint64_t heap_watch_bytes(uint64_t arena_bytes); // zeroed
void heap_watch_make(check *k, uint64_t address, const interp_buffer *row, void *memory);
bool heap_has_row(const check *k, uint64_t row);
// Does an access lie in one block that is not freed? True for what is none of the heap's pages.
bool heap_is_fine(const check *k, uint64_t address, uint64_t bytes);
bool heap_report(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                 uint64_t bytes, const char *verb);
// In messages a block of the heap stands for its buffer.
void heap_target(const check *k, uint64_t address, array_target *t);
bool heap_is_note(str spelled); // of a host function
bool heap_note(runner *r, warp *w, const code *c);
void heap_leaks(runner *r);

// --- cluster.c: only when check.cluster is set
typedef struct far_meeting {
    conflict kind;
    const mark *mark; // of a block with this rank
    uint32_t rank;
    bool is_write;
} far_meeting;
uint64_t cluster_bytes(const runner_sizes *z, uint32_t granule);
void cluster_make(check *k, const runner_sizes *z, uint32_t granule, void *memory); // zeroed
void cluster_start(check *k);                            // no cluster: does nothing
bool cluster_is_touched(const runner *r);                // from afar; no cluster: false
bool cluster_is_set(const runner *owner, const cell *c); // from afar; no cluster: false
// The accesses to a cell that are unordered with one made now by r. Those of r itself are left out
// when it is the owner.
far_meeting cluster_meets(const runner *r, const runner *owner, const cell *c, const mark *now,
                          bool writes);
void cluster_mark(const runner *r, const runner *owner, const cell *c, const mark *now,
                  bool writes);
void cluster_acquire(const runner *r, uint32_t epoch); // no cluster: does nothing
void cluster_reach(const runner *user, const runner *owner, spot at);
void cluster_use(const runner *user, const runner *owner, spot at);
bool cluster_sends(runner *r, warp *w, const code *c, uint32_t lane, runner *to, uint32_t offset,
                   uint32_t bytes);
bool cluster_event(runner *r, cluster_kind kind, runner *other, const code *c, uint32_t thread);

// --- async.c: only when check.async is set
typedef struct meeting { // of an access with something under way
    diag_code kind;
    const char *what;         // "element 3 of 'tile' …"
    const char *here, *there; // followed by the thread
    const char *note;
} meeting;
bool async_report(runner *r, spot at, const char *name, uint64_t index, const meeting *m,
                  spot other); // other.code 0: there is none
uint64_t async_bytes(const runner_sizes *z);
void async_make(check *k, const runner_sizes *z, void *memory); // zeroed
void async_start_block(const runner *r);
// An access of a thread to shared memory of its block or another one meets something under way?
bool async_look(runner *r, const runner *owner, const warp *w, const code *c, uint32_t lane,
                uint64_t offset, uint64_t bytes, bool writes);
bool async_is_quiet(const runner *r, uint64_t offset, uint64_t bytes);
void async_stored(const runner *r, const code *c, uint32_t thread, uint64_t offset, uint64_t bytes);
extern const async_hooks check_async_hooks;

// --- step.c
extern const interp_hooks check_hooks;

#endif
