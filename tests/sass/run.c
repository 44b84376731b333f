// A launch: blocks one after the other, their warps in turns, the lanes of a warp in groups that
// stand at the same place. Start reading at sass_run.
#include "sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN = 4096,         // instructions of a warp until the next has its turn
    SPIN = 1 << 16,      // branches of a group until another has its turn, where no YIELD says so
    MOST_STEPS = 1 << 26 // of a launch: it hangs
};

void sass_fail(sass_warp *w, const sass_inst *i, const char *what)
{
    sass_launch *l = w->block->launch;
    i = i ? i : w->now;
    if (!*l->error)
        snprintf(l->error, sizeof l->error, "%s%s%s", what, i ? ": " : "", i ? i->text : "");
}

const sass_row *sass_row_named(const char *name, sass_inst *i)
{
    static const sass_row *const tables[] = {sass_flow_rows, sass_integer_rows, sass_float_rows,
                                             sass_memory_rows, sass_warp_rows};
    for (uint32_t t = 0; t < 5; t++)
        for (const sass_row *row = tables[t]; row->name; row++)
            if (!strcmp(row->name, name)) {
                i->is_flow = t == 0;
                return row;
            }
    i->is_uniform = *name == 'U';
    return i->is_uniform && name[1] != 'U' ? sass_row_named(name + 1, i) : NULL;
}

// --- lanes that wait

// The lanes that this one waits for. In a call that calls itself, lanes of another depth wait at
// the same place: for others.
static uint32_t awaited(const sass_warp *w, const sass_lane *l)
{
    uint32_t mask = l->state == SASS_AT_BSYNC      ? l->joined[l->waits_for]
                    : l->state == SASS_AT_WARPSYNC ? l->waits_for
                                                   : 0;
    return mask & w->alive;
}

static bool all_wait(const sass_warp *w, uint32_t mask, const sass_lane *like)
{
    for (uint32_t n = 0; n < SASS_LANES; n++) {
        const sass_lane *l = &w->lanes[n];
        if (mask >> n & 1 &&
            (l->state != like->state || l->pc != like->pc || awaited(w, l) != mask))
            return false;
    }
    return true;
}

static void release(sass_warp *w)
{
    for (uint32_t n = 0; n < SASS_LANES; n++) {
        sass_lane *l = &w->lanes[n];
        uint32_t mask = awaited(w, l);
        if (!mask || !all_wait(w, mask, l))
            continue;
        uint32_t number = ++w->groups;
        for (uint32_t m = 0; m < SASS_LANES; m++)
            if (mask >> m & 1) {
                w->lanes[m].state = SASS_READY;
                w->lanes[m].group = number;
            }
    }
}

static bool release_block(sass_block *b)
{
    uint32_t count = 0, set = 0, alive = 0, kind = 0;
    for (uint32_t w = 0; w < b->warp_count; w++)
        for (uint32_t n = 0; n < SASS_LANES; n++) {
            sass_lane *l = &b->warps[w].lanes[n];
            alive += b->warps[w].alive >> n & 1;
            if (l->state != SASS_AT_BAR)
                continue;
            count++;
            set += l->waits_for >> 8;
            kind = l->waits_for & 255;
        }
    if (!count || count != alive)
        return false;
    if (kind)
        b->bar_result = kind == 1 ? set : kind == 2 ? set == count : set != 0;
    for (uint32_t w = 0; w < b->warp_count; w++)
        for (uint32_t n = 0; n < SASS_LANES; n++)
            if (b->warps[w].lanes[n].state == SASS_AT_BAR)
                b->warps[w].lanes[n].state = SASS_READY;
    return true;
}

// --- steps

static bool is_ready(const sass_warp *w, uint32_t n)
{
    return w->lanes[n].state == SASS_READY;
}

// The group that goes on: the one before until its lanes part or wait, then the one that is
// furthest behind, and after a YIELD any. Lanes that parted stay apart until a barrier joins them,
// and where a group branches as one no other has the warp's registers in between: machine code
// relies on both. 0: all wait.
static uint32_t choose(sass_warp *w)
{
    uint32_t mask = 0;
    if (w->group == UINT32_MAX) {
        const sass_lane *best = NULL;
        for (uint32_t k = 0; k < SASS_LANES; k++) {
            uint32_t n = w->yields ? (k + w->turn) % SASS_LANES : k;
            if (is_ready(w, n) && (!best || (!w->yields && w->lanes[n].pc < best->pc)))
                best = &w->lanes[n];
        }
        if (!best)
            return 0;
        w->group = best->group;
        w->turn += w->yields;
        w->yields = false;
        w->branches = 0;
    }
    for (uint32_t n = 0; n < SASS_LANES; n++)
        if (is_ready(w, n) && w->lanes[n].group == w->group)
            mask |= 1u << n;
    return mask;
}

// Lanes that went to other places are groups of their own.
static void part(sass_warp *w, uint32_t mask)
{
    uint32_t left = mask;
    while (left) {
        const sass_lane *like = &w->lanes[__builtin_ctz(left)];
        uint32_t pc = like->pc, number = ++w->groups;
        sass_state state = like->state;
        for (uint32_t n = 0; n < SASS_LANES; n++)
            if (left >> n & 1 && w->lanes[n].pc == pc && w->lanes[n].state == state) {
                w->lanes[n].group = number;
                left &= ~(1u << n);
            }
    }
}

// The lanes of a group have branched or waited: does it go on, maybe with those that it met?
static void go_on(sass_warp *w, uint32_t mask)
{
    uint32_t number = w->lanes[__builtin_ctz(mask)].group;
    w->yields |= ++w->branches == SPIN;
    w->group = w->yields ? UINT32_MAX : number;
    for (uint32_t n = 0; n < SASS_LANES; n++)
        if (mask >> n & 1 && (!is_ready(w, n) || w->lanes[n].group != number))
            w->group = UINT32_MAX;
}

static bool step(sass_warp *w)
{
    sass_launch *launch = w->block->launch;
    uint32_t mask = choose(w), active = 0;
    if (!mask)
        return false;
    w->now = NULL;
    uint32_t at = (w->lanes[__builtin_ctz(mask)].pc - SASS_TEXT) / 16;
    const sass_inst *i = &launch->program->insts[at];
    if (at >= launch->program->inst_count || !i->row) {
        sass_fail(w, NULL, "a jump to where no code is");
        return false;
    }
    const sass_operand guard = {.kind = SASS_PRED,
                                .index = i->guard,
                                .is_inverted = i->guard_is_not,
                                .is_uniform = i->guard_is_uniform};
    for (uint32_t n = 0; n < SASS_LANES; n++) {
        if (!(mask >> n & 1))
            continue;
        w->lanes[n].pc = i->address + 16;
        if (i->guard < 0 || sass_p(&w->lanes[n], &guard))
            active |= 1u << n;
    }
    launch->steps++;
    w->now = i;
    if (launch->is_traced)
        fprintf(stderr, "%08x %05x %s\n", active, i->address - SASS_TEXT, i->text);
    if (i->row->group && active) {
        i->row->group(w, active, i);
        if (i->is_flow) {
            part(w, mask);
            release(w);
            go_on(w, mask);
        }
    } else if (i->is_uniform && active)
        i->row->lane(&w->lanes[__builtin_ctz(active)], i);
    else
        for (uint32_t n = 0; n < SASS_LANES; n++)
            if (active >> n & 1)
                i->row->lane(&w->lanes[n], i);
    if (*launch->error)
        return false;
    if (launch->steps > MOST_STEPS) {
        sass_fail(w, NULL, "the kernel does not end");
        return false;
    }
    return true;
}

// Nobody can go on. A barrier register joins lanes, but holds nobody for ever: without optimisation
// the assembler lets some leave for a WARPSYNC that others must reach first.
static bool release_stuck(sass_block *b)
{
    for (uint32_t w = 0; w < b->warp_count; w++)
        for (uint32_t n = 0; n < SASS_LANES; n++) {
            sass_lane *l = &b->warps[w].lanes[n];
            if (l->state != SASS_AT_BSYNC)
                continue;
            uint32_t pc = l->pc, number = ++b->warps[w].groups;
            for (uint32_t m = n; m < SASS_LANES; m++) {
                sass_lane *other = &b->warps[w].lanes[m];
                if (other->state == SASS_AT_BSYNC && other->pc == pc) {
                    other->state = SASS_READY;
                    other->group = number;
                }
            }
            return true;
        }
    return false;
}

static void run_block(sass_block *b)
{
    for (bool is_moving = true; is_moving && !*b->launch->error;) {
        is_moving = false;
        for (uint32_t w = 0; w < b->warp_count; w++)
            for (uint32_t n = 0; n < TURN && step(&b->warps[w]); n++)
                is_moving = true;
        is_moving = is_moving || release_block(b) || release_stuck(b);
    }
    for (uint32_t w = 0; w < b->warp_count && !*b->launch->error; w++)
        if (b->warps[w].alive) {
            const sass_lane *l = &b->warps[w].lanes[__builtin_ctz(b->warps[w].alive)];
            sass_fail(&b->warps[w], NULL,
                      l->state == SASS_AT_BAR ? "threads wait at a barrier for others that wait"
                                              : "lanes wait for each other");
        }
}

static void start_lane(sass_block *b, uint32_t index)
{
    sass_launch *launch = b->launch;
    sass_warp *w = &b->warps[index / SASS_LANES];
    sass_lane *l = &w->lanes[index % SASS_LANES];
    char *stack = l->stack;
    memset(l->r, 0xcd, sizeof l->r);
    memset(l->p, 0, sizeof l->p);
    memset(l->joined, 0, sizeof l->joined);
    l->stack = stack ? stack : malloc(launch->stack_bytes);
    memset(l->stack, 0xcd, launch->stack_bytes);
    l->warp = w;
    l->index = index % SASS_LANES;
    l->thread[0] = index % launch->threads[0];
    l->thread[1] = index / launch->threads[0] % launch->threads[1];
    l->thread[2] = index / launch->threads[0] / launch->threads[1];
    l->state = index < b->thread_count ? SASS_READY : SASS_EXITED;
    l->pc = launch->entry;
    l->group = w->group = w->groups = w->branches = w->turn = 0;
    w->yields = false;
    w->block = b;
    if (index < b->thread_count)
        w->alive |= 1u << l->index;
}

static void run_blocks(sass_launch *launch)
{
    sass_block b = {.launch = launch};
    b.thread_count = launch->threads[0] * launch->threads[1] * launch->threads[2];
    b.warp_count = (b.thread_count + SASS_LANES - 1) / SASS_LANES;
    b.warps = calloc(b.warp_count, sizeof *b.warps);
    b.shared = malloc(SASS_SHARED_AT + launch->shared_bytes);
    uint64_t count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    for (uint64_t n = 0; n < count && !*launch->error; n++) {
        b.at[0] = (uint32_t)(n % launch->grid[0]);
        b.at[1] = (uint32_t)(n / launch->grid[0] % launch->grid[1]);
        b.at[2] = (uint32_t)(n / launch->grid[0] / launch->grid[1]);
        memset(b.shared, 0xcd, SASS_SHARED_AT + launch->shared_bytes);
        for (uint32_t t = 0; t < b.warp_count * SASS_LANES; t++)
            start_lane(&b, t);
        run_block(&b);
    }
    for (uint32_t t = 0; t < b.warp_count * SASS_LANES; t++)
        free(b.warps[t / SASS_LANES].lanes[t % SASS_LANES].stack);
    free(b.warps);
    free(b.shared);
}

// --- constant banks

static void write_word(uint8_t *bank, uint32_t at, uint32_t value)
{
    memcpy(bank + at, &value, 4);
}

bool sass_run(sass_program *p, const char *kernel, const uint32_t *grid, const uint32_t *threads,
              uint32_t shared_bytes, uint32_t stack_bytes, void **params,
              const uint32_t *param_bytes, char *error, size_t size)
{
    sass_launch launch = {.program = p, .stack_bytes = stack_bytes};
    static uint8_t bank[SASS_PARAMETERS + 4096 + 256];
    char name[300];
    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.threads, threads, sizeof launch.threads);
    memset(bank, 0, sizeof bank);
    for (uint32_t n = 0; n < 3; n++) {
        write_word(bank, 4 * n, threads[n]);
        write_word(bank, 0xc + 4 * n, grid[n]);
    }
    write_word(bank, 0x20, 0); // stacks among generic addresses
    write_word(bank, 0x24, SASS_LOCAL_HIGH);
    write_word(bank, 0x28, stack_bytes);
    write_word(bank, 0x2c, shared_bytes);
    uint32_t at = SASS_PARAMETERS;
    for (uint32_t n = 0; param_bytes[n]; n++) {
        uint32_t bytes = param_bytes[n] & 0xffff, alignment = param_bytes[n] >> 16;
        at = (at + alignment - 1) / alignment * alignment;
        if (at + bytes > sizeof bank)
            return snprintf(error, size, "too many parameters"), false;
        memcpy(bank + at, params[n], bytes);
        at += bytes;
    }
    launch.is_traced = getenv("KILN_SASS_TRACE") != NULL;
    launch.banks[0] = bank;
    launch.bank_bytes[0] = sizeof bank;
    for (uint32_t n = 1; n < SASS_BANKS; n++) {
        snprintf(name, sizeof name, ".nv.constant%u.%s", n, kernel);
        const sass_section *s = sass_find(p, name);
        snprintf(name, sizeof name, ".nv.constant%u", n);
        s = s ? s : sass_find(p, name);
        launch.banks[n] = s ? s->data : NULL;
        launch.bank_bytes[n] = s ? s->bytes : 0;
    }
    snprintf(name, sizeof name, ".nv.shared.%s", kernel); // with what the system has
    const sass_section *shared = sass_find(p, name);
    launch.shared_bytes = shared_bytes + (shared ? shared->bytes : 0);
    snprintf(name, sizeof name, ".text.%s", kernel);
    const sass_section *text = sass_find(p, name);
    if (!text)
        return snprintf(error, size, "no kernel %s", kernel), false;
    uint64_t constants = (uint64_t)(uintptr_t)launch.banks[3]; // among generic addresses
    memcpy(bank + 0xd0, &constants, 8);
    launch.entry = text->at;
    run_blocks(&launch);
    snprintf(error, size, "%s", launch.error);
    return !*launch.error;
}
