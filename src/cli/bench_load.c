// Another library, opened at run time (bench.h): the first of its names that is there, and every
// symbol that is wanted of it.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/bench.h"

bench_loaded bench_load(const char *file, const char *const *names, size_t name_count,
                        const char *const *symbols, void *const *slots, size_t count)
{
    char room[FILENAME_MAX];
    void *library =
        file ? dlopen(file_library(file, room, sizeof room), RTLD_NOW | RTLD_GLOBAL) : NULL;
    for (size_t n = 0; n < name_count && !library && !file; n++)
        library = dlopen(names[n], RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return BENCH_MISSING;
    for (size_t n = 0; n < count; n++) {
        void *symbol = dlsym(library, symbols[n]);
        if (!symbol)
            return BENCH_STRANGE;
        memcpy(slots[n], &symbol, sizeof symbol);
    }
    return BENCH_LOADED;
}
