// Launches whose blocks wait for one another, and kernels that never end: on interp and cpu.
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(64) void meet(u32 *count, u32 *out)\n"
    "{\n"
    "    for (u32 round = 1; round <= 3; round++) {\n"
    "        out[global_x()] += round;\n"
    "        barrier();\n"
    "        if (thread_x() == 0) {\n"
    "            atomic_add(count, 1);\n"
    "            while (atomic_load(count) < round * grid_dim_x())\n"
    "                ;\n"
    "        }\n"
    "        barrier();\n"
    "        out[global_x()] += out[(global_x() + 64) % (64 * grid_dim_x())] == 0;\n"
    "    }\n"
    "}\n"
    "kernel block(32) void forever(volatile u32 *x) { while (x[0] == 0) { } }\n";

static kiln_status meet(kiln *k, kiln_module *m, uint32_t blocks)
{
    static uint32_t got[64 * 64];
    kiln_buffer *count = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U32, 1, &count) &&
          !kiln_buffer_new(k, KILN_U32, 64 * blocks, &out));
    kiln_arg args[] = {kiln_arg_buffer(count), kiln_arg_buffer(out)};
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = blocks;
    desc.args = args;
    desc.arg_count = 2;
    desc.is_cooperative = true;
    kiln_status status = kiln_launch(api_kernel(m, "meet"), &desc);
    bool all = true;
    if (!status && blocks <= 64) {
        CHECK(!kiln_read(out, 0, got, 64 * blocks));
        for (uint32_t i = 0; i < 64 * blocks; i++)
            all = all && got[i] == 6;
    }
    CHECK(all);
    kiln_buffer_free(count);
    kiln_buffer_free(out);
    return status;
}

int main(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    for (int d = 0; d < 2; d++) {
        kiln *k = NULL;
        kiln_device_info info;
        CHECK(!kiln_open(devices[d], &k));
        kiln_module *m = api_compile(k, source, 0);
        CHECK(!kiln_device_info_of(k, &info) && info.caps.has_cooperative);
        CHECK(!meet(k, m, 1) && !meet(k, m, 2) && !meet(k, m, 40));
        EXPECT(meet(k, m, 1025), KILN_E_UNSUPPORTED, "K6038", "at most 1024 at the same time");
        kiln_close(k);
        // A limit of instructions holds on every device of the host.
        setenv("KILN_STEPS", "100000", 1);
        CHECK(!kiln_open(devices[d], &k));
        m = api_compile(k, source, 0);
        kiln_buffer *x = NULL;
        CHECK(!kiln_buffer_new(k, KILN_U32, 1, &x));
        kiln_arg arg = kiln_arg_buffer(x);
        EXPECT(api_launch(api_kernel(m, "forever"), 2, 0, &arg, 1), KILN_E_KERNEL, "K6028",
               "100000");
        kiln_close(k);
        unsetenv("KILN_STEPS");
    }
    return api_done("together");
}
