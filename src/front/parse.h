// Between the files of the parser. front.h has what others call.
//
// A `parser` is a cursor over one token array with the scope it stands in; parse_need_func makes a
// new one for every body, so that a body can be parsed in the middle of another. What outlives a
// cursor is in `parse_common`.
//
// Errors: parse_error raises one and starts a panic: until the next statement or declaration every
// further syntax error of this parser is swallowed. Functions return something usable always
// (a poison expression, the poison type), never NULL unless said so.
#ifndef KILN_PARSE_H
#define KILN_PARSE_H

#include "front/front.h"

enum {
    PARSE_MAX_DEPTH = 200,   // nested statements, expressions, declarators of one function
    PARSE_MAX_HEIGHT = 1000, // of one expression tree: a + b + c + … is high, not deep
    PARSE_MAX_STACK = 4000,  // both, summed over a chain of calls
    PARSE_MAX_RANGE = 1024,  // values of `case 1 ... 9:`
    PARSE_MAX_LIST = 65536,  // items of a list in which a range stands
    PARSE_MAX_NESTING = 64,  // pointer to array of struct of …
};

// Words that mean something in one place only, and GNU spellings of keywords. W_NONE is no word.
typedef enum parse_word {
    W_NONE,
#define WORD(name, spelling, token) W_##name,
#include "front/word.def"
#undef WORD
    W_COUNT
} parse_word;

typedef struct library {
    const char *name;
    scope *scope;
} library;

typedef struct parse_common {
    const char *words[W_COUNT]; // interned
    map word_of;                // name -> parse_word
    map types;                  // name -> predefined type, or 0 for "looked up, none"
    map header_names; // name -> ast_decl of a C header whose name the program uses for its own
    map host_tags;    // type definition -> diag: why its declaration could not be understood
    // What the file-scope declaration being tried declared, completed or contradicted: host code
    // when the trial fails.
    vec(ast_decl *) tried_names;
    vec(type *) tried_tags;
    vec(library) libraries;
    uint32_t pack;          // #pragma pack: the most alignment of a member; 0: any
    span order_at;          // of #pragma scalar_storage_order, which is refused
    struct parser *current; // of the innermost body
    uint32_t stack;         // levels of recursion spent by the functions of the chain
    uint32_t order;         // of the newest declaration
} parse_common;

// __attribute__((constructor)) and destructor: when the function runs, smaller numbers first;
// 0: not given. See parse_start.c.
typedef struct start_mark {
    span at;
    uint32_t constructs, destructs;
} start_mark;

typedef struct parser {
    front *f;
    parse_common *common;
    const token *tokens;
    uint32_t at, end; // tokens[end] reads as the end of the file
    token stop;
    scope *scope;
    scope *file_scope;
    bool is_panicking;
    bool had_error;          // a syntax error: the tree has holes
    uint32_t linkage_braces; // open extern "C" { … }
    bool is_library;
    bool is_trial;      // errors will be put away: see parse_decl.c
    bool insists;       // … but not these: the declaration contradicts one of ours
    bool was_deep;      // nested too deeply, and that was said
    span noinline_at;   // of the attribute, in the attributes parsed last
    bool met_noreturn;  // likewise
    span packed_at;     // likewise, where a record or its member can have it …
    bool may_be_packed; // … as here
    start_mark start;   // of the attributes of the declaration so far
    uint32_t depth;
    uint32_t height;          // of the highest expression so far
    uint32_t loops, switches; // open ones
    uint32_t inner;           // open statement expressions
    scope *value_scope;       // of the innermost one …
    ast_expr *value;          // … and its last expression, not yet checked
    vec(ast_label *) labels;  // of the function
} parser;

// What to do instead of a parameter that is shared.
#define SHARED_PARAMETER                                                                           \
    "a function takes a plain pointer, which may point to shared memory; a kernel declares its "   \
    "own inside, with shared or dynamic_shared(f32, tile)"

typedef struct marks {
    span kernel, block, cluster, min_blocks, max_registers, max_threads; // lo == 0: not given
    span host, per_warp, no_wait;
    uint32_t block_size[3], cluster_size[3], min_blocks_value, max_registers_value,
        max_threads_value;
    span noinline, recursion; // of a device function
    uint32_t recursion_value;
} marks;

typedef struct specifiers {
    const type *type;
    span at;
    span type_at;
    token_kind storage; // TOK_TYPEDEF, EXTERN, STATIC, AUTO, REGISTER, or TOK_EOF
    span storage_at;
    span inline_at, noreturn_at, shared_at, align_at;
    span alignas_at; // of an _Alignas, which cannot lower an alignment
    uint32_t align;
    marks marks;
    bool is_per_thread;
    bool has_tag; // a struct, union or enum: may stand without a declarator
    bool is_noreturn;
} specifiers;

typedef struct declarator {
    const char *name; // NULL: abstract
    span at;          // of the name, or where it would be
    const type *type;
    vec(ast_decl *) params; // of the function declarator next to the name
    bool is_func;
    span params_at;
    scope *scope; // of the parameters
} declarator;

// --- the cursor; asked of every token, so it is here
static inline const token *tok(const parser *p)
{
    return p->at < p->end ? &p->tokens[p->at] : &p->stop;
}

static inline bool is_word(const parser *p, parse_word w)
{
    const token *t = tok(p);
    return t->kind == TOK_IDENT && t->name == p->common->words[w];
}

// --- parse_core.c: the cursor, errors, recovery
parser parser_make(front *f, const token *tokens, uint32_t at, uint32_t end, scope *s);
parse_common *parse_common_of(front *f);
const token *tok_ahead(const parser *p, uint32_t by);
token_kind kind(const parser *p); // with GNU spellings turned into keywords
token_kind kind_ahead(const parser *p, uint32_t by);
span here(const parser *p);
span previous(const parser *p);
void step(parser *p);
bool accept(parser *p, token_kind k);
// "';'", "'foo'", "end of file": the token as a message names it.
const char *found(const parser *p);
diag *parse_error(parser *p, diag_code code, span at, const char *format, ...) PRINTF_LIKE(4, 5);
// K1001; `what` is "a type name", "'('".
void parse_expected(parser *p, const char *what);
bool expect(parser *p, token_kind k, const char *after);
void expect_semi(parser *p, const char *after);
// A closing bracket; `open` is where its partner stands.
bool expect_close(parser *p, token_kind k, span open);
// Steps over it; what it sets holds from here on. The number of an unroll, evaluated.
int32_t parse_pragma(parser *p);
void skip_statement(parser *p);
void skip_to_close(parser *p, uint32_t open_index); // to the partner of that opening bracket
bool enter(parser *p); // false: nested too deeply (reported); pair with leave() either way
void leave(parser *p);

// --- scope.c
scope *scope_in(front *f, scope *outer);
ast_decl *scope_find_here(const scope *s, const char *name);
type *scope_find_tag(const scope *s, const char *tag, bool here_only);
void scope_add_tag(scope *s, const char *tag, const type *t);
ast_decl *new_decl(parser *p, decl_kind k, const char *name, span at, const type *t);
// Enters d, or reports that its name is taken. Returns d, or the variable that d declares again.
ast_decl *declare(parser *p, ast_decl *d);
void try_tag(parser *p, const type *t); // notes a tag for tried_tags
const char *suggest_type(parser *p, const char *name);
// Says again, for a use at `use`, why the declaration behind it is host code.
void replay_host_diag(parser *p, diag *why, const char *name, span use);
// The same for a tag; false when its declaration was understood.
bool replay_host_tag(parser *p, const type *t, const char *tag, span use);

// --- parse_expr.c: unchecked trees
ast_expr *new_expr(parser *p, expr_kind k, span at);
ast_expr *poison_expr(parser *p, span at);
ast_expr *parse_expr(parser *p);   // with commas
ast_expr *parse_assign(parser *p); // without
ast_expr *parse_cond(parser *p);   // a constant expression
ast_expr *parse_init(parser *p);   // an initialiser, braced or not
// Is d a declaration of the file below the function being parsed? Reports a use of such a one.
bool comes_later(const parser *p, const ast_decl *d);
bool is_captured(const front *f, span use, const ast_decl *d);
// Between a C header's function and the program's own one, of the same type or not: both are kept.
bool is_in_header(const front *f, span at);
ast_decl *find_header_name(front *f, const char *name);
void used_too_early(parser *p, const ast_decl *d, span at);

// --- other_word.c: words and types of other languages
typedef struct other_word {
    const char *word, *advice;
    const char *ours; // what stands there in Kiln C, or NULL
    bool is_shared;   // what it declares is shared
} other_word;
const other_word *find_other_word(const token *t);
const other_word *find_other_type(const token *t, bool *combines);
bool starts_other_word(const parser *p); // before a type, and no name of the file
diag *complain_other_word(parser *p, const other_word *other, bool may_fix);
// At C++'s `name::name` or CUDA's `<<<`, where something else was expected.
bool complain_cpp(parser *p);
// At a type behind `name <`: static_cast<f32>(x), square<f32>(x).
bool complain_template(parser *p, const char *spelled);

ast_expr *int_expr(parser *p, span at, uint64_t value, type_kind k);

// --- parse_about.c
ast_expr *parse_offsetof(parser *p);
ast_expr *parse_types_compatible(parser *p);

// --- parse_type.c
bool is_type_keyword(token_kind k);
bool starts_type(const parser *p);      // in a declaration
bool starts_type_name(const parser *p); // after '(' in an expression: f32( is a call there
// The type an identifier names, or NULL.
const type *find_type_name(parser *p, const char *name, ast_decl **decl);
typedef enum storage_rule { STORAGE_NONE, STORAGE_REGISTER, STORAGE_ANY } storage_rule;
specifiers parse_specifiers(parser *p, storage_rule allowed);
void parse_attributes(parser *p, uint32_t *align, span *align_at);
// The same where they may say `packed`: its place, or nothing.
span parse_packable_attributes(parser *p, uint32_t *align, span *align_at);
void parse_useless_packed(parser *p, span at);
void check_alignas(parser *p, const specifiers *s, const type *t);
void unknown_type(parser *p);
unsigned qualifier(token_kind k); // QUAL_*, or 0

// --- parse_declarator.c
declarator parse_declarator(parser *p, const type *base);
const type *parse_type_name(parser *p);

// --- parse_record.c: struct, union, enum
const type *parse_record(parser *p);
const type *parse_enum(parser *p);

// --- parse_mark.c: kernel, block(…) …, tune(…)
bool starts_mark(const parser *p, const marks *so_far);
bool starts_bounds(const parser *p); // __launch_bounds__ of kiln/cuda.h: may follow the type
void parse_mark(parser *p, marks *m);
bool starts_function_mark(const parser *p); // noinline, recursion(…): of a device function
void parse_function_mark(parser *p, marks *m);
void apply_marks(parser *p, const specifiers *s, ast_decl *d, bool is_definition);
bool starts_tune(const parser *p);
void parse_tune(parser *p);
void check_tune_choices(front *f); // when all of the file is read

// --- parse_start.c: what runs before and after a program
uint32_t *start_slot(parser *p); // of the attribute that stands here, or NULL
void start_priority(parser *p, uint32_t *slot);
void start_note(parser *p, ast_decl *fn, start_mark m);
void start_calls(front *f, ast_decl *kernel); // adds them to its body
ast_stmt *parse_when_named(parser *p);        // __k_when_named(name) { … }

// --- parse_decl.c
void parse_static_assert(parser *p);
// A declaration inside a function, with its ';'. The variables are added to `out`.
void parse_local_declaration(parser *p, ast_stmt *out);

// --- parse_stmt.c
ast_stmt *parse_block(parser *p, bool opens_scope); // stands at '{'

#endif
