// The cases of copies (ops/suite.h): permutations, parts put together and taken apart.
#include "ops/suite.h"

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
    return n == 1 && !(c->tags & SUITE_BENCH) ? 0 : c->sizes[c->axis] + n;
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

const op_suite op_suite_copy = {.name = "copy",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe};
