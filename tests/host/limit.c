#include "host/limit.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

void limit_time(unsigned seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &timer, NULL); // SIGPROF; nobody handles it
    alarm(seconds * LIMIT_WALLS);
}

bool limit_was_met(int status)
{
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
}
