// Global memory and the copy engine: which words its stores are about to write, and which ones
// threads of this launch stored to without telling it. Only buffers that such copies may meet have
// words (row_shadow.words). What earlier launches stored, everybody sees.
//
// A copy's ends are taken to whole words inside of it: its neighbours in a word are not its
// business. Start at global_copy.
#include "dev/interp/nv.h"
#include "rt/check/check.h"

enum { WORD = 4 };

struct global_word {
    uint32_t store_code; // the last store by a thread, + 1; 0: none that counts
    uint32_t store_block, store_epoch, store_fence;
    uint32_t copy_code, copy_block; // the last store by the engine, + 1
    uint16_t store_thread, copy_thread;
    uint16_t writing;    // stores of the engine under way, when
    uint32_t copy_epoch; // the last one's is of this cluster: a block that failed ends none
    bool adds;           // the last one
};

struct global_fence { // of a thread of the grid: fence_async_all
    uint32_t count, epoch;
};

static const meeting early_read = {
    K6222, "is read while a copy into it is under way", "read by", "the copy is started by",
    "the thread that started it must call bulk_wait(), and a barrier must follow; "
    "bulk_wait_read() only says that its source may be used again"};
static const meeting early_write = {
    K6222, "is written while a copy into it is under way", "written by", "the copy is started by",
    "the thread that started it must call bulk_wait(), and a barrier must follow; "
    "bulk_wait_read() only says that its source may be used again"};
static const meeting no_fence = {
    K6221, "was stored, but is not seen here", "read by", "stored by",
    "the copy engine has its own path to memory: the thread that stores to global memory must call "
    "fence_async_all() before the barrier; fence_async() is for shared memory"};
static const meeting racing = {K6204, "is touched by another thread without a barrier in between",
                               "this is by", "and this by",
                               "an mbarrier, barrier() or barrier_sync() must order the two"};
static const meeting racing_blocks = {K6205, "is touched by another block at the same time",
                                      "this is by", "and this by",
                                      "blocks run in any order and at the same time"};

// --- what there is
engine_use global_use_of(const interp_program *p)
{
    engine_use use = {0};
    for (uint32_t k = 0; k < p->code_len; k++) {
        if (p->code[k].op != CODE_NV)
            continue;
        nv_op op = (nv_op)p->code[k].align;
        use.reads |= nv_row_at(op)->copy == NV_COPY_LOAD;
        use.writes |= nv_writes_global(op);
    }
    return use;
}

uint64_t global_bytes(uint64_t buffer_bytes)
{
    return (buffer_bytes / WORD + 1) * sizeof(global_word);
}

uint64_t global_fence_bytes(uint64_t threads_of_grid)
{
    return threads_of_grid * sizeof(global_fence);
}

static global_fence *fence_of(const runner *r, uint64_t block, uint32_t thread)
{
    return &check_of(r)->global_fences[block * r->threads + thread];
}

void global_fenced(const runner *r, const warp *w)
{
    check *k = check_of(r);
    for (uint32_t left = k->global_fences ? w->active : 0; left; left &= left - 1) {
        global_fence *f = fence_of(r, r->block_rank, w->index * LANES + lowest_lane(left));
        f->count++;
        f->epoch = k->epoch;
    }
}

static bool report(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                   const meeting *m, spot other)
{
    array_target t = fault_target_at(r, address);
    uint64_t index = (uint64_t)fault_index(&t, address, WORD);
    return async_report(r, spot_here(r, w, c, lane), t.name ? t.name : "a buffer", index, m, other);
}

static spot copy_spot(const global_word *g)
{
    return (spot){g->copy_code, g->copy_thread, g->copy_block};
}

// --- accesses of the threads
static bool is_written(const check *k, const global_word *g)
{
    return g->writing && g->copy_epoch >= k->block_epoch;
}

bool global_is_quiet(const check *k, const global_word *words, uint64_t offset, uint64_t bytes)
{
    const global_word *g = words + offset / WORD, *end = words + (offset + bytes - 1) / WORD + 1;
    for (; g < end; g++)
        if (is_written(k, g))
            return false;
    return true;
}

bool global_look(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                 uint64_t bytes, bool writes)
{
    uint64_t offset = address & OFFSET_MASK;
    const check *k = check_of(r);
    const global_word *words = k->rows[address >> INTERP_SEGMENT_BITS].words;
    const global_word *g = words + offset / WORD, *end = words + (offset + bytes - 1) / WORD + 1;
    for (; g < end; g++)
        if (is_written(k, g) && !(g->adds && is_atomic_op(c)))
            return report(r, w, c, lane, address, writes ? &early_write : &early_read,
                          copy_spot(g));
    return true;
}

void global_stored(const runner *r, const code *c, uint32_t thread, uint64_t address,
                   uint64_t bytes)
{
    const check *k = check_of(r);
    uint64_t s = address >> INTERP_SEGMENT_BITS, offset = address & OFFSET_MASK;
    global_word *words = s < k->row_count ? k->rows[s].words : NULL;
    if (!words || !k->engine.reads)
        return;
    global_word *g = words + offset / WORD, *end = words + (offset + bytes - 1) / WORD + 1;
    for (; g < end; g++) {
        g->store_code = code_index(r, c) + 1;
        g->store_block = (uint32_t)r->block_rank;
        g->store_thread = (uint16_t)thread;
        g->store_epoch = k->epoch;
        g->store_fence = fence_of(r, r->block_rank, thread)->count;
    }
}

// --- copies
typedef struct copy {
    runner *r;
    const warp *w;
    const code *c;
    uint32_t lane;
    global_kind kind;
    const row_shadow *row;
    uint64_t address, end; // whole words
} copy;

// The writer's fence counts, and one by the copy's own thread after something ordered the two.
static bool is_hidden(const copy *y, const global_word *g)
{
    uint32_t thread = y->w->index * LANES + y->lane;
    return g->store_code &&
           g->store_fence == fence_of(y->r, g->store_block, g->store_thread)->count &&
           fence_of(y->r, y->r->block_rank, thread)->epoch <= g->store_epoch;
}

static bool look_at_words(const copy *y, bool *is_told)
{
    const global_word *g = y->row->words + (y->address & OFFSET_MASK) / WORD;
    for (uint64_t at = y->address; at < y->end; at += WORD, g++) {
        bool is_early = is_written(check_of(y->r), g);
        *is_told = is_early || is_hidden(y, g);
        if (is_early)
            return report(y->r, y->w, y->c, y->lane, at, &early_read, copy_spot(g));
        if (*is_told)
            return report(y->r, y->w, y->c, y->lane, at, &no_fence,
                          (spot){g->store_code, g->store_thread, g->store_block});
    }
    return true;
}

static mark mark_of(const copy *y)
{
    mark now = mark_now(y->r, y->c, y->w->index * LANES + y->lane);
    now.flags = y->kind == GLOBAL_ADDS || y->kind == GLOBAL_ADDED ? MARK_ATOMIC : 0;
    return now;
}

static bool look_at_cells(const copy *y)
{
    const check *k = check_of(y->r);
    uint32_t granule = y->r->program->granule;
    mark now = mark_of(y);
    for (uint64_t at = y->address; at < y->end; at += granule) {
        const cell *c = &y->row->cells[(at & OFFSET_MASK) / granule];
        const mark *all[] = {&c->write, &c->plain, &c->read, &c->far};
        for (uint32_t n = 0; n < (y->kind == GLOBAL_READS ? 2u : 4u); n++) {
            conflict found = order_conflict(k, all[n], &now);
            if (found == CONFLICT_NONE)
                continue;
            bool is_grid = found == CONFLICT_GRID;
            spot other = {all[n]->code + 1, all[n]->thread,
                          is_grid ? order_block_of(k, all[n]->epoch) : y->r->block_rank};
            return report(y->r, y->w, y->c, y->lane, at, is_grid ? &racing_blocks : &racing, other);
        }
    }
    return true;
}

static void start_writing(const copy *y)
{
    const check *k = check_of(y->r);
    global_word *g = y->row->words + (y->address & OFFSET_MASK) / WORD;
    for (uint64_t at = y->address; at < y->end; at += WORD, g++) {
        g->writing = is_written(k, g) ? (uint16_t)(g->writing + 1) : 1;
        g->copy_epoch = k->epoch;
        g->adds = y->kind == GLOBAL_ADDS;
        g->copy_code = code_index(y->r, y->c) + 1;
        g->copy_thread = (uint16_t)(y->w->index * LANES + y->lane);
        g->copy_block = (uint32_t)y->r->block_rank;
    }
}

static void end_writing(const copy *y)
{
    uint32_t granule = y->r->program->granule;
    mark now = mark_of(y);
    global_word *g = y->row->words + (y->address & OFFSET_MASK) / WORD;
    for (uint64_t at = y->address; at < y->end; at += WORD, g++) {
        g->writing = (uint16_t)(g->writing - (g->writing != 0));
        g->store_code = 0;
    }
    for (uint64_t at = y->address; y->row->cells && at < y->end; at += granule) {
        cell *c = &y->row->cells[(at & OFFSET_MASK) / granule];
        c->write = now;
        if (!(now.flags & MARK_ATOMIC))
            c->plain = now;
    }
}

bool global_copy(runner *r, warp *w, const code *c, uint32_t lane, global_kind kind,
                 uint64_t address, uint64_t bytes)
{
    const check *k = check_of(r);
    uint64_t s = address >> INTERP_SEGMENT_BITS;
    copy y = {.r = r, .w = w, .c = c, .lane = lane, .kind = kind};
    y.row = s < k->row_count ? &k->rows[s] : NULL;
    y.address = (address + WORD - 1) / WORD * WORD;
    y.end = (address + bytes) / WORD * WORD;
    if (!y.row || !y.row->words || y.address >= y.end)
        return true;
    bool is_told = false;
    if (kind >= GLOBAL_WRITTEN) {
        end_writing(&y);
        return true;
    }
    if (kind == GLOBAL_READS && !look_at_words(&y, &is_told))
        return false;
    if (kind != GLOBAL_READS)
        start_writing(&y);
    return is_told || !y.row->cells || look_at_cells(&y);
}
