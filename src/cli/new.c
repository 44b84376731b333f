// kiln new NAME: a folder with a kernel, a host program, a makefile, and what editors and CI need;
// it builds and runs as it is.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "front/builtin.h"

static const char kernel_text[] =
    "// out[i] = a * x[i] + y[i]\n"
    "//\n"
    "// Try it without a host program:  kiln run kernel.c n=1M a=3\n"
    "#include <kiln/kernel.h>\n"
    "\n"
    "kernel block(256) void NAME(const f32 *x, const f32 *y, f32 *out, f32 a, u32 n)\n"
    "{\n"
    "    u32 i = global_x();\n"
    "    if (i < n)\n"
    "        out[i] = a * x[i] + y[i];\n"
    "}\n";

static const char main_text[] =
    "// Loads the kernel that `kiln build` put into kernel.h, runs it, checks the answer.\n"
    "#include <stdio.h>\n"
    "\n"
    "#include \"kernel.h\"\n"
    "\n"
    "enum { N = 1000 };\n"
    "\n"
    "static int fail(kiln *k)\n"
    "{\n"
    "    fprintf(stderr, \"%s\\n\", kiln_last_error(k)->text);\n"
    "    return 1;\n"
    "}\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "    kiln *k = NULL;\n"
    "    kernel_kernels kernels;\n"
    "    kiln_f32s x, y, out;\n"
    "    if (kiln_open(NULL, &k))\n"
    "        return fail(NULL);\n"
    "    if (kernel_load(k, &kernels) || kiln_f32s_new(k, N, &x) || kiln_f32s_new(k, N, &y) ||\n"
    "        kiln_f32s_new(k, N, &out))\n"
    "        return fail(k);\n"
    "    float host[N];\n"
    "    for (int i = 0; i < N; i++)\n"
    "        host[i] = (float)i;\n"
    "    if (kiln_f32s_write(x, 0, host, N) || kiln_f32s_write(y, 0, host, N))\n"
    "        return fail(k);\n"
    "    kiln_grid grid = {.items = N};\n"
    "    if (launch_NAME(&kernels, grid, x, y, out, 2.0f, N) || kiln_f32s_read(out, 0, host, N))\n"
    "        return fail(k);\n"
    "    int wrong = 0;\n"
    "    for (int i = 0; i < N; i++)\n"
    "        wrong += host[i] != 3.0f * (float)i;\n"
    "    printf(\"NAME on %s: %d of %d wrong\\n\", kiln_device_name(k), wrong, N);\n"
    "    kernel_unload(&kernels);\n"
    "    kiln_close(k);\n"
    "    return wrong != 0;\n"
    "}\n";

static const char make_text[] =
    "# make run: builds the kernel's header, the program, and runs it.\n"
    "# kiln says where its headers and its library are; without it pkg-config is asked.\n"
    "KILN ?= kiln\n"
    "CFLAGS ?= -O2 -Wall -Wextra\n"
    "KILN_CFLAGS ?= $(shell $(KILN) --cflags || pkg-config --cflags kiln)\n"
    "KILN_LIBS ?= $(shell $(KILN) --libs || pkg-config --libs kiln)\n"
    "ifeq ($(origin CC),default)\n"
    "CC := $(shell command -v cc || command -v gcc || command -v clang)\n"
    "endif\n"
    "\n"
    "NAME: main.c kernel.h\n"
    "\t$(CC) -std=c11 $(CFLAGS) $(KILN_CFLAGS) main.c -o $@ $(KILN_LIBS)\n"
    "\n"
    "kernel.h: kernel.c\n"
    "\t$(KILN) build kernel.c -o $@\n"
    "\n"
    "run: NAME\n"
    "\t./NAME\n"
    "\n"
    "# looks for races, accesses out of bounds and the like\n"
    "check:\n"
    "\t$(KILN) check kernel.c n=1000 a=3\n"
    "\n"
    "# for editors with clangd: how the files are compiled on this machine\n"
    "compile_flags.txt: Makefile\n"
    "\tprintf '%s\\n' -xc -std=c11 -Wall -Wextra $(KILN_CFLAGS) > $@\n"
    "\n"
    "clean:\n"
    "\trm -f NAME kernel.h\n"
    "\n"
    ".PHONY: run check clean\n";

static const char ci_text[] =
    "#!/bin/sh\n"
    "# Checks, builds and runs this project. Where kiln is not installed it is built first, from\n"
    "# KILN_SOURCE: a folder with Kiln's source, or the address of its repository.\n"
    "set -eu\n"
    "cd \"$(dirname \"$0\")\"\n"
    "if ! command -v kiln > /dev/null; then\n"
    "    source=${KILN_SOURCE:?set it to a folder with the source of Kiln, or to its address}\n"
    "    if [ ! -d \"$source\" ]; then\n"
    "        [ -d kiln-source ] || git clone --depth 1 \"$source\" kiln-source\n"
    "        source=$PWD/kiln-source\n"
    "    fi\n"
    "    make -C \"$source\"\n"
    "    PATH=$(cd \"$source\" && pwd)/build:$PATH\n"
    "fi\n"
    "kiln doctor\n"
    "make check run\n";

static const char workflow_text[] =
    "# Runs ci.sh. KILN_SOURCE is a variable of the repository: the address of Kiln's source.\n"
    "name: ci\n"
    "on: [push, pull_request]\n"
    "jobs:\n"
    "  build:\n"
    "    runs-on: ubuntu-latest\n"
    "    steps:\n"
    "      - uses: actions/checkout@v4\n"
    "      - run: sh ci.sh\n"
    "        env:\n"
    "          KILN_SOURCE: ${{ vars.KILN_SOURCE }}\n";

static const char ignore_text[] = "/NAME\n"
                                  "/kernel.h\n"
                                  "/compile_flags.txt\n"
                                  "/kiln-source/\n";

// The text with the name in the place of NAME.
static const text *fill_in(arena *a, const char *pattern, const char *name)
{
    text *out = arena_new_of(a, text);
    out->in = a;
    text_puts(out, "");
    for (const char *at = pattern; *at;) {
        bool is_name = !strncmp(at, "NAME", 4);
        if (is_name)
            text_puts(out, name);
        else
            text_putc(out, *at);
        at += is_name ? 4 : 1;
    }
    return out;
}

// What Kiln would take and the host's compiler does not: marks, which are macros there, and names
// that kiln/kernel.h brings along.
static bool is_host_name(const char *name)
{
    static const char *const names[] = {
        "block",    "cluster", "host",     "tune",       "counted",     "recursion",
        "noinline", "no_wait", "per_warp", "min_blocks", "max_threads", "max_registers",
        "abort",    "bsearch", "calloc",   "clock",      "div",         "exit",
        "free",     "gamma",   "getline",  "index",      "linux",       "malloc",
        "nan",      "qsort",   "rand",     "random",     "realloc",     "remove",
        "rename",   "select",  "stderr",   "stdin",      "stdout",      "system",
        "time",     "unix"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

// Compiles the kernel under that name: words of C and names of the language are refused.
static bool is_kernel_name(arena *a, const char *name)
{
    const type *fixed;
    if (is_host_name(name))
        return false;
    if (builtin_find(name, &fixed) || type_named(a, names_in(a), name))
        return false; // Kiln would let it hide them, the host's compiler does not
    kiln *k = NULL;
    kiln_module *m = NULL;
    if (kiln_open("interp", &k))
        return true; // whatever is wrong, the name is not
    kiln_compile_desc desc = {.path = "kernel.c", .source = fill_in(a, kernel_text, name)->at};
    bool is_fine = !kiln_compile(k, &desc, &m) && kiln_module_kernel_count(m) == 1;
    kiln_module_free(m);
    kiln_close(k);
    return is_fine;
}

static int refuse_name(arena *a, const char *name)
{
    static const char *const taken[] = {"main",  "kernel",   "run",      "check",
                                        "clean", "Makefile", "makefile", "GNUmakefile"};
    bool is_word = isalpha((unsigned char)name[0]) && strlen(name) <= 64;
    for (const char *p = name; *p; p++)
        is_word = is_word && (isalnum((unsigned char)*p) || *p == '_');
    if (!is_word)
        return cli_usage("new", "'%s' is not a name for a C function", name);
    for (size_t i = 0; i < COUNT(taken); i++)
        if (!strcmp(name, taken[i]))
            return cli_usage("new", "'%s' is taken by the project itself", name);
    if (!is_kernel_name(a, name))
        return cli_usage("new", "'%s' has a meaning in C or in kernels; my_%s would do", name,
                         name);
    return 0;
}

static int make_project(arena *a, const char *name)
{
    static const struct project_file {
        const char *name, *pattern;
    } files[] = {{"kernel.c", kernel_text},   {"main.c", main_text},
                 {"Makefile", make_text},     {"ci.sh", ci_text},
                 {".gitignore", ignore_text}, {".github/workflows/ci.yml", workflow_text},
                 {"compile_flags.txt", NULL}};
    int failed = refuse_name(a, name);
    if (failed)
        return failed;
    if (mkdir(name, 0777)) {
        bool is_there = errno == EEXIST;
        fprintf(stderr, "kiln new: %s: %s\n", name, strerror(errno));
        if (is_there)
            fprintf(stderr, "hint: choose another name, or remove it\n");
        return EXIT_WORLD;
    }
    const char *include = cli_include_folder(a), *reason = "";
    bool is_fine = file_make_folders(a, str_format(a, "%s/.github/workflows", name), &reason);
    for (size_t i = 0; i < COUNT(files) && is_fine; i++) {
        const char *path = str_format(a, "%s/%s", name, files[i].name);
        const text *out = files[i].pattern ? fill_in(a, files[i].pattern, name) : NULL;
        if (!out && !include)
            continue;
        const char *flags =
            out ? out->at : str_format(a, "-xc\n-std=c11\n-Wall\n-Wextra\n-I%s\n", include);
        is_fine = file_write(a, path, flags, strlen(flags), &reason);
    }
    if (!is_fine) {
        fprintf(stderr, "kiln new: %s: %s\n", name, reason);
        return EXIT_WORLD;
    }
    printf("made %s/: kernel.c, main.c, Makefile; ci.sh and a GitHub workflow; compile_flags.txt "
           "for editors\n"
           "  try: cd %s && kiln run kernel.c n=1M a=3\n"
           "  or:  make run\n",
           name, name);
    return EXIT_FINE;
}

int cli_new(int argc, char **argv)
{
    cli_args args = CLI_ARGS("new", argc, argv);
    const char *name = NULL;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        if (option != CLI_WORD)
            return EXIT_USAGE;
        if (name)
            return cli_usage("new", "'%s' is one word too many", args.value);
        name = args.value;
    }
    if (!name)
        return cli_usage("new", "give it one name");
    arena *a = arena_new();
    int result = a ? make_project(a, name) : EXIT_WORLD;
    arena_free(a);
    return result;
}
