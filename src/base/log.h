// The one place where the library speaks by itself: KILN_DEBUG sets how much, a program may take
// the lines over.
#ifndef KILN_LOG_H
#define KILN_LOG_H

#include "base/base.h"

// 0 what another switch asks for, 1 kernels compiled and their time, 2 resources, 3 IR, 4 passes, 5
// PTX, 6 everything
enum { LOG_ASKED, LOG_COMPILE, LOG_RESOURCES, LOG_IR, LOG_PASSES, LOG_CODE, LOG_ALL };

typedef void log_fn(void *user, int level, const char *text);

// From the environment, unless somebody has set it. Called when a device is opened.
void log_refresh(void);
// `level` lines and below go to `log`; NULL: back to what the environment says.
void log_set(int level, log_fn *log, void *user);
bool log_wants(int level);
// One message, which may have several lines. Nothing happens when nobody wants it.
void log_message(int level, const char *format, ...) PRINTF_LIKE(2, 3);
void log_text(int level, const char *title, const char *text);

#endif
