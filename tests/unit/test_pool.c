// The threads of the cpu device: work is done once by each, and a child of a fork has its own.
#include "test.h"

#include "dev/cpu/cpu.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, FORKS = 40, SECONDS_OF_CHILD = 60 };

static atomic_uint counts[THREADS];

static void count(void *user, uint32_t index)
{
    (void)user;
    atomic_fetch_add(&counts[index], 1);
}

TEST(pool_does_every_part_once)
{
    for (uint32_t round = 1; round <= 20; round++) {
        pool_run(THREADS, count, NULL);
        for (uint32_t i = 0; i < THREADS; i++)
            assert_int_equal(counts[i], round);
    }
}

// The parent's threads wait when it forks; what they wait for must not count them in the child.
TEST(pool_after_a_fork)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer starts no threads in the child of a process that has some");
#endif
    for (int n = 0; n < FORKS; n++) {
        pool_run(THREADS, count, NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(SECONDS_OF_CHILD); // a child that hangs is ended
            for (int round = 0; round < 3; round++)
                pool_run(THREADS, count, NULL);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}
