// Where an indexed element lies in x, for the references of gathers and scatters.
#ifndef KILN_SUITE_INDEX_H
#define KILN_SUITE_INDEX_H

#include "ops/suite.h"

// The place in x of element i of `e`; -1: there is none.
static inline int64_t suite_index_place(kiln_index_form form, uint32_t axis, const op_tensor *x,
                                        const op_tensor *index, const op_tensor *e,
                                        const double *indices, size_t i)
{
    size_t at[KILN_MAX_RANK] = {0}, where = 0, to[KILN_MAX_RANK] = {0};
    uint32_t front = index->rank - 1;
    uint64_t count = form == KILN_INDEX_ND ? index->sizes[front] : 1;
    for (uint32_t d = e->rank; d-- > 0; i /= e->sizes[d])
        at[d] = i % e->sizes[d];
    uint32_t first = form == KILN_INDEX_TAKE ? axis : 0;
    for (uint32_t d = 0; d < (form == KILN_INDEX_ND ? front : index->rank); d++)
        where = where * index->sizes[d] + (index->sizes[d] == 1 ? 0 : at[first + d]);
    for (uint32_t d = 0; d < x->rank; d++) {
        bool is_read = form == KILN_INDEX_ND ? d < count : d == axis;
        if (is_read) {
            double j = indices[where * count + (form == KILN_INDEX_ND ? d : 0)];
            j += j < 0 ? (double)x->sizes[d] : 0;
            if (j < 0 || j >= (double)x->sizes[d])
                return -1;
            to[d] = (size_t)j;
        } else {
            to[d] = form == KILN_INDEX_ELEMENTS ? at[d]
                    : form == KILN_INDEX_ND     ? at[front + d - count]
                    : d < axis                  ? at[d]
                                                : at[d + index->rank - 1];
        }
    }
    size_t place = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        place = place * x->sizes[d] + to[d];
    return (int64_t)place;
}

// Index and elements for x of the case's sizes. The indices reach one too far at both ends.
static inline void suite_index_tensors(const op_case *c, kiln_index_form form, kiln_type type,
                                       op_tensor *x, op_tensor *index, op_tensor *e)
{
    bool is_float = type >= KILN_F16;
    *x = (op_tensor){.type = type,
                     .rank = c->rank,
                     .low = is_float ? -3 : 0,
                     .high = 3,
                     .is_integer = !is_float,
                     .tolerance = 24};
    for (uint32_t d = 0; d < c->rank; d++)
        x->sizes[d] = c->sizes[d];
    *e = *x;
    *index = (op_tensor){.name = "index",
                         .type = c->beta != 0 ? KILN_I64 : KILN_I32,
                         .rank = c->rank,
                         .is_integer = true,
                         .low = -(double)c->sizes[form == KILN_INDEX_ND ? 0 : c->axis] - 1,
                         .high = (double)c->sizes[form == KILN_INDEX_ND ? 0 : c->axis] + 1.5};
    switch (form) {
    case KILN_INDEX_ELEMENTS:
        e->sizes[c->axis] += 3;
        for (uint32_t d = 0; d < c->rank; d++)
            index->sizes[d] = e->sizes[d];
        if (c->rank > 1 && c->axis == 0 && c->alpha != 0) // one index for all columns
            index->sizes[c->rank - 1] = 1;
        break;
    case KILN_INDEX_TAKE:
        index->rank = c->tags & SUITE_BENCH ? 1 : 2;
        index->sizes[0] = c->tags & SUITE_BENCH ? 16384 : 5;
        index->sizes[1] = 3;
        e->rank = c->rank - 1 + index->rank;
        for (uint32_t d = 0; d < e->rank; d++)
            e->sizes[d] = d < c->axis                 ? c->sizes[d]
                          : d < c->axis + index->rank ? index->sizes[d - c->axis]
                                                      : c->sizes[d - index->rank + 1];
        break;
    default: // the case's axis says how many indices there are
        index->rank = 2;
        index->sizes[0] = 7;
        index->sizes[1] = c->axis;
        e->rank = 1 + c->rank - c->axis;
        for (uint32_t d = 0; d < e->rank; d++)
            e->sizes[d] = d ? c->sizes[c->axis + d - 1] : 7;
        break;
    }
}

#endif
