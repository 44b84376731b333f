// From a signal to the kernel's error. The interpreter runs the stopped block again, with all its
// checks: it names line, array, index and thread as it always does. The block finds memory as the
// machine code left it, so a kernel that has overwritten what led it astray may get through; then
// the message is made of the signal alone. Start reading at blame_fault.
#include "dev/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>

// Instructions of all warps of the block: about two seconds.
#define MOST_STEPS 20000000u
enum { NEAR = 1 << 20, NULL_PAGES = 1 << 16 }; // bytes

static void ignore_print(void *user, const char *bytes, size_t len)
{
    (void)user;
    (void)bytes;
    (void)len;
}

// True: the block fails there, too.
static bool ask_interpreter(kiln_kernel *kernel, const rt_launch *l, uint64_t block_rank,
                            interp_error *out)
{
    kiln *k = kernel->module->k;
    const host_device *d = host_of(k);
    uint32_t warps = (l->block[0] * l->block[1] * l->block[2] + 31) / 32;
    rt_arg *args = cpu_moved_args(kernel, l, false);
    interp_buffer *rows = cpu_moved_rows(d);
    interp_launch launch = {.program = interp_kernel_of(kernel)->program,
                            .shared_bytes = l->shared_bytes,
                            .args = args,
                            .buffers = rows,
                            .buffer_count = d->row_count + CPU_ABOVE_HOST,
                            .threads = 1,
                            .step_limit = MOST_STEPS / warps,
                            .cancel = &k->cancel,
                            .is_one_block = true,
                            .one_block = block_rank,
                            .takes_host = true,
                            .print = ignore_print};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    bool has_failed = args && rows && !interp_run(&launch, out) && out->code != K6028 &&
                      out->code != K6029 && out->code != K6004 && out->code != K6047;
    free(args);
    free(rows);
    return has_failed;
}

// The pointer argument whose buffer ends just before, or begins just behind, the address; SIZE_MAX:
// none.
static size_t nearest_param(const kiln_kernel *kernel, const rt_launch *l, uintptr_t address,
                            uint64_t *past)
{
    const host_device *k = host_of(kernel->module->k);
    size_t found = SIZE_MAX;
    uint64_t least = NEAR;
    for (size_t n = 0; n < kernel->param_count; n++) {
        uint64_t row = l->args[n].bits >> INTERP_SEGMENT_BITS;
        if (kernel->params[n].info.kind != KILN_PARAM_POINTER || !row || row >= k->row_count ||
            !k->rows[row].base)
            continue;
        uintptr_t end = (uintptr_t)k->rows[row].base + k->rows[row].size;
        if (address >= end && address - end < least) {
            least = address - end;
            *past = least;
            found = n;
        }
    }
    return found;
}

static void describe_signal(const kiln_kernel *kernel, const rt_launch *l, const fault_note *note,
                            interp_error *e)
{
    const char *verb = !note->knows_writes ? "uses" : note->writes ? "writes" : "reads";
    uint64_t past = 0;
    size_t near = note->has_address ? nearest_param(kernel, l, note->address, &past) : SIZE_MAX;
    e->code = K6020;
    cpu_add_text(e, "kernel '%s': ", kernel->name);
    if (!note->has_address) {
        cpu_add_text(e, "%s an address that no pointer can have", verb);
    } else if (note->address < NULL_PAGES) {
        e->code = K6021;
        cpu_add_text(e, "%s through a null pointer", verb);
    } else if (near != SIZE_MAX) {
        cpu_add_text(e, "%s memory %llu byte%s past the end of '%s'", verb,
                     (unsigned long long)past, past == 1 ? "" : "s",
                     kernel->params[near].info.name);
    } else {
        cpu_add_text(e, "%s memory at 0x%llx, outside every buffer and array", verb,
                     (unsigned long long)note->address);
    }
}

void blame_fault(kiln_kernel *kernel, const rt_launch *l, const fault_note *note,
                 uint64_t block_rank, uint32_t warp, interp_error *out)
{
    interp_error seen;
    if (ask_interpreter(kernel, l, block_rank, &seen)) {
        *out = seen;
        return;
    }
    // Only now: a buffer may end close to a stack, and what is used behind it looks the same.
    if (note->is_stack) {
        *out = (interp_error){.code = K6004, .file = "", .block_rank = block_rank};
        cpu_add_text(out,
                     "kernel '%s': its machine code needs more stack than the %d KiB it is given: "
                     "split the kernel, or keep fewer values alive across barriers and loops",
                     kernel->name, FIBER_STACK >> 10);
        return;
    }
    uint32_t threads = l->block[0] * l->block[1] * l->block[2], last = warp * 32 + 31;
    *out = (interp_error){
        .file = kernel->file ? kernel->file : "", .line = kernel->line, .block_rank = block_rank};
    describe_signal(kernel, l, note, out);
    if (kernel->file && kernel->line)
        cpu_add_text(out, "\n  in the kernel at %s:%u", kernel->file, kernel->line);
    last = last < threads ? last : threads - 1;
    if (last == warp * 32)
        cpu_add_text(out, "\n  in thread %u", last);
    else
        cpu_add_text(out, "\n  in one of threads %u to %u", warp * 32, last);
    cpu_add_text(out, " of block (%u, %u, %u)", (uint32_t)(block_rank % l->grid[0]),
                 (uint32_t)(block_rank / l->grid[0] % l->grid[1]),
                 (uint32_t)(block_rank / l->grid[0] / l->grid[1]));
}
