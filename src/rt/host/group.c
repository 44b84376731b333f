// The lanes of a warp call a host function together: rows of words become the arguments of one call
// after the other, or arrays for a function that takes them all at once. Start at host_call_group.
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif
#include <string.h>

#include "rt/host/row.h"

// Where numbers of a lane are: in the rows, and in its arguments or its result.
typedef struct scalar_place {
    uint32_t *row; // of 8 bytes: the upper half is in the next row
    uint8_t *at;
    uint32_t bytes; // 16: four words one after the other
} scalar_place;

static uint32_t find_places(const host_scalar *scalars, uint32_t count, host_object *objects,
                            host_object *result, uint32_t *row, scalar_place *out)
{
    uint32_t found = 0;
    for (uint32_t n = 0; n < count; n++) {
        host_object *o = scalars[n].param == HOST_RESULT ? result : &objects[scalars[n].param];
        out[found++] = (scalar_place){row, o->bytes + scalars[n].offset,
                                      (uint32_t)ir_type_size((ir_type)scalars[n].type)};
        row += host_words(scalars[n].type) * HOST_LANES;
        scalar_place *first = found >= 4 ? &out[found - 4] : NULL;
        bool are_four = first && ((uintptr_t)first->at & 15) == 0;
        for (uint32_t k = 0; are_four && k < 4; k++)
            are_four = first[k].bytes == 4 && first[k].at == first->at + 4 * k;
        if (are_four) {
            first->bytes = 16;
            found -= 3;
        }
    }
    return found;
}

// Four neighbours are one store: a function that reads them as a vector need not wait for four.
static inline void put_four(uint8_t *at, const uint32_t *row, uint32_t lane)
{
    uint32_t a = row[lane], b = row[HOST_LANES + lane], c = row[2 * HOST_LANES + lane],
             d = row[3 * HOST_LANES + lane];
#if defined(__SSE2__)
    _mm_store_si128((__m128i *)(void *)at, _mm_set_epi32((int)d, (int)c, (int)b, (int)a));
#else
    memcpy(at, (const uint32_t[4]){a, b, c, d}, 16);
#endif
}

static inline void put_scalar(const scalar_place *p, uint32_t lane)
{
    uint32_t low = p->row[lane];
    if (p->bytes == 4) {
        memcpy(p->at, &low, 4);
    } else if (p->bytes == 16) {
        put_four(p->at, p->row, lane);
    } else if (p->bytes == 8) {
        uint64_t both = (uint64_t)p->row[HOST_LANES + lane] << 32 | low;
        memcpy(p->at, &both, 8);
    } else if (p->bytes == 2) { // little-endian
        memcpy(p->at, &low, 2);
    } else {
        *p->at = (uint8_t)low;
    }
}

// What a function has just stored is loaded as it was: a part of a larger load would wait.
static inline uint32_t word_at(const uint8_t *at)
{
    return *(const volatile uint32_t *)(const void *)at;
}

static inline void get_scalar(const scalar_place *p, uint32_t lane)
{
    uint32_t words[2] = {0};
    if (p->bytes == 4) {
        words[0] = word_at(p->at);
    } else if (p->bytes == 16) {
        words[0] = word_at(p->at);
        for (uint32_t k = 1; k < 4; k++)
            p->row[k * HOST_LANES + lane] = word_at(p->at + 4 * k);
    } else if (p->bytes == 8) {
        memcpy(words, p->at, 8);
        p->row[HOST_LANES + lane] = words[1];
    } else if (p->bytes == 2) {
        memcpy(words, p->at, 2);
    } else {
        words[0] = *p->at;
    }
    p->row[lane] = words[0];
}

// Who calls next.
static inline void go_to(host_group *g, kiln_host_call *call, uint32_t lane)
{
    uint32_t x = g->thread[0] + (lane - g->lane);
    if (x >= g->size[0]) {
        host_go_to(g, lane);
        memcpy(call->thread, g->thread, sizeof call->thread);
        return;
    }
    g->lane = lane;
    g->thread[0] = x;
    call->thread[0] = x;
}

// `count` words in, one word or nothing back: a constant count makes this the shortest loop.
static inline void call_words(kiln_host_function *function, void *user, kiln_host_call *call,
                              const stop_note *note, host_group *group, uint32_t count)
{
    uint64_t in[2] = {0, 0};
    union {
        uint64_t all;
        uint8_t bytes[8];
    } out;
    void *args[2] = {&in[0], &in[1]};
    uint32_t(*words)[HOST_LANES] = group->words;
    bool has_result = call->result != NULL;
    call->args = args;
    call->result = has_result ? out.bytes : NULL;
    for (uint32_t left = group->lanes; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        go_to(group, call, l);
        for (uint32_t n = 0; n < count; n++)
            in[n] = words[n][l];
        out.all = 0;
        function(user, call);
        if (note->is_set)
            return;
        words[0][l] = 0;
        if (has_result)
            words[1][l] = word_at(out.bytes);
    }
}

// The same with one object of 16 bytes in and one back.
static inline void call_four(kiln_host_function *function, void *user, kiln_host_call *call,
                             const stop_note *note, host_group *group, const scalar_place *in,
                             const scalar_place *out)
{
    uint32_t *status = group->words[0], *to = out->row;
    for (uint32_t left = group->lanes; left; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        go_to(group, call, l);
        put_four(in->at, in->row, l);
        memset(out->at, 0, 16);
        function(user, call);
        if (note->is_set)
            return;
        status[l] = 0;
        for (uint32_t k = 0; k < 4; k++)
            to[k * HOST_LANES + l] = word_at(out->at + 4 * k);
    }
}

static bool are_few_words(const host_site *site)
{
    const host_shape *s = &site->shape;
    bool are = site->is_plain && s->in_count >= 1 && s->in_count <= 2;
    for (uint32_t n = 0; are && n < s->in_count; n++)
        are = ir_type_size((ir_type)s->in[n].type) == 4;
    return are && (!s->out_count || ir_type_size((ir_type)s->out[0].type) == 4);
}

// --- functions that take all calls at once
// Numbers of the lanes that call, one after the other, `stride` bytes apart.
static void gather(const uint32_t *row, uint32_t lanes, uint32_t bytes, uint8_t *to,
                   uint32_t stride)
{
    for (; lanes; lanes &= lanes - 1, to += stride) {
        uint32_t l = (uint32_t)__builtin_ctz(lanes);
        uint64_t both = row[l]; // little-endian
        if (bytes == 8)
            both |= (uint64_t)row[HOST_LANES + l] << 32;
        memcpy(to, &both, bytes);
    }
}

static void scatter(uint32_t *row, uint32_t lanes, uint32_t bytes, const uint8_t *from,
                    uint32_t stride)
{
    for (; lanes; lanes &= lanes - 1, from += stride) {
        uint32_t l = (uint32_t)__builtin_ctz(lanes);
        uint64_t both = 0;
        memcpy(&both, from, bytes);
        row[l] = (uint32_t)both;
        if (bytes == 8)
            row[HOST_LANES + l] = (uint32_t)(both >> 32);
    }
}

// Four neighbours of 4 bytes and all lanes: four rows, or 16 bytes of each lane.
#if defined(__SSE2__)
static inline void turn(const uint8_t *from, size_t from_step, uint8_t *to, size_t to_step)
{
    __m128i a = _mm_load_si128((const void *)from),
            b = _mm_load_si128((const void *)(from + from_step)),
            c = _mm_load_si128((const void *)(from + 2 * from_step)),
            d = _mm_load_si128((const void *)(from + 3 * from_step));
    __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d),
            ab_high = _mm_unpackhi_epi32(a, b), cd_high = _mm_unpackhi_epi32(c, d);
    _mm_store_si128((void *)to, _mm_unpacklo_epi64(ab, cd));
    _mm_store_si128((void *)(to + to_step), _mm_unpackhi_epi64(ab, cd));
    _mm_store_si128((void *)(to + 2 * to_step), _mm_unpacklo_epi64(ab_high, cd_high));
    _mm_store_si128((void *)(to + 3 * to_step), _mm_unpackhi_epi64(ab_high, cd_high));
}
#endif

// Scalars n … n + 3 are such.
static bool are_four(uint32_t fours, uint32_t n, uint32_t lanes)
{
#if defined(__SSE2__)
    return lanes == UINT32_MAX && fours >> n & 1;
#else
    (void)fours, (void)n, (void)lanes;
    return false;
#endif
}

static void gather_four(const uint32_t *rows, uint8_t *to, uint32_t stride)
{
#if defined(__SSE2__)
    enum { ROW = HOST_LANES * sizeof(uint32_t) };
    for (uint32_t l = 0; l < HOST_LANES; l += 4)
        turn((const uint8_t *)(rows + l), ROW, to + (size_t)l * stride, stride);
#else
    (void)rows, (void)to, (void)stride;
#endif
}

static void scatter_four(uint32_t *rows, const uint8_t *from, uint32_t stride)
{
#if defined(__SSE2__)
    enum { ROW = HOST_LANES * sizeof(uint32_t) };
    for (uint32_t l = 0; l < HOST_LANES; l += 4)
        turn(from + (size_t)l * stride, stride, (uint8_t *)(rows + l), ROW);
#else
    (void)rows, (void)from, (void)stride;
#endif
}

// It is one number of 4 bytes, and all lanes call: a row is the array.
static bool is_row(uint32_t lanes, uint32_t size, const host_scalar *only)
{
    return lanes == UINT32_MAX && size == 4 && ir_type_size((ir_type)only->type) == 4;
}

typedef struct arrays {
    _Alignas(16) uint8_t of[HOST_PARAMS][HOST_LANES * HOST_BYTES];
    _Alignas(16) uint8_t result[HOST_LANES * HOST_BYTES];
} arrays;

// Results lie in arrays of their own until the function has returned: their rows may be those of
// arguments.
static void call_many(const char *kernel, const host_site *site, const host_group *group)
{
    const host_shape *s = &site->shape;
    const kiln_host_desc *given = &site->row->given;
    uint32_t lanes = group->lanes, count = (uint32_t)__builtin_popcount(lanes);
    arrays a; // what is not used is not touched
    void *args[HOST_PARAMS + 1];
    uint32_t *row = group->words[0];
    for (uint32_t p = 0; p < s->param_count; p++)
        args[p] = a.of[p];
    for (uint32_t n = 0; n < s->in_count; n++) {
        const host_scalar *scalar = &s->in[n];
        const host_param *param = &s->params[scalar->param];
        if (param->kind == 'v' && is_row(lanes, param->size, scalar)) {
            args[scalar->param] = row;
        } else if (are_four(s->in_fours, n, lanes)) {
            gather_four(row, a.of[scalar->param] + scalar->offset, param->size);
            row += 3 * HOST_LANES;
            n += 3;
        } else
            gather(row, lanes, (uint32_t)ir_type_size((ir_type)scalar->type),
                   a.of[scalar->param] + scalar->offset, param->size);
        row += host_words(scalar->type) * HOST_LANES;
    }
    memset(a.result, 0, (size_t)count * s->result_size);
    given->many(given->user, &(kiln_host_calls){.args = args,
                                                .result = s->result_size ? a.result : NULL,
                                                .kernel = kernel,
                                                .count = count});
    for (uint32_t l = 0; l < HOST_LANES; l++)
        group->words[0][l] = 0;
    row = group->words[1];
    for (uint32_t n = 0; n < s->out_count; n++) {
        const host_scalar *scalar = &s->out[n];
        bool is_result = scalar->param == HOST_RESULT;
        uint32_t size = is_result ? s->result_size : s->params[scalar->param].size;
        const uint8_t *from = is_result ? a.result : a.of[scalar->param];
        if (is_row(lanes, size, scalar)) {
            memcpy(row, from, sizeof group->words[0]);
        } else if (are_four(s->out_fours, n, lanes)) {
            scatter_four(row, from + scalar->offset, size);
            row += 3 * HOST_LANES;
            n += 3;
        } else
            scatter(row, lanes, (uint32_t)ir_type_size((ir_type)scalar->type),
                    from + scalar->offset, size);
        row += host_words(scalar->type) * HOST_LANES;
    }
}

// This is the path of all calls without counted objects: a nanosecond here is one of each lane.
bool host_call_group(const char *kernel, const host_site *site, host_group *group, char *why,
                     size_t size)
{
    const host_shape *s = &site->shape;
    const host_row *row = site->row;
    kiln_host_function *function = row->given.call;
    host_object objects[HOST_PARAMS], result;
    void *args[HOST_PARAMS + 1], *user = row->given.user;
    scalar_place in[HOST_SCALARS], out[HOST_SCALARS];
    uint32_t *status = group->words[0], result_words = (s->result_size + 7) / 8;
    stop_note note = {why, size, false};
    kiln_host_call call = {.args = args,
                           .result = s->result_size ? result.bytes : NULL,
                           .kernel = kernel,
                           .inside = &note};
    bool is_locked = (function || row->given.many) && !row->given.is_concurrent;
    if (row->given.many) {
        if (is_locked)
            row_lock(row);
        call_many(kernel, site, group);
        if (is_locked)
            row_unlock(row);
        return true;
    }
    for (uint32_t p = 0; p < s->param_count; p++) {
        args[p] = objects[p].bytes;
        if (s->params[p].size > 8) // else nothing is between its numbers
            memset(objects[p].bytes, 0, HOST_BYTES);
        else
            objects[p].words[0] = 0;
    }
    const scalar_place *in_end =
        in + find_places(s->in, s->in_count, objects, &result, group->words[0], in);
    const scalar_place *out_end =
        out + find_places(s->out, s->out_count, objects, &result, group->words[1], out);
    memcpy(call.block, group->block, sizeof call.block);
    memcpy(call.thread, group->thread, sizeof call.thread);
    if (is_locked)
        row_lock(row);
    uint32_t lanes = group->lanes;
    if (function && are_few_words(site)) {
        if (s->in_count == 1)
            call_words(function, user, &call, &note, group, 1);
        else
            call_words(function, user, &call, &note, group, 2);
        lanes = 0;
    }
    bool is_four = function && in_end == in + 1 && in->bytes == 16 && out_end == out + 1 &&
                   out->bytes == 16 && s->result_size == 16;
    if (is_four && lanes) {
        call_four(function, user, &call, &note, group, in, out);
        lanes = 0;
    }
    for (uint32_t left = lanes; left && !note.is_set; left &= left - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(left);
        go_to(group, &call, l);
        for (const scalar_place *p = in; p < in_end; p++)
            put_scalar(p, l);
        for (uint32_t n = 0; n < result_words; n++)
            result.words[n] = 0;
        if (function)
            function(user, &call);
        else
            host_enter(site, &call);
        status[l] = 0;
        for (const scalar_place *p = out; p < out_end; p++)
            get_scalar(p, l);
    }
    if (is_locked)
        row_unlock(row);
    return !note.is_set;
}
