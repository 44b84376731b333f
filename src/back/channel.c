// Numbers and lists the sites that write to the channel. The emitters use the numbers, the runtime
// the list.
#include "back/channel.h"

#include <stdio.h>

bool channel_is_site(uint16_t op)
{
    return op == IR_PRINT || op == IR_HOST || op == IR_ASSERT || op == IR_BOUNDS || op == IR_TRAP;
}

// Functions that call each other in a circle all have a site, the test of its limit.
static bool is_used(const ir_func *f, uint32_t fuel)
{
    for (uint32_t k = 1; k < f->insts.len; k++)
        if (channel_is_site(f->insts.at[k].op))
            return true;
    for (uint32_t k = 1; fuel && k < f->insts.len; k++)
        if (f->insts.at[k].op == IR_CALL &&
            is_used(f->module->funcs.at[f->insts.at[k].aux], fuel - 1))
            return true;
    return false;
}

bool channel_is_used(const ir_func *f)
{
    return is_used(f, f->module->funcs.len);
}

uint32_t *channel_number_sites(const ir_func *f, arena *a)
{
    uint32_t *sites = arena_array(a, uint32_t, f->insts.len + 1), number = 0;
    for (uint32_t n = 0; n < f->module->funcs.len; n++) {
        const ir_func *before = f->module->funcs.at[n];
        for (uint32_t k = 1; k < before->insts.len; k++)
            if (channel_is_site(before->insts.at[k].op)) {
                number++;
                if (before == f)
                    sites[k] = number;
            }
        if (before == f)
            break;
    }
    return sites;
}

void channel_list_sites(const ir_module *m, arena *a, channel_sites *out)
{
    for (uint32_t n = 0; n < m->funcs.len; n++) {
        const ir_func *f = m->funcs.at[n];
        const uint32_t *sites = channel_number_sites(f, a);
        for (uint32_t k = 1; k < f->insts.len; k++) {
            const ir_inst *i = &f->insts.at[k];
            if (!sites[k])
                continue;
            must(sites[k] == out->len + 1);
            channel_site s = {.op = i->op, .kernel = f->name, .file = ""};
            if (i->op != IR_TRAP)
                s.text = m->strings.at[i->aux];
            if (i->op == IR_BOUNDS)
                s.elem = (uint32_t)i->imm;
            if (m->sources && i->at.lo) {
                uint32_t use_line;
                source_shown_place place = source_shown(m->sources, i->at, &use_line);
                s.file = place.path;
                s.line = place.line;
                s.column = place.column;
            }
            if (i->op == IR_PRINT) {
                must(i->operand_count <= COUNT(s.arguments));
                s.argument_count = i->operand_count;
                for (uint32_t o = 0; o < i->operand_count; o++)
                    s.arguments[o] = (uint8_t)ir_type_of(f, ir_operand(f, i, o));
            }
            vec_push(a, out, s);
        }
    }
}

static bool starts_with(str what, const char *start)
{
    size_t len = strlen(start);
    return what.len >= len && !memcmp(what.at, start, len);
}

diag_code channel_assert_code(str what)
{
    return starts_with(what, IR_TEXT_RECURSION) ? K6080
           : starts_with(what, IR_TEXT_POINTER) ? K6081
                                                : K6024;
}

const char *channel_assert_prefix(str what)
{
    return channel_assert_code(what) == K6024 ? "assertion failed: " : "";
}

void channel_bounds_text(char *out, size_t size, str what, uint64_t elem, uint64_t offset,
                         uint64_t length)
{
    size_t verb = 0;
    while (verb < what.len && what.at[verb] != ' ')
        verb++;
    str name = verb < what.len ? (str){what.at + verb + 1, what.len - verb - 1} : STR("an array");
    int64_t width = elem ? (int64_t)elem : 1, at = (int64_t)offset, count = (int64_t)length / width;
    int64_t index = at >= 0 ? at / width : -((-at + width - 1) / width);
    // A wide access may begin inside: name the first element that is not there.
    if (at >= 0 && index < count)
        index = count;
    snprintf(out, size, "%.*s element %lld of '%.*s', which has %lld element%s", (int)verb, what.at,
             (long long)index, (int)name.len, name.at, (long long)count, count == 1 ? "" : "s");
}
