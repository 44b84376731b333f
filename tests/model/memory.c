// One step of one thread: what its access gives, what it does to memory, and whether it breaks what
// was promised. The calls are followed by tags of the messages, which the source under test does
// not see.
#include "tests/model/memory.h"

#include <string.h>

static uint32_t first_lane_of(uint32_t a)
{
    return a - a % model_now.lanes;
}

uint8_t tag_of(const world *w, uint32_t a)
{
    uint32_t first = first_lane_of(a);
    return (uint8_t)(first / model_now.lanes * MODEL_CALLS + w->actors[first].begun);
}

// Somebody makes a fence that acquires.
static bool has_fences(void)
{
    return model_now.has_data || model_now.last < 1000;
}

static void join(uint8_t *to, const uint8_t *from)
{
    for (uint32_t at = 0; at < AT_WORDS; at++)
        to[at] = to[at] > from[at] ? to[at] : from[at];
}

word_list model_words;

static bool is_used(uint32_t at)
{
    // With the first number, and when numbers begin again, all rows are cleared.
    bool is_all = model_now.last < 1000 || !model_now.start;
    uint32_t row = (at - AT_REQUEST) % (MODEL_ROWS * MODEL_LANES) / MODEL_LANES,
             lane = (at - AT_REQUEST) % MODEL_LANES;
    if (at == AT_WHO)
        return is_all || model_now.has_who;
    if (at == AT_DATA)
        return is_all || model_now.has_data;
    if (at < AT_REQUEST)
        return true;
    return is_all || (lane < model_now.lanes &&
                      row < (at < AT_REPLY ? model_now.rows_out : model_now.rows_in));
}

static void list_words(void)
{
    model_words.count = 0;
    for (uint32_t at = 0; at < AT_WORDS; at++)
        if (is_used(at))
            model_words.at[model_words.count++] = (uint8_t)at;
}

void world_start(world *w)
{
    list_words();
    memset(w, 0, sizeof *w);
    for (uint32_t b = 0; b <= SHARED; b++)
        for (uint32_t at = 0; at < AT_WORDS; at++)
            w->boxes[b].words[at].count = 1;
    for (uint32_t b = 0; b < SHARED; b++) {
        static const uint8_t numbered[] = {AT_OWN, AT_HEADER, AT_HEADER + 1, AT_DONE};
        for (uint32_t n = 0; n < sizeof numbered; n++)
            w->boxes[b].words[numbered[n]].m[0].value = model_now.start;
    }
    for (uint32_t n = 0; n < model_now.warps * model_now.lanes; n++) {
        actor *a = &w->actors[w->actor_count++];
        a->role = ACTOR_WARP;
        a->lane = (uint8_t)(n % model_now.lanes);
        a->local = thread_start(model_warp, (void *)(uintptr_t)a->lane);
    }
    for (uint32_t n = 0; n < model_now.hosts; n++) {
        actor *a = &w->actors[w->actor_count++];
        a->role = ACTOR_HOST;
        a->lane = (uint8_t)n;
        a->local = thread_start(model_host, (void *)(uintptr_t)n);
    }
    actor *a = &w->actors[w->actor_count++];
    a->role = ACTOR_PROGRAM;
    a->local = thread_start(model_program, NULL);
}

bool world_is_over(const world *w)
{
    for (uint32_t a = 0; a < w->actor_count; a++)
        if (!w->actors[a].is_over && !w->actors[a].is_dead)
            return false;
    return true;
}

int world_end(const world *w)
{
    for (uint32_t a = 0; a < w->actor_count; a += model_now.lanes) {
        const actor *who = &w->actors[a];
        if (who->role != ACTOR_WARP)
            break;
        for (uint32_t n = 0; n < model_now.calls; n++)
            if (model_now.is_send && !model_now.may_close && !is_host_dead(w) &&
                who->outcome[n] == 3 && who->served[n] != 1)
                return FOUND_LOST;
    }
    for (uint32_t b = 0; b < model_now.boxes; b++)
        if (w->boxes[b].words[AT_OWN].m[0].value == UINT64_MAX)
            return FOUND_LEAKED;
    return FOUND_NONE;
}

// --- what the lanes of a warp do together
static bool is_together(uint8_t kind)
{
    return kind == OP_BALLOT || kind == OP_FROM || kind == OP_SYNC;
}

static bool are_lanes_ready(const world *w, uint32_t a)
{
    uint8_t kind = thread_op(w->actors[a].local)->kind;
    for (uint32_t l = 0; l < model_now.lanes; l++)
        if (w->actors[a + l].is_over || thread_op(w->actors[a + l].local)->kind != kind)
            return false;
    return true;
}

static void go_together(world *w, uint32_t first)
{
    uint64_t values[MODEL_LANES], result = 0;
    const model_op op = *thread_op(w->actors[first].local);
    for (uint32_t l = 0; l < model_now.lanes; l++) {
        values[l] = thread_op(w->actors[first + l].local)->value;
        result |= (values[l] != 0 ? UINT64_C(1) : 0) << l;
    }
    if (op.kind == OP_FROM)
        result = op.order < model_now.lanes ? values[op.order] : 0;
    if (op.kind == OP_SYNC && model_now.lanes > 1) {
        views all = w->actors[first].now;
        for (uint32_t l = 1; l < model_now.lanes; l++)
            for (uint32_t b = 0; b <= SHARED; b++)
                join(all.of[b], w->actors[first + l].now.of[b]);
        for (uint32_t l = 0; l < model_now.lanes; l++)
            w->actors[first + l].now = all;
        result = 0;
    }
    for (uint32_t l = 0; l < model_now.lanes; l++)
        w->actors[first + l].local = thread_step(w->actors[first + l].local, result);
}

// --- accesses
static bool may_write(const actor *who, const model_op *op)
{
    if (op->box == SHARED)
        return who->role == (op->at == AT_DEAD ? ACTOR_WARP : ACTOR_PROGRAM);
    bool is_hosts = op->at == AT_DONE || (op->at >= AT_REPLY && op->at < AT_DATA);
    return op->at == AT_DATA || who->role == (is_hosts ? ACTOR_HOST : ACTOR_WARP);
}

// What was read, for the checks at the end of a call.
static void remember(const world *w, uint32_t a, actor *who, const model_op *op, uint8_t tag)
{
    if (who->role == ACTOR_HOST) {
        if (op->at == AT_HEADER)
            memset(who->tags, 0, sizeof who->tags);
        if (op->box != SHARED && op->at != AT_CANCEL && op->at != AT_DONE)
            who->tags[op->at] = tag;
    } else if (op->box != SHARED && op->at >= AT_REPLY && op->at <= AT_DATA &&
               (op->at == AT_DATA || (op->at - AT_REPLY) % MODEL_LANES == who->lane))
        who->tags[op->at] = tag == tag_of(w, a) ? 1 : 2;
}

static void acquire(world *w, actor *who, uint32_t b, const message *m)
{
    if (m->has_view == VIEW_BOX)
        join(who->now.of[b], m->view);
    if (m->has_view == VIEW_ALL)
        for (uint32_t n = 0; n < SHARED; n++)
            for (uint32_t at = 0; at < AT_WORDS; at++)
                who->now.of[n][at] = (uint8_t)(w->boxes[n].words[at].count - 1);
}

static int load(world *w, uint32_t a, uint32_t way, const model_op *op, uint64_t *result)
{
    actor *who = &w->actors[a];
    word *x = &w->boxes[op->box].words[op->at];
    uint32_t index = is_latest_only(op->box, op->at) ? 0 : x->count - 1 - way;
    const message *m = &x->m[index];
    if (!is_latest_only(op->box, op->at))
        who->now.of[op->box][op->at] = (uint8_t)index;
    if (op->order & ACQUIRE)
        acquire(w, who, op->box, m);
    else if (has_fences() && m->has_view == VIEW_BOX)
        join(who->seen.of[op->box], m->view);
    remember(w, a, who, op, m->tag);
    *result = m->value;
    return op->is_system || op->box == SHARED || op->at == AT_OWN ? FOUND_NONE : FOUND_SCOPE;
}

static void move(uint8_t *index, uint32_t after)
{
    *index = (uint8_t)(*index + (*index > after));
}

// A new message behind message `after`.
static message *insert(world *w, uint32_t b, uint32_t at, uint32_t after)
{
    word *x = &w->boxes[b].words[at];
    memmove(&x->m[after + 2], &x->m[after + 1], (x->count - after - 1) * sizeof x->m[0]);
    x->count++;
    if (after + 2u < x->count) { // in between: those behind have moved
        for (uint32_t n = 0; n < w->actor_count; n++) {
            actor *who = &w->actors[n];
            move(&who->now.of[b][at], after);
            move(&who->released.of[b][at], after);
            move(&who->seen.of[b][at], after);
        }
        for (uint32_t n = 0; n < AT_WORDS; n++)
            for (uint32_t k = 0; k < w->boxes[b].words[n].count; k++) {
                message *m = &w->boxes[b].words[n].m[k];
                if (m->has_view == VIEW_BOX)
                    move(&m->view[at], after);
            }
    }
    memset(&x->m[after + 1], 0, sizeof x->m[0]);
    return &x->m[after + 1];
}

static int store_word(world *w, uint32_t a, uint32_t way, const model_op *op)
{
    actor *who = &w->actors[a];
    word *x = &w->boxes[op->box].words[op->at];
    message *m = &x->m[0];
    if (!may_write(who, op))
        return FOUND_WRITER;
    if (!op->is_system && op->at != AT_OWN)
        return FOUND_SCOPE;
    if (is_quiet(op) || !is_used(op->at))
        return FOUND_SIZE; // then it is not
    if (is_latest_only(op->box, op->at))
        memset(m, 0, sizeof *m);
    else {
        if (x->count == MOST_MESSAGES)
            return FOUND_SIZE;
        uint32_t after = x->count - 1 - way;
        m = insert(w, op->box, op->at, after);
        who->now.of[op->box][op->at] = (uint8_t)(after + 1);
    }
    m->value = op->value;
    m->tag = who->role == ACTOR_WARP ? tag_of(w, a) : who->tags[AT_HEADER];
    if (op->box == SHARED || op->at == AT_OWN || op->at == AT_CANCEL)
        m->tag = 0; // nobody looks
    const views *v = op->order & RELEASE ? &who->now : &who->released;
    m->has_view = VIEW_BOX;
    memcpy(m->view, v->of[op->box], AT_WORDS);
    if (op->box == SHARED && who->has_joined && op->order & RELEASE)
        m->has_view = VIEW_ALL;
    return FOUND_NONE;
}

static int swap(world *w, uint32_t a, const model_op *op, uint64_t *result)
{
    actor *who = &w->actors[a];
    message *m = &w->boxes[op->box].words[op->at].m[0];
    if (!is_latest_only(op->box, op->at))
        return FOUND_BUS;
    *result = m->value;
    if (op->order & ACQUIRE)
        acquire(w, who, op->box, m);
    m->value = op->value; // the view stays: an exchange continues what a release has begun
    return FOUND_NONE;
}

static int plain(world *w, uint32_t a, const model_op *op, uint64_t *result)
{
    actor *who = &w->actors[a];
    word *x = &w->boxes[op->box].words[op->at];
    if (who->now.of[op->box][op->at] != x->count - 1)
        return FOUND_RACE;
    if (op->kind == OP_READ) {
        *result = x->m[x->count - 1].value;
        remember(w, a, who, op, x->m[x->count - 1].tag);
        return FOUND_NONE;
    }
    return store_word(w, a, 0, op);
}

static void fence(actor *who, const model_op *op)
{
    for (uint32_t b = 0; op->order & ACQUIRE && b <= SHARED; b++)
        join(who->now.of[b], who->seen.of[b]);
    who->released = who->now;
}

// --- the course of a call
static int served(world *w, actor *who, bool is_right)
{
    uint8_t tag = who->tags[AT_HEADER];
    bool is_whole = tag != 0 && who->tags[AT_HEADER + 1] == tag;
    uint32_t rows = model_rows(model_now.rows_out, (tag - 1u) % MODEL_CALLS);
    for (uint32_t l = 0; l < MODEL_LANES; l++)
        for (uint32_t r = 0; model_now.mask >> l & 1 && r < rows; r++)
            is_whole &= who->tags[AT_REQUEST + r * MODEL_LANES + l] == tag;
    is_whole &= !model_now.has_data || who->tags[AT_DATA] == tag;
    bool has_who = model_now.has_who && model_rows(2, (tag - 1u) % MODEL_CALLS) == 2;
    is_whole &= !has_who || who->tags[AT_WHO] == tag;
    if (!is_whole)
        return FOUND_TORN;
    if (!is_right)
        return FOUND_VALUE;
    uint32_t warp = (tag - 1u) / MODEL_CALLS, n = (tag - 1u) % MODEL_CALLS;
    return ++w->actors[warp * model_now.lanes].served[n] > 1 ? FOUND_TWICE : FOUND_NONE;
}

static int ended(world *w, uint32_t a, int32_t status)
{
    actor *who = &w->actors[a], *first = &w->actors[first_lane_of(a)];
    uint32_t n = first->begun - 1u;
    bool is_mine = model_now.mask >> who->lane & 1, is_answered = false;
    if (!is_mine)
        return FOUND_NONE;
    first->outcome[n] = (uint8_t)(status + 3);
    switch (status) {
    case 0:
        if (!model_now.is_send && first->served[n] != 1)
            return FOUND_UNSERVED;
        is_answered = !model_now.is_send;
        break;
    case 2: // cancelled
        if (!model_now.may_close || model_now.is_send || first->served[n])
            return FOUND_STATUS;
        is_answered = true;
        break;
    case -1:
        if (!model_now.has_patience)
            return FOUND_STATUS;
        break;
    case -2:
        if (!is_host_dead(w))
            return FOUND_STATUS;
        break;
    default: return FOUND_STATUS;
    }
    uint32_t rows = model_rows(model_now.rows_in, n); // the status goes with the results
    for (uint32_t r = 0; is_answered && r < (rows > 1 ? rows - 1 : rows); r++)
        if (who->tags[AT_REPLY + r * MODEL_LANES + who->lane] != 1)
            return FOUND_FOREIGN;
    bool is_back = model_now.has_data && !model_now.is_one_way;
    if (is_answered && is_back && status == 0 && who->tags[AT_DATA] != 1)
        return FOUND_FOREIGN;
    memset(who->tags, 0, sizeof who->tags);
    return FOUND_NONE;
}

// --- steps
uint32_t actor_ways(const world *w, uint32_t a)
{
    const actor *who = &w->actors[a];
    if (who->is_over || who->is_dead || actor_is_waiting(w, a))
        return 0;
    const model_op *op = thread_op(who->local);
    const word *x = &w->boxes[op->box].words[op->at];
    uint32_t ways = 1;
    if (is_together(op->kind))
        return who->lane == 0 && are_lanes_ready(w, a);
    switch (op->kind) {
    case OP_LOAD:
    case OP_STORE:
        if (!is_latest_only(op->box, op->at))
            ways = (uint32_t)x->count - who->now.of[op->box][op->at];
        break;
    case OP_OVER: ways = op->value == OVER_PATIENCE || is_host_dead(w) ? 2 : 1; break;
    case OP_CHOOSE: ways = (uint32_t)op->value; break;
    case OP_JOIN:
        for (uint32_t n = 0; n < model_now.warps * model_now.lanes; n++)
            ways &= w->actors[n].is_over;
        break;
    default: break;
    }
    return ways + (model_now.may_die && who->role == ACTOR_HOST);
}

int actor_go(world *w, uint32_t a, uint32_t way)
{
    actor *who = &w->actors[a];
    const model_op op = *thread_op(who->local);
    uint64_t result = 0;
    int found = FOUND_NONE;
    bool is_assumed = is_as_assumed(w, a, &op);
    if (is_together(op.kind)) {
        go_together(w, a);
        for (uint32_t l = 0; l < model_now.lanes; l++)
            w->actors[a + l].is_over = thread_op(w->actors[a + l].local)->kind == OP_EXIT;
        return FOUND_NONE;
    }
    if (model_now.may_die && who->role == ACTOR_HOST && way + 1 == actor_ways(w, a)) {
        who->is_dead = 1;
        return FOUND_NONE;
    }
    note_step(w, a, &op);
    switch (op.kind) {
    case OP_LOAD: found = load(w, a, way, &op, &result); break;
    case OP_STORE: found = store_word(w, a, way, &op); break;
    case OP_SWAP: found = swap(w, a, &op, &result); break;
    case OP_READ:
    case OP_WRITE: found = plain(w, a, &op, &result); break;
    case OP_FENCE: fence(who, &op); break;
    case OP_OVER:
    case OP_CHOOSE: result = way; break;
    case OP_BEAT: result = is_host_dead(w) ? 0 : op.value == 0; break;
    case OP_BEGIN:
        who->begun = (uint8_t)(who->begun + (who->lane == 0));
        who->stored = 0;
        break;
    case OP_SERVE: found = served(w, who, op.value != 0); break;
    case OP_RESULT:
        found = op.order ? (int)op.value : ended(w, a, (int32_t)(uint32_t)op.value);
        break;
    case OP_JOIN: who->has_joined = 1; break;
    default: break;
    }
    who->local = thread_step(who->local, result);
    who->is_over = thread_op(who->local)->kind == OP_EXIT;
    return found || is_assumed ? found : FOUND_UNLIKE;
}
