// grep over a tree of files: thread 0 walks the folders, then every thread of the block reads files
// of its own and prints the lines that contain the word.
#include <stdio.h>
#include <string.h>

#include <kiln/io.h>

enum { FILES = 256, PATH = 160 };

typedef struct tree {
    u32 count;
    char paths[FILES][PATH];
} tree;

static recursion(16) void walk(tree *all, const char *folder)
{
    char path[PATH], name[96];
    i32 kind, length, handle = io_open(folder, IO_READ_ONLY | IO_DIRECTORY, 0);
    if (handle < 0)
        return;
    while ((length = io_next(handle, name, 95, &kind)) > 0) {
        name[length] = 0;
        if (strlen(folder) + strlen(name) + 2u > PATH)
            continue;
        strcpy(path, folder);
        strcat(path, "/");
        strcat(path, name);
        if (kind == IO_IS_FOLDER)
            walk(all, path);
        else if (kind == IO_IS_FILE && all->count < FILES)
            strcpy(all->paths[all->count++], path);
    }
    io_close(handle);
}

kernel block(32) void grep(u32 *matches)
{
    shared tree all;
    char line[256];
    u32 t = thread_x(), mine = 0;
    if (t == 0u) {
        all.count = 0;
        walk(&all, "work");
    }
    barrier();
    for (u32 i = t; i < all.count; i += 32u) {
        FILE *file = fopen(all.paths[i], "r");
        for (i32 n = 1; file && fgets(line, sizeof line, file); n++)
            if (strstr(line, "needle")) {
                printf("%s:%d:%s", all.paths[i], n, line);
                mine++;
            }
        if (file)
            fclose(file);
    }
    mine = block_sum(mine);
    if (t == 0u)
        matches[0] = mine;
}
