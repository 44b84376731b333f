// kiln run: compile a kernel file, fill its arguments from its signature, launch, and show what
// came out. Kernel printf and results go to standard output, diagnostics to standard error.
#include <stdlib.h>

#include "back/report/report.h"
#include "base/str.h"
#include "cli/run.h"
#include "rt/rt.h"

// By the driver where it knows, else as `kiln show --stage report` does.
static int report(const run *r)
{
    kiln_resources used;
    kiln_status st = KILN_OK;
    const target *t = r->k->target;
    if (!t->registers)
        return cli_report(&r->compile, r->path, r->source, r->source_len);
    arena *a = arena_new();
    if (!a)
        return EXIT_WORLD;
    for (size_t i = 0; !st && i < kiln_module_kernel_count(r->module); i++) {
        kiln_kernel *kernel;
        uint32_t block[3];
        text line = {.in = a};
        st = kiln_module_kernel_at(r->module, i, &kernel);
        if (st || (st = kiln_kernel_resources(kernel, &used)))
            break;
        kiln_kernel_block(kernel, block);
        report_row row = {.kernel = kiln_kernel_name(kernel),
                          .source = REPORT_DRIVER,
                          .registers = used.registers,
                          .spills = (uint32_t)(used.spill_stores / 4),
                          .local_bytes = used.local_bytes,
                          .shared_bytes = used.shared_bytes,
                          .threads = block[0] * block[1] * block[2]};
        report_line(&row, t, &line);
        fprintf(stderr, "%s\n", line.at);
    }
    arena_free(a);
    return st ? cli_fail(r->k, st) : 0;
}

static void print_time(const run *r, const run_launch *l, const double *times)
{
    double best = times[0];
    for (int i = 1; i < r->repeat; i++)
        best = times[i] < best ? times[i] : best;
    const char *code = run_code_of(r, l);
    printf("time %.3f ms", best);
    if (r->repeat > 1)
        printf(", the best of %d", r->repeat);
    printf(*code ? " (%s)\n" : "%s\n", code);
}

// What the launches have left in the heap, when they have used it.
static int print_heap(const run *r)
{
    kiln_heap_stats heap;
    kiln_status st = kiln_heap_stats_of(r->k, &heap);
    if (st)
        return cli_fail(r->k, st);
    if (!heap.allocations && !heap.failures && !heap.bad_frees)
        return 0;
    printf("heap: %llu block%s of %llu bytes left, %llu allocated, %llu freed",
           (unsigned long long)heap.block_count, heap.block_count == 1 ? "" : "s",
           (unsigned long long)heap.used_bytes, (unsigned long long)heap.allocations,
           (unsigned long long)heap.frees);
    if (heap.failures)
        printf("; %llu allocation%s found no memory (--heap)", (unsigned long long)heap.failures,
               heap.failures == 1 ? "" : "s");
    if (heap.bad_frees)
        printf("; %llu call%s of free for what is no block (kiln check says where)",
               (unsigned long long)heap.bad_frees, heap.bad_frees == 1 ? "" : "s");
    printf("\n");
    return 0;
}

static int run_all(run *r)
{
    double *times = malloc((size_t)r->repeat * sizeof *times);
    int failed = times ? run_open(r) : EXIT_WORLD;
    if (!failed && r->compile.report)
        failed = report(r);
    if (!failed)
        failed = run_check_results(r);
    for (size_t k = 0; !failed && k < r->launch_count; k++) {
        run_launch *l = &r->launches[k];
        failed = run_prepare(r, l);
        if (!failed)
            failed = run_launch_all(r, l, r->repeat, times);
        if (!failed && !r->is_main)
            failed = run_show(r, l);
        if (!failed && !r->is_main)
            print_time(r, l, times);
        fflush(stdout); // before what later launches say, also where both go to one file
    }
    if (!failed && !r->is_main)
        failed = print_heap(r);
    if (!failed)
        failed = run_finish(r);
    free(times);
    return failed;
}

int run_once(run *r)
{
    int failed = run_all(r);
    run_close(r);
    fflush(stdout);
    return failed;
}

int cli_run(int argc, char **argv)
{
    run r = {.verb = "run", .seed = 1, .repeat = 1};
    int failed = run_parse(&r, argc, argv);
    if (!failed)
        failed = run_once(&r);
    run_free(&r);
    return failed;
}
