// What the files of the suite of gguf share.
#ifndef KILN_SUITE_GGUF_H
#define KILN_SUITE_GGUF_H

#include "ops/suite.h"

enum { GGUF_TYPES = 10 };
extern const kiln_gguf_type gguf_types[GGUF_TYPES]; // the rows of gguf.def

// Stored vectors, properties and refusals; returns how many failed and adds those that passed.
int gguf_check_vectors(kiln *k, int *passed);

#endif
