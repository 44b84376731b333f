// Which kernel runs a forward call of attention, and in which tile or parts: what the description
// asks for, what the tuner has found (host_tuned.c), or what the model says. Start reading at
// forward_choose, the last function.
#include "ops/attention/host_forward.h"
#include "ops/attention/sizes.h"

bool forward_has_narrow_keys(const attention *a)
{
    return a->key_type != a->type;
}

// --- sm_90a
// Measured on an H200 with 1k, 4k and 16k keys (bench/gpu/attention.py --variants); the first row
// that fits is taken.
static const struct choice {
    uint32_t head_dim, min_keys;
    bool is_full, is_causal; // for which it is
    forward_tile tile;
} choices[] = {
    {64, 2048, true, false, {3, 128, 2, 0, .has_turns = true}},
    {64, 2048, false, true, {3, 128, 2, 2, .has_turns = true}},
    {64, 0, true, true, {4, 64, 2, 1, .has_turns = false}},
    {128, 2048, true, false, {3, 80, 1, 1, .has_turns = false}},
    {128, 0, true, false, {2, 128, 2, 2, .has_turns = false}},
    {128, 2048, false, true, {2, 128, 2, 2, .is_late = true}},
    {128, 0, false, true, {2, 128, 2, 1, .has_turns = true}},
    {192, 0, true, false, {2, 96, 1, 2, .has_turns = false}},
    {192, 0, false, true, {2, 96, 1, 1, .is_late = true}},
    {256, 0, true, false, {2, 64, 1, 2, .has_turns = false}},
    {256, 0, false, true, {2, 64, 1, 0, .is_late = true}},
};

// With a mask: what its numbers leave registers for.
static const struct choice masked_choices[] = {
    {64, 0, true, true, {2, 128, 2, 1, .has_turns = false}},
    {128, 0, true, true, {2, 128, 1, 1, .has_turns = false}},
    {192, 0, true, true, {2, 64, 1, 0, .is_late = true}},
    {256, 0, true, true, {2, 64, 1, 0, .is_late = true}},
};

// With no more than a unit of work for each multiprocessor no larger tiles are better: what a
// multiprocessor does at a time limits it, its exponentials before all.
bool forward_has_few_units(const attention *a, uint32_t queries, bool has_pairs)
{
    uint32_t tiles = attention_tiles(a, a->queries, queries);
    uint64_t units = has_pairs ? ceil_div(tiles, 2) : tiles;
    return units * a->batch * a->heads <= attention_processors(a);
}

// Blocks of keys that the tile `index` of a head reads.
static uint64_t keys_of_tile(const attention *a, const forward_tile *t, uint64_t index)
{
    uint64_t end = (index + 1) * t->warpgroups * 64 + a->keys; // of what its last query sees …
    uint64_t seen = end > a->queries ? end - a->queries : 0;
    seen = seen < a->keys ? seen : a->keys;
    return (seen + t->keys - 1) / t->keys;
}

bool forward_is_dealt(const attention *a, const forward_tile *t)
{
    enum { MOST_ROUNDS = 8, GAIN = 10 }; // of many rounds nothing is won; a tenth pays for the rest
    uint64_t tiles = attention_tiles(a, a->queries, t->warpgroups * 64);
    uint64_t heads = (uint64_t)a->batch * a->heads, places = attention_processors(a);
    uint64_t rounds = (heads * ((tiles + 1) / 2) + places - 1) / places;
    if (!a->is_causal || a->is_masked || t->warpgroups == 1 || rounds < 2 || rounds > MOST_ROUNDS)
        return false;
    uint64_t longest = keys_of_tile(a, t, tiles - 1), pair = longest + keys_of_tile(a, t, 0);
    uint64_t all = heads * tiles, last_round = (all - 1) / places * places;
    uint64_t mean = (all * pair + 2 * places - 1) / (2 * places); // of a block, if all were equal
    uint64_t dealt = mean + keys_of_tile(a, t, tiles - 1 - last_round / heads);
    return dealt * GAIN < rounds * pair * (GAIN - 1);
}

// Equal tiles in few rounds: a tile of another size may leave fewer multiprocessors without work in
// the last one. Percent: what it takes for a row, beside the best tile of long calls.
static const struct tile_cost {
    uint32_t head_dim, percent;
    forward_tile tile;
} tile_costs[] = {{64, 100, {3, 128, 2, 0, .has_turns = true}},
                  {64, 105, {4, 64, 2, 1, .has_turns = false}},
                  {64, 112, {2, 128, 2, 1, .has_turns = false}},
                  {128, 100, {3, 80, 1, 1, .has_turns = false}},
                  {128, 106, {2, 128, 2, 2, .has_turns = false}}};

static uint64_t rows_in_turn(const attention *a, const forward_tile *t, uint32_t percent)
{
    uint64_t tiles = attention_tiles(a, a->queries, t->warpgroups * 64);
    uint64_t units = (uint64_t)a->batch * a->heads * tiles, places = attention_processors(a);
    return (units + places - 1) / places * t->warpgroups * percent;
}

static forward_tile fuller_tile(const attention *a, forward_tile t)
{
    enum { GAIN = 12 };
    uint64_t best = 0;
    for (size_t n = 0; n < COUNT(tile_costs); n++)
        if (tile_costs[n].head_dim == attention_whole_dim(a) &&
            tile_costs[n].tile.warpgroups == t.warpgroups)
            best = rows_in_turn(a, &t, tile_costs[n].percent);
    best -= best / GAIN;
    for (size_t n = 0; n < COUNT(tile_costs); n++) {
        const struct tile_cost *c = &tile_costs[n];
        uint64_t taken = rows_in_turn(a, &c->tile, c->percent);
        if (c->head_dim == attention_whole_dim(a) && taken < best) {
            best = taken;
            t = c->tile;
        }
    }
    return t;
}

static forward_tile tile_for(const attention *a, const kiln_attention_desc *d)
{
    const struct choice *c = a->is_masked ? masked_choices : choices;
    while (c->head_dim != attention_whole_dim(a) || c->min_keys > a->keys ||
           !(a->is_causal ? c->is_causal : c->is_full))
        c++;
    forward_tile t = c->tile;
    if (t.warpgroups > 2 && forward_has_few_units(a, t.warpgroups * 64, attention_has_pairs(a)))
        t = (forward_tile){2, 128, .q_stages = 2, .ahead = 1};
    else if (!a->is_masked && !a->is_causal && t.warpgroups > 1)
        t = fuller_tile(a, t);
    if (a->keys <= 64 && attention_whole_dim(a) <= 128)
        t = (forward_tile){2, 64, .q_stages = 2, .ahead = 1};
    if (!a->is_masked && forward_has_few_units(a, 64, attention_has_pairs(a)))
        t = (forward_tile){1, t.keys, .q_stages = 1, .ahead = 1};
    if (d->tile_queries && d->tile_queries != t.warpgroups * 64) {
        t = (forward_tile){d->tile_queries / 64, 128, .q_stages = 1, .ahead = 1};
        if (attention_whole_dim(a) > 128 || t.warpgroups == 4)
            t.keys = 64;
        else if (attention_whole_dim(a) == 128 && t.warpgroups == 3)
            t.keys = 80;
    }
    if (d->tile_keys && d->tile_keys != t.keys) {
        t.keys = d->tile_keys;
        t.q_stages = 1;
    }
    return t;
}

// Can forward_sm90.c do it? If not, the obstacle says why.
static bool can_sm90(forward_job *j)
{
    const attention *a = &j->a;
    const kiln_attention_desc *d = j->desc;
    const char *why = NULL;
    if (!a->k->caps.has_wgmma)
        why = "the device is not sm_90a";
    else if (d->lengths.buffer || d->pages.buffer)
        why = "it takes no lengths and no pages";
    else if (attention_sm90_mask_obstacle(a))
        why = attention_sm90_mask_obstacle(a);
    else if (forward_has_narrow_keys(a))
        why = "it takes no fp8 cache";
    else if (!a->k->caps.has_tensor_copies)
        why = "the device has no tensor maps";
    else if (a->type == KILN_F32)
        why = "its tensors are bf16 or f16";
    else if (a->head_dim % 8 || a->head_dim < 32 || a->head_dim > 256)
        why = "head_dim is not a multiple of 8 from 32 to 256";
    else if (d->tile_queries && d->tile_queries != 64 && d->tile_queries != 128 &&
             d->tile_queries != 192 && (d->tile_queries != 256 || a->head_dim > 64))
        why = "tile_queries is not 64, 128, 192 or, with head_dim 64, 256";
    else if (d->tile_keys && (d->tile_keys % 16 || d->tile_keys < 64 || d->tile_keys > 192))
        why = "tile_keys is not a multiple of 16 from 64 to 192";
    if (!attention_can(&j->a, why) || !attention_is_aligned(&j->a, j->tensors, j->count))
        return false;
    forward_tile t = tile_for(a, d);
    bool has_room; // what does not compile is told by the launch
    if ((d->tile_queries || d->tile_keys) && !forward_has_room(j, &t, &has_room) && !has_room)
        return attention_can(&j->a, "the tile does not fit in shared memory");
    return true;
}

// --- few queries
// Rows of q that share a head of k and v.
static uint64_t shared_rows(const attention *a)
{
    return (uint64_t)(a->heads / a->kv_heads) * a->queries;
}

// Can decode.c do it? If not, the obstacle says why.
static bool can_decode(forward_job *j)
{
    const attention *a = &j->a;
    const char *why = NULL;
    if (!a->k->caps.has_nv || (a->k->caps.sm && a->k->caps.sm < 80))
        why = "the device is not sm_80 or later";
    else if (a->type == KILN_F32)
        why = "its tensors are bf16 or f16";
    else if (a->head_dim % 8 || a->head_dim > 256)
        why = "head_dim is not a multiple of 8 up to 256";
    else if (shared_rows(a) * a->batch * a->kv_heads > INT32_MAX)
        why = "there are too many rows";
    else if (j->desc->tile_queries || j->desc->tile_keys)
        why = "its tile is fixed";
    else if (a->mask.q_offsets.buffer)
        why = "it takes no offsets";
    else if (forward_has_narrow_keys(a) && a->head_dim % 16)
        why = "head_dim is not a multiple of 16, with an fp8 cache";
    return attention_can(&j->a, why) && attention_is_aligned(&j->a, j->tensors, j->count);
}

// Is reading k and v what takes the time?
static bool has_few_queries(const attention *a)
{
    enum { FEW = 16, SOME = 64 }; // one tile of rows; a few, whose k and v the second cache has
    uint64_t rows = shared_rows(a);
    return rows <= FEW || (rows <= SOME && a->keys >= 16 * a->queries);
}

// The most stages of decode.c up to `wanted` that fit into shared memory: a tile of rows, and for
// each of four warps tiles of keys and values.
static uint32_t decode_stages(const attention *a, uint32_t wanted)
{
    static const uint32_t possible[] = {8, 6, 4, 3, 2};
    enum { WARPS = 4, STATIC_BYTES = 2048 };
    size_t bytes = (size_t)ceil_div(a->head_dim, 64) * DECODE_ROWS * 128, n = 0; // of a tile
    while (n + 1 < COUNT(possible) &&
           (possible[n] > wanted ||
            bytes * (1 + WARPS * 2 * possible[n]) + STATIC_BYTES > a->k->caps.shared_bytes))
        n++;
    return possible[n];
}

static decode_plan units_of(const attention *a)
{
    decode_plan p = {.tiles = ceil_div((uint32_t)shared_rows(a), DECODE_ROWS)};
    p.units = (uint64_t)a->batch * a->kv_heads * p.tiles;
    return p;
}

// As many parts as fill `places` best, while each warp of a part has two groups of keys: the fewest
// of those that are about as good. Returns how full.
static double fill_places(const attention *a, uint64_t places, decode_plan *p)
{
    uint32_t groups = ceil_div(a->keys, DECODE_GROUP), most = groups / 2;
    double best = 0;
    p->parts = 1;
    for (uint32_t parts = 1;
         p->units <= DECODE_TICKETS && (parts == 1 || (parts <= most && parts <= DECODE_PARTS)) &&
         p->units * parts <= places;
         parts++) { // the time is that of the largest part
        double taken = (double)(p->units * groups) / (double)(places * ceil_div(groups, parts));
        if (taken > best + 0.01) {
            best = taken;
            p->parts = parts;
        }
    }
    return best;
}

// Equal shares of the keys of all heads, which follow each other, for so many blocks: more even
// than parts of each head, but most blocks have the end of one head and the start of the next.
static bool can_share(const attention *a, uint64_t places, decode_plan *p)
{
    enum { LEAST = 4, WIDEST = 128 }; // groups of a share; columns that leave registers for more
    uint64_t groups = ceil_div(a->keys, DECODE_GROUP), all = p->units * groups;
    if (a->head_dim > WIDEST || a->is_masked || p->units > DECODE_TICKETS || all < places * LEAST ||
        all > INT32_MAX)
        return false;
    p->shares = (uint32_t)places;
    p->parts = (uint32_t)((groups - 1) / (all / places) + 2); // shares that a head has a piece of
    return p->parts <= DECODE_PARTS;
}

// Groups of keys that a multiprocessor has one after the other, at most, with so many blocks beside
// each other.
static uint64_t most_groups(const attention *a, uint64_t multiprocessors, uint32_t beside,
                            const decode_plan *p)
{
    enum { CUT = 4 }; // what a block loses between two heads; fitted to times of an H200
    uint64_t groups = ceil_div(a->keys, DECODE_GROUP), places = multiprocessors * beside;
    if (p->shares)
        return ((p->units * groups + places - 1) / places + CUT) * beside;
    return (p->units * p->parts + places - 1) / places * ceil_div((uint32_t)groups, p->parts) *
           beside;
}

// Much of K and V is under way, as shared memory holds it: one block a multiprocessor with a deep
// ring, or two with half of it each, where that fills the device better. Of up to 64 columns only
// few heads have one. Shares take two: one multiplies while the other begins its next head. Lengths
// may be far below the keys that there is room for: a head's parts are of its length, shares are
// not.
static decode_plan plan_decode(const attention *a, bool has_lengths, uint32_t multiprocessors)
{
    enum { FEW = 8, LEAST_GAIN = 10 }; // multiprocessors of a head; shares gain a tenth, or more
    decode_plan p = units_of(a), two = p;
    p.stages = decode_stages(a, a->head_dim <= 64 ? 8 : 6);
    two.stages = decode_stages(a, a->head_dim <= 64 ? 6 : 3);
    decode_plan shared = two;
    uint64_t places = (uint64_t)multiprocessors * 2;
    double alone = fill_places(a, multiprocessors, &p), both = fill_places(a, places, &two);
    bool is_alone = a->head_dim > 128 || p.units * FEW <= multiprocessors ||
                    (a->head_dim > 64 && alone > 0 && alone >= both - 0.01);
    if (!is_alone)
        p = two;
    if (has_lengths || !can_share(a, places, &shared))
        return p;
    uint64_t usual = most_groups(a, multiprocessors, is_alone ? 1 : 2, &p);
    return most_groups(a, multiprocessors, 2, &shared) < usual - usual / LEAST_GAIN ? shared : p;
}

bool forward_plan_decode(const attention *a, const forward_choice *c, decode_plan *out)
{
    uint32_t most = ceil_div(a->keys, DECODE_GROUP) / 2;
    *out = units_of(a);
    out->stages = c->stages;
    out->parts = c->parts;
    if (!c->stages || decode_stages(a, c->stages) != c->stages)
        return false;
    if (c->shares)
        return can_share(a, c->shares, out);
    return c->parts == 1 || (c->parts && c->parts <= most && c->parts <= DECODE_PARTS &&
                             out->units <= DECODE_TICKETS && out->units * c->parts <= INT32_MAX);
}

// --- mma
// Can forward_mma.c do it? If not, the obstacle says why.
static bool can_mma(forward_job *j)
{
    const kiln_attention_desc *d = j->desc;
    if (d->lengths.buffer || d->pages.buffer)
        return attention_can(&j->a, "it takes no lengths and no pages");
    if (d->tile_queries || d->tile_keys)
        return attention_can(&j->a, "its tile is fixed");
    if (forward_has_narrow_keys(&j->a))
        return attention_can(&j->a, "it takes no fp8 cache");
    return attention_can_mma(&j->a, j->tensors, j->count, false);
}

// --- choosing
bool forward_can(forward_job *j, forward_way way)
{
    switch (way) {
    case WAY_PORTABLE: return true;
    case WAY_MMA: return can_mma(j);
    case WAY_SM90: return can_sm90(j);
    case WAY_DECODE: return can_decode(j);
    case WAY_COUNT: break;
    }
    return false;
}

// The warpgroups of a block share the registers of a multiprocessor; a thread holds sums, scores
// and weights of its rows.
static bool has_registers(const attention *a, const forward_tile *t)
{
    static const uint32_t most[] = {0, 190, 190, 130, 84}; // by warpgroups; the rest is addresses
    return attention_whole_dim(a) / 2 + t->keys * 3 / 4 <= most[t->warpgroups];
}

static const char *tile_obstacle(const forward_job *j, const forward_tile *t)
{
    bool has_room;
    if (t->warpgroups < 1 || t->warpgroups > 4 || t->keys % 16 || t->keys < 64 || t->keys > 192 ||
        t->q_stages < 1 || t->q_stages > 2 || t->ahead > 2)
        return "there is no such tile";
    if (!has_registers(&j->a, t))
        return "the tile takes too many registers";
    if (forward_has_room(j, t, &has_room))
        return "the kernel does not compile with that tile";
    return has_room ? NULL : "the tile does not fit in shared memory";
}

bool forward_fits(forward_job *j, const forward_choice *c)
{
    attention *a = &j->a;
    decode_plan p;
    bool is_right = true;
    switch (c->way) {
    case WAY_PORTABLE: break;
    case WAY_MMA: is_right = c->warps == 4 || c->warps == attention_mma_warps(a, 0); break;
    case WAY_SM90: return attention_can(a, tile_obstacle(j, &c->tile));
    case WAY_DECODE:
        is_right = forward_plan_decode(a, c, &p) && !(c->shares && j->desc->lengths.buffer);
        break;
    case WAY_COUNT: is_right = false; break;
    }
    return attention_can(a, is_right ? NULL : "there are no such parts, stages or warps");
}

// Kernels that are as fast as they can be belong to devices that are not played.
static kiln_status choose_way(forward_job *j, forward_way *out)
{
    attention *a = &j->a;
    kiln_attention_kernel kernel = j->desc->kernel;
    bool is_fast = kernel == KILN_ATTENTION_BEST && !a->k->caps.is_emulated;
    *out = WAY_DECODE;
    if (kernel == KILN_ATTENTION_DECODE && !can_decode(j))
        return error_set(a->k, KILN_E_UNSUPPORTED, K6038, "%s: the decode kernel cannot: %s", a->op,
                         a->obstacle);
    if (kernel == KILN_ATTENTION_DECODE || (is_fast && has_few_queries(a) && can_decode(j)))
        return KILN_OK;
    bool is_sm90 = false;
    kiln_status status = attention_choose(a, kernel, can_sm90(j), &is_sm90);
    *out = WAY_SM90;
    if (status || is_sm90)
        return status;
    bool is_mma = (is_fast || kernel == KILN_ATTENTION_SM80) && can_mma(j);
    if (kernel == KILN_ATTENTION_SM80 && !is_mma)
        return error_set(a->k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_80 kernel cannot: %s", a->op,
                         a->obstacle);
    *out = is_mma ? WAY_MMA : is_fast && can_decode(j) ? WAY_DECODE : WAY_PORTABLE;
    return KILN_OK;
}

// The tuner's rows are of calls without a mask, a cache or details that are asked for.
static bool can_be_tuned(const forward_job *j)
{
    const kiln_attention_desc *d = j->desc;
    return d->kernel == KILN_ATTENTION_BEST && !j->a.k->caps.is_emulated && !d->tile_queries &&
           !d->tile_keys && !j->a.is_masked && !d->lengths.buffer && !d->pages.buffer &&
           !forward_has_narrow_keys(&j->a) && j->a.type != KILN_F32;
}

static bool take_tuned(forward_job *j, forward_choice *out)
{
    forward_tuned *found = can_be_tuned(j) ? forward_find_tuned(j) : NULL;
    if (!found || (found->is_checked && !found->is_possible) || !forward_can(j, found->choice.way))
        return false;
    if (!found->is_checked)
        found->is_possible = forward_fits(j, &found->choice);
    found->is_checked = true;
    *out = found->choice;
    return found->is_possible;
}

kiln_status forward_choose(forward_job *j, bool takes_tuned, forward_choice *out)
{
    *out = (forward_choice){.way = WAY_PORTABLE};
    if (takes_tuned && take_tuned(j, out))
        return KILN_OK;
    *out = (forward_choice){.way = WAY_PORTABLE};
    const kiln_device_info *device;
    kiln_status status = choose_way(j, &out->way);
    if (status || out->way == WAY_PORTABLE)
        return status;
    if (out->way == WAY_SM90) {
        out->tile = tile_for(&j->a, j->desc);
        return KILN_OK;
    }
    status = op_device(j->a.k, &device);
    if (status)
        return status;
    if (out->way == WAY_MMA) {
        out->warps = attention_mma_warps(&j->a, device->multiprocessors);
        return KILN_OK;
    }
    decode_plan p = plan_decode(&j->a, j->desc->lengths.buffer != NULL, device->multiprocessors);
    out->stages = p.stages;
    out->shares = p.shares;
    out->parts = p.shares ? 0 : p.parts;
    return KILN_OK;
}
