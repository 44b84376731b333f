#include "K0030-b.h"
