// Headers that include each other many times: an error where the limit is reached.
#include "K0019-c.h"
#include "K0019-c.h"
