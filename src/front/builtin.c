// The rows of builtin.def as data, found by name with a binary search. The index is sorted, and the
// sections are filled in, once per process; nothing changes after that, so any thread may ask.
#include <pthread.h>
#include <stdlib.h>

#include "front/builtin.h"
#include "ir/nv.h"

// clang-format off
static builtin builtins[BI_COUNT] = {
    {.id = BI_NONE, .name = ""},
#define OP(x)    .op = x
#define LOWER(x) .op = BL_##x
#define LIB(x)   .lib = x
#define CONST(x) .op = x
#define NV(x)     .op = x
#define MATRIX(x) .op = x
#define BUILTIN(name_, signature_, kind_, data_, flags_, doc_) \
    {.id = BI_##name_, .name = #name_, .signature = signature_, .kind = BK_##kind_, kind_(data_), .flags = flags_, .doc = doc_},
#define ALIAS(name_, target_, type_)
#include "front/builtin.def"
#undef BUILTIN
#undef ALIAS
#undef OP
#undef LOWER
#undef LIB
#undef CONST
#undef NV
#undef MATRIX
};

typedef struct entry {
    const char *name;
    builtin_id id;
    type_kind fixed;
} entry;

enum { KIND_f32 = TY_F32, KIND_f64 = TY_F64, KIND_i32 = TY_I32, KIND_u32 = TY_U32, KIND_i64 = TY_I64, KIND_u64 = TY_U64 };

static entry entries[] = {
#define BUILTIN(name_, signature_, kind_, data_, flags_, doc_) {#name_, BI_##name_, TY_VOID},
#define ALIAS(name_, target_, type_) {#name_, BI_##target_, (type_kind)KIND_##type_},
#include "front/builtin.def"
#undef BUILTIN
#undef ALIAS
};

// The table's rows and section titles in order: a title goes to the rows after it.
static const struct { builtin_id id; const char *section; } layout[] = {
#define SECTION(title) {BI_NONE, title},
#define BUILTIN(name_, signature_, kind_, data_, flags_, doc_) {BI_##name_, NULL},
#define ALIAS(name_, target_, type_)
#include "front/builtin.def"
#undef BUILTIN
#undef ALIAS
};
// clang-format on

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void prepare(void)
{
    const char *section = "";
    for (size_t i = 0; i < COUNT(layout); i++)
        if (layout[i].section)
            section = layout[i].section;
        else
            builtins[layout[i].id].section = section;
    qsort(entries, COUNT(entries), sizeof entries[0], by_name);
}

const builtin *builtin_at(builtin_id id)
{
    pthread_once(&prepared, prepare);
    return &builtins[id];
}

const builtin *builtin_find(const char *name, const type **fixed)
{
    pthread_once(&prepared, prepare);
    entry key = {.name = name};
    const entry *found = bsearch(&key, entries, COUNT(entries), sizeof entries[0], by_name);
    *fixed = NULL;
    if (!found)
        return NULL;
    if (found->fixed != TY_VOID)
        *fixed = type_scalar(found->fixed);
    return &builtins[found->id];
}

const char *builtin_name_at(uint32_t index)
{
    pthread_once(&prepared, prepare);
    return index < COUNT(entries) ? entries[index].name : NULL;
}
