// kiln_compile_desc.tuned: from the words "KERNEL n=4096" to the tunables of a compile. Start
// reading at tuned_choose.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bug.h"
#include "base/file.h"
#include "base/knobs.h"
#include "base/sha256.h"
#include "rt/rt.h"
#include "rt/tuned/tuned.h"

void tuned_program(const char *source, size_t len, const char *const *define, const char *kernel,
                   char out[TUNED_PROGRAM])
{
    sha256 s;
    uint8_t hash[SHA256_BYTES];
    char digits[SHA256_TEXT];
    sha256_start(&s);
    sha256_add(&s, source, len);
    for (; define && *define; define++) {
        sha256_add(&s, "", 1);
        sha256_add(&s, *define, strlen(*define));
    }
    sha256_end(&s, hash);
    sha256_text(hash, digits);
    snprintf(out, TUNED_PROGRAM, "%.32s:%.250s", digits, kernel);
}

// The host's processor, read once.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char processor[128] = "unknown processor";

static void find_processor(void)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        const char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (!value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(processor, sizeof processor, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (f)
        fclose(f);
}

kiln_status tuned_device(const kiln *k, char name[TUNED_FIELD], int *driver)
{
    kiln_device_info info;
    kiln_status status = kiln_device_info_of(k, &info);
    if (status)
        return status;
    *driver = info.driver_version;
    if (info.caps.is_host) {
        pthread_once(&once, find_processor);
        snprintf(name, TUNED_FIELD, "%s, %s, %u core%s", info.device, processor,
                 info.multiprocessors, info.multiprocessors == 1 ? "" : "s");
    } else {
        snprintf(name, TUNED_FIELD, "%s", info.name);
    }
    return KILN_OK;
}

// False: the file cannot be read; the compile will say so.
static bool program_of(const kiln_compile_desc *desc, const char *kernel, char out[TUNED_PROGRAM])
{
    if (desc->source) {
        size_t len = desc->source_len ? desc->source_len : strlen(desc->source);
        tuned_program(desc->source, len, desc->define, kernel, out);
        return true;
    }
    arena *a = arena_new();
    bug_frame frame;
    volatile bool is_read = false;
    if (a && !bug_enter(&frame)) {
        str source;
        const char *reason;
        if (file_read(a, desc->path, 64 << 20, &source, &reason)) {
            tuned_program(source.at, source.len, desc->define, kernel, out);
            is_read = true;
        }
        bug_leave(&frame);
    }
    arena_free(a);
    return is_read;
}

static size_t count_words(const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

static bool is_given(const char *const *list, const char *word)
{
    size_t len = strcspn(word, "=") + 1;
    for (; list && *list; list++)
        if (!strncmp(*list, word, len))
            return true;
    return false;
}

// "A=1 B=2" and the given ones as one list, without what both have.
static const char **join(const char *choice, const char *const *given)
{
    size_t own = count_words(given), room = own + strlen(choice) / 2 + 2, count = 0;
    const char **list = malloc(room * sizeof *list + strlen(choice) + 1);
    if (!list)
        return NULL;
    char *word = (char *)(list + room);
    memcpy(word, choice, strlen(choice) + 1);
    while (*word) {
        size_t len = strcspn(word, " ");
        bool is_last = !word[len];
        word[len] = 0;
        if (!is_given(given, word))
            list[count++] = word;
        word += is_last ? len : len + 1;
    }
    for (size_t n = 0; n < own; n++)
        list[count++] = given[n];
    list[count] = NULL;
    return list;
}

kiln_status tuned_choose(kiln *k, const kiln_compile_desc *desc, const char ***out)
{
    *out = NULL;
    if (!desc->tuned || desc->is_ir || desc->is_ptx)
        return KILN_OK;
    char kernel[256], program[TUNED_PROGRAM], choice[TUNED_FIELD];
    size_t len = strcspn(desc->tuned, " ");
    const char *sizes = desc->tuned[len] ? desc->tuned + len + 1 : "";
    if (!len || len >= sizeof kernel || !tuned_is_list(sizes))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_compile: tuned is \"KERNEL\" or \"KERNEL n=4096 m=64\", not '%s'",
                         desc->tuned);
    memcpy(kernel, desc->tuned, len);
    kernel[len] = 0;
    char device[TUNED_FIELD];
    int driver;
    if (!strcmp(knob_text(KNOB_TUNED), "off") || tuned_device(k, device, &driver) ||
        !program_of(desc, kernel, program) || !tuned_lookup(device, driver, program, sizes, choice))
        return KILN_OK;
    *out = join(choice, desc->tune);
    return *out ? KILN_OK : error_no_memory(k, "tuned values");
}
