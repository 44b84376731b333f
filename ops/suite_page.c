// The facts about an op that its page shows (docs/ops/NAME.md, written by tools/ops): operands,
// types, layouts and cases, from the suite. Start at suite_page, the last function.
#include "ops/suite.h"

#include <string.h>

static const struct word {
    uint32_t bit;
    const char *text;
} layout_words[] = {
    {SUITE_DENSE, "dense"},     {SUITE_TRANSPOSED, "column-major"}, {SUITE_GAPS, "with gaps"},
    {SUITE_FLIPPED, "flipped"}, {SUITE_OFFSET, "unaligned"},        {SUITE_IN_PLACE, "in place"},
    {SUITE_MIXED, "mixed"},     {SUITE_REPEATED, "repeated"},
};

static void print_types(FILE *out, uint32_t types)
{
    const char *between = "";
    for (int type = 0; type <= KILN_F64; type++)
        if (types >> type & 1) {
            fprintf(out, "%s%s", between, kiln_type_name((kiln_type)type));
            between = ", ";
        }
}

static void print_layouts(FILE *out, uint32_t layouts)
{
    const char *between = "";
    if ((layouts & SUITE_ANY_VIEW) == SUITE_ANY_VIEW) {
        fprintf(out, "any strides");
        layouts &= ~(uint32_t)SUITE_ANY_VIEW;
        between = ", ";
    }
    for (size_t n = 0; n < sizeof layout_words / sizeof *layout_words; n++)
        if (layouts & layout_words[n].bit) {
            fprintf(out, "%s%s", between, layout_words[n].text);
            between = ", ";
        }
}

static uint32_t layouts_of(const op_case *c)
{
    return c->layouts ? c->layouts : SUITE_DENSE;
}

// The names of the tensors with that role in any case, each once.
static void print_tensors(FILE *out, const op_suite *s, op_role role, bool needs_gradient)
{
    const char *seen[4 * SUITE_TENSORS];
    size_t count = 0;
    for (size_t n = 0; n < s->case_count; n++) {
        op_tensor tensors[SUITE_TENSORS];
        int type = 0;
        while (type < KILN_F64 && !(s->cases[n].types >> type & 1))
            type++;
        uint32_t of_case = s->tensors(&s->cases[n], (kiln_type)type, tensors);
        for (uint32_t t = 0; t < of_case; t++) {
            bool is_new = tensors[t].role == role && count < sizeof seen / sizeof *seen &&
                          (!needs_gradient || tensors[t].has_gradient);
            for (size_t i = 0; i < count; i++)
                is_new = is_new && strcmp(seen[i], tensors[t].name);
            if (!is_new)
                continue;
            fprintf(out, "%s`%s`", count ? ", " : "", tensors[t].name);
            seen[count++] = tensors[t].name;
        }
    }
    if (!count)
        fprintf(out, "none");
}

static bool is_test(const op_case *c)
{
    return (c->tags & (SUITE_TEST | SUITE_GPU)) != 0;
}

// Cases that differ in their option alone share a line.
static bool is_alike(const op_case *a, const op_case *b)
{
    return a->tags == b->tags && a->types == b->types && layouts_of(a) == layouts_of(b) &&
           a->rank == b->rank && !memcmp(a->sizes, b->sizes, sizeof a->sizes);
}

static void print_options(FILE *out, const op_suite *s, size_t first, bool *is_done)
{
    enum { SHOWN = 3 };
    const char *seen_end = "";
    size_t count = 0;
    for (size_t n = first; n < s->case_count; n++) {
        char text[96] = "";
        if (!is_alike(&s->cases[first], &s->cases[n]))
            continue;
        is_done[n] = true;
        if (!s->describe)
            continue;
        s->describe(&s->cases[n], text, sizeof text);
        if (count++ < SHOWN)
            fprintf(out, "%s%s", seen_end, text);
        seen_end = "; ";
    }
    if (count > SHOWN)
        fprintf(out, "; and %zu more", count - SHOWN);
}

static void print_sizes(FILE *out, const op_case *c)
{
    for (uint32_t n = 0; n < c->rank; n++)
        fprintf(out, "%s%llu", n ? "x" : "", (unsigned long long)c->sizes[n]);
    if (!c->rank)
        fprintf(out, "scalar");
}

static void print_cases(FILE *out, const op_suite *s)
{
    enum { MOST = 1024 };
    bool is_done[MOST] = {false};
    fprintf(out, "| sizes | of | types | layouts | for |\n|---|---|---|---|---|\n");
    for (size_t n = 0; n < s->case_count && s->case_count <= MOST; n++) {
        const op_case *c = &s->cases[n];
        if (is_done[n] || c->tags & SUITE_EMIT)
            continue;
        fprintf(out, "| ");
        print_sizes(out, c);
        fprintf(out, " | ");
        print_options(out, s, n, is_done);
        fprintf(out, " | ");
        print_types(out, c->types);
        fprintf(out, " | ");
        print_layouts(out, layouts_of(c));
        fprintf(out, " | %s |\n",
                c->tags & SUITE_GRADIENT ? "tests, with gradients"
                : c->tags & SUITE_TEST   ? "tests"
                : c->tags & SUITE_GPU    ? "tests on GPUs"
                                         : "`kiln bench`");
    }
}

void suite_page(const op_suite *s, FILE *out)
{
    uint32_t types = 0, gradient_types = 0, layouts = 0;
    for (size_t n = 0; n < s->case_count; n++) {
        const op_case *c = &s->cases[n];
        if (!is_test(c))
            continue;
        types |= c->types;
        gradient_types |= c->tags & SUITE_GRADIENT ? c->types : 0;
        layouts |= layouts_of(c);
    }
    fprintf(out, "| operands | ");
    print_tensors(out, s, ROLE_INPUT, false);
    fprintf(out, " |\n| results | ");
    print_tensors(out, s, ROLE_OUTPUT, false);
    fprintf(out, " |\n| types | ");
    print_types(out, types);
    fprintf(out, " |\n| gradients | ");
    if (s->has_backward) {
        print_tensors(out, s, ROLE_INPUT, true);
        fprintf(out, " (");
        print_types(out, gradient_types & (SUITE_FLOATS | SUITE_F64));
        fprintf(out, ")");
    } else {
        fprintf(out, "none");
    }
    fprintf(out, " |\n| layouts | ");
    print_layouts(out, layouts);
    fprintf(out, " |\n\n");
    if (s->rows) {
        fprintf(out, "### Rows\n\n");
        s->rows(out);
        fprintf(out, "\n");
    }
    fprintf(out, "### Cases\n\n");
    print_cases(out, s);
}
