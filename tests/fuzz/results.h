// The results of runs of fuzz_diff, added up in a file: what a campaign of many runs has reached.
#ifndef KILN_FUZZ_RESULTS_H
#define KILN_FUZZ_RESULTS_H

#include <stdbool.h>

// Rows of the same profile, build, devices and judges are one row of the file.
typedef struct fuzz_row {
    char profile[96], build[96], devices[96], judges[96], date[96];
    unsigned long long first_seed, last_seed; // other profiles have some of the seeds between
    unsigned long long kernels, mismatches, refused, job_seconds;
} fuzz_row;

// A kernel that was not fine: enough to write it again.
typedef struct fuzz_finding {
    char profile[32], build[96], way[48], kind[32], why[256]; // way: device and level
    unsigned long long seed;
} fuzz_finding;

enum { FUZZ_MAX_ROWS = 256, FUZZ_MAX_FINDINGS = 256 };

typedef struct fuzz_results {
    fuzz_row rows[FUZZ_MAX_ROWS];
    int count;
    fuzz_finding findings[FUZZ_MAX_FINDINGS];
    int finding_count;        // those without room are only counted
    unsigned long long asked; // kernels that the campaign is to have; 0: no campaign
} fuzz_results;

// False: it is there, but no file of results. A file that is not there has no rows.
bool fuzz_results_read(const char *path, fuzz_results *r);
// False: no room.
bool fuzz_results_add(fuzz_results *r, const fuzz_row *row);
void fuzz_results_add_finding(fuzz_results *r, const fuzz_finding *f);
// The seed after the greatest one, 0 without rows; the kernels. Of one build, NULL: of all.
unsigned long long fuzz_results_next(const fuzz_results *r, const char *build);
unsigned long long fuzz_results_kernels(const fuzz_results *r, const char *build);
// In one piece: who is killed leaves the old file.
bool fuzz_results_write(const char *path, const fuzz_results *r);

#endif
