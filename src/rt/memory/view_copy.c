// Copies of views to and from dense host memory. Rows that lie in one piece are copied as they are.
// Elements with gaps between them go through a staging area on the host, a part of the view at a
// time: the part's whole span is read, and for writing its elements are changed and it goes back.
#include <stdlib.h>

#include "rt/memory/view.h"

enum { STAGE_BYTES = 4 << 20 }; // of the staging area, at most

typedef struct walk { // the view with as few dimensions as possible
    kiln_buffer *buffer;
    size_t size; // of an element
    uint32_t rank;
    uint64_t sizes[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK];
    bool is_write;
    uint8_t *stage;
    size_t stage_size;
} walk;

// Drops dimensions of 1 and joins those that lie behind one another.
static walk walk_of(const kiln_view *v)
{
    walk w = {.buffer = v->buffer, .size = view_element_size(v)};
    int64_t strides[KILN_MAX_RANK];
    view_strides(v, strides);
    for (uint32_t n = 0; n < v->rank; n++) {
        if (v->sizes[n] == 1)
            continue;
        uint32_t last = w.rank - 1;
        if (w.rank && w.strides[last] == strides[n] * (int64_t)v->sizes[n]) {
            w.sizes[last] *= v->sizes[n];
            w.strides[last] = strides[n];
            continue;
        }
        w.sizes[w.rank] = v->sizes[n];
        w.strides[w.rank++] = strides[n];
    }
    return w;
}

static kiln_status copy_rows(const walk *w, uint64_t first, uint8_t *host, size_t width,
                             size_t rows, size_t pitch)
{
    uint64_t address = w->buffer->address + first * w->size;
    rt_copy c = {.width = width, .rows = rows};
    if (w->is_write) {
        c.to = w->buffer;
        c.to_address = address;
        c.from_host = host;
        c.to_pitch = pitch;
        c.from_pitch = width;
    } else {
        c.from = w->buffer;
        c.from_address = address;
        c.to_host = host;
        c.from_pitch = pitch;
        c.to_pitch = width;
    }
    kiln *k = w->buffer->k;
    kiln_status status = context_may_use(k, w->is_write ? "kiln_write_view" : "kiln_read_view");
    return status ? status : k->ops->copy(k, &c);
}

// Elements in row-major order, between the staging area and host memory. Returns where the next go.
static uint8_t *move_elements(const walk *w, uint32_t dim, const uint8_t *at, uint8_t *host)
{
    if (dim == w->rank) {
        if (w->is_write)
            memcpy((uint8_t *)(uintptr_t)at, host, w->size);
        else
            memcpy(host, at, w->size);
        return host + w->size;
    }
    for (uint64_t n = 0; n < w->sizes[dim]; n++)
        host =
            move_elements(w, dim + 1, at + (int64_t)n * w->strides[dim] * (int64_t)w->size, host);
    return host;
}

static kiln_status copy_staged(walk *w, uint32_t dim, uint64_t lowest, uint64_t before,
                               size_t bytes, uint8_t *host)
{
    if (bytes > w->stage_size) {
        uint8_t *larger = realloc(w->stage, bytes);
        if (!larger)
            return error_no_memory(w->buffer->k, "a copy of a view");
        w->stage = larger;
        w->stage_size = bytes;
    }
    bool is_write = w->is_write;
    w->is_write = false;
    kiln_status status = copy_rows(w, lowest, w->stage, bytes, 1, 0);
    w->is_write = is_write;
    if (status)
        return status;
    move_elements(w, dim, w->stage + before * w->size, host);
    return is_write ? copy_rows(w, lowest, w->stage, bytes, 1, 0) : KILN_OK;
}

// The dimensions from `dim` on, whose first element is `first`; *host moves on.
static kiln_status copy_from(walk *w, uint32_t dim, uint64_t first, uint8_t **host)
{
    uint64_t before = 0, behind = 0, count = 1;
    for (uint32_t n = dim; n < w->rank; n++) {
        uint64_t way = (uint64_t)(w->strides[n] * (int64_t)(w->sizes[n] - 1));
        *(w->strides[n] < 0 ? &before : &behind) += w->strides[n] < 0 ? 0 - way : way;
        count *= w->sizes[n];
    }
    uint32_t left = w->rank - dim;
    bool has_rows = left && w->strides[w->rank - 1] == 1;
    kiln_status status = KILN_OK;
    uint8_t *at = *host;
    uint64_t extent = before + behind + 1;
    if (!left || (left == 1 && has_rows)) {
        *host += count * w->size;
        return copy_rows(w, first, at, count * w->size, 1, 0);
    }
    if (left == 2 && has_rows && w->strides[dim] >= (int64_t)w->sizes[dim + 1]) {
        *host += count * w->size;
        return copy_rows(w, first, at, w->sizes[dim + 1] * w->size, w->sizes[dim],
                         (uint64_t)w->strides[dim] * w->size);
    }
    if (!has_rows && extent <= STAGE_BYTES / w->size) {
        *host += count * w->size;
        return copy_staged(w, dim, first - before, before, extent * w->size, at);
    }
    if (!has_rows && left == 1) { // a part that fits, then the rest
        uint64_t size = w->sizes[dim], pace = (extent - 1) / (size - 1);
        uint64_t part = STAGE_BYTES / w->size / pace;
        part = part ? part : 1;
        for (uint64_t n = 0; n < size && !status; n += part) {
            w->sizes[dim] = part < size - n ? part : size - n;
            uint64_t start = first + n * (uint64_t)w->strides[dim];
            if (w->sizes[dim] == 1) {
                status = copy_rows(w, start, *host, w->size, 1, 0);
                *host += w->size;
            } else {
                status = copy_from(w, dim, start, host);
            }
        }
        w->sizes[dim] = size;
        return status;
    }
    for (uint64_t n = 0; n < w->sizes[dim] && !status; n++)
        status = copy_from(w, dim + 1, first + n * (uint64_t)w->strides[dim], host);
    return status;
}

static kiln_status copy_all(const kiln_view *v, uint8_t *host, bool is_write, const char *call)
{
    if (!kiln_view_count(*v))
        return KILN_OK;
    if (!host)
        return error_set(v->buffer->k, KILN_E_BAD_ARGUMENT, K6003, "%s: the host pointer is NULL",
                         call);
    walk w = walk_of(v);
    w.is_write = is_write;
    kiln_status status = copy_from(&w, 0, v->first, &host);
    free(w.stage);
    return status;
}

kiln_status kiln_read_view(kiln_view v, void *to)
{
    kiln_status status = view_check(NULL, &v, "kiln_read_view", "v");
    return status ? status : copy_all(&v, to, false, "kiln_read_view");
}

kiln_status kiln_write_view(kiln_view v, const void *from)
{
    kiln_status status = view_check_written(NULL, &v, "kiln_write_view", "v");
    if (status)
        return status;
    return copy_all(&v, (uint8_t *)(uintptr_t)from, true, "kiln_write_view");
}
