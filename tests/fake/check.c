// The CUDA paths of the runtime on a driver that runs nothing (libcuda.c): what is said when the
// driver, the GPU or the memory is not as it should be, and that nothing crashes or leaks then.
// Each case runs in a process of its own with its own FAKE_CUDA.
//     check FAKE_LIBRARY
#include "api.h"
#include <kiln/hostcall.h>

#include "back/channel.h"
#include "dev/cuda/abi.h"
#include "rt/channel/mailbox_call.h"
#include "rt/channel/print_room.h"

#include <sys/wait.h>
#include <unistd.h>

#include "plays.h"

static const char source[] = "#include <kiln/kernel.h>\n"
                             "kernel block(64) void first(i32 *x) { x[thread_x()] = 1; }\n"
                             "kernel block(64) void second(i32 *x) { x[thread_x()] = 2; }\n"
                             "kernel block(64) void speaks(i32 *x) { assert(x[0] == 0); }\n";

typedef struct fixture {
    kiln *k;
    kiln_module *m;
    kiln_buffer *x;
    kiln_arg args[1];
} fixture;

static bool set_up(fixture *f)
{
    memset(f, 0, sizeof *f);
    CHECK(!kiln_open("cuda", &f->k));
    if (!f->k)
        return false;
    f->m = api_compile(f->k, source, 0);
    CHECK(!kiln_buffer_new(f->k, KILN_I32, 64, &f->x));
    f->args[0] = kiln_arg_buffer(f->x);
    return f->m && f->x;
}

static void refuses(kiln_status status, const char *code, const char *words)
{
    kiln *k = NULL;
    EXPECT(kiln_open("cuda", &k), status, code, words);
    CHECK(!k && !kiln_open(NULL, &k) &&
          strncmp(kiln_device_name(k), "cuda", 4) != 0); // the best that is usable
    kiln_close(k);
}

static void no_library(void)
{
    refuses(KILN_E_NOT_FOUND, "K6031", "no NVIDIA driver");
}
static void old_driver(void)
{
    refuses(KILN_E_NOT_FOUND, "K6031", "too old: it knows CUDA 11.0");
}
static void no_start(void)
{
    refuses(KILN_E_NOT_FOUND, "K6031", "does not start");
}
static void missing_entry(void)
{
    refuses(KILN_E_NOT_FOUND, "K6031", "has no cuLaunchKernel");
}
static void no_gpu(void)
{
    refuses(KILN_E_NOT_FOUND, "K6031", "finds no GPU");
}
static void old_gpu(void)
{
    refuses(KILN_E_UNSUPPORTED, "K6032", "sm_61, Kiln needs sm_75");
}

static void second_gpu(void)
{
    kiln *k = NULL;
    EXPECT(kiln_open("cuda:1", &k), KILN_E_NOT_FOUND, "K6001", "this machine has 1 GPU");
    EXPECT(kiln_open("cuda:x", &k), KILN_E_NOT_FOUND, "K6001", "no device 'cuda:x'");
    CHECK(kiln_device_count() >= 2 && !kiln_open(NULL, &k) &&
          !strcmp(kiln_device_name(k), "cuda:0"));
    kiln_close(k);
}

static void two_gpus(void)
{
    kiln *a = NULL, *b = NULL;
    kiln_buffer *x = NULL, *y = NULL;
    int32_t in[4] = {1, 2, 3, 4}, out[4] = {0};
    kiln_copy_desc copy;
    CHECK(!kiln_open("cuda:0", &a) && !kiln_open("cuda:1", &b) && kiln_device_count() >= 3);
    CHECK(!kiln_buffer_new(a, KILN_I32, 4, &x) && !kiln_buffer_new(b, KILN_I32, 4, &y) &&
          !kiln_write(x, 0, in, 4));
    memset(&copy, 0, sizeof copy);
    copy.to = y;
    copy.from = x;
    copy.count = 4;
    CHECK(!kiln_copy(&copy) && !kiln_read(y, 0, out, 4) && !memcmp(in, out, sizeof in));
    kiln_close(a);
    kiln_close(b);
}

static void plain_use(void)
{
    fixture f;
    if (!set_up(&f))
        return;
    for (int i = 0; i < 100; i++)
        CHECK(!api_launch(api_kernel(f.m, "first"), 1, 0, f.args, 1));
    CHECK(!api_launch(api_kernel(f.m, "speaks"), 1, 0, f.args, 1) && !kiln_sync(f.k));
    CHECK(strstr(kiln_module_code(f.m, NULL), ".entry first("));
    kiln_close(f.k);
}

// Recursion needs a stack that the driver is asked for; this one gives 512 KiB.
static void deep_recursion(void)
{
    static const char calls[] =
        "static i32 sum(i32 n) { return n ? n + sum(n - 1) : 0; }\n"
        "static recursion(60000) i32 far(i32 n) { return n ? n + far(n / 2) : 0; }\n"
        "kernel block(64) void shallow(i32 *x) { x[thread_x()] = sum(x[0]); }\n"
        "kernel block(64) void deep(i32 *x) { x[thread_x()] = far(x[0]); }\n";
    fixture f;
    if (!set_up(&f))
        return;
    kiln_module *m = api_compile(f.k, calls, 0);
    CHECK(strstr(kiln_module_code(m, NULL), "call.uni (result), $fn_sum"));
    CHECK(!api_launch(api_kernel(m, "shallow"), 1, 0, f.args, 1));
    EXPECT(api_launch(api_kernel(m, "deep"), 1, 0, f.args, 1), KILN_E_DRIVER, "K6034",
           "bytes of stack a thread, which the recursion of kernel 'deep' may need");
    CHECK(!api_launch(api_kernel(m, "shallow"), 1, 0, f.args, 1) && !kiln_sync(f.k));
    kiln_close(f.k);
}

static void out_of_memory(void)
{
    fixture f;
    kiln_buffer *big = NULL, *more = NULL;
    kiln_buffer_desc desc;
    if (!set_up(&f))
        return;
    memset(&desc, 0, sizeof desc);
    desc.type = KILN_F32;
    desc.count = 180000;
    desc.name = "weights";
    CHECK(!kiln_buffer_make(f.k, &desc, &big));
    EXPECT(kiln_buffer_new(f.k, KILN_F64, 100000, &more), KILN_E_NO_MEMORY, "K6004",
           "781.2 KiB (f64[100000])");
    CHECK(strstr(kiln_last_error(f.k)->text, "weights f32[180000]") &&
          strstr(kiln_last_error(f.k)->text, "i32[64]"));
    kiln_buffer_free(big);
    CHECK(!kiln_buffer_new(f.k, KILN_F64, 100000, &more));
    kiln_close(f.k);
}

static void jit_refuses(void)
{
    kiln *k = NULL;
    kiln_module *m = NULL;
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = source;
    CHECK(!kiln_open("cuda", &k));
    EXPECT(kiln_compile(k, &desc, &m), KILN_E_DRIVER, "K6033", "the fake compiler takes nothing");
    kiln_close(k);
}

static void no_linker(void)
{
    fixture f;
    if (set_up(&f))
        CHECK(!api_launch(api_kernel(f.m, "first"), 1, 0, f.args, 1));
    kiln_close(f.k);
}

// A kernel that changes its register count is not linked: the linker's compiler ignores that.
static void own_registers(void)
{
    static const char text[] = "#include <kiln/kernel.h>\n"
                               "kernel block(256) void f(u32 *x)\n"
                               "{ if (warp() < 4) registers_more(240); else registers_less(40);\n"
                               "  x[thread_x()] = 1; }\n";
    char path[] = "/tmp/kiln-fake-XXXXXX", log[256] = "";
    int file = mkstemp(path);
    kiln *k = NULL;
    kiln_module *m = NULL;
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = text;
    setenv("FAKE_CUDA_LOG", path, 1);
    CHECK(file >= 0 && !kiln_open("cuda", &k));
    CHECK(!kiln_compile(k, &desc, &m));
    CHECK(read(file, log, sizeof log - 1) > 0 && strstr(log, "load taken") &&
          !strstr(log, "compile ptx"));
    kiln_close(k);
    close(file);
    remove(path);
}

// What the driver's log has after one compile: a copy to free.
static char *log_of_compile(const char *text, int optimise)
{
    char path[] = "/tmp/kiln-fake-XXXXXX";
    char *log = calloc(1, 4096);
    int file = mkstemp(path);
    kiln *k = NULL;
    kiln_module *m = NULL;
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = text;
    desc.optimise = optimise;
    setenv("FAKE_CUDA_LOG", path, 1);
    CHECK(log && file >= 0 && !kiln_open("cuda", &k));
    CHECK(!kiln_compile(k, &desc, &m));
    CHECK(log && read(file, log, 4095) > 0);
    kiln_close(k);
    close(file);
    remove(path);
    return log;
}

// At -O0 the driver's compiler is told not to optimise, linked or loaded as text; else nothing is
// said and its own level holds. A module whose functions call themselves is not linked
// (docs/assembler.md).
static void plain_stays_plain(void)
{
    static const char linked[] = "#include <kiln/kernel.h>\n"
                                 "kernel block(256) void f(u32 *x) { x[thread_x()] = 1; }\n";
    static const char loaded[] = "#include <kiln/kernel.h>\n"
                                 "kernel block(256) void f(u32 *x)\n"
                                 "{ if (warp() < 4) registers_more(240); else registers_less(40);\n"
                                 "  x[thread_x()] = 1; }\n";
    static const char calls[] = "#include <kiln/kernel.h>\n"
                                "static u32 fib(u32 n)\n"
                                "{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
                                "kernel block(256) void f(u32 *x) { x[thread_x()] = fib(x[0]); }\n";
    static const char around[] =
        "#include <kiln/kernel.h>\n"
        "static u32 odd(u32 n);\n"
        "static u32 even(u32 n) { return n ? odd(n - 1) : 1; }\n"
        "static u32 odd(u32 n) { return n ? even(n - 1) : 0; }\n"
        "kernel block(256) void f(u32 *x) { x[thread_x()] = odd(x[0]); }\n";
    static const char leaf[] = "#include <kiln/kernel.h>\n"
                               "noinline static u32 next(u32 n) { return n + 1; }\n"
                               "kernel block(256) void f(u32 *x) { x[thread_x()] = next(x[0]); }\n";
    static const struct {
        const char *text;
        bool is_linked;
    } rows[] = {{linked, true}, {loaded, false}, {calls, false}, {around, false}, {leaf, true}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        char *plain = log_of_compile(rows[n].text, -1),
             *optimised = log_of_compile(rows[n].text, 0);
        CHECK((strstr(plain, "compile ptx") != NULL) == rows[n].is_linked);
        CHECK((strstr(optimised, "compile ptx") != NULL) == rows[n].is_linked);
        CHECK(strstr(plain, "level given 0 "));
        CHECK(!strstr(optimised, "level"));
        free(plain);
        free(optimised);
    }
}

// A driver needs half a millisecond to tell a clock: it is asked when the device is opened, and not
// for every kernel that is compiled or loaded.
static void asked_once(void)
{
    char path[] = "/tmp/kiln-fake-XXXXXX", log[512] = "";
    int file = mkstemp(path);
    fixture f;
    kiln_device_info facts;
    setenv("FAKE_CUDA_LOG", path, 1);
    CHECK(file >= 0);
    if (!set_up(&f))
        return;
    CHECK(api_compile(f.k, source, 0));
    CHECK(!kiln_device_info_of(f.k, &facts) && facts.clock_khz == 1);
    CHECK(read(file, log, sizeof log - 1) > 0);
    const char *asked = strstr(log, "ask clock");
    CHECK(asked && !strstr(asked + 1, "ask clock"));
    kiln_close(f.k);
    close(file);
    remove(path);
}

static kiln_status launch_in_clusters(kiln_kernel *kernel, const kiln_arg *args, uint32_t blocks)
{
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 4;
    desc.cluster[0] = blocks;
    desc.args = args;
    desc.arg_count = 1;
    return kiln_launch(kernel, &desc);
}

// Clusters of one block are none; others are refused before the driver hears of them.
static void no_clusters(void)
{
    static const char text[] = "#include <kiln/kernel.h>\n"
                               "kernel block(64) cluster(1) void one(i32 *x) { x[0] = 1; }\n"
                               "kernel block(64) cluster(2) void other(i32 *x)\n"
                               "{ if (target_sm() >= 90) x[0] = 1; }\n";
    static const char wrong[] = "#include <kiln/kernel.h>\n"
                                "kernel block(64) cluster(2) void two(i32 *x) { x[0] = 1; }\n";
    char path[] = "/tmp/kiln-fake-XXXXXX", log[512] = "";
    int file = mkstemp(path);
    fixture f;
    kiln_module *m = NULL;
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    setenv("FAKE_CUDA_LOG", path, 1);
    if (!set_up(&f))
        return;
    desc.source = wrong;
    EXPECT(kiln_compile(f.k, &desc, &m), KILN_E_COMPILE, "K4301", "needs sm_90 or newer");
    CHECK(kiln_last_error(f.k)->line == 2);
    m = api_compile(f.k, text, 0);
    EXPECT(api_launch(api_kernel(m, "other"), 4, 0, f.args, 1), KILN_E_UNSUPPORTED, "K6038",
           "clusters of 2 x 1 x 1 blocks: cuda:0 has no clusters");
    EXPECT(launch_in_clusters(api_kernel(f.m, "first"), f.args, 4), KILN_E_UNSUPPORTED, "K6038",
           "clusters of 4 x 1 x 1 blocks");
    CHECK(!api_launch(api_kernel(m, "one"), 4, 0, f.args, 1));
    CHECK(!launch_in_clusters(api_kernel(f.m, "first"), f.args, 1));
    CHECK(read(file, log, sizeof log - 1) > 0 && strstr(log, "launch") &&
          !strstr(log, "attribute"));
    kiln_close(f.k);
    close(file);
    remove(path);
}

static void launch_refused(void)
{
    fixture f;
    if (set_up(&f))
        EXPECT(api_launch(api_kernel(f.m, "first"), 3, 0, f.args, 1), KILN_E_LAUNCH, "K6034",
               "grid 3 x 1 x 1, block 64 x 1 x 1");
    CHECK(!strcmp(kiln_last_error(f.k)->kernel, "first") && kiln_last_error(f.k)->line == 2);
    CHECK(strstr(kiln_last_error(f.k)->text, "\n  at test.c:2"));
    kiln_close(f.k);
}

// The 264th launch dies; the GPU has said that 256 had ended.
static void fault(void)
{
    fixture f;
    if (!set_up(&f))
        return;
    kiln_kernel *first = api_kernel(f.m, "first"), *second = api_kernel(f.m, "second");
    for (int i = 0; i < 264; i++)
        CHECK(!api_launch(i < 256 ? first : second, 2, 0, f.args, 1));
    EXPECT(kiln_sync(f.k), KILN_E_KERNEL, "K6035",
           "kernel 'second' failed on cuda:0: it used memory that is not its own; grid 2 x 1 x 1");
    CHECK(strstr(kiln_last_error(f.k)->text, "earliest launch that had not ended") &&
          strstr(kiln_last_error(f.k)->text, "\n  at test.c:3") && kiln_last_error(f.k)->line == 3);
    EXPECT(kiln_sync(f.k), KILN_E_DRIVER, "K6036", "is lost since: kernel 'second'");
    int32_t got;
    kiln_buffer *none = NULL;
    EXPECT(kiln_read(f.x, 0, &got, 1), KILN_E_DRIVER, "K6036", "lost");
    EXPECT(kiln_buffer_new(f.k, KILN_I32, 1, &none), KILN_E_DRIVER, "K6036", "lost");
    EXPECT(api_launch(first, 1, 0, f.args, 1), KILN_E_DRIVER, "K6036", "lost");
    kiln_close(f.k);
    kiln *again = NULL;
    EXPECT(kiln_open("cuda", &again), KILN_E_DRIVER, "K6036", "lost for this process");
    CHECK(!again && !kiln_open("interp", &again));
    kiln_close(again);
}

// With KILN_CHECK=launches the kernel is known exactly.
static void exact_fault(void)
{
    fixture f;
    if (!set_up(&f))
        return;
    for (int i = 0; i < 5; i++)
        CHECK(!api_launch(api_kernel(f.m, i < 4 ? "first" : "second"), 2, 0, f.args, 1));
    EXPECT(kiln_sync(f.k), KILN_E_KERNEL, "K6035",
           "kernel 'second' failed on cuda:0: it used memory that is not its own; grid 2 x 1 x 1, "
           "block 64 x 1 x 1 [");
    kiln_close(f.k);
}

// Launches of several streams: the one that was given first is named, whatever its stream.
static void fault_of_stream(void)
{
    fixture f;
    kiln_stream *a = NULL, *b = NULL;
    kiln_launch_desc desc;
    if (!set_up(&f))
        return;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 1;
    desc.args = f.args;
    desc.arg_count = 1;
    CHECK(!kiln_stream_new(f.k, 0, &a) && !kiln_stream_new(f.k, 0, &b));
    desc.stream = a;
    CHECK(!kiln_launch(api_kernel(f.m, "second"), &desc) && !kiln_stream_sync(a)); // it has ended
    CHECK(!kiln_launch(api_kernel(f.m, "first"), &desc));
    desc.stream = NULL;
    CHECK(!kiln_launch(api_kernel(f.m, "second"), &desc));
    desc.stream = b;
    CHECK(!kiln_launch(api_kernel(f.m, "speaks"), &desc));
    EXPECT(kiln_sync(f.k), KILN_E_KERNEL, "K6035", "kernel 'first' failed on cuda:0");
    CHECK(strstr(kiln_last_error(f.k)->text,
                 "the earliest launch that had not ended, the others: 'second' 'speaks' ["));
    CHECK(!strcmp(kiln_last_error(f.k)->kernel, "first") && kiln_last_error(f.k)->line == 2);
    kiln_close(f.k);
}

// A graph, then a kernel that dies.
static void launch_after_graph(fixture *f)
{
    kiln_graph *g = NULL;
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 1;
    desc.args = f->args;
    desc.arg_count = 1;
    CHECK(!kiln_graph_new(f->k, &g) &&
          !kiln_graph_add(g, api_kernel(f->m, "first"), &desc, NULL, 0, NULL));
    CHECK(!kiln_graph_launch(g, NULL) && !kiln_launch(api_kernel(f->m, "second"), &desc));
}

static void fault_after_graph(void)
{
    fixture f;
    if (!set_up(&f))
        return;
    launch_after_graph(&f);
    EXPECT(kiln_sync(f.k), KILN_E_KERNEL, "K6035",
           "it is the earliest launch that had not ended, the others: 'second' [");
    kiln_close(f.k);
}

static void exact_fault_after_graph(void)
{
    fixture f;
    if (!set_up(&f))
        return;
    launch_after_graph(&f);
    EXPECT(kiln_sync(f.k), KILN_E_KERNEL, "K6035",
           "kernel 'second' failed on cuda:0: it used memory that is not its own; grid 1 x 1 x 1, "
           "block 64 x 1 x 1 [");
    kiln_close(f.k);
}

// --- drivers without some entry point
// A call that may need what the driver lacks: it works, or says that the driver is too old.
static bool can_or_says(kiln_status status)
{
    return !status ||
           (status == KILN_E_UNSUPPORTED && !strcmp(kiln_last_error(NULL)->code, "K6038"));
}

static void use_graphs(const fixture *f, const kiln_launch_desc *desc)
{
    kiln_kernel *first = api_kernel(f->m, "first");
    kiln_graph *captured = NULL, *by_hand = NULL;
    kiln_launch_desc in_stream = *desc;
    kiln_stream *s = NULL;
    CHECK(!kiln_stream_new(f->k, 0, &s));
    in_stream.stream = s;
    kiln_status status = kiln_capture_begin(s);
    CHECK(can_or_says(status));
    if (!status) {
        CHECK(!kiln_launch(first, &in_stream) && !kiln_capture_end(s, &captured));
        CHECK(!kiln_graph_launch(captured, s) && !kiln_capture_begin(s));
        CHECK(!kiln_launch(first, &in_stream) && can_or_says(kiln_capture_update(s, captured)));
    }
    CHECK(can_or_says(kiln_graph_new(f->k, &by_hand)));
    if (by_hand) {
        CHECK(can_or_says(kiln_graph_add(by_hand, first, desc, NULL, 0, NULL)));
        CHECK(can_or_says(kiln_graph_launch(by_hand, NULL)));
        CHECK(can_or_says(kiln_graph_set(by_hand, 0, desc)));
    }
    CHECK(!kiln_stream_sync(s));
}

static void use_memory(const fixture *f)
{
    kiln_memory_info info;
    kiln_buffer *b = NULL;
    int32_t got[64];
    CHECK(!kiln_read(f->x, 0, got, 64) && !kiln_memory_info_of(f->k, &info));
    CHECK(!kiln_buffer_new(f->k, KILN_F32, 1000, &b));
    kiln_buffer_free(b);
    CHECK(!kiln_memory_trim(f->k));
    kiln_tensor_map map;
    kiln_tensor_map_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.buffer = f->x;
    desc.rank = 1;
    desc.size[0] = 64;
    desc.box[0] = 32;
    CHECK(can_or_says(kiln_tensor_map_make(f->k, &desc, &map)));
}

// Whatever a driver of CUDA 11.4 may lack: kernels run, and nothing crashes.
static void use_everything(void)
{
    fixture f;
    kiln_launch_desc desc;
    if (!set_up(&f))
        return;
    kiln_kernel *first = api_kernel(f.m, "first");
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 2;
    desc.args = f.args;
    desc.arg_count = 1;
    for (int i = 0; i < 300; i++)
        CHECK(!kiln_launch(first, &desc));
    CHECK(!kiln_sync(f.k));
    use_memory(&f);
    use_graphs(&f, &desc);
    desc.overlaps_previous = true;
    CHECK(!kiln_launch(first, &desc));
    desc.is_cooperative = true;
    CHECK(can_or_says(kiln_launch(first, &desc)));
    desc.is_cooperative = false;
    desc.cluster[0] = 2;
    CHECK(can_or_says(kiln_launch(first, &desc)));
    CHECK(!kiln_sync(f.k));
    kiln_close(f.k);
}

// An entry point that every supported driver has: the device is refused, or does without.
static void use_or_refuse(void)
{
    kiln *k = NULL;
    kiln_status status = kiln_open("cuda", &k);
    kiln_close(k);
    if (status)
        refuses(KILN_E_NOT_FOUND, "K6031", "the NVIDIA driver is too old or incomplete");
    else
        use_everything();
}

static const struct {
    const char *name;
    int version;
} entries[] = {
#define E(field, name, version, symbol, arguments) {name, version},
    CUDA_ENTRIES(E)
#undef E
};

// Addresses that the driver does not know or that are another GPU's; a context of another GPU; host
// memory that is pinned already, and stays pinned.
static void foreign_memory(void)
{
    kiln *k = api_open("cuda:0"), *other = NULL;
    kiln_buffer *b = NULL, *again = NULL;
    static int32_t numbers[64];
    kiln_wrap_desc desc = {.type = KILN_I32, .count = 64, .address = 1024};
    EXPECT(kiln_buffer_wrap(k, &desc, &b), KILN_E_BAD_ARGUMENT, "K6044", "knows no memory at");
    desc.address = ((uint64_t)1 << 62) + 4096;
    EXPECT(kiln_buffer_wrap(k, &desc, &b), KILN_E_BAD_ARGUMENT, "K6044",
           "of cuda:1, not of cuda:0");
    desc.address = 0;
    desc.host = numbers;
    CHECK(!kiln_buffer_wrap(k, &desc, &b) && !kiln_buffer_wrap(k, &desc, &again));
    kiln_buffer_free(again); // it was not the one that pinned it
    CHECK(!kiln_buffer_wrap(k, &desc, &again));
    kiln_buffer_free(again);
    kiln_buffer_free(b);
    kiln_stream *s = NULL;
    CHECK(!kiln_stream_wrap(k, NULL, &s)); // the default stream
    CHECK(kiln_stream_native(k, s) == NULL && !kiln_stream_sync(s));
    struct {
        int device;
    } context = {1}; // as the fake driver's
    kiln_open_desc on = {.device = "cuda:0", .context = &context};
    EXPECT(kiln_open_on(&on, &other), KILN_E_BAD_ARGUMENT, "K6044", "of GPU 1, not of cuda:0");
    on.device = "cuda:1";
    CHECK(!other && !kiln_open_on(&on, &other));
    kiln_close(other);
    kiln_close(k);
}

// Lines that are read while the kernel runs: more than the ring holds, in whole and in order.
enum { LIVE_LINES = 40000 };

static void play_lines(const char *kernel, void **params)
{
    uint64_t at;
    (void)kernel;
    memcpy(&at, params[1], sizeof at);
    for (uint32_t n = 0; n < LIVE_LINES; n++) {
        uint64_t wide = UINT64_C(0x100000000) + n;
        uint32_t words[] = {n, (uint32_t)wide, (uint32_t)(wide >> 32)};
        print_line((print_channel *)(uintptr_t)at, words, 0, 2, 2);
    }
}

// It holds up the thread that reads lines, which kiln_sync would wait for.
static void wait_in_print(void *user, const char *text, size_t len)
{
    int32_t value;
    (void)user, (void)text, (void)len;
    CHECK(kiln_sync(used.k) == KILN_E_BAD_ARGUMENT);
    CHECK(kiln_read(used.x, 0, &value, 1) == KILN_E_BAD_ARGUMENT);
}

static void print_live(void)
{
    char settings[64], line[64];
    size_t len = 0, at = 0;
    uint32_t right = 0;
    snprintf(settings, sizeof settings, "play=0x%llx", (unsigned long long)(uintptr_t)play_lines);
    setenv("FAKE_CUDA", settings, 1);
    kiln *k = api_open("cuda");
    kiln_module *m = api_compile(k,
                                 "#include <kiln/kernel.h>\n"
                                 "kernel block(1) void says(u32 n)\n"
                                 "{ printf(\"line %u, %llu\\n\", n, (u64)n); }\n",
                                 0);
    kiln_arg args[1] = {kiln_arg_i64(KILN_U32, 1)};
    for (int round = 0; round < 2; round++) {
        CHECK(!api_launch(api_kernel(m, "says"), 1, 0, args, 1) && !kiln_sync(k));
        const char *text = kiln_printed(k, &len);
        for (right = 0, at = 0; right < LIVE_LINES; right++) {
            size_t n =
                (size_t)snprintf(line, sizeof line, "line %u, %llu\n", right, (1ull << 32) + right);
            if (at + n > len || memcmp(text + at, line, n) != 0)
                break;
            at += n;
        }
        CHECK(right == LIVE_LINES && at == len);
    }
    used.k = k;
    CHECK(!kiln_buffer_new(k, KILN_I32, 1, &used.x));
    kiln_on_print(k, wait_in_print, NULL);
    CHECK(!api_launch(api_kernel(m, "says"), 1, 0, args, 1) && !kiln_sync(k));
    kiln_close(k);
}

// Shared memory for objects of calls, as much as takes nothing from the blocks that run together.
static void ring(void)
{
    static const char text[] = "#include <kiln/kernel.h>\n"
                               "host void take(counted(n) const u8 *bytes, u32 n);\n"
                               "%s"
                               "kernel block(32) void sends(u8 *x) { take(x, 5); }\n"
                               "kernel block(32) void quiet(u8 *x) { x[0] = 1; }\n";
    static const char dynamic[] = "kernel block(32) void has(u8 *x) { shared u8 own[]; own[x[1]] = "
                                  "1; barrier(); x[0] = own[x[2]]; }\n";
    static const struct {
        uint32_t grid, bytes;
    } rows[] = {{1, 192 << 10},  {66, 192 << 10}, {67, 48 << 10}, {132, 48 << 10},
                {264, 24 << 10}, {265, 0},        {5000, 0},      {9, 192 << 10}};
    char path[] = "/tmp/kiln-fake-XXXXXX", code[1024], line[64], log[512];
    int file = mkstemp(path);
    kiln *k = api_open("cuda");
    bool is_hopper = !strstr(getenv("FAKE_CUDA"), "sm=80");
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "take", .call = tell, .user = &heard}));
    kiln_buffer *x = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U8, 64, &x));
    kiln_arg args[1] = {kiln_arg_buffer(x)};
    for (int has_dynamic = 0; has_dynamic < 2; has_dynamic++) {
        snprintf(code, sizeof code, text, has_dynamic ? dynamic : "");
        kiln_module *m = api_compile(k, code, 0);
        for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
            CHECK(!ftruncate(file, 0));
            setenv("FAKE_CUDA_LOG", path, 1);
            CHECK(!api_launch(api_kernel(m, "sends"), rows[n].grid, 0, args, 1));
            CHECK(!api_launch(api_kernel(m, "quiet"), rows[n].grid, 0, args, 1));
            unsetenv("FAKE_CUDA_LOG");
            memset(log, 0, sizeof log);
            CHECK(pread(file, log, sizeof log - 1, 0) > 0);
            bool has_ring = is_hopper && !has_dynamic && rows[n].bytes;
            snprintf(line, sizeof line, "shared sends %u %u\n", rows[n].grid, rows[n].bytes);
            CHECK((strstr(log, line) != NULL) == has_ring);
            CHECK((strstr(log, "shared ") != NULL) == has_ring && !strstr(log, "shared quiet"));
            CHECK(!strstr(log, "no global") && (n || strstr(log, "global ")));
        }
        kiln_module_free(m);
    }
    kiln_close(k);
    close(file);
    remove(path);
}

static void no_mapping(void)
{
    kiln *k = api_open("cuda");
    kiln_module *m = api_compile(k, calling, 0);
    kiln_buffer *x = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &x));
    kiln_arg args[1] = {kiln_arg_buffer(x)};
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "twice", .call = twice}));
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "tell", .call = tell, .user = &heard}));
    EXPECT(api_launch(api_kernel(m, "calls"), 1, 0, args, 1), KILN_E_UNSUPPORTED, "K6047",
           "does not map memory of the host");
    kiln_close(k);
}

// --- all cases
typedef struct fake_case {
    const char *name, *settings; // settings NULL: there is no library
    void (*run)(void);
} fake_case;

static const fake_case cases[] = {
    {"no library", NULL, no_library},
    {"old driver", "old", old_driver},
    {"driver does not start", "init", no_start},
    {"missing entry", "missing=cuLaunchKernel", missing_entry},
    {"no gpu", "nodevice", no_gpu},
    {"old gpu", "sm=61", old_gpu},
    {"second gpu", "gpus=1", second_gpu},
    {"two gpus", "gpus=2", two_gpus},
    {"foreign memory", "gpus=2", foreign_memory},
    {"host calls", "", host_calls},
    {"host functions that wait", "", host_waits},
    {"lines while a kernel runs", "", print_live},
    {"lines before calls", "", lines_before_calls},
    {"host calls without mapping", "nomap", no_mapping},
    {"a ring for calls", "", ring},
    {"no ring for calls", "sm=80", ring},
    {"plain use", "", plain_use},
    {"deep recursion", "", deep_recursion},
    {"without pools", "nopool", plain_use},
    {"without cuLaunchKernelEx", "missing=cuLaunchKernelEx", plain_use},
    {"driver of CUDA 11.4", "driver=11040,sm=80", use_everything},
    {"driver of CUDA 11.4, newer gpu", "driver=11040", use_everything},
    {"driver of CUDA 11.8", "driver=11080", use_everything},
    {"out of memory", "memory=1000000", out_of_memory},
    {"jit refuses", "jit", jit_refuses},
    {"no linker", "nolink", no_linker},
    {"own registers", "", own_registers},
    {"plain stays plain", "", plain_stays_plain},
    {"asked once", "", asked_once},
    {"no clusters", "sm=80", no_clusters},
    {"launch refused", "launch=701", launch_refused},
    {"fault", "fault=264", fault},
    {"lines of a lost GPU", "", lost_lines},
    {"exact fault", "fault=5", exact_fault},
    {"fault of a stream", "fault=4", fault_of_stream},
    {"fault after a graph", "fault=1", fault_after_graph},
    {"exact fault after a graph", "fault=1", exact_fault_after_graph},
};

static bool passes(const fake_case *c, const char *library)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv("KILN_CUDA_LIBRARY", c->settings ? library : "/nowhere/libcuda.so", 1);
        setenv("FAKE_CUDA", c->settings ? c->settings : "", 1);
        setenv("KILN_CACHE", "off", 1);
        if (!strncmp(c->name, "exact", 5))
            setenv("KILN_CHECK", "launches", 1);
        unsetenv("KILN_DEVICE");
        c->run();
        exit(api_failed != 0 || !api_passed); // the leak checker runs at exit
    }
    if (child > 0)
        waitpid(child, &status, 0);
    if (status)
        printf("^ case '%s' failed (status %d)\n", c->name, status);
    return !status;
}

int main(int argc, char **argv)
{
    const char *library = argc > 1 ? argv[1] : "";
    int passed = 0, failed = 0;
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++)
        *(passes(&cases[n], library) ? &passed : &failed) += 1;
    for (size_t n = 0; n < sizeof entries / sizeof entries[0]; n++) {
        char settings[128];
        snprintf(settings, sizeof settings, "missing=%s", entries[n].name);
        fake_case c = {settings, settings,
                       entries[n].version > CUDA_MINIMUM ? use_everything : use_or_refuse};
        *(passes(&c, library) ? &passed : &failed) += 1;
    }
    printf("fake: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
