// Reads the text of a host function (host.h). Start at host_read.
#include "ir/host.h"

typedef struct text_reader {
    const char *at, *end;
    bool is_bad;
} text_reader;

static bool take(text_reader *r, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len))
        return false;
    r->at += len;
    return true;
}

static void need(text_reader *r, const char *word)
{
    r->is_bad |= !take(r, word);
}

static uint32_t number(text_reader *r)
{
    uint32_t value = 0, digits = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && digits < 9; digits++)
        value = value * 10 + (uint32_t)(*r->at++ - '0');
    r->is_bad |= !digits;
    return value;
}

static str word(text_reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && *r->at != ' ' && *r->at != '@')
        r->at++;
    r->is_bad |= r->at == from;
    return (str){from, (size_t)(r->at - from)};
}

static void sizes(text_reader *r, uint32_t *size, uint32_t *align)
{
    *size = number(r);
    need(r, ".");
    *align = number(r);
    r->is_bad |= !*size || *size > INT16_MAX || !*align || *align > 16 || (*align & (*align - 1));
}

static void scalars(text_reader *r, uint8_t param, uint32_t size, host_scalar *list,
                    uint32_t *count)
{
    need(r, "[");
    while (!r->is_bad && !take(r, "]")) {
        ir_type type = ir_type_find(word(r));
        need(r, "@");
        uint32_t offset = number(r), bytes = ir_type_size(type);
        r->is_bad |= !bytes || type == IR_I1 || ir_is_ptr(type) || *count >= HOST_SCALARS ||
                     offset > size || bytes > size - offset;
        if (!r->is_bad)
            list[(*count)++] = (host_scalar){(uint8_t)type, param, (uint16_t)offset};
        if (r->at < r->end && *r->at == ' ')
            r->at++;
    }
}

static void counted(text_reader *r, uint8_t param, host_shape *out)
{
    r->is_bad |= out->in_count + 2 > HOST_SCALARS;
    if (r->is_bad)
        return;
    out->in[out->in_count++] = (host_scalar){IR_PTR_GEN, param, 0};
    out->in[out->in_count++] = (host_scalar){IR_I64, param, 0};
    host_param *p = &out->params[param];
    p->is_count_signed = take(r, "#");
    bool is_said = p->is_count_signed || take(r, "+");
    uint32_t by = is_said ? number(r) : HOST_RESULT;
    r->is_bad |= is_said && by >= HOST_PARAMS;
    p->count = (uint8_t)by;
}

// What counts is one integer.
static bool are_counts_right(const host_shape *s)
{
    for (uint32_t p = 0; p < s->param_count; p++) {
        uint32_t by = s->params[p].count;
        if (!host_is_counted(s->params[p].kind) || by == HOST_RESULT)
            continue;
        if (by >= s->param_count || s->params[by].kind != 'v' || s->params[by].size > 8 ||
            s->params[by].first >= s->in_count || s->in[s->params[by].first].param != by ||
            ir_type_size((ir_type)s->in[s->params[by].first].type) != s->params[by].size)
            return false;
    }
    return true;
}

static void read_param(text_reader *r, host_shape *out)
{
    uint32_t n = out->param_count;
    r->is_bad |= n >= HOST_PARAMS || r->at == r->end || !strchr("viocm", *r->at);
    if (r->is_bad)
        return;
    host_param *p = &out->params[n];
    p->kind = *r->at++;
    p->first = out->in_count;
    sizes(r, &p->size, &p->align);
    out->param_count++;
    if (host_is_counted(p->kind)) {
        counted(r, (uint8_t)n, out);
        return;
    }
    r->is_bad |= p->size > HOST_BYTES;
    scalars(r, (uint8_t)n, p->size, out->in, &out->in_count);
}

static void add_written(host_shape *out, text_reader *r)
{
    for (uint32_t k = 0; k < out->in_count && !r->is_bad; k++) {
        if (out->params[out->in[k].param].kind != 'o')
            continue;
        r->is_bad |= out->out_count >= HOST_SCALARS;
        if (!r->is_bad)
            out->out[out->out_count++] = out->in[k];
    }
}

static uint32_t fours_of(const host_shape *s, const host_scalar *scalars, uint32_t count)
{
    uint32_t fours = 0;
    for (uint32_t n = 0; n + 4 <= count; n++) {
        uint32_t param = scalars[n].param,
                 size = param == HOST_RESULT ? s->result_size : s->params[param].size;
        bool are = size % 16 == 0 && scalars[n].offset % 16 == 0;
        for (uint32_t k = 0; are && k < 4; k++)
            are = ir_type_size((ir_type)scalars[n + k].type) == 4 &&
                  scalars[n + k].param == param &&
                  scalars[n + k].offset == scalars[n].offset + 4 * k;
        fours |= are ? UINT32_C(1) << n : 0;
    }
    return fours;
}

bool host_read(str spelled, host_shape *out)
{
    text_reader r = {spelled.at, spelled.at + spelled.len, false};
    *out = (host_shape){0};
    out->name = word(&r);
    out->is_warp = take(&r, " warp");
    r.is_bad |= !out->is_warp && !take(&r, " lane");
    out->is_posted = take(&r, " post");
    r.is_bad |= !out->is_posted && !take(&r, " wait");
    need(&r, " (");
    while (!r.is_bad && !take(&r, ") ")) {
        read_param(&r, out);
        if (r.at < r.end && *r.at == ' ')
            r.at++;
    }
    if (!r.is_bad && !take(&r, "-")) {
        need(&r, "v");
        sizes(&r, &out->result_size, &out->result_align);
        r.is_bad |= out->result_size > HOST_BYTES;
        scalars(&r, HOST_RESULT, out->result_size, out->out, &out->out_count);
    }
    need(&r, " : ");
    out->signature = (str){r.at, (size_t)(r.end - r.at)};
    add_written(out, &r);
    if (r.is_bad || !out->signature.len || !are_counts_right(out))
        return false;
    out->in_fours = fours_of(out, out->in, out->in_count);
    out->out_fours = fours_of(out, out->out, out->out_count);
    return true;
}

host_rows host_rows_of(const host_shape *s)
{
    host_rows r = {.has_who = !str_starts(s->name, "kiln_io_")};
    for (uint32_t k = 0; k < s->in_count; k++) {
        const host_param *p = &s->params[s->in[k].param];
        if (!host_is_counted(p->kind))
            r.out += host_words(s->in[k].type);
        else if (k == p->first)
            r.counted++, r.out++;
    }
    for (uint32_t k = 0; k < s->out_count; k++)
        r.in += host_words(s->out[k].type);
    uint32_t place = r.counted ? 2 : 0;
    r.out += place;
    r.in = s->is_posted ? 0 : r.in + 1 + place;
    return r;
}

void host_of_inst(const ir_func *f, const ir_inst *i, host_shape *out)
{
    must(i->op == IR_HOST && i->aux < f->module->strings.len);
    bool is_read = host_read(f->module->strings.at[i->aux], out);
    must(is_read);
}
