// Contexts in different threads do not meet; a launch can be cancelled from outside; grids give the
// same result on any number of host threads.
#include "api.h"

#include <pthread.h>
#include <time.h>

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(64) void sum(const i32 *x, i32 *total, u32 n) {\n"
    "    u32 i = global_x();\n"
    "    if (i < n)\n"
    "        atomic_add(total, x[i]);\n"
    "}\n"
    "kernel block(64) void ticket(u32 *next, u32 *order) {\n"
    "    shared u32 mine;\n"
    "    if (thread_x() == 0)\n"
    "        mine = atomic_add(next, 1);\n"
    "    barrier();\n"
    "    order[block_x() * 64 + thread_x()] = mine;\n"
    "}\n"
    "kernel block(64) void flag(i32 *x) {\n"
    "    shared i32 ready;\n"
    "    if (warp() == 1 && lane() == 0) atomic_store(&ready, 1);\n"
    "    if (warp() == 0) while (atomic_load(&ready) == 0) { }\n"
    "    x[thread_x()] = 1;\n"
    "}\n"
    "kernel block(1) void forever(i32 *x) { while (atomic_load(x) == 0) { } }\n";

static void *one_context(void *unused)
{
    (void)unused;
    kiln *k = NULL;
    kiln_buffer *x, *total;
    if (kiln_open(NULL, &k))
        return NULL;
    kiln_module *m = api_compile(k, source, 0);
    enum { N = 5000 };
    static const int32_t one = 1;
    int32_t got = 0;
    if (!m || kiln_buffer_new(k, KILN_I32, N, &x) || kiln_buffer_new(k, KILN_I32, 1, &total) ||
        kiln_fill(x, &one))
        return NULL;
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_buffer(total), kiln_arg_i64(KILN_U32, N)};
    bool fine = !api_launch(api_kernel(m, "sum"), (N + 63) / 64, 0, args, 3);
    // A refused launch of this thread is not seen by the others.
    fine = fine && api_launch(api_kernel(m, "sum"), 1, 0, args, 2) == KILN_E_LAUNCH;
    fine = fine && strstr(kiln_last_error(NULL)->text, "3 parameters");
    fine = fine && !kiln_read(total, 0, &got, 1) && got == N;
    kiln_close(k);
    return fine ? k : NULL;
}

static void *cancel_soon(void *context)
{
    struct timespec wait = {0, 50000000};
    nanosleep(&wait, NULL);
    kiln_cancel((kiln *)context);
    return NULL;
}

static void many_contexts(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&ids[i], NULL, one_context, NULL));
    for (int i = 0; i < 4; i++) {
        void *fine = NULL;
        pthread_join(ids[i], &fine);
        CHECK(fine != NULL);
    }
}

static void same_result(void)
{
    static uint32_t order[2][640];
    for (int round = 0; round < 2; round++) {
        setenv("KILN_THREADS", round ? "7" : "1", 1);
        kiln *k = NULL;
        kiln_buffer *next, *out, *x;
        CHECK(!kiln_open(NULL, &k));
        kiln_module *m = api_compile(k, source, 0);
        CHECK(!kiln_buffer_new(k, KILN_U32, 1, &next) && !kiln_buffer_new(k, KILN_U32, 640, &out));
        CHECK(!kiln_buffer_new(k, KILN_I32, 64, &x));
        kiln_arg args[] = {kiln_arg_buffer(next), kiln_arg_buffer(out)};
        CHECK(!api_launch(api_kernel(m, "ticket"), 10, 0, args, 2));
        CHECK(!kiln_read(out, 0, order[round], 640));
        // A warp that waits for another one of its block gets it.
        kiln_arg flag = kiln_arg_buffer(x);
        CHECK(!api_launch(api_kernel(m, "flag"), 1, 0, &flag, 1));
        kiln_close(k);
    }
    setenv("KILN_THREADS", "0", 1);
    CHECK(!memcmp(order[0], order[1], sizeof order[0]) && order[0][639] == 9);
}

static void cancelling(void)
{
    kiln *k = NULL;
    kiln_buffer *x;
    pthread_t id;
    CHECK(!kiln_open(NULL, &k) && !kiln_buffer_new(k, KILN_I32, 1, &x));
    kiln_module *m = api_compile(k, source, 0);
    kiln_arg arg = kiln_arg_buffer(x);
    CHECK(!pthread_create(&id, NULL, cancel_soon, k));
    EXPECT(api_launch(api_kernel(m, "forever"), 3, 0, &arg, 1), KILN_E_CANCELLED, "K6029",
           "cancelled");
    pthread_join(id, NULL);
    int32_t one = 1;
    CHECK(!kiln_fill(x, &one) && !api_launch(api_kernel(m, "forever"), 3, 0, &arg, 1));
    kiln_close(k);
}

int main(void)
{
    many_contexts();
    same_result();
    cancelling();
    return api_done("threads");
}
