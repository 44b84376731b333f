// Two headers that include each other: an error that shows the loop.
#include "K0030-a.h"
