// Launching: everything is checked before the first thread runs.
#include <stdlib.h>

#include "rt/rt.h"

enum { SHARED_LIMIT = 227 * 1024, BLOCK_LIMIT = 1024, FEW_ARGS = 32 };

static kiln_status check_block(const kiln_kernel *kernel, const uint32_t given[3],
                               uint32_t block[3])
{
    static const uint32_t limits[3] = {1024, 1024, 64};
    kiln *k = kernel->module->k;
    bool is_given = given[0] || given[1] || given[2];
    bool is_fixed = kernel->block[0] != 0;
    if (!is_given && !is_fixed)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "kernel '%s' has no block(…): the launch must give the block's size",
                         kernel->name);
    uint64_t threads = 1;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t want = given[axis] ? given[axis] : 1;
        block[axis] = is_fixed ? (kernel->block[axis] ? kernel->block[axis] : 1) : want;
        if (is_fixed && is_given && want != block[axis])
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "kernel '%s' is compiled for blocks of %u x %u x %u, the launch says "
                             "%u x %u x %u",
                             kernel->name, kernel->block[0], kernel->block[1], kernel->block[2],
                             given[0], given[1], given[2]);
        if (block[axis] > limits[axis])
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "a block of %u threads along %c: at most %u are possible", block[axis],
                             "xyz"[axis], limits[axis]);
        threads *= block[axis];
    }
    if (threads > BLOCK_LIMIT)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "a block of %u x %u x %u has %llu threads: at most %d are possible",
                         block[0], block[1], block[2], (unsigned long long)threads, BLOCK_LIMIT);
    return KILN_OK;
}

// *is_empty: there is nothing to do.
static kiln_status check_grid(const kiln_kernel *kernel, const kiln_launch_desc *desc,
                              const uint32_t block[3], uint32_t grid[3], bool *is_empty)
{
    static const uint64_t limits[3] = {INT32_MAX, 65535, 65535};
    kiln *k = kernel->module->k;
    bool has_items = desc->items[0] || desc->items[1] || desc->items[2];
    bool has_grid = desc->grid[0] || desc->grid[1] || desc->grid[2];
    if (has_items && has_grid)
        return error_set(k, KILN_E_LAUNCH, K6015,
                         "the launch gives a grid and items: only one of them can decide");
    *is_empty = has_items ? !desc->items[0] : !desc->grid[0];
    for (int axis = 0; axis < 3; axis++) {
        uint64_t count =
            has_items ? desc->items[axis] / block[axis] + (desc->items[axis] % block[axis] != 0)
                      : desc->grid[axis];
        if (count > limits[axis])
            return error_set(k, KILN_E_LAUNCH, K6015,
                             "a grid of %llu blocks along %c: at most %llu are possible",
                             (unsigned long long)count, "xyz"[axis],
                             (unsigned long long)limits[axis]);
        grid[axis] = count ? (uint32_t)count : 1;
    }
    return KILN_OK;
}

static kiln_status check_shared(const kiln_kernel *kernel, size_t dynamic)
{
    uint64_t fixed = interp_shared_bytes(kernel->program);
    if (dynamic <= SHARED_LIMIT && fixed <= SHARED_LIMIT - dynamic)
        return KILN_OK;
    return error_set(kernel->module->k, KILN_E_LAUNCH, K6016,
                     "kernel '%s' needs %llu bytes of shared memory and the launch adds %zu: a "
                     "block has %d",
                     kernel->name, (unsigned long long)fixed, dynamic, SHARED_LIMIT);
}

static kiln_status check_args(kiln_kernel *kernel, const kiln_launch_desc *desc, interp_arg *args)
{
    kiln *k = kernel->module->k;
    if (desc->arg_count != kernel->param_count)
        return error_set(k, KILN_E_LAUNCH, K6010,
                         "kernel '%s' has %zu parameter%s, the launch gives %zu argument%s",
                         kernel->name, kernel->param_count, kernel->param_count == 1 ? "" : "s",
                         desc->arg_count, desc->arg_count == 1 ? "" : "s");
    if (desc->arg_count && !desc->args)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_launch: %zu arguments at NULL",
                         desc->arg_count);
    for (size_t i = 0; i < desc->arg_count; i++) {
        kiln_status status = arg_check(kernel, i, &desc->args[i], &args[i]);
        if (status)
            return status;
    }
    return KILN_OK;
}

// Keeps a kernel's output until kiln_printed asks for it.
static void keep_print(void *user, const char *text_of, size_t len)
{
    kiln *k = user;
    if (k->printed_len + len + 1 > k->printed_cap) {
        size_t cap = (k->printed_len + len + 1) * 2;
        char *grown = realloc(k->printed[0], cap);
        k->has_lost_print |= !grown;
        if (!grown)
            return;
        k->printed[0] = grown;
        k->printed_cap = cap;
    }
    memcpy(k->printed[0] + k->printed_len, text_of, len);
    k->printed_len += len;
    k->printed[0][k->printed_len] = 0;
}

static kiln_status run(kiln_kernel *kernel, const interp_launch *launch)
{
    kiln *k = kernel->module->k;
    interp_error error;
    __atomic_store_n(&k->cancel, 0, __ATOMIC_RELAXED);
    k->has_lost_print = false;
    if (interp_run(launch, &error))
        return k->has_lost_print ? error_no_memory(k, "the kernel's output") : KILN_OK;
    kiln_status status = error.code == K6029   ? KILN_E_CANCELLED
                         : error.code == K6004 ? KILN_E_NO_MEMORY
                                               : KILN_E_KERNEL;
    error_set(k, status, error.code, "%s", error.text);
    error_add_place(k, kernel->name, error.file ? error.file : "", error.line, error.column);
    return status;
}

static kiln_status check_and_run(kiln_kernel *kernel, const kiln_launch_desc *desc,
                                 interp_arg *args)
{
    kiln *k = kernel->module->k;
    interp_launch launch = {.program = kernel->program,
                            .shared_bytes = desc->shared_bytes,
                            .args = args,
                            .buffers = k->rows,
                            .buffer_count = k->row_count,
                            .threads = k->threads,
                            .step_limit = k->step_limit,
                            .cancel = &k->cancel,
                            .print = k->print ? k->print : keep_print,
                            .print_user = k->print ? k->print_user : k};
    bool is_empty = false;
    kiln_status status = check_args(kernel, desc, args);
    if (!status)
        status = check_block(kernel, desc->block, launch.block);
    if (!status)
        status = check_grid(kernel, desc, launch.block, launch.grid, &is_empty);
    if (!status)
        status = check_shared(kernel, desc->shared_bytes);
    return status || is_empty ? status : run(kernel, &launch);
}

kiln_status kiln_launch(kiln_kernel *kernel, const kiln_launch_desc *desc)
{
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    kiln *k = kernel->module->k;
    if (!desc)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_launch: the description is NULL");
    interp_arg few[FEW_ARGS], *args = few;
    if (kernel->param_count > FEW_ARGS)
        args = calloc(kernel->param_count, sizeof *args);
    if (!args)
        return error_no_memory(k, "the arguments of a launch");
    kiln_status status = check_and_run(kernel, desc, args);
    if (args != few)
        free(args);
    return status;
}
