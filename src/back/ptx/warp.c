// Geometry, barriers, shuffles, votes, clocks as PTX. Shuffles from a lane that does not exist keep
// the lane's own value: where the block may end in a partial warp, the source lane is compared with
// the lanes there are.
#include "back/ptx/ptx.h"

static const char axes[3] = {'x', 'y', 'z'};

// Linear rank of this thread in its block, in a fresh register.
static const char *thread_rank(ptx *p)
{
    const char *x = ptx_temp(p, RC_R), *y = ptx_temp(p, RC_R), *z = ptx_temp(p, RC_R),
               *dx = ptx_temp(p, RC_R), *dy = ptx_temp(p, RC_R), *yz = ptx_temp(p, RC_R),
               *rank = ptx_temp(p, RC_R);
    ptx_line(p, "mov.u32 %s, %%tid.x", x);
    if (p->f->block[0] && p->f->block[1] == 1 && p->f->block[2] == 1)
        return x;
    ptx_line(p, "mov.u32 %s, %%tid.y", y);
    ptx_line(p, "mov.u32 %s, %%tid.z", z);
    ptx_line(p, "mov.u32 %s, %%ntid.x", dx);
    ptx_line(p, "mov.u32 %s, %%ntid.y", dy);
    ptx_line(p, "mad.lo.u32 %s, %s, %s, %s", yz, z, dy, y);
    ptx_line(p, "mad.lo.u32 %s, %s, %s, %s", rank, yz, dx, x);
    return rank;
}

static bool has_partial_warp(const ptx *p)
{
    uint64_t threads = (uint64_t)p->f->block[0] * p->f->block[1] * p->f->block[2];
    return !threads || threads % 32;
}

// The number of lanes of this warp that exist.
static const char *existing_lanes(ptx *p)
{
    const char *rank = thread_rank(p), *base = ptx_temp(p, RC_R), *total = ptx_temp(p, RC_R),
               *left = ptx_temp(p, RC_R), *lanes = ptx_temp(p, RC_R);
    ptx_line(p, "and.b32 %s, %s, -32", base, rank);
    if (p->f->block[0]) {
        ptx_line(p, "mov.u32 %s, %u", total, p->f->block[0] * p->f->block[1] * p->f->block[2]);
    } else {
        const char *x = ptx_temp(p, RC_R), *y = ptx_temp(p, RC_R), *z = ptx_temp(p, RC_R),
                   *xy = ptx_temp(p, RC_R);
        ptx_line(p, "mov.u32 %s, %%ntid.x", x);
        ptx_line(p, "mov.u32 %s, %%ntid.y", y);
        ptx_line(p, "mov.u32 %s, %%ntid.z", z);
        ptx_line(p, "mul.lo.u32 %s, %s, %s", xy, x, y);
        ptx_line(p, "mul.lo.u32 %s, %s, %s", total, xy, z);
    }
    ptx_line(p, "sub.u32 %s, %s, %s", left, total, base);
    ptx_line(p, "min.u32 %s, %s, 32", lanes, left);
    return lanes;
}

// The third operand of shfl: segment mask in bits 8…12, clamp in bits 0…4.
static uint32_t clamp_of(unsigned kind, uint32_t width)
{
    uint32_t segment = (32 - width) << 8;
    return segment | (kind == IR_SH_UP ? 0 : 31);
}

static void shuffle_word(ptx *p, const ir_inst *i, const char *d, const char *value,
                         const char *lane, uint32_t width, const char *in_range)
{
    static const char *const modes[] = {"idx", "up", "down", "bfly"};
    const char *raw = in_range ? ptx_temp(p, RC_R) : d;
    ptx_line(p, "shfl.sync.%s.b32 %s, %s, %s, %u, %s", modes[i->aux], raw, value, lane,
             clamp_of(i->aux, width), p->lanes);
    if (in_range)
        ptx_line(p, "selp.b32 %s, %s, %s, %s", d, raw, value, in_range);
}

// A predicate that holds when the distance stays within the segment: shfl looks at its low five
// bits only, and lets an upper segment read a lower one. NULL: a constant that does.
static const char *is_near(ptx *p, const ir_inst *i, const char *lane, uint32_t width)
{
    uint64_t distance;
    if (i->aux == IR_SH_IDX ||
        (ir_const_bits(p->f, ir_operand(p->f, i, 1), &distance) && distance < width))
        return NULL;
    const char *near = ptx_temp(p, RC_PRED);
    ptx_line(p, "setp.lt.u32 %s, %s, %u", near, lane, width);
    return near;
}

// A predicate that holds when the source lane exists (NULL: it always does, or shfl itself keeps
// the own value).
static const char *source_exists(ptx *p, const ir_inst *i, const char *lane, uint32_t width)
{
    const char *near = is_near(p, i, lane, width);
    if (!has_partial_warp(p) || i->aux == IR_SH_UP)
        return near;
    const char *me = ptx_temp(p, RC_R), *source = ptx_temp(p, RC_R), *ok = ptx_temp(p, RC_PRED);
    ptx_line(p, "mov.u32 %s, %%laneid", me);
    if (i->aux == IR_SH_IDX) {
        const char *segment = ptx_temp(p, RC_R), *inside = ptx_temp(p, RC_R);
        ptx_line(p, "and.b32 %s, %s, %u", segment, me, ~(width - 1) & 31);
        ptx_line(p, "and.b32 %s, %s, %u", inside, lane, width - 1);
        ptx_line(p, "or.b32 %s, %s, %s", source, segment, inside);
    } else if (i->aux == IR_SH_DOWN) {
        const char *small = ptx_temp(p, RC_R);
        ptx_line(p, "min.u32 %s, %s, 32", small, lane);
        ptx_line(p, "add.u32 %s, %s, %s", source, me, small);
    } else {
        ptx_line(p, "xor.b32 %s, %s, %s", source, me, lane);
    }
    ptx_line(p, "setp.lt.u32 %s, %s, %s", ok, source, existing_lanes(p));
    if (!near)
        return ok;
    const char *both = ptx_temp(p, RC_PRED);
    ptx_line(p, "and.pred %s, %s, %s", both, ok, near);
    return both;
}

static void shuffle(ptx *p, const ir_inst *i)
{
    uint64_t width = 32;
    ir_const_bits(p->f, ir_operand(p->f, i, 2), &width);
    ir_type t = (ir_type)i->type;
    const char *value = ptx_reg(p, ir_operand(p->f, i, 0)),
               *lane = ptx_op(p, ir_operand(p->f, i, 1)), *d = ptx_def(p, i->result),
               *ok = source_exists(p, i, lane, (uint32_t)width);
    if (t == IR_I32) {
        shuffle_word(p, i, d, value, lane, (uint32_t)width, ok);
    } else if (t == IR_F32) {
        const char *in = ptx_temp(p, RC_R), *out = ptx_temp(p, RC_R);
        ptx_line(p, "mov.b32 %s, %s", in, value);
        shuffle_word(p, i, out, in, lane, (uint32_t)width, ok);
        ptx_line(p, "mov.b32 %s, %s", d, out);
    } else if (t == IR_I64 || t == IR_F64) {
        const char *lo = ptx_temp(p, RC_R), *hi = ptx_temp(p, RC_R), *lo2 = ptx_temp(p, RC_R),
                   *hi2 = ptx_temp(p, RC_R);
        ptx_line(p, "mov.b64 {%s, %s}, %s", lo, hi, value);
        shuffle_word(p, i, lo2, lo, lane, (uint32_t)width, ok);
        shuffle_word(p, i, hi2, hi, lane, (uint32_t)width, ok);
        ptx_line(p, "mov.b64 %s, {%s, %s}", d, lo2, hi2);
    } else {
        bug("ptx: shuffle of %s", ir_type_name(t));
    }
}

// Matrix operands must be provably equal in all lanes, and so must the branches around them, else
// their addresses are computed lane by lane: ptxas believes a reduction; a shift it does not, and a
// broadcast not in branches.
static void warp_index(ptx *p, const ir_inst *i, const char *d)
{
    const char *rank = thread_rank(p);
    bool is_together = p->uniform.flow[i - p->f->insts.at] >= UNIFORM_WARP;
    if (!p->coalesced || !is_together) {
        ptx_line(p, "shr.u32 %s, %s, 5", d, rank);
        return;
    }
    const char *own = ptx_temp(p, RC_R);
    ptx_line(p, "shr.u32 %s, %s, 5", own, rank);
    ptx_line(p, "redux.sync.or.b32 %s, %s, %s", d, own, p->lanes);
}

void ptx_geometry(ptx *p, const ir_inst *i)
{
    const char *d = ptx_def(p, i->result);
    switch ((ir_geometry_op)i->op) {
    case IR_THREAD: ptx_line(p, "mov.u32 %s, %%tid.%c", d, axes[i->imm]); break;
    case IR_BLOCK: ptx_line(p, "mov.u32 %s, %%ctaid.%c", d, axes[i->imm]); break;
    case IR_BLOCKDIM: ptx_line(p, "mov.u32 %s, %%ntid.%c", d, axes[i->imm]); break;
    case IR_GRIDDIM: ptx_line(p, "mov.u32 %s, %%nctaid.%c", d, axes[i->imm]); break;
    case IR_LANE: ptx_line(p, "mov.u32 %s, %%laneid", d); break;
    case IR_WARP: warp_index(p, i, d); break;
    case IR_DYNSHARED: ptx_line(p, "mov.u32 %s, %%dynamic_smem_size", d); break;
    }
}

void ptx_group(ptx *p, const ir_inst *i)
{
    switch ((ir_group_op)i->op) {
    case IR_BARRIER: ptx_line(p, "bar.sync 0"); break;
    case IR_WARPSYNC: ptx_line(p, "bar.warp.sync %s", p->lanes); break;
    case IR_SHUFFLE: shuffle(p, i); break;
    case IR_BALLOT:
        ptx_line(p, "vote.sync.ballot.b32 %s, %s, %s", ptx_def(p, i->result),
                 ptx_reg(p, ir_operand(p->f, i, 0)), p->lanes);
        break;
    case IR_ACTIVE: ptx_line(p, "activemask.b32 %s", ptx_def(p, i->result)); break;
    case IR_MATCH:
        ptx_line(p, "match.any.sync.b%s %s, %s, %s", i->type == IR_I64 ? "64" : "32",
                 ptx_def(p, i->result), ptx_reg(p, ir_operand(p->f, i, 0)), p->lanes);
        break;
    case IR_UNIFORM: ptx_parallel_move(p, i->result, ir_operands(p->f, i), 1); break;
    }
}

void ptx_world(ptx *p, const ir_inst *i)
{
    switch ((ir_world_op)i->op) {
    case IR_PRINT:
    case IR_HOST:
    case IR_ASSERT:
    case IR_TRAP:
    case IR_BOUNDS: ptx_channel(p, i); break;
    case IR_ASSUME: break;
    case IR_CLOCK: ptx_line(p, "mov.u64 %s, %%clock64", ptx_def(p, i->result)); break;
    case IR_NANOTIME: ptx_line(p, "mov.u64 %s, %%globaltimer", ptx_def(p, i->result)); break;
    case IR_SLEEP: ptx_line(p, "nanosleep.u32 %s", ptx_reg(p, ir_operand(p->f, i, 0))); break;
    }
}
