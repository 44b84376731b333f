// The back ends as rows of one type, so that the compiler and the devices call them alike.
#include "back/back.h"
#include "back/library.h"

static bool emit_ptx(const backend_job *job, text *out)
{
    static const ptx_options plain = {.line_info = true};
    return ptx_emit(job->module, job->only, job->target, job->options ? job->options : &plain,
                    job->diags, job->scratch, out);
}

static bool emit_cpu(const backend_job *job, text *out)
{
    cpu_emit(job->module, job->only, job->scratch, out);
    return true;
}

static bool emit_opencl(const backend_job *job, text *out)
{
    static const opencl_options plain = {.is_exact = true};
    return opencl_emit(job->module, job->only, job->options ? job->options : &plain, job->diags,
                       job->scratch, out);
}

static const char *ptx_library(const ir_module *m, arena *a)
{
    return library_text(m, a, true);
}

static const char *opencl_library(const ir_module *m, arena *a)
{
    return library_text(m, a, false);
}

const backend ptx_backend = {"ptx", emit_ptx, ptx_library};
const backend cpu_backend = {"c", emit_cpu, NULL};
const backend opencl_backend = {"cl", emit_opencl, opencl_library};
