// Kiln's own declarations of the part of OpenCL it uses; libOpenCL.so.1 is opened at run time and
// never linked. Names follow the standard's numbers and argument order, not its spelling.
#ifndef KILN_OPENCL_ABI_H
#define KILN_OPENCL_ABI_H

#include "base/base.h"

typedef int32_t ocl_result;
typedef struct ocl_platform_s *ocl_platform;
typedef struct ocl_device_s *ocl_device_id;
typedef struct ocl_context_s *ocl_context;
typedef struct ocl_queue_s *ocl_queue;
typedef struct ocl_program_s *ocl_program;
typedef struct ocl_kernel_s *ocl_kernel;
typedef struct ocl_event_s *ocl_event;

enum {
    OCL_OK = 0,
    OCL_DEVICE_NOT_FOUND = -1,
    OCL_NO_MEMORY = -4,
    OCL_OUT_OF_RESOURCES = -5,
    OCL_NO_HOST_MEMORY = -6,
    OCL_BUILD_FAILED = -11,
    OCL_EVENT_FAILED = -14,
    OCL_INVALID_QUEUE = -36,
    OCL_PLATFORM_NOT_FOUND = -1001,
    OCL_NVIDIA_FAULT = -9999,

    OCL_PLATFORM_NAME = 0x0902,
    OCL_DEVICE_TYPE = 0x1000,
    OCL_COMPUTE_UNITS = 0x1002,
    OCL_GROUP_SIZE = 0x1004,
    OCL_CLOCK_MHZ = 0x100c,
    OCL_MEMORY_BYTES = 0x101f,
    OCL_SINGLE_CONFIG = 0x101b,
    OCL_LOCAL_BYTES = 0x1023,
    OCL_IS_AVAILABLE = 0x1027,
    OCL_DEVICE_NAME = 0x102b,
    OCL_DRIVER_VERSION = 0x102d,
    OCL_EXTENSIONS = 0x1030,
    OCL_DOUBLE_CONFIG = 0x1032,
    OCL_SVM_ABILITIES = 0x1053,

    OCL_TYPE_CPU = 2,
    OCL_TYPE_GPU = 4,
    OCL_FP_DENORMS = 1,
    OCL_FP_FMA = 0x20,
    OCL_FP_EXACT_DIVIDE = 0x80,
    OCL_SVM_COARSE = 1,
    OCL_SVM_FINE = 2,
    OCL_SVM_SYSTEM = 4,
    OCL_SVM_ATOMIC = 8,
    OCL_CONTEXT_DEVICES = 0x1081,
    OCL_QUEUE_CONTEXT = 0x1090,
    OCL_QUEUE_PROPERTIES = 0x1093,
    OCL_QUEUE_OUT_OF_ORDER = 1,
    OCL_QUEUE_PROFILING = 2,
    OCL_READ_WRITE = 1,
    OCL_BUILD_LOG = 0x1183,
    OCL_BINARY_SIZES = 0x1165,
    OCL_BINARIES = 0x1166,
    OCL_SVM_POINTERS = 0x11b6,
    OCL_KERNEL_GROUP_SIZE = 0x11b0,
    OCL_KERNEL_PRIVATE_BYTES = 0x11b4,
    OCL_EVENT_STATUS = 0x11d3,
    OCL_PROFILING_END = 0x1283,
};

// clang-format off
// E(field, symbol, result, arguments)
#define OCL_ENTRIES(E) \
    E(platforms, "clGetPlatformIDs", ocl_result, (uint32_t room, ocl_platform *list, uint32_t *count)) \
    E(platform_info, "clGetPlatformInfo", ocl_result, (ocl_platform p, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(devices, "clGetDeviceIDs", ocl_result, (ocl_platform p, uint64_t type, uint32_t room, ocl_device_id *list, uint32_t *count)) \
    E(device_info, "clGetDeviceInfo", ocl_result, (ocl_device_id d, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(context_create, "clCreateContext", ocl_context, (const intptr_t *properties, uint32_t count, const ocl_device_id *list, void (*notify)(const char *, const void *, size_t, void *), void *user, ocl_result *r)) \
    E(context_retain, "clRetainContext", ocl_result, (ocl_context c)) \
    E(context_info, "clGetContextInfo", ocl_result, (ocl_context c, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(context_release, "clReleaseContext", ocl_result, (ocl_context c)) \
    E(queue_create, "clCreateCommandQueue", ocl_queue, (ocl_context c, ocl_device_id d, uint64_t properties, ocl_result *r)) \
    E(queue_retain, "clRetainCommandQueue", ocl_result, (ocl_queue q)) \
    E(queue_info, "clGetCommandQueueInfo", ocl_result, (ocl_queue q, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(queue_release, "clReleaseCommandQueue", ocl_result, (ocl_queue q)) \
    E(flush, "clFlush", ocl_result, (ocl_queue q)) \
    E(finish, "clFinish", ocl_result, (ocl_queue q)) \
    E(svm_alloc, "clSVMAlloc", void *, (ocl_context c, uint64_t flags, size_t size, uint32_t alignment)) \
    E(svm_free, "clSVMFree", void, (ocl_context c, void *memory)) \
    E(svm_copy, "clEnqueueSVMMemcpy", ocl_result, (ocl_queue q, uint32_t waits, void *to, const void *from, size_t size, uint32_t count, const ocl_event *list, ocl_event *out)) \
    E(svm_fill, "clEnqueueSVMMemFill", ocl_result, (ocl_queue q, void *to, const void *pattern, size_t pattern_size, size_t size, uint32_t count, const ocl_event *list, ocl_event *out)) \
    E(program_source, "clCreateProgramWithSource", ocl_program, (ocl_context c, uint32_t count, const char **texts, const size_t *lengths, ocl_result *r)) \
    E(program_binary, "clCreateProgramWithBinary", ocl_program, (ocl_context c, uint32_t count, const ocl_device_id *list, const size_t *lengths, const unsigned char **binaries, ocl_result *each, ocl_result *r)) \
    E(build, "clBuildProgram", ocl_result, (ocl_program p, uint32_t count, const ocl_device_id *list, const char *options, void (*notify)(ocl_program, void *), void *user)) \
    E(build_info, "clGetProgramBuildInfo", ocl_result, (ocl_program p, ocl_device_id d, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(program_info, "clGetProgramInfo", ocl_result, (ocl_program p, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(program_release, "clReleaseProgram", ocl_result, (ocl_program p)) \
    E(kernel_create, "clCreateKernel", ocl_kernel, (ocl_program p, const char *name, ocl_result *r)) \
    E(kernel_release, "clReleaseKernel", ocl_result, (ocl_kernel f)) \
    E(kernel_info, "clGetKernelWorkGroupInfo", ocl_result, (ocl_kernel f, ocl_device_id d, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(set_arg, "clSetKernelArg", ocl_result, (ocl_kernel f, uint32_t index, size_t size, const void *value)) \
    E(set_pointer, "clSetKernelArgSVMPointer", ocl_result, (ocl_kernel f, uint32_t index, const void *value)) \
    E(set_exec, "clSetKernelExecInfo", ocl_result, (ocl_kernel f, uint32_t what, size_t size, const void *value)) \
    E(launch, "clEnqueueNDRangeKernel", ocl_result, (ocl_queue q, ocl_kernel f, uint32_t rank, const size_t *offset, const size_t *global, const size_t *local, uint32_t count, const ocl_event *list, ocl_event *out)) \
    E(marker, "clEnqueueMarkerWithWaitList", ocl_result, (ocl_queue q, uint32_t count, const ocl_event *list, ocl_event *out)) \
    E(wait_in_queue, "clEnqueueBarrierWithWaitList", ocl_result, (ocl_queue q, uint32_t count, const ocl_event *list, ocl_event *out)) \
    E(wait, "clWaitForEvents", ocl_result, (uint32_t count, const ocl_event *list)) \
    E(event_info, "clGetEventInfo", ocl_result, (ocl_event e, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(event_time, "clGetEventProfilingInfo", ocl_result, (ocl_event e, uint32_t what, size_t size, void *out, size_t *needed)) \
    E(event_release, "clReleaseEvent", ocl_result, (ocl_event e))
// clang-format on

typedef struct ocl_api {
#define E(field, symbol, result, arguments) result(*field) arguments;
    OCL_ENTRIES(E)
#undef E
} ocl_api;

// A device that was found, GPUs before the others.
typedef struct ocl_found {
    ocl_device_id device;
    uint64_t type;
    char platform[64];
} ocl_found;

// The loaded library, or NULL with *why set to a sentence. Loads once per process; thread-safe.
const ocl_api *ocl_load(const char **why);
// The devices of all platforms; NULL past the last.
const ocl_found *ocl_found_at(size_t index);
// "CL_OUT_OF_RESOURCES (-5)" in `out`.
void ocl_describe(ocl_result r, char *out, size_t size);

#endif
