// kiln tune attention SHAPE: the kernels that the library has for a forward call of attention, each
// in its tiles or parts, forced one after the other. They add in different orders, so results may
// differ by rounding. What is found takes the place of the model's choice for calls of exactly that
// shape. Start at tune_attention.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tune_op.h"
#include "ir/eval.h"
#include "kiln/ops.h"
#include "ops/attention/host_forward.h"

typedef struct call {
    tune_session *s;
    kiln_buffer *buffers[4]; // q, k, v, out
    kiln_attention_desc desc;
    forward_list list;
    forward_choice now;
    kiln_type type;
    uint64_t count;        // of the result
    uint16_t *right, *got; // the model's result, a candidate's
} call;

// Batch, heads, heads of keys, queries, keys, head dimension.
static kiln_status prepare(call *c, const tune_request *r)
{
    const uint64_t *s = r->sizes;
    bool is_short = r->size_count == 4;
    const uint64_t kv_heads = is_short ? s[1] : s[2], queries = is_short ? s[2] : s[3],
                   keys = is_short ? s[2] : s[4], dim = is_short ? s[3] : s[5];
    const uint64_t of_q = s[0] * s[1] * queries * dim, of_k = s[0] * kv_heads * keys * dim;
    const uint64_t counts[] = {of_q, of_k, of_k, of_q};
    kiln_status status = KILN_OK;
    for (int n = 0; n < 4 && !status; n++)
        status = tune_new_operand(c->s->k, r->type, counts[n], n < 3, &c->buffers[n]);
    if (status)
        return status;
    c->desc = (kiln_attention_desc){.q = KILN_VIEW(c->buffers[0], s[0], s[1], queries, dim),
                                    .k = KILN_VIEW(c->buffers[1], s[0], kv_heads, keys, dim),
                                    .v = KILN_VIEW(c->buffers[2], s[0], kv_heads, keys, dim),
                                    .out = KILN_VIEW(c->buffers[3], s[0], s[1], queries, dim),
                                    .is_causal = r->is_causal};
    c->type = r->type;
    c->count = of_q;
    c->right = malloc(of_q * sizeof *c->right + 1);
    c->got = malloc(of_q * sizeof *c->got + 1);
    return c->right && c->got ? forward_list_choices(c->s->k, &c->desc, &c->list)
                              : KILN_E_NO_MEMORY;
}

static float number(const call *c, uint16_t bits)
{
    return (float)ir_widen(c->type == KILN_BF16 ? IR_BF16 : IR_F16, bits);
}

// Rounding to the type, and weights that were rounded to it before they were added up: a few units
// of the largest number.
static bool is_near(const call *c)
{
    float largest = 0.0f, away = 0.0f, unit = c->type == KILN_BF16 ? 0x1p-8f : 0x1p-11f;
    for (uint64_t n = 0; n < c->count; n++) {
        float right = number(c, c->right[n]), got = number(c, c->got[n]);
        if (isnan(right) && isnan(got))
            continue;
        if (!(fabsf(got - right) <= away))
            away = isnan(got) != isnan(right) ? INFINITY : fabsf(got - right);
        largest = fmaxf(largest, fabsf(right));
    }
    return away <= 4 * unit * largest;
}

static kiln_status launch(void *user)
{
    call *c = user;
    return forward_run(c->s->k, &c->desc, &c->now);
}

static tune_state begin(void *user, size_t index)
{
    call *c = user;
    tune_candidate *to = &c->s->all[index];
    c->now = c->list.all[index];
    tune_state state = tune_run_once(c->s, to, c->buffers[3], index ? c->got : c->right, c->count,
                                     c->count * sizeof *c->got);
    if (state != TUNE_TIMED || !index || is_near(c))
        return state;
    snprintf(to->why, sizeof to->why, "its results are not near those of the model's choice");
    return TUNE_WRONG;
}

static int tune(call *c)
{
    if (!tune_list(c->s, c->list.count))
        return EXIT_WORLD;
    for (size_t n = 0; n < c->s->count; n++)
        forward_write_choice(&c->list.all[n], c->s->all[n].choice);
    memcpy(c->s->shape, c->list.shape, sizeof c->list.shape);
    c->s->user = c;
    c->s->begin = begin;
    c->s->launch = launch;
    return tune_compare(c->s, c->list.program);
}

int tune_attention(tune_request *r)
{
    call c = {.s = &r->s};
    kiln_status status = prepare(&c, r);
    int code = status ? cli_fail(r->s.k, status) : tune(&c);
    for (size_t n = 0; n < COUNT(c.buffers); n++)
        kiln_buffer_free(c.buffers[n]);
    free(c.right);
    free(c.got);
    return code;
}
