#include "K0030-a.h"
