// mbarriers. A phase completes when all its arrivals are there and all its expected bytes have
// come. Copies that report to a barrier land in mbar_progress, which runs when a warp asks for
// the phase. Start at mbar_step and mbar_wait.
#include "dev/interp/nv.h"

static mbar *mbar_at(const runner *r, uint32_t offset)
{
    uint32_t index = r->nv->mbar_at[offset / 8];
    return index ? (mbar *)r->nv->mbars.at + (index - 1) : NULL;
}

static uint64_t image_of(const mbar *b)
{
    return (uint64_t)b->phase << 32 | (uint64_t)(b->count & 0xffff) << 16 | (b->pending & 0xffff);
}

static void show(const runner *r, mbar *b)
{
    b->image = image_of(b);
    memcpy(r->shared + b->offset, &b->image, 8);
}

mbar *mbar_find(runner *r, const warp *w, const code *c, uint32_t lane, uint32_t offset)
{
    mbar *b = mbar_at(r, offset);
    uint64_t index, now;
    memcpy(&now, r->shared + offset, 8);
    if (b && now == b->image)
        return b;
    const char *name = nv_name(r, offset, &index);
    fault_raise(r, w, c, lane, K6041, "the mbarrier at element %llu of '%s' %s",
                (unsigned long long)index, name,
                b ? "was overwritten with other data" : "is used before mbarrier_init");
    return NULL;
}

static bool init(runner *r, const warp *w, const code *c, uint32_t lane, uint32_t offset)
{
    uint32_t count = operand_u32(r, w, c, 1, lane);
    if (!count || count >= 1u << 20)
        return fault_raise(r, w, c, lane, K6041, "an mbarrier for %u arrivals: 1 to 1048575 can be",
                           count);
    mbar *b = mbar_at(r, offset);
    if (!b) {
        b = nv_push(r, w, c, &r->nv->mbars, sizeof *b);
        if (!b)
            return false;
        r->nv->mbar_at[offset / 8] = (uint16_t)r->nv->mbars.len;
    }
    *b = (mbar){.offset = offset,
                .count = count,
                .pending = count,
                .maker = w->index * LANES + lane,
                .is_unfenced = true};
    show(r, b);
    return true;
}

// --- phases
static bool is_late(const nv_load *l, const mbar *b)
{
    return l->barrier == b->offset && l->phase == b->phase;
}

static bool complete(runner *r, mbar *b)
{
    show(r, b);
    if (b->pending || b->tx)
        return true;
    for (uint32_t k = 0; is_watched(r) && k < r->nv->loads.len; k++) {
        const nv_load *l = (const nv_load *)r->nv->loads.at + k;
        if (is_late(l, b) && !r->launch->hooks->async->mistake(
                                 r, &r->warps[l->thread / LANES], l->c, l->thread % LANES, K6226,
                                 "a phase completes before this copy of it has landed",
                                 "the bytes that the barrier expects are fewer "
                                 "than those of the copies that report to it"))
            return false;
    }
    b->phase++;
    b->pending = b->count;
    show(r, b);
    if (is_watched(r))
        r->launch->hooks->async->ordered(r);
    return true;
}

// Arrivals that wait for a thread's cp.async.
static bool apply_small_arrivals(runner *r, const code *c, mbar *b, uint32_t phase)
{
    for (uint32_t k = 0; k < r->warp_count; k++) {
        nv_warp *n = r->warps[k].nv;
        for (uint32_t e = 0; e < n->smalls.len; e++) {
            nv_small *s = (nv_small *)n->smalls.at + e;
            for (uint32_t left = s->is_arrival ? s->lanes : 0; left; left &= left - 1) {
                uint32_t lane = lowest_lane(left);
                if (s->to[lane] != b->offset)
                    continue;
                if (!b->pending)
                    return true;
                if (!copy_smalls_upto(r, &r->warps[k], e, 1u << lane))
                    return false;
                s->lanes &= ~(1u << lane);
                if (!mbar_arrive(r, &r->warps[k], c, lane, b))
                    return false;
                if (b->phase != phase)
                    return true;
            }
        }
        copy_drop_smalls(n);
    }
    return true;
}

// What can complete the phase does so now.
static bool progress(runner *r, const code *c, mbar *b)
{
    uint32_t phase = b->phase;
    if (!apply_small_arrivals(r, c, b, phase))
        return false;
    for (uint32_t k = 0; k < r->nv->loads.len && b->phase == phase && !b->pending;) {
        nv_load *l = (nv_load *)r->nv->loads.at + k;
        if (l->barrier != b->offset) {
            k++;
            continue;
        }
        nv_load landing = *l;
        nv_remove(&r->nv->loads, sizeof *l, k);
        if (!copy_land(r, &landing))
            return false;
        b->tx -= landing.bytes;
        if (!complete(r, b))
            return false;
    }
    return true;
}

bool mbar_arrive(runner *r, const warp *w, const code *c, uint32_t lane, mbar *b)
{
    if (!b->pending && !progress(r, c, b))
        return false;
    if (!b->pending) {
        uint64_t index;
        const char *name = nv_name(r, b->offset, &index);
        return fault_raise(r, w, c, lane, K6041,
                           "more than %u arrivals in one phase of the mbarrier at element %llu of "
                           "'%s' (%lld bytes are still missing)",
                           b->count, (unsigned long long)index, name, (long long)b->tx);
    }
    b->pending--;
    return complete(r, b);
}

static bool expect(runner *r, const warp *w, const code *c, uint32_t lane, mbar *b)
{
    if (!b->pending && !progress(r, c, b))
        return false;
    b->tx += operand_u32(r, w, c, 1, lane);
    return true;
}

// --- instructions
static bool arrive_at(runner *r, warp *w, const code *c, uint32_t lane, uint32_t offset)
{
    uint32_t rank = operand_u32(r, w, c, 1, lane);
    if (rank >= r->peer_count)
        return fault_raise(r, w, c, lane, K6041, "block %u of a cluster of %u", rank,
                           r->peer_count);
    runner *peer = &r->peers[rank];
    mbar *b = mbar_find(peer, w, c, lane, offset);
    for (cluster_kind kind = CLUSTER_REACHES; b && kind <= CLUSTER_USES; kind++)
        report_cluster(r, kind, peer, c, w->index * LANES + lane);
    report_cluster(r, CLUSTER_SIGNALS, peer, c, 0);
    return b && mbar_arrive(peer, w, c, lane, b);
}

static bool lane_step(runner *r, warp *w, const code *c, uint32_t lane)
{
    uint32_t offset;
    if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, 0, lane), 8, 8, &offset))
        return false;
    if (c->align == NV_MBAR_INIT)
        return init(r, w, c, lane, offset);
    if (c->align == NV_MBAR_ARRIVE_AT || c->align == NV_MBAR_ARRIVE_AT_RELAXED)
        return arrive_at(r, w, c, lane, offset);
    mbar *b = mbar_find(r, w, c, lane, offset);
    if (!b)
        return false;
    switch (c->align) {
    case NV_MBAR_INVAL: r->nv->mbar_at[offset / 8] = 0; return true;
    case NV_MBAR_ARRIVE: return mbar_arrive(r, w, c, lane, b);
    case NV_MBAR_EXPECT: return expect(r, w, c, lane, b);
    default: return expect(r, w, c, lane, b) && mbar_arrive(r, w, c, lane, b);
    }
}

void mbar_fence(runner *r, const warp *w)
{
    for (uint32_t k = 0; k < r->nv->mbars.len; k++) {
        mbar *b = (mbar *)r->nv->mbars.at + k;
        if (b->maker / LANES == w->index && w->active >> b->maker % LANES & 1)
            b->is_unfenced = false;
    }
}

bool mbar_step(runner *r, warp *w, const code *c)
{
    if (c->align == NV_MBAR_FENCE_INIT) {
        mbar_fence(r, w);
        return true;
    }
    for (uint32_t left = w->active; left; left &= left - 1)
        if (!lane_step(r, w, c, lowest_lane(left)))
            return false;
    return true;
}

static bool is_complete(runner *r, warp *w, const code *c, uint32_t lane, bool *out)
{
    uint32_t offset, parity = operand_u32(r, w, c, 1, lane) & 1;
    if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, 0, lane), 8, 8, &offset))
        return false;
    mbar *b = mbar_find(r, w, c, lane, offset);
    if (!b || ((b->phase & 1) == parity && !progress(r, c, b)))
        return false;
    *out = (b->phase & 1) != parity;
    return true;
}

nv_outcome mbar_wait(runner *r, warp *w, const code *c)
{
    nv_warp *n = w->nv;
    bool is_test = !nv_is_wait((nv_op)c->align);
    lane_u8 *d = is_test ? slot_at(w, r->program->extra[c->d]) : NULL;
    if (n->satisfied_at != c)
        n->satisfied = 0;
    n->satisfied_at = c;
    bool is_waiting = false;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        bool is_over = n->satisfied >> lane & 1;
        if (!is_over && !is_complete(r, w, c, lane, &is_over))
            return NV_FAILED;
        if (is_test)
            d[lane] = is_over;
        else if (is_over)
            n->satisfied |= 1u << lane;
        is_waiting |= !is_over;
    }
    if (is_waiting && !is_test)
        return NV_BLOCKED;
    n->satisfied_at = NULL;
    n->satisfied = 0;
    if (!is_waiting)
        report_cluster(r, CLUSTER_HEARS, NULL, NULL, 0);
    if (is_watched(r))
        r->launch->hooks->async->ordered(r);
    return is_waiting ? NV_YIELD : NV_DONE;
}

bool mbar_lacks_bytes(const runner *r, const warp *w)
{
    const code *c = w->pc;
    uint32_t offset, lane = lowest_lane(w->active & ~w->nv->satisfied);
    if (c->op != CODE_NV || !nv_is_wait((nv_op)c->align) ||
        !nv_window(r, operand_u64(r, w, c, 0, lane), 8, &offset))
        return false;
    const mbar *b = mbar_at(r, offset);
    return b && !b->pending && b->tx;
}

bool mbar_fault_waiting(runner *r, const warp *w, const code *c)
{
    uint32_t offset, lane = lowest_lane(w->active & ~w->nv->satisfied);
    if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, 0, lane), 8, 8, &offset))
        return false;
    mbar *b = mbar_find(r, w, c, lane, offset);
    if (!b)
        return false;
    uint64_t index;
    const char *name = nv_name(r, offset, &index);
    return fault_raise(r, w, c, lane, K6042,
                       "warp %u waits for ever for the mbarrier at element %llu of '%s': phase %u "
                       "lacks %u of %u arrivals and %lld bytes",
                       w->index, (unsigned long long)index, name, b->phase, b->pending, b->count,
                       (long long)b->tx);
}
