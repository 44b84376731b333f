// PTX that the user wrote, as a module. A small reader finds ".entry NAME ( .param … )" and the
// directives before the body. Sizes are all it needs to know. A text that is no PTX has no entries:
// the driver says what is wrong with it. Start at cuda_read_code.
#include "dev/cuda/cuda.h"

#include <stdlib.h>

#include "base/file.h"

typedef struct ptx_entry {
    const char *name;
    rt_param *params;
    size_t param_count;
    uint32_t block[3]; // of .reqntid, or zeros
    uint32_t line;
} ptx_entry;
typedef vec(ptx_entry) ptx_entries;

typedef struct reader {
    const char *at, *end;
    uint32_t line;
} reader;

typedef struct word {
    const char *at;
    size_t len;
} word;

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

// The next name, number, directive or single sign; len 0 at the end.
static word next(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '\n')
            r->line++;
        if (*r->at == '/' && r->at + 1 < r->end && r->at[1] == '/') {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (*r->at == '/' && r->at + 1 < r->end && r->at[1] == '*') {
            for (r->at += 2; r->at + 1 < r->end && !(r->at[0] == '*' && r->at[1] == '/'); r->at++)
                r->line += *r->at == '\n';
            r->at = r->at + 1 < r->end ? r->at + 2 : r->end;
        } else if ((unsigned char)*r->at <= ' ') {
            r->at++;
        } else {
            break;
        }
    }
    word w = {r->at, 0};
    if (r->at >= r->end)
        return (word){r->end, 0};
    do
        r->at++;
    while (is_name_char(*w.at) && r->at < r->end && is_name_char(*r->at) &&
           (*r->at != '.' || *w.at == '.'));
    w.len = (size_t)(r->at - w.at);
    return w;
}

static bool is(word w, const char *text_of)
{
    return w.len == strlen(text_of) && !memcmp(w.at, text_of, w.len);
}

static uint32_t number(word w)
{
    char digits[16] = "";
    memcpy(digits, w.at, w.len < sizeof digits - 1 ? w.len : sizeof digits - 1);
    unsigned long v = strtoul(digits, NULL, 0);
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

// ".u64" and the like: its bytes, 0 when it is no type. ".u64.ptr" is one word for the reader.
static size_t type_size(word w)
{
    static const struct {
        const char *name;
        size_t size;
    } types[] = {{".u64", 8}, {".s64", 8}, {".b64", 8}, {".f64", 8}, {".u32", 4},
                 {".s32", 4}, {".b32", 4}, {".f32", 4}, {".u16", 2}, {".s16", 2},
                 {".b16", 2}, {".f16", 2}, {".u8", 1},  {".s8", 1},  {".b8", 1}};
    for (size_t n = 0; n < COUNT(types); n++)
        if (is(w, types[n].name))
            return types[n].size;
    return 0;
}

// After ".param": [.align N] TYPE [.ptr …] NAME [\[N\]]; stops at ',' or ')'.
static rt_param read_param(arena *a, reader *r, word *stop)
{
    rt_param p = {.is_raw = true};
    word name = {"", 0}, w = next(r);
    size_t count = 1;
    bool is_align = false, is_array = false;
    for (; w.len && !is(w, ",") && !is(w, ")"); w = next(r)) {
        if (is_align)
            is_align = false;
        else if (w.len >= 6 && !memcmp(w.at + w.len - 6, ".align", 6))
            is_align = true;
        else if (type_size(w))
            p.info.size = type_size(w);
        else if (is(w, "[")) {
            count = number(next(r));
            is_array = true;
            next(r);
        } else if (*w.at != '.')
            name = w;
    }
    *stop = w;
    p.info.size *= count;
    p.info.kind = is_array ? KILN_PARAM_STRUCT : KILN_PARAM_SCALAR;
    p.info.type = KILN_VOID;
    p.info.name = str_dup(a, (str){name.at, name.len});
    p.info.c_type = "PTX";
    return p;
}

static void read_entry(arena *a, reader *r, ptx_entries *out)
{
    word w = next(r);
    ptx_entry e = {.name = str_dup(a, (str){w.at, w.len}), .line = r->line};
    vec(rt_param) params = {0};
    w = next(r);
    if (is(w, "(")) {
        for (w = next(r); is(w, ".param");) {
            vec_push(a, &params, read_param(a, r, &w));
            if (is(w, ","))
                w = next(r);
        }
        w = next(r);
    }
    for (; w.len && !is(w, "{") && !is(w, ";"); w = next(r))
        if (is(w, ".reqntid"))
            for (int axis = 0; axis < 3; axis++) {
                e.block[axis] = number(next(r));
                reader before = *r;
                if (!is(next(r), ",")) {
                    *r = before;
                    break;
                }
            }
    for (int axis = 1; axis < 3 && e.block[0]; axis++)
        e.block[axis] = e.block[axis] ? e.block[axis] : 1;
    e.params = params.at;
    e.param_count = params.len;
    vec_push(a, out, e);
}

static void find_entries(arena *a, str code, ptx_entries *out)
{
    reader r = {code.at, code.at + code.len, 1};
    for (word w = next(&r); w.len; w = next(&r))
        if (is(w, ".entry"))
            read_entry(a, &r, out);
}

kiln_status cuda_read_code(kiln_module *m, const kiln_compile_desc *desc)
{
    const char *reason = "";
    str code = {desc->source, desc->source && desc->source_len ? desc->source_len
                              : desc->source                   ? strlen(desc->source)
                                                               : 0};
    if (!desc->source && !file_read(m->a, desc->path, 64 << 20, &code, &reason))
        return error_set(m->k, KILN_E_IO, K6005, "cannot read '%s': %s", desc->path, reason);
    m->code = str_dup(m->a, code);
    m->code_len = code.len;
    ptx_entries entries = {0};
    find_entries(m->a, code, &entries);
    m->kernels = arena_array(m->a, kiln_kernel *, entries.len + 1);
    for (uint32_t n = 0; n < entries.len; n++) {
        kiln_kernel *kernel = handle_new(HANDLE_KERNEL);
        if (!kernel)
            bug_out_of_memory();
        m->kernels[m->kernel_count++] = kernel;
        kernel->module = m;
        kernel->name = entries.at[n].name;
        kernel->params = entries.at[n].params;
        kernel->param_count = entries.at[n].param_count;
        kernel->file = str_format(m->a, "%s", desc->path ? desc->path : "");
        kernel->line = entries.at[n].line;
        memcpy(kernel->block, entries.at[n].block, sizeof kernel->block);
    }
    return KILN_OK;
}
