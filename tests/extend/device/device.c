// The device that tests/extend/run adds to Kiln: this folder and the row in row.def, nothing else.
// Its code is IR as text, made by a back end of its own; loading reads the text back, so a kernel
// comes here through the text alone, also out of the cache. The interpreter's engine runs it.
#include "dev/interp/device.h"
#include "back/back.h"

static bool emit(const backend_job *job, text *out)
{
    ir_print_module(job->module, out);
    return true;
}

static const backend text_backend = {"ir", emit, NULL};

static const target text_target = {
    .name = "text",
    .family = "text",
    .caps = {.subgroup = 32,
             .block_threads = 256,
             .shared_bytes = 48 << 10,
             .has_f64 = true,
             .has_f16 = true,
             .has_atomic64 = true,
             .has_cooperative = true,
             .has_host_memory = true,
             .can_cancel = true,
             .is_host = true},
    .has_no_goto = true,
    .backend = &text_backend,
};

static const target *target_number(size_t index)
{
    return index ? NULL : &text_target;
}

static kiln_status open_device(kiln *k, int ordinal)
{
    return host_open(k, ordinal, "text", &text_target, sizeof(host_device));
}

static kiln_status info_at(int ordinal, kiln_device_info *out)
{
    (void)ordinal;
    *out = (kiln_device_info){.device = "text",
                              .name = "IR as text, read back",
                              .target = "text",
                              .caps = text_target.caps,
                              .multiprocessors = 1};
    return KILN_OK;
}

static kiln_status load(kiln_module *m, const rt_image *image)
{
    const char *wrong = NULL;
    str code = {image->code, image->code_len};
    ir_module *ir = ir_read(m->a, names_in(m->a), code, &wrong);
    if (!ir)
        return error_set(m->k, KILN_E_DRIVER, K6033, "the text cannot be read: %s", wrong);
    interp_load_kernels(m, ir, sizeof(interp_kernel));
    return KILN_OK;
}

static kiln_status launch(kiln_kernel *kernel, const rt_launch *l)
{
    return host_launch(kernel, l, interp_launch_kernel);
}

extern const device_ops text_device_ops;
const device_ops text_device_ops = {
    .keeps_code = true,
    .open = open_device,
    .info_at = info_at,
    .target_at = target_number,
    .load = load,
    .launch = launch,
    HOST_OPS,
};
