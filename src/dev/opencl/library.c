// Opens the OpenCL library once, looks its entry points up and lists the devices of all platforms.
#include "dev/opencl/abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { FOUND_LIMIT = 64, PLATFORM_LIMIT = 16 };

static ocl_api api;
static char reason[512];
static ocl_found found[FOUND_LIMIT];
static size_t found_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void list_devices(ocl_platform platform)
{
    ocl_device_id list[FOUND_LIMIT];
    uint32_t count = 0;
    if (api.devices(platform, 0xffffffffu, FOUND_LIMIT, list, &count) != OCL_OK)
        return;
    for (uint32_t k = 0; k < count && k < FOUND_LIMIT && found_count < FOUND_LIMIT; k++) {
        uint32_t is_available = 0;
        ocl_found f = {.device = list[k]};
        api.device_info(f.device, OCL_IS_AVAILABLE, sizeof is_available, &is_available, NULL);
        api.device_info(f.device, OCL_DEVICE_TYPE, sizeof f.type, &f.type, NULL);
        api.platform_info(platform, OCL_PLATFORM_NAME, sizeof f.platform - 1, f.platform, NULL);
        if (!is_available)
            continue;
        size_t at = found_count++;
        for (; at > 0 && (f.type & OCL_TYPE_GPU) && !(found[at - 1].type & OCL_TYPE_GPU); at--)
            found[at] = found[at - 1];
        found[at] = f;
    }
}

static void load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, sizeof reason,
                 "OpenCL is not installed here (libOpenCL.so.1 could not be opened)");
        return;
    }
    const struct {
        const char *symbol;
        void *slot;
    } rows[] = {
#define E(field, symbol, result, arguments) {symbol, &api.field},
        OCL_ENTRIES(E)
#undef E
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        void *symbol = dlsym(library, rows[k].symbol);
        if (!symbol) {
            snprintf(reason, sizeof reason, "the OpenCL library is too old: it has no %s",
                     rows[k].symbol);
            return;
        }
        memcpy(rows[k].slot, &symbol, sizeof symbol);
    }
    ocl_platform platforms[PLATFORM_LIMIT];
    uint32_t count = 0;
    ocl_result r = api.platforms(PLATFORM_LIMIT, platforms, &count);
    if (r != OCL_OK && r != OCL_PLATFORM_NOT_FOUND) {
        char text[64];
        ocl_describe(r, text, sizeof text);
        snprintf(reason, sizeof reason, "OpenCL does not start: %s", text);
        return;
    }
    for (uint32_t k = 0; !r && k < count && k < PLATFORM_LIMIT; k++)
        list_devices(platforms[k]);
    if (!found_count)
        snprintf(reason, sizeof reason,
                 "OpenCL is installed, and no driver of it finds a device (PoCL makes one of the "
                 "CPU: package pocl-opencl-icd)");
}

const ocl_api *ocl_load(const char **why)
{
    pthread_once(&once, load);
    if (why)
        *why = reason;
    return found_count ? &api : NULL;
}

const ocl_found *ocl_found_at(size_t index)
{
    return ocl_load(NULL) && index < found_count ? &found[index] : NULL;
}

void ocl_describe(ocl_result r, char *out, size_t size)
{
    static const struct {
        ocl_result r;
        const char *name;
    } rows[] = {{-1, "CL_DEVICE_NOT_FOUND"},
                {-2, "CL_DEVICE_NOT_AVAILABLE"},
                {-3, "CL_COMPILER_NOT_AVAILABLE"},
                {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                {-5, "CL_OUT_OF_RESOURCES"},
                {-6, "CL_OUT_OF_HOST_MEMORY"},
                {-11, "CL_BUILD_PROGRAM_FAILURE"},
                {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
                {-30, "CL_INVALID_VALUE"},
                {-34, "CL_INVALID_CONTEXT"},
                {-36, "CL_INVALID_COMMAND_QUEUE"},
                {-38, "CL_INVALID_MEM_OBJECT"},
                {-42, "CL_INVALID_BINARY"},
                {-43, "CL_INVALID_BUILD_OPTIONS"},
                {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
                {-46, "CL_INVALID_KERNEL_NAME"},
                {-48, "CL_INVALID_KERNEL"},
                {-49, "CL_INVALID_ARG_INDEX"},
                {-50, "CL_INVALID_ARG_VALUE"},
                {-51, "CL_INVALID_ARG_SIZE"},
                {-52, "CL_INVALID_KERNEL_ARGS"},
                {-54, "CL_INVALID_WORK_GROUP_SIZE"},
                {-55, "CL_INVALID_WORK_ITEM_SIZE"},
                {-59, "CL_INVALID_OPERATION"},
                {-61, "CL_INVALID_BUFFER_SIZE"},
                {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
                {-9999, "an illegal access"}};
    const char *name = "OpenCL error";
    for (size_t k = 0; k < COUNT(rows); k++)
        if (rows[k].r == r)
            name = rows[k].name;
    snprintf(out, size, "%s (%d)", name, (int)r);
}
