// The first tier of the cpu device: machine code that back/x86 makes while the module is compiled,
// in memory that is written first and then may only be run. Without such memory, or on another
// processor, there is none; only `kiln doctor` says so. Start reading at quick_load.
#include "dev/cpu/cpu.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "back/x86/make.h"

struct cpu_quick {
    void *memory;
    size_t bytes;
    cpu_row rows[];
};

#define SAME_PLACE(field)                                                                          \
    _Static_assert(offsetof(cpu_warp, field) == offsetof(x86_warp, field), "the same struct")
SAME_PLACE(args);
SAME_PLACE(local);
SAME_PLACE(cancel);
SAME_PLACE(print);
SAME_PLACE(values);
SAME_PLACE(warp);
SAME_PLACE(streams);
_Static_assert(sizeof(cpu_warp) == sizeof(x86_warp), "the same struct");

static size_t whole_pages(size_t bytes)
{
    long page = sysconf(_SC_PAGESIZE);
    size_t size = page > 0 ? (size_t)page : 4096;
    return (bytes + size - 1) / size * size;
}

// NULL: the system does not allow it.
static void *put_into_memory(const uint8_t *code, size_t len)
{
    size_t bytes = whole_pages(len);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    memcpy(memory, code, len);
    if (mprotect(memory, bytes, PROT_READ | PROT_EXEC)) {
        munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

bool quick_is_here(const char **why)
{
    static const uint8_t code[] = {0xc3};
    if (!x86_is_here()) {
        *why = "not x86-64 with AVX-512";
        return false;
    }
    void *memory = put_into_memory(code, sizeof code);
    *why = memory ? "own machine code for AVX-512" : "no memory that may be run";
    if (memory)
        munmap(memory, whole_pages(sizeof code));
    return memory != NULL;
}

static void set_kernel(kiln_kernel *kernel, const x86_kernel *from, const struct cpu_quick *q,
                       cpu_row *row)
{
    uint8_t *at = (uint8_t *)q->memory + from->at;
    *row = (cpu_row){.name = kernel->name,
                     .local_bytes = from->local_bytes,
                     .shared_bytes = from->shared_bytes,
                     .needs_fibers = from->needs_fibers,
                     .needs_rows = from->needs_rows};
    memcpy(&row->run, &at, sizeof at);
    cpu_kernel_of(kernel)->quick = row;
}

void quick_load(kiln_module *m, const ir_module *from)
{
    if (!x86_is_here())
        return;
    arena *scratch = arena_new();
    if (!scratch)
        bug_out_of_memory();
    m->scratch = scratch; // freed with the module when this is left by a jump
    x86_module made = x86_make(from, scratch);
    struct cpu_quick *q = made.kernel_count == m->kernel_count
                              ? calloc(1, sizeof *q + m->kernel_count * sizeof *q->rows)
                              : NULL;
    if (q) {
        cpu_module_of(m)->quick = q;
        q->memory = made.code_len ? put_into_memory(made.code, made.code_len) : NULL;
        q->bytes = made.code_len;
        for (size_t k = 0; q->memory && k < m->kernel_count; k++)
            if (!made.kernels[k].refusal)
                set_kernel(m->kernels[k], &made.kernels[k], q, &q->rows[k]);
    }
    m->scratch = NULL;
    arena_free(scratch);
}

void quick_free(kiln_module *m)
{
    struct cpu_quick *q = cpu_module_of(m)->quick;
    if (q && q->memory)
        munmap(q->memory, whole_pages(q->bytes));
    free(q);
    cpu_module_of(m)->quick = NULL;
}
