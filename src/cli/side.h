// Source, IR, PTX and SASS of a kernel side by side, by source line.
#ifndef KILN_SIDE_H
#define KILN_SIDE_H

#include "base/source.h"
#include "ir/ir.h"

typedef struct side_page {
    arena *in;
    source_map *sources;
    const ir_module *module;
    const ir_func *only; // or NULL: all kernels
    str ptx;             // with line info
    str sass;            // as `nvdisasm -g` prints it; may be empty
} side_page;

// What nvdisasm makes of the code for target `t`; empty when it or ptxas is not there.
str side_disassemble(arena *a, const char *t, str ptx);
// In columns, `width` characters all together.
void side_text(const side_page *page, int width, bool has_colour, text *out);
// One HTML page that needs nothing else.
void side_html(const side_page *page, const char *title, text *out);

#endif
