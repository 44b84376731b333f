// Tokens, as the preprocessor hands them to the parser: one flat array that ends with TOK_EOF.
#ifndef KILN_TOKEN_H
#define KILN_TOKEN_H

#include "base/source.h"
#include "base/vec.h"

typedef enum token_kind {
    TOK_EOF,
    TOK_IDENT,  // name
    TOK_INT,    // integer, after suffix and range checks
    TOK_FLOAT,  // real
    TOK_CHAR,   // integer (an i32 value)
    TOK_STRING, // bytes; adjacent literals already joined
    TOK_PRAGMA, // a #pragma or _Pragma that concerns the parser: name says which, integer its
                // number
    TOK_OTHER,  // a byte that starts no token (only an error outside skipped code)
#define KEYWORD(name, spelling) TOK_##name,
#define PUNCT(name, spelling)   TOK_##name,
#include "front/token.def"
#undef KEYWORD
#undef PUNCT
    TOK_KIND_COUNT
} token_kind;

enum {                 // token.flags
    TF_LINE_START = 1, // first on its line
    TF_SPACE = 2,      // white space before it
    TF_FROM_MACRO = 4, // from the text of a macro
    TF_NO_EXPAND = 8,  // painted blue
    TF_UNSIGNED = 16,  // integer suffix u
    TF_LONG = 32,      // integer suffix l or ll
    TF_DECIMAL = 64,   // a decimal integer (C's type rules differ for hex)
    TF_F32 = 128,      // float suffix f
};

typedef struct token {
    uint8_t kind; // token_kind
    uint8_t flags;
    uint16_t pad;
    uint32_t match; // for ( [ {: index of the closing token, 0 if there is none (set for the final
                    // array)
    span at;        // where it is spelled; in a macro's text or argument, a place in its expansion
    union {
        const char *name; // TOK_IDENT, keywords, TOK_PRAGMA ("unroll"): interned
        uint64_t integer; // TOK_INT, TOK_CHAR; TOK_PRAGMA keeps its number in `number`
        double real;      // TOK_FLOAT (already rounded to f32 when TF_F32)
        str bytes;        // TOK_STRING, without quotes, escapes resolved
    };
    int32_t number; // TOK_PRAGMA "unroll": -1 fully, n, 0: ( expression ) follows; "conversions": 1
                    // for c, 0 for strict; "packed": 1 until 0
} token;

const char *token_kind_spelling(token_kind kind); // "identifier", "'+='", "'while'"

#endif
