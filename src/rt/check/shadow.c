// One access of a warp against the shadow: inside its array, aligned, set before it is read, not in
// a race. Then the interpreter does it for the lanes that may. Start at shadow_access.
#include "rt/check/check.h"

typedef struct access {
    check *k;
    runner *r;
    warp *w;
    const code *c;
    unsigned watch; // watch_flag
    bool reads, writes;
    uint64_t bytes;
    uint32_t shift; // log2 of the granule
    // of the lane being looked at
    uint32_t lane;
    uint64_t address;
    mark now;
} access;

// Where the bytes are, and their shadow.
typedef struct spot_of_memory {
    segment_kind kind;
    bool is_global;
    const row_shadow *row;
    const runner *peer; // not NULL: shared memory of this block of the cluster
    uint8_t *host;
    cell *cells;  // of the first granule; NULL: not tracked
    uint8_t *set; // locals: of the first byte
    uint32_t granules;
} memory;

// --- where
static bool is_bad(const access *a, uint64_t size, bool is_read_only)
{
    uint64_t offset = a->address & OFFSET_MASK;
    uint32_t align = a->c->op >= CODE_ATOMIC ? a->c->size : a->c->align;
    return offset > size || a->bytes > size - offset || (offset & (align - 1)) ||
           (a->writes && is_read_only);
}

static bool locate(const access *a, memory *m)
{
    const runner *r = a->r;
    uint64_t s = a->address >> INTERP_SEGMENT_BITS, offset = a->address & OFFSET_MASK, first;
    uint32_t shift = a->shift;
    *m = (memory){0};
    if (!(s & STATIC_SEGMENT)) {
        if (s >= r->launch->buffer_count || !r->launch->buffers[s].base ||
            is_bad(a, r->launch->buffers[s].size, false))
            return false;
        m->is_global = true;
        m->row = &a->k->rows[s];
        m->host = r->launch->buffers[s].base + offset;
        m->cells = m->row->cells ? m->row->cells + (offset >> shift) : NULL;
        first = offset;
    } else {
        s -= STATIC_SEGMENT;
        if (s >> PEER_SHIFT && s >> PEER_SHIFT <= r->peer_count) {
            m->peer = &r->peers[(s >> PEER_SHIFT) - 1];
            s &= ((uint64_t)1 << PEER_SHIFT) - 1;
            r = m->peer;
        }
        if (s >= r->program->segment_count)
            return false;
        const segment *g = &r->segments[s];
        if (is_bad(a, g->size, g->is_read_only))
            return false;
        m->kind = r->program->segments[s].kind;
        if (m->peer && m->kind != SEGMENT_SHARED && m->kind != SEGMENT_DYNAMIC)
            return false;
        first = offset;
        if (m->kind == SEGMENT_LOCAL) {
            uint64_t at = (uintptr_t)g->base + a->lane * g->lane_stride + offset;
            m->host = a->w->locals + at;
            m->set = a->k->local_set + a->w->index * a->k->local_stride + at;
        } else {
            m->host = g->base + offset;
            if (m->kind == SEGMENT_SHARED || m->kind == SEGMENT_DYNAMIC) {
                first = (uint64_t)(m->host - r->shared);
                m->cells = check_shared(r) + (first >> shift);
            }
        }
    }
    m->granules = (uint32_t)(((first + a->bytes - 1) >> shift) - (first >> shift) + 1);
    return true;
}

// --- what is wrong
static const char *verb_of(const access *a)
{
    return is_atomic_op(a->c) && a->reads && a->writes ? "updates" : a->writes ? "writes" : "reads";
}

// Messages about another block's array use its name in this one.
static void forget_peer(access *a)
{
    uint64_t above = (a->address >> INTERP_SEGMENT_BITS) - STATIC_SEGMENT;
    uint64_t peer = above >> PEER_SHIFT;
    if (a->address >> INTERP_SEGMENT_BITS & STATIC_SEGMENT && peer <= a->r->peer_count)
        a->address -= peer << (PEER_SHIFT + INTERP_SEGMENT_BITS);
}

static bool report_outside(access *a)
{
    forget_peer(a);
    check *k = a->k;
    runner *r = a->r;
    const code *c = a->c;
    array_target t = fault_target(r, c, a->address);
    uint64_t offset = a->address - t.start;
    bool fits = offset <= t.size && a->bytes <= t.size - offset;
    spot at = spot_here(r, a->w, c, a->lane);
    const char *who = finding_thread(k, r, at), *verb = verb_of(a);
    finding *f;
    if (!t.name) {
        bool is_null = a->address >> INTERP_SEGMENT_BITS == 0;
        f = finding_new(k, r, is_null ? K6212 : K6201, at, NULL,
                        is_null ? "the kernel %s through a null pointer"
                                : "the kernel %s memory that belongs to no buffer or array",
                        verb);
        finding_label(k, f, false, "by %s", who);
        return finding_goes_on(k);
    }
    if (fits && t.is_read_only && a->writes) {
        f = finding_new(k, r, K6213, at, NULL, "the kernel writes to '%s', which is constant",
                        t.name);
        finding_label(k, f, false, "by %s", who);
        return finding_goes_on(k);
    }
    uint32_t align = c->op >= CODE_ATOMIC ? c->size : c->align;
    if (fits) {
        f = finding_new(k, r, K6202, at, NULL,
                        "the kernel %s %llu bytes of '%s' at a misaligned place", verb,
                        (unsigned long long)a->bytes, t.name);
        finding_label(k, f, false, "byte %llu is no multiple of %u: %s", (unsigned long long)offset,
                      align, who);
        finding_array(f, t.name, fault_index(&t, a->address, c->size));
        return finding_goes_on(k);
    }
    uint64_t count = t.size / (t.elem_size ? t.elem_size : c->size);
    int64_t index = fault_index(&t, a->address, c->size);
    if (offset < t.size) // a wide access that begins inside: the first element that is not there
        index = (int64_t)count;
    uint64_t s = t.start >> INTERP_SEGMENT_BITS;
    bool is_dynamic =
        s & STATIC_SEGMENT && r->program->segments[s - STATIC_SEGMENT].kind == SEGMENT_DYNAMIC;
    f = finding_new(k, r, is_dynamic ? K6210 : K6201, at, NULL,
                    is_dynamic ? "the kernel %s element %lld of '%s': this launch gives it %llu"
                               : "the kernel %s element %lld of '%s', which has %llu",
                    verb, (long long)index, t.name, (unsigned long long)count);
    finding_label(k, f, false, "by %s", who);
    if (f && is_dynamic)
        diag_note(f->d, "the launch asked for %llu bytes of dynamic shared memory",
                  (unsigned long long)r->launch->shared_bytes);
    finding_array(f, t.name, index);
    return finding_goes_on(k);
}

static void report_unset(check *k, const runner *r, const pending *p, const char *what)
{
    finding *f =
        p->is_one
            ? finding_new(k, r, K6203, p->at, NULL,
                          "the kernel %s '%s' before anything was stored there",
                          p->is_update ? "updates" : "reads", p->name)
            : finding_new(k, r, K6203, p->at, NULL,
                          "the kernel %s element %lld of '%s' before anything was stored there",
                          p->is_update ? "updates" : "reads", (long long)p->index, p->name);
    finding_label(k, f, false, "%s memory that is not set: %s", what, finding_thread(k, r, p->at));
    finding_array(f, p->name, p->index);
}

static bool found_unset(access *a, const memory *m, const cell *c, uint64_t skip)
{
    enum { PENDING_MAX = 4096 };
    check *k = a->k;
    array_target t = fault_target(a->r, a->c, a->address);
    heap_target(k, a->address, &t);
    bool is_atomic = is_atomic_op(a->c);
    pending p = {.cell = c,
                 .epoch = k->epoch,
                 .is_atomic = is_atomic,
                 .is_update = is_atomic && a->writes,
                 .is_far = m->peer != NULL,
                 .is_one = t.size <= (t.elem_size ? t.elem_size : a->c->size),
                 .at = spot_here(a->r, a->w, a->c, a->lane),
                 .name = t.name ? t.name : "an array",
                 .index = fault_index(&t, a->address + skip, a->c->size)};
    if (c && !m->is_global) {
        if (k->pending.len < PENDING_MAX)
            vec_push(k->a, &k->pending, p);
        return true;
    }
    report_unset(k, a->r, &p,
                 m->is_global               ? "global"
                 : m->kind == SEGMENT_LOCAL ? "local"
                                            : "shared");
    return finding_goes_on(k);
}

void shadow_settle(runner *r)
{
    check *k = check_of(r);
    for (uint32_t n = 0; n < k->pending.len && !k->is_stopped; n++) {
        const pending *p = &k->pending.at[n];
        const mark *w = &p->cell->write;
        bool is_race = w->epoch >= p->epoch && (p->is_far || w->thread != p->at.thread) &&
                       !(p->is_atomic && w->flags & MARK_ATOMIC);
        if (!is_race)
            report_unset(k, r, p, "shared");
    }
    k->pending.len = 0;
}

// Stores of one value by several threads do no harm.
static bool is_same_value(const access *a, const memory *m, const mark *other, bool is_of_block)
{
    const code *c = a->c;
    if ((c->op != CODE_STORE && c->op != CODE_STORE_MANY) || !a->writes)
        return false;
    bool is_this = is_of_block && other->code == code_index(a->r, c) &&
                   other->epoch >= a->k->block_epoch && other->thread / LANES == a->w->index;
    for (uint32_t n = 0; n < c->count; n++) {
        uint32_t slot = c->count == 1 ? c->b : a->r->program->extra[c->b + n];
        const uint8_t *values = slot_at(a->w, slot);
        const uint8_t *theirs =
            is_this ? values + other->thread % LANES * c->size : m->host + (size_t)n * c->size;
        if (memcmp(values + a->lane * c->size, theirs, c->size) != 0)
            return false;
    }
    return true;
}

static const char *past_of(const mark *m, bool is_write)
{
    return m->flags & MARK_ATOMIC ? "updated atomically" : is_write ? "written" : "read";
}

// No barrier can stand between the ends of one statement, but for the passes of a loop.
static const char *note_of_statement(bool is_update)
{
    return is_update ? "both are one statement, which reads and stores: atomic_add() and its "
                       "sisters do it in one step; barrier() orders only the passes of a loop"
                     : "both are one statement: let one thread store, or each to its own element; "
                       "barrier() orders only the passes of a loop";
}

static const char *note_of_race(conflict kind, uint32_t one, uint32_t other)
{
    if (kind == CONFLICT_GRID)
        return "blocks run in any order and at the same time: use atomics, or give each its own "
               "elements; a fence_device() and an atomic can order them";
    if (kind == CONFLICT_CLUSTER)
        return "blocks of a cluster are ordered by cluster_arrive() and cluster_wait(); there is "
               "none in between";
    if (one / LANES == other / LANES)
        return "threads of one warp are ordered by barrier() or warp_sync(); there is none in "
               "between";
    return "threads of a block are ordered by barrier(); there is none in between";
}

static bool report_race(access *a, const mark *m, uint64_t block, bool is_write, conflict kind,
                        uint64_t skip)
{
    check *k = a->k;
    array_target t = fault_target(a->r, a->c, a->address);
    heap_target(k, a->address, &t);
    int64_t index = fault_index(&t, a->address + skip, a->c->size);
    spot at = spot_here(a->r, a->w, a->c, a->lane);
    uint32_t thread = m->thread;
    if (thread == at.thread && kind == CONFLICT_BLOCK && m->flags & MARK_MANY)
        thread = thread / LANES * LANES + m->other;
    spot other = {m->code + 1, thread, block};
    bool is_grid = kind != CONFLICT_BLOCK;
    bool is_one = t.size <= (t.elem_size ? t.elem_size : a->c->size);
    const char *who = is_grid ? "blocks" : "threads", *name = t.name ? t.name : "an array";
    diag_code code_of = is_grid ? K6205 : K6204;
    finding *f =
        is_one ? finding_new(k, a->r, code_of, at, &other, "two %s race for '%s'", who, name)
               : finding_new(k, a->r, code_of, at, &other, "two %s race for element %lld of '%s'",
                             who, (long long)index, name);
    if (!f)
        return finding_goes_on(k);
    const char *here = is_atomic_op(a->c) ? "updated atomically" : a->writes ? "written" : "read";
    finding_label(k, f, true, "first %s by %s", past_of(m, is_write),
                  finding_thread(k, a->r, other));
    finding_label(k, f, false, "then %s by %s", here, finding_thread(k, a->r, at));
    bool is_atomic = m->flags & MARK_ATOMIC || is_atomic_op(a->c);
    bool is_statement = kind == CONFLICT_BLOCK && !is_atomic && finding_is_one_place(k, f);
    diag_note(f->d, "%s",
              is_statement ? note_of_statement(is_write != a->writes)
                           : note_of_race(kind, thread, at.thread));
    if (is_atomic)
        diag_note(f->d, "an atomic access is only safe when all others are atomic, too: %s",
                  is_write && a->writes ? "atomic_store() stores so" : "atomic_load() reads so");
    finding_array(f, t.name ? t.name : "", index);
    return finding_goes_on(k);
}

// --- marks
static bool race_with(access *a, const memory *m, const mark *other, bool is_write, uint64_t skip)
{
    if (other->epoch == 0)
        return true;
    if (!m->is_global && other->epoch < a->k->block_epoch)
        return true; // shared memory of an earlier block
    conflict kind = order_conflict(a->k, other, &a->now);
    if (kind == CONFLICT_NONE || (is_write && is_same_value(a, m, other, true)))
        return true;
    uint64_t block = m->is_global ? order_block_of(a->k, other->epoch) : a->r->block_rank;
    return report_race(a, other, block, is_write, kind, skip);
}

// With accesses of other blocks of the cluster, at least one of the two being from afar.
static bool race_in_cluster(access *a, const memory *m, const cell *c, uint64_t skip)
{
    const runner *r = a->r;
    far_meeting f = cluster_meets(r, m->peer ? m->peer : r, c, &a->now, a->writes);
    if (f.kind == CONFLICT_NONE || (f.is_write && is_same_value(a, m, f.mark, f.rank == r->rank)))
        return true;
    return report_race(a, f.mark, r->peers[f.rank].block_rank, f.is_write, f.kind, skip);
}

static void mark_read(const check *k, cell *c, const mark *now)
{
    mark *last = &c->read;
    bool is_near = last->epoch == now->epoch && last->thread / LANES == now->thread / LANES;
    if (is_near && last->sync == now->sync) {
        if (last->thread != now->thread) {
            last->flags = (last->flags | (unsigned)MARK_MANY) & 63u;
            last->other = now->thread & 31u;
        }
        return;
    }
    // The old one is kept when a barrier has not ordered it, or never will.
    bool is_kept =
        last->epoch && !is_near && (last->epoch == now->epoch || last->epoch < k->block_epoch);
    bool far_is_foreign = c->far.epoch && c->far.epoch < k->block_epoch;
    if (is_kept && (!far_is_foreign || last->epoch < k->block_epoch))
        c->far = *last;
    *last = *now;
}

static bool look_at_cell(access *a, const memory *m, cell *c, uint64_t skip)
{
    check *k = a->k;
    bool is_set =
        m->is_global ? !m->row->is_unset || c->write.epoch : c->write.epoch >= k->block_epoch;
    if (!m->is_global && cluster_is_touched(a->r)) {
        is_set |= cluster_is_set(a->r, c);
        if (!race_in_cluster(a, m, c, skip))
            return false;
    }
    is_set = is_set && !(c->write.flags & MARK_UNSET);
    if (a->reads && !is_set) {
        if (a->watch & WATCH_COPIES)
            k->unset_lanes[a->w->index * k->slot_count] |= 1u << a->lane;
        else if (!found_unset(a, m, c, skip))
            return false;
    }
    if (!race_with(a, m, &c->write, true, skip))
        return false;
    if (c->write.flags & MARK_ATOMIC && !race_with(a, m, &c->plain, true, skip))
        return false;
    if (a->writes &&
        (!race_with(a, m, &c->read, false, skip) || !race_with(a, m, &c->far, false, skip)))
        return false;
    if (a->writes) {
        c->write = a->now;
        if (!(a->now.flags & MARK_ATOMIC))
            c->plain = a->now;
    } else {
        mark_read(k, c, &a->now);
    }
    return true;
}

// --- copies of what may be unset: per byte of a register, so that padding which is copied with its
// record makes nothing else unset
static uint32_t *unset_of(const access *a, uint32_t n)
{
    const code *c = a->c;
    uint32_t first = a->watch & WATCH_COPIES ? c->d : c->b;
    uint32_t slot = c->count == 1 ? first : a->r->program->extra[first + n];
    static uint32_t none[8];
    memset(none, 0, sizeof none);
    if (slot & UNIFORM_BIT)
        return none;
    return &a->k->unset_lanes[a->w->index * a->k->slot_count + 1 + slot / LANES];
}

// Are all of these bytes of the lane's register unset?
static bool are_unset(const access *a, const uint32_t *bytes, uint32_t count)
{
    uint32_t all = 1u << a->lane;
    for (uint32_t b = 0; b < count; b++)
        all &= bytes[b];
    return all != 0;
}

static void mark_unset(const access *a, uint32_t *bytes, uint32_t count, bool is_unset)
{
    uint32_t bit = 1u << a->lane;
    for (uint32_t b = 0; b < count; b++)
        bytes[b] = is_unset ? bytes[b] | bit : bytes[b] & ~bit;
}

static void mark_loaded_set(const access *a)
{
    for (uint32_t n = 0; a->watch & WATCH_COPIES && n < a->c->count; n++)
        mark_unset(a, unset_of(a, n), a->c->size, false);
}

static bool look_at_local(access *a, const memory *m)
{
    uint32_t size = a->c->size;
    for (uint32_t n = 0; n < a->c->count; n++) {
        uint8_t *set = m->set + (size_t)n * size;
        bool is_set = true;
        for (uint32_t b = 0; b < size; b++) {
            if (a->writes)
                set[b] = !(a->watch & WATCH_COPIED && are_unset(a, unset_of(a, n) + b, 1));
            if (a->reads && a->watch & WATCH_COPIES)
                mark_unset(a, unset_of(a, n) + b, 1, !set[b]);
            is_set = is_set && set[b];
        }
        if (!a->reads || a->watch & WATCH_COPIES || is_set)
            continue;
        if (!found_unset(a, m, NULL, (uint64_t)n * size))
            return false;
        memset(set, 1, size); // reported once
    }
    return true;
}

static bool look_at_cells(access *a, const memory *m)
{
    check *k = a->k;
    if (!(a->watch & (WATCH_COPIES | WATCH_COPIED))) {
        for (uint32_t n = 0; n < m->granules; n++)
            if (!look_at_cell(a, m, m->cells + n, (uint64_t)n << a->shift))
                return false;
        return true;
    }
    uint32_t granule = 1u << a->shift, per = a->c->size >> a->shift, bit = 1u << a->lane;
    uint32_t bytes = per ? granule : a->c->size; // of a register, in one cell
    if (!per)
        per = 1;
    for (uint32_t n = 0; n < m->granules; n++) {
        uint32_t element = n / per < a->c->count ? n / per : a->c->count - 1u;
        uint32_t *scratch = &k->unset_lanes[a->w->index * k->slot_count], from = n % per * bytes;
        if (a->watch & WATCH_COPIED)
            a->now.flags = (a->now.flags & ~(unsigned)MARK_UNSET & 63) |
                           (are_unset(a, unset_of(a, element) + from, bytes) ? MARK_UNSET : 0);
        *scratch = 0;
        if (!look_at_cell(a, m, m->cells + n, (uint64_t)n * granule))
            return false;
        if (a->watch & WATCH_COPIES)
            mark_unset(a, unset_of(a, element) + from, bytes, *scratch & bit);
    }
    return true;
}

static bool look_at_peer(access *a, const memory *m)
{
    for (uint32_t n = 0; n < m->granules; n++) {
        const cell *c = m->cells + n;
        bool is_set = c->write.epoch >= a->k->block_epoch || cluster_is_set(m->peer, c);
        uint64_t skip = (uint64_t)n << a->shift;
        if (!race_in_cluster(a, m, c, skip))
            return false;
        if (a->reads && !is_set && !(a->watch & WATCH_COPIES) && !found_unset(a, m, c, skip))
            return false;
        cluster_mark(a->r, m->peer, c, &a->now, a->writes);
    }
    mark_loaded_set(a);
    spot at = spot_here(a->r, a->w, a->c, a->lane);
    cluster_reach(a->r, m->peer, at);
    cluster_use(a->r, m->peer, at);
    return true;
}

// Shared memory has one name in its own block and another one in the others: this is that one.
static uint64_t name_of_place(const access *a, const memory *m)
{
    uint32_t rank = m->peer ? m->peer->rank : a->r->rank;
    bool is_in_cluster = a->k->cluster && m->cells && !m->is_global;
    return a->address +
           ((uint64_t)(is_in_cluster ? rank + 1 : 0) << (PEER_SHIFT + INTERP_SEGMENT_BITS));
}

static bool look_at_lane(access *a, const memory *m)
{
    if (m->peer)
        forget_peer(a);
    if (a->now.flags) {
        uint32_t thread = a->r->rank << 10 | a->now.thread;
        uint32_t released = order_at(a->k, name_of_place(a, m), thread, a->watch);
        cluster_acquire(a->r, released);
    }
    a->now.epoch = a->k->epoch;
    if (m->set)
        return look_at_local(a, m);
    const runner *owner = m->peer ? m->peer : a->r;
    if (a->k->async && m->cells && !m->is_global &&
        !async_look(a->r, owner, a->w, a->c, a->lane, (uint64_t)(m->host - owner->shared), a->bytes,
                    a->writes))
        return false;
    if (m->peer)
        return look_at_peer(a, m);
    if (m->is_global && m->row->words &&
        !global_look(a->r, a->w, a->c, a->lane, a->address, a->bytes, a->writes))
        return false;
    if (m->cells)
        return look_at_cells(a, m);
    mark_loaded_set(a);
    if (m->is_global && m->row->is_unset && a->reads)
        return found_unset(a, m, NULL, 0);
    return true;
}

static void clear_lanes(access *a, uint32_t lanes)
{
    const code *c = a->c;
    bool has_result = c->op == CODE_LOAD || c->op == CODE_LOAD_MANY ||
                      (c->op >= CODE_ATOMIC && c->op <= CODE_ATOMIC_LOAD);
    for (; has_result && lanes; lanes &= lanes - 1)
        for (uint32_t n = 0; n < c->count; n++) {
            uint32_t slot = c->count == 1 ? c->d : a->r->program->extra[c->d + n];
            memset((uint8_t *)slot_at(a->w, slot) + lowest_lane(lanes) * c->size, 0, c->size);
        }
}

// For whom reads memory another way.
static void note_store(const access *a, uint32_t lane, uint64_t address)
{
    const runner *r = a->r;
    uint64_t s = (address >> INTERP_SEGMENT_BITS) - STATIC_SEGMENT, offset = address & OFFSET_MASK;
    if (s >= r->program->segment_count) {
        global_stored(r, a->c, a->w->index * LANES + lane, address, a->bytes);
        return;
    }
    segment_kind kind = r->program->segments[s].kind;
    if (kind == SEGMENT_SHARED || kind == SEGMENT_DYNAMIC)
        async_stored(r, a->c, a->w->index * LANES + lane,
                     (uint64_t)(r->segments[s].base - r->shared) + offset, a->bytes);
}

static uint64_t address_of(const runner *r, uint32_t offset)
{
    for (uint64_t s = 0; s < r->program->segment_count; s++) {
        segment_kind kind = r->program->segments[s].kind;
        uint64_t start = (uint64_t)(r->segments[s].base - r->shared);
        if ((kind == SEGMENT_SHARED || kind == SEGMENT_DYNAMIC) && offset >= start &&
            offset - start < r->segments[s].size)
            return ((s + STATIC_SEGMENT) << INTERP_SEGMENT_BITS) + (offset - start);
    }
    return 0;
}

bool shadow_touch(runner *r, warp *w, const code *c, uint32_t lane, uint32_t offset, uint32_t bytes,
                  bool writes)
{
    check *k = check_of(r);
    access a = {.k = k, .r = r, .w = w, .c = c, .reads = !writes, .writes = writes, .bytes = bytes};
    a.shift = (uint32_t)__builtin_ctz(r->program->granule);
    a.lane = lane;
    a.address = address_of(r, offset);
    a.now.code = code_index(r, c) & 0x7ffffffu;
    a.now.sync = k->sync[w->index];
    a.now.thread = (w->index * LANES + lane) & 1023u;
    memory m;
    return !locate(&a, &m) || look_at_lane(&a, &m);
}

bool shadow_bytes(runner *r, warp *w, const code *c, uint32_t lane, uint64_t address,
                  uint64_t bytes, bool writes)
{
    check *k = check_of(r);
    access a = {.k = k, .r = r, .w = w, .c = c, .reads = !writes, .writes = writes, .bytes = bytes};
    memory m;
    a.shift = (uint32_t)__builtin_ctz(r->program->granule);
    a.lane = lane;
    a.address = address;
    a.now.code = code_index(r, c) & 0x7ffffffu;
    a.now.sync = k->sync[w->index];
    a.now.thread = (w->index * LANES + lane) & 1023u;
    if (!locate(&a, &m)) {
        report_outside(&a);
        return false;
    }
    a.bytes = 1;
    for (uint64_t n = 0; n < bytes; n++) {
        a.address = address + n;
        a.now.flags = 0;
        if (locate(&a, &m) && !look_at_lane(&a, &m))
            return false;
    }
    return true;
}

bool shadow_access(runner *r, warp *w, const code *c)
{
    check *k = check_of(r);
    bool is_atomic = c->op >= CODE_ATOMIC;
    access a = {.k = k, .r = r, .w = w, .c = c, .watch = c[-1].align};
    a.reads =
        c->op == CODE_LOAD || c->op == CODE_LOAD_MANY || (is_atomic && c->op != CODE_ATOMIC_STORE);
    a.writes =
        c->op == CODE_STORE || c->op == CODE_STORE_MANY || (is_atomic && c->op != CODE_ATOMIC_LOAD);
    a.bytes = (uint64_t)c->size * c->count;
    a.shift = (uint32_t)__builtin_ctz(r->program->granule);
    a.now.code = code_index(r, c) & 0x7ffffffu;
    a.now.sync = k->sync[w->index];
    a.now.flags = ((unsigned)(is_atomic ? MARK_ATOMIC : 0) |
                   (unsigned)(a.watch & WATCH_VOLATILE ? MARK_VOLATILE : 0)) &
                  63u;
    const lane_u64 *at = slot_at(w, c->a);
    uint32_t active = w->active, good = active;
    uint32_t flags = a.now.flags;
    for (uint32_t left = quick_lanes(r, w, c); left; left &= left - 1) {
        a.lane = lowest_lane(left);
        a.address = at[a.lane] + (uint64_t)c->u.imm;
        a.now.thread = (w->index * LANES + a.lane) & 1023;
        a.now.flags = flags & 63;
        memory m;
        if (!heap_is_fine(k, a.address, a.bytes)) {
            good &= ~(1u << a.lane);
            if (!heap_report(r, w, c, a.lane, a.address, a.bytes, verb_of(&a)))
                return false;
        } else if (locate(&a, &m)) {
            if (!look_at_lane(&a, &m))
                return false;
        } else {
            good &= ~(1u << a.lane);
            if (!report_outside(&a))
                return false;
        }
    }
    for (uint32_t left = a.writes && k->async ? good : 0; left; left &= left - 1)
        note_store(&a, lowest_lane(left), at[lowest_lane(left)] + (uint64_t)c->u.imm);
    w->active = good;
    bool fine = !good || (is_atomic ? mem_atomic(r, w, c)
                          : a.reads ? mem_load(r, w, c)
                                    : mem_store(r, w, c));
    w->active = active;
    clear_lanes(&a, active & ~good);
    return fine;
}
