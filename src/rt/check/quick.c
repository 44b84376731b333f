// The common case of an access, lane by lane but with little to do: plain loads and stores of all
// lanes in one array, inside it, aligned, to cells whose marks are ordered before this access by
// barriers. Whatever is not plainly right is left to shadow.c, which may find that it is right.
#include "rt/check/check.h"

typedef struct quick {
    const check *k;
    uint32_t bytes, granules, shift;
    bool writes, is_global;
    bool is_unset;   // a cell that was never written is not set
    uint32_t oldest; // epochs from here to the current one are this block's
    cell *cells;
    const runner *async_of;   // not NULL: look at asynchronous work, too
    uint64_t window;          // where the array starts in shared memory
    const global_word *words; // not NULL: copies into global memory may be under way
    uint8_t *set;             // of lane 0
    uint64_t stride;          // between the lanes' locals
    mark now;
} quick;

// `m` comes before this access, or is this thread's own.
static inline bool is_past(const quick *q, const mark *m)
{
    if (m->epoch == q->now.epoch)
        return m->thread == q->now.thread && !(m->flags & MARK_MANY);
    return !q->is_global || m->epoch >= q->oldest || m->epoch == 0;
}

static inline bool load_cell(const quick *q, cell *c)
{
    const mark *w = &c->write;
    mark *read = &c->read;
    bool is_set = w->epoch >= q->oldest || (q->is_global && !q->is_unset && w->epoch == 0);
    if (!is_set || w->flags & (MARK_ATOMIC | MARK_UNSET) || !is_past(q, w))
        return false;
    if (read->epoch == q->now.epoch) {
        if (read->thread / LANES != q->now.thread / LANES || read->sync != q->now.sync)
            return false;
        if (read->thread != q->now.thread) {
            read->flags = (read->flags | (unsigned)MARK_MANY) & 63u;
            read->other = q->now.thread & 31u;
        }
        return true;
    }
    if (q->is_global && read->epoch && read->epoch < q->oldest)
        return false;
    *read = q->now;
    return true;
}

static inline bool store_cell(const quick *q, cell *c)
{
    if (c->write.flags & MARK_ATOMIC || !is_past(q, &c->write) || !is_past(q, &c->read) ||
        !is_past(q, &c->far))
        return false;
    c->write = c->plain = q->now;
    return true;
}

static inline bool local_bytes(const quick *q, uint8_t *set)
{
    static const uint8_t ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    if (q->bytes == 4) { // a constant size: no call
        if (q->writes)
            memcpy(set, ones, 4);
        return memcmp(set, ones, 4) == 0;
    }
    if (q->bytes > sizeof ones)
        return false;
    if (q->writes)
        memcpy(set, ones, q->bytes);
    return memcmp(set, ones, q->bytes) == 0;
}

static inline bool lane_is_fine(quick *q, uint64_t offset, uint32_t lane)
{
    if (q->set)
        return local_bytes(q, q->set + lane * q->stride + offset);
    if (q->words && !global_is_quiet(q->k, q->words, offset, q->bytes))
        return false;
    if (!q->cells)
        return true;
    if (q->async_of && !async_is_quiet(q->async_of, q->window + offset, q->bytes))
        return false;
    cell *c = q->cells + (offset >> q->shift);
    for (uint32_t n = 0; n < q->granules; n++)
        if (q->writes ? !store_cell(q, c + n) : !load_cell(q, c + n))
            return false;
    return true;
}

// Fills in the array that segment `s` is; false: not for here.
static bool find_array(quick *q, const runner *r, const warp *w, uint64_t s, uint64_t *size)
{
    const check *k = q->k;
    if (!(s & STATIC_SEGMENT)) {
        if (s >= r->launch->buffer_count || !r->launch->buffers[s].base)
            return false;
        if (heap_has_row(k, s))
            return false;
        *size = r->launch->buffers[s].size;
        q->is_global = true;
        q->is_unset = k->rows[s].is_unset;
        q->cells = k->rows[s].cells;
        q->words = k->rows[s].words;
        return q->cells || !q->is_unset;
    }
    s -= STATIC_SEGMENT;
    if (s >= r->program->segment_count || (q->writes && r->segments[s].is_read_only))
        return false;
    const segment *g = &r->segments[s];
    *size = g->size;
    switch (r->program->segments[s].kind) {
    case SEGMENT_LOCAL:
        q->set = k->local_set + w->index * k->local_stride + (uintptr_t)g->base;
        q->stride = g->lane_stride;
        break;
    case SEGMENT_SHARED:
    case SEGMENT_DYNAMIC:
        if (cluster_is_touched(r))
            return false;
        q->window = (uint64_t)(g->base - r->shared);
        q->cells = check_shared(r) + (q->window >> q->shift);
        q->async_of = k->async ? r : NULL;
        break;
    case SEGMENT_CONST:
    case SEGMENT_PARAM: break;
    }
    return true;
}

uint32_t quick_lanes(const runner *r, const warp *w, const code *c)
{
    if (c[-1].align || c->op > CODE_STORE_MANY)
        return w->active;
    const check *k = check_of(r);
    quick q = {.k = k, .oldest = k->block_epoch, .bytes = (uint32_t)c->size * c->count};
    q.shift = (uint32_t)__builtin_ctz(r->program->granule);
    q.granules = q.bytes >> q.shift;
    q.writes = c->op >= CODE_STORE;
    q.now.epoch = k->epoch;
    q.now.code = code_index(r, c) & 0x7ffffffu;
    q.now.sync = k->sync[w->index];
    const lane_u64 *at = slot_at(w, c->a);
    uint64_t start = (at[lowest_lane(w->active)] + (uint64_t)c->u.imm) & ~OFFSET_MASK, size;
    if (!find_array(&q, r, w, start >> INTERP_SEGMENT_BITS, &size) || size < q.bytes)
        return w->active;
    uint64_t limit = size - q.bytes, shift = start - (uint64_t)c->u.imm;
    uint32_t left = 0;
    for (uint32_t lanes = w->active; lanes; lanes &= lanes - 1) {
        uint32_t lane = lowest_lane(lanes);
        uint64_t offset = at[lane] - shift;
        q.now.thread = (w->index * LANES + lane) & 1023u;
        if (offset > limit || offset & (c->align - 1u) || !lane_is_fine(&q, offset, lane))
            left |= 1u << lane;
    }
    return left;
}
