// The shared memory of other blocks of the cluster: which block accessed it, what orders that with
// the accesses of its owner, and whether the owner was there at all.
//
// Epochs do not order accesses of different blocks, because a barrier of one block is none of the
// other. Instead each block keeps up to which epoch of each other block it is ordered: the epoch in
// which the cluster's barrier opened, or the other block arrived at one of its mbarriers, or
// released something it then acquired. All of that counts for whole blocks, and relaxed arrivals as
// any: so what is reported is a mistake, but not every mistake is reported. Start at cluster_event.
#include "dev/interp/nv.h"
#include "rt/check/check.h"

enum { BLOCKS_MAX = 16 };

typedef struct far_cell { // accesses from other blocks
    mark write, read;     // the last ones, by blocks of these ranks
    uint8_t writer, reader;
} far_cell;

typedef struct far_use { // of a block's shared memory by another one
    spot at;             // code 0: none
    uint32_t epoch;
} far_use;

struct cluster_state {
    uint64_t stride; // cells of one block
    far_cell *cells;
    bool is_touched[BLOCKS_MAX];            // has been accessed from afar
    uint32_t heard[BLOCKS_MAX][BLOCKS_MAX]; // [a][b]: all that b did up to here comes before a
    uint32_t told[BLOCKS_MAX][BLOCKS_MAX];  // up to where it is ordered after its next wait
    far_use last[BLOCKS_MAX][BLOCKS_MAX];   // [owner][user]
    far_use early[BLOCKS_MAX]
                 [BLOCKS_MAX]; // the first before the user was ordered after the owner's start
};

uint64_t cluster_bytes(const runner_sizes *z, uint32_t granule)
{
    return sizeof(struct cluster_state) + z->blocks * (z->shared / granule + 2) * sizeof(far_cell);
}

void cluster_make(check *k, const runner_sizes *z, uint32_t granule, void *memory)
{
    k->cluster = memory;
    k->cluster->stride = z->shared / granule + 2;
    k->cluster->cells = (void *)(k->cluster + 1);
}

void cluster_start(check *k)
{
    cluster_state *s = k->cluster;
    if (s) // the cells' marks are known by their epoch
        *s = (cluster_state){.stride = s->stride, .cells = s->cells};
}

static void raise(uint32_t *to, uint32_t epoch)
{
    *to = epoch > *to ? epoch : *to;
}

// --- accesses
static far_cell *cell_at(const runner *owner, const cell *c)
{
    const cluster_state *s = check_of(owner)->cluster;
    return s->cells + owner->rank * s->stride + (c - check_shared(owner));
}

bool cluster_is_touched(const runner *r)
{
    const cluster_state *s = check_of(r)->cluster;
    return s && s->is_touched[r->rank];
}

bool cluster_is_set(const runner *owner, const cell *c)
{
    return cluster_is_touched(owner) &&
           cell_at(owner, c)->write.epoch >= check_of(owner)->block_epoch;
}

static conflict conflict_with(const runner *r, const mark *m, uint32_t rank, const mark *now)
{
    const check *k = check_of(r);
    const unsigned gentle = MARK_ATOMIC | MARK_VOLATILE;
    if (m->epoch < k->block_epoch)
        return CONFLICT_NONE;
    if (rank == r->rank)
        return order_conflict(k, m, now);
    if (m->epoch <= k->cluster->heard[r->rank][rank] || (m->flags & gentle && now->flags & gentle))
        return CONFLICT_NONE;
    return CONFLICT_CLUSTER;
}

far_meeting cluster_meets(const runner *r, const runner *owner, const cell *c, const mark *now,
                          bool writes)
{
    const far_cell *f = cell_at(owner, c);
    const far_meeting all[] = {{CONFLICT_NONE, &f->read, f->reader, false},
                               {CONFLICT_NONE, &c->read, owner->rank, false},
                               {CONFLICT_NONE, &c->far, owner->rank, false},
                               {CONFLICT_NONE, &f->write, f->writer, true},
                               {CONFLICT_NONE, &c->write, owner->rank, true},
                               {CONFLICT_NONE, &c->plain, owner->rank, true}};
    for (uint32_t n = writes ? 0 : 3; n < 6; n++) {
        far_meeting m = all[n];
        if (r == owner && m.rank == owner->rank)
            continue; // the block's own accesses are not looked at here
        m.kind = conflict_with(r, m.mark, m.rank, now);
        if (m.kind != CONFLICT_NONE)
            return m;
    }
    return (far_meeting){.kind = CONFLICT_NONE};
}

void cluster_mark(const runner *r, const runner *owner, const cell *c, const mark *now, bool writes)
{
    far_cell *f = cell_at(owner, c);
    check_of(r)->cluster->is_touched[owner->rank] = true;
    *(writes ? &f->write : &f->read) = *now;
    *(writes ? &f->writer : &f->reader) = (uint8_t)r->rank;
}

bool cluster_sends(runner *r, warp *w, const code *c, uint32_t lane, runner *to, uint32_t offset,
                   uint32_t bytes)
{
    static const meeting racing = {
        K6205, "may be in use when a copy from another block of the cluster overwrites it",
        "the copy is started by", "touched by",
        "blocks of a cluster are ordered by cluster_arrive() and cluster_wait(), or by "
        "mbarrier_arrive_at() and mbarrier_wait(); there is none in between"};
    uint32_t granule = r->program->granule;
    mark now = mark_now(r, c, w->index * LANES + lane);
    for (uint32_t at = offset; at < offset + bytes; at += granule) {
        far_meeting f = cluster_meets(r, to, check_shared(to) + at / granule, &now, true);
        if (f.kind != CONFLICT_CLUSTER)
            continue;
        uint64_t index;
        const char *name = nv_name(to, at, &index);
        spot other = {f.mark->code + 1, f.mark->thread, r->peers[f.rank].block_rank};
        return async_report(r, spot_here(r, w, c, lane), name, index, &racing, other);
    }
    return true;
}

// --- what orders blocks
void cluster_acquire(const runner *r, uint32_t epoch)
{
    cluster_state *s = check_of(r)->cluster;
    for (uint32_t k = 0; s && epoch && k < r->peer_count; k++)
        raise(&s->heard[r->rank][k], epoch);
}

static void open(const runner *r)
{
    const check *k = check_of(r);
    for (uint32_t to = 0; to < r->peer_count; to++)
        for (uint32_t from = 0; from < r->peer_count; from++)
            raise(&k->cluster->told[to][from], k->epoch);
}

// Orders what r has done so far, and what was ordered before it; not what it does from now on.
static void send_order(const runner *r, const runner *to)
{
    check *k = check_of(r);
    cluster_state *s = k->cluster;
    raise(&s->told[to->rank][r->rank], k->epoch);
    for (uint32_t n = 0; n < r->peer_count; n++)
        raise(&s->told[to->rank][n], s->heard[r->rank][n]);
    k->epoch++;
}

static void receive_order(const runner *r)
{
    cluster_state *s = check_of(r)->cluster;
    for (uint32_t n = 0; n < r->peer_count; n++)
        raise(&s->heard[r->rank][n], s->told[r->rank][n]);
}

// --- whether the owner is there
void cluster_use(const runner *user, const runner *owner, spot at)
{
    const check *k = check_of(user);
    cluster_state *s = k->cluster;
    s->last[owner->rank][user->rank] = (far_use){at, k->epoch};
}

void cluster_reach(const runner *user, const runner *owner, spot at)
{
    const check *k = check_of(user);
    cluster_state *s = k->cluster;
    far_use *first = &s->early[owner->rank][user->rank];
    if (s->heard[user->rank][owner->rank] < k->block_epoch && !first->at.code)
        *first = (far_use){at, k->epoch};
}

static bool report_use(const runner *owner, spot at, bool is_early)
{
    check *k = check_of(owner);
    const uint32_t *b = owner->block;
    finding *f = finding_new(k, owner, K6229, at, NULL,
                             is_early ? "block (%u, %u, %u) may not have begun when this uses its "
                                        "shared memory"
                                      : "block (%u, %u, %u) may have ended when this uses its "
                                        "shared memory",
                             b[0], b[1], b[2]);
    finding_label(k, f, false, "in %s", finding_thread(k, owner, at));
    if (f)
        diag_note(f->d, is_early
                            ? "blocks of a cluster begin at their own times: cluster_arrive() and "
                              "cluster_wait() must come before the first use"
                            : "no block may end before all others are done with its shared memory "
                              "and its mbarriers: cluster_arrive() and cluster_wait() at the end");
    return finding_goes_on(k);
}

// The order that a block had reached at its end is final.
static bool end(const runner *owner)
{
    const cluster_state *s = check_of(owner)->cluster;
    for (uint32_t n = 0; n < owner->peer_count; n++) {
        const far_use *early = &s->early[owner->rank][n], *last = &s->last[owner->rank][n];
        if (early->at.code && !report_use(owner, early->at, true))
            return false;
        if (last->at.code && last->epoch > s->heard[owner->rank][n] &&
            !report_use(owner, last->at, false))
            return false;
    }
    return true;
}

bool cluster_event(runner *r, cluster_kind kind, runner *other, const code *c, uint32_t thread)
{
    if (!check_of(r)->cluster || r == other)
        return true;
    switch (kind) {
    case CLUSTER_OPENS: open(r); break;
    case CLUSTER_SIGNALS: send_order(r, other); break;
    case CLUSTER_HEARS: receive_order(r); break;
    case CLUSTER_REACHES:
        cluster_reach(r, other, (spot){code_index(r, c) + 1, thread, r->block_rank});
        break;
    case CLUSTER_USES:
        cluster_use(r, other, (spot){code_index(r, c) + 1, thread, r->block_rank});
        break;
    case CLUSTER_TAKES:
        cluster_use(r, other, (spot){code_index(r, c) + 1, thread, other->block_rank});
        break;
    case CLUSTER_ENDS: return end(r);
    }
    return true;
}
