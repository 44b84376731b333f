// What kiln bench knows of the cases of convolutions beyond ops/suite.h.
#ifndef KILN_CONV_SUITE_H
#define KILN_CONV_SUITE_H

#include "ops/suite.h"

// The description of a case's call (the pass says of which), with views as op_suite.call gets them.
void conv_suite_forward(const op_case *c, const kiln_view *views, kiln_conv_desc *out);
void conv_suite_backward(const op_case *c, const kiln_view *views, kiln_conv_backward_desc *out);

// "outputs=256,window=3,stride=2": the case slides such a window, whatever its sizes are. Defaults:
// as many outputs as channels, window 3, stride 1, dilation 1, groups 1, and a pad that keeps the
// size where the stride is 1. False: not understood, or out of range.
bool conv_suite_read(op_case *c, const char *words);

#endif
