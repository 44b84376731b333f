// Tokens of the IR's text form, for read.c.
#ifndef KILN_IR_SCAN_H
#define KILN_IR_SCAN_H

#include "ir/ir.h"

typedef enum scan_kind {
    SCAN_END,
    SCAN_WORD,   // add, ptr.global, fast.exp2, inf
    SCAN_VALUE,  // %x
    SCAN_FUNC,   // @f
    SCAN_SLOT,   // $tile.0
    SCAN_NUMBER, // -12, 0x1f, 1.5e-3, -inf
    SCAN_STRING, // text is unescaped
    SCAN_PUNCT   // ( ) { } , : = and ->, in `punct` as its first character
} scan_kind;

typedef struct scan_token {
    scan_kind kind;
    char punct;
    str text;  // without the mark in front
    size_t at; // offset in the input
} scan_token;

typedef struct scanner {
    arena *in;
    str input;
    size_t at;
    scan_token token; // the current one
    const char *error;
} scanner;

// Records the first mistake (with line:column of `at`) and ends the input.
void scan_fail(scanner *s, size_t at, const char *format, ...) PRINTF_LIKE(3, 4);
void scan_next(scanner *s);

bool scan_is(const scanner *s, char punct);
bool scan_is_word(const scanner *s, const char *word);
bool scan_accept(scanner *s, char punct); // if it is there
bool scan_accept_word(scanner *s, const char *word);
void scan_expect(scanner *s, char punct);
// The integer of the current number token; false (with a mistake recorded) when it is none.
bool scan_int(scanner *s, int64_t *out);
// word(NUMBER): the current token is the word's parenthesis. Values outside lo..hi are mistakes.
int64_t scan_bracketed(scanner *s, int64_t lo, int64_t hi);
// A literal of that type.
bool scan_literal(scanner *s, ir_type type, uint64_t *bits);

#endif
