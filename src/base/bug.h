// The one way out of deep code: out of memory, or a mistake of Kiln's own. Whoever calls into the
// compiler or a pass opens a frame with bug_enter (a setjmp); bug_raise and bug_out_of_memory
// come back to it. Everything allocated since must live in an arena that the frame's owner frees.
//
//     bug_frame frame;
//     if (bug_enter(&frame)) { ... frame.kind, frame.text ... }   // second return
//     else { work(); bug_leave(&frame); }
#ifndef KILN_BUG_H
#define KILN_BUG_H

#include <setjmp.h>

#include "base/base.h"

typedef enum bug_kind { BUG_NONE, BUG_NO_MEMORY, BUG_INTERNAL } bug_kind;

typedef struct bug_frame {
    struct bug_frame *outer;
    bug_kind kind;
    char text[512];
    jmp_buf jump;
} bug_frame;

void bug_push(bug_frame *frame);
void bug_leave(bug_frame *frame);
#define bug_enter(frame) (bug_push(frame), setjmp((frame)->jump))

NORETURN void bug_out_of_memory(void);
NORETURN void bug_raise_at(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);

// A mistake of Kiln's own: never the user's fault.
#define bug(...) bug_raise_at(__FILE__, __LINE__, __VA_ARGS__)
#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            bug("broken invariant: %s", #condition);                                               \
    } while (0)

#endif
