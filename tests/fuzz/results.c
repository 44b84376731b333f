// The file of results: one line a row, so that it can be read back with sscanf.
#include "fuzz/results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// One definition for both directions; %[^"] reads what %s has written.
#define ROW(text, number)                                                                          \
    "  {\"profile\": \"" text "\", \"build\": \"" text "\", \"devices\": \"" text                  \
    "\", \"judges\": \"" text "\", \"levels\": \"plain, optimised\", \"first_seed\": " number      \
    ", \"last_seed\": " number ", \"kernels\": " number ", \"mismatches\": " number                \
    ", \"refused\": " number ", \"job_seconds\": " number ", \"date\": \"" text "\"}"

#define FINDING(text, number, longer)                                                              \
    "  {\"found\": \"" text "\", \"seed\": " number ", \"build\": \"" text "\", \"way\": \"" text  \
    "\", \"kind\": \"" text "\", \"why\": \"" longer "\"}"

bool fuzz_results_read(const char *path, fuzz_results *r)
{
    char line[1024];
    bool is_ours = false;
    r->count = r->finding_count = 0;
    FILE *in = fopen(path, "r");
    if (!in)
        return errno == ENOENT;
    while (fgets(line, sizeof line, in) && r->count < FUZZ_MAX_ROWS) {
        fuzz_row row = {0};
        is_ours |= strncmp(line, "\"rows\": [", 9) == 0;
        if (sscanf(line, ROW("%95[^\"]", "%llu"), row.profile, row.build, row.devices, row.judges,
                   &row.first_seed, &row.last_seed, &row.kernels, &row.mismatches, &row.refused,
                   &row.job_seconds, row.date) == 11)
            r->rows[r->count++] = row;
        fuzz_finding f = {0};
        if (sscanf(line, FINDING("%31[^\"]", "%llu", "%255[^\"]"), f.profile, &f.seed, f.build,
                   f.way, f.kind, f.why) == 6)
            fuzz_results_add_finding(r, &f);
    }
    fclose(in);
    return is_ours;
}

static bool is_same_kind(const fuzz_row *a, const fuzz_row *b)
{
    return strcmp(a->profile, b->profile) == 0 && strcmp(a->build, b->build) == 0 &&
           strcmp(a->devices, b->devices) == 0 && strcmp(a->judges, b->judges) == 0;
}

bool fuzz_results_add(fuzz_results *r, const fuzz_row *row)
{
    for (int i = 0; i < r->count; i++) {
        fuzz_row *to = &r->rows[i];
        if (!is_same_kind(to, row))
            continue;
        to->first_seed = row->first_seed < to->first_seed ? row->first_seed : to->first_seed;
        to->last_seed = row->last_seed > to->last_seed ? row->last_seed : to->last_seed;
        to->kernels += row->kernels;
        to->mismatches += row->mismatches;
        to->refused += row->refused;
        to->job_seconds += row->job_seconds;
        memcpy(to->date, row->date, sizeof to->date);
        return true;
    }
    if (r->count == FUZZ_MAX_ROWS)
        return false;
    r->rows[r->count++] = *row;
    return true;
}

// What is read back with %[^"] has no quotation marks, and is not empty.
static void make_plain(char *text)
{
    for (char *p = text; *p; p++)
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 32)
            *p = '\'';
    if (!*text)
        strcpy(text, "-");
}

void fuzz_results_add_finding(fuzz_results *r, const fuzz_finding *f)
{
    if (r->finding_count == FUZZ_MAX_FINDINGS)
        return;
    fuzz_finding *to = &r->findings[r->finding_count++];
    *to = *f;
    make_plain(to->why);
}

static bool is_of(const fuzz_row *row, const char *build)
{
    return !build || strcmp(row->build, build) == 0;
}

unsigned long long fuzz_results_next(const fuzz_results *r, const char *build)
{
    unsigned long long next = 0;
    for (int i = 0; i < r->count; i++)
        if (is_of(&r->rows[i], build) && r->rows[i].last_seed >= next)
            next = r->rows[i].last_seed + 1;
    return next;
}

unsigned long long fuzz_results_kernels(const fuzz_results *r, const char *build)
{
    unsigned long long sum = 0;
    for (int i = 0; i < r->count; i++)
        if (is_of(&r->rows[i], build))
            sum += r->rows[i].kernels;
    return sum;
}

bool fuzz_results_write(const char *path, const fuzz_results *r)
{
    char other[512];
    unsigned long long mismatches = 0, refused = 0;
    snprintf(other, sizeof other, "%s.new", path);
    FILE *out = fopen(other, "w");
    if (!out)
        return false;
    for (int i = 0; i < r->count; i++) {
        mismatches += r->rows[i].mismatches;
        refused += r->rows[i].refused;
    }
    fprintf(out,
            "{\"method\": \"fuzz_diff: random kernels on every device and level against the host's "
            "compiler; a kernel comes from its profile and seed\",\n"
            "\"kernels\": %llu, \"mismatches\": %llu, \"refused\": %llu,\n",
            fuzz_results_kernels(r, NULL), mismatches, refused);
    if (r->asked)
        fprintf(out, "\"asked\": %llu,\n", r->asked);
    fprintf(out, "\"rows\": [\n");
    for (int i = 0; i < r->count; i++) {
        const fuzz_row *row = &r->rows[i];
        fprintf(out, ROW("%s", "%llu") "%s\n", row->profile, row->build, row->devices, row->judges,
                row->first_seed, row->last_seed, row->kernels, row->mismatches, row->refused,
                row->job_seconds, row->date, i + 1 < r->count ? "," : "");
    }
    for (int i = 0; i < r->finding_count; i++) {
        const fuzz_finding *f = &r->findings[i];
        fprintf(out, "%s" FINDING("%s", "%llu", "%s") "%s\n", i ? "" : "],\n\"findings\": [\n",
                f->profile, f->seed, f->build, f->way, f->kind, f->why,
                i + 1 < r->finding_count ? "," : "");
    }
    fprintf(out, "]}\n");
    return fclose(out) == 0 && rename(other, path) == 0;
}
