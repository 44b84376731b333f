// PTX in, what NVIDIA's command line tools say about it out: registers and memory of each kernel by
// ptxas -v, machine code as text by nvdisasm. The tools may be missing; that is no error.
#include "back/report/ptxas.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"

// The number before `what` on this line, or 0.
static uint64_t number_before(str line, const char *what)
{
    size_t len = strlen(what);
    for (size_t k = 0; k + len <= line.len; k++) {
        if (memcmp(line.at + k, what, len) != 0)
            continue;
        size_t start = k;
        while (start && line.at[start - 1] >= '0' && line.at[start - 1] <= '9')
            start--;
        return strtoull(line.at + start, NULL, 10);
    }
    return 0;
}

static bool has(str line, const char *what)
{
    size_t len = strlen(what);
    for (size_t k = 0; k + len <= line.len; k++)
        if (!memcmp(line.at + k, what, len))
            return true;
    return false;
}

bool ptxas_read(str log, const char *kernel, ptxas_numbers *out)
{
    *out = (ptxas_numbers){0};
    char wanted[256];
    bool is_mine = false;
    int len = snprintf(wanted, sizeof wanted, "entry function '%s' ", kernel);
    if (len < 0 || (size_t)len >= sizeof wanted)
        return false;
    for (size_t at = 0; at < log.len;) {
        const char *end = memchr(log.at + at, '\n', log.len - at);
        str line = {log.at + at, end ? (size_t)(end - log.at) - at : log.len - at};
        at += line.len + 1;
        if (has(line, "entry function '"))
            is_mine = has(line, wanted);
        if (!is_mine)
            continue;
        if (has(line, "spill stores")) {
            out->spills = (uint32_t)(number_before(line, " bytes spill stores") / 4);
            out->local_bytes = number_before(line, " bytes stack frame");
        }
        if (has(line, " registers")) {
            out->registers = (uint32_t)number_before(line, " registers");
            out->shared_bytes = number_before(line, " bytes smem");
            return true;
        }
    }
    return false;
}

bool ptxas_run(arena *a, const char *target, str ptx, str *log, const char **note)
{
    const char *program = proc_find_cuda(a, "ptxas"), *folder = getenv("TMPDIR"), *reason = "";
    *note = NULL;
    if (!program || !ptx.len)
        return false;
    char *path = str_format(a, "%s/kiln-XXXXXX.ptx", folder && *folder ? folder : "/tmp");
    int fd = mkstemps(path, 4);
    if (fd < 0) {
        *note = str_format(a, "%s cannot be written", path);
        return false;
    }
    close(fd);
    proc_result result = {0};
    const char *argv[] = {program,     "-v", str_format(a, "-arch=%s", target), path, "-o",
                          "/dev/null", NULL};
    bool is_done =
        file_write(a, path, ptx.at, ptx.len, &reason) && proc_run(a, argv, &result, &reason);
    unlink(path);
    if (is_done && !result.status) {
        *log = result.output;
        return true;
    }
    *note = is_done ? str_format(a, "ptxas does not take the code:\n%.*s", (int)result.output.len,
                                 result.output.at)
                    : str_format(a, "ptxas cannot be run: %s", reason);
    return false;
}

str ptxas_disassemble(arena *a, const char *target, str ptx)
{
    const char *ptxas = proc_find_cuda(a, "ptxas"), *nvdisasm = proc_find_cuda(a, "nvdisasm"),
               *reason, *temp = getenv("TMPDIR");
    char *folder = str_format(a, "%s/kiln-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!ptxas || !nvdisasm || !mkdtemp(folder))
        return (str){0};
    const char *code = str_format(a, "%s/k.ptx", folder),
               *cubin = str_format(a, "%s/k.cubin", folder);
    const char *assemble[] = {ptxas, "-lineinfo", str_format(a, "-arch=%s", target), code, "-o",
                              cubin, NULL};
    const char *show_code[] = {nvdisasm, "-g", "-c", cubin, NULL};
    proc_result result = {0};
    bool is_done = file_write(a, code, ptx.at, ptx.len, &reason) &&
                   proc_run(a, assemble, &result, &reason) && !result.status &&
                   proc_run(a, show_code, &result, &reason) && !result.status;
    unlink(code);
    unlink(cubin);
    rmdir(folder);
    return is_done ? result.output : (str){0};
}
