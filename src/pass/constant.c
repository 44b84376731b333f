// Stores to constant tables: the C type system lets a cast take `const` away, the hardware does
// not. Checked when lowering has made the IR, and again when address spaces behind generic pointers
// are known; the verifier never sees such a store.
#include "pass/passes.h"

bool constant_check(const ir_func *f, diags *ds)
{
    bool is_fine = true;
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (i->op != IR_STORE && i->op != IR_ATOMIC && i->op != IR_CAS && i->op != IR_ATOMSTORE)
            continue;
        if (ir_type_of(f, ir_operand(f, i, 0)) != IR_PTR_CONST)
            continue;
        is_fine = false;
        if (!ds)
            continue;
        diag *d = diag_raise(ds, K3103, i->at, "a constant table cannot be written");
        diag_label(d, i->at, "this stores to memory that is declared const");
        diag_note(d, "copy the table to a local or shared array and change the copy");
    }
    return is_fine;
}
