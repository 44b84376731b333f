// fuzz-diff: random kernels on the host's compiler and on Kiln, every device and level; the results
// must be equal bit for bit.
//
//     fuzz_diff [--profile NAME[:BATCH][*TURNS],…] [--devices LIST] [--seconds N] [--count N]
//               [--seed N]
//               [--batch N] [--jobs N] [--shrink SECONDS] [--most FINDINGS]
//               [--validate N] [--judges LIST] [--keep FOLDER] [--work FOLDER] [--json FILE]
//               [--late SECONDS] [--resume] [--one-build] [--print] [--times]
//               [--module N] [--record FILE | --expect FILE]
//
// The profiles (profile.c) take turns, a batch each; every job works on batches of its own. A
// profile may have smaller batches than the others (simt:20) and several turns (mixed*5), because
// kernels of one kind take ten times as long to compile as those of another. The judges, compilers
// of the host, take turns with the rounds; those that are not here are left out.
// A kernel comes from its seed alone: --profile P --seed S --count 1 makes it again, with --print
// as text alone. A device may have a share of the kernels (cpu%200: one in 200 is compiled by the
// cpu device's C compiler); one in N (--validate, 20) is also run after each pass, and so is every
// kernel whose optimised result is wrong, which names the pass. A finding is made smaller
// (shrink.c) and kept as FOLDER/fuzz-PROFILE-SEED.c, a test like the others. Run it from the top of
// the source tree. FILE adds up the results of runs (results.h), written every ten seconds and when
// the run ends, also by SIGINT or SIGTERM (batches that do not end soon after are not counted);
// --resume starts behind the seeds that stand in it, and --count then counts its kernels, too; with
// --one-build only rows of this build count for both (tests.mk says what makes a build another
// one). --times tells where the time went, and how far it is meanwhile. A batch opens each device
// once; --module makes several modules of it. With --seconds batches are as small as the time that
// is left wants it, so that all jobs end together; with --count, too, profiles of long kernels are
// left out while there would not be so many in time.
//
// --record writes down what the host makes of the kernels and runs them nowhere else; --expect
// takes that instead of a compiler of the host (expect.h), which is asked again only for what is
// not in the file, and for what has another result. Start reading at main.
#include "fuzz/expect.h"
#include "fuzz/profile.h"
#include "fuzz/results.h"
#include "fuzz/shrink.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_PROFILES = 16,
    MAX_TURNS = 64,
    MAX_JUDGES = 16,
    MAX_JOBS = 256,
    LEAST_BATCH = 10,
    FIRST_BATCH = 40,
    LAST_MS = 10000,
    WRITE_SECONDS = 10,
    GRACE_SECONDS = 10
};

static struct options {
    unsigned seconds, count, batch, module, jobs, shrink, most, validate, late;
    unsigned long long seed;
    const char *keep, *work, *json, *devices, *profiles, *judges, *record, *expect;
    bool print, resume, one_build, times;
} options = {.batch = 100,
             .shrink = 120,
             .most = 20,
             .validate = 20,
             .late = 60,
             .keep = "tests/run/found",
             .work = "build/fuzz",
             .devices = "interp,x86,x86/exits,cpu%200",
             .judges = "clang,clang,clang,clang,clang,clang,gcc"}; // clang needs half the time

static const fuzz_profile *profiles[MAX_PROFILES];
static unsigned profile_count, profile_batch[MAX_PROFILES];
static unsigned turns[MAX_TURNS], turn_count; // profiles, as they take turns
static char judges[MAX_JUDGES][32];
static unsigned judge_count;
static char judge_names[96];       // with commas, or those that --expect's file names
static fuzz_results old_results;   // what the file of results had
static fuzz_expect expected;       // of --expect
static unsigned long long past;    // batches that a resumed campaign has behind it
extern const char fuzz_build_id[]; // made by tests.mk

// What the jobs share.
static struct shared {
    atomic_uint next, given, done, findings; // batches and programs given out, programs, findings
    atomic_uint programs[MAX_PROFILES], bad[MAX_PROFILES], refused[MAX_PROFILES];
    atomic_ullong first_seed[MAX_PROFILES], last_seed[MAX_PROFILES];
    atomic_ullong milliseconds[MAX_PROFILES];
    atomic_bool missing[MAX_PROFILES], stop;
    fuzz_times times;
    atomic_int found_count; // places taken in `found`; is_found: written, too
    fuzz_finding found[FUZZ_MAX_FINDINGS];
    atomic_bool is_found[FUZZ_MAX_FINDINGS];
} * shared;
static time_t start;
static pid_t jobs[MAX_JOBS];

static char *program_text(const fuzz_profile *p, unsigned long long seed)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool ok = out && p->write(seed, (unsigned)(seed % 10000000), out);
    if (out)
        fclose(out);
    if (ok)
        return text;
    free(text);
    return NULL;
}

// --- findings
static void keep(const fuzz_profile *p, unsigned long long seed, const char *text, const char *way,
                 const fuzz_verdict *v)
{
    char path[512];
    snprintf(path, sizeof path, "%s/fuzz-%s-%llu.c", options.keep, p->name, seed);
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "cannot write %s\n", path);
        return;
    }
    fprintf(out, "// Found by fuzz-diff, profile %s, seed %llu: %s: %s: %.*s\n%s", p->name, seed,
            way, fuzz_kind_name(v->kind), (int)strcspn(v->why, "\n"), v->why, text);
    fclose(out);
    fprintf(stderr, "  kept as %s\n", path);
}

// For the file of results: what is told on the terminal alone is lost with it.
static void note(const fuzz_profile *p, unsigned long long seed, const char *way, const char *kind,
                 const char *why)
{
    int n = atomic_fetch_add(&shared->found_count, 1);
    if (n >= FUZZ_MAX_FINDINGS)
        return;
    fuzz_finding *f = &shared->found[n];
    f->seed = seed;
    snprintf(f->profile, sizeof f->profile, "%s", p->name);
    snprintf(f->build, sizeof f->build, "%.31s", fuzz_build_id);
    snprintf(f->way, sizeof f->way, "%.31s", way);
    snprintf(f->kind, sizeof f->kind, "%s", kind);
    snprintf(f->why, sizeof f->why, "%.*s", (int)strcspn(why, "\n"), why);
    shared->is_found[n] = true;
}

static void report(const fuzz_setup *setup, const fuzz_profile *p, unsigned long long seed,
                   const char *program, const fuzz_verdict *v)
{
    const char *one[] = {program},
               *way = v->kind == FUZZ_NO_HOST ? "host" : setup->ways[v->way].name;
    fprintf(stderr, "profile %s, seed %llu: %s: %s: %s (judge: %s)\n", p->name, seed, way,
            fuzz_kind_name(v->kind), v->why, setup->host);
    char *text = fuzz_file(p->prelude, one, 1);
    note(p, seed, way, fuzz_kind_name(v->kind), v->why);
    keep(p, seed, text ? text : program, way, v); // as it is: who makes it smaller may be stopped
    char *small = v->kind != FUZZ_NO_HOST && text && options.shrink
                      ? shrink(setup, text, v, options.shrink)
                      : NULL;
    if (small)
        keep(p, seed, small, way, v);
    free(small);
    free(text);
}

// --- one batch
static bool is_allowed(const fuzz_profile *p, const fuzz_verdict *v)
{
    return v->kind == FUZZ_LEFT ||
           (v->kind == FUZZ_REFUSED && p->may_be_refused && !strstr(v->why, "[K9001]"));
}

static unsigned long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

// What the programs must leave; NULL: the host's compiler has to say it, for one of them at least.
static uint64_t *expected_of(const fuzz_profile *p, char **programs, unsigned count)
{
    uint64_t *results = calloc(count, sizeof *results);
    for (unsigned i = 0; results && i < count; i++) {
        const uint64_t *r = fuzz_expect_find(&expected, fuzz_program_key(p->prelude, programs[i]));
        if (!r) {
            free(results);
            return NULL;
        }
        results[i] = *r;
    }
    return results;
}

// For --record: false when the file is not written.
static bool record(const fuzz_profile *p, char **programs, const fuzz_verdict *verdicts,
                   unsigned count)
{
    fuzz_expected *rows = calloc(count, sizeof *rows);
    size_t n = 0;
    for (unsigned i = 0; rows && i < count; i++)
        if (verdicts[i].kind == FUZZ_FINE || verdicts[i].kind == FUZZ_LEFT)
            rows[n++] = (fuzz_expected){.program = fuzz_program_key(p->prelude, programs[i]),
                                        .result = verdicts[i].host};
    bool ok = rows && fuzz_expect_add(options.record, rows, n);
    if (!ok)
        fprintf(stderr, "cannot write %s\n", options.record);
    free(rows);
    return ok;
}

// A result that differs from the file's: the host's compiler says by what. When it agrees with the
// device, the finding stays as it was: the file is wrong then, or the device is not always right.
static void judge_again(const fuzz_setup *setup, const fuzz_profile *p, const char *program,
                        unsigned long long seed, fuzz_verdict *v)
{
    fuzz_setup alone = *setup;
    fuzz_verdict other = {0};
    alone.seed = seed;
    if (fuzz_judge(&alone, p->prelude, &program, 1, &other) && other.kind != FUZZ_FINE)
        *v = other;
}

static bool judge(fuzz_setup *setup, const fuzz_profile *p, unsigned long long seed,
                  char **programs, unsigned count, fuzz_verdict *verdicts)
{
    uint64_t *results = expected_of(p, programs, count);
    setup->seed = seed;
    setup->expected = results;
    bool ok = fuzz_judge(setup, p->prelude, (const char *const *)programs, (int)count, verdicts);
    setup->expected = NULL;
    for (unsigned i = 0; i < count && ok && results; i++)
        if (verdicts[i].kind == FUZZ_WRONG)
            judge_again(setup, p, programs[i], seed + i, &verdicts[i]);
    free(results);
    return ok && (!options.record || record(p, programs, verdicts, count));
}

static void run_batch(fuzz_setup *setup, unsigned which, unsigned long long seed, unsigned count)
{
    const fuzz_profile *p = profiles[which];
    unsigned long long began = now_ms();
    char **programs = calloc(count, sizeof *programs);
    fuzz_verdict *verdicts = calloc(count, sizeof *verdicts);
    unsigned made = 0, bad = 0;
    bool is_judged = false;
    while (programs && made < count && (programs[made] = program_text(p, seed + made)) != NULL)
        made++;
    if (made < count) {
        if (!atomic_exchange(&shared->missing[which], true))
            printf("skipped: profile %s: this machine cannot write its programs\n", p->name);
    } else if (!verdicts || !judge(setup, p, seed, programs, count, verdicts)) {
        sleep(1); // who is asked to stop may see its compiler stopped first
        bool is_cut = shared->stop;
        if (!is_cut)
            fprintf(stderr,
                    "profile %s, seeds %llu to %llu: not judged: a device did not open, or the "
                    "host's compiler refuses them (%s/host.log)\n",
                    p->name, seed, seed + count - 1, setup->work);
        bad += !is_cut;
        if (!is_cut)
            note(p, seed, "host", "not judged", "a whole file");
    } else {
        is_judged = true;
        for (unsigned i = 0; i < count; i++)
            if (is_allowed(p, &verdicts[i]) ||
                (verdicts[i].kind == FUZZ_FINE && !verdicts[i].ran && !options.record)) {
                atomic_fetch_add(&shared->refused[which], 1);
            } else if (verdicts[i].kind != FUZZ_FINE) {
                bad++;
                if (atomic_fetch_add(&shared->findings, 1) < options.most)
                    report(setup, p, seed + i, programs[i], &verdicts[i]);
            }
        atomic_fetch_sub(&shared->findings, bad); // added again below
    }
    if (is_judged) { // what nobody has judged is a finding, but no kernel of the sum
        atomic_fetch_add(&shared->programs[which], count);
        atomic_fetch_add(&shared->milliseconds[which], now_ms() - began);
        unsigned long long first = shared->first_seed[which];
        while ((!first || first > seed) &&
               !atomic_compare_exchange_weak(&shared->first_seed[which], &first, seed)) {
        }
        unsigned long long last = shared->last_seed[which], mine = seed + count - 1;
        while (last < mine &&
               !atomic_compare_exchange_weak(&shared->last_seed[which], &last, mine)) {
        }
        atomic_fetch_add(&shared->done, count);
    }
    atomic_fetch_add(&shared->bad[which], bad);
    atomic_fetch_add(&shared->findings, bad);
    for (unsigned i = 0; i < made; i++)
        free(programs[i]);
    free(programs);
    free(verdicts);
}

static unsigned batch_size(unsigned which)
{
    unsigned most = profiles[which]->batch, asked = profile_batch[which], size = options.batch;
    size = asked && asked < size ? asked : size;
    return most && most < size ? most : size;
}

// Milliseconds of a profile's kernel; 0: not known yet.
static unsigned long long each_of(unsigned which)
{
    unsigned long long programs = shared->programs[which];
    return programs ? shared->milliseconds[which] / programs + 1 : 0;
}

// How much of a batch is given out where --seconds ends the run: a batch that does not end is lost.
// So it takes a quarter of the time that is left, or the last ten seconds; the first one of a
// profile is small and says how long its kernels take.
static unsigned in_time(unsigned which, unsigned count)
{
    unsigned gone = (unsigned)(time(NULL) - start);
    if (options.seconds == ~0u)
        return count;
    unsigned long long each = each_of(which), left = 0, most = FIRST_BATCH;
    if (options.seconds > gone)
        left = (options.seconds - gone) * 1000ull;
    if (each)
        most = (left > 4 * LAST_MS ? left / 4 : left < LAST_MS ? left : LAST_MS) / each;
    most = most < LEAST_BATCH ? LEAST_BATCH : most;
    return most < count ? (unsigned)most : count;
}

// Of a run that is to have --count kernels in --seconds: whether this profile's batches are left
// out for now, because it would not get there with kernels that take so long. Those that take the
// shortest never are.
static bool is_too_long(unsigned which)
{
    unsigned long long spent = 0, least = ~0ull, own = each_of(which);
    unsigned gone = (unsigned)(time(NULL) - start), done = shared->done;
    if (!options.count || options.seconds == ~0u || !own || done >= options.count ||
        gone >= options.seconds)
        return false;
    for (unsigned i = 0; i < profile_count; i++) {
        unsigned long long each = each_of(i);
        spent += shared->milliseconds[i];
        least = each && each < least ? each : least;
    }
    unsigned long long left = (options.seconds - gone) * 1000ull * options.jobs,
                       affordable = left / (options.count - done);
    return own > least && own > affordable && spent / done > affordable;
}

// Batch b of a campaign belongs to profile turns[b % turn_count] and has the seeds from
// seed + b * batch on: of the same options, a seed always has the same profile.
static void job(unsigned number)
{
    char folder[512];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); // the parent tells when to stop: batches are whole
    signal(SIGTERM, SIG_IGN);
    fuzz_setup setup = {.work = folder,
                        .module = options.module,
                        .most_deaths = options.most,
                        .validate = options.validate,
                        .times = &shared->times};
    snprintf(folder, sizeof folder, "%s/job-%u", options.work, number);
    mkdir(folder, 0777);
    if (!options.record && !fuzz_add_devices(&setup, options.devices)) {
        fprintf(stderr, "too many devices\n");
        _exit(2);
    }
    while (shared->findings < options.most) {
        unsigned b = atomic_fetch_add(&shared->next, 1), missing = 0;
        unsigned which = turns[(past + b) % turn_count];
        for (unsigned i = 0; i < profile_count; i++)
            missing += shared->missing[i];
        if (missing == profile_count || shared->stop ||
            (unsigned)(time(NULL) - start) >= options.seconds)
            break;
        if (shared->missing[which] || is_too_long(which))
            continue;
        unsigned n = in_time(which, batch_size(which)),
                 before = atomic_fetch_add(&shared->given, n);
        if (options.count && before >= options.count)
            break;
        if (options.count && options.count - before < n)
            n = options.count - before;
        setup.host = judge_count ? judges[(past + b) / turn_count % judge_count] : "cc";
        run_batch(&setup, which, options.seed + (unsigned long long)b * options.batch, n);
    }
    fflush(stdout);
    _exit(0);
}

// --- results
static bool write_results(void)
{
    static fuzz_results all;
    time_t now = time(NULL);
    bool ok = true;
    all = old_results;
    for (unsigned i = 0; i < profile_count; i++) {
        fuzz_row row = {.first_seed = shared->first_seed[i],
                        .last_seed = shared->last_seed[i],
                        .kernels = shared->programs[i],
                        .mismatches = shared->bad[i],
                        .refused = shared->refused[i],
                        .job_seconds = shared->milliseconds[i] / 1000};
        if (!row.kernels && !row.mismatches)
            continue;
        snprintf(row.profile, sizeof row.profile, "%s", profiles[i]->name);
        snprintf(row.build, sizeof row.build, "%s", fuzz_build_id);
        snprintf(row.devices, sizeof row.devices, "%s", options.devices);
        snprintf(row.judges, sizeof row.judges, "%s", judge_names);
        strftime(row.date, sizeof row.date, "%Y-%m-%d", gmtime(&now));
        ok &= fuzz_results_add(&all, &row);
    }
    for (int i = 0; i < shared->found_count && i < FUZZ_MAX_FINDINGS; i++)
        if (shared->is_found[i])
            fuzz_results_add_finding(&all, &shared->found[i]);
    ok &= fuzz_results_write(options.json, &all);
    if (!ok)
        fprintf(stderr, "cannot write %s\n", options.json);
    return ok;
}

static void print_times(void)
{
    fuzz_setup setup = {0};
    const fuzz_times *t = &shared->times;
    fuzz_add_devices(&setup, options.devices);
    printf("seconds of all jobs: host %.1f\n", (double)t->host / 1e3);
    for (int w = 0; w < setup.way_count; w++)
        printf("  %-24s open %.1f, compile %.1f, run %.1f; %llu kernels\n", setup.ways[w].name,
               (double)t->open[w] / 1e3, (double)t->compile[w] / 1e3, (double)t->run[w] / 1e3,
               (unsigned long long)t->ran[w]);
}

static void ask_to_stop(int signal_number)
{
    if (signal_number != SIGALRM)
        shared->stop = true;
}

// What the jobs have started ends with them.
static void end_jobs(void)
{
    for (unsigned i = 0; i < options.jobs; i++)
        if (jobs[i] > 0)
            kill(jobs[i], SIGKILL);
}

// Waits for the jobs, and keeps the file of results new. False: one has not ended well.
static bool wait_for_jobs(void)
{
    struct sigaction act = {.sa_handler = ask_to_stop}; // without SA_RESTART: wait returns
    bool ok = true;
    time_t asked = 0;
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGALRM, &act, NULL);
    alarm(WRITE_SECONDS);
    for (int status;;) {
        pid_t ended = wait(&status);
        for (unsigned i = 0; i < options.jobs && ended > 0; i++)
            jobs[i] = jobs[i] == ended ? 0 : jobs[i];
        if (ended > 0) {
            ok &= (WIFEXITED(status) && WEXITSTATUS(status) == 0) || (asked && shared->stop);
        } else if (errno != EINTR) {
            break;
        } else {
            if (options.json)
                ok &= write_results();
            if (options.times)
                fprintf(stderr, "%ld s: %u programs, %u findings\n", (long)(time(NULL) - start),
                        shared->done, shared->findings);
            if ((unsigned long)(time(NULL) - start) >=
                (unsigned long)options.seconds + options.late)
                shared->stop = true;
            asked = asked || !shared->stop ? asked : time(NULL);
            if (asked && time(NULL) - asked >= GRACE_SECONDS)
                end_jobs();
            alarm(asked ? 1 : WRITE_SECONDS);
        }
    }
    alarm(0);
    return ok;
}

static bool choose_judges(void)
{
    for (const char *at = options.judges; *at && judge_count < MAX_JUDGES;) {
        size_t len = strcspn(at, ",");
        char command[80];
        snprintf(judges[judge_count], sizeof *judges, "%.*s", (int)len, at);
        snprintf(command, sizeof command, "command -v '%s' > /dev/null", judges[judge_count]);
        judge_count += len && system(command) == 0;
        at += len + (at[len] == ',');
    }
    for (unsigned i = 0; i < judge_count; i++)
        snprintf(judge_names + strlen(judge_names), sizeof judge_names - strlen(judge_names),
                 "%s%s", i ? "," : "", judges[i]);
    if (!judge_count && !options.expect)
        fprintf(stderr, "none of these compilers is here: %s\n", options.judges);
    return judge_count || options.expect;
}

// NAME[:BATCH][*TURNS]; false: there is no such profile.
static bool add_profile(const char *text)
{
    char name[32], *end;
    unsigned batch = 0, times = 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":*"), text);
    const fuzz_profile *p = fuzz_profile_named(name);
    text += strlen(name);
    if (*text == ':') {
        batch = (unsigned)strtoul(text + 1, &end, 10);
        text = end;
    }
    if (*text == '*') {
        times = (unsigned)strtoul(text + 1, &end, 10);
        text = end;
    }
    if (!p || *text || profile_count == MAX_PROFILES || times > MAX_TURNS - turn_count)
        return false;
    profile_batch[profile_count] = batch;
    while (times--)
        turns[turn_count++] = profile_count;
    profiles[profile_count++] = p;
    return true;
}

// Turns of one profile are not beside each other: ABABA, not AAABB.
static void mix_turns(void)
{
    int share[MAX_PROFILES] = {0}, due[MAX_PROFILES] = {0};
    for (unsigned i = 0; i < turn_count; i++)
        share[turns[i]]++;
    for (unsigned i = 0; i < turn_count; i++) {
        unsigned next = 0;
        for (unsigned k = 0; k < profile_count; k++) {
            due[k] += share[k];
            next = due[k] > due[next] ? k : next;
        }
        due[next] -= (int)turn_count;
        turns[i] = next;
    }
}

static bool choose_profiles(void)
{
    for (const fuzz_profile *p = fuzz_profiles; p->name && !options.profiles; p++)
        if (!p->is_short)
            add_profile(p->name);
    for (const char *at = options.profiles ? options.profiles : ""; *at;) {
        char text[64];
        size_t len = strcspn(at, ",");
        snprintf(text, sizeof text, "%.*s", (int)len, at);
        if (!add_profile(text)) {
            fprintf(stderr, "there is no profile '%s'; there are", text);
            for (const fuzz_profile *p = fuzz_profiles; p->name; p++)
                fprintf(stderr, " %s (%s)%s", p->name, p->what, p[1].name ? "," : "\n");
            return false;
        }
        at += len + (at[len] == ',');
    }
    mix_turns();
    return turn_count > 0;
}

static int print_programs(void)
{
    fputs(profiles[0]->prelude, stdout);
    for (unsigned i = 0; i < (options.count ? options.count : 1); i++) {
        char *text = program_text(profiles[0], options.seed + i);
        printf("\n%s", text ? text : "// not here\n");
        free(text);
    }
    return 0;
}

// False: the file has as many kernels as were asked for.
static bool resume(void)
{
    const char *build = options.one_build ? fuzz_build_id : NULL;
    unsigned long long next = fuzz_results_next(&old_results, build),
                       have = fuzz_results_kernels(&old_results, build);
    if (next > options.seed) // at the next whole batch
        past = (next - options.seed + options.batch - 1) / options.batch;
    options.seed += past * options.batch;
    old_results.asked = options.count;
    if (!options.count)
        return true;
    if (have >= options.count) {
        printf("%s has %llu kernels already\n", options.json, have);
        return false;
    }
    options.count -= (unsigned)have;
    return true;
}

// Who says what the kernels must leave: compilers that are here, or a file.
static bool choose_judgement(void)
{
    if (options.expect && !fuzz_expect_read(options.expect, &expected)) {
        fprintf(stderr, "%s is not there, or no file of --record\n", options.expect);
        return false;
    }
    if (!choose_judges())
        return false;
    if (options.expect)
        snprintf(judge_names, sizeof judge_names, "%s", expected.judges);
    if (options.record && !fuzz_expect_new(options.record, judge_names)) {
        fprintf(stderr, "cannot write %s\n", options.record);
        return false;
    }
    return true;
}

static bool read_options(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned *number;
        const char **text;
    } rows[] = {{"--seconds", &options.seconds, NULL},   {"--count", &options.count, NULL},
                {"--batch", &options.batch, NULL},       {"--jobs", &options.jobs, NULL},
                {"--shrink", &options.shrink, NULL},     {"--most", &options.most, NULL},
                {"--validate", &options.validate, NULL}, {"--keep", NULL, &options.keep},
                {"--work", NULL, &options.work},         {"--json", NULL, &options.json},
                {"--devices", NULL, &options.devices},   {"--profile", NULL, &options.profiles},
                {"--judges", NULL, &options.judges},     {"--late", &options.late, NULL},
                {"--module", &options.module, NULL},     {"--record", NULL, &options.record},
                {"--expect", NULL, &options.expect}};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool known = false;
        bool *flag = strcmp(argv[i], "--print") == 0       ? &options.print
                     : strcmp(argv[i], "--resume") == 0    ? &options.resume
                     : strcmp(argv[i], "--one-build") == 0 ? &options.one_build
                     : strcmp(argv[i], "--times") == 0     ? &options.times
                                                           : NULL;
        if (flag) {
            *flag = true;
            continue;
        }
        if (value && strcmp(argv[i], "--seed") == 0) {
            options.seed = strtoull(value, NULL, 10);
            known = true;
        }
        for (size_t k = 0; k < sizeof rows / sizeof *rows && value; k++) {
            if (strcmp(argv[i], rows[k].name) != 0)
                continue;
            known = true;
            if (rows[k].number)
                *rows[k].number = (unsigned)strtoul(value, NULL, 10);
            else
                *rows[k].text = value;
        }
        if (!known) {
            fprintf(stderr, "unknown option, or one without its value: %s\n", argv[i]);
            return false;
        }
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv) || !choose_profiles())
        return 2;
    start = time(NULL);
    if (!options.seed)
        options.seed = (unsigned long long)start * 100003u;
    if (!options.seconds)
        options.seconds = options.count ? ~0u : 60;
    if (!options.batch)
        options.batch = 1;
    if (!options.jobs)
        options.jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    if (options.jobs > MAX_JOBS)
        options.jobs = MAX_JOBS;
    if (options.print)
        return print_programs();
    if (!choose_judgement())
        return 2;
    if (options.resume && !options.json) {
        fprintf(stderr, "--resume needs --json FILE\n");
        return 2;
    }
    if (options.json && !fuzz_results_read(options.json, &old_results)) {
        fprintf(stderr, "%s is no file of results: name another one\n", options.json);
        return 2;
    }
    if (options.resume && !resume())
        return 0;
    mkdir(options.work, 0777);
    mkdir(options.keep, 0777);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    for (unsigned i = 0; i < options.jobs; i++)
        if ((jobs[i] = fork()) == 0)
            job(i);
    bool ok = wait_for_jobs();
    long seconds = (long)(time(NULL) - start);
    unsigned done = shared->done, findings = shared->findings;
    for (unsigned i = 0; i < profile_count; i++)
        printf("profile %-8s %8u programs, %u findings, %u refused\n", profiles[i]->name,
               shared->programs[i], shared->bad[i], shared->refused[i]);
    printf("%u programs from seed %llu on %s in %ld s, %.1f a second, %u findings\n", done,
           options.seed, options.record ? "the host" : options.devices, seconds,
           (double)done / (double)(seconds ? seconds : 1), findings);
    if (options.times && !options.record)
        print_times();
    if (options.json)
        ok &= write_results();
    // Programs that Kiln may refuse have not passed; a run that has judged nothing has failed.
    unsigned refused = 0, missing = 0;
    for (unsigned i = 0; i < profile_count; i++) {
        refused += shared->refused[i];
        missing += shared->missing[i];
    }
    if (refused)
        printf("skipped: %u programs that Kiln may refuse\n", refused);
    unsigned not_passed = findings + refused, passed = done > not_passed ? done - not_passed : 0;
    if (!passed && missing < profile_count)
        ok = false;
    printf("fuzz-diff: %u passed, %u failed, %u skipped\n", passed, findings + !ok,
           refused + missing);
    return findings || !ok;
}
