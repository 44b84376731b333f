// Host functions on the interpreter: called directly, lanes in ascending order. Counted objects are
// checked against their arrays and touched where they are. Start reading at host_warp.
#include "rt/host/host.h"

#include "dev/interp/engine.h"

// False: a counted parameter points outside of every array (the error is set).
static bool gather_lane(runner *r, warp *w, const code *c, const host_shape *s, uint32_t lane,
                        host_lane *out)
{
    const uint32_t *slots = r->program->extra + c->b, *dim = r->launch->block;
    uint32_t rank = w->index * LANES + lane;
    for (uint32_t k = 0; k < s->in_count; k++) {
        uint32_t size = ir_type_size((ir_type)s->in[k].type);
        out->in[k] = 0;
        memcpy(&out->in[k], (const uint8_t *)slot_at(w, slots[k]) + lane * size, size);
    }
    for (uint32_t p = 0; p < s->param_count; p++) {
        const host_param *param = &s->params[p];
        out->counted[p] = NULL;
        if (!host_is_counted(param->kind) || !out->in[param->first + 1])
            continue;
        out->counted[p] = mem_resolve(r, w, c, lane, out->in[param->first],
                                      out->in[param->first + 1], param->kind == 'm');
        if (!out->counted[p])
            return false;
    }
    out->thread[0] = rank % dim[0];
    out->thread[1] = rank / dim[0] % dim[1];
    out->thread[2] = rank / dim[0] / dim[1];
    memcpy(out->block, r->block, sizeof out->block);
    return true;
}

static void scatter_lanes(const runner *r, warp *w, const code *c, const host_shape *s,
                          uint32_t lanes, const host_lane *from)
{
    const uint32_t *slots = r->program->extra + c->d;
    for (; lanes; lanes &= lanes - 1)
        for (uint32_t k = 0; k < s->out_count; k++) {
            uint32_t size = ir_type_size((ir_type)s->out[k].type);
            memcpy((uint8_t *)slot_at(w, slots[k]) + lowest_lane(lanes) * size, &from->out[k],
                   size);
        }
}

bool host_warp(runner *r, warp *w, const code *c)
{
    host_shape shape;
    char why[512];
    if (!r->launch->host || !host_read(r->program->strings[c->u.imm], &shape))
        return fault_raise(r, w, c, lowest_lane(w->active), K6047,
                           "the host cannot be called here");
    for (uint32_t left = w->active; left; left &= left - 1) {
        host_lane call = {{0}, {0}, {NULL}, {0}, {0}};
        uint32_t lane = lowest_lane(left);
        if (!gather_lane(r, w, c, &shape, lane, &call))
            return false;
        if (!r->launch->host(r->launch->host_user, c->a, &call, why, sizeof why))
            return fault_raise(r, w, c, lane, K6048, "%s", why);
        scatter_lanes(r, w, c, &shape, shape.is_warp ? left : 1u << lane, &call);
        if (shape.is_warp)
            break;
    }
    return true;
}
