// What other languages write where Kiln C has a word of its own, or none: CUDA, OpenCL, Metal,
// C++ and GNU's C, and the types of gcc, clang and C23. Met where a type begins, such a word is an
// error that names ours; the declaration is read on as if ours stood there. Start reading at
// starts_other_word.
#include "front/parse.h"

#define FROM_CUDA  "#include <kiln/cuda.h> knows it"
#define NOT_NEEDED "not needed here: a pointer may point to any memory"

static const other_word other_words[] = {
    {"__global__", "CUDA's word for 'kernel': " FROM_CUDA, NULL, false},
    {"__device__", "CUDA's word, not needed here: " FROM_CUDA, NULL, false},
    {"__host__", "CUDA's word, not needed here: " FROM_CUDA, NULL, false},
    {"__shared__", "CUDA's word for 'shared': " FROM_CUDA, NULL, true},
    {"__constant__", "CUDA's word for 'static const': " FROM_CUDA, NULL, false},
    {"__forceinline__", "CUDA's word, not needed here: " FROM_CUDA, NULL, false},
    {"__launch_bounds__", "CUDA's word for 'max_threads(…)': " FROM_CUDA, NULL, false},
    {"__kernel", "OpenCL's word for 'kernel'", "kernel", false},
    {"__global", "OpenCL's word, " NOT_NEEDED, "", false},
    {"global", "OpenCL's word, " NOT_NEEDED, "", false},
    {"__local", "OpenCL's word for 'shared'", "shared", true},
    {"local", "OpenCL's word for 'shared'", "shared", true},
    {"__constant", "OpenCL's word for 'const'", "const", false},
    {"constant", "OpenCL's word for 'const'", "const", false},
    {"__private", "OpenCL's word, not needed here: a local variable is the thread's own", "",
     false},
    {"device", "Metal's word, " NOT_NEEDED, "", false},
    {"threadgroup", "Metal's word for 'shared'", "shared", true},
    {"groupshared", "HLSL's word for 'shared'", "shared", true},
    {"constexpr", "C++'s word: in C an enum, a macro or 'static const' makes a constant", "const",
     false},
    {"template", "C++: in C a macro makes one function for each type", NULL, false},
    {"class", "C++: a struct and functions that take its address do this in C", NULL, false},
    {"using", "C++: C writes 'typedef TYPE NAME;'", NULL, false},
    {"namespace", "C++: C's names stand alone; static functions and a prefix keep them apart", NULL,
     false},
};

#define NO_WIDE_INT "integers have up to 64 bits; mul_high() gives the upper half of a product"
#define NO_FLOAT    "floats are f32 and f64; f16 and bf16 are for storage"

// Types of gcc, clang and C23. The first two combine with 'unsigned' and 'signed'.
enum { COMBINING = 2 };
static const other_word other_types[] = {
    {"__int128", NO_WIDE_INT, NULL, false},
    {"_BitInt", "integers have 8, 16, 32 or 64 bits; members of a struct may be bit-fields", NULL,
     false},
    {"__int128_t", NO_WIDE_INT, NULL, false},
    {"__uint128_t", NO_WIDE_INT, NULL, false},
    {"_Float16", NO_FLOAT, NULL, false},
    {"__fp16", NO_FLOAT, NULL, false},
    {"__bf16", NO_FLOAT, NULL, false},
    {"_Float32", NO_FLOAT, NULL, false},
    {"_Float64", NO_FLOAT, NULL, false},
    {"_Float128", NO_FLOAT, NULL, false},
    {"__float128", NO_FLOAT, NULL, false},
    {"_Decimal32", NO_FLOAT, NULL, false},
    {"_Decimal64", NO_FLOAT, NULL, false},
    {"_Decimal128", NO_FLOAT, NULL, false},
    {"__auto_type", "GNU's word: typeof(value) names the type", NULL, false},
    {"__label__", "GNU's word: leave the line out, labels belong to the whole function", NULL,
     false},
};

const other_word *find_other_type(const token *t, bool *combines)
{
    bool may_be = t->kind == TOK_IDENT && t->name[0] == '_'; // as all of them begin
    for (size_t i = 0; may_be && i < COUNT(other_types); i++)
        if (!strcmp(other_types[i].word, t->name)) {
            if (combines)
                *combines = i < COMBINING;
            return &other_types[i];
        }
    return NULL;
}

const other_word *find_other_word(const token *t)
{
    for (size_t i = 0; t->kind == TOK_IDENT && i < COUNT(other_words); i++)
        if (!strcmp(other_words[i].word, t->name))
            return &other_words[i];
    return NULL;
}

bool starts_other_word(const parser *p)
{
    token_kind next = kind_ahead(p, 1);
    if (tok(p)->kind != TOK_IDENT || (next != TOK_IDENT && !is_type_keyword(next)) ||
        (tok_ahead(p, 1)->flags & TF_LINE_START))
        return false;
    return !scope_find(p->scope, tok(p)->name) && find_other_word(tok(p));
}

diag *complain_other_word(parser *p, const other_word *other, bool may_fix)
{
    diag *d = diag_raise(p->f->diags, K1005, here(p), "'%s' is no word of Kiln C", other->word);
    diag_label(d, here(p), "%s", other->advice);
    span at = here(p);
    uint32_t next = tok_ahead(p, 1)->at.lo;
    if (other->ours && !*other->ours && next > at.hi &&
        next - at.hi < 4) // with the blank behind it
        at.hi = next;
    if (other->ours && may_fix)
        diag_fix(d, at, *other->ours ? "use Kiln's word" : "leave it out", "%s", other->ours);
    return d;
}

#define GROUPS                                                                                     \
    "barrier() waits for the block, warp_sync() for the warp; votes, shuffles, reductions and "    \
    "scans "                                                                                       \
    "of both are functions (warp_any, shuffle_down, block_sum, block_scan_sum)"
#define FRAGMENTS                                                                                  \
    "fragment_load_a, fragment_multiply_f16 and their sisters multiply matrices on every device, " \
    "mma_f16 and wgmma_f16 on NVIDIA's"

// What Kiln has instead of namespaces that kernels are written with.
static const struct {
    const char *name, *advice;
} namespaces[] = {
    {"cooperative_groups", GROUPS},
    {"cg", GROUPS},
    {"wmma", FRAGMENTS},
    {"nvcuda", FRAGMENTS},
    {"cub", GROUPS},
    {"cuda", "atomic_add_at, fence_at, mbarrier_wait and async_copy_16 are its atomics, barriers "
             "and copies"},
    {"std", "min, max, abs, sqrt and C's other functions have no prefix"},
};

bool complain_cpp(parser *p)
{
    if (p->is_panicking)
        return false;
    const token *from = tok(p), *before = p->at ? &p->tokens[p->at - 1] : from;
    if (before->kind == TOK_SHL && from->kind == TOK_LT && before->at.hi == from->at.lo) {
        diag *d = parse_error(p, K1001, span_join(before->at, from->at),
                              "a kernel cannot launch kernels");
        diag_label(d, span_join(before->at, from->at), "CUDA C++: C has no '<<<'");
        diag_note(d, "the host launches: one kernel after another, or a graph of them");
        return true;
    }
    uint32_t at = p->at;
    if (from->kind == TOK_IDENT)
        at++;
    else if (from->kind == TOK_COLON && before->kind == TOK_COLON)
        at--;
    const token *colon = at < p->end ? &p->tokens[at] : &p->stop;
    const token *next = at + 1 < p->end ? &p->tokens[at + 1] : &p->stop;
    if (colon->kind != TOK_COLON || next->kind != TOK_COLON || colon->at.hi != next->at.lo)
        return false;
    span both = span_join(colon->at, next->at);
    diag *d = parse_error(p, K1001, both, "C has no namespaces");
    const char *advice = "a name stands alone in C: leave out what is before '::'";
    for (size_t i = 0; at && i < COUNT(namespaces); i++)
        if (p->tokens[at - 1].kind == TOK_IDENT &&
            !strcmp(p->tokens[at - 1].name, namespaces[i].name))
            advice = namespaces[i].advice;
    diag_label(d, both, "C++: '::' has no meaning in C");
    diag_note(d, "%s", advice);
    return true;
}

// All that stands between '<' and '>' in `static_cast<const f32 *>`, when that is short.
static const char *cast_type(const parser *p, const char *first)
{
    enum { MOST_TOKENS = 8 };
    span all = here(p);
    for (uint32_t i = 0; i < MOST_TOKENS; i++) {
        const token *t = tok_ahead(p, i);
        if (t->kind == TOK_GT) {
            str s = source_text(p->f->sources, all);
            return str_format(p->f->in, "%.*s", (int)s.len, s.at);
        }
        all = span_join(all, t->at);
    }
    return first;
}

bool complain_template(parser *p, const char *spelled)
{
    const token *of = p->at >= 2 ? &p->tokens[p->at - 2] : NULL;
    if (!of || of->kind != TOK_IDENT || p->tokens[p->at - 1].kind != TOK_LT)
        return false;
    diag *d = parse_error(p, K1033, here(p), "'%s' is a type, where a value is expected", spelled);
    if (strstr(of->name, "_cast"))
        diag_label(d, here(p), "C++: C writes a cast as (%s)x", cast_type(p, spelled));
    else
        diag_label(d, here(p), "C++: in C a macro makes one function for each type");
    return true;
}
