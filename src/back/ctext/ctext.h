// The printer of C-like text: what all its dialects share. text.c prints lines, names, literals and
// types, expr.c operations without effects on single values. A dialect is a table of words (types,
// suffixes) and a model of execution that prints the rest:
//   lanes (back/cpu): a function runs a warp, values are vectors of 32 lanes, control is masks;
//   threads (threads.h): a function is one thread, as a GPU's compiler wants it.
// A dialect of the second kind is one file with its words and its kernel's signature, and a prelude
// that defines what expressions call; opencl.c is the model to follow.
#ifndef KILN_BACK_CTEXT_H
#define KILN_BACK_CTEXT_H

#include "back/back.h"
#include "ir/layout.h"

typedef struct ctext ctext;

typedef struct ctext_words {
    const char *byte, *half, *word, *wide_word; // unsigned integers: "uint8_t" … "uint64_t"
    const char *wide;                           // behind a literal of 64 bits: "ull"
    // How a value that is held once is named; NULL: v and its number.
    const char *(*scalar)(ctext *t, ir_ref r);
} ctext_words;

struct ctext { // the first member of every model's state
    const ctext_words *words;
    const ir_func *f;
    const ir_module *m;
    arena *a;
    text *out;
    ir_layout locals, shared;
    uint64_t local_bytes; // a thread's frame: its local arrays, and what else lies there
    uint32_t *sites;      // per instruction: site number + 1 (channel.h)
    const uint8_t *folds; // folds.h; NULL: the text never ends in NVIDIA's assembler
    int depth;            // of the line
};

// --- text.c
void ctext_put(ctext *t, const char *format, ...) PRINTF_LIKE(2, 3); // a line
bool ctext_is_wide(ir_type type);                                    // 64 bits
const char *ctext_name(ctext *t, ir_ref r);
const char *ctext_type(const ctext *t, ir_type type); // of a value held once
const char *ctext_literal(ctext *t, ir_type type, uint64_t bits);
const char *ctext_scalar(ctext *t, ir_ref r); // a value held once, or a literal
const char *ctext_bits(ctext *t, ir_ref r);   // the same as an unsigned integer
const char *ctext_op(ctext *t, ir_op op);     // the operation's name as a C name
extern const char *const ctext_atomics[];     // by ir_atomic
bool ctext_is_memory(uint16_t op);            // loads, stores, atomics
// Data arrays: the bytes between braces, 32 in a line.
void ctext_put_bytes(text *out, const ir_data *d);
// --- expr.c: a pure operation on values held once
const char *ctext_pure(ctext *t, const ir_inst *i);
const char *ctext_bitcast(ctext *t, ir_type to, ir_type from, const char *x);
// --- safe.c: the same where an assembler would fold it wrongly, or NULL
const char *ctext_safe(ctext *t, const ir_inst *i);
uint32_t ctext_low_mask(ir_type type); // of the bits of a narrow integer

#endif
