// A header name without quotes: an error.
#include kernel.h
