// Copies: cp.async (by the threads, in groups), bulk and tensor copies (by the copy engine: loads
// report to an mbarrier, stores go by groups of a thread). Nothing moves when a copy is issued; see
// nv.h for when it does. Start at copy_step.
#include <stdlib.h>

#include "dev/interp/nv.h"

// --- cp.async
static uint32_t small_size(const code *c)
{
    uint32_t n = (uint32_t)(c->align - NV_CPA_4) % 3;
    return 4u << n;
}

static bool small_issue(runner *r, warp *w, const code *c)
{
    nv_small *s = nv_push(r, w, c, &w->nv->smalls, sizeof *s);
    if (!s)
        return false;
    uint32_t size = small_size(c);
    s->c = c;
    s->lanes = w->active;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        uint32_t bytes = c->align >= NV_CPA_4_PART ? operand_u32(r, w, c, 2, lane) : size;
        if (bytes > size)
            return fault_raise(r, w, c, lane, K6043, "a copy of %u bytes that reads %u", size,
                               bytes);
        s->from[lane] = operand_u64(r, w, c, 1, lane);
        s->bytes[lane] = (uint8_t)bytes;
        s->group[lane] = w->nv->small_group[lane];
        if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, 0, lane), size, size, &s->to[lane]) ||
            (bytes && !nv_global(r, w, c, lane, s->from[lane], bytes, size)))
            return false;
        if (is_watched(r) &&
            !r->launch->hooks->async->start(r, w, c, lane, ASYNC_WRITES, s->to[lane], size))
            return false;
    }
    return true;
}

static bool small_do(runner *r, warp *w, nv_small *s, uint32_t lane)
{
    const code *c = s->c;
    uint32_t size = small_size(c), bytes = s->bytes[lane];
    const uint8_t *from = bytes ? nv_global(r, w, c, lane, s->from[lane], bytes, size) : NULL;
    if (bytes && !from)
        return false;
    memset(r->shared + s->to[lane], 0, size);
    if (bytes)
        memcpy(r->shared + s->to[lane], from, bytes);
    s->lanes &= ~(1u << lane);
    if (!is_watched(r))
        return true;
    r->launch->hooks->async->end(r, c, w->index * LANES + lane, ASYNC_WRITES, s->to[lane], size);
    // It counts as the thread's own store.
    return r->launch->hooks->async->touch(r, w, c, lane, s->to[lane], size, true);
}

bool copy_smalls_upto(runner *r, warp *w, uint32_t entry, uint32_t lanes)
{
    for (uint32_t k = 0; k < entry; k++) {
        nv_small *s = (nv_small *)w->nv->smalls.at + k;
        for (uint32_t left = s->is_arrival ? 0 : s->lanes & lanes; left; left &= left - 1)
            if (!small_do(r, w, s, lowest_lane(left)))
                return false;
    }
    return true;
}

void copy_drop_smalls(nv_warp *n)
{
    nv_small *s = n->smalls.at;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < n->smalls.len; k++)
        if (s[k].lanes) {
            if (kept != k)
                s[kept] = s[k];
            kept++;
        }
    n->smalls.len = kept;
}

static bool small_wait(runner *r, warp *w, const code *c)
{
    nv_warp *n = w->nv;
    for (uint32_t k = 0; k < n->smalls.len; k++) {
        nv_small *s = (nv_small *)n->smalls.at + k;
        for (uint32_t left = s->is_arrival ? 0 : s->lanes & w->active; left; left &= left - 1) {
            uint32_t lane = lowest_lane(left);
            if (s->group[lane] + (uint64_t)c->u.imm < n->small_group[lane] &&
                !small_do(r, w, s, lane))
                return false;
        }
    }
    copy_drop_smalls(n);
    return true;
}

static bool small_arrive(runner *r, warp *w, const code *c)
{
    nv_small *s = nv_push(r, w, c, &w->nv->smalls, sizeof *s);
    if (!s)
        return false;
    s->c = c;
    s->is_arrival = true;
    s->lanes = w->active;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, 0, lane), 8, 8, &s->to[lane]) ||
            !mbar_find(r, w, c, lane, s->to[lane]))
            return false;
    }
    return true;
}

// --- loads of the copy engine
static bool is_bulk_size(runner *r, const warp *w, const code *c, uint32_t lane, uint32_t bytes)
{
    return bytes % 16 == 0 ||
           fault_raise(r, w, c, lane, K6043, "a bulk copy of %u bytes: it must be a multiple of 16",
                       bytes);
}

// Into block `to`, which may be another one of the cluster.
static bool load_into(runner *to, const warp *w, const code *c, uint32_t lane, nv_load l)
{
    mbar *b = mbar_find(to, w, c, lane, l.barrier);
    if (!b)
        return false;
    if (is_watched(to) && b->is_unfenced &&
        !to->launch->hooks->async->mistake(
            to, &to->warps[w->index], c, lane, K6221,
            "the mbarrier of this copy was initialised, but the copy engine does not see that",
            "the thread that calls mbarrier_init must call mbarrier_fence_init before the barrier "
            "after which others use it"))
        return false;
    b->is_unfenced = false; // reported once
    l.phase = b->phase;
    if (is_watched(to) && !to->launch->hooks->async->start(to, &to->warps[w->index], c, lane,
                                                           ASYNC_WRITES, l.to, l.bytes))
        return false;
    nv_load *at = nv_push(to, w, c, &to->nv->loads, sizeof *at);
    if (!at)
        return false;
    *at = l;
    return true;
}

// What a bulk copy reads; of another block's shared memory, too.
static bool bulk_source(runner *r, warp *w, const code *c, uint32_t lane, nv_load *l)
{
    uint32_t offset = 0;
    l->from = operand_u64(r, w, c, 1, lane);
    l->bytes = operand_u32(r, w, c, 2, lane);
    if (!is_bulk_size(r, w, c, lane, l->bytes))
        return false;
    if (!l->is_sent)
        return nv_global(r, w, c, lane, l->from, l->bytes, 16) &&
               (!is_watched(r) ||
                r->launch->hooks->async->global(r, w, c, lane, GLOBAL_READS, l->from, l->bytes));
    if (!nv_offset(r, w, c, lane, l->from, l->bytes, 16, &offset))
        return false;
    l->from = offset;
    l->sender = r->rank;
    return !is_watched(r) ||
           r->launch->hooks->async->start(r, w, c, lane, ASYNC_READS, offset, l->bytes);
}

// Into another block: it must be there, and be done with what is overwritten.
static bool send_watch(runner *r, warp *w, const code *c, uint32_t lane, runner *to,
                       const nv_load *l)
{
    report_cluster(r, CLUSTER_REACHES, to, c, l->thread);
    return to == r || !is_watched(r) ||
           r->launch->hooks->async->sends(r, w, c, lane, to, l->to, l->bytes);
}

static bool load_issue(runner *r, warp *w, const code *c, uint32_t lane)
{
    nv_load l = {.c = c, .thread = w->index * LANES + lane};
    uint32_t last = c->c - 1, barrier = last, mask = 1u << r->rank;
    l.is_sent = c->align == NV_BULK_SEND;
    l.is_tensor = c->align != NV_BULK_LOAD && !l.is_sent;
    if (c->align == NV_TENSOR_LOAD_ALL)
        mask = operand_u32(r, w, c, last, lane);
    if (l.is_sent) {
        uint32_t rank = operand_u32(r, w, c, last, lane);
        if (rank >= r->peer_count)
            return fault_raise(r, w, c, lane, K6043,
                               "there is no block %u in a cluster of %u to send to", rank,
                               r->peer_count);
        mask = 1u << rank;
    }
    if (c->align == NV_TENSOR_LOAD_ALL || c->align == NV_TENSOR_LOAD_HINT || l.is_sent)
        barrier--;
    if (l.is_tensor) {
        if (!tensor_read(r, w, c, lane, 1, &l.box))
            return false;
        if (is_watched(r) && !tensor_watch(r, w, c, lane, &l.box, GLOBAL_READS))
            return false;
        l.bytes = tensor_bytes(&l.box);
    } else if (!bulk_source(r, w, c, lane, &l)) {
        return false;
    }
    if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, 0, lane), l.bytes, l.is_tensor ? 128 : 16,
                   &l.to) ||
        !nv_offset(r, w, c, lane, operand_u64(r, w, c, barrier, lane), 8, 8, &l.barrier))
        return false;
    if (mask >> r->peer_count)
        return fault_raise(r, w, c, lane, K6043,
                           "the mask 0x%x names blocks that a cluster of %u does not have", mask,
                           r->peer_count);
    for (uint32_t rank = 0; rank < r->peer_count; rank++) {
        if (!(mask >> rank & 1))
            continue;
        if (!send_watch(r, w, c, lane, &r->peers[rank], &l) ||
            !load_into(&r->peers[rank], w, c, lane, l))
            return false;
    }
    return true;
}

bool copy_land(runner *r, nv_load *l)
{
    warp *w = &r->warps[l->thread / LANES];
    uint32_t lane = l->thread % LANES;
    if (l->is_tensor) {
        if (!tensor_load(r, w, l->c, lane, &l->box, l->to))
            return false;
    } else if (l->is_sent) {
        runner *sender = &r->peers[l->sender];
        memmove(r->shared + l->to, sender->shared + l->from, l->bytes);
        report_cluster(r, CLUSTER_TAKES, sender, l->c, l->thread);
        if (is_watched(sender))
            sender->launch->hooks->async->end(sender, l->c, l->thread, ASYNC_READS,
                                              (uint32_t)l->from, l->bytes);
    } else {
        const uint8_t *from = nv_global(r, w, l->c, lane, l->from, l->bytes, 16);
        if (!from)
            return false;
        memcpy(r->shared + l->to, from, l->bytes);
    }
    if (is_watched(r))
        r->launch->hooks->async->end(r, l->c, l->thread, ASYNC_WRITES, l->to, l->bytes);
    return true;
}

// --- stores of the copy engine
static interp_elem bulk_elem(const code *c)
{
    static const uint8_t elems[] = {[NV_BULK_ADD_F32 - NV_BULK_STORE] = INTERP_F32,
                                    [NV_BULK_ADD_F64 - NV_BULK_STORE] = INTERP_F64,
                                    [NV_BULK_ADD_F16 - NV_BULK_STORE] = INTERP_F16,
                                    [NV_BULK_ADD_BF16 - NV_BULK_STORE] = INTERP_BF16,
                                    [NV_BULK_ADD_I32 - NV_BULK_STORE] = INTERP_I32,
                                    [NV_BULK_ADD_I64 - NV_BULK_STORE] = INTERP_I64};
    return (interp_elem)elems[c->align - NV_BULK_STORE];
}

// Reports the access to global memory to the checker.
static bool store_watch(runner *r, warp *w, const nv_store *s, global_kind kind)
{
    if (s->is_tensor)
        return tensor_watch(r, w, s->c, s->lane, &s->box, kind);
    return r->launch->hooks->async->global(r, w, s->c, s->lane, kind, s->to, s->bytes);
}

static bool store_issue(runner *r, warp *w, const code *c, uint32_t lane)
{
    nv_store s = {.c = c, .lane = lane, .group = w->nv->store_group[lane]};
    uint32_t from = 1;
    s.is_tensor = c->align == NV_TENSOR_STORE || c->align == NV_TENSOR_ADD;
    s.adds = nv_row_at((nv_op)c->align)->copy == NV_COPY_ADD;
    if (s.is_tensor) {
        if (!tensor_read(r, w, c, lane, 0, &s.box))
            return false;
        s.bytes = tensor_bytes(&s.box);
        from = c->c - 1;
        if (s.adds && s.box.map.elem == INTERP_BYTES)
            return fault_raise(r, w, c, lane, K6043,
                               "elements of this tensor map's type cannot be added");
    } else {
        s.to = operand_u64(r, w, c, 0, lane);
        s.bytes = operand_u32(r, w, c, 2, lane);
        s.elem = s.adds ? bulk_elem(c) : INTERP_BYTES;
        if (!is_bulk_size(r, w, c, lane, s.bytes) || !nv_global(r, w, c, lane, s.to, s.bytes, 16))
            return false;
    }
    if (!nv_offset(r, w, c, lane, operand_u64(r, w, c, from, lane), s.bytes, s.is_tensor ? 128 : 16,
                   &s.from))
        return false;
    if (is_watched(r) &&
        (!r->launch->hooks->async->start(r, w, c, lane, ASYNC_READS, s.from, s.bytes) ||
         !store_watch(r, w, &s, s.adds ? GLOBAL_ADDS : GLOBAL_WRITES)))
        return false;
    nv_store *at = nv_push(r, w, c, &w->nv->stores, sizeof *at);
    if (!at)
        return false;
    *at = s;
    return true;
}

// From now on the source may be used for something else.
static bool store_read(runner *r, warp *w, nv_store *s)
{
    s->data = malloc(s->bytes ? s->bytes : 1);
    if (!s->data)
        return fault_raise(r, w, s->c, s->lane, K6004, "no host memory for asynchronous work");
    memcpy(s->data, r->shared + s->from, s->bytes);
    w->nv->bytes_held += s->bytes;
    if (is_watched(r))
        r->launch->hooks->async->end(r, s->c, w->index * LANES + s->lane, ASYNC_READS, s->from,
                                     s->bytes);
    return true;
}

static bool store_write(runner *r, warp *w, const nv_store *s)
{
    const uint8_t *source = s->data ? s->data : r->shared + s->from;
    if (s->is_tensor)
        return tensor_store(r, w, s->c, s->lane, &s->box, source, s->from, s->adds);
    uint8_t *to = nv_global(r, w, s->c, s->lane, s->to, s->bytes, 16);
    if (!to)
        return false;
    if (s->adds)
        elem_add(s->elem, to, source, s->bytes);
    else
        memcpy(to, source, s->bytes);
    return true;
}

static bool store_finish(runner *r, warp *w, nv_store *s)
{
    if (is_watched(r) && !s->data)
        r->launch->hooks->async->end(r, s->c, w->index * LANES + s->lane, ASYNC_READS, s->from,
                                     s->bytes);
    bool fine = store_write(r, w, s) &&
                (!is_watched(r) || store_watch(r, w, s, s->adds ? GLOBAL_ADDED : GLOBAL_WRITTEN));
    if (s->data)
        w->nv->bytes_held -= s->bytes;
    free(s->data);
    return fine;
}

static bool is_waited_for(const nv_warp *n, const nv_store *s, uint64_t keep, uint32_t lanes)
{
    return lanes >> s->lane & 1 && s->group + keep < n->store_group[s->lane];
}

// Ends those whose group is waited for, and with `and_read` those that have read their data.
static bool stores_end(runner *r, warp *w, uint64_t keep, uint32_t lanes, bool and_read)
{
    nv_warp *n = w->nv;
    nv_store *all = n->stores.at;
    uint32_t kept = 0;
    bool fine = true;
    for (uint32_t k = 0; k < n->stores.len; k++) {
        bool is_over = is_waited_for(n, &all[k], keep, lanes) || (and_read && all[k].data);
        if (fine && is_over)
            fine = store_finish(r, w, &all[k]);
        else
            all[kept++] = all[k];
    }
    n->stores.len = kept;
    n->stores_read = 0;
    return fine;
}

static bool stores_settle(runner *r, warp *w, uint64_t keep, uint32_t lanes)
{
    enum { HELD_MAX = 1 << 22 }; // a kernel may never wait for more than the reads
    nv_warp *n = w->nv;
    nv_store *all = n->stores.at;
    for (uint32_t k = n->stores_read; k < n->stores.len; k++) {
        if (!all[k].data && is_waited_for(n, &all[k], keep, lanes) && !store_read(r, w, &all[k]))
            return false;
        if (all[k].data && k == n->stores_read)
            n->stores_read++;
    }
    return n->bytes_held <= HELD_MAX || stores_end(r, w, 0, 0, true);
}

void copy_drop_stores(nv_warp *n)
{
    for (uint32_t k = 0; k < n->stores.len; k++)
        free(((nv_store *)n->stores.at)[k].data);
    n->stores.len = 0;
}

bool copy_end(runner *r, warp *w)
{
    nv_warp *n = w->nv;
    const nv_store *left = n->stores.at, *end = left + n->stores.len;
    while (left < end && left->data)
        left++;
    if (left < end && is_watched(r) &&
        !r->launch->hooks->async->mistake(
            r, w, left->c, left->lane, K6227, "the kernel ends before this store has read its data",
            "the memory of the block may be gone by then: bulk_commit() and "
            "bulk_wait_read(0) or bulk_wait(0) in the same thread"))
        return false;
    for (uint32_t lane = 0; lane < LANES; lane++)
        n->store_group[lane]++;
    if (!stores_end(r, w, 0, ALL_LANES, false))
        return false;
    n->smalls.len = 0;
    return true;
}

static bool is_global_range(runner *r, warp *w, const code *c)
{
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        if (!nv_global(r, w, c, lane, operand_u64(r, w, c, 0, lane), operand_u32(r, w, c, 1, lane),
                       16))
            return false;
    }
    return true;
}

static bool engine_step(runner *r, warp *w, const code *c, uint32_t lane)
{
    switch (nv_row_at((nv_op)c->align)->copy) {
    case NV_COPY_LOAD:
    case NV_COPY_SEND: return load_issue(r, w, c, lane);
    case NV_COPY_STORE:
    case NV_COPY_ADD: return store_issue(r, w, c, lane);
    case NV_COPY_NONE: break;
    }
    bug("nv.%s is no copy", nv_row_at((nv_op)c->align)->name);
}

bool copy_step(runner *r, warp *w, const code *c)
{
    nv_op op = (nv_op)c->align;
    nv_warp *n = w->nv;
    if (op >= NV_CPA_4 && op <= NV_CPA_16_PART)
        return small_issue(r, w, c);
    if (op == NV_CPA_WAIT)
        return small_wait(r, w, c);
    if (op == NV_CPA_ARRIVE)
        return small_arrive(r, w, c);
    if (op == NV_BULK_WAIT)
        return stores_end(r, w, (uint64_t)c->u.imm, w->active, false);
    if (op == NV_BULK_WAIT_READ)
        return stores_settle(r, w, (uint64_t)c->u.imm, w->active);
    if (op == NV_BULK_PREFETCH)
        return is_global_range(r, w, c);
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        tensor_box box;
        bool fine = true;
        if (op == NV_CPA_COMMIT)
            n->small_group[lane]++;
        else if (op == NV_BULK_COMMIT)
            n->store_group[lane]++;
        else if (op == NV_TENSOR_PREFETCH)
            fine = tensor_read(r, w, c, lane, 0, &box);
        else if (op != NV_TENSOR_MAP_PREFETCH)
            fine = engine_step(r, w, c, lane);
        if (!fine)
            return false;
    }
    return true;
}
