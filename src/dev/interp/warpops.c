// Operations among the lanes of a warp. A lane that does not take part gives nothing: shuffles
// from it keep the lane's own value, votes do not count it.
#include "dev/interp/engine.h"

static uint32_t shuffle_source(ir_shuffle how, uint32_t lane, uint32_t by, uint32_t width)
{
    uint32_t first = lane & ~(width - 1), last = first + width - 1;
    switch (how) {
    case IR_SH_IDX: return first | (by & (width - 1));
    case IR_SH_UP: return by <= lane - first ? lane - by : lane;
    case IR_SH_DOWN: return by <= last - lane ? lane + by : lane;
    case IR_SH_XOR: return (lane ^ by) >= first && (lane ^ by) <= last ? lane ^ by : lane;
    }
    return lane;
}

uint32_t warp_shuffle_source(const warp *w, const code *c, uint32_t lane)
{
    const lane_u32 *by = slot_at(w, c->b), *widths = slot_at(w, c->c);
    uint32_t width = widths[lane];
    if (!width || width > LANES || (width & (width - 1)))
        width = LANES;
    return shuffle_source((ir_shuffle)c->align, lane, by[lane], width);
}

void warp_shuffle(warp *w, const code *c)
{
    const uint8_t *value = slot_at(w, c->a);
    uint8_t *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t from = warp_shuffle_source(w, c, lane);
        if (!(w->active >> from & 1))
            from = lane;
        memcpy(d + lane * c->size, value + from * c->size, c->size);
    }
}

static void match(warp *w, const code *c)
{
    const uint8_t *value = slot_at(w, c->a);
    lane_u32 *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t same = 0;
        for (uint32_t other = 0; other < LANES; other++)
            if (!memcmp(value + lane * c->size, value + other * c->size, c->size))
                same |= 1u << other;
        d[lane] = same & w->active;
    }
}

void warp_vote(warp *w, const code *c)
{
    if (c->op == CODE_MATCH) {
        match(w, c);
        return;
    }
    uint32_t mask = c->op == CODE_BALLOT ? lane_bits(slot_at(w, c->a)) & w->active : w->active;
    lane_u32 *d = slot_at(w, c->d);
    for (uint32_t lane = 0; lane < LANES; lane++)
        d[lane] = mask;
}
