// The interpreter as a device: the oracle for every other one. It runs the compiler's IR, decoded
// when a module is loaded.
#include "dev/interp/device.h"

static kiln_status open_device(kiln *k, int ordinal)
{
    return host_open(k, ordinal, "interp", &target_interp, sizeof(host_device));
}

static kiln_status info_at(int ordinal, kiln_device_info *out)
{
    (void)ordinal;
    *out = (kiln_device_info){.device = "interp",
                              .name = "the interpreter, on the host's cores",
                              .target = "interp",
                              .caps = target_interp.caps,
                              .multiprocessors = 1};
    return KILN_OK;
}

static const struct target *target_number(size_t index)
{
    return index ? NULL : &target_interp;
}

static kiln_status load(kiln_module *m, const rt_image *image)
{
    interp_load_kernels(m, image->ir, sizeof(interp_kernel));
    return KILN_OK;
}

// It runs IR, also that of a GPU's target.
static const struct backend *no_backend(const kiln_module *m, const kiln_compile_desc *desc,
                                        const void **options)
{
    (void)m, (void)desc, (void)options;
    return NULL;
}

static kiln_status launch(kiln_kernel *kernel, const rt_launch *l)
{
    return host_launch(kernel, l, interp_launch_kernel);
}

// --- tensor maps
static interp_elem map_elem(kiln_type type)
{
    switch (type) {
    case KILN_I32:
    case KILN_U32: return INTERP_I32;
    case KILN_I64:
    case KILN_U64: return INTERP_I64;
    case KILN_F16: return INTERP_F16;
    case KILN_BF16: return INTERP_BF16;
    case KILN_F32: return INTERP_F32;
    case KILN_F64: return INTERP_F64;
    default: return INTERP_BYTES;
    }
}

static kiln_status tensor_map(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out)
{
    tensor_layout l;
    kiln_status status = tensor_layout_of(k, desc, &l);
    if (status)
        return status;
    interp_tensor m = {.magic = INTERP_TENSOR_MAGIC,
                       .address = l.address,
                       .rank = (uint8_t)desc->rank,
                       .elem_size = (uint8_t)kiln_type_size(l.type),
                       .swizzle = (uint8_t)l.swizzle,
                       .elem = (uint8_t)map_elem(l.type),
                       .fills_nan = desc->fills_nan};
    for (uint32_t n = 0; n < desc->rank; n++) {
        m.box[n] = (uint16_t)desc->box[n];
        m.step[n] = (uint8_t)l.steps[n];
        m.size[n] = desc->size[n];
        if (n)
            m.stride[n - 1] = l.strides[n - 1];
    }
    memset(out, 0, sizeof *out);
    memcpy(out->opaque, &m, sizeof m);
    return KILN_OK;
}

const device_ops interp_device_ops = {
    .can_check = true,
    .calls_host = true,
    .open = open_device,
    .info_at = info_at,
    .accepts_target = host_accepts_target,
    .target_at = target_number,
    .backend = no_backend,
    .load = load,
    .launch = launch,
    .tensor_map = tensor_map,
    HOST_OPS,
};
