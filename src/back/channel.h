// How a kernel on a GPU reports to the host: printf lines and the first fault. A kernel that needs
// it (channel_is_used) gets one hidden last parameter: the address of a channel_header in device
// memory. Lines and the fault lie in memory the host reads directly, so they survive whatever
// happens to the kernel. A thread that faults records it and ends; the context and all data stay
// alive.
#ifndef KILN_CHANNEL_H
#define KILN_CHANNEL_H

#include "base/diag.h"
#include "ir/ir.h"

typedef struct channel_header {
    uint64_t ring;        // device address of the lines
    uint32_t capacity;    // bytes
    uint32_t position;    // next free byte; grows by atomic adds. With a tail: what was seen of it
    uint32_t dropped;     // lines that found no room
    uint32_t fault_taken; // 0, then 1: a thread records a fault
    uint64_t fault;       // device address of a channel_fault
    uint64_t tail;        // device address of a channel_tail; 0: nobody reads while kernels run
    uint64_t end;         // where the next line goes, counted since the beginning; atomic adds
    uint64_t calls[9];    // a mailbox_calls (rt/channel/mailbox_call.h)
} channel_header;
// A module whose kernels call the host has a copy of `calls` in constant memory, by this name.
#define CHANNEL_CALLS_NAME "__kiln_calls"
// The copy is longer by CHANNEL_RING_MARK bytes where calls carry large objects through dynamic
// shared memory: a look for a name that is not there is an error to tools that watch the driver.
// From CHANNEL_RING_LEAST bytes on that memory is used; its place is aligned by the kernel.
#define CHANNEL_RING_MARK  8u
#define CHANNEL_RING_LEAST 16640u
#define CHANNEL_RING_ALIGN 128u

// Lines that are read while kernels run are a ring: `end` and the tail count bytes and never go
// back. A line is there when its `bytes` are, and the place of a line that was read is zeros again.
typedef struct channel_tail { // memory of the host that the GPU maps
    uint64_t position;        // host: everything before it was read
} channel_tail;
#define CHANNEL_SKIP        (UINT32_C(1) << 31) // with `bytes`: no line, the ring goes on behind it
#define CHANNEL_PACKED      (UINT32_C(1) << 30) // a channel_lines
#define CHANNEL_BYTES(word) ((word) & ~(CHANNEL_SKIP | CHANNEL_PACKED))

typedef struct channel_line {
    uint32_t bytes; // of this record, arguments included
    uint32_t site;
    uint32_t thread[3], block[3];
    uint64_t arguments[]; // as C promotes them: i32 zero-extended, i64, f64 bits
} channel_line;

// A line of each lane that printed together (rt/channel/print_room.h). For every argument follows
// a row of all lanes' values: 8 bytes, or 4 where its type has so many or less, padded to 8.
typedef struct channel_lines {
    uint32_t bytes; // | CHANNEL_PACKED
    uint32_t site, lanes, unused;
} channel_lines;

typedef struct channel_fault {
    uint32_t is_set;
    uint32_t site;
    uint32_t thread[3], block[3];
    uint64_t values[2]; // IR_BOUNDS: byte offset, byte length; IR_HOST: the mailbox's status
} channel_fault;

// A place in the source that prints, asserts or traps; the site numbers index this list.
typedef struct channel_site {
    uint16_t op; // IR_PRINT, IR_HOST, IR_ASSERT, IR_BOUNDS, IR_TRAP
    const char *kernel;
    str text; // format, host function (ir/host.h), condition, "reads x"
    const char *file;
    uint32_t line, column;
    uint32_t elem; // IR_BOUNDS: bytes of an element
    uint32_t argument_count;
    uint8_t arguments[32]; // ir_type of each
} channel_site;

typedef vec(channel_site) channel_sites;

bool channel_is_site(uint16_t op);
bool channel_is_used(const ir_func *f);
// Per instruction of the function: 1 + the number of its site, or 0. Sites are numbered through the
// module: functions in order, then instructions by id.
uint32_t *channel_number_sites(const ir_func *f, arena *a);
// The sites of all kernels, by their numbers.
void channel_list_sites(const ir_module *m, arena *a, channel_sites *out);
// What a failed ASSERT is, by its text (ir.h), and what stands before it in a message.
diag_code channel_assert_code(str what);
const char *channel_assert_prefix(str what);
// "reads element 7 of 'x', which has 4 elements", from a failed IR_BOUNDS; `what` is its string.
void channel_bounds_text(char *out, size_t size, str what, uint64_t elem, uint64_t offset,
                         uint64_t length);

#endif
