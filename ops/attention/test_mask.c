// Attention with windows, sequences of different lengths, biases and slopes, forward and backward,
// against double precision, by the portable kernels and those on mma; and what is refused.
//     attention_mask [DEVICE [heads]]        (default: cuda; heads: the kernels for sm_90a alone)
// On interp and cpu the shapes are small.
#include "test_mask_case.h"

static int skipped;
static bool is_fake, is_emulated, is_gpu;

// The gradient of the bias. Over all keys its sum is 0, so that no bound can be relative to it.
static bool is_bias_right(const run *r)
{
    size_t count = (size_t)kiln_view_count(r->dbias_view), wrong = 0;
    void *host = calloc(count + 1, 4);
    bool is_good = host && !kiln_read_view(r->dbias_view, host);
    for (size_t i = 0; is_good && i < count; i++) {
        double got = get(host, r->p.bias_type, i), wanted = r->bias_gradients[i];
        double most = r->bias_slack[i] + unit_of(r->p.bias_type) * fabs(wanted) + 1e-7;
        if (!(fabs(got - wanted) <= most) && !wrong++)
            printf("dbias of form %d, kernel %d, element %zu: %.3e for %.3e, may be off %.1e\n",
                   (int)r->p.bias, (int)r->p.kernel, i, got, wanted, most);
    }
    free(host);
    return is_good && !wrong;
}

static bool is_lse_right(const run *r, const double *lse)
{
    for (size_t i = 0; i < r->c.counts[LSE]; i++) {
        double wanted = r->c.numbers[LSE][i];
        if (isinf(wanted) ? lse[i] != wanted : !(fabs(lse[i] - wanted) < 1e-3))
            return false;
    }
    return true;
}

static bool is_accurate(run *r, int t)
{
    static const char *const names[] = {"q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv"};
    double off = 0, size = 0, *got = read_numbers(&r->c, t);
    for (size_t i = 0; got && i < r->c.counts[t] && t != LSE; i++) {
        double wanted = r->c.numbers[t][i];
        off += (got[i] - wanted) * (got[i] - wanted);
        size += wanted * wanted;
    }
    size = fmax(size, 0.01 * (double)r->c.counts[t]);
    double error = size > 0 ? sqrt(off / size) : 0;
    // Rows of few keys: the gradient is a small difference, and out, rounded, is part of it.
    double bound = t >= DQ ? 3 * r->c.type.bound : r->c.type.bound;
    bool is_good =
        got && error < bound && is_only_view(&r->c, t) && (t != LSE || is_lse_right(r, got));
    if (!is_good) {
        char text[160];
        snprintf(text, sizeof text,
                 "%s: error %.2e; kernel %d, window %d (%d, %d), %u sequences, bias %d, slopes %d",
                 names[t], error, (int)r->p.kernel, r->p.has_window, r->p.left, r->p.right,
                 r->p.sequences, (int)r->p.bias, r->p.has_slopes);
        print_case(&r->c, text);
    }
    free(got);
    return is_good;
}

// --- the calls
#define SET_MASK(d, r)                                                                             \
    do {                                                                                           \
        (d)->q = (r)->c.views[Q];                                                                  \
        (d)->k = (r)->c.views[K];                                                                  \
        (d)->v = (r)->c.views[V];                                                                  \
        (d)->out = (r)->c.views[OUT];                                                              \
        (d)->lse = (r)->c.views[LSE];                                                              \
        (d)->is_causal = (r)->c.s.is_causal;                                                       \
        (d)->kernel = (r)->p.kernel;                                                               \
        (d)->has_window = (r)->p.has_window;                                                       \
        (d)->window_left = (r)->p.left;                                                            \
        (d)->window_right = (r)->p.right;                                                          \
        if ((r)->p.sequences) {                                                                    \
            (d)->q_offsets = KILN_VIEW((r)->offsets[0], (r)->p.sequences + 1);                     \
            (d)->k_offsets = KILN_VIEW((r)->offsets[1], (r)->p.sequences + 1);                     \
        }                                                                                          \
        if ((r)->p.bias)                                                                           \
            (d)->bias = (r)->bias_view;                                                            \
        if ((r)->p.has_slopes)                                                                     \
            (d)->slopes = KILN_VIEW((r)->slopes, (r)->c.s.heads);                                  \
    } while (0)

static kiln_attention_desc forward_of(const run *r)
{
    kiln_attention_desc d;
    memset(&d, 0, sizeof d);
    SET_MASK(&d, r);
    return d;
}

static kiln_attention_backward_desc backward_of(const run *r)
{
    kiln_attention_backward_desc d;
    memset(&d, 0, sizeof d);
    SET_MASK(&d, r);
    d.dout = r->c.views[DOUT];
    d.dq = r->c.views[DQ];
    d.dk = r->c.views[DK];
    d.dv = r->c.views[DV];
    if (r->p.bias)
        d.dbias = r->dbias_view;
    return d;
}

// Results and workspace are spoilt first: what is not written shows.
static bool compute_gradients(run *r)
{
    uint32_t nan = nan_bits(KILN_F32);
    uint64_t elements = 0;
    kiln_attention_backward_desc d = backward_of(r);
    bool is_good = !kiln_attention_backward_workspace(r->c.k, &d, &elements) &&
                   !kiln_buffer_new(r->c.k, KILN_F32, (size_t)elements + 1, &r->workspace) &&
                   !kiln_fill(r->workspace, &nan);
    d.workspace = kiln_view_of(r->workspace, 1, &elements);
    return is_good && !kiln_attention_backward(r->c.k, &d) && !kiln_sync(r->c.k);
}

static bool is_skipped(kiln *k, bool has_run)
{
    if (has_run || kiln_last_error(k)->status != KILN_E_UNSUPPORTED || is_emulated)
        return false;
    printf("skipped: %s\n", kiln_last_error(k)->text);
    skipped++;
    return true;
}

static void test_case(kiln *k, shape s, number_type type, layout form, uint32_t seed, plan p,
                      bool is_backward)
{
    run r;
    if (s.is_causal && s.queries > s.keys && !p.sequences)
        return;
    bool is_made = begin(&r, k, s, type, form, seed, p);
    CHECK(is_made);
    if (!is_made) { // the device is lost
        end(&r);
        return;
    }
    kiln_attention_desc d = forward_of(&r);
    bool has_run = !kiln_attention_forward(k, &d) && !kiln_sync(k);
    if (!is_skipped(k, has_run)) {
        double *room = (double *)calloc(s.keys + 1, sizeof *room);
        size_t rows = room && !is_fake ? (size_t)s.batch * s.heads * s.queries : 0;
        for (size_t row = 0; row < rows; row++)
            attend_masked(&r, row, room, is_backward);
        free(room);
        CHECK(has_run && room && (is_fake || (is_accurate(&r, OUT) && is_accurate(&r, LSE))));
        has_run = !is_backward || compute_gradients(&r);
        if (is_backward && !is_skipped(k, has_run))
            CHECK(has_run && (is_fake || (is_accurate(&r, DQ) && is_accurate(&r, DK) &&
                                          is_accurate(&r, DV) && (!p.bias || is_bias_right(&r)))));
    }
    end(&r);
}

// --- the tables
// Every window, on shapes with tails and shared heads.
static void test_windows(kiln *k, kiln_attention_kernel kernel, bool is_backward)
{
    static const shape shapes[] = {{1, 2, 1, 37, 37, 24, 0},
                                   {2, 2, 2, 5, 70, 40, 0},
                                   {1, 3, 1, 40, 9, 64, 0},
                                   {1, 1, 1, 1, 1, 8, 0}};
    static const shape wide[] = {{1, 2, 1, 150, 150, 32, 0},
                                 {2, 2, 2, 70, 300, 64, 0},
                                 {1, 3, 1, 200, 9, 40, 0},
                                 {1, 1, 1, 1, 1, 128, 0}}; // more than a tile of sm_90a
    static const int32_t windows[][2] = {{0, 0},  {1, 0},   {0, 1},
                                         {1, 1},  {5, -1},  {-1, 3},
                                         {33, 2}, {-1, -1}, {INT32_MAX, INT32_MAX}};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int causal = 0; causal < 2; causal++) {
                plan p;
                memset(&p, 0, sizeof p);
                p.has_window = true;
                p.left = windows[w][0];
                p.right = windows[w][1];
                p.kernel = kernel;
                shape s = kernel == KILN_ATTENTION_SM90 ? wide[n] : shapes[n];
                s.is_causal = causal;
                test_case(k, s, types[(n + w) % (kernel == KILN_ATTENTION_PORTABLE ? 3 : 2)],
                          (layout)(w % (kernel == KILN_ATTENTION_PORTABLE ? LAYOUTS : ANY)),
                          (uint32_t)w, p, is_backward);
            }
}

// Sequences with and without rows, and rows that no sequence has.
static plan packed(const int32_t *q_lengths, const int32_t *k_lengths, uint32_t count, int32_t gap)
{
    plan p;
    memset(&p, 0, sizeof p);
    p.sequences = count;
    p.q_offsets[0] = p.k_offsets[0] = gap;
    for (uint32_t n = 0; n < count; n++) {
        p.q_offsets[n + 1] = p.q_offsets[n] + q_lengths[n];
        p.k_offsets[n + 1] = p.k_offsets[n] + k_lengths[n];
    }
    return p;
}

static int only_form = -1; // of sequences; -1: all

static void test_sequences(kiln *k, kiln_attention_kernel kernel, bool is_backward)
{
    static const int32_t lengths[][2][MOST_SEQUENCES] = {
        {{7}, {7}},
        {{0, 5, 0, 0, 33, 1, 0}, {0, 5, 3, 0, 33, 1, 0}}, // empty ones, keys without queries
        {{3, 4, 10}, {20, 0, 4}}, // queries without keys, fewer keys than queries
        {{1, 1, 1, 1}, {40, 1, 17, 2}},
        {{0, 0}, {0, 0}},
        {{150, 1, 130}, {140, 133, 260}}}; // more than a tile
    static const uint32_t counts[] = {1, 7, 3, 4, 2, 3};
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
        for (int form = 0; form < 8; form++) {
            if (only_form >= 0 && form != only_form)
                continue;
            plan p = packed(lengths[n][0], lengths[n][1], counts[n], form % 4 == 3 ? 2 : 0);
            int32_t tail = form % 4 == 3 ? 3 : 0;
            shape s = {1,
                       4,
                       form % 2 ? 2u : 4u,
                       (uint32_t)(p.q_offsets[counts[n]] + tail),
                       (uint32_t)(p.k_offsets[counts[n]] + tail),
                       form % 3 ? 40u : 64u,
                       form % 2 == 1};
            p.has_window = form >= 4;
            p.left = form >= 4 ? 2 : 0;
            p.right = form >= 6 ? 1 : 0;
            p.has_slopes = form == 2 || form == 5;
            p.kernel = kernel;
            if (kernel == KILN_ATTENTION_SM90 && !s.keys)
                continue; // refused
            layout place = form % 3 == 0 ? BY_ROW : form % 3 == 1 ? DENSE : GAPS;
            test_case(k, s, types[n % (kernel == KILN_ATTENTION_PORTABLE ? 3 : 2)], place,
                      (uint32_t)n, p, is_backward);
        }
}

static void test_biases(kiln *k, kiln_attention_kernel kernel, bool is_backward)
{
    static const shape shapes[] = {{2, 4, 2, 19, 37, 24, 0}, {1, 2, 2, 33, 33, 64, 1}};
    static const shape wide[] = {{2, 2, 1, 140, 170, 40, 0}, {1, 2, 2, 150, 150, 128, 1}};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (int form = NO_BIAS; form < BIAS_FORMS; form++) {
            plan p;
            memset(&p, 0, sizeof p);
            p.bias = (bias_form)form;
            p.bias_type = types[(form + (int)n) % 3].type;
            p.has_slopes = form % 3 == 0;
            p.hides_row = form % 2;
            p.has_window = form == TRANSPOSED;
            p.left = p.has_window ? 9 : 0;
            p.right = p.has_window ? 4 : 0;
            p.kernel = kernel;
            test_case(k, kernel == KILN_ATTENTION_SM90 ? wide[n] : shapes[n],
                      types[(size_t)form % (kernel == KILN_ATTENTION_PORTABLE ? 3 : 2)],
                      kernel == KILN_ATTENTION_PORTABLE ? ANY : ALIGNED, (uint32_t)form, p,
                      is_backward);
        }
}

// Any of all that, by a seed.
static void test_random(kiln *k, uint32_t seed, uint32_t count)
{
    attention_case r;
    memset(&r, 0, sizeof r);
    r.state = seed;
    for (uint32_t n = 0; n < count; n++) {
        plan p;
        memset(&p, 0, sizeof p);
        shape s = {1 + next_random(&r, 3),  1, 1 + next_random(&r, 3),
                   1 + next_random(&r, 50), 1, 1 + next_random(&r, 80),
                   next_random(&r, 2) != 0};
        s.heads = s.kv_heads * (1 + next_random(&r, 3));
        s.keys = (s.is_causal ? s.queries : 1) + next_random(&r, 70);
        p.has_window = next_random(&r, 3) > 0;
        p.left = p.has_window ? (int32_t)next_random(&r, 40) - 3 : 0;
        p.right = p.has_window ? (int32_t)next_random(&r, 30) - 3 : 0;
        p.has_slopes = next_random(&r, 2);
        p.bias = next_random(&r, 2) ? (bias_form)next_random(&r, BIAS_FORMS) : NO_BIAS;
        p.bias_type = types[next_random(&r, 3)].type;
        p.hides_row = next_random(&r, 2);
        if (next_random(&r, 2)) {
            p.bias = NO_BIAS;
            s.batch = 1;
            s.queries = s.keys = 0;
            p.sequences = next_random(&r, MOST_SEQUENCES);
            for (uint32_t i = 0; i < p.sequences; i++) {
                s.queries += next_random(&r, 20);
                s.keys += next_random(&r, 30);
                p.q_offsets[i + 1] = (int32_t)s.queries;
                p.k_offsets[i + 1] = (int32_t)s.keys;
            }
            s.queries += !p.sequences;
            s.keys += !p.sequences;
        }
        test_case(k, s, types[next_random(&r, 3)], (layout)next_random(&r, LAYOUTS), seed + n, p,
                  true);
    }
}

// Every kind of head dimension, tiles and a bit more, with and without a mask, by the kernels on
// mma and those for sm_90a, which have heads of 32 and more.
static void test_heads(kiln *k, kiln_attention_kernel kernel)
{
    static const uint32_t head_dims[] = {8, 32, 96, 128, 136, 192, 256};
    for (size_t n = 0; n < sizeof head_dims / sizeof *head_dims; n++)
        for (int form = 0; form < (is_gpu ? 4 : 2); form++) {
            plan p;
            memset(&p, 0, sizeof p);
            bool is_sm90 = kernel == KILN_ATTENTION_SM90;
            p.kernel = kernel;
            p.has_window = form % 2 != (int)n % 2;
            p.left = p.has_window ? 70 : 0;
            p.has_slopes = is_sm90 && form == 1;
            if (is_sm90 && head_dims[n] < 32)
                continue;
            shape s = {1,
                       2,
                       form ? 1u : 2u,
                       is_gpu ? 700u : 70u,
                       is_gpu ? 1000u : 133u,
                       head_dims[n],
                       n % 3 == 0};
            test_case(k, s, types[n % 2], (layout)(n % ANY), (uint32_t)n, p, true);
        }
}

// More units of work than a GPU has places for blocks: each block has several.
static void test_many_units(kiln *k)
{
    static const int32_t lengths[] = {150, 1, 130, 219}, key_lengths[] = {140, 60, 260, 140};
    for (int form = 0; form < (is_gpu ? 2 : 3); form++) { // no sequences on a GPU
        plan p = form == 2 ? packed(lengths, key_lengths, 4, 0) : (plan){.sequences = 0};
        p.kernel = KILN_ATTENTION_SM90;
        p.has_window = form == 0;
        p.left = form == 0 ? 200 : 0;
        p.right = form == 0 ? 50 : 0;
        p.has_slopes = form > 0;
        shape s = {1, is_gpu ? 70 : 2, is_gpu ? 14 : 1, 500, 600, 32, form == 1};
        test_case(k, s, types[form % 2], DENSE, 1, p, true);
    }
}

// With is_deterministic the best kernels give the same bits of dq each time.
static void test_repeats(kiln *k, shape s, int times)
{
    run r;
    plan p;
    memset(&p, 0, sizeof p);
    CHECK(begin(&r, k, s, types[0], DENSE, 1, p));
    kiln_attention_desc d = forward_of(&r);
    kiln_attention_backward_desc b = backward_of(&r);
    b.is_deterministic = true;
    uint64_t elements = 0;
    CHECK(!kiln_attention_forward(k, &d) && !kiln_attention_backward_workspace(k, &b, &elements) &&
          !kiln_buffer_new(k, KILN_F32, (size_t)elements, &r.workspace));
    b.workspace = kiln_view_of(r.workspace, 1, &elements);
    double *first = NULL;
    for (int n = 0; n < times; n++) {
        CHECK(spoil_result(&r.c, DQ) && !kiln_attention_backward(k, &b));
        double *again = read_numbers(&r.c, DQ);
        CHECK(again && (!first || !memcmp(first, again, r.c.counts[DQ] * sizeof *again)));
        if (first)
            free(again);
        else
            first = again;
    }
    free(first);
    b.kernel = KILN_ATTENTION_SM90;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_UNSUPPORTED, "K6038", "kernel cannot");
    end(&r);
}

static void test_refusals(kiln *k)
{
    run r;
    plan p;
    memset(&p, 0, sizeof p);
    p.bias = WHOLE;
    p.bias_type = KILN_F32;
    p.has_slopes = true;
    CHECK(begin(&r, k, (shape){2, 4, 2, 8, 16, 32, false}, types[0], DENSE, 1, p));
    kiln_buffer *numbers = NULL;
    const int32_t zeros[8] = {0};
    CHECK(!kiln_buffer_new(k, KILN_I32, 8, &numbers) && !kiln_write(numbers, 0, zeros, 8));
    const kiln_attention_desc good = forward_of(&r);
    kiln_attention_desc d = good;
    CHECK(!kiln_attention_forward(k, &d));
#define REFUSED(change, status, code, words)                                                       \
    do {                                                                                           \
        d = good;                                                                                  \
        change;                                                                                    \
        EXPECT(kiln_attention_forward(k, &d), status, code, words);                                \
    } while (0)
    REFUSED(d.window_left = 3, KILN_E_BAD_ARGUMENT, "K6003", "has_window is not");
    REFUSED(d.bias.type = KILN_I32, KILN_E_BAD_ARGUMENT, "K6011", "'bias' is i32, not f32");
    REFUSED(d.bias.sizes[3] = 15, KILN_E_BAD_ARGUMENT, "K7004",
            "'bias' is [2, 4, 8, 15], not [2, 4, 8, 16] or broadcast");
    REFUSED((d.bias.rank = 1, d.bias.sizes[0] = 0), KILN_E_BAD_ARGUMENT, "K7004", "'bias' is [0]");
    REFUSED(d.slopes.sizes[0] = 3, KILN_E_BAD_ARGUMENT, "K7004", "'slopes' is [3], not [heads]");
    REFUSED(d.slopes = KILN_VIEW(numbers, 4), KILN_E_BAD_ARGUMENT, "K6011", "'slopes' is i32");
    REFUSED(d.q_offsets = KILN_VIEW(numbers, 3), KILN_E_BAD_ARGUMENT, "K6003", "both, or none");
    REFUSED(d.k_offsets = d.q_offsets = KILN_VIEW(numbers, 3), KILN_E_BAD_ARGUMENT, "K6003",
            "the batch is 1");
    REFUSED(d.bias = d.out, KILN_E_BAD_ARGUMENT, "K6003", "'bias' and the result 'out'");
    REFUSED(d.slopes = kiln_view_index(kiln_view_index(d.lse, 0, 0), 1, 0), KILN_E_BAD_ARGUMENT,
            "K6003", "'slopes' and the result 'lse'");
    d = good;
    d.q = kiln_view_slice(d.q, 0, 0, 1, 1);
    d.k = kiln_view_slice(d.k, 0, 0, 1, 1);
    d.v = kiln_view_slice(d.v, 0, 0, 1, 1);
    d.out = kiln_view_slice(d.out, 0, 0, 1, 1);
    d.lse = kiln_view_slice(d.lse, 0, 0, 1, 1);
    d.bias = kiln_view_slice(d.bias, 0, 0, 1, 1);
    d.q_offsets = d.k_offsets = KILN_VIEW(numbers, 3);
    const kiln_attention_desc single = d;
    EXPECT(kiln_attention_forward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "a bias with offsets");
    d.bias.buffer = NULL;
    CHECK(!kiln_attention_forward(k, &d));
    d.k_offsets = KILN_VIEW(numbers, 4);
    EXPECT(kiln_attention_forward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "'k_offsets' is [4], not");
    d = single;
    d.bias.buffer = NULL;
    d.lengths = KILN_VIEW(numbers, 1);
    EXPECT(kiln_attention_forward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "offsets with lengths");
    d.lengths.buffer = NULL;
    d.q_offsets = d.k_offsets = KILN_VIEW(numbers, 0);
    EXPECT(kiln_attention_forward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "'q_offsets' is [0], not");
    kiln_attention_backward_desc b = backward_of(&r);
    b.window_right = 1;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_BAD_ARGUMENT, "K6003", "has_window is not");
    b = backward_of(&r);
    b.bias = b.dq;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_BAD_ARGUMENT, "K6003", "the result 'dq'");
    b = backward_of(&r);
    b.kernel = KILN_ATTENTION_SM90;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_UNSUPPORTED, "K6038", "kernel cannot");
    uint64_t elements = 0;
    b = backward_of(&r);
    CHECK(!kiln_attention_backward_workspace(k, &b, &elements) &&
          !kiln_buffer_new(k, KILN_F32, (size_t)elements, &r.workspace));
    b.workspace = kiln_view_of(r.workspace, 1, &elements);
    const kiln_attention_backward_desc right = b;
    CHECK(!kiln_attention_backward(k, &b));
    b.dbias.sizes[2] = 1;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_BAD_ARGUMENT, "K7004",
           "'dbias' is [2, 4, 1, 16]");
    b = right;
    b.dbias = b.bias;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_BAD_ARGUMENT, "K6003",
           "'bias' and the result 'dbias'");
    b = right;
    b.dbias.type = KILN_I32;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_BAD_ARGUMENT, "K6011", "'dbias' is i32");
    b = right;
    b.bias.buffer = NULL;
    b.kernel = KILN_ATTENTION_PORTABLE;
    EXPECT(kiln_attention_backward(k, &b), KILN_E_BAD_ARGUMENT, "K6003", "there is no bias");
    kiln_buffer_free(numbers);
    end(&r);
}

// Offsets that do not fit the tensors never reach outside of them.
static void test_wild_offsets(kiln *k, kiln_attention_kernel kernel)
{
    bool is_sm90 = kernel == KILN_ATTENTION_SM90;
    static const int32_t wild[][4] = {
        {-5, 3, 100, 4}, {INT32_MIN, INT32_MAX, 0, 7}, {9, 8, 7, 6}, {0, INT32_MAX, INT32_MAX, -1}};
    for (size_t n = 0; n < sizeof wild / sizeof *wild; n++)
        for (size_t other = 0; other < sizeof wild / sizeof *wild; other++) {
            run r;
            plan p;
            memset(&p, 0, sizeof p);
            p.sequences = 3;
            p.is_wild = true;
            p.kernel = kernel;
            memcpy(p.q_offsets, wild[n], sizeof wild[n]);
            memcpy(p.k_offsets, wild[other], sizeof wild[other]);
            CHECK(begin(&r, k, (shape){1, 2, 1, 7, 9, is_sm90 ? 64 : 8, other % 2 != 0},
                        types[is_sm90 ? 0 : 2], DENSE, 1, p));
            kiln_attention_desc d = forward_of(&r);
            CHECK(!kiln_attention_forward(k, &d) && !kiln_sync(k) && compute_gradients(&r) &&
                  is_only_view(&r.c, OUT));
            end(&r);
        }
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    is_fake = api_is_fake(k);
    is_emulated = !is_fake && !strcmp(kiln_device_name(k), "interp");
    is_gpu = !strncmp(device, "cuda", 4);
    if (argc > 2 && !strcmp(argv[2], "heads")) {
        test_heads(k, KILN_ATTENTION_SM90);
        kiln_close(k);
        return api_done("attention-heads");
    }
    if (argc > 2 && !strcmp(argv[2], "sequences")) { // all forms, or one
        only_form = argc > 3 ? atoi(argv[3]) : -1;
        test_sequences(k, KILN_ATTENTION_SM90, true);
        if (only_form < 0 && !is_fake)
            test_wild_offsets(k, KILN_ATTENTION_SM90);
        kiln_close(k);
        return api_done("attention-sequences");
    }
    test_refusals(k);
    if (!is_fake)
        test_wild_offsets(k, KILN_ATTENTION_BEST);
    test_windows(k, KILN_ATTENTION_PORTABLE, true);
    test_sequences(k, KILN_ATTENTION_PORTABLE, true);
    test_biases(k, KILN_ATTENTION_PORTABLE, true);
    test_random(k, 1, is_gpu && !is_fake ? 60 : 12);
    test_repeats(k, (shape){1, 2, 1, is_gpu ? 600u : 9u, is_gpu ? 600u : 9u, 64, true}, 3);
    bool is_portable = argc > 2 && !strcmp(argv[2], "portable");
    if ((is_emulated || is_gpu) && !is_portable) {
        test_windows(k, KILN_ATTENTION_SM90, true);
        test_sequences(k, KILN_ATTENTION_SM90, true);
        if (!is_fake)
            test_wild_offsets(k, KILN_ATTENTION_SM90);
        test_biases(k, KILN_ATTENTION_SM90, false);
        test_windows(k, KILN_ATTENTION_SM80, true);
        test_sequences(k, KILN_ATTENTION_SM80, true);
        test_biases(k, KILN_ATTENTION_SM80, true);
        test_heads(k, KILN_ATTENTION_SM80);
        test_heads(k, KILN_ATTENTION_SM90);
        test_many_units(k);
        test_windows(k, KILN_ATTENTION_DECODE, false);
        test_biases(k, KILN_ATTENTION_DECODE, false);
    }
    CHECK(!kiln_sync(k));
    kiln_close(k);
    printf("attention_mask: %d passed, %d failed, %d skipped\n", api_passed, api_failed, skipped);
    return api_failed != 0;
}
