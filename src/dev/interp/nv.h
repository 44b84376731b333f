// NVIDIA's instructions on the interpreter: what a block and a warp keep for them.
//
// Everything asynchronous is done at the latest moment the program allows: a copy into shared
// memory lands when a warp waits for its barrier and all arrivals of the phase are there; a store
// of the copy engine reads shared memory when its thread waits for that, and writes global memory
// when its thread waits for that or the block ends; wgmma reads its operands and writes its
// accumulators at wgmma_wait. So a program that waits too late or not at all computes with old
// data, every time.
//
// Shared memory is one window: static arrays first, then the dynamic one. An offset in it is what
// the hardware calls a shared address; swizzles work on it.
//
// nv_step.c dispatches, nv_mbar.c has barriers, nv_copy.c copies, nv_tensor.c boxes of tensors,
// nv_matrix.c mma and ldmatrix, nv_wgmma.c wgmma, nv_product.c the arithmetic, decode_nv.c the way
// from IR.
#ifndef KILN_INTERP_NV_H
#define KILN_INTERP_NV_H

#include "dev/interp/engine.h"
#include "ir/nv.h"

enum { NAMED_BARRIERS = 16, SHARED_MAX = 1 << 18 };

typedef struct mbar { // beside the object in shared memory, which only holds `image`
    uint32_t offset;
    uint32_t count, pending; // arrivals of a phase, and how many are missing
    int64_t tx;              // bytes that are expected and have not come
    uint32_t phase;          // completed phases
    uint64_t image;
    uint32_t maker;   // the thread that initialised it
    bool is_unfenced; // and has not fenced it for the copy engine yet
} mbar;

typedef struct tensor_box {
    interp_tensor map;
    int32_t at[5];
} tensor_box;

typedef struct nv_load { // a copy into shared memory that has not landed
    const code *c;
    uint32_t thread;
    uint32_t to, bytes;
    uint32_t barrier, phase; // offset; when it was issued
    uint64_t from;           // a plain copy: an address, or an offset in the shared memory of
    uint32_t sender;         // this block of the cluster
    bool is_tensor, is_sent;
    tensor_box box;
} nv_load;

typedef struct nv_store { // a copy out of shared memory that has not been written
    const code *c;
    uint32_t lane, group;
    uint32_t from, bytes;
    uint64_t to;
    bool is_tensor, adds;
    interp_elem elem; // adds
    uint8_t *data;    // what it has read; NULL: nothing so far
    tensor_box box;
} nv_store;

typedef struct nv_small { // cp.async of a warp, or an arrival that waits for them
    const code *c;
    uint32_t lanes; // for which it is not done
    bool is_arrival;
    uint32_t to[LANES], group[LANES];
    uint64_t from[LANES];
    uint8_t bytes[LANES];
} nv_small;

typedef struct nv_product { // a wgmma under way
    const code *c;
    uint64_t a, b;
    uint32_t group;
    bool accumulates;
    uint32_t words[4][LANES]; // A from registers
} nv_product;

typedef struct nv_list {
    void *at;
    uint32_t len, cap;
} nv_list;

typedef struct nv_warp {
    nv_list products, stores, smalls; // nv_product, nv_store, nv_small
    uint64_t issued;                  // wgmma so far
    const code *last_issue;
    uint32_t product_group;
    uint32_t small_group[LANES], store_group[LANES];
    uint32_t stores_read; // the first ones have all read their data
    uint64_t bytes_held;  // by stores that have
    bool is_fenced; // watched: wgmma_fence came after the last change of registers by other code
    uint32_t waits_for;     // named barrier + 1
    uint32_t waits_since;   // its round
    uint32_t cluster_round; // of the last cluster_arrive, + 1
    uint32_t registers;     // of a thread, after registers_more or _less; 0: as at the start
    uint32_t satisfied;     // lanes whose mbarrier_wait is over
    const code *satisfied_at;
} nv_warp;

typedef struct named_barrier {
    uint32_t expected, arrived, round;
} named_barrier;

typedef struct nv_block {
    uint16_t *mbar_at; // per 8 bytes of the window: index + 1
    nv_list mbars, loads;
    named_barrier named[NAMED_BARRIERS];
    uint32_t cluster_round; // of the cluster's barrier; kept in its first block
    nv_warp *warps;
} nv_block;

// --- what all of them use
static inline uint32_t operand_slot(const runner *r, const code *c, uint32_t n)
{
    return r->program->extra[c->b + n];
}
static inline uint32_t operand_u32(const runner *r, const warp *w, const code *c, uint32_t n,
                                   uint32_t lane)
{
    return ((const lane_u32 *)slot_at(w, operand_slot(r, c, n)))[lane];
}
static inline uint64_t operand_u64(const runner *r, const warp *w, const code *c, uint32_t n,
                                   uint32_t lane)
{
    return ((const lane_u64 *)slot_at(w, operand_slot(r, c, n)))[lane];
}
static inline bool is_watched(const runner *r)
{
    return r->launch->hooks != NULL;
}
static inline void report_cluster(runner *r, cluster_kind kind, runner *other, const code *c,
                                  uint32_t thread) // the checker
{
    if (is_watched(r))
        r->launch->hooks->async->cluster(r, kind, other, c, thread);
}
// One more element at the end, zeroed; NULL with the error set.
void *nv_push(runner *r, const warp *w, const code *c, nv_list *list, size_t size);
void nv_remove(nv_list *list, size_t size, uint32_t index);
// The offset of a pointer into this block's shared memory, or false.
bool nv_window(const runner *r, uint64_t address, uint64_t bytes, uint32_t *out);
// The same with the error set.
bool nv_offset(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
               uint64_t bytes, uint32_t align, uint32_t *out);
// Host memory behind a global address, or NULL with the error set.
uint8_t *nv_global(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                   uint64_t bytes, uint32_t align);
// The name of the array at an offset of the window, and the index.
const char *nv_name(const runner *r, uint32_t offset, uint64_t *index);

// --- nv_mbar.c
mbar *mbar_find(runner *r, const warp *w, const code *c, uint32_t lane, uint32_t offset);
void mbar_fence(runner *r, const warp *w); // the copy engine sees what these lanes initialised
bool mbar_step(runner *r, warp *w, const code *c);       // all but wait
nv_outcome mbar_wait(runner *r, warp *w, const code *c); // test, too
bool mbar_arrive(runner *r, const warp *w, const code *c, uint32_t lane, mbar *b);
bool mbar_lacks_bytes(const runner *r, const warp *w); // what it waits for has all arrivals
bool mbar_fault_waiting(runner *r, const warp *w, const code *c);

// --- nv_copy.c
bool copy_step(runner *r, warp *w, const code *c);
bool copy_land(runner *r, nv_load *l); // does it
bool copy_smalls_upto(runner *r, warp *w, uint32_t entry, uint32_t lanes);
bool copy_end(runner *r, warp *w); // the block ends
void copy_drop_smalls(nv_warp *n);
void copy_drop_stores(nv_warp *n);

// --- nv_tensor.c
bool tensor_read(runner *r, const warp *w, const code *c, uint32_t lane, uint32_t operand,
                 tensor_box *out); // the map and coordinates at operand…
uint32_t tensor_bytes(const tensor_box *b);
bool tensor_load(runner *r, const warp *w, const code *c, uint32_t lane, const tensor_box *b,
                 uint32_t to);
// The box lies at `from` in shared memory, which is what `source` holds.
bool tensor_store(runner *r, const warp *w, const code *c, uint32_t lane, const tensor_box *b,
                  const uint8_t *source, uint32_t from, bool adds);
// Tells the checker which global memory the box is.
bool tensor_watch(runner *r, warp *w, const code *c, uint32_t lane, const tensor_box *b,
                  global_kind kind);
void elem_add(interp_elem e, uint8_t *to, const uint8_t *from, uint64_t bytes);

// --- nv_matrix.c, nv_wgmma.c
bool matrix_step(runner *r, warp *w, const code *c);
bool wgmma_step(runner *r, warp *w, const code *c);
bool wgmma_finish(runner *r, warp *w, uint32_t keep_groups, bool and_open);
bool wgmma_end(runner *r, warp *w);

// --- nv_product.c: sums[16][n] = a[16][k] * b[k][n]; the products are exact, added in double (or
// modulo 2^32) in the order of k.
enum { PRODUCT_K = 32, PRODUCT_N = 256 };
typedef struct product {
    uint32_t n, k;
    bool is_int;
    union {
        double f[16][PRODUCT_K];
        int32_t i[16][PRODUCT_K];
    } a;
    union {
        double f[PRODUCT_K][PRODUCT_N];
        int32_t i[PRODUCT_K][PRODUCT_N];
    } b;
    union {
        double f[16][PRODUCT_N];
        int32_t i[16][PRODUCT_N];
    } sums;
} product;
void product_multiply(product *p);
double product_float(nv_elem e, uint32_t bits);
uint32_t product_floats(nv_elem e, const uint8_t *from,
                        double *out); // 16 bytes; gives their number
// The fragment of an operand in registers, into a or b.
void product_read_words(product *p, nv_elem e, bool is_a, const uint32_t words[][LANES],
                        uint32_t count);
int32_t product_int(nv_elem e, uint32_t bits);
// Adds the sums to the accumulator's words: 32 lanes each, fragments as nv.h says.
void product_add(const product *p, nv_elem d, lane_u32 *const *words, bool accumulates);

#endif
