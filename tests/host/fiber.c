// The one file with the host runner's code.
#define KILN_HOST_RUNNER
#include "host/fiber.h"
