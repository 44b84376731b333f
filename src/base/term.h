// What the terminal can do.
#ifndef KILN_TERM_H
#define KILN_TERM_H

#include <stdio.h>

#include "base/base.h"

bool term_is_tty(FILE *stream);
// Columns; 80 when that is unknown.
int term_width(FILE *stream);
// KILN_COLOR=always|never decides; else a terminal has colours unless NO_COLOR is set or TERM=dumb.
bool term_has_colour(FILE *stream);

#endif
