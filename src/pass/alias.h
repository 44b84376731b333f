// What memory an access touches, and whether two accesses may meet. Shared by licm, vector and the
// remarks.
#ifndef KILN_ALIAS_H
#define KILN_ALIAS_H

#include "ir/ir.h"

typedef enum alias_kind {
    ALIAS_UNKNOWN, // only the space is known
    ALIAS_PARAM,   // based on parameter `index`
    ALIAS_SHARED,  // shared array `index`
    ALIAS_LOCAL,   // local array `index`
    ALIAS_CONSTANT // constant data `index`
} alias_kind;

typedef struct alias_base {
    alias_kind kind;
    ir_type space;
    uint32_t index;
    bool is_offset_known; // offset is the distance from the start of the base
    int64_t offset;
} alias_base;

alias_base alias_base_of(const ir_func *f, ir_ref pointer);
// May the two bases be in one object? (Offsets are the caller's business.)
bool alias_may_meet(const ir_func *f, const alias_base *a, const alias_base *b);
// Never written while the kernel runs: constant data, parameters, const restrict parameters.
bool alias_is_readonly(const ir_func *f, const alias_base *b);
// Does the instruction (not what is nested in it) change memory that `b` may be in? Barriers,
// fences, atomics, volatile loads and calls change all but local and read-only memory.
bool alias_may_write(const ir_func *f, const ir_inst *i, const alias_base *b);

#endif
