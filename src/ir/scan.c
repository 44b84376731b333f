// IR text to tokens. Comments start with ';'. A mistake is recorded once; after it every token is
// SCAN_END, so readers need no error paths of their own.
#include "ir/scan.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>

void scan_fail(scanner *s, size_t at, const char *format, ...)
{
    if (s->error)
        return;
    va_list args;
    va_start(args, format);
    const char *what = str_vformat(s->in, format, args);
    va_end(args);
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < s->input.len; i++) {
        column = s->input.at[i] == '\n' ? 1 : column + 1;
        line += s->input.at[i] == '\n';
    }
    s->error = str_format(s->in, "%zu:%zu: %s", line, column, what);
    s->token = (scan_token){.at = s->input.len};
    s->at = s->input.len;
}

static int peek(const scanner *s)
{
    return s->at < s->input.len ? (unsigned char)s->input.at[s->at] : 0;
}

static bool is_word_char(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static void skip_space(scanner *s)
{
    while (s->at < s->input.len) {
        int c = peek(s);
        if (c == ';') {
            while (s->at < s->input.len && peek(s) != '\n')
                s->at++;
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            s->at++;
        } else {
            return;
        }
    }
}

static int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void scan_string(scanner *s)
{
    size_t start = s->at++;
    char *out = arena_alloc(s->in, 1);
    size_t len = 0, cap = 0;
    while (s->at < s->input.len && peek(s) != '"') {
        int c = peek(s);
        s->at++;
        if (c == '\\' && s->at < s->input.len) {
            c = peek(s);
            s->at++;
            if (c == 'n') {
                c = '\n';
            } else if (c == 'x') {
                int high = hex_digit(peek(s));
                int low = s->at + 1 < s->input.len ? hex_digit(s->input.at[s->at + 1]) : -1;
                if (high < 0 || low < 0) {
                    scan_fail(s, s->at, "two hexadecimal digits are expected after \\x");
                    return;
                }
                c = high * 16 + low;
                s->at += 2;
            }
        }
        if (len == cap) {
            size_t more = cap ? cap * 2 : 64;
            out = arena_grow(s->in, cap ? out : NULL, cap, more);
            cap = more;
        }
        out[len++] = (char)c;
    }
    if (s->at >= s->input.len) {
        scan_fail(s, start, "the string has no end");
        return;
    }
    s->at++;
    s->token.kind = SCAN_STRING;
    s->token.text = (str){out, len};
}

static void lex_word(scanner *s, scan_kind kind)
{
    size_t start = s->at;
    while (is_word_char(peek(s)) || (kind == SCAN_NUMBER && (peek(s) == '+' || peek(s) == '-') &&
                                     s->at > start && (s->input.at[s->at - 1] | 32) == 'e'))
        s->at++;
    s->token.kind = kind;
    s->token.text = (str){s->input.at + start, s->at - start};
    if (!s->token.text.len)
        scan_fail(s, start, "a name is expected here");
}

void scan_next(scanner *s)
{
    skip_space(s);
    s->token = (scan_token){.at = s->at};
    int c = peek(s);
    if (s->error || s->at >= s->input.len)
        return;
    if (c == '%' || c == '@' || c == '$') {
        s->at++;
        lex_word(s, c == '%' ? SCAN_VALUE : c == '@' ? SCAN_FUNC : SCAN_SLOT);
    } else if (c == '-' && s->at + 1 < s->input.len && s->input.at[s->at + 1] == '>') {
        s->at += 2;
        s->token.kind = SCAN_PUNCT;
        s->token.punct = '-';
    } else if (c == '-') {
        size_t start = s->at++;
        lex_word(s, SCAN_NUMBER);
        if (!s->error)
            s->token.text = (str){s->input.at + start, s->at - start};
    } else if (c >= '0' && c <= '9') {
        lex_word(s, SCAN_NUMBER);
    } else if (is_word_char(c)) {
        lex_word(s, SCAN_WORD);
    } else if (c == '"') {
        scan_string(s);
    } else if (c && strchr("(){},:=", c)) {
        s->at++;
        s->token.kind = SCAN_PUNCT;
        s->token.punct = (char)c;
    } else {
        scan_fail(s, s->at, "this character means nothing here");
    }
}

bool scan_is(const scanner *s, char punct)
{
    return s->token.kind == SCAN_PUNCT && s->token.punct == punct;
}

bool scan_is_word(const scanner *s, const char *word)
{
    return s->token.kind == SCAN_WORD && str_same(s->token.text, str_of(word));
}

bool scan_accept(scanner *s, char punct)
{
    if (!scan_is(s, punct))
        return false;
    scan_next(s);
    return true;
}

bool scan_accept_word(scanner *s, const char *word)
{
    if (!scan_is_word(s, word))
        return false;
    scan_next(s);
    return true;
}

void scan_expect(scanner *s, char punct)
{
    if (!scan_accept(s, punct))
        scan_fail(s, s->token.at, "'%s' is expected here",
                  punct == '-' ? "->" : (const char[]){punct, 0});
}

// Copies the token into `buffer` for the C library; false when it is too long to be a number.
static bool number_text(const scanner *s, char *buffer, size_t room)
{
    if (!s->token.text.len || s->token.text.len >= room)
        return false;
    memcpy(buffer, s->token.text.at, s->token.text.len);
    buffer[s->token.text.len] = 0;
    return true;
}

bool scan_int(scanner *s, int64_t *out)
{
    char buffer[80], *end;
    size_t at = s->token.at;
    *out = 0;
    if (s->token.kind != SCAN_NUMBER || !number_text(s, buffer, sizeof buffer)) {
        scan_fail(s, at, "an integer is expected here");
        return false;
    }
    errno = 0;
    bool is_hex = strstr(buffer, "0x") != NULL;
    if (buffer[0] == '-')
        *out = strtoll(buffer, &end, is_hex ? 16 : 10);
    else
        *out = (int64_t)strtoull(buffer, &end, is_hex ? 16 : 10);
    if (*end || errno) {
        scan_fail(s, at, "'%s' is not an integer", buffer);
        return false;
    }
    scan_next(s);
    return true;
}

int64_t scan_bracketed(scanner *s, int64_t lo, int64_t hi)
{
    scan_expect(s, '(');
    size_t at = s->token.at;
    int64_t v = 0;
    if (scan_int(s, &v) && (v < lo || v > hi))
        scan_fail(s, at, "%lld is not between %lld and %lld", (long long)v, (long long)lo,
                  (long long)hi);
    scan_expect(s, ')');
    return v;
}

static bool real_literal(scanner *s, ir_type type, uint64_t *bits)
{
    char buffer[80], *end;
    size_t at = s->token.at;
    if (!number_text(s, buffer, sizeof buffer)) {
        scan_fail(s, at, "a number is expected here");
        return false;
    }
    for (char *c = buffer; *c; c++)
        if (*c == '.')
            *c = localeconv()->decimal_point[0];
    if (type == IR_F32) {
        float v = strtof(buffer, &end);
        uint32_t low;
        memcpy(&low, &v, sizeof low);
        *bits = low;
    } else {
        double v = strtod(buffer, &end);
        memcpy(bits, &v, sizeof *bits);
    }
    if (*end || end == buffer) {
        scan_fail(s, at, "this is not a number");
        return false;
    }
    scan_next(s);
    return true;
}

bool scan_literal(scanner *s, ir_type type, uint64_t *bits)
{
    size_t at = s->token.at;
    *bits = 0;
    if (type == IR_I1) {
        *bits = scan_is_word(s, "true");
        if (!scan_accept_word(s, "true") && !scan_accept_word(s, "false"))
            scan_fail(s, at, "true or false is expected here");
        return !s->error;
    }
    bool is_hex = s->token.kind == SCAN_NUMBER && str_starts(s->token.text, "0x");
    if ((type == IR_F32 || type == IR_F64) && !is_hex)
        return real_literal(s, type, bits);
    int64_t v;
    if (!scan_int(s, &v))
        return false;
    uint32_t width = ir_type_size(type) * 8;
    if (!width)
        scan_fail(s, at, "a constant needs a type");
    else if (width < 64 && (v >= (int64_t)1 << width || v < -((int64_t)1 << (width - 1))))
        scan_fail(s, at, "%lld does not fit %s", (long long)v, ir_type_name(type));
    *bits = (uint64_t)v;
    return !s->error;
}
