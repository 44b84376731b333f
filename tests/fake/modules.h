// Modules, functions and links of the driver that runs nothing: code is taken as it is. A library
// that is linked with machine_run (tests/sass) runs it.
#ifndef KILN_TESTS_FAKE_MODULES_H
#define KILN_TESTS_FAKE_MODULES_H

#include "machine.h"

// What the options of a load or a link say; 3 where they do not.
static int level_of(unsigned count, const int *options, void *const *values)
{
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_OPTIMISATION)
            return (int)(uintptr_t)values[i];
    return 3;
}
static _Thread_local int linked_level = 3; // of the last link, whose result is loaded next

static void note_level(unsigned count, const int *options, void *const *values)
{
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_OPTIMISATION)
            note("level", "given", (unsigned)(uintptr_t)values[i], 0);
}
static void write_logs(unsigned count, const int *options, void *const *values, const char *error)
{
    for (unsigned i = 0; i < count; i++)
        if (options[i] == CU_JIT_ERROR_LOG && error)
            strcpy(values[i], error);
}
static cu_result fake_module_load(cu_module *m, const void *image, unsigned count, int *options,
                                  void **values)
{
    ALIVE();
    UNSAFE();
    note("load", setting("jit") ? "refused" : "taken", 0, 0);
    note_level(count, options, values);
    if (setting("jit")) {
        write_logs(
            count, options, values,
            "ptxas application ptx input, line 7; error   : the fake compiler takes nothing");
        return CU_INVALID_PTX;
    }
    const char *text = image;
    if (!strstr(text, ".version"))
        return CU_INVALID_IMAGE;
    *m = calloc(1, sizeof **m);
    (*m)->text = strdup(text);
    (*m)->level = count ? level_of(count, options, values) : linked_level;
    return CU_OK;
}
static cu_result fake_module_unload(cu_module m)
{
    if (machine_forget)
        machine_forget(m);
    free(m->text);
    free(m);
    return CU_OK;
}
static struct cu_function_s functions[4096];
static _Atomic int function_count;
static cu_result fake_module_global(cu_ptr *at, size_t *bytes, cu_module m, const char *name)
{
    static _Alignas(16) char variable[256];
    char declared[160];
    snprintf(declared, sizeof declared, " %s[", name);
    const char *size = strstr(m->text, declared);
    if (size && machine_variable) {
        *at = (cu_ptr)(uintptr_t)machine_variable(m, name, bytes);
        return *at ? CU_OK : CU_INVALID_PTX;
    }
    *at = (cu_ptr)(uintptr_t)variable;
    *bytes = size ? (size_t)atoi(size + strlen(declared)) : 0;
    note(size ? "global" : "no global", name, 0, 0);
    return size ? CU_OK : CU_NOT_FOUND;
}

static cu_result fake_module_function(cu_function *f, cu_module m, const char *name)
{
    char entry[160], spaced[160];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    snprintf(spaced, sizeof spaced, ".entry %s (", name);
    if (!strstr(m->text, entry) && !strstr(m->text, spaced))
        return CU_NOT_FOUND;
    *f = &functions[(unsigned)function_count++ % 4096];
    snprintf((*f)->name, sizeof(*f)->name, "%s", name);
    (*f)->module = m;
    (*f)->dynamic = 48 << 10;
    (*f)->waits = strstr(m->text, "griddepcontrol.wait") != NULL;
    return CU_OK;
}
static cu_result fake_function_attribute(int *value, int attribute, cu_function f)
{
    (void)f;
    *value = attribute == CU_FN_MAX_THREADS ? 1024 : attribute == CU_FN_REGISTERS ? 24 : 0;
    return CU_OK;
}
static _Atomic size_t stack_limit = 1024;

static cu_result fake_set_limit(int limit, size_t value)
{
    if (limit != CU_LIMIT_STACK || value > 512 << 10) // more than the driver gives a thread
        return CU_INVALID_VALUE;
    stack_limit = value;
    return CU_OK;
}

static cu_result fake_get_limit(size_t *value, int limit)
{
    *value = stack_limit;
    return limit == CU_LIMIT_STACK ? CU_OK : CU_INVALID_VALUE;
}

static cu_result fake_function_set(cu_function f, int attribute, int value)
{
    if (attribute == CU_FN_MAX_DYNAMIC_SHARED)
        f->dynamic = value;
    return value > 232448 ? CU_INVALID_VALUE : CU_OK;
}
static cu_result fake_link_create(unsigned count, int *options, void **values, cu_link *link)
{
    ALIVE();
    *link = calloc(1, sizeof **link);
    linked_level = level_of(count, options, values);
    note_level(count, options, values);
    if (setting("jit"))
        write_logs(
            count, options, values,
            "ptxas application ptx input, line 7; error   : the fake compiler takes nothing");
    return CU_OK;
}
static cu_result fake_link_add(cu_link l, int kind, void *data, size_t size, const char *name,
                               unsigned count, int *options, void **values)
{
    (void)kind, (void)name, (void)count, (void)options, (void)values;
    note("compile", "ptx", (unsigned)size, 0);
    if (setting("jit") || setting("nolink"))
        return CU_INVALID_PTX;
    l->text = malloc(size);
    memcpy(l->text, data, size);
    l->len = size;
    return CU_OK;
}
static cu_result fake_link_complete(cu_link l, void **cubin, size_t *size)
{
    *cubin = l->text;
    *size = l->len;
    return CU_OK;
}
static cu_result fake_link_destroy(cu_link l)
{
    free(l->text);
    free(l);
    return CU_OK;
}

#endif
