// A program of several files is one that includes them: main is in another file.
#include "choices.c"
