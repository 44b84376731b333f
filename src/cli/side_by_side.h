// Source, IR, PTX and SASS of a kernel side by side, by source line.
#ifndef KILN_SIDE_BY_SIDE_H
#define KILN_SIDE_BY_SIDE_H

#include "back/report/listing.h"

typedef struct side_by_side {
    listing of;
    str ptx;  // with line info
    str sass; // as `nvdisasm -g` prints it; may be empty
} side_by_side;

// In columns, `width` characters all together.
void side_by_side_text(const side_by_side *page, int width, bool has_colour, text *out);
// One HTML page that needs nothing else.
void side_by_side_html(const side_by_side *page, const char *title, text *out);

#endif
