// Views: makes views of buffers, and new views of old ones: slices, permutations, other shapes. A
// call that cannot make its view sets the error and returns a view whose rank is FAILED. The reason
// stays with that view as a number, so that every call that gets it can report what went wrong.
#include <stdio.h>

#include "rt/memory/view.h"

#define FAILED UINT32_MAX
enum { REASONS = 8 };

typedef struct reason { // why a view was not made
    uint64_t number;    // `first` of that view
    diag_code code;
    char text[320];
} reason;
static _Thread_local reason reasons[REASONS]; // the newest ones of this thread
static _Thread_local uint64_t reason_count;

static kiln *context_of(const kiln_view *v)
{
    return handle_is(HANDLE_BUFFER, v->buffer) ? v->buffer->k : NULL;
}

static kiln_view PRINTF_LIKE(3, 4) fail(kiln_view v, diag_code code, const char *format, ...)
{
    reason *r = &reasons[++reason_count % REASONS];
    r->number = reason_count;
    r->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    error_set(context_of(&v), KILN_E_BAD_ARGUMENT, code, "%s", r->text);
    return (kiln_view){.buffer = v.buffer, .first = reason_count, .rank = FAILED};
}

kiln_status view_check_made(const kiln_view *v, const char *call, const char *name)
{
    if (v->rank != FAILED)
        return KILN_OK;
    const reason *r = &reasons[v->first % REASONS];
    if (r->number != v->first || !v->first)
        return error_set(context_of(v), KILN_E_BAD_ARGUMENT, K7003,
                         "%s: '%s' is no view: the call that should have made it failed", call,
                         name);
    return error_set(context_of(v), KILN_E_BAD_ARGUMENT, r->code, "%s: '%s' is no view: %s", call,
                     name, r->text);
}

const char *view_sizes_text(uint32_t rank, const uint64_t *sizes, char *out)
{
    size_t len = (size_t)snprintf(out, VIEW_TEXT, "[");
    for (uint32_t n = 0; n < rank && n < KILN_MAX_RANK; n++)
        len += (size_t)snprintf(out + len, VIEW_TEXT - len, "%s%llu", n ? ", " : "",
                                (unsigned long long)sizes[n]);
    snprintf(out + len, VIEW_TEXT - len, "]");
    return out;
}

const char *view_shape_text(const kiln_view *v, char *out)
{
    return view_sizes_text(v->rank, v->sizes, out);
}

// Dense row-major strides. A product that is too large wraps; no check accepts such sizes.
static void dense_strides(uint32_t rank, const uint64_t *sizes, int64_t *strides)
{
    uint64_t step = 1;
    for (uint32_t n = rank; n-- > 0;) {
        strides[n] = (int64_t)step;
        step *= sizes[n];
    }
}

void view_strides(const kiln_view *v, int64_t strides[KILN_MAX_RANK])
{
    if (v->has_strides)
        memcpy(strides, v->strides, sizeof v->strides);
    else
        dense_strides(v->rank, v->sizes, strides);
}

static bool has_dense_strides(const kiln_view *v)
{
    int64_t dense[KILN_MAX_RANK];
    dense_strides(v->rank, v->sizes, dense);
    bool is_dense = true;
    for (uint32_t n = 0; n < v->rank; n++) {
        if (!v->sizes[n])
            return true; // nothing is reached
        is_dense = is_dense && (v->sizes[n] == 1 || v->strides[n] == dense[n]);
    }
    return is_dense;
}

bool kiln_view_is_dense(kiln_view v)
{
    return v.rank <= KILN_MAX_RANK && (!v.has_strides || has_dense_strides(&v));
}

// Strides that say no more than the sizes go.
static kiln_view tidy(kiln_view v)
{
    if (v.has_strides && has_dense_strides(&v))
        v.has_strides = false;
    for (uint32_t n = 0; n < KILN_MAX_RANK; n++) {
        if (!v.has_strides || n >= v.rank)
            v.strides[n] = 0;
        if (n >= v.rank)
            v.sizes[n] = 0;
    }
    return v;
}

// --- new views
kiln_view kiln_view_of(kiln_buffer *b, uint32_t rank, const uint64_t *sizes)
{
    kiln_view v = {.buffer = b, .rank = rank};
    if (rank > KILN_MAX_RANK)
        return fail(v, K7001, "kiln_view_of: %u dimensions; a view has at most %d", rank,
                    KILN_MAX_RANK);
    if (rank && !sizes)
        return fail(v, K6003, "kiln_view_of: the sizes of %u dimensions are NULL", rank);
    for (uint32_t n = 0; n < rank; n++)
        v.sizes[n] = sizes[n];
    return v;
}

kiln_view kiln_view_all(kiln_buffer *b)
{
    return (kiln_view){.buffer = b, .rank = 1, .sizes = {kiln_buffer_count(b)}};
}

// --- views of views. Each one passes a view on that could not be made.
static bool is_changeable(kiln_view *v, const char *call)
{
    if (v->rank == FAILED)
        return false;
    if (v->rank > KILN_MAX_RANK) {
        *v = fail(*v, K7001, "%s: the view has %u dimensions; at most %d are possible", call,
                  v->rank, KILN_MAX_RANK);
        return false;
    }
    view_strides(v, v->strides);
    v->has_strides = true;
    return true;
}

static bool has_axis(kiln_view *v, uint32_t axis, const char *call)
{
    if (!is_changeable(v, call))
        return false;
    if (axis < v->rank)
        return true;
    *v = fail(*v, K7003, "%s: dimension %u of a view that has %u", call, axis, v->rank);
    return false;
}

static void remove_axis(kiln_view *v, uint32_t axis)
{
    v->rank--;
    for (uint32_t n = axis; n < v->rank; n++) {
        v->sizes[n] = v->sizes[n + 1];
        v->strides[n] = v->strides[n + 1];
    }
}

// A view without elements stays where it is: there may be nothing behind it in its buffer.
static void move_first(kiln_view *v, uint64_t steps, int64_t stride)
{
    if (kiln_view_count(*v))
        v->first += steps * (uint64_t)stride;
}

kiln_view kiln_view_slice(kiln_view v, uint32_t axis, int64_t start, int64_t stop, int64_t step)
{
    if (!has_axis(&v, axis, "kiln_view_slice"))
        return v;
    uint64_t size = v.sizes[axis];
    if (!step)
        return fail(v, K7003, "kiln_view_slice: the step is 0");
    if (size > INT64_MAX)
        return fail(v, K7002, "kiln_view_slice: dimension %u has %llu elements", axis,
                    (unsigned long long)size);
    int64_t end = (int64_t)size;
    if (stop == KILN_TO_END)
        stop = step > 0 ? end : -1;
    bool is_inside = step > 0 ? start >= 0 && start <= end && stop >= 0 && stop <= end
                              : start >= -1 && start < end && stop >= -1 && stop < end;
    if (!is_inside)
        return fail(v, K7003,
                    "kiln_view_slice: from %lld to before %lld by %lld, dimension %u has %llu "
                    "elements",
                    (long long)start, (long long)stop, (long long)step, axis,
                    (unsigned long long)size);
    uint64_t pace = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t way = step > 0 ? (stop > start ? (uint64_t)(stop - start) : 0)
                            : (start > stop ? (uint64_t)(start - stop) : 0);
    v.sizes[axis] = way / pace + (way % pace != 0);
    move_first(&v, (uint64_t)start, v.strides[axis]);
    // A step that is longer than the dimension is not used: one element has no next one.
    if (v.sizes[axis] > 1 && __builtin_mul_overflow(v.strides[axis], step, &v.strides[axis]))
        return fail(v, K7002, "kiln_view_slice: dimension %u has an impossible stride", axis);
    return tidy(v);
}

kiln_view kiln_view_index(kiln_view v, uint32_t axis, uint64_t at)
{
    if (!has_axis(&v, axis, "kiln_view_index"))
        return v;
    if (at >= v.sizes[axis])
        return fail(v, K7003, "kiln_view_index: element %llu of dimension %u, which has %llu",
                    (unsigned long long)at, axis, (unsigned long long)v.sizes[axis]);
    move_first(&v, at, v.strides[axis]);
    remove_axis(&v, axis);
    return tidy(v);
}

kiln_view kiln_view_flip(kiln_view v, uint32_t axis)
{
    if (!has_axis(&v, axis, "kiln_view_flip"))
        return v;
    if (v.sizes[axis] < 2)
        return tidy(v);
    move_first(&v, v.sizes[axis] - 1, v.strides[axis]);
    v.strides[axis] = (int64_t)(0 - (uint64_t)v.strides[axis]);
    return tidy(v);
}

kiln_view kiln_view_permute(kiln_view v, const uint32_t *order)
{
    if (!is_changeable(&v, "kiln_view_permute"))
        return v;
    if (!order && v.rank)
        return fail(v, K6003, "kiln_view_permute: the order is NULL");
    kiln_view out = v;
    uint32_t seen = 0;
    for (uint32_t n = 0; n < v.rank; n++) {
        if (order[n] >= v.rank)
            return fail(v, K7003, "kiln_view_permute: dimension %u of a view that has %u", order[n],
                        v.rank);
        if (seen & 1u << order[n])
            return fail(v, K7003, "kiln_view_permute: dimension %u is named twice", order[n]);
        seen |= 1u << order[n];
        out.sizes[n] = v.sizes[order[n]];
        out.strides[n] = v.strides[order[n]];
    }
    return tidy(out);
}

kiln_view kiln_view_transpose(kiln_view v)
{
    if (!is_changeable(&v, "kiln_view_transpose"))
        return v;
    if (v.rank < 2)
        return fail(v, K7003, "kiln_view_transpose: the view has %u dimensions; it needs two",
                    v.rank);
    uint32_t order[KILN_MAX_RANK];
    for (uint32_t n = 0; n < v.rank; n++)
        order[n] = n;
    order[v.rank - 2] = v.rank - 1;
    order[v.rank - 1] = v.rank - 2;
    return kiln_view_permute(v, order);
}

// The strides of `sizes` over the elements of v, which are as many. A run of old dimensions that
// lie behind one another without gaps is divided into a run of new ones; false where a new
// dimension would need elements of two runs.
static bool divide(const kiln_view *v, uint32_t rank, const uint64_t *sizes, int64_t *strides)
{
    uint32_t from = v->rank, to = rank;
    while (to > 0) {
        if (sizes[to - 1] == 1) {
            strides[--to] = 0;
            continue;
        }
        while (from > 0 && v->sizes[from - 1] == 1)
            from--;
        if (!from)
            return false;
        // the run that ends with dimension `from - 1`
        int64_t stride = v->strides[from - 1];
        uint64_t old = v->sizes[--from], made = 1;
        int64_t next;
        while (from > 0 &&
               (v->sizes[from - 1] == 1 ||
                (!__builtin_mul_overflow(stride, old, &next) && v->strides[from - 1] == next)))
            old *= v->sizes[--from];
        while (to > 0 && (made < old || sizes[to - 1] == 1)) {
            strides[to - 1] = (int64_t)((uint64_t)stride * made);
            made *= sizes[--to];
        }
        if (made != old)
            return false;
    }
    return true;
}

static bool check_sizes(kiln_view *v, uint32_t rank, const uint64_t *sizes, const char *call)
{
    if (!is_changeable(v, call))
        return false;
    if (rank > KILN_MAX_RANK)
        *v = fail(*v, K7001, "%s: %u dimensions; a view has at most %d", call, rank, KILN_MAX_RANK);
    else if (rank && !sizes)
        *v = fail(*v, K6003, "%s: the sizes are NULL", call);
    return v->rank != FAILED;
}

kiln_view kiln_view_reshape(kiln_view v, uint32_t rank, const uint64_t *sizes)
{
    char is[VIEW_TEXT], wanted[VIEW_TEXT];
    if (!check_sizes(&v, rank, sizes, "kiln_view_reshape"))
        return v;
    kiln_view out = kiln_view_of(v.buffer, rank, sizes);
    out.first = v.first;
    out.type = v.type;
    out.has_strides = true;
    uint64_t count = kiln_view_count(v);
    if (kiln_view_count(out) != count || count == UINT64_MAX)
        return fail(v, K7004, "kiln_view_reshape: %s and %s have different numbers of elements",
                    view_shape_text(&v, is), view_shape_text(&out, wanted));
    if (!count)
        out.has_strides = false;
    else if (!divide(&v, rank, sizes, out.strides))
        return fail(v, K7003,
                    "kiln_view_reshape: %s cannot be seen as %s: its elements do not lie in that "
                    "order; copy them to a dense buffer first",
                    view_shape_text(&v, is), view_shape_text(&out, wanted));
    return tidy(out);
}

kiln_view kiln_view_broadcast(kiln_view v, uint32_t rank, const uint64_t *sizes)
{
    char is[VIEW_TEXT], wanted[VIEW_TEXT];
    if (!check_sizes(&v, rank, sizes, "kiln_view_broadcast"))
        return v;
    kiln_view out = kiln_view_of(v.buffer, rank, sizes);
    out.first = v.first;
    out.type = v.type;
    out.has_strides = true;
    bool fits = rank >= v.rank;
    for (uint32_t n = 0; n < v.rank && fits; n++) {
        uint32_t at = rank - v.rank + n;
        fits = v.sizes[n] == sizes[at] || v.sizes[n] == 1;
        out.strides[at] = v.sizes[n] == sizes[at] ? v.strides[n] : 0;
    }
    if (!fits)
        return fail(v, K7004,
                    "kiln_view_broadcast: %s cannot be repeated to %s: counted from the last, each "
                    "of its dimensions must have that size or 1",
                    view_shape_text(&v, is), view_shape_text(&out, wanted));
    return tidy(out);
}

kiln_view kiln_view_squeeze(kiln_view v, uint32_t axis)
{
    if (!has_axis(&v, axis, "kiln_view_squeeze"))
        return v;
    if (v.sizes[axis] != 1)
        return fail(v, K7003, "kiln_view_squeeze: dimension %u has %llu elements, not 1", axis,
                    (unsigned long long)v.sizes[axis]);
    remove_axis(&v, axis);
    return tidy(v);
}

kiln_view kiln_view_unsqueeze(kiln_view v, uint32_t axis)
{
    if (!is_changeable(&v, "kiln_view_unsqueeze"))
        return v;
    if (v.rank == KILN_MAX_RANK || axis > v.rank)
        return fail(v, v.rank == KILN_MAX_RANK ? K7001 : K7003,
                    "kiln_view_unsqueeze: a new dimension %u in a view of %u; at most %d are "
                    "possible",
                    axis, v.rank, KILN_MAX_RANK);
    for (uint32_t n = v.rank++; n > axis; n--) {
        v.sizes[n] = v.sizes[n - 1];
        v.strides[n] = v.strides[n - 1];
    }
    v.sizes[axis] = 1;
    v.strides[axis] = 0;
    return tidy(v);
}
