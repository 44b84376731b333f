// Runs the cases of a suite (suite.h): tensors in a layout, the call, the comparison with the
// reference in double. Start reading at suite_test, the last function.
#include "ops/suite.h"
#include "ops/suite_tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- one case on one device
typedef struct trial {
    const op_suite *suite;
    const op_case *c;
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count;
    double *values[SUITE_TENSORS];    // as the device sees the inputs; the outputs that are right
    double *gradients[SUITE_TENSORS]; // given ones of outputs, right ones of inputs
    bool has_differences;             // the gradients of inputs are known
    uint32_t layout;
    kiln_type type;
    op_pass pass;
} trial;

typedef struct outcome { // what a device gave, tensor by tensor: values, then gradients
    void *bytes[2 * SUITE_TENSORS];
} outcome;

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p)
        abort();
    return p;
}

// The dimension along which an input repeats (SUITE_REPEATED), and how many elements one step of it
// is; its rank: none. What has a gradient does not repeat: where elements are equal, a largest one
// has no derivative.
static uint32_t repeated_along(const trial *t, uint32_t n, size_t *step)
{
    const op_tensor *x = &t->tensors[n];
    uint64_t turn = n;
    for (uint32_t d = 0; d < t->c->rank; d++)
        turn += t->c->sizes[d];
    bool has_gradient = t->pass == PASS_BACKWARD && x->role == ROLE_INPUT && x->has_gradient;
    if (t->layout != SUITE_REPEATED || has_gradient)
        return x->rank;
    uint32_t along = x->rank ? (uint32_t)(turn % x->rank) : 0;
    *step = 1;
    for (uint32_t d = along + 1; d < x->rank; d++)
        *step *= (size_t)x->sizes[d];
    return along;
}

// Which of its elements an element of a repeated input has the number of.
static size_t repeated_from(const op_tensor *x, uint32_t along, size_t step, size_t i)
{
    return along == x->rank ? i : i - i / step % (size_t)x->sizes[along] * step;
}

// Do an input's numbers repeat? A suite may have changed them.
static bool is_repeated(const trial *t, uint32_t n, const double *values)
{
    const op_tensor *x = &t->tensors[n];
    size_t step = 1;
    uint32_t along = repeated_along(t, n, &step);
    for (size_t i = 0; along < x->rank && i < suite_count(x); i++)
        if (values[i] != values[repeated_from(x, along, step, i)])
            return false;
    return along < x->rank;
}

static void make_trial(const op_suite *s, const op_case *c, kiln_type type, uint32_t layout,
                       op_pass pass, trial *t)
{
    uint64_t state = 88172645463325252u;
    *t = (trial){.suite = s, .c = c, .layout = layout, .type = type, .pass = pass};
    t->count = s->tensors(c, type, t->tensors);
    for (uint32_t n = 0; n < t->count; n++) {
        const op_tensor *x = &t->tensors[n];
        size_t count = suite_count(x);
        size_t step = 1;
        uint32_t along = repeated_along(t, n, &step);
        uint8_t element[8];
        t->values[n] = allocate(count, sizeof(double));
        t->gradients[n] = allocate(count, sizeof(double));
        for (size_t i = 0; i < count && x->role != ROLE_SCRATCH && !x->is_constant; i++) {
            double *to = x->role == ROLE_INPUT ? t->values[n] : t->gradients[n];
            double v = x->role == ROLE_INPUT ? suite_random(&state, x->low, x->high)
                                             : suite_random(&state, -1, 1);
            suite_put(x->type, element, 0, x->is_integer ? floor(v) : v);
            to[i] = suite_get(x->type, element, 0);
            to[i] = to[repeated_from(x, along, step, i)];
        }
    }
    s->reference(c, t->tensors, t->values);
}

static void free_trial(trial *t)
{
    for (uint32_t n = 0; n < t->count; n++) {
        free(t->values[n]);
        free(t->gradients[n]);
    }
}

// Sum of the outputs times their given gradients: what backward differentiates.
static double loss_of(trial *t)
{
    double sum = 0;
    t->suite->reference(t->c, t->tensors, t->values);
    for (uint32_t n = 0; n < t->count; n++)
        if (t->tensors[n].role == ROLE_OUTPUT)
            for (size_t i = 0; i < suite_count(&t->tensors[n]); i++)
                sum += t->values[n][i] * t->gradients[n][i];
    return sum;
}

static void differentiate(trial *t)
{
    const double step = 1e-5;
    for (uint32_t n = 0; n < t->count; n++)
        for (size_t i = 0; t->tensors[n].role == ROLE_INPUT && t->tensors[n].has_gradient &&
                           i < suite_count(&t->tensors[n]);
             i++) {
            double *x = &t->values[n][i], at = *x;
            *x = at + step;
            double up = loss_of(t);
            *x = at - step;
            double down = loss_of(t);
            *x = at;
            t->gradients[n][i] = (up - down) / (2 * step);
        }
    // The outputs at the inputs again. Where one is NaN (a mean of nothing), so are all
    // differences.
    t->has_differences = !isnan(loss_of(t));
}

enum { POISON = 0x5a };
#define HUGE_BYTES 4e9 // of host memory: such a case is a test for a machine of its own

static kiln_status write_values(const op_tensor *t, kiln_view v, const double *values)
{
    size_t count = suite_count(t);
    void *bytes = allocate(count, kiln_type_size(t->type));
    for (size_t i = 0; i < count; i++)
        suite_put(t->type, bytes, i, values[i]);
    kiln_status status = count ? kiln_write_view(v, bytes) : KILN_OK;
    free(bytes);
    return status;
}

static kiln_status poison(kiln_buffer *b, kiln_type type)
{
    uint8_t element[8];
    memset(element, type == KILN_BOOL ? 1 : POISON, sizeof element);
    return kiln_buffer_count(b) ? kiln_fill(b, element) : KILN_OK;
}

// Elements between those of the view are as they were.
static bool is_untouched(const op_tensor *t, kiln_buffer *b, kiln_view v)
{
    size_t size = kiln_type_size(t->type), total = kiln_buffer_count(b), changed = 0;
    uint8_t *all = allocate(total, size);
    bool is_read = !total || !kiln_read(b, 0, all, total);
    // What the view reaches becomes poison again, on the device: the rest must be it already.
    uint8_t *own = allocate(suite_count(t), size);
    memset(own, t->type == KILN_BOOL ? 1 : POISON, suite_count(t) * size);
    is_read = is_read && (!suite_count(t) || !kiln_write_view(v, own));
    uint8_t *after = allocate(total, size);
    is_read = is_read && (!total || !kiln_read(b, 0, after, total));
    for (size_t i = 0; i < total * size; i++)
        changed += after[i] != (t->type == KILN_BOOL ? 1 : POISON);
    is_read = is_read && (!total || !kiln_write(b, 0, all, total));
    free(all);
    free(own);
    free(after);
    return is_read && !changed;
}

// The layout of tensor n. Which layouts meet in a mixed case depends on its sizes.
static uint32_t layout_of(const trial *t, const op_tensor *x, uint32_t n)
{
    if (x->role == ROLE_SCRATCH || t->layout == SUITE_IN_PLACE || t->layout == SUITE_REPEATED)
        return SUITE_DENSE;
    if (t->layout != SUITE_MIXED)
        return t->layout;
    uint64_t turn = n;
    for (uint32_t d = 0; d < t->c->rank; d++)
        turn = turn * 3 + t->c->sizes[d];
    return 1u << turn % 5;
}

// An input that repeats, in memory that nothing may write where the device reaches the host's.
static kiln_status make_repeated(kiln *k, const trial *t, uint32_t n, const double *values,
                                 kiln_buffer **buffer, kiln_view *out)
{
    const op_tensor *x = &t->tensors[n];
    op_tensor once = *x;
    kiln_device_info info;
    size_t step = 1, count = 0;
    once.sizes[repeated_along(t, n, &step)] = 1;
    void *bytes = allocate(suite_count(&once), kiln_type_size(x->type));
    for (size_t i = 0; i < suite_count(x); i++)
        if (repeated_from(x, repeated_along(t, n, &step), step, i) == i)
            suite_put(x->type, bytes, count++, values[i]);
    kiln_status status = kiln_device_info_of(k, &info);
    kiln_wrap_desc wrap = {.type = x->type,
                           .count = suite_count(&once),
                           .host = bytes,
                           .is_read_only = true,
                           .release = free,
                           .user = bytes};
    bool is_wrapped = !status && info.caps.is_host && wrap.count;
    if (is_wrapped)
        status = kiln_buffer_wrap(k, &wrap, buffer);
    else if (!status)
        status = kiln_buffer_new(k, x->type, wrap.count, buffer);
    if (!status && !is_wrapped && wrap.count)
        status = kiln_write(*buffer, 0, bytes, wrap.count);
    if (status || !is_wrapped)
        free(bytes);
    if (!status)
        *out = kiln_view_broadcast(kiln_view_of(*buffer, x->rank, once.sizes), x->rank, x->sizes);
    return status;
}

static kiln_status make_tensors(kiln *k, const trial *t, op_pass pass, suite_run *r)
{
    kiln_status status = KILN_OK;
    *r = (suite_run){.suite = t->suite, .c = t->c, .k = k};
    for (uint32_t n = 0; n < t->count * (pass == PASS_BACKWARD ? 2 : 1) && !status; n++) {
        const op_tensor *x = &t->tensors[n % t->count];
        bool is_gradient = n >= t->count, is_input = (x->role == ROLE_INPUT) != is_gradient;
        if (is_gradient &&
            (x->role == ROLE_SCRATCH || x->is_constant || (!is_input && !x->has_gradient)))
            continue;
        if (t->layout == SUITE_IN_PLACE && pass == PASS_FORWARD && x->role == ROLE_OUTPUT &&
            t->tensors[n - 1].role == ROLE_INPUT) {
            r->views[n] = r->views[0];
            continue;
        }
        const double *values = is_gradient ? t->gradients[n - t->count] : t->values[n];
        if (is_input && x->role != ROLE_SCRATCH && is_repeated(t, n % t->count, values)) {
            status = make_repeated(k, t, n % t->count, values, &r->buffers[n], &r->views[n]);
            continue;
        }
        status = suite_view(k, x, layout_of(t, x, n), &r->buffers[n], &r->views[n]);
        if (!status)
            status = poison(r->buffers[n], x->type);
        if (!status && is_input && x->role != ROLE_SCRATCH)
            status = write_values(x, r->views[n], values);
    }
    return status;
}

// Runs forward, and backward where it is asked for, and takes what comes out.
static kiln_status run_trial(kiln *k, const trial *t, op_pass pass, outcome *out,
                             bool *is_outside_untouched)
{
    suite_run r;
    kiln_status status = make_tensors(k, t, pass, &r);
    if (!status)
        status = suite_call(&r, PASS_FORWARD);
    if (!status && pass == PASS_BACKWARD)
        status = suite_call(&r, PASS_BACKWARD);
    *is_outside_untouched = true;
    for (uint32_t n = 0; n < 2 * t->count && !status; n++) {
        const op_tensor *x = &t->tensors[n % t->count];
        bool is_result =
            n < t->count ? x->role == ROLE_OUTPUT : x->role == ROLE_INPUT && r.buffers[n];
        if (!is_result)
            continue;
        out->bytes[n] = allocate(suite_count(x), kiln_type_size(x->type));
        if (suite_count(x))
            status = kiln_read_view(r.views[n], out->bytes[n]);
        if (!status && r.buffers[n] && !is_untouched(x, r.buffers[n], r.views[n]))
            *is_outside_untouched = false;
    }
    suite_release(&r);
    return status;
}

static void free_outcome(outcome *o)
{
    for (uint32_t n = 0; n < 2 * SUITE_TENSORS; n++)
        free(o->bytes[n]);
}

// --- comparing
static double as_type(kiln_type type, double x)
{
    uint64_t room;
    suite_put(type, &room, 0, x);
    return suite_get(type, &room, 0);
}

// The largest error over what is allowed; above 1 it is wrong.
// `more`: allowed beside what the tolerance allows.
static double worst_of(const op_tensor *t, const void *got, const double *want, double more)
{
    double worst = 0;
    for (size_t i = 0; i < suite_count(t); i++) {
        double g = suite_get(t->type, got, i), w = want[i];
        double allowed = suite_epsilon(t->type) * t->tolerance * (fabs(w) + 1) + more;
        if (suite_epsilon(t->type) == 0)
            allowed = 0.5; // integers are exact
        if (isinf(g) && isfinite(w) && g == as_type(t->type, w + copysign(allowed, w)))
            continue; // too large for the type, or nearly
        if (isnan(g) != isnan(w) || (isinf(w) && g != w))
            return HUGE_VAL;
        double error = isnan(w) || isinf(w) ? 0 : fabs(g - w) / allowed;
        worst = error > worst ? error : worst;
    }
    return worst;
}

static const char *layout_name(uint32_t layout)
{
    switch (layout) {
    case SUITE_TRANSPOSED: return "transposed";
    case SUITE_GAPS: return "with gaps";
    case SUITE_FLIPPED: return "flipped";
    case SUITE_OFFSET: return "unaligned";
    case SUITE_IN_PLACE: return "in place";
    case SUITE_MIXED: return "mixed";
    case SUITE_REPEATED: return "repeated";
    default: return "dense";
    }
}

void suite_describe(const op_suite *s, const op_case *c, char *out, size_t size)
{
    size_t len = 0;
    for (uint32_t n = 0; n < c->rank; n++)
        len += (size_t)snprintf(out + len, size - len, "%s%llu", n ? "x" : "",
                                (unsigned long long)c->sizes[n]);
    if (!c->rank)
        len = (size_t)snprintf(out, size, "scalar");
    if (s->describe) {
        out[len++] = ' ';
        s->describe(c, out + len, size - len);
    }
}

static void complain(const trial *t, const char *device, const char *what, double worst)
{
    char text[160];
    suite_describe(t->suite, t->c, text, sizeof text);
    printf("%s %s %s %s on %s: %s", t->suite->name, text, kiln_type_name(t->type),
           layout_name(t->layout), device, what);
    if (worst > 0)
        printf(" (%.3g times what is allowed)", worst);
    printf("\n");
}

static bool is_right(const trial *t, const char *device, const outcome *o)
{
    bool is_good = true;
    for (uint32_t n = 0; n < 2 * t->count; n++) {
        if (!o->bytes[n])
            continue;
        const op_tensor *x = &t->tensors[n % t->count];
        bool is_gradient = n >= t->count;
        const double *want = is_gradient ? t->gradients[n - t->count] : t->values[n];
        if (is_gradient && !t->has_differences)
            continue;
        // A finite difference is right to about 1e-8.
        double worst = worst_of(x, o->bytes[n], want, is_gradient ? 5e-8 : 0);
        if (!(worst <= 1)) {
            char what[96];
            snprintf(what, sizeof what, "%s'%s' is wrong", is_gradient ? "the gradient of " : "",
                     x->name);
            complain(t, device, what, worst);
            is_good = false;
        }
    }
    return is_good;
}

// The same bits; those of a NaN are the device's own.
static bool is_same_tensor(const op_tensor *t, const uint8_t *a, const uint8_t *b)
{
    size_t size = kiln_type_size(t->type), count = suite_count(t);
    bool is_same = !memcmp(a, b, count * size);
    for (size_t i = 0; !is_same && i < count; i++)
        if (memcmp(a + i * size, b + i * size, size) &&
            !(isnan(suite_get(t->type, a, i)) && isnan(suite_get(t->type, b, i))))
            return false;
    return true;
}

static bool is_same(const trial *t, const outcome *a, const outcome *b)
{
    for (uint32_t n = 0; n < 2 * t->count; n++)
        if (a->bytes[n] && !(n >= t->count && t->tensors[n - t->count].is_unordered) &&
            !is_same_tensor(&t->tensors[n % t->count], a->bytes[n], b->bytes[n]))
            return false;
    return true;
}

// Bytes of the host that a case takes, about: numbers in double, what is written and read twice.
static double host_bytes(const op_suite *s, const op_case *c)
{
    op_tensor tensors[SUITE_TENSORS];
    double bytes = 0;
    uint32_t type = c->types ? (uint32_t)__builtin_ctz(c->types) : KILN_F32;
    uint32_t count = s->tensors(c, (kiln_type)type, tensors);
    for (uint32_t n = 0; n < count; n++)
        bytes += 16 * (double)suite_count(&tensors[n]);
    return bytes;
}

static void test_one(kiln *k, kiln *oracle, trial *t, op_pass pass, suite_counts *counts)
{
    kiln_device_info info;
    const char *device = kiln_device_info_of(k, &info) ? "?" : info.name;
    outcome first = {{NULL}}, again = {{NULL}}, other = {{NULL}};
    bool is_clean = true, is_good;
    kiln_status status = run_trial(k, t, pass, &first, &is_clean);
    if (!status)
        status = run_trial(k, t, pass, &again, &is_clean);
    if (status)
        complain(t, device, kiln_last_error(k)->text, 0);
    is_good = !status && is_right(t, device, &first);
    if (!is_clean)
        complain(t, device, "wrote beside the view", 0);
    if (is_good && !is_same(t, &first, &again)) {
        complain(t, device, "a second run gives other bits", 0);
        is_good = false;
    }
    if (is_good && oracle && !t->suite->bits_differ) {
        bool is_oracle_clean;
        if (run_trial(oracle, t, pass, &other, &is_oracle_clean) || !is_same(t, &first, &other)) {
            complain(t, device, "other bits than the interpreter's", 0);
            is_good = false;
        }
    }
    if (is_good && is_clean)
        counts->passed++;
    else
        counts->failed++;
    free_outcome(&first);
    free_outcome(&again);
    free_outcome(&other);
}

void suite_test_one(kiln *k, kiln *oracle, const op_suite *s, const op_case *c, kiln_type type,
                    uint32_t layout, suite_counts *counts)
{
    trial t;
    bool has_backward = s->has_backward && (c->tags & SUITE_GRADIENT) && layout != SUITE_IN_PLACE;
    for (int pass = PASS_FORWARD; pass <= PASS_BACKWARD; pass++) {
        if (pass == PASS_BACKWARD ? !has_backward : has_backward && layout != SUITE_REPEATED)
            continue; // backward runs forward, too, but with other inputs where they repeat
        make_trial(s, c, type, layout, (op_pass)pass, &t);
        if (pass == PASS_BACKWARD)
            differentiate(&t);
        test_one(k, oracle, &t, (op_pass)pass, counts);
        free_trial(&t);
    }
}

// One of the bits of `set`: the one that is `turn`-th in turn.
static uint32_t one_of(uint32_t set, int turn)
{
    int count = __builtin_popcount(set);
    for (int skip = count ? turn % count : 0; skip > 0; skip--)
        set &= set - 1;
    return set & (0 - set);
}

// turn >= 0: only one type and one layout, those whose turn it is.
static void test_case(kiln *k, kiln *oracle, const op_suite *s, const op_case *c, int turn,
                      suite_counts *counts)
{
    uint32_t layouts = c->layouts ? c->layouts : SUITE_DENSE, types = c->types;
    if (turn >= 0) {
        types = one_of(types, turn);
        layouts = one_of(layouts, turn / 2);
    }
    for (int type = 0; type <= KILN_F64; type++)
        for (uint32_t layout = 1; layout <= SUITE_REPEATED; layout *= 2) {
            if (!(types >> type & 1) || !(layouts & layout))
                continue;
            suite_test_one(k, oracle, s, c, (kiln_type)type, layout, counts);
        }
}

void suite_test(kiln *k, kiln *oracle, const op_suite *s, bool is_brief, suite_counts *counts)
{
    kiln_device_info info;
    bool is_gpu = !kiln_device_info_of(k, &info) && !info.caps.is_host;
    for (size_t n = 0; n < s->case_count; n++) {
        const op_case *c = &s->cases[n];
        bool is_huge = c->tags & SUITE_GPU && is_gpu && host_bytes(s, c) > HUGE_BYTES;
        if (is_huge && !getenv("KILN_TEST_HUGE")) {
            printf("skipped: huge cases, without KILN_TEST_HUGE\n");
            counts->skipped++;
        } else if (c->tags & SUITE_TEST || (c->tags & SUITE_GPU && is_gpu))
            test_case(k, c->tags & SUITE_TEST ? oracle : NULL, s, c, is_brief ? (int)n : -1,
                      counts);
        else if (c->tags & SUITE_GPU) {
            char name[256];
            suite_describe(s, c, name, sizeof name);
            printf("skipped: %s %s: takes too long without a GPU\n", s->name, name);
            counts->skipped++;
        }
    }
    if (s->more)
        counts->failed += s->more(k, &counts->passed);
}

int suite_test_nv(kiln *k, const op_suite *s, int *passed)
{
    kiln_device_info info;
    suite_counts counts = {0};
    if (!kiln_device_info_of(k, &info) && info.caps.has_nv)
        suite_test(k, NULL, s, false, &counts);
    *passed += counts.passed;
    return counts.failed;
}
