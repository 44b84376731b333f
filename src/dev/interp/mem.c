// Loads, stores and atomics of a warp. Every address is looked up in the segment table and checked
// against the segment's size. A warp whose lanes all stay in one segment is checked and served at
// once (reach_of); everything else, and every error, goes lane by lane. Start at mem_load.
#include "dev/interp/engine.h"
#include "ir/eval.h"

// The segment `address` lies in; false when there is none.
static inline bool segment_of(const runner *r, uint64_t address, segment *out)
{
    uint64_t s = address >> INTERP_SEGMENT_BITS;
    if (s & STATIC_SEGMENT) {
        s -= STATIC_SEGMENT;
        uint64_t peer = s >> PEER_SHIFT;
        if (peer && peer <= r->peer_count) {
            r = &r->peers[peer - 1];
            s &= ((uint64_t)1 << PEER_SHIFT) - 1;
        }
        if (s >= r->program->segment_count)
            return false;
        *out = r->segments[s];
        return true;
    }
    if (s >= r->launch->buffer_count || !r->launch->buffers[s].base)
        return false;
    *out = (segment){.base = r->launch->buffers[s].base, .size = r->launch->buffers[s].size};
    return true;
}

static inline uint8_t *lane_base(const warp *w, const segment *s, uint32_t lane)
{
    return s->lane_stride ? w->locals + (uintptr_t)s->base + lane * s->lane_stride : s->base;
}

// An address that machine code of this host has left in a buffer.
static uint8_t *host_of(const interp_launch *l, uint64_t address, uint64_t bytes)
{
    for (uint32_t k = 1; l->takes_host && k < l->buffer_count; k++) {
        uint64_t offset = address - (uint64_t)(uintptr_t)l->buffers[k].base;
        if (l->buffers[k].base && offset <= l->buffers[k].size &&
            bytes <= l->buffers[k].size - offset)
            return l->buffers[k].base + offset;
    }
    return NULL;
}

uint8_t *mem_resolve(runner *r, warp *w, const code *c, uint32_t lane, uint64_t address,
                     uint64_t bytes, bool writes)
{
    segment s;
    uint64_t offset = address & OFFSET_MASK;
    uint32_t align = c->op >= CODE_ATOMIC ? c->size : c->align;
    if (!segment_of(r, address, &s) || offset > s.size || bytes > s.size - offset ||
        (offset & (align - 1)) || (writes && s.is_read_only)) {
        uint8_t *host = host_of(r->launch, address, bytes);
        if (host)
            return host;
        fault_memory(r, w, c, lane, address, bytes, writes);
        return NULL;
    }
    return lane_base(w, &s, lane) + offset;
}

// Where the 32 lanes of an access go: lane i at base + (at[i] - shift) + i * stride.
typedef struct reach {
    uint8_t *base;
    const lane_u64 *at;
    uint64_t shift, stride;
    bool is_row; // the lanes lie side by side from base + (at[0] - shift)
} reach;

// The addresses, with those of lanes that are off replaced by one that is on.
static const lane_u64 *addresses(const warp *w, const code *c, lane_u64 spare[LANES])
{
    const lane_u64 *at = slot_at(w, c->a);
    if (w->active == ALL_LANES || c->a & UNIFORM_BIT)
        return at;
    uint64_t any = at[lowest_lane(w->active)];
    for (uint32_t i = 0; i < LANES; i++)
        spare[i] = w->active >> i & 1 ? at[i] : any;
    return spare;
}

// Checks all lanes at once. False: something is wrong or unusual, go lane by lane.
static bool reach_of(const runner *r, const warp *w, const code *c, const lane_u64 *at, bool writes,
                     reach *out)
{
    segment s;
    uint64_t bytes = (uint64_t)c->size * c->count;
    uint64_t start = at[0] + (uint64_t)c->u.imm, offset = start & OFFSET_MASK;
    if (!segment_of(r, start, &s) || (writes && s.is_read_only) || s.size < bytes)
        return false;
    uint64_t base = start - offset - (uint64_t)c->u.imm, limit = s.size - bytes;
    *out = (reach){.base = lane_base(w, &s, 0), .at = at, .shift = base, .stride = s.lane_stride};
    if (c->a & UNIFORM_BIT) { // one address for all
        out->is_row = s.lane_stride == bytes && c->count == 1;
        return offset <= limit && !(offset & (c->align - 1u));
    }
    uint64_t bad = 0, row = 0, step = bytes - s.lane_stride, next = at[0];
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t at_offset = at[i] - base;
        bad |= (uint64_t)(at_offset > limit) | (at_offset & (c->align - 1u));
        row |= at[i] ^ next;
        next += step;
    }
    out->is_row = !row && c->count == 1;
    return !bad;
}

// The size is a constant in each copy of the loop.
#define COPY_BY_SIZE(size, LOOP)                                                                   \
    do {                                                                                           \
        if ((size) == 4)                                                                           \
            LOOP(4);                                                                               \
        else if ((size) == 8)                                                                      \
            LOOP(8);                                                                               \
        else if ((size) == 2)                                                                      \
            LOOP(2);                                                                               \
        else                                                                                       \
            LOOP(1);                                                                               \
    } while (0)

// Inactive lanes load, too; their values are not used.
static void gather(const reach *from, uint32_t size, uint64_t skip, uint8_t *d)
{
    const uint8_t *base = from->base + skip;
    const lane_u64 *at = from->at;
    uint64_t shift = from->shift, stride = from->stride;
    if (from->is_row) {
        memcpy(d, base + (at[0] - shift), (size_t)size * LANES);
        return;
    }
#define LOAD_LANES(n)                                                                              \
    for (uint32_t i = 0; i < LANES; i++)                                                           \
    memcpy(d + i * n, base + (at[i] - shift) + i * stride, n)
    COPY_BY_SIZE(size, LOAD_LANES);
}

static void scatter(const reach *to, uint32_t size, uint64_t skip, const uint8_t *v, uint32_t mask)
{
    uint8_t *base = to->base + skip;
    const lane_u64 *at = to->at;
    uint64_t shift = to->shift, stride = to->stride;
    if (to->is_row && mask == ALL_LANES) {
        memcpy(base + (at[0] - shift), v, (size_t)size * LANES);
        return;
    }
#define STORE_LANES(n)                                                                             \
    for (uint32_t left = mask, i; left; left &= left - 1)                                          \
    i = lowest_lane(left), memcpy(base + (at[i] - shift) + i * stride, v + i * n, n)
    COPY_BY_SIZE(size, STORE_LANES);
}

static uint32_t access_slot(const runner *r, const code *c, uint32_t first, uint32_t k)
{
    return c->count == 1 ? first : r->program->extra[first + k];
}

static bool access_lanes(runner *r, warp *w, const code *c, bool writes)
{
    const lane_u64 *at = slot_at(w, c->a);
    uint64_t bytes = (uint64_t)c->size * c->count;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        uint8_t *host = mem_resolve(r, w, c, lane, at[lane] + (uint64_t)c->u.imm, bytes, writes);
        if (!host)
            return false;
        for (uint32_t k = 0; k < c->count; k++, host += c->size) {
            uint32_t slot = access_slot(r, c, writes ? c->b : c->d, k);
            uint8_t *reg = (uint8_t *)slot_at(w, slot) + lane * c->size;
            if (writes)
                memcpy(host, reg, c->size);
            else
                memcpy(reg, host, c->size);
        }
    }
    return true;
}

bool mem_load(runner *r, warp *w, const code *c)
{
    reach from;
    lane_u64 spare[LANES];
    if (reach_of(r, w, c, addresses(w, c, spare), false, &from)) {
        for (uint32_t k = 0; k < c->count; k++)
            gather(&from, c->size, (uint64_t)k * c->size, slot_at(w, access_slot(r, c, c->d, k)));
    } else if (!access_lanes(r, w, c, false)) {
        return false;
    }
    // A bool in memory is true when it is not zero.
    for (uint32_t k = 0; k < c->count && c->type == IR_I1; k++) {
        lane_u8 *d = slot_at(w, access_slot(r, c, c->d, k));
        for (uint32_t i = 0; i < LANES; i++)
            d[i] = d[i] != 0;
    }
    return true;
}

bool mem_store(runner *r, warp *w, const code *c)
{
    reach to;
    lane_u64 spare[LANES];
    if (!reach_of(r, w, c, addresses(w, c, spare), true, &to))
        return access_lanes(r, w, c, true);
    for (uint32_t k = 0; k < c->count; k++)
        scatter(&to, c->size, (uint64_t)k * c->size, slot_at(w, access_slot(r, c, c->b, k)),
                w->active);
    return true;
}

// --- atomics
static const uint16_t atomic_ops[IR_AT_COUNT] = {
    [IR_AT_ADD] = IR_ADD,   [IR_AT_SMIN] = IR_SMIN, [IR_AT_SMAX] = IR_SMAX, [IR_AT_UMIN] = IR_UMIN,
    [IR_AT_UMAX] = IR_UMAX, [IR_AT_AND] = IR_AND,   [IR_AT_OR] = IR_OR,     [IR_AT_XOR] = IR_XOR,
    [IR_AT_XCHG] = IR_NOP,  [IR_AT_FADD] = IR_FADD, [IR_AT_FMIN] = IR_FMIN, [IR_AT_FMAX] = IR_FMAX};

static uint64_t cell_load(const void *host, uint32_t size)
{
    return size == 8   ? __atomic_load_n((const lane_u64 *)host, __ATOMIC_SEQ_CST)
           : size == 4 ? __atomic_load_n((const lane_u32 *)host, __ATOMIC_SEQ_CST)
           : size == 2 ? __atomic_load_n((const lane_u16 *)host, __ATOMIC_SEQ_CST)
                       : __atomic_load_n((const lane_u8 *)host, __ATOMIC_SEQ_CST);
}

// Stores `desired` when the cell holds *expected; else *expected gets what it holds.
static bool cell_cas(void *host, uint32_t size, uint64_t *expected, uint64_t desired)
{
    bool is_done;
    if (size == 8) {
        is_done = __atomic_compare_exchange_n((lane_u64 *)host, expected, desired, false,
                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    } else if (size == 4) {
        uint32_t was = (uint32_t)*expected;
        is_done = __atomic_compare_exchange_n((lane_u32 *)host, &was, (uint32_t)desired, false,
                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = was;
    } else if (size == 2) {
        uint16_t was = (uint16_t)*expected;
        is_done = __atomic_compare_exchange_n((lane_u16 *)host, &was, (uint16_t)desired, false,
                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = was;
    } else {
        uint8_t was = (uint8_t)*expected;
        is_done = __atomic_compare_exchange_n((lane_u8 *)host, &was, (uint8_t)desired, false,
                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *expected = was;
    }
    return is_done;
}

static uint64_t cell_update(void *host, const code *c, uint64_t value)
{
    uint64_t old = cell_load(host, c->size);
    for (;;) {
        uint64_t next = value, in[2] = {old, value};
        if (c->op == CODE_ATOMIC && c->align != IR_AT_XCHG)
            ir_eval((ir_op)atomic_ops[c->align], (ir_type)c->type, 0, in, &next);
        if (cell_cas(host, c->size, &old, next))
            return old;
    }
}

static uint64_t lane_bits_at(const warp *w, uint32_t slot, uint32_t size, uint32_t lane)
{
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)slot_at(w, slot) + lane * size, size);
    return bits;
}

bool mem_atomic(runner *r, warp *w, const code *c)
{
    const lane_u64 *at = slot_at(w, c->a);
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        void *host = mem_resolve(r, w, c, lane, at[lane] + (uint64_t)c->u.imm, c->size,
                                 c->op != CODE_ATOMIC_LOAD);
        if (!host)
            return false;
        uint64_t old = 0;
        if (c->op == CODE_ATOMIC_LOAD) {
            old = cell_load(host, c->size);
        } else if (c->op == CODE_CAS) {
            old = lane_bits_at(w, c->b, c->size, lane);
            cell_cas(host, c->size, &old, lane_bits_at(w, c->c, c->size, lane));
        } else {
            old = cell_update(host, c, lane_bits_at(w, c->b, c->size, lane));
        }
        if (c->op != CODE_ATOMIC_STORE)
            memcpy((uint8_t *)slot_at(w, c->d) + lane * c->size, &old, c->size);
    }
    return true;
}
