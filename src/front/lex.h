// The lexer: bytes of one text to preprocessing tokens. A preprocessing token is a `token` whose
// meaning is not settled yet: TOK_INT is any number, TOK_INT, TOK_CHAR, TOK_STRING and TOK_OTHER
// carry their spelling in `bytes` (line splices removed), names are TOK_IDENT (keywords too).
#ifndef KILN_LEX_H
#define KILN_LEX_H

#include "front/front.h"

typedef struct lexer {
    front *f;
    const char *start, *at, *end; // *end is a NUL byte
    uint32_t base;                // global position of *start; 0: tokens get no place
    bool at_line_start;
    bool is_in_comment; // the text ended in one (reported)
    bool is_quiet;      // no diagnostics: a text that is only tried (see pp_macro.c)
} lexer;

lexer lex_open(front *f, const source_file *file);
// A text without positions (predefined macros, pasted tokens). NUL-terminated.
lexer lex_open_text(front *f, const char *bytes, size_t len);

void lex_next(lexer *l, token *out); // TOK_EOF at the end, again and again
// The next token of this line; false at its end (the newline stays unread).
bool lex_next_in_line(lexer *l, token *out);
// The rest of the line as it stands, without comments at its ends; the newline stays unread.
str lex_rest_of_line(lexer *l, span *at);
// Reads <name> or "name" after #include. False when neither stands there.
bool lex_header_name(lexer *l, str *name, bool *is_quoted, span *at);
// Skips whole lines until one whose first token is '#'; that token is read. False at the end.
bool lex_skip_to_hash(lexer *l, token *hash);

str lex_spelling(const token *t);
bool lex_is_ident_byte(char c);

// --- lex_number.c: settle the meaning of a preprocessing token, with diagnostics.
void lex_settle_number(front *f, token *t); // TOK_INT → TOK_INT or TOK_FLOAT
void lex_settle_char(front *f, token *t);
void lex_settle_string(front *f, token *t);

#endif
