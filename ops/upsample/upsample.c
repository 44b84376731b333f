// kiln_upsample_forward and kiln_upsample_backward: to the nearest by the kernels of ops/pad,
// linear by linear.c.
#include "ops/moved.h"
#include "ops/nest.h"
#include "ops/pad/host_pad.h"

#define AXES "ops/upsample/axes.def"
#include "ops/axes.h"
static const op_program forward = OP_PROGRAM("ops/upsample/linear.c", "upsample"),
                        backward = OP_PROGRAM("ops/upsample/linear.c", "upsample_backward");

enum { READ, WRITTEN, FIRST, AXES = 3, THREADS = 256 };

typedef struct axis { // `struct axis` of the kernel
    uint64_t in, out;
    int64_t stride;
    double scale;
} axis;

typedef struct job {
    const char *call;
    op_operand in, out; // backward: dx, dout
    kiln_upsample_mode mode;
    bool aligns_corners, is_backward;
    kiln_stream *stream;
} job;

static double scale_of(const job *j, uint64_t in, uint64_t out)
{
    return !j->aligns_corners ? (double)in / (double)out
           : out > 1          ? (double)(in - 1) / (double)(out - 1)
                              : 0;
}

static kiln_status run_linear(kiln *k, const job *j)
{
    kiln_view read = j->is_backward ? *j->out.view : *j->in.view,
              written = j->is_backward ? *j->in.view : *j->out.view;
    kiln_view all = read, views[FIRST + AXES + 1];
    axis a[AXES] = {{0}};
    uint32_t count = 0;
    all.has_strides = true;
    for (uint32_t d = 0; d < written.rank; d++) {
        uint64_t in = j->in.view->sizes[d], out = j->out.view->sizes[d];
        all.strides[d] = in == out ? kiln_view_stride(read, d) : 0;
        all.sizes[d] = written.sizes[d];
        if (in == out)
            continue;
        if (count == AXES)
            return op_refuse(k, j->call, "more than three dimensions are interpolated");
        views[FIRST + count] = op_index_view(written, d);
        a[count++] = (axis){in, out, kiln_view_stride(read, d), scale_of(j, in, out)};
    }
    if (!count) { // nothing to interpolate: one axis of one
        views[FIRST] = op_index_view(written, KILN_MAX_RANK);
        a[count++] = (axis){1, 1, 0, 1};
    }
    views[READ] = all;
    views[WRITTEN] = written;
    views[FIRST + count] = written; // the loops are sorted by the last one
    op_nest nest;
    op_packs packs;
    op_nest_make(views, FIRST + count + 1, &nest);
    nest.is_of_rows = true;
    nest.widest = 1;
    op_nest_pack(&nest, views, &packs);
    kiln_type type = kiln_view_type(read);
    op_request r = {.program = j->is_backward ? &backward : &forward};
    op_set(&r, T, type == KILN_BF16 ? 0 : type == KILN_F16 ? 1 : type == KILN_F32 ? 2 : 3);
    op_set(&r, AXES, count);
    op_set(&r, CORNERS, j->aligns_corners);
    op_set(&r, RANK, packs.rank);
    op_set(&r, LONG, packs.is_long || kiln_view_count(read) >> 31);
    const kiln_arg args[] = {kiln_arg_view(read), kiln_arg_view(written),
                             kiln_arg_struct(&packs.argument, sizeof packs.argument),
                             kiln_arg_struct(a, sizeof a)};
    return op_moved_launch(k, &r, (packs.argument.packs + THREADS - 1) / THREADS, args, COUNT(args),
                           j->stream);
}

static kiln_status run(kiln *k, const job *j)
{
    const kiln_view *in = j->in.view, *out = j->out.view;
    kiln_status status = op_pad_check(k, j->call, &j->in, &j->out);
    kiln_type type = kiln_view_type(*in);
    if (!status && (unsigned)j->mode > KILN_UPSAMPLE_LINEAR)
        status = op_refuse(k, j->call, "there is no mode %d", (int)j->mode);
    if (!status && j->mode == KILN_UPSAMPLE_LINEAR && type != KILN_F32 && type != KILN_F16 &&
        type != KILN_BF16 && type != KILN_F64)
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                           "%s: '%s' is %s; bf16, f16, f32 and f64 are possible", j->call,
                           j->in.name, kiln_type_name(type));
    for (uint32_t d = 0; d < in->rank && !status; d++)
        if (!in->sizes[d] != !out->sizes[d])
            status = op_refuse(k, j->call, "dimension %u is empty in one of '%s' and '%s'", d,
                               j->in.name, j->out.name);
    if (status || !kiln_view_count(*in))
        return status;
    return j->mode == KILN_UPSAMPLE_LINEAR ? run_linear(k, j)
                                           : op_pad_run(k, j->call,
                                                        &(op_pad){.mode = PAD_NEAREST,
                                                                  .in = *in,
                                                                  .out = *out,
                                                                  .is_backward = j->is_backward,
                                                                  .stream = j->stream});
}

kiln_status kiln_upsample_forward(kiln *k, const kiln_upsample_desc *d)
{
    const char *call = "kiln_upsample_forward";
    kiln_status status = op_begin(k, call, d);
    return status ? status
                  : run(k, &(job){.call = call,
                                  .in = {.name = "x", .view = &d->x},
                                  .out = {.name = "out", .view = &d->out, .is_result = true},
                                  .mode = d->mode,
                                  .aligns_corners = d->aligns_corners,
                                  .stream = d->stream});
}

kiln_status kiln_upsample_backward(kiln *k, const kiln_upsample_backward_desc *d)
{
    const char *call = "kiln_upsample_backward";
    kiln_status status = op_begin(k, call, d);
    return status ? status
                  : run(k, &(job){.call = call,
                                  .in = {.name = "dx", .view = &d->dx, .is_result = true},
                                  .out = {.name = "dout", .view = &d->dout},
                                  .mode = d->mode,
                                  .aligns_corners = d->aligns_corners,
                                  .is_backward = true,
                                  .stream = d->stream});
}
