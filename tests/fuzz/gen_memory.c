// Profile `memory`: programs that mostly load and store, over few small arrays and with indices
// close to each other, so that aliasing, forwarding, splitting, hoisting and vectorising meet. What
// people write: swaps, rows and columns, records member by member, pointers into the same array,
// walking pointers, punning, calls with pointers and with records by value, early exits, also by
// goto out of nests, every form of switch. A thread has parts of its own of global and shared
// memory; threads meet across barriers. Start reading at gen_memory.
#include "fuzz/gen_place.h"

#include <string.h>

static void statement(mem *m, int depth, bool in_loop);
static void leave(mem *m, bool in_loop);

// --- results
// A sum to which every member of a record adds that is no record itself.
static void all_members(mem *m, const mem_place *p)
{
    const mem_record *r = &m->records[p->record];
    mem_write(m, "0");
    for (uint32_t i = 0; i < r->count; i++)
        if (r->members[i].record == MEM_SCALAR)
            mem_write(m, r->members[i].length ? " + (u64)%s.%s[0] * %u" : " + (u64)%s.%s * %u",
                      p->text, r->members[i].name, i + 1);
}

// What a name or a place holds goes to the thread's results, where the kernel has them.
static void tell(mem *m, const mem_name *name, const mem_place *p)
{
    if (!m->g.in_kernel)
        return;
    mem_line(m);
    mem_write(m, "out[%u] ^= (u64)", mem_below(m, 8));
    if (name) {
        mem_write(m, "%s", name->text);
    } else {
        mem_write(m, "(");
        all_members(m, p);
        mem_write(m, ")");
    }
    mem_write(m, ";\n");
}

// --- blocks
static void open_block(mem *m)
{
    mem_write(m, " {\n");
    m->g.indent++;
}

static void close_block(mem *m)
{
    m->g.indent--;
    mem_line(m);
    mem_write(m, "}\n");
}

static void block_of(mem *m, int depth, bool in_loop, uint32_t most)
{
    uint32_t places = m->place_count, names = m->name_count;
    open_block(m);
    for (uint32_t i = 0, n = 1 + mem_below(m, most); i < n; i++) {
        statement(m, depth, in_loop);
        if (m->g.label_count && mem_chance(m, 25))
            leave(m, in_loop);
    }
    if (m->name_count > names && mem_chance(m, 50))
        tell(m, &m->names[names + mem_below(m, m->name_count - names)], NULL);
    close_block(m);
    m->place_count = places;
    m->name_count = names;
}

// --- control flow
static void if_else(mem *m, int depth, bool in_loop)
{
    mem_line(m);
    mem_write(m, "if (");
    mem_test(m);
    mem_write(m, ")");
    block_of(m, depth - 1, in_loop, 3);
    if (mem_chance(m, 50)) {
        mem_line(m);
        mem_write(m, "else");
        block_of(m, depth - 1, in_loop, 3);
    }
}

static void counted_loop(mem *m, int depth)
{
    static const gen_type counters[] = {GT_U32, GT_U32, GT_I32, GT_I32, GT_U8, GT_I64, GT_U16};
    uint32_t places = m->place_count, names = m->name_count, bound = 1 + mem_below(m, 8);
    const char *type = gen_type_name(counters[mem_below(m, 7)]);
    char i[24];
    snprintf(i, sizeof i, "v%u", mem_fresh(m));
    if (mem_chance(m, 25))
        mem_write(m, "#pragma unroll %u\n", 1 + mem_below(m, 4));
    mem_line(m);
    uint32_t k = mem_below(m, 14), step = 1 + mem_below(m, 3);
    if (k < 5) {
        mem_write(m, "for (%s %s = 0; %s < %u; %s++)", type, i, i, bound, i);
    } else if (k < 10 && k > 6) {
        mem_write(m, "for (%s %s = %u; %s %s %u; %s += %u)", type, i, mem_below(m, bound), i,
                  k == 9 ? "<" : "<=", k == 9 ? bound : bound - 1, i, step);
    } else if (k == 10) {
        mem_write(m, "for (%s %s = %u; %s >= %u; %s -= %u)", type, i, bound + step, i, step, i,
                  step);
        bound += step + 1;
    } else if (k < 7) { // the bound may change while it runs
        mem_write(m, "for (%s %s = 0; %s < (i32)(", type, i, i);
        mem_expr(m, 1);
        mem_write(m, " & 7); %s++)", i);
        bound = 7;
    } else if (k == 11) {
        mem_write(m, "for (i32 %s = (i32)(", i);
        mem_expr(m, 1);
        mem_write(m, " & 7); %s > 0; %s -= %u)", i, i, step);
        bound = 8;
    } else if (k < 13) {
        mem_write(m, "for (%s %s = %u; %s-- > 0;)", type, i, bound, i);
    } else {
        mem_write(m, "for (%s %s = 0; %s < %u && (", type, i, i, bound);
        mem_test(m);
        mem_write(m, "); %s += 2)", i);
    }
    mem_add_name(m, i, GT_U32, bound);
    uint32_t labels = m->g.label_count;
    if (labels < GEN_MAX_LABELS && mem_chance(m, 25)) // behind the loop
        m->g.labels[m->g.label_count++].name = mem_fresh(m);
    block_of(m, depth - 1, true, 4);
    if (m->g.label_count > labels) {
        mem_line(m);
        mem_write(m, "l%u: ;\n", m->g.labels[labels].name);
    }
    m->g.label_count = labels;
    m->place_count = places;
    m->name_count = names;
}

static void tested_loop(mem *m, int depth)
{
    uint32_t n = mem_fresh(m), most = 1 + mem_below(m, 5);
    bool is_do = mem_chance(m, 50);
    mem_line(m);
    mem_write(m, "u32 w%u = 0;\n", n);
    mem_line(m);
    if (is_do) {
        mem_write(m, "do");
    } else {
        mem_write(m, "while (w%u++ < %u && (", n, most);
        mem_test(m);
        mem_write(m, "))");
    }
    block_of(m, depth - 1, true, 3);
    if (is_do) {
        mem_line(m);
        mem_write(m, "while (w%u++ < %u && (", n, most);
        mem_test(m);
        mem_write(m, "));\n");
    }
}

static void leave(mem *m, bool in_loop)
{
    mem_line(m);
    mem_write(m, "if (");
    mem_test(m);
    if (m->may_return && (!in_loop || mem_chance(m, 25))) {
        mem_write(m, ") { return");
        if (m->returns_record != MEM_SCALAR) {
            mem_write(m, " r");
        } else if (m->returns != GT_COUNT) {
            mem_write(m, " ");
            mem_typed(m, m->returns, 1);
        }
        mem_write(m, "; }\n");
        return;
    }
    if (m->g.label_count && mem_chance(m, 50))
        mem_write(m, ") { goto l%u; }\n", m->g.labels[mem_below(m, m->g.label_count)].name);
    else
        mem_write(m, ") { %s; }\n", !in_loop ? ";" : mem_chance(m, 50) ? "break" : "continue");
}

// Labels in any order, default anywhere or nowhere, several labels, falling through, values of
// every width.
static void switch_of(mem *m, int depth, bool in_loop)
{
    uint32_t set = mem_below(m, 5), n = 1 + mem_below(m, 6), middle = mem_below(m, n + 3);
    uint32_t places = m->place_count, names = m->name_count;
    mem_line(m);
    mem_write(m, "switch ((%s)((", gen_type_name(gen_labels[set].type));
    if (set != 0 && mem_chance(m, 40))
        mem_write(m, "%s ? %s : ", "thread_rank() & 1", gen_labels[set].text[mem_below(m, 6)]);
    mem_expr(m, 2);
    mem_write(m, set == 0 || mem_chance(m, 80) ? " & 7) - %d))" : ") - %d))",
              gen_labels[set].text[0][0] == '-' && mem_chance(m, 50));
    open_block(m);
    for (uint32_t i = 0; i < n; i++) {
        if (i == middle) {
            mem_line(m);
            mem_write(m, "default:\n");
        }
        mem_line(m);
        mem_write(m, "case %s:\n", gen_labels[set].text[i]);
        if (mem_chance(m, 25) && i + 1 < n && i + 1 != middle) {
            mem_line(m);
            mem_write(m, "case %s:\n", gen_labels[set].text[++i]);
        }
        if (mem_chance(m, 10))
            continue; // nothing of its own
        m->g.indent++;
        for (uint32_t k = 0, most = 1 + mem_below(m, 2); k < most; k++)
            if (mem_chance(m, 70))
                mem_assign(m); // directly, without a block
            else {
                mem_line(m);
                block_of(m, depth - 1, in_loop, 2);
            }
        if (mem_chance(m, 70)) {
            mem_line(m);
            mem_write(m, in_loop && mem_chance(m, 20) ? "continue;\n" : "break;\n");
        }
        m->g.indent--;
    }
    if (n <= middle && middle < n + 2) {
        mem_line(m);
        mem_write(m, "default:");
        block_of(m, depth - 1, in_loop, 2);
    } else {
        mem_line(m);
        mem_write(m, ";\n"); // C wants a statement behind the last label
    }
    close_block(m);
    m->place_count = places;
    m->name_count = names;
}

// --- labels inside inner statements, as in Duff's device
typedef struct inner_labels {
    const gen_label_set *set;
    uint32_t next, count; // labels written and wanted
    uint32_t counter;     // the next unused w%u
    uint32_t counter_end;
    bool has_default;
} inner_labels;

// Nothing is declared here: a jump would go round what sets it.
static void inner_body(mem *m, inner_labels *in, int depth, bool in_loop, bool may_continue)
{
    for (uint32_t i = 0, n = 2 + mem_below(m, 2); i < n; i++) {
        uint32_t k = mem_below(m, 10);
        if (k < 5 && in->next < in->count) {
            mem_line(m);
            mem_write(m, "case %s:\n", in->set->text[in->next++]);
            mem_assign(m);
        } else if (k == 5 && !in->has_default) {
            in->has_default = true;
            mem_line(m);
            mem_write(m, "default:\n");
            mem_assign(m);
        } else if (k == 6 && depth > 0) {
            mem_line(m);
            mem_write(m, "if (");
            mem_test(m);
            mem_write(m, ")");
            open_block(m);
            inner_body(m, in, depth - 1, in_loop, may_continue);
            close_block(m);
            if (mem_chance(m, 60)) {
                mem_line(m);
                mem_write(m, "else");
                open_block(m);
                inner_body(m, in, depth - 1, in_loop, may_continue);
                close_block(m);
            }
        } else if (k < 9 && depth > 0 && in->counter < in->counter_end) {
            uint32_t w = in->counter++, most = 1 + mem_below(m, 4);
            mem_line(m);
            if (k == 7)
                mem_write(m, "do");
            else if (mem_chance(m, 50))
                mem_write(m, "while (w%u++ < %u)", w, most);
            else
                mem_write(m, "for (; w%u < %u; w%u++)", w, most, w);
            open_block(m);
            inner_body(m, in, depth - 1, true, true);
            close_block(m);
            if (k == 7) {
                mem_line(m);
                mem_write(m, "while (w%u++ < %u && (", w, most);
                mem_test(m);
                mem_write(m, "));\n");
            }
        } else if (k == 9) {
            mem_line(m);
            if (mem_chance(m, 70)) {
                mem_write(m, "if (");
                mem_test(m);
                mem_write(m, ") ");
            }
            mem_write(m, "{ %s; }\n", may_continue && mem_chance(m, 40) ? "continue" : "break");
        } else {
            mem_assign(m);
        }
    }
}

static void scattered_switch(mem *m, bool in_loop)
{
    inner_labels in = {.set = &gen_labels[mem_below(m, GEN_LABEL_SETS)],
                       .count = 2 + mem_below(m, 4)};
    in.counter = m->g.next_name;
    in.counter_end = m->g.next_name += 3;
    mem_line(m);
    mem_write(m, "u32 w%u = 0, w%u = 0, w%u = 0;\n", in.counter, in.counter + 1, in.counter + 2);
    mem_line(m);
    mem_write(m, "switch ((%s)(", gen_type_name(in.set->type));
    mem_expr(m, 2);
    mem_write(m, " & 7))");
    open_block(m);
    while (in.next < in.count)
        inner_body(m, &in, 3, in_loop, in_loop);
    mem_line(m);
    mem_write(m, ";\n");
    close_block(m);
}

// --- calls
// A record to pass by value: often the one in shared memory, which the callee may change, too.
static const mem_place *argument(mem *m, int record, bool for_store)
{
    for (uint32_t i = 0; i < m->place_count; i++)
        if (record == m->shared_record && m->places[i].text[0] == 'w' && mem_chance(m, 60))
            return &m->places[i];
    return mem_pick_like(m, GT_I32, record, mem_below(m, 2), 1, for_store);
}

static void call_of(mem *m, uint32_t which)
{
    uint32_t n = mem_fresh(m);
    const mem_call *c = &m->calls[which];
    const mem_place *first, *second;
    char text[24];
    snprintf(text, sizeof text, "v%u", n);
    switch (c->shape) {
    case MEM_TWO_POINTERS:
        first = mem_pick_like(m, c->type, MEM_SCALAR, 1, 4, true);
        second = mem_pick_like(m, c->type, MEM_SCALAR, 1, 4, true);
        if (!first || !second)
            return;
        mem_line(m);
        mem_write(m, "%s %s = f%u_%u(%s + %u, %s + (", gen_type_name(c->type), text, which,
                  m->g.number, first->text, mem_below(m, first->dims[0] - 3), second->text);
        mem_index(m, second->dims[0] - 3);
        mem_write(m, "), (u32)");
        mem_expr(m, 1);
        mem_write(m, ");\n");
        tell(m, mem_add_name(m, text, c->type, 0), NULL);
        return;
    case MEM_ROWS:
        first = mem_pick_like(m, c->type, MEM_SCALAR, 2, 4, true);
        if (!first || first->dims[1] != 4)
            return;
        mem_line(m);
        mem_write(m, "f%u_%u(%s, (u32)", which, m->g.number, first->text);
        mem_expr(m, 1);
        mem_write(m, ");\n");
        return;
    case MEM_BY_VALUE:
        first = argument(m, c->record, true);
        second = mem_chance(m, 50) ? first
                                   : mem_pick_like(m, GT_I32, c->record, mem_below(m, 2), 1, true);
        if (!first || !second || !second->has_address)
            return;
        mem_place a = *first, b = *second;
        mem_line(m);
        mem_write(m, "%s %s = f%u_%u(", m->records[c->record].name, text, which, m->g.number);
        if (first == second && a.rank == 1 && mem_chance(m, 60)) { // the same element
            uint32_t at = mem_below(m, a.dims[0]);
            mem_write(m, "%s[%u], &%s[%u]", a.text, at, a.text, at);
        } else {
            mem_element(m, &a);
            mem_write(m, ", &");
            mem_element(m, &b);
        }
        mem_write(m, ", (u32)");
        mem_expr(m, 1);
        mem_write(m, ");\n");
        tell(m, NULL, mem_add_place(m, text, GT_I32, m->calls[which].record, 0));
        return;
    case MEM_RECORD:
        first = argument(m, c->record, false);
        if (!first)
            return;
        mem_line(m);
        mem_write(m, "%s %s = f%u_%u(", gen_type_name(c->type), text, which, m->g.number);
        mem_element(m, first);
        mem_write(m, ", (u32)");
        mem_expr(m, 1);
        mem_write(m, ");\n");
        tell(m, mem_add_name(m, text, m->calls[which].type, 0), NULL);
        return;
    case MEM_SHAPES: break;
    }
}

static void call(mem *m)
{
    if (m->call_count)
        call_of(m, mem_below(m, m->call_count));
}

static void statement(mem *m, int depth, bool in_loop)
{
    if (m->g.budget)
        m->g.budget--;
    uint32_t k = m->g.budget && depth > 0 ? mem_below(m, 100) : 0;
    if (k < 67)
        mem_touch(m);
    else if (k < 73)
        call(m);
    else if (k < 81)
        if_else(m, depth, in_loop);
    else if (k < 88)
        counted_loop(m, depth);
    else if (k < 91)
        tested_loop(m, depth);
    else if (k < 94)
        switch_of(m, depth, in_loop);
    else if (k < 96)
        scattered_switch(m, in_loop);
    else
        leave(m, in_loop);
}

// --- helper functions
static void add_shared_record(mem *m)
{
    char text[40];
    if (m->shared_record == MEM_SCALAR)
        return;
    snprintf(text, sizeof text, "w_%u[thread_rank()]", m->g.number);
    mem_add_place(m, text, GT_I32, m->shared_record, 0)->has_address = false;
}

static void helper(mem *m)
{
    mem_call c = {.shape = (mem_shape)mem_below(m, MEM_SHAPES), .type = mem_place_type(m)};
    uint32_t which = m->call_count;
    const char *t = gen_type_name(c.type);
    if (m->shared_record != MEM_SCALAR && mem_chance(m, 50))
        c.shape = mem_chance(m, 50) ? MEM_BY_VALUE : MEM_RECORD;
    bool has_record = c.shape == MEM_BY_VALUE || c.shape == MEM_RECORD;
    bool is_kept = mem_chance(m, 50); // nobody changes the argument
    c.record = has_record ? mem_any_record(m) : MEM_SCALAR;
    if (has_record && m->shared_record != MEM_SCALAR && mem_chance(m, 70))
        c.record = m->shared_record;
    m->place_count = m->name_count = 0;
    m->call_count = 0; // no calls in calls: names would meet
    m->g.indent = 1;
    m->may_return = mem_chance(m, 50);
    m->returns = c.shape == MEM_TWO_POINTERS || c.shape == MEM_RECORD ? c.type : GT_COUNT;
    m->returns_record = c.shape == MEM_BY_VALUE ? c.record : MEM_SCALAR;
    if (c.shape == MEM_TWO_POINTERS) {
        bool stars = mem_chance(m, 50);
        mem_write(m, "static %s f%u_%u(%s %s, %s %s, u32 n)\n{\n", t, which, m->g.number, t,
                  stars ? "*a" : "a[4]", t, stars ? "*b" : "b[]");
        mem_add_place(m, "a", c.type, MEM_SCALAR, 4)->is_pointer = true;
        mem_add_place(m, "b", c.type, MEM_SCALAR, 4)->is_pointer = true;
    } else if (c.shape == MEM_ROWS) {
        mem_write(m, "static void f%u_%u(%s %s, u32 n)\n{\n", which, m->g.number, t,
                  mem_chance(m, 50) ? "(*a)[4]" : "a[][4]");
        mem_place *p = mem_add_place(m, "a", c.type, MEM_SCALAR, 4);
        p->rank = 2;
        p->dims[1] = 4;
    } else {
        const char *r = m->records[c.record].name;
        if (c.shape == MEM_BY_VALUE)
            mem_write(m, "static %s f%u_%u(%s r, %s *p, u32 n)\n{\n", r, which, m->g.number, r, r);
        else
            mem_write(m, "static %s f%u_%u(%s r, u32 n)\n{\n", t, which, m->g.number, r);
        mem_place *own = mem_add_place(m, "r", GT_I32, c.record, 0);
        own->is_constant = is_kept;
        own->has_address = !is_kept && c.shape == MEM_BY_VALUE;
        if (c.shape == MEM_BY_VALUE)
            mem_add_place(m, "p", GT_I32, c.record, 0)->is_pointer = true;
    }
    mem_place argument = m->places[0];
    add_shared_record(m);
    mem_place last = m->places[m->place_count - 1];
    mem_add_name(m, "n", GT_U32, 0);
    m->g.budget = 3 + mem_below(m, 6);
    while (m->g.budget)
        statement(m, 2, false);
    if (has_record && !last.is_constant && mem_chance(m, 60)) { // perhaps what was passed
        mem_line(m);
        gen_type member = mem_access(m, &last);
        mem_write(m, " += (%s)(1 + n);\n", gen_type_name(member));
    }
    mem_line(m);
    if (m->returns != GT_COUNT) {
        mem_write(m, "return (%s)(", t);
        if (has_record)
            all_members(m, &argument);
        else
            mem_access(m, &argument);
        mem_write(m, " + ");
        mem_expr(m, 1);
        mem_write(m, ");\n");
    } else {
        mem_write(m, c.shape == MEM_ROWS ? "return;\n" : "return r;\n");
    }
    mem_write(m, "}\n\n");
    m->calls[which] = c;
    m->call_count = which + 1;
}

// --- whole programs
typedef struct layout { // of a launch
    uint32_t block[3], grid[3], threads;
    bool has_mark; // block(...)
} layout;

static layout new_layout(mem *m)
{
    static const uint8_t blocks[][3] = {{32, 1, 1}, {16, 1, 1}, {7, 1, 1},  {33, 1, 1},
                                        {8, 4, 1},  {4, 4, 2},  {5, 3, 1},  {64, 1, 1},
                                        {1, 1, 1},  {2, 2, 10}, {16, 3, 1}, {32, 2, 1}};
    static const uint8_t grids[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {1, 2, 2}};
    layout l = {.has_mark = mem_chance(m, 60)};
    uint32_t b = mem_below(m, 12), g = mem_below(m, 5);
    l.threads = 1;
    for (int i = 0; i < 3; i++) {
        l.block[i] = blocks[b][i];
        l.grid[i] = grids[g][i];
        l.threads *= l.block[i] * l.grid[i];
    }
    return l;
}

typedef struct parameter { // a buffer of which each thread has its own part
    gen_type type;
    int record;
    uint32_t length; // of a part
} parameter;

// A row of shared memory for each thread; they meet only in `exchange`.
static void new_shared(mem *m, const layout *l)
{
    gen_type t = mem_place_type(m);
    uint32_t threads = l->block[0] * l->block[1] * l->block[2], length = 2u << mem_below(m, 3);
    uint32_t n = mem_fresh(m);
    char text[24];
    snprintf(text, sizeof text, "s%u", n);
    mem_line(m); // one line: the shrinker takes all of it or nothing
    mem_write(m,
              "shared %s all%u[%u][%u]; %s *%s = all%u[thread_rank()]; for (u32 i = 0; i < %u; "
              "i++) { %s[i] = (%s)(in[(rank + i) & 63]); }\n",
              gen_type_name(t), n, threads, length, gen_type_name(t), text, n, length, text,
              gen_type_name(t));
    mem_add_place(m, text, t, MEM_SCALAR, length);
}

static void exchange(mem *m, const layout *l)
{
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    const mem_place *p = NULL;
    for (int i = 0; i < 20 && (!p || p->text[0] != 's'); i++)
        p = mem_pick(m, true);
    if (!p || p->text[0] != 's')
        return;
    mem_place s = *p;
    char text[24];
    snprintf(text, sizeof text, "v%u", mem_fresh(m));
    uint32_t from = 1 + mem_below(m, 3), at = mem_below(m, s.dims[0]);
    bool is_plain = mem_chance(m, 50);
    for (int round = 0; round < (mem_chance(m, 40) ? 2 : 1);
         round++) { // again: it may have changed
        if (round)
            mem_assign(m);
        mem_line(m);
        mem_write(m, "barrier();\n");
        mem_line(m);
        if (!round)
            mem_write(m, "%s ", gen_type_name(s.type));
        mem_write(m, "%s %s all%s[(thread_rank() + %u) %% %u][", text, round ? "^=" : "=",
                  s.text + 1, from, threads);
        mem_write(m, is_plain ? "%u];\n" : "(rank + %u) & %u];\n", at, s.dims[0] - 1);
        mem_line(m);
        mem_write(m, "barrier();\n");
    }
    mem_add_name(m, text, s.type, 0);
}

// What a thread has in its own memory goes to `out`; sometimes only a part of it, so that the rest
// may be dropped.
static void results(mem *m)
{
    uint32_t slot = 0;
    for (uint32_t i = 0; i < m->name_count; i++)
        if (m->names[i].text[0] == 'v' && mem_chance(m, 80)) {
            mem_line(m);
            mem_write(m, "out[%u] ^= (u64)%s + %u;\n", slot++ & 7, m->names[i].text, i);
        }
    for (uint32_t i = 0; i < m->place_count; i++) {
        mem_place p = m->places[i];
        if (p.text[0] == 'g' || p.is_constant || p.is_pointer || mem_chance(m, 20))
            continue;
        if (p.record == MEM_SCALAR && p.rank == 1 && mem_chance(m, 60)) {
            mem_line(m);
            mem_write(m, "for (u32 i = 0; i < %u; i++) { out[%u] = out[%u] * 31 + (u64)%s[i]; }\n",
                      p.dims[0], slot & 7, slot & 7, p.text);
            slot++;
            continue;
        }
        for (uint32_t k = 0; k < 3; k++) {
            mem_line(m);
            mem_write(m, "out[%u] ^= %u + (u64)", slot++ & 7, i);
            mem_access(m, &p);
            mem_write(m, ";\n");
        }
    }
}

static void tables(mem *m)
{
    gen_type t = mem_type(m);
    char text[24];
    uint32_t length = 4u << mem_below(m, 2);
    snprintf(text, sizeof text, "k_%u", m->g.number);
    mem_write(m, "static const %s %s[%u] = {", gen_type_name(t), text, length);
    for (uint32_t i = 0; i < length; i++)
        mem_write(m, "%s%u", i ? ", " : "", mem_below(m, 128));
    mem_write(m, "};\n\n");
    m->g.helpers[0].result = t; // kept for the kernel
    m->g.helpers[0].param_count = length;
}

static void signature(mem *m, const layout *l, const parameter *parameters, uint32_t count)
{
    mem_write(m, "//! run fuzz_%u grid=%u,%u,%u block=%u,%u,%u (", m->g.number, l->grid[0],
              l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
    for (uint32_t i = 0; i < count; i++) {
        const parameter *p = &parameters[i];
        mem_write(m, "%s[%u]:bits%s, ",
                  p->record == MEM_SCALAR ? gen_type_name(p->type) : m->records[p->record].name,
                  p->length * l->threads, p->record < m->own_records ? "" : "@u8");
    }
    mem_write(m, "i32[64]:%s, u64[%u], u32=%u, i32=%d)\n", mem_chance(m, 50) ? "bits" : "mod16",
              l->threads * 8, m->p0, (int)mem_below(m, 40) - 20);
    mem_write(m, "kernel ");
    if (l->has_mark)
        mem_write(m, "block(%u, %u, %u) ", l->block[0], l->block[1], l->block[2]);
    mem_write(m, "void fuzz_%u(", m->g.number);
    for (uint32_t i = 0; i < count; i++)
        mem_write(m, "%s *b%u, ",
                  parameters[i].record == MEM_SCALAR ? gen_type_name(parameters[i].type)
                                                     : m->records[parameters[i].record].name,
                  i);
    mem_write(m, "const i32 *in, u64 *outs, u32 p0, i32 p1)\n{\n");
}

static bool memory(uint64_t seed, unsigned number, FILE *out, uint32_t least, uint32_t range)
{
    static mem state;
    mem *m = &state;
    *m = (mem){.g = {.out = out, .random = seed * 0x2545f4914f6cdd1du + 7, .number = number}};
    parameter parameters[3];
    uint32_t count = 1 + mem_below(m, 3);
    layout l = new_layout(m);
    mem_vectors(m);
    for (uint32_t i = 0, n = 1 + mem_below(m, 2); i < n; i++)
        mem_new_record(m);
    m->p0 = mem_below(m, 8);
    m->favourite = mem_type(m);
    m->favourite_record = (int)mem_below(m, (uint32_t)m->record_count);
    m->shared_record = MEM_SCALAR;
    if (mem_chance(m, 30)) {
        m->shared_record = mem_chance(m, 30) ? mem_any_record(m) : m->record_count - 1;
        mem_write(m, "shared %s w_%u[%u];\n", m->records[m->shared_record].name, number,
                  l.block[0] * l.block[1] * l.block[2]);
    }
    tables(m);
    mem_place table = {.type = m->g.helpers[0].result, .dims = {m->g.helpers[0].param_count}};
    for (uint32_t i = 0, n = mem_chance(m, 75) + mem_below(m, 2); i < n; i++)
        helper(m);
    for (uint32_t i = 0; i < count; i++) {
        parameters[i] = (parameter){mem_place_type(m), MEM_SCALAR, 16u >> mem_below(m, 2)};
        if (mem_chance(m, 35))
            parameters[i] = (parameter){GT_I32, mem_any_record(m), 1u << mem_below(m, 3)};
    }
    signature(m, &l, parameters, count);
    m->place_count = m->name_count = 0;
    m->g.indent = 1;
    mem_line(m);
    mem_write(m, "u32 rank = thread_rank(), id = ((block_z() * grid_dim_y() + block_y()) * "
                 "grid_dim_x() + block_x()) * block_threads() + rank;\n");
    mem_line(m);
    mem_write(m, "u64 *out = outs + id * 8;\n");
    m->g.in_kernel = true;
    for (uint32_t i = 0; i < count; i++) {
        char text[24];
        const parameter *p = &parameters[i];
        snprintf(text, sizeof text, "g%u", i);
        mem_place *g = mem_add_place(m, text, p->type, p->record, p->length);
        g->align =
            p->record == MEM_SCALAR ? mem_size(p->type) * p->length : m->records[p->record].align;
        mem_line(m);
        mem_write(m, "%s *%s = b%u + id * %u;\n", mem_element_name(m, g), text, i, p->length);
    }
    if (m->shared_record != MEM_SCALAR) {
        mem_line(m);
        mem_write(m, "w_%u[rank] = (%s){0};\n", number, m->records[m->shared_record].name);
        add_shared_record(m);
    }
    mem_place *in = mem_add_place(m, "in", GT_I32, MEM_SCALAR, 64);
    in->is_constant = true;
    char name[24];
    snprintf(name, sizeof name, "k_%u", number);
    mem_place *k = mem_add_place(m, name, table.type, MEM_SCALAR, table.dims[0]);
    k->is_constant = true;
    mem_add_name(m, "p0", GT_U32, 8);
    mem_add_name(m, "p1", GT_I32, 0);
    mem_add_name(m, "id", GT_U32, 0);
    mem_add_name(m, "rank", GT_U32, 0);
    bool has_shared = mem_chance(m, 40);
    if (has_shared)
        new_shared(m, &l);
    m->may_return = !has_shared && mem_chance(m, 30);
    m->returns = GT_COUNT;
    m->returns_record = MEM_SCALAR;
    mem_new_name(m);
    mem_new_array(m);
    if (mem_chance(m, 60))
        mem_new_array(m);
    m->g.budget = least + mem_below(m, range);
    while (m->g.budget) {
        statement(m, 3, false);
        if (has_shared && mem_chance(m, 20))
            exchange(m, &l);
    }
    for (uint32_t i = 0; i < m->call_count; i++)
        if (mem_chance(m, 50))
            call_of(m, i);
    results(m);
    mem_write(m, "}\n\n");
    return true;
}

bool gen_memory(uint64_t seed, unsigned number, FILE *out)
{
    return memory(seed, number, out, 8, 20);
}

bool gen_memory_short(uint64_t seed, unsigned number, FILE *out)
{
    return memory(seed, number, out, 3, 6);
}
