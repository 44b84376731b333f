// Threads that turn records of printf into text: batches are formatted side by side and printed in
// the order in which they were given.
#ifndef KILN_CHANNEL_TEAM_H
#define KILN_CHANNEL_TEAM_H

#include "rt/rt.h"

enum { TEAM_BATCH = 1 << 17 }; // bytes of records at most

typedef struct team team;
team *team_new(uint32_t threads); // NULL: no memory or no threads
void team_free(team *t);          // what was given is printed
// Copies the records. From one thread at a time; waits while many batches are on their way.
void team_give(team *t, kiln_module *m, const uint8_t *lines, size_t len);
void team_wait(team *t); // everything that was given is printed

#endif
