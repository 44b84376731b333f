// Loads, stores and atomics of a warp. Every address is looked up in the segment table and checked
// against the segment's size; the common shapes (all lanes on, and neighbouring, equal or
// same-segment addresses) are found first and done at once. Start at mem_load.
#include "ir/eval.h"
#include "rt/interp/engine.h"

// The segment `address` lies in; false when there is none.
static inline bool segment_of(const runner *r, uint64_t address, segment *out)
{
    uint64_t s = address >> INTERP_SEGMENT_BITS;
    if (s & STATIC_SEGMENT) {
        s -= STATIC_SEGMENT;
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

uint8_t *mem_resolve(runner *r, warp *w, const code *c, uint32_t lane, uint64_t address,
                     uint64_t bytes, bool writes)
{
    segment s;
    uint64_t offset = address & OFFSET_MASK;
    uint32_t align = c->op >= CODE_ATOMIC ? c->size : c->align;
    if (!segment_of(r, address, &s) || offset > s.size || bytes > s.size - offset ||
        (offset & (align - 1)) || (writes && s.is_read_only)) {
        fault_memory(r, w, c, lane, address, bytes, writes);
        return NULL;
    }
    return lane_base(w, &s, lane) + offset;
}

typedef enum shape { SHAPE_OTHER, SHAPE_ROW, SHAPE_SAME, SHAPE_ONE_SEGMENT } shape;

// How the 32 addresses lie; the segment and the offset of the first. Everything but SHAPE_OTHER is
// checked and safe.
static shape shape_of(const runner *r, const code *c, const lane_u64 *at, bool writes, segment *s,
                      uint64_t *first)
{
    uint64_t start = at[0], row = 0, same = 0;
    for (uint32_t i = 0; i < LANES; i++) {
        row |= at[i] ^ (start + i * c->size);
        same |= at[i] ^ start;
    }
    uint64_t address = start + (uint64_t)c->u.imm;
    if (!segment_of(r, address, s) || (writes && s->is_read_only))
        return SHAPE_OTHER;
    *first = address & OFFSET_MASK;
    uint64_t bytes = row ? c->size : (uint64_t)c->size * LANES;
    if (!row || !same) {
        bool fits = *first <= s->size && bytes <= s->size - *first;
        if (!fits || (*first & (c->align - 1u)) || (!row && s->lane_stride) ||
            (!row && c->align > c->size))
            return SHAPE_OTHER;
        return row ? SHAPE_SAME : SHAPE_ROW;
    }
    if (s->size < c->size)
        return SHAPE_OTHER;
    uint64_t base = address - *first, limit = s->size - c->size, bad = 0;
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t offset = at[i] + (uint64_t)c->u.imm - base;
        bad |= (offset > limit) | (offset & (c->align - 1u));
    }
    return bad ? SHAPE_OTHER : SHAPE_ONE_SEGMENT;
}

// `from` and `to` walk in steps; the size is a constant in each copy of the loop.
#define COPY_LANES(size)                                                                           \
    for (uint32_t i = 0; i < LANES; i++)                                                           \
        memcpy(TO(size), FROM(size), size)
#define COPY_BY_SIZE(bytes)                                                                        \
    do {                                                                                           \
        if ((bytes) == 4)                                                                          \
            COPY_LANES(4);                                                                         \
        else if ((bytes) == 8)                                                                     \
            COPY_LANES(8);                                                                         \
        else if ((bytes) == 2)                                                                     \
            COPY_LANES(2);                                                                         \
        else                                                                                       \
            COPY_LANES(1);                                                                         \
    } while (0)

static bool load_fast(const runner *r, const warp *w, const code *c)
{
    const lane_u64 *at = slot_at(w, c->a);
    uint8_t *d = slot_at(w, c->d);
    segment s;
    uint64_t first;
    shape how = shape_of(r, c, at, false, &s, &first);
    if (how == SHAPE_OTHER)
        return false;
    const uint8_t *base = lane_base(w, &s, 0);
    uint64_t stride = s.lane_stride;
    if (how == SHAPE_ROW) {
        memcpy(d, base + first, (size_t)c->size * LANES);
    } else if (how == SHAPE_SAME) {
        base += first;
#define TO(size)   (d + i * size)
#define FROM(size) (base + i * stride)
        COPY_BY_SIZE(c->size);
#undef FROM
    } else {
        uint64_t shift = at[0] - first;
#define FROM(size) (base + (at[i] - shift) + i * stride)
        COPY_BY_SIZE(c->size);
#undef FROM
#undef TO
    }
    return true;
}

static bool store_fast(const runner *r, const warp *w, const code *c)
{
    const lane_u64 *at = slot_at(w, c->a);
    const uint8_t *v = slot_at(w, c->b);
    segment s;
    uint64_t first;
    shape how = shape_of(r, c, at, true, &s, &first);
    if (how == SHAPE_OTHER)
        return false;
    uint8_t *base = lane_base(w, &s, 0);
    uint64_t stride = s.lane_stride;
    if (how == SHAPE_ROW) {
        memcpy(base + first, v, (size_t)c->size * LANES);
    } else if (how == SHAPE_SAME) {
        base += first;
#define TO(size)   (base + i * stride)
#define FROM(size) (v + i * size)
        COPY_BY_SIZE(c->size);
#undef TO
    } else {
        uint64_t shift = at[0] - first;
#define TO(size) (base + (at[i] - shift) + i * stride)
        COPY_BY_SIZE(c->size);
#undef TO
#undef FROM
    }
    return true;
}

static bool access_lanes(runner *r, warp *w, const code *c, bool writes)
{
    const lane_u64 *at = slot_at(w, c->a);
    const uint32_t *list = r->program->extra + (writes ? c->b : c->d);
    uint32_t one = writes ? c->b : c->d;
    uint64_t bytes = (uint64_t)c->size * c->count;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        uint8_t *host = mem_resolve(r, w, c, lane, at[lane] + (uint64_t)c->u.imm, bytes, writes);
        if (!host)
            return false;
        for (uint32_t k = 0; k < c->count; k++, host += c->size) {
            uint32_t slot = c->count == 1 ? one : list[k];
            uint8_t *reg = (uint8_t *)slot_at(w, slot) + lane * c->size;
            if (writes)
                memcpy(host, reg, c->size);
            else
                memcpy(reg, host, c->size);
        }
    }
    return true;
}

// A bool in memory is true when it is not zero.
static void make_bools(const runner *r, const warp *w, const code *c)
{
    for (uint32_t k = 0; k < c->count; k++) {
        lane_u8 *d = slot_at(w, c->count == 1 ? c->d : r->program->extra[c->d + k]);
        for (uint32_t i = 0; i < LANES; i++)
            d[i] = d[i] != 0;
    }
}

bool mem_load(runner *r, warp *w, const code *c)
{
    bool is_done = w->active == ALL_LANES && c->count == 1 && load_fast(r, w, c);
    if (!is_done && !access_lanes(r, w, c, false))
        return false;
    if (c->type == IR_I1)
        make_bools(r, w, c);
    return true;
}

bool mem_store(runner *r, warp *w, const code *c)
{
    if (w->active == ALL_LANES && c->count == 1 && store_fast(r, w, c))
        return true;
    return access_lanes(r, w, c, true);
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
