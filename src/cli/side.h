// Source, IR, PTX and SASS of a kernel side by side, by source line.
#ifndef KILN_SIDE_H
#define KILN_SIDE_H

#include "back/report/listing.h"

typedef struct side_page {
    listing of;
    str ptx;  // with line info
    str sass; // as `nvdisasm -g` prints it; may be empty
} side_page;

// In columns, `width` characters all together.
void side_text(const side_page *page, int width, bool has_colour, text *out);
// One HTML page that needs nothing else.
void side_html(const side_page *page, const char *title, text *out);

#endif
