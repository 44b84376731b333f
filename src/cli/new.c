// kiln new NAME: a folder with a kernel, a host program and a makefile that builds and runs as it
// is.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/cli.h"

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

static const char make_text[] = "# make run: builds the kernel's header, the program, and runs it. "
                                "Kiln is found with pkg-config.\n"
                                "KILN ?= kiln\n"
                                "CFLAGS ?= -O2 -Wall -Wextra\n"
                                "\n"
                                "NAME: main.c kernel.h\n"
                                "\t$(CC) -std=c11 $(CFLAGS) $$(pkg-config --cflags kiln) main.c -o "
                                "$@ $$(pkg-config --libs kiln)\n"
                                "\n"
                                "kernel.h: kernel.c\n"
                                "\t$(KILN) build kernel.c -o $@\n"
                                "\n"
                                "run: NAME\n"
                                "\t./NAME\n"
                                "\n"
                                "clean:\n"
                                "\trm -f NAME kernel.h\n"
                                "\n"
                                ".PHONY: run clean\n";

static bool write_file(const char *folder, const char *file, const char *pattern, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *out = fopen(path, "wbx");
    if (!out) {
        fprintf(stderr, "kiln new: %s: %s\n", path, strerror(errno));
        return false;
    }
    for (const char *at = pattern; *at;) {
        if (!strncmp(at, "NAME", 4)) {
            fputs(name, out);
            at += 4;
        } else {
            fputc(*at++, out);
        }
    }
    if (fclose(out)) {
        fprintf(stderr, "kiln new: %s: %s\n", path, strerror(errno));
        return false;
    }
    return true;
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
    if (!isalpha((unsigned char)name[0]) || strlen(name) > 64)
        return cli_usage("new", "'%s' is not a name for a C function", name);
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return cli_usage("new", "'%s' is not a name for a C function", name);
    if (!strcmp(name, "main") || !strcmp(name, "kernel"))
        return cli_usage("new", "'%s' is taken", name);
    if (mkdir(name, 0777)) {
        fprintf(stderr, "kiln new: %s: %s\n", name, strerror(errno));
        return EXIT_WORLD;
    }
    if (!write_file(name, "kernel.c", kernel_text, name) ||
        !write_file(name, "main.c", main_text, name) ||
        !write_file(name, "Makefile", make_text, name))
        return EXIT_WORLD;
    printf("made %s/: kernel.c, main.c, Makefile\n  try: cd %s && kiln run kernel.c\n  or:  make "
           "run\n",
           name, name);
    return EXIT_FINE;
}
