// The instructions that are no access: warp operations, assumptions, fences, the birth of NaNs; and
// what happens between them: blocks and warps start, barriers open, blocks fail.
#include <math.h>

#include "ir/host.h"
#include "rt/check/check.h"

// --- warp operations
static const char *name_of_op(const code *c)
{
    return c->op == CODE_SHUFFLE  ? "shuffle"
           : c->op == CODE_BALLOT ? "vote"
           : c->op == CODE_MATCH  ? "match"
                                  : "warp_sync";
}

static uint32_t returned_lanes(const warp *w)
{
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        lanes |= (uint32_t)(w->ended[lane] != NULL) << lane;
    return lanes;
}

static bool report_missing(runner *r, warp *w, const code *c, uint32_t lane, uint32_t missing,
                           bool has_returned)
{
    check *k = check_of(r);
    spot at = spot_here(r, w, c, lane), other = {0, w->index * LANES + missing, r->block_rank};
    const code *parting = has_returned ? w->ended[missing] : fault_parting(w, missing);
    other.code = parting ? code_index(r, parting) + 1 : 0;
    finding *f = finding_new(k, r, K6207, at, parting ? &other : NULL,
                             has_returned ? "a %s reads a lane that has returned"
                                          : "a %s is not reached by all lanes of the warp",
                             name_of_op(c));
    if (parting)
        finding_label(k, f, true, has_returned ? "%s returned here" : "%s went another way here",
                      finding_thread(k, r, other));
    finding_label(k, f, false, "lane %u is here: %s", lane, finding_thread(k, r, at));
    if (f)
        diag_note(f->d, "lane %u is missing: on a GPU the result is undefined, or the kernel hangs",
                  missing);
    return finding_goes_on(k);
}

static bool look_at_lanes(runner *r, warp *w, const code *c)
{
    uint32_t returned = returned_lanes(w), missing = w->lanes & ~returned & ~w->active;
    if (missing)
        return report_missing(r, w, c, lowest_lane(w->active), lowest_lane(missing), false);
    if (c->op != CODE_SHUFFLE || !returned)
        return true;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left), from = warp_shuffle_source(w, c, lane);
        if (returned >> from & 1)
            return report_missing(r, w, c, lane, from, true);
    }
    return true;
}

static bool step_warp(runner *r, warp *w, const code *c)
{
    if (!look_at_lanes(r, w, c))
        return false;
    if (c->op == CODE_WARPSYNC)
        check_of(r)->sync[w->index]++;
    else if (c->op == CODE_SHUFFLE)
        warp_shuffle(w, c);
    else
        warp_vote(w, c);
    return true;
}

// --- shift counts
static bool report_shift(runner *r, warp *w, const code *c, uint32_t lane)
{
    check *k = check_of(r);
    spot at = spot_here(r, w, c, lane);
    uint32_t bits = (uint32_t)c->u.imm, count = c->b ? ((lane_u32 *)slot_at(w, c->b - 1))[lane] : 0;
    finding *f = finding_new(k, r, K6215, at, NULL, "the count of this shift is out of range");
    if (count >= bits)
        finding_label(k, f, false, "%d of a %u-bit value, in %s", (int32_t)count, bits,
                      finding_thread(k, r, at));
    else
        finding_label(k, f, false, "of a %u-bit value, in %s", bits, finding_thread(k, r, at));
    if (f)
        diag_note(f->d,
                  "Kiln takes the count modulo %u; CUDA shifts everything out, and C leaves "
                  "it undefined",
                  bits);
    return finding_goes_on(k);
}

// --- promises
static bool step_assume(runner *r, warp *w, const code *c)
{
    check *k = check_of(r);
    uint32_t broken = w->active & ~lane_bits(slot_at(w, c->a));
    if (!broken)
        return true;
    if (c->u.imm)
        return report_shift(r, w, c, lowest_lane(broken));
    spot at = spot_here(r, w, c, lowest_lane(broken));
    finding *f = finding_new(k, r, K6208, at, NULL, "this assumption is false");
    finding_label(k, f, false, "in %s", finding_thread(k, r, at));
    if (f)
        diag_note(f->d, "the compiler relies on it: what the kernel does is then undefined");
    return finding_goes_on(k);
}

// --- NaNs
static uint32_t nan_lanes(const void *slot, uint8_t type)
{
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        bool is_nan = type == IR_F32 ? isnan(((const lane_f32 *)slot)[lane])
                                     : isnan(((const lane_f64 *)slot)[lane]);
        lanes |= (uint32_t)is_nan << lane;
    }
    return lanes;
}

static double number_at(const void *slot, uint8_t type, uint32_t lane)
{
    return type == IR_F32 ? (double)((const lane_f32 *)slot)[lane] : ((const lane_f64 *)slot)[lane];
}

static bool step_float(runner *r, warp *w, const code *c)
{
    check *k = check_of(r);
    uint32_t count = c[-1].count, fed = 0;
    double operands[3][LANES];
    for (uint32_t n = 0; n < count; n++) {
        uint32_t slot = c->op == CODE_EVAL ? r->program->extra[c->b + 2 * n]
                        : n == 0           ? c->a
                        : n == 1           ? c->b
                                           : c->c;
        fed |= nan_lanes(slot_at(w, slot), c->type);
        for (uint32_t lane = 0; lane < LANES; lane++)
            operands[n][lane] = number_at(slot_at(w, slot), c->type, lane);
    }
    if (c->op == CODE_EVAL)
        lanes_eval(r, w, c);
    else
        c->u.fn(slot_at(w, c->d), slot_at(w, c->a), slot_at(w, c->b), slot_at(w, c->c));
    uint32_t born = nan_lanes(slot_at(w, c->d), c->type) & ~fed & w->active;
    if (!born)
        return true;
    uint32_t lane = lowest_lane(born);
    spot at = spot_here(r, w, c, lane);
    finding *f = finding_new(k, r, K6209, at, NULL, "a NaN is born here");
    finding_label(k, f, false, "in %s", finding_thread(k, r, at));
    if (f && count == 1)
        diag_note(f->d, "the operand is %.9g", operands[0][lane]);
    else if (f)
        diag_note(f->d,
                  count == 2 ? "the operands are %.9g and %.9g"
                             : "the operands are %.9g, %.9g and %.9g",
                  operands[0][lane], operands[1][lane], count > 2 ? operands[2][lane] : 0);
    return finding_goes_on(k);
}

// --- host functions: what they are given a copy of must be set, what they give back is
static bool step_host(runner *r, warp *w, const code *c)
{
    host_shape shape;
    const uint32_t *slots = r->program->extra + c->b;
    if (heap_is_note(r->program->strings[c->u.imm]))
        return heap_note(r, w, c);
    bool is_read = host_read(r->program->strings[c->u.imm], &shape);
    for (uint32_t left = is_read ? w->active : 0; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        for (uint32_t p = 0; p < shape.param_count; p++) {
            const host_param *param = &shape.params[p];
            if (!host_is_counted(param->kind))
                continue;
            uint64_t address = ((const lane_u64 *)slot_at(w, slots[param->first]))[lane];
            uint64_t bytes = ((const lane_u64 *)slot_at(w, slots[param->first + 1]))[lane];
            if (bytes && !shadow_bytes(r, w, c, lane, address, bytes, param->kind == 'm'))
                return false;
        }
        if (shape.is_warp)
            break;
    }
    return host_warp(r, w, c);
}

// --- the hooks
static bool step(runner *r, warp *w, const code *c)
{
    if (check_of(r)->is_stopped)
        return false;
    switch ((code_op)c->op) {
    case CODE_LANE:
    case CODE_EVAL: return step_float(r, w, c);
    case CODE_LOAD:
    case CODE_LOAD_MANY:
    case CODE_STORE:
    case CODE_STORE_MANY:
    case CODE_ATOMIC:
    case CODE_CAS:
    case CODE_ATOMIC_LOAD:
    case CODE_ATOMIC_STORE: return shadow_access(r, w, c);
    case CODE_FENCE: order_fence(check_of(r), c[-1].align); return true;
    case CODE_SHUFFLE:
    case CODE_BALLOT:
    case CODE_MATCH:
    case CODE_WARPSYNC: return step_warp(r, w, c);
    case CODE_ASSUME: return step_assume(r, w, c);
    case CODE_HOST: return step_host(r, w, c);
    case CODE_MOVE:
    case CODE_BARRIER:
    case CODE_ACTIVE:
    case CODE_PRINT:
    case CODE_ASSERT:
    case CODE_BOUNDS:
    case CODE_TRAP:
    case CODE_CLOCK:
    case CODE_NANOTIME:
    case CODE_SLEEP:
    case CODE_NV:
    case CODE_SETTLE:
    case CODE_LOOK:
    case CODE_TOUCHED:
    case CODE_SHADDR:
    case CODE_MAPA:
    case CODE_LOCAL:
    case CODE_CALL:
    case CODE_LEAVE:
    case CODE_BLOCK:
    case CODE_IF:
    case CODE_LOOP:
    case CODE_SWITCH:
    case CODE_EXIT:
    case CODE_NEXT:
    case CODE_RETURN:
    case CODE_UNREACHABLE:
    case CODE_WATCH: break;
    }
    bug("instruction %u is never watched", c->op);
}

static void on_block(runner *r)
{
    check *k = check_of(r);
    async_start_block(r);
    if (r->rank) // its cluster has started
        return;
    shadow_settle(r);
    k->block_epoch = ++k->epoch;
    cluster_start(k);
    k->acquired = k->fence_block = k->fence_device = 0;
    vec_push(k->a, &k->starts, (uint64_t)k->epoch << 32 | (uint32_t)r->block_rank);
}

static void on_warp(runner *r, warp *w)
{
    check *k = check_of(r);
    k->sync[w->index] = 0;
    if (k->local_stride)
        memset(k->local_set + w->index * k->local_stride, 0, r->program->own_local_bytes * LANES);
}

static void on_frame(runner *r, warp *w, uint64_t at, uint64_t bytes)
{
    check *k = check_of(r);
    const segment *stack = &r->segments[r->program->stack_segment];
    uint8_t *set = k->local_set + w->index * k->local_stride + (uintptr_t)stack->base + at;
    for (uint32_t left = w->active; left; left &= left - 1)
        memset(set + lowest_lane(left) * stack->lane_stride, 0, bytes);
}

static void on_barrier(runner *r)
{
    shadow_settle(r);
    check_of(r)->epoch++;
}

static void report_barrier(check *k, runner *r, const interp_error *e, spot at)
{
    spot other = {e->other_code, e->other_thread, e->block_rank};
    finding *f = finding_new(k, r, K6206, at, e->other_code ? &other : NULL,
                             "this barrier is not reached by all threads of the block");
    if (e->other_code) {
        const code *c = &r->program->code[e->other_code - 1];
        finding_label(k, f, true, "%s %s", finding_thread(k, r, other),
                      c->op == CODE_RETURN    ? "returned here"
                      : c->op == CODE_BARRIER ? "waits at this one"
                                              : "went another way here");
    }
    finding_label(k, f, false, "%s waits here", finding_thread(k, r, at));
}

// Without the kernel's name before it and the places after it.
static const char *message_of(check *k, const interp_error *e)
{
    const char *start = strstr(e->text, "': ");
    start = start ? start + 3 : e->text;
    return str_format(k->a, "%.*s", (int)strcspn(start, "\n"), start);
}

static bool on_failed(runner *r)
{
    check *k = check_of(r);
    const interp_error *e = r->error;
    if (!k->is_stopped)
        shadow_settle(r);
    if (e->code == DIAG_NONE)
        return !k->is_stopped;
    k->is_over |= e->code == K6029 || e->code == K6004 || e->code == K6028;
    if (e->code == K6029 || e->code == K6004)
        return false;
    spot at = {e->at_code, e->thread, e->block_rank};
    if (e->code == K6027) {
        report_barrier(k, r, e, at);
    } else {
        const char *what = "the kernel stopped itself";
        if (e->code == K6024)
            what = "an assertion failed";
        else if (e->code == K6026)
            what = "code marked unreachable() was reached";
        else if (e->code == K6028)
            what = "the kernel does not end";
        else if ((e->code >= K6041 && e->code <= K6043) || e->code == K6080 || e->code == K6081)
            what = message_of(k, e);
        else if (e->code != K6025)
            what = diag_code_title(e->code);
        diag_code kind = e->code == K6028   ? K6211
                         : e->code == K6041 ? K6226
                         : e->code == K6042 ? K6228
                                            : K6214;
        finding *f = finding_new(k, r, kind, at, NULL, "%s", what);
        finding_label(k, f, false, "in %s", finding_thread(k, r, at));
        if (f && e->code == K6028) {
            const uint32_t *grid = r->launch->grid;
            diag_note(f->d, "a warp has run %llu instructions; --steps sets the limit",
                      (unsigned long long)r->launch->step_limit);
            if (at.block + 1 < (uint64_t)grid[0] * grid[1] * grid[2])
                diag_note(f->d, "%s",
                          "blocks run one after another here: where this one waits for a later "
                          "block, that has not started; only cooperative launches promise more");
        }
    }
    *r->error = (interp_error){.file = ""};
    return finding_goes_on(k) && !k->is_over;
}

static void on_end(runner *r)
{
    shadow_settle(r);
    heap_leaks(r);
}

const interp_hooks check_hooks = {.step = step,
                                  .block = on_block,
                                  .warp = on_warp,
                                  .frame = on_frame,
                                  .barrier = on_barrier,
                                  .failed = on_failed,
                                  .end = on_end,
                                  .async = &check_async_hooks};
