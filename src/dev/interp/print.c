// printf on the interpreter: one text per thread and call, lanes in ascending order. The formatting
// is rt/channel/format.c.
#include "rt/channel/format.h"

#include "dev/interp/engine.h"

enum { MAX_ARGUMENTS = 64 };

bool print_warp(runner *r, warp *w, const code *c)
{
    const interp_program *p = r->program;
    const uint32_t *slots = p->extra + c->b, *types = slots + c->c;
    uint32_t count = c->c < MAX_ARGUMENTS ? c->c : MAX_ARGUMENTS;
    print_out o = {0};
    for (uint32_t left = w->active; left; left &= left - 1) {
        uint64_t bits[MAX_ARGUMENTS] = {0};
        uint32_t lane = lowest_lane(left);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t size = ir_type_size((ir_type)types[k]);
            memcpy(&bits[k], (const uint8_t *)slot_at(w, slots[k]) + lane * size, size);
        }
        print_args args = {.types = types,
                           .bits = bits,
                           .count = count,
                           .strings = p->strings,
                           .string_count = p->string_count};
        o.len = 0;
        print_format(&o, p->strings[c->a], &args);
        if (o.len && r->launch->print && !o.is_full)
            r->launch->print(r->launch->print_user, o.at, o.len);
    }
    bool is_full = o.is_full;
    print_free(&o);
    if (is_full)
        return fault_raise(r, w, c, lowest_lane(w->active), K6004, "printf ran out of host memory");
    return true;
}
