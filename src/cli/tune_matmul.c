// kiln tune matmul MxNxK: the tiles that the library's kernel has for a product, forced one after
// the other. All share the sum of an element among as many blocks as the model's choice does, so
// every one must give the same bits. What is found takes the place of the model's choice for
// products of exactly that size. Start at tune_matmul.
#include <stdlib.h>
#include <string.h>

#include "cli/tune_op.h"
#include "kiln/ops.h"
#include "ops/matmul/host_matmul.h"

typedef struct product {
    tune_session *s;
    kiln_buffer *buffers[3];
    kiln_matmul_desc desc;
    matmul_list list;
    uint64_t count; // of the result
    size_t bytes;
    unsigned char *right, *got; // the model's result, a candidate's
} product;

// A layout "nt" means that b is stored as [n, k].
static kiln_status prepare(product *p, const tune_request *r)
{
    bool a_is_t = r->layout[0] == 't', b_is_t = r->layout[1] == 't';
    const uint64_t m = r->sizes[0], n = r->sizes[1], k = r->sizes[2];
    kiln_status status = tune_new_operand(p->s->k, r->type, m * k, true, &p->buffers[0]);
    if (!status)
        status = tune_new_operand(p->s->k, r->type, k * n, true, &p->buffers[1]);
    if (!status)
        status = tune_new_operand(p->s->k, r->out, m * n, false, &p->buffers[2]);
    if (status)
        return status;
    kiln_view a = a_is_t ? kiln_view_transpose(KILN_VIEW(p->buffers[0], k, m))
                         : KILN_VIEW(p->buffers[0], m, k);
    kiln_view b = b_is_t ? kiln_view_transpose(KILN_VIEW(p->buffers[1], n, k))
                         : KILN_VIEW(p->buffers[1], k, n);
    p->desc = (kiln_matmul_desc){
        .a = a, .b = b, .out = KILN_VIEW(p->buffers[2], m, n), .is_tf32 = r->is_tf32};
    p->count = m * n;
    p->bytes = p->count * kiln_type_size(r->out);
    p->right = malloc(p->bytes + 1);
    p->got = malloc(p->bytes + 1);
    return p->right && p->got ? matmul_list_tiles(p->s->k, &p->desc, &p->list) : KILN_E_NO_MEMORY;
}

static kiln_status launch(void *user)
{
    product *p = user;
    return kiln_matmul(p->s->k, &p->desc);
}

static tune_state begin(void *user, size_t index)
{
    product *p = user;
    const matmul_choice *choice = &p->list.all[index];
    tune_candidate *c = &p->s->all[index];
    p->desc.tile_m = index ? choice->m : 0;
    p->desc.tile_n = index ? choice->n : 0;
    p->desc.sm90 = index ? choice->sm90 : (kiln_matmul_sm90){.group = 0};
    unsigned char *got = index ? p->got : p->right;
    tune_state state = tune_run_once(p->s, c, p->buffers[2], got, p->count, p->bytes);
    if (state != TUNE_TIMED || !memcmp(got, p->right, p->bytes))
        return state;
    snprintf(c->why, sizeof c->why, "its results are not those of the model's choice");
    return TUNE_WRONG;
}

static int tune(product *p)
{
    if (!tune_list(p->s, p->list.count))
        return EXIT_WORLD;
    // The model may have details that no description can ask for: its own choice is not forced.
    snprintf(p->s->all[0].choice, sizeof p->s->all[0].choice, "model=1");
    for (size_t n = 1; n < p->s->count; n++)
        matmul_write_choice(&p->list.all[n], p->s->all[n].choice);
    memcpy(p->s->shape, p->list.shape, sizeof p->list.shape);
    p->s->user = p;
    p->s->begin = begin;
    p->s->launch = launch;
    return tune_compare(p->s, p->list.program);
}

int tune_matmul(tune_request *r)
{
    product p = {.s = &r->s};
    kiln_status status = prepare(&p, r);
    int code = status ? cli_fail(r->s.k, status) : tune(&p);
    for (size_t n = 0; n < COUNT(p.buffers); n++)
        kiln_buffer_free(p.buffers[n]);
    free(p.right);
    free(p.got);
    return code;
}
