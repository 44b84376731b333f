// Calls of device functions. A call gives the function fresh registers, a fresh control stack and a
// frame of local memory, and runs it under the mask of the lanes that call; when the last of them
// has returned the caller goes on with the same mask. Start at call_enter.
#include <stdlib.h>

#include "dev/interp/engine.h"

static uint64_t round_up(uint64_t v)
{
    return (v + 63) & ~(uint64_t)63;
}

// All functions' windows fit, so that a deeper call finds memory that an earlier one left.
static uint64_t window_bytes(const interp_program *p, uint64_t *frames_at)
{
    uint64_t registers = 0, frames = 0;
    for (uint32_t k = 0; k < p->function_count; k++) {
        const interp_function *f = &p->functions[k];
        uint64_t nesting = (f->frame_depth + 1) * sizeof(frame);
        registers = f->reg_bytes > registers ? f->reg_bytes : registers;
        frames = nesting > frames ? nesting : frames;
    }
    *frames_at = round_up(registers);
    return *frames_at + round_up(frames);
}

static activation *activation_new(warp *w, uint64_t bytes)
{
    if (w->call_count == w->call_cap) {
        uint32_t cap = w->call_cap ? 2 * w->call_cap : 8;
        activation *calls = realloc(w->calls, cap * sizeof *calls);
        if (!calls)
            return NULL;
        memset(calls + w->call_cap, 0, (cap - w->call_cap) * sizeof *calls);
        w->calls = calls;
        w->call_cap = cap;
    }
    activation *a = &w->calls[w->call_count];
    if (!a->memory && posix_memalign(&a->memory, 64, bytes))
        a->memory = NULL;
    return a->memory ? a : NULL;
}

void calls_free(warp *w)
{
    for (uint32_t k = 0; k < w->call_cap; k++)
        free(w->calls[k].memory);
    free(w->calls);
    w->calls = NULL;
    w->call_cap = 0;
}

static void clear_frame(runner *r, warp *w, uint64_t bytes)
{
    const segment *stack = &r->segments[r->program->stack_segment];
    uint8_t *at = w->locals + (uintptr_t)stack->base + w->stack_used;
    for (uint32_t left = w->active; bytes && left; left &= left - 1)
        memset(at + lowest_lane(left) * stack->lane_stride, 0, bytes);
    if (bytes && r->launch->hooks)
        r->launch->hooks->frame(r, w, w->stack_used, bytes);
}

bool call_enter(runner *r, warp *w, const code *c)
{
    const interp_program *p = r->program;
    const interp_function *f = &p->functions[c->a];
    uint64_t frames_at, bytes = window_bytes(p, &frames_at);
    activation *a = activation_new(w, bytes);
    if (!a)
        return fault_raise(r, w, c, lowest_lane(w->active), K6004,
                           "no host memory for a call of '%s'", f->name);
    uint8_t *window = a->memory;
    for (uint32_t k = 0; k < c->c; k++) {
        const uint32_t *param = p->extra + f->params + 2 * k;
        memcpy(window + param[0], slot_at(w, p->extra[c->b + k]), (size_t)param[1] * LANES);
    }
    for (uint32_t k = 0; k < SPECIAL_BLOCKDIM_X; k++)
        if (f->specials[k] != NO_SLOT)
            memcpy(window + f->specials[k], w->own_registers + p->specials[k],
                   sizeof(uint32_t) * LANES);
    a->caller_registers = w->base[0];
    a->caller_frames = w->frames;
    a->caller_depth = w->depth;
    a->back = c;
    a->lanes = w->active;
    a->function = c->a;
    clear_frame(r, w, f->local_bytes);
    w->call_count++;
    w->base[0] = window;
    w->frames = (frame *)(void *)(window + frames_at);
    w->depth = 0;
    w->stack_used += f->local_bytes;
    return true;
}

const code *call_leave(runner *r, warp *w)
{
    const activation *a = &w->calls[--w->call_count];
    const interp_function *f = &r->program->functions[a->function];
    const uint8_t *window = w->base[0];
    w->base[0] = a->caller_registers;
    w->frames = a->caller_frames;
    w->depth = a->caller_depth;
    w->active = a->lanes;
    w->stack_used -= f->local_bytes;
    if (a->back->d != NO_SLOT)
        memcpy(slot_at(w, a->back->d), window + f->result, (size_t)f->result_bytes * LANES);
    return a->back + 1;
}

void call_local(const runner *r, warp *w, const code *c)
{
    const interp_function *f = &r->program->functions[w->calls[w->call_count - 1].function];
    uint64_t at = (uint64_t)c->u.imm + w->stack_used - f->local_bytes;
    lane_u64 *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++)
        d[lane] = at;
}

uint32_t call_trace(const warp *w, call_site *out, uint32_t most, uint32_t *more)
{
    uint32_t count = 0, k = w->call_count;
    for (; k > 0; k--) {
        const code *at = w->calls[k - 1].back;
        bool is_same = count && out[count - 1].at == at;
        if (!is_same && count == most)
            break;
        if (!is_same)
            out[count++] = (call_site){at, 0};
        out[count - 1].times++;
    }
    *more = k;
    return count;
}

bool call_is_inside(const runner *r, const warp *w, uint32_t index)
{
    const interp_program *p = r->program;
    if (!w->call_count)
        return false;
    uint32_t first = p->functions[w->calls[w->call_count - 1].function].start, end = p->code_len;
    for (uint32_t k = 0; k < p->function_count; k++)
        if (p->functions[k].start > first && p->functions[k].start < end)
            end = p->functions[k].start;
    return index >= first && index < end;
}
