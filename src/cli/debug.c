// kiln debug: prepares a launch as kiln run does, compiles the kernel file with the host's C
// compiler and the headers that are built into this program, and starts gdb stopped in the chosen
// thread. With --sanitize it runs the program under that sanitizer instead.
//
// What gcc compiles is the user's own file, included by a small main that reads the arguments from
// files: lines and names are the user's.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // nftw
#endif
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/str.h"
#include "cli/run.h"
#include "rt/rt.h"

typedef struct debug {
    run *r;
    const run_launch *l;
    arena *a;
    const char *folder; // temporary
} debug;

static int complain(const debug *d, const char *what, const char *name)
{
    fprintf(stderr, "kiln %s: %s '%s'%s%s\n", d->r->verb, what, name, errno ? ": " : "",
            errno ? strerror(errno) : "");
    return EXIT_WORLD;
}

static bool write_file(const char *path, const void *bytes, size_t len)
{
    FILE *out = fopen(path, "wb");
    bool is_fine = out && (!len || fwrite(bytes, 1, len, out) == len);
    return (!out || fclose(out) == 0) && is_fine;
}

// "kiln/host/" and "../lib/x.h" make "kiln/lib/x.h"; NULL when it leads out.
static const char *join(arena *a, str folder, str name)
{
    while (str_starts(name, "../")) {
        name = (str){name.at + 3, name.len - 3};
        while (folder.len && folder.at[folder.len - 1] == '/')
            folder.len--;
        while (folder.len && folder.at[folder.len - 1] != '/')
            folder.len--;
        if (!folder.len)
            return NULL;
    }
    return str_format(a, "%.*s%.*s", (int)folder.len, folder.at, (int)name.len, name.at);
}

// What --tune has chosen is the value of tune(NAME, …); of two choices for a name the first counts.
static const char *with_choices(const debug *d, const char *kernel_h)
{
    const cli_compile *c = &d->r->compile;
    text out = {.in = d->a};
    text_printf(&out, "%s\n#undef tune\n", kernel_h);
    for (int n = 0; n < c->tune_count; n++) {
        const char *choice = c->tunes[n];
        int len = (int)strcspn(choice, "=");
        text_printf(&out, "#ifndef KILN_CHOSEN_%.*s\n#define KILN_CHOSEN_%.*s 0, (%s)\n#endif\n",
                    len, choice, len, choice, choice + len + 1);
    }
    text_puts(&out, "#define KILN_SECOND(first, second, ...) second\n"
                    "#define KILN_CHOSEN(...) KILN_SECOND(__VA_ARGS__)\n"
                    "#define tune(name, ...) enum { name = "
                    "KILN_CHOSEN(KILN_CHOSEN_##name, KILN_FIRST(__VA_ARGS__, 0), 0) }\n");
    return out.at;
}

// Writes an embedded header and those it includes.
static bool write_header(debug *d, const char *name)
{
    size_t len;
    const char *library = strncmp(name, "kiln/lib/", 9) ? name : name + 5;
    const char *contents = embed_find(library, &len),
               *path = str_format(d->a, "%s/%s", d->folder, name);
    if (!contents || access(path, F_OK) == 0)
        return contents != NULL;
    const char *written = contents;
    if (!strcmp(name, "kiln/kernel.h") && d->r->compile.tune_count)
        written = with_choices(d, contents);
    if (!write_file(path, written, written == contents ? len : strlen(written)))
        return false;
    str folder = {name, (size_t)(strrchr(name, '/') - name) + 1};
    for (const char *at = contents; (at = strstr(at, "include \"")); at++) {
        const char *start = at + strlen("include \""), *end = strchr(start, '"');
        const char *other = end ? join(d->a, folder, (str){start, (size_t)(end - start)}) : NULL;
        if (other)
            write_header(d, other); // one that is not there is the compiler's to complain about
    }
    for (const char *at = contents; (at = strstr(at, "include <kiln/")); at++) {
        const char *start = at + strlen("include <"), *end = strchr(start, '>');
        if (end)
            write_header(d, str_format(d->a, "%.*s", (int)(end - start), start));
    }
    return true;
}

static bool write_headers(debug *d)
{
    static const char *const folders[] = {"kiln", "kiln/host", "kiln/lib"};
    for (size_t n = 0; n < COUNT(folders); n++)
        if (mkdir(str_format(d->a, "%s/%s", d->folder, folders[n]), 0700))
            return false;
    return write_header(d, "kiln/kernel.h") && write_header(d, "kiln/cuda.h") &&
           write_header(d, "kiln/io.h") && write_header(d, "kiln/host/runner.h");
}

// The arguments as files, and the main that loads them: buffers in memory of exactly their size, so
// that sanitizers see their ends. The user's file may have names of its own like these, a main for
// the host, too.
static bool write_main(debug *d, const char *source)
{
    const run_launch *l = d->l;
    text out = {.in = d->a}, call = {.in = d->a};
    text_printf(&out,
                "#define main kiln_debug_users_main\n#include \"%s\"\n#undef main\n#undef f32\n"
                "#include <kiln/host/runner.h>\n",
                source); // f32 is a macro that would take a declarator for its argument
    text_puts(&out, "static void *kiln_debug_load(const char *name, size_t size)\n{\n    void *p = "
                    "malloc(size ? size : 1);\n"
                    "    FILE *in = fopen(name, \"rb\");\n"
                    "    if (!p || !in || fread(p, 1, size, in) != size)\n        exit(3);\n    "
                    "fclose(in);\n    return p;\n}\n");
    text_printf(&out,
                "static void kiln_debug_call(void *const *kiln_debug_args)\n{\n"
                "    (void)kiln_debug_args;\n    %s(",
                kiln_kernel_name(l->kernel));
    for (size_t n = 0; n < l->arg_count; n++) {
        const run_arg *a = &l->args[n];
        const char *path = str_format(d->a, "%s/arg%zu", d->folder, n);
        bool is_pointer = a->info.kind == KILN_PARAM_POINTER;
        size_t bytes = is_pointer ? a->element.size * a->shape.count : a->info.size;
        if (!write_file(path, a->bytes, bytes))
            return false;
        text_printf(&out,
                    is_pointer ? "%s(%s)kiln_debug_args[%zu]" : "%s*(%s *)kiln_debug_args[%zu]",
                    n ? ", " : "", a->info.c_type, n);
        text_printf(&call, "    a[%zu] = kiln_debug_load(\"%s\", %zu);\n", n, path, bytes);
    }
    text_printf(&out, ");\n}\n\nint main(void)\n{\n    static void *a[%zu];\n%s", l->arg_count + 1,
                call.at ? call.at : "");
    text_printf(
        &out, "    host_launch l = {{%u, %u, %u}, {%u, %u, %u}, %zu, kiln_debug_call, a};\n",
        l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared_bytes);
    text_puts(&out, "    const char *problem = host_run(&l);\n    if (problem)\n        "
                    "fprintf(stderr, \"%s\\n\", problem);\n"
                    "    return problem != 0;\n}\n");
    return write_file(str_format(d->a, "%s/main.c", d->folder), out.at, out.len);
}

// What would end this process while its folder is there: the program that runs is ended instead.
static const int deadly[] = {SIGHUP, SIGTERM, SIGPIPE};
static volatile sig_atomic_t running; // the child; 0: none
static volatile sig_atomic_t ended_by;

static void pass_on(int number)
{
    ended_by = number;
    if (running > 0 && number != SIGPIPE)
        kill((pid_t)running, number);
}

static void catch_deadly(struct sigaction before[COUNT(deadly)])
{
    struct sigaction passing = {.sa_handler = pass_on};
    for (size_t n = 0; n < COUNT(deadly); n++) {
        sigaction(deadly[n], NULL, &before[n]);
        if (before[n].sa_handler != SIG_IGN) // nohup
            sigaction(deadly[n], &passing, NULL);
    }
}

static void release_deadly(const struct sigaction before[COUNT(deadly)])
{
    for (size_t n = 0; n < COUNT(deadly); n++)
        sigaction(deadly[n], &before[n], NULL);
    if (ended_by)
        raise(ended_by);
}

// Runs a program with the terminal; its exit status, or -1 when it could not be started.
static int start(const char *const *argv)
{
    fflush(NULL);
    if (ended_by)
        return 128 + ended_by;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before; // Ctrl-C is for the debugger
    sigaction(SIGINT, &ignore, &before);
    pid_t child = fork();
    if (child == 0) { // exec puts what is caught back to what it was
        sigaction(SIGINT, &before, NULL);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    running = child;
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    running = 0;
    sigaction(SIGINT, &before, NULL);
    if (child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// $CC may have arguments: "ccache gcc".
typedef struct compiler {
    const char *words[16];
    int count;
} compiler;

static compiler split_words(arena *a, const char *cc)
{
    compiler out = {0};
    for (const char *at = cc + strspn(cc, " \t"); *at; at += strspn(at, " \t")) {
        size_t len = strcspn(at, " \t");
        if (out.count < (int)COUNT(out.words))
            out.words[out.count++] = str_dup(a, (str){at, len});
        at += len;
    }
    return out;
}

// Compiles one file to an object. The runner must not be seen by ThreadSanitizer.
static int compile_one(debug *d, const compiler *cc, const char *name, bool is_runner)
{
    const cli_compile *c = &d->r->compile;
    const char *sanitize = d->r->sanitize, *argv[256] = {0};
    bool is_tsan = sanitize && !strcmp(sanitize, "thread");
    int n = 0;
    for (; n < cc->count; n++)
        argv[n] = cc->words[n];
    argv[n++] = "-c";
    static const char *const flags[] = {
        "-std=gnu11", "-g", "-O0", "-w", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing"};
    for (size_t i = 0; i < COUNT(flags); i++)
        argv[n++] = flags[i];
    if (sanitize && !(is_tsan && is_runner)) {
        argv[n++] = str_format(d->a, "-fsanitize=%s", sanitize);
        argv[n++] = "-fno-sanitize-recover=all";
    }
    if (is_tsan && is_runner)
        argv[n++] = "-DKILN_HOST_TSAN";
    argv[n++] = str_format(d->a, "-I%s", d->folder);
    for (int i = 0; i < c->include_count; i++)
        argv[n++] = str_format(d->a, "-I%s", c->includes[i]);
    for (int i = 0; i < c->define_count; i++)
        argv[n++] = str_format(d->a, "-D%s", c->defines[i]);
    argv[n++] = str_format(d->a, "%s/%s.c", d->folder, name);
    argv[n++] = "-o";
    argv[n++] = str_format(d->a, "%s/%s.o", d->folder, name);
    return start(argv);
}

static bool calls_host(const kiln_module *m)
{
    for (uint32_t n = 0; n < m->site_count; n++)
        if (m->sites[n].op == IR_HOST)
            return true;
    return false;
}

static int compile(debug *d, const char *program)
{
    const char *from = getenv("CC");
    compiler cc = split_words(d->a, from ? from : "");
    static const char *const compilers[] = {"cc", "gcc", "clang"};
    for (size_t i = 0; i < COUNT(compilers) && !cc.count; i++)
        if (cli_find_program(compilers[i]))
            cc = (compiler){{compilers[i]}, 1};
    if (!cc.count)
        cc = (compiler){{"cc"}, 1};
    int status = compile_one(d, &cc, "main", false);
    if (!status)
        status = compile_one(d, &cc, "runner", true);
    const char *argv[COUNT(cc.words) + 8];
    int n = 0;
    for (; n < cc.count; n++)
        argv[n] = cc.words[n];
    argv[n++] = str_format(d->a, "%s/main.o", d->folder);
    argv[n++] = str_format(d->a, "%s/runner.o", d->folder);
    argv[n++] = "-o";
    argv[n++] = program;
    argv[n++] = "-lm";
    if (d->r->sanitize)
        argv[n++] = str_format(d->a, "-fsanitize=%s", d->r->sanitize);
    argv[n] = NULL;
    if (!status)
        status = start(argv);
    errno = 0;
    if (status < 0)
        return complain(d, "there is no C compiler", cc.words[0]);
    if (status == 128 + SIGINT || ended_by)
        return EXIT_INTERRUPT;
    if (!status)
        return 0;
    complain(d, "the host's C compiler refuses", d->r->path);
    if (calls_host(d->r->module))
        fprintf(stderr, "hint: the file calls host functions, and only Kiln can answer them: kiln "
                        "check and kiln run do\n");
    return EXIT_WORLD;
}

static int run_gdb(debug *d, const char *program)
{
    const run *r = d->r;
    const uint32_t *t = r->stop_thread, *b = r->stop_block;
    const char *where =
        str_format(d->a,
                   "break %s if kiln_host_self->thread[0] == %u && kiln_host_self->thread[1] == %u "
                   "&& kiln_host_self->thread[2] == %u && "
                   "kiln_host_self->block[0] == %u && kiln_host_self->block[1] == %u && "
                   "kiln_host_self->block[2] == %u",
                   kiln_kernel_name(d->l->kernel), t[0], t[1], t[2], b[0], b[1], b[2]);
    printf("thread (%u, %u, %u) of block (%u, %u, %u); barriers switch to other threads: "
           "kiln_host_self->thread says which one runs\n",
           t[0], t[1], t[2], b[0], b[1], b[2]);
    const char *argv[] = {"gdb", "-q",  "-ex", "set confirm off", "-ex",
                          where, "-ex", "run", program,           NULL};
    int status = start(argv);
    errno = 0;
    return status < 0 ? complain(d, "there is no", "gdb") : status ? EXIT_WORLD : EXIT_FINE;
}

static int debug_in(debug *d)
{
    run *r = d->r;
    const run_launch *l = d->l;
    char source[4096];
    for (int axis = 0; axis < 3; axis++)
        if (r->stop_thread[axis] >= l->block[axis] || r->stop_block[axis] >= l->grid[axis])
            return cli_usage(
                r->verb,
                "the launch has %u,%u,%u blocks of %u,%u,%u threads: there is no such thread",
                l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
    if (!realpath(r->path, source))
        return complain(d, "cannot read", r->path);
    const char *program = str_format(d->a, "%s/kernel", d->folder);
    static const char runner[] = "#define KILN_HOST_RUNNER\n#include <kiln/host/runner.h>\n";
    if (!write_headers(d) || !write_main(d, source) ||
        !write_file(str_format(d->a, "%s/runner.c", d->folder), runner, strlen(runner)))
        return complain(d, "cannot write to", d->folder);
    int failed = compile(d, program);
    if (failed)
        return failed;
    if (!r->sanitize)
        return run_gdb(d, program);
    const char *argv[] = {program, NULL};
    int status = start(argv);
    if (status)
        return status == 128 + SIGINT ? EXIT_INTERRUPT : EXIT_KERNEL;
    printf("%s under the %s sanitizer: nothing found\n", kiln_kernel_name(l->kernel), r->sanitize);
    return EXIT_FINE;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static int debug_launch(run *r)
{
    int failed = run_open(r);
    if (!failed)
        failed = run_prepare(r, &r->launches[0]);
    if (failed)
        return failed;
    const char *temporary = getenv("TMPDIR");
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/kiln-debug-XXXXXX",
             temporary && *temporary && strlen(temporary) < 900 ? temporary : "/tmp");
    debug d = {.r = r, .l = &r->launches[0], .a = arena_new(), .folder = folder};
    if (!d.a || !mkdtemp(folder)) {
        failed = complain(&d, "cannot make a folder", folder);
    } else {
        struct sigaction before[COUNT(deadly)];
        catch_deadly(before);
        failed = debug_in(&d);
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        release_deadly(before);
    }
    arena_free(d.a);
    return failed;
}

int cli_debug(int argc, char **argv)
{
    run r = {.verb = "debug", .seed = 1, .repeat = 1, .device = "interp"};
    int failed = run_parse(&r, argc, argv);
    if (!failed && r.launch_count > 1)
        failed = cli_usage("debug", "one launch at a time");
    if (!failed && r.source)
        failed = cli_usage("debug", "the C compiler needs a file, not standard input");
    size_t len = failed ? 0 : strlen(r.path);
    if (len > 3 && !strcmp(r.path + len - 3, ".ir"))
        failed =
            cli_usage("debug", "the C compiler needs C, not IR: give the file that it was made of");
    if (!failed) {
        failed = debug_launch(&r);
        run_close(&r);
    }
    run_free(&r);
    return failed;
}
