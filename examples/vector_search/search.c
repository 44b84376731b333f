// The vector of a file that is nearest to a query. Thread 0 reads the file, every thread takes
// vectors of its own, the block finds the best.
#include <stdio.h>

#include <kiln/kernel.h>

enum { MOST = 512, WIDTH = 4 };

kernel block(64) void search(u32 *best, f32 *distance)
{
    shared f32 vectors[MOST][WIDTH];
    shared f32 query[WIDTH];
    shared u32 count;
    u32 t = thread_x();
    if (t == 0u) {
        FILE *file = fopen("work/query.txt", "r");
        for (u32 i = 0; i < WIDTH; i++)
            query[i] = 0;
        if (file)
            fscanf(file, "%f %f %f %f", &query[0], &query[1], &query[2], &query[3]);
        fclose(file);
        count = 0;
        file = fopen("work/vectors.txt", "r");
        while (file && count < MOST) {
            f32 *v = vectors[count];
            if (fscanf(file, "%f %f %f %f", &v[0], &v[1], &v[2], &v[3]) != 4)
                break;
            count++;
        }
        fclose(file);
    }
    barrier();
    f32 nearest = 1e30f;
    u32 where = 0xffffffffu;
    for (u32 i = t; i < count; i += 64u) {
        f32 sum = 0;
        for (u32 k = 0; k < WIDTH; k++) {
            f32 d = vectors[i][k] - query[k];
            sum = fma(d, d, sum);
        }
        if (sum < nearest) {
            nearest = sum;
            where = i;
        }
    }
    f32 least = block_min(nearest);
    u32 first = block_min(nearest == least ? where : 0xffffffffu);
    if (t == 0u) {
        best[0] = first;
        distance[0] = sqrt(least);
    }
}
