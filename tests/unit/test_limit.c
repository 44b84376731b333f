// The time limit of random kernels: processor time ends a process, waiting does not.
#include "test.h"

#include "host/limit.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int status_of(void (*work)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(7);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void work_for_good(void)
{
    limit_time(1);
    for (volatile unsigned n = 0;; n++) {
    }
}

static void wait_longer(void) // as a process does that gets no core
{
    limit_time(1);
    nanosleep(&(struct timespec){1, 500000000}, NULL);
}

static void work_without_a_limit(void) // the one before is gone
{
    limit_time(1);
    limit_time(0);
    while (clock() < CLOCKS_PER_SEC + CLOCKS_PER_SEC / 2) {
    }
}

static void crash(void)
{
    limit_time(1);
    raise(SIGKILL);
}

TEST(limit_ends_who_works)
{
    int status = status_of(work_for_good);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
    assert_true(limit_was_met(status));
}

TEST(limit_ends_nobody_who_waits)
{
    int status = status_of(wait_longer);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_false(limit_was_met(status));
}

TEST(limit_can_be_taken_back)
{
    int status = status_of(work_without_a_limit);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(limit_is_not_blamed_for_a_crash)
{
    assert_false(limit_was_met(status_of(crash)));
}
