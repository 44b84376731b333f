// One call of a host function that came through a mailbox: words become arguments, counted bytes
// are gathered from slices, results become words again. Everything comes from a GPU and is checked
// before it is used. Start at serve_call.
#include <stdio.h>
#include <stdlib.h>

#include "rt/channel/server.h"

_Static_assert(MAILBOX_ROWS == (int)HOST_FRAME_WORDS &&
                   (int)MAILBOX_MOST_COUNTED == (int)HOST_MOST_COUNTED &&
                   (int)MAILBOX_SITE == (int)HOST_SITE_NUMBERS &&
                   MAILBOX_RING_LEAST == CHANNEL_RING_LEAST &&
                   MAILBOX_RING_ALIGN == CHANNEL_RING_ALIGN,
               "the emitted code knows these by other names");

enum { FAR_RECORD = 16 }; // bytes in the place of a large object

bool serve_row_init(serve_row *row, kiln_module *m, uint32_t site, uint32_t first)
{
    *row = (serve_row){.m = m, .site = site};
    if (m->sites[site].op != IR_HOST || !host_read(m->sites[site].text, &row->shape))
        return false;
    host_rows r = row->rows = host_rows_of(&row->shape);
    uint32_t bulk = r.counted ? MAILBOX_IS_BULK : 0, who = r.has_who ? MAILBOX_HAS_WHO : 0;
    row->kinds[MAILBOX_SITE_CALL] =
        MAILBOX_KIND(first + MAILBOX_SITE_CALL, r.out, r.in) | bulk | who;
    if (bulk) {
        row->kinds[MAILBOX_SITE_SEND] = MAILBOX_KIND(first + MAILBOX_SITE_SEND, r.out, 1) | bulk;
        row->kinds[MAILBOX_SITE_FETCH] = MAILBOX_KIND(first + MAILBOX_SITE_FETCH, r.out, 3) | bulk;
    }
    return r.out <= MAILBOX_ROWS && r.in <= MAILBOX_ROWS;
}

// --- counted bytes
void serve_bytes_free(serve_bytes *bytes)
{
    for (uint32_t l = 0; bytes && l < MAILBOX_LANES; l++)
        free(bytes->at[l]);
    free(bytes);
}

static bool make_room(serve_bytes *b, uint32_t lane, uint32_t len)
{
    if (len <= b->cap[lane])
        return true;
    uint32_t cap = len < MAILBOX_MOST_BYTES / 2 ? len * 2 : MAILBOX_MOST_BYTES;
    uint8_t *grown = realloc(b->at[lane], cap);
    if (!grown)
        return false;
    b->at[lane] = grown;
    b->cap[lane] = cap;
    return true;
}

// Takes a lane's bytes out of the slice. `place` and `len` are the last words of its request.
static uint32_t take_bytes(serve_bytes *b, const uint64_t *slice, uint32_t lane, uint32_t place,
                           uint32_t len)
{
    uint32_t from = place & ((1u << MAILBOX_FAR_AT) - 1);
    if (place & MAILBOX_START) {
        b->len[lane] = b->back[lane] = 0;
        b->far[lane] = (uint8_t)(place >> MAILBOX_FAR_AT);
    }
    if (from > MAILBOX_DATA || from % 16 || len > MAILBOX_DATA - from || len % 16 ||
        len > MAILBOX_MOST_BYTES - b->len[lane])
        return MAILBOX_BAD;
    if (!make_room(b, lane, b->len[lane] + len))
        return SERVER_NO_MEMORY;
    if (len)
        memcpy(b->at[lane] + b->len[lane], (const uint8_t *)slice + from, len);
    b->len[lane] += len;
    return MAILBOX_OK;
}

// The lane's next counted object, of so many: of a large one the address has come.
static bool is_far(const serve_bytes *b, uint32_t lane, uint32_t *count)
{
    return b->far[lane] >> (*count)++ & 1;
}

// Only what the kernel gets back stays, moved together.
static void keep_back(serve_bytes *b, uint32_t lane, const serve_row *row, const host_lane *call)
{
    uint32_t from = 0, count = 0;
    b->back[lane] = 0;
    for (uint32_t p = 0; p < row->shape.param_count; p++) {
        const host_param *param = &row->shape.params[p];
        if (!host_is_counted(param->kind))
            continue;
        uint32_t len = mailbox_padded((uint32_t)call->in[param->first + 1]);
        if (is_far(b, lane, &count)) {
            from += FAR_RECORD;
            continue;
        }
        if (param->kind == 'm' && len) {
            memmove(b->at[lane] + b->back[lane], b->at[lane] + from, len);
            b->back[lane] += len;
        }
        from += len;
    }
}

// The next bytes of each lane into the slice: of lane l those from got[l] on. `row` and the one
// after it tell the lanes where.
static void give_bytes(const serve_bytes *b, uint64_t *slice, const uint32_t *got,
                       mailbox_packet *call, uint32_t row)
{
    uint32_t users = 0, rank = 0;
    for (uint32_t l = 0; l < MAILBOX_LANES; l++)
        users += (call->lanes >> l & 1) && got[l] < b->back[l];
    uint32_t part = MAILBOX_DATA / (users ? users : 1) / 64 * 64;
    for (uint32_t l = 0; l < MAILBOX_LANES; l++) {
        bool has_any = (call->lanes >> l & 1) && got[l] < b->back[l];
        uint32_t len = has_any ? mailbox_least(b->back[l] - got[l], part) : 0;
        uint32_t place = has_any ? part * rank++ : 0;
        if (len)
            memcpy((uint8_t *)slice + place, b->at[l] + got[l], len);
        call->words[row][l] = place;
        call->words[row + 1][l] = len;
    }
}

// --- words
// Who calls. A block has at least one thread in each direction.
static host_group group_of(const serve_row *row, mailbox_packet *call)
{
    host_group g = {.lanes = call->lanes, .size = {1, 1}, .words = call->words};
    const uint32_t *who = call->who;
    if (!row->rows.has_who)
        return g;
    g.lane = (uint32_t)__builtin_ctz(call->lanes);
    for (uint32_t k = 0; k < 3; k++)
        g.thread[k] = who[0] >> 10 * k & 1023;
    for (uint32_t k = 0; k < 2; k++)
        g.size[k] = (who[1] >> 10 * k & 1023) + 1;
    g.block[0] = who[2];
    g.block[1] = who[3] & 65535;
    g.block[2] = who[3] >> 16;
    return g;
}

// The operands and who calls; false: the counted bytes are not those that were sent.
static bool read_request(const serve_row *row, const serve_bytes *bytes, mailbox_packet *call,
                         uint32_t lane, host_lane *out)
{
    const host_shape *s = &row->shape;
    uint32_t w = 0, count = 0;
    uint64_t from = 0;
    for (uint32_t k = 0; k < s->in_count; k++) {
        const host_param *param = &s->params[s->in[k].param];
        if (host_is_counted(param->kind)) {
            if (k != param->first)
                continue;
            uint32_t len = call->words[w++][lane];
            out->in[k] = 0;
            out->in[k + 1] = len;
            out->counted[s->in[k].param] = len ? bytes->at[lane] + from : NULL;
            from += is_far(bytes, lane, &count) ? FAR_RECORD : ((uint64_t)len + 15) / 16 * 16;
        } else {
            out->in[k] = call->words[w++][lane];
            if (host_words(s->in[k].type) == 2)
                out->in[k] |= (uint64_t)call->words[w++][lane] << 32;
        }
    }
    host_group who = group_of(row, call);
    host_go_to(&who, lane);
    memcpy(out->thread, who.thread, sizeof out->thread);
    memcpy(out->block, who.block, sizeof out->block);
    return !row->rows.counted || (from == bytes->len[lane] && host_are_counted(s, out));
}

static void write_reply(const serve_row *row, const host_lane *from, uint32_t lane,
                        mailbox_packet *call)
{
    const host_shape *s = &row->shape;
    uint32_t w = 1;
    for (uint32_t k = 0; k < s->out_count; k++) {
        call->words[w++][lane] = (uint32_t)from->out[k];
        if (host_words(s->out[k].type) == 2)
            call->words[w++][lane] = (uint32_t)(from->out[k] >> 32);
    }
}

static void note_stop(const serve_row *row, const uint32_t thread[3], const uint32_t block[3],
                      const char *why, server_stop *stop)
{
    if (stop->m)
        return;
    stop->m = row->m;
    stop->site = row->site;
    memcpy(stop->thread, thread, sizeof stop->thread);
    memcpy(stop->block, block, sizeof stop->block);
    snprintf(stop->why, sizeof stop->why, "%s", why);
}

// All lanes in one loop, where no counted objects go and come and no lane may wait for another.
static bool call_all(const serve_row *row, mailbox_packet *call, server_stop *stop)
{
    const host_site *site = host_site_of(row->m, row->site);
    if (!site || row->rows.counted || host_is_together(site))
        return false;
    host_group who = group_of(row, call);
    char why[sizeof stop->why];
    why[0] = 0;
    if (!host_call_group(row->m->sites[row->site].kernel, site, &who, why, sizeof why)) {
        note_stop(row, who.thread, who.block, why, stop);
        for (uint32_t l = who.lane; l < MAILBOX_LANES; l++) // nobody asks for those that follow
            call->words[0][l] = SERVER_STOPPED;
    }
    return true;
}

// --- large objects: the host's copies of them
typedef struct far_object {
    uint8_t *at;
    uint64_t address;
    uint32_t bytes;
    // is_taken: of far->take; is_lent: in the wide slice; is_back: it is copied to where it was
    bool is_taken, is_lent, is_back;
} far_object;
typedef struct far_objects {
    const serve_place *place;
    const server_far *from;
    uint32_t count;
    far_object of[MAILBOX_MOST_COUNTED];
} far_objects;

static void far_free(far_objects *all)
{
    for (uint32_t n = 0; n < all->count; n++)
        if (all->of[n].is_taken)
            all->from->give(all->from->user, all->of[n].at, all->of[n].bytes);
        else if (!all->of[n].is_lent)
            free(all->of[n].at);
}

// The GPU has brought it. If it is to be copied back, it must be where copies reach.
static uint32_t far_find(const far_objects *all, uint32_t place, far_object *o)
{
    const serve_place *p = all->place;
    uint64_t from = ((uint64_t)(place & ~MAILBOX_FETCHED) - 1) * 16 + (o->address & 15);
    if (from > p->wide_bytes || o->bytes > p->wide_bytes - from || o->bytes < MAILBOX_LEAST_WIDE)
        return MAILBOX_BAD;
    o->is_back = o->is_back && !(place & MAILBOX_FETCHED);
    if (o->is_back && (!all->from || !all->from->has(all->from->user, o->address, o->bytes)))
        return MAILBOX_NEAR;
    o->at = p->wide + from;
    o->is_lent = true;
    return MAILBOX_OK;
}

static uint32_t far_fetch(const server_far *from, far_object *o)
{
    if (!from || !from->has(from->user, o->address, o->bytes))
        return MAILBOX_NEAR;
    o->at = from->take(from->user, o->bytes);
    o->is_taken = o->at != NULL;
    if (!o->at)
        o->at = malloc(o->bytes);
    return o->at ? MAILBOX_OK : SERVER_NO_MEMORY;
}

// In the place of a large object stands its address: the call gets a copy of it.
static uint32_t far_copy(const serve_row *row, const serve_bytes *bytes, uint32_t lane,
                         host_lane *one, far_objects *all)
{
    const server_far *from = all->from;
    uint32_t count = 0;
    for (uint32_t p = 0; p < row->shape.param_count; p++) {
        const host_param *param = &row->shape.params[p];
        if (!host_is_counted(param->kind) || !is_far(bytes, lane, &count))
            continue;
        uint32_t len = (uint32_t)one->in[param->first + 1];
        uint64_t record[2];
        if (!len)
            return MAILBOX_BAD;
        memcpy(record, one->counted[p], sizeof record);
        uint32_t place = (uint32_t)(record[1] >> 32);
        if ((uint32_t)record[1] != len || len > MAILBOX_MOST_BYTES ||
            all->count == MAILBOX_MOST_COUNTED)
            return MAILBOX_BAD;
        far_object *o = &all->of[all->count];
        *o = (far_object){.address = record[0], .bytes = len, .is_back = param->kind == 'm'};
        uint32_t status = place ? far_find(all, place, o) : far_fetch(from, o);
        if (status)
            return status;
        all->count++;
        if (!place && !from->copy(from->user, o->at, o->address, len, false))
            return MAILBOX_NEAR;
        one->counted[p] = o->at;
    }
    return MAILBOX_OK;
}

static uint32_t start_one(const serve_row *row, serve_bytes *bytes, uint32_t lane,
                          far_objects *large, mailbox_packet *call, host_lane *one)
{
    if (!host_site_of(row->m, row->site) || !read_request(row, bytes, call, lane, one))
        return MAILBOX_BAD;
    return far_copy(row, bytes, lane, one, large);
}

static uint32_t end_one(const serve_row *row, serve_bytes *bytes, uint32_t lane,
                        const far_objects *large, mailbox_packet *call, const host_lane *one)
{
    for (uint32_t n = 0; n < large->count; n++)
        if (large->of[n].is_back &&
            !large->from->copy(large->from->user, large->of[n].at, large->of[n].address,
                               large->of[n].bytes, true))
            return MAILBOX_BAD;
    write_reply(row, one, lane, call);
    if (row->rows.counted)
        keep_back(bytes, lane, row, one);
    return MAILBOX_OK;
}

static uint32_t call_one(const serve_row *row, serve_bytes *bytes, uint32_t lane,
                         const serve_place *place, mailbox_packet *call, server_stop *stop)
{
    far_objects large; // to clear it takes longer than a call
    large.place = place;
    large.from = place->far;
    large.count = 0;
    host_lane one;
    char why[sizeof stop->why];
    why[0] = 0;
    uint32_t status = start_one(row, bytes, lane, &large, call, &one);
    if (!status && !host_call(row->m->sites[row->site].kernel, host_site_of(row->m, row->site),
                              &one, why, sizeof why)) {
        note_stop(row, one.thread, one.block, why, stop);
        status = SERVER_STOPPED;
    }
    if (!status)
        status = end_one(row, bytes, lane, &large, call, &one);
    far_free(&large);
    return status;
}

// All lanes that have no status yet, by one call of the function.
static void call_together(const serve_row *row, serve_bytes *bytes, const serve_place *place,
                          mailbox_packet *call, uint32_t lanes)
{
    far_objects large[MAILBOX_LANES];
    host_lane all[MAILBOX_LANES], *given[MAILBOX_LANES] = {NULL};
    uint32_t count = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t l = word_lowest(left);
        large[l].place = place;
        large[l].from = place->far;
        large[l].count = 0;
        call->words[0][l] = start_one(row, bytes, l, &large[l], call, &all[l]);
        if (!call->words[0][l])
            given[count++] = &all[l];
    }
    host_call_together(row->m->sites[row->site].kernel, host_site_of(row->m, row->site), given,
                       count);
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t l = word_lowest(left);
        if (!call->words[0][l])
            call->words[0][l] = end_one(row, bytes, l, &large[l], call, &all[l]);
        far_free(&large[l]);
    }
}

void serve_call(const serve_row *row, serve_bytes *bytes, const serve_place *place,
                mailbox_packet *call, server_stop *stop)
{
    uint32_t what = MAILBOX_FUNCTION(call->kind) - MAILBOX_FUNCTION(row->kinds[MAILBOX_SITE_CALL]);
    if (what == MAILBOX_SITE_CALL && call_all(row, call, stop))
        return;
    uint32_t out = row->rows.out, got[MAILBOX_LANES] = {0}, waiting = 0;
    const host_site *site = host_site_of(row->m, row->site);
    bool is_together = what == MAILBOX_SITE_CALL && site && host_is_together(site);
    for (uint32_t l = 0; l < MAILBOX_LANES; l++) {
        uint32_t status = MAILBOX_OK;
        if (!(call->lanes >> l & 1))
            continue;
        if (row->rows.counted && what != MAILBOX_SITE_FETCH)
            status = take_bytes(bytes, place->slice, l, call->words[out - 2][l],
                                call->words[out - 1][l]);
        else if (what == MAILBOX_SITE_FETCH)
            got[l] = call->words[out - 1][l];
        if (!status && is_together)
            waiting |= UINT32_C(1) << l;
        else if (!status && what == MAILBOX_SITE_CALL)
            status = call_one(row, bytes, l, place, call, stop);
        if (!(waiting >> l & 1)) // else its words are still the request
            call->words[0][l] = status;
    }
    if (waiting)
        call_together(row, bytes, place, call, waiting);
    if (what == MAILBOX_SITE_FETCH)
        give_bytes(bytes, place->slice, got, call, 1);
    else if (what == MAILBOX_SITE_CALL && row->rows.counted && row->rows.in)
        give_bytes(bytes, place->slice, got, call, row->rows.in - 2);
}
