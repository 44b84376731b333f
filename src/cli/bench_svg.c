// Bars and a roofline of `kiln bench OP --svg FILE`: a picture of what the table says, without
// anything but SVG. Start at bench_svg_write.
#include "cli/bench_svg.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 860, LABEL = 330, BAR = 18, STEP = 26, TOP = 46, PLOT = 360 };

static void write_text(FILE *f, double x, double y, const char *anchor, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++)
        if (strchr("<&>", *text))
            fprintf(f, "&#%d;", *text);
        else
            fputc(*text, f);
    fprintf(f, "</text>\n");
}

// A bar for each row: bytes a second, beside what a copy of memory reaches.
static double write_bars(FILE *f, const bench_svg *s)
{
    double most = s->roof;
    char text[64];
    for (size_t n = 0; n < s->count; n++)
        most = s->rows[n].bytes_per_second > most ? s->rows[n].bytes_per_second : most;
    double scale = (WIDTH - LABEL - 90) / most, y = TOP;
    for (size_t n = 0; n < s->count; n++, y += STEP) {
        const bench_svg_row *r = &s->rows[n];
        write_text(f, LABEL - 8, y + 13, "end", r->label);
        fprintf(f, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"bar\"/>\n",
                LABEL, y, r->bytes_per_second * scale, BAR);
        snprintf(text, sizeof text, "%.0f GB/s, %.1f us", r->bytes_per_second * 1e-9,
                 r->seconds * 1e6);
        write_text(f, LABEL + r->bytes_per_second * scale + 5, y + 13, "start", text);
    }
    double x = LABEL + s->roof * scale;
    fprintf(f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" class=\"roof\"/>\n", x, TOP - 6,
            x, y);
    snprintf(text, sizeof text, "a copy: %.0f GB/s", s->roof * 1e-9);
    write_text(f, x, y + 12, "middle", text);
    return y + 30;
}

typedef struct plot { // both axes are logarithms
    double left, top, width, height, x_low, x_high, y_low, y_high;
} plot;

static double place(double value, double low, double high, double length)
{
    return log(value / low) / log(high / low) * length;
}

static double x_of(const plot *p, double value)
{
    return p->left + place(value, p->x_low, p->x_high, p->width);
}

static double y_of(const plot *p, double value)
{
    return p->top + p->height - place(value, p->y_low, p->y_high, p->height);
}

// Operations a second over operations for each byte: below the line memory sets the pace.
static double write_roofline(FILE *f, const bench_svg *s, double top)
{
    plot p = {.left = 80, .top = top + 20, .width = WIDTH - 160, .height = PLOT};
    char text[64];
    p.x_low = p.y_low = HUGE_VAL;
    for (size_t n = 0; n < s->count; n++) {
        const bench_svg_row *r = &s->rows[n];
        double each = r->operations / r->bytes, rate = r->operations / r->seconds;
        p.x_low = fmin(p.x_low, each / 4);
        p.x_high = fmax(p.x_high, each * 4);
        p.y_low = fmin(p.y_low, rate / 4);
        p.y_high = fmax(fmax(p.y_high, rate * 4), 4 * each * s->roof);
    }
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"frame\"/>\n",
            p.left, p.top, p.width, p.height);
    double end = fmin(p.x_high, p.y_high / s->roof), start = fmax(p.x_low, p.y_low / s->roof);
    fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"roof\"/>\n",
            x_of(&p, start), y_of(&p, start * s->roof), x_of(&p, end), y_of(&p, end * s->roof));
    if (s->product > p.y_low && s->product < p.y_high)
        fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"roof\"/>\n",
                x_of(&p, fmin(fmax(s->product / s->roof, p.x_low), p.x_high)), y_of(&p, s->product),
                p.left + p.width, y_of(&p, s->product));
    for (double tick = pow(10, ceil(log10(p.x_low))); tick <= p.x_high; tick *= 10) {
        snprintf(text, sizeof text, "%g", tick);
        write_text(f, x_of(&p, tick), p.top + p.height + 16, "middle", text);
    }
    for (double tick = pow(10, ceil(log10(p.y_low))); tick <= p.y_high; tick *= 10) {
        snprintf(text, sizeof text, "%g", tick * 1e-9);
        write_text(f, p.left - 6, y_of(&p, tick) + 4, "end", text);
    }
    for (size_t n = 0; n < s->count; n++) {
        const bench_svg_row *r = &s->rows[n];
        double x = x_of(&p, r->operations / r->bytes), y = y_of(&p, r->operations / r->seconds);
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"bar\"/>\n", x, y);
        write_text(f, x + 7, y + 4, "start", r->label);
    }
    write_text(
        f, p.left, p.top - 6, "start",
        "GFLOP/s over FLOP for each byte; the lines are a copy of memory and a large product");
    return p.top + p.height + 36;
}

bool bench_svg_write(const char *path, const bench_svg *s)
{
    FILE *f = fopen(path, "w");
    bool has_operations = s->count > 0;
    for (size_t n = 0; n < s->count; n++)
        has_operations = has_operations && s->rows[n].operations > 0;
    double height = TOP + STEP * (double)s->count + 30 + (has_operations ? PLOT + 60 : 0);
    if (!f)
        return false;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.bar{fill:#3b6ea5}.roof{stroke:#c0392b;stroke-width:2}"
            ".frame{fill:none;stroke:#888}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, height);
    write_text(f, 12, 24, "start", s->title);
    double bottom = write_bars(f, s);
    if (has_operations)
        write_roofline(f, s, bottom);
    fprintf(f, "</svg>\n");
    bool is_bad = ferror(f) != 0;
    return fclose(f) == 0 && !is_bad;
}
