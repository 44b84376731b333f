// The cases of copies (ops/suite.h): permutations, parts put together and taken apart.
#include "ops/suite.h"

#include <string.h>

enum { COPY, CONCAT, SPLIT, PARTS = 11 }; // more parts than a launch has
enum { MOVED = SUITE_F32 | SUITE_F16 | SUITE_F64 | 1 << KILN_U8 | 1 << KILN_BOOL };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/copy/cases.def"
};

static uint32_t part_count(const op_case *c)
{
    return c->tags & SUITE_BENCH ? 2 : c->axis == 0 ? PARTS : 3;
}

// How long part n is along the axis; one has no elements.
static uint64_t part_size(const op_case *c, uint32_t n)
{
    return c->tags & SUITE_BENCH ? c->sizes[c->axis] + 64 * n : n == 1 ? 0 : c->sizes[c->axis] + n;
}

// The digits of the permutation.
static void order_of(const op_case *c, uint32_t order[KILN_MAX_RANK])
{
    uint32_t rest = c->axis;
    for (uint32_t n = c->rank; n-- > 0; rest /= 10)
        order[n] = rest % 10 - 1;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    bool is_copy = c->option == COPY;
    uint32_t count = is_copy ? 1 : part_count(c), order[KILN_MAX_RANK];
    uint64_t sum = 0;
    bool is_split = c->option == SPLIT;
    op_tensor one = {.type = type,
                     .rank = c->rank,
                     .low = type == KILN_F64 || type == KILN_F32 ? -3 : 0,
                     .high = 100,
                     .is_integer = true};
    for (uint32_t n = 0; n < c->rank; n++)
        one.sizes[n] = c->sizes[n];
    for (uint32_t n = 0; n < count; n++) {
        op_tensor *t = &out[n + is_split];
        *t = one;
        t->name = "part";
        t->role = is_split ? ROLE_OUTPUT : ROLE_INPUT;
        if (!is_copy)
            sum += t->sizes[c->axis] = part_size(c, n);
    }
    op_tensor *whole = &out[is_split ? 0 : count];
    *whole = one;
    whole->name = "whole";
    whole->role = is_split ? ROLE_INPUT : ROLE_OUTPUT;
    if (is_copy)
        order_of(c, order);
    else
        whole->sizes[c->axis] = sum;
    for (uint32_t n = 0; n < c->rank && is_copy; n++)
        whole->sizes[n] = c->sizes[order[n]];
    return count + 1;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    uint32_t order[KILN_MAX_RANK], count = part_count(c);
    (void)pass;
    if (c->option == SPLIT)
        return kiln_split(
            k, &(kiln_concat_desc){
                   .whole = views[0], .parts = views + 1, .count = count, .axis = c->axis});
    if (c->option == CONCAT)
        return kiln_concat(
            k, &(kiln_concat_desc){
                   .whole = views[count], .parts = views, .count = count, .axis = c->axis});
    order_of(c, order);
    return kiln_copy_view(
        k, &(kiln_copy_view_desc){.in = kiln_view_permute(views[0], order), .out = views[1]});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    if (c->option == COPY) {
        uint32_t order[KILN_MAX_RANK];
        size_t total = 1;
        order_of(c, order);
        for (uint32_t n = 0; n < c->rank; n++)
            total *= c->sizes[n];
        for (size_t i = 0; i < total; i++) {
            size_t rest = i, index[KILN_MAX_RANK] = {0}, at = 0;
            for (uint32_t n = c->rank; n-- > 0; rest /= t[1].sizes[n])
                index[order[n]] = rest % t[1].sizes[n];
            for (uint32_t n = 0; n < c->rank; n++)
                at = at * c->sizes[n] + index[n];
            values[1][i] = values[0][at];
        }
        return;
    }
    uint32_t count = part_count(c), is_split = c->option == SPLIT;
    size_t outer = 1, inner = 1, all = t[is_split ? 0 : count].sizes[c->axis], first = 0;
    for (uint32_t n = 0; n < c->rank; n++)
        *(n < c->axis ? &outer : n > c->axis ? &inner : &(size_t){0}) *= (size_t)c->sizes[n];
    for (uint32_t n = 0; n < count; n++) {
        size_t size = part_size(c, n);
        for (size_t o = 0; o < outer; o++)
            for (size_t i = 0; i < size * inner; i++) {
                double *part = &values[n + is_split][o * size * inner + i];
                double *whole = &values[is_split ? 0 : count][(o * all + first) * inner + i];
                *(is_split ? part : whole) = *(is_split ? whole : part);
            }
        first += size;
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const names[] = {"order", "concat axis", "split axis"};
    snprintf(out, size, "%s %u", names[c->option], c->axis);
}

// --- conversions
enum { SMALL = 5 };
static const double small[SMALL] = {0, 1, 2, 5, 7};

// Whole numbers that every type has: number `which` as element i.
static void put_small(kiln_type type, void *to, size_t i, int which)
{
    static const uint16_t half[SMALL] = {0, 0x3c00, 0x4000, 0x4500, 0x4700},
                          brain[SMALL] = {0, 0x3f80, 0x4000, 0x40a0, 0x40e0};
    static const uint8_t e4m3[SMALL] = {0, 0x38, 0x40, 0x4a, 0x4e},
                         e5m2[SMALL] = {0, 0x3c, 0x40, 0x45, 0x47};
    uint64_t whole = (uint64_t)small[which];
    switch (type) {
    case KILN_BOOL: ((uint8_t *)to)[i] = whole != 0; break;
    case KILN_F8E4: ((uint8_t *)to)[i] = e4m3[which]; break;
    case KILN_F8E5: ((uint8_t *)to)[i] = e5m2[which]; break;
    case KILN_F16: ((uint16_t *)to)[i] = half[which]; break;
    case KILN_BF16: ((uint16_t *)to)[i] = brain[which]; break;
    case KILN_F32: ((float *)to)[i] = (float)small[which]; break;
    case KILN_F64: ((double *)to)[i] = small[which]; break;
    default: // integers, little endian
        memcpy((uint8_t *)to + i * kiln_type_size(type), &whole, kiln_type_size(type));
    }
}

// Converts host memory on the device; false: it failed.
static bool converted(kiln *k, kiln_type from, const void *in, kiln_type to, void *out,
                      size_t count)
{
    kiln_buffer *a = NULL, *b = NULL;
    bool is_done = !kiln_buffer_new(k, from, count, &a) && !kiln_buffer_new(k, to, count, &b) &&
                   !kiln_write(a, 0, in, count) &&
                   !kiln_copy_view(k, &(kiln_copy_view_desc){.in = kiln_view_all(a),
                                                             .out = kiln_view_all(b)}) &&
                   !kiln_read(b, 0, out, count);
    kiln_buffer_free(a);
    kiln_buffer_free(b);
    return is_done;
}

// Every type to every type; then what does not fit.
static int more(kiln *k, int *passed)
{
    int failed = 0;
    for (kiln_type from = KILN_BOOL; from <= KILN_F64; from++)
        for (kiln_type to = KILN_BOOL; to <= KILN_F64; to++) {
            uint64_t in[SMALL] = {0}, out[SMALL] = {0}, want[SMALL] = {0};
            for (int i = 0; i < SMALL; i++) {
                put_small(from, in, (size_t)i, i);
                put_small(to, want, (size_t)i, from == KILN_BOOL && i ? 1 : i);
            }
            bool is_right = converted(k, from, in, to, out, SMALL) &&
                            !memcmp(out, want, SMALL * kiln_type_size(to));
            if (!is_right)
                printf("copy: wrong from %s to %s\n", kiln_type_name(from), kiln_type_name(to));
            *passed += is_right;
            failed += !is_right;
        }
    static const float far[4] = {300, -5, 1e10f, -1e10f};
    static const int32_t words[4] = {300, -5, INT32_MAX, INT32_MIN};
    static const uint8_t bytes[4] = {44, 0, 255, 0}, narrow[4] = {0x79, 0xca, 0x7e, 0xfe};
    int32_t as_words[4];
    uint8_t as_bytes[4], as_narrow[4];
    bool is_right = converted(k, KILN_F32, far, KILN_I32, as_words, 4) &&
                    converted(k, KILN_F32, far, KILN_U8, as_bytes, 4) &&
                    converted(k, KILN_F32, far, KILN_F8E4, as_narrow, 4) &&
                    !memcmp(as_words, words, sizeof words) &&
                    !memcmp(as_bytes, bytes, sizeof bytes) &&
                    !memcmp(as_narrow, narrow, sizeof narrow);
    if (!is_right)
        printf("copy: wrong from f32 where it does not fit\n");
    *passed += is_right;
    return failed + !is_right;
}

const op_suite op_suite_copy = {.name = "copy",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .more = more};
