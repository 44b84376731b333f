// The preprocessor's own state, shared by pp.c (input, output, the loop), pp_directive.c (lines
// that start with '#'), pp_macro.c (definitions and expansion), pp_expr.c (#if) and pp_predef.c
// (macros that exist without a text). Tokens come from a stack: expansions on top, then the open
// files.
#ifndef KILN_PP_H
#define KILN_PP_H

#include "base/map.h"
#include "front/lex.h"

enum {
    PP_FILE_BYTES = 16 << 20,
    PP_TOKENS = 2 << 20,   // in the result
    PP_EXPANDED = 2 << 20, // collected or made by macros, in the result or not
    PP_BRACKETS = 512,     // deepest nesting
    PP_INCLUDES = 64,      // deepest nesting
    PP_CONDITIONS = 256,   // deepest nesting of #if
    PP_ARGUMENTS = 200,    // deepest nesting of macro calls inside arguments
    PP_PARENS = 200,       // in an #if expression
    PP_RUN_GAP = 4096,     // bytes between two tokens of an argument that share a shift
    TOK_PLACEMARKER = 255, // an empty argument beside ##
};

typedef enum magic { MAGIC_NONE, MAGIC_FILE, MAGIC_LINE, MAGIC_COUNTER, MAGIC_INCLUDE_LEVEL } magic;
typedef enum pp_word_kind { // names the preprocessor itself knows
    WORD_NONE,
    WORD_DEFINED,
    WORD_HAS_INCLUDE,
    WORD_PRAGMA,
    WORD_VA_ARGS,
    WORD_VA_OPT
} pp_word_kind;

typedef struct macro {
    const char *name;
    span at;              // the name in its #define; zero for a predefined one
    source_macro *source; // NULL: it has no text of its own
    const char **params;
    uint32_t param_count; // with the variadic one
    bool is_function, is_variadic, is_predefined, is_expanding;
    bool is_users; // of a file of the user's, or of -D
    bool has_opt;  // __VA_OPT__ stands in it
    uint8_t magic;
    token *body; // a parameter's token has its index + 1 in `match`
    uint32_t body_len;
} macro;

// Predefined macros exist when one of their headers was included.
enum {
    HDR_ALWAYS = 1,
    HDR_KERNEL = 2, // kiln/kernel.h has all of the others
    HDR_STDINT = 4,
    HDR_STDDEF = 8,
    HDR_STDBOOL = 16,
    HDR_MATH = 32,
    HDR_LIMITS = 64,
    HDR_FLOAT = 128,
    HDR_ASSERT = 256,
    HDR_ALIGN = 512,
    HDR_COMPLEX = 2048,
    HDR_ISO646 = 4096,
    HDR_TARGET = 1024, // text depends on the target: see pp_predef.c
};

typedef struct predef {
    const char *name;
    const char *text; // after the name: "(a) body" or " body"
    unsigned headers;
    uint8_t magic;
} predef;

typedef struct ident { // what is known about a name
    macro *macro;
    const predef *predef; // not yet made into a macro
    uint8_t keyword;      // token_kind, 0: none
    uint8_t word;
} ident;

typedef vec(token) token_list;

typedef struct expansion { // tokens to be read before the file goes on
    struct expansion *outer;
    token_list owned; // goes back to the pool when this is done
    macro *macro;     // may expand again when this is done
    const token *at, *end;
    bool is_fenced; // nothing below is read through it
} expansion;

typedef struct pp_branch {
    span at;       // "#if", "#ifdef" …
    span else_at;  // its #else, if any
    bool is_taken; // some branch was, or none may be
} pp_branch;

typedef struct open_file {
    struct open_file *outer;
    const source_file *file;
    const char *key; // the same for the same file, however it is named; NULL: see pp_main_key
    lexer lex;
    span include_at;
    uint32_t first_condition; // index into pp.conditions
} open_file;

typedef struct pp {
    front *f;
    map idents;            // name → ident *
    const char *last_name; // most names are asked about several times in a row
    ident *last_ident;
    open_file *file;
    uint32_t file_depth;
    expansion *expansion;
    vec(pp_branch) conditions;
    map once;            // keys of files with #pragma once
    map texts;           // key → source_file *
    uint32_t pack;       // #pragma pack: the most alignment of a member; 0: any …
    vec(uint32_t) packs; // … and those that were pushed
    unsigned headers;
    uint32_t counter;
    uint32_t expanded;
    uint32_t argument_depth;
    expansion *spare;     // done ones, to be used again …
    token *pool[32];      // … and their lists by the logarithm of their capacity; the `name` of a
                          // list's first token is the next list
    token_list line;      // of the directive being read
    bool is_own;          // a text of Kiln's own
    bool has_kernel;      // the user includes kiln/kernel.h …
    bool has_plain_words; // … kiln/cuda.h, or says words(c): without the former, `kernel` and
                          // `shared` are names
    bool is_lax;          // #pragma kiln conversions(c)
    bool in_if;           // `defined` has its meaning
    bool is_stopped;      // a limit was hit: everything reads as end of file
    token_list out;
    vec(uint32_t) brackets; // open ones, indices into out
    text joined;            // neighbouring strings, for the last token of out …
    uint32_t joined_index;  // … when out had this length
} pp;

// --- pp.c
void pp_read(pp *p, token *out); // the next unexpanded token; directives are done on the way
void pp_unread(pp *p, const token *t);
void pp_stop(pp *p);
void pp_push(pp *p, macro *m, const token *tokens, uint32_t len, bool is_fenced);
void pp_push_owned(pp *p, macro *m, token_list list);
void pp_pop(pp *p);
void pp_emit_pragma(pp *p, span at, const char *name, int32_t number);
void pp_emit_in_parens(pp *p, const token *list, uint32_t len, span at);
ident *pp_ident(pp *p, const char *name);
// Lists of tokens that live as long as an expansion, used again and again.
token_list pp_list_get(pp *p, uint32_t want);
void pp_list_give(pp *p, token_list list);
void pp_enter_file(pp *p, const source_file *file, const char *key, span include_at);

// --- pp_opt.c: __VA_OPT__
bool pp_opt_check(pp *p, macro *m); // of a definition; false: a diagnostic was given
// The body of one use, after `out`. `has_rest`: tokens stand for the dots.
void pp_opt_choose(pp *p, const macro *m, bool has_rest, token_list *out);

// --- pp_include.c
// Finds and enters a header. `at` is its name in the directive.
void pp_include(pp *p, str name, bool is_quoted, span at);
// The main file's key is found on first need: most files include no other.
const char *pp_main_key(pp *p);
bool pp_has_include(pp *p, str name, bool is_quoted);

// --- pp_directive.c
void pp_directive(pp *p, const token *hash);
void pp_pragma(pp *p, lexer *l, span at);
void pp_check_conditions(pp *p); // at the end of a file

// --- pp_macro.c
// If `name` is a macro that may be expanded here, its expansion is pushed.
bool pp_expand(pp *p, token *name);
// Expands a list on its own; the caller may give the result back.
token_list pp_expand_list(pp *p, const token *tokens, uint32_t len);
void pp_define(pp *p, lexer *l, span directive);
macro *pp_define_text(pp *p, const char *name, const char *body); // as text in predef

// --- pp_expr.c
bool pp_condition(pp *p, lexer *l, span directive);
// Evaluates a list that is already expanded. False: a diagnostic was given.
bool pp_evaluate(pp *p, const token *tokens, uint32_t len, span at, int64_t *value);

// --- pp_predef.c
const predef *pp_predef_find(const char *name, size_t len);
bool pp_predef_is_sorted(void); // for the tests
const char *pp_predef_text(const predef *row, const front_options *options, arena *a);
// The headers Kiln knows without a text; 0: none.
unsigned pp_known_header(str name);
pp_word_kind pp_word(const char *name, size_t len);
token_kind pp_keyword(const char *name, size_t len);

#endif
