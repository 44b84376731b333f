// The heap of kernels: random sequences of malloc, realloc, calloc, aligned_alloc and free by all
// threads against a model (contents, overlap, everything comes back), memory that lives across
// launches, exhaustion, sizes that overflow, counters, reset.
//     heap [DEVICE [BLOCKS ROUNDS]]     128 blocks of 1600 rounds allocate more than ten million
//     times
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "#include <stdlib.h>\n"
    "typedef struct slot { u64 *at; u64 words; } slot;\n"
    "static u32 draw(u32 *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }\n"
    "static u64 word(u64 at, u64 n) { return at * 0x9e3779b97f4a7c15ull + n; }\n"
    // the words are told by the thread and the slot: a block that two have is seen
    "static void put(slot *s, u64 mark, u64 from) {\n"
    "    for (u64 n = from; n < s->words; n++) s->at[n] = word(mark, n);\n"
    "}\n"
    "static u32 look(const slot *s, u64 mark, u64 words) {\n"
    "    u32 wrong = 0;\n"
    "    for (u64 n = 0; n < words; n++) wrong += s->at[n] != word(mark, n);\n"
    "    return wrong;\n"
    "}\n"
    "static u64 size_of(u32 r) { return r % 64 == 0 ? 2000 + r / 64 % 9000 : r % 8 == 0 ? r / 8 % "
    "300 + 1 : r / 8 % 24; }\n"
    "kernel block(64) void churn(slot *slots, u32 *wrong, u32 per, u32 rounds, u32 seed) {\n"
    "    u32 i = global_x(), state = (seed + i) * 2654435761u | 1u;\n"
    "    for (u32 n = 0; n < rounds; n++) {\n"
    "        u32 k = draw(&state) % per;\n"
    "        slot *s = &slots[i * per + k];\n"
    "        u64 mark = (u64)i * per + k, words = size_of(draw(&state));\n"
    "        u32 what = draw(&state) % 4;\n"
    "        if (!s->at) {\n"
    "            u64 align = 16ull << draw(&state) % (draw(&state) % 16 ? 6 : 14);\n"
    "            s->at = what == 0 ? calloc(words, 8) : what == 1 ? aligned_alloc(align, words * "
    "8) : malloc(words * 8);\n"
    "            s->words = s->at ? words : 0;\n"
    "            if ((u64)s->at % (what == 1 ? align : 16) != 0) atomic_add(wrong, 1u);\n"
    "            for (u64 m = 0; what == 0 && m < s->words; m++)\n"
    "                if (s->at[m] != 0) atomic_add(wrong, 1u);\n"
    "            put(s, mark, 0);\n"
    "        } else if (what == 0) {\n"
    "            u64 kept = s->words < words ? s->words : words;\n"
    "            slot moved = {realloc(s->at, words * 8), words};\n"
    "            if (moved.at) {\n"
    "                *s = moved;\n"
    "                atomic_add(wrong, look(s, mark, kept));\n"
    "                put(s, mark, kept);\n"
    "            }\n"
    "        } else {\n"
    "            atomic_add(wrong, look(s, mark, s->words));\n"
    "            free(s->at);\n"
    "            s->at = NULL;\n"
    "            s->words = 0;\n"
    "        }\n"
    "    }\n"
    "}\n"
    "kernel block(64) void drain(slot *slots, u32 *wrong, u32 per) {\n"
    "    u32 i = global_x();\n"
    "    for (u32 k = 0; k < per; k++) {\n"
    "        slot *s = &slots[i * per + k];\n"
    "        atomic_add(wrong, look(s, (u64)i * per + k, s->words));\n"
    "        free(s->at);\n"
    "        s->at = NULL;\n"
    "    }\n"
    "}\n"
    // as many blocks as there are, as a list; then all are given back
    "kernel block(32) void fill(u32 *count, u64 bytes, u64 *heads) {\n"
    "    u64 **last = NULL, **next;\n"
    "    u32 n = 0;\n"
    "    while ((next = malloc(bytes)) != NULL) {\n"
    "        *next = (u64 *)last;\n"
    "        last = next;\n"
    "        n++;\n"
    "    }\n"
    "    atomic_add(count, n);\n"
    "    heads[global_x()] = (u64)last;\n"
    "}\n"
    "kernel block(32) void empty_lists(const u64 *heads) {\n"
    "    u64 **last = (u64 **)heads[global_x()], **next;\n"
    "    if (last) last = realloc(last, 8);\n" // the heap is full, but it is to less
    "    while (last) {\n"
    "        next = (u64 **)*last;\n"
    "        free(last);\n"
    "        last = next;\n"
    "    }\n"
    "}\n"
    "kernel block(32) void plain(u32 *out) { out[thread_x()] = 1; }\n";

static const char small[] =
    "#include <kiln/kernel.h>\n"
    "#include <stdlib.h>\n"
    "kernel block(32) void edges(u32 *ok) {\n"
    "    if (thread_x() != 3) return;\n"
    "    u64 huge = 0xffffffffffffffffull;\n"
    "    ok[0] = malloc(huge) == NULL && malloc(huge - 15) == NULL && malloc(1ull << 63) == NULL;\n"
    "    ok[1] = calloc(1ull << 33, 1ull << 33) == NULL && calloc(huge, 2) == NULL;\n"
    "    void *none = malloc(0), *other = malloc(0);\n"
    "    ok[2] = none != NULL && other != NULL && none != other;\n"
    "    free(none); free(other); free(NULL);\n"
    "    ok[3] = aligned_alloc(0, 8) == NULL && aligned_alloc(48, 8) == NULL;\n"
    "    void *page = aligned_alloc(65536, 100);\n"
    "    ok[4] = page != NULL && (u64)page % 65536 == 0;\n"
    "    void *nothing[4] = {aligned_alloc(65536, 0), aligned_alloc(32768, 0), "
    "aligned_alloc(32768, "
    "0), aligned_alloc(16384, 0)};\n"
    "    for (u32 n = 0; n < 4; n++) {\n"
    "        ok[4] &= nothing[n] != NULL && nothing[n] != page;\n"
    "        for (u32 k = 0; k < n; k++) ok[4] &= nothing[n] != nothing[k];\n"
    "    }\n"
    "    for (u32 n = 0; n < 4; n++) free(nothing[n]);\n"
    "    free(page);\n"
    "    u64 *p = realloc(NULL, 64);\n"
    "    for (u32 n = 0; p && n < 8; n++) p[n] = n * n;\n"
    "    u64 *big = realloc(p, 200000);\n"
    "    ok[5] = big != NULL && big[7] == 49 && realloc(big, huge) == NULL && big[3] == 9;\n"
    "    big = realloc(big, 16);\n"
    "    ok[6] = big != NULL && big[1] == 1;\n"
    "    free(big);\n"
    "    u32 *zero = calloc(1000, 4);\n"
    "    u32 sum = 0;\n"
    "    for (u32 n = 0; zero && n < 1000; n++) sum += zero[n];\n"
    "    ok[7] = zero != NULL && sum == 0;\n"
    "    free(zero);\n"
    "    free(zero); free((u8 *)heap_arena() + 8); free(ok);\n" // counted, and nothing else
    "}\n"
    // through a function that stays one, and through a pointer
    "static noinline u32 *box(u32 v) { u32 *p = malloc(4); if (p) *p = v; return p; }\n"
    "static u32 *twice(u32 v) { u32 *p = malloc(4); if (p) *p = 2 * v; return p; }\n"
    "kernel block(32) void chosen(u32 *out) {\n"
    "    u32 *(*make)(u32) = thread_x() & 1 ? twice : box, *p = make(thread_x());\n"
    "    out[thread_x()] = p ? *p : 1000;\n"
    "    free(p);\n"
    "}\n";

static const char recursive[] =
    "#include <kiln/kernel.h>\n"
    "#include <stdlib.h>\n"
    "static noinline u32 *box(u32 v) { u32 *p = malloc(4); if (p) *p = v; return p; }\n"
    "static recursion(40) u32 tree(u32 depth) {\n"
    "    u32 *p = box(depth), below = depth ? tree(depth - 1) + tree(depth - 1) : 0;\n"
    "    below += p ? *p : 1000;\n"
    "    free(p);\n"
    "    return below;\n"
    "}\n"
    "kernel block(32) void deep(u32 *out, u32 depth) { out[thread_x()] = tree(depth); }\n";

typedef struct slot {
    uint64_t at, words;
} slot;

static bool is_fake;

static kiln_heap_stats stats_of(kiln *k)
{
    kiln_heap_stats s;
    memset(&s, 0, sizeof s);
    CHECK(!kiln_heap_stats_of(k, &s));
    return s;
}

static uint32_t number_of(kiln_buffer *b)
{
    uint32_t n = 0;
    CHECK(!kiln_read(b, 0, &n, 1));
    return n;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const slot *)a)->at, y = ((const slot *)b)->at;
    return x < y ? -1 : x > y;
}

static void test_churn(kiln *k, kiln_module *m, uint32_t grid, uint32_t rounds)
{
    enum { PER = 6 };
    size_t count = (size_t)grid * 64 * PER;
    kiln_buffer *slots, *wrong;
    slot *seen = (slot *)malloc(count * sizeof *seen);
    CHECK(!kiln_buffer_new_bytes(k, sizeof(slot), count, &slots));
    CHECK(!kiln_buffer_new(k, KILN_U32, 1, &wrong));
    CHECK(!kiln_heap_set(k, grid >= 64 ? (size_t)1 << 28 : 0) && !kiln_heap_reset(k));
    for (uint32_t seed = 1; seed <= 2; seed++) { // the second launch goes on with what is there
        kiln_arg args[] = {kiln_arg_buffer(slots), kiln_arg_buffer(wrong),
                           kiln_arg_i64(KILN_U32, PER), kiln_arg_i64(KILN_U32, rounds),
                           kiln_arg_i64(KILN_U32, seed)};
        CHECK(!api_launch(api_kernel(m, "churn"), grid, 0, args, 5) && !kiln_sync(k));
    }
    CHECK(!kiln_read(slots, 0, seen, count));
    kiln_heap_stats s = stats_of(k);
    if (!is_fake) {
        uint64_t live = 0, bytes = 0, overlaps = 0;
        qsort(seen, count, sizeof *seen, by_address);
        for (size_t n = 0; n < count; n++) {
            live += seen[n].at != 0;
            bytes += seen[n].words * 8;
            overlaps +=
                n + 1 < count && seen[n].at && seen[n].at + seen[n].words * 8 > seen[n + 1].at;
        }
        CHECK(number_of(wrong) == 0 && overlaps == 0 && live > 0);
        CHECK(s.block_count == live && s.allocations - s.frees == live);
        CHECK(s.used_bytes >= bytes && s.peak_bytes >= s.used_bytes && s.bad_frees == 0);
        CHECK(grid < 128 || rounds < 1600 || (s.allocations >= 10000000 && !s.failures));
        printf("  %llu allocations, %llu failed, peak %llu bytes\n",
               (unsigned long long)s.allocations, (unsigned long long)s.failures,
               (unsigned long long)s.peak_bytes);
    }
    kiln_arg args[] = {kiln_arg_buffer(slots), kiln_arg_buffer(wrong), kiln_arg_i64(KILN_U32, PER)};
    CHECK(!api_launch(api_kernel(m, "drain"), grid, 0, args, 3) && !kiln_sync(k));
    s = stats_of(k);
    CHECK(number_of(wrong) == 0 && s.used_bytes == 0 && s.block_count == 0);
    CHECK(is_fake || (s.allocations == s.frees && s.allocations > (uint64_t)grid * 64));
    free(seen);
    kiln_buffer_free(slots);
    kiln_buffer_free(wrong);
}

static void test_full(kiln *k, kiln_module *m)
{
    static const uint64_t sizes[] = {1, 48, 1000, 8192, 16384, 16385, 100000};
    kiln_buffer *count, *heads;
    CHECK(!kiln_buffer_new(k, KILN_U32, 1, &count) && !kiln_buffer_new(k, KILN_U64, 64, &heads));
    CHECK(!kiln_heap_set(k, (size_t)1 << 20));
    uint64_t pages = ((1u << 20) - 32768) / 32768 - 1;
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        kiln_arg args[] = {kiln_arg_buffer(count), kiln_arg_i64(KILN_U64, (int64_t)sizes[n]),
                           kiln_arg_buffer(heads)};
        uint32_t zero = 0;
        CHECK(!kiln_write(count, 0, &zero, 1));
        CHECK(!api_launch(api_kernel(m, "fill"), 2, 0, args, 3) && !kiln_sync(k));
        uint32_t made = number_of(count);
        kiln_heap_stats full = stats_of(k);
        CHECK(is_fake || full.block_count == made);
        CHECK(!api_launch(api_kernel(m, "empty_lists"), 2, 0, args + 2, 1) && !kiln_sync(k));
        uint64_t each = sizes[n] < 16 ? 16 : sizes[n];
        kiln_heap_stats s = stats_of(k);
        CHECK(s.used_bytes == 0 && s.block_count == 0 && s.bad_frees == 0);
        if (is_fake)
            continue;
        // All of it is found, but for what rounding takes; every thread ends with a refusal.
        CHECK(made >= pages * 32768 / (each * 2));
        CHECK(made <= (1u << 20) / each && s.failures >= 64);
    }
    CHECK(!kiln_heap_set(k, 0));
    kiln_buffer_free(count);
    kiln_buffer_free(heads);
}

static void test_edges(kiln *k, kiln_module *m)
{
    kiln_buffer *ok;
    uint32_t seen[8] = {0};
    CHECK(!kiln_buffer_new(k, KILN_U32, 8, &ok));
    CHECK(!kiln_heap_reset(k));
    kiln_arg args[] = {kiln_arg_buffer(ok)};
    CHECK(!api_launch(api_kernel(m, "edges"), 1, 0, args, 1) && !kiln_sync(k));
    CHECK(!kiln_read(ok, 0, seen, 8));
    for (int n = 0; n < 8 && !is_fake; n++) {
        CHECK(seen[n] == 1);
        if (!seen[n])
            printf("  ok[%d]\n", n);
    }
    kiln_heap_stats s = stats_of(k);
    CHECK(is_fake || (s.bad_frees == 3 && s.block_count == 0));
    kiln_buffer_free(ok);
}

static void test_calls(kiln *k, kiln_module *m, kiln_module *recursion)
{
    kiln_buffer *out;
    uint32_t seen[32] = {0};
    CHECK(!kiln_buffer_new(k, KILN_U32, 32, &out));
    kiln_arg args[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, 5)};
    if (recursion) {
        CHECK(!api_launch(api_kernel(recursion, "deep"), 1, 0, args, 2) && !kiln_sync(k));
        CHECK(!kiln_read(out, 0, seen, 32));
        CHECK(is_fake || (seen[0] == 57 && seen[31] == 57));
    }
    CHECK(!api_launch(api_kernel(m, "chosen"), 1, 0, args, 1) && !kiln_sync(k));
    CHECK(!kiln_read(out, 0, seen, 32));
    CHECK(is_fake || (seen[4] == 4 && seen[5] == 10));
    CHECK(stats_of(k).block_count == 0);
    kiln_buffer_free(out);
}

static void test_api(const char *device)
{
    kiln *k = api_open(device);
    kiln_module *m = api_compile(k, source, 0), *calls = api_compile(k, small, 0);
    kiln_buffer *out;
    kiln_heap_stats s = stats_of(k);
    CHECK(!kiln_buffer_new(k, KILN_U32, 32, &out));
    kiln_arg args[] = {kiln_arg_buffer(out)};
    CHECK(s.size_bytes == 0);
    CHECK(kiln_kernel_param_count(api_kernel(calls, "chosen")) == 1); // the heap is none of them
    CHECK(!api_launch(api_kernel(m, "plain"), 1, 0, args, 1) && !kiln_sync(k));
    CHECK(stats_of(k).size_bytes == 0); // what is not used costs nothing
    EXPECT(kiln_heap_set(k, 1000), KILN_E_BAD_ARGUMENT, "K6082", "128 KiB");
    EXPECT(kiln_heap_set(NULL, 1 << 20), KILN_E_BAD_HANDLE, "K6002", "");
    EXPECT(kiln_heap_reset(NULL), KILN_E_BAD_HANDLE, "K6002", "");
    EXPECT(kiln_heap_stats_of(k, NULL), KILN_E_BAD_ARGUMENT, "K6003", "out is NULL");
    EXPECT(kiln_heap_stats_of(NULL, &s), KILN_E_BAD_HANDLE, "K6002", "");
    CHECK(!kiln_heap_set(k, 1 << 20) && stats_of(k).size_bytes == 1 << 20);
    CHECK(!kiln_heap_set(k, 0) && stats_of(k).size_bytes == 0);
    CHECK(!api_launch(api_kernel(calls, "chosen"), 1, 0, args, 1) && !kiln_sync(k));
    CHECK(stats_of(k).size_bytes == 64 << 20);
    kiln_close(k);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    uint32_t grid = argc > 2 ? (uint32_t)atoi(argv[2]) : 4;
    uint32_t rounds = argc > 3 ? (uint32_t)atoi(argv[3]) : 24;
    kiln *k = api_open(device);
    bool is_opencl = !strncmp(device, "opencl", 6);
    is_fake = api_is_fake(k);
    for (int optimise = rounds > 100 ? 1 : -1; optimise <= 1; optimise += 2) {
        kiln_module *m = api_compile(k, source, optimise), *n = api_compile(k, small, optimise);
        kiln_module *recursion = is_opencl ? NULL : api_compile(k, recursive, optimise);
        if (!m || !n)
            continue;
        test_churn(k, m, grid, rounds);
        test_full(k, m);
        test_edges(k, n);
        test_calls(k, n, recursion);
    }
    kiln_close(k);
    test_api(device);
    return api_done("heap");
}
