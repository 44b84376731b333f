// Dispatch of NVIDIA's instructions, the small ones (named barriers, clusters, elections, fences),
// addresses, and what a block keeps. Start at nv_step.
#include <stdlib.h>

#include "dev/interp/nv.h"

// --- lists
void *nv_push(runner *r, const warp *w, const code *c, nv_list *list, size_t size)
{
    if (list->len == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 16;
        void *grown = realloc(list->at, cap * size);
        if (!grown) {
            fault_raise(r, w, c, 0, K6004, "no host memory for asynchronous work");
            return NULL;
        }
        list->at = grown;
        list->cap = cap;
    }
    uint8_t *at = (uint8_t *)list->at + list->len++ * size;
    memset(at, 0, size);
    return at;
}

void nv_remove(nv_list *list, size_t size, uint32_t index)
{
    uint8_t *at = (uint8_t *)list->at + index * size;
    memmove(at, at + size, (--list->len - index) * size);
}

// --- addresses
bool nv_window(const runner *r, uint64_t address, uint64_t bytes, uint32_t *out)
{
    uint64_t s = (address >> INTERP_SEGMENT_BITS) - STATIC_SEGMENT, offset = address & OFFSET_MASK;
    if (s >= r->program->segment_count || offset > r->segments[s].size ||
        bytes > r->segments[s].size - offset)
        return false;
    segment_kind kind = r->program->segments[s].kind;
    if (kind != SEGMENT_SHARED && kind != SEGMENT_DYNAMIC)
        return false;
    *out = (uint32_t)(r->segments[s].base - r->shared + (int64_t)offset);
    return true;
}

bool nv_offset(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
               uint64_t bytes, uint32_t align, uint32_t *out)
{
    if (!nv_window(r, address, bytes, out))
        return fault_memory(r, w, c, lane, address, bytes, false);
    return *out % align == 0 ||
           fault_raise(r, w, c, lane, K6022,
                       "%s at byte %u of shared memory: it must be a multiple of %u",
                       nv_row_at((nv_op)c->align)->name, *out, align);
}

uint8_t *nv_global(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                   uint64_t bytes, uint32_t align)
{
    uint64_t s = address >> INTERP_SEGMENT_BITS, offset = address & OFFSET_MASK;
    if (s >= r->launch->buffer_count || !r->launch->buffers[s].base ||
        offset > r->launch->buffers[s].size || bytes > r->launch->buffers[s].size - offset) {
        fault_memory(r, w, c, lane, address, bytes, false);
        return NULL;
    }
    if (offset % align) {
        fault_raise(r, w, c, lane, K6022,
                    "%s at byte %llu of a buffer: it must be a multiple of %u",
                    nv_row_at((nv_op)c->align)->name, (unsigned long long)offset, align);
        return NULL;
    }
    return r->launch->buffers[s].base + offset;
}

const char *nv_name(const runner *r, uint32_t offset, uint64_t *index)
{
    const interp_program *p = r->program;
    for (uint32_t k = 0; k < p->segment_count; k++) {
        segment_kind kind = p->segments[k].kind;
        uint64_t start = (uint64_t)(r->segments[k].base - r->shared);
        if ((kind != SEGMENT_SHARED && kind != SEGMENT_DYNAMIC) || offset < start ||
            offset >= start + r->segments[k].size)
            continue;
        uint32_t size = p->segments[k].elem_size ? p->segments[k].elem_size : 1;
        *index = (offset - start) / size;
        return p->segments[k].name;
    }
    *index = offset;
    return "shared memory";
}

void nv_shaddr(const runner *r, warp *w, const code *c)
{
    const lane_u64 *at = slot_at(w, c->a);
    lane_u32 *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t offset = 0;
        uint64_t s = (at[lane] >> INTERP_SEGMENT_BITS) - STATIC_SEGMENT;
        if (!nv_window(r, at[lane], 0, &offset) && s < r->program->segment_count &&
            r->program->segments[s].kind <= SEGMENT_DYNAMIC &&
            r->program->segments[s].kind != SEGMENT_LOCAL) // outside its array: a number still
            offset =
                (uint32_t)((uint64_t)(r->segments[s].base - r->shared) + (at[lane] & OFFSET_MASK));
        d[lane] = offset;
    }
}

void nv_mapa(const runner *r, warp *w, const code *c)
{
    const lane_u64 *at = slot_at(w, c->a);
    const lane_u32 *rank = slot_at(w, c->b);
    lane_u64 *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint64_t to = rank[lane] < r->peer_count ? rank[lane] + 1 : PEER_LIMIT;
        d[lane] = rank[lane] == r->rank ? at[lane]
                                        : at[lane] + (to << (PEER_SHIFT + INTERP_SEGMENT_BITS));
    }
}

// --- named barriers
static bool is_barrier(runner *r, const warp *w, const code *c, uint32_t id, uint32_t threads)
{
    uint32_t lane = lowest_lane(w->active);
    if (id >= NAMED_BARRIERS || !threads || threads % LANES)
        return fault_raise(r, w, c, lane, K6043,
                           "barrier %u for %u threads: barriers have numbers 0 to 15, and whole "
                           "warps wait",
                           id, threads);
    const named_barrier *b = &r->nv->named[id];
    return !b->arrived || b->expected == threads ||
           fault_raise(r, w, c, lane, K6043,
                       "barrier %u for %u threads, where others of this round expect %u", id,
                       threads, b->expected);
}

static nv_outcome named(runner *r, warp *w, const code *c)
{
    nv_warp *n = w->nv;
    uint32_t lane = lowest_lane(w->active), id = operand_u32(r, w, c, 0, lane);
    uint32_t threads = operand_u32(r, w, c, 1, lane);
    if (!n->waits_for) {
        if (!is_barrier(r, w, c, id, threads))
            return NV_FAILED;
        named_barrier *b = &r->nv->named[id];
        b->expected = threads;
        b->arrived += LANES;
        n->waits_since = b->round;
        if (b->arrived >= threads) {
            b->arrived = 0;
            b->round++;
        }
        if (c->align == NV_BAR_ARRIVE)
            return NV_DONE;
    }
    bool is_over = r->nv->named[id].round != n->waits_since;
    n->waits_for = is_over ? 0 : id + 1;
    if (is_over && is_watched(r))
        r->launch->hooks->async->ordered(r);
    return is_over ? NV_DONE : NV_BLOCKED;
}

// --- clusters: the barrier is kept in the first block
static void cluster_open(runner *r)
{
    nv_block *first = r->peers[0].nv;
    uint32_t missing = 0;
    for (uint32_t k = 0; k < r->peer_count; k++)
        for (uint32_t n = 0; n < r->warp_count; n++) {
            const warp *w = &r->peers[k].warps[n];
            bool has_arrived = w->nv->cluster_round == first->cluster_round + 1;
            missing += w->state != WARP_DONE && !has_arrived;
        }
    if (missing)
        return;
    first->cluster_round++;
    report_cluster(r, CLUSTER_OPENS, NULL, NULL, 0);
}

static nv_outcome cluster(runner *r, warp *w, const code *c)
{
    nv_warp *n = w->nv;
    const nv_block *first = r->peers[0].nv;
    bool is_arrive = c->align != NV_CLUSTER_WAIT;
    if (is_arrive == (n->cluster_round != 0)) {
        fault_raise(r, w, c, lowest_lane(w->active), K6043,
                    is_arrive ? "a second cluster_arrive without cluster_wait between"
                              : "cluster_wait without cluster_arrive before");
        return NV_FAILED;
    }
    if (is_arrive) {
        n->cluster_round = first->cluster_round + 1;
        return NV_DONE;
    }
    if (first->cluster_round < n->cluster_round)
        cluster_open(r);
    if (first->cluster_round < n->cluster_round)
        return NV_BLOCKED;
    n->cluster_round = 0;
    report_cluster(r, CLUSTER_HEARS, NULL, NULL, 0);
    if (is_watched(r))
        r->launch->hooks->async->ordered(r);
    return NV_DONE;
}

// --- the rest
static void elect(runner *r, warp *w, const code *c)
{
    lane_u8 *d = slot_at(w, r->program->extra[c->d]);
    for (uint32_t lane = 0; lane < LANES; lane++)
        d[lane] = w->active && lane == lowest_lane(w->active);
}

// Registers of a thread when a block starts: as many as there are for it on a multiprocessor.
static uint32_t first_registers(const runner *r)
{
    enum { ALL = 1 << 16, WARPS = 64, MOST = 256 }; // of a multiprocessor; of a thread
    const interp_program *p = r->program;
    uint32_t blocks = p->min_blocks, fit = WARPS / r->warp_count;
    blocks = blocks < fit ? blocks : fit;
    uint32_t n = ALL / (r->warp_count * LANES * (blocks ? blocks : 1));
    if (p->max_registers && n > p->max_registers)
        n = p->max_registers;
    return n > MOST ? MOST : n / 8 * 8;
}

// Warps give registers to the others of their block, or wait until there are enough.
static nv_outcome registers(runner *r, warp *w, const code *c)
{
    uint32_t first = first_registers(r), has = w->nv->registers ? w->nv->registers : first;
    uint32_t left = first * r->warp_count, lane = lowest_lane(w->active);
    int64_t n = c->u.imm;
    if (n < 24 || n > 256 || n % 8) {
        fault_raise(r, w, c, lane, K6043,
                    "%lld registers: a multiple of 8 from 24 to 256 is possible", (long long)n);
        return NV_FAILED;
    }
    if (c->align == NV_REGS_LESS && n > has) {
        fault_raise(r, w, c, lane, K6043,
                    "registers_less(%lld), where threads have %u: registers_more raises them",
                    (long long)n, has);
        return NV_FAILED;
    }
    for (uint32_t k = 0; k < r->warp_count; k++)
        left -= r->nv->warps[k].registers ? r->nv->warps[k].registers : first;
    if (n > has && n - has > left)
        return NV_BLOCKED;
    w->nv->registers = n > has || c->align == NV_REGS_LESS ? (uint32_t)n : has;
    return NV_DONE;
}

static nv_outcome outcome_of(bool is_fine)
{
    return is_fine ? NV_DONE : NV_FAILED;
}

nv_outcome nv_step(runner *r, warp *w, const code *c)
{
    nv_op op = (nv_op)c->align;
    switch (op) {
    case NV_MBAR_TEST:
    case NV_MBAR_WAIT:
    case NV_MBAR_TEST_CLUSTER:
    case NV_MBAR_WAIT_CLUSTER: return mbar_wait(r, w, c);
    case NV_BAR_SYNC:
    case NV_BAR_ARRIVE: return named(r, w, c);
    case NV_CLUSTER_ARRIVE:
    case NV_CLUSTER_ARRIVE_RELAXED:
    case NV_CLUSTER_WAIT: return cluster(r, w, c);
    case NV_MBAR_INIT:
    case NV_MBAR_INVAL:
    case NV_MBAR_ARRIVE:
    case NV_MBAR_EXPECT:
    case NV_MBAR_ARRIVE_EXPECT:
    case NV_MBAR_ARRIVE_AT:
    case NV_MBAR_ARRIVE_AT_RELAXED:
    case NV_MBAR_FENCE_INIT: return outcome_of(mbar_step(r, w, c));
    case NV_CPA_4:
    case NV_CPA_8:
    case NV_CPA_16:
    case NV_CPA_4_PART:
    case NV_CPA_8_PART:
    case NV_CPA_16_PART:
    case NV_CPA_COMMIT:
    case NV_CPA_WAIT:
    case NV_CPA_ARRIVE:
    case NV_BULK_LOAD:
    case NV_BULK_SEND:
    case NV_BULK_STORE:
    case NV_BULK_ADD_F32:
    case NV_BULK_ADD_F64:
    case NV_BULK_ADD_F16:
    case NV_BULK_ADD_BF16:
    case NV_BULK_ADD_I32:
    case NV_BULK_ADD_I64:
    case NV_BULK_PREFETCH:
    case NV_BULK_COMMIT:
    case NV_BULK_WAIT:
    case NV_BULK_WAIT_READ:
    case NV_TENSOR_LOAD:
    case NV_TENSOR_LOAD_HINT:
    case NV_TENSOR_LOAD_ALL:
    case NV_TENSOR_STORE:
    case NV_TENSOR_ADD:
    case NV_TENSOR_PREFETCH:
    case NV_TENSOR_MAP_PREFETCH: return outcome_of(copy_step(r, w, c));
    case NV_ELECT: elect(r, w, c); return NV_DONE;
    case NV_REGS_MORE:
    case NV_REGS_LESS: return registers(r, w, c);
    case NV_LDMATRIX_1:
    case NV_LDMATRIX_2:
    case NV_LDMATRIX_4:
    case NV_LDMATRIX_1T:
    case NV_LDMATRIX_2T:
    case NV_LDMATRIX_4T:
    case NV_STMATRIX_1:
    case NV_STMATRIX_2:
    case NV_STMATRIX_4:
    case NV_STMATRIX_1T:
    case NV_STMATRIX_2T:
    case NV_STMATRIX_4T:
    case NV_MMA: return outcome_of(matrix_step(r, w, c));
    case NV_WG_FENCE:
    case NV_WG_COMMIT:
    case NV_WG_WAIT:
    case NV_WGMMA: return outcome_of(wgmma_step(r, w, c));
    case NV_FENCE_ASYNC:
    case NV_FENCE_ASYNC_ALL:
        mbar_fence(r, w);
        if (is_watched(r))
            r->launch->hooks->async->fenced(r, w, op == NV_FENCE_ASYNC_ALL);
        return NV_DONE;
    case NV_GRID_WAIT:
    case NV_GRID_LAUNCH: return NV_DONE; // kernels run one after the other
    case NV_COUNT: break;
    }
    bug("a code names no row of nv.def");
}

// --- waiting for ever
static bool fault_one(runner *r, const warp *w, const code *c)
{
    if (c->op != CODE_NV)
        return false;
    if (nv_is_wait((nv_op)c->align))
        return mbar_fault_waiting(r, w, c);
    if (c->align == NV_BAR_SYNC) {
        uint32_t id = w->nv->waits_for - 1;
        const named_barrier *b = &r->nv->named[id];
        return fault_raise(r, w, c, 0, K6042,
                           "warp %u waits for ever at barrier %u: %u of %u threads have come",
                           w->index, id, b->arrived, b->expected);
    }
    if (c->align == NV_REGS_MORE)
        return fault_raise(r, w, c, 0, K6042,
                           "warp %u waits for ever for %lld registers: a block of %u threads has "
                           "%u for each, and others give too few back",
                           w->index, (long long)c->u.imm, r->threads, first_registers(r));
    return fault_raise(r, w, c, 0, K6042,
                       "warp %u waits for ever for its cluster: other warps never arrive",
                       w->index);
}

bool nv_waits_for_cluster(const runner *r)
{
    bool is_waiting = false;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        const warp *w = &r->warps[k];
        bool is_for_cluster = w->state == WARP_WAITING && w->pc->align == NV_CLUSTER_WAIT;
        if (!is_for_cluster && w->state != WARP_DONE)
            return false;
        is_waiting |= is_for_cluster;
    }
    return is_waiting;
}

bool nv_fault_waiting(runner *r)
{
    const warp *first = NULL;
    uint32_t others = 0;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        const warp *w = &r->warps[k];
        if (w->state != WARP_WAITING)
            continue;
        others += first != NULL;
        // The one that only waits for bytes is nearer to the mistake than those that wait for it.
        if (!first || (!mbar_lacks_bytes(r, first) && mbar_lacks_bytes(r, w)))
            first = w;
    }
    fault_one(r, first, first->pc);
    if (others)
        fault_text(r->error, "\n  other warps wait, too:");
    for (uint32_t k = 0; others && k < r->warp_count; k++) {
        const warp *w = &r->warps[k];
        if (w == first || (w->state != WARP_WAITING && w->state != WARP_AT_BARRIER))
            continue;
        const place *p = &r->program->places[r->program->info[w->pc - r->program->code].place];
        fault_text(r->error, " warp %u in line %u,", w->index, p->line);
    }
    if (others)
        r->error->text[strlen(r->error->text) - 1] = 0;
    return false;
}

// --- blocks
bool nv_make(runner *r)
{
    size_t bytes = sizeof(nv_block) + r->warp_count * sizeof(nv_warp) +
                   (r->shared_size / 8 + 1) * sizeof(uint16_t);
    uint8_t *at = calloc(1, bytes);
    if (!at)
        return false;
    r->nv = (void *)at;
    r->nv->warps = (void *)(at + sizeof(nv_block));
    r->nv->mbar_at = (void *)(r->nv->warps + r->warp_count);
    for (uint32_t k = 0; k < r->warp_count; k++)
        r->warps[k].nv = &r->nv->warps[k];
    return true;
}

void nv_free(runner *r)
{
    if (!r->nv)
        return;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        copy_drop_stores(&r->nv->warps[k]);
        free(r->nv->warps[k].products.at);
        free(r->nv->warps[k].stores.at);
        free(r->nv->warps[k].smalls.at);
    }
    free(r->nv->mbars.at);
    free(r->nv->loads.at);
    free(r->nv);
}

void nv_start_block(runner *r)
{
    nv_block *b = r->nv;
    memset(b->mbar_at, 0, (r->shared_size / 8 + 1) * sizeof *b->mbar_at);
    memset(b->named, 0, sizeof b->named);
    b->mbars.len = b->loads.len = b->cluster_round = 0;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        nv_warp *n = &b->warps[k];
        copy_drop_stores(n); // of a block that failed
        *n = (nv_warp){.products = {n->products.at, 0, n->products.cap},
                       .stores = {n->stores.at, 0, n->stores.cap},
                       .smalls = {n->smalls.at, 0, n->smalls.cap}};
    }
}

bool nv_end_block(runner *r)
{
    const nv_load *left = r->nv->loads.at;
    for (uint32_t k = 0; k < r->warp_count; k++)
        if (!wgmma_end(r, &r->warps[k]) || !copy_end(r, &r->warps[k]))
            return false;
    return !r->nv->loads.len || !is_watched(r) ||
           r->launch->hooks->async->mistake(
               r, &r->warps[left->thread / LANES], left->c, left->thread % LANES, K6227,
               "the kernel ends while this copy is under way",
               "no thread waits for its mbarrier: the memory of the block may "
               "be gone when it lands");
}
