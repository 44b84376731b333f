// Modules: compiling and loading them, the kernels in them and what they look like. What outlives
// the compile (names, parameters, code) is copied into the module's own arena. Start at
// make_module.
#include <stdio.h>
#include <stdlib.h>

#include "back/back.h"
#include "base/knobs.h"
#include "compile.h"
#include "rt/host/host.h"
#include "rt/module/image.h"
#include "rt/report/trace.h"
#include "rt/tuned/tuned.h"

// --- results out of the compile
static const char *copy(arena *a, const char *s)
{
    return str_format(a, "%s", s ? s : "");
}

static rt_param param_of(arena *a, const ir_param *p)
{
    rt_param out = {.value = (ir_type)p->type};
    kiln_param_info *i = &out.info;
    i->name = copy(a, p->name);
    i->c_type = copy(a, p->c_type);
    i->is_const = p->is_const;
    switch ((ir_param_kind)p->kind) {
    case IR_PARAM_SCALAR:
        i->kind = KILN_PARAM_SCALAR;
        i->type = type_from_ir((ir_type)p->type, p->elem_unsigned);
        i->size = ir_type_size((ir_type)p->type);
        break;
    case IR_PARAM_POINTER:
        i->kind = KILN_PARAM_POINTER;
        i->type = type_from_ir((ir_type)p->elem, p->elem_unsigned);
        i->size = p->elem_size;
        break;
    case IR_PARAM_BYTES:
        i->kind = KILN_PARAM_STRUCT;
        i->size = p->size;
        break;
    case IR_PARAM_TENSOR_MAP:
        i->kind = KILN_PARAM_TENSOR_MAP;
        i->size = p->size;
        break;
    }
    return out;
}

static void add_kernel(kiln_module *m, const ir_func *f)
{
    kiln_kernel *kernel = handle_new(HANDLE_KERNEL);
    if (!kernel)
        bug_out_of_memory();
    m->kernels[m->kernel_count++] = kernel;
    kernel->module = m;
    kernel->name = copy(m->a, f->name);
    kernel->param_count = f->params.len;
    kernel->params = arena_array(m->a, rt_param, f->params.len + 1);
    for (uint32_t k = 0; k < f->params.len; k++) {
        kernel->params[k] = param_of(m->a, &f->params.at[k]);
        kernel->hidden_count += f->params.at[k].is_hidden;
        kernel->uses_heap |= f->params.at[k].is_hidden && f->params.at[k].kind == IR_PARAM_POINTER;
    }
    memcpy(kernel->block, f->block, sizeof kernel->block);
    kernel->max_threads = f->max_threads;
    memcpy(kernel->cluster, f->cluster, sizeof kernel->cluster);
    source_place at = {0};
    if (f->module->sources && f->at.lo)
        at = source_find(f->module->sources, f->at.lo);
    kernel->file = at.file ? copy(m->a, at.file->path) : NULL;
    kernel->line = at.file ? at.line : 0;
    kernel->talks = channel_is_used(f);
    kernel->stack_bytes = stack_bytes(f, m->a);
}

static str copy_str(arena *a, str s)
{
    return (str){str_dup(a, s), s.len};
}

// The places where its kernels print or stop, so that what they leave in the channel can be read.
static void copy_sites(kiln_module *m, const ir_module *from)
{
    channel_sites sites = {0};
    channel_list_sites(from, m->a, &sites);
    for (uint32_t n = 0; n < sites.len; n++) {
        channel_site *s = &sites.at[n];
        s->kernel = copy(m->a, s->kernel);
        s->file = copy(m->a, s->file);
        s->text = copy_str(m->a, s->text);
    }
    m->sites = sites.at;
    m->site_count = sites.len;
    m->strings = arena_array(m->a, str, from->strings.len + 1);
    m->string_count = from->strings.len;
    for (uint32_t n = 0; n < from->strings.len; n++)
        m->strings[n] = copy_str(m->a, from->strings.at[n]);
}

static void copy_constants(kiln_module *m, const ir_module *from)
{
    m->constants = arena_array(m->a, ir_named, from->constants.len + 1);
    m->constant_count = from->constants.len;
    for (uint32_t n = 0; n < from->constants.len; n++)
        m->constants[n] =
            (ir_named){copy(m->a, from->constants.at[n].name), from->constants.at[n].value};
}

// The module's tables, out of what the compiler made.
static void copy_results(kiln_module *m, const compile_outcome *made)
{
    const ir_module *from = made->ir;
    m->kernels = arena_array(m->a, kiln_kernel *, from->funcs.len + 1);
    for (uint32_t k = 0; k < from->funcs.len; k++)
        if (from->funcs.at[k]->is_kernel)
            add_kernel(m, from->funcs.at[k]);
    copy_sites(m, from);
    copy_constants(m, from);
    if (m->for_check)
        m->sources = source_copy(m->a, made->sources);
    if (m->k->ops->keeps_code) {
        m->code = str_dup(m->a, made->emitted);
        m->code_len = made->emitted.len;
        image_note_inputs(m, made->sources);
    }
}

void module_drop(kiln_module *m)
{
    if (m->k->ops->unload)
        m->k->ops->unload(m);
    host_forget(m);
    for (size_t k = 0; k < m->kernel_count; k++)
        handle_free(HANDLE_KERNEL, m->kernels[k]);
    free(m->binary);
    arena_free(m->scratch);
    arena_free(m->a);
    free(m->log);
    handle_free(HANDLE_MODULE, m);
}

static void free_now(void *module)
{
    kiln_module *m = module;
    LIST_REMOVE(m->k->modules, m);
    module_drop(m);
}

void kiln_module_free(kiln_module *m)
{
    if (handle_can_free(HANDLE_MODULE, m) && !context_keeps(m->k, &m->late, free_now, m))
        free_now(m);
}

static kiln_status compile(kiln_module *m, const kiln_compile_desc *desc, compile_outcome *made)
{
    const device_ops *ops = m->k->ops;
    const void *emit_options = NULL;
    const backend *b = ops->backend ? ops->backend(m, desc, &emit_options) : m->target->backend;
    compile_options options = {
        .path = desc->path,
        .source = desc->source,
        .source_len = desc->source_len,
        .front = {.defines = desc->define,
                  .includes = desc->include,
                  .tunes = desc->tune,
                  .target = m->target,
                  .keeps_unset = m->for_check,
                  .watches_shifts = m->for_check,
                  .watches_heap = m->for_check,
                  .allow_file_includes = !desc->no_file_includes},
        .is_ir = desc->is_ir,
        .level = m->for_check         ? 1
                 : desc->optimise < 0 ? 0
                                      : 2,
        .verifies = knob_number(KNOB_VERIFY) != 0,
        .no_remarks = !desc->remarks,
        .checks_bounds = desc->check_bounds || knob_lists(KNOB_CHECK, "bounds"),
        .wants_plain_exits = knob_lists(KNOB_EXITS, "plain"),
        .warnings_are_errors = desc->warnings_are_errors,
        .json = desc->diagnostics_json,
        .stage = trace_wants_stages() ? trace_stage : NULL,
        .user = m,
        .backend = b,
        .emit_options = emit_options,
    };
    *made = compile_run(&options);
    trace_compiled(m, made);
    if (made->status) {
        error_set_text(m->k, made->status, made->code, made->log ? made->log : "out of memory");
        error_add_place(m->k, "", made->file ? made->file : "", (uint32_t)made->line,
                        (uint32_t)made->column);
        return made->status;
    }
    m->log = made->log;
    made->log = NULL;
    return KILN_OK;
}

// Fills the module's tables and hands the code to the device.
static kiln_status load(kiln_module *m, const kiln_compile_desc *desc, const compile_outcome *made)
{
    rt_image image = {
        .code = "", .is_plain = desc->optimise < 0, .ir = made->ir, .embedded = desc->native};
    if (made->ir)
        copy_results(m, made);
    if (made->emitted.len)
        image.code = made->emitted.at;
    image.code_len = made->emitted.len;
    if (m->code) {
        image.code = m->code;
        image.code_len = m->code_len;
    }
    return m->k->ops->load(m, &image);
}

// Kernels in the device's own language.
static kiln_status read_code(kiln_module *m, const kiln_compile_desc *desc)
{
    kiln *k = m->k;
    return k->ops->read_code ? k->ops->read_code(m, desc)
                             : error_set(k, KILN_E_UNSUPPORTED, K6038,
                                         "PTX runs on cuda devices, not on %s", k->device);
}

// Apart, so that a jump comes back to a function without variables of its own.
static kiln_status guarded(kiln_module *m, const kiln_compile_desc *desc,
                           const compile_outcome *made)
{
    bug_frame frame;
    if (bug_enter(&frame))
        return frame.kind == BUG_NO_MEMORY
                   ? error_no_memory(m->k, "a module")
                   : error_set(m->k, KILN_E_INTERNAL, K9001, "%s", frame.text);
    kiln_status status = made ? load(m, desc, made) : read_code(m, desc);
    bug_leave(&frame);
    return status;
}

// From the cache when it can be, else compiled; then loaded and, when something is new, kept.
static kiln_status make_code(kiln_module *m, const kiln_compile_desc *given)
{
    kiln_compile_desc desc = *given;
    compile_outcome made = {0};
    bool is_kept = m->k->ops->keeps_code && !trace_wants_stages();
    image_key *key = is_kept ? image_key_of(m, given) : NULL;
    bool is_cached = key && image_load(m, key);
    kiln_status status = KILN_OK;
    if (key) { // the file may change while we work
        desc.source = image_source(key).at;
        desc.source_len = image_source(key).len;
    }
    if (!is_cached)
        status = desc.is_ptx ? guarded(m, &desc, NULL) : compile(m, &desc, &made);
    const void *binary = m->binary;
    if (!status)
        status = guarded(m, &desc, &made);
    compile_outcome_free(&made);
    if (!status && key && (!is_cached || m->binary != binary))
        image_keep(m, key);
    image_key_free(key);
    return status;
}

// Apart for the same reason. False: no memory.
static bool set_name(kiln_module *m, const char *name)
{
    bug_frame frame;
    if (bug_enter(&frame))
        return false;
    m->name = copy(m->a, name);
    bug_leave(&frame);
    return true;
}

static kiln_status make_module(kiln_module *m, const kiln_compile_desc *desc)
{
    kiln *k = m->k;
    const device_ops *ops = k->ops;
    m->target = desc->target ? device_target(desc->target) : k->target;
    m->for_check = desc->for_check && ops->can_check;
    if (!set_name(m, desc->path ? desc->path : "<string>"))
        return error_no_memory(k, "a module");
    bool is_taken = m->target == k->target ||
                    (m->target && ops->accepts_target && ops->accepts_target(k, m->target));
    if (!is_taken && !desc->is_ptx)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "'%s' is no target of %s", desc->target,
                         k->device);
    if (!is_taken)
        m->target = k->target;
    return make_code(m, desc);
}

static kiln_status new_module(kiln *k, const kiln_compile_desc *desc, kiln_module **out)
{
    kiln_module *m = handle_new(HANDLE_MODULE);
    if (!m)
        return error_no_memory(k, "a module");
    m->k = k;
    m->a = arena_new();
    kiln_status status = m->a ? make_module(m, desc) : error_no_memory(k, "a module");
    if (status) {
        module_drop(m);
        return status;
    }
    trace_ready(m);
    LIST_ADD(k->modules, m);
    *out = m;
    return KILN_OK;
}

kiln_status kiln_compile(kiln *k, const kiln_compile_desc *desc, kiln_module **out)
{
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_compile: there is no place for the result (out is NULL)");
    *out = NULL;
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc || (!desc->path && !desc->source))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_compile: neither a path nor a source text is given");
    const char **tunes = NULL;
    kiln_status status = context_may_use(k, "kiln_compile"); // to load code a driver may wait
    if (!status)
        status = tuned_choose(k, desc, &tunes);
    if (status || !tunes)
        return status ? status : new_module(k, desc, out);
    kiln_compile_desc tuned = *desc;
    tuned.tune = tunes;
    status = new_module(k, &tuned, out);
    free((void *)(uintptr_t)tunes);
    // An include may have changed so that the values do not compile any more.
    return status == KILN_E_COMPILE ? new_module(k, desc, out) : status;
}

// --- asking
const char *kiln_module_log(const kiln_module *m)
{
    if (handle_is(HANDLE_MODULE, m))
        return m->log ? m->log : "";
    error_bad_handle(HANDLE_MODULE, m);
    return "";
}

size_t kiln_module_kernel_count(const kiln_module *m)
{
    if (handle_is(HANDLE_MODULE, m))
        return m->kernel_count;
    error_bad_handle(HANDLE_MODULE, m);
    return 0;
}

static kiln_status check_ask(const kiln_module *m, kiln_kernel **out)
{
    if (!handle_is(HANDLE_MODULE, m))
        return error_bad_handle(HANDLE_MODULE, m);
    if (!out)
        return error_set(m->k, KILN_E_BAD_ARGUMENT, K6003,
                         "there is no place for the kernel's handle (out is NULL)");
    *out = NULL;
    return KILN_OK;
}

kiln_status kiln_module_kernel_at(const kiln_module *m, size_t index, kiln_kernel **out)
{
    kiln_status status = check_ask(m, out);
    if (status)
        return status;
    if (index >= m->kernel_count)
        return error_set(m->k, KILN_E_NOT_FOUND, K6006, "kernel %zu of a module that has %zu",
                         index, m->kernel_count);
    *out = m->kernels[index];
    return KILN_OK;
}

static kiln_status no_kernel(const kiln_module *m, const char *name)
{
    const char *nearest = NULL;
    unsigned best = 4;
    for (size_t k = 0; k < m->kernel_count; k++)
        if (str_nearer(str_of(name), m->kernels[k]->name, &best))
            nearest = m->kernels[k]->name;
    if (nearest)
        return error_set(m->k, KILN_E_NOT_FOUND, K6006,
                         "there is no kernel '%s' in this module; did you mean '%s'?", name,
                         nearest);
    char known[300] = "";
    size_t used = 0, shown = 0;
    for (; shown < m->kernel_count && shown < 8 && used < sizeof known; shown++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s'%s'", shown ? ", " : "",
                                 m->kernels[shown]->name);
    return error_set(m->k, KILN_E_NOT_FOUND, K6006,
                     "there is no kernel '%s' in this module; it has %s%s", name,
                     m->kernel_count ? known : "none", shown < m->kernel_count ? " …" : "");
}

kiln_status kiln_module_kernel(const kiln_module *m, const char *name, kiln_kernel **out)
{
    kiln_status status = check_ask(m, out);
    if (status)
        return status;
    if (!name && m->kernel_count != 1)
        return error_set(m->k, KILN_E_NOT_FOUND, K6006,
                         "the module has %zu kernels: say which one by name", m->kernel_count);
    for (size_t k = 0; k < m->kernel_count; k++)
        if (!name || strcmp(m->kernels[k]->name, name) == 0) {
            *out = m->kernels[k];
            return KILN_OK;
        }
    return no_kernel(m, name);
}

const char *kiln_kernel_name(const kiln_kernel *kernel)
{
    if (handle_is(HANDLE_KERNEL, kernel))
        return kernel->name;
    error_bad_handle(HANDLE_KERNEL, kernel);
    return "";
}

size_t kiln_kernel_param_count(const kiln_kernel *kernel)
{
    if (handle_is(HANDLE_KERNEL, kernel))
        return kernel->param_count - kernel->hidden_count;
    error_bad_handle(HANDLE_KERNEL, kernel);
    return 0;
}

kiln_status kiln_kernel_param(const kiln_kernel *kernel, size_t index, kiln_param_info *out)
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    if (!out)
        return error_set(kernel->module->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_kernel_param: out is NULL");
    if (index >= kernel->param_count - kernel->hidden_count)
        return error_set(kernel->module->k, KILN_E_NOT_FOUND, K6003,
                         "parameter %zu of kernel '%s', which has %zu", index, kernel->name,
                         kernel->param_count - kernel->hidden_count);
    *out = kernel->params[index].info;
    return KILN_OK;
}

void kiln_kernel_block(const kiln_kernel *kernel, uint32_t block[3])
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        error_bad_handle(HANDLE_KERNEL, kernel);
    else if (!block)
        error_set(kernel->module->k, KILN_E_BAD_ARGUMENT, K6003,
                  "kiln_kernel_block: there is no place for the block's size (NULL)");
    else
        memcpy(block, kernel->block, sizeof kernel->block);
}

uint32_t kiln_kernel_max_threads(const kiln_kernel *kernel)
{
    if (handle_is(HANDLE_KERNEL, kernel))
        return kernel->max_threads;
    error_bad_handle(HANDLE_KERNEL, kernel);
    return 0;
}

kiln_status kiln_kernel_constant(const kiln_kernel *kernel, const char *name, int64_t *out)
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    const kiln_module *m = kernel->module;
    if (!name || !out)
        return error_set(m->k, KILN_E_BAD_ARGUMENT, K6003, "kiln_kernel_constant: %s is NULL",
                         name ? "out" : "the name");
    for (uint32_t n = 0; n < m->constant_count; n++)
        if (!strcmp(m->constants[n].name, name)) {
            *out = m->constants[n].value;
            return KILN_OK;
        }
    return error_set(m->k, KILN_E_BAD_ARGUMENT, K6003,
                     "kernel '%s' has no constant '%s': enum constants at file scope and tunables "
                     "of its file can be asked for",
                     kernel->name, name);
}

kiln_status kiln_kernel_resources(const kiln_kernel *kernel, kiln_resources *out)
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    if (!out)
        return error_set(kernel->module->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_kernel_resources: out is NULL");
    const device_ops *ops = kernel->module->k->ops;
    *out = kernel->resources;
    return ops->resources ? ops->resources(kernel, out) : KILN_OK;
}

kiln_status kiln_kernel_occupancy(const kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                                  uint32_t *blocks)
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    kiln *k = kernel->module->k;
    if (!blocks || !threads || threads > k->caps.block_threads)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_kernel_occupancy: %s",
                         blocks ? "a block has 1 to 1024 threads" : "blocks is NULL");
    if (!k->ops->occupancy)
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s has no multiprocessors to fill",
                         k->device);
    return k->ops->occupancy(kernel, threads, shared_bytes, blocks);
}

const char *kiln_module_code(const kiln_module *m, size_t *len)
{
    if (len)
        *len = 0;
    if (!handle_is(HANDLE_MODULE, m)) {
        error_bad_handle(HANDLE_MODULE, m);
        return "";
    }
    if (len)
        *len = m->code_len;
    return m->code ? m->code : "";
}
