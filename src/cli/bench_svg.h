// Pictures of `kiln bench OP --svg FILE` (bench_svg.c).
#ifndef KILN_CLI_BENCH_SVG_H
#define KILN_CLI_BENCH_SVG_H

#include <stdbool.h>
#include <stdio.h>

typedef struct bench_svg_row {
    char label[112];
    double seconds, bytes, bytes_per_second;
    double operations; // 0: it is not bound by them
} bench_svg_row;

typedef struct bench_svg {
    char title[192];
    double roof;    // bytes a second of a copy
    double product; // operations a second of a product; 0: not measured
    bench_svg_row *rows;
    size_t count;
} bench_svg;

// Bars of all rows, and a roofline where they have operations. False: the file cannot be written.
bool bench_svg_write(const char *path, const bench_svg *s);

#endif
