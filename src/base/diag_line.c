// Columns of a line. Widths follow what terminals do: combining marks take none, East Asian wide
// characters and emoji two, everything else one. Broken bytes are shown as U+FFFD.
#include "base/diag_line.h"

#include "base/utf8.h"

typedef struct range {
    uint32_t first, last;
} range;

// clang-format off
static const range zero_wide[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0900, 0x0902},
    {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20f0},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
};
static const range double_wide[] = {
    {0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec}, {0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653},
    {0x26a1, 0x26a1}, {0x26bd, 0x26be}, {0x2705, 0x2705}, {0x2728, 0x2728}, {0x274c, 0x274c}, {0x2753, 0x2755},
    {0x2795, 0x2797}, {0x2b50, 0x2b50}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf}, {0x4e00, 0x9fff},
    {0xa000, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f900, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};
// clang-format on

static bool is_in(const range *table, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count; i++)
        if (code >= table[i].first && code <= table[i].last)
            return true;
    return false;
}

static uint32_t width_of(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (is_in(zero_wide, COUNT(zero_wide), code))
        return 0;
    return is_in(double_wide, COUNT(double_wide), code) ? 2 : 1;
}

static bool is_inner_byte(str line, uint32_t byte)
{
    return byte < line.len && ((unsigned char)line.at[byte] & 0xc0) == 0x80;
}

// Appends bytes from..to to `out`, filling columns.
static uint32_t lay_out(diag_line *l, str line, text *out, uint32_t column)
{
    unsigned len;
    for (uint32_t i = l->from; i < l->to; i += len) {
        uint32_t code = utf8_read(line.at + i, l->to - i, &len);
        uint32_t width = width_of(code);
        for (unsigned j = 0; j < len; j++)
            l->columns[i + j - l->from] = column;
        if (code == '\t') {
            width = DIAG_TAB - column % DIAG_TAB;
            text_add(out, "        ", width);
        } else if (code < ' ' || code == 127) {
            text_putc(out, '?');
        } else if (code == 0xfffd) {
            text_puts(out, "\xef\xbf\xbd");
        } else if (width || i > l->from) {
            text_add(out, line.at + i, len);
        }
        column += width;
    }
    return column;
}

diag_line diag_line_make(arena *a, str line, uint32_t focus)
{
    while (line.len && (line.at[line.len - 1] == ' ' || line.at[line.len - 1] == '\t') &&
           line.len > focus)
        line.len--;
    diag_line l = {.from = 0, .to = (uint32_t)line.len};
    text out = {.in = a};
    text_puts(&out, "");
    if (line.len <= 4 * DIAG_LINE_MAX) {
        l.columns = arena_array(a, uint32_t, line.len + 1);
        l.width = lay_out(&l, line, &out, 0);
        if (l.width <= DIAG_LINE_MAX) {
            l.columns[l.to - l.from] = l.width;
            l.shown = out.at;
            return l;
        }
    }
    if (focus > line.len)
        focus = (uint32_t)line.len;
    l.from = focus > 60 ? focus - 60 : 0;
    l.to = line.len - l.from > 180 ? l.from + 180 : (uint32_t)line.len;
    while (l.from && is_inner_byte(line, l.from))
        l.from--;
    while (is_inner_byte(line, l.to))
        l.to++;
    out = (text){.in = a};
    text_puts(&out, l.from ? "..." : "");
    l.columns = arena_array(a, uint32_t, l.to - l.from + 1);
    l.width = lay_out(&l, line, &out, l.from ? 3 : 0);
    l.columns[l.to - l.from] = l.width;
    if (l.to < line.len) {
        text_puts(&out, "...");
        l.width += 3;
    }
    l.shown = out.at;
    return l;
}

uint32_t diag_line_column(const diag_line *l, uint32_t byte)
{
    if (byte < l->from)
        return 0;
    return byte > l->to ? l->width : l->columns[byte - l->from];
}
