// Between the files of the checker. front.h has what the parser calls.
//
// check_expr types one node and all below it; the result may still be an lvalue or an array.
// check_rvalue loads or decays it. Every function returns a tree, a poison after a mistake;
// whoever meets a poison stays silent.
#ifndef KILN_CHECK_H
#define KILN_CHECK_H

#include "front/front.h"

enum { MAX_THREAD_BYTES = 1 << 20 }; // of a variable, and of all that outlive a call

// --- check_expr.c
ast_expr *check_expr(front *f, ast_expr *e);
ast_expr *check_rvalue(front *f, ast_expr *e); // of a checked node
ast_expr *check_callee(front *f, ast_expr *e); // looks through _Generic; not checked

// Warns when a 32-bit product moves a pointer into global memory.
void check_index_width(front *f, const ast_expr *base, const ast_expr *index);

// --- check_convert.c: small constructors and the conversion table
ast_expr *check_poison(front *f, ast_expr *e); // turns e into a poison
ast_expr *check_new(front *f, expr_kind kind, span at, const type *t);
ast_expr *check_int(front *f, span at, const type *t, uint64_t value);
ast_expr *check_wrap(front *f, ast_expr *e, convert_kind how, const type *to);
// Without a check: the representation change from e's type to `to`, both scalars.
ast_expr *check_force(front *f, ast_expr *e, const type *to);
ast_expr *check_promote(front *f, ast_expr *e); // integer promotions of a checked value
ast_expr *check_to_bool(front *f, ast_expr *e);
ast_expr *check_explicit_cast(front *f, ast_expr *e);
// Usual arithmetic conversions of two checked arithmetic values; `op` names the operator.
const type *check_usual(front *f, ast_expr **a, ast_expr **b);
const type *check_usual_type(const type *a, const type *b);
const type *check_promoted_type(const type *t);
const type *check_bits_type(const field *f); // of a bit-field's value: i32 where it holds them all
// The bit-field that e names, or that e sets and has the value of; else NULL.
const field *check_bits_field(const ast_expr *e);
bool check_is_unsigned_bits(const ast_expr *e); // reads an unsigned bit-field
// The constant must fit the bit-field; a diagnostic when it does not.
void check_bits_fit(front *f, const ast_expr *e, const field *bits);
// Would an implicit conversion keep every value of `from`?
bool check_keeps_values(const type *from, const type *to);
// Would it keep the values that this very expression can have?
bool check_fits(front *f, const ast_expr *e, const type *to);
uint64_t check_wrap_int(const type *t, uint64_t value); // truncates and extends to t's width
unsigned check_bits(const type *t);                     // of an integer type; bool is 1
bool check_pointee_same(const type *a, const type *b);
bool check_pointee_fits(const front *f, const type *a, const type *b); // but for qualifiers
const char *check_range_text(front *f, const type *t);                 // "u8 holds 0 to 255"
unsigned check_deep_quals(const type *t);                              // looks through arrays

bool check_is_null(front *f, const ast_expr *e); // the constant 0

// --- check_map.c: wrong uses of a tensor map; true: a diagnostic was given
bool check_map_value(front *f, const type *t, span at, const char *use);  // "read"
bool check_map_step(front *f, const type *pointer, span at);              // pointer arithmetic
bool check_map_cast(front *f, const type *from, const type *to, span at); // between pointers

// --- check_warn.c
const char *check_op_text(const ast_expr *e); // the operator, in quotes
span check_op_place(const ast_expr *e);
void check_warn_shift(front *f, const ast_expr *e, const ast_expr *count);
void check_warn_overflow(front *f, const ast_expr *e); // of + - * with constants
void check_warn_zero(front *f, const ast_expr *e, const ast_expr *divisor);
void check_warn_comparison(front *f, const ast_expr *e);
void check_warn_signs(front *f, const ast_expr *e);

// --- check_ops.c
ast_expr *check_unary(front *f, ast_expr *e);
ast_expr *check_binary(front *f, ast_expr *e);
ast_expr *check_incdec(front *f, ast_expr *e);
ast_expr *check_assign(front *f, ast_expr *e);
ast_expr *check_conditional(front *f, ast_expr *e);
bool check_modifiable(front *f, ast_expr *e, span op_at);
bool check_writes_array(front *f, ast_expr *e); // a builtin fills the array
bool check_has_effects(const ast_expr *e);

// --- check_call.c, check_printf.c
ast_expr *check_call(front *f, ast_expr *e);
// --- check_host.c
// Checks a host function on its first call; false: it is wrong, and that was said.
bool check_host_decl(front *f, ast_decl *d);
ast_expr *check_printf(front *f, ast_expr *e);
void check_discard(ast_expr *e); // before checking: its value is not used
void check_no_value(front *f, const ast_expr *e, const char *label); // raises K2034
bool check_printf_is_text(const ast_expr *e); // for the printf of lib/libc; not checked
// Converts the arguments for `b`, deducing its T; false: a diagnostic was given. (check_builtin.c)
bool check_builtin_args(front *f, ast_expr *e, const builtin *b, const type *fixed);
// Argument `index` must be an integer constant; it becomes a literal.
bool check_constant_arg(front *f, ast_expr *e, uint32_t index, const builtin *b);
// Calls of MATRIX rows, whose arguments are arrays of registers. (check_matrix.c)
ast_expr *check_matrix_call(front *f, ast_expr *e, const builtin *b);

// --- check_gnu.c
// A call of GNU's __builtin_…: checked, or NULL, when e->a may name what is called instead.
ast_expr *check_gnu_call(front *f, ast_expr *e);

// --- check_init.c
ast_expr *check_compound(front *f, ast_expr *e);
// Checks the value of a variable against its type; it becomes d->init.
void check_init_object(front *f, ast_decl *d, ast_expr *init);

// --- check_static.c: variables that live as long as a kernel
void check_static_init(front *f, ast_decl *d, ast_expr *init, bool is_const);
// Device code uses a variable that each thread has.
void check_per_thread(front *f, ast_decl *d, span use);

// --- check_stmt.c
void check_inner_block(front *f, const ast_expr *e); // the statements of an E_STMT
// Does `s` hold a label of the switch around it?
bool check_has_label(const ast_stmt *s);
ast_stmt *check_unlabelled(ast_stmt *s); // what stands behind the labels before a statement

// --- check_goto.c: where the labels of a function stand, and what jumps to them
void check_gotos(front *f, ast_decl *func);

// --- check_unset.c: warns about reads of variables that were never set
void check_unset(front *f, ast_decl *func);

// --- suggest.c: other languages' spellings
typedef struct foreign_name {
    const char *name;
    const char *advice; // "barrier()", "atomic_add($1, $2)", "global_$d1()"; with $ it can be a fix
    const char *member; // for threadIdx.x: the member is put in place of $m
} foreign_name;
const foreign_name *foreign_find(const char *name);
// What to do instead of calling a function of C's library that kernels do not have; or NULL.
const char *absent_find(front *f, const char *name);
// The advice with the arguments' source text put in; NULL when it does not apply to them.
const char *foreign_text(front *f, const foreign_name *n, const ast_expr *call, const char *member);

// --- helpers
#define T_OF(f, t) type_text((f)->in, (t))
static inline bool is_poison(const ast_expr *e)
{
    return e->type->kind == TY_POISON;
}
// Are lossy conversions errors here? Not where nothing is computed.
static inline bool check_is_strict(const front *f)
{
    return !f->lax_conversions && !f->unevaluated;
}
// --- check_function.c
ast_expr *check_function_name(front *f, ast_expr *e);  // a function's name that is not called
ast_expr *check_function_value(front *f, ast_expr *e); // as a pointer
// Device code uses the constant `table`: what its pointers point to is needed.
void check_functions_of(front *f, ast_decl *table, span use);
bool check_is_null_pointer(front *f, const ast_expr *e); // 0, NULL, (T *)0
// A conversion between a pointer to a function and something else: true, and a diagnostic.
bool check_mixes_functions(front *f, const type *from, const type *to, span at);
ast_expr *check_pointer_call(front *f, ast_expr *e, ast_expr *callee); // arguments are checked

static inline bool is_pointer(const type *t)
{
    return t->kind == TY_PTR;
}
static inline span span_before(span s)
{
    return (span){s.lo, s.lo};
}
static inline span span_after(span s)
{
    return (span){s.hi, s.hi};
}
// A fix-it that puts `before` and `after` around e; after a cast, with parentheses when e needs
// them.
void check_fix_around(front *f, diag *d, const ast_expr *e, const char *title, const char *before,
                      const char *after);

#endif
