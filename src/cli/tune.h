// What kiln tune does with candidates of any kind, a kernel's values or an op's tiles: times them
// one after the other on the device's own clock, shows how far it is, and keeps the best.
#ifndef KILN_CLI_TUNE_H
#define KILN_CLI_TUNE_H

#include "cli/cli.h"
#include "rt/tuned/tuned.h"

typedef enum tune_state {
    TUNE_WAITS,  // not tried yet
    TUNE_TIMED,  // its results are right
    TUNE_PRUNED, // cannot run here: known before it ran
    TUNE_SAME,   // the same code as another one
    TUNE_FAILED, // the compiler, the driver or the launch refused it
    TUNE_WRONG   // its results are not those of the default
} tune_state;

typedef struct tune_candidate {
    char choice[TUNED_FIELD];
    tune_state state;
    double us; // of a launch, the median of the rounds
    int rounds, per_round;
    char why[200]; // it was not timed
} tune_candidate;

typedef struct tune_session {
    const char *device, *program; // for the table on disk
    int driver;
    char shape[TUNED_FIELD];
    const char *title; // what is tuned, for people
    kiln *k;
    tune_candidate *all; // malloc'ed; the first is the default
    size_t count, best;
    int repeat; // rounds of each; 0: chosen
    bool is_json, is_saved, is_interrupted;
    double start_ms, shown_ms;
    bool is_drawn;
    // Makes candidate `index` ready, runs it once and looks at its results: TIMED when they are
    // right, else what it is, with `why` of the candidate.
    tune_state (*begin)(void *user, size_t index);
    kiln_status (*reset)(void *user);  // the data is as it was at the start; not timed
    kiln_status (*launch)(void *user); // what is timed
    void *user;
} tune_session;

// Times all that wait, or those until Ctrl-C. False: the default could not be timed.
bool tune_all(tune_session *s);
// A line about how far it is, in place on a terminal, else every few seconds.
void tune_progress(tune_session *s, const char *doing, size_t done, size_t of);
void tune_progress_end(tune_session *s);
// Ctrl-C ends the tuning after the candidate that runs, and stops that where the device can.
void tune_catch_interrupt(kiln *k); // NULL: no longer
bool tune_is_interrupted(void);
// Saves the best, then prints all candidates. Gives the exit code.
int tune_finish(tune_session *s);

int tune_kernel(int argc, char **argv); // tune_kernel.c
int tune_op(int argc, char **argv);     // tune_op.c
bool tune_is_op(const char *name);

#endif
