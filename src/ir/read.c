// Text to IR: the other half of print.c, line for line. Values and labels may have any name that is
// unique in the function; a value named %sum.12 remembers the name "sum". What is read has the
// right shape but may be unsound: run ir_verify_module on it. Start at ir_read.
#include "ir/nv.h"
#include "ir/scan.h"
#include "ir/tables.h"

enum { DEPTH_LIMIT = 200 }; // of nested control

typedef struct pending { // a function named before it was read
    ir_func *f;          // NULL: it is shared array `index` that names it
    uint32_t index;      // instruction
    str name;
    size_t at;
} pending;

typedef struct reader {
    scanner s;
    ir_module *m;
    ir_func *f;
    map values; // name -> ref
    map labels; // name -> control instruction
    vec(pending) pending;
    vec(ir_ref) operands;
    int depth;
} reader;

// --- names

static uint64_t name_key(reader *r, str name)
{
    return map_key(name_of(r->m->names, name.at, name.len));
}

// %sum.12 was called sum; %12 has no name.
static const char *bare_name(reader *r, str token)
{
    size_t len = token.len;
    while (len && token.at[len - 1] >= '0' && token.at[len - 1] <= '9')
        len--;
    if (!len)
        return NULL;
    bool is_numbered = len < token.len && token.at[len - 1] == '.';
    return name_of(r->m->names, token.at, is_numbered ? len - 1 : token.len);
}

static void define(reader *r, const scan_token *token, ir_ref value)
{
    if (r->s.error)
        return;
    uint64_t *slot = map_at(&r->values, name_key(r, token->text));
    if (*slot) {
        scan_fail(&r->s, token->at, "%%%.*s is defined twice", (int)token->text.len,
                  token->text.at);
        return;
    }
    *slot = value;
    r->f->values.at[value].name = bare_name(r, token->text);
}

static scan_token read_value_name(reader *r)
{
    scan_token token = r->s.token;
    if (token.kind != SCAN_VALUE)
        scan_fail(&r->s, token.at, "a value like %%x is expected here");
    scan_next(&r->s);
    return token;
}

static ir_type read_type(reader *r)
{
    ir_type t = r->s.token.kind == SCAN_WORD ? ir_type_find(r->s.token.text) : IR_VOID;
    if (t == IR_VOID)
        scan_fail(&r->s, r->s.token.at, "a type is expected here");
    scan_next(&r->s);
    return t;
}

static uint32_t read_index(reader *r, const char *what, uint32_t count)
{
    scan_token token = r->s.token;
    if (token.kind != SCAN_SLOT) {
        scan_fail(&r->s, token.at, "a %s like $name.0 is expected here", what);
        return 0;
    }
    size_t digits = token.text.len;
    while (digits && token.text.at[digits - 1] >= '0' && token.text.at[digits - 1] <= '9')
        digits--;
    uint64_t index = 0;
    for (size_t i = digits; i < token.text.len && index <= UINT32_MAX; i++)
        index = index * 10 + (uint64_t)(token.text.at[i] - '0');
    if (digits == token.text.len || index >= count)
        scan_fail(&r->s, token.at, "there is no such %s", what);
    scan_next(&r->s);
    return (uint32_t)index;
}

static uint32_t read_choice(reader *r, str word, size_t at, const char *const *names)
{
    for (uint32_t i = 0; names[i]; i++)
        if (str_same(word, str_of(names[i])))
            return i;
    scan_fail(&r->s, at, "'%.*s' is not known here", (int)word.len, word.at);
    return 0;
}

// --- operands

static ir_ref read_operand(reader *r, ir_type known)
{
    scanner *s = &r->s;
    if (s->token.kind == SCAN_VALUE) {
        const uint64_t *found = map_find(&r->values, name_key(r, s->token.text));
        if (!found)
            scan_fail(s, s->token.at, "%%%.*s is not defined before this", (int)s->token.text.len,
                      s->token.text.at);
        ir_ref ref = found ? (ir_ref)*found : 0;
        scan_next(s);
        return ref;
    }
    ir_type type = s->token.kind == SCAN_WORD ? ir_type_find(s->token.text) : IR_VOID;
    if (type != IR_VOID)
        scan_next(s);
    else
        type = scan_is_word(s, "true") || scan_is_word(s, "false") ? IR_I1 : known;
    uint64_t bits;
    return scan_literal(s, type, &bits) ? ir_constant(r->f, type, bits) : 0;
}

static void read_list(reader *r, ir_type known)
{
    do
        vec_push(r->s.in, &r->operands, read_operand(r, known));
    while (!r->s.error && scan_accept(&r->s, ','));
}

static void read_parenthesised(reader *r)
{
    if (!scan_accept(&r->s, '('))
        return;
    if (!scan_is(&r->s, ')'))
        read_list(r, IR_VOID);
    scan_expect(&r->s, ')');
}

// --- instructions

typedef vec(scan_token) token_list;
typedef vec(uint8_t) type_list;

// The operation, with what its suffix says: atomic.add, shuffle.up, thread.x, hadd2.bf16.
static ir_op read_op(reader *r, ir_inst *made)
{
    scan_token token = r->s.token;
    ir_op op = token.kind == SCAN_WORD ? ir_op_parse(token.text, &made->aux, &made->imm) : IR_NOP;
    if (op == IR_NOP)
        scan_fail(&r->s, token.at, "an operation is expected here");
    scan_next(&r->s);
    return op;
}

static uint32_t read_string(reader *r)
{
    if (r->s.token.kind != SCAN_STRING) {
        scan_fail(&r->s, r->s.token.at, "a string is expected here");
        return 0;
    }
    ir_module *m = r->m;
    str wanted = r->s.token.text;
    scan_next(&r->s);
    for (uint32_t i = 0; i < m->strings.len && i < 64; i++)
        if (str_same(m->strings.at[i], wanted))
            return i;
    vec_push(m->in, &m->strings, wanted);
    return m->strings.len - 1;
}

static uint32_t read_label(reader *r)
{
    scan_token token = r->s.token;
    const uint64_t *found =
        token.kind == SCAN_WORD ? map_find(&r->labels, name_key(r, token.text)) : NULL;
    if (!found)
        scan_fail(&r->s, token.at, "the label of a control instruction around this is expected");
    scan_next(&r->s);
    return found ? (uint32_t)*found : 0;
}

static void read_target(reader *r, ir_op op, ir_inst *made, scan_token *callee)
{
    if (op == IR_LOCAL)
        made->aux = read_index(r, "local", r->f->locals.len);
    else if (op == IR_SHARED)
        made->aux = read_index(r, "shared array", r->m->shared.len);
    else if (op == IR_CONSTANT)
        made->aux = read_index(r, "constant table", r->m->data.len);
    else if (op == IR_PRINT || op == IR_HOST || op == IR_ASSERT || op == IR_BOUNDS)
        made->aux = read_string(r);
    else if (op == IR_EXIT || op == IR_NEXT)
        made->aux = read_label(r);
    else if (op == IR_CALL) {
        *callee = r->s.token;
        if (callee->kind != SCAN_FUNC)
            scan_fail(&r->s, callee->at, "a function like @f is expected here");
        scan_next(&r->s);
    }
}

static uint32_t bracketed_choice(reader *r, const char *const *names)
{
    scan_expect(&r->s, '(');
    uint32_t choice = read_choice(r, r->s.token.text, r->s.token.at, names);
    scan_next(&r->s);
    scan_expect(&r->s, ')');
    return choice;
}

static int64_t read_shape(reader *r)
{
    nv_shape shape;
    scan_expect(&r->s, '(');
    if (r->s.token.kind != SCAN_WORD || !nv_shape_read(r->s.token.text, &shape))
        scan_fail(&r->s, r->s.token.at, "a shape like n8.k16.f32.bf16.bf16 is expected here");
    scan_next(&r->s);
    scan_expect(&r->s, ')');
    return r->s.error ? 0 : nv_pack(shape);
}

static void read_attributes(reader *r, ir_inst *made)
{
    scanner *s = &r->s;
    for (;;) {
        if (scan_accept_word(s, "offset") || scan_accept_word(s, "imm"))
            made->imm = scan_bracketed(s, INT64_MIN, INT64_MAX);
        else if (scan_accept_word(s, "shape"))
            made->imm = read_shape(r);
        else if (scan_accept_word(s, "elem"))
            made->imm = scan_bracketed(s, 1, INT64_MAX);
        else if (scan_accept_word(s, "align"))
            made->align = (uint16_t)scan_bracketed(s, 0, 32768);
        else if (scan_accept_word(s, "hint"))
            made->hint = (uint8_t)bracketed_choice(r, ir_hint_names);
        else if (scan_accept_word(s, "order"))
            made->order = (uint8_t)bracketed_choice(r, ir_order_names);
        else if (scan_accept_word(s, "scope"))
            made->scope = (uint8_t)bracketed_choice(r, ir_scope_names);
        else
            return;
    }
}

static void read_types(reader *r, type_list *types)
{
    scan_expect(&r->s, '(');
    while (!r->s.error && !scan_is(&r->s, ')')) {
        vec_push(r->s.in, types, (uint8_t)read_type(r));
        if (!scan_accept(&r->s, ','))
            break;
    }
    scan_expect(&r->s, ')');
}

static void finish_plain(reader *r, ir_cursor *c, ir_op op, const ir_inst *made,
                         const token_list *names, const type_list *types, scan_token callee)
{
    ir_inst_id id =
        ir_add(c, op, (ir_type)made->type, r->operands.at, r->operands.len, types->at, types->len);
    ir_inst *i = ir_at(r->f, id);
    i->aux = made->aux;
    i->imm = made->imm;
    i->align = made->align;
    i->hint = made->hint;
    i->order = made->order;
    i->scope = made->scope;
    if (ir_op_rows[op].rule == IR_RULE_CVT && r->operands.len == 1)
        i->aux = ir_type_of(r->f, r->operands.at[0]);
    if (op == IR_CALL)
        vec_push(r->s.in, &r->pending, (pending){r->f, id, callee.text, callee.at});
    for (uint32_t k = 0; k < names->len; k++)
        define(r, &names->at[k], ir_at(r->f, id)->result + k);
}

static void read_plain(reader *r, ir_cursor *c)
{
    scanner *s = &r->s;
    token_list names = {0};
    type_list types = {0};
    ir_inst made = {0};
    scan_token callee = {0};
    if (s->token.kind == SCAN_VALUE) {
        do {
            scan_token name = read_value_name(r);
            vec_push(s->in, &names, name);
        } while (!s->error && scan_accept(s, ','));
        scan_expect(s, '=');
    }
    size_t at = s->token.at;
    ir_op op = read_op(r, &made);
    if (ir_is_control(op))
        scan_fail(s, at, "a control instruction needs a label, as in 'L1: if'");
    if (s->error)
        return;
    read_target(r, op, &made, &callee);
    ir_type t = IR_VOID;
    bool is_fixed = ir_op_fixed_type(op, &t);
    if (!is_fixed)
        t = read_type(r);
    made.type = (uint8_t)t;
    r->operands.len = 0;
    if (op == IR_CALL || op == IR_NV || op == IR_PRINT || op == IR_HOST || ir_is_terminator(op))
        read_parenthesised(r);
    else if (ir_op_rows[op].operands)
        read_list(r, is_fixed ? IR_VOID : t);
    if (op == IR_CALL || op == IR_NV || op == IR_HOST) {
        scan_expect(s, ':');
        read_types(r, &types);
        if (types.len != names.len)
            scan_fail(s, at, "%u results have %u types", names.len, types.len);
    } else {
        for (uint32_t k = 0; k < names.len; k++)
            vec_push(s->in, &types, (uint8_t)ir_op_result_type(op, t));
    }
    read_attributes(r, &made);
    if (types.len && types.at[0] == IR_VOID)
        scan_fail(s, at, "this operation has no result");
    if (!s->error)
        finish_plain(r, c, op, &made, &names, &types, callee);
}

// --- control

static void read_region(reader *r, ir_region_id region);

static void read_typed_names(reader *r, token_list *names, type_list *types, bool has_start)
{
    scanner *s = &r->s;
    scan_expect(s, '(');
    while (!s->error) {
        scan_token name = read_value_name(r);
        scan_expect(s, ':');
        ir_type type = read_type(r);
        vec_push(s->in, names, name);
        vec_push(s->in, types, (uint8_t)type);
        if (has_start) {
            scan_expect(s, '=');
            vec_push(s->in, &r->operands, read_operand(r, type));
        }
        if (!scan_accept(s, ','))
            break;
    }
    scan_expect(s, ')');
}

// Regions must be numbered one after the other, so a switch is counted before it is read.
static uint32_t count_cases(const reader *r)
{
    scanner ahead = r->s;
    uint32_t count = 0;
    int depth = 0;
    while (ahead.token.kind != SCAN_END) {
        depth += scan_is(&ahead, '{') - scan_is(&ahead, '}');
        if (depth <= 0)
            break;
        count += depth == 1 && (scan_is_word(&ahead, "case") || scan_is_word(&ahead, "default"));
        scan_next(&ahead);
    }
    return count;
}

static void read_cases(reader *r, ir_inst_id id)
{
    scanner *s = &r->s;
    uint32_t count = ir_at(r->f, id)->region_count;
    for (uint32_t k = 0; k < count && !s->error; k++) {
        if (k + 1 < count) {
            int64_t value = 0;
            if (!scan_accept_word(s, "case"))
                scan_fail(s, s->token.at, "'case' is expected here; 'default' comes last");
            scan_int(s, &value);
            ir_at(r->f, id)->cases[k] = value;
        } else if (!scan_accept_word(s, "default")) {
            scan_fail(s, s->token.at, "the last region of a switch is 'default'");
        }
        scan_expect(s, ':');
        read_region(r, ir_at(r->f, id)->regions + k);
    }
}

static void read_control(reader *r, ir_cursor *c)
{
    scanner *s = &r->s;
    scan_token label = s->token;
    scan_next(s);
    scan_expect(s, ':');
    ir_inst made = {0};
    size_t at = s->token.at;
    ir_op op = read_op(r, &made);
    if (!ir_is_control(op))
        scan_fail(s, at, "only control instructions have labels");
    token_list args = {0}, results = {0};
    type_list arg_types = {0}, types = {0};
    r->operands.len = 0;
    if (op == IR_LOOP && scan_is(s, '('))
        read_typed_names(r, &args, &arg_types, true);
    else if (op == IR_IF || op == IR_SWITCH)
        vec_push(s->in, &r->operands, read_operand(r, IR_VOID));
    if (scan_accept(s, '-'))
        read_typed_names(r, &results, &types, false);
    int64_t unroll = scan_accept_word(s, "unroll") ? scan_bracketed(s, -1, INT16_MAX) : 0;
    if (!scan_is(s, '{'))
        scan_fail(s, s->token.at, "'{' is expected here");
    if (s->error)
        return;
    uint32_t regions = op == IR_IF ? 2 : op == IR_SWITCH ? count_cases(r) : 1;
    scan_next(s);
    if (!regions)
        scan_fail(s, at, "a switch needs at least a default");
    for (uint32_t k = 0; k < args.len && !s->error; k++)
        if (ir_type_of(r->f, r->operands.at[k]) != (ir_type)arg_types.at[k])
            scan_fail(s, args.at[k].at, "the argument and its first value have different types");
    if (s->error)
        return;
    ir_inst_id id =
        ir_control(c, op, r->operands.at, r->operands.len, regions, types.at, types.len);
    ir_at(r->f, id)->unroll = (int16_t)unroll;
    *map_at(&r->labels, name_key(r, label.text)) = id;
    for (uint32_t k = 0; k < results.len; k++)
        define(r, &results.at[k], ir_at(r->f, id)->result + k);
    for (uint32_t k = 0; k < args.len; k++)
        define(r, &args.at[k], ir_region_at(r->f, ir_at(r->f, id)->regions)->args + k);
    if (op == IR_SWITCH) {
        read_cases(r, id);
    } else {
        read_region(r, ir_at(r->f, id)->regions);
        if (op == IR_IF) {
            scan_expect(s, '}');
            if (!scan_accept_word(s, "else"))
                scan_fail(s, s->token.at, "'else' is expected here");
            scan_expect(s, '{');
            read_region(r, ir_at(r->f, id)->regions + 1);
        }
    }
    scan_expect(s, '}');
}

static bool is_label(const scanner *s)
{
    scanner ahead = *s;
    if (s->token.kind != SCAN_WORD || s->error)
        return false;
    scan_next(&ahead);
    return scan_is(&ahead, ':') && !scan_is_word(s, "default");
}

static void read_region(reader *r, ir_region_id region)
{
    ir_cursor c = ir_at_end(r->f, region, (span){0});
    if (++r->depth > DEPTH_LIMIT)
        scan_fail(&r->s, r->s.token.at, "control is nested more than %d deep", DEPTH_LIMIT);
    while (r->s.token.kind != SCAN_END && !scan_is(&r->s, '}') && !scan_is_word(&r->s, "case") &&
           !scan_is_word(&r->s, "default")) {
        if (is_label(&r->s))
            read_control(r, &c);
        else
            read_plain(r, &c);
    }
    r->depth--;
}

// --- declarations

static ir_type read_scalar(reader *r, bool *is_unsigned)
{
    static const char *const names[] = {"u8", "u16", "u32", "u64", NULL};
    for (uint32_t i = 0; names[i]; i++)
        if (scan_accept_word(&r->s, names[i])) {
            *is_unsigned = true;
            return (ir_type)(IR_I8 + i);
        }
    *is_unsigned = false;
    return read_type(r);
}

static void read_pair(reader *r, uint32_t *size, uint32_t *align)
{
    int64_t a = 0, b = 0;
    scan_expect(&r->s, '(');
    size_t at = r->s.token.at;
    scan_int(&r->s, &a);
    scan_expect(&r->s, ',');
    scan_int(&r->s, &b);
    scan_expect(&r->s, ')');
    if (a < 0 || a > INT32_MAX || b < 0 || b > INT32_MAX)
        scan_fail(&r->s, at, "size or alignment out of range");
    *size = (uint32_t)a;
    *align = (uint32_t)b;
}

static void read_param(reader *r)
{
    scanner *s = &r->s;
    scan_token token = read_value_name(r);
    scan_expect(s, ':');
    ir_param p = {.name = s->error ? NULL : bare_name(r, token.text)};
    if (scan_accept_word(s, "bytes")) {
        p.kind = IR_PARAM_BYTES;
        p.type = IR_PTR_PARAM;
        read_pair(r, &p.size, &p.align);
    } else if (scan_accept_word(s, "tensor_map")) {
        p.kind = IR_PARAM_TENSOR_MAP;
        p.type = IR_PTR_PARAM;
        p.size = IR_TENSOR_MAP_BYTES;
        p.align = IR_TENSOR_MAP_ALIGN;
    } else {
        p.type = (uint8_t)read_scalar(r, &p.elem_unsigned);
        p.size = p.align = ir_type_size((ir_type)p.type);
        if (ir_is_ptr((ir_type)p.type) && s->token.kind == SCAN_WORD) {
            p.kind = IR_PARAM_POINTER;
            p.is_const = scan_accept_word(s, "const");
            p.is_restrict = scan_accept_word(s, "restrict");
            p.elem =
                (uint8_t)(scan_accept_word(s, "void") ? IR_VOID : read_scalar(r, &p.elem_unsigned));
            p.elem_size = p.elem_align = ir_type_size((ir_type)p.elem);
            if (scan_is(s, '('))
                read_pair(r, &p.elem_size, &p.elem_align);
        }
    }
    p.is_hidden = scan_accept_word(s, "hidden");
    if (s->token.kind == SCAN_STRING) {
        p.c_type = str_dup(r->m->in, s->token.text);
        scan_next(s);
    }
    if (!s->error)
        define(r, &token, ir_param_add(r->f, p));
}

static void read_triple(reader *r, uint32_t out[3])
{
    scan_expect(&r->s, '(');
    for (int k = 0; k < 3; k++) {
        int64_t v = 0;
        size_t at = r->s.token.at;
        if (scan_int(&r->s, &v) && (v < 0 || v > INT32_MAX))
            scan_fail(&r->s, at, "%lld is out of range", (long long)v);
        out[k] = (uint32_t)v;
        if (k < 2 && !scan_accept(&r->s, ',')) {
            for (int rest = k + 1; rest < 3; rest++)
                out[rest] = 1;
            break;
        }
    }
    scan_expect(&r->s, ')');
}

typedef struct array_head {
    const char *name;
    uint64_t size;
    uint32_t align;
    uint8_t elem;
    uint32_t row;
} array_head;

// $name.INDEX size(N) align(N) [elem(TYPE)] [row(N)]; the index must be the next one.
static array_head read_array(reader *r, uint32_t index)
{
    scanner *s = &r->s;
    array_head h = {.align = 1};
    scan_token token = s->token;
    if (read_index(r, "name", UINT32_MAX) != index)
        scan_fail(s, token.at, "the next number is %u", index);
    if (!s->error)
        h.name = bare_name(r, token.text);
    if (scan_accept_word(s, "size"))
        h.size = (uint64_t)scan_bracketed(s, 0, INT64_MAX);
    size_t at = s->token.at;
    if (scan_accept_word(s, "align"))
        h.align = (uint32_t)scan_bracketed(s, 1, 1 << 20);
    if (h.align & (h.align - 1))
        scan_fail(s, at, "an alignment is a power of two");
    if (scan_accept_word(s, "elem")) {
        scan_expect(s, '(');
        h.elem = (uint8_t)read_type(r);
        scan_expect(s, ')');
    }
    if (scan_accept_word(s, "row"))
        h.row = (uint32_t)scan_bracketed(s, 1, UINT32_MAX);
    return h;
}

static void read_func(reader *r, bool is_kernel)
{
    scanner *s = &r->s;
    if (s->token.kind != SCAN_FUNC) {
        scan_fail(s, s->token.at, "a name like @f is expected here");
        return;
    }
    ir_func *f = r->f =
        ir_func_add(r->m, name_of(r->m->names, s->token.text.at, s->token.text.len));
    f->is_kernel = is_kernel;
    r->values = map_make(s->in);
    r->labels = map_make(s->in);
    scan_next(s);
    scan_expect(s, '(');
    while (!s->error && !scan_is(s, ')')) {
        read_param(r);
        if (!scan_accept(s, ','))
            break;
    }
    scan_expect(s, ')');
    if (scan_accept(s, '-')) {
        type_list types = {0};
        read_types(r, &types);
        for (uint32_t k = 0; k < types.len; k++)
            vec_push(r->m->in, &f->returns, types.at[k]);
    }
    if (scan_accept_word(s, "block"))
        read_triple(r, f->block);
    if (scan_accept_word(s, "cluster"))
        read_triple(r, f->cluster);
    if (scan_accept_word(s, "min_blocks"))
        f->min_blocks = (uint32_t)scan_bracketed(s, 0, 1024);
    if (scan_accept_word(s, "max_registers"))
        f->max_registers = (uint32_t)scan_bracketed(s, 0, 1024);
    if (scan_accept_word(s, "max_threads"))
        f->max_threads = (uint32_t)scan_bracketed(s, 0, 1024);
    f->is_noinline = scan_accept_word(s, "noinline");
    f->is_kept = scan_accept_word(s, "kept");
    f->is_dispatcher = scan_accept_word(s, "dispatcher");
    f->is_bounded = scan_accept_word(s, "bounded");
    if (scan_accept_word(s, "recursion"))
        f->recursion_limit = (uint32_t)scan_bracketed(s, 1, 1 << 16);
    scan_expect(s, '{');
    while (scan_accept_word(s, "local")) {
        array_head h = read_array(r, f->locals.len);
        vec_push(
            r->m->in, &f->locals,
            (ir_local){
                .name = h.name, .size = h.size, .align = h.align, .elem = h.elem, .row = h.row});
    }
    read_region(r, f->body);
    scan_expect(s, '}');
}

static void read_shared(reader *r)
{
    scanner *s = &r->s;
    array_head h = read_array(r, r->m->shared.len);
    ir_shared made = {
        .name = h.name, .size = h.size, .align = h.align, .elem = h.elem, .row = h.row};
    made.is_dynamic = scan_accept_word(s, "dynamic");
    if (scan_accept_word(s, "used_by")) {
        scan_expect(s, '(');
        vec_push(s->in, &r->pending, (pending){NULL, r->m->shared.len, s->token.text, s->token.at});
        scan_next(s);
        scan_expect(s, ')');
    }
    vec_push(r->m->in, &r->m->shared, made);
}

static void read_data(reader *r)
{
    scanner *s = &r->s;
    array_head h = read_array(r, r->m->data.len);
    size_t at = s->token.at;
    vec(uint8_t) bytes = {0};
    // Bytes may look like words (ff) or numbers (12): both are hexadecimal here.
    if (!scan_is(s, '{'))
        scan_fail(s, at, "'{' is expected here");
    scan_next(s);
    while (s->token.kind == SCAN_NUMBER || s->token.kind == SCAN_WORD) {
        uint32_t byte = 0;
        bool is_hex = s->token.text.len == 2;
        for (size_t i = 0; i < s->token.text.len && is_hex; i++) {
            const char *digit = strchr("0123456789abcdef", s->token.text.at[i]);
            is_hex = digit && *digit;
            byte = byte * 16 + (is_hex ? (uint32_t)(digit - "0123456789abcdef") : 0);
        }
        if (!is_hex)
            scan_fail(s, s->token.at, "a byte is two hexadecimal digits");
        vec_push(r->m->in, &bytes, (uint8_t)byte);
        scan_next(s);
    }
    scan_expect(s, '}');
    if (bytes.len != h.size)
        scan_fail(s, at, "%u bytes are given, but the size is %llu", bytes.len,
                  (unsigned long long)h.size);
    vec_push(r->m->in, &r->m->data,
             (ir_data){.name = h.name,
                       .bytes = bytes.at,
                       .size = h.size,
                       .align = h.align,
                       .elem = h.elem,
                       .row = h.row});
}

static void settle_pending(reader *r)
{
    for (uint32_t k = 0; k < r->pending.len && !r->s.error; k++) {
        const pending *p = &r->pending.at[k];
        uint32_t index = 0;
        while (index < r->m->funcs.len && !str_same(str_of(r->m->funcs.at[index]->name), p->name))
            index++;
        if (index == r->m->funcs.len)
            scan_fail(&r->s, p->at, "there is no function @%.*s", (int)p->name.len, p->name.at);
        else if (p->f)
            ir_at(p->f, p->index)->aux = index;
        else
            r->m->shared.at[p->index].used_by = r->m->funcs.at[index];
    }
}

ir_module *ir_read(arena *a, name_table *names, str input, const char **error)
{
    reader r = {.s = {.in = a, .input = input}, .m = ir_module_in(a, names)};
    scanner *s = &r.s;
    scan_next(s);
    if (scan_accept_word(s, "module")) {
        if (s->token.kind == SCAN_STRING)
            r.m->name = str_dup(a, s->token.text);
        else
            scan_fail(s, s->token.at, "the module's name is a string");
        scan_next(s);
    }
    while (s->token.kind != SCAN_END) {
        if (scan_accept_word(s, "kernel"))
            read_func(&r, true);
        else if (scan_accept_word(s, "func"))
            read_func(&r, false);
        else if (scan_accept_word(s, "shared"))
            read_shared(&r);
        else if (scan_accept_word(s, "data"))
            read_data(&r);
        else
            scan_fail(s, s->token.at, "kernel, func, shared or data is expected here");
    }
    settle_pending(&r);
    *error = s->error;
    return s->error ? NULL : r.m;
}
