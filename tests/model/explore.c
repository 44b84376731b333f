// All states that a scenario can reach, depth first. Worlds are kept whole: each box and each actor
// once, each list of boxes and of actors once, a state as two numbers. So no two states are ever
// mistaken for one.
//
// Progress: from every state some end can be reached. Tarjan's strongly connected components say so
// as they are left: one without an end and without a way into another is a trap.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/memory.h"
#include "tests/model/store.h"

#define OP(name, text) text,
const char *const op_text[OP_COUNT] = {
#include "tests/model/model.def"
};
#define FINDING(name, text) text,
const char *const finding_text[FOUND_COUNT] = {
#include "tests/model/model.def"
};
scenario model_now;

static world here, after;           // before and behind a step
static store boxes, actors, tuples; // tuples: numbers of boxes, or of actors
static pairs states;                // a tuple of boxes and one of actors

typedef struct step { // from a state to another
    uint32_t to;
    uint8_t actor, way, found;
} step;

typedef struct frame {
    uint32_t state, first, next; // steps
    bool has_way_out;
} frame;

typedef struct search {
    uint32_t *index, *low; // by state; index 0: not seen yet
    uint8_t *is_open;      // on Tarjan's stack
    uint32_t cap, seen, step_count, step_cap, depth, frame_cap, open_count, open_cap;
    step *steps;
    frame *frames;
    uint32_t *open;
    verdict v;
    const world *start;
} search;

static void *grown(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p) {
        fputs("model: no memory left\n", stderr);
        exit(3);
    }
    return p;
}

// --- worlds as numbers
static uint32_t keep_box(const box *b)
{
    unsigned char bytes[sizeof(box)];
    size_t n = 0;
    for (uint32_t k = 0; k < model_words.count; k++) {
        const word *x = &b->words[model_words.at[k]];
        bytes[n++] = x->count;
        for (uint32_t i = 0; i < x->count; i++) {
            const message *m = &x->m[i];
            memcpy(bytes + n, &m->value, 8);
            n += 8;
            bytes[n++] = m->tag;
            bytes[n++] = m->has_view;
            if (m->has_view == VIEW_BOX) {
                memcpy(bytes + n, m->view, AT_WORDS);
                n += AT_WORDS;
            }
        }
    }
    return store_put(&boxes, bytes, n, NULL);
}

static void get_box(uint32_t number, box *b)
{
    size_t size;
    const unsigned char *p = store_get(&boxes, number, &size);
    for (uint32_t k = 0; k < model_words.count; k++) {
        word *x = &b->words[model_words.at[k]];
        x->count = *p++;
        for (uint32_t i = 0; i < x->count; i++) {
            message *m = &x->m[i];
            memcpy(&m->value, p, 8);
            m->tag = p[8];
            m->has_view = p[9];
            p += 10;
            memset(m->view, 0, AT_WORDS);
            if (m->has_view == VIEW_BOX) {
                memcpy(m->view, p, AT_WORDS);
                p += AT_WORDS;
            }
        }
    }
}

enum { MOST_NUMBERS = MODEL_BOXES + 1 + MOST_ACTORS + 2 }; // of boxes, actors, the two lists

// The box behind those of the scenario has what all share.
static uint32_t box_at(uint32_t n)
{
    return n < model_now.boxes ? n : MODEL_BOXES;
}

// Messages behind the last one are nobody's.
static void copy_world(world *to, const world *from)
{
    for (uint32_t n = 0; n <= model_now.boxes; n++)
        for (uint32_t k = 0; k < model_words.count; k++) {
            word *x = &to->boxes[box_at(n)].words[model_words.at[k]];
            const word *y = &from->boxes[box_at(n)].words[model_words.at[k]];
            x->count = y->count;
            memcpy(x->m, y->m, y->count * sizeof y->m[0]);
        }
    memcpy(to->actors, from->actors, from->actor_count * sizeof(actor));
    to->actor_count = from->actor_count;
}

static bool is_same_box(const box *a, const box *b)
{
    for (uint32_t k = 0; k < model_words.count; k++) {
        const word *x = &a->words[model_words.at[k]], *y = &b->words[model_words.at[k]];
        if (x->count != y->count || memcmp(x->m, y->m, x->count * sizeof(message)))
            return false;
    }
    return true;
}

// `before`, whose parts have the numbers `known`, is the world a step before; or NULL.
static uint32_t keep_world(const world *w, const world *before, const uint32_t *known)
{
    uint32_t numbers[MOST_NUMBERS], n = 0;
    for (; n <= model_now.boxes; n++) {
        const box *b = &w->boxes[box_at(n)];
        bool is_same = before && is_same_box(b, &before->boxes[box_at(n)]);
        numbers[n] = is_same ? known[n] : keep_box(b);
    }
    for (uint32_t a = 0; a < w->actor_count; a++, n++) {
        bool is_same = before && !memcmp(&w->actors[a], &before->actors[a], sizeof(actor));
        numbers[n] = is_same ? known[n] : store_put(&actors, &w->actors[a], sizeof(actor), NULL);
    }
    uint32_t count = model_now.boxes + 1;
    const uint32_t *rest = numbers + count;
    bool has_boxes = before && !memcmp(numbers, known, count * sizeof *numbers),
         has_actors = before && !memcmp(rest, known + count, (n - count) * sizeof *rest);
    uint32_t of_boxes = has_boxes ? known[n] : store_put(&tuples, numbers, count * 4, NULL),
             of_actors =
                 has_actors ? known[n + 1] : store_put(&tuples, rest, (n - count) * 4, NULL);
    return pairs_put(&states, (uint64_t)of_actors << 32 | of_boxes);
}

static void get_world(const search *s, uint32_t state, world *w, uint32_t *numbers)
{
    size_t size;
    uint32_t n = 0, count = model_now.boxes + 1;
    uint64_t pair = states.of[state];
    w->actor_count = s->start->actor_count;
    memcpy(numbers, store_get(&tuples, (uint32_t)pair, &size), count * sizeof *numbers);
    memcpy(numbers + count, store_get(&tuples, (uint32_t)(pair >> 32), &size),
           w->actor_count * sizeof *numbers);
    numbers[count + w->actor_count] = (uint32_t)pair;
    numbers[count + w->actor_count + 1] = (uint32_t)(pair >> 32);
    for (; n <= model_now.boxes; n++)
        get_box(numbers[n], &w->boxes[box_at(n)]);
    for (uint32_t a = 0; a < w->actor_count; a++)
        memcpy(&w->actors[a], store_get(&actors, numbers[n++], &size), sizeof(actor));
}

// --- steps
static void add_steps(search *s, const world *w, const uint32_t *numbers, uint32_t a)
{
    uint32_t ways = actor_ways(w, a);
    for (uint32_t way = 0; way < ways; way++) {
        copy_world(&after, w);
        int found = actor_go(&after, a, way);
        world_tidy(&after);
        if (s->step_count == s->step_cap) {
            s->step_cap = s->step_cap ? s->step_cap * 2 : 4096;
            s->steps = grown(s->steps, s->step_cap * sizeof *s->steps);
        }
        s->steps[s->step_count++] =
            (step){keep_world(&after, w, numbers), (uint8_t)a, (uint8_t)way, (uint8_t)found};
    }
}

// A thread that may go first is enough: the others' steps give the same afterwards.
static void add_all_steps(search *s, const world *w, const uint32_t *numbers)
{
    for (uint32_t a = 0; a < w->actor_count; a++)
        if (actor_is_first(w, a)) {
            add_steps(s, w, numbers, a);
            return;
        }
    for (uint32_t a = 0; a < w->actor_count; a++)
        add_steps(s, w, numbers, a);
}

static void tell_word(const model_op *op)
{
    static const char *const names[AT_WORDS] = {
        [AT_OWN] = "own",       [AT_HEADER] = "header[0]", [AT_HEADER + 1] = "header[1]",
        [AT_CANCEL] = "cancel", [AT_DONE] = "done",        [AT_DATA] = "data",
        [AT_WHO] = "who"};
    if (op->box == MODEL_BOXES)
        printf(" %s", op->at == AT_DEAD ? "dead" : "state");
    else if (op->at >= AT_REQUEST && op->at < AT_DATA)
        printf(" %u.%s[%d][%d]", op->box, op->at < AT_REPLY ? "request" : "reply",
               (op->at - AT_REQUEST) % (MODEL_ROWS * MODEL_LANES) / MODEL_LANES,
               (op->at - AT_REQUEST) % MODEL_LANES);
    else
        printf(" %u.%s", op->box, names[op->at]);
}

// How it came to this, a line for each step; warps change places when they are sorted.
static void tell(const search *s)
{
    static const char *const roles[] = {"warp", "host", "program"};
    world w = *s->start;
    uint32_t numbers[MOST_NUMBERS];
    printf("  %s: %s, after %u steps\n", model_now.name, finding_text[s->v.found], s->depth);
    for (uint32_t d = 0; d < s->depth; d++) {
        const step *taken = &s->steps[s->frames[d].next - 1];
        get_world(s, s->frames[d].state, &w, numbers);
        const model_op *op = thread_op(w.actors[taken->actor].local);
        printf("    %-8s%2u  %s", roles[w.actors[taken->actor].role], taken->actor,
               op_text[op->kind]);
        if (op->kind <= OP_SWAP || op->kind == OP_READ || op->kind == OP_WRITE)
            tell_word(op);
        if (op->kind == OP_STORE || op->kind == OP_SWAP)
            printf(" = %llx", (unsigned long long)op->value);
        if (op->kind == OP_LOAD) {
            const word *x = &w.boxes[op->box].words[op->at];
            printf(" gives %llx", (unsigned long long)x->m[x->count - 1 - taken->way].value);
        }
        printf("%s%s\n", op->order & ACQUIRE ? ", acquire" : "",
               op->order & RELEASE ? ", release" : "");
    }
}

// --- the search
static void enter(search *s, uint32_t state)
{
    while (state >= s->cap) {
        uint32_t cap = s->cap ? s->cap * 2 : 4096;
        s->index = grown(s->index, cap * sizeof *s->index);
        s->low = grown(s->low, cap * sizeof *s->low);
        s->is_open = grown(s->is_open, cap);
        memset(s->index + s->cap, 0, (cap - s->cap) * sizeof *s->index);
        memset(s->is_open + s->cap, 0, cap - s->cap);
        s->cap = cap;
    }
    if (s->depth == s->frame_cap) {
        s->frame_cap = s->frame_cap ? s->frame_cap * 2 : 1024;
        s->frames = grown(s->frames, s->frame_cap * sizeof *s->frames);
    }
    if (s->open_count == s->open_cap) {
        s->open_cap = s->open_cap ? s->open_cap * 2 : 1024;
        s->open = grown(s->open, s->open_cap * sizeof *s->open);
    }
    uint32_t numbers[MOST_NUMBERS];
    get_world(s, state, &here, numbers);
    s->index[state] = s->low[state] = ++s->seen;
    s->is_open[state] = 1;
    s->open[s->open_count++] = state;
    frame *f = &s->frames[s->depth++];
    *f = (frame){state, s->step_count, s->step_count, false};
    if (s->depth > s->v.depth)
        s->v.depth = s->depth;
    if (world_is_over(&here)) {
        f->has_way_out = true;
        s->v.ends++;
        s->v.found = world_end(&here);
    } else
        add_all_steps(s, &here, numbers);
}

static void leave(search *s)
{
    frame *f = &s->frames[s->depth - 1];
    uint32_t state = f->state;
    bool is_component = s->low[state] == s->index[state];
    if (is_component) {
        if (!f->has_way_out) {
            s->v.found = FOUND_STUCK;
            return;
        }
        uint32_t other;
        do {
            other = s->open[--s->open_count];
            s->is_open[other] = 0;
        } while (other != state);
    }
    s->step_count = f->first;
    s->depth--;
    if (s->depth) {
        frame *up = &s->frames[s->depth - 1];
        if (s->low[state] < s->low[up->state])
            s->low[up->state] = s->low[state];
        up->has_way_out |= f->has_way_out; // of the component, or into it
    }
}

static void follow(search *s)
{
    frame *f = &s->frames[s->depth - 1];
    const step *next = &s->steps[f->next++];
    s->v.steps++;
    if (next->found) {
        s->v.found = next->found;
        return;
    }
    if (next->to >= s->cap || !s->index[next->to]) {
        enter(s, next->to);
    } else if (s->is_open[next->to]) {
        if (s->index[next->to] < s->low[f->state])
            s->low[f->state] = s->index[next->to];
    } else
        f->has_way_out = true;
}

verdict explore(const scenario *given, uint64_t limit, bool is_told)
{
    search s = {0};
    world start;
    model_now = *given;
    world_start(&start);
    s.start = &start;
    world_tidy(&start);
    here = after = start;
    enter(&s, keep_world(&start, NULL, NULL));
    while (s.depth && s.v.found == FOUND_NONE) {
        const frame *f = &s.frames[s.depth - 1];
        uint32_t end = s.step_count; // of the topmost frame
        if (f->next < end)
            follow(&s);
        else
            leave(&s);
        if (s.seen > limit)
            s.v.found = FOUND_SIZE;
    }
    s.v.states = s.seen;
    s.v.local = thread_states();
    if (s.v.found && is_told)
        tell(&s);
    free(s.index);
    free(s.low);
    free(s.is_open);
    free(s.steps);
    free(s.frames);
    free(s.open);
    store_free(&boxes);
    store_free(&actors);
    store_free(&tuples);
    pairs_free(&states);
    thread_forget();
    return s.v;
}
