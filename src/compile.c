// The map: the whole compiler, in order.
//
//     text -> pp_run -> parse_file -> lower_module -> pass_run_all -> ir_verify -> emit -> code
//             macros    checked tree   IR, level 0    IR, optimised              the back end's
//
// Everything made on the way lives in one arena. The outcome of a compile that went well keeps it:
// its owner reads IR, sources and code there until compile_outcome_free. Start at `compile`.
//
// Out of memory and mistakes of Kiln's own come back to compile_guarded (bug_enter).
#include "compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum { SOURCE_LIMIT = 16 << 20 };
static const size_t arena_ceiling = (size_t)2 << 30;

const char *const compile_stage_names[STAGE_COUNT] = {"read",  "preprocess", "parse",
                                                      "lower", "passes",     "emit"};

typedef struct job {
    const compile_options *options;
    compile_outcome *outcome;
    arena *a;
    arena *scratch; // of the passes, emptied after each
    front *f;
    ir_module *m;
    source_file *file;
    double since;
} job;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Ends a stage: its time is counted, and it may be shown.
static void stage_done(job *j, compile_stage stage, const char *shown)
{
    double t = now();
    j->outcome->seconds[stage] += t - j->since;
    if (shown && j->options->stage)
        j->options->stage(j->options->user, shown, j->options->is_ir ? NULL : j->f, j->m);
    j->since = now();
}

static void pass_done(void *job_pointer, const pass_row *row, ir_module *m)
{
    job *j = job_pointer;
    j->m = m;
    stage_done(j, STAGE_PASSES, row->name);
}

static kiln_status fail(job *j, kiln_status status, const char *code, const char *message)
{
    j->outcome->status = status;
    j->outcome->code = code;
    size_t len = strlen(message);
    j->outcome->log = malloc(len + 1);
    if (j->outcome->log) {
        memcpy(j->outcome->log, message, len + 1);
        j->outcome->log_len = len;
    }
    return status;
}

static bool read_source(job *j, str *out)
{
    const compile_options *o = j->options;
    if (o->source) {
        *out = (str){o->source, o->source_len ? o->source_len : strlen(o->source)};
        return true;
    }
    const char *reason = "no path and no text was given";
    if (o->path && file_read(j->a, o->path, SOURCE_LIMIT, out, &reason))
        return true;
    fail(j, o->path ? KILN_E_IO : KILN_E_BAD_ARGUMENT, o->path ? "K6005" : "K6003",
         str_format(j->a, "cannot read '%s': %s", o->path ? o->path : "", reason));
    return false;
}

static bool has_errors(const job *j)
{
    return j->f->diags->error_count > 0;
}

// C in, IR out. False: the diagnostics say why.
static bool run_front(job *j, str text_in, const char *name)
{
    front *f = j->f;
    source_file *file = j->file = source_add(f->sources, name, text_in);
    if (!file) {
        fail(j, KILN_E_IO, "K6005", str_format(j->a, "cannot read '%s': larger than 1 GiB", name));
        return false;
    }
    bool is_whole = pp_run(f, file);
    stage_done(j, STAGE_PREPROCESS, "tokens");
    if (!is_whole)
        return false;
    parse_file(f);
    stage_done(j, STAGE_PARSE, has_errors(j) ? NULL : "ast");
    if (has_errors(j))
        return false;
    lower_module(f);
    j->m = f->module;
    for (uint32_t k = 0; k < j->m->funcs.len; k++)
        constant_check(j->m->funcs.at[k], f->diags);
    stage_done(j, STAGE_LOWER, "ir");
    return !has_errors(j);
}

static bool read_ir(job *j, str text_in, const char *name)
{
    const char *wrong = NULL;
    j->m = ir_read(j->a, j->f->names, text_in, &wrong);
    if (j->m)
        wrong = ir_verify_module(j->m, j->a);
    if (wrong) {
        fail(j, KILN_E_COMPILE, "K6008",
             str_format(j->a, "error[K6008]: the IR text of '%s' cannot be used: %s\n", name,
                        wrong));
        j->outcome->error_count = 1;
        return false;
    }
    stage_done(j, STAGE_LOWER, "ir");
    return true;
}

// The target's code; what the target lacks is a diagnostic.
static void emit(job *j)
{
    text code = {.in = j->a};
    backend_job b = {.module = j->m,
                     .target = front_target(&j->options->front),
                     .options = j->options->emit_options,
                     .diags = j->f->diags,
                     .scratch = j->scratch};
    if (j->options->backend->emit(&b, &code))
        j->outcome->emitted = (str){code.at, code.len};
}

// What the target's code calls, which is Kiln C, too.
static void add_library(job *j)
{
    const backend *b = front_target(&j->options->front)->backend;
    const char *source = b && b->library ? b->library(j->m, j->a) : NULL;
    if (!source)
        return;
    compile_outcome *made = calloc(1, sizeof *made);
    if (!made)
        bug_out_of_memory();
    j->outcome->library = made;
    *made = compile_run(&(compile_options){.path = "<kiln/host>",
                                           .source = source,
                                           .front = {.target = j->options->front.target},
                                           .level = 2,
                                           .no_remarks = true});
    if (made->status == KILN_E_NO_MEMORY)
        bug_out_of_memory();
    if (made->status)
        bug("the code of host calls: %s", made->log);
    j->m->library = made->ir;
}

// The compiler. Its outcome is in the diagnostics, or in outcome->status when that is set.
static void compile(job *j)
{
    const compile_options *o = j->options;
    const char *name = o->path ? o->path : "<string>";
    str text_in;
    if (!read_source(j, &text_in))
        return;
    stage_done(j, STAGE_READ, NULL);
    if (o->is_ir ? !read_ir(j, text_in, name) : !run_front(j, text_in, name))
        return;

    pass_ctx ctx = {.scratch = j->scratch,
                    .diags = o->is_ir ? NULL : j->f->diags,
                    .target = o->front.target,
                    .level = o->level,
                    .wants_remarks = !o->no_remarks,
                    .checks_bounds = o->checks_bounds,
                    .wants_plain_exits =
                        o->wants_plain_exits || front_target(&o->front)->has_no_goto,
                    .rows = o->passes};
    j->m->is_plain = o->level == 0;
    pass_run_all(j->m, &ctx, o->verifies, pass_done, j);
    stage_done(j, STAGE_PASSES, NULL);
    if (has_errors(j))
        return;
    const char *wrong = ir_verify_module(j->m, j->a);
    if (wrong)
        bug("after all passes: %s", wrong);
    add_library(j);
    stage_done(j, STAGE_PASSES, "final");
    if (o->backend)
        emit(j);
    stage_done(j, STAGE_EMIT, NULL);
}

// --- results out of the arena
static char *copy_out(const char *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy)
        bug_out_of_memory();
    if (len)
        memcpy(copy, bytes, len);
    copy[len] = 0;
    return copy;
}

static void copy_first_error(job *j)
{
    diags *ds = j->f->diags;
    for (uint32_t k = 0; k < ds->list.len; k++) {
        const diag *d = ds->list.at[k];
        if (d->level != DIAG_ERROR)
            continue;
        j->outcome->code = diag_code_name(d->code);
        if (!d->at.lo)
            return;
        source_place at = source_find(ds->sources, d->at.lo);
        if (!at.file)
            return;
        const char *path = source_shown_path(at.file, at.line);
        j->outcome->file = copy_out(path, strlen(path));
        j->outcome->line = (int)source_shown_line(at.file, at.line);
        j->outcome->column = (int)at.column;
        return;
    }
}

static void render(job *j)
{
    diags *ds = j->f->diags;
    j->outcome->error_count += ds->error_count;
    j->outcome->warning_count = ds->warning_count;
    if (j->outcome->log)
        return;
    text out = {.in = j->a};
    if (j->options->json)
        diag_render_json(ds, &out);
    else
        diag_render_text(ds, &out, j->options->colour);
    j->outcome->log = copy_out(out.at, out.len);
    j->outcome->log_len = out.len;
    if (!has_errors(j))
        return;
    j->outcome->status = KILN_E_COMPILE;
    copy_first_error(j);
}

static void front_open(job *j)
{
    const compile_options *o = j->options;
    front *f = j->f = arena_new_of(j->a, front);
    f->in = j->a;
    f->names = names_in(j->a);
    f->sources = sources_in(j->a);
    f->diags = diags_in(j->a, f->sources);
    f->diags->warnings_are_errors = o->warnings_are_errors;
    f->options = &o->front;
}

// Apart from compile_run so that the jump comes back to a function without variables of its own.
static void compile_guarded(job *j)
{
    bug_frame frame;
    if (bug_enter(&frame)) {
        free(j->outcome->log);
        bool is_memory = frame.kind == BUG_NO_MEMORY;
        fail(j, is_memory ? KILN_E_NO_MEMORY : KILN_E_INTERNAL, is_memory ? "K6004" : "K9001",
             is_memory ? "out of memory while compiling" : frame.text);
        return;
    }
    front_open(j);
    compile(j);
    if (j->options->inspect)
        j->options->inspect(j->options->user, j->f->diags, j->file);
    render(j);
    bug_leave(&frame);
}

compile_outcome compile_run(const compile_options *options)
{
    compile_outcome outcome = {.code = ""};
    job j = {.options = options, .outcome = &outcome, .a = arena_new(), .since = now()};
    j.scratch = arena_new();
    if (j.a && j.scratch) {
        arena_limit(j.a, arena_ceiling);
        arena_limit(j.scratch, arena_ceiling);
        compile_guarded(&j);
        outcome.arena_bytes = arena_used(j.a) + arena_used(j.scratch);
        if (!outcome.status) {
            outcome.ir = j.m;
            outcome.sources = j.f->sources;
            outcome.a = j.a;
        }
    } else {
        fail(&j, KILN_E_NO_MEMORY, "K6004", "no memory to compile in");
    }
    if (!outcome.a)
        arena_free(j.a);
    arena_free(j.scratch);
    return outcome;
}

void compile_outcome_free(compile_outcome *outcome)
{
    free(outcome->log);
    free(outcome->file);
    if (outcome->library)
        compile_outcome_free(outcome->library);
    free(outcome->library);
    arena_free(outcome->a);
    *outcome = (compile_outcome){.code = ""};
}
