// The statements of profile `memory` that touch memory and hold no other statements: new arrays,
// pointers and views, stores, swaps, loops over an array, rows and columns, walking pointers. Start
// reading at mem_touch.
#include "fuzz/gen_place.h"

#include <string.h>

// --- new objects
void mem_new_name(mem *m)
{
    char text[24];
    snprintf(text, sizeof text, "v%u", mem_fresh(m));
    mem_line(m);
    if (mem_chance(m, 40)) {
        uint32_t bound = 2u << mem_below(m, 3);
        mem_write(m, "u32 %s = (u32)", text);
        mem_expr(m, 1);
        mem_write(m, " & %u;\n", bound - 1);
        mem_add_name(m, text, GT_U32, bound);
        return;
    }
    gen_type t = mem_type(m);
    mem_write(m, "%s %s = ", gen_type_name(t), text);
    mem_typed(m, t, 2);
    mem_write(m, ";\n");
    mem_add_name(m, text, t, 0);
}

// Elements of an array of a random shape; a record's members are set one after another.
void mem_new_array(mem *m)
{
    static const uint8_t lengths[] = {2, 3, 4, 4, 5, 6, 8, 8};
    mem_place p = {.type = mem_place_type(m), .record = MEM_SCALAR, .has_address = true};
    uint32_t total = 1;
    if (mem_chance(m, 30))
        p.record = mem_any_record(m);
    p.rank = mem_chance(m, 65) ? 1 : mem_chance(m, 75) ? 2 : 3;
    if (p.record != MEM_SCALAR)
        p.rank = mem_below(m, 3) != 0;
    for (uint32_t i = 0; i < p.rank; i++) {
        p.dims[i] = p.rank == 1 ? lengths[mem_below(m, 8)] : 2 + mem_below(m, 3);
        total *= p.dims[i];
    }
    snprintf(p.text, sizeof p.text, "v%u", mem_fresh(m));
    mem_line(m);
    mem_write(m, "%s %s", mem_element_name(m, &p), p.text);
    for (uint32_t i = 0; i < p.rank; i++)
        mem_write(m, "[%u]", p.dims[i]);
    if (p.record != MEM_SCALAR || p.rank > 1) {
        mem_write(m, " = {0};\n");
    } else {
        mem_write(m, " = {");
        for (uint32_t i = 0; i < total; i++) {
            mem_write(m, i ? ", " : "");
            mem_typed(m, p.type, mem_chance(m, 30));
        }
        mem_write(m, "};\n");
    }
    mem_place *made = mem_add_place(m, p.text, p.type, p.record, p.dims[0]);
    made->rank = p.rank;
    made->has_address = p.record == MEM_SCALAR || mem_chance(m, 50);
    memcpy(made->dims, p.dims, sizeof p.dims);
}

// p = a + f(i): into an array that is there already, so that pointers meet.
static void new_pointer(mem *m)
{
    const mem_place *from = mem_pick(m, false);
    if (!from || !from->has_address)
        return;
    mem_place a = *from;
    uint32_t name = mem_fresh(m);
    char text[24];
    const char *type = mem_element_name(m, &a), *mark = a.is_constant ? "const " : "";
    snprintf(text, sizeof text, "v%u", name);
    mem_line(m);
    if (a.rank == 0 || (a.record != MEM_SCALAR && mem_chance(m, 40))) {
        mem_write(m, "%s%s *%s = &", mark, type, text);
        mem_element(m, &a);
        mem_write(m, ";\n");
        mem_place *p = mem_add_place(m, text, a.type, a.record, 0);
        p->is_pointer = true;
        p->is_constant = a.is_constant;
        return;
    }
    if (a.rank == 2) { // a row
        mem_write(m, "%s%s *%s = %s[", mark, type, text, a.text);
        mem_index(m, a.dims[0]);
        mem_write(m, "];\n");
        mem_place *p = mem_add_place(m, text, a.type, a.record, a.dims[1]);
        p->is_pointer = true;
        p->is_constant = a.is_constant;
        return;
    }
    if (a.rank == 3) {
        mem_write(m, "%s%s (*%s)[%u] = %s[", mark, type, text, a.dims[2], a.text);
        mem_index(m, a.dims[0]);
        mem_write(m, "];\n");
        mem_place *p = mem_add_place(m, text, a.type, a.record, a.dims[1]);
        p->rank = 2;
        p->dims[1] = a.dims[2];
        p->is_pointer = true;
        p->is_constant = a.is_constant;
        return;
    }
    uint32_t room = 1 + mem_below(m, a.dims[0]), before = 0;
    const mem_place *other = mem_pick_like(m, a.type, a.record, 1, room, true);
    mem_write(m, "%s%s *%s = ", mark, type, text);
    if (other && !a.is_constant && other->has_address && mem_chance(m, 25)) {
        mem_place o = *other;
        mem_test(m);
        mem_write(m, " ? %s + (", o.text);
        mem_index(m, o.dims[0] - room + 1);
        mem_write(m, ") : ");
    } else if (room < a.dims[0] && mem_chance(m, 30)) {
        before = 1 + mem_below(m, a.dims[0] - room);
    }
    mem_write(m, "%s + (", a.text);
    mem_write(m, "%u + (", before);
    mem_index(m, a.dims[0] - room - before + 1);
    mem_write(m, "));\n");
    mem_place *p = mem_add_place(m, text, a.type, a.record, room);
    p->is_pointer = true;
    p->before = before;
    p->is_constant = a.is_constant;
}

// The same bytes as another type.
static void new_view(mem *m)
{
    const mem_place *from = mem_pick(m, true);
    if (!from || !from->has_address || from->rank > 1 || from->is_pointer)
        return;
    mem_place a = *from;
    uint32_t bytes = mem_element_bytes(m, &a) * (a.rank ? a.dims[0] : 1);
    gen_type t = mem_type(m);
    if (mem_size(t) > a.align || bytes < mem_size(t))
        t = mem_chance(m, 50) ? GT_U8 : GT_I8;
    char text[24];
    snprintf(text, sizeof text, "v%u", mem_fresh(m));
    mem_line(m);
    mem_write(m, "%s *%s = (%s *)%s%s;\n", gen_type_name(t), text, gen_type_name(t),
              a.rank ? "" : "&", a.text);
    mem_add_place(m, text, t, MEM_SCALAR, bytes / mem_size(t))->is_pointer = true;
}

// --- assignments
void mem_assign(mem *m)
{
    static const char *const ops[] = {
        "=", "=", "=", "=", "=", "+=", "-=", "^=", "&=", "|=", "*=", "="};
    const mem_place *p = mem_pick(m, true);
    uint32_t k = mem_below(m, 100);
    mem_line(m);
    if (!p) { // a statement all the same: a label may stand before it
        mem_write(m, ";\n");
        return;
    }
    if (k < 8) {
        const char *step = k & 1 ? "++" : "--";
        if (k & 2)
            mem_write(m, "%s", step);
        mem_access(m, p);
        mem_write(m, "%s;\n", k & 2 ? "" : step);
        return;
    }
    gen_type t = mem_access(m, p);
    mem_write(m, " %s ", ops[mem_below(m, 12)]);
    mem_typed(m, t, 2);
    mem_write(m, ";\n");
}

static void set_name(mem *m)
{
    static const char *const ops[] = {"=", "+=", "^=", "-=", "=", "|="};
    for (int i = 0; i < 10 && m->name_count; i++) {
        const mem_name *n = &m->names[mem_below(m, m->name_count)];
        if (n->bound || n->text[0] != 'v')
            continue;
        gen_type t = n->type;
        mem_line(m);
        mem_write(m, "%s %s ", n->text, ops[mem_below(m, 6)]);
        mem_typed(m, t, 2);
        mem_write(m, ";\n");
        return;
    }
    mem_assign(m);
}

// A pointer that is there already goes elsewhere, perhaps into another space.
static void repoint(mem *m)
{
    for (int i = 0; i < 10; i++) {
        const mem_place *from = mem_pick(m, true);
        if (!from || !from->is_pointer || from->rank != 1 || from->text[0] != 'v')
            continue;
        mem_place p = *from;
        const mem_place *to = mem_pick_like(m, p.type, p.record, 1, p.dims[0] + p.before, true);
        if (!to || !to->has_address)
            return;
        mem_place a = *to;
        mem_line(m);
        if (mem_chance(m, 30)) {
            mem_write(m, "if (");
            mem_test(m);
            mem_write(m, ") ");
        }
        mem_write(m, "{ %s = %s + (", p.text, a.text);
        mem_write(m, "%u + (", p.before);
        mem_index(m, a.dims[0] - p.dims[0] - p.before + 1);
        mem_write(m, ")); }\n");
        return;
    }
}

// Two or three neighbours one after another, each from what was just stored.
static void neighbours(mem *m)
{
    const mem_place *from = mem_pick(m, true);
    if (!from)
        return;
    mem_place p = *from;
    for (uint32_t i = 0, n = 2 + mem_below(m, 3); i < n; i++) {
        mem_line(m);
        gen_type t = mem_access(m, &p);
        mem_write(m, " = (%s)(", gen_type_name(t));
        mem_access(m, &p);
        mem_write(m, " %s ", mem_chance(m, 50) ? "&" : "+");
        mem_expr(m, 0);
        mem_write(m, ");\n");
    }
}

// Neighbours, and between two of their stores one of fewer bytes into the middle of one of them.
static void overlap(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 10 && !from; i++) {
        from = mem_pick(m, true);
        if (from && (!from->has_address || from->rank != 1 || from->is_pointer ||
                     from->record != MEM_SCALAR || mem_size(from->type) < 2 || from->dims[0] < 2))
            from = NULL;
    }
    if (!from)
        return;
    mem_place a = *from;
    uint32_t size = mem_size(a.type), small = size > 2 && mem_chance(m, 50) ? 2 : 1;
    uint32_t first = mem_below(m, a.dims[0] - 1), into = first + mem_below(m, 2);
    uint32_t part = mem_below(m, size / small), narrow_at = mem_below(m, 3);
    gen_type t = small == 2 ? GT_U16 : GT_U8;
    for (uint32_t i = 0; i < 3; i++) {
        mem_line(m);
        if (i == narrow_at) {
            mem_write(m, "((%s *)&%s[%u])[%u] = ", gen_type_name(t), a.text, into, part);
            mem_typed(m, t, 1);
        } else {
            mem_write(m, "%s[%u] = ", a.text, first + (i - (i > narrow_at)));
            mem_typed(m, a.type, 1);
        }
        mem_write(m, ";\n");
    }
}

// Two arrays that nobody reads but through a pointer to one of them.
static void chosen_read(mem *m)
{
    gen_type t = mem_type(m);
    const char *name = gen_type_name(t);
    uint32_t a = mem_fresh(m), b = mem_fresh(m), p = mem_fresh(m), r = mem_fresh(m);
    char text[24];
    mem_line(m);
    mem_write(m, "%s v%u[4] = {0}, v%u[4] = {0};\n", name, a, b);
    for (uint32_t i = 0; i < 4; i++) {
        mem_line(m);
        mem_write(m, "v%u[", i & 1 ? b : a);
        mem_index(m, 4);
        mem_write(m, "] = ");
        mem_typed(m, t, 1);
        mem_write(m, ";\n");
    }
    mem_line(m);
    mem_write(m, "const %s *v%u = ", name, p);
    mem_test(m);
    mem_write(m, " ? v%u : v%u;\n", a, b);
    mem_line(m);
    mem_write(m, "%s v%u = v%u[", name, r, p);
    mem_index(m, 4);
    mem_write(m, "];\n");
    snprintf(text, sizeof text, "v%u", r);
    mem_add_name(m, text, t, 0);
}

// Bytes that are set and read in several sizes, all at constant places: an array of aligned
// elements seen through casts, or a union whose first member may be any of its views.
static void spanned(mem *m)
{
    static const gen_type views[] = {GT_U8, GT_U16, GT_U32, GT_U64};
    enum { VIEWS = 4, BYTES = 16 };
    uint32_t first = mem_below(m, VIEWS), count = BYTES >> first, v = mem_fresh(m);
    bool is_union = mem_chance(m, 40);
    char text[24];
    snprintf(text, sizeof text, "v%u", v);
    mem_line(m);
    if (is_union) {
        mem_write(m, "union {");
        for (uint32_t i = 0; i < VIEWS; i++) {
            uint32_t view = (first + i) % VIEWS;
            mem_write(m, " %s m%u[%u];", gen_type_name(views[view]), view, BYTES >> view);
        }
        mem_write(m, " } %s", text);
    } else {
        mem_write(m, "_Alignas(%u) %s %s[%u]", BYTES, gen_type_name(views[first]), text, count);
    }
    mem_write(m, is_union ? " = {{" : " = {");
    for (uint32_t i = 0, given = mem_chance(m, 60) ? count : 1; i < given; i++) {
        mem_write(m, i ? ", " : "");
        mem_typed(m, views[first], 0);
    }
    mem_write(m, is_union ? "}};\n" : "};\n");
    uint32_t stores = 1 + mem_below(m, 3), reads = 1 + mem_below(m, 3);
    for (uint32_t i = 0; i < stores + reads; i++) {
        uint32_t view = mem_chance(m, 40) ? first : mem_below(m, VIEWS);
        const char *type = gen_type_name(views[view]);
        char access[64];
        if (is_union)
            snprintf(access, sizeof access, "%s.m%u[%u]", text, view, mem_below(m, BYTES >> view));
        else
            snprintf(access, sizeof access, "((%s *)%s)[%u]", type, text,
                     mem_below(m, BYTES >> view));
        mem_line(m);
        if (i < stores) {
            mem_write(m, "%s = ", access);
            mem_typed(m, views[view], 1);
        } else {
            char name[24];
            snprintf(name, sizeof name, "v%u", mem_fresh(m));
            mem_write(m, "%s %s = %s", type, name, access);
            mem_add_name(m, name, views[view], 0);
        }
        mem_write(m, ";\n");
    }
}

// A pointer that a loop moves from one array to another, perhaps of another space; or two pointers
// that change places in every round.
static void hop(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 20 && (!from || from->rank != 1 || !from->has_address); i++)
        from = mem_pick(m, true);
    if (!from || from->rank != 1 || !from->has_address || from->record != MEM_SCALAR)
        return;
    mem_place ends[2] = {*from, *from};
    const char *t = gen_type_name(from->type);
    const mem_place *other = mem_pick_like(m, from->type, MEM_SCALAR, 1, 1, true);
    if (other && mem_chance(m, 40)) {
        ends[1] = *other;
    } else {
        snprintf(ends[1].text, sizeof ends[1].text, "v%u", mem_fresh(m));
        ends[1].dims[0] = 4;
        mem_line(m);
        mem_write(m, "%s %s[4] = {", t, ends[1].text);
        for (uint32_t i = 0; i < 4; i++) {
            mem_write(m, i ? ", " : "");
            mem_typed(m, ends[1].type, 0);
        }
        mem_write(m, "};\n");
    }
    if (mem_chance(m, 50)) {
        mem_place turned = ends[0];
        ends[0] = ends[1];
        ends[1] = turned;
    }
    uint32_t room = ends[0].dims[0] < ends[1].dims[0] ? ends[0].dims[0] : ends[1].dims[0];
    uint32_t p[2] = {mem_fresh(m), mem_fresh(m)}, sum = mem_fresh(m), i = mem_fresh(m);
    bool changes_places = mem_chance(m, 40);
    char text[24];
    room = 1 + mem_below(m, room);
    for (uint32_t k = 0; k < 1 + (uint32_t)changes_places; k++) {
        mem_line(m);
        mem_write(m, "%s *v%u = %s + (", t, p[k], ends[k].text);
        mem_index(m, ends[k].dims[0] - room + 1);
        mem_write(m, ");\n");
        snprintf(text, sizeof text, "v%u", p[k]);
        mem_add_place(m, text, ends[k].type, MEM_SCALAR, room)->is_pointer = true;
    }
    mem_line(m);
    mem_write(m, "%s v%u = 0;\n", t, sum);
    mem_line(m);
    mem_write(m, "for (u32 v%u = 0; v%u < %u; v%u++) { v%u = (%s)(v%u * 3 + v%u[%u]); ", i, i,
              2 + mem_below(m, 6), i, sum, t, sum, p[0], mem_below(m, room));
    if (mem_chance(m, 60))
        mem_write(m, "v%u[%u] = (%s)(v%u + v%u); ", p[changes_places], mem_below(m, room), t, sum,
                  i);
    if (changes_places) {
        mem_write(m, "%s *t = v%u; v%u = v%u; v%u = t; }\n", t, p[0], p[0], p[1], p[1]);
    } else {
        if (mem_chance(m, 30)) {
            mem_write(m, "if (");
            mem_test(m);
            mem_write(m, ") ");
        }
        mem_write(m, "{ v%u = %s + (", p[0], ends[1].text);
        mem_index(m, ends[1].dims[0] - room + 1);
        mem_write(m, "); } }\n");
    }
    snprintf(text, sizeof text, "v%u", sum);
    mem_add_name(m, text, ends[0].type, 0);
}

static void swap(mem *m)
{
    const mem_place *from = mem_pick(m, true);
    if (!from)
        return;
    mem_place a = *from, b = a;
    const mem_place *other = mem_pick_like(m, a.type, a.record, a.rank, 1, true);
    if (other && mem_chance(m, 40))
        b = *other;
    if (!a.has_address || !b.has_address)
        return;
    // Both are named by pointers: an index that is read from memory must not change between.
    uint32_t x = mem_fresh(m), y = mem_fresh(m), t = mem_fresh(m);
    const char *type = mem_element_name(m, &a);
    mem_line(m);
    mem_write(m, "%s *v%u = &", type, x);
    mem_element(m, &a);
    mem_write(m, ", *v%u = &", y);
    mem_element(m, &b);
    mem_write(m, ";\n");
    mem_line(m);
    mem_write(m, "%s v%u = *v%u;\n", type, t, x);
    mem_line(m);
    mem_write(m, "*v%u = *v%u;\n", x, y);
    mem_line(m);
    mem_write(m, "*v%u = v%u;\n", y, t);
}

static void copy_record(mem *m)
{
    for (int tries = 0; tries < 8; tries++) {
        const mem_place *to = mem_pick(m, true);
        if (!to || to->record == MEM_SCALAR)
            continue;
        mem_place a = *to;
        const mem_place *from = mem_pick_like(m, a.type, a.record, mem_below(m, 2), 1, false);
        mem_place b = from ? *from : a;
        mem_line(m);
        mem_element(m, &a);
        mem_write(m, " = ");
        mem_element(m, &b);
        mem_write(m, ";\n");
        return;
    }
    neighbours(m);
}

// A store through whichever of two places.
static void chosen_store(mem *m)
{
    const mem_place *from = mem_pick(m, true);
    if (!from || from->record != MEM_SCALAR)
        return;
    mem_place a = *from;
    const mem_place *other = mem_pick_like(m, a.type, a.record, mem_below(m, 2), 1, true);
    mem_place b = other ? *other : a;
    mem_line(m);
    mem_write(m, "*(");
    mem_test(m);
    mem_write(m, " ? &");
    mem_element(m, &a);
    mem_write(m, " : &");
    mem_element(m, &b);
    mem_write(m, ") %s ", mem_chance(m, 50) ? "=" : "+=");
    mem_typed(m, a.type, 1);
    mem_write(m, ";\n");
}

// --- loops over an array
static void array_loop(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 20 && (!from || from->rank != 1 || from->dims[0] < 2); i++)
        from = mem_pick(m, true);
    if (!from || from->rank != 1 || from->dims[0] < 2 || from->record != MEM_SCALAR)
        return;
    mem_place a = *from;
    const mem_place *source = mem_pick_like(m, a.type, a.record, 1, 2, false);
    mem_place b = source && mem_chance(m, 60) ? *source : a;
    uint32_t length = a.dims[0] < b.dims[0] ? a.dims[0] : b.dims[0], i = mem_fresh(m);
    uint32_t shift = mem_below(m, length < 3 ? length : 3);
    bool down = mem_chance(m, 30);
    const char *t = gen_type_name(a.type), *op = mem_chance(m, 30)   ? "+="
                                                 : mem_chance(m, 20) ? "^="
                                                                     : "=";
    if (mem_chance(m, 30))
        mem_write(m, "#pragma unroll%s\n",
                  mem_chance(m, 40)   ? ""
                  : mem_chance(m, 50) ? " 2"
                                      : " 3");
    mem_line(m);
    if (down)
        mem_write(m, "for (i32 v%u = %d; v%u >= %u; v%u--) { %s[v%u] %s (%s)(%s[v%u - %u]", i,
                  (int)length - 1, i, shift, i, a.text, i, op, t, b.text, i, shift);
    else
        mem_write(m, "for (u32 v%u = 0; v%u < %u; v%u++) { %s[v%u] %s (%s)(%s[v%u + %u]", i, i,
                  length - shift, i, a.text, i, op, t, b.text, i, shift);
    if (mem_chance(m, 50)) {
        mem_write(m, " + ");
        mem_expr(m, 1);
    }
    mem_write(m, "); }\n");
}

// Elimination, exchange of rows and columns, transposition.
static void rows(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 20 && (!from || from->rank != 2); i++)
        from = mem_pick(m, true);
    if (!from || from->rank != 2 || from->record != MEM_SCALAR)
        return;
    mem_place a = *from;
    uint32_t i = mem_fresh(m), r = mem_fresh(m), s = mem_fresh(m), kind = mem_below(m, 4);
    bool columns = mem_chance(m, 40);
    uint32_t across = a.dims[columns], along = a.dims[!columns];
    const char *t = gen_type_name(a.type);
    char first[64], second[64];
    mem_line(m);
    mem_write(m, "u32 v%u = (u32)(", r);
    mem_index(m, across);
    mem_write(m, "), v%u = (u32)(", s);
    mem_index(m, across);
    mem_write(m, ");\n");
    snprintf(first, sizeof first, "[v%u][v%u]", columns ? i : r, columns ? r : i);
    snprintf(second, sizeof second, "[v%u][v%u]", columns ? i : s, columns ? s : i);
    mem_line(m);
    if (kind == 3 && a.dims[0] == a.dims[1]) {
        mem_write(m,
                  "for (u32 v%u = 0; v%u < %u; v%u++) { for (u32 v%u = 0; v%u < v%u; v%u++) { "
                  "%s t = %s[v%u][v%u]; %s[v%u][v%u] = %s[v%u][v%u]; %s[v%u][v%u] = t; } }\n",
                  i, i, along, i, i + 1000, i + 1000, i, i + 1000, t, a.text, i, i + 1000, a.text,
                  i, i + 1000, a.text, i + 1000, i, a.text, i + 1000, i);
        return;
    }
    mem_write(m, "for (u32 v%u = 0; v%u < %u; v%u++) { ", i, i, along, i);
    if (kind == 0)
        mem_write(m, "%s t = %s%s; %s%s = %s%s; %s%s = t; }\n", t, a.text, first, a.text, first,
                  a.text, second, a.text, second);
    else
        mem_write(m, "%s%s = (%s)(%s%s %s %s%s * %s[%s%u][%u]); }\n", a.text, first, t, a.text,
                  first, kind == 1 ? "-" : "^", a.text, second, a.text, columns ? "" : "v",
                  columns ? mem_below(m, a.dims[0]) : r, mem_below(m, a.dims[1]));
}

// A pointer walks, reads and writes.
static void walk(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 20 && (!from || from->rank != 1); i++)
        from = mem_pick(m, true);
    if (!from || from->rank != 1 || from->record != MEM_SCALAR)
        return;
    mem_place a = *from;
    const mem_place *source = mem_pick_like(m, a.type, a.record, 1, 1, false);
    mem_place b = source ? *source : a;
    uint32_t room = a.dims[0] < b.dims[0] ? a.dims[0] : b.dims[0];
    uint32_t count = 1 + mem_below(m, room), p = mem_fresh(m), q = mem_fresh(m);
    const char *t = gen_type_name(a.type);
    mem_line(m);
    switch (mem_below(m, 3)) {
    case 0: // copies, perhaps over itself
        mem_write(m, "{ %s *v%u = %s + (", t, p, a.text);
        mem_index(m, a.dims[0] - count + 1);
        mem_write(m, "); const %s *v%u = %s + (", t, q, b.text);
        mem_index(m, b.dims[0] - count + 1);
        mem_write(m,
                  "); for (u32 n = 0; n < %u; n++) { *v%u++ %s *v%u++; } "
                  "}\n",
                  count, p, mem_chance(m, 60) ? "=" : "+=", q);
        break;
    case 1:
        mem_write(m, "for (%s *v%u = %s; v%u < %s + %u; v%u++) { *v%u = (%s)(*v%u ", t, p, a.text,
                  p, a.text, a.dims[0], p, p, t, p);
        mem_write(m, mem_chance(m, 50) ? "* 3 + " : "^ ");
        mem_expr(m, 1);
        mem_write(m, "); }\n");
        break;
    default: // backwards, until a test
        mem_write(m,
                  "{ %s *v%u = %s + %u; do { *--v%u %s= 1; } while (v%u > %s && (*v%u & 3) != %u); "
                  "}\n",
                  t, p, a.text, a.dims[0], p, mem_chance(m, 50) ? "+" : "^", p, a.text, p,
                  mem_below(m, 4));
    }
}

// A loop reads through a pointer that may or may not point into the array it writes.
static void meet(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 20 && (!from || from->rank != 1 || !from->has_address); i++)
        from = mem_pick(m, true);
    if (!from || from->rank != 1 || !from->has_address || from->record != MEM_SCALAR)
        return;
    mem_place a = *from;
    const mem_place *other = mem_pick_like(m, a.type, a.record, 1, 1, true);
    mem_place b = other && mem_chance(m, 70) ? *other : a;
    uint32_t room = a.dims[0] < b.dims[0] ? a.dims[0] : b.dims[0];
    uint32_t p = mem_fresh(m), sum = mem_fresh(m), i = mem_fresh(m);
    const char *t = gen_type_name(a.type);
    char text[24];
    room = 1 + mem_below(m, room);
    mem_line(m);
    mem_write(m, "%s *v%u = ", t, p);
    mem_test(m);
    mem_write(m, " ? %s + (", a.text);
    mem_index(m, a.dims[0] - room + 1);
    mem_write(m, ") : %s + (", b.text);
    mem_index(m, b.dims[0] - room + 1);
    mem_write(m, "), v%u = 0;\n", sum);
    mem_line(m);
    uint32_t at = mem_below(m, room), rounds = 1 + mem_below(m, 9);
    const char *op = mem_chance(m, 50) ? "=" : "+=";
    switch (mem_below(m, 3)) {
    case 0:
        mem_write(m,
                  "for (u32 v%u = 0; v%u < %u; v%u++) { v%u += v%u[%u]; %s[v%u %% %u] %s (%s)(v%u "
                  "+ 1); }\n",
                  i, i, rounds, i, sum, p, at, a.text, i, a.dims[0], op, t, sum);
        break;
    case 1:
        mem_write(m,
                  "for (u32 v%u = 0; v%u < %u; v%u++) { v%u += %s[%u]; v%u[v%u %% %u] %s (%s)(v%u "
                  "+ 1); }\n",
                  i, i, rounds, i, sum, a.text, mem_below(m, a.dims[0]), p, i, room, op, t, sum);
        break;
    default: // twice the same element, a store between
        mem_write(m, "v%u = v%u[%u]; %s[", sum, p, at, a.text);
        mem_index(m, a.dims[0]);
        mem_write(m, "] %s (%s)(v%u + 1); v%u += v%u[%u];\n", op, t, sum, sum, p, at);
    }
    snprintf(text, sizeof text, "v%u", p);
    mem_add_place(m, text, a.type, MEM_SCALAR, room)->is_pointer = true;
    snprintf(text, sizeof text, "v%u", sum);
    mem_add_name(m, text, a.type, 0);
}

// An index that may be anything, and a test that guards its use.
static void guarded(mem *m)
{
    const mem_place *from = NULL;
    for (int i = 0; i < 20 && (!from || from->rank != 1); i++)
        from = mem_pick(m, true);
    if (!from || from->rank != 1 || from->record != MEM_SCALAR)
        return;
    mem_place a = *from;
    uint32_t at = mem_fresh(m), sum = mem_fresh(m), i = mem_fresh(m), length = a.dims[0];
    const char *t = gen_type_name(a.type);
    char text[24];
    mem_line(m);
    mem_write(m, "u32 v%u = (u32)", at);
    mem_expr(m, 2);
    mem_write(m, mem_chance(m, 70) ? " & 15;\n" : ";\n");
    mem_line(m);
    mem_write(m, "%s v%u = 0;\n", t, sum);
    mem_line(m);
    switch (mem_below(m, 3)) {
    case 0:
        mem_write(m,
                  "for (u32 v%u = 0; v%u < %u; v%u++) { if (v%u < %u) { v%u += %s[v%u]; } v%u ^= "
                  "3; }\n",
                  i, i, 1 + mem_below(m, 12), i, at, length, sum, a.text, at, sum);
        break;
    case 1:
        mem_write(m, "v%u = v%u < %u ? %s[v%u] : (%s)%u;\n", sum, at, length, a.text, at, t,
                  mem_below(m, 100));
        break;
    default:
        mem_write(m, "for (u32 v%u = v%u; v%u < %u; v%u++) { v%u = %s[v%u]; %s[v%u] += (%s)1; }\n",
                  i, at, i, length, i, sum, a.text, i, a.text, i, t);
    }
    snprintf(text, sizeof text, "v%u", sum);
    mem_add_name(m, text, a.type, 0);
}

// A variable that only the first round of a loop sets, and later ones change. Before the first
// label of a switch nothing sets it on the way.
static void late(mem *m)
{
    uint32_t v = mem_fresh(m), sum = mem_fresh(m), i = mem_fresh(m);
    gen_type t = mem_type(m);
    const char *name = gen_type_name(t);
    bool in_switch = mem_chance(m, 50);
    char text[24];
    mem_line(m);
    mem_write(m, "%s v%u = 0;\n", name, sum);
    mem_line(m);
    if (in_switch) { // one line: the shrinker takes all of it or nothing
        mem_write(m, "switch ((u32)");
        mem_expr(m, 1);
        mem_write(m, " & 3) { %s v%u; case %u: v%u = ", name, v, mem_below(m, 2),
                  mem_chance(m, 30) ? v : sum);
        mem_typed(m, t, 1);
        mem_write(m, "; break; default: ");
    } else {
        mem_write(m, "%s v%u; ", name, v);
    }
    mem_write(m, "for (u32 v%u = 0; v%u < %u; v%u++) { if (v%u == 0) { v%u = ", i, i,
              1 + mem_below(m, 12), i, i, v);
    mem_typed(m, t, 1);
    mem_write(m, "; } else { v%u %s ", v, mem_chance(m, 50) ? "+=" : "^=");
    mem_typed(m, t, 1);
    mem_write(m, "; } v%u = (%s)(v%u * 5 + v%u); }%s\n", sum, name, sum, v, in_switch ? " }" : "");
    snprintf(text, sizeof text, "v%u", sum);
    mem_add_name(m, text, t, 0);
}

// Variables that a loop hands round: each gets the value of the next.
static void rotate(mem *m)
{
    gen_type t = mem_type(m);
    uint32_t count = 2 + mem_below(m, 2), first = m->g.next_name, i = first + count, kept = i + 1;
    const char *name = gen_type_name(t);
    m->g.next_name += count + 2;
    for (uint32_t k = 0; k < count; k++) {
        mem_line(m);
        mem_write(m, "%s v%u = ", name, first + k);
        mem_typed(m, t, 1);
        mem_write(m, ";\n");
    }
    mem_line(m);
    mem_write(m, "for (u32 v%u = 0; v%u < ((u32)", i, i);
    mem_expr(m, 1);
    mem_write(m, " & 7); v%u++) { %s v%u = v%u; ", i, name, kept, first);
    for (uint32_t k = 0; k + 1 < count; k++)
        mem_write(m, "v%u = v%u; ", first + k, first + k + 1);
    mem_write(m, "v%u = (%s)(v%u", first + count - 1, name, kept);
    if (mem_chance(m, 40)) {
        mem_write(m, " + ");
        mem_expr(m, 0);
    }
    mem_write(m, "); }\n");
    for (uint32_t k = 0; k < count; k++) {
        char text[24];
        snprintf(text, sizeof text, "v%u", first + k);
        mem_add_name(m, text, t, 0);
    }
}

void mem_touch(mem *m)
{
    static const struct {
        uint32_t weight;
        void (*write)(mem *m);
    } kinds[] = {{24, mem_assign},   {7, neighbours}, {4, swap},         {4, copy_record},
                 {2, chosen_store},  {3, set_name},   {3, mem_new_name}, {4, new_pointer},
                 {2, new_view},      {4, array_loop}, {3, rows},         {4, walk},
                 {3, mem_new_array}, {2, repoint},    {4, meet},         {3, guarded},
                 {2, late},          {2, overlap},    {3, chosen_read},  {3, spanned},
                 {3, hop},           {2, rotate}};
    uint32_t all = 0, at = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        all += kinds[i].weight;
    uint32_t k = mem_below(m, all);
    while (k >= kinds[at].weight)
        k -= kinds[at++].weight;
    kinds[at].write(m);
}
