// What the handles of the driver that runs nothing (libcuda.c) point to.
#ifndef KILN_TESTS_FAKE_HANDLES_H
#define KILN_TESTS_FAKE_HANDLES_H

#include "dev/cuda/abi.h"

#include <stdbool.h>

struct cu_context_s {
    int device;
};
struct cu_module_s {
    char *text;
    int level;     // of the assembler's optimisation
    void *program; // of a library that runs code
};
struct cu_function_s {
    char name[128];
    cu_module module;
    int dynamic, waits; // waits: for the kernel before it
};
struct cu_stream_s {
    bool is_capturing, is_spoilt; // spoilt: a call was not allowed during the capture
    int launches;
};
struct cu_event_s {
    bool is_recorded, is_captured;
    double us; // of the device's clock
};
struct cu_graph_s {
    size_t nodes;
};
struct cu_graph_node_s {
    int unused;
};
struct cu_graph_exec_s {
    size_t nodes;
};
struct cu_link_s {
    char *text;
    size_t len;
};

#endif
