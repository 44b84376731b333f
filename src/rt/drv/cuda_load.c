// Opens the driver's library once and looks its entry points up, first through cuGetProcAddress with the version each was declared
// for, else by the versioned symbol. KILN_CUDA_LIBRARY names another library (tests use it).
#include "rt/drv/cuda_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cuda_api api;
static char reason[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_usable;

typedef cu_result get_proc_fn(const char *name, void **function, int version, uint64_t flags, int *status);

// Casts a symbol to a function pointer of any kind without a warning about it.
static void set_pointer(void *slot, void *symbol)
{
    memcpy(slot, &symbol, sizeof symbol);
}

static void look_up(void *library, get_proc_fn *get_proc, void *slot, const char *name, int version, const char *symbol)
{
    void *found = NULL;
    int status = 0;
    if (get_proc && get_proc(name, &found, version, 0, &status) != CU_OK)
        found = NULL;
    if (!found)
        found = dlsym(library, symbol);
    set_pointer(slot, found);
}

static void load(void)
{
    const char *path = getenv("KILN_CUDA_LIBRARY");
#ifdef _WIN32
    path = path ? path : "nvcuda.dll";
#else
    path = path ? path : "libcuda.so.1";
#endif
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason, "there is no NVIDIA driver here (%s could not be opened)", path);
        return;
    }
    get_proc_fn *get_proc = NULL;
    set_pointer(&get_proc, dlsym(library, "cuGetProcAddress_v2"));
#define E(field, name, version, symbol, arguments) look_up(library, get_proc, &api.field, name, version, symbol);
    CUDA_ENTRIES(E)
#undef E
    if (!api.init || !api.driver_version || !api.device_count || !api.launch || !api.module_load || !api.alloc) {
        snprintf(reason, sizeof reason, "%s is not a complete CUDA driver", path);
        return;
    }
    cu_result r = api.init(0);
    if (r != CU_OK) {
        char text[256];
        cuda_describe(&api, r, text, sizeof text);
        snprintf(reason, sizeof reason, "the NVIDIA driver does not start: %s", text);
        return;
    }
    api.driver_version(&api.version);
    if (api.version < 11040) {
        snprintf(reason, sizeof reason, "the NVIDIA driver is too old: it knows CUDA %d.%d, Kiln needs 11.4", api.version / 1000,
                 api.version % 1000 / 10);
        return;
    }
    is_usable = 1;
}

const cuda_api *cuda_load(const char **why)
{
    pthread_once(&once, load);
    if (why)
        *why = reason;
    return is_usable ? &api : NULL;
}

void cuda_describe(const cuda_api *cu, cu_result r, char *out, size_t size)
{
    const char *name = NULL, *text = NULL;
    if (cu->error_name)
        cu->error_name(r, &name);
    if (cu->error_string)
        cu->error_string(r, &text);
    snprintf(out, size, "%s (%d): %s", name ? name : "CUDA error", r, text ? text : "no description");
}
