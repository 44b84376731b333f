// The part of the CUDA driver API that Kiln uses, in our own declarations: nothing of the toolkit
// is included or linked. The library is opened at run time (library.c); every entry point is a
// row of CUDA_ENTRIES with the API version it is asked for.
#ifndef KILN_CUDA_ABI_H
#define KILN_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int cu_result; // 0: success
typedef int cu_device;
typedef struct cu_context_s *cu_context;
typedef struct cu_module_s *cu_module;
typedef struct cu_function_s *cu_function;
typedef struct cu_stream_s *cu_stream;
typedef struct cu_event_s *cu_event;
typedef struct cu_graph_s *cu_graph;
typedef struct cu_graph_node_s *cu_graph_node;
typedef struct cu_graph_exec_s *cu_graph_exec;
typedef struct cu_pool_s *cu_pool;
typedef struct cu_link_s *cu_link;
typedef unsigned long long cu_ptr;

// clang-format off
enum { // results that Kiln distinguishes
    CU_OK = 0, CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2, CU_NOT_INITIALIZED = 3, CU_DEINITIALIZED = 4, CU_NO_DEVICE = 100, CU_INVALID_DEVICE = 101,
    CU_INVALID_IMAGE = 200, CU_NO_BINARY_FOR_GPU = 209, CU_INVALID_PTX = 218, CU_UNSUPPORTED_PTX_VERSION = 222, CU_NOT_FOUND = 500, CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700, CU_LAUNCH_OUT_OF_RESOURCES = 701, CU_LAUNCH_TIMEOUT = 702, CU_ASSERT = 710, CU_HARDWARE_STACK_ERROR = 714,
    CU_ILLEGAL_INSTRUCTION = 715, CU_MISALIGNED_ADDRESS = 716, CU_INVALID_ADDRESS_SPACE = 717, CU_INVALID_PC = 718, CU_LAUNCH_FAILED = 719,
    CU_COOPERATIVE_TOO_LARGE = 720, CU_SYSTEM_DRIVER_MISMATCH = 803, CU_INVALID_CONTEXT = 201, CU_JIT_COMPILER_NOT_FOUND = 221,
    CU_CONTEXT_IS_DESTROYED = 709, CU_TENSOR_MEMORY_LEAK = 721, CU_CAPTURE_UNSUPPORTED = 900, CU_CAPTURE_INVALIDATED = 901, CU_EXTERNAL_DEVICE = 911,
    CU_INVALID_CLUSTER_SIZE = 912, CU_GRAPH_UPDATE_FAILURE = 910,
};
enum { // device attributes
    CU_ATTR_MAX_THREADS_PER_BLOCK = 1, CU_ATTR_MAX_BLOCK_X = 2, CU_ATTR_MAX_BLOCK_Y = 3, CU_ATTR_MAX_BLOCK_Z = 4, CU_ATTR_MAX_GRID_X = 5, CU_ATTR_MAX_GRID_Y = 6,
    CU_ATTR_MAX_GRID_Z = 7, CU_ATTR_SHARED_PER_BLOCK = 8, CU_ATTR_CLOCK_KHZ = 13, CU_ATTR_MULTIPROCESSORS = 16, CU_ATTR_INTEGRATED = 18, CU_ATTR_CAN_MAP_HOST = 19,
    CU_ATTR_ECC = 32, CU_ATTR_PCI_BUS = 33, CU_ATTR_PCI_DEVICE = 34, CU_ATTR_MEMORY_CLOCK_KHZ = 36, CU_ATTR_MEMORY_BUS_BITS = 37, CU_ATTR_L2_BYTES = 38, CU_ATTR_THREADS_PER_SM = 39,
    CU_ATTR_UNIFIED_ADDRESSING = 41, CU_ATTR_SM_MAJOR = 75, CU_ATTR_SM_MINOR = 76, CU_ATTR_SHARED_PER_SM = 81, CU_ATTR_REGISTERS_PER_SM = 82,
    CU_ATTR_MANAGED = 83, CU_ATTR_COOPERATIVE = 95, CU_ATTR_SHARED_OPTIN = 97, CU_ATTR_POOLS = 115, CU_ATTR_CLUSTER = 120,
};
enum { // function attributes
    CU_FN_MAX_THREADS = 0, CU_FN_SHARED_BYTES = 1, CU_FN_CONST_BYTES = 2, CU_FN_LOCAL_BYTES = 3, CU_FN_REGISTERS = 4, CU_FN_PTX_VERSION = 5, CU_FN_BINARY_VERSION = 6,
    CU_LIMIT_STACK = 0, CU_FN_MAX_DYNAMIC_SHARED = 8, CU_FN_CARVEOUT = 9, CU_FN_CLUSTER_NONPORTABLE = 14,
};
enum { CU_JIT_MAX_REGISTERS = 0, CU_JIT_INFO_LOG = 3, CU_JIT_INFO_LOG_BYTES = 4, CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6, CU_JIT_OPTIMISATION = 7,
       CU_JIT_DEBUG_INFO = 11, CU_JIT_LOG_VERBOSE = 12, CU_JIT_LINE_INFO = 13 };
enum { CU_INPUT_CUBIN = 0, CU_INPUT_PTX = 1 };
enum { CU_HOST_PORTABLE = 1, CU_HOST_MAPPED = 2, CU_HOST_WRITE_COMBINED = 4 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_NO_TIMING = 2 };
enum { CU_CAPTURE_GLOBAL = 0, CU_CAPTURE_THREAD = 1, CU_CAPTURE_RELAXED = 2 };
enum { CU_POOL_RELEASE_THRESHOLD = 4, CU_POOL_RESERVED_CURRENT = 5, CU_POOL_RESERVED_HIGH = 6, CU_POOL_USED_CURRENT = 7, CU_POOL_USED_HIGH = 8 };
enum { CU_LAUNCH_COOPERATIVE = 2, CU_LAUNCH_CLUSTER = 4, CU_LAUNCH_CLUSTER_POLICY = 5, CU_LAUNCH_PROGRAMMATIC = 6, CU_LAUNCH_PRIORITY = 8 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 };
enum { CU_NODE_KERNEL = 0 };
// clang-format on

typedef union cu_launch_value {
    char pad[64];
    int cooperative;
    struct {
        unsigned x, y, z;
    } cluster;
    int programmatic;
    int priority;
} cu_launch_value;

typedef struct cu_launch_attribute {
    int id;
    char pad[8 - sizeof(int)];
    cu_launch_value value;
} cu_launch_attribute;

typedef struct cu_launch_config {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z;
    unsigned shared_bytes;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch_config;

typedef struct cu_copy_2d {
    size_t src_x, src_y;
    int src_kind;
    const void *src_host;
    cu_ptr src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_kind;
    void *dst_host;
    cu_ptr dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width, height;
} cu_copy_2d;

typedef struct cu_kernel_node {
    cu_function function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z;
    unsigned shared_bytes;
    void **params;
    void **extra;
    void *kernel; // a cu_kernel instead of a function
    cu_context context;
} cu_kernel_node;

typedef struct cu_graph_update {
    int result;
    cu_graph_node error_node, error_from_node;
} cu_graph_update;

typedef struct cu_tensor_map {
    _Alignas(64) uint64_t opaque[16];
} cu_tensor_map;

// The oldest driver that Kiln works with (CUDA 11.4). Entry points that are newer may be missing.
#define CUDA_MINIMUM 11040

// E(field, name asked for, API version asked for, name for dlsym, result, arguments)
// clang-format off
#define CUDA_ENTRIES(E)                                                                                                                     \
    E(init, "cuInit", 2000, "cuInit", (unsigned flags))                                                                                     \
    E(driver_version, "cuDriverGetVersion", 2020, "cuDriverGetVersion", (int *version))                                                     \
    E(error_name, "cuGetErrorName", 6000, "cuGetErrorName", (cu_result r, const char **name))                                               \
    E(error_string, "cuGetErrorString", 6000, "cuGetErrorString", (cu_result r, const char **text))                                         \
    E(device_count, "cuDeviceGetCount", 2000, "cuDeviceGetCount", (int *count))                                                             \
    E(device_get, "cuDeviceGet", 2000, "cuDeviceGet", (cu_device * device, int ordinal))                                                    \
    E(device_name, "cuDeviceGetName", 2000, "cuDeviceGetName", (char *name, int size, cu_device device))                                    \
    E(device_memory, "cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2", (size_t * bytes, cu_device device))                                   \
    E(device_attribute, "cuDeviceGetAttribute", 2000, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device))                \
    E(device_pool, "cuDeviceGetDefaultMemPool", 11020, "cuDeviceGetDefaultMemPool", (cu_pool * pool, cu_device device))                     \
    E(context_retain, "cuDevicePrimaryCtxRetain", 7000, "cuDevicePrimaryCtxRetain", (cu_context * context, cu_device device))               \
    E(context_release, "cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2", (cu_device device))                              \
    E(context_reset, "cuDevicePrimaryCtxReset", 11000, "cuDevicePrimaryCtxReset_v2", (cu_device device))                                    \
    E(context_set, "cuCtxSetCurrent", 4000, "cuCtxSetCurrent", (cu_context context))                                                        \
    E(context_get, "cuCtxGetCurrent", 4000, "cuCtxGetCurrent", (cu_context * context))                                                      \
    E(context_device, "cuCtxGetDevice", 2000, "cuCtxGetDevice", (cu_device * device))                                                       \
    E(context_sync, "cuCtxSynchronize", 2000, "cuCtxSynchronize", (void))                                                                   \
    E(peer_can, "cuDeviceCanAccessPeer", 4000, "cuDeviceCanAccessPeer", (int *can, cu_device device, cu_device peer))                       \
    E(peer_enable, "cuCtxEnablePeerAccess", 4000, "cuCtxEnablePeerAccess", (cu_context peer, unsigned flags))                               \
    E(memory_info, "cuMemGetInfo", 3020, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes))                                    \
    E(alloc, "cuMemAlloc", 3020, "cuMemAlloc_v2", (cu_ptr * at, size_t bytes))                                                              \
    E(free, "cuMemFree", 3020, "cuMemFree_v2", (cu_ptr at))                                                                                 \
    E(alloc_async, "cuMemAllocAsync", 11020, "cuMemAllocAsync", (cu_ptr * at, size_t bytes, cu_stream stream))                              \
    E(free_async, "cuMemFreeAsync", 11020, "cuMemFreeAsync", (cu_ptr at, cu_stream stream))                                                 \
    E(pool_get, "cuMemPoolGetAttribute", 11020, "cuMemPoolGetAttribute", (cu_pool pool, int attribute, void *value))                        \
    E(pool_set, "cuMemPoolSetAttribute", 11020, "cuMemPoolSetAttribute", (cu_pool pool, int attribute, void *value))                        \
    E(pool_trim, "cuMemPoolTrimTo", 11020, "cuMemPoolTrimTo", (cu_pool pool, size_t keep))                                                  \
    E(host_alloc, "cuMemHostAlloc", 2020, "cuMemHostAlloc", (void **at, size_t bytes, unsigned flags))                                      \
    E(host_free, "cuMemFreeHost", 2000, "cuMemFreeHost", (void *at))                                                                        \
    E(host_register, "cuMemHostRegister", 6050, "cuMemHostRegister_v2", (void *at, size_t bytes, unsigned flags))                           \
    E(host_unregister, "cuMemHostUnregister", 4000, "cuMemHostUnregister", (void *at))                                                      \
    E(pointer_attribute, "cuPointerGetAttribute", 4000, "cuPointerGetAttribute", (void *value, int attribute, cu_ptr at))                   \
    E(host_device_pointer, "cuMemHostGetDevicePointer", 3020, "cuMemHostGetDevicePointer_v2", (cu_ptr * device, void *host, unsigned flags)) \
    E(copy_out, "cuMemcpyDtoH", 3020, "cuMemcpyDtoH_v2", (void *to, cu_ptr from, size_t bytes))                                             \
    E(copy_in_async, "cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2", (cu_ptr to, const void *from, size_t bytes, cu_stream stream))      \
    E(copy_out_async, "cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2", (void *to, cu_ptr from, size_t bytes, cu_stream stream))           \
    E(copy_device_async, "cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2", (cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream))       \
    E(copy_peer_async, "cuMemcpyPeerAsync", 4000, "cuMemcpyPeerAsync", (cu_ptr to, cu_context to_context, cu_ptr from, cu_context from_context, size_t bytes, cu_stream stream)) \
    E(copy_2d_async, "cuMemcpy2DAsync", 3020, "cuMemcpy2DAsync_v2", (const cu_copy_2d *copy, cu_stream stream))                             \
    E(fill8_async, "cuMemsetD8Async", 3020, "cuMemsetD8Async", (cu_ptr at, unsigned char v, size_t count, cu_stream stream))                \
    E(fill16_async, "cuMemsetD16Async", 3020, "cuMemsetD16Async", (cu_ptr at, unsigned short v, size_t count, cu_stream stream))            \
    E(fill32_async, "cuMemsetD32Async", 3020, "cuMemsetD32Async", (cu_ptr at, unsigned v, size_t count, cu_stream stream))                  \
    E(module_load, "cuModuleLoadDataEx", 2010, "cuModuleLoadDataEx", (cu_module * module, const void *image, unsigned count, int *options, void **values)) \
    E(module_unload, "cuModuleUnload", 2000, "cuModuleUnload", (cu_module module))                                                          \
    E(module_function, "cuModuleGetFunction", 2000, "cuModuleGetFunction", (cu_function * function, cu_module module, const char *name))    \
    E(module_global, "cuModuleGetGlobal", 3020, "cuModuleGetGlobal_v2", (cu_ptr * at, size_t *bytes, cu_module module, const char *name))  \
    E(function_attribute, "cuFuncGetAttribute", 2020, "cuFuncGetAttribute", (int *value, int attribute, cu_function function))              \
    E(function_set, "cuFuncSetAttribute", 9000, "cuFuncSetAttribute", (cu_function function, int attribute, int value))                     \
    E(link_create, "cuLinkCreate", 6050, "cuLinkCreate_v2", (unsigned count, int *options, void **values, cu_link *link))                   \
    E(link_add, "cuLinkAddData", 6050, "cuLinkAddData_v2", (cu_link link, int kind, void *data, size_t size, const char *name, unsigned count, int *options, void **values)) \
    E(link_complete, "cuLinkComplete", 5050, "cuLinkComplete", (cu_link link, void **cubin, size_t *size))                                  \
    E(link_destroy, "cuLinkDestroy", 5050, "cuLinkDestroy", (cu_link link))                                                                 \
    E(set_limit, "cuCtxSetLimit", 3010, "cuCtxSetLimit", (int limit, size_t value))                                                        \
    E(get_limit, "cuCtxGetLimit", 3010, "cuCtxGetLimit", (size_t *value, int limit))                                                      \
    E(launch, "cuLaunchKernel", 4000, "cuLaunchKernel", (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, cu_stream stream, void **params, void **extra)) \
    E(launch_ex, "cuLaunchKernelEx", 11060, "cuLaunchKernelEx", (const cu_launch_config *config, cu_function f, void **params, void **extra)) \
    E(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int *blocks, cu_function f, int threads, size_t shared)) \
    E(clusters, "cuOccupancyMaxActiveClusters", 11070, "cuOccupancyMaxActiveClusters", (int *clusters, cu_function f, const cu_launch_config *config)) \
    E(stream_create, "cuStreamCreateWithPriority", 5050, "cuStreamCreateWithPriority", (cu_stream * stream, unsigned flags, int priority))  \
    E(stream_destroy, "cuStreamDestroy", 4000, "cuStreamDestroy_v2", (cu_stream stream))                                                    \
    E(stream_sync, "cuStreamSynchronize", 2000, "cuStreamSynchronize", (cu_stream stream))                                                  \
    E(stream_query, "cuStreamQuery", 2000, "cuStreamQuery", (cu_stream stream))                                                             \
    E(stream_wait, "cuStreamWaitEvent", 3020, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned flags))                      \
    E(stream_write, "cuStreamWriteValue32", 11070, "cuStreamWriteValue32_v2", (cu_stream stream, cu_ptr at, uint32_t value, unsigned flags)) \
    E(launch_host, "cuLaunchHostFunc", 10000, "cuLaunchHostFunc", (cu_stream stream, void (*function)(void *user), void *user))             \
    E(capture_begin, "cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2", (cu_stream stream, int mode))                                \
    E(capture_end, "cuStreamEndCapture", 10000, "cuStreamEndCapture", (cu_stream stream, cu_graph *graph))                                  \
    E(capture_info, "cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2", (cu_stream stream, int *status, uint64_t *id, cu_graph *graph, const cu_graph_node **after, size_t *after_count)) \
    E(capture_mode, "cuThreadExchangeStreamCaptureMode", 10010, "cuThreadExchangeStreamCaptureMode", (int *mode))                           \
    E(event_create, "cuEventCreate", 2000, "cuEventCreate", (cu_event * event, unsigned flags))                                             \
    E(event_destroy, "cuEventDestroy", 4000, "cuEventDestroy_v2", (cu_event event))                                                         \
    E(event_record, "cuEventRecord", 2000, "cuEventRecord", (cu_event event, cu_stream stream))                                             \
    E(event_sync, "cuEventSynchronize", 2000, "cuEventSynchronize", (cu_event event))                                                       \
    E(event_query, "cuEventQuery", 2000, "cuEventQuery", (cu_event event))                                                                  \
    E(event_elapsed, "cuEventElapsedTime", 2000, "cuEventElapsedTime", (float *ms, cu_event start, cu_event end))                           \
    E(graph_create, "cuGraphCreate", 10000, "cuGraphCreate", (cu_graph * graph, unsigned flags))                                            \
    E(graph_destroy, "cuGraphDestroy", 10000, "cuGraphDestroy", (cu_graph graph))                                                           \
    E(graph_instantiate, "cuGraphInstantiateWithFlags", 11040, "cuGraphInstantiateWithFlags", (cu_graph_exec * exec, cu_graph graph, unsigned long long flags)) \
    E(graph_launch, "cuGraphLaunch", 10000, "cuGraphLaunch", (cu_graph_exec exec, cu_stream stream))                                        \
    E(graph_exec_destroy, "cuGraphExecDestroy", 10000, "cuGraphExecDestroy", (cu_graph_exec exec))                                          \
    E(graph_update, "cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2", (cu_graph_exec exec, cu_graph graph, cu_graph_update *info))        \
    E(graph_nodes, "cuGraphGetNodes", 10000, "cuGraphGetNodes", (cu_graph graph, cu_graph_node *nodes, size_t *count))                     \
    E(graph_add_kernel, "cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2", (cu_graph_node * node, cu_graph graph, const cu_graph_node *after, size_t after_count, const cu_kernel_node *params)) \
    E(graph_set_kernel, "cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2", (cu_graph_exec exec, cu_graph_node node, const cu_kernel_node *params)) \
    E(tensor_map_tiled, "cuTensorMapEncodeTiled", 12000, "cuTensorMapEncodeTiled", (cu_tensor_map * map, int type, unsigned rank, void *base, const uint64_t *sizes, const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion, int fill))
// clang-format on

// Every entry point; one that the driver lacks is NULL.
typedef struct cuda_api {
#define E(field, name, version, symbol, arguments) cu_result(*field) arguments;
    CUDA_ENTRIES(E)
#undef E
    int version; // of the driver: 13000 for CUDA 13.0
} cuda_api;

// The loaded driver, or NULL with *why set to a sentence. Loads once per process; thread-safe.
const cuda_api *cuda_load(const char **why);
// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" in `out`.
void cuda_describe(const cuda_api *cu, cu_result r, char *out, size_t size);

#endif
