// Many moves at once, as at a loop's end: each reads what was there before any of them. A move is
// made when nothing still reads what it overwrites; in a cycle one source is copied away first.
// Each register and slot counts its readers, so that the time is that of the moves. Start reading
// at x86_moves.
#include "back/x86/x86.h"

static ir_ref root(const x86_gen *g, ir_ref r)
{
    return g->lives[r].same ? g->lives[r].same : r;
}

// --- one move
static void blend_word(x86_gen *g, ir_ref to, uint8_t from)
{
    x86_active(g, RCX);
    uint8_t old = x86_mask_word(g, to, RDX);
    x86_andn(g->code, RDX, RCX, old);
    x86_alu_reg(g->code, ALU_AND, false, RCX, from);
    x86_alu_reg(g->code, ALU_OR, false, RDX, RCX);
    x86_put_word(g, to, RDX);
}

// From `r`, or from the lanes at `saved` when that is not negative.
static void move_lanes(x86_gen *g, const x86_move *m, int32_t saved)
{
    const x86_place *p = &g->places[m->to];
    bool wide = p->class == CLASS_V8;
    for (uint32_t k = 0; k < x86_parts((x86_class)p->class); k++) {
        uint32_t bit = k * (wide ? 8 : 16);
        uint8_t mask = m->is_whole ? 0 : x86_k(g, bit);
        uint8_t to = x86_to(g, m->to, k, VS0);
        x86_src from = saved >= 0 ? x86_of_mem(x86_frame(saved + 64 * (int32_t)k))
                                  : x86_part(g, m->from, k, p->in_reg && !mask ? to : VS1);
        if (!p->in_reg && mask)
            x86_vec(g->code, X86_VMOVDQU32, to, 0, x86_of_mem(x86_frame(p->slot + 64 * (int32_t)k)),
                    (x86_opt){0});
        if (from.is_broadcast) {
            from.is_broadcast = false;
            x86_vec(g->code, wide ? X86_VBROADCASTSD : X86_VBROADCASTSS, to, 0, from,
                    (x86_opt){.k = mask});
        } else if (from.is_mem || from.reg != to) {
            x86_vec(g->code, wide ? X86_VMOVDQU64 : X86_VMOVDQU32, to, 0, from,
                    (x86_opt){.k = mask});
        }
        if (!p->in_reg)
            x86_put(g, m->to, k, to);
    }
}

static void move_one(x86_gen *g, const x86_move *m, int32_t saved)
{
    const x86_place *p = &g->places[m->to];
    if (p->class >= CLASS_V4) {
        move_lanes(g, m, saved);
    } else if (p->class == CLASS_MASK) {
        uint8_t from = RAX;
        if (saved >= 0)
            x86_load(g->code, 4, RAX, x86_frame(saved));
        else
            from = x86_mask_word(g, m->from, RAX);
        if (m->is_whole || g->mask < 0)
            x86_put_word(g, m->to, from);
        else
            blend_word(g, m->to, from);
    } else if (saved >= 0) {
        x86_load(g->code, 8, RAX, x86_frame(saved));
        x86_put_word(g, m->to, RAX);
    } else if (p->class == CLASS_REAL) {
        x86_put(g, m->to, 0, x86_real(g, m->from, p->in_reg ? p->reg[0] : VS0));
    } else {
        x86_put_word(g, m->to, x86_word(g, m->from, p->in_reg ? p->reg[0] : RAX));
    }
}

static void save_source(x86_gen *g, ir_ref to, ir_ref from, int32_t slot)
{
    if (g->places[to].class >= CLASS_MASK && g->places[to].class != CLASS_REAL) {
        x86_keep_lanes(g, from, slot);
        return;
    }
    x86_store(g->code, 8, x86_frame(slot), x86_word(g, from, RAX));
}

static bool is_still(const x86_gen *g, const x86_move *m)
{
    if (ir_is_const(m->from))
        return false;
    return root(g, m->to) == root(g, m->from) ||
           (g->places[m->to].in_reg && g->places[m->from].in_reg &&
            g->places[m->to].class == g->places[m->from].class &&
            !memcmp(g->places[m->to].reg, g->places[m->from].reg,
                    x86_parts((x86_class)g->places[m->to].class)));
}

// A part would be overwritten before it is read.
static bool meets_itself(const x86_gen *g, const x86_move *m)
{
    if (ir_is_const(m->from))
        return false;
    const x86_place *to = &g->places[m->to], *from = &g->places[m->from];
    for (uint32_t k = 0; k < x86_parts((x86_class)to->class); k++)
        for (uint32_t n = k + 1; n < x86_parts((x86_class)from->class); n++)
            if (to->in_reg && from->in_reg && to->class >= CLASS_V4 && from->class >= CLASS_V4 &&
                to->reg[k] == from->reg[n])
                return true;
    return false;
}

// --- all of them
enum { FIRST_VECTOR = 16, FIRST_SLOT = FIRST_VECTOR + 32, MOST_CELLS = 4 };

typedef struct plan {
    x86_gen *g;
    x86_move *list;
    uint32_t count, left, next_unsaved;
    int32_t *saved; // by move; -1: its source is where it was
    bool *is_done;
    vec(uint32_t) ready; // moves that may be; looked at again
} plan;

// The registers, or the slot, of a value.
static uint32_t cells_of(const x86_gen *g, ir_ref r, uint32_t out[MOST_CELLS])
{
    if (ir_is_const(r))
        return 0;
    const x86_place *p = &g->places[r];
    uint32_t count = p->in_reg ? x86_parts((x86_class)p->class) : 0;
    for (uint32_t k = 0; k < count; k++)
        out[k] = p->reg[k] + (p->class >= CLASS_REAL ? (uint32_t)FIRST_VECTOR : 0);
    if (!p->in_reg && p->slot >= 0)
        out[count++] = FIRST_SLOT + (uint32_t)p->slot / 8;
    return count;
}

static x86_cell *cell_at(x86_gen *g, uint32_t index)
{
    if (index >= g->cells.len) {
        uint32_t before = g->cells.len;
        vec_reserve(g->a, &g->cells, index + 1);
        g->cells.len = g->cells.cap;
        memset(g->cells.at + before, 0, (g->cells.len - before) * sizeof *g->cells.at);
    }
    return &g->cells.at[index];
}

static bool is_ready(plan *p, uint32_t move)
{
    uint32_t to[MOST_CELLS], from[MOST_CELLS];
    const x86_move *m = &p->list[move];
    bool is_read = p->saved[move] < 0;
    if (is_read && meets_itself(p->g, m))
        return false;
    uint32_t writes = cells_of(p->g, m->to, to),
             reads = is_read ? cells_of(p->g, m->from, from) : 0;
    for (uint32_t k = 0; k < writes; k++) {
        uint32_t others = cell_at(p->g, to[k])->readers;
        for (uint32_t n = 0; n < reads; n++)
            others -= from[n] == to[k];
        if (others)
            return false;
    }
    return true;
}

// The move's source has been read: moves that write there may proceed.
static void stop_reading(plan *p, uint32_t move)
{
    uint32_t cells[MOST_CELLS], count = cells_of(p->g, p->list[move].from, cells);
    for (uint32_t k = 0; k < count; k++) {
        x86_cell *c = cell_at(p->g, cells[k]);
        c->readers--;
        if (c->writer)
            vec_push(p->g->a, &p->ready, c->writer - 1);
    }
}

static void finish(plan *p, uint32_t move)
{
    p->is_done[move] = true;
    p->left--;
    move_one(p->g, &p->list[move], p->saved[move]);
    if (p->saved[move] < 0)
        stop_reading(p, move);
    else
        vec_push(p->g->a, &p->g->move_slots, p->saved[move]);
}

// Everything that is left waits for something else that is: one source steps aside.
static void break_circle(plan *p)
{
    while (p->is_done[p->next_unsaved] || p->saved[p->next_unsaved] >= 0)
        p->next_unsaved++;
    uint32_t move = p->next_unsaved;
    x86_gen *g = p->g;
    int32_t slot = g->move_slots.len ? vec_pop(&g->move_slots) : x86_slot(g, 256, 64);
    save_source(g, p->list[move].to, p->list[move].from, slot);
    stop_reading(p, move);
    p->saved[move] = slot;
    vec_push(g->a, &p->ready, move);
}

void x86_moves(x86_gen *g, x86_move *list, uint32_t count)
{
    plan p = {.g = g, .list = list};
    uint32_t cells[MOST_CELLS];
    for (uint32_t k = 0; k < count; k++)
        if (g->places[list[k].to].class != CLASS_NONE && !is_still(g, &list[k]))
            list[p.count++] = list[k];
    p.left = p.count;
    p.saved = arena_array(g->a, int32_t, p.count + 1);
    p.is_done = arena_array(g->a, bool, p.count + 1);
    for (uint32_t k = 0; k < p.count; k++) {
        p.saved[k] = -1;
        for (uint32_t n = cells_of(g, list[k].from, cells); n-- > 0;)
            cell_at(g, cells[n])->readers++;
        for (uint32_t n = cells_of(g, list[k].to, cells); n-- > 0;)
            cell_at(g, cells[n])->writer = k + 1;
    }
    for (uint32_t k = p.count; k-- > 0;)
        vec_push(g->a, &p.ready, k);
    while (p.left) {
        if (!p.ready.len) {
            break_circle(&p);
            continue;
        }
        uint32_t move = vec_pop(&p.ready);
        if (!p.is_done[move] && is_ready(&p, move))
            finish(&p, move);
    }
    for (uint32_t k = 0; k < p.count; k++)
        for (uint32_t n = cells_of(g, list[k].to, cells); n-- > 0;)
            cell_at(g, cells[n])->writer = 0;
}
