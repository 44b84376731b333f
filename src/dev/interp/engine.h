// What the interpreter's files share: the decoded program and the state of a running block.
//
// Registers. A value has one slot of 32 lanes, each lane at the type's natural size (i1 is a byte
// 0 or 1). A slot is named by its byte offset: in the warp's own registers, or, with UNIFORM_BIT,
// in the launch's read-only area (constants, parameters, sizes). Two values share a slot only when
// the first is dead in every lane, therefore plain operations write all 32 lanes whatever the mask;
// only memory, side effects and the moves of exit and next obey it.
//
// Control. Nesting is static, so a warp's control stack is frames[0..depth). A lane that left waits
// in the frame it left (`exited`, `next`) until the engine gets there.
#ifndef KILN_INTERP_ENGINE_H
#define KILN_INTERP_ENGINE_H

#include "dev/interp/interp.h"

enum { LANES = 32 };
#define UNIFORM_BIT    0x80000000u
#define ALL_LANES      0xffffffffu
#define STATIC_SEGMENT 0x800000u // segments of the program itself; below are the context's buffers
#define OFFSET_MASK    (((uint64_t)1 << INTERP_SEGMENT_BITS) - 1)
#define ALIASED        __attribute__((may_alias))

typedef uint8_t lane_u8 ALIASED;
typedef uint16_t lane_u16 ALIASED;
typedef uint32_t lane_u32 ALIASED;
typedef uint64_t lane_u64 ALIASED;
typedef int8_t lane_i8 ALIASED;
typedef int16_t lane_i16 ALIASED;
typedef int32_t lane_i32 ALIASED;
typedef int64_t lane_i64 ALIASED;
typedef float lane_f32 ALIASED;
typedef double lane_f64 ALIASED;

// One operation on 32 lanes. d may be one of the sources, but never overlaps one in part.
typedef void lane_fn(void *d, const void *a, const void *b, const void *c);
#if defined(__GNUC__) && !defined(__clang__)
#    define LANE_LOOP _Pragma("GCC ivdep")
#else
#    define LANE_LOOP
#endif
// NULL: no native loop, ask ir_eval lane by lane. `from` is the operand's type of a conversion,
// else ignored. `fast`: the loops for this processor's vector instructions, when it has them.
lane_fn *lane_find(ir_op op, ir_type type, ir_type from, bool fast);
bool lane_has_fast(void);
// The loops exist twice, plain and compiled for AVX2 (ops_avx2.c).
#ifndef LANE_NAME
#    define LANE_NAME(name) name
#endif
lane_fn *lane_find_int(ir_op op, ir_type type);
lane_fn *lane_find_float(ir_op op, ir_type type);
lane_fn *lane_find_convert(ir_op op, ir_type to, ir_type from);
lane_fn *lane_find_int_avx2(ir_op op, ir_type type);
lane_fn *lane_find_float_avx2(ir_op op, ir_type type);
lane_fn *lane_find_convert_avx2(ir_op op, ir_type to, ir_type from);

typedef enum code_op {
    CODE_LANE, // fn(d, a, b, c)
    CODE_EVAL, // the same by ir_eval: extra[b…] are the operands, imm says op and types
    CODE_MOVE, // one value of an exit or next: d = a under the mask
    CODE_LOAD,
    CODE_LOAD_MANY, // results are extra[d…]
    CODE_STORE,     // a: pointer, b: value
    CODE_STORE_MANY,
    CODE_ATOMIC, // align: ir_atomic
    CODE_CAS,
    CODE_ATOMIC_LOAD,
    CODE_ATOMIC_STORE,
    CODE_FENCE,
    CODE_BARRIER,
    CODE_SHUFFLE, // align: ir_shuffle
    CODE_BALLOT,
    CODE_ACTIVE,
    CODE_MATCH,
    CODE_PRINT, // a: string, extra[b…]: operands, c: their number; types in extra[b + c…]
    CODE_HOST, // a: site, extra[b…]: operands, c: their number; results in extra[d…]; u.imm: string
    CODE_ASSERT, // a: condition, b: string
    CODE_BOUNDS, // a: condition, b: byte offset, c: byte length, d: string
    CODE_TRAP,
    CODE_ASSUME,
    CODE_CLOCK,
    CODE_NANOTIME,
    CODE_SLEEP,
    CODE_NV,      // align: row of nv.def; operands extra[b … b + c), results extra[d …)
    CODE_SETTLE,  // what wgmma of this warp are under way end before something else looks
    CODE_LOOK,    // watched: a is read by other code than wgmma
    CODE_TOUCHED, // watched: a register operand of wgmma was set
    CODE_SHADDR,
    CODE_MAPA,
    CODE_LOCAL, // the address of an array in the function's frame: imm + where that is
    CODE_CALL,  // a: function; arguments extra[b … b + c); d: the result's slot, or NO_SLOT
    CODE_LEAVE, // `return` of a function
    CODE_BLOCK,
    CODE_IF,
    CODE_LOOP,
    CODE_SWITCH,
    CODE_EXIT,
    CODE_NEXT,
    CODE_RETURN,
    CODE_UNREACHABLE,
    CODE_WARPSYNC, // only after CODE_WATCH
    CODE_WATCH     // the hooks do the next instruction; align: watch_flag
} code_op;

typedef enum watch_flag {
    WATCH_COPIES = 1,   // LOAD: the values only go to stores with WATCH_COPIED
    WATCH_COPIED = 2,   // STORE: the values come from such loads
    WATCH_VOLATILE = 4, // volatile
    WATCH_ACQUIRE = 8,  // atomics and fences: their order
    WATCH_RELEASE = 16,
    WATCH_BLOCK_SCOPE = 32 // only for the block
} watch_flag;

typedef struct code {
    uint8_t op;     // code_op
    uint8_t size;   // bytes of one element
    uint8_t count;  // elements; MOVE: 0 for exit, 1 for next, 2 for all lanes, 3 for return
    uint8_t type;   // ir_type
    uint16_t align; // bytes the address must be a multiple of
    uint16_t depth; // frame: of the target (EXIT, NEXT, MOVE) or its own (control)
    uint32_t d, a, b, c;
    union {
        lane_fn *fn;
        int64_t imm;
        struct {
            uint32_t other, end; // IF: else; LOOP: body; SWITCH: first row of `targets`
        } to;
        struct {
            uint16_t op;
            uint8_t type, count;
            uint32_t aux;
        } eval;
    } u;
} code;

typedef enum segment_kind {
    SEGMENT_LOCAL,
    SEGMENT_SHARED,
    SEGMENT_DYNAMIC,
    SEGMENT_CONST,
    SEGMENT_PARAM
} segment_kind;

typedef struct segment_info { // an array of the program
    segment_kind kind;
    const char *name;
    uint64_t offset; // in the lane's frame, the block's shared memory, const_bytes or param_bytes
    uint64_t size;
    uint32_t elem_size;
} segment_info;

typedef struct place {
    const char *file;
    uint32_t line, column;
    uint32_t use_line; // of the macro whose text this is; 0: no macro's
} place;

typedef struct code_info { // about code[i], for messages
    uint32_t place;        // index into places
    uint32_t base;         // 0: unknown; param k + 1, or STATIC_SEGMENT + segment
    uint32_t elem_size;    // of what the access touches
} code_info;

typedef enum special {
    SPECIAL_THREAD_X, // per warp
    SPECIAL_THREAD_Y,
    SPECIAL_THREAD_Z,
    SPECIAL_LANE,
    SPECIAL_WARP,
    SPECIAL_BLOCK_X, // per block
    SPECIAL_BLOCK_Y,
    SPECIAL_BLOCK_Z,
    SPECIAL_CLUSTER_RANK,
    SPECIAL_CLUSTER_X,
    SPECIAL_BLOCKDIM_X, // per launch
    SPECIAL_BLOCKDIM_Y,
    SPECIAL_BLOCKDIM_Z,
    SPECIAL_GRIDDIM_X,
    SPECIAL_GRIDDIM_Y,
    SPECIAL_GRIDDIM_Z,
    SPECIAL_DYNSHARED,
    SPECIAL_CLUSTER_BLOCKS,
    SPECIAL_CLUSTER_COUNT_X,
    SPECIAL_COUNT
} special;
#define NO_SLOT 0xffffffffu

// A device function that is called. Its registers are a window of their own, one for every call
// that has not returned; its arrays lie in the stack, which is one more local array of each lane.
typedef struct interp_function {
    const char *name;
    uint32_t start;        // of its code
    uint32_t reg_bytes;    // of the window
    uint32_t frame_depth;  // deepest nesting
    uint32_t local_bytes;  // of one lane's frame in the stack
    uint32_t result;       // slot in the window, or NO_SLOT
    uint32_t result_bytes; // of one lane
    uint32_t params;       // extra[params …): slot and size of each parameter
    uint32_t param_count;
    uint32_t specials[SPECIAL_BLOCKDIM_X]; // slots in the window, or NO_SLOT
} interp_function;

typedef struct param_info {
    const char *name;
    uint32_t slot; // uniform slot or NO_SLOT
    uint8_t kind;  // ir_param_kind
    uint8_t value_size;
    uint32_t size; // BYTES
    uint32_t elem_size;
    uint64_t offset; // BYTES: in param_bytes
} param_info;

struct interp_program {
    const char *name;
    code *code;
    code_info *info;
    uint32_t code_len;
    uint32_t *extra;
    int64_t *cases;
    uint32_t *targets;
    place *places;
    str *strings;
    uint32_t string_count;
    segment_info *segments;
    uint32_t segment_count;
    param_info *params;
    uint32_t param_count;
    uint32_t reg_bytes;   // of one warp
    uint32_t frame_depth; // deepest nesting
    uint8_t *uniform;     // the launch area with the constants filled in
    uint32_t uniform_bytes;
    uint32_t specials[SPECIAL_COUNT]; // slot or NO_SLOT
    uint64_t local_bytes;             // of one lane: the kernel's own arrays, then the stack
    uint64_t own_local_bytes;         // without the stack
    uint32_t stack_segment;           // of it, when there are functions
    interp_function *functions;
    uint32_t function_count;
    uint64_t shared_bytes; // static
    uint64_t dynamic_at;   // where dynamic shared memory begins; a multiple of 64
    uint64_t param_bytes;
    uint8_t *const_bytes;
    uint64_t const_size;
    bool has_dynamic_shared;
    bool allows_early_return;
    bool is_sequential; // the order of blocks could show
    bool has_nv;        // instructions of nv.def
    bool has_wgmma;
    uint32_t min_blocks, max_registers; // as in ir_func
    bool keeps_warps; // warps may wait for one another: all of a block must exist at once
    span *spans;      // a watched program: per code
    uint32_t granule; // and the largest power of two that no watched access splits, at most 8
};

// --- running
typedef struct frame {
    const code *at;
    uint32_t entry;        // lanes that came in
    uint32_t exited;       // lanes that left through this frame's exit
    uint32_t next;         // LOOP: lanes that want another round
    uint32_t round;        // LOOP: lanes of this round
    uint32_t pending;      // IF, SWITCH: lanes whose region has not run yet
    uint32_t which[LANES]; // SWITCH: the region of each lane
} frame;

typedef enum warp_state {
    WARP_READY,
    WARP_AT_BARRIER,
    WARP_WAITING, // at pc, which is tried again
    WARP_DONE,
    WARP_FAILED
} warp_state;

// A call that has not returned: what its caller goes on with, and the function's own memory.
typedef struct activation {
    uint8_t *caller_registers;
    frame *caller_frames;
    const code *back; // the call
    uint32_t caller_depth;
    uint32_t lanes; // that made it
    uint32_t function;
    void *memory; // registers and frames; kept for the next call
} activation;

typedef struct warp {
    uint8_t *base[2]; // registers; the launch area
    uint8_t *locals;  // each array 32 times
    frame *frames;
    const code *pc;
    uint32_t active, lanes; // running now; existing
    uint32_t depth;
    uint32_t index;
    warp_state state;
    uint64_t steps;
    const code *ended[LANES]; // where a lane returned; NULL: it has not
    struct nv_warp *nv;       // NULL unless the program has_nv
    uint8_t *own_registers;   // the kernel's, which hold the specials
    frame *own_frames;
    activation *calls; // calls[0 … call_count) have not returned
    uint32_t call_count, call_cap;
    uint32_t stack_used; // bytes of one lane's stack
} warp;

typedef struct segment {
    uint8_t *base;
    uint64_t size;
    uint64_t lane_stride; // LOCAL: from one lane's copy to the next
    bool is_read_only;
} segment;

typedef struct runner { // one block of one host thread's work
    const interp_launch *launch;
    const interp_program *program;
    uint8_t *uniform;
    uint8_t *params;
    segment *segments;
    uint8_t *shared;
    uint64_t shared_size;
    warp *warps;
    uint32_t warp_count; // of a block
    uint32_t kept_warps; // that exist at once
    uint32_t threads;    // of a block
    uint32_t block[3];
    uint64_t block_rank;
    interp_error *error;
    void *memory;         // all of the above
    struct nv_block *nv;  // NULL unless the program has_nv
    struct runner *peers; // the blocks of the cluster, this one among them
    uint32_t peer_count, rank;
} runner;

// What a checker does about asynchronous work; offsets are in the block's shared memory. False: the
// block has failed.
typedef enum async_kind { ASYNC_WRITES, ASYNC_READS } async_kind;
// What the copy engine does to global memory: a load or a store starts; a store is done.
typedef enum global_kind {
    GLOBAL_READS,
    GLOBAL_WRITES,
    GLOBAL_ADDS,
    GLOBAL_WRITTEN,
    GLOBAL_ADDED
} global_kind;
// What happens between blocks of a cluster.
typedef enum cluster_kind {
    CLUSTER_OPENS,   // its barrier does
    CLUSTER_SIGNALS, // r arrives at an mbarrier of the other, which is ordered after it at its next
                     // wait
    CLUSTER_HEARS,   // r has waited
    CLUSTER_REACHES, // r needs the other's shared memory to be there already
    CLUSTER_USES,    // and still
    CLUSTER_TAKES,   // the same for what comes to r, by an instruction of the other
    CLUSTER_ENDS     // r did, and all others
} cluster_kind;
typedef struct async_hooks {
    bool (*start)(runner *r, warp *w, const code *c, uint32_t lane, async_kind kind,
                  uint32_t offset, uint32_t bytes);
    void (*end)(runner *r, const code *c, uint32_t thread, async_kind kind, uint32_t offset,
                uint32_t bytes);
    bool (*touch)(runner *r, warp *w, const code *c, uint32_t lane, uint32_t offset, uint32_t bytes,
                  bool writes); // an access that is no load or store instruction
    bool (*global)(runner *r, warp *w, const code *c, uint32_t lane, global_kind kind,
                   uint64_t address, uint64_t bytes);
    void (*ordered)(runner *r); // what came before is ordered before what comes
    // The active lanes' stores are seen by the engines: to shared memory, or all.
    void (*fenced)(runner *r, warp *w, bool are_all);
    // r starts a copy into the shared memory of another block.
    bool (*sends)(runner *r, warp *w, const code *c, uint32_t lane, runner *to, uint32_t offset,
                  uint32_t bytes);
    bool (*cluster)(runner *r, cluster_kind kind, runner *other, const code *c, uint32_t thread);
    bool (*mistake)(runner *r, const warp *w, const code *c, uint32_t lane, diag_code code,
                    const char *what, const char *note); // a rule is broken
} async_hooks;

// What a checker does. `step` runs the watched instruction `c`; false: the block has failed.
typedef struct interp_hooks {
    bool (*step)(runner *r, warp *w, const code *c);
    void (*block)(runner *r);         // a block starts
    void (*warp)(runner *r, warp *w); // a warp starts
    void (*barrier)(runner *r);       // every warp of the block has passed a barrier
    // The active lanes' bytes [at, at + bytes) of the stack are a new frame.
    void (*frame)(runner *r, warp *w, uint64_t at, uint64_t bytes);
    bool (*failed)(runner *r); // a block has failed; true: go on with the next
    void (*end)(runner *r);    // no more blocks
    const async_hooks *async;  // only used when the program has_nv, or for clusters
} interp_hooks;

static inline void *slot_at(const warp *w, uint32_t slot)
{
    return w->base[slot >> 31] + (slot & ~UNIFORM_BIT);
}
static inline uint32_t lane_bits(const lane_u8 *flags) // 32 bytes, 0 or 1 where it counts -> a mask
{
    uint32_t mask = 0;
    for (int k = 0; k < 4; k++) {
        uint64_t eight;
        memcpy(&eight, (const uint8_t *)flags + 8 * k, 8);
        eight &= 0x0101010101010101u; // a lane that is not active may hold any byte
        mask |= (uint32_t)((eight * 0x0102040810204080u) >> 56) << (8 * k);
    }
    return mask;
}
static inline void interp_fill(lane_u32 *slot, uint32_t value)
{
    for (int i = 0; i < LANES; i++)
        slot[i] = value;
}
static inline bool is_cancelled(const interp_launch *l)
{
    return l->cancel && __atomic_load_n(l->cancel, __ATOMIC_RELAXED);
}
static inline uint32_t lowest_lane(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

// mem.c: false when the access failed (the error is set).
bool mem_load(runner *r, warp *w, const code *c);
bool mem_store(runner *r, warp *w, const code *c);
bool mem_atomic(runner *r, warp *w, const code *c);
// The host address of [address, address + bytes), or NULL with the error set.
uint8_t *mem_resolve(runner *r, warp *w, const code *c, uint32_t lane, uint64_t address,
                     uint64_t bytes, bool writes);

// A segment number that means shared memory of another block: its rank + 1 above these bits.
enum { PEER_SHIFT = 17, PEER_LIMIT = 32 };

// nv_step.c: NVIDIA's instructions; see nv.h.
typedef enum nv_outcome { NV_FAILED, NV_DONE, NV_BLOCKED, NV_YIELD } nv_outcome;
nv_outcome nv_step(runner *r, warp *w, const code *c);
bool nv_settle(runner *r, warp *w);
bool nv_look(runner *r, warp *w, const code *c);
void nv_touched(warp *w);
void nv_shaddr(const runner *r, warp *w, const code *c);
void nv_mapa(const runner *r, warp *w, const code *c);
bool nv_make(runner *r); // after everything else; false: no memory
void nv_free(runner *r);
void nv_start_block(runner *r);
bool nv_end_block(runner *r);
bool nv_waits_for_cluster(const runner *r); // and for nothing else
bool nv_fault_waiting(runner *r);           // all of r's warps have stopped and some wait

// calls.c
bool call_enter(runner *r, warp *w, const code *c); // false: no memory; the error is set
// The innermost function is left by all: where its caller goes on.
const code *call_leave(runner *r, warp *w);
void call_local(const runner *r, warp *w, const code *c);
// The calls that have not returned, innermost first, equal neighbours as one. Returns how many of
// `most` were written; *more is the number of calls that had no room.
typedef struct call_site {
    const code *at;
    uint32_t times;
} call_site;
uint32_t call_trace(const warp *w, call_site *out, uint32_t most, uint32_t *more);
// Whether code `index` is of the function that runs in `w`.
bool call_is_inside(const runner *r, const warp *w, uint32_t index);
void calls_free(warp *w);

// warpops.c
void warp_shuffle(warp *w, const code *c);
uint32_t warp_shuffle_source(const warp *w, const code *c, uint32_t lane);
void warp_vote(warp *w, const code *c);
// print.c
bool print_warp(runner *r, warp *w, const code *c);
// host.c
bool host_warp(runner *r, warp *w, const code *c);

// fault.c: sets the error, always returns false.
bool fault_raise(runner *r, const warp *w, const code *c, uint32_t lane, diag_code code,
                 const char *format, ...) PRINTF_LIKE(6, 7);
bool fault_memory(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                  uint64_t bytes, bool writes);
// Does a thread that has returned before a barrier count as missing? Only for kiln check.
static inline bool run_counts_returned(const runner *r)
{
    return r->launch->hooks && !r->program->allows_early_return;
}
bool fault_barrier(runner *r, const warp *w);        // lanes of one warp parted
bool fault_block_barrier(runner *r, const warp *at); // warps of the block parted
typedef struct array_target {                        // the array an access meant
    const char *name;                                // NULL: unknown
    uint64_t start;                                  // address of its first byte
    uint64_t size;
    uint32_t elem_size;
    bool is_read_only;
} array_target;
array_target fault_target(const runner *r, const code *c, uint64_t address);
array_target fault_target_at(const runner *r, uint64_t address); // whatever the access meant
// The element an address is in: negative or too large when it is outside.
int64_t fault_index(const array_target *t, uint64_t address, uint32_t size);
// The branch that took `lane` elsewhere, or NULL.
const code *fault_parting(const warp *w, uint32_t lane);
void fault_text(interp_error *e, const char *format, ...) PRINTF_LIKE(2, 3);

// Where dynamic shared memory starts in a block's window.
uint64_t interp_dynamic_offset(const interp_program *p);

// run.c: runs the blocks of a cluster, or one block, to their end.
void lanes_eval(const runner *r, warp *w, const code *c);
bool cluster_run(runner *blocks, uint32_t count); // their block_rank is set

#endif
