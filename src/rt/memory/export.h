// Buffers that foreign libraries hold.
#ifndef KILN_EXPORT_H
#define KILN_EXPORT_H

#include "rt/rt.h"

void buffer_export(kiln_buffer *b);     // one more holder
void buffer_export_end(kiln_buffer *b); // one less; from any thread

#endif
