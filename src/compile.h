// The whole compiler as one call: source text in, the target's code out. See compile.c.
#ifndef KILN_COMPILE_H
#define KILN_COMPILE_H

#include "back/back.h"
#include "front/front.h"
#include "ir/ir.h"
#include "kiln/kiln.h"

// clang-format off
typedef enum compile_stage {
    STAGE_READ, STAGE_PREPROCESS, STAGE_PARSE, STAGE_LOWER, STAGE_PASSES, STAGE_EMIT, STAGE_COUNT
} compile_stage;
// clang-format on
extern const char *const compile_stage_names[STAGE_COUNT]; // "read", "preprocess", …

typedef struct compile_options {
    const char *path;   // a file to read; or the name to show for `source`
    const char *source; // a text; NULL: read `path`
    size_t source_len;  // 0: up to the NUL
    front_options front;
    bool is_ir;                    // the text is IR, not C
    int level;                     // of the passes: 0, 2, or 1 for kiln check
    bool verifies;                 // the IR between the passes
    bool no_remarks;               // leave out performance remarks
    bool checks_bounds;            // pass bounds runs
    bool wants_plain_exits;        // pass exits runs
    const struct pass_row *passes; // NULL: pass_list
    bool warnings_are_errors;
    bool json;   // log is JSON lines
    bool colour; // log has ANSI colours
    // Called after each stage that can be shown: "tokens" and "ast" (front is set), "ir" (as
    // lowered), then every pass by its name, "final". `front` is NULL when the input is IR.
    void (*stage)(void *user, const char *name, front *f, ir_module *m);
    // Called at the end of every compile, errors or not, but not after a mistake of Kiln's own: the
    // diagnostics and the main file (NULL when it could not be read).
    void (*inspect)(void *user, diags *ds, source_file *file);
    void *user;
    const backend *backend;   // makes the code; NULL: IR alone is wanted
    const void *emit_options; // of the back end; NULL: the usual ones
} compile_options;

typedef struct compile_outcome {
    kiln_status status; // OK, COMPILE, IO, NO_MEMORY, INTERNAL, BAD_ARGUMENT
    const char *code;   // "K2003": of the first error, or ""
    char *log;          // rendered diagnostics; or the sentence that explains the status. malloc'ed
    size_t log_len;
    uint32_t error_count, warning_count;
    char *file; // of the first error, malloc'ed; NULL: none
    int line, column;
    double seconds[STAGE_COUNT];
    size_t arena_bytes;
    // Of a compile that went well; all of it goes with compile_outcome_free.
    ir_module *ir; // optimised and verified
    source_map *sources;
    str emitted;                     // the code; empty: no back end was given
    arena *a;                        // where they are
    struct compile_outcome *library; // holds ir->library; NULL: there is none
} compile_outcome;

compile_outcome compile_run(const compile_options *options);
void compile_outcome_free(compile_outcome *outcome);

#endif
