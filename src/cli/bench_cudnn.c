// kiln bench attention|conv --against cudnn: the same calls by cuDNN (cudnn.h). Every plan that its
// heuristics propose is tried, the fastest one is measured. Its results are compared with ours: a
// ratio of two different things says nothing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/cudnn.h"

enum { MOST_COMPARED = 1 << 22 };
static const int64_t most_workspace = (int64_t)4 << 30;

static bool fails(bench_cudnn *c, const char *why)
{
    if (!*c->why)
        snprintf(c->why, sizeof c->why, "%s", why);
    return false;
}

static bool add_buffer(bench_cudnn *c, kiln_type type, size_t count, uint64_t *address)
{
    kiln_buffer *buffer = NULL;
    if (kiln_buffer_new(c->k, type, count ? count : 1, &buffer))
        return fails(c, "there is no memory for its workspace");
    c->buffers[c->buffer_count++] = buffer;
    *address = kiln_buffer_address(buffer);
    return true;
}

static cudnn_graph *add_graph(bench_cudnn *c)
{
    cudnn_graph *g = cudnn_graph_new();
    if (g)
        c->graphs[c->graph_count++] = g;
    else
        fails(c, "there is no memory");
    return g;
}

// --- plans
typedef struct attempt {
    const cudnn_graph *g;
    void *pack;
    int plan;
} attempt;

static kiln_status call_attempt(void *user, int round)
{
    const attempt *a = user;
    (void)round;
    return cudnn_run(a->g, a->plan, a->pack);
}

// The graphs are complete, with the addresses of the first copy.
static bool choose_plans(bench_cudnn *c)
{
    int64_t most = 0;
    uint64_t workspace = 0;
    for (int n = 0; n < c->graph_count; n++) {
        cudnn_graph *g = c->graphs[n];
        if (!cudnn_plan(g))
            return fails(c, g->why);
        for (int p = 0; p < g->plan_count; p++)
            if (g->workspaces[p] <= most_workspace && g->workspaces[p] > most)
                most = g->workspaces[p];
    }
    if (!add_buffer(c, KILN_U8, (size_t)most, &workspace))
        return false;
    for (int n = 0; n < c->graph_count; n++) {
        cudnn_graph *g = c->graphs[n];
        attempt a = {.g = g, .pack = cudnn_pack(g, workspace)};
        double best = 0;
        if (!a.pack)
            return fails(c, g->why);
        for (a.plan = 0; a.plan < g->plan_count; a.plan++) {
            double seconds =
                g->workspaces[a.plan] > most ? 0 : bench_glance(c->k, call_attempt, &a);
            if (seconds > 0 && (best == 0 || seconds < best)) {
                best = seconds;
                c->plans[n] = a.plan;
            }
        }
        if (best == 0)
            return fails(c, "none of its plans runs");
        c->packs[0][n] = a.pack;
    }
    c->copies = 1;
    return true;
}

kiln_status bench_cudnn_call(void *user, int round)
{
    const bench_cudnn *c = user;
    kiln_status status = KILN_OK;
    for (int n = 0; n < c->graph_count && !status; n++)
        status = cudnn_run(c->graphs[n], c->plans[n], c->packs[round % c->copies][n]);
    return status;
}

// --- attention
static size_t elements_of(const cudnn_tensor *t)
{
    size_t count = 1;
    for (int n = 0; n < t->rank; n++)
        count *= (size_t)t->sizes[n];
    return count;
}

// Addresses of the graph's tensors in the order in which it has them (cudnn_ops.c); cuDNN's own
// tensors come last.
static void set_addresses(cudnn_graph *g, const kiln_view *views, int count)
{
    for (int n = 0; n < g->tensor_count && count; n++)
        if (g->tensors[n].kind == CUDNN_IN_MEMORY) {
            g->tensors[n].address = cudnn_address_of(*views++);
            count--;
        }
}

static bool add_pack(bench_cudnn *c, int copy, int graph)
{
    uint64_t workspace = kiln_buffer_address(c->buffers[c->buffer_count - 1]);
    c->packs[copy][graph] = cudnn_pack(c->graphs[graph], workspace);
    return c->packs[copy][graph] || fails(c, c->graphs[graph]->why);
}

// The forward pass, ready to be called.
static bool prepare_forward(bench_cudnn *c, const kiln_attention_desc *d, int copies,
                            cudnn_attention *own)
{
    cudnn_graph *g = add_graph(c);
    if (!g)
        return false;
    if (!cudnn_attention_forward(g, d, own))
        return fails(c, g->why);
    if (!add_buffer(c, KILN_F32, elements_of(own->stats), &own->stats->address) || !choose_plans(c))
        return false;
    for (int n = 1; n < copies; n++) {
        set_addresses(g, (const kiln_view[]){d[n].q, d[n].k, d[n].v, d[n].out}, 4);
        if (!add_pack(c, n, 0))
            return false;
    }
    c->copies = copies;
    c->results[0] = d->out;
    c->result_count = 1;
    return true;
}

// Backward takes what cuDNN's own forward pass has left: the last copy's, for all of them.
bool bench_cudnn_attention(bench_cudnn *c, kiln *k, const kiln_attention_desc *forward,
                           const kiln_attention_backward_desc *backward, int copies)
{
    cudnn_attention own = {0};
    *c = (bench_cudnn){.k = k};
    if (!prepare_forward(c, forward, backward ? 1 : copies, &own))
        return false;
    if (!backward)
        return true;
    uint64_t stats = own.stats->address;
    if (bench_cudnn_call(c, 0) || kiln_sync(k))
        return fails(c, "its forward pass does not run");
    cudnn_graph_free(c->graphs[0]);
    c->graph_count = 0;
    kiln_buffer_free(c->buffers[--c->buffer_count]); // the workspace
    cudnn_graph *g = add_graph(c);
    if (!g)
        return false;
    if (!cudnn_attention_backward(g, backward, &own))
        return fails(c, g->why);
    own.stats->address = stats;
    c->results[0] = backward->dq;
    c->results[1] = backward->dk;
    c->results[2] = backward->dv;
    c->result_count = 3;
    if (!add_buffer(c, KILN_F32, elements_of(own.sums), &own.sums->address) ||
        !add_buffer(c, KILN_F32, elements_of(own.dq), &own.dq->address) || !choose_plans(c))
        return false;
    for (int n = 1; n < copies; n++) {
        const kiln_attention_backward_desc *d = &backward[n];
        set_addresses(
            g, (const kiln_view[]){d->q, d->k, d->v, d->out, d->dout, d->dq, d->dk, d->dv}, 8);
        if (!add_pack(c, n, 0))
            return false;
    }
    c->copies = copies;
    return true;
}

// --- convolutions
bool bench_cudnn_conv(bench_cudnn *c, kiln *k, const kiln_conv_desc *forward,
                      const kiln_conv_backward_desc *backward, int copies)
{
    *c = (bench_cudnn){.k = k};
    for (int n = 0; n < (backward ? 2 : 1); n++) {
        cudnn_graph *g = add_graph(c);
        if (!g)
            return false;
        if (!(backward ? cudnn_conv_backward(g, backward, n == 1) : cudnn_conv_forward(g, forward)))
            return fails(c, g->why);
    }
    c->results[0] = backward ? backward->dx : forward->out;
    if (backward)
        c->results[1] = backward->dweight;
    c->result_count = backward ? 2 : 1;
    if (!choose_plans(c))
        return false;
    for (int copy = 1; copy < copies; copy++)
        for (int n = 0; n < c->graph_count; n++) {
            const kiln_conv_backward_desc *b = backward ? &backward[copy] : NULL;
            const kiln_conv_desc *f = backward ? NULL : &forward[copy];
            if (!b)
                set_addresses(c->graphs[n], (const kiln_view[]){f->x, f->weight, f->out}, 3);
            else if (n)
                set_addresses(c->graphs[n], (const kiln_view[]){b->dout, b->x, b->dweight}, 3);
            else
                set_addresses(c->graphs[n], (const kiln_view[]){b->dout, b->weight, b->dx}, 3);
            if (!add_pack(c, copy, n))
                return false;
        }
    c->copies = copies;
    return true;
}

// --- the same results
static float value_of(kiln_type type, uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    if (type == KILN_F16) {
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        value = exponent == 31 ? (fraction ? NAN : INFINITY)
                : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                               : ldexpf((float)fraction, -24);
        return bits >> 15 ? -value : value;
    }
    memcpy(&value, &wide, sizeof value);
    return value;
}

// Every type that cuDNN is asked for has 16 bits.
static kiln_status read_results(const bench_cudnn *c, uint16_t *to[3])
{
    kiln_status status = kiln_sync(c->k);
    for (int n = 0; n < c->result_count && !status; n++) {
        size_t count = kiln_buffer_count(c->results[n].buffer);
        count = count > MOST_COMPARED ? MOST_COMPARED : count;
        if (!to[n] && !(to[n] = malloc(count * sizeof **to)))
            return KILN_E_NO_MEMORY;
        status = kiln_read(c->results[n].buffer, 0, to[n], count);
    }
    return status;
}

// What nobody writes is no result.
static kiln_status spoil_results(const bench_cudnn *c)
{
    kiln_status status = KILN_OK;
    for (int n = 0; n < c->result_count && !status; n++) {
        size_t count = kiln_buffer_count(c->results[n].buffer);
        count = count > MOST_COMPARED ? MOST_COMPARED : count;
        void *nan = malloc(count * 2);
        if (!nan)
            return KILN_E_NO_MEMORY;
        memset(nan, 0xff, count * 2);
        status = kiln_write(c->results[n].buffer, 0, nan, count);
        free(nan);
    }
    return status;
}

static kiln_status results_of(const bench_cudnn *c, bench_call *call, void *user, uint16_t *to[3])
{
    kiln_status status = spoil_results(c);
    if (!status)
        status = call(user, 0);
    return status ? status : read_results(c, to);
}

static double larger(double a, double b) // NaN is the largest
{
    return isnan(a) || a > b ? a : b;
}

kiln_status bench_cudnn_compare(bench_cudnn *c, bench_call *ours, void *user, double *difference)
{
    uint16_t *mine[3] = {NULL}, *their[3] = {NULL};
    kiln_status status = results_of(c, ours, user, mine);
    if (!status)
        status = results_of(c, bench_cudnn_call, c, their);
    *difference = 0;
    for (int n = 0; n < c->result_count && !status; n++) {
        size_t count = kiln_buffer_count(c->results[n].buffer);
        kiln_type type = kiln_view_type(c->results[n]);
        double most = 0, apart = 0;
        for (size_t i = 0; i < count && i < MOST_COMPARED; i++) {
            double a = (double)value_of(type, mine[n][i]), b = (double)value_of(type, their[n][i]);
            double d = mine[n][i] == their[n][i] ? 0 : fabs(a - b);
            apart = larger(apart, d);
            most = fabs(b) > most ? fabs(b) : most;
        }
        apart = apart == 0 ? 0 : apart / most;
        *difference = larger(*difference, apart);
    }
    for (int n = 0; n < 3; n++) {
        free(mine[n]);
        free(their[n]);
    }
    return status;
}

void bench_cudnn_free(bench_cudnn *c)
{
    for (int n = 0; n < c->graph_count; n++)
        cudnn_graph_free(c->graphs[n]);
    for (int n = 0; n < c->buffer_count; n++)
        kiln_buffer_free(c->buffers[n]);
    *c = (bench_cudnn){.k = c->k};
}
