// kiln show: one stage of the compiler on standard output, nothing else there. Stages are tokens,
// ast, ir, every pass by name (NAME.2: after its second run), final and remarks; ptx, and what is
// made from it: report, stats, side.
#include <stdlib.h>
#include <sys/stat.h>

#include "back/report/ptxas.h"
#include "back/report/report.h"
#include "base/bug.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/knobs.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/side_by_side.h"
#include "compile.h"
#include "dev/device.h"
#include "pass/pass.h"

typedef struct show {
    const char *stage;
    unsigned wanted_run; // of a pass: the n-th; 0: the last
    unsigned runs;
    const char *kernel;
    arena *in;
    text out;
    const target *target; // of --stage ptx, report, stats, side
    const char *html;     // a file to write
    const char *path;
    const char *source; // its text, or NULL: it is read
    size_t source_len;
    FILE *to;
    bool annotate, line_info;
    bool has_kernel;  // the file has one
    bool tells_stage; // none was given
    bool found, no_kernel, cannot_emit, cannot_write;
    diags *complaints; // of the emitter, about IR without a source
} show;

static void print_tokens(show *s, front *f)
{
    for (uint32_t i = 0; i < f->tokens.len; i++) {
        const token *t = &f->tokens.at[i];
        source_place place = source_find(f->sources, t->at.lo);
        if (!place.file)
            continue;
        str spelling = source_text(f->sources, t->at);
        text_printf(&s->out, "%s:%u:%u\t%s\t%.*s%s\n", place.file->path, place.line, place.column,
                    token_kind_spelling((token_kind)t->kind), (int)spelling.len, spelling.at,
                    t->flags & TF_FROM_MACRO ? "\t(expanded)" : "");
    }
}

static void print_module(show *s, ir_module *m)
{
    if (!s->kernel) {
        ir_print_module(m, &s->out);
        return;
    }
    bool found = false;
    for (uint32_t i = 0; i < m->funcs.len; i++)
        if (!strcmp(m->funcs.at[i]->name, s->kernel)) {
            ir_print_func(m->funcs.at[i], &s->out);
            found = true;
        }
    s->no_kernel = !found;
}

static const ir_func *kernel_of(show *s, const ir_module *m)
{
    const ir_func *only = NULL;
    for (uint32_t i = 0; s->kernel && i < m->funcs.len; i++)
        if (!strcmp(m->funcs.at[i]->name, s->kernel))
            only = m->funcs.at[i];
    s->no_kernel = s->kernel && !only;
    return only;
}

// IR that is read from a file has no source to show: the messages stand alone.
static diags *complaints_of(show *s, front *f)
{
    if (!f && !s->complaints)
        s->complaints = diags_in(s->in, NULL);
    return f ? f->diags : s->complaints;
}

static void print_complaints(const diags *ds)
{
    for (uint32_t i = 0; ds && i < ds->list.len; i++) {
        const diag *d = ds->list.at[i];
        fprintf(stderr, "kiln show: error[%s]: %s\n", diag_code_name(d->code), d->message);
    }
}

static bool emit(show *s, front *f, ir_module *m, bool line_info, text *out)
{
    const ir_func *only = kernel_of(s, m);
    ptx_options options = {.annotate = s->annotate, .line_info = line_info};
    s->cannot_emit =
        !s->no_kernel && !ptx_emit(m, only, s->target, &options, complaints_of(s, f), s->in, out);
    return !s->no_kernel && !s->cannot_emit;
}

static void print_ptx(show *s, front *f, ir_module *m)
{
    emit(s, f, m, s->line_info, &s->out);
}

static void print_c(show *s, front *f, ir_module *m)
{
    const ir_func *only = kernel_of(s, m);
    (void)f;
    if (!s->no_kernel)
        cpu_emit(m, only, s->in, &s->out);
}

static void print_opencl(show *s, front *f, ir_module *m)
{
    const ir_func *only = kernel_of(s, m);
    opencl_options options = {.is_exact = true};
    s->cannot_emit =
        !s->no_kernel && !opencl_emit(m, only, &options, complaints_of(s, f), s->in, &s->out);
}

static void print_report(show *s, front *f, ir_module *m)
{
    text ptx = {.in = s->in};
    report_rows rows = {0};
    const char *note;
    if (!emit(s, f, m, false, &ptx))
        return;
    report_collect(m, kernel_of(s, m), s->target, (str){ptx.at, ptx.len}, s->in, &rows, &note);
    if (note)
        fprintf(stderr, "kiln show: %s\n", note);
    for (uint32_t i = 0; i < rows.len; i++) {
        report_line(&rows.at[i], s->target, &s->out);
        text_putc(&s->out, '\n');
    }
}

static void print_stats(show *s, front *f, ir_module *m)
{
    const ir_func *only = kernel_of(s, m);
    (void)f;
    for (uint32_t i = 0; i < m->funcs.len; i++)
        if (m->funcs.at[i]->is_kernel && (!only || only == m->funcs.at[i]))
            report_stats(m->funcs.at[i], s->in, &s->out);
}

static void print_side(show *s, front *f, ir_module *m)
{
    text ptx = {.in = s->in}, html = {.in = s->in};
    const char *reason;
    if (!f || !emit(s, f, m, true, &ptx))
        return;
    side_by_side page = {
        .of = {.in = s->in, .sources = f->sources, .module = m, .only = kernel_of(s, m)},
        .ptx = {ptx.at, ptx.len}};
    page.sass = ptxas_disassemble(s->in, s->target->name, page.ptx);
    if (s->html) {
        side_by_side_html(&page, str_format(s->in, "%s for %s", s->path, s->target->name), &html);
        s->cannot_write = !file_write(s->in, s->html, html.at, html.len, &reason);
        if (s->cannot_write)
            fprintf(stderr, "kiln show: %s: %s\n", s->html, reason);
        return;
    }
    bool is_free = !term_is_tty(stdout) && !getenv("COLUMNS");
    side_by_side_text(&page, is_free ? 160 : term_width(stdout), term_has_colour(stdout), &s->out);
}

typedef struct final_stage { // made from the final IR
    const char *name;
    bool has_target;    // of a GPU; else it is made for `target` alone
    const char *target; // when none is given
    void (*print)(show *s, front *f, ir_module *m);
} final_stage;

static const final_stage final_stages[] = {
    {"ptx", true, "sm_90a", print_ptx},       {"c", false, "cpu", print_c},
    {"report", true, "sm_90a", print_report}, {"stats", true, "sm_90a", print_stats},
    {"side", true, "sm_90a", print_side},     {"opencl", false, "opencl", print_opencl},
};

static const final_stage *final_stage_of(const char *name)
{
    for (size_t i = 0; i < COUNT(final_stages); i++)
        if (!strcmp(final_stages[i].name, name))
            return &final_stages[i];
    return NULL;
}

static void on_stage(void *user, const char *name, front *f, ir_module *m)
{
    show *s = user;
    if (m && !strcmp(name, "final"))
        for (uint32_t i = 0; i < m->funcs.len; i++)
            s->has_kernel = s->has_kernel || m->funcs.at[i]->is_kernel;
    const final_stage *made = !strcmp(name, "final") ? final_stage_of(s->stage) : NULL;
    if (!made && strcmp(name, s->stage) != 0)
        return;
    s->runs++;
    if (s->wanted_run && s->runs != s->wanted_run)
        return;
    s->found = true;
    s->out = (text){.in = s->in};
    text_puts(&s->out, "");
    if (made)
        made->print(s, f, m);
    else if (!strcmp(name, "tokens"))
        print_tokens(s, f);
    else if (!strcmp(name, "ast"))
        ast_print(f, &s->out);
    else
        print_module(s, m);
}

static bool is_stage(const char *name)
{
    static const char *const fixed[] = {"tokens", "ast", "ir", "final", "remarks"};
    for (size_t i = 0; i < COUNT(fixed); i++)
        if (!strcmp(fixed[i], name))
            return true;
    return pass_find(name) || final_stage_of(name);
}

static void print_stages(void)
{
    fprintf(stderr, " tokens ast ir");
    for (const pass_row *row = pass_list; row->name; row++) {
        bool seen = false;
        for (const pass_row *before = pass_list; before < row; before++)
            seen = seen || !strcmp(before->name, row->name);
        if (!seen)
            fprintf(stderr, " %s", row->name);
    }
    fprintf(stderr, " final remarks");
    for (size_t i = 0; i < COUNT(final_stages); i++)
        fprintf(stderr, " %s", final_stages[i].name);
    fprintf(stderr, "\n");
}

static void print_timing(const compile_outcome *outcome)
{
    double total = 0;
    for (int i = 0; i < STAGE_COUNT; i++) {
        fprintf(stderr, "%-12s %8.3f ms\n", compile_stage_names[i], outcome->seconds[i] * 1e3);
        total += outcome->seconds[i];
    }
    fprintf(stderr, "%-12s %8.3f ms, %zu KiB\n", "all", total * 1e3, outcome->arena_bytes / 1024);
}

static int unknown_target(const char *name, bool is_cuda)
{
    fprintf(stderr, "kiln show: '%s' is no %starget; the targets are", name,
            is_cuda ? "CUDA " : "");
    for (size_t n = 0; device_at(n); n++)
        for (size_t i = 0; device_at(n)->ops->target_at(i); i++)
            if (!is_cuda || target_find(device_at(n)->ops->target_at(i)->name))
                fprintf(stderr, " %s", device_at(n)->ops->target_at(i)->name);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int show_stage(show *s, const cli_compile *c, const char *path, bool timing)
{
    size_t path_len = strlen(path);
    compile_options options = {
        .path = path,
        .source = s->source,
        .source_len = s->source_len,
        .front = {.defines = c->defines,
                  .includes = c->includes,
                  .tunes = c->tunes,
                  .allow_file_includes = true},
        .is_ir = path_len > 3 && !strcmp(path + path_len - 3, ".ir"),
        .level = c->optimise < 0 ? 0 : 2,
        .verifies = true,
        .no_remarks = strcmp(s->stage, "remarks") != 0,
        .checks_bounds = c->check_bounds || knob_lists(KNOB_CHECK, "bounds"),
        .wants_plain_exits = knob_lists(KNOB_EXITS, "plain"),
        .warnings_are_errors = c->werror,
        .json = c->json,
        .colour = term_has_colour(stderr),
        .stage = on_stage,
        .user = s,
    };
    const final_stage *made = final_stage_of(s->stage);
    bool has_target = made && made->has_target;
    s->path = path;
    const char *target_name = c->target;
    if (!target_name && has_target && *knob_text(KNOB_TARGET))
        target_name = knob_text(KNOB_TARGET);
    if (!target_name)
        target_name = made ? made->target : "interp";
    if (made && !has_target && strcmp(target_name, made->target) != 0) {
        fprintf(stderr, "kiln show: the stage '%s' is made for the target %s, not for %s\n",
                s->stage, made->target, target_name);
        return EXIT_USAGE;
    }
    options.front.target = device_target(target_name);
    if (has_target)
        s->target = target_find(target_name);
    if (!options.front.target || (has_target && !s->target))
        return unknown_target(target_name, has_target);
    compile_outcome outcome = compile_run(&options);
    FILE *log = !strcmp(s->stage, "remarks") && !outcome.status ? stdout : stderr;
    if (outcome.log_len)
        fprintf(log, "%s%s", outcome.log, outcome.log[outcome.log_len - 1] == '\n' ? "" : "\n");
    int result = cli_exit_of(outcome.status);
    bool needs_kernel = strcmp(s->stage, "tokens") != 0 && strcmp(s->stage, "ast") != 0;
    if (!result && needs_kernel && !s->has_kernel) {
        fprintf(stderr, "kiln show: %s has no kernel\n" CLI_NO_KERNEL, path);
        result = EXIT_KERNEL;
    } else if (!result && s->no_kernel) {
        fprintf(stderr, "kiln show: %s has no kernel '%s' at this stage\n", path, s->kernel);
        result = EXIT_USAGE;
    } else if (!result && !s->found && strcmp(s->stage, "remarks") != 0) {
        if (s->runs)
            fprintf(stderr, "kiln show: the stage '%s' runs %u time%s here, not %u\n", s->stage,
                    s->runs, s->runs == 1 ? "" : "s", s->wanted_run);
        else
            fprintf(stderr, "kiln show: the stage '%s' does not run with these options\n",
                    s->stage);
        result = EXIT_USAGE;
    } else if (!result && (s->cannot_emit || s->cannot_write)) {
        print_complaints(s->complaints);
        result = s->cannot_emit ? EXIT_KERNEL : EXIT_WORLD;
    } else if (!result && s->out.at) {
        if (s->tells_stage) {
            fprintf(stderr,
                    "kiln show: the stage is final, which every device gets; --stage takes");
            print_stages();
        }
        fwrite(s->out.at, 1, s->out.len, s->to);
    }
    if (timing)
        print_timing(&outcome);
    compile_outcome_free(&outcome);
    return result;
}

int cli_report(const cli_compile *c, const char *path, const char *source, size_t source_len)
{
    show s = {.stage = "report",
              .in = arena_new(),
              .to = stderr,
              .source = source,
              .source_len = source_len};
    if (!s.in)
        return EXIT_WORLD;
    int result = show_stage(&s, c, path, false);
    arena_free(s.in);
    return result;
}

// Options of other stages.
static int refuse_idle_options(const show *s, const cli_args *args)
{
    static const struct need {
        int option;
        const char *stage;
    } needs[] = {{OPT_annotate, "ptx"}, {OPT_lines, "ptx"}, {OPT_html, "side"}};
    for (size_t i = 0; i < COUNT(needs); i++)
        if (args->given[needs[i].option] && strcmp(s->stage, needs[i].stage) != 0)
            return cli_no_effect("show", needs[i].option, args->given[needs[i].option],
                                 "it is for --stage %s", needs[i].stage);
    if (s->kernel &&
        (!strcmp(s->stage, "tokens") || !strcmp(s->stage, "ast") || !strcmp(s->stage, "remarks")))
        return cli_no_effect("show", OPT_kernel, s->kernel, "the stage %s is of the whole file",
                             s->stage);
    return 0;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

int cli_show(int argc, char **argv)
{
    cli_compile c = {0};
    show s = {0};
    cli_args args = CLI_ARGS("show", argc, argv);
    const char *path = NULL;
    bool timing = false;
    char stage[64] = "";
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        int taken = cli_compile_option(&c, &args, option);
        if (taken < 0)
            return EXIT_USAGE;
        if (taken)
            continue;
        switch (option) {
        case OPT_stage: snprintf(stage, sizeof stage, "%s", args.value); break;
        case OPT_kernel: s.kernel = args.value; break;
        case OPT_html: s.html = args.value; break;
        case OPT_lines: s.line_info = true; break;
        case OPT_annotate: s.annotate = true; break;
        case OPT_timing: timing = true; break;
        case CLI_WORD:
            if (path)
                return cli_usage("show", "'%s' is one word too many", args.value);
            path = args.value;
            break;
        default: return EXIT_USAGE;
        }
    }
    if (!path)
        return cli_usage("show", "which file?");
    if (!*stage) {
        snprintf(stage, sizeof stage, "final");
        s.tells_stage = !c.json;
    }
    char *dot = strchr(stage, '.');
    if (dot) {
        char *end;
        s.wanted_run = (unsigned)strtoul(dot + 1, &end, 10);
        if (!s.wanted_run || *end)
            return cli_usage("show", "after the dot of --stage %s there is the number of a run",
                             stage);
        *dot = 0;
    }
    s.stage = stage;
    if (!is_stage(stage)) {
        fprintf(stderr, "kiln show: there is no stage '%s'; the stages are", stage);
        print_stages();
        return EXIT_USAGE;
    }
    int failed = refuse_idle_options(&s, &args);
    if (failed)
        return failed;
    if (s.html && is_same_file(s.html, path))
        return cli_usage("show", "--html %s would replace the kernel file", s.html);
    char *typed = NULL;
    if (!strcmp(path, "-")) {
        path = CLI_STDIN;
        failed = cli_standard_input("show", &typed, &s.source_len);
        s.source = typed;
    }
    s.in = arena_new();
    s.to = stdout;
    if (!failed)
        failed = s.in ? show_stage(&s, &c, path, timing) : EXIT_WORLD;
    arena_free(s.in);
    free(typed);
    return failed;
}
