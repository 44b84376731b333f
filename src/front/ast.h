// The tree. parse_*.c builds it, resolving names as it goes; check_*.c types every expression right
// after it was parsed and inserts the implicit conversions; lower_*.c reads only the checked form.
#ifndef KILN_AST_H
#define KILN_AST_H

#include "front/token.h"
#include "front/type.h"

typedef struct ast_expr ast_expr;
typedef struct ast_stmt ast_stmt;
typedef struct ast_decl ast_decl;
typedef struct scope scope;

// clang-format off
typedef enum expr_kind {
    E_POISON,      // after an error; type TY_POISON
    E_INT,         // integer (also characters, enum constants after checking); the parser sets type
    E_FLOAT,       // real; the parser sets type
    E_STRING,      // bytes: only as a printf format or a static_assert message
    E_NAME,        // decl (NULL: unknown name, `name` and `scope` for the message), or a builtin name in a call
    E_UNARY,       // op (TOK_PLUS MINUS TILDE NOT STAR AMP), a
    E_INCDEC,      // op (TOK_INC DEC), is_postfix, a
    E_BINARY,      // op (arithmetic, comparison, ANDAND, OROR, shifts), a, b
    E_ASSIGN,      // op (TOK_ASSIGN or a compound TOK_*_EQ), a, b. Compound: `compute_type` is where the arithmetic happens
    E_COND,        // a ? b : c
    E_COMMA,       // a, b
    E_CALL,        // a (callee), args. After checking: callee_decl, or builtin
    E_INDEX,       // a[b]; after checking a is the pointer (decayed) and b the integer
    E_MEMBER,      // a.name or a->name (is_arrow). After checking: field_offset; an arrow's a is a pointer value
    E_CAST,        // (cast_type)a, explicit
    E_CONVERT,     // made by the checker: a converted to `type` (how: convert)
    E_SIZEOF,      // of a or cast_type; E_INT after checking
    E_ALIGNOF,     // likewise
    E_COMPOUND,    // (cast_type){init}: a is the E_INIT_LIST
    E_INIT_LIST,   // items before checking; inits after
    E_GENERIC,     // _Generic: replaced by the chosen expression when checked
    E_STMT,        // the statements of GNU's ({ … }), without a value: what gives one stands behind a comma
    E_KIND_COUNT
} expr_kind;

typedef enum convert_kind {
    CONVERT_NOOP,        // same representation (qualifiers, pointer types)
    CONVERT_LOAD,        // lvalue to value
    CONVERT_DECAY,       // array to pointer to its first element
    CONVERT_TO_BOOL,     // scalar != 0
    CONVERT_INT,         // integer to integer: truncates or extends by the SOURCE's signedness; bool counts as 0/1
    CONVERT_INT_FLOAT,
    CONVERT_FLOAT_INT,   // saturates at the target's range
    CONVERT_FLOAT,       // f32 <-> f64
    CONVERT_PTR_INT, CONVERT_INT_PTR,
} convert_kind;
// clang-format on

typedef struct init_item { // one element of a braced list, as written
    struct designator {
        const char *field; // .field, or NULL
        ast_expr *index;   // [index], or NULL
        ast_expr *last;    // GNU's [index ... last] while it is parsed, else NULL
        span at;
        struct designator *next;
    } * designators; // NULL: the next one in order
    ast_expr *value;
    bool is_repeated; // one of several that stand for `[0 ... 2] = value`
} init_item;

typedef struct init_entry { // after checking: `value` (converted to its leaf's type) goes to byte
                            // `offset`;
    uint64_t offset;   // what no entry covers is zero. A record-typed value initialises that whole
                       // sub-object.
    ast_expr *value;   // Entries are in evaluation order; later ones override earlier ones.
    const field *bits; // the bit-field that it sets, or NULL
} init_entry;

struct ast_expr {
    uint8_t kind; // expr_kind
    uint8_t op;   // token_kind
    uint8_t convert;
    bool is_checked, is_lvalue, is_postfix, is_arrow;
    bool is_parenthesised, is_discarded; // is_discarded: nobody asks for its value
    uint8_t shifts;                      // shift_rule
    span at;
    span op_at;               // of the operator, for binary and assignment
    const type *type;         // after checking; never NULL then
    const type *compute_type; // compound assignment
    const type *cast_type;
    ast_expr *a, *b, *c;
    union {
        uint64_t integer; // E_INT: two's complement, sign-extended for signed types
        double real;
        str bytes;
        struct {
            const char *name; // E_NAME, E_MEMBER
            ast_decl *decl;
            scope *scope;
        };
    };
    uint64_t field_offset;
    const field *bits;    // E_MEMBER after checking: the bit-field, or NULL
    vec(ast_expr *) args; // E_CALL
    ast_decl *callee_decl;
    ast_stmt *block; // E_STMT
    const struct builtin *builtin;
    const type *builtin_type; // the T it was resolved with, or NULL
    vec(init_item) items;
    vec(init_entry) inits;
    struct generic_arm {
        const type *type; // NULL: default
        ast_expr *value;
        span at;
        struct generic_arm *next;
    } * arms;
    bool is_const; // after checking: every leaf is a constant, so const_eval may succeed
    uint16_t
        height; // of the tree as parsed; the parser bounds it, so recursion over a tree is safe
};

typedef enum decl_kind {
    DECL_VAR,
    DECL_PARAM,
    DECL_FUNC,
    DECL_TYPEDEF,
    DECL_ENUM_CONST,
    DECL_TUNE
} decl_kind;

struct ast_decl {
    uint8_t kind;
    bool is_static, is_extern, is_inline;
    bool is_register; // its address cannot be taken
    bool
        is_shared; // `shared`: size from the type; an incomplete array is the dynamic shared memory
    bool is_per_thread; // each thread has one, set when the kernel starts: see check_static.c
    bool is_file_scope;
    bool is_const_data; // file-scope or static const with a constant initialiser: constant memory
    bool is_kernel;
    bool is_host, is_per_warp, is_no_wait; // DECL_FUNC: of the host program
    bool is_used, is_address_taken, is_assigned;
    bool is_noinline;  // DECL_FUNC: a call of its own
    bool is_noreturn;  // DECL_FUNC: its calls do not come back
    bool is_reachable; // DECL_FUNC: device code takes its address
    bool has_needed;   // constant data: device code uses it, and with it its functions
    bool is_host_only; // could not be understood, or names host things: an error only when a kernel
                       // uses it
    uint8_t state;     // DECL_FUNC: 0 body not parsed, 1 being parsed (recursion), 2 done
    const char *name;
    span at; // of the name
    const type *type;
    uint32_t align; // from _Alignas; 0: the type's
    ast_expr *init; // DECL_VAR, checked
    span value_at;  // DECL_VAR: the declaration that gives it a value; lo == 0: none yet
    int64_t value;  // ENUM_CONST, TUNE (the chosen one)
    vec(int64_t) tune_values;
    // functions
    vec(ast_decl *) params;
    uint32_t body_first; // token index of '{'; 0: no body
    ast_stmt *body;      // after parsing
    scope *scope;        // file scope to parse the body in
    uint32_t block[3], cluster[3], min_blocks, max_registers, max_threads;
    span block_at, cluster_at; // of the marks
    span host_at;
    str host_text;          // DECL_FUNC is_host: see ir/host.h
    const char *counted_by; // DECL_PARAM: the parameter that counts its objects, or NULL
    span counted_at;
    span second_body;               // where it is defined again: an error once a kernel reaches it
    uint32_t recursion_limit;       // recursion(n); 0: not given
    uint32_t constructs, destructs; // DECL_FUNC: as in start_mark
    uint32_t function_number;       // from 1, of those whose address is taken; see function_token
    ir_func *lowered;
    uint32_t lower_index; // for lowering's own use
    void *lower_data;
    struct diag *held; // of a host-only constant: its mistake, reported when a kernel uses it
    // for the parser
    const token *tokens;       // functions: the array that body_first is an index into
    uint32_t body_end;         // index past the body's last token
    uint32_t order;            // rises with every declaration; of the first one of a name
    uint32_t body_order;       // functions: the body may use what has a lower one
    struct diag *narrow_index; // functions: the K2207 that was told
    bool is_lax;               // functions: defined under #pragma kiln conversions(c)
    uint8_t shifts;            // … shifts(…): shift_rule
    bool allows_early_return;  // … early_return(allow)
    bool has_thread_variables; // … variables(thread)
    bool has_labels;           // functions: goto may jump over what declares a variable
    struct diag *host_diag;    // is_host_only: why its declaration could not be understood, or NULL
};

// What a pointer to a function holds: never 0, and no address of data.
static inline uint64_t function_token(const ast_decl *d)
{
    return (uint64_t)0x4b460000 << 32 | (uint64_t)d->function_number << 4;
}

typedef enum stmt_kind {
    S_EMPTY,
    S_EXPR,    // expr
    S_DECL,    // decls (variables only)
    S_BLOCK,   // body
    S_IF,      // expr, yes, no
    S_WHILE,   // expr, yes
    S_DO,      // yes, expr
    S_FOR,     // init, expr (may be NULL), step (may be NULL), yes
    S_SWITCH,  // expr (i32/u32/i64/u64), yes
    S_CASE,    // value, yes: the statement after it
    S_DEFAULT, // yes
    S_BREAK,
    S_CONTINUE,
    S_RETURN, // expr or NULL, converted to the function's result type
    S_LABEL,  // label, yes: the statement after it
    S_GOTO,   // label
} stmt_kind;

// Where goto leads. Statements [first, item) of `block` stand before it, with all that jumps ahead;
// [item, last] after it, with all that jumps back: see check_goto.c.
typedef struct ast_label {
    const char *name;
    span at; // lo == 0: no such label was met
    ast_stmt *block;
    uint32_t item, first, last;
    bool is_met_forward, is_met_backward;
    struct jump *ahead, *again; // while lowering: what a goto leaves
    uint32_t number, entry;     // … and what it stores where, when jumps cross; number 0: nothing
} ast_label;

struct ast_stmt {
    uint8_t kind;
    span at;
    ast_expr *expr, *step;
    ast_stmt *init, *yes, *no;
    vec(ast_stmt *) body;
    vec(ast_decl *) decls;
    int64_t value;
    int16_t unroll; // loops: as ir_inst.unroll
    ast_label *label;
    vec(ast_label *) labels; // S_BLOCK: those that stand in it
    bool has_crossing_jumps; // … and no nesting of blocks and loops does what they say
};

struct scope {
    scope *outer;
    map names; // name pointer -> ast_decl *
    map tags;  // tag pointer -> type *
};

#endif
