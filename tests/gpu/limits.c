// limits: how much and how long: grids of a million blocks and of three dimensions, sizes of 0,
// memory above 4 GiB, kernels that never end.     limits [DEVICE]
//
// Large buffers are never filled: where memory is given out page by page they cost little. A device
// without room for them skips that part and says so.
#include "api.h"
#include <pthread.h>
#include <time.h>

#define GIB ((uint64_t)1 << 30)

static int skipped;

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(32) void count(u32 *total, u32 *seen) {\n"
    "    if (thread_x() == 0) atomic_add(&seen[block_x() & 1023], 1u);\n"
    "    if (global_x() % 1000 == 7) atomic_add(total, 1u);\n"
    "}\n"
    "kernel void place(u32 *out) {\n"
    "    u32 x = block_x() * block_dim_x() + thread_x(), y = block_y() * block_dim_y() + "
    "thread_y();\n"
    "    u32 z = block_z() * block_dim_z() + thread_z();\n"
    "    u32 width = grid_dim_x() * block_dim_x(), height = grid_dim_y() * block_dim_y();\n"
    "    out[(z * height + y) * width + x] = x | y << 10 | z << 20 | 1u << 31;\n"
    "}\n"
    "kernel block(1) void long_axis(u32 *out) { atomic_add(out, block_x() + block_y() + block_z() "
    "+ 1); }\n"
    "kernel void last(u32 *out) { out[0] = thread_x() | thread_y() << 10 | thread_z() << 20; }\n"
    "kernel block(32) void copy(const u32 *x, u32 *out, u32 n) {\n"
    "    u32 i = global_x();\n"
    "    if (i < n) out[i] = x[i] + 1;\n"
    "}\n"
    "kernel block(64) void bytes(u8 *x, u64 step) { x[(u64)thread_x() * step] = (u8)(thread_x() + "
    "1); }\n"
    "kernel block(64) void words(u32 *x, u32 first, i32 back) {\n"
    "    u32 i = first + thread_x();\n"
    "    x[i] = i;\n"
    "    u32 *p = x + i;\n"
    "    p[-back] = x[i] + 1;\n"
    "}\n"
    "kernel block(32) void quads(f32x4 *x, i32 first) {\n"
    "    i32 i = first + (i32)thread_x();\n"
    "    x[i] = (f32x4){(f32)thread_x(), 1.0f, 2.0f, 3.0f};\n"
    "    x[i].w = x[i].x + 0.5f;\n"
    "}\n"
    "kernel block(32) void walk(u32 *x, u32 n, u32 step) {\n"
    "    u32 sum = 0;\n"
    "    for (u32 i = thread_x(); i < n; i += step) { x[i] += 1; sum += x[i]; }\n"
    "    if (thread_x() == 0) x[0] = sum;\n"
    "}\n";

static const char endless_source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(64) void arithmetic(u32 *out) {\n"
    "    u32 x = out[global_x()] + thread_x();\n"
    "    while (x != 0x7fffffffu) x = (x | 1) * 2654435761u & 0x3fffffffu;\n"
    "    out[global_x()] = x;\n"
    "}\n"
    "kernel block(64) void forever(u32 *out) { for (;;) { out[global_x()] += 1; } }\n"
    "kernel block(64) void empty(u32 *out) { for (;;) { } }\n"
    "kernel block(64) void together(u32 *out) {\n"
    "    shared u32 s[64];\n"
    "    for (u32 i = 0;; i++) { s[thread_x()] = i; barrier(); out[global_x()] = s[63 - "
    "thread_x()]; "
    "barrier(); }\n"
    "}\n"
    "kernel block(64) void waiting(u32 *out) { while (atomic_add(&out[64000], 0u) == 0) { } }\n"
    "kernel block(32) void many(u32 *out) { if (thread_x() == 33) out[3] = 1; }\n";

static kiln_status launch(kiln *k, kiln_kernel *kernel, const kiln_launch_desc *shape,
                          const kiln_arg *args, size_t count)
{
    kiln_launch_desc desc = *shape;
    desc.args = args;
    desc.arg_count = count;
    kiln_status status = kiln_launch(kernel, &desc);
    return status ? status : kiln_sync(k);
}

static kiln_buffer *buffer(kiln *k, kiln_type type, size_t count)
{
    kiln_buffer *b = NULL;
    CHECK(!kiln_buffer_new(k, type, count, &b));
    return b;
}

static uint32_t word(const kiln_buffer *b, size_t at)
{
    uint32_t value = 0xdead;
    CHECK(!kiln_read(b, at, &value, 1));
    return value;
}

// --- grids

static void million_blocks(kiln *k, kiln_module *m)
{
    kiln_buffer *total = buffer(k, KILN_U32, 1), *seen = buffer(k, KILN_U32, 1024);
    kiln_arg args[] = {kiln_arg_buffer(total), kiln_arg_buffer(seen)};
    kiln_launch_desc shape = {.grid = {1000000}};
    CHECK(!launch(k, api_kernel(m, "count"), &shape, args, 2));
    CHECK(word(total, 0) == 32000);
    uint32_t counts[1024];
    CHECK(!kiln_read(seen, 0, counts, 1024));
    uint64_t sum = 0;
    for (int i = 0; i < 1024; i++)
        sum += counts[i];
    CHECK(sum == 1000000 && counts[0] == 977 && counts[1023] == 976);
    kiln_buffer_free(total);
    kiln_buffer_free(seen);
}

static void three_dimensions(kiln *k, kiln_module *m)
{
    static const uint32_t shapes[][6] = {{7, 5, 3, 4, 3, 2},
                                         {1, 2, 9, 33, 1, 1},
                                         {2, 1, 4, 1, 7, 5},
                                         {3, 4, 5, 32, 2, 2},
                                         {5, 3, 2, 1, 1, 64}};
    kiln_kernel *place = api_kernel(m, "place");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const uint32_t *at = shapes[s];
        uint32_t size[3] = {at[0] * at[3], at[1] * at[4], at[2] * at[5]},
                 n = size[0] * size[1] * size[2];
        kiln_buffer *out = buffer(k, KILN_U32, n);
        kiln_arg arg = kiln_arg_buffer(out);
        kiln_launch_desc shape = {.grid = {at[0], at[1], at[2]}, .block = {at[3], at[4], at[5]}};
        CHECK(!launch(k, place, &shape, &arg, 1));
        uint32_t *got = malloc(n * sizeof *got), wrong = 0;
        CHECK(got && !kiln_read(out, 0, got, n));
        for (uint32_t i = 0; got && i < n; i++)
            wrong += got[i] != (i % size[0] | i / size[0] % size[1] << 10 |
                                i / size[0] / size[1] << 20 | 1u << 31);
        CHECK(wrong == 0);
        free(got);
        kiln_buffer_free(out);
    }
}

static void largest_dimensions(kiln *k, kiln_module *m)
{
    kiln_kernel *axis = api_kernel(m, "long_axis"), *last = api_kernel(m, "last");
    kiln_buffer *out = buffer(k, KILN_U32, 1);
    kiln_arg arg = kiln_arg_buffer(out);
    uint32_t sum = 0, zero = 0;
    for (uint32_t i = 1; i <= 65535; i++)
        sum += i;
    for (int a = 0; a < 3; a++) {
        kiln_launch_desc shape = {.grid = {1, 1, 1}};
        shape.grid[a] = 65535;
        CHECK(!kiln_write(out, 0, &zero, 1) && !launch(k, axis, &shape, &arg, 1));
        CHECK(word(out, 0) == sum);
        shape.grid[a] = a ? 65536 : 0x80000000u;
        EXPECT(launch(k, axis, &shape, &arg, 1), KILN_E_LAUNCH, "K6015",
               a ? "at most 65535 are possible" : "at most 2147483647 are possible");
    }
    static const uint32_t most[3] = {1024, 1024, 64};
    for (int a = 0; a < 3; a++) {
        kiln_launch_desc shape = {.grid = {1}, .block = {1, 1, 1}};
        shape.block[a] = most[a];
        CHECK(!launch(k, last, &shape, &arg, 1));
        shape.block[a] = most[a] + 1;
        EXPECT(launch(k, last, &shape, &arg, 1), KILN_E_LAUNCH, "K6015", "are possible");
    }
    kiln_launch_desc thick = {.grid = {1}, .block = {64, 32, 1}};
    EXPECT(launch(k, last, &thick, &arg, 1), KILN_E_LAUNCH, "K6015", "2048 threads");
    kiln_launch_desc far = {.items = {(uint64_t)1 << 40}};
    EXPECT(launch(k, axis, &far, &arg, 1), KILN_E_LAUNCH, "K6015", "1099511627776 blocks along x");
    far.items[0] = UINT64_MAX;
    EXPECT(launch(k, axis, &far, &arg, 1), KILN_E_LAUNCH, "K6015", "blocks along x");
    kiln_buffer_free(out);
}

// --- nothing

static void nothing(kiln *k, kiln_module *m)
{
    kiln_kernel *copy = api_kernel(m, "copy");
    kiln_buffer *none = buffer(k, KILN_U32, 0), *some = buffer(k, KILN_U32, 4);
    kiln_arg args[] = {kiln_arg_buffer(none), kiln_arg_buffer(none), kiln_arg_i64(KILN_U32, 0)};
    uint32_t seven = 7;
    CHECK(kiln_buffer_count(none) == 0 && kiln_buffer_bytes(none) == 0);
    CHECK(!kiln_read(none, 0, NULL, 0) && !kiln_write(none, 0, NULL, 0) &&
          !kiln_fill(none, &seven));
    EXPECT(kiln_write(none, 0, &seven, 1), KILN_E_BAD_ARGUMENT, "K6017", "of a buffer of 0");
    kiln_copy_desc move = {.to = none, .from = some};
    CHECK(!kiln_copy(&move));
    kiln_launch_desc one = {.grid = {1}}, no_blocks = {.grid = {0, 5, 5}},
                     no_items = {.items = {0, 3}}, nowhere = {.block = {32}};
    CHECK(!launch(k, copy, &one, args, 3));
    // No threads: nothing is written, and the arguments are looked at all the same.
    args[0] = args[1] = kiln_arg_buffer(some);
    args[2] = kiln_arg_i64(KILN_U32, 4);
    CHECK(!launch(k, copy, &no_blocks, args, 3) && !launch(k, copy, &no_items, args, 3));
    EXPECT(launch(k, copy, &nowhere, args, 3), KILN_E_LAUNCH, "K6015", "neither a grid nor items");
    CHECK(word(some, 0) == 0);
    EXPECT(launch(k, copy, &no_blocks, args, 2), KILN_E_LAUNCH, "K6010", "the launch gives 2");
    one.grid[1] = one.grid[2] = 0; // 0 counts as 1 along y and z
    CHECK(!launch(k, copy, &one, args, 3) && word(some, 0) == 1 && word(some, 3) == 1);
    kiln_buffer_free(none);
    kiln_buffer_free(some);
}

static void nothing_to_read(kiln *k, kiln_module *checked)
{
    kiln_buffer *none = buffer(k, KILN_U32, 0), *some = buffer(k, KILN_U32, 4);
    kiln_arg args[] = {kiln_arg_buffer(none), kiln_arg_buffer(some), kiln_arg_i64(KILN_U32, 1)};
    kiln_launch_desc one = {.grid = {1}};
    EXPECT(launch(k, api_kernel(checked, "copy"), &one, args, 3), KILN_E_KERNEL, "K6020",
           "reads element 0 of 'x', which has 0 elements");
    kiln_buffer_free(none);
    kiln_buffer_free(some);
}

// --- above 4 GiB

// Sets *out to NULL and counts a skip when there is no room.
static bool large(kiln *k, kiln_type type, size_t count, kiln_buffer **out)
{
    if (!kiln_buffer_new(k, type, count, out))
        return true;
    CHECK(kiln_last_error(k)->status == KILN_E_NO_MEMORY);
    printf("skipped: no room for a buffer of %llu bytes\n",
           (unsigned long long)(count * kiln_type_size(type)));
    skipped++;
    return false;
}

static void large_bytes(kiln *k, kiln_module *m, kiln_module *checked)
{
    kiln_buffer *x;
    const uint64_t count = 5 * GIB, step = count / 64;
    if (!large(k, KILN_U8, count, &x))
        return;
    kiln_launch_desc one = {.grid = {1}};
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_i64(KILN_U64, (int64_t)step)};
    CHECK(!launch(k, api_kernel(m, "bytes"), &one, args, 2));
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < 64; i++) {
        uint8_t got[2] = {9, 9};
        CHECK(!kiln_read(x, i * step, got, 2));
        wrong += got[0] != i + 1 || got[1] != 0;
    }
    CHECK(wrong == 0);
    // From beyond 4 GiB on, and copies from there.
    args[0] = kiln_arg_buffer_at(x, 4 * GIB + 12345);
    args[1] = kiln_arg_i64(KILN_U64, 3);
    CHECK(!launch(k, api_kernel(m, "bytes"), &one, args, 2));
    kiln_copy_desc move = {
        .to = x, .from = x, .to_first = 100, .from_first = 4 * GIB + 12345, .count = 190};
    uint8_t got[190] = {0};
    CHECK(!kiln_copy(&move) && !kiln_read(x, 100, got, 190));
    CHECK(got[0] == 1 && got[1] == 0 && got[3] == 2 && got[189] == 64);
    uint8_t mark = 77;
    CHECK(!kiln_fill_async(x, count - 5, 5, &mark, NULL) && !kiln_sync(k));
    CHECK(!kiln_read(x, count - 6, got, 6) && got[0] == 0 && got[1] == 77 && got[5] == 77);
    EXPECT(kiln_read(x, count - 6, got, 7), KILN_E_BAD_ARGUMENT, "K6017",
           "of a buffer of 5368709120");
    // One too far is seen, and named.
    args[0] = kiln_arg_buffer(x);
    args[1] = kiln_arg_i64(KILN_U64, (int64_t)(count / 63 + 1));
    EXPECT(launch(k, api_kernel(checked, "bytes"), &one, args, 2), KILN_E_KERNEL, "K6020",
           "writes element 5368709178 of 'x', which has 5368709120 elements");
    kiln_buffer_free(x);
}

static void large_words(kiln *k, kiln_module *m)
{
    kiln_buffer *x;
    const uint64_t count = 5 * GIB / 4;
    if (!large(k, KILN_U32, count, &x))
        return;
    kiln_launch_desc one = {.grid = {1}};
    const uint32_t first = (uint32_t)count - 64, back = 1000;
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_i64(KILN_U32, first),
                       kiln_arg_i64(KILN_I32, back)};
    CHECK(!launch(k, api_kernel(m, "words"), &one, args, 3));
    for (uint32_t i = 0; i < 64; i++)
        CHECK(word(x, first + i) == first + i && word(x, first + i - back) == first + i + 1);
    CHECK(word(x, (first - back) & 0x3fffffff) == 0 && word(x, first - 1) == 0);
    // An index that grows by large steps: 2^30 is passed, where its bytes pass 2^32.
    const uint32_t step = (uint32_t)1 << 24, n = (uint32_t)count - 100;
    args[1] = kiln_arg_i64(KILN_U32, n);
    args[2] = kiln_arg_i64(KILN_U32, step);
    CHECK(!launch(k, api_kernel(m, "walk"), &one, args, 3));
    for (uint32_t i = 5; i < n; i += step)
        CHECK(word(x, i) == 1 && word(x, i + 100) == 0);
    CHECK(word(x, 0) == 80);
    kiln_buffer_free(x);
    if (!large(k, KILN_F32, count, &x))
        return;
    args[0] = kiln_arg_buffer(x);
    args[1] = kiln_arg_i64(KILN_I32, (int64_t)(count / 4) - 32);
    CHECK(!launch(k, api_kernel(m, "quads"), &one, args, 2));
    float got[4] = {0};
    CHECK(!kiln_read(x, count - 8, got, 4));
    CHECK(got[0] == 30 && got[1] == 1 && got[2] == 2 && got[3] == 30.5f);
    kiln_buffer_free(x);
}

static void too_large(kiln *k)
{
    kiln_buffer *x = NULL;
    EXPECT(kiln_buffer_new(k, KILN_F64, (size_t)1 << 62, &x), KILN_E_NO_MEMORY, "K6004",
           "no memory");
    EXPECT(kiln_buffer_new(k, KILN_F64, (size_t)1 << 42, &x), KILN_E_NO_MEMORY, "K6004", "memory");
    CHECK(!x);
}

// --- without an end

static void *cancel_soon(void *context)
{
    struct timespec pause = {0, 150000000};
    nanosleep(&pause, NULL);
    kiln_cancel((kiln *)context);
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void endless(kiln *k)
{
    static const char *const names[] = {"arithmetic", "forever", "empty",
                                        "together",   "waiting", "many"};
    kiln_module *m = api_compile(k, endless_source, 0), *plain = api_compile(k, source, 0);
    kiln_buffer *out = buffer(k, KILN_U32, 64001), *total = buffer(k, KILN_U32, 1024);
    kiln_arg arg = kiln_arg_buffer(out), both[] = {kiln_arg_buffer(total), kiln_arg_buffer(total)};
    for (size_t i = 0; m && plain && i < 2 * (sizeof names / sizeof *names); i++) {
        kiln_kernel *kernel = api_kernel(m, names[i / 2]);
        // few blocks run in this thread, many in all; 'many' ends, but not soon
        kiln_launch_desc shape = {.grid = {i / 2 == 5 ? 0x7fffffffu : i & 1 ? 1000 : 1}};
        pthread_t helper;
        CHECK(!pthread_create(&helper, NULL, cancel_soon, k));
        double begin = seconds();
        EXPECT(launch(k, kernel, &shape, &arg, 1), KILN_E_CANCELLED, "K6029", "cancelled");
        pthread_join(helper, NULL);
        CHECK(seconds() - begin < 30);
        CHECK(!strcmp(kiln_last_error(k)->kernel, names[i / 2]));
        // The device is as good as new.
        kiln_launch_desc few = {.grid = {2}};
        CHECK(!launch(k, api_kernel(plain, "count"), &few, both, 2));
    }
    kiln_buffer_free(out);
    kiln_buffer_free(total);
    kiln_module_free(m);
    kiln_module_free(plain);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "interp";
    kiln *k = NULL;
    if (kiln_open(device, &k)) {
        printf("limits: %s\n", kiln_last_error(NULL)->text);
        return 1;
    }
    kiln_module *m = api_compile(k, source, 0), *checked = NULL;
    kiln_compile_desc desc = {.path = "test.c", .source = source, .check_bounds = true};
    CHECK(!kiln_compile(k, &desc, &checked));
    if (m && checked) {
        million_blocks(k, m);
        three_dimensions(k, m);
        largest_dimensions(k, m);
        nothing(k, m);
        nothing_to_read(k, checked);
        too_large(k);
        large_bytes(k, m, checked);
        large_words(k, m);
        if (strncmp(device, "cuda", 4)) // what runs on a GPU ends with the process: tests/gpu/run
            endless(k);
    }
    kiln_close(k);
    printf("limits: %d passed, %d failed, %d skipped\n", api_passed, api_failed, skipped);
    return api_failed != 0;
}
