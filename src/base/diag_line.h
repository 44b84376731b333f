// One source line as a terminal shows it: tabs expanded, control bytes made visible, long lines
// clipped around a place. diag_text.c prints it and asks for the columns of its bytes.
#ifndef KILN_DIAG_LINE_H
#define KILN_DIAG_LINE_H

#include "base/str.h"

enum { DIAG_TAB = 4, DIAG_LINE_MAX = 200 };

typedef struct diag_line {
    char *shown;       // NUL-terminated
    uint32_t *columns; // of each byte from..to, and of `to`
    uint32_t from, to; // the bytes of the line that are shown
    uint32_t width;    // columns, with the dots of a clipped line
} diag_line;

// `focus` is the byte that must be seen when the line is too long to be shown whole.
diag_line diag_line_make(arena *a, str line, uint32_t focus);
// The column (from 0) at which byte `byte` of the line is shown.
uint32_t diag_line_column(const diag_line *l, uint32_t byte);

#endif
