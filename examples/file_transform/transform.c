// A file is opened, read, changed and written in one launch: thread 0 reads, all threads of the
// block change, thread 0 writes.
#include <ctype.h>
#include <stdio.h>

#include <kiln/kernel.h>

enum { CHUNK = 4096 };

kernel block(64) void transform(u32 *changed)
{
    shared char text[CHUNK];
    shared u64 length;
    u32 t = thread_x(), mine = 0;
    FILE *in = NULL, *out = NULL;
    if (t == 0u) {
        in = fopen("work/in.txt", "r");
        out = fopen("work/out.txt", "w");
    }
    for (bool is_more = true; is_more;) {
        if (t == 0u)
            length = in && out ? fread(text, 1, CHUNK, in) : 0u;
        barrier();
        for (u64 i = t; i < length; i += 64u)
            if (islower(text[i])) {
                text[i] = (char)toupper(text[i]);
                mine++;
            }
        is_more = promise_block_uniform(length) == CHUNK;
        barrier();
        if (t == 0u && length)
            fwrite(text, 1, length, out);
    }
    mine = block_sum(mine);
    if (t == 0u) {
        fclose(in);
        fclose(out);
        changed[0] = mine;
    }
}
