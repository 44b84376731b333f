// Runs a grid: prepares the launch's read-only area, then hands blocks in order to one or several
// host threads. When blocks fail at the same time the lowest one's error is reported, so a parallel
// run says the same as a sequential one.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dev/interp/decode.h"

enum { CLUSTER_MAX = 16, WORTH_THREADS = 16 }; // warps; fewer are done before a thread has started

typedef struct grid {
    const interp_launch *launch;
    uint8_t *uniform, *params;
    uint64_t cluster_count; // a block alone counts as one
    uint64_t next;          // the next cluster nobody has taken; atomic
    uint64_t failed;        // the lowest block that failed, or UINT64_MAX; atomic
    uint64_t chunk;
    pthread_mutex_t lock; // of *error
    interp_error *error;
} grid;

// Of one thread; twice what GPUs allow. Also keeps the sums of runner_init small.
static const uint64_t local_limit = 1 << 20, shared_limit = 1 << 24, stack_limit = 1 << 23;

static bool no_memory(interp_error *e, const interp_program *p, uint64_t bytes)
{
    *e = (interp_error){.code = K6004, .file = ""};
    snprintf(e->text, sizeof e->text,
             "kernel '%s': no host memory for one block (%llu bytes of registers, local and shared "
             "memory)",
             p->name, (unsigned long long)bytes);
    return false;
}

// More than any device gives a thread, whatever memory the host has.
static bool too_many_locals(interp_error *e, const interp_program *p)
{
    *e = (interp_error){.code = K6004, .file = ""};
    snprintf(
        e->text, sizeof e->text,
        "kernel '%s': %llu bytes of locals in every thread, of which the interpreter takes at "
        "most %llu: every inlined call adds those of its function, and only the optimiser lets "
        "them share their place",
        p->name, (unsigned long long)p->own_local_bytes, (unsigned long long)local_limit);
    return false;
}

static uint64_t round_up(uint64_t v)
{
    return (v + 63) & ~(uint64_t)63;
}

static uint32_t cluster_size(const interp_launch *l)
{
    const uint32_t *c = l->cluster;
    return c[0] ? c[0] * (c[1] ? c[1] : 1) * (c[2] ? c[2] : 1) : 1;
}

// --- one host thread
static bool runner_init(runner *r, grid *g, interp_error *error)
{
    const interp_launch *l = g->launch;
    const interp_program *p = l->program;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    *r = (runner){.launch = l, .program = p, .uniform = g->uniform, .params = g->params};
    r->error = error;
    r->threads = (uint32_t)threads;
    r->warp_count = (uint32_t)((threads + LANES - 1) / LANES);
    uint64_t warps = p->keeps_warps ? r->warp_count : 1;
    uint64_t regs = round_up(p->reg_bytes), locals = round_up(p->local_bytes * LANES);
    uint64_t frames = round_up((p->frame_depth + 1) * sizeof(frame));
    uint64_t dynamic_at = interp_dynamic_offset(p);
    r->shared_size = dynamic_at + l->shared_bytes;
    uint64_t table = round_up((p->segment_count + 1) * sizeof(segment));
    uint64_t states = round_up(warps * sizeof(warp));
    uint64_t total =
        warps * (regs + locals + frames) + states + table + round_up(r->shared_size) + 64;
    if (p->own_local_bytes > local_limit)
        return too_many_locals(error, p);
    bool is_sane = p->local_bytes <= stack_limit && p->shared_bytes <= shared_limit;
    uint8_t *at = is_sane ? calloc(1, (size_t)total) : NULL;
    if (!at)
        return no_memory(error, p, total);
    r->memory = at;
    r->kept_warps = (uint32_t)warps;
    at = (uint8_t *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
    r->segments = (void *)at;
    r->warps = (void *)(at += table);
    at += states;
    r->shared = at;
    at += round_up(r->shared_size);
    for (uint64_t k = 0; k < warps; k++, at += regs + locals + frames)
        r->warps[k] = (warp){.base = {at, g->uniform},
                             .locals = at + regs,
                             .frames = (void *)(at + regs + locals),
                             .own_registers = at,
                             .own_frames = (void *)(at + regs + locals)};
    for (uint32_t k = 0; k < p->segment_count; k++) {
        const segment_info *i = &p->segments[k];
        segment *s = &r->segments[k];
        s->size = i->kind == SEGMENT_DYNAMIC ? l->shared_bytes : i->size;
        s->is_read_only = i->kind == SEGMENT_CONST || i->kind == SEGMENT_PARAM;
        switch (i->kind) {
        case SEGMENT_LOCAL:
            // An offset in the warp's local memory, where the lanes' copies lie side by side.
            s->base = (uint8_t *)(uintptr_t)(i->offset * LANES);
            s->lane_stride = i->size;
            break;
        case SEGMENT_SHARED: s->base = r->shared + i->offset; break;
        case SEGMENT_DYNAMIC: s->base = r->shared + dynamic_at; break;
        case SEGMENT_CONST: s->base = p->const_bytes + i->offset; break;
        case SEGMENT_PARAM: s->base = g->params + i->offset; break;
        }
    }
    return !p->has_nv || nv_make(r) || no_memory(error, p, r->shared_size);
}

static void runners_free(runner *all, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        nv_free(&all[k]);
        for (uint32_t n = 0; all[k].warps && n < all[k].kept_warps; n++)
            calls_free(&all[k].warps[n]);
        free(all[k].memory);
    }
    free(all);
}

// Blocks that take turns: those of a cluster, or all.
static uint32_t group_size(const interp_launch *l)
{
    return l->is_together ? l->grid[0] * l->grid[1] * l->grid[2] : cluster_size(l);
}

// The blocks of a group; NULL: no memory.
static runner *runners_new(grid *g, interp_error *error, uint32_t *count)
{
    uint32_t wanted = group_size(g->launch), most = CLUSTER_MAX;
    if (g->launch->is_together)
        most = INTERP_TOGETHER;
    *count = 0;
    runner *all = wanted <= most ? calloc(wanted, sizeof *all) : NULL;
    if (!all) {
        no_memory(error, g->launch->program, wanted * sizeof *all);
        return NULL;
    }
    bool fine = true;
    for (uint32_t k = 0; k < wanted && fine; k++, ++*count) {
        fine = runner_init(&all[k], g, error);
        all[k].peer_count = cluster_size(g->launch);
        all[k].rank = k % all[k].peer_count;
        all[k].peers = &all[k] - all[k].rank;
    }
    if (fine)
        return all;
    runners_free(all, *count);
    return NULL;
}

// The rank in the grid of block `k` of cluster `c`.
static uint64_t block_of(const interp_launch *l, uint64_t c, uint32_t k)
{
    uint64_t at[3], across = k;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t size = l->cluster[axis] ? l->cluster[axis] : 1, along = l->grid[axis] / size;
        at[axis] = c % along * size + across % size;
        c /= along;
        across /= size;
    }
    return (at[2] * l->grid[1] + at[1]) * l->grid[0] + at[0];
}

static void report(grid *g, const interp_error *error)
{
    pthread_mutex_lock(&g->lock);
    if (error->block_rank < g->failed) {
        __atomic_store_n(&g->failed, error->block_rank, __ATOMIC_RELAXED);
        *g->error = *error;
    }
    pthread_mutex_unlock(&g->lock);
}

static bool run_cluster(grid *g, runner *all, uint32_t count, uint64_t index, interp_error *error)
{
    for (uint32_t k = 0; k < count; k++)
        all[k].block_rank =
            block_of(g->launch, index + k / all[k].peer_count, k % all[k].peer_count);
    if (is_cancelled(g->launch)) {
        *error = (interp_error){.code = K6029, .file = "", .block_rank = all->block_rank};
        snprintf(error->text, sizeof error->text, "kernel '%s': the launch was cancelled",
                 all->program->name);
        return false;
    }
    bool fine = cluster_run(all, count);
    return fine || (g->launch->hooks && g->launch->hooks->failed(all));
}

static void *work(void *grid_pointer)
{
    grid *g = grid_pointer;
    interp_error error = {0};
    uint32_t count;
    runner *all = runners_new(g, &error, &count);
    bool fine = all != NULL;
    while (fine) {
        uint64_t first = __atomic_fetch_add(&g->next, g->chunk, __ATOMIC_RELAXED);
        uint64_t end = first + g->chunk < g->cluster_count ? first + g->chunk : g->cluster_count;
        if (first >= g->cluster_count)
            break;
        if (g->launch->taken)
            __atomic_store_n(g->launch->taken, first * cluster_size(g->launch), __ATOMIC_RELAXED);
        for (uint64_t k = first; fine && k < end; k++) {
            if (block_of(g->launch, k, 0) > __atomic_load_n(&g->failed, __ATOMIC_RELAXED))
                break;
            fine = run_cluster(g, all, count, k, &error);
        }
    }
    if (all && g->launch->hooks)
        g->launch->hooks->end(all);
    if (!fine)
        report(g, &error);
    if (all)
        runners_free(all, count);
    return NULL;
}

// --- the whole grid
static void put_special(const grid *g, special which, uint64_t value)
{
    uint32_t slot = g->launch->program->specials[which];
    if (slot != NO_SLOT)
        interp_broadcast(g->uniform + (slot & ~UNIFORM_BIT), 4, value);
}

static bool prepare(grid *g)
{
    const interp_launch *l = g->launch;
    const interp_program *p = l->program;
    g->uniform = calloc(1, round_up(p->uniform_bytes) + round_up(p->param_bytes) + 64);
    if (!g->uniform)
        return no_memory(g->error, p, p->uniform_bytes + p->param_bytes);
    g->params = g->uniform + round_up(p->uniform_bytes);
    if (p->uniform_bytes)
        memcpy(g->uniform, p->uniform, p->uniform_bytes);
    for (uint32_t k = 0; k < p->param_count; k++) {
        const param_info *i = &p->params[k];
        if (i->kind == IR_PARAM_BYTES || i->kind == IR_PARAM_TENSOR_MAP) {
            if (i->size)
                memcpy(g->params + i->offset, l->args[k].bytes, i->size);
        } else {
            interp_broadcast(g->uniform + (i->slot & ~UNIFORM_BIT), i->value_size, l->args[k].bits);
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        uint32_t slots[2] = {p->specials[SPECIAL_BLOCKDIM_X + axis],
                             p->specials[SPECIAL_GRIDDIM_X + axis]};
        for (int k = 0; k < 2; k++)
            if (slots[k] != NO_SLOT)
                interp_broadcast(g->uniform + (slots[k] & ~UNIFORM_BIT), 4,
                                 k ? l->grid[axis] : l->block[axis]);
    }
    uint32_t along = l->cluster[0] ? l->cluster[0] : 1;
    put_special(g, SPECIAL_DYNSHARED, l->shared_bytes);
    put_special(g, SPECIAL_CLUSTER_BLOCKS, cluster_size(l));
    put_special(g, SPECIAL_CLUSTER_COUNT_X, l->grid[0] / along);
    return true;
}

static uint32_t thread_count(const grid *g)
{
    const uint32_t *block = g->launch->block;
    uint64_t warps = g->cluster_count * (((uint64_t)block[0] * block[1] * block[2] + 31) / 32);
    if (g->launch->program->is_sequential || g->launch->hooks || warps < WORTH_THREADS)
        return 1;
    uint64_t threads = g->launch->threads;
    if (!threads) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores < 1 ? 1 : cores > 64 ? 64 : (uint64_t)cores;
    }
    if (threads > 256)
        threads = 256;
    return (uint32_t)(threads < g->cluster_count ? threads : g->cluster_count);
}

bool interp_run(const interp_launch *launch, interp_error *error)
{
    *error = (interp_error){.file = ""};
    grid g = {.launch = launch, .failed = UINT64_MAX, .error = error};
    g.cluster_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    g.cluster_count /= group_size(launch);
    if (!prepare(&g))
        return false;
    pthread_mutex_init(&g.lock, NULL);
    if (launch->is_one_block) {
        g.next = launch->one_block;
        g.cluster_count = launch->one_block + 1;
    }
    uint32_t threads = launch->is_one_block ? 1 : thread_count(&g), started = 0;
    uint64_t share = g.cluster_count / (threads * 8u);
    g.chunk = threads == 1 ? g.cluster_count : share > 64 ? 64 : share ? share : 1;
    pthread_t ids[256];
    // A host that gives no thread is no reason to fail: the others do its share.
    while (started + 1 < threads && !pthread_create(&ids[started], NULL, work, &g))
        started++;
    work(&g);
    for (uint32_t k = 0; k < started; k++)
        pthread_join(ids[k], NULL);
    pthread_mutex_destroy(&g.lock);
    free(g.uniform);
    return error->code == DIAG_NONE;
}
