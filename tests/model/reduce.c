// What need not be gone through, because other paths end in the same states: docs/hostcalls.md has
// the argument. A thread whose next step touches nothing that others can still change goes first,
// alone. A caller that nobody has answered yet waits. Both follow from who holds which mailbox and
// what it has stored; is_as_assumed looks whether threads keep to that.
#include "tests/model/memory.h"

// Warps of one lane, whose numbers do not begin again: then a call stores each word once.
bool is_followed(void)
{
    return !model_now.is_plain && model_now.lanes == 1 && model_now.last > 1000;
}

// Nobody stores to it in this scenario: when it is read makes no difference.
bool is_quiet(const model_op *op)
{
    if (op->box == SHARED)
        return op->at == AT_DEAD && !model_now.may_die;
    return op->at == AT_CANCEL && !model_now.has_patience && !model_now.may_die &&
           model_now.last > 1000;
}

bool is_of_request(uint32_t at)
{
    return at == AT_HEADER || at == AT_HEADER + 1 || at == AT_WHO ||
           (at >= AT_REQUEST && at < AT_REPLY);
}

static bool is_of_host(uint32_t at)
{
    return at == AT_DONE || (at >= AT_REPLY && at < AT_DATA);
}

// --- who holds what
static uint32_t whole_request(uint32_t call)
{
    uint32_t rows = model_rows(model_now.rows_out, call), all = 3u << AT_HEADER;
    for (uint32_t r = 0; r < rows; r++)
        all |= 1u << (AT_REQUEST + r * MODEL_LANES);
    return all | (model_now.has_who && model_rows(2, call) == 2 ? 1u << AT_WHO : 0);
}

static bool has_posted(const actor *who)
{
    return who->begun && who->stored == whole_request(who->begun - 1u);
}

// Its last call is posted whole.
static bool has_posted_all(const actor *who)
{
    return who->begun == model_now.calls && has_posted(who);
}

// It does not look for a mailbox any more: with the first word that it stores it has chosen.
static bool has_chosen(const actor *who)
{
    return who->is_over || (who->begun == model_now.calls && who->stored);
}

static bool have_all_chosen(const world *w, uint32_t but)
{
    for (uint32_t a = 0; a < w->actor_count; a++)
        if (a != but && w->actors[a].role == ACTOR_WARP && !has_chosen(&w->actors[a]))
            return false;
    return true;
}

// A caller that has posted and can only wait for the answer, unless the host dies.
static bool is_bound(const world *w, const actor *who)
{
    return who->role == ACTOR_WARP && !who->is_over && who->held && has_posted(who) &&
           !model_now.is_send && !model_now.has_patience && !is_host_dead(w);
}

static uint8_t last_tag(const world *w, uint32_t b, uint32_t at)
{
    const word *x = &w->boxes[b].words[at];
    return x->m[x->count - 1].tag;
}

// The host has begun to answer the call of a warp that holds a mailbox.
static bool is_answered(const world *w, uint32_t a)
{
    return last_tag(w, w->actors[a].held - 1u, AT_REPLY) == tag_of(w, a);
}

// The host has answered, and stores nothing there until the next call.
static bool is_done(const world *w, uint32_t a)
{
    return last_tag(w, w->actors[a].held - 1u, AT_DONE) == tag_of(w, a);
}

// Box b has a whole request, and stays so until the host acts.
static bool is_request_waiting(const world *w, uint32_t b)
{
    for (uint32_t a = 0; a < w->actor_count; a++)
        if (w->actors[a].held == b + 1 && is_bound(w, &w->actors[a]))
            return !is_answered(w, a);
    return false;
}

// Nobody stores to the words of box b's request from now on; with is_left, not to `cancel` either.
static bool is_request_settled(const world *w, uint32_t b, bool is_left)
{
    if (!have_all_chosen(w, UINT32_MAX))
        return false;
    for (uint32_t a = 0; a < w->actor_count; a++) {
        const actor *who = &w->actors[a];
        if (who->role == ACTOR_WARP && !who->is_over && who->held == b + 1 &&
            (is_left || !has_posted_all(who)))
            return false;
    }
    return true;
}

bool is_host_dead(const world *w)
{
    for (uint32_t a = 0; a < w->actor_count; a++)
        if (w->actors[a].role == ACTOR_HOST && w->actors[a].is_dead)
            return true;
    return false;
}

// --- what is assumed
// Until it has read its answer, a caller that is bound does nothing that others could see, and
// nothing that another moment could change.
static bool is_harmless(const model_op *op)
{
    switch (op->kind) {
    case OP_LOAD: return !is_latest_only(op->box, op->at);
    case OP_FENCE:
    case OP_BALLOT:
    case OP_FROM:
    case OP_SYNC:
    case OP_OVER: return true;
    default: return false;
    }
}

bool is_as_assumed(const world *w, uint32_t a, const model_op *op)
{
    const actor *who = &w->actors[a];
    bool is_store = op->kind == OP_STORE && op->box != SHARED;
    if (!is_followed())
        return true;
    if (who->role == ACTOR_HOST) // only for the newest call, and not after `done`
        return !is_store || (last_tag(w, op->box, AT_HEADER) == who->tags[AT_HEADER] &&
                             last_tag(w, op->box, AT_DONE) != who->tags[AT_HEADER]);
    if (who->role != ACTOR_WARP)
        return true;
    if (is_bound(w, who) && !is_harmless(op) && who->tags[AT_REPLY] != 1)
        return false;
    if (is_store && who->held != op->box + 1)
        return false;
    if (is_store && is_of_request(op->at))
        return !has_posted_all(who);
    if (is_store && op->at == AT_CANCEL)
        return model_now.has_patience || is_host_dead(w);
    return op->kind != OP_SWAP || !has_chosen(who);
}

// Before the step.
void note_step(world *w, uint32_t a, const model_op *op)
{
    actor *who = &w->actors[a];
    if (!is_followed() || who->role != ACTOR_WARP || op->box == SHARED)
        return;
    if (op->kind == OP_STORE && is_of_request(op->at))
        who->stored |= 1u << op->at;
    if (op->kind == OP_STORE && op->at == AT_OWN && op->value != UINT64_MAX)
        who->held = 0;
    if (op->kind == OP_SWAP && w->boxes[op->box].words[AT_OWN].m[0].value != UINT64_MAX)
        who->held = (uint8_t)(op->box + 1);
}

// --- what is left out
bool actor_is_waiting(const world *w, uint32_t a)
{
    return is_followed() && is_bound(w, &w->actors[a]) && !is_answered(w, a);
}

// Nobody stores to the word, as long as this thread does not act.
static bool is_load_settled(const world *w, uint32_t a, const model_op *op)
{
    const actor *who = &w->actors[a];
    if (op->box == SHARED)
        return false;
    if (who->role == ACTOR_HOST)
        return (op->at == AT_CANCEL && !model_now.has_patience) ||
               (is_of_request(op->at) && is_request_waiting(w, op->box)) ||
               ((is_of_request(op->at) || op->at == AT_CANCEL) &&
                is_request_settled(w, op->box, op->at == AT_CANCEL));
    return is_of_host(op->at) && ((model_now.hosts == 1 && is_host_dead(w)) ||
                                  (who->held == op->box + 1 && has_posted(who) && is_done(w, a)));
}

bool actor_is_first(const world *w, uint32_t a)
{
    uint32_t ways = actor_ways(w, a);
    if (!ways || model_now.is_raw)
        return false;
    const model_op *op = thread_op(w->actors[a].local);
    ways -= model_now.may_die && w->actors[a].role == ACTOR_HOST;
    switch (op->kind) {
    case OP_STORE:
        if (is_latest_only(op->box, op->at)) // nobody else will look
            return is_followed() && have_all_chosen(w, a);
        return ways == 1;
    case OP_OVER:
        return op->value == OVER_PATIENCE || !model_now.may_die ||
               (is_followed() && is_host_dead(w));
    case OP_LOAD: return is_quiet(op) || (is_followed() && is_load_settled(w, a, op));
    case OP_BEAT: return is_followed() && is_host_dead(w);
    case OP_SWAP:
    case OP_READ:
    case OP_JOIN: return false;
    default: return true;
    }
}
