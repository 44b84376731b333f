// What the host files of the forward pass share: a call, and which kernel runs it in which tile.
// The choice is the model's (host_choice.c), or what kiln tune has found (host_tuned.c).
#ifndef KILN_HOST_FORWARD_H
#define KILN_HOST_FORWARD_H

#include "ops/attention/host_attention.h"

enum { Q, K, V, OUT, LSE, TENSORS };

typedef struct forward_job {
    attention a;
    const kiln_attention_desc *desc;
    tensor tensors[TENSORS];
    size_t count; // of the tensors: LSE may be missing
} forward_job;

typedef enum forward_way { WAY_PORTABLE, WAY_MMA, WAY_SM90, WAY_DECODE, WAY_COUNT } forward_way;

typedef struct forward_tile { // what forward_sm90.c is specialised by
    uint32_t warpgroups;      // of 64 queries
    uint32_t keys;
    uint32_t q_stages, ahead;
    bool has_turns, is_late;
} forward_tile;

typedef struct forward_choice {
    forward_way way;
    forward_tile tile; // WAY_SM90
    uint32_t warps;    // WAY_MMA: of a block, 4 or 8
    // WAY_DECODE: stages of a warp; parts of a head's keys, or blocks with equal shares of all keys
    uint32_t stages, parts, shares;
} forward_choice;

// --- attention.c
// Runs the call as the choice says. An error: the device, the call or the kernel cannot.
kiln_status forward_run(kiln *k, const kiln_attention_desc *desc, const forward_choice *choice);
// Does the tile fit into the device's shared memory? An error: the kernel does not compile.
kiln_status forward_has_room(const forward_job *j, const forward_tile *t, bool *out);

// --- host_choice.c
bool forward_has_narrow_keys(const attention *a); // a cache of fp8
// Is there no more than a unit of work for each multiprocessor with tiles of so many queries?
bool forward_has_few_units(const attention *a, uint32_t queries, bool has_pairs);
// Are the tiles of causal attention dealt out to the blocks, instead of in pairs (forward_tiles.h)?
bool forward_is_dealt(const attention *a, const forward_tile *t);
// Can that kernel do it? If not, the obstacle says why.
bool forward_can(forward_job *j, forward_way way);
// Does the kernel have this tile, or these parts, for calls of these sizes? If not, the obstacle
// says why.
bool forward_fits(forward_job *j, const forward_choice *c);
// The choice that the description asks for; else the tuner's, if there is one; else the model's.
kiln_status forward_choose(forward_job *j, bool takes_tuned, forward_choice *out);

typedef struct decode_plan {
    uint32_t tiles, parts, stages; // tiles of rows of a head, parts of its keys, stages of a warp
    uint64_t units;                // tiles of all heads
    uint32_t shares;               // blocks with equal shares of all keys; 0: parts of each head
} decode_plan;
// False: no such parts or shares are possible.
bool forward_plan_decode(const attention *a, const forward_choice *c, decode_plan *out);

// --- host_tuned.c
enum { FORWARD_CHOICES = 128, FORWARD_NAME = 192 };
typedef struct forward_list {            // what a call may run on, for the tuner
    forward_choice all[FORWARD_CHOICES]; // the first is the model's
    size_t count;
    char program[FORWARD_NAME], shape[FORWARD_NAME]; // what the rows of the tuner's table call it
} forward_list;
// Every kernel that the description allows, with the tiles that are worth a try.
kiln_status forward_list_choices(kiln *k, const kiln_attention_desc *desc, forward_list *out);
void forward_write_choice(const forward_choice *c, char out[FORWARD_NAME]);
// False: it makes no sense.
bool forward_read_choice(const char *list, forward_choice *out);
typedef struct forward_tuned {
    forward_choice choice;
    bool is_checked, is_possible; // set by who uses it: a row may have been made elsewhere
} forward_tuned;
// NULL: nothing was found for that call on this device, or KILN_TUNED is off.
forward_tuned *forward_find_tuned(const forward_job *j);

// --- attention.c
// Checks a description and takes its sizes; rows is 0 where there is nothing to do.
kiln_status forward_begin(kiln *k, const kiln_attention_desc *desc, forward_job *out);

#endif
