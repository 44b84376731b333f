// Translation validation (contract in validate.h): a compile's stages become IR texts, the texts
// modules of the interpreter, the results of their runs are compared. Start reading at
// validate_case.
#include "host/validate.h"

#include "compile.h"
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct stage {
    const char *pass; // NULL: as lowered
    int row;          // in the list of passes, from 1
    char *text;       // of the whole module
    kiln_module *m;   // compiled when it is first asked for
    bool *changed;    // per kernel
} stage;

struct validator {
    kiln *k;
    char **kernels; // names, from the first stage
    uint64_t *hashes;
    int kernel_count;
    stage *stages;
    int stage_count;
    const pass_row *rows, *row; // the list, and the row that ran last
    int runs;
    bool no_memory;
};

static void *grown(void *at, int count, size_t size)
{
    return realloc(at, ((size_t)count + 1) * size);
}

static int kernel_named(const validator *v, const char *name)
{
    for (int i = 0; i < v->kernel_count; i++)
        if (strcmp(v->kernels[i], name) == 0)
            return i;
    return -1;
}

static bool add_kernel(validator *v, const char *name)
{
    char **kernels = grown(v->kernels, v->kernel_count, sizeof *kernels);
    v->kernels = kernels ? kernels : v->kernels;
    uint64_t *hashes = kernels ? grown(v->hashes, v->kernel_count, sizeof *hashes) : NULL;
    v->hashes = hashes ? hashes : v->hashes;
    if (!hashes || !(v->kernels[v->kernel_count] = strdup(name)))
        return false;
    v->hashes[v->kernel_count++] = 0;
    return true;
}

static bool add_stage(validator *v, const ir_module *m, bool *changed)
{
    stage *stages = grown(v->stages, v->stage_count, sizeof *stages);
    if (!stages)
        return false;
    v->stages = stages;
    text out = {.in = m->in};
    ir_print_module(m, &out);
    v->stages[v->stage_count] = (stage){.pass = v->row ? v->row->name : NULL,
                                        .row = v->row ? (int)(v->row - v->rows) + 1 : 0,
                                        .text = strndup(out.at, out.len),
                                        .changed = changed};
    return v->stages[v->stage_count++].text != NULL;
}

// The compiler's hook: keeps the IR when a kernel is another than before.
static void keep_stage(void *user, const char *name, front *f, ir_module *m)
{
    validator *v = user;
    (void)f;
    bool is_first = strcmp(name, "ir") == 0, any = false;
    if (strcmp(name, "tokens") == 0 || strcmp(name, "ast") == 0 || strcmp(name, "final") == 0)
        return;
    // Rows run in order, so the row is the next one of this name.
    for (const pass_row *at = v->row ? v->row + 1 : v->rows; !is_first && at->name; at++)
        if (strcmp(at->name, name) == 0) {
            v->row = at;
            break;
        }
    for (uint32_t i = 0; i < m->funcs.len && is_first; i++)
        if (m->funcs.at[i]->is_kernel && !add_kernel(v, m->funcs.at[i]->name))
            v->no_memory = true;
    uint64_t functions = 0; // that kernels may call: a change of one changes them all
    for (uint32_t i = 0; i < m->funcs.len; i++)
        if (!m->funcs.at[i]->is_kernel)
            functions = functions * 31 + ir_hash_func(m->funcs.at[i]);
    bool *changed = calloc((size_t)v->kernel_count + 1, sizeof *changed);
    for (uint32_t i = 0; i < m->funcs.len && changed; i++) {
        int at = m->funcs.at[i]->is_kernel ? kernel_named(v, m->funcs.at[i]->name) : -1;
        uint64_t hash = at < 0 ? 0 : ir_hash_func(m->funcs.at[i]) ^ functions;
        if (at < 0 || v->hashes[at] == hash)
            continue;
        v->hashes[at] = hash;
        any = changed[at] = true;
    }
    if (!any || !add_stage(v, m, changed)) {
        v->no_memory |= any || !changed;
        free(changed);
    }
}

validator *validate_new(const validate_source *source, char *why, size_t why_size)
{
    validator *v = calloc(1, sizeof *v);
    snprintf(why, why_size, "no memory");
    if (!v)
        return NULL;
    v->rows = source->passes ? source->passes : pass_list;
    compile_options options = {.path = source->path,
                               .source = source->text,
                               .front = {.includes = source->include, .allow_file_includes = true},
                               .level = 2,
                               .verifies = true,
                               .no_remarks = true,
                               .wants_plain_exits = true,
                               .passes = source->passes,
                               .stage = keep_stage,
                               .user = v};
    compile_outcome outcome = compile_run(&options);
    bool ok = outcome.status == KILN_OK && !v->no_memory && kiln_open("interp", &v->k) == KILN_OK;
    if (!ok)
        snprintf(why, why_size, "%s", outcome.log ? outcome.log : "no memory");
    compile_outcome_free(&outcome);
    if (ok)
        return v;
    validate_free(v);
    return NULL;
}

// The kernel's result at a stage is compared with `want`, or becomes it when `is_want`.
static bool run_stage(validator *v, stage *s, corpus_case *c, corpus_data *want, bool is_want,
                      char *why, size_t why_size)
{
    char blame[200], problem_text[160];
    corpus_data got = {0};
    kiln_compile_desc desc = {.source = s->text, .path = "stage.ir", .is_ir = true, .optimise = -1};
    if (!s->m && kiln_compile(v->k, &desc, &s->m) != KILN_OK)
        s->m = NULL;
    const char *problem = s->m ? NULL : kiln_last_error(v->k)->text;
    if (s->m)
        corpus_learn_sizes(s->m, c);
    corpus_data *to = is_want ? want : &got;
    if (!problem)
        problem = corpus_data_new(c, to) ? corpus_run(v->k, s->m, c, to) : "no memory";
    v->runs++;
    if (!problem && !is_want && corpus_compare(c, want, &got, problem_text, sizeof problem_text))
        problem = problem_text;
    if (s->pass)
        snprintf(blame, sizeof blame, "pass '%s' (row %d) changed the result of kernel '%s'",
                 s->pass, s->row, c->kernel);
    else
        snprintf(blame, sizeof blame, "kernel '%s' is wrong before the passes", c->kernel);
    if (problem)
        snprintf(why, why_size, "%s: %s", blame, problem);
    corpus_data_free(c, &got);
    return !problem;
}

bool validate_case(validator *v, corpus_case *c, const corpus_data *want, char *why,
                   size_t why_size)
{
    int kernel = kernel_named(v, c->kernel);
    corpus_data first = {0};
    if (kernel < 0) {
        snprintf(why, why_size, "there is no kernel '%s'", c->kernel);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < v->stage_count && ok; i++) {
        if (!v->stages[i].changed[kernel])
            continue;
        bool is_want = !want && i == 0;
        corpus_data reference = want ? *want : first;
        ok = run_stage(v, &v->stages[i], c, is_want ? &first : &reference, is_want, why, why_size);
    }
    corpus_data_free(c, &first);
    return ok;
}

int validate_runs(const validator *v)
{
    return v->runs;
}

void validate_free(validator *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->stage_count; i++) {
        kiln_module_free(v->stages[i].m);
        free(v->stages[i].text);
        free(v->stages[i].changed);
    }
    for (int i = 0; i < v->kernel_count; i++)
        free(v->kernels[i]);
    kiln_close(v->k);
    free(v->kernels);
    free(v->hashes);
    free(v->stages);
    free(v);
}
