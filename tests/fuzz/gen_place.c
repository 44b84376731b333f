// Memory of the random programs of profile `memory`: records without padding (so that whole records
// can be compared byte for byte), arrays and pointers whose room is known, accesses with constant,
// dynamic and mixed indices that stay inside, and expressions that mostly load. All values are
// integers: no NaN whose bits a device might choose. Start reading at mem_access.
#include "fuzz/gen_place.h"

#include <string.h>

static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};

void mem_line(mem *m)
{
    for (int i = 0; i < m->g.indent; i++)
        mem_write(m, "    ");
}

uint32_t mem_fresh(mem *m)
{
    return m->g.next_name++;
}

uint32_t mem_size(gen_type t)
{
    return sizes[t];
}

gen_type mem_type(mem *m)
{
    static const uint8_t weights[] = {GT_I8,  GT_U8,  GT_U8,  GT_I16, GT_U16, GT_I32,
                                      GT_I32, GT_U32, GT_U32, GT_I64, GT_U64};
    return (gen_type)weights[mem_below(m, sizeof weights)];
}

// Places of a program like to have the same type: they can meet then.
gen_type mem_place_type(mem *m)
{
    return mem_chance(m, 45) ? m->favourite : mem_type(m);
}

int mem_any_record(mem *m)
{
    return mem_chance(m, 55) ? m->favourite_record : (int)mem_below(m, (uint32_t)m->record_count);
}

// --- records
void mem_vectors(mem *m)
{
    static const struct {
        const char *name;
        gen_type type;
        uint32_t count;
    } rows[] = {{"i32x2", GT_I32, 2}, {"u32x4", GT_U32, 4}, {"u8x4", GT_U8, 4},
                {"i16x2", GT_I16, 2}, {"u64x2", GT_U64, 2}, {"u16x4", GT_U16, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mem_record *r = &m->records[m->record_count++];
        snprintf(r->name, sizeof r->name, "%s", rows[i].name);
        r->count = rows[i].count;
        r->bytes = r->align = r->count * sizes[rows[i].type];
        for (uint32_t k = 0; k < r->count; k++)
            r->members[k] = (mem_member){
                .name = {"xyzw"[k]}, .type = rows[i].type, .record = MEM_SCALAR, .length = 0};
    }
    m->own_records = m->record_count;
}

static void put_member(mem *m, mem_record *r, mem_member member, uint32_t bytes, uint32_t align)
{
    snprintf(member.name, sizeof member.name, "m%u", r->count);
    mem_write(m, " %s %s",
              member.record == MEM_SCALAR ? gen_type_name(member.type)
                                          : m->records[member.record].name,
              member.name);
    if (member.length)
        mem_write(m, "[%u]", member.length);
    mem_write(m, ";");
    r->members[r->count++] = member;
    r->bytes += bytes * (member.length ? member.length : 1);
    r->align = align > r->align ? align : r->align;
}

static void fill_to(mem *m, mem_record *r, uint32_t align)
{
    uint32_t over = r->bytes % align;
    if (over)
        put_member(m, r, (mem_member){.type = GT_U8, .record = MEM_SCALAR, .length = align - over},
                   1, 1);
}

static void new_union(mem *m, mem_record *r)
{
    static const struct {
        gen_type type;
        uint32_t length;
    } members[] = {{GT_U64, 0}, {GT_U32, 2}, {GT_U16, 4}, {GT_I8, 8}, {GT_I32, 2}, {GT_U8, 8}};
    mem_write(m, "typedef union {");
    for (uint32_t i = 0, first = mem_below(m, 6); i < 6; i++) {
        uint32_t k = (first + i) % 6;
        put_member(m, r,
                   (mem_member){
                       .type = members[k].type, .record = MEM_SCALAR, .length = members[k].length},
                   sizes[members[k].type], sizes[members[k].type]);
    }
    r->bytes = 8;
}

void mem_new_record(mem *m)
{
    mem_record made = {.align = 1}, *r = &made;
    if (m->record_count == MEM_MAX_RECORDS)
        return;
    if (mem_chance(m, 25)) {
        new_union(m, r);
    } else {
        mem_write(m, "typedef struct {");
        for (uint32_t i = 0, n = 2 + mem_below(m, 4); i < n; i++) {
            mem_member member = {.type = mem_type(m), .record = MEM_SCALAR};
            uint32_t bytes = sizes[member.type], align = bytes;
            if (mem_chance(m, 20)) {
                member.record = (int)mem_below(m, (uint32_t)m->record_count);
                bytes = m->records[member.record].bytes;
                align = m->records[member.record].align;
            }
            if (mem_chance(m, 30))
                member.length = 2 + mem_below(m, 3);
            fill_to(m, r, align);
            if (r->count < MEM_MAX_MEMBERS - 2)
                put_member(m, r, member, bytes, align);
        }
        fill_to(m, r, r->align);
    }
    snprintf(r->name, sizeof r->name, "r%d_%u", m->record_count - m->own_records, m->g.number);
    mem_write(m, " } %s;\n", r->name);
    m->records[m->record_count++] = made;
}

// --- places and names
uint32_t mem_element_bytes(const mem *m, const mem_place *p)
{
    return p->record == MEM_SCALAR ? sizes[p->type] : m->records[p->record].bytes;
}

const char *mem_element_name(const mem *m, const mem_place *p)
{
    return p->record == MEM_SCALAR ? gen_type_name(p->type) : m->records[p->record].name;
}

mem_place *mem_add_place(mem *m, const char *text, gen_type t, int record, uint32_t length)
{
    if (m->place_count == MEM_MAX_PLACES)
        m->place_count--;
    mem_place *p = &m->places[m->place_count++];
    *p = (mem_place){.type = t, .record = record, .has_address = true};
    p->rank = length != 0;
    p->dims[0] = length;
    p->align = record == MEM_SCALAR ? sizes[t] : m->records[record].align;
    snprintf(p->text, sizeof p->text, "%s", text);
    return p;
}

mem_name *mem_add_name(mem *m, const char *text, gen_type t, uint32_t bound)
{
    if (m->name_count == MEM_MAX_NAMES)
        m->name_count--;
    mem_name *n = &m->names[m->name_count++];
    *n = (mem_name){.type = t, .bound = bound};
    snprintf(n->text, sizeof n->text, "%s", text);
    return n;
}

const mem_place *mem_pick(mem *m, bool for_store)
{
    for (int i = 0; i < 30 && m->place_count; i++) {
        const mem_place *p = &m->places[mem_below(m, m->place_count)];
        if (!for_store || !p->is_constant)
            return p;
    }
    return NULL;
}

const mem_place *mem_pick_like(mem *m, gen_type t, int record, uint32_t rank, uint32_t length,
                               bool for_store)
{
    const mem_place *fits[MEM_MAX_PLACES];
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->place_count; i++) {
        const mem_place *p = &m->places[i];
        if (p->record == record && (record != MEM_SCALAR || p->type == t) && p->rank == rank &&
            (!rank || p->dims[0] >= length) && !(for_store && p->is_constant))
            fits[n++] = p;
    }
    return n ? fits[mem_below(m, n)] : NULL;
}

// --- accesses
static bool is_visible(const mem *m, const char *text)
{
    for (uint32_t i = 0; i < m->name_count; i++)
        if (strcmp(m->names[i].text, text) == 0)
            return true;
    return false;
}

// Arithmetic on an index: what stays below `length` is known here, and not to the compiler.
static bool worked_index(mem *m, const mem_name *name, uint32_t length)
{
    uint32_t spare = length - name->bound;
    switch (mem_below(m, 7)) {
    case 0: // wraps on the way
        if (!is_visible(m, "p0"))
            return false;
        mem_write(m, "(u32)%s - p0 + %u", name->text, m->p0 + mem_below(m, spare + 1));
        return true;
    case 1: {
        uint32_t by = 1 + mem_below(m, 2), most = (length << by) - name->bound;
        mem_write(m, "(%s + %u) >> %u", name->text, mem_below(m, most + 1), by);
        return true;
    }
    case 2:
        if (name->bound * 2 > length)
            return false;
        mem_write(m, mem_chance(m, 50) ? "%s * 2 + %u" : "(%s << 1) + %u", name->text,
                  mem_below(m, length - name->bound * 2 + 2));
        return true;
    case 4: { // far from 0 on the way
        uint32_t by = 1u << mem_below(m, 3);
        if ((name->bound - 1) * by >= length)
            return false;
        mem_write(m, "((");
        mem_test(m);
        mem_write(m, " ? -1073741824 : (i32)%s - 1073741824) + 1073741824) * %u", name->text, by);
        return true;
    }
    case 5: { // a multiple that is far from 0 on the way, and a number that brings it back
        uint32_t by = mem_chance(m, 50) ? 4 : 8, most = (name->bound - 1) * by + 1;
        if (most >= length || !is_visible(m, "p0"))
            return false;
        mem_write(m, "((i64)(p0 + %uu) << %u) + (i64)(((", 8 - m->p0, by == 4 ? 29 : 30);
        mem_test(m);
        mem_write(m, " ? -1073741824 : (i32)%s - 1073741824) + 1073741824) * %u) - %llul",
                  name->text, by, ((unsigned long long)by << 30) - 1 - mem_below(m, length - most));
        return true;
    }
    case 3: mem_write(m, "%s / %u", name->text, 2 + mem_below(m, 3)); return true;
    default: mem_write(m, "(%s + %u) %% %u", name->text, mem_below(m, 9), length); return true;
    }
}

void mem_index(mem *m, uint32_t length)
{
    uint32_t k = mem_below(m, 100), bounded[MEM_MAX_NAMES], n = 0;
    for (uint32_t i = 0; i < m->name_count; i++)
        if (m->names[i].bound && m->names[i].bound <= length)
            bounded[n++] = i;
    if (n && k < 45) {
        const mem_name *name = &m->names[bounded[mem_below(m, n)]];
        uint32_t spare = length - name->bound;
        if (mem_chance(m, 20) && worked_index(m, name, length))
            return;
        if (spare && mem_chance(m, 60))
            mem_write(m, mem_chance(m, 80) ? "%s + %u" : "%s + %uu", name->text,
                      1 + mem_below(m, spare));
        else if (mem_chance(m, 20))
            mem_write(m, "%u - %s", length - 1, name->text);
        else if (name->bound % 2 == 0 && mem_chance(m, 15))
            mem_write(m, "%s ^ 1", name->text);
        else
            mem_write(m, "%s", name->text);
    } else if (k < 80 || length == 1) {
        mem_write(m, "%u", mem_below(m, length));
    } else {
        uint32_t mask = 1; // the largest power of two that fits
        while (mask * 2 <= length)
            mask *= 2;
        if (mask > 2 && mem_chance(m, 40))
            mask /= 2;
        mem_write(m, "((u32)");
        mem_expr(m, 1);
        if (mask < 2 || mem_chance(m, 15)) {
            mem_write(m, " %% %u)", length);
        } else {
            mem_write(m, " & %u)", mask - 1);
            if (mask < length)
                mem_write(m, " + %u", mem_below(m, length - mask + 1));
        }
    }
}

static gen_type access_member(mem *m, int record)
{
    while (record != MEM_SCALAR) {
        const mem_record *r = &m->records[record];
        const mem_member *member = &r->members[mem_below(m, r->count)];
        mem_write(m, "%s", member->name);
        if (member->length) {
            mem_write(m, "[");
            mem_index(m, member->length);
            mem_write(m, "]");
        }
        record = member->record;
        if (record == MEM_SCALAR)
            return member->type;
        mem_write(m, ".");
    }
    return GT_I32;
}

// False: an arrow was written, a member must follow.
static bool write_element(mem *m, const mem_place *p, bool member_follows)
{
    if (p->rank == 0 && p->is_pointer && member_follows) {
        mem_write(m, "%s->", p->text);
        return false;
    }
    if (p->rank == 0) {
        mem_write(m, p->is_pointer ? "(*%s)" : "%s", p->text);
        return true;
    }
    if (p->rank == 1 && p->is_pointer && member_follows && mem_chance(m, 25)) {
        mem_write(m, "(%s + (", p->text);
        mem_index(m, p->dims[0]);
        mem_write(m, "))->");
        return false;
    }
    if (p->rank == 1 && mem_chance(m, 12)) {
        mem_write(m, "(*(%s + (", p->text);
        mem_index(m, p->dims[0]);
        mem_write(m, ")))");
        return true;
    }
    mem_write(m, "%s", p->text);
    if (p->rank == 1 && p->before && mem_chance(m, 30)) {
        mem_write(m, "[-%u]", 1 + mem_below(m, p->before));
        return true;
    }
    for (uint32_t i = 0; i < p->rank; i++) {
        mem_write(m, "[");
        mem_index(m, p->dims[i]);
        mem_write(m, "]");
    }
    return true;
}

gen_type mem_access(mem *m, const mem_place *p)
{
    mem_place place = *p; // indices may hold accesses of their own, and p may move
    bool plain = write_element(m, &place, place.record != MEM_SCALAR);
    if (place.record == MEM_SCALAR)
        return place.type;
    if (plain)
        mem_write(m, ".");
    return access_member(m, place.record);
}

void mem_element(mem *m, const mem_place *p)
{
    mem_place place = *p;
    write_element(m, &place, false);
}

// --- expressions
static void load(mem *m)
{
    const mem_place *p = mem_pick(m, false);
    if (p)
        mem_access(m, p);
    else
        mem_write(m, "%u", mem_below(m, 100));
}

static void leaf(mem *m)
{
    uint32_t k = mem_below(m, 100);
    if (m->name_count && mem_chance(m, 5)) { // a product that a loop may turn into a sum
        mem_write(m, "((i64)%s * %s)", m->names[mem_below(m, m->name_count)].text,
                  m->names[mem_below(m, m->name_count)].text);
        return;
    }
    if (k < 55)
        load(m);
    else if (k < 80 && m->name_count)
        mem_write(m, "%s", m->names[mem_below(m, m->name_count)].text);
    else if (k < 90)
        mem_write(m, "%u", mem_below(m, 16));
    else
        mem_write(m, "0x%xu", mem_below(m, 0x7fffffff));
}

void mem_expr(mem *m, int depth)
{
    static const char *const ops[] = {"+", "-", "^", "&", "|", "*", "+", "-", "+"};
    static const char *const compare[] = {"<", ">=", "==", "!="};
    uint32_t k = depth > 0 ? mem_below(m, 100) : 0;
    if (k < 35) {
        leaf(m);
        return;
    }
    mem_write(m, "(");
    if (k < 75) {
        mem_expr(m, depth - 1);
        mem_write(m, " %s ", ops[mem_below(m, 9)]);
        mem_expr(m, depth - 1);
    } else if (k < 81) {
        mem_write(m, "(%s)", gen_type_name(mem_type(m)));
        mem_expr(m, depth - 1);
    } else if (k < 87) {
        bool left = mem_chance(m, 50);
        const char *op = left ? "<<" : ">>";
        uint32_t by = 1 + mem_below(m, 31);
        mem_write(m, "(%s)", left ? "u32" : mem_chance(m, 50) ? "i32" : "u64");
        mem_expr(m, depth - 1);
        mem_write(m, " %s %u", op, by);
        if (mem_chance(m, 30)) // together about the width
            mem_write(m, " %s %u", op, (31 + mem_below(m, 3) - by) & 31);
    } else if (k < 92) {
        mem_expr(m, depth - 1);
        mem_write(m, " %s ", compare[mem_below(m, 4)]);
        mem_expr(m, depth - 1);
        mem_write(m, " ? ");
        mem_expr(m, depth - 1);
        mem_write(m, " : ");
        mem_expr(m, depth - 1);
    } else if (k < 95) {
        static const char *const by[] = {"0",  "1",  "2",  "3",  "7",  "8",
                                         "10", "64", "-1", "-8", "-3", "0x80000000"};
        const char *t = gen_type_name((gen_type)(GT_I32 + mem_below(m, 4)));
        mem_write(m, "%s(%s, (%s)", mem_chance(m, 50) ? "DIV" : "REM", t, t);
        mem_expr(m, depth - 1);
        mem_write(m, ", (%s)", t);
        if (mem_chance(m, 60))
            mem_write(m, "(%s)", by[mem_below(m, 12)]);
        else
            mem_expr(m, depth - 1);
        mem_write(m, ")");
    } else if (k < 97) {
        mem_expr(m, depth - 1);
        mem_write(m, " %s ", compare[mem_below(m, 4)]);
        mem_expr(m, depth - 1);
    } else {
        mem_write(m, "%s", mem_chance(m, 50) ? "~" : "-");
        mem_expr(m, depth - 1);
    }
    mem_write(m, ")");
}

void mem_typed(mem *m, gen_type t, int depth)
{
    mem_write(m, "(%s)", gen_type_name(t));
    mem_expr(m, depth);
}

void mem_test(mem *m)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    uint32_t k = mem_below(m, 10);
    if (k < 3) {
        mem_write(m, "(");
        mem_expr(m, 1);
        mem_write(m, " & %u) != 0", 1u << mem_below(m, 4));
        return;
    }
    if (k == 3)
        mem_write(m, "!(");
    mem_expr(m, 1);
    mem_write(m, " %s ", compare[mem_below(m, 6)]);
    if (mem_chance(m, 50))
        mem_write(m, "%u", mem_below(m, 40));
    else
        mem_expr(m, 1);
    if (k == 3)
        mem_write(m, ")");
    if (k == 4) {
        mem_write(m, mem_chance(m, 50) ? " && " : " || ");
        mem_expr(m, 1);
        mem_write(m, " != %u", mem_below(m, 4));
    }
}
