// Spellings to values: integers, floating constants, characters, strings. Each lex_settle_… turns
// one preprocessing token into its final form; a bad one gets a diagnostic and a harmless value, so
// that nothing later complains again. Nothing here depends on the process's locale.
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "front/lex.h"

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

// A part of a token's spelling as a place, when the token stands in a file as it is spelled.
static span part_of(const token *t, size_t from, size_t to, size_t len)
{
    if (t->flags & TF_FROM_MACRO || t->at.hi - t->at.lo != len)
        return t->at;
    return (span){t->at.lo + (uint32_t)from, t->at.lo + (uint32_t)to};
}

static diag *raise_number(front *f, const token *t, diag_code code, const char *why, str s)
{
    int len = s.len < 60 ? (int)s.len : 60;
    diag *d =
        diag_raise(f->diags, code, t->at, "'%.*s%s' %s", len, s.at, s.len > 60 ? "…" : "", why);
    return d;
}

// Suffixes of integers: true and the flags, or false.
static bool int_suffix(str s, uint8_t *flags)
{
    unsigned unsigneds = 0, longs = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == 'u' || s.at[i] == 'U') {
            unsigneds++;
        } else if (s.at[i] == 'l' || s.at[i] == 'L') {
            longs++;
            if (i + 1 < s.len && s.at[i + 1] == s.at[i])
                i++;
        } else {
            return false;
        }
    }
    if (unsigneds > 1 || longs > 1)
        return false;
    *flags |= (uint8_t)((unsigneds ? TF_UNSIGNED : 0) | (longs ? TF_LONG : 0));
    return true;
}

static void bad_suffix(front *f, const token *t, str s, size_t digits)
{
    str suffix = {s.at + digits, s.len - digits};
    span at = part_of(t, digits, s.len, s.len);
    diag *d = diag_raise(f->diags, K0007, at, "'%.*s' is not a suffix a number can have",
                         suffix.len < 40 ? (int)suffix.len : 40, suffix.at);
    if (suffix.len == 1 && (suffix.at[0] == 'f' || suffix.at[0] == 'F')) {
        diag_label(d, at, "'f' belongs to numbers with a point or an exponent");
        if (!(t->flags & TF_FROM_MACRO))
            diag_fix(d, at, "make it a floating number", ".0f");
    } else if (suffix.len == 1 && (suffix.at[0] == 'l' || suffix.at[0] == 'L')) { // of no integer
        diag_label(d, at, "long double does not exist on GPUs");
        if (!(t->flags & TF_FROM_MACRO))
            diag_fix(d, at, "make it an f64 number", "%s", "");
    } else {
        diag_label(d, at, "integers take u, l, ul, ll, ull; floating numbers take f");
    }
}

// The base of an integer spelling, and where its digits start.
static unsigned int_base(str s, size_t *from)
{
    *from = 0;
    if (s.len < 2 || s.at[0] != '0')
        return 10;
    *from = 2;
    if (s.at[1] == 'x' || s.at[1] == 'X')
        return 16;
    if (s.at[1] == 'b' || s.at[1] == 'B')
        return 2;
    *from = 1;
    return 8;
}

static void settle_int(front *f, token *t, str s)
{
    size_t from, i;
    unsigned base = int_base(s, &from);
    uint64_t value = 0;
    bool overflows = false;
    for (i = from; i < s.len && digit_value(s.at[i]) < (base == 16 ? 16 : 10); i++) {
        unsigned digit = (unsigned)digit_value(s.at[i]);
        if (digit >= base) {
            span at = part_of(t, i, i + 1, s.len);
            diag *d = diag_raise(f->diags, K0006, at, "'%c' is not %s digit", s.at[i],
                                 base == 8 ? "an octal" : "a binary");
            diag_label(d, at, "a number that starts with '0%s' has the digits 0 to %d",
                       base == 8 ? "" : "b", (int)base - 1);
            size_t zeros = 0;
            while (s.at[zeros] == '0')
                zeros++;
            if (base == 8 && !(t->flags & TF_FROM_MACRO))
                diag_fix(d, part_of(t, 0, zeros, s.len), "make it decimal", "%s", "");
            t->integer = 0;
            return;
        }
        if (value > (UINT64_MAX - digit) / base)
            overflows = true;
        value = value * base + digit;
    }
    t->flags |= base == 10 ? TF_DECIMAL : 0;
    str suffix = {s.at + i, s.len - i};
    bool is_good = true;
    if (i == from && base != 8) {
        raise_number(f, t, K0006, "has no digits", s);
        is_good = false;
    } else if (!int_suffix(suffix, &t->flags)) {
        bad_suffix(f, t, s, i);
        is_good = false;
    } else if (overflows) {
        diag *d = raise_number(f, t, K0008, "does not fit in 64 bits", s);
        diag_label(d, t->at, "the largest integer is 18446744073709551615u");
        is_good = false;
    } else if (base == 10 && value > INT64_MAX && !(t->flags & TF_UNSIGNED)) {
        diag *d = raise_number(f, t, K0008, "does not fit in a signed 64-bit integer", s);
        diag_label(d, t->at, "a decimal number without 'u' is signed: at most 9223372036854775807");
        if (!(t->flags & TF_FROM_MACRO))
            diag_fix(d, (span){t->at.hi, t->at.hi}, "make it unsigned", "u");
        t->flags |= TF_UNSIGNED;
    }
    t->integer = is_good ? value : 0;
}

// Exact when digits and powers are small: then one correctly rounded operation gives the answer.
static bool short_decimal(const char *s, bool is_f32, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t digits = 0;
    int scale = 0, exponent = 0;
    bool has_point = false;
    for (; *s && *s != 'e' && *s != 'E'; s++) {
        if (*s == '.') {
            has_point = true;
            continue;
        }
        if (digits >= (uint64_t)1 << 50)
            return false;
        digits = digits * 10 + (uint64_t)(*s - '0');
        scale -= has_point;
    }
    if (*s) {
        bool is_negative = s[1] == '-';
        for (s += s[1] == '-' || s[1] == '+' ? 2 : 1; *s; s++)
            if ((exponent = exponent * 10 + (*s - '0')) > 1000)
                return false;
        scale += is_negative ? -exponent : exponent;
    }
    // For f32 the one operation must happen in f32: 10^10 is its largest exact power of ten.
    if (is_f32) {
        if (digits > 1u << 24 || scale < -10 || scale > 10)
            return false;
        float value = (float)digits, power = (float)powers[scale < 0 ? -scale : scale];
        *out = (double)(scale < 0 ? value / power : value * power);
        return true;
    }
    if (digits > (uint64_t)1 << 53 || scale < -22 || scale > 22)
        return false;
    *out = scale < 0 ? (double)digits / powers[-scale] : (double)digits * powers[scale];
    return true;
}

// strtod and strtof under the C locale, whatever the process uses.
static double long_number(const char *s, bool is_f32)
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    double value = is_f32 ? (double)strtof(s, NULL) : strtod(s, NULL);
    if (c_locale) {
        uselocale(before);
        freelocale(c_locale);
    }
    return value;
}

// Checks the grammar of a floating constant; gives the length of its digits part, 0 when malformed.
static size_t real_digits(str s, bool *has_value)
{
    size_t i = 0, digits = 0;
    bool is_hex = s.len > 2 && s.at[0] == '0' && (s.at[1] == 'x' || s.at[1] == 'X');
    bool has_point = false, has_exponent = false;
    for (i = is_hex ? 2 : 0; i < s.len; i++) {
        if (s.at[i] == '.' && !has_point)
            has_point = true;
        else if (digit_value(s.at[i]) < (is_hex ? 16 : 10)) {
            digits++;
            *has_value |= s.at[i] != '0';
        } else
            break;
    }
    if (!digits)
        return 0;
    char mark = i < s.len ? (char)(s.at[i] | 0x20) : 0;
    if (mark == (is_hex ? 'p' : 'e')) {
        size_t j = i + 1;
        if (j < s.len && (s.at[j] == '+' || s.at[j] == '-'))
            j++;
        size_t from = j;
        while (j < s.len && s.at[j] >= '0' && s.at[j] <= '9')
            j++;
        if (j == from)
            return 0;
        i = j;
        has_exponent = true;
    }
    bool has_rest = i < s.len && s.at[i] == '.';
    return has_rest || (is_hex && !has_exponent) ? 0 : i;
}

static void settle_real(front *f, token *t, str s)
{
    bool has_value = false, is_hex = s.len > 1 && (s.at[1] == 'x' || s.at[1] == 'X');
    size_t digits = real_digits(s, &has_value);
    t->kind = TOK_FLOAT;
    t->real = 0;
    if (!digits) {
        diag *d = raise_number(f, t, K0006, "is not a number", s);
        diag_label(d, t->at,
                   is_hex ? "a hexadecimal floating number ends in p and an exponent: 0x1.8p-3f"
                          : "one point, digits, then maybe e and an exponent");
        return;
    }
    str suffix = {s.at + digits, s.len - digits};
    if (suffix.len == 1 && (suffix.at[0] == 'f' || suffix.at[0] == 'F')) {
        t->flags |= TF_F32;
    } else if (suffix.len) {
        bad_suffix(f, t, s, digits);
        return;
    }
    bool is_f32 = t->flags & TF_F32;
    char *copy = str_dup(f->in, (str){s.at, digits});
    double value;
    if (is_hex || !short_decimal(copy, is_f32, &value))
        value = long_number(copy, is_f32);
    if (isinf(value)) {
        diag *d = raise_number(
            f, t, K0009,
            is_f32 ? "is larger than the largest f32" : "is larger than the largest f64", s);
        diag_label(d, t->at, "the largest is %s",
                   is_f32 ? "3.40282347e+38f" : "1.7976931348623157e+308");
        diag_note(d, "write INFINITY when infinity is meant");
        value = 0;
    } else if (value == 0 && has_value) {
        diag *d = raise_number(
            f, t, K0010,
            is_f32 ? "is so small that it becomes 0 as f32" : "is so small that it becomes 0", s);
        diag_label(d, t->at, "the smallest above 0 is %s", is_f32 ? "1.4e-45f" : "4.9e-324");
    }
    t->real = value;
}

void lex_settle_number(front *f, token *t)
{
    str s = t->bytes;
    bool is_hex = s.len > 1 && s.at[0] == '0' && (s.at[1] == 'x' || s.at[1] == 'X');
    bool is_real = false;
    for (size_t i = 0; i < s.len && !is_real; i++) {
        char c = s.at[i];
        is_real = c == '.' || (is_hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E');
    }
    if (is_real)
        settle_real(f, t, s);
    else
        settle_int(f, t, s);
}

// --- characters and strings

typedef struct unescaper {
    front *f;
    const token *t;
    str s;
    size_t at;
    size_t unit_max; // largest value of a \x or octal escape
} unescaper;

static diag *raise_escape(const unescaper *u, diag_code code, size_t from, size_t to,
                          const char *why)
{
    if (to > u->s.len)
        to = u->s.len;
    span at = part_of(u->t, from, to, u->s.len);
    return diag_raise(u->f->diags, code, at, "'%.*s' %s", (int)(to - from), u->s.at + from, why);
}

// The value of the escape at u->at (after the backslash). `is_code` tells \u from bytes.
static uint32_t read_escape(unescaper *u, bool *is_code)
{
    static const char letters[] = "abfnrtv\\'\"?e", values[] = "\a\b\f\n\r\t\v\\'\"?\033";
    size_t from = u->at - 1;
    char c = u->at < u->s.len ? u->s.at[u->at++] : 0;
    const char *simple = c ? strchr(letters, c) : NULL;
    *is_code = false;
    if (simple)
        return (unsigned char)values[simple - letters];
    uint64_t value = 0;
    size_t digits = 0;
    if (c == 'x' || c == 'u' || c == 'U') {
        size_t most = c == 'x' ? SIZE_MAX : c == 'u' ? 4 : 8;
        for (; u->at < u->s.len && digits < most && digit_value(u->s.at[u->at]) < 16; digits++) {
            value = value << 4 | (uint64_t)digit_value(u->s.at[u->at++]);
            if (value > UINT32_MAX)
                value = UINT32_MAX;
        }
        *is_code = c != 'x';
        bool is_short = c == 'x' ? !digits : digits < most;
        if (is_short) {
            diag *d = raise_escape(u, K0012, from, u->at, "lacks hexadecimal digits");
            diag_note(d, "\\x takes one or more digits, \\u exactly four, \\U exactly eight");
            return 0;
        }
    } else if (c >= '0' && c <= '7') {
        u->at--;
        for (; u->at < u->s.len && digits < 3 && u->s.at[u->at] >= '0' && u->s.at[u->at] <= '7';
             digits++)
            value = value << 3 | (uint64_t)(u->s.at[u->at++] - '0');
    } else {
        unsigned len = 1;
        if (c & 0x80)
            utf8_read(&u->s.at[u->at - 1], u->s.len - u->at + 1, &len);
        u->at += len - 1;
        diag *d = raise_escape(u, K0011, from, u->at, "is not an escape sequence of C");
        span at = part_of(u->t, from, from + 1, u->s.len);
        diag_label(d, part_of(u->t, from, u->at, u->s.len),
                   "known are \\n \\t \\r \\0 \\\\ \\' \\\" \\x41 \\u00e9 and a few more");
        if (!(u->t->flags & TF_FROM_MACRO) && at.hi - at.lo == 1)
            diag_fix(d, at, "write the backslash itself", "\\\\");
        return (unsigned char)c;
    }
    bool is_bad =
        *is_code ? value > 0x10ffff || (value >= 0xd800 && value < 0xe000) : value > u->unit_max;
    if (is_bad) {
        raise_escape(u, K0012, from, u->at,
                     *is_code ? "is not a character of Unicode" : "is larger than one byte");
        return 0;
    }
    return (uint32_t)value;
}

// Splits off the prefix; a wide one is an error.
static size_t prefix_len(front *f, const token *t, str s, char quote)
{
    size_t len = 0;
    while (len < s.len && s.at[len] != quote)
        len++;
    if (len && !(len == 2 && quote == '"')) {
        span at = part_of(t, 0, len, s.len);
        diag *d = diag_raise(f->diags, K0014, at, "kernels have no wide characters ('%.*s')",
                             (int)len, s.at);
        diag_label(d, at, "only plain and u8 strings, and plain characters");
        if (!(t->flags & TF_FROM_MACRO))
            diag_fix(d, at, "drop the prefix", "%s", "");
    }
    return len;
}

void lex_settle_char(front *f, token *t)
{
    str s = t->bytes;
    unescaper u = {f, t, s, prefix_len(f, t, s, '\'') + 1, 255};
    size_t end = s.len ? s.len - 1 : 0, count = 0;
    uint32_t value = 0;
    while (u.at < end) {
        bool is_code = false;
        unsigned len = 1;
        if (s.at[u.at] == '\\') {
            u.at++;
            value = read_escape(&u, &is_code);
        } else {
            value = utf8_read(s.at + u.at, end - u.at, &len);
            is_code = len > 1;
            u.at += len;
        }
        if (is_code && value > 127) {
            diag *d = diag_raise(f->diags, K0013, t->at, "this character takes more than one byte");
            diag_label(d, t->at, "a character constant is one byte; its value here would be 0x%X",
                       (unsigned)value);
            if (!(t->flags & TF_FROM_MACRO))
                diag_fix(d, t->at, "write its number", "0x%X", (unsigned)value);
            t->integer = value;
            return;
        }
        count++;
    }
    if (count != 1) {
        diag *d = diag_raise(f->diags, K0013, t->at,
                             count ? "a character constant holds one character"
                                   : "this character constant is empty");
        diag_label(d, t->at, count ? "%zu characters here" : "nothing between the quotes", count);
        if (count > 1)
            diag_note(d, "a string is written with double quotes");
        value = 0;
    }
    // char is signed.
    t->integer = (uint64_t)(int64_t)(int8_t)value;
}

void lex_settle_string(front *f, token *t)
{
    str s = t->bytes;
    unescaper u = {f, t, s, prefix_len(f, t, s, '"') + 1, 255};
    size_t end = s.len ? s.len - 1 : 0;
    if (!memchr(s.at, '\\', s.len)) {
        t->bytes = (str){s.at + u.at, end - u.at};
        return;
    }
    char *out = arena_alloc(f->in, s.len + 1);
    size_t len = 0;
    while (u.at < end) {
        bool is_code = false;
        if (s.at[u.at] != '\\') {
            out[len++] = s.at[u.at++];
            continue;
        }
        u.at++;
        uint32_t value = read_escape(&u, &is_code);
        if (is_code)
            len += utf8_write(out + len, value);
        else
            out[len++] = (char)value;
    }
    t->bytes = (str){out, len};
}
