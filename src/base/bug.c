// The stack of open frames of this thread, and the jump back to the newest.
#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>

static _Thread_local bug_frame *newest;

void bug_push(bug_frame *frame)
{
    frame->outer = newest;
    frame->kind = BUG_NONE;
    frame->text[0] = 0;
    newest = frame;
}

void bug_leave(bug_frame *frame)
{
    newest = frame->outer;
}

NORETURN static void leave(bug_kind kind)
{
    bug_frame *frame = newest;
    // No frame is a mistake in the library's own entry points; there is nothing to return to.
    if (!frame)
        abort();
    frame->kind = kind;
    newest = frame->outer;
    longjmp(frame->jump, 1);
}

void bug_out_of_memory(void)
{
    if (newest)
        snprintf(newest->text, sizeof newest->text, "out of memory");
    leave(BUG_NO_MEMORY);
}

void bug_raise_at(const char *file, int line, const char *format, ...)
{
    if (newest) {
        int used = snprintf(newest->text, sizeof newest->text, "%s:%d: ", file, line);
        va_list args;
        va_start(args, format);
        if (used > 0 && (size_t)used < sizeof newest->text)
            vsnprintf(newest->text + used, sizeof newest->text - (size_t)used, format, args);
        va_end(args);
    }
    leave(BUG_INTERNAL);
}
