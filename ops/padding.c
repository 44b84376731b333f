// Launches of the kernels of ops/pad (padding.h). Start reading at op_pad_run.
#include "ops/padding.h"

#include <math.h>
#include <stdlib.h>

#include "ops/checks.h"
#include "ops/moved.h"
#include "ops/walk.h"
#include "rt/memory/view.h"

#define AXES "ops/pad/axes.def"
#include "ops/axes.h"
static const op_program forward = OP_PROGRAM("ops/pad/forward.c", "pad"),
                        flat = OP_PROGRAM("ops/pad/flat.c", "pad_flat"),
                        backward = OP_PROGRAM("ops/pad/backward.c", "pad_backward");

enum { PER = 4, MANY = 1 << 18 };

typedef struct line { // an axis: `walked` is the tensor that is written, `other` the one that is
                      // read
    uint64_t in, out;
    int64_t before, walked, other;
} line;

typedef struct pad_axis { // `struct pad_axis` of the kernels
    int64_t before;
    uint64_t in, out;
    uint32_t magic, shift;
    int64_t stride;
} pad_axis;

static bool is_outside(const line *a, const line *b)
{
    return llabs(a->walked) > llabs(b->walked);
}

static bool is_plain(const line *a)
{
    return a->in == a->out && !a->before;
}

// The axes with something to do, largest strides of the written tensor first; neighbours that are
// one axis in both tensors are merged.
static uint32_t lines_of(const op_pad *p, line lines[KILN_MAX_RANK])
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < p->in.rank; d++) {
        int64_t in = kiln_view_stride(p->in, d), out = kiln_view_stride(p->out, d);
        line a = {p->in.sizes[d], p->out.sizes[d], p->before[d], p->is_backward ? in : out,
                  p->is_backward ? out : in};
        if (p->mode == KILN_PAD_CIRCULAR && a.in)
            a.before = (a.before % (int64_t)a.in + (int64_t)a.in) % (int64_t)a.in;
        if (a.in == 1 && is_plain(&a))
            continue;
        uint32_t at = count++;
        for (; at > 0 && is_outside(&a, &lines[at - 1]); at--)
            lines[at] = lines[at - 1];
        lines[at] = a;
    }
    for (uint32_t d = count ? count - 1 : 0; d-- > 0;) {
        line *a = &lines[d], *b = &lines[d + 1];
        if (!is_plain(a) || !is_plain(b) || a->walked != b->walked * (int64_t)b->in ||
            a->other != b->other * (int64_t)b->in)
            continue;
        b->in = b->out = a->in * b->in;
        memmove(a, b, (--count - d) * sizeof *a);
    }
    if (!count)
        lines[count++] = (line){1, 1, 0, 1, 1};
    return count;
}

// Where the rows of a tensor begin, in elements, put together: what divides that divides all.
static uint64_t first_bits(const line *lines, uint32_t count, const kiln_view *v)
{
    uint64_t bits = v->buffer->address / kiln_type_size(v->type) + v->first;
    for (uint32_t d = 0; d + 1 < count; d++)
        bits |= (uint64_t)lines[d].other;
    return bits;
}

// The widest packs along the last axis that the tensor which is read allows.
static uint32_t widest(const line *lines, uint32_t count, const kiln_view *read)
{
    uint32_t width = 16 / (uint32_t)kiln_type_size(read->type);
    if (!is_plain(&lines[count - 1]) || lines[count - 1].other != 1)
        return 1;
    while (first_bits(lines, count, read) % width)
        width /= 2;
    return width;
}

// Outputs side by side that an input of the last axis has where packs of `width` outputs come from
// packs; 1: they do not. On the cpu device elements are vectors of a warp.
static uint32_t repeat_of(const kiln *k, const op_pad *p, const line *lines, uint32_t count,
                          const kiln_view *read, uint32_t width)
{
    const line *last = &lines[count - 1];
    uint32_t repeat = last->in && last->out % last->in == 0 ? (uint32_t)(last->out / last->in) : 0;
    if (p->mode != PAD_NEAREST || (repeat != 2 && repeat != 4) || width % repeat ||
        last->other != 1 || op_is_in_turn(k))
        return 1;
    return first_bits(lines, count, read) % (width / repeat) ? 1 : repeat;
}

// `value` as bits of an element; false: the type has no such number.
static bool element_of(kiln_type type, double value, uint64_t *bits)
{
    bool is_float = type >= KILN_F16 && type <= KILN_F64;
    bool is_signed = type == KILN_I8 || type == KILN_I16 || type == KILN_I32 || type == KILN_I64;
    double most = ldexp(1, 8 * (int)kiln_type_size(type) - is_signed);
    if (is_float)
        *bits = kiln_arg_f64(type, value).bits;
    else if (!(value >= (is_signed ? -most : 0) && value < most) || value != floor(value))
        return false;
    else if (type == KILN_BOOL)
        *bits = value != 0;
    else
        *bits = kiln_arg_i64(type, value < 0 ? (int64_t)value : (int64_t)(uint64_t)value).bits;
    return true;
}

// The packs of an output that is dense and whose rows are no whole packs; 1: there are none.
static uint32_t flat_width(const kiln *k, const line *lines, uint32_t count, const kiln_view *out)
{
    uint32_t width = 16 / (uint32_t)kiln_type_size(out->type);
    uint64_t dense = 1, reach = 0;
    for (uint32_t d = count; d-- > 0; dense *= lines[d].out) {
        uint64_t step = (uint64_t)llabs(lines[d].other);
        if (lines[d].walked != (int64_t)dense || (lines[d].in && step > INT32_MAX / lines[d].in))
            return 1;
        reach += step * lines[d].in;
    }
    bool has_packs = lines[count - 1].out >= width && view_is_aligned(out, 16);
    return has_packs && reach <= INT32_MAX && !op_is_in_turn(k) ? width : 1;
}

kiln_status op_pad_run(kiln *k, const char *call, const op_pad *p)
{
    line lines[KILN_MAX_RANK];
    kiln_type type = kiln_view_type(p->in);
    kiln_view in = op_moved_view(p->in), out = op_moved_view(p->out);
    const kiln_view *walked = p->is_backward ? &in : &out, *read = p->is_backward ? &out : &in;
    if (!kiln_view_count(*walked))
        return KILN_OK;
    uint64_t bits = 0;
    if (!element_of(type, p->value, &bits))
        return op_refuse(k, call, "value %g is no number of type %s", p->value,
                         kiln_type_name(type));
    uint32_t count = lines_of(p, lines);
    op_nest nest = {.rank = count, .view_count = 1, .is_of_rows = true};
    nest.widest = p->is_backward ? 1 : widest(lines, count, read);
    for (uint32_t d = 0; d < count; d++) {
        nest.sizes[d] = p->is_backward ? lines[d].in : lines[d].out;
        nest.strides[0][d] = lines[d].walked;
    }
    op_packs packs, wide;
    op_nest_pack(&nest, walked, &packs);
    nest.widest = p->is_backward ? 1 : 16 / (uint32_t)kiln_type_size(type);
    op_nest_pack(&nest, walked, &wide);
    bool is_single = wide.width > packs.width; // what is read is no pack, what is written is one
    packs = is_single ? wide : packs;
    pad_axis a[KILN_MAX_RANK] = {{0}};
    bool is_long = packs.is_long;
    for (uint32_t d = 0; d < count; d++) {
        a[d] = (pad_axis){.before = lines[d].before,
                          .in = lines[d].in,
                          .out = lines[d].out,
                          .stride = lines[d].other /
                                    (d + 1 < count && !is_single ? (int64_t)packs.width : 1)};
        bool is_nearest = p->mode == PAD_NEAREST;
        if (!is_nearest || (a[d].in && a[d].out % a[d].in == 0 && a[d].out > a[d].in))
            op_nest_divide(is_nearest ? a[d].out / a[d].in : a[d].in, &a[d].magic, &a[d].shift);
        is_long |= a[d].in + a[d].out >= (uint64_t)1 << 31 || kiln_view_count(*read) >> 31;
    }
    uint32_t width =
        packs.width > 1 || is_long || p->is_backward ? 1 : flat_width(k, lines, count, &out);
    op_request r = {.program = p->is_backward ? &backward : width > 1 ? &flat : &forward};
    op_set(&r, MODE, p->mode);
    op_set(&r, RANK, count);
    if (width == 1)
        op_set(&r, LONG, is_long);
    if (p->is_backward) {
        op_set(&r, T, 1 + op_type_float_axis(type));
        const kiln_arg args[] = {kiln_arg_view(p->out), kiln_arg_view(p->in), op_walk_arg(&packs),
                                 kiln_arg_struct(a, sizeof a)};
        return op_walk_launch(k, &r, &packs, 1, args, COUNT(args), p->stream);
    }
    kiln_arg value = kiln_arg_i64(out.type, 0);
    value.bits = bits;
    op_set(&r, BYTES, kiln_type_size(type));
    if (width > 1) {
        op_set(&r, V, width);
        const kiln_arg args[] = {kiln_arg_view(in), kiln_arg_view(out), op_walk_arg(&packs),
                                 kiln_arg_struct(a, sizeof a), value};
        return op_walk_launch(k, &r, &packs, width, args, COUNT(args), p->stream);
    }
    op_set(&r, V, packs.width);
    op_set(&r, SINGLES, is_single);
    op_set(&r, REPEAT, is_single ? repeat_of(k, p, lines, count, read, packs.width) : 1);
    op_set(&r, TURNS, true);
    op_turns turns;
    bool may_turn = is_plain(&lines[0]) && packs.argument.packs >= MANY;
    if (may_turn)
        op_walk_turn_even(k, &r, &packs, PER, a[0].stride, packs.argument.strides[0][0], &turns);
    else
        op_walk_turn(&packs, false, 0, 0, &turns);
    bool has_turns = turns.count > packs.argument.sizes[0];
    op_set(&r, TURNS, has_turns);
    const kiln_arg args[] = {kiln_arg_view(in),
                             kiln_arg_view(out),
                             op_walk_arg(&packs),
                             kiln_arg_struct(a, sizeof a),
                             kiln_arg_struct(&turns, sizeof turns),
                             value};
    return op_walk_launch(k, &r, &packs, is_single || has_turns ? 1 : PER, args, COUNT(args),
                          p->stream);
}

kiln_status op_pad_check(kiln *k, const char *call, const op_pad *p, op_operand o[2])
{
    o[0] = (op_operand){p->is_backward ? "dx" : "x", &p->in, .is_result = p->is_backward};
    o[1] = (op_operand){p->is_backward ? "dout" : "out", &p->out, .is_result = !p->is_backward};
    kiln_status status = op_check_operands(k, call, o, 2, NULL);
    if (!status)
        status = op_check_type(k, call, &o[1], kiln_view_type(p->in));
    if (!status && p->in.rank != p->out.rank)
        status = op_refuse(k, call, "'%s' has %u dimensions, '%s' %u", o[0].name, p->in.rank,
                           o[1].name, p->out.rank);
    return status || !p->is_backward ? status : op_check_types(k, call, &o[0], &op_types_floats);
}
