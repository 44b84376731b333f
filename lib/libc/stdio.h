// <stdio.h> for kernels. Text (print.h) needs nothing but the kernel.
#pragma once

#include "print.h"
