// The test kernels of tests/run: what to run is said in a comment above each kernel,
//
//     //! run NAME [grid=X[,Y[,Z]]] [block=X[,Y[,Z]]] [shared=BYTES] [check=FUNCTION]
//         [oracle=FUNCTION] (ARG, ARG …)                                    (all on one line)
//
// Grid and block are 1 when not given. ARG is one of
//     T[COUNT]          a zeroed buffer            T[COUNT]:FILL     a filled one
//     T=VALUE           a scalar                   T:FILL            a struct passed by value
// and FILL one of
//     bits              any bit pattern            rand              numbers (floats: -100 … 100)
//     iota              0, 1, 2 …                  unit              floats 0 … 1
//     modN              0 … N-1                    symN              -N … N
//     edge edge2 edge3  the type's special values; together they make all pairs (triples) in 256
//                       (4096) elements
// `@T` after a fill says what the bytes of a struct are: point[64]:rand@f32. Braces make several
// tests of one line, {i8,u8} in NAME is $1 in the rest, the next braces $2. FUNCTION takes the
// kernel's arguments after the run and returns whether they are right; an oracle's FUNCTION takes
// them, too: the host calls it once instead of running the kernel.
//
// Every buffer is compared after the run, bit for bit, NaNs as a class.
#ifndef KILN_TEST_CORPUS_H
#define KILN_TEST_CORPUS_H

#include "host/fiber.h"

#include <kiln/kiln.h>
#include <stdio.h>

enum { CORPUS_MAX_ARGS = 16 };

typedef struct corpus_arg {
    char type[32], fill[32];
    char as[16];  // what to fill and compare as: a scalar type
    size_t count; // 0: passed by value
    size_t size;  // bytes of one element; 0 until a host table or the device tells (structs)
    bool is_buffer;
    double value;    // scalars without a fill
    long long whole; // the same as an integer
} corpus_arg;

typedef struct corpus_case {
    char kernel[64], label[80], check[64], oracle[64];
    uint32_t grid[3], block[3], shared_bytes;
    corpus_arg args[CORPUS_MAX_ARGS];
    int arg_count, line;
} corpus_case;

typedef struct corpus_file {
    char path[512], name[64]; // name: the file's, without folder and ".c"
    corpus_case *cases;
    int case_count;
} corpus_file;

// The memory of one run: buffers or by-value bytes, in order.
typedef struct corpus_data {
    void *args[CORPUS_MAX_ARGS];
    size_t bytes[CORPUS_MAX_ARGS];
} corpus_data;

// NULL, or what is wrong with the file.
const char *corpus_read(const char *path, corpus_file *out);
const char *corpus_parse(const char *text, corpus_file *out); // path and name are the caller's
void corpus_free(corpus_file *file);
// C text that makes the host's side of the file: includes it and exports host_kernels_NAME.
void corpus_wrapper(const corpus_file *file, const char *include_path, FILE *out);

bool corpus_data_new(const corpus_case *c, corpus_data *out); // filled the same way each time
void corpus_data_free(const corpus_case *c, corpus_data *data);
// 0 when equal; else 1 and a sentence about the first difference.
int corpus_compare(const corpus_case *c, const corpus_data *want, const corpus_data *got, char *why,
                   size_t why_size);
uint64_t corpus_hash(const corpus_case *c, const corpus_data *data); // a NaN is a NaN

// Sizes of structs that no host table has told: the device's compiler knows them, too.
void corpus_learn_sizes(const kiln_module *m, corpus_case *c);
// What the host makes of a case; `data` is input and result. NULL, or what went wrong.
const char *corpus_run_host(const corpus_case *c, const host_kernel *h, const corpus_data *data);
// Runs a case on an open device; `data` is input and result. NULL, or what went wrong.
const char *corpus_run(kiln *k, kiln_module *m, corpus_case *c, corpus_data *data);

#endif
