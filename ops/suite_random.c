// Cases with sizes drawn at random, from those of a suite: every dimension gets another size (odd,
// 1, 0, now and then a large one), type and layout are drawn from the case. One in eight has a
// dimension so long that ops work on it in parts. The numbers come from the seed alone, so that a
// failure can be seen again. Start at suite_test_random.
#include <math.h>
#include <stdlib.h>

#include "ops/suite_tensors.h"

enum {
    MOST_ELEMENTS = 20000, // of a tensor: the interpreter runs the case, too
    MOST_GRADIENTS = 100,  // elements of inputs with gradients: the reference runs twice for each
    LONG = 32768,          // a long dimension has this many and up to five times as many
    MOST_OF_LONG = 200000, // elements of a tensor with one
    MOST_OPERATIONS = 20000000,
    LONG_ONE_IN = 8,
    TRIES = 50
};

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)suite_random(state, 0, limit);
}

static uint32_t draw_bit(uint64_t *state, uint32_t set)
{
    for (uint32_t skip = below(state, (uint32_t)__builtin_popcount(set)); skip > 0; skip--)
        set &= set - 1;
    return set & (0 - set);
}

static uint64_t draw_size(uint64_t *state)
{
    static const uint16_t edges[] = {15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257};
    switch (below(state, 16)) {
    case 0: return 0;
    case 1:
    case 2: return 1;
    case 3:
    case 4: return edges[below(state, sizeof edges / sizeof *edges)];
    case 5: return 1 + below(state, 3000);
    default: return 2 + below(state, 12);
    }
}

// Elements of the largest tensor, and of all inputs with gradients.
static double largest_of(const op_suite *s, const op_case *c, kiln_type type, double *gradients)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, type, tensors);
    double largest = 0;
    *gradients = 0;
    for (uint32_t n = 0; n < count; n++) {
        double elements = 1;
        for (uint32_t d = 0; d < tensors[n].rank; d++)
            elements *= (double)tensors[n].sizes[d];
        largest = fmax(largest, elements);
        *gradients += tensors[n].has_gradient ? elements : 0;
    }
    return largest;
}

// A case of the suite with other sizes; false: none was found.
static bool draw_case(const op_suite *s, uint64_t *state, bool is_long, op_case *out,
                      kiln_type *type, uint32_t *layout)
{
    for (int attempt = 0; attempt < TRIES; attempt++) {
        const op_case *from = &s->cases[below(state, (uint32_t)s->case_count)];
        double gradients;
        *out = *from;
        for (uint32_t n = 0; n < out->rank; n++)
            if (below(state, 4))
                out->sizes[n] = is_long ? 1 + below(state, 4) : draw_size(state);
        if (is_long && !out->rank)
            continue;
        if (is_long)
            out->sizes[below(state, out->rank)] = LONG + below(state, 4 * LONG);
        bool is_any = from->tags & SUITE_TEST && (!s->is_possible || s->is_possible(out));
        if (!is_any)
            continue;
        *type = (kiln_type)__builtin_ctz(draw_bit(state, from->types));
        if (is_long && *type == KILN_F64)
            continue; // the reference is f64, too, and no closer after so many sums
        bool is_dense = !from->layouts || (is_long && below(state, 2)); // wide packs
        *layout = is_dense ? SUITE_DENSE : draw_bit(state, from->layouts);
        if (largest_of(s, out, *type, &gradients) > (is_long ? MOST_OF_LONG : MOST_ELEMENTS) ||
            (s->operations && s->operations(out) > MOST_OPERATIONS))
            continue;
        if (gradients > MOST_GRADIENTS)
            out->tags &= ~(uint32_t)SUITE_GRADIENT;
        return true;
    }
    return false;
}

// Does the op take such a case? What it refuses (a reflection longer than the tensor, say) the
// reference need not know, either.
static bool is_taken(kiln *k, const op_suite *s, const op_case *c, kiln_type type)
{
    suite_run r;
    kiln_status status = suite_prepare(k, s, c, type, PASS_FORWARD, NULL, &r);
    if (!status) {
        status = suite_call(&r, PASS_FORWARD);
        suite_release(&r);
    }
    return status != KILN_E_BAD_ARGUMENT;
}

void suite_test_random(kiln *k, kiln *oracle, const op_suite *s, int count, uint64_t seed,
                       suite_counts *counts)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (const char *c = s->name; *c; c++) // a suite draws the same whatever the others are
        state = state * 31 + (uint8_t)*c;
    for (int n = 0; n < count; n++) {
        op_case c;
        kiln_type type;
        uint32_t layout;
        int failed = counts->failed;
        bool is_long = n % LONG_ONE_IN == LONG_ONE_IN - 1;
        if (!draw_case(s, &state, is_long, &c, &type, &layout) || !is_taken(k, s, &c, type))
            continue;
        suite_test_one(k, oracle, s, &c, type, layout, counts);
        if (counts->failed > failed)
            printf("    drawn as number %d of seed %llu\n", n, (unsigned long long)seed);
    }
}
