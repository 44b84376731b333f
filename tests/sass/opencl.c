// The player of tests/opencl/player.h: OpenCL C becomes IR by clang, PTX by NVVM (libnvvm.so, which
// KILN_NVVM may name), machine code by ptxas, and is played here. NVIDIA's driver has its own clang
// in front of the same NVVM, so what it makes is near to this and not the same.
#include "opencl/player.h"

#include "sass.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct player_program {
    char *ptx;
    sass_program *code;
};

// --- clang: OpenCL C to IR

static char *text_of(const char *path)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    size_t bytes = 0;
    for (size_t got = 1; in && got; bytes += got) {
        text = realloc(text, bytes + (1 << 16) + 1);
        got = text ? fread(text + bytes, 1, 1 << 16, in) : 0;
    }
    if (in)
        fclose(in);
    if (text)
        text[bytes] = 0;
    return text;
}

static char *ir_of(const char *text, size_t len, char *log, size_t size)
{
    char source[64], command[600], ir[80], said[80], *result = NULL;
    snprintf(source, sizeof source, "/tmp/kiln-sass-XXXXXX");
    int handle = mkstemp(source);
    snprintf(ir, sizeof ir, "%s.ll", source);
    snprintf(said, sizeof said, "%s.log", source);
    bool is_written = handle >= 0 && write(handle, text, len) == (ssize_t)len;
    if (handle >= 0)
        close(handle);
    // Values with names: NVVM's reader is older than clang's way of numbering those without.
    snprintf(command, sizeof command,
             "clang -x cl -cl-std=CL1.2 -w -target nvptx64-nvidia-cuda -Xclang -target-cpu -Xclang "
             "sm_70 "
             "-cl-fp32-correctly-rounded-divide-sqrt -ffp-contract=off -Dasm=__asm__ "
             "-fno-discard-value-names "
             "-include '" SASS_PRELUDE "' -O0 -S -emit-llvm '%s' -o '%s' >'%s' 2>&1",
             source, ir, said);
    if (is_written && system(command) == 0)
        result = text_of(ir);
    char *why = result ? NULL : text_of(said);
    if (!result)
        snprintf(log, size, "clang: %s", why && *why ? why : "it did not run");
    free(why);
    unlink(source);
    unlink(ir);
    unlink(said);
    return result;
}

// --- NVVM: IR to PTX

// Words that NVVM's reader does not know, and what it is to optimise in spite of clang's -O0.
static const char *const unknown[] = {
    " noundef",    "mustprogress ", "willreturn ", "nofree ", "nosync ",
    "nocallback ", "noinline ",     "optnone ",    " immarg", NULL};

// Takes out of a line what is unknown.
static void strip(char *line)
{
    for (char *at; (at = strstr(line, " byval(")) != NULL;) { // its type is the pointer's
        char *end = strchr(at, ')');
        memmove(at + 6, end + 1, strlen(end + 1) + 1);
    }
    for (const char *const *word = unknown; *word; word++)
        for (char *at; (at = strstr(line, *word)) != NULL;)
            memmove(at, at + strlen(*word), strlen(at + strlen(*word)) + 1);
    char *aligned = strstr(line, ", align ");
    if (aligned && (strstr(line, " atomicrmw ") || strstr(line, " cmpxchg ")))
        *aligned = 0;
}

static char *nvvm_ir_of(char *ir)
{
    static const char layout[] =
        "target datalayout = \"e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:"
        "128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64\"";
    static const char version[] =
        "!nvvmir.version = !{!999999}\n!999999 = !{i32 2, i32 0, i32 3, i32 1}\n";
    char *out = malloc(2 * strlen(ir) + sizeof layout + sizeof version);
    size_t len = 0;
    for (char *line = ir, *next; out && line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (!strncmp(line, "!llvm.module.flags", 18))
            continue;
        strip(line);
        char *negated = strstr(line, " = fneg "), *operand = strrchr(line, ' ');
        if (negated) // "%y = fneg float %x": a difference from -0.0 then
            len += (size_t)sprintf(out + len, "%.*s = fsub %.*s -0.0,%s\n", (int)(negated - line),
                                   line, (int)(operand - negated - 8), negated + 8, operand);
        else
            len += (size_t)sprintf(out + len, "%s\n",
                                   strncmp(line, "target datalayout", 17) ? line : layout);
    }
    if (out)
        strcpy(out + len, version);
    return out;
}

typedef void *nvvm_program;
static struct nvvm {
    int (*create)(nvvm_program *), (*destroy)(nvvm_program *);
    int (*add)(nvvm_program, const char *, size_t, const char *);
    int (*compile)(nvvm_program, int, const char **);
    int (*log_size)(nvvm_program, size_t *), (*log)(nvvm_program, char *);
    int (*size)(nvvm_program, size_t *), (*result)(nvvm_program, char *);
    bool is_there;
} nvvm;

static void load_nvvm(void)
{
    const char *named = getenv("KILN_NVVM");
    void *library = dlopen(named && *named ? named : "libnvvm.so.4", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *symbol;
        void *slot;
    } rows[] = {{"nvvmCreateProgram", &nvvm.create},       {"nvvmDestroyProgram", &nvvm.destroy},
                {"nvvmAddModuleToProgram", &nvvm.add},     {"nvvmCompileProgram", &nvvm.compile},
                {"nvvmGetProgramLogSize", &nvvm.log_size}, {"nvvmGetProgramLog", &nvvm.log},
                {"nvvmGetCompiledResultSize", &nvvm.size}, {"nvvmGetCompiledResult", &nvvm.result}};
    nvvm.is_there = library != NULL;
    for (size_t n = 0; library && n < sizeof rows / sizeof *rows; n++) {
        void *symbol = dlsym(library, rows[n].symbol);
        memcpy(rows[n].slot, &symbol, sizeof symbol);
        nvvm.is_there = nvvm.is_there && symbol;
    }
}

static char *ptx_of(const char *ir, bool is_plain, char *log, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_nvvm);
    if (!nvvm.is_there)
        return snprintf(log, size, "libnvvm.so.4 is not here (KILN_NVVM)"), NULL;
    const char *options[] = {"-arch=compute_90", is_plain ? "-opt=0" : "-opt=3",
                             "-ftz=0",           "-prec-div=1",
                             "-prec-sqrt=1",     "-fma=0"};
    nvvm_program p = NULL;
    size_t bytes = 0;
    char *result = NULL;
    int r = nvvm.create(&p);
    r = r ? r : nvvm.add(p, ir, strlen(ir), "kiln");
    r = r ? r : nvvm.compile(p, sizeof options / sizeof *options, options);
    if (!r && !nvvm.size(p, &bytes) && (result = malloc(bytes + 1)) != NULL) {
        nvvm.result(p, result);
        result[bytes] = 0;
    }
    char *said = !result && !nvvm.log_size(p, &bytes) ? calloc(1, bytes + 1) : NULL;
    if (said)
        nvvm.log(p, said);
    if (!result)
        snprintf(log, size, "NVVM ends with %d: %s", r, said ? said : "");
    free(said);
    nvvm.destroy(&p);
    return result;
}

// --- programs

player_program *player_build(const char *text, size_t len, const char *options, char *log,
                             size_t size)
{
    bool is_plain = strstr(options, "-cl-opt-disable") != NULL;
    player_program *p = calloc(1, sizeof *p);
    char *ir = ir_of(text, len, log, size);
    char *old = ir ? nvvm_ir_of(ir) : NULL;
    if (p && old)
        p->ptx = ptx_of(old, is_plain, log, size);
    if (p && p->ptx)
        p->code = sass_assemble(p->ptx, strlen(p->ptx), is_plain ? 0 : 3, log, size);
    free(old);
    free(ir);
    if (p && p->code)
        return p;
    fprintf(stderr, "sass: %s\n", log);
    if (p)
        player_forget(p);
    return NULL;
}

uint64_t player_local_at(const player_program *p, const char *kernel)
{
    char name[320];
    snprintf(name, sizeof name, ".nv.shared.%s", kernel); // with what the system has
    const sass_section *own = sass_find(p->code, name);
    uint64_t end = own && own->bytes > SASS_SHARED_AT ? own->bytes : SASS_SHARED_AT;
    return (end + 15) / 16 * 16;
}

bool player_launch(player_program *p, const char *kernel, const uint32_t *grid,
                   const uint32_t *threads, uint32_t local_bytes, void **params)
{
    uint32_t sizes[256];
    char error[600] = "";
    if (!sass_param_sizes(p->ptx, kernel, sizes, 256)) {
        fprintf(stderr, "sass: the parameters of %s are not understood\n", kernel);
        return false;
    }
    bool is_good = sass_run(p->code, kernel, grid, threads, local_bytes, 1 << 16, params, sizes,
                            error, sizeof error);
    if (!is_good)
        fprintf(stderr, "sass: %s: %s\n", kernel, error);
    return is_good;
}

void player_forget(player_program *p)
{
    sass_free(p->code);
    free(p->ptx);
    free(p);
}
