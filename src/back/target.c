// The rows of target.def as data.
#include "back/back.h"

static const target rows[] = {
#define TARGET(name_, sm_, variant_, ptx_, shared_, registers_, threads_, blocks_, shared_sm_)     \
    {.name = name_,                                                                                \
     .family = "cuda",                                                                             \
     .caps = {.sm = sm_,                                                                           \
              .subgroup = 32,                                                                      \
              .block_threads = 1024,                                                               \
              .shared_bytes = shared_,                                                             \
              .has_f64 = true,                                                                     \
              .has_f16 = true,                                                                     \
              .has_atomic64 = true,                                                                \
              .has_nv = true,                                                                      \
              .has_wgmma = sm_ == 90 && variant_ == 'a',                                           \
              .has_tensor_copies = sm_ >= 90,                                                      \
              .has_clusters = sm_ >= 90,                                                           \
              .has_cooperative = true,                                                             \
              .has_addresses = true},                                                              \
     .backend = &ptx_backend,                                                                      \
     .sm = sm_,                                                                                    \
     .variant = variant_,                                                                          \
     .ptx = ptx_,                                                                                  \
     .shared_limit = shared_,                                                                      \
     .registers = registers_,                                                                      \
     .threads = threads_,                                                                          \
     .blocks = blocks_,                                                                            \
     .shared_sm = shared_sm_},
#include "back/target.def"
#undef TARGET
};

const target *target_find(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

const target *target_at(size_t index)
{
    return index < COUNT(rows) ? &rows[index] : NULL;
}
