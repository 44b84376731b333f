// Checks of views: which elements of its buffer a view reaches, whether all of them exist, whether
// two views share some. Start reading at view_check. No sum or product here overflows: buffers have
// less than OFFSET_LIMIT bytes, and everything is compared with that before it is added.
#include <stdio.h>

#include "rt/memory/view.h"

static const uint64_t OFFSET_LIMIT = (uint64_t)1 << 47; // of elements and bytes

kiln_type kiln_view_type(kiln_view v)
{
    return v.type || !handle_is(HANDLE_BUFFER, v.buffer) ? v.type : v.buffer->type;
}

size_t view_element_size(const kiln_view *v)
{
    if (v->type)
        return kiln_type_size(v->type);
    return handle_is(HANDLE_BUFFER, v->buffer) ? v->buffer->elem_size : 0;
}

bool view_is_aligned(const kiln_view *v, size_t bytes)
{
    return (v->buffer->address + v->first * view_element_size(v)) % bytes == 0;
}

uint64_t kiln_view_count(kiln_view v)
{
    uint64_t count = 1;
    for (uint32_t n = 0; n < v.rank; n++) {
        if (n == KILN_MAX_RANK || !v.sizes[n])
            return 0;
        count = count > UINT64_MAX / v.sizes[n] ? UINT64_MAX : count * v.sizes[n];
    }
    return count;
}

int64_t kiln_view_stride(kiln_view v, uint32_t axis)
{
    int64_t strides[KILN_MAX_RANK];
    if (v.rank > KILN_MAX_RANK || axis >= v.rank)
        return 0;
    view_strides(&v, strides);
    return strides[axis];
}

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

// How far the elements of a view lie before and behind its first one. False: further than any
// buffer goes.
static bool reach(const kiln_view *v, uint64_t *before, uint64_t *behind)
{
    int64_t strides[KILN_MAX_RANK];
    *before = *behind = 0;
    if (!kiln_view_count(*v))
        return true;
    if (kiln_view_count(*v) == UINT64_MAX)
        return false;
    view_strides(v, strides);
    for (uint32_t n = 0; n < v->rank; n++) {
        uint64_t stride = magnitude(strides[n]), steps = v->sizes[n] - 1;
        if (!stride || !steps)
            continue;
        if (stride > OFFSET_LIMIT || steps > OFFSET_LIMIT / stride)
            return false;
        *(strides[n] < 0 ? before : behind) += stride * steps;
    }
    return true;
}

static kiln_status outside(const kiln_view *v, const char *call, const char *name, uint64_t count)
{
    char shape[VIEW_TEXT], steps[VIEW_TEXT] = "";
    uint64_t before = 0, behind = 0;
    if (v->has_strides) {
        size_t len = 0;
        for (uint32_t n = 0; n < v->rank && len < sizeof steps; n++)
            len += (size_t)snprintf(steps + len, sizeof steps - len, "%s%lld",
                                    n ? ", " : " with strides [", (long long)v->strides[n]);
        if (v->rank && len < sizeof steps)
            snprintf(steps + len, sizeof steps - len, "]");
    }
    view_shape_text(v, shape);
    if (!reach(v, &before, &behind) || v->first > OFFSET_LIMIT)
        return error_set(v->buffer->k, KILN_E_BAD_ARGUMENT, K7002,
                         "%s: '%s', %s%s from element %llu on, is larger than any buffer", call,
                         name, shape, steps, (unsigned long long)v->first);
    bool is_low = before > v->first;
    return error_set(v->buffer->k, KILN_E_BAD_ARGUMENT, K7002,
                     "%s: '%s', %s%s from element %llu on, reaches element %s%llu; the buffer has "
                     "%llu",
                     call, name, shape, steps, (unsigned long long)v->first, is_low ? "-" : "",
                     (unsigned long long)(is_low ? before - v->first : v->first + behind),
                     (unsigned long long)count);
}

kiln_status view_check(kiln *k, const kiln_view *v, const char *call, const char *name)
{
    kiln_status status = view_check_made(v, call, name);
    if (status)
        return status;
    if (!handle_is(HANDLE_BUFFER, v->buffer)) {
        if (!v->buffer)
            return error_set(k, KILN_E_BAD_HANDLE, K6002, "%s: '%s' has no buffer", call, name);
        return error_bad_handle(HANDLE_BUFFER, v->buffer);
    }
    if (k && v->buffer->k != k)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6014,
                         "%s: '%s' is a view of a buffer of another kiln handle", call, name);
    k = v->buffer->k;
    if (v->rank > KILN_MAX_RANK)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7001,
                         "%s: '%s' has %u dimensions; a view has at most %d", call, name, v->rank,
                         KILN_MAX_RANK);
    size_t size = view_element_size(v);
    if (!size)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7001, "%s: '%s' has the unknown type %d", call,
                         name, (int)v->type);
    uint64_t count = v->buffer->elem_size * v->buffer->count / size, before, behind;
    bool is_empty = !kiln_view_count(*v);
    if (!reach(v, &before, &behind) || v->first > count || before > v->first ||
        behind > count - v->first || (!is_empty && behind == count - v->first))
        return outside(v, call, name, count);
    return KILN_OK;
}

kiln_status kiln_view_check(kiln_view v)
{
    return view_check(NULL, &v, "kiln_view_check", "v");
}

kiln_status kiln_view_span(kiln_view v, uint64_t *lowest, uint64_t *end)
{
    kiln_status status = view_check(NULL, &v, "kiln_view_span", "v");
    uint64_t before = 0, behind = 0;
    if (status)
        return status;
    reach(&v, &before, &behind);
    if (lowest)
        *lowest = v.first - before;
    if (end)
        *end = v.first + behind + (kiln_view_count(v) != 0);
    return KILN_OK;
}

// --- what two views share
// A term of a sum: `step` times a whole number from 0 to `most`.
typedef struct term {
    uint64_t step, most;
} term;
typedef struct terms {
    term at[2 * KILN_MAX_RANK + 1];
    uint32_t count;
} terms;

// Terms with equal steps are one term: their numbers add up.
static void add_term(terms *t, uint64_t step, uint64_t most)
{
    uint32_t n = 0;
    while (n < t->count && t->at[n].step > step)
        n++;
    if (!most)
        return;
    if (n < t->count && t->at[n].step == step) {
        t->at[n].most += most;
        return;
    }
    for (uint32_t m = t->count++; m > n; m--)
        t->at[m] = t->at[m - 1];
    t->at[n] = (term){step, most};
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Can the terms from `n` on add up to `sum`? Steps fall from term to term. Strides that people use
// leave one or two numbers to try for each term. *work bounds the search where they do not; a
// search that runs out of it answers yes.
static bool adds_up(const terms *t, uint32_t n, uint64_t sum, uint32_t *work)
{
    if (!sum)
        return true;
    if (n == t->count)
        return false;
    if (!*work)
        return true;
    --*work;
    uint64_t rest = 0, divisor = 0; // what the terms behind this one reach at most
    for (uint32_t m = n; m < t->count; m++) {
        rest += m > n ? t->at[m].step * t->at[m].most : 0;
        divisor = gcd(t->at[m].step, divisor);
    }
    if (sum % divisor)
        return false;
    uint64_t step = t->at[n].step, high = sum / step,
             low = sum > rest ? (sum - rest + step - 1) / step : 0;
    if (high > t->at[n].most)
        high = t->at[n].most;
    for (uint64_t times = high + 1; times-- > low;)
        if (adds_up(t, n + 1, sum - times * step, work))
            return true;
    return false;
}

// Adds the dimensions of a view, in bytes.
static void add_view(terms *t, const kiln_view *v)
{
    int64_t strides[KILN_MAX_RANK];
    uint64_t size = view_element_size(v);
    view_strides(v, strides);
    for (uint32_t n = 0; n < v->rank; n++)
        if (strides[n])
            add_term(t, magnitude(strides[n]) * size, v->sizes[n] - 1);
    add_term(t, 1, size - 1);
}

enum { SEARCH = 4096 };

// Where its memory is: two buffers may be the same foreign memory. On a device whose memory is the
// host's, kernels get the device's own numbering of it; only `base` identifies it.
static uint64_t place_of(const kiln_buffer *b)
{
    return b->k->caps.has_host_memory ? (uint64_t)(uintptr_t)b->base : b->address;
}

bool kiln_view_overlaps(kiln_view a, kiln_view b)
{
    uint64_t a_low, a_end, b_low, b_end;
    if (kiln_view_span(a, &a_low, &a_end) || kiln_view_span(b, &b_low, &b_end))
        return true;
    if (a.buffer->k != b.buffer->k || a_low == a_end || b_low == b_end)
        return false;
    uint64_t a_size = view_element_size(&a), b_size = view_element_size(&b);
    uint64_t a_place = place_of(a.buffer), b_place = place_of(b.buffer);
    a_low = a_place + a_low * a_size;
    b_low = b_place + b_low * b_size;
    a_end = a_place + a_end * a_size;
    b_end = b_place + b_end * b_size;
    if (a_end <= b_low || b_end <= a_low)
        return false;
    // A byte of a is a_low + (terms of a), one of b is b_end - 1 - (terms of b): both count from an
    // end, so that all terms are on one side of the equation.
    terms t = {.count = 0};
    uint32_t work = SEARCH;
    add_view(&t, &a);
    add_view(&t, &b);
    return adds_up(&t, 0, b_end - 1 - a_low, &work);
}

// Is every element reached once? Looked at from the shortest stride to the longest, each must be
// longer than everything before it reaches. Strides that interleave otherwise are refused, too.
static bool reaches_once(const kiln_view *v)
{
    int64_t strides[KILN_MAX_RANK];
    uint64_t reached = 0, last = 0;
    if (!kiln_view_count(*v))
        return true;
    view_strides(v, strides);
    for (uint32_t round = 0; round < v->rank; round++) {
        uint32_t next = KILN_MAX_RANK;
        for (uint32_t n = 0; n < v->rank; n++) {
            if (v->sizes[n] == 1)
                continue;
            if (!strides[n])
                return false;
            if (magnitude(strides[n]) > last &&
                (next == KILN_MAX_RANK || magnitude(strides[n]) < magnitude(strides[next])))
                next = n;
        }
        if (next == KILN_MAX_RANK)
            break;
        last = magnitude(strides[next]);
        for (uint32_t n = 0; n < v->rank; n++)
            if (n != next && v->sizes[n] > 1 && magnitude(strides[n]) == last)
                return false;
        if (last <= reached)
            return false;
        reached += last * (v->sizes[next] - 1);
    }
    return true;
}

kiln_status view_check_written(kiln *k, const kiln_view *v, const char *call, const char *name)
{
    kiln_status status = view_check(k, v, call, name);
    if (!status && v->buffer->is_read_only)
        return error_set(v->buffer->k, KILN_E_BAD_ARGUMENT, K6045,
                         "%s: '%s' is a view of a read-only buffer", call, name);
    if (status || reaches_once(v))
        return status;
    char shape[VIEW_TEXT];
    return error_set(v->buffer->k, KILN_E_BAD_ARGUMENT, K7005,
                     "%s: '%s', %s, is written, but its strides reach an element twice", call, name,
                     view_shape_text(v, shape));
}
