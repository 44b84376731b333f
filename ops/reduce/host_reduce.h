// Between the files of reduce on the host: one reduction of any kind, also those that only backward
// uses.
#ifndef KILN_HOST_REDUCE_H
#define KILN_HOST_REDUCE_H

#include "kiln/ops.h"

#include "ops/nest.h"
#include "ops/operands.h"

typedef enum reduce_kind { // words of the axis KIND (axes.def)
    KIND_sum,
    KIND_mean,
    KIND_prod,
    KIND_max,
    KIND_min,
    KIND_any,
    KIND_all,
    KIND_count,
    KIND_norm_1,
    KIND_norm_2,
    KIND_norm_p,
    KIND_variance,
    KIND_deviation,
    KIND_argmax,
    KIND_argmin,
    KIND_logsumexp,
    KIND_max_ties,     // 1 over how many elements are the largest
    KIND_min_ties,     // and are the smallest
    KIND_prod_nonzero, // of the elements that are not 0
    KIND_zeros,        // how many are 0
    KIND_NONE
} reduce_kind;

typedef struct reduce_job {
    reduce_kind kind;
    kiln_view x, out; // out has a dimension for each of x, of 1 where it is reduced
    uint32_t axes;    // not 0, unless x has no dimension
    double exponent;
    uint64_t count;   // elements of a result
    double freedom;   // those that count for the variance
    kiln_view *words; // the workspace as u64
    kiln_stream *stream;
} reduce_job;

// How a reduction is launched. It follows from sizes, strides and types alone.
typedef struct reduce_plan {
    op_nest kept, reduced;
    bool is_columns, is_dense; // packs along the kept loops; contiguous ones along the reduced
    bool is_peeled;            // rows start between two packs
    bool has_singles;          // rows are no whole packs
    bool is_once;              // no thread has more than `per` packs
    uint32_t width, rest;      // elements of a pack; those after the last pack
    uint32_t lanes, threads, per;
    uint64_t results, parts, part_packs;
    uint64_t bytes; // of the workspace
} reduce_plan;

void reduce_plan_make(const reduce_job *job, reduce_plan *out);
kiln_status reduce_run(kiln *k, const reduce_job *job, const reduce_plan *plan);

#endif
