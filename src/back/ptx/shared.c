// Shared arrays as PTX declares them: by name, or, where a dynamic array asks for more alignment
// than it would get by itself, as one array of each kernel. Refuses what ptxas would: more static
// bytes in one kernel than STATIC_LIMIT. Start at ptx_place_shared.
#include "back/ptx/ptx.h"

// Of every target: what is more must be dynamic, and the launch asks for it.
enum { STATIC_LIMIT = 48 << 10, LEAST_ALIGN = 16 };

static uint32_t align_of(const ir_shared *s)
{
    return s->align > LEAST_ALIGN ? s->align : LEAST_ALIGN;
}

static uint64_t size_of(const ir_shared *s)
{
    return s->size ? s->size : 1;
}

void ptx_declare_shared(ptx *p)
{
    uint32_t count = p->m->shared.len;
    for (uint32_t k = 0; k < count; k++)
        p->is_shared_joined |=
            p->m->shared.at[k].is_dynamic && align_of(&p->m->shared.at[k]) > LEAST_ALIGN;
    for (uint32_t k = 0; k < count; k++) {
        const ir_shared *s = &p->m->shared.at[k];
        if (s->is_dynamic)
            text_printf(p->out, ".extern .shared .align %u .b8 %s[];\n", align_of(s),
                        ptx_name(p, s->name));
        else if (!p->is_shared_joined)
            text_printf(p->out, ".shared .align %u .b8 %s[%llu];\n", align_of(s),
                        ptx_name(p, s->name), (unsigned long long)size_of(s));
    }
}

static void refuse(ptx *p, uint64_t total)
{
    const bool *used = p->shared.used;
    const ir_shared *largest = NULL;
    p->failed = true;
    if (!p->ds)
        return;
    for (uint32_t k = 0; k < p->m->shared.len; k++) {
        const ir_shared *s = &p->m->shared.at[k];
        if (used[k] && !s->is_dynamic && (!largest || s->size > largest->size))
            largest = s;
    }
    diag *d = diag_raise(p->ds, K4001, largest->at,
                         "kernel '%s' needs %llu bytes of static shared memory: %s allows %d",
                         p->f->name, (unsigned long long)total, p->t->name, STATIC_LIMIT);
    for (uint32_t k = 0; k < p->m->shared.len; k++) {
        const ir_shared *s = &p->m->shared.at[k];
        if (used[k] && !s->is_dynamic && s->at.lo)
            diag_label(d, s->at, "%llu bytes", (unsigned long long)s->size);
    }
    if (total > p->t->shared_limit)
        diag_note(d, "a block of %s has %u bytes of shared memory in all, dynamic or not",
                  p->t->name, p->t->shared_limit);
    else
        diag_note(d,
                  "a block may have %u bytes when they are dynamic: declare 'shared T %s[];' and "
                  "give its size with each launch (shared_bytes)",
                  p->t->shared_limit, largest->name);
}

// The dynamic array comes after the static ones, and its alignment is not looked at when it is
// placed: where it asks for more than LEAST_ALIGN bytes, the static ones are one array whose size
// is a multiple of that.
void ptx_place_shared(ptx *p)
{
    p->shared = ir_layout_shared(p->f, LEAST_ALIGN, p->scratch);
    uint64_t total = p->shared.bytes;
    if (p->is_shared_joined)
        total = ir_round_up(total, p->shared.align);
    if (total > STATIC_LIMIT)
        refuse(p, total);
    else if (p->is_shared_joined && total)
        text_printf(p->out, "\n.shared .align %u .b8 $static_%s[%llu];\n", p->shared.align,
                    p->f->name, (unsigned long long)total);
}
