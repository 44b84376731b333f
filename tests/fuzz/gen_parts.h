// What gen.c (expressions), gen_stmt.c (statements, whole programs) and gen_jump.c (jumps) share.
#ifndef KILN_FUZZ_GEN_PARTS_H
#define KILN_FUZZ_GEN_PARTS_H

#include "fuzz/gen.h"

#include <stdbool.h>

typedef enum gen_type {
    GT_I8,
    GT_U8,
    GT_I16,
    GT_U16,
    GT_I32,
    GT_U32,
    GT_I64,
    GT_U64,
    GT_F32,
    GT_F64,
    GT_BOOL,
    GT_COUNT
} gen_type;

enum { GEN_MAX_VARS = 64, GEN_MAX_HELPERS = 4, GEN_MAX_PARAMS = 4, GEN_MAX_LABELS = 12 };

typedef struct gen_var {
    char text[40]; // how it is written: a name, a member, "*p"
    gen_type type;
    uint32_t length;  // an array's elements, a power of two; 0: not an array
    bool is_constant; // may be read only
    bool is_local;    // its address may be taken
} gen_var;

typedef struct gen_helper {
    gen_type result, params[GEN_MAX_PARAMS];
    uint32_t param_count;
} gen_helper;

typedef struct gen_label { // l<name>, which may be jumped to
    uint32_t name;
    uint32_t fuel;    // v<fuel> counts the jumps there, which may lead back; 0: they lead forward
    uint32_t result;  // v<result> is set before; 0: nothing is
    uint32_t visible; // variables that may be read behind it, where `result`
} gen_label;

typedef struct gen {
    FILE *out;
    uint64_t random;
    uint32_t number;            // of the program
    gen_var vars[GEN_MAX_VARS]; // visible now
    uint32_t var_count;
    gen_helper helpers[GEN_MAX_HELPERS];
    uint32_t helper_count;
    uint32_t next_name;               // for fresh names
    uint32_t budget;                  // statements left
    uint32_t block;                   // threads of the block
    gen_label labels[GEN_MAX_LABELS]; // of the blocks around
    uint32_t label_count;
    gen_type result; // of the function that is written, where may_return
    int indent;
    bool in_kernel, may_return;
    bool is_alone; // nothing goes from thread to thread
} gen;

// Labels of a switch over a value of the type: around 0, and at the type's ends.
enum { GEN_LABEL_SETS = 5, GEN_LABELS = 6 };
typedef struct gen_label_set {
    gen_type type;
    const char *text[GEN_LABELS];
} gen_label_set;
extern const gen_label_set gen_labels[GEN_LABEL_SETS];

uint32_t gen_below(gen *g, uint32_t n);
bool gen_chance(gen *g, uint32_t percent);
void gen_write(gen *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *gen_type_name(gen_type t);
gen_type gen_any_type(gen *g);
gen_type gen_int_type(gen *g);
// An expression of exactly this type.
void gen_expr(gen *g, gen_type t, int depth);
void gen_condition(gen *g, int depth);
void gen_as(gen *g, gen_type to, gen_type from, const char *text); // a name, converted
void gen_index(gen *g, uint32_t length, int depth);
// gen_stmt.c: the beginning of a line; a fresh variable; a statement that any thread may run by
// itself.
void gen_line(gen *g);
gen_var *gen_declare(gen *g, gen_type t, uint32_t length);
void gen_divergent(gen *g, int depth, bool in_loop);
// gen_jump.c: a loop that is left from inside, a goto, or a block with labels; the end that all
// ways of a function may lead to.
void gen_jump(gen *g, int depth, bool in_loop);
void gen_open_tail(gen *g, gen_type result);
void gen_close_tail(gen *g);
void gen_last_return(gen *g); // closes the function, too

#endif
