// The text of a fault: which kernel, line, array and index, which thread of which block.
#include <stdio.h>

#include "dev/interp/engine.h"

void fault_text(interp_error *e, const char *format, ...)
{
    size_t used = strlen(e->text);
    va_list args;
    va_start(args, format);
    vsnprintf(e->text + used, sizeof e->text - used, format, args);
    va_end(args);
}

static const place *place_at(const runner *r, const code *c)
{
    return &r->program->places[r->program->info[c - r->program->code].place];
}

static void add_place(interp_error *e, const char *what, const place *p)
{
    if (p->line)
        fault_text(e, "\n  %s %s:%u:%u", what, p->file, p->line, p->column);
    if (p->line && p->use_line)
        fault_text(e, ", in a macro that line %u uses", p->use_line);
}

static void thread_of(const runner *r, const warp *w, uint32_t lane, uint32_t thread[3])
{
    const uint32_t *dim = r->launch->block;
    uint32_t rank = w->index * LANES + lane;
    thread[0] = rank % dim[0];
    thread[1] = rank / dim[0] % dim[1];
    thread[2] = rank / dim[0] / dim[1];
}

static void add_thread(runner *r, const warp *w, uint32_t lane)
{
    uint32_t t[3];
    thread_of(r, w, lane, t);
    fault_text(r->error, "\n  in thread (%u, %u, %u) of block (%u, %u, %u)", t[0], t[1], t[2],
               r->block[0], r->block[1], r->block[2]);
}

static void add_calls(runner *r, const warp *w)
{
    enum { SHOWN = 6 };
    call_site calls[SHOWN];
    uint32_t more, count = call_trace(w, calls, SHOWN, &more);
    for (uint32_t k = 0; k < count; k++) {
        add_place(r->error, "called at", place_at(r, calls[k].at));
        if (calls[k].times > 1)
            fault_text(r->error, ", %u times", calls[k].times);
    }
    if (more)
        fault_text(r->error, "\n  and %u more calls", more);
}

static void start(runner *r, const code *c, diag_code kind)
{
    const place *p = place_at(r, c);
    *r->error = (interp_error){.code = kind,
                               .file = p->file,
                               .line = p->line,
                               .column = p->column,
                               .block_rank = r->block_rank,
                               .at_code = (uint32_t)(c - r->program->code) + 1};
    fault_text(r->error, "kernel '%s': ", r->program->name);
}

bool fault_raise(runner *r, const warp *w, const code *c, uint32_t lane, diag_code kind,
                 const char *format, ...)
{
    char what[700];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    start(r, c, kind);
    r->error->thread = w->index * LANES + lane;
    fault_text(r->error, "%s", what);
    add_place(r->error, "at", place_at(r, c));
    add_calls(r, w);
    add_thread(r, w, lane);
    return false;
}

// --- memory
// The buffer of this host that ends shortly before the address.
static array_target host_target(const runner *r, uint64_t address)
{
    enum { NEAR = 4 << 20 };
    for (uint32_t k = 1; k < r->launch->buffer_count; k++) {
        const interp_buffer *b = &r->launch->buffers[k];
        uint64_t start_at = (uint64_t)(uintptr_t)b->base;
        if (b->base && address - start_at < b->size + NEAR)
            return (array_target){"a buffer (its address from memory)", start_at, b->size, 0,
                                  false};
    }
    return (array_target){0};
}

// The array whose segment is nearest: an offset in the upper half is one below the next segment.
array_target fault_target_at(const runner *r, uint64_t address)
{
    const interp_program *p = r->program;
    uint64_t s = (address + ((uint64_t)1 << (INTERP_SEGMENT_BITS - 1))) >> INTERP_SEGMENT_BITS;
    if (s & STATIC_SEGMENT && s - STATIC_SEGMENT < p->segment_count) {
        const segment_info *i = &p->segments[s - STATIC_SEGMENT];
        uint64_t size = i->kind == SEGMENT_DYNAMIC ? r->launch->shared_bytes : i->size;
        return (array_target){i->name, s << INTERP_SEGMENT_BITS, size, i->elem_size,
                              i->kind == SEGMENT_CONST || i->kind == SEGMENT_PARAM};
    }
    if (!s || s >= r->launch->buffer_count || !r->launch->buffers[s].base)
        return r->launch->takes_host ? host_target(r, address) : (array_target){0};
    for (uint32_t k = 0; k < p->param_count; k++) {
        uint64_t start_at = r->launch->args[k].bits;
        if (p->params[k].kind == IR_PARAM_POINTER && start_at >> INTERP_SEGMENT_BITS == s)
            return (array_target){p->params[k].name, start_at,
                                  r->launch->buffers[s].size - (start_at & OFFSET_MASK),
                                  p->params[k].elem_size, false};
    }
    return (array_target){"a buffer that is not an argument of this launch",
                          s << INTERP_SEGMENT_BITS, r->launch->buffers[s].size, 0, false};
}

array_target fault_target(const runner *r, const code *c, uint64_t address)
{
    uint32_t base = r->program->info[c - r->program->code].base;
    if (base >= STATIC_SEGMENT)
        return fault_target_at(r, (uint64_t)base << INTERP_SEGMENT_BITS);
    if (base && r->program->params[base - 1].kind == IR_PARAM_POINTER) {
        array_target t = fault_target_at(r, r->launch->args[base - 1].bits);
        if (t.name)
            t.name = r->program->params[base - 1].name;
        return t;
    }
    return fault_target_at(r, address);
}

int64_t fault_index(const array_target *t, uint64_t address, uint32_t size)
{
    int64_t elem = t->elem_size ? t->elem_size : size, offset = (int64_t)(address - t->start);
    return offset >= 0 ? offset / elem : -((-offset + elem - 1) / elem);
}

bool fault_memory(runner *r, const warp *w, const code *c, uint32_t lane, uint64_t address,
                  uint64_t bytes, bool writes)
{
    const char *verb = writes ? "writes" : "reads";
    array_target t = fault_target(r, c, address);
    uint64_t offset = address - t.start;
    bool fits = offset <= t.size && bytes <= t.size - offset;
    if (!t.name && address >> INTERP_SEGMENT_BITS == 0)
        return fault_raise(r, w, c, lane, K6021, "%s through a null pointer", verb);
    if (!t.name)
        return fault_raise(r, w, c, lane, K6020, "%s %llu bytes outside every buffer and array",
                           verb, (unsigned long long)bytes);
    if (fits && t.is_read_only && writes)
        return fault_raise(r, w, c, lane, K6023, "writes to '%s', which is constant memory",
                           t.name);
    uint32_t align = c->op >= CODE_ATOMIC ? c->size : c->align;
    if (fits)
        return fault_raise(r, w, c, lane, K6022,
                           "%s %llu bytes at byte %llu of '%s': not a multiple of %u", verb,
                           (unsigned long long)bytes, (unsigned long long)offset, t.name, align);
    uint32_t elem = t.elem_size ? t.elem_size : c->size;
    int64_t index = fault_index(&t, address, c->size);
    // A wide access may begin inside: name the first element that is not there.
    if (offset < t.size)
        index = (int64_t)(t.size / elem);
    return fault_raise(r, w, c, lane, K6020, "%s element %lld of '%s', which has %llu element%s",
                       verb, (long long)index, t.name, (unsigned long long)(t.size / elem),
                       t.size / elem == 1 ? "" : "s");
}

// --- barriers
// The branch that took `lane` elsewhere: the innermost frame it came into.
const code *fault_parting(const warp *w, uint32_t lane)
{
    for (uint32_t k = w->depth; k-- > 0;)
        if (w->frames[k].entry >> lane & 1)
            return w->frames[k].at;
    return NULL;
}

static void add_ends(runner *r, uint32_t thread, const code *other, uint32_t other_thread)
{
    r->error->thread = thread;
    r->error->other_thread = other_thread;
    r->error->other_code = other ? (uint32_t)(other - r->program->code) + 1 : 0;
}

bool fault_barrier(runner *r, const warp *w)
{
    uint32_t lane = lowest_lane(w->lanes & ~w->active), here = lowest_lane(w->active), t[3], u[3];
    thread_of(r, w, lane, t);
    thread_of(r, w, here, u);
    start(r, w->pc, K6027);
    fault_text(r->error, "thread (%u, %u, %u) waits at a barrier that thread (%u, %u, %u) ", u[0],
               u[1], u[2], t[0], t[1], t[2]);
    fault_text(r->error, w->ended[lane] ? "will never reach: it has returned" : "does not reach");
    add_place(r->error, "the barrier is at", place_at(r, w->pc));
    const code *other = w->ended[lane] ? w->ended[lane] : fault_parting(w, lane);
    if (other)
        add_place(r->error, w->ended[lane] ? "it returned at" : "they part at", place_at(r, other));
    add_ends(r, w->index * LANES + here, other, w->index * LANES + lane);
    add_thread(r, w, here);
    return false;
}

bool fault_block_barrier(runner *r, const warp *at)
{
    const warp *w = r->warps;
    const warp *end = w + r->warp_count;
    while (w < end && ((w->state == WARP_AT_BARRIER && w->pc == at->pc) ||
                       (w->state == WARP_DONE && !run_counts_returned(r))))
        w++;
    if (w == end)
        w = r->warps;
    uint32_t t[3], u[3];
    thread_of(r, w, 0, t);
    thread_of(r, at, 0, u);
    start(r, at->pc, K6027);
    fault_text(r->error, "thread (%u, %u, %u) waits at a barrier that thread (%u, %u, %u) ", u[0],
               u[1], u[2], t[0], t[1], t[2]);
    bool has_ended = w->state == WARP_DONE;
    fault_text(r->error, has_ended ? "will never reach: it has returned"
                                   : "does not reach: it waits at another");
    add_place(r->error, "the barrier is at", place_at(r, at->pc));
    if (!has_ended)
        add_place(r->error, "the other is at", place_at(r, w->pc));
    else if (w->ended[0])
        add_place(r->error, "it returned at", place_at(r, w->ended[0]));
    add_ends(r, at->index * LANES, has_ended ? w->ended[0] : w->pc, w->index * LANES);
    add_thread(r, at, 0);
    return false;
}
