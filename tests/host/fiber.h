// The host's side of the corpus runs on the runner that is shipped with the headers.
#ifndef KILN_TEST_FIBER_H
#define KILN_TEST_FIBER_H

#include <kiln/host/runner.h>

#endif
