// Translation validation: which pass changed what a kernel does?
//
//     char why[300];
//     validator *v = validate_new(&(validate_source){.path = "a.c", .include = folders}, why,
//                                 sizeof why);                 // NULL: it does not compile; why
//     if (v && !validate_case(v, &c, &want, why, sizeof why))  // want: NULL, or gcc's result
//         puts(why);                  // "pass 'vector' (row 38) changed the result of kernel 'k':
//         …"
//     validate_free(v);
//
// The file is compiled once. After each pass that changed a kernel, its IR is kept as text; the
// interpreter runs each of these texts on the case's inputs, in order.
#ifndef KILN_TEST_VALIDATE_H
#define KILN_TEST_VALIDATE_H

#include "host/corpus.h"

struct pass_row;

typedef struct validate_source {
    const char *path, *text; // text NULL: read path
    const char *const *include;
    const struct pass_row *passes; // NULL: the compiler's own
} validate_source;

typedef struct validator validator;

validator *validate_new(const validate_source *source, char *why, size_t why_size);
// Runs the case's kernel after each pass. True when every result is `want`'s, or, without it, that
// of the IR before all passes. A mistake of the front end is told as such, not blamed on a pass.
bool validate_case(validator *v, corpus_case *c, const corpus_data *want, char *why,
                   size_t why_size);
int validate_runs(const validator *v); // how many runs there were so far
void validate_free(validator *v);

#endif
