// The target of the interpreter.
#include "ir/target.h"

const struct target target_interp = {
    .name = "interp",
    .family = "interp",
    .caps =
        {
            .subgroup = 32,
            .block_threads = 1024,
            .shared_bytes = 227 * 1024, // of sm_90: a kernel that fits here fits on a GPU, too
            .has_f64 = true,
            .has_f16 = true,
            .has_atomic64 = true,
            .has_nv = true,
            .has_wgmma = true,
            .has_tensor_copies = true,
            .has_clusters = true,
            .has_cooperative = true,
            .has_host_memory = true,
            .can_cancel = true,
            .is_host = true,
            .is_emulated = true,
        },
};
