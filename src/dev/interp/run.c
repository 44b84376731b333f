// The engine: runs the warps of one block. A warp's state is its pc, mask, frames and registers, so
// it can stop anywhere: at a barrier, or after a long turn when others of its block may be what it
// waits for. The blocks of a cluster take turns. Start at cluster_run.
#include <time.h>

#include "back/channel.h"
#include "dev/interp/engine.h"
#include "ir/eval.h"

enum {
    TURN = 1 << 16,       // instructions between two looks at the world
    HOST_CALL = TURN / 16 // a call of the host may take long: it counts as so many
};

// --- control
static void frame_enter(warp *w, const code *c)
{
    frame *f = &w->frames[w->depth++]; // `which` stays: only a switch looks at it
    f->at = c;
    f->entry = f->round = w->active;
    f->exited = f->next = f->pending = 0;
}

static uint32_t switch_region(const runner *r, const code *c, int64_t value)
{
    const int64_t *cases = r->program->cases + c->b;
    uint32_t k = 0;
    while (k < c->c && cases[k] != value)
        k++;
    return k;
}

// Lets the lanes of the lowest region that still waits run.
static const code *switch_next(const runner *r, warp *w, frame *f)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t left = f->pending; left; left &= left - 1)
        if (f->which[lowest_lane(left)] < lowest)
            lowest = f->which[lowest_lane(left)];
    w->active = 0;
    for (uint32_t left = f->pending; left; left &= left - 1)
        if (f->which[lowest_lane(left)] == lowest)
            w->active |= left & (0u - left);
    f->pending &= ~w->active;
    return r->program->code + r->program->targets[f->at->u.to.other + lowest];
}

static const code *switch_enter(const runner *r, warp *w, const code *c)
{
    frame_enter(w, c);
    frame *f = &w->frames[w->depth - 1];
    f->pending = w->active;
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        int64_t value = c->size == 8 ? ((const lane_i64 *)slot_at(w, c->a))[lane]
                                     : ((const lane_i32 *)slot_at(w, c->a))[lane];
        f->which[lane] = switch_region(r, c, value);
    }
    return switch_next(r, w, f);
}

static const code *if_enter(const runner *r, warp *w, const code *c)
{
    uint32_t yes = lane_bits(slot_at(w, c->a)) & w->active, no = w->active & ~yes;
    frame_enter(w, c);
    if (!yes)
        return r->program->code + c->u.to.other;
    w->active = yes;
    w->frames[w->depth - 1].pending = no;
    return c + 1;
}

// A region has ended and no lane is active: finds where some lane goes on. NULL: all have returned.
static const code *region_end(runner *r, warp *w)
{
    const code *start = r->program->code;
    while (w->depth) {
        frame *f = &w->frames[w->depth - 1];
        if (f->pending && f->at->op == CODE_IF) {
            w->active = f->pending;
            f->pending = 0;
            return start + f->at->u.to.other;
        }
        if (f->pending)
            return switch_next(r, w, f);
        if (f->next) {
            w->active = f->round = f->next;
            f->next = 0;
            return start + f->at->u.to.other;
        }
        w->active = f->exited;
        w->depth--;
        if (w->active)
            return start + f->at->u.to.end;
    }
    return w->call_count ? call_leave(r, w) : NULL;
}

static void move_lanes(warp *w, const code *c)
{
    uint8_t *d = slot_at(w, c->d);
    const uint8_t *a = slot_at(w, c->a);
    const frame *f = c->count >= 2 ? NULL : &w->frames[c->depth];
    // When every lane that could have a stake moves, all 32 may.
    if (c->count == 2 || (f && w->active == (c->count ? f->round : f->entry))) {
        if (c->size == 4)
            memcpy(d, a, 4 * LANES);
        else
            memcpy(d, a, (size_t)c->size * LANES);
        return;
    }
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t at = lowest_lane(left) * c->size;
        memcpy(d + at, a + at, c->size);
    }
}

// --- the rest
void lanes_eval(const runner *r, warp *w, const code *c)
{
    const uint32_t *list = r->program->extra + c->b;
    uint8_t *d = slot_at(w, c->d);
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint32_t lane = lowest_lane(left);
        uint64_t in[3] = {0}, out = 0;
        for (uint32_t k = 0; k < c->u.eval.count; k++) {
            uint32_t size = list[2 * k + 1];
            memcpy(&in[k], (const uint8_t *)slot_at(w, list[2 * k]) + lane * size, size);
        }
        ir_eval((ir_op)c->u.eval.op, (ir_type)c->u.eval.type, c->u.eval.aux, in, &out);
        memcpy(d + lane * c->size, &out, c->size);
    }
}

static void put_time(warp *w, const code *c)
{
    uint64_t now = w->steps;
    if (c->op == CODE_NANOTIME) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    lane_u64 *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++)
        d[lane] = now;
}

static bool check_condition(runner *r, const warp *w, const code *c)
{
    uint32_t broken = w->active & ~lane_bits(slot_at(w, c->a));
    if (!broken || (c->op == CODE_ASSUME && (c->u.imm || !r->launch->checks_assumes)))
        return true;
    if (c->op == CODE_ASSUME)
        return fault_raise(r, w, c, lowest_lane(broken), K6030, "the kernel's assume() is false");
    str what = c->b < r->program->string_count ? r->program->strings[c->b] : STR("");
    return fault_raise(r, w, c, lowest_lane(broken), channel_assert_code(what), "%s%.*s",
                       channel_assert_prefix(what), (int)what.len, what.at);
}

static bool check_bounds(runner *r, const warp *w, const code *c)
{
    uint32_t broken = w->active & ~lane_bits(slot_at(w, c->a));
    if (!broken)
        return true;
    uint32_t lane = lowest_lane(broken);
    str what = c->d < r->program->string_count ? r->program->strings[c->d] : STR("");
    char told[256];
    channel_bounds_text(told, sizeof told, what, (uint64_t)c->u.imm,
                        ((const lane_u64 *)slot_at(w, c->b))[lane],
                        ((const lane_u64 *)slot_at(w, c->c))[lane]);
    return fault_raise(r, w, c, lane, K6020, "%s", told);
}

// A look at the world between two turns: cancelled, too long?
static bool look_up(runner *r, warp *w, const code *c)
{
    if (is_cancelled(r->launch))
        return fault_raise(r, w, c, lowest_lane(w->active), K6029, "the launch was cancelled");
    if (r->launch->step_limit && w->steps > r->launch->step_limit)
        return fault_raise(r, w, c, lowest_lane(w->active), K6028,
                           "the warp has run %llu instructions, the limit of this launch",
                           (unsigned long long)r->launch->step_limit);
    return true;
}

// A lane that has returned counts as arrived; kiln check reports it where the kernel's language
// does not allow it.
static bool has_missed(const runner *r, const warp *w)
{
    uint32_t returned = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        returned |= (uint32_t)(w->ended[lane] != NULL) << lane;
    return (w->lanes & ~w->active & ~returned) || run_counts_returned(r);
}

static bool at_barrier(runner *r, warp *w, const code *c)
{
    w->pc = c;
    if (w->active != w->lanes && has_missed(r, w))
        return fault_barrier(r, w);
    w->state = WARP_AT_BARRIER;
    return true;
}

static void lanes_return(warp *w, const code *c)
{
    for (uint32_t left = w->active; left; left &= left - 1)
        w->ended[lowest_lane(left)] = c;
    w->active = 0;
}

// Runs until the warp is done, failed, at a barrier, or its turn is over.
static void warp_run(runner *r, warp *w)
{
    const code *pc = w->pc;
    uint64_t steps = w->steps, look_at = steps + TURN;
    bool fine = true;
    while (fine && pc) {
        const code *c = pc++;
        steps++;
        switch ((code_op)c->op) {
        case CODE_LANE:
            c->u.fn(slot_at(w, c->d), slot_at(w, c->a), slot_at(w, c->b), slot_at(w, c->c));
            break;
        case CODE_EVAL: lanes_eval(r, w, c); break;
        case CODE_MOVE: move_lanes(w, c); break;
        case CODE_LOAD:
        case CODE_LOAD_MANY: fine = mem_load(r, w, c); break;
        case CODE_STORE:
        case CODE_STORE_MANY: fine = mem_store(r, w, c); break;
        case CODE_ATOMIC:
        case CODE_CAS:
        case CODE_ATOMIC_LOAD:
        case CODE_ATOMIC_STORE: fine = mem_atomic(r, w, c); break;
        case CODE_FENCE: break; // blocks that could see the order run one after another
        case CODE_BARRIER:
            w->steps = steps;
            if (look_up(r, w, c) && at_barrier(r, w, c)) // a loop of barriers has no long turns
                return;
            fine = false;
            break;
        case CODE_SHUFFLE: warp_shuffle(w, c); break;
        case CODE_BALLOT:
        case CODE_ACTIVE:
        case CODE_MATCH: warp_vote(w, c); break;
        case CODE_PRINT: fine = print_warp(r, w, c); break;
        case CODE_HOST:
            fine = host_warp(r, w, c);
            look_at -= look_at < HOST_CALL ? look_at : HOST_CALL;
            break;
        case CODE_ASSERT:
        case CODE_ASSUME: fine = check_condition(r, w, c); break;
        case CODE_BOUNDS: fine = check_bounds(r, w, c); break;
        case CODE_TRAP:
            fine = fault_raise(r, w, c, lowest_lane(w->active), K6025, "the kernel called trap()");
            break;
        case CODE_CLOCK:
        case CODE_NANOTIME:
            w->steps = steps;
            put_time(w, c);
            break;
        case CODE_SLEEP: look_at = steps; break;
        case CODE_NV: {
            nv_outcome outcome = nv_step(r, w, c);
            fine = outcome != NV_FAILED;
            if (outcome == NV_YIELD)
                look_at = steps;
            if (outcome != NV_BLOCKED)
                break;
            w->steps = steps - 1; // so that the scheduler sees whether anything happened
            w->pc = c;
            w->state = WARP_WAITING;
            return;
        }
        case CODE_SETTLE: fine = nv_settle(r, w); break;
        case CODE_LOOK: fine = nv_look(r, w, c); break;
        case CODE_TOUCHED: nv_touched(w); break;
        case CODE_SHADDR: nv_shaddr(r, w, c); break;
        case CODE_MAPA: nv_mapa(r, w, c); break;
        case CODE_LOCAL: call_local(r, w, c); break;
        case CODE_CALL:
            fine = call_enter(r, w, c);
            pc = r->program->code + r->program->functions[c->a].start;
            if (!fine || steps < look_at)
                break;
            w->steps = steps;
            w->pc = pc;
            if (look_up(r, w, c))
                return;
            fine = false;
            break;
        case CODE_LEAVE:
            w->active = 0;
            pc = region_end(r, w);
            break;
        case CODE_BLOCK: frame_enter(w, c); break;
        case CODE_IF: pc = if_enter(r, w, c); break;
        case CODE_LOOP: frame_enter(w, c); break;
        case CODE_SWITCH: pc = switch_enter(r, w, c); break;
        case CODE_EXIT:
            w->frames[c->depth].exited |= w->active;
            w->active = 0;
            pc = region_end(r, w);
            break;
        case CODE_NEXT:
            w->frames[c->depth].next |= w->active;
            w->active = 0;
            pc = region_end(r, w);
            if (steps < look_at)
                break;
            w->steps = steps;
            w->pc = pc;
            if (!pc || !look_up(r, w, c)) {
                fine = pc == NULL;
                break;
            }
            return; // still ready: the next warp's turn
        case CODE_RETURN:
            lanes_return(w, c);
            pc = region_end(r, w);
            break;
        case CODE_UNREACHABLE:
            fine = fault_raise(r, w, c, lowest_lane(w->active), K6026,
                               "code marked unreachable() was reached");
            break;
        case CODE_WARPSYNC: break;
        case CODE_WATCH:
            w->steps = steps;
            fine = r->launch->hooks->step(r, w, pc++);
            break;
        }
    }
    w->steps = steps;
    w->state = fine ? WARP_DONE : WARP_FAILED;
}

static void fill(const warp *w, uint32_t slot, uint32_t value)
{
    if (slot != NO_SLOT)
        interp_fill(slot_at(w, slot), value);
}

static void warp_start(runner *r, warp *w, uint32_t index)
{
    const interp_program *p = r->program;
    const uint32_t *dim = r->launch->block;
    uint32_t first = index * LANES, count = r->threads - first;
    bool knows_threads = w->lanes && w->index == index;
    w->index = index;
    w->lanes = count >= LANES ? ALL_LANES : (1u << count) - 1;
    w->active = w->lanes;
    w->depth = 0;
    w->base[0] = w->own_registers;
    w->frames = w->own_frames;
    w->call_count = w->stack_used = 0;
    w->pc = p->code;
    w->state = WARP_READY;
    w->steps = 0;
    memset(w->ended, 0, sizeof w->ended);
    if (p->own_local_bytes)
        memset(w->locals, 0, p->own_local_bytes * LANES);
    for (int axis = 0; axis < 3; axis++) {
        fill(w, p->specials[SPECIAL_BLOCK_X + axis], r->block[axis]);
        if (knows_threads || p->specials[SPECIAL_THREAD_X + axis] == NO_SLOT)
            continue;
        lane_u32 *thread = slot_at(w, p->specials[SPECIAL_THREAD_X + axis]);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint32_t rank = first + lane;
            thread[lane] = axis == 0   ? rank % dim[0]
                           : axis == 1 ? rank / dim[0] % dim[1]
                                       : rank / dim[0] / dim[1];
        }
    }
    fill(w, p->specials[SPECIAL_WARP], index);
    fill(w, p->specials[SPECIAL_CLUSTER_RANK], r->rank);
    uint32_t along = r->launch->cluster[0] ? r->launch->cluster[0] : 1;
    fill(w, p->specials[SPECIAL_CLUSTER_X], r->block[0] / along);
    if (p->specials[SPECIAL_LANE] != NO_SLOT) {
        lane_u32 *lanes = slot_at(w, p->specials[SPECIAL_LANE]);
        for (uint32_t lane = 0; lane < LANES; lane++)
            lanes[lane] = lane;
    }
    if (r->launch->hooks)
        r->launch->hooks->warp(r, w);
}

typedef enum stop { STOP_NONE, STOP_DONE, STOP_PASSED, STOP_STUCK } stop;

// No warp of the block can go on: lets them pass their barrier, when all are there.
static stop barrier_open(runner *r)
{
    uint32_t done = 0, there = 0;
    const warp *waiting = NULL;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        const warp *w = &r->warps[k];
        done += w->state == WARP_DONE;
        if (w->state != WARP_AT_BARRIER)
            continue;
        if (!waiting)
            waiting = w;
        there += w->pc == waiting->pc;
    }
    if (done == r->warp_count)
        return STOP_DONE;
    if (there + done != r->warp_count || (done && run_counts_returned(r)))
        return STOP_STUCK;
    for (uint32_t k = 0; k < r->warp_count; k++)
        if (r->warps[k].state == WARP_AT_BARRIER) {
            r->warps[k].state = WARP_READY;
            r->warps[k].pc++;
        }
    if (r->launch->hooks)
        r->launch->hooks->barrier(r);
    return STOP_PASSED;
}

static bool fault_stuck(runner *r)
{
    const warp *waiting = NULL;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        if (r->warps[k].state == WARP_WAITING)
            return nv_fault_waiting(r);
        if (r->warps[k].state == WARP_AT_BARRIER && !waiting)
            waiting = &r->warps[k];
    }
    return waiting ? fault_block_barrier(r, waiting) : true;
}

// One turn of every warp that can have one. STOP_NONE: some of them did something.
static stop block_turn(runner *r, bool *fine)
{
    bool is_ready = false;
    for (uint32_t k = 0; k < r->warp_count; k++) {
        warp *w = &r->warps[k];
        if (w->state != WARP_READY && w->state != WARP_WAITING)
            continue;
        uint64_t before = w->steps;
        w->state = WARP_READY;
        warp_run(r, w);
        if (w->state == WARP_FAILED) {
            *fine = false;
            return STOP_STUCK;
        }
        is_ready |= w->state == WARP_READY || w->steps != before;
    }
    return is_ready ? STOP_NONE : barrier_open(r);
}

static bool run_together(runner *blocks, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t k = 0; k < blocks[n].warp_count; k++)
            warp_start(&blocks[n], &blocks[n].warps[k], k);
    for (;;) {
        uint32_t done = 0, stuck = 0;
        bool fine = true;
        for (uint32_t n = 0; n < count && fine; n++) {
            stop s = block_turn(&blocks[n], &fine);
            done += s == STOP_DONE;
            stuck += s == STOP_STUCK;
        }
        if (!fine)
            return false;
        if (done == count)
            return true;
        if (done + stuck < count)
            continue;
        // A warp that only waits for the cluster is blocked by another block's mistake.
        for (uint32_t n = 0; n < 2 * count; n++)
            if ((n >= count || !nv_waits_for_cluster(&blocks[n])) &&
                !fault_stuck(&blocks[n % count]))
                return false;
    }
}

static void block_start(runner *r)
{
    const uint32_t *grid = r->launch->grid;
    uint64_t rank = r->block_rank;
    r->block[0] = (uint32_t)(rank % grid[0]);
    r->block[1] = (uint32_t)(rank / grid[0] % grid[1]);
    r->block[2] = (uint32_t)(rank / grid[0] / grid[1]);
    if (r->shared_size)
        memset(r->shared, 0, r->shared_size);
    if (r->nv)
        nv_start_block(r);
    if (r->launch->hooks)
        r->launch->hooks->block(r);
}

static bool blocks_end(runner *blocks, uint32_t count)
{
    const interp_hooks *hooks = blocks->launch->hooks;
    for (uint32_t n = 0; n < count; n++)
        if (blocks[n].nv && !nv_end_block(&blocks[n]))
            return false;
    for (uint32_t n = 0; n < count && hooks && count > 1; n++)
        if (!hooks->async->cluster(&blocks[n], CLUSTER_ENDS, NULL, NULL, 0))
            return false;
    return true;
}

bool cluster_run(runner *blocks, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        block_start(&blocks[n]);
    runner *r = &blocks[0];
    if (r->program->keeps_warps)
        return run_together(blocks, count) && blocks_end(blocks, count);
    for (uint32_t n = 0; n < count; n++, r++)
        for (uint32_t k = 0; k < r->warp_count; k++) {
            warp *w = &r->warps[0];
            warp_start(r, w, k);
            while (w->state == WARP_READY)
                warp_run(r, w);
            if (w->state == WARP_FAILED)
                return false;
        }
    return blocks_end(blocks, count);
}
