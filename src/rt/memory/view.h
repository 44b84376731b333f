// What views are to the library itself: their strides in full, and checks that name the operand.
#ifndef KILN_VIEW_H
#define KILN_VIEW_H

#include "rt/rt.h"

// Strides of all dimensions, made up where the view is dense.
void view_strides(const kiln_view *v, int64_t strides[KILN_MAX_RANK]);
// Bytes of one element; 0 where the buffer is not live or the type unknown.
size_t view_element_size(const kiln_view *v);
// Is the first element at a multiple of so many bytes?
bool view_is_aligned(const kiln_view *v, size_t bytes);
// "[4, 8]" in `out`, which has VIEW_TEXT bytes; returns it.
enum { VIEW_TEXT = 200 };
const char *view_shape_text(const kiln_view *v, char *out);
const char *view_sizes_text(uint32_t rank, const uint64_t *sizes, char *out);

// kiln_view_check for the operand `name` of the public call `call`. The buffer must be one of `k`,
// unless k is NULL.
kiln_status view_check(kiln *k, const kiln_view *v, const char *call, const char *name);
// The same for an operand that is written: it must not reach an element twice.
kiln_status view_check_written(kiln *k, const kiln_view *v, const char *call, const char *name);
// Sets the error of a view that a call could not make; KILN_OK for all others.
kiln_status view_check_made(const kiln_view *v, const char *call, const char *name);

#endif
