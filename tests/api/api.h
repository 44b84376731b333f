// What the programs of this folder share: counted checks, short launches. Compiles as C11 and as
// C++17 with the public header alone.
#ifndef KILN_TESTS_API_H
#define KILN_TESTS_API_H

#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int api_passed, api_failed; // counted by several threads in some tests

static inline void api_count(int *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static inline void api_check(bool is_true, const char *what, int line)
{
    if (is_true) {
        api_count(&api_passed);
        return;
    }
    api_count(&api_failed);
    printf("line %d: %s\n  last error: %s\n", line, what, kiln_last_error(NULL)->text);
}
#define CHECK(condition) api_check((condition), #condition, __LINE__)

// The call must fail with this status and code, and the text must contain `words`.
static inline void api_expect(kiln_status got, kiln_status want, const char *code,
                              const char *words, int line)
{
    const kiln_error *e = kiln_last_error(NULL);
    if (got == want && strcmp(e->code, code) == 0 && strstr(e->text, words)) {
        api_count(&api_passed);
        return;
    }
    api_count(&api_failed);
    printf("line %d: expected %s %s \"%s\"\n  got %s %s \"%s\"\n", line, kiln_status_name(want),
           code, words, kiln_status_name(got), e->code, e->text);
}
#define EXPECT(call, status, code, words) api_expect((call), (status), (code), (words), __LINE__)

static inline kiln_module *api_compile(kiln *k, const char *source, int optimise)
{
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.path = "test.c";
    desc.source = source;
    desc.optimise = optimise;
    kiln_module *m = NULL;
    if (kiln_compile(k, &desc, &m)) {
        printf("%s\n", kiln_last_error(k)->text);
        api_count(&api_failed);
    }
    return m;
}

static inline kiln_kernel *api_kernel(kiln_module *m, const char *name)
{
    kiln_kernel *kernel = NULL;
    if (kiln_module_kernel(m, name, &kernel)) {
        printf("no kernel: %s\n", kiln_last_error(NULL)->text);
        api_count(&api_failed);
    }
    return kernel;
}

static inline kiln_status api_launch(kiln_kernel *kernel, uint32_t grid, uint32_t block,
                                     const kiln_arg *args, size_t count)
{
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = grid;
    desc.block[0] = block;
    desc.args = args;
    desc.arg_count = count;
    return kiln_launch(kernel, &desc);
}

// The device of a program's tests. Who starts a program has looked for its device: one that does
// not open is a failure, not a reason to skip everything.
static inline kiln *api_open(const char *device)
{
    kiln *k = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0); // a crash tells how far a program came
    if (kiln_open(device, &k)) {
        printf("device %s does not open: %s\n", device, kiln_last_error(NULL)->text);
        exit(1);
    }
    return k;
}

// The driver that runs nothing (tests/fake): results are not compared there. The device's own name
// tells, not the environment, which may be set beside a real one.
static inline bool api_is_fake(const kiln *k)
{
    kiln_device_info info;
    return !kiln_device_info_of(k, &info) && strstr(info.name, "Fake");
}

static inline int api_done(const char *name)
{
    if (!api_passed)
        api_failed++; // nothing was tested
    printf("%s: %d passed, %d failed, 0 skipped\n", name, api_passed, api_failed);
    return api_failed != 0;
}

#endif
