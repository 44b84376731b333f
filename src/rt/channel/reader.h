// Reads the records that kernels left in a channel (back/channel.h).
#ifndef KILN_CHANNEL_READER_H
#define KILN_CHANNEL_READER_H

#include "rt/channel/format.h"
#include "rt/rt.h"

// The text of the records in `len` bytes, behind what `out` has; one that makes no sense is the
// end.
void channel_format_lines(const kiln_module *m, const uint8_t *lines, size_t len, print_out *out);
// Prints them.
void channel_print_lines(kiln_module *m, const uint8_t *lines, size_t len);
// Prints that `count` lines found no room in `bytes`.
void channel_print_lost(kiln_module *m, uint32_t count, int bytes);
// Sets the error of a kernel that stopped itself. `why`: what a host function that stopped it said.
kiln_status channel_set_fault(kiln_module *m, const channel_fault *fault, const char *why);

#endif
