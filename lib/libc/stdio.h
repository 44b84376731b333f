// <stdio.h> for kernels. Text needs nothing but the kernel: print.h writes it, scan.h reads it.
// Streams (stream.h) are calls of the host.
#pragma once

#include "print.h"
#include "stream.h"

#define EOF (-1)

// --- from text
typedef struct __k_text_source {
    const char *at;
    i64 count;
} __k_text_source;

static i32 __k_text_peek(__k_text_source *s)
{
    return s->at[s->count] ? (i32)(u8)s->at[s->count] : -1;
}

static void __k_text_skip(__k_text_source *s)
{
    s->count++;
}

#define __K_SCAN(name) __k_text_##name
#define __K_SOURCE     __k_text_source
#include "scan.h"
#undef __K_SCAN
#undef __K_SOURCE

static int vsscanf(const char *text, const char *format, va_list list)
{
    __k_text_source source = {.at = text};
    return __k_text_scan(&source, format, list);
}

static int sscanf(const char *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vsscanf(text, format, list);
}
