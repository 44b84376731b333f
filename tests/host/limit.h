// A time limit for a process that runs what a test does not trust: it counts the processor time
// that the process uses, so that a busy machine makes no failure of it.
#ifndef KILN_TEST_LIMIT_H
#define KILN_TEST_LIMIT_H

#include <stdbool.h>

// From now on the process may use so many seconds of its processors' time, all its threads
// together; its children's do not count. LIMIT_WALLS times as many on the clock end it, too: who
// sleeps for good uses none. 0: no limit.
enum { LIMIT_WALLS = 20 };
void limit_time(unsigned seconds);

// Has the limit ended the process with this status of waitpid?
bool limit_was_met(int status);

#endif
