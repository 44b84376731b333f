// Whole files: read with a limit, write so that nobody ever sees half of one, folders. Nothing here
// prints; the reason of a failure is a sentence for the user.
#ifndef KILN_FILE_H
#define KILN_FILE_H

#include "base/str.h"

// Reads all of `path` into the arena (a NUL byte follows). False: *reason says why, e.g. "no such
// file", "is a folder", "is larger than 16 MiB". Never reads more than limit + 1 bytes.
bool file_read(arena *a, const char *path, size_t limit, str *out, const char **reason);
// Writes beside the target, then renames. False: *reason says why.
bool file_write(arena *a, const char *path, const void *bytes, size_t len, const char **reason);
bool file_exists(const char *path); // something other than a folder
// The name under which dlopen opens that file: it looks for a name without a folder elsewhere, so
// one that is here gets "./". A name of no file here stays as it is.
const char *file_library(const char *path, char *room, size_t room_len);
bool file_is_folder(const char *path);
// mkdir -p.
bool file_make_folders(arena *a, const char *path, const char **reason);
// The folder part of a path, "" when there is none; and both parts joined.
str file_folder(const char *path);
const char *file_join(arena *a, str folder, str name);

#endif
