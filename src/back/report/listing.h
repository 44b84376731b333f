// Lines of printed IR, PTX and SASS with the source lines they come from.
#ifndef KILN_LISTING_H
#define KILN_LISTING_H

#include "base/source.h"
#include "ir/ir.h"

typedef struct listing { // what the lines belong to
    arena *in;
    source_map *sources;
    const ir_module *module;
    const ir_func *only; // or NULL: all kernels
} listing;

typedef struct listing_line {
    const source_file *file;
    uint32_t line;
    str text;
} listing_line;
typedef vec(listing_line) listing_lines;

// Each appends what it finds.
void listing_ir(const listing *p, const ir_func *f, listing_lines *out);
void listing_ptx(const listing *p, str ptx, listing_lines *out);   // with line info
void listing_sass(const listing *p, str sass, listing_lines *out); // as `nvdisasm -g` prints it

#endif
