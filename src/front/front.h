// The front end's shared state and the calls between its stages.
#ifndef KILN_FRONT_H
#define KILN_FRONT_H

#include "base/diag.h"
#include "front/ast.h"
#include "front/builtin.h"
#include "ir/target.h"

typedef struct front_options {
    const char *const *defines;  // "NAME" or "NAME=VALUE", NULL-terminated; may be NULL
    const char *const *includes; // folders for #include "x" and <x>, NULL-terminated; may be NULL
    const char *const *tunes;    // "BM=128", NULL-terminated; may be NULL
    const struct target *target; // NULL: the interpreter; decides target_…()
    bool watches_shifts;         // counts out of range are told (for kiln check)
    bool is_for_shapes;          // __KILN_SHAPES__ is defined: the library asks for no block index,
                                 // so that whoever does is the kernel itself
    bool watches_heap;           // __KILN_CHECK__ is defined: malloc and free are told, too
    bool keeps_unset;            // variables without a value stay unset (for kiln check), not 0
    bool allow_file_includes; // false: only Kiln's own headers (for strings from untrusted places)
} front_options;

static inline const struct target *front_target(const front_options *options)
{
    return options && options->target ? options->target : &target_interp;
}

// A shift by the width or more: #pragma kiln shifts(…).
typedef enum shift_rule {
    SHIFT_WATCHED, // modulo the width, and kiln check tells: what holds without the pragma
    SHIFT_CLAMP,   // shifts everything out
    SHIFT_WRAP     // modulo the width, and meant so
} shift_rule;

typedef struct front {
    arena *in;
    name_table *names;
    source_map *sources;
    diags *diags;
    const front_options *options;
    vec(token) tokens;
    scope *file_scope;
    vec(ast_decl *) kernels;     // in source order
    vec(ast_decl *) reached;     // device functions in the order of their first use
    vec(ast_decl *) taken;       // functions whose address is taken, by number
    vec(ast_decl *) shared_vars; // every `shared` variable of reached code
    vec(ast_decl *) thread_vars; // every variable of reached code that each thread has
    uint64_t thread_bytes;       // of those, with the literals that they point to
    vec(ast_decl *) starts;      // functions marked constructor or destructor
    vec(ast_decl *) tunables;
    vec(ast_decl *) constants; // enum constants at file scope
    vec(token) taken_for_0;    // names in #if that are no macros
    ast_decl *current_func;
    ir_module *module;                     // what lowering fills
    struct pp_library_text *library_texts; // pp_library remembers what it has read
    bool lax_conversions;                  // #pragma kiln conversions(c): the parser sets it
    shift_rule shifts;                     // #pragma kiln shifts(…)
    bool allows_early_return;              // #pragma kiln early_return(allow)
    bool has_thread_variables;             // #pragma kiln variables(thread): each thread has all
    uint32_t unevaluated;                  // checker: > 0 inside sizeof and _Generic's selector
    struct parse_common *parse;            // parse_core.c's own
} front;

// --- pp.c: reads `file` and what it includes into f->tokens (keywords turned, strings joined,
// brackets matched). False when a limit was hit (a diagnostic says which). Errors are in f->diags.
bool pp_run(front *f, source_file *file);
// Preprocesses one of Kiln's own library texts (lib/NAME) and appends nothing: returns its tokens.
bool pp_library(front *f, const char *name, token **tokens, uint32_t *count);

// --- parse_decl.c: parses all of f->tokens; fills file scope, kernels; then bodies of everything
// reachable.
void parse_file(front *f);
// Parses and checks the body of a function that a kernel reaches (called by the checker on the
// first call of `decl`).
void parse_need_func(front *f, ast_decl *decl, span use);
// Finds the library function `name` (e.g. "k_exp_f32"), parsing its library text `lib` on first
// need.
ast_decl *parse_library_func(front *f, const char *lib, const char *name);
ast_decl *scope_find(const scope *s, const char *name);

// --- check_*.c: each returns a checked tree; on a mistake a diagnostic and a poison, never NULL.
const type *check_typeof(front *f,
                         ast_expr *e); // of an unchecked expression, which is not evaluated
ast_expr *check_value(front *f,
                      ast_expr *e); // full check, then lvalue and array conversions: an rvalue
ast_expr *
check_lvalue_or_value(front *f,
                      ast_expr *e); // without those conversions (sizeof, &, assignment's left)
ast_expr *check_condition(front *f, ast_expr *e); // a scalar converted to bool
ast_expr *check_discarded(front *f, ast_expr *e); // an expression statement
// Converts a checked value to `to` as if by assignment; `what` names the place: "argument 2 of
// 'f'", "return value".
ast_expr *check_convert(front *f, ast_expr *e, const type *to, const char *what);
// Checks an initialiser for `d` (may complete an array of unknown bound: updates d->type), sets
// d->init.
void check_init(front *f, ast_decl *d, ast_expr *init);
// Rules for a declaration just completed (void variables, shared rules, kernel parameter types,
// limits…).
void check_decl(front *f, ast_decl *d);
// A tensor map cannot be `what` ("a variable"); true: it is one, and a diagnostic was given.
bool check_map_object(front *f, const type *t, span at, const char *what);
void check_kernel_signature(front *f, ast_decl *d);
// Evaluates an integer constant expression (checks it first). False: a diagnostic was given.
bool check_const_int(front *f, ast_expr *e, int64_t *value, const char *what);
// Tells where a variable of an expression that had to be constant was declared, and how to make it
// a constant. False: its value is not known now.
bool check_tell_variable(front *f, diag *d, const ast_expr *e);
void check_static_assert(front *f, ast_expr *condition, ast_expr *message, span at);
ast_expr *check_switch_value(front *f, ast_expr *e);
// Statement-level checks after a body was parsed: missing return, unreachable code, duplicate
// cases, unused shared …
void check_body(front *f, ast_decl *func);

// consteval.c: folds a checked expression without a diagnostic. The value's type is e->type.
typedef struct const_value {
    bool is_float;
    uint64_t integer; // sign-extended when the type is signed
    double real;
} const_value;
bool const_eval(front *f, const ast_expr *e, const_value *out);
// A pointer to data that is a number: cast from one, or a part of what such a pointer leads to.
bool const_address(front *f, const ast_expr *e, uint64_t *out);
// The same for the values of tables, where a bit pattern as a float is a constant, too.
bool const_eval_static(front *f, const ast_expr *e, const_value *out);

// --- lower_*.c: makes f->module from the kernels and all they reach. Only called without errors.
void lower_module(front *f);

// --- ast_print.c
void ast_print(front *f, text *out);

// "did you mean": the nearest visible name (variables, functions, builtins), or NULL.
const char *front_suggest(front *f, const scope *s, const char *name);

#endif
