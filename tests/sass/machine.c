// The machine of tests/fake/machine.h: what its driver launches is assembled by ptxas and played
// here. So all of Kiln's cuda device runs without a GPU, and a kernel is what the assembler made.
#include "fake/machine.h"

#include "sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sass_program *program_of(cu_module m)
{
    char error[600] = "";
    if (!m->program)
        m->program = sass_assemble(m->text, strlen(m->text), m->level, error, sizeof error);
    if (!m->program)
        fprintf(stderr, "sass: %s\n", error);
    return m->program;
}

bool machine_run(cu_function f, const machine_launch *launch, void **params)
{
    sass_program *p = program_of(f->module);
    uint32_t sizes[256];
    char error[600] = "";
    if (!p)
        return false;
    if (!sass_param_sizes(f->module->text, f->name, sizes, 256)) {
        fprintf(stderr, "sass: the parameters of %s are not understood\n", f->name);
        return false;
    }
    uint32_t stack = launch->stack_bytes < 1 << 16 ? 1 << 16 : launch->stack_bytes;
    bool is_good = sass_run(p, f->name, launch->grid, launch->threads, launch->shared_bytes, stack,
                            params, sizes, error, sizeof error);
    if (!is_good)
        fprintf(stderr, "sass: %s: %s\n", f->name, error);
    return is_good;
}

void *machine_variable(cu_module m, const char *name, size_t *bytes)
{
    sass_program *p = program_of(m);
    for (uint32_t n = 0; p && n < p->symbol_count; n++) {
        const struct sass_symbol *s = &p->symbols[n];
        if (strcmp(s->name, name) != 0 || s->section >= p->section_count ||
            !p->sections[s->section].data)
            continue;
        *bytes = s->bytes;
        return p->sections[s->section].data + s->value;
    }
    return NULL;
}

void machine_forget(cu_module m)
{
    sass_free(m->program);
}
