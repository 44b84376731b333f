// kiln run: compile a kernel file, fill its arguments from its signature, launch, and show what
// came out. Kernel printf and results go to standard output, diagnostics to standard error.
#include <stdlib.h>
#include <time.h>

#include "back/report.h"
#include "base/str.h"
#include "cli/npy.h"
#include "cli/run.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int launch(run *r, double *best_ms)
{
    kiln_arg args[128];
    int failed = run_args(r, args, COUNT(args));
    if (failed)
        return failed;
    kiln_launch_desc desc = {
        .shared_bytes = r->shared_bytes, .args = args, .arg_count = r->arg_count};
    memcpy(desc.grid, r->grid, sizeof desc.grid);
    memcpy(desc.block, r->block, sizeof desc.block);
    run_catch_interrupt(r);
    *best_ms = -1;
    kiln_resources unused; // asked for because that waits for the code that is to be timed
    kiln_status st = kiln_kernel_resources(r->kernel, &unused);
    for (int i = 0; i < r->repeat && !st; i++) {
        double start = now_ms();
        if (r->grid[0] && r->grid[1] && r->grid[2])
            st = kiln_launch(r->kernel, &desc);
        if (!st)
            st = kiln_sync(r->k);
        double took = now_ms() - start;
        if (*best_ms < 0 || took < *best_ms)
            *best_ms = took;
    }
    run_catch_interrupt(NULL);
    fflush(stdout);
    return st ? cli_fail(r->k, st) : 0;
}

static int show_results(run *r, double ms)
{
    printf("%s on %s, grid %u,%u,%u block %u,%u,%u\n", kiln_kernel_name(r->kernel),
           kiln_device_name(r->k), r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1],
           r->block[2]);
    for (size_t i = 0; i < r->arg_count; i++) {
        run_arg *a = &r->args[i];
        if (a->info.kind == KILN_PARAM_SCALAR) {
            if (a->info.type <= KILN_U64)
                printf("  %s = %lld\n", a->info.name, (long long)a->integer);
            else
                printf("  %s = %.9g\n", a->info.name, a->real);
            continue;
        }
        if (a->info.kind == KILN_PARAM_STRUCT) {
            printf("  %s = %zu bytes\n", a->info.name, a->info.size);
            continue;
        }
        const char *element = a->info.type == KILN_VOID ? "struct" : kiln_type_name(a->info.type);
        printf("  %s: %s[%zu]", a->info.name, element, a->count);
        if (a->info.is_const && !a->out) {
            printf(" (input)\n");
            continue;
        }
        kiln_status st = kiln_read(a->buffer, 0, a->bytes, a->count);
        if (st)
            return cli_fail(r->k, st);
        printf(" =");
        for (size_t e = 0; e < a->count && e < 8; e++) {
            putchar(' ');
            run_print_element(stdout, a->info.type, a->bytes + e * a->info.size, a->info.size);
        }
        printf("%s  checksum %016llx\n", a->count > 8 ? " …" : "",
               (unsigned long long)run_checksum(a->info.type, a->info.size, a->count, a->bytes));
        char why[256];
        if (a->out && !npy_write(a->out, a->info.type, a->info.size, a->count, a->bytes, why)) {
            fprintf(stderr, "kiln run: %s: %s\n", a->out, why);
            return EXIT_WORLD;
        }
    }
    printf("time %.3f ms\n", ms);
    return 0;
}

// By the driver where it knows, else as `kiln show --stage report` does.
static int report(const run *r)
{
    kiln_device_info info;
    kiln_resources used;
    kiln_status st = kiln_device_info_of(r->k, &info);
    const target *t = st ? NULL : target_find(info.target);
    if (!t)
        return cli_report(&r->compile, r->path);
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

int cli_run(int argc, char **argv)
{
    run r = {.verb = "run", .seed = 1, .repeat = 1};
    double ms = 0;
    int failed = run_parse(&r, argc, argv);
    if (failed)
        return failed;
    failed = run_prepare(&r);
    if (!failed && r.compile.report)
        failed = report(&r);
    if (!failed)
        failed = launch(&r, &ms);
    if (!failed)
        failed = show_results(&r, ms);
    run_clean_up(&r);
    return failed;
}
