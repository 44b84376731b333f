// Compiles and launches as lines of the log (base/log.h) and as files in the folder of KILN_DUMP.
// Nothing else changes: a file that cannot be written is reported and left out.
#include "rt/report/trace.h"

#include "back/report/report.h"
#include "base/file.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/sha256.h"

static bool has_stats(void)
{
    return knob_number(KNOB_STATS) != 0;
}

bool trace_wants_stages(void)
{
    return log_wants(LOG_IR) || has_stats() || *knob_text(KNOB_DUMP);
}

// --- files
// False: the file was not written, and the log says why.
static bool dump(arena *a, const char *name, const char *end, const char *bytes, size_t len)
{
    const char *folder = knob_text(KNOB_DUMP), *reason = "";
    const char *path = str_format(a, "%s/%s.%s", folder, name, end);
    if (file_make_folders(a, folder, &reason) && file_write(a, path, bytes, len, &reason))
        return true;
    log_message(LOG_ASKED, "KILN_DUMP: cannot write '%s': %s", path, reason);
    return false;
}

// Several files, and one file with several settings, may have a kernel of the same name: a hash of
// source and IR keeps them apart.
static const char *dump_name(const ir_func *f, str source, const text *ir, arena *a)
{
    sha256 state;
    uint8_t hash[SHA256_BYTES];
    char digits[SHA256_TEXT];
    sha256_start(&state);
    sha256_add(&state, source.at, source.len);
    sha256_add(&state, ir->at, ir->len);
    sha256_end(&state, hash);
    sha256_text(hash, digits);
    return str_format(a, "%s-%.8s", f->name, digits);
}

static bool dump_kernel(const kiln_module *module, const ir_func *f, const front *from, arena *a)
{
    const target *t = module->target;
    text ir = {.in = a}, code = {.in = a};
    ir_print_func(f, &ir);
    const source_file *file = from && f->at.lo ? source_file_at(from->sources, f->at.lo) : NULL;
    str source = file ? file->text : (str){"", 0};
    const char *name = dump_name(f, source, &ir, a);
    if (!dump(a, name, str_format(a, "%s.ir", t->name), ir.at, ir.len))
        return false;
    if (file && !dump(a, name, "c", source.at, source.len))
        return false;
    backend_job job = {.module = f->module, .only = f, .target = t, .scratch = a};
    return !t->backend || !t->backend->emit(&job, &code) ||
           dump(a, name, str_format(a, "%s.%s", t->name, t->backend->suffix), code.at, code.len);
}

// --- stages
static uint32_t count_instructions(const ir_module *m)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < m->funcs.len; k++)
        for (uint32_t i = 1; i < m->funcs.at[k]->insts.len; i++)
            count += m->funcs.at[k]->insts.at[i].op != IR_NOP;
    return count;
}

static void trace_final(const kiln_module *module, front *f, ir_module *m, arena *a)
{
    text ir = {.in = a}, stats = {.in = a};
    bool dumps = *knob_text(KNOB_DUMP);
    if (log_wants(LOG_IR)) {
        ir_print_module(m, &ir);
        log_text(LOG_IR, str_format(a, "the IR of %s", module->name), ir.at ? ir.at : "");
    }
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const ir_func *kernel = m->funcs.at[k];
        if (!kernel->is_kernel)
            continue;
        if (has_stats())
            report_stats(kernel, a, &stats);
        if (dumps) // stops at the first failure: the others would fail alike
            dumps = dump_kernel(module, kernel, f, a);
    }
    if (stats.len)
        log_text(LOG_ASKED, "instructions by kind", stats.at);
}

// Everything is made in the compile's own arena, which goes with it.
void trace_stage(void *module_pointer, const char *name, front *f, ir_module *m)
{
    const kiln_module *module = module_pointer;
    if (!m)
        return;
    if (!strcmp(name, "final")) {
        trace_final(module, f, m, m->in);
    } else if (log_wants(LOG_PASSES)) {
        text ir = {.in = m->in};
        log_message(LOG_PASSES, "%s: after %s %u instructions", module->name, name,
                    count_instructions(m));
        if (log_wants(LOG_ALL)) {
            ir_print_module(m, &ir);
            log_text(LOG_ALL, name, ir.at ? ir.at : "");
        }
    }
}

void trace_compiled(const kiln_module *m, const compile_outcome *outcome)
{
    double front_ms = 0, all = 0;
    for (int k = 0; k < STAGE_COUNT; k++) {
        all += outcome->seconds[k] * 1e3;
        front_ms += k <= STAGE_LOWER ? outcome->seconds[k] * 1e3 : 0;
    }
    log_message(LOG_COMPILE, "%s for %s: %s in %.2f ms (front end %.2f, passes %.2f, code %.2f)",
                m->name, m->target->name, outcome->status ? "not compiled" : "compiled", all,
                front_ms, outcome->seconds[STAGE_PASSES] * 1e3, outcome->seconds[STAGE_EMIT] * 1e3);
}

// --- modules and launches
// A line that there is no memory for is left out.
static void trace_resources(const kiln_module *m, kiln_kernel *kernel, const kiln_resources *r)
{
    const target *t = m->target;
    arena *a = arena_new();
    bug_frame frame;
    if (a && !bug_enter(&frame)) {
        report_row row = {.kernel = kernel->name,
                          .source = REPORT_DRIVER,
                          .registers = r->registers,
                          .spills = (uint32_t)(r->spill_stores / 4),
                          .local_bytes = r->local_bytes,
                          .shared_bytes = r->shared_bytes,
                          .threads = kernel->block[0] * kernel->block[1] * kernel->block[2]};
        text line = {.in = a};
        if (t->registers && r->registers)
            report_line(&row, t, &line);
        else
            text_printf(&line, "%s  %s  %zu B shared", kernel->name, t->name, r->shared_bytes);
        log_message(LOG_RESOURCES, "%s", line.at);
        bug_leave(&frame);
    }
    arena_free(a);
}

void trace_ready(const kiln_module *m)
{
    for (size_t n = 0; log_wants(LOG_RESOURCES) && n < m->kernel_count; n++) {
        kiln_resources r = {0};
        if (!kiln_kernel_resources(m->kernels[n], &r))
            trace_resources(m, m->kernels[n], &r);
    }
    if (m->code)
        log_text(LOG_CODE, "the code", m->code);
}

void trace_launch(const kiln_kernel *kernel, const rt_launch *l)
{
    log_message(LOG_ALL,
                "launch %s, grid %u,%u,%u block %u,%u,%u, %zu bytes of dynamic shared memory",
                kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                l->block[2], l->shared_bytes);
}

void kiln_on_log(int level, void (*log)(void *user, int level, const char *text), void *user)
{
    log_set(level, log, user);
}
