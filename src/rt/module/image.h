// A module as bytes: what a device that loads code needs to have it again without compiling (kernel
// table, parameters, PTX, the driver's machine code, printf's texts, the compile's warnings), kept
// in the disk cache. Used by module.c alone.
#ifndef KILN_IMAGE_H
#define KILN_IMAGE_H

#include "base/source.h"
#include "rt/rt.h"

// What the compile of `desc` is made of; `source` is its main text.
typedef struct image_key image_key;
// NULL: no memory, or the main source cannot be read (the compile will say so).
image_key *image_key_of(kiln_module *m, const kiln_compile_desc *desc);
void image_key_free(image_key *key);
// The main text, so that exactly what was looked for is compiled.
str image_source(const image_key *key);
// True: the module is as after its compile. False: it is untouched.
bool image_load(kiln_module *m, const image_key *key);
// Remembers in the module which files the compile has read. May leave through bug.h.
void image_note_inputs(kiln_module *m, const source_map *sources);
void image_keep(kiln_module *m, const image_key *key);

#endif
