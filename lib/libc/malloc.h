// <malloc.h> for kernels: the old name of what <stdlib.h> has of it.
#pragma once
#include <stdlib.h>
