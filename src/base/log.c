// Messages to standard error (by KILN_DEBUG) or to the program's own function. Messages of several
// threads do not mix.
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>

#include "base/knobs.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int current; // read without the lock: one message more or less does not matter
static log_fn *taker;
static void *taker_user;

static void to_standard_error(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    size_t len = strlen(text);
    fprintf(stderr, "kiln: %s%s", text, len && text[len - 1] == '\n' ? "" : "\n");
}

void log_refresh(void)
{
    pthread_mutex_lock(&lock);
    if (!taker)
        __atomic_store_n(&current, knob_number(KNOB_DEBUG), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void log_set(int level, log_fn *log, void *user)
{
    pthread_mutex_lock(&lock);
    taker = log;
    taker_user = user;
    __atomic_store_n(&current, log ? level : knob_number(KNOB_DEBUG), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

bool log_wants(int level)
{
    return level <= __atomic_load_n(&current, __ATOMIC_RELAXED);
}

static void write_message(int level, const char *text)
{
    pthread_mutex_lock(&lock);
    (taker ? taker : to_standard_error)(taker_user, level, text);
    pthread_mutex_unlock(&lock);
}

void log_message(int level, const char *format, ...)
{
    if (!log_wants(level))
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    write_message(level, line);
}

void log_text(int level, const char *title, const char *text)
{
    if (!log_wants(level))
        return;
    write_message(level, title);
    write_message(level, text);
}
