// Declarations: what may be declared where, and what a kernel's signature may hold.
// A declaration that is wrong gets the poison type, so that its uses stay silent.
#include "front/check.h"

// A GPU keeps the first 1024 bytes of a block's shared memory; larger alignments do not hold there.
enum { MAX_SHARED = 227 * 1024, MAX_SHARED_ALIGN = 1024 };

static void reject(ast_decl *d)
{
    d->type = type_scalar(TY_POISON);
}

static bool is_open_array(const type *t)
{
    return t->kind == TY_ARRAY && t->is_incomplete;
}

// Void, incomplete types and tensor maps; true when the declaration was rejected.
static bool has_no_size(front *f, ast_decl *d)
{
    const type *t = d->type;
    while (t->kind == TY_ARRAY)
        t = t->base;
    if (t->kind == TY_POISON)
        return true;
    if (t->kind == TY_VOID) {
        diag *report = diag_raise(f->diags, K2301, d->at, "'%s' cannot have type void", d->name);
        diag_label(report, d->at, "void has no values; 'void *' is a pointer to anything");
        reject(d);
        return true;
    }
    if (d->kind == DECL_VAR && check_map_object(f, t, d->at, "a variable")) {
        reject(d);
        return true;
    }
    if (type_is_record(t) && type_def(t)->is_incomplete) {
        if (type_def(t)->is_broken && f->diags->error_count) { // it was said why
            reject(d);
            return true;
        }
        diag *report = diag_raise(f->diags, K2302, d->at, "'%s' has the incomplete type '%s'",
                                  d->name, T_OF(f, t->unqualified));
        diag_label(report, d->at, "its size is not known here");
        if (type_def(t)->at.lo)
            diag_label(report, type_def(t)->at, "declared here, but not defined");
        reject(d);
        return true;
    }
    if (is_open_array(d->type) && !d->is_shared && d->kind == DECL_VAR) {
        diag *report = diag_raise(f->diags, K2305, d->at, "the array '%s' has no size", d->name);
        diag_label(report, d->at, "give it a bound or a list of values");
        diag_note(report,
                  "only a shared array may have an empty bound: it is the dynamic shared memory");
        reject(d);
        return true;
    }
    return false;
}

static uint32_t align_of(const ast_decl *d)
{
    uint32_t natural = type_align(d->type);
    return d->align > natural ? d->align : natural;
}

static void check_limits(front *f, ast_decl *d)
{
    uint64_t size = type_def(d->type)->size;
    if (d->is_shared && size > MAX_SHARED) {
        diag *report = diag_raise(f->diags, K4001, d->at, "'%s' needs %llu bytes of shared memory",
                                  d->name, (unsigned long long)size);
        diag_label(report, d->at, "no device has more than %d bytes (227 KiB) for one block",
                   MAX_SHARED);
        reject(d);
    } else if (d->is_shared && align_of(d) > MAX_SHARED_ALIGN) {
        diag *report = diag_raise(f->diags, K1048, d->at, "'%s' needs an alignment of %u bytes",
                                  d->name, align_of(d));
        diag_label(report, d->at, "shared memory is aligned to at most %d bytes", MAX_SHARED_ALIGN);
        reject(d);
    } else if (!d->is_shared && !d->is_static && size > MAX_THREAD_BYTES) {
        diag *report = diag_raise(f->diags, K4002, d->at, "'%s' needs %llu bytes in every thread",
                                  d->name, (unsigned long long)size);
        diag_label(report, d->at, "a thread may have at most 1 MiB; use a buffer of the caller's");
        reject(d);
    }
}

void check_decl(front *f, ast_decl *d)
{
    bool is_host = d->is_file_scope && !d->is_shared;
    if (d->type->kind == TY_POISON || is_host || (d->kind != DECL_VAR && d->kind != DECL_PARAM))
        return;
    if (has_no_size(f, d) || d->kind == DECL_PARAM)
        return;
    bool is_const = (check_deep_quals(d->type) & QUAL_CONST) != 0;
    if (d->is_static && !d->is_shared && !is_const && !d->is_per_thread) {
        diag *report = diag_raise(f->diags, K2304, d->at, "'%s' cannot be static", d->name);
        diag_label(report, d->at, "thousands of threads would share it");
        diag_note(report, "use 'shared' for one per block, 'static const' for a table, or a buffer "
                          "parameter for one per launch");
        reject(d);
        return;
    }
    if (is_const && !d->init && !d->is_shared && !d->is_extern && type_is_scalar(d->type)) {
        diag *report =
            diag_raise(f->diags, K2308, d->at, "'%s' is const but has no value", d->name);
        diag_label(report, d->at, "it can never be set later");
        reject(d);
        return;
    }
    check_limits(f, d);
}

// --- kernels

static const char *bad_parameter(const type *t)
{
    if (is_pointer(t))
        return t->base->kind == TY_FUNC ? "the host's functions are not the kernel's: pass a number"
               : t->base->kind == TY_TENSOR_MAP ? "a kernel takes the map itself: 'tensor_map'"
                                                : NULL;
    if (t->kind == TY_TENSOR_MAP || type_is_scalar(t) || type_is_storage_float(t))
        return NULL;
    if (type_is_record(t))
        return type_def(t)->is_incomplete ? "the struct is not defined here" : NULL;
    return "parameters are numbers, pointers, vectors, structs and tensor maps";
}

void check_kernel_signature(front *f, ast_decl *d)
{
    const type *result = d->type->kind == TY_FUNC ? d->type->base : d->type;
    if (result->kind != TY_VOID && result->kind != TY_POISON) {
        diag *report =
            diag_raise(f->diags, K2306, d->at, "the kernel '%s' must return void", d->name);
        diag_label(report, d->at, "returns '%s'", T_OF(f, result));
        diag_note(report,
                  "results go through a pointer parameter: every thread writes its own element");
    }
    for (uint32_t i = 0; i < d->params.len; i++) {
        ast_decl *param = d->params.at[i];
        const type *t = param->type;
        const char *why = t->kind == TY_POISON ? NULL : bad_parameter(t);
        if (!why)
            continue;
        diag *report =
            diag_raise(f->diags, K2307, param->at, "'%s' cannot be a kernel parameter", T_OF(f, t));
        diag_label(report, param->at, "%s", why);
        reject(param);
    }
}
