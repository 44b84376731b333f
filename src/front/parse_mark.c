// The marks of a kernel (kernel, block, cluster, min_blocks, max_registers), those of a device
// function (noinline, recursion) and tune(…).
// Invariant: a decl's sizes are within what every GPU allows, or 0 for "not given".
// Start reading at parse_mark and parse_tune.
#include "front/parse.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_BLOCK = 1024, MAX_BLOCK_Z = 64, MAX_CLUSTER = 16, MAX_RECURSION = 1 << 16 };

static parse_word mark_word(const parser *p)
{
    static const parse_word words[] = {W_BLOCK,         W_CLUSTER,     W_MIN_BLOCKS,
                                       W_MAX_REGISTERS, W_MAX_THREADS, W_BOUNDS};
    for (size_t i = 0; i < COUNT(words); i++)
        if (is_word(p, words[i]))
            return words[i];
    return W_NONE;
}

static parse_word host_word(const parser *p)
{
    return is_word(p, W_HOST)       ? W_HOST
           : is_word(p, W_PER_WARP) ? W_PER_WARP
           : is_word(p, W_NO_WAIT)  ? W_NO_WAIT
                                    : W_NONE;
}

// `host` is anybody's name: it is a mark only where a declaration of a function may begin.
static bool starts_host_mark(const parser *p, const marks *so_far)
{
    parse_word w = host_word(p);
    if (!w || p->scope != p->file_scope || scope_find(p->scope, tok(p)->name))
        return false;
    if (w != W_HOST)
        return so_far->host.lo != 0;
    token_kind next = kind_ahead(p, 1);
    return next != TOK_LPAREN && next != TOK_SEMI && next != TOK_COMMA && next != TOK_ASSIGN &&
           next != TOK_LBRACKET && next != TOK_STAR && next != TOK_RPAREN && next != TOK_EOF;
}

bool starts_mark(const parser *p, const marks *so_far)
{
    if (kind(p) == TOK_KERNEL || starts_host_mark(p, so_far))
        return true;
    if (!mark_word(p) || tok_ahead(p, 1)->kind != TOK_LPAREN)
        return false;
    // Without `kernel` before it, block(…) is a mark only at file scope, where no call can stand.
    return so_far->kernel.lo || (p->scope == p->file_scope && !scope_find(p->scope, tok(p)->name));
}

bool starts_bounds(const parser *p)
{
    return is_word(p, W_BOUNDS) && tok_ahead(p, 1)->kind == TOK_LPAREN;
}

// The numbers in the brackets; 0 when the mark is unusable.
static uint32_t parse_numbers(parser *p, const char *mark, uint32_t most, int64_t out[3])
{
    span open = here(p);
    step(p);
    uint32_t count = 0;
    bool is_bad = false;
    while (kind(p) != TOK_RPAREN && !p->is_panicking) {
        ast_expr *e = parse_cond(p);
        const char *what = str_format(p->f->in, "size in %s(…)", mark);
        int64_t value = 0;
        is_bad |= p->is_panicking || !check_const_int(p->f, e, &value, what);
        if (count < most)
            out[count] = value;
        count++;
        if (!accept(p, TOK_COMMA))
            break;
    }
    expect_close(p, TOK_RPAREN, open);
    span at = span_join(open, previous(p));
    if (!is_bad && (!count || count > most)) {
        diag *d = diag_raise(p->f->diags, K1106, at, "%s takes %s", mark,
                             most == 1 ? "one number" : "one to three numbers");
        diag_label(d, at, "%u given", count);
        return 0;
    }
    return is_bad ? 0 : count;
}

static void given_twice(parser *p, const char *mark, span first, span second)
{
    diag *d = diag_raise(p->f->diags, K1107, second, "'%s' is given twice", mark);
    diag_label(d, second, "second one");
    diag_label(d, first, "first one");
    diag_fix(d, second, "remove this one", "%s", "");
}

static void set_block(parser *p, marks *m, const int64_t n[3], uint32_t count)
{
    static const char *const axes[] = {"x", "y", "z"};
    for (uint32_t i = 0; i < count; i++) {
        int64_t limit = i == 2 ? MAX_BLOCK_Z : MAX_BLOCK;
        if (n[i] >= 1 && n[i] <= limit)
            continue;
        diag *d = diag_raise(p->f->diags, K1104, m->block,
                             "a block cannot be %lld threads long in %s", (long long)n[i], axes[i]);
        diag_label(d, m->block, "from 1 to %lld is possible", (long long)limit);
        return;
    }
    int64_t threads = n[0] * (count > 1 ? n[1] : 1) * (count > 2 ? n[2] : 1);
    if (threads > MAX_BLOCK) {
        diag *d = diag_raise(p->f->diags, K1104, m->block, "a block of %lld threads is too large",
                             (long long)threads);
        diag_label(d, m->block, "no GPU runs more than %d threads in a block", MAX_BLOCK);
        diag_note(d, "use more blocks, or let each thread do several elements");
        return;
    }
    for (uint32_t i = 0; i < 3; i++)
        m->block_size[i] = i < count ? (uint32_t)n[i] : 1;
}

static void set_cluster(parser *p, marks *m, const int64_t n[3], uint32_t count)
{
    int64_t blocks = 1;
    for (uint32_t i = 0; i < count; i++)
        blocks = n[i] >= 1 && n[i] <= MAX_CLUSTER && blocks ? blocks * n[i] : 0;
    if (blocks < 1 || blocks > MAX_CLUSTER) {
        diag *d = diag_raise(p->f->diags, K1105, m->cluster, "this cluster size is not possible");
        diag_label(d, m->cluster, "a cluster has 1 to %d blocks in all", MAX_CLUSTER);
        return;
    }
    if (blocks == 1) // is none
        return;
    for (uint32_t i = 0; i < 3; i++)
        m->cluster_size[i] = i < count ? (uint32_t)n[i] : 1;
}

static void set_one(parser *p, const char *mark, span at, int64_t n, int64_t lo, int64_t hi,
                    uint32_t *out)
{
    if (n >= lo && n <= hi) {
        *out = (uint32_t)n;
        return;
    }
    diag *d = diag_raise(p->f->diags, K1106, at, "%s(%lld) is out of range", mark, (long long)n);
    diag_label(d, at, "from %lld to %lld is possible", (long long)lo, (long long)hi);
}

void parse_mark(parser *p, marks *m)
{
    span at = here(p);
    parse_word w = mark_word(p), of_host = host_word(p);
    const char *name = w || of_host ? p->common->words[w ? w : of_host] : "kernel";
    span *slot = w == W_BLOCK            ? &m->block
                 : w == W_CLUSTER        ? &m->cluster
                 : w == W_MIN_BLOCKS     ? &m->min_blocks
                 : w == W_MAX_REGISTERS  ? &m->max_registers
                 : w                     ? &m->max_threads
                 : of_host == W_HOST     ? &m->host
                 : of_host == W_PER_WARP ? &m->per_warp
                 : of_host               ? &m->no_wait
                                         : &m->kernel;
    step(p);
    int64_t n[3] = {0};
    uint32_t most = w == W_BLOCK || w == W_CLUSTER || w == W_BOUNDS ? 3 : 1;
    uint32_t count = w ? parse_numbers(p, name, most, n) : 0;
    at = span_join(at, previous(p));
    if (slot->lo) {
        given_twice(p, name, *slot, at);
        return;
    }
    *slot = at;
    if (!count)
        return;
    if (w == W_BLOCK)
        set_block(p, m, n, count);
    else if (w == W_CLUSTER)
        set_cluster(p, m, n, count);
    else if (w == W_MIN_BLOCKS)
        set_one(p, name, at, n[0], 1, 32, &m->min_blocks_value);
    else if (w == W_MAX_REGISTERS)
        set_one(p, name, at, n[0], 16, 255, &m->max_registers_value);
    else
        set_one(p, "the threads of a block: max_threads", at, n[0], 1, MAX_BLOCK,
                &m->max_threads_value);
    if (w == W_BOUNDS && count > 1 && n[1]) // __launch_bounds__(threads, blocks)
        set_one(p, "the blocks: min_blocks", at, n[1], 1, 32, &m->min_blocks_value);
}

// --- device functions

bool starts_function_mark(const parser *p)
{
    bool is_bare = is_word(p, W_NOINLINE) || is_word(p, W_NOINLINE_);
    bool is_limit = is_word(p, W_RECURSION) && tok_ahead(p, 1)->kind == TOK_LPAREN;
    return (is_bare || is_limit) && p->scope == p->file_scope &&
           !scope_find(p->scope, tok(p)->name);
}

void parse_function_mark(parser *p, marks *m)
{
    span at = here(p);
    bool is_limit = is_word(p, W_RECURSION);
    int64_t n[3] = {0};
    step(p);
    uint32_t count = is_limit ? parse_numbers(p, "recursion", 1, n) : 0;
    at = span_join(at, previous(p));
    span *slot = is_limit ? &m->recursion : &m->noinline;
    if (slot->lo) {
        given_twice(p, is_limit ? "recursion" : "noinline", *slot, at);
        return;
    }
    *slot = at;
    if (count)
        set_one(p, "recursion", at, n[0], 1, MAX_RECURSION, &m->recursion_value);
}

static void apply_function_marks(parser *p, const marks *m, ast_decl *d)
{
    span at = m->noinline.lo ? m->noinline : m->recursion;
    if (!at.lo)
        return;
    if (d->kind == DECL_FUNC && !m->kernel.lo) {
        d->is_noinline |= m->noinline.lo != 0;
        if (m->recursion_value)
            d->recursion_limit = m->recursion_value;
        return;
    }
    diag *e = diag_raise(p->f->diags, K1108, at, "this mark belongs to a device function");
    diag_label(e, at, "'%s' is %s", d->name, m->kernel.lo ? "a kernel" : "not a function");
    diag_fix(e, at, "remove it", "%s", "");
}

static void marks_without_kernel(parser *p, const specifiers *s, const ast_decl *d)
{
    const marks *m = &s->marks;
    span first = m->block.lo           ? m->block
                 : m->cluster.lo       ? m->cluster
                 : m->min_blocks.lo    ? m->min_blocks
                 : m->max_registers.lo ? m->max_registers
                                       : m->max_threads;
    if (!first.lo)
        return;
    diag *e = diag_raise(p->f->diags, K1108, first, "this mark belongs to a kernel");
    if (d->kind == DECL_FUNC) {
        diag_label(e, first, "'%s' is not marked 'kernel'", d->name);
        diag_fix(e, (span){first.lo, first.lo}, "make it a kernel", "kernel ");
    } else {
        diag_label(e, first, "'%s' is not a function", d->name);
    }
}

// How many registers that leaves for a thread can only be said when the threads are known.
static void check_min_blocks(parser *p, const marks *m, const ast_decl *d)
{
    if (!d->min_blocks || d->block_at.lo || d->max_threads)
        return;
    span at = m->min_blocks.lo ? m->min_blocks : d->at;
    diag *w = diag_raise(p->f->diags, K1113, at,
                         "min_blocks has no effect: kernel '%s' does not say its block", d->name);
    diag_label(w, at, "%u blocks of how many threads?", d->min_blocks);
    diag_note(w, "add block(…), or bound the registers with max_registers(n)");
}

// A prototype and the definition must give a kernel the same sizes.
static void compare_sizes(parser *p, const char *mark, const ast_decl *d, span old_at, span at,
                          const uint32_t old[3], const uint32_t now[3])
{
    if (!old_at.lo || !at.lo || !memcmp(old, now, 3 * sizeof *old))
        return;
    diag *e = diag_raise(p->f->diags, K1009, at, "kernel '%s' was declared with another %s",
                         d->name, mark);
    diag_label(e, at, "this one");
    diag_label(e, old_at, "and here another");
}

static void apply_host(parser *p, const marks *m, ast_decl *d)
{
    if (d->kind != DECL_FUNC || m->kernel.lo) {
        diag *e =
            diag_raise(p->f->diags, K1115, m->host, "'%s' cannot be a host function", d->name);
        diag_label(e, m->host, "a mark for functions that the host program provides");
        diag_label(e, d->at,
                   d->kind == DECL_FUNC ? "a kernel runs on the device" : "this is not a function");
        return;
    }
    d->is_host = true;
    d->host_at = m->host;
    d->is_per_warp = m->per_warp.lo != 0;
    d->is_no_wait = m->no_wait.lo != 0;
}

void apply_marks(parser *p, const specifiers *s, ast_decl *d, bool is_definition)
{
    const marks *m = &s->marks;
    if (m->host.lo) {
        apply_host(p, m, d);
        return;
    }
    apply_function_marks(p, m, d);
    if (!m->kernel.lo) {
        marks_without_kernel(p, s, d);
        return;
    }
    if (d->kind != DECL_FUNC) {
        diag *e = diag_raise(p->f->diags, K1103, m->kernel, "only a function can be a kernel");
        diag_label(e, m->kernel, "a mark for functions");
        diag_label(e, d->at, "'%s' is not one", d->name);
        return;
    }
    d->is_kernel = true;
    compare_sizes(p, "block", d, d->block_at, m->block, d->block, m->block_size);
    compare_sizes(p, "cluster", d, d->cluster_at, m->cluster, d->cluster, m->cluster_size);
    if (!is_definition && d->block[0])
        return;
    if (m->block.lo) {
        memcpy(d->block, m->block_size, sizeof d->block);
        d->block_at = m->block;
    }
    if (m->cluster.lo) {
        memcpy(d->cluster, m->cluster_size, sizeof d->cluster);
        d->cluster_at = m->cluster;
    }
    if (m->min_blocks_value)
        d->min_blocks = m->min_blocks_value;
    if (m->max_registers_value)
        d->max_registers = m->max_registers_value;
    if (m->max_threads_value)
        d->max_threads = m->max_threads_value;
    if (is_definition)
        check_min_blocks(p, m, d);
}

// --- tune

bool starts_tune(const parser *p)
{
    return is_word(p, W_TUNE) && tok_ahead(p, 1)->kind == TOK_LPAREN &&
           !scope_find(p->scope, tok(p)->name);
}

static bool chooses(const char *choice, const char *name)
{
    size_t len = strlen(name);
    return !strncmp(choice, name, len) && choice[len] == '=';
}

// Reads what follows NAME= in a choice; *value stays as it is when that is no number.
static bool read_choice(const char *choice, int64_t *value)
{
    const char *digits = strchr(choice, '=');
    char *end = NULL;
    if (!digits || digits == choice)
        return false;
    errno = 0;
    long long number = strtoll(digits + 1, &end, 0);
    if (end == digits + 1 || *end || errno)
        return false;
    *value = number;
    return true;
}

// What the caller chose for `name`; false when nothing.
static bool chosen_value(const front *f, const char *name, int64_t *value)
{
    const char *const *t = f->options ? f->options->tunes : NULL;
    for (; t && *t; t++)
        if (chooses(*t, name) && read_choice(*t, value))
            return true;
    return false;
}

static bool has_value(const ast_decl *tune, int64_t value)
{
    for (uint32_t i = 0; i < tune->tune_values.len; i++)
        if (tune->tune_values.at[i] == value)
            return true;
    return false;
}

static const char *values_of(const front *f, const ast_decl *tune) // "16, 8, 32"
{
    text t = {.in = f->in};
    for (uint32_t i = 0; i < tune->tune_values.len; i++)
        text_printf(&t, "%s%lld", i ? ", " : "", (long long)tune->tune_values.at[i]);
    return t.at;
}

static const char *names_of_tunes(const front *f) // "BM, BN"
{
    text t = {.in = f->in};
    for (uint32_t i = 0; i < f->tunables.len; i++)
        text_printf(&t, "%s%s", i ? ", " : "", f->tunables.at[i]->name);
    return t.at;
}

// Every choice must be one of the values of a tune() in the file: a slip of the pen would otherwise
// quietly give the default.
void check_tune_choices(front *f)
{
    const char *const *t = f->options ? f->options->tunes : NULL;
    for (; t && *t; t++) {
        const ast_decl *tune = NULL;
        int64_t value = 0;
        for (uint32_t i = 0; i < f->tunables.len && !tune; i++)
            tune = chooses(*t, f->tunables.at[i]->name) ? f->tunables.at[i] : NULL;
        if (tune && tune->type->kind == TY_POISON)
            continue;
        span at = tune ? tune->at : vec_last(&f->tokens).at;
        if (!read_choice(*t, &value)) {
            diag *d =
                diag_raise(f->diags, K1112, at, "'%s' does not choose the value of a tune", *t);
            diag_note(d, "the form is NAME=INTEGER, one name at a time");
        } else if (!tune) {
            diag *d =
                diag_raise(f->diags, K1112, at, "'%s': the file has no tune of that name", *t);
            if (f->tunables.len)
                diag_note(d, "it has %s", names_of_tunes(f));
        } else if (!has_value(tune, value)) {
            diag *d = diag_raise(f->diags, K1112, at, "'%s' is not among the values of %s", *t,
                                 tune->name);
            diag_label(d, at, "%s", values_of(f, tune));
        }
    }
}

static void tune_form(parser *p, span at, const char *message)
{
    diag *d = parse_error(p, K1109, at, "%s", message);
    diag_label(d, at, "here");
    diag_note(d, "the form is tune(NAME, default, other values …); at file scope");
}

void parse_tune(parser *p)
{
    step(p);
    span open = here(p);
    step(p);
    const token *name = tok(p);
    if (name->kind != TOK_IDENT) {
        tune_form(p, here(p), "tune needs a name first");
        return;
    }
    step(p);
    ast_decl *d = new_decl(p, DECL_TUNE, name->name, name->at, type_scalar(TY_I32));
    bool is_bad = false;
    while (accept(p, TOK_COMMA) && !p->is_panicking) {
        ast_expr *e = parse_cond(p);
        int64_t value = 0;
        is_bad |= p->is_panicking || !check_const_int(p->f, e, &value, "value of a tune");
        vec_push(p->f->in, &d->tune_values, value);
        if (value < INT32_MIN || value > INT32_MAX)
            d->type = type_scalar(TY_I64);
    }
    expect_close(p, TOK_RPAREN, open);
    if (!d->tune_values.len)
        tune_form(p, span_join(open, previous(p)), "tune needs at least a default value");
    expect_semi(p, "tune(…)");
    if (!d->tune_values.len || is_bad) {
        d->type = type_scalar(TY_POISON);
        vec_push(p->f->in, &d->tune_values, 0);
    }
    d->value = d->tune_values.at[0];
    if (chosen_value(p->f, d->name, &d->value) && (d->value < INT32_MIN || d->value > INT32_MAX))
        d->type = type_scalar(TY_I64);
    declare(p, d);
    vec_push(p->f->in, &p->f->tunables, d);
}
