// kiln_random: a tensor of random numbers in one launch of kernel.c.
#include "ops/random/host_random.h"

#include <math.h>

#include "ops/checks.h"
#include "ops/moved.h"
#include "ops/walk.h"

#define AXES "ops/random/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/random/kernel.c", "random");

enum { X, PLACE, OUT };

typedef struct draw { // `struct draw` of the kernel
    uint64_t seed, offset;
    double p, q;
    int64_t low;
    uint64_t range;
} draw;

kiln_status op_random_run(kiln *k, const op_random *r)
{
    if (!kiln_view_count(r->out))
        return KILN_OK;
    const kiln_view views[] = {r->kind == RANDOM_DROPOUT ? r->x : r->out, op_number_view(r->out),
                               r->out};
    op_packs packs;
    op_walk_make(views, COUNT(views), (op_walk){.dense = 1 << X | 1 << OUT}, &packs);
    draw d = {r->seed, r->offset, r->p, r->q, r->low, r->range};
    op_request request = {.program = &program};
    op_set(&request, T, kiln_view_type(r->out));
    op_set(&request, KIND, r->kind);
    op_walk_set(&request, &packs);
    op_set(&request, LINEAR, packs.inner[PLACE]);
    op_set(&request, IN_PLACE, r->is_in_place);
    const kiln_arg args[] = {kiln_arg_view(views[X]), kiln_arg_view(views[OUT]),
                             op_walk_arg(&packs), kiln_arg_struct(&d, sizeof d)};
    return op_walk_launch(k, &request, &packs, 1, args, COUNT(args), r->stream);
}

// Are both numbers of that integer type?
static bool are_in(kiln_type type, int64_t low, int64_t high)
{
    int bits = 8 * (int)kiln_type_size(type);
    bool is_signed = type == KILN_I8 || type == KILN_I16 || type == KILN_I32 || type == KILN_I64;
    int64_t most = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
    return low >= (is_signed ? -most - 1 : 0) && high <= most;
}

kiln_status kiln_random(kiln *k, const kiln_random_desc *d)
{
    const char *call = "kiln_random";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o = {.name = "out", .view = &d->out, .is_result = true};
    status = op_check_operands(k, call, &o, 1, NULL);
    if (status)
        return status;
    kiln_type type = kiln_view_type(d->out);
    if ((unsigned)d->kind > KILN_RANDOM_INTEGERS)
        return op_refuse(k, call, "there is no kind %d", (int)d->kind);
    const op_types types = {d->kind == KILN_RANDOM_BERNOULLI  ? OP_NUMBERS | OP_BOOLS
                            : d->kind == KILN_RANDOM_INTEGERS ? OP_INTEGERS
                                                              : OP_FLOATS,
                            ", which the kind lacks"};
    status = op_check_types(k, call, &o, &types);
    if (status)
        return status;
    if (d->kind == KILN_RANDOM_INTEGERS && (d->low > d->high || !are_in(type, d->low, d->high)))
        return op_refuse(k, call, "%lld to %lld is no range of %s", (long long)d->low,
                         (long long)d->high, kiln_type_name(type));
    if (!isfinite(d->alpha) || !isfinite(d->beta))
        return op_refuse(k, call, "alpha and beta must be finite");
    return op_random_run(k, &(op_random){.kind = (uint32_t)d->kind,
                                         .out = d->out,
                                         .seed = d->seed,
                                         .offset = d->offset,
                                         .p = d->alpha,
                                         .q = d->beta,
                                         .low = d->low,
                                         .range = (uint64_t)d->high - (uint64_t)d->low + 1,
                                         .stream = d->stream});
}
