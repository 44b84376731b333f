// Two #else: an error that shows the first one and the #if.
#include <kiln/kernel.h>

#if 0
#define STEP 1
#else
#define STEP 2
#else
#define STEP 3
#endif
