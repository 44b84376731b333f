// The suites of the ops as a shared library for bench/gpu/ops.py: a case of an op over memory that
// Python owns. One device at a time; every function that can fail returns 0 or says why in
// ops_error. Functions come in the order in which the script calls them.
#include <stdlib.h>
#include <string.h>

#include "ops/suite.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct shim_tensor { // as class Tensor in ops.py
    char name[24], type[8];
    int32_t role, rank, is_integer, has_gradient, is_constant, unused;
    uint64_t sizes[KILN_MAX_RANK];
    double low, high;
} shim_tensor;

typedef struct shim_case { // as class Case in ops.py
    char text[96];
    int32_t axis, option, count, has_backward;
    double alpha, beta;
    shim_tensor tensors[SUITE_TENSORS];
} shim_case;

typedef struct shim_run {
    suite_run run;
    op_case c;
} shim_run;

// What the script's structures must have.
EXPORT uint64_t ops_case_bytes(void)
{
    return sizeof(shim_case);
}

static kiln *device;

static op_case other; // what ops_change has set
static bool has_sizes, has_option;

// Sizes (rank 0: its own), and option, axis and alpha (where has_new_option is set) of the cases
// from now on.
EXPORT void ops_change(uint32_t rank, const uint64_t *sizes, int has_new_option, uint32_t option,
                       uint32_t axis, double alpha)
{
    has_sizes = rank != 0;
    has_option = has_new_option != 0;
    other = (op_case){.rank = rank, .option = option, .axis = axis, .alpha = alpha};
    memcpy(other.sizes, sizes, rank * sizeof *sizes);
}

static op_case case_of(const op_suite *s, int index, kiln_type type, double most_bytes)
{
    op_case c = s->cases[index];
    if (has_sizes) {
        c.rank = other.rank;
        memcpy(c.sizes, other.sizes, sizeof c.sizes);
    }
    if (has_option) {
        c.option = other.option;
        c.axis = other.axis;
        c.alpha = other.alpha;
    }
    return suite_fitted(s, c, type, most_bytes);
}

EXPORT const char *ops_error(void)
{
    return kiln_last_error(device)->text;
}

// context: a CUcontext; NULL: the primary one. stream: a CUstream that all calls go to.
EXPORT int ops_open(const char *name, void *context, void *stream)
{
    return (int)kiln_open_on(
        &(kiln_open_desc){.device = name, .context = context, .stream = stream}, &device);
}

static kiln_type type_named(const char *name)
{
    for (int type = 0; type <= KILN_F64; type++)
        if (!strcmp(name, kiln_type_name((kiln_type)type)))
            return (kiln_type)type;
    return KILN_F32;
}

// Case `index` of an op, as `kiln bench --list --json` names it.
EXPORT int ops_case(const char *op, int index, const char *type_name, double most_bytes,
                    shim_case *out)
{
    const op_suite *s = op_suite_find(op);
    if (!s || index < 0 || (size_t)index >= s->case_count)
        return 1;
    op_tensor tensors[SUITE_TENSORS];
    op_case c = case_of(s, index, type_named(type_name), most_bytes);
    *out = (shim_case){.axis = (int32_t)c.axis,
                       .option = (int32_t)c.option,
                       .alpha = c.alpha,
                       .beta = c.beta,
                       .has_backward = suite_has_backward(s, &c)};
    out->count = (int32_t)s->tensors(&c, type_named(type_name), tensors);
    suite_describe(s, &c, out->text, sizeof out->text);
    for (int n = 0; n < out->count; n++) {
        const op_tensor *t = &tensors[n];
        shim_tensor *to = &out->tensors[n];
        *to = (shim_tensor){.role = (int32_t)t->role,
                            .rank = (int32_t)t->rank,
                            .is_integer = t->is_integer,
                            .has_gradient = t->has_gradient,
                            .is_constant = t->is_constant,
                            .low = t->low,
                            .high = t->high};
        snprintf(to->name, sizeof to->name, "%s", t->name);
        snprintf(to->type, sizeof to->type, "%s", kiln_type_name(t->type));
        memcpy(to->sizes, t->sizes, sizeof to->sizes);
    }
    return 0;
}

EXPORT void ops_release(shim_run *r)
{
    if (r)
        suite_release(&r->run);
    free(r);
}

// memory: an address for each tensor, then one for each gradient; 0: it is not there. The host's
// memory where is_host is set.
EXPORT shim_run *ops_prepare(const char *op, int index, const char *type_name, double most_bytes,
                             const uint64_t *memory, int is_host)
{
    const op_suite *s = op_suite_find(op);
    kiln_type type = type_named(type_name);
    shim_run *r = s ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return NULL;
    op_tensor tensors[SUITE_TENSORS];
    r->c = case_of(s, index, type, most_bytes);
    r->run = (suite_run){.suite = s, .c = &r->c, .k = device};
    uint32_t count = s->tensors(&r->c, type, tensors);
    for (uint32_t n = 0; n < 2 * count; n++) {
        const op_tensor *t = &tensors[n % count];
        size_t elements = 1;
        for (uint32_t d = 0; d < t->rank; d++)
            elements *= (size_t)t->sizes[d];
        if (!memory[n])
            continue;
        kiln_wrap_desc desc = {.type = t->type, .count = elements, .name = t->name};
        if (is_host)
            desc.host = (void *)(uintptr_t)memory[n];
        else
            desc.address = memory[n];
        if (kiln_buffer_wrap(device, &desc, &r->run.buffers[n])) {
            ops_release(r);
            return NULL;
        }
        r->run.views[n] = kiln_view_of(r->run.buffers[n], t->rank, t->sizes);
    }
    return r;
}

EXPORT int ops_call(const shim_run *r, int is_backward)
{
    return (int)suite_call(&r->run, is_backward ? PASS_BACKWARD : PASS_FORWARD);
}

EXPORT int ops_sync(void)
{
    return (int)kiln_sync(device);
}

EXPORT void ops_close(void)
{
    kiln_close(device);
    device = NULL;
}
