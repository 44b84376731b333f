// What an environment variable tells a fake library: names with commas between them, some with a
// value, as in "sm=61,nopool". The library names its variable before it includes this:
//
//     #define SETTINGS "FAKE_CUDA"
#ifndef KILN_FAKE_SETTINGS_H
#define KILN_FAKE_SETTINGS_H

#include <stdlib.h>
#include <string.h>

// NULL: not there. What follows "NAME=", or the end of the name.
static inline const char *setting(const char *name)
{
    size_t len = strlen(name);
    for (const char *at = getenv(SETTINGS); at && *at;
         at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, len) && (at[len] == ',' || at[len] == '=' || !at[len]))
            return at[len] == '=' ? at + len + 1 : at + len;
    return NULL;
}

static inline long setting_number(const char *name, long otherwise)
{
    const char *value = setting(name);
    return value ? strtol(value, NULL, 0) : otherwise;
}

#endif
