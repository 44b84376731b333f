// Opens the driver's library once and looks its entry points up, first through cuGetProcAddress
// with the version each was declared for, else by the versioned symbol. KILN_CUDA_LIBRARY names
// another library (tests use it).
#include "dev/cuda/abi.h"

#ifdef _WIN32
#    include <windows.h>
#    define dlopen(path, flags)  ((void *)LoadLibraryA(path))
#    define dlsym(library, name) ((void *)GetProcAddress((HMODULE)(library), name))
#else
#    include <dlfcn.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/knobs.h"

static cuda_api api;
static char reason[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_usable;

typedef cu_result get_proc_fn(const char *name, void **function, int version, uint64_t flags,
                              int *status);

// Casts a symbol to a function pointer of any kind without a warning about it.
static void set_pointer(void *slot, void *symbol)
{
    memcpy(slot, &symbol, sizeof symbol);
}

static void look_up(void *library, get_proc_fn *get_proc, void *slot, const char *name, int version,
                    const char *symbol)
{
    void *found = NULL;
    int status = 0;
    if (get_proc && get_proc(name, &found, version, 0, &status) != CU_OK)
        found = NULL;
    if (!found)
        found = dlsym(library, symbol);
    set_pointer(slot, found);
}

// Entry points that the oldest supported driver should have and Kiln can do without.
static bool is_optional(const char *name)
{
    static const char *const names[] = {"cuDeviceGetDefaultMemPool",
                                        "cuMemAllocAsync",
                                        "cuMemFreeAsync",
                                        "cuMemPoolGetAttribute",
                                        "cuMemPoolSetAttribute",
                                        "cuMemPoolTrimTo",
                                        "cuGraphInstantiateWithFlags",
                                        "cuGraphGetNodes",
                                        "cuLaunchHostFunc",
                                        "cuLinkCreate",
                                        "cuLinkAddData",
                                        "cuLinkComplete",
                                        "cuLinkDestroy",
                                        "cuDevicePrimaryCtxReset",
                                        "cuGetErrorName",
                                        "cuGetErrorString"};
    for (size_t k = 0; k < COUNT(names); k++)
        if (!strcmp(names[k], name))
            return true;
    return false;
}

// The name of an entry point that Kiln cannot do without and the driver lacks; NULL when all are
// there. A function newer than the oldest supported driver may be missing: its callers check.
static const char *first_missing(void)
{
    const struct {
        const char *name;
        int version;
        bool is_there;
    } entries[] = {
#define E(field, name, version, symbol, arguments) {name, version, api.field != NULL},
        CUDA_ENTRIES(E)
#undef E
    };
    for (size_t k = 0; k < COUNT(entries); k++)
        if (!entries[k].is_there && entries[k].version <= CUDA_MINIMUM &&
            !is_optional(entries[k].name))
            return entries[k].name;
    return NULL;
}

static void load(void)
{
    const char *path = knob_text(KNOB_CUDA_LIBRARY);
#ifdef _WIN32
    path = *path ? path : "nvcuda.dll";
#else
    path = *path ? path : "libcuda.so.1";
#endif
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason, "there is no NVIDIA driver here (%s could not be opened)",
                 path);
        return;
    }
    get_proc_fn *get_proc = NULL;
    set_pointer(&get_proc, dlsym(library, "cuGetProcAddress_v2"));
#define E(field, name, version, symbol, arguments)                                                 \
    look_up(library, get_proc, &api.field, name, version, symbol);
    CUDA_ENTRIES(E)
#undef E
    const char *missing = first_missing();
    if (missing) {
        snprintf(reason, sizeof reason, "the NVIDIA driver is too old or incomplete: %s has no %s",
                 path, missing);
        return;
    }
    cu_result r = api.init(0);
    if (r == CU_NO_DEVICE) {
        snprintf(reason, sizeof reason, "the NVIDIA driver finds no GPU");
        return;
    }
    if (r != CU_OK) {
        char text[256];
        cuda_describe(&api, r, text, sizeof text);
        snprintf(reason, sizeof reason, "the NVIDIA driver does not start: %s", text);
        return;
    }
    api.driver_version(&api.version);
    if (api.version < CUDA_MINIMUM) {
        snprintf(reason, sizeof reason,
                 "the NVIDIA driver is too old: it knows CUDA %d.%d, Kiln needs %d.%d",
                 api.version / 1000, api.version % 1000 / 10, CUDA_MINIMUM / 1000,
                 CUDA_MINIMUM % 1000 / 10);
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
    snprintf(out, size, "%s (%d): %s", name ? name : "CUDA error", r,
             text ? text : "no description");
}
