// kiln check: prepares a launch as kiln run does, runs it on the interpreter beside a shadow of its
// memory, and prints what is wrong with it: to standard error as diagnostics, or to standard output
// as JSON, one object a line.
#include <stdlib.h>

#include "base/str.h"
#include "base/term.h"
#include "cli/run.h"

static void put_string(const char *s)
{
    putchar('"');
    cli_put_json(s);
    putchar('"');
}

static void put_end(const char *file, int line, int column, int use_line, const uint32_t thread[3],
                    const uint32_t block[3])
{
    printf("\"file\":");
    put_string(file);
    printf(",\"line\":%d,\"column\":%d,", line, column);
    if (use_line)
        printf("\"use_line\":%d,", use_line);
    printf("\"thread\":[%u,%u,%u],\"block\":[%u,%u,%u]", thread[0], thread[1], thread[2], block[0],
           block[1], block[2]);
}

static void put_json(const kiln_finding *f)
{
    printf("{\"code\":\"%s\",\"message\":", f->code);
    put_string(f->message);
    putchar(',');
    put_end(f->file, f->line, f->column, f->use_line, f->thread, f->block);
    if (f->array[0]) {
        printf(",\"array\":");
        put_string(f->array);
        printf(",\"index\":%lld", (long long)f->index);
    }
    if (f->other_line) {
        printf(",\"other\":{");
        put_end(f->other_file, f->other_line, f->other_column, f->other_use_line, f->other_thread,
                f->other_block);
        putchar('}');
    }
    printf(",\"count\":%llu}\n", (unsigned long long)f->count);
}

typedef struct checked {
    const run *r;
    const run_launch *l;
} checked;

static void on_finding(void *user, const kiln_finding *f)
{
    const checked *c = user;
    if (c->r->json) {
        put_json(f);
        return;
    }
    fputs(f->text, stderr);
    if (!strcmp(f->code, "K6201"))
        run_note_length(c->r, c->l, f->array);
}

static int check(run *r, const run_launch *l)
{
    kiln_arg args[128];
    bool is_unset[128] = {0};
    int failed = run_args(r, l, args, COUNT(args));
    if (failed)
        return failed;
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        bool is_output =
            a->info.kind == KILN_PARAM_POINTER && !a->info.is_const && !a->is_filled && !a->from;
        is_unset[i] = a->fill == FILL_UNSET || (is_output && r->outputs_unset);
    }
    kiln_check_desc desc = {.launch = {.args = args},
                            .all = r->all,
                            .nan = r->nan,
                            .leaks = r->leaks,
                            .colour = term_has_colour(stderr),
                            .is_unset = is_unset,
                            .step_limit = r->steps,
                            .finding = on_finding,
                            .user = &(checked){r, l}};
    run_describe(l, &desc.launch);
    size_t findings = 0;
    kiln_status st = KILN_OK;
    run_catch_interrupt(r);
    if (!l->is_empty)
        st = kiln_check(l->kernel, &desc, &findings);
    run_catch_interrupt(NULL);
    fflush(stdout);
    if (st)
        return cli_fail(r->k, st);
    if (!r->json && !findings) {
        printf("%s, grid %u,%u,%u block %u,%u,%u: nothing found\n", kiln_kernel_name(l->kernel),
               l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
        if (l->assumed[0])
            printf("  grid assumed: %s (--grid or --items changes it)\n", l->assumed);
    } else if (!r->json && r->all) {
        fprintf(stderr, "%zu finding%s\n", findings, findings == 1 ? "" : "s");
    }
    return findings ? EXIT_KERNEL : EXIT_FINE;
}

int cli_check(int argc, char **argv)
{
    run r = {.verb = "check", .seed = 1, .repeat = 1, .is_check = true, .device = "interp"};
    int failed = run_parse(&r, argc, argv);
    if (!failed) {
        failed = run_open(&r);
        for (size_t k = 0; !failed && k < r.launch_count; k++) {
            failed = run_prepare(&r, &r.launches[k]);
            if (!failed)
                failed = check(&r, &r.launches[k]);
        }
        run_close(&r);
    }
    run_free(&r);
    return failed;
}
