// What the tuner has found: for a device, a driver and a program the values that were fastest, with
// their times. Rows lie in a plain text file of the cache's folder, one a line; below them are the
// rows that the library ships.
//
// A program is "matmul", an op of the library, or the hash of a kernel file and the kernel's name
// (tuned_program). A shape is its sizes, "n=4096 m=64"; a choice the values of its tunables,
// "TILE=64 STEP=2". No field decides what a kernel computes: a choice that makes no sense is
// ignored by who looks it up.
#ifndef KILN_TUNED_H
#define KILN_TUNED_H

#include "base/base.h"
#include "kiln/kiln.h"

enum { TUNED_FIELD = 512, TUNED_PROGRAM = 33 + 256 }; // bytes of a field, of a program's name

typedef struct tuned_row {
    const char *device; // as tuned_device has it
    int driver;         // its version; 0: none
    const char *program, *shape, *choice;
    double us, default_us;  // of a launch: with the choice, without one
    uint32_t tried, failed; // candidates that were timed, and those that could not be
    char *text;             // what the fields point into, malloc'ed
} tuned_row;

// --- tuned.c: tables in memory
typedef struct tuned_table {
    tuned_row *rows; // sorted by device, driver, program and shape, each once
    size_t count, cap;
    uint32_t *slots;   // by the hash of device, driver and program: the first row; a power of two
    size_t slot_count; // at most half full
    size_t broken;     // lines that made no sense
} tuned_table;

// Adds the lines of a text; a later row takes the place of an earlier one with the same key. False:
// no memory, and the table is as it was.
bool tuned_read(tuned_table *t, const char *text, size_t len);
bool tuned_add(tuned_table *t, const tuned_row *row);
// All rows as a text that tuned_read takes, malloc'ed. NULL: no memory.
char *tuned_write(const tuned_table *t, size_t *len);
void tuned_free(tuned_table *t);
// The rows of a program: their number, and the first in *out.
size_t tuned_rows(const tuned_table *t, const char *device, int driver, const char *program,
                  const tuned_row **out);
// Of those the one whose shape is nearest to `sizes`: every size that both name at most a factor of
// two apart; of those that are equally near the one that takes longest. "": any shape. NULL: there
// is none.
const tuned_row *tuned_find(const tuned_table *t, const char *device, int driver,
                            const char *program, const char *sizes);
// The value of `name` in "a=1 b=2"; false: it has none, or it is no number.
bool tuned_value(const char *list, const char *name, int64_t *out);
// Are these words NAME=INTEGER, separated by single spaces? "" is.
bool tuned_is_list(const char *list);

// --- file.c: the table on disk
// Reads the file again when it has changed; under a lock, so `see` must not look anything up.
// False: there is none of that program.
bool tuned_each(const char *device, int driver, const char *program,
                void (*see)(void *user, const tuned_row *row), void *user);
// tuned_find in the table of this machine; the choice is copied.
bool tuned_lookup(const char *device, int driver, const char *program, const char *sizes,
                  char choice[TUNED_FIELD]);
// Puts the rows into the file, beside those of other processes. False: why is a sentence.
bool tuned_merge(const tuned_table *more, char *why, size_t size);
// A copy of what the file has, without the rows that are shipped; *path is where it is. False: why.
bool tuned_load(tuned_table *out, char path[1200], char *why, size_t size);

// --- compile.c: of kernel files
// What rows call the device of `k`, and its driver: a GPU's name; for the host's own devices the
// processor and how many cores they take.
kiln_status tuned_device(const kiln *k, char name[TUNED_FIELD], int *driver);
// The name of a kernel of a source text compiled with those macros. The includes are not part of
// it: values that a changed one does not have are not taken.
void tuned_program(const char *source, size_t len, const char *const *define, const char *kernel,
                   char out[TUNED_PROGRAM]);
// The tunables of a compile that asks for them by desc->tuned: those that were found, then those
// that the description gives, which win. *out is malloc'ed in one piece and NULL where none were
// found. An error: desc->tuned makes no sense.
kiln_status tuned_choose(kiln *k, const kiln_compile_desc *desc, const char ***out);

#endif
