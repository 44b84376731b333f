// The cases of random numbers (ops/suite.h): the reference draws the same words, and makes numbers
// of them in double.
#include "ops/suite.h"
#include "ops/random/suite_philox.h"

#include <math.h>

enum { FLOATS = SUITE_FLOATS | SUITE_F64, SEED = 12345, OFFSET = 7 };
enum { INTEGERS = 1 << KILN_I8 | 1 << KILN_U8 | 1 << KILN_I32 | 1 << KILN_U32 | 1 << KILN_I64 };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/random/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[0] = (op_tensor){
        .name = "out", .role = ROLE_OUTPUT, .type = type, .rank = c->rank, .tolerance = 24};
    for (uint32_t d = 0; d < c->rank; d++)
        out[0].sizes[d] = c->sizes[d];
    return 1;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    (void)pass;
    return kiln_random(k, &(kiln_random_desc){.out = views[0],
                                              .kind = (kiln_random_kind)c->option,
                                              .seed = SEED,
                                              .offset = OFFSET,
                                              .alpha = c->alpha,
                                              .beta = c->beta,
                                              .low = (int64_t)c->alpha,
                                              .high = (int64_t)c->beta});
}

// Box and Muller.
static double normal(double a, double turns, bool is_second)
{
    double radius = sqrt(-2 * log(a)), angle = turns * 2 * 3.14159265358979323846;
    return radius * (is_second ? sin(angle) : cos(angle));
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    bool is_double = t->type == KILN_F64;
    size_t count = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        count *= (size_t)c->sizes[d];
    for (size_t i = 0; i < count; i++) {
        uint32_t word = suite_word(i, OFFSET, SEED);
        uint64_t words = suite_words(i, OFFSET, SEED);
        double u = is_double ? (double)(words >> 11) * 0x1p-53 : (word >> 8) * 0x1p-24, z;
        uint64_t a = is_double ? suite_words(i & ~(size_t)1, OFFSET, SEED)
                               : suite_word(i & ~(size_t)1, OFFSET, SEED),
                 b = is_double ? suite_words(i | 1, OFFSET, SEED) : suite_word(i | 1, OFFSET, SEED);
        switch (c->option) {
        case KILN_RANDOM_UNIFORM: values[0][i] = c->alpha + (c->beta - c->alpha) * u; break;
        case KILN_RANDOM_NORMAL:
            z = is_double ? normal((double)(a >> 11) * 0x1p-53 + 0x1p-54,
                                   (double)((int64_t)b >> 11) * 0x1p-53, i % 2)
                          : normal((double)(float)a * 0x1p-32 + 0x1p-33,
                                   (double)(float)(int32_t)b * 0x1p-32, i % 2);
            values[0][i] = c->alpha + c->beta * z;
            break;
        case KILN_RANDOM_BERNOULLI:
            values[0][i] = (word >> 8) * 0x1p-24 < (double)(float)c->alpha;
            break;
        default: { // the upper half of a product of 128 bits, from halves
            uint64_t range = (uint64_t)(c->beta - c->alpha) + 1;
            uint64_t low = (words & UINT32_MAX) * range, high = (words >> 32) * range;
            values[0][i] = c->alpha + (double)((high + (low >> 32)) >> 32);
        }
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const kinds[] = {"uniform", "normal", "bernoulli", "integers"};
    snprintf(out, size, "%s %g %g", kinds[c->option], c->alpha, c->beta);
}

// Known answers of Philox4x32-10: the first words of a tensor with that seed and offset.
static int more(kiln *k, int *passed)
{
    static const struct {
        uint64_t seed, offset;
        uint32_t words[4];
    } known[] = {{0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}};
    int failed = 0;
    for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
        float got[4] = {0};
        uint32_t w[4];
        kiln_f32s b = {NULL};
        bool is_right = !kiln_f32s_new(k, 4, &b) &&
                        !kiln_random(k, &(kiln_random_desc){.out = KILN_VIEW(b.buffer, 4),
                                                            .seed = known[n].seed,
                                                            .offset = known[n].offset,
                                                            .beta = 1}) &&
                        !kiln_f32s_read(b, 0, got, 4);
        suite_philox(0, known[n].offset, known[n].seed, w);
        for (int i = 0; i < 4; i++)
            is_right = is_right && w[i] == known[n].words[i] &&
                       (double)got[i] == (known[n].words[i] >> 8) * 0x1p-24;
        if (!is_right)
            printf("random: not the known words of Philox\n");
        *passed += is_right;
        failed += !is_right;
        kiln_buffer_free(b.buffer);
    }
    // The others have a first half of the counter that no tensor has as its first element.
    static const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
                          ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t a[4], b[4];
    suite_philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822, a);
    suite_philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, b);
    for (int i = 0; i < 4; i++)
        failed += a[i] != pi[i] || b[i] != ones[i];
    return failed;
}

const op_suite op_suite_random = {.name = "random",
                                  .cases = cases,
                                  .case_count = sizeof cases / sizeof *cases,
                                  .tensors = tensors,
                                  .call = call,
                                  .reference = reference,
                                  .describe = describe,
                                  .more = more};
