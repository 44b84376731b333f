// What run, check, debug, watch, bench and tune share: their options, and what a kernel's
// parameters get. A command line is a list of launches, which share buffers by name.
#ifndef KILN_RUN_H
#define KILN_RUN_H

#include "cli/cli.h"
#include "cli/infer.h"
#include "cli/signature.h"
#include "cli/value.h"

typedef enum fill_kind {
    FILL_AUTO, // inputs random, outputs zero
    FILL_RANDOM,
    FILL_NORMAL,
    FILL_ZEROS,
    FILL_ONES,
    FILL_RANGE,
    FILL_CONST,
    FILL_DATA, // a file or a list: `bytes` has it
    FILL_UNSET
} fill_kind;

typedef struct run_arg {
    kiln_param_info info;
    layout element;    // of the scalar or struct, or of one element of the buffer
    const char *given; // the text after name=, or NULL
    bool has_parts;    // name.member=value or name[index]=value was given
    // pointers
    fill_kind fill;
    bool is_filled;   // by the user
    double low, high; // FILL_RANDOM; FILL_NORMAL: mean and deviation; FILL_RANGE: start, step
    uint64_t seed;    // FILL_RANDOM, FILL_NORMAL: added to --seed
    unsigned char constant[16]; // FILL_CONST
    value_shape shape;
    bool has_count;
    bool is_map; // a tensor_map: `map_type` elements of `shape`, made into a map
    kiln_type map_type;
    uint32_t map_box[5], map_swizzle;
    char because[INFER_TEXT];   // how a value or length that was not given came about; "": given
    const struct run_arg *from; // of an earlier launch: its buffer or value is used
    kiln_buffer *buffer;        // own, or that of `from`
    unsigned char *bytes;       // the scalar, the struct, the host's copy of the buffer
    kiln_tensor_map map;
} run_arg;

typedef struct run_launch {
    const char *kernel_name;
    const char **values; // name=value …
    size_t value_count;
    uint32_t grid[3], block[3];
    uint64_t items[3];
    bool has_grid, has_block, has_items;
    size_t shared_bytes;
    kiln_kernel *kernel;
    run_arg *args;
    size_t arg_count;
    char assumed[2 * INFER_TEXT]; // how the grid came about; "": it was given
    bool is_guess;                // from the length of a buffer alone
    bool is_empty;                // a size is 0: there is nothing to run
} run_launch;

typedef struct run_file { // --out, --expect
    const char *name;     // of the buffer; not terminated
    size_t name_len;
    const char *path;
} run_file;

typedef struct run_grant {
    const char *right; // of kiln_allow; NULL: a library of host functions
    const char *what;
} run_grant;

typedef struct run {
    const char *verb;
    cli_compile compile;
    const char *path, *device;
    char *source; // standard input, when the path is -
    size_t source_len;
    uint64_t seed;
    int repeat;
    double tolerance, relative; // --tolerance
    bool has_tolerance, shows_all, json, is_quiet;
    bool is_tuned;     // --tuned
    size_t heap_bytes; // --heap; 0: not given
    bool is_main;      // --main: FILE is a program
    const char **program_args;
    size_t program_arg_count;
    char *program_path; // of the text that calls main
    run_grant *grants;  // --host and --allow-…
    size_t grant_count;
    run_file *outs, *expects;
    size_t out_count, expect_count;
    // watch: called with every file that a compile has read or missed
    void (*on_input)(void *user, const char *path);
    void *input_user;
    int rounds; // 0: for ever
    // check
    bool is_check, all, nan, leaks, outputs_unset;
    uint64_t steps;
    // debug
    uint32_t stop_thread[3], stop_block[3];
    const char *sanitize;
    kiln *k;
    kiln_module *module;
    signature_file *signature;
    run_launch *launches;
    size_t launch_count;
} run;

// --- run_parse.c: each returns 0, or an exit code after a message.
int run_parse(run *r, int argc, char **argv);
void run_free(run *r); // what run_parse has made

// --- program.c: --main
bool run_has_main(const run *r);
int run_wrap_main(run *r); // makes the text of the kernel that calls main: r->source

// --- prepare.c
// Opens the device, compiles the file and reads its signatures.
int run_open(run *r);
// Finds the launch's kernel, makes its arguments and chooses the grid. Launches in order.
int run_prepare(run *r, run_launch *l);
// Another compile of the same file has taken the place of r->module and r->signature: its kernel,
// block and grid for the arguments that are there. 0, or an exit code after a message.
int run_retarget(run *r, run_launch *l);
// "n=4096 m=64": the integers among the arguments that the kernel uses as sizes, as far as they
// fit.
void run_sizes(const run *r, const run_launch *l, char *out, size_t size);
int run_args(const run *r, const run_launch *l, kiln_arg *args, size_t room); // room: how many fit
void run_describe(const run_launch *l, kiln_launch_desc *out);
void run_catch_interrupt(run *r); // Ctrl-C cancels the launch
void run_close(run *r);           // all but what run_free frees
// The newest argument of that name in a launch before `before` (NULL: in any).
const run_arg *run_find_buffer(const run *r, const run_launch *before, const char *name,
                               size_t len);

// --- run_args.c: false after a message.
// Reads name=value words into the argument; `l` is the launch it belongs to.
bool run_read_value(const run *r, const run_launch *l, run_arg *a);
// A .npy file, or raw bytes, as the contents of the argument.
bool run_read_file(const run *r, run_arg *a, const char *path);
// Makes the host's bytes (random data follows from the seed and the position alone), then applies
// name.member=value words.
bool run_make_data(const run *r, const run_launch *l, run_arg *a, size_t position);

// --- results.c
// The launch's line and its arguments on standard output; outputs are read back.
int run_show(run *r, run_launch *l);
// After all launches: --out and --expect.
int run_finish(run *r);
// Before the first launch: have the kernels what --out and --expect name? 0, or an exit code.
int run_check_results(const run *r);
// How many scalars of a buffer are further from what they should be than --tolerance says; *most is
// the largest difference.
size_t run_count_wrong(const run *r, const run_arg *a, const unsigned char *got,
                       const unsigned char *wanted, double *most);
uint64_t run_checksum(const layout *l, size_t count, const void *data);

// --- run.c
// Opens, launches all, shows, closes: what kiln run does with a parsed command line.
int run_once(run *r);

// --- bench_kernel.c
int bench_kernel(int argc, char **argv);

// --- time.c
double run_now_ms(void);
// Launches and waits `repeat` times; buffers that the kernel writes are put back in between.
// times_ms has room for `repeat`.
int run_launch_all(run *r, run_launch *l, int repeat, double *times_ms);
// The same with `per_round` launches a round, which start from where the last one ended; times are
// of one launch.
int run_time_rounds(run *r, run_launch *l, int rounds, int per_round, double *times_ms);
// Says on standard error that the length of that buffer was chosen here, when it was.
void run_note_length(const run *r, const run_launch *l, const char *name);
// What the newest launch of the kernel ran on: "Kiln's own machine code", …; "" where there is no
// choice.
const char *run_code_of(const run *r, const run_launch *l);

#endif
