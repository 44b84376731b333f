// Bytes to preprocessing tokens. Line splices are removed here and nowhere else; names are
// interned; everything that needs more than one token is the preprocessor's. Start reading at
// lex_next.
#include "front/lex.h"

#include "base/utf8.h"

enum { IDENT_START = 1, IDENT = 2, DIGIT = 4, BLANK = 8 };

// clang-format off
#define I (IDENT_START | IDENT)
#define N (IDENT | DIGIT)
static const uint8_t byte_class[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\v'] = BLANK, ['\f'] = BLANK, ['\r'] = BLANK,
    ['0'] = N, ['1'] = N, ['2'] = N, ['3'] = N, ['4'] = N, ['5'] = N, ['6'] = N, ['7'] = N, ['8'] = N, ['9'] = N,
    ['a'] = I, ['b'] = I, ['c'] = I, ['d'] = I, ['e'] = I, ['f'] = I, ['g'] = I, ['h'] = I, ['i'] = I, ['j'] = I,
    ['k'] = I, ['l'] = I, ['m'] = I, ['n'] = I, ['o'] = I, ['p'] = I, ['q'] = I, ['r'] = I, ['s'] = I, ['t'] = I,
    ['u'] = I, ['v'] = I, ['w'] = I, ['x'] = I, ['y'] = I, ['z'] = I, ['_'] = I,
    ['A'] = I, ['B'] = I, ['C'] = I, ['D'] = I, ['E'] = I, ['F'] = I, ['G'] = I, ['H'] = I, ['I'] = I, ['J'] = I,
    ['K'] = I, ['L'] = I, ['M'] = I, ['N'] = I, ['O'] = I, ['P'] = I, ['Q'] = I, ['R'] = I, ['S'] = I, ['T'] = I,
    ['U'] = I, ['V'] = I, ['W'] = I, ['X'] = I, ['Y'] = I, ['Z'] = I,
};
#undef I
#undef N

// Characters that look like one of C's but are not. Letters (is_letter) may stand in a name.
typedef struct lookalike { uint32_t code; const char *ascii; bool is_letter; } lookalike;
static const lookalike lookalikes[] = {
    {0x00a0, " ", 0},  {0x00ab, "\"", 0}, {0x00b4, "'", 0},  {0x00b7, "*", 0},  {0x00bb, "\"", 0}, {0x00d7, "*", 0},
    {0x00f7, "/", 0},  {0x02c6, "^", 0},  {0x02dc, "~", 0},  {0x037e, ";", 0},
    {0x0391, "A", 1},  {0x0392, "B", 1},  {0x0395, "E", 1},  {0x039f, "O", 1},  {0x03a1, "P", 1},  {0x03bf, "o", 1},
    {0x0410, "A", 1},  {0x0412, "B", 1},  {0x0415, "E", 1},  {0x041a, "K", 1},  {0x041c, "M", 1},  {0x041d, "H", 1},
    {0x041e, "O", 1},  {0x0420, "P", 1},  {0x0421, "C", 1},  {0x0422, "T", 1},  {0x0425, "X", 1},
    {0x0430, "a", 1},  {0x0435, "e", 1},  {0x043e, "o", 1},  {0x0440, "p", 1},  {0x0441, "c", 1},  {0x0443, "y", 1},
    {0x0445, "x", 1},  {0x0456, "i", 1},  {0x0458, "j", 1},
    {0x2002, " ", 0},  {0x2003, " ", 0},  {0x2009, " ", 0},  {0x200b, "", 0},   {0x2010, "-", 0},  {0x2011, "-", 0},
    {0x2012, "-", 0},  {0x2013, "-", 0},  {0x2014, "-", 0},  {0x2018, "'", 0},  {0x2019, "'", 0},  {0x201b, "'", 0},
    {0x201c, "\"", 0}, {0x201d, "\"", 0}, {0x201e, "\"", 0}, {0x201f, "\"", 0}, {0x2026, "...", 0}, {0x202f, " ", 0},
    {0x2032, "'", 0},  {0x2033, "\"", 0}, {0x2044, "/", 0},  {0x2060, "", 0},   {0x2192, "->", 0}, {0x2212, "-", 0},
    {0x2215, "/", 0},  {0x2217, "*", 0},  {0x2260, "!=", 0}, {0x2264, "<=", 0}, {0x2265, ">=", 0}, {0x3000, " ", 0},
    {0xfeff, "", 0},   {0xff01, "!", 0},  {0xff02, "\"", 0}, {0xff05, "%", 0},  {0xff06, "&", 0},  {0xff07, "'", 0},
    {0xff08, "(", 0},  {0xff09, ")", 0},  {0xff0a, "*", 0},  {0xff0b, "+", 0},  {0xff0c, ",", 0},  {0xff0d, "-", 0},
    {0xff0e, ".", 0},  {0xff0f, "/", 0},  {0xff1a, ":", 0},  {0xff1b, ";", 0},  {0xff1c, "<", 0},  {0xff1d, "=", 0},
    {0xff1e, ">", 0},  {0xff1f, "?", 0},  {0xff3b, "[", 0},  {0xff3d, "]", 0},  {0xff3e, "^", 0},  {0xff5b, "{", 0},
    {0xff5c, "|", 0},  {0xff5d, "}", 0},  {0xff5e, "~", 0},
};

static const char *const spellings[TOK_KIND_COUNT] = {
#define KEYWORD(name, spelling) [TOK_##name] = spelling,
#define PUNCT(name, spelling)   [TOK_##name] = spelling,
#include "front/token.def"
#undef KEYWORD
#undef PUNCT
};

static const char *const quoted[TOK_KIND_COUNT] = {
    [TOK_EOF] = "end of file",     [TOK_IDENT] = "identifier",   [TOK_INT] = "integer",
    [TOK_FLOAT] = "number",        [TOK_CHAR] = "character",     [TOK_STRING] = "string",
    [TOK_PRAGMA] = "#pragma",      [TOK_OTHER] = "stray character",
#define KEYWORD(name, spelling) [TOK_##name] = "'" spelling "'",
#define PUNCT(name, spelling)   [TOK_##name] = "'" spelling "'",
#include "front/token.def"
#undef KEYWORD
#undef PUNCT
};
// clang-format on

const char *token_kind_spelling(token_kind kind)
{
    return (unsigned)kind < TOK_KIND_COUNT ? quoted[kind] : "token";
}

bool lex_is_ident_byte(char c)
{
    return byte_class[(unsigned char)c] & IDENT;
}

// The other spelling of a token, which it keeps; NULL: there is none.
static const char *digraph_of(token_kind k)
{
    switch (k) {
    case TOK_HASH: return "%:";
    case TOK_HASHHASH: return "%:%:";
    case TOK_LBRACKET: return "<:";
    case TOK_RBRACKET: return ":>";
    case TOK_LBRACE: return "<%";
    case TOK_RBRACE: return "%>";
    default: return NULL;
    }
}

str lex_spelling(const token *t)
{
    switch (t->kind) {
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_CHAR:
    case TOK_STRING:
    case TOK_OTHER: return t->bytes;
    case TOK_IDENT: return (str){t->name, name_len(t->name)};
    default:
        if (t->bytes.len && digraph_of((token_kind)t->kind))
            return t->bytes;
        return str_of(t->kind < TOK_KIND_COUNT && spellings[t->kind] ? spellings[t->kind] : "");
    }
}

lexer lex_open(front *f, const source_file *file)
{
    lexer l = {.f = f,
               .start = file->text.at,
               .at = file->text.at,
               .end = file->text.at + file->text.len,
               .base = file->base,
               .at_line_start = true};
    if (str_starts(file->text, "\xef\xbb\xbf"))
        l.at += 3;
    return l;
}

lexer lex_open_text(front *f, const char *bytes, size_t len)
{
    return (lexer){.f = f, .start = bytes, .at = bytes, .end = bytes + len, .at_line_start = true};
}

static span span_between(const lexer *l, const char *from, const char *to)
{
    if (!l->base)
        return (span){0, 0};
    return (span){l->base + (uint32_t)(from - l->start), l->base + (uint32_t)(to - l->start)};
}

// The byte after a backslash-newline at p, or NULL. Blanks before the newline are forgiven.
static const char *after_splice(const lexer *l, const char *p)
{
    if (*p != '\\')
        return NULL;
    p++;
    while (p < l->end && byte_class[(unsigned char)*p] & BLANK)
        p++;
    return p < l->end && *p == '\n' ? p + 1 : NULL;
}

// The first byte at or after p that is not in a splice.
static inline const char *logical(const lexer *l, const char *p)
{
    while (*p == '\\') {
        const char *after = after_splice(l, p);
        if (!after)
            break;
        p = after;
    }
    return p;
}

// Bytes from..to without splices; a copy only when there are some.
static str without_splices(const lexer *l, const char *from, const char *to)
{
    if (!memchr(from, '\\', (size_t)(to - from)))
        return (str){from, (size_t)(to - from)};
    char *copy = arena_alloc(l->f->in, (size_t)(to - from) + 1);
    size_t len = 0;
    for (const char *p = logical(l, from); p < to; p = logical(l, p + 1))
        copy[len++] = *p;
    return (str){copy, len};
}

static const char *skip_line_comment(const lexer *l, const char *p)
{
    while (p < l->end) {
        const char *newline = memchr(p, '\n', (size_t)(l->end - p));
        if (!newline)
            return l->end;
        const char *before = newline;
        while (before > p && byte_class[(unsigned char)before[-1]] & BLANK)
            before--;
        if (before == p || before[-1] != '\\')
            return newline;
        p = newline + 1;
    }
    return p;
}

static const char *skip_block_comment(lexer *l, const char *open, const char *p)
{
    while (p < l->end) {
        const char *star = memchr(p, '*', (size_t)(l->end - p));
        if (!star)
            break;
        const char *next = logical(l, star + 1);
        if (*next == '/' && next < l->end)
            return next + 1;
        p = star + 1;
    }
    l->is_in_comment = true;
    if (!l->is_quiet) {
        diag *d = diag_raise(l->f->diags, K0001, span_between(l, open, open + 2),
                             "this comment is never closed");
        diag_label(d, span_between(l, open, open + 2), "everything from here on is a comment");
        const char *line_end = memchr(open, '\n', (size_t)(l->end - open));
        if (!line_end)
            line_end = l->end;
        while (line_end > open + 2 && byte_class[(unsigned char)line_end[-1]] & BLANK)
            line_end--;
        diag_fix(d, span_between(l, line_end, line_end), "close the comment", " */");
        diag_note(d, "comments do not nest: the first '*/' ends a comment, whatever it holds");
    }
    return l->end;
}

// Skips blanks, comments and (unless in_line) newlines. Gives the flags of the token that follows.
static uint8_t skip_blank(lexer *l, bool in_line)
{
    const char *p = l->at;
    uint8_t flags = 0;
    for (;;) {
        unsigned char c = (unsigned char)*p;
        if (byte_class[c] & BLANK) {
            p++;
            flags |= TF_SPACE;
        } else if (c == '\n') {
            if (in_line)
                break;
            p++;
            l->at_line_start = true;
        } else if (c == '/') {
            const char *next = logical(l, p + 1);
            if (*next == '/')
                p = skip_line_comment(l, next + 1);
            else if (*next == '*')
                p = skip_block_comment(l, p, next + 1);
            else
                break;
            flags |= TF_SPACE;
        } else if (c == '\\') {
            const char *after = after_splice(l, p);
            if (!after)
                break;
            p = after;
        } else {
            break;
        }
    }
    l->at = p;
    return flags;
}

static const lookalike *find_lookalike(uint32_t code)
{
    for (size_t i = 0; i < COUNT(lookalikes); i++)
        if (lookalikes[i].code == code)
            return &lookalikes[i];
    return NULL;
}

// Letters of any script: what is not known to be punctuation, a blank or a broken byte.
static bool is_foreign_letter(const char *at, const char *end)
{
    unsigned len;
    uint32_t code = utf8_read(at, (size_t)(end - at), &len);
    const lookalike *same = find_lookalike(code);
    if (same)
        return same->is_letter;
    return code >= 0xc0 && code != 0xfffd && !(code >= 0x2000 && code < 0x2c00) &&
           !(code >= 0x3000 && code < 0x3040) && !(code >= 0xfe00 && code < 0xff10);
}

static void complain_about_name(const lexer *l, const char *from, const char *to)
{
    if (l->is_quiet)
        return;
    span at = span_between(l, from, to);
    int len = (int)(to - from);
    diag *d = diag_raise(l->f->diags, K0005, at, "'%.*s' holds a letter that names cannot have",
                         len < 80 ? len : 80, from);
    char ascii[80];
    size_t used = 0;
    const char *p = from;
    unsigned step;
    for (; p < to && used < sizeof ascii - 1; p += step) {
        uint32_t code = utf8_read(p, (size_t)(to - p), &step);
        const lookalike *same = step > 1 ? find_lookalike(code) : NULL;
        if (step == 1)
            ascii[used++] = *p;
        else if (same && same->is_letter)
            ascii[used++] = same->ascii[0];
        else
            break;
    }
    if (p == to) {
        diag_label(d, at, "looks like '%.*s', but is not", (int)used, ascii);
        diag_fix(d, at, "use the plain letters", "%.*s", (int)used, ascii);
    } else {
        diag_label(d, at, "names are made of a-z, A-Z, 0-9 and _");
    }
}

static void lex_name(lexer *l, token *out)
{
    const char *from = l->at, *p = from;
    while (byte_class[(unsigned char)*p] & IDENT)
        p++;
    if (*p != '\\' && !(*p & 0x80)) {
        l->at = p;
        out->kind = TOK_IDENT;
        out->name = name_of(l->f->names, from, (size_t)(p - from));
        return;
    }
    bool is_foreign = false;
    for (;;) {
        const char *next = logical(l, p);
        if (byte_class[(unsigned char)*next] & IDENT) {
            p = next + 1;
        } else if (*next & 0x80 && next < l->end && is_foreign_letter(next, l->end)) {
            unsigned len;
            utf8_read(next, (size_t)(l->end - next), &len);
            p = next + len;
            is_foreign = true;
        } else {
            break;
        }
    }
    if (is_foreign)
        complain_about_name(l, from, p);
    str name = without_splices(l, from, p);
    l->at = p;
    out->kind = TOK_IDENT;
    out->name = name_of(l->f->names, name.at, name.len);
}

// 1'000: not C, but clear.
static void lex_separated(lexer *l, const char *from, token *out)
{
    const char *p = from;
    text plain = {.in = l->f->in};
    for (; byte_class[(unsigned char)*p] & IDENT || *p == '\'' || *p == '.'; p++)
        if (*p != '\'')
            text_putc(&plain, *p);
    out->bytes = (str){plain.at, plain.len};
    l->at = p;
    if (l->is_quiet)
        return;
    span at = span_between(l, from, p);
    diag *d = diag_raise(l->f->diags, K0006, at, "C has no marks between the digits of a number");
    diag_label(d, at, "the quote starts a character constant");
    diag_fix(d, at, "write the digits together", "%s", plain.at);
}

static void lex_number(lexer *l, token *out)
{
    const char *from = l->at, *p = from;
    bool is_spliced = false;
    out->kind = TOK_INT;
    for (;;) {
        char c = *p;
        if (c == '\\' && logical(l, p) != p) {
            p = logical(l, p);
            is_spliced = true;
            continue;
        }
        if (c == '\'' && byte_class[(unsigned char)p[1]] & DIGIT && p > from && !is_spliced) {
            lex_separated(l, from, out);
            return;
        }
        if (!(byte_class[(unsigned char)c] & IDENT) && c != '.')
            break;
        p++;
        if (c == 'e' || c == 'E' || c == 'p' || c == 'P') {
            const char *sign = logical(l, p);
            if (*sign == '+' || *sign == '-')
                p = sign + 1;
        }
    }
    out->bytes = is_spliced ? without_splices(l, from, p) : (str){from, (size_t)(p - from)};
    l->at = p;
}

// Gives where to go on: before what looks like the rest of the statement.
static const char *complain_unterminated(const lexer *l, char quote, const char *from,
                                         const char *to)
{
    bool is_string = quote == '"';
    const char *open = memchr(from, quote, (size_t)(to - from)), *close = to;
    bool has_place = is_string;
    if (is_string) {
        while (close > open + 1 && (close[-1] == ';' || close[-1] == ')' || close[-1] == ','))
            close--;
    } else if (to - open > 2 && open[1] != '\\' && !(byte_class[(unsigned char)open[2]] & IDENT)) {
        close = open + 2;
        has_place = true;
    }
    if (l->is_quiet)
        return close;
    span at = span_between(l, from, close);
    diag *d =
        diag_raise(l->f->diags, is_string ? K0002 : K0003, at, "this %s is not closed on its line",
                   is_string ? "string" : "character constant");
    diag_label(d, at, "no closing %s before the end of the line", is_string ? "'\"'" : "\"'\"");
    if (has_place)
        diag_fix(d, span_between(l, close, close),
                 is_string ? "close the string" : "close the constant", "%c", quote);
    return close;
}

// A string or character constant; `from` is the start of its prefix, l->at its opening quote.
static void lex_quoted(lexer *l, const char *from, token *out)
{
    char quote = *l->at;
    const char *p = l->at + 1;
    bool is_closed = false,
         is_spliced = l->at != from && memchr(from, '\\', (size_t)(l->at - from));
    while (p < l->end && *p != '\n') {
        if (*p == '\\') {
            const char *after = after_splice(l, p);
            is_spliced |= after != NULL;
            p = after ? after : logical(l, p + 1) < l->end ? logical(l, p + 1) + 1 : l->end;
            if (!after && p[-1] == '\n')
                p--;
        } else if (*p++ == quote) {
            is_closed = true;
            break;
        }
    }
    out->kind = quote == '"' ? TOK_STRING : TOK_CHAR;
    l->at = p;
    out->bytes = is_spliced ? without_splices(l, from, p) : (str){from, (size_t)(p - from)};
    if (is_closed)
        return;
    while (p > from + 1 && byte_class[(unsigned char)p[-1]] & BLANK)
        p--;
    l->at = complain_unterminated(l, quote, from, p);
    // Stands for an empty one, so that nothing else is said about it.
    out->bytes = quote == '"' ? STR("\"\"") : STR("'0'");
}

// “text” or ‘c’ copied from a document: one message for the pair, and the text is taken as meant.
static bool lex_smart_quotes(lexer *l, const lookalike *open, token *out)
{
    if (open->ascii[0] != '"' && open->ascii[0] != '\'')
        return false;
    unsigned open_len, len;
    utf8_read(l->at, (size_t)(l->end - l->at), &open_len);
    const char *inside = l->at + open_len;
    for (const char *p = inside; p < l->end && *p != '\n'; p += len) {
        uint32_t code = utf8_read(p, (size_t)(l->end - p), &len);
        const lookalike *same = len > 1 ? find_lookalike(code) : NULL;
        if (code != (unsigned char)open->ascii[0] && (!same || same->ascii[0] != open->ascii[0]))
            continue;
        char quote = open->ascii[0];
        out->kind = quote == '"' ? TOK_STRING : TOK_CHAR;
        out->bytes =
            str_of(str_format(l->f->in, "%c%.*s%c", quote, (int)(p - inside), inside, quote));
        if (!l->is_quiet) {
            diag *d = diag_raise(l->f->diags, K0004, span_between(l, l->at, inside),
                                 "these quotation marks are not the ones C knows");
            diag_label(d, span_between(l, l->at, inside), "a typographic quotation mark");
            diag_fix(d, span_between(l, l->at, inside), "use plain quotes", "%c", quote);
            diag_fix_more(d, span_between(l, p, p + len), "%c", quote);
        }
        l->at = p + len;
        return true;
    }
    return false;
}

// A byte that starts no token of C. Look-alikes are reported and taken as what they look like.
// False: nothing was made, go on lexing.
static bool lex_foreign(lexer *l, token *out)
{
    unsigned len = 1;
    const char *from = l->at;
    uint32_t code = utf8_read(from, (size_t)(l->end - from), &len);
    const lookalike *same = len > 1 ? find_lookalike(code) : NULL;
    if (len > 1 && is_foreign_letter(from, l->end)) {
        lex_name(l, out);
        return true;
    }
    if (same && lex_smart_quotes(l, same, out))
        return true;
    l->at += len;
    if (!same || same->ascii[0] == '"' || same->ascii[0] == '\'') {
        out->kind = TOK_OTHER;
        out->bytes = (str){from, len};
        return true;
    }
    if (!l->is_quiet) {
        span at = span_between(l, from, l->at);
        bool is_blank = !same->ascii[0] || same->ascii[0] == ' ';
        diag *d = is_blank
                      ? diag_raise(l->f->diags, K0004, at,
                                   "an invisible character (U+%04X) stands here", (unsigned)code)
                      : diag_raise(l->f->diags, K0004, at, "'%.*s' (U+%04X) is not C's '%s'",
                                   (int)len, from, (unsigned)code, same->ascii);
        diag_label(d, at, is_blank ? "not a plain blank" : "only looks like '%s'", same->ascii);
        diag_fix(d, at, is_blank ? "use a plain blank" : "use the plain character", "%s",
                 same->ascii);
    }
    if (!same->ascii[0] || same->ascii[0] == ' ')
        return false;
    lexer plain = lex_open_text(l->f, same->ascii, strlen(same->ascii));
    lex_next(&plain, out);
    return true;
}

// Is what starts at l->at a string or character with a prefix (u8, L, u, U)? Then its quote.
static const char *prefixed_quote(const lexer *l)
{
    const char *p = l->at;
    if (*p == 'L' || *p == 'U')
        p++;
    else if (*p == 'u')
        p += p[1] == '8' ? 2 : 1;
    else
        return NULL;
    return *p == '"' || *p == '\'' ? p : NULL;
}

// Behind '%:', which is '#': another one makes it '##'.
static token_kind lex_digraph_hash(lexer *l, const char *behind)
{
    const char *third = logical(l, behind), *fourth = *third == '%' ? logical(l, third + 1) : third;
    if (*third == '%' && *fourth == ':') {
        l->at = fourth + 1;
        return TOK_HASHHASH;
    }
    l->at = behind;
    return TOK_HASH;
}

static token_kind lex_punct(lexer *l)
{
    const char *p = l->at;
    char c = *p;
    const char *second = logical(l, p + 1);
    char d = second < l->end ? *second : 0;
#define LONGER(kind)  (l->at = second + 1, TOK_##kind)
#define THIRD(byte)   (*logical(l, second + 1) == (byte))
#define LONGEST(kind) (l->at = logical(l, second + 1) + 1, TOK_##kind)
    l->at = p + 1;
    switch (c) {
    case '(': return TOK_LPAREN;
    case ')': return TOK_RPAREN;
    case '[': return TOK_LBRACKET;
    case ']': return TOK_RBRACKET;
    case '{': return TOK_LBRACE;
    case '}': return TOK_RBRACE;
    case '~': return TOK_TILDE;
    case '?': return TOK_QUESTION;
    case ';': return TOK_SEMI;
    case ',': return TOK_COMMA;
    case '.': return d == '.' && THIRD('.') ? LONGEST(ELLIPSIS) : TOK_DOT;
    case '-':
        return d == '>'   ? LONGER(ARROW)
               : d == '-' ? LONGER(DEC)
               : d == '=' ? LONGER(MINUS_EQ)
                          : TOK_MINUS;
    case '+': return d == '+' ? LONGER(INC) : d == '=' ? LONGER(PLUS_EQ) : TOK_PLUS;
    case '&': return d == '&' ? LONGER(ANDAND) : d == '=' ? LONGER(AMP_EQ) : TOK_AMP;
    case '|': return d == '|' ? LONGER(OROR) : d == '=' ? LONGER(PIPE_EQ) : TOK_PIPE;
    case '*': return d == '=' ? LONGER(STAR_EQ) : TOK_STAR;
    case '/': return d == '=' ? LONGER(SLASH_EQ) : TOK_SLASH;
    case '%':
        if (d == ':')
            return lex_digraph_hash(l, second + 1);
        return d == '=' ? LONGER(PERCENT_EQ) : d == '>' ? LONGER(RBRACE) : TOK_PERCENT;
    case '!': return d == '=' ? LONGER(NE) : TOK_NOT;
    case '=': return d == '=' ? LONGER(EQ) : TOK_ASSIGN;
    case '^': return d == '=' ? LONGER(CARET_EQ) : TOK_CARET;
    case ':': return d == '>' ? LONGER(RBRACKET) : TOK_COLON;
    case '#': return d == '#' ? LONGER(HASHHASH) : TOK_HASH;
    case '<':
        if (d == '<')
            return THIRD('=') ? LONGEST(SHL_EQ) : LONGER(SHL);
        return d == '='   ? LONGER(LE)
               : d == ':' ? LONGER(LBRACKET)
               : d == '%' ? LONGER(LBRACE)
                          : TOK_LT;
    case '>':
        if (d == '>')
            return THIRD('=') ? LONGEST(SHR_EQ) : LONGER(SHR);
        return d == '=' ? LONGER(GE) : TOK_GT;
    default: l->at = p; return TOK_OTHER;
    }
#undef LONGER
#undef THIRD
#undef LONGEST
}

// Reads the token at l->at, which is neither blank nor newline nor the end.
static bool lex_here(lexer *l, token *out)
{
    const char *from = l->at;
    unsigned char c = (unsigned char)*from;
    const char *quote;
    if (byte_class[c] & IDENT_START) {
        if ((c == 'u' || c == 'U' || c == 'L') && (quote = prefixed_quote(l))) {
            l->at = quote;
            lex_quoted(l, from, out);
        } else {
            lex_name(l, out);
        }
    } else if (byte_class[c] & DIGIT ||
               (c == '.' && byte_class[(unsigned char)*logical(l, from + 1)] & DIGIT)) {
        lex_number(l, out);
    } else if (c == '"' || c == '\'') {
        lex_quoted(l, from, out);
    } else {
        out->kind = (uint8_t)lex_punct(l);
        const char *digraph = digraph_of((token_kind)out->kind);
        if (digraph && (c == '%' || c == '<' || c == ':'))
            out->bytes = str_of(digraph); // and not what stands there: lines may go on within it
        if (out->kind == TOK_OTHER && !lex_foreign(l, out))
            return false;
    }
    return true;
}

static bool lex_one(lexer *l, bool in_line, token *out)
{
    uint8_t flags = 0;
    *out = (token){0};
    for (;;) {
        flags |= skip_blank(l, in_line);
        const char *from = l->at;
        if (from >= l->end || (in_line && *from == '\n')) {
            l->at = from < l->end ? from : l->end;
            out->kind = TOK_EOF;
            out->flags = TF_LINE_START;
            out->at = span_between(l, l->at, l->at);
            return false;
        }
        bool made = lex_here(l, out);
        if (l->at_line_start)
            flags |= TF_LINE_START;
        l->at_line_start = false;
        if (!made) {
            flags |= TF_SPACE;
            continue;
        }
        out->flags = flags;
        out->at = span_between(l, from, l->at);
        return true;
    }
}

str lex_rest_of_line(lexer *l, span *at)
{
    skip_blank(l, true);
    const char *from = l->at, *p = from;
    while (p < l->end && *p != '\n') {
        const char *after = after_splice(l, p);
        if (!after && *p == '/' && (p[1] == '/' || p[1] == '*'))
            break;
        p = after ? after : p + 1;
    }
    l->at = p;
    skip_blank(l, true);
    while (l->at < l->end && *l->at != '\n')
        l->at++;
    while (p > from && byte_class[(unsigned char)p[-1]] & BLANK)
        p--;
    *at = span_between(l, from, p);
    return without_splices(l, from, p);
}

bool lex_header_name(lexer *l, str *name, bool *is_quoted, span *at)
{
    skip_blank(l, true);
    const char *from = l->at;
    char close = *from == '<' ? '>' : '"';
    if (*from != '<' && *from != '"')
        return false;
    const char *p = from + 1;
    while (p < l->end && *p != '\n' && *p != close)
        p++;
    if (p >= l->end || *p != close)
        return false;
    *name = (str){from + 1, (size_t)(p - from) - 1};
    *is_quoted = close == '"';
    l->at = p + 1;
    *at = span_between(l, from, l->at);
    return true;
}

// Behind the constant that starts at p; behind its quote when it does not end on its line.
static const char *after_quoted(const lexer *l, const char *p)
{
    const char *q = p + 1;
    while (q < l->end && *q != '\n' && *q != *p)
        q += *q == '\\' && q + 1 < l->end && q[1] != '\n' ? 2 : 1;
    return q < l->end && *q == *p ? q + 1 : p + 1;
}

bool lex_skip_to_hash(lexer *l, token *hash)
{
    while (l->at < l->end) {
        skip_blank(l, false);
        const char *p = l->at;
        if (p >= l->end)
            break;
        if (l->at_line_start && (*p == '#' || (*p == '%' && p[1] == ':')) && p[1] != '#')
            return lex_one(l, false, hash);
        // Everything else of the line, minding that quotes may hide a comment's opening.
        l->at_line_start = false;
        while (p < l->end && *p != '\n' && !(*p == '/' && (p[1] == '/' || p[1] == '*'))) {
            if (*p == '"' || *p == '\'') {
                p = after_quoted(l, p);
            } else if (after_splice(l, p)) {
                p = after_splice(l, p);
            } else {
                p++;
            }
        }
        if (p == l->at && p < l->end && *p != '\n')
            p++; // a slash that opens no comment after all
        l->at = p;
    }
    return false;
}

bool lex_next_in_line(lexer *l, token *out)
{
    return lex_one(l, true, out);
}

void lex_next(lexer *l, token *out)
{
    lex_one(l, false, out);
}
