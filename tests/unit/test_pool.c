// The threads of the cpu device: parts are done once, those that join late find nothing, and a
// child of a fork has its own.
#include "test.h"

#include "dev/cpu/cpu.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, PARTS = 1000, ROUNDS = 200, FORKS = 40, SECONDS_OF_CHILD = 60 };

typedef struct shared_parts {
    atomic_uint next, done[PARTS], joined[THREADS];
    atomic_bool is_over, was_late;
} shared_parts;

static void do_parts(void *user, uint32_t index)
{
    shared_parts *r = user;
    atomic_fetch_add(&r->joined[index], 1);
    for (uint32_t part; (part = atomic_fetch_add(&r->next, 1)) < PARTS;)
        atomic_fetch_add(&r->done[part], 1);
    if (r->is_over)
        r->was_late = true;
}

TEST(pool_does_every_part_once)
{
    static shared_parts rounds[ROUNDS]; // each its own: a thread that comes too late would be seen
    for (uint32_t n = 0; n < ROUNDS; n++) {
        shared_parts *r = &rounds[n];
        pool_run(THREADS, do_parts, r);
        r->is_over = true;
        for (uint32_t part = 0; part < PARTS; part++)
            assert_int_equal(r->done[part], 1);
        assert_int_equal(r->joined[0], 1);
        for (uint32_t i = 1; i < THREADS; i++)
            assert_true(r->joined[i] <= 1);
    }
    for (uint32_t n = 0; n < ROUNDS; n++)
        assert_true(!rounds[n].was_late);
}

static atomic_uint companions;

// The caller's part lasts until somebody else has joined, or half a minute.
static void wait_for_company(void *user, uint32_t index)
{
    (void)user;
    if (index)
        atomic_fetch_add(&companions, 1);
    for (int n = 0; !companions && n < 3000; n++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

TEST(pool_gets_company)
{
    pool_run(THREADS, wait_for_company, NULL);
    assert_true(companions > 0);
}

static void nothing(void *user, uint32_t index)
{
    (void)user, (void)index;
}

// The parent's threads wait when it forks; what they wait for must not count them in the child.
TEST(pool_after_a_fork)
{
#ifdef __SANITIZE_THREAD__
    SKIP("ThreadSanitizer starts no threads in the child of a process that has some");
#endif
    for (int n = 0; n < FORKS; n++) {
        pool_run(THREADS, nothing, NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(SECONDS_OF_CHILD); // a child that hangs is ended
            for (int round = 0; round < 3; round++)
                pool_run(THREADS, nothing, NULL);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}
