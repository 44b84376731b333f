// Initialisers: braced lists become flat lists of (byte offset, value), with C's rules for
// designators and left-out braces; what no entry covers is zero.
// Start reading at check_init; fill is the heart.
#include "front/check.h"

typedef struct chosen { // the member of a union that the list names last
    const type *of;
    uint64_t offset, index;
} chosen;

typedef struct filled { // what a list has given values so far
    uint64_t end;       // no byte from here on
    vec(chosen) choices;
} filled;

typedef struct filler {
    front *f;
    filled *done;
    ast_expr *list;    // receives the entries
    ast_expr *braces;  // whose items are being consumed
    uint32_t next;     // of braces->items
    uint64_t reached;  // elements of the outermost array that are named so far
    const field *bits; // the bit-field that the next value goes to, or NULL
    bool is_in_range;  // this list stands for a range of elements …
    bool is_repeated;  // … or its current item does
    bool is_bad;
} filler;

static void fill_value(filler *s, const type *t, uint64_t offset, ast_expr *value);

// --- sub-objects: elements of an array, members of a record

static uint64_t child_count(const type *t)
{
    if (t->kind == TY_ARRAY)
        return t->is_incomplete ? UINT64_MAX : t->len;
    const type *def = type_def(t);
    uint32_t count = def->fields.len - (type_flexible(t) ? 1 : 0);
    return t->kind == TY_UNION ? (count ? 1 : 0) : count;
}

static const type *child_at(filler *s, const type *t, uint64_t index, uint64_t *offset)
{
    s->bits = NULL;
    if (t->kind == TY_ARRAY) {
        *offset += index * type_def(t->base)->size;
        return t->base;
    }
    const field *member = &type_def(t)->fields.at[index];
    *offset += member->offset;
    s->bits = member->bits ? member : NULL;
    return member->type;
}

static bool is_aggregate(const type *t)
{
    return t->kind == TY_ARRAY || type_is_record(t);
}

static bool is_char_array(const type *t)
{
    return t->kind == TY_ARRAY && (t->base->kind == TY_I8 || t->base->kind == TY_U8);
}

static void push_entry(filler *s, uint64_t offset, ast_expr *value)
{
    uint64_t end = offset + type_size(s->bits ? s->bits->type : value->type);
    vec_push(s->f->in, &s->list->inits,
             ((init_entry){.offset = offset, .value = value, .bits = s->bits}));
    if (end > s->done->end)
        s->done->end = end;
}

// Values that lie in the object of type t at `offset` so far are those of another one: all of it
// is zero again.
static void start_again(filler *s, const type *t, uint64_t offset, span at)
{
    if (offset >= s->done->end || !type_size(t))
        return;
    ast_expr *zero = check_new(s->f, E_INIT_LIST, at, t->unqualified);
    zero->is_const = true;
    s->bits = NULL;
    push_entry(s, offset, zero);
}

// The list goes on in member `index` of the union t at `offset`.
static void choose_member(filler *s, const type *t, uint64_t offset, uint64_t index, span at)
{
    const type *of = type_def(t);
    for (uint32_t i = s->done->choices.len; i-- && offset < s->done->end;) {
        chosen *last = &s->done->choices.at[i];
        if (last->of != of || last->offset != offset)
            continue;
        if (last->index != index)
            start_again(s, t, offset, at);
        last->index = index;
        return;
    }
    vec_push(s->f->in, &s->done->choices, ((chosen){.of = of, .offset = offset, .index = index}));
}

static void add_entry(filler *s, uint64_t offset, ast_expr *value)
{
    if (s->is_repeated && !is_poison(value) && check_has_effects(value)) {
        diag *d =
            diag_raise(s->f->diags, K1045, value->at, "the value of a range cannot do anything");
        diag_label(d, value->at, "C would do it once, for all elements");
        diag_note(d, "put it into a variable before");
        s->is_bad = true;
        return;
    }
    if (is_poison(value))
        s->is_bad = true;
    else
        push_entry(s, offset, value);
}

static void add_string(filler *s, const type *t, uint64_t offset, ast_expr *value)
{
    if (!t->is_incomplete && value->bytes.len > t->len) {
        diag *d = diag_raise(s->f->diags, K2101, value->at, "this string is longer than '%s'",
                             T_OF(s->f, t));
        diag_label(d, value->at, "%llu characters", (unsigned long long)value->bytes.len);
        s->is_bad = true;
        return;
    }
    value->type = t->is_incomplete ? type_array(s->f->in, t->base, value->bytes.len + 1, false) : t;
    value->is_checked = true;
    add_entry(s, offset, value);
}

// --- one value

static void add_scalar(filler *s, const type *t, uint64_t offset, ast_expr *value)
{
    value = check_value(s->f, value);
    if (!is_poison(value) && s->bits && type_is_arith(value->type))
        check_bits_fit(s->f, value, s->bits);
    if (!is_poison(value))
        value = check_convert(s->f, value, t, NULL);
    if (!is_poison(value) && value->type->kind == t->kind && !type_same(value->type, t, true) &&
        !is_pointer(t))
        value = check_wrap(s->f, value, CONVERT_NOOP, t->unqualified);
    add_entry(s, offset, value);
}

// The array without a length at a struct's end has no room in a variable.
static void no_room(filler *s, const field *flexible, span at)
{
    diag *d = diag_raise(s->f->diags, K1027, at, "a list gives no values to '%s'", flexible->name);
    diag_label(d, at, "the struct has no room for them");
    diag_label(d, flexible->at, "the array without a length");
    diag_note(d, "store them into memory that is large enough, such as malloc's");
    s->is_bad = true;
}

static void too_many(filler *s, const type *t, const ast_expr *value)
{
    const field *flexible = type_flexible(t);
    if (flexible) {
        no_room(s, flexible, value->at);
        return;
    }
    diag *d = diag_raise(s->f->diags, K2101, value->at, "too many values for '%s'", T_OF(s->f, t));
    diag_label(d, value->at, "the first one too many");
    s->is_bad = true;
}

// --- designators

static void bad_designator(filler *s, const type *t, const struct designator *d)
{
    diag *report;
    if (d->field && type_is_record(t)) {
        report = diag_raise(s->f->diags, K2102, d->at, "'%s' has no member '%s'",
                            T_OF(s->f, t->unqualified), d->field);
        diag_label(report, d->at, "no such member");
    } else {
        report = diag_raise(s->f->diags, K2102, d->at, "'%s' has no %s", T_OF(s->f, t->unqualified),
                            d->field ? "members" : "elements");
        diag_label(report, d->at, d->field ? "a member is named here" : "an element is named here");
    }
    s->is_bad = true;
}

// The child that designator `d` names; false after a diagnostic. `stays` is set when the child is
// an anonymous member and d still names something inside it.
static bool find_child(filler *s, const type *t, const struct designator *d, uint64_t *index,
                       bool *stays)
{
    *stays = false;
    if (d->field && type_is_record(t)) {
        const type *def = type_def(t);
        uint64_t offset;
        for (uint32_t i = 0; i < def->fields.len; i++) {
            const field *member = &def->fields.at[i];
            if (member->name == d->field ||
                (!member->name && type_find_field(member->type, d->field, &offset))) {
                if (member == type_flexible(t)) {
                    no_room(s, member, d->at);
                    return false;
                }
                *index = i;
                *stays = !member->name;
                return true;
            }
        }
        bad_designator(s, t, d);
        return false;
    }
    int64_t value;
    if (!d->index || t->kind != TY_ARRAY) {
        bad_designator(s, t, d);
        return false;
    }
    if (!check_const_int(s->f, d->index, &value, "an array designator")) {
        s->is_bad = true;
        return false;
    }
    if (value < 0 || (uint64_t)value >= child_count(t) || value > UINT32_MAX) {
        diag *report = diag_raise(s->f->diags, K2103, d->at, "element %lld is outside '%s'",
                                  (long long)value, T_OF(s->f, t));
        diag_label(report, d->at, "out of range");
        s->is_bad = true;
        return false;
    }
    *index = (uint64_t)value;
    return true;
}

// --- lists

static void fill(filler *s, const type *t, uint64_t offset, uint64_t index, bool is_braced);

// Puts the current item's value where the designators lead, then goes on behind it inside that
// sub-object, as C says.
static void fill_designated(filler *s, const type *t, uint64_t offset, const struct designator *d,
                            uint64_t *index)
{
    bool stays;
    if (!find_child(s, t, d, index, &stays)) {
        s->next++;
        return;
    }
    uint64_t at = offset;
    if (t->kind == TY_UNION)
        choose_member(s, t, offset, *index, d->at);
    const type *child = child_at(s, t, *index, &at);
    const struct designator *rest = stays ? d : d->next;
    if (!rest) {
        ast_expr *value = s->braces->items.at[s->next].value;
        if (is_aggregate(child) && value->kind == E_STRING && !is_char_array(child)) {
            s->braces->items.at[s->next].designators = NULL;
            fill(s, child, at, 0, false); // braces left out around a text
            return;
        }
        if (is_aggregate(child) && value->kind != E_INIT_LIST && value->kind != E_STRING) {
            value = s->braces->items.at[s->next].value = check_value(s->f, value);
            if (!is_poison(value) && !type_same(value->type, child, true)) {
                s->braces->items.at[s->next].designators = NULL;
                fill(s, child, at, 0, false); // braces left out
                return;
            }
        }
        s->next++;
        fill_value(s, child, at, value);
        return;
    }
    if (!is_aggregate(child)) {
        bad_designator(s, child, rest);
        s->next++;
        return;
    }
    uint64_t inner = 0;
    fill_designated(s, child, at, rest, &inner);
    fill(s, child, at, inner + 1, false);
}

static void fill(filler *s, const type *t, uint64_t offset, uint64_t index, bool is_braced)
{
    while (s->next < s->braces->items.len) {
        init_item *item = &s->braces->items.at[s->next];
        s->is_repeated = s->is_in_range || item->is_repeated;
        if (item->designators) {
            if (!is_braced)
                return;
            fill_designated(s, t, offset, item->designators, &index);
        } else {
            uint64_t limit = child_count(t);
            if (index >= limit) {
                if (is_braced)
                    too_many(s, t, item->value);
                return;
            }
            uint64_t at = offset;
            if (t->kind == TY_UNION)
                choose_member(s, t, offset, index, item->value->at);
            const type *child = child_at(s, t, index, &at);
            bool direct = !is_aggregate(child) || item->value->kind == E_INIT_LIST ||
                          (is_char_array(child) && item->value->kind == E_STRING);
            if (!direct && item->value->kind != E_STRING) { // a text is an array's, further inside
                item->value = check_value(s->f, item->value);
                direct = is_poison(item->value) || type_same(item->value->type, child, true);
            }
            if (direct) {
                s->next++;
                fill_value(s, child, at, item->value);
            } else {
                fill(s, child, at, 0, false);
            }
        }
        index++;
        if (is_braced && t->is_incomplete && index > s->reached)
            s->reached = index;
    }
}

// `{…}` for an object of type t.
static void fill_list(filler *s, const type *t, uint64_t offset, ast_expr *list)
{
    if (is_char_array(t) && list->items.len == 1 && !list->items.at[0].designators &&
        list->items.at[0].value->kind == E_STRING) {
        add_string(s, t, offset, list->items.at[0].value);
        return;
    }
    if (!is_aggregate(t)) {
        if (list->items.len > 1)
            too_many(s, t, list->items.at[1].value);
        else if (list->items.len &&
                 (list->items.at[0].designators || list->items.at[0].value->kind == E_INIT_LIST)) {
            diag *d = diag_raise(s->f->diags, K2104, list->items.at[0].value->at,
                                 "'%s' is a single value: it takes no list", T_OF(s->f, t));
            diag_label(d, list->items.at[0].value->at, "remove the braces");
            s->is_bad = true;
        } else if (list->items.len)
            add_scalar(s, t, offset, list->items.at[0].value);
        return;
    }
    if (type_def(t)->is_incomplete && t->kind != TY_ARRAY)
        return;
    start_again(s, t, offset, list->at);
    filler inner = {
        .f = s->f, .done = s->done, .list = s->list, .braces = list, .is_in_range = s->is_repeated};
    fill(&inner, t, offset, 0, true);
    s->is_bad |= inner.is_bad;
    if (inner.reached > s->reached)
        s->reached = inner.reached;
}

static void fill_value(filler *s, const type *t, uint64_t offset, ast_expr *value)
{
    if (t->kind == TY_POISON)
        s->is_bad = true;
    else if (value->kind == E_INIT_LIST && !value->is_checked)
        fill_list(s, t, offset, value);
    else if (is_char_array(t) && value->kind == E_STRING)
        add_string(s, t, offset, value);
    else if (t->kind == TY_ARRAY) {
        value = check_value(s->f, value);
        if (!is_poison(value)) {
            diag *d =
                diag_raise(s->f->diags, K2105, value->at, "an array is initialised with a list");
            diag_label(d, value->at, "write '{…}'");
        }
        s->is_bad = true;
    } else
        add_scalar(s, t, offset, value);
}

// Turns `list` into a checked E_INIT_LIST of type t (completed when it was an open array).
static bool check_list(front *f, const type **t, ast_expr *list)
{
    filled done = {0};
    filler s = {.f = f, .done = &done, .list = list, .braces = list};
    fill_list(&s, *t, 0, list);
    if ((*t)->kind == TY_ARRAY && (*t)->is_incomplete) {
        uint64_t len = s.reached;
        if (!len && list->inits.len && list->inits.at[0].value->kind == E_STRING)
            len = list->inits.at[0].value->type->len;
        *t = type_array(f->in, (*t)->base, len, false);
    }
    list->type = *t;
    list->is_checked = true;
    return !s.is_bad;
}

ast_expr *check_compound(front *f, ast_expr *e)
{
    const type *t = e->cast_type;
    if (t->kind == TY_POISON)
        return check_poison(f, e);
    if (t->kind == TY_VOID || t->kind == TY_FUNC ||
        (t->kind != TY_ARRAY && type_def(t)->is_incomplete)) {
        diag *d = diag_raise(f->diags, K2036, e->at, "'%s' has no values here", T_OF(f, t));
        diag_label(d, e->at, "the type is not complete");
        return check_poison(f, e);
    }
    if (!check_list(f, &t, e->a))
        return check_poison(f, e);
    if (f->current_func && !f->unevaluated && type_size(t) > MAX_THREAD_BYTES) {
        diag *d = diag_raise(f->diags, K4002, e->at, "'%s' needs %llu bytes in every thread",
                             T_OF(f, t), (unsigned long long)type_size(t));
        diag_label(d, e->at, "a thread may have at most 1 MiB; use a buffer of the caller's");
        return check_poison(f, e);
    }
    e->cast_type = e->type = t;
    e->is_lvalue = e->is_checked = true;
    return e;
}

// --- variables

// A list that failed is followed by a poison as the initialiser: the variable counts as set.
void check_init_object(front *f, ast_decl *d, ast_expr *init)
{
    const type *t = d->type;
    d->init = check_poison(f, arena_new_of(f->in, ast_expr));
    if (t->kind == TY_VOID || t->kind == TY_FUNC ||
        (t->kind != TY_ARRAY && type_def(t)->is_incomplete))
        return; // check_decl reports it
    if (init->kind == E_INIT_LIST) {
        bool is_good = check_list(f, &t, init);
        d->type = t;
        if (!is_good)
            return;
        if (is_aggregate(t))
            d->init = init;
        else if (init->inits.len)
            d->init = init->inits.at[0].value;
        else
            d->init = check_convert(f, check_int(f, init->at, type_scalar(TY_I32), 0), t, NULL);
        return;
    }
    if (is_char_array(t) && init->kind == E_STRING) {
        ast_expr *list = check_new(f, E_INIT_LIST, init->at, t);
        filled done = {0};
        filler s = {.f = f, .done = &done, .list = list, .braces = list};
        add_string(&s, t, 0, init);
        if (s.is_bad)
            return;
        d->type = init->type;
        list->type = d->type;
        d->init = list;
        return;
    }
    init = check_value(f, init);
    if (is_poison(init))
        return;
    if (t->kind == TY_ARRAY) {
        diag *report = diag_raise(f->diags, K2105, init->at, "an array is initialised with a list");
        diag_label(report, init->at, "write '{…}'; arrays cannot be copied");
        if (t->is_incomplete)
            d->type = type_scalar(TY_POISON);
        return;
    }
    init = check_convert(f, init, t, str_format(f->in, "initialiser of '%s'", d->name));
    if (!is_poison(init))
        d->init = init;
}

void check_init(front *f, ast_decl *d, ast_expr *init)
{
    if (d->type->kind == TY_POISON)
        return;
    if (d->is_shared) {
        diag *report = diag_raise(f->diags, K2303, init->at, "shared memory has no initial value");
        diag_label(report, init->at, "let one thread store it, then barrier()");
        diag_label(report, d->at, "declared shared here");
        return;
    }
    bool is_const = (check_deep_quals(d->type) & QUAL_CONST) != 0;
    if (!d->is_file_scope && !d->is_per_thread && !(d->is_static && is_const))
        check_init_object(f, d, init);
    else
        check_static_init(f, d, init, is_const);
}
