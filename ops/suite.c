// Runs the cases of a suite (suite.h): tensors in a layout, the call, the comparison with the
// reference in double. Start reading at suite_test, the last function.
#include "ops/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- numbers
static double epsilon_of(kiln_type type)
{
    return type == KILN_F16    ? 0x1p-11
           : type == KILN_BF16 ? 0x1p-8
           : type == KILN_F32  ? 0x1p-24
           : type == KILN_F64  ? 0x1p-53
                               : 0;
}

// The nearest number with `bits` bits and an exponent of at least `least`.
static double rounded(double x, int bits, int least)
{
    int e;
    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &e);
    e = e < least ? least : e;
    return ldexp(nearbyint(ldexp(x, bits - e)), e - bits);
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint16_t half_bits(double x)
{
    int e;
    uint16_t sign = (uint16_t)(signbit(x) ? 0x8000 : 0);
    double r = rounded(fabs(x), 11, -13);
    if (isnan(x))
        return 0x7e00;
    if (r > 65504)
        return sign | 0x7c00;
    if (r < 0x1p-14)
        return sign | (uint16_t)ldexp(r, 24);
    double f = frexp(r, &e);
    return (uint16_t)(sign | (uint32_t)(e + 14) << 10 | (uint32_t)((f * 2 - 1) * 1024));
}

static void put(kiln_type type, void *to, size_t i, double x)
{
    switch (type) {
    case KILN_BOOL: ((uint8_t *)to)[i] = x != 0; break;
    case KILN_I8: ((int8_t *)to)[i] = (int8_t)x; break;
    case KILN_U8: ((uint8_t *)to)[i] = (uint8_t)x; break;
    case KILN_I16: ((int16_t *)to)[i] = (int16_t)x; break;
    case KILN_U16: ((uint16_t *)to)[i] = (uint16_t)x; break;
    case KILN_I32: ((int32_t *)to)[i] = (int32_t)x; break;
    case KILN_U32: ((uint32_t *)to)[i] = (uint32_t)x; break;
    case KILN_I64: ((int64_t *)to)[i] = (int64_t)x; break;
    case KILN_U64: ((uint64_t *)to)[i] = (uint64_t)x; break;
    case KILN_F16: ((uint16_t *)to)[i] = half_bits(x); break;
    case KILN_BF16:
        ((uint16_t *)to)[i] = (uint16_t)(bits_of((float)rounded(x, 8, -125)) >> 16);
        break;
    case KILN_F32: ((float *)to)[i] = (float)x; break;
    case KILN_F64: ((double *)to)[i] = x; break;
    default: break; // no op has elements of the other types
    }
}

static double half_value(uint16_t u)
{
    int e = u >> 10 & 31;
    double m = u & 1023;
    double v = e == 31 ? (m != 0 ? (double)NAN : HUGE_VAL)
               : e     ? ldexp(1024 + m, e - 25)
                       : ldexp(m, -24);
    return u >> 15 ? -v : v;
}

static double get(kiln_type type, const void *from, size_t i)
{
    switch (type) {
    case KILN_BOOL:
    case KILN_U8: return ((const uint8_t *)from)[i];
    case KILN_I8: return ((const int8_t *)from)[i];
    case KILN_I16: return ((const int16_t *)from)[i];
    case KILN_U16: return ((const uint16_t *)from)[i];
    case KILN_I32: return ((const int32_t *)from)[i];
    case KILN_U32: return ((const uint32_t *)from)[i];
    case KILN_I64: return (double)((const int64_t *)from)[i];
    case KILN_U64: return (double)((const uint64_t *)from)[i];
    case KILN_F16: return half_value(((const uint16_t *)from)[i]);
    case KILN_BF16: {
        uint32_t u = (uint32_t)((const uint16_t *)from)[i] << 16;
        float x;
        memcpy(&x, &u, sizeof x);
        return (double)x;
    }
    case KILN_F32: return (double)((const float *)from)[i];
    case KILN_F64: return ((const double *)from)[i];
    default: break;
    }
    return 0;
}

static double random_between(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*state >> 11) * 0x1p-53;
}

// --- tensors
static size_t count_of(const op_tensor *t)
{
    size_t count = 1;
    for (uint32_t n = 0; n < t->rank; n++)
        count *= (size_t)t->sizes[n];
    return count;
}

// A view with the sizes of `t` over a new buffer, lying as `layout` says.
static kiln_status new_view(kiln *k, const op_tensor *t, uint32_t layout, kiln_buffer **buffer,
                            kiln_view *out)
{
    uint64_t sizes[KILN_MAX_RANK] = {0};
    uint32_t order[KILN_MAX_RANK], last = t->rank ? t->rank - 1 : 0;
    for (uint32_t n = 0; n < t->rank; n++) {
        order[n] = layout == SUITE_TRANSPOSED ? last - n : n;
        sizes[n] = t->sizes[order[n]];
    }
    if (layout == SUITE_GAPS && t->rank)
        sizes[last] *= 2;
    size_t count = 1;
    for (uint32_t n = 0; n < t->rank; n++)
        count *= (size_t)sizes[n];
    kiln_status status = kiln_buffer_new(k, t->type, count + (layout == SUITE_OFFSET), buffer);
    if (status)
        return status;
    kiln_view v = kiln_view_of(*buffer, t->rank, sizes);
    v.first = layout == SUITE_OFFSET;
    if (layout == SUITE_TRANSPOSED && t->rank)
        v = kiln_view_permute(v, order);
    if (layout == SUITE_GAPS && t->rank)
        v = kiln_view_slice(v, last, 0, KILN_TO_END, 2);
    if (layout == SUITE_FLIPPED && t->rank && t->sizes[0])
        v = kiln_view_flip(v, 0);
    *out = v;
    return KILN_OK;
}

// --- one case on one device
typedef struct trial {
    const op_suite *suite;
    const op_case *c;
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count;
    double *values[SUITE_TENSORS];    // as the device sees the inputs; the outputs that are right
    double *gradients[SUITE_TENSORS]; // given ones of outputs, right ones of inputs
    uint32_t layout;
    kiln_type type;
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

static void make_trial(const op_suite *s, const op_case *c, kiln_type type, uint32_t layout,
                       trial *t)
{
    uint64_t state = 88172645463325252u;
    *t = (trial){.suite = s, .c = c, .layout = layout, .type = type};
    t->count = s->tensors(c, type, t->tensors);
    for (uint32_t n = 0; n < t->count; n++) {
        const op_tensor *x = &t->tensors[n];
        size_t count = count_of(x);
        uint8_t element[8];
        t->values[n] = allocate(count, sizeof(double));
        t->gradients[n] = allocate(count, sizeof(double));
        for (size_t i = 0; i < count && x->role != ROLE_SCRATCH && !x->is_constant; i++) {
            double *to = x->role == ROLE_INPUT ? t->values[n] : t->gradients[n];
            double v = x->role == ROLE_INPUT ? random_between(&state, x->low, x->high)
                                             : random_between(&state, -1, 1);
            put(x->type, element, 0, x->is_integer ? floor(v) : v);
            to[i] = get(x->type, element, 0);
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
            for (size_t i = 0; i < count_of(&t->tensors[n]); i++)
                sum += t->values[n][i] * t->gradients[n][i];
    return sum;
}

static void differentiate(trial *t)
{
    const double step = 1e-5;
    for (uint32_t n = 0; n < t->count; n++)
        for (size_t i = 0; t->tensors[n].role == ROLE_INPUT && t->tensors[n].has_gradient &&
                           i < count_of(&t->tensors[n]);
             i++) {
            double *x = &t->values[n][i], at = *x;
            *x = at + step;
            double up = loss_of(t);
            *x = at - step;
            double down = loss_of(t);
            *x = at;
            t->gradients[n][i] = (up - down) / (2 * step);
        }
    loss_of(t); // the outputs at the inputs again
}

enum { POISON = 0x5a };

static kiln_status write_values(const op_tensor *t, kiln_view v, const double *values)
{
    size_t count = count_of(t);
    void *bytes = allocate(count, kiln_type_size(t->type));
    for (size_t i = 0; i < count; i++)
        put(t->type, bytes, i, values[i]);
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
    uint8_t *own = allocate(count_of(t), size);
    memset(own, t->type == KILN_BOOL ? 1 : POISON, count_of(t) * size);
    is_read = is_read && (!count_of(t) || !kiln_write_view(v, own));
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
        uint32_t layout =
            x->role == ROLE_SCRATCH || t->layout == SUITE_IN_PLACE ? SUITE_DENSE : t->layout;
        status = new_view(k, x, layout, &r->buffers[n], &r->views[n]);
        if (!status)
            status = poison(r->buffers[n], x->type);
        if (!status && is_input && x->role != ROLE_SCRATCH)
            status = write_values(x, r->views[n],
                                  is_gradient ? t->gradients[n - t->count] : t->values[n]);
    }
    return status;
}

void suite_release(suite_run *r)
{
    for (uint32_t n = 0; n < 2 * SUITE_TENSORS; n++)
        kiln_buffer_free(r->buffers[n]);
}

kiln_status suite_call(const suite_run *r, op_pass pass)
{
    return r->suite->call(r->k, r->c, pass, r->views);
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
        out->bytes[n] = allocate(count_of(x), kiln_type_size(x->type));
        if (count_of(x))
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
// The largest error over what is allowed; above 1 it is wrong.
// `more`: allowed beside what the tolerance allows.
static double worst_of(const op_tensor *t, const void *got, const double *want, double more)
{
    double worst = 0;
    for (size_t i = 0; i < count_of(t); i++) {
        double g = get(t->type, got, i), w = want[i];
        if (isnan(g) != isnan(w) || (isinf(w) && g != w))
            return HUGE_VAL;
        double allowed = epsilon_of(t->type) * t->tolerance * (fabs(w) + 1) + more;
        if (epsilon_of(t->type) == 0)
            allowed = 0.5; // integers are exact
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
        // A finite difference is right to about 1e-8.
        double worst =
            worst_of(x, o->bytes[n], is_gradient ? t->gradients[n - t->count] : t->values[n],
                     is_gradient ? 5e-8 : 0);
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

static bool is_same(const trial *t, const outcome *a, const outcome *b)
{
    for (uint32_t n = 0; n < 2 * t->count; n++)
        if (a->bytes[n] && !(n >= t->count && t->tensors[n - t->count].is_unordered) &&
            memcmp(a->bytes[n], b->bytes[n],
                   count_of(&t->tensors[n % t->count]) *
                       kiln_type_size(t->tensors[n % t->count].type)))
            return false;
    return true;
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
        for (uint32_t layout = 1; layout <= SUITE_IN_PLACE; layout *= 2) {
            if (!(types >> type & 1) || !(layouts & layout))
                continue;
            trial t;
            make_trial(s, c, (kiln_type)type, layout, &t);
            bool has_backward =
                s->has_backward && (c->tags & SUITE_GRADIENT) && layout != SUITE_IN_PLACE;
            if (has_backward)
                differentiate(&t);
            test_one(k, oracle, &t, has_backward ? PASS_BACKWARD : PASS_FORWARD, counts);
            free_trial(&t);
        }
}

double suite_bytes(const op_suite *s, const op_case *c, kiln_type type)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, type, tensors);
    double bytes = 0;
    for (uint32_t n = 0; n < count; n++)
        if (tensors[n].role != ROLE_SCRATCH)
            bytes += (double)count_of(&tensors[n]) * (double)kiln_type_size(tensors[n].type);
    return bytes;
}

// Inputs by repeating a few thousand random values: quick for large tensors, and nothing is
// compared.
static kiln_status fill_random(const op_tensor *t, kiln_buffer *b)
{
    enum { SOME = 4093 };
    size_t count = kiln_buffer_count(b), size = kiln_type_size(t->type);
    uint8_t *bytes = allocate(count, size);
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++)
        if (i < SOME) {
            double v = random_between(&state, t->low, t->high);
            put(t->type, bytes, i, t->is_integer ? floor(v) : v);
        } else {
            memcpy(bytes + i * size, bytes + (i - SOME) * size, size);
        }
    kiln_status status = count ? kiln_write(b, 0, bytes, count) : KILN_OK;
    free(bytes);
    return status;
}

kiln_status suite_prepare(kiln *k, const op_suite *s, const op_case *c, kiln_type type,
                          op_pass pass, suite_run *out)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, type, tensors);
    kiln_status status = KILN_OK;
    *out = (suite_run){.suite = s, .c = c, .k = k};
    for (uint32_t n = 0; n < count * (pass == PASS_BACKWARD ? 2 : 1) && !status; n++) {
        op_tensor x = tensors[n % count];
        bool is_gradient = n >= count;
        if (is_gradient &&
            (x.role == ROLE_SCRATCH || x.is_constant || (x.role == ROLE_INPUT && !x.has_gradient)))
            continue;
        if (x.role != ROLE_INPUT) {
            x.low = -1;
            x.high = 1;
        }
        status = new_view(k, &x, SUITE_DENSE, &out->buffers[n], &out->views[n]);
        if (!status && (x.role == ROLE_INPUT) != is_gradient)
            status = fill_random(&x, out->buffers[n]);
    }
    if (!status && pass == PASS_BACKWARD)
        status = suite_call(out, PASS_FORWARD);
    if (status)
        suite_release(out);
    return status;
}

void suite_test(kiln *k, kiln *oracle, const op_suite *s, bool is_brief, suite_counts *counts)
{
    kiln_device_info info;
    bool is_gpu = !kiln_device_info_of(k, &info) && !info.caps.is_host;
    for (size_t n = 0; n < s->case_count; n++) {
        const op_case *c = &s->cases[n];
        if (c->tags & SUITE_TEST || (c->tags & SUITE_GPU && is_gpu))
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
