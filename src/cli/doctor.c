// kiln doctor: what this machine has, what is missing, and what to do about it. The text to paste
// in a bug report.
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/knobs.h"
#include "cli/cli.h"
#include "dev/device.h"
#include "rt/cache/cache.h"

bool cli_find_program(const char *name)
{
    const char *path = getenv("PATH");
    char file[1024];
    while (path && *path) {
        size_t len = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)len, path, name);
        if (!access(file, X_OK))
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

// The first of these programs that is there; `or_else` may be NULL.
static void report_tool(const char *name, const char *const *or_else, const char *use)
{
    bool is_found = cli_find_program(name);
    while (!is_found && or_else && *or_else) {
        if (cli_find_program(*or_else)) {
            name = *or_else;
            is_found = true;
        }
        or_else++;
    }
    printf("  %-12s %s %s\n", name, is_found ? "found    " : "not found", use);
}

// "warp 32, 227 KiB shared, f64, f16, …"
static void report_caps(const kiln_caps *caps)
{
    const struct {
        bool has;
        const char *name;
    } rows[] = {{caps->has_f64, "f64"},
                {caps->has_f16, "f16"},
                {caps->has_atomic64, "64-bit atomics"},
                {caps->has_wgmma, "wgmma"},
                {caps->has_tensor_copies, "tensor copies"},
                {caps->has_clusters, "clusters"},
                {caps->has_cooperative, "cooperative launches"},
                {caps->has_host_memory, "host memory"}};
    printf("  %-12s   warps of %u, blocks of %u, %zu KiB shared", "", caps->subgroup,
           caps->block_threads, caps->shared_bytes >> 10);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].has)
            printf(", %s", rows[i].name);
    printf("\n");
}

static int report_device(const char *name)
{
    kiln *k;
    kiln_status st = kiln_open(name, &k);
    if (st) {
        printf("  %-12s no: %s\n", name, kiln_last_error(NULL)->text);
        return 0;
    }
    kiln_device_info info;
    if (!kiln_device_info_of(k, &info) && info.caps.sm)
        printf("  %-12s ok: %s, %s, %u multiprocessors, %.0f GiB, CUDA %d.%d\n", name, info.name,
               info.target, info.multiprocessors, (double)info.memory_bytes / (1 << 30),
               info.driver_version / 1000, info.driver_version % 1000 / 10);
    else
        printf("  %-12s ok: %s\n", name, info.name);
    report_caps(&info.caps);
    kiln_close(k);
    return 1;
}

// Each kind of device, also one that is not here: it says why. Returns how many work.
static int report_devices(void)
{
    int working = 0;
    for (size_t n = 0; device_at(n); n++) {
        const device_row *row = device_at(n);
        size_t count = row->ops->count();
        for (size_t i = 0; i < count; i++) {
            char name[32];
            snprintf(name, sizeof name, row->ops->is_numbered ? "%s:%zu" : "%s", row->name, i);
            working += report_device(name);
        }
        if (!count)
            report_device(row->name);
    }
    return working;
}

static void report_cache(void)
{
    cache_state state;
    cache_look(&state);
    if (state.is_on)
        printf("\ncache: %s, %llu %s, %.1f MiB\n", state.folder,
               (unsigned long long)state.entry_count, state.entry_count == 1 ? "entry" : "entries",
               (double)state.bytes / (1 << 20));
    else
        printf("\ncache: none (kernels are compiled at every start): %s\n", state.reason);
}

// Names that look like switches and are none: typing mistakes, or another program's. Returns how
// many.
static int report_strangers(void)
{
    extern char **environ;
    int count = 0;
    for (char **at = environ; at && *at; at++) {
        size_t len = strcspn(*at, "=");
        bool is_known = strncmp(*at, "KILN_", 5) != 0;
        for (size_t i = 0; i < knob_count() && !is_known; i++)
            is_known = strlen(knob_at(i)->name) == len && !strncmp(knob_at(i)->name, *at, len);
        if (is_known)
            continue;
        printf("  %s\n    there is no such switch: it does nothing\n", *at);
        count++;
    }
    return count;
}

// Says the switches that are set, and takes those back whose values make no sense: the devices
// could not be looked at with them. Returns how many those are.
static int report_switches(void)
{
    int bad = 0, set = 0;
    printf("\nswitches\n");
    for (size_t i = 0; i < knob_count(); i++) {
        const knob *row = knob_at(i);
        const char *value = getenv(row->name);
        if (!value)
            continue;
        printf("  %s=%s\n", row->name, value);
        set++;
        if (knob_accepts(row, value))
            continue;
        char takes[160];
        knob_describe_values(row, takes, sizeof takes);
        printf("    problem: %s takes %s; no device opens with this (K6009)\n", row->name, takes);
        unsetenv(row->name);
        bad++;
    }
    if (!(set + report_strangers()))
        printf("  none is set\n");
    return bad;
}

int cli_doctor(int argc, char **argv)
{
    cli_args args = CLI_ARGS("doctor", argc, argv);
    int option = cli_next(&args);
    if (option == CLI_WORD)
        return cli_usage("doctor", "it takes no arguments");
    if (option != CLI_END)
        return EXIT_USAGE;
    struct utsname system;
    printf("kiln %s\n", kiln_version());
    if (!uname(&system))
        printf("system: %s %s %s, %ld cores\n", system.sysname, system.release, system.machine,
               sysconf(_SC_NPROCESSORS_ONLN));
    int bad_switches = report_switches();
    printf("\ndevices\n");
    int working = report_devices();
    printf("\ntools (none is needed to run kernels on interp)\n");
    report_tool(
        "cc", (const char *const[]){"gcc", "clang", NULL},
        "makes machine code for the cpu device; compiles the headers that kiln build writes");
    report_tool("gdb", NULL, "debugs a kernel file built by the host's C compiler");
    report_tool("ptxas", NULL, "checks PTX without a GPU");
    report_cache();
    if (!working)
        printf("\nproblem: no device opens, not even the interpreter; please report this text\n");
    else if (bad_switches)
        printf("\nproblem: correct or unset the switches that are named above\n");
    else
        printf("\nno problem found\n");
    return working && !bad_switches ? EXIT_FINE : EXIT_WORLD;
}
