// The OpenCL C dialect: its words, a kernel's signature, what it lacks. Start reading at
// opencl_emit; opencl.cl is the text in front of the kernels.
#include "back/channel.h"
#include "back/ctext/threads.h"
#include "base/embed.h"
#include "ir/nv.h"

static void put_signature(threads *e)
{
    const ir_func *f = e->t.f;
    text *out = e->t.out;
    text_puts(out, "__kernel ");
    if (f->block[0])
        text_printf(out, "__attribute__((reqd_work_group_size(%u, %u, %u))) ", f->block[0],
                    f->block[1], f->block[2]);
    text_printf(out, "void k_%s(", f->name);
    for (uint32_t k = 0; k < f->params.len; k++) {
        const ir_param *p = &f->params.at[k];
        if (ir_param_has_bytes(p))
            text_printf(out, "struct bytes_%u p%u, ", p->size, k);
        else
            text_printf(out, "%s p%u, ",
                        p->kind == IR_PARAM_POINTER           ? "__global uchar *"
                        : ir_type_size((ir_type)p->type) == 8 ? "ulong"
                                                              : "uint",
                        k);
    }
    text_printf(out, "__local ulong *shared_words, uint dynamic_bytes%s)\n",
                channel_is_used(f) ? ", __global uchar *channel" : "");
}

static const ctext_dialect opencl = {
    .words = {"uchar", "ushort", "uint", "ulong", "ul", NULL},
    .spaces = {[SPACE_GLOBAL] = {"__global ", NULL, "_g", NULL},
               [SPACE_SHARED] = {"__local ", "shared", "_s", "1ul << 62"},
               [SPACE_PRIVATE] = {"", "frame", "_p", "1ul << 63"},
               [SPACE_DATA] = {"__constant ", "data", NULL, "1ul << 61"}},
    .thread = "(uint)get_local_id",
    .block = "(uint)get_group_id",
    .block_size = "(uint)get_local_size",
    .grid_size = "(uint)get_num_groups",
    .cluster = {"0u", "1u", "(uint)get_group_id(0)", "(uint)get_num_groups(0)"},
    .put_signature = put_signature};

// Whether addresses come to the kernel in memory, not only as parameters.
static bool reads_pointers(const ir_func *f)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_INTTOPTR || (i->op == IR_LOAD && ir_is_ptr((ir_type)i->type)))
            return true;
    }
    return false;
}

// What only NVIDIA's instructions can do.
static bool is_portable(const ir_func *f, diags *ds)
{
    bool is_fine = true;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_NV && i->op != IR_MAPA)
            continue;
        is_fine = false;
        if (!ds)
            continue;
        diag *d = diag_raise(ds, K4301, i->at, "'%s': OpenCL does not have it",
                             i->op == IR_NV ? nv_row_of(i)->name : "mapa");
        diag_note(d, "put the code under 'if (target_sm() >= 80)' beside a portable path");
    }
    return is_fine;
}

// Where a thread looks for a mailbox first.
static const char home[] =
    "IN uint home_of(void)\n{\n"
    "    size_t rows = get_group_id(1) + get_num_groups(1) * get_group_id(2);\n"
    "    size_t block = get_group_id(0) + get_num_groups(0) * rows;\n"
    "    size_t size = get_local_size(0) * get_local_size(1) * get_local_size(2);\n"
    "    return (uint)(block * size) + thread_rank();\n}\n";

bool opencl_emit(const ir_module *m, const ir_func *only, const opencl_options *options, diags *ds,
                 arena *scratch, text *out)
{
    bool is_fine = true;
    if (options->has_ptx)
        text_puts(out, "#define KILN_PTX 1\n");
    if (options->is_exact)
        text_puts(out, "#define KILN_EXACT 1\n");
    if (options->has_loops)
        text_puts(out, "#define KILN_LOOPS 1\n");
    text_puts(out, embed_find("ctext/opencl.cl", NULL));
    threads_emit_structs(m, &opencl, scratch, out);
    const uint64_t *data_at =
        threads_emit_data(m, "__constant uchar data[] __attribute__((aligned(64)))", scratch, out);
    bool calls_host = options->calls_host && m->library;
    if (calls_host)
        text_puts(out, home);
    for (uint32_t k = 0; calls_host && k < m->library->funcs.len; k++) {
        threads e = {
            .dialect = &opencl, .has_lanes = true, .is_library = true, .has_data = m->data.len > 0};
        if (m->library->funcs.at[k]->is_kernel)
            threads_emit_function(&e, m->library->funcs.at[k], scratch, out);
    }
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const ir_func *f = m->funcs.at[k];
        if (!f->is_kernel || (only && only != f))
            continue;
        if (!is_portable(f, ds)) {
            is_fine = false;
            continue;
        }
        threads e = {.dialect = &opencl,
                     .has_lanes = options->has_ptx,
                     .has_loops = options->has_loops,
                     .calls_host = calls_host,
                     .data_at = data_at};
        threads_emit_kernel(&e, f, reads_pointers(f) ? "; reads pointers" : "", scratch, out);
    }
    return is_fine;
}
