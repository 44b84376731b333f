// A place for every value: registers as long as there are any, in the order in which values begin;
// when they run out the value that is used least goes to the frame, for its whole life. A value
// that lives across more calls than it has uses goes there at once: a call takes all vectors.
// Slots of the frame are used again. Start reading at x86_give_places.
#include "back/x86/x86.h"

#include <stdlib.h>

typedef struct scan {
    x86_gen *g;
    uint32_t free_words, free_vectors; // a bit a register
    vec(ir_ref) active;                // in registers
    vec(int32_t) free_slots[3];        // of 8, 128, 256 bytes
    ir_ref *ends, *next_end;           // by position: values that end there; by value: the next
    uint32_t ended;                    // positions below were looked at
    double *call_costs;                // by call: of all before it
} scan;

static const uint32_t kept_words = 1u << RBP | 1u << R12 | 1u << R13 | 1u << R14 | 1u << R15;
static const uint32_t lost_words =
    1u << RSI | 1u << RDI | 1u << R8 | 1u << R9 | 1u << R10 | 1u << R11;

int32_t x86_slot(x86_gen *g, int32_t bytes, int32_t align)
{
    g->frame = (g->frame + align - 1) / align * align;
    g->frame += bytes;
    return g->frame - bytes;
}

static uint32_t slot_class(x86_class class)
{
    return class == CLASS_V8 ? 2 : class == CLASS_V4 ? 1 : 0;
}

static int32_t new_slot(x86_gen *g, x86_class class)
{
    static const int32_t sizes[] = {8, 128, 256};
    uint32_t n = slot_class(class);
    return x86_slot(g, sizes[n], n ? 64 : 8);
}

static int32_t claim_slot(scan *s, x86_class class)
{
    uint32_t n = slot_class(class);
    return s->free_slots[n].len ? vec_pop(&s->free_slots[n]) : new_slot(s->g, class);
}

static bool is_vector(x86_class class)
{
    return class >= CLASS_REAL;
}

static void release(scan *s, const x86_place *p)
{
    for (uint32_t k = 0; p->in_reg && k < x86_parts((x86_class)p->class); k++)
        *(is_vector((x86_class)p->class) ? &s->free_vectors : &s->free_words) |= 1u << p->reg[k];
}

// The registers and slots of values that end before `position` are free.
static void expire(scan *s, uint32_t position)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->active.len; k++) {
        ir_ref r = s->active.at[k];
        if (s->g->lives[r].to >= position)
            s->active.at[kept++] = r;
        else
            release(s, &s->g->places[r]);
    }
    s->active.len = kept;
    for (; s->ended < position; s->ended++)
        for (ir_ref r = s->ends[s->ended]; r; r = s->next_end[r]) {
            const x86_place *p = &s->g->places[r];
            if (p->slot >= 0)
                vec_push(s->g->a, &s->free_slots[slot_class((x86_class)p->class)], p->slot);
        }
}

// --- calls
static void sum_calls(scan *s)
{
    static const double weights[] = {2, 16, 128, 1024, 8192};
    const x86_gen *g = s->g;
    s->call_costs = arena_array(g->a, double, g->calls.len + 1);
    for (uint32_t k = 0; k < g->calls.len; k++) {
        uint32_t depth = g->live.depth[g->calls.at[k]];
        s->call_costs[k + 1] =
            s->call_costs[k] + weights[depth < COUNT(weights) ? depth : COUNT(weights) - 1];
    }
}

// The first call that is behind `position`.
static uint32_t call_behind(const x86_gen *g, uint32_t position)
{
    uint32_t low = 0, high = g->calls.len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (g->live.start[g->calls.at[middle]] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What it costs to save and restore it around the calls it lives through.
static float cost_of_calls(const scan *s, const x86_life *l)
{
    uint32_t first = call_behind(s->g, l->from), end = l->to ? call_behind(s->g, l->to - 1) : 0;
    return first < end ? (float)(s->call_costs[end] - s->call_costs[first]) : 0;
}

static float density(const x86_gen *g, ir_ref r)
{
    return g->lives[r].weight / (float)x86_parts((x86_class)g->places[r].class);
}

// A value in the same kind of registers that is used less than `than`; 0: none.
static ir_ref find_victim(const scan *s, bool vectors, float than)
{
    ir_ref found = 0;
    for (uint32_t k = 0; k < s->active.len; k++) {
        ir_ref r = s->active.at[k];
        const x86_place *p = &s->g->places[r];
        if (p->in_reg && is_vector((x86_class)p->class) == vectors && density(s->g, r) < than) {
            found = r;
            than = density(s->g, r);
        }
    }
    return found;
}

static uint32_t count_bits(uint32_t bits)
{
    return (uint32_t)__builtin_popcount(bits);
}

static uint8_t claim_bit(uint32_t *from, uint32_t wanted)
{
    uint32_t pick = *from & wanted ? *from & wanted : *from;
    uint8_t bit = (uint8_t)__builtin_ctz(pick);
    *from &= ~(1u << bit);
    return bit;
}

// The registers of `like`, part by part, when they are free.
static bool claim_same(scan *s, x86_place *p, const x86_place *like)
{
    uint32_t *from = is_vector((x86_class)p->class) ? &s->free_vectors : &s->free_words, bits = 0;
    if (!like->in_reg || like->class != p->class)
        return false;
    for (uint32_t k = 0; k < x86_parts((x86_class)p->class); k++)
        bits |= 1u << like->reg[k];
    if ((*from & bits) != bits)
        return false;
    *from &= ~bits;
    memcpy(p->reg, like->reg, sizeof p->reg);
    p->in_reg = true;
    return true;
}

static void drop_active(scan *s, ir_ref r)
{
    for (uint32_t n = 0; n < s->active.len; n++)
        if (s->active.at[n] == r) {
            s->active.at[n] = vec_last(&s->active);
            s->active.len--;
            return;
        }
}

// The registers of an operand that is dead after this operation.
static bool claim_operand(scan *s, ir_ref r, x86_place *p)
{
    x86_gen *g = s->g;
    ir_inst_id def = r < g->f->values.len ? ir_def_of(g->f, r) : 0;
    if (!def || !x86_is_elementwise(ir_at(g->f, def)) || p->class < CLASS_V4)
        return false;
    const ir_inst *i = ir_at(g->f, def);
    for (uint32_t k = i->operand_count; k-- > 0;) {
        ir_ref o = ir_operand(g->f, i, k);
        if (ir_is_const(o) || g->lives[o].same || g->lives[o].to != g->live.start[def] ||
            g->lives[o].from >= g->live.start[def] || g->places[o].class != p->class ||
            !g->places[o].in_reg)
            continue;
        // The operand's turn ends here.
        release(s, &g->places[o]);
        drop_active(s, o);
        return claim_same(s, p, &g->places[o]);
    }
    return false;
}

// A control's result is best in the place of the value it comes from.
static bool claim_hint(scan *s, ir_ref r, x86_place *p)
{
    ir_ref hint = r < s->g->f->values.len ? s->g->hints[r] : 0;
    if (!hint)
        return false;
    if (s->g->lives[hint].same)
        hint = s->g->lives[hint].same;
    return claim_same(s, p, &s->g->places[hint]);
}

static void give(scan *s, ir_ref r)
{
    x86_gen *g = s->g;
    x86_place *p = &g->places[r];
    uint32_t parts = x86_parts((x86_class)p->class);
    bool vectors = is_vector((x86_class)p->class);
    float calls = cost_of_calls(s, &g->lives[r]);
    uint32_t *from = vectors ? &s->free_vectors : &s->free_words;
    if (calls > 0 && (vectors ? calls >= g->lives[r].weight : !(*from & kept_words))) {
        p->slot = claim_slot(s, (x86_class)p->class);
        return;
    }
    if (!claim_operand(s, r, p) && !(calls <= 0 && claim_hint(s, r, p))) {
        while (count_bits(*from) < parts) {
            ir_ref victim = find_victim(s, vectors, density(g, r));
            if (!victim)
                break;
            release(s, &g->places[victim]);
            g->places[victim].in_reg = false;
            drop_active(s, victim);
            if (g->places[victim].slot < 0) // one that was free all the time
                g->places[victim].slot = new_slot(g, (x86_class)g->places[victim].class);
        }
        p->in_reg = count_bits(*from) >= parts;
        for (uint32_t k = 0; p->in_reg && k < parts; k++)
            p->reg[k] = claim_bit(from, vectors ? ~0u : calls > 0 ? kept_words : lost_words);
    }
    bool is_saved = calls > 0 && (vectors || !(kept_words >> p->reg[0] & 1));
    if (!p->in_reg || is_saved)
        p->slot = claim_slot(s, (x86_class)p->class);
}

// --- order
static void sort_by_start(x86_gen *g)
{
    uint32_t *first = arena_array(g->a, uint32_t, g->live.last + 3);
    uint32_t count = 0;
    for (ir_ref r = 1; r < g->value_count; r++)
        if (g->lives[r].is_needed && !g->lives[r].same) {
            first[g->lives[r].from + 1]++;
            count++;
        }
    for (uint32_t k = 1; k < g->live.last + 3; k++)
        first[k] += first[k - 1];
    vec_reserve(g->a, &g->by_start, count);
    g->by_start.len = count;
    for (ir_ref r = 1; r < g->value_count; r++)
        if (g->lives[r].is_needed && !g->lives[r].same)
            g->by_start.at[first[g->lives[r].from]++] = r;
}

static void find_hints(x86_gen *g)
{
    g->hints = arena_array(g->a, ir_ref, g->f->values.len + 1);
    for (ir_inst_id id = 1; id < g->f->insts.len; id++) {
        const ir_inst *i = ir_at(g->f, id);
        for (uint32_t k = 0; i->op == IR_EXIT && k < i->operand_count; k++)
            if (!ir_is_const(ir_operand(g->f, i, k)))
                g->hints[ir_at(g->f, i->aux)->result + k] = ir_operand(g->f, i, k);
    }
}

void x86_give_places(x86_gen *g)
{
    scan s = {.g = g,
              .free_words = kept_words | lost_words,
              .free_vectors = (uint32_t)(((uint64_t)1 << VECTORS) - 1)};
    for (ir_ref r = 1; r < g->value_count; r++) {
        g->places[r].slot = -1;
        if (g->lives[r].is_needed)
            g->places[r].class = (uint8_t)x86_class_of(g, r);
    }
    sort_by_start(g);
    find_hints(g);
    sum_calls(&s);
    s.ends = arena_array(g->a, ir_ref, g->live.last + 3);
    s.next_end = arena_array(g->a, ir_ref, g->value_count + 1);
    for (uint32_t k = 0; k < g->by_start.len; k++) {
        ir_ref r = g->by_start.at[k];
        uint32_t to = g->lives[r].to > g->lives[r].from ? g->lives[r].to : g->lives[r].from;
        expire(&s, g->lives[r].from);
        give(&s, r);
        s.next_end[r] = s.ends[to];
        s.ends[to] = r;
        if (g->places[r].in_reg)
            vec_push(g->a, &s.active, r);
    }
    for (ir_ref r = 1; r < g->f->values.len; r++)
        if (g->lives[r].same)
            g->places[r] = g->places[g->lives[r].same];
}
