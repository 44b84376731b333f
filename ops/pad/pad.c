// kiln_pad_forward and kiln_pad_backward: padding, cropping, tiling, rolling (ops/padding.h).
#include "ops/padding.h"

static kiln_status run(kiln *k, const char *call, const op_pad *p)
{
    op_operand o[2];
    kiln_status status = op_pad_check(k, call, p, o);
    if (!status && p->mode > KILN_PAD_CIRCULAR)
        status = op_refuse(k, call, "there is no mode %u", p->mode);
    for (uint32_t d = 0; d < p->in.rank && !status && p->mode != KILN_PAD_CONSTANT; d++) {
        int64_t size = (int64_t)p->in.sizes[d], before = p->before[d];
        int64_t after = (int64_t)p->out.sizes[d] - size - before;
        if (!size && kiln_view_count(p->out))
            status = op_refuse(k, call, "dimension %u of '%s' is empty; only constants can pad it",
                               d, o->name);
        else if (p->mode == KILN_PAD_REFLECT && size && (before >= size || after >= size))
            status = op_refuse(k, call,
                               "dimension %u is padded by %lld and %lld; %lld elements reflect at "
                               "most %lld",
                               d, (long long)before, (long long)after, (long long)size,
                               (long long)size - 1);
    }
    return status ? status : op_pad_run(k, call, p);
}

kiln_status kiln_pad_forward(kiln *k, const kiln_pad_desc *d)
{
    const char *call = "kiln_pad_forward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_pad p = {.mode = (uint32_t)d->mode,
                .in = d->x,
                .out = d->out,
                .value = d->value,
                .stream = d->stream};
    memcpy(p.before, d->before, sizeof p.before);
    return run(k, call, &p);
}

kiln_status kiln_pad_backward(kiln *k, const kiln_pad_backward_desc *d)
{
    const char *call = "kiln_pad_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    op_pad p = {.mode = (uint32_t)d->mode,
                .in = d->dx,
                .out = d->dout,
                .is_backward = true,
                .stream = d->stream};
    memcpy(p.before, d->before, sizeof p.before);
    return run(k, call, &p);
}
