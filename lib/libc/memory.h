// <memory.h> for kernels: the old name of <string.h>.
#pragma once
#include <string.h>
