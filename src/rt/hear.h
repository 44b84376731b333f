// What the kernels of a device with a channel (back/channel.h) said, told to the user.
#ifndef KILN_HEAR_H
#define KILN_HEAR_H

#include "rt/rt.h"

// Prints the records in `len` bytes.
void hear_lines(kiln_module *m, const uint8_t *lines, size_t len);
// Says that `count` lines found no room in `bytes`.
void hear_lost(kiln_module *m, uint32_t count, int bytes);
// Sets the error of a kernel that stopped itself.
kiln_status hear_fault(kiln_module *m, const channel_fault *fault);

#endif
