// The table of profiles. A new generator is a row here and a file of its own.
#include "fuzz/profile.h"

#include "fuzz/csmith_profile.h"
#include "fuzz/gen.h"
#include "fuzz/simt.h"

#include <string.h>

static const char fold_prelude[] =
    "#include <kiln/kernel.h>\n\n#include \"open.h\"\n"
    "#define NUMBER(x)    ((x) == (x) ? (x) : 0.0f)\n" // the bits of a NaN are not fixed
    "#define BITS(x)      bits_f32(NUMBER(x))\n"
    "#define WIDE_BITS(x) bits_f64((x) == (x) ? (x) : 0.0)\n";
static const char open_prelude[] = "#include <kiln/kernel.h>\n\n#include \"open.h\"\n";

const fuzz_profile fuzz_profiles[] = {
    {"mixed", "expressions, control flow and jumps, barriers and warp operations", open_prelude,
     gen_mixed, 0, false, false},
    {"memory", "loads and stores over few small arrays", open_prelude, gen_memory, 0, false, false},
    {"call", "recursion, functions that stay functions, tables of pointers", open_prelude,
     gen_calls, 0, false, false},
    {"simt", "all scalar types on lanes, against plain C over arrays of lanes", simt_prelude,
     simt_write, 0, false, false},
    {"fold", "idioms that an assembler folds, some in branches that know a value", fold_prelude,
     gen_fold, 0, false, false},
    {"csmith", "programs of Csmith (a Debian package)", csmith_prelude, csmith_write, 20, true,
     false},
    {"mixed-short", "mixed with few statements", open_prelude, gen_mixed_short, 0, false, true},
    {"mixed-alone", "mixed-short where nothing goes from thread to thread", open_prelude,
     gen_mixed_alone, 0, false, true},
    {"memory-short", "memory with few statements", open_prelude, gen_memory_short, 0, false, true},
    {"simt-short", "simt with few statements", simt_prelude, simt_write_short, 0, false, true},
    {0},
};

const fuzz_profile *fuzz_profile_named(const char *name)
{
    for (const fuzz_profile *p = fuzz_profiles; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}
