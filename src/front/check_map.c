// Tensor maps: what may not be done with one. The launch puts a map into the kernel's parameters,
// and only the copy engine reads it, at that place. So the language has it as a kernel parameter
// and as the address of one; it has no value and no members, and nothing else can hold it.
#include "front/check.h"

static const type *element_of(const type *t)
{
    while (t->kind == TY_ARRAY)
        t = t->base;
    return t;
}

static bool is_map(const type *t)
{
    return element_of(t)->kind == TY_TENSOR_MAP;
}

static bool points_to_map(const type *t)
{
    return is_pointer(t) && is_map(t->base);
}

static void misuse(front *f, span at, const char *cannot, const char *label)
{
    diag *d = diag_raise(f->diags, K2055, at, "a tensor map cannot %s", cannot);
    diag_label(d, at, "%s", label);
    diag_note(d, "a kernel takes it as a parameter 'tensor_map map'; functions and the tensor_ "
                 "builtins take its address, a 'const tensor_map *'");
}

bool check_map_object(front *f, const type *t, span at, const char *what)
{
    if (!is_map(t))
        return false;
    misuse(f, at, str_format(f->in, "be %s", what),
           "the copy engine reads a map only where the launch put it: in a kernel's parameters");
    return true;
}

bool check_map_value(front *f, const type *t, span at, const char *use)
{
    if (!is_map(t) || f->unevaluated)
        return false;
    misuse(f, at, str_format(f->in, "be %s", use), "it has no value that a kernel could see");
    return true;
}

bool check_map_step(front *f, const type *pointer, span at)
{
    if (!points_to_map(pointer) || f->unevaluated)
        return false;
    misuse(f, at, "be counted like elements", "one map lies behind this pointer, and no other");
    return true;
}

bool check_map_cast(front *f, const type *from, const type *to, span at)
{
    bool is_from = points_to_map(from), is_to = points_to_map(to);
    if (is_from == is_to || (is_from && to->kind == TY_BOOL) || to->kind == TY_VOID)
        return false;
    misuse(f, at, is_from ? "be read as something else" : "be made from other memory",
           str_format(f->in, "'%s' becomes '%s' here", T_OF(f, from), T_OF(f, to)));
    return true;
}
