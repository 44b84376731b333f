// Errors of the public calls: the newest on each context, and the newest of each thread for calls
// that have no context (an open that failed, a bad handle). Setting one never fails.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "rt/rt.h"

typedef struct thread_error {
    uint64_t order; // of all errors of the process
    bool has_no_context;
    kiln_error shown;
    char text[4096];
    char code[8];
    char kernel[128], file[256], hint[256];
} thread_error;

static _Thread_local thread_error of_thread;
// Of contexts' errors: functions that kernels call may fail in several threads at once.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    diag_code code;
    const char *hint;
} hints[] = {
    {K6001, "'kiln doctor' lists the devices of this machine"},
    {K6002, "use a handle only between its creation and its free, and with its own kind of call"},
    {K6005, "check the path; it is relative to the working folder of this process"},
    {K6006, "a kernel has the name of its function"},
    {K6009, "correct or unset the variable; docs/switches.md and 'kiln doctor' list the switches"},
    {K6010, "kiln_kernel_param lists what the kernel expects"},
    {K6011, "make the buffer or the argument with the type the kernel expects"},
    {K6012, "pass a number of the parameter's range, or change the parameter's type"},
    {K6013, "the struct must have the same layout in the kernel and in the caller"},
    {K6014, "make the buffer with the same kiln * as the module"},
    {K6015, "a block has 1 to 1024 threads; a grid up to 2147483647 x 65535 x 65535 blocks"},
    {K6016, "static arrays and the launch's dynamic shared memory count together"},
    {K6020, "compare the index with the length before the access, for example: if (i < n)"},
    {K6021, "pass a buffer, or test the pointer before using it"},
    {K6022, "start at an element that is aligned, or use a narrower access"},
    {K6023, "copy the table to shared or local memory to change it"},
    {K6027, "move the barrier to where every thread of the block passes"},
    {K6031, "install the NVIDIA driver, or use the device 'cpu'"},
    {K6032, "use the device 'cpu'"},
    {K6035, "run it on the device 'interp': it names the line, array and index; "
            "KILN_CHECK=launches finds the launch"},
    {K6036, "start the program again: the driver gives up a process whose kernel failed; data on "
            "the GPU is gone"},
    {K6037, "end the capture first"},
    {K6028, "look for a loop that never ends, or raise the limit"},
};

static const char *hint_of(diag_code code)
{
    for (size_t k = 0; k < COUNT(hints); k++)
        if (hints[k].code == code)
            return hints[k].hint;
    return "";
}

static void show(kiln_error *shown, kiln_status status, const char *code, const char *text_of,
                 const char *kernel, const char *file, const char *hint)
{
    *shown = (kiln_error){.status = status,
                          .code = code,
                          .text = text_of,
                          .kernel = kernel,
                          .file = file,
                          .hint = hint};
}

static kiln_status set(kiln *k, kiln_status status, const char *code, const char *message,
                       const char *hint)
{
    static uint64_t newest;
    thread_error *t = &of_thread;
    t->order = __atomic_add_fetch(&newest, 1, __ATOMIC_RELAXED);
    t->has_no_context = !k;
    snprintf(t->text, sizeof t->text, "%s", message);
    snprintf(t->code, sizeof t->code, "%s", code);
    snprintf(t->hint, sizeof t->hint, "%s", hint);
    t->kernel[0] = t->file[0] = 0;
    show(&t->shown, status, t->code, t->text, t->kernel, t->file, t->hint);
    if (!k)
        return status;
    error_state *e = &k->error;
    pthread_mutex_lock(&lock);
    e->order = t->order;
    size_t len = strlen(message);
    char *copy = malloc(len + 1);
    if (copy)
        memcpy(copy, message, len + 1);
    free(e->text);
    e->text = copy;
    memcpy(e->code, t->code, sizeof e->code);
    memcpy(e->hint, t->hint, sizeof e->hint);
    e->kernel[0] = e->file[0] = 0;
    show(&e->shown, status, e->code, copy ? copy : "out of memory", e->kernel, e->file, e->hint);
    pthread_mutex_unlock(&lock);
    return status;
}

kiln_status error_set(kiln *k, kiln_status status, diag_code code, const char *format, ...)
{
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return set(k, status, diag_code_name(code), message, hint_of(code));
}

kiln_status error_set_text(kiln *k, kiln_status status, const char *code, const char *message)
{
    return set(k, status, code, message, hint_of(diag_code_find(code)));
}

kiln_status error_no_memory(kiln *k, const char *what)
{
    return error_set(k, KILN_E_NO_MEMORY, K6004, "no memory for %s", what);
}

kiln_status error_bad_handle(handle_kind kind, const void *handle)
{
    static const char *const names[HANDLE_KIND_COUNT] = {
        "kiln",        "kiln_module", "kiln_kernel", "kiln_buffer",
        "kiln_stream", "kiln_event",  "kiln_graph",  "kiln_gguf"};
    return error_set(NULL, KILN_E_BAD_HANDLE, K6002,
                     handle ? "this is not a live %s: it was freed, or is something else"
                            : "a %s is needed, NULL was given",
                     names[kind]);
}

void error_add_place(kiln *k, const char *kernel, const char *file, uint32_t line, uint32_t column)
{
    thread_error *t = &of_thread;
    error_state *e = &k->error;
    snprintf(t->kernel, sizeof t->kernel, "%s", kernel);
    snprintf(t->file, sizeof t->file, "%s", file);
    pthread_mutex_lock(&lock);
    memcpy(e->kernel, t->kernel, sizeof e->kernel);
    memcpy(e->file, t->file, sizeof e->file);
    t->shown.line = e->shown.line = (int)line;
    t->shown.column = e->shown.column = (int)column;
    pthread_mutex_unlock(&lock);
}

// Behind the context's error, where that is this thread's newest. A bad handle is the thread's
// error alone: what the context has is older then.
static void add_to_context(error_state *e, const thread_error *t, const char *line)
{
    if (!e->text || strncmp(e->text, t->text, sizeof t->text - 1) != 0)
        return;
    size_t len = strlen(e->text), size = len + strlen(line) + 4;
    char *longer = realloc(e->text, size);
    if (!longer)
        return;
    snprintf(longer + len, size - len, "\n  %s", line);
    e->text = longer;
    e->shown.text = longer;
}

void error_add_line(kiln *k, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    thread_error *t = &of_thread;
    pthread_mutex_lock(&lock);
    add_to_context(&k->error, t, line);
    pthread_mutex_unlock(&lock);
    size_t len = strlen(t->text);
    snprintf(t->text + len, sizeof t->text - len, "\n  %s", line);
}

void error_add_kernel(kiln *k, const kiln_kernel *kernel)
{
    const char *file = kernel->file ? kernel->file : "";
    error_add_place(k, kernel->name, file, kernel->line, 0);
    if (*file)
        error_add_line(k, "at %s:%u", file, kernel->line);
}

void error_free(kiln *k)
{
    free(k->error.text);
    k->error.text = NULL;
}

const kiln_error *kiln_last_error(const kiln *k)
{
    static const kiln_error none = {KILN_OK, "", "", "", "", 0, 0, ""};
    if (!k)
        return of_thread.shown.code ? &of_thread.shown : &none;
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return &of_thread.shown;
    }
    // A bad handle does not say whose it was: it is the answer wherever it is the newest error.
    if (of_thread.has_no_context && of_thread.order > k->error.order)
        return &of_thread.shown;
    return k->error.shown.code ? &k->error.shown : &none;
}

const char *kiln_status_name(kiln_status status)
{
    static const char *const names[] = {
        [KILN_OK] = "ok",
        [KILN_E_BAD_ARGUMENT] = "bad argument",
        [KILN_E_BAD_HANDLE] = "bad handle",
        [KILN_E_COMPILE] = "compile error",
        [KILN_E_NOT_FOUND] = "not found",
        [KILN_E_NO_MEMORY] = "out of memory",
        [KILN_E_LAUNCH] = "launch refused",
        [KILN_E_KERNEL] = "kernel failed",
        [KILN_E_IO] = "file error",
        [KILN_E_UNSUPPORTED] = "not supported",
        [KILN_E_DRIVER] = "driver error",
        [KILN_E_CANCELLED] = "cancelled",
        [KILN_E_INTERNAL] = "internal error",
    };
    return (unsigned)status < COUNT(names) ? names[status] : "unknown status";
}

const char *kiln_version(void)
{
    return KILN_VERSION;
}
