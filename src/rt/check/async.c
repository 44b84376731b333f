// Asynchronous work beside the shadow: which words of shared memory copies are about to write and
// copies or wgmma still read, and which thread stored what since its last fence. An access that
// comes in between is a finding: the interpreter does such work at the latest moment, hardware at
// any.
//
// mbarriers, named barriers and clusters order everything before them, as a barrier of the block
// does: that is more than they do, so what is reported is wrong, but not all that is wrong is
// reported. Start at check_async_hooks.
#include "dev/interp/nv.h"
#include "rt/check/check.h"

enum { WORD = 4 };

typedef struct async_word {
    uint16_t reading, writing; // operations under way
    uint32_t code, thread;     // of the last one, + 1
    uint32_t store_code;       // the last plain store, + 1; 0: none that counts
    uint32_t store_thread, store_fence;
} async_word;

typedef struct async_state {
    uint64_t stride;   // words of one block
    uint32_t threads;  // of one block
    async_word *words; // of each block of the cluster
    uint32_t *fences;  // per thread of each: how often it called fence_async
} async_state;

static async_word *words_at(const runner *r, uint64_t offset)
{
    const async_state *s = check_of(r)->async;
    return s->words + r->rank * s->stride + offset / WORD;
}

static uint32_t *fences_at(const runner *r, uint32_t thread)
{
    const async_state *s = check_of(r)->async;
    return s->fences + r->rank * s->threads + thread;
}

uint64_t async_bytes(const runner_sizes *z)
{
    return sizeof(async_state) +
           z->blocks * ((z->shared / WORD + 2) * sizeof(async_word) + z->threads * 4);
}

void async_make(check *k, const runner_sizes *z, void *memory)
{
    async_state *s = memory;
    s->stride = z->shared / WORD + 2;
    s->threads = (uint32_t)z->threads;
    s->words = (void *)(s + 1);
    s->fences = (void *)(s->words + z->blocks * s->stride);
    k->async = s;
}

void async_start_block(const runner *r)
{
    const async_state *s = check_of(r)->async;
    if (!s)
        return;
    memset(words_at(r, 0), 0, s->stride * sizeof(async_word));
    memset(fences_at(r, 0), 0, s->threads * sizeof(uint32_t));
}

// --- findings
bool async_report(runner *r, spot at, const char *name, uint64_t index, const meeting *m,
                  spot other)
{
    check *k = check_of(r);
    finding *f = finding_new(k, r, m->kind, at, other.code ? &other : NULL,
                             "element %llu of '%s' %s", (unsigned long long)index, name, m->what);
    if (!f)
        return finding_goes_on(k);
    if (other.code)
        finding_label(k, f, true, "%s %s", m->there, finding_thread(k, r, other));
    finding_label(k, f, false, "%s %s", m->here, finding_thread(k, r, at));
    diag_note(f->d, "%s", m->note);
    finding_array(f, name, (int64_t)index);
    return finding_goes_on(k);
}

static bool report_in(runner *r, const runner *owner, const warp *w, const code *c, uint32_t lane,
                      uint64_t offset, const meeting *m, uint32_t other_code, uint32_t other_thread)
{
    uint64_t index;
    const char *name = nv_name(owner, (uint32_t)offset, &index);
    return async_report(r, spot_here(r, w, c, lane), name, index, m,
                        (spot){other_code, other_thread, owner->block_rank});
}

static bool report(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t offset,
                   const meeting *m, uint32_t other_code, uint32_t other_thread)
{
    return report_in(r, r, w, c, lane, offset, m, other_code, other_thread);
}

static const meeting early_read = {
    K6222, "is read before the copy into it has landed", "read by", "the copy is started by",
    "wait first: for the copy's mbarrier, or with async_wait() for async_copy"};
static const meeting early_write = {
    K6222, "is written while a copy into it is under way", "written by", "the copy is started by",
    "wait first: for the copy's mbarrier, or with async_wait() for async_copy"};
static const meeting overwrite = {
    K6223, "is overwritten while it is still being read", "written by", "being read by",
    "wgmma_wait() or bulk_wait_read() must come first, then a barrier before the write"};
static const meeting no_fence = {K6221, "was stored, but is not seen here", "read by", "stored by",
                                 "the copy engine and wgmma have their own path to memory: the "
                                 "thread that stores must call fence_async() "
                                 "before the barrier"};
static const meeting unset = {K6203, "is read before anything was stored there", "read by", "",
                              "nothing was stored or copied there so far"};
static const meeting racing = {K6204, "is touched by another thread without a barrier in between",
                               "this is by", "and this by",
                               "an mbarrier, barrier() or barrier_sync() must order the two"};

// --- accesses of the threads
bool async_look(runner *r, const runner *owner, const warp *w, const code *c, uint32_t lane,
                uint64_t offset, uint64_t bytes, bool writes)
{
    async_word *a = words_at(owner, offset), *end = words_at(owner, offset + bytes - 1) + 1;
    for (; a < end; a++) {
        const meeting *m = a->writing             ? writes ? &early_write : &early_read
                           : a->reading && writes ? &overwrite
                                                  : NULL;
        if (m)
            return report_in(r, owner, w, c, lane, offset, m, a->code, a->thread);
    }
    return true;
}

bool async_is_quiet(const runner *r, uint64_t offset, uint64_t bytes)
{
    const async_word *a = words_at(r, offset), *end = words_at(r, offset + bytes - 1) + 1;
    for (; a < end; a++)
        if (a->writing | a->reading)
            return false;
    return true;
}

void async_stored(const runner *r, const code *c, uint32_t thread, uint64_t offset, uint64_t bytes)
{
    async_word *a = words_at(r, offset), *end = words_at(r, offset + bytes - 1) + 1;
    for (; a < end; a++) {
        a->store_code = code_index(r, c) + 1;
        a->store_thread = thread;
        a->store_fence = *fences_at(r, thread);
    }
}

// --- work of the engines
static bool has_conflict(const check *k, const mark *m, const mark *now)
{
    return m->epoch >= k->block_epoch && order_conflict(k, m, now) != CONFLICT_NONE;
}

static bool look_at_cells(runner *r, warp *w, const code *c, uint32_t lane, async_kind kind,
                          uint32_t offset, uint32_t bytes)
{
    check *k = check_of(r);
    uint32_t granule = r->program->granule;
    mark now = mark_now(r, c, w->index * LANES + lane);
    const cell *cells = check_shared(r);
    for (uint32_t at = offset; at < offset + bytes; at += granule) {
        const cell *s = &cells[at / granule];
        if (kind == ASYNC_READS && s->write.epoch < k->block_epoch && !cluster_is_set(r, s))
            return report(r, w, c, lane, at, &unset, 0, 0);
        const mark *m = has_conflict(k, &s->write, &now)                          ? &s->write
                        : kind == ASYNC_WRITES && has_conflict(k, &s->read, &now) ? &s->read
                        : kind == ASYNC_WRITES && has_conflict(k, &s->far, &now)  ? &s->far
                                                                                  : NULL;
        if (m)
            return report(r, w, c, lane, at, &racing, m->code + 1, m->thread);
    }
    return true;
}

static bool on_async_start(runner *r, warp *w, const code *c, uint32_t lane, async_kind kind,
                           uint32_t offset, uint32_t bytes)
{
    bool is_told = false;
    for (uint32_t at = offset; at < offset + bytes; at += WORD) {
        async_word *a = words_at(r, at);
        const meeting *m = NULL;
        if (a->writing)
            m = kind == ASYNC_READS ? &early_read : &early_write;
        else if (a->reading && kind == ASYNC_WRITES)
            m = &overwrite;
        if (m && !is_told && !report(r, w, c, lane, at, m, a->code, a->thread))
            return false;
        bool is_hidden = kind == ASYNC_READS && a->store_code &&
                         a->store_fence == *fences_at(r, a->store_thread);
        if (!m && is_hidden && !is_told &&
            !report(r, w, c, lane, at, &no_fence, a->store_code, a->store_thread))
            return false;
        is_told |= m || is_hidden;
        a->reading = (uint16_t)(a->reading + (kind == ASYNC_READS));
        a->writing = (uint16_t)(a->writing + (kind == ASYNC_WRITES));
        a->code = code_index(r, c) + 1;
        a->thread = w->index * LANES + lane;
    }
    return is_told || look_at_cells(r, w, c, lane, kind, offset, bytes);
}

static void on_async_end(runner *r, const code *c, uint32_t thread, async_kind kind,
                         uint32_t offset, uint32_t bytes)
{
    uint32_t granule = r->program->granule;
    for (uint32_t at = offset; at < offset + bytes; at += WORD) {
        async_word *a = words_at(r, at);
        if (kind == ASYNC_READS) {
            a->reading = (uint16_t)(a->reading - (a->reading != 0));
            continue;
        }
        a->writing = (uint16_t)(a->writing - (a->writing != 0));
        a->store_code = 0;
    }
    if (kind == ASYNC_READS)
        return;
    mark now = mark_now(r, c, thread);
    for (uint32_t at = offset; at < offset + bytes; at += granule) {
        cell *s = &check_shared(r)[at / granule];
        s->write = s->plain = now;
        s->read = s->far = (mark){0};
    }
}

static bool on_touch(runner *r, warp *w, const code *c, uint32_t lane, uint32_t offset,
                     uint32_t bytes, bool writes)
{
    if (!shadow_touch(r, w, c, lane, offset, bytes, writes))
        return false;
    if (writes)
        async_stored(r, c, w->index * LANES + lane, offset, bytes);
    return true;
}

static void on_ordered(runner *r)
{
    shadow_settle(r);
    check_of(r)->epoch++;
}

static void on_fenced(runner *r, warp *w, bool are_all)
{
    if (are_all)
        global_fenced(r, w);
    for (uint32_t left = w->active; left; left &= left - 1)
        ++*fences_at(r, w->index * LANES + lowest_lane(left));
}

static bool on_mistake(runner *r, const warp *w, const code *c, uint32_t lane, diag_code kind,
                       const char *what, const char *note)
{
    check *k = check_of(r);
    spot at = spot_here(r, w, c, lane);
    finding *f = finding_new(k, r, kind, at, NULL, "%s", what);
    finding_label(k, f, false, "in %s", finding_thread(k, r, at));
    if (f)
        diag_note(f->d, "%s", note);
    return finding_goes_on(k);
}

const async_hooks check_async_hooks = {.start = on_async_start,
                                       .end = on_async_end,
                                       .touch = on_touch,
                                       .global = global_copy,
                                       .ordered = on_ordered,
                                       .fenced = on_fenced,
                                       .sends = cluster_sends,
                                       .cluster = cluster_event,
                                       .mistake = on_mistake};
