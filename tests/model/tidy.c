// Worlds that nobody can tell apart become one: messages that no thread can read any more are
// dropped, threads that have ended lose their views, and warps are sorted. Warps run the same
// source and differ in nothing but the tags of their calls, which are renamed with them.
#include <string.h>

#include "tests/model/memory.h"

static bool is_user(const world *w, uint32_t a, uint32_t b)
{
    const actor *who = &w->actors[a];
    if (who->is_over || who->is_dead)
        return false;
    if (who->role == ACTOR_HOST && b != MODEL_BOXES) {
        uint32_t n = model_now.boxes, h = who->lane;
        return b >= h * n / model_now.hosts && b < (h + 1) * n / model_now.hosts;
    }
    return who->role != ACTOR_PROGRAM || b == MODEL_BOXES;
}

static bool is_user_of(const world *w, uint32_t a, uint32_t b, uint32_t at)
{
    if (b != MODEL_BOXES)
        return is_user(w, a, b);
    return is_user(w, a, b) && (w->actors[a].role == ACTOR_WARP) == (at == AT_DEAD);
}

static uint8_t less(uint8_t index, uint32_t by)
{
    return (uint8_t)(index > by ? index - by : 0);
}

static void drop_old(world *w, uint32_t b, uint32_t at)
{
    word *x = &w->boxes[b].words[at];
    uint32_t old = x->count - 1u;
    for (uint32_t a = 0; a < w->actor_count; a++)
        if (is_user_of(w, a, b, at) && w->actors[a].now.of[b][at] < old)
            old = w->actors[a].now.of[b][at];
    if (!old)
        return;
    memmove(&x->m[0], &x->m[old], (x->count - old) * sizeof x->m[0]);
    x->count = (uint8_t)(x->count - old);
    for (uint32_t a = 0; a < w->actor_count; a++) {
        actor *who = &w->actors[a];
        who->now.of[b][at] = less(who->now.of[b][at], old);
        who->released.of[b][at] = less(who->released.of[b][at], old);
        who->seen.of[b][at] = less(who->seen.of[b][at], old);
    }
    for (uint32_t n = 0; n < model_words.count; n++) {
        word *y = &w->boxes[b].words[model_words.at[n]];
        for (uint32_t k = 0; k < y->count; k++)
            if (y->m[k].has_view == VIEW_BOX)
                y->m[k].view[at] = less(y->m[k].view[at], old);
    }
}

// Nobody asks how a thread has ended; but a call that is served twice is found after it, too.
static void forget_end(const world *w, actor *who)
{
    if (model_now.is_raw)
        return;
    who->local = 0;
    if (!model_now.is_send)
        memset(who->outcome, 0, sizeof who->outcome);
    if (!model_now.is_send && is_host_dead(w))
        memset(who->served, 0, sizeof who->served);
}

static void forget_word(world *w, uint32_t b, uint32_t at)
{
    w->boxes[b].words[at].count = 1;
    memset(&w->boxes[b].words[at].m[0], 0, sizeof(message));
    for (uint32_t a = 0; a < w->actor_count; a++) {
        actor *who = &w->actors[a];
        who->now.of[b][at] = who->released.of[b][at] = who->seen.of[b][at] = 0;
    }
    for (uint32_t n = 0; n < model_words.count; n++) {
        word *x = &w->boxes[b].words[model_words.at[n]];
        for (uint32_t k = 0; k < x->count; k++)
            x->m[k].view[at] = 0;
    }
}

// What callers tell a dead host nobody will read.
static void forget_requests(world *w)
{
    for (uint32_t b = 0; b < model_now.boxes; b++)
        for (uint32_t n = 0; n < model_words.count; n++)
            if (is_of_request(model_words.at[n]) || model_words.at[n] == AT_CANCEL)
                forget_word(w, b, model_words.at[n]);
}

static void forget_views(world *w)
{
    for (uint32_t a = 0; a < w->actor_count; a++) {
        actor *who = &w->actors[a];
        if (who->is_over || who->is_dead) {
            memset(&who->now, 0, sizeof who->now);
            memset(&who->released, 0, sizeof who->released);
            memset(&who->seen, 0, sizeof who->seen);
            memset(who->tags, 0, sizeof who->tags);
            who->held = 0;
            who->stored = 0;
            forget_end(w, who);
        }
        for (uint32_t b = 0; b <= MODEL_BOXES; b++)
            if (!is_user(w, a, b))
                memset(who->now.of[b], 0, AT_WORDS);
    }
    // A view that says nothing is none.
    static const uint8_t nothing[AT_WORDS];
    for (uint32_t b = 0; b <= MODEL_BOXES; b++)
        for (uint32_t n = 0; n < model_words.count; n++) {
            word *x = &w->boxes[b].words[model_words.at[n]];
            for (uint32_t k = 0; k < x->count; k++)
                if (x->m[k].has_view == VIEW_BOX && memcmp(x->m[k].view, nothing, AT_WORDS) == 0)
                    x->m[k].has_view = VIEW_NONE;
        }
}

static void add_sign(uint64_t *signs, uint8_t tag, uint32_t where)
{
    if (!tag)
        return;
    uint64_t *sign = &signs[(tag - 1) / MODEL_CALLS], call = (tag - 1u) % MODEL_CALLS;
    *sign = (*sign ^ where ^ call << 24) * UINT64_C(0x9e3779b97f4a7c15);
    *sign ^= *sign >> 32;
}

// Where the tags of each warp are: warps that are alike but for that have an order, too.
static void sign(const world *w, uint64_t *signs)
{
    memset(signs, 0, MODEL_WARPS * sizeof *signs);
    for (uint32_t a = model_now.warps * model_now.lanes; a < w->actor_count; a++)
        for (uint32_t at = 0; at < AT_WORDS; at++)
            add_sign(signs, w->actors[a].tags[at], 1u << 23 | a << 8 | at);
    for (uint32_t b = 0; b < model_now.boxes; b++)
        for (uint32_t n = 0; n < model_words.count; n++) {
            const word *x = &w->boxes[b].words[model_words.at[n]];
            for (uint32_t k = 0; k < x->count; k++)
                add_sign(signs, x->m[k].tag, b << 16 | n << 8 | k);
        }
}

static uint8_t renamed(uint8_t tag, const uint8_t *place)
{
    if (!tag)
        return 0;
    return (uint8_t)(place[(tag - 1) / MODEL_CALLS] * MODEL_CALLS + (tag - 1) % MODEL_CALLS + 1);
}

static bool are_in_order(const world *w, uint32_t left, uint32_t right, uint64_t *signs,
                         bool *has_signs)
{
    uint32_t lanes = model_now.lanes;
    int which = memcmp(&w->actors[left * lanes], &w->actors[right * lanes], lanes * sizeof(actor));
    if (which || model_now.is_raw)
        return which <= 0;
    if (!*has_signs)
        sign(w, signs);
    *has_signs = true;
    return signs[left] <= signs[right];
}

static void sort_warps(world *w)
{
    uint64_t signs[MODEL_WARPS];
    bool has_signs = false;
    uint8_t order[MODEL_WARPS], place[MODEL_WARPS];
    uint32_t lanes = model_now.lanes;
    bool is_sorted = true;
    for (uint8_t n = 0; n < model_now.warps; n++) {
        uint8_t at = n;
        for (; at > 0; at--) {
            if (are_in_order(w, order[at - 1], n, signs, &has_signs))
                break;
            order[at] = order[at - 1];
            is_sorted = false;
        }
        order[at] = n;
    }
    if (is_sorted)
        return;
    actor old[MODEL_WARPS * MODEL_LANES];
    memcpy(old, w->actors, model_now.warps * lanes * sizeof(actor));
    for (uint8_t n = 0; n < model_now.warps; n++) {
        memcpy(&w->actors[n * lanes], &old[order[n] * lanes], lanes * sizeof(actor));
        place[order[n]] = n;
    }
    for (uint32_t a = model_now.warps * lanes; a < w->actor_count; a++)
        for (uint32_t at = 0; at < AT_WORDS; at++)
            w->actors[a].tags[at] = renamed(w->actors[a].tags[at], place);
    for (uint32_t b = 0; b < model_now.boxes; b++)
        for (uint32_t n = 0; n < model_words.count; n++) {
            word *x = &w->boxes[b].words[model_words.at[n]];
            for (uint32_t k = 0; k < x->count; k++)
                x->m[k].tag = renamed(x->m[k].tag, place);
        }
}

void world_tidy(world *w)
{
    for (uint32_t b = 0; b <= MODEL_BOXES; b++)
        for (uint32_t n = 0; n < model_words.count; n++)
            if (w->boxes[b].words[model_words.at[n]].count > 1)
                drop_old(w, b, model_words.at[n]);
    forget_views(w);
    if (!model_now.is_raw && model_now.hosts == 1 && is_host_dead(w))
        forget_requests(w);
    if (model_now.warps > 1)
        sort_warps(w);
}
